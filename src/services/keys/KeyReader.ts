/**
 * Finds keys by their secrets: in memory, else in the database. Reads of the database for callers are bounded, since an attacker can make
 * up any number of secrets, and each is read once.
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { KeyNotAccepted, Unavailable } from "../../domain/failures/Failure.ts"
import type { KeyId } from "../../domain/ids.ts"
import { monotonic } from "../request/RequestContext.ts"
import type { FoundKey } from "../storage/Storage.ts"
import { KeyCache } from "./KeyCache.ts"

/** Reads for callers that run at once, and that wait for their turn. Further ones are refused. */
const mostReads = { running: 8, waiting: 256 }

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

  /** The key of a caller whose secret is not `usable` in memory. Waits for its turn to read the database. */
  lookUp(secret: KeyId): Effect.Effect<FoundKey, KeyNotAccepted | Unavailable> {
    if (this.isRefused(secret)) return notAccepted
    return Effect.suspend(() => {
      if (this.pending >= mostReads.running + mostReads.waiting) return tooManyReads
      this.pending += 1
      const ended = Effect.sync(() => {
        this.pending -= 1
      })
      return this.turns
        .withPermits(1)(Effect.suspend(() => this.inTurn(secret)))
        .pipe(Effect.ensuring(ended))
    })
  }

  /** Forgets a key that was made, changed or deleted. */
  drop(id: KeyId): void {
    this.cache.drop(id)
  }

  /**
   * An unknown, a disabled and an expired key are treated alike: read once, and then refused from memory for a while. So the time of
   * the answer does not tell them apart.
   */
  private inTurn(secret: KeyId): Effect.Effect<FoundKey, KeyNotAccepted | Unavailable> {
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
