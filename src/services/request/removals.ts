/** Whether what is old may be removed for good: not while the clock may be wrong. */
import type * as Clock from "effect/Clock"
import { monotonic } from "./RequestContext.ts"

/** Milliseconds that the clock may gain between two questions: more than a correction of a clock that runs. */
const leastJumpMs = 5 * 60_000
/** How long after a jump nothing is removed. */
const heldMs = 60 * 60_000

/**
 * Says whether things may be removed by their age now. After the clock has jumped ahead against one that never steps back, they may not for an
 * hour: a clock that was wrong is right again by then, and one that was put right stays so. To be asked before each removal, from the start on.
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
