/**
 * Writes entries into the ledger. They are committed in groups, and none is lost while the process lives. An entry that
 * the database could not take goes to the backlog, which is retried every second. No paid request should start until
 * the backlog is empty.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { Unavailable } from "../../domain/failures/Failure.ts"
import type { Picodollars } from "../../domain/price/money.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { type EffectRunner, makeEffectRunner, wait } from "../request/EffectRunner.ts"
import { monotonic } from "../request/RequestContext.ts"
import type { LedgerRow } from "../storage/ledger.ts"
import type { Hindrance } from "../storage/Outage.ts"
import type { Appended, DataAtRest, LedgerRepository } from "../storage/Storage.ts"
import { hindranceOf, type StorageUnavailable } from "../storage/StorageUnavailable.ts"
import { survivingDefects } from "../storage/survivingDefects.ts"
import { GroupCommit, type Written } from "./GroupCommit.ts"

/** The failure where the ledger cannot take a row. */
export const unwritable = () => new Unavailable({ why: "metering", retryAfterSeconds: 5 })

/** A request that has ended, with its cost, and the callbacks of its booking. */
export interface Settled {
  readonly row: LedgerRow
  /**
   * What the key pays if only a retry writes the entry: nothing, if the client got an error in place of the
   * answer.
   */
  readonly lateCost: Picodollars
  /** Called once, with the result of the first try. */
  readonly onWritten: (written: Written) => void
  /**
   * Called once, before `onWritten` or later, when it is known whether the entry is in the ledger: with the row as it was booked,
   * or `undefined` when it never will be.
   */
  readonly onResolved: (booked: LedgerRow | undefined) => void
}

export interface LedgerWriter {
  readonly add: (entry: Settled) => void
  /** Whether there are entries that the database could not take. */
  readonly hasBacklog: () => boolean
  /**
   * Why no new request may start; `undefined`: it may. The database could not take some entries, a row was spooled, a row
   * has waited for five seconds, or `LedgerRepository.takesRequests` says so. That is checked a second after each commit,
   * and twice a minute otherwise.
   */
  readonly hindrance: () => Hindrance | undefined
  /** Rows that are not in the ledger. `now`: Unix milliseconds. */
  readonly pending: (now: number) => PendingRows
}

export interface PendingRows {
  /** Rows that the database could not take. */
  readonly backlog: number
  /** Age of the oldest that is not in the ledger, milliseconds; 0: there is none. */
  readonly oldestMs: number
}

/** An entry that the database could not take. */
interface BacklogEntry {
  /** The row with the cost that is due if it is written now. */
  readonly row: LedgerRow
  readonly entry: Settled
}

/** Seconds between two checks of a database into which nothing is written. */
const lookEvery = 30

const away: Hindrance = { kind: "away", cause: "rows are spooled" }

/** Milliseconds after which a row without a result stops new requests. */
const longestWaitMs = 5000

const silent: Hindrance = { kind: "away", cause: "a row has waited for more than five seconds" }

/**
 * Writes into `storage` until the scope is closed. Then it waits for the commits under way, tries the backlog once
 * more, and logs what is lost. `onHindrance` is told at once why no request may start.
 */
export const makeLedgerWriter = (
  storage: Pick<DataAtRest, "ledger">,
  onHindrance: (hindrance: Hindrance) => Effect.Effect<void> = () => Effect.void,
  onCommitted: (rows: number, ms: number) => void = () => {},
): Effect.Effect<LedgerWriter, never, Scope.Scope> =>
  Effect.gen(function* () {
    const runner = makeEffectRunner(yield* Effect.runtime<never>())
    const writer = new GroupWriter(storage, onHindrance, onCommitted, monotonic(yield* Effect.clock), runner)
    // Added before the fiber starts, so that it runs after the fiber has ended: of two rounds at once, the slower would
    // take an entry off the backlog that it has not written.
    yield* Effect.addFinalizer(() => writer.end)
    yield* Effect.scheduleForked(survivingDefects("the writer of the ledger")(writer.tick), Schedule.spaced("1 second"))
    return writer
  })

class GroupWriter implements LedgerWriter {
  private readonly storage: Pick<DataAtRest, "ledger">
  private readonly onHindrance: (hindrance: Hindrance) => Effect.Effect<void>
  private readonly onCommitted: (rows: number, ms: number) => void
  private readonly nowMs: () => number
  private readonly runner: EffectRunner
  private readonly group: GroupCommit<Settled>
  private readonly backlog: Array<BacklogEntry> = []
  /** Commits under way, and what to call when the last of them has ended. */
  private commits = 0
  private onIdle = () => {}
  private refusal: Hindrance | undefined
  /** Why the first entry of the backlog could not be written. */
  private failed: Hindrance | undefined
  /** Whether something was written since the database was last asked. */
  private hasWritten = false
  private ticks = 0

  /** `nowMs`: a clock that never steps back. */
  constructor(
    storage: Pick<DataAtRest, "ledger">,
    onHindrance: (hindrance: Hindrance) => Effect.Effect<void>,
    onCommitted: (rows: number, ms: number) => void,
    nowMs: () => number,
    runner: EffectRunner,
  ) {
    this.storage = storage
    this.onHindrance = onHindrance
    this.onCommitted = onCommitted
    this.nowMs = nowMs
    this.runner = runner
    this.group = new GroupCommit(
      (entries, onResult) => this.commit(entries, onResult),
      (entry, written) => this.reportSafely(entry, written),
      nowMs,
    )
  }

  add(entry: Settled): void {
    this.group.add(entry)
  }

  hasBacklog(): boolean {
    return this.backlog.length > 0
  }

  hindrance(): Hindrance | undefined {
    if (this.hasBacklog()) return this.failed
    return this.refusal ?? (this.group.waitedMs > longestWaitMs ? silent : undefined)
  }

  pending(now: number): PendingRows {
    const [first] = this.backlog
    const late = first === undefined ? 0 : Math.max(0, now - first.row.settledAt)
    return { backlog: this.backlog.length, oldestMs: Math.max(late, this.group.waitedMs) }
  }

  private commit(entries: ReadonlyArray<Settled>, onResult: (written: Written) => void): void {
    this.commits += 1
    this.hasWritten = true
    const rows = entries.map(({ row }) => row)
    const beganMs = this.nowMs()
    this.runner.run(this.appended(rows), (exit) => {
      this.onCommitted(rows.length, this.nowMs() - beganMs)
      onResult(this.resultOf(rows, exit))
      this.commits -= 1
      if (this.isIdle) this.onIdle()
    })
  }

  private appended(rows: ReadonlyArray<LedgerRow>): ReturnType<LedgerRepository["append"]> {
    try {
      return this.storage.ledger.append(rows)
    } catch (defect) {
      return Effect.die(defect)
    }
  }

  // A defect is a result too: rows without a result would block all rows after them.
  private resultOf(rows: ReadonlyArray<LedgerRow>, exit: Exit.Exit<Appended, StorageUnavailable>): Written {
    if (Exit.isSuccess(exit)) {
      if (exit.value === "spooled") this.wasSpooled()
      return "durable"
    }
    const failure = Option.getOrUndefined(Cause.failureOption(exit.cause))
    const requests = rows.map(({ requestId }) => requestId)
    if (failure === undefined || failure.refused === true) {
      this.log(logEvent("ledger_write_failed", { requests }, exit.cause))
      if (failure !== undefined) return "refused"
    } else this.log(logEvent("ledger_write_delayed", { requests }, exit.cause))
    this.failed = failure === undefined ? { kind: "away", cause: "a defect of the storage" } : hindranceOf(failure)
    this.log(this.onHindrance(this.failed))
    return "unavailable"
  }

  private wasSpooled(): void {
    this.refusal = away
    this.runner.run(this.storage.ledger.takesRequests(), (takes) =>
      this.refuse(Exit.isSuccess(takes) && takes.value !== true ? takes.value : away),
    )
  }

  /** A callback may throw. That must not keep the other rows of the group from their results, nor later rows from being written. */
  private reportSafely(entry: Settled, written: Written): void {
    try {
      this.report(entry, written)
    } catch (defect) {
      const { requestId } = entry.row
      this.log(logEvent("ledger_row_defect", { requestId }, defect))
    }
  }

  private report(entry: Settled, written: Written): void {
    const { row, lateCost } = entry
    if (written === "unavailable") this.backlog.push({ row: lateRow(row, lateCost), entry })
    else entry.onResolved(written === "durable" ? row : undefined)
    if (written === "refused") this.log(logLost(row))
    entry.onWritten(written)
  }

  private refuse(hindrance: Hindrance): void {
    this.refusal = hindrance
    this.log(this.onHindrance(hindrance))
  }

  /** In the order of arrival. The first entry that the database cannot take ends the round. */
  private readonly retry: Effect.Effect<void> = Effect.gen(this, function* () {
    while (this.backlog[0] !== undefined) {
      const { row, entry } = this.backlog[0]
      const written = this.resultOf([row], yield* Effect.exit(this.appended([row])))
      if (written === "unavailable") return
      if (written === "refused") {
        this.backlog.shift()
        entry.onResolved(undefined)
        yield* logLost(row)
        continue
      }
      const booked = yield* Effect.either(this.asBooked(row))
      if (Either.isLeft(booked)) return
      this.backlog.shift()
      entry.onResolved(booked.right)
    }
  })

  /** An earlier try may have written the row although its confirmation was lost: with the cost that was due then. */
  private asBooked(row: LedgerRow): Effect.Effect<LedgerRow, StorageUnavailable> {
    return Effect.map(this.storage.ledger.find(row.requestId), (found) => found ?? row)
  }

  private readonly askWhetherItTakes: Effect.Effect<void> = Effect.suspend(() => {
    this.ticks += 1
    if (this.refusal === undefined && !this.hasWritten && this.ticks % lookEvery !== 0) return Effect.void
    this.hasWritten = false
    const asked = Effect.tapDefect(this.storage.ledger.takesRequests(), () =>
      Effect.sync(() => {
        // Asked again in the next round.
        this.hasWritten = true
      }),
    )
    return Effect.match(asked, {
      onSuccess: (now) => {
        if (now === true) this.refusal = undefined
        else this.refuse(now)
      },
      // Then the backlog has a row, which stops requests as well.
      onFailure: () => {},
    })
  })

  readonly tick: Effect.Effect<void> = Effect.zipRight(this.retry, this.askWhetherItTakes)

  private readonly idle = wait<void>((resume) => {
    this.onIdle = () => resume(Exit.void)
    if (this.isIdle) this.onIdle()
  })

  readonly end: Effect.Effect<void> = this.idle.pipe(
    // The log names what is left, whatever the last try meets.
    Effect.zipRight(survivingDefects("the last round of the writer of the ledger")(this.retry)),
    Effect.zipRight(Effect.suspend(() => Effect.forEach(this.backlog, ({ row }) => logLost(row), { discard: true }))),
  )

  private get isIdle(): boolean {
    return this.commits === 0 && this.group.isIdle
  }

  private log(line: Effect.Effect<void>): void {
    this.runner.run(line, () => {})
  }
}

const lateRow = (row: LedgerRow, cost: Picodollars): LedgerRow =>
  cost === row.cost ? row : { ...row, cost, waived: "unreported" }

/** Logs a row that could not be booked, with enough to book it by hand. */
const logLost = ({ requestId, key, model, host, cost, upstreamCost, admittedAt }: LedgerRow) =>
  logEvent("ledger_row_lost", {
    requestId,
    key,
    model,
    host,
    picodollars: cost.toString(),
    upstreamPicodollars: upstreamCost.toString(),
    admittedAt,
  })
