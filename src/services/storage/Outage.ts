/**
 * Logs outages of the database: one ERROR with the cause when no paid request can start, and one INFO when they can again. Further failures
 * of the same kind are not logged.
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { lasted } from "../../process/log/LoggedState.ts"
import { logEvent } from "../../process/log/logEvent.ts"

/** Why no paid request may start. */
export interface Hindrance {
  /**
   * `full`: the disk is so full that only requests in flight can be booked. `gone`: another file, or none, has the name of
   * the database's. `away`: it does not answer, or refuses to read or write.
   */
  readonly kind: "full" | "gone" | "away"
  /** What was seen, for the operator. Without a full stop. */
  readonly cause: string
}

const texts: Readonly<Record<Hindrance["kind"], string>> = {
  full: "the disk of the database is full",
  gone: "the file of the database was removed, replaced or damaged",
  away: "the database does not answer",
}

const beginnings = { full: "disk_full", gone: "database_gone", away: "database_away" } as const

/** The kind in words, without paths and addresses: `/readyz` tells it to anybody. */
export const hindranceText = ({ kind }: Hindrance): string => texts[kind]

/** A storage, as far as an outage names it: with its path and the free bytes there, or its address. */
interface Located {
  readonly where?: (() => Readonly<Record<string, string | number>>) | undefined
}

/** A storage that may bring the outage that all services over it share. */
export interface Outaged extends Located {
  readonly outage?: Outage
}

export class Outage {
  private readonly storage: Located
  private readonly told = new Set<Hindrance["kind"]>()
  /** When it began, by `secondsOf`. */
  private since = 0
  /** `undefined`: the database takes requests, as far as is known. */
  current: Hindrance | undefined

  constructor(storage: Located) {
    this.storage = storage
  }

  /** Whether it is known that no paid request may start, whoever has found it out. */
  get refusesRequests(): boolean {
    return this.current !== undefined && this.current.kind !== "away"
  }

  /** Logs each kind once in an outage. */
  begin(hindrance: Hindrance): Effect.Effect<void> {
    return Effect.flatMap(Effect.clock, (clock) => {
      if (this.current === undefined) this.since = secondsOf(clock)
      this.current = hindrance
      if (this.told.has(hindrance.kind)) return Effect.void
      this.told.add(hindrance.kind)
      return logEvent(beginnings[hindrance.kind], { because: hindrance.cause, ...this.storage.where?.() })
    })
  }

  /** Does nothing where there is none. */
  readonly end: Effect.Effect<void> = Effect.flatMap(Effect.clock, (clock) => {
    if (this.current === undefined) return Effect.void
    const event = this.told.has("full") ? "disk_free" : "database_back"
    this.current = undefined
    this.told.clear()
    return logEvent(event, { lastedS: lasted(secondsOf(clock) - this.since) })
  })
}

/** By a clock that never steps back. */
const secondsOf = (clock: Clock.Clock): number => Number(clock.unsafeCurrentTimeNanos()) / 1e9

/** The outage of a storage: its own, or a new one where an embedder's storage has none. To be asked once by a service. */
export const outageOf = (storage: Outaged): Outage => storage.outage ?? new Outage(storage)

/** Logs only the first of failures in a row. */
export class Streak {
  private isFailing = false

  failed(line: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.suspend(() => {
      const isFirst = !this.isFailing
      this.isFailing = true
      return isFirst ? line : Effect.void
    })
  }

  ended(): void {
    this.isFailing = false
  }
}
