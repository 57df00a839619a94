/**
 * Finds keys by their secrets: in memory, else in the database. Reads of the database for callers are bounded, since an attacker can make
 * up any number of secrets, and each is read once, however many requests have it.
 */
import type * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import { KeyNotAccepted, Unavailable } from "../../domain/failures/Failure.ts"
import type { KeyId } from "../../domain/ids.ts"
import { monotonic } from "../request/RequestContext.ts"
import type { FoundKey } from "../storage/Storage.ts"
import { KeyCache } from "./KeyCache.ts"

/** Reads for callers that run at once, and that wait for their turn. Further ones are refused. */
const mostReads = { running: 8, waiting: 256 }

type LookUp = Effect.Effect<FoundKey, KeyNotAccepted | Unavailable>

/** Done when a read for callers is over; with `undefined` where it was interrupted. */
type Ended = Deferred.Deferred<Exit.Exit<FoundKey, KeyNotAccepted | Unavailable> | undefined>

/** Secrets are named by their hashes, as `keyId` makes them. */
export class KeyReader {
  /** From the database. */
  private readonly read: (secret: KeyId) => Effect.Effect<FoundKey | undefined, Unavailable>
  private readonly now: () => number
  /** Milliseconds of a clock that never steps back. */
  private readonly monotonicMs: () => number
  private readonly cache = new KeyCache()
  private readonly turns = Effect.unsafeMakeSemaphore(mostReads.running)
  /** Reads for callers, those that wait too. */
  private pending = 0
  private readonly lookUps = new Map<KeyId, Ended>()

  constructor(read: (secret: KeyId) => Effect.Effect<FoundKey | undefined, Unavailable>, clock: Clock.Clock) {
    this.read = read
    this.now = () => clock.unsafeCurrentTimeMillis()
    this.monotonicMs = monotonic(clock)
  }

  /** The key, if it is in memory and accepted. */
  usable(secret: KeyId): FoundKey | undefined {
    const known = this.cache.get(secret)
    return this.isUsable(known) ? known : undefined
  }

  /** The key, whether it is accepted or not; `undefined`: there is none. */
  find(secret: KeyId): Effect.Effect<FoundKey | undefined, Unavailable> {
    const known = this.cache.get(secret)
    if (known !== undefined) return Effect.succeed(known)
    return Effect.tap(this.load(secret), (found) => found && this.cache.put(secret, found))
  }

  /**
   * The key of a caller whose secret is not `usable` in memory. Waits for its turn to read the database, or for the request with the same
   * secret that does so already: a burst of one key, as after a start, is one read.
   */
  lookUp(secret: KeyId): LookUp {
    if (this.isRefused(secret)) return notAccepted
    return Effect.suspend(() => {
      const running = this.lookUps.get(secret)
      // Whoever reads may be interrupted: then one of those who wait reads.
      if (running !== undefined) return Effect.flatMap(Deferred.await(running), (exit) => exit ?? this.lookUp(secret))
      if (this.pending >= mostReads.running + mostReads.waiting) return tooManyReads
      return this.firstOf(secret)
    })
  }

  /** Forgets a key that was made, changed or deleted. */
  drop(id: KeyId): void {
    this.cache.drop(id)
  }

  private firstOf(secret: KeyId): LookUp {
    const begin = Effect.sync(() => {
      const ended: Ended = Deferred.unsafeMake(FiberId.none)
      this.lookUps.set(secret, ended)
      this.pending += 1
      return ended
    })
    const read = () => this.turns.withPermits(1)(Effect.suspend(() => this.inTurn(secret)))
    return Effect.acquireUseRelease(begin, read, (ended, exit) =>
      Effect.sync(() => {
        this.pending -= 1
        this.lookUps.delete(secret)
        Deferred.unsafeDone(ended, Effect.succeed(Exit.isInterrupted(exit) ? undefined : exit))
      }),
    )
  }

  /**
   * An unknown, a disabled and an expired key are treated alike: read once, and then refused from memory for a while. So the time of
   * the answer does not tell them apart.
   */
  private inTurn(secret: KeyId): LookUp {
    // Another request with the same secret may have been answered while this one waited.
    if (this.isRefused(secret)) return notAccepted
    const known = this.usable(secret)
    if (known !== undefined) return Effect.succeed(known)
    return Effect.flatMap(this.load(secret), (found) => {
      if (this.isUsable(found)) {
        this.cache.put(secret, found)
        return Effect.succeed(found)
      }
      this.cache.refuse(secret, this.monotonicMs())
      return notAccepted
    })
  }

  private load(secret: KeyId): Effect.Effect<FoundKey | undefined, Unavailable> {
    return Effect.suspend(() => {
      const { drops } = this.cache
      // Read again if a key was made or changed meanwhile: it may be this one, after it was read.
      return Effect.flatMap(this.read(secret), (found) =>
        this.cache.drops === drops ? Effect.succeed(found) : this.load(secret),
      )
    })
  }

  private isUsable(found: FoundKey | undefined): found is FoundKey {
    return found !== undefined && !isOver(found, this.now)
  }

  private isRefused(secret: KeyId): boolean {
    return this.cache.isRefused(secret, this.monotonicMs())
  }
}

/** Whether a key, or this secret of it, is not accepted any more. `now`: read only for one that ends. */
export const isOver = ({ disabled, expiresAt, secretEndsAt }: FoundKey, now: () => number): boolean =>
  disabled || (expiresAt !== null && expiresAt <= now()) || (secretEndsAt !== undefined && secretEndsAt <= now())

export const notAccepted = Effect.fail(new KeyNotAccepted())
const tooManyReads = Effect.fail(new Unavailable({ why: "overloaded", retryAfterSeconds: 1 }))
