/** Decides whether old data may be removed: not while the clock may be wrong. */
import type * as Clock from "effect/Clock"
import { monotonic } from "./RequestContext.ts"

/** Milliseconds that the clock may gain between two checks: more than a correction of a running clock. */
const leastJumpMs = 5 * 60_000
/** Milliseconds after a jump in which nothing is removed. */
const heldMs = 60 * 60_000

/**
 * Returns a check of whether data may be removed by age now. After the clock has jumped ahead of a monotonic clock,
 * the check says no for an hour: by then a wrong clock is right again, and a corrected clock has stayed right. Run it
 * before each removal, from the start on.
 */
export const makeRemovals = (clock: Clock.Clock): (() => boolean) => {
  const steadyMs = monotonic(clock)
  const aheadMs = () => clock.unsafeCurrentTimeMillis() - steadyMs()
  let knownMs = aheadMs()
  let heldUntil = Number.NEGATIVE_INFINITY
  return () => {
    const now = aheadMs()
    if (now - knownMs > leastJumpMs) heldUntil = steadyMs() + heldMs
    knownMs = now
    return steadyMs() >= heldUntil
  }
}
