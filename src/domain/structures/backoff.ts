/** Exponential backoff with jitter, so that many who wait do not all try again at the same time. */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import * as ScheduleDecision from "effect/ScheduleDecision"
import * as ScheduleInterval from "effect/ScheduleInterval"

export interface Backoff {
  /** The wait after the first failure, and the longest one, milliseconds. */
  readonly firstMs: number
  readonly mostMs: number
}

/** Milliseconds to wait. They double with each failure (0: the first one), and are then multiplied by 0.5 to 1. `random`: from 0 to 1. */
export const backoffMs = ({ firstMs, mostMs }: Backoff, failures: number, random: number): number =>
  (Math.min(mostMs, firstMs * 2 ** Math.min(failures, 30)) * (1 + random)) / 2

/**
 * The waits between tries, each of which tells whether it succeeded: after failures `backoffMs`. After a success `afterSuccessMs`;
 * without that, the wait of a first failure, and the next failure counts as the second.
 */
export const backoff = (bounds: Backoff, afterSuccessMs?: number): Schedule.Schedule<number, boolean> =>
  Schedule.makeWithState(0, (now, hasSucceeded, failures) =>
    Effect.map(Random.next, (random) => {
      const waitMs =
        hasSucceeded && afterSuccessMs !== undefined
          ? afterSuccessMs
          : backoffMs(bounds, hasSucceeded ? 0 : failures, random)
      const counted = !hasSucceeded ? failures + 1 : afterSuccessMs === undefined ? 1 : 0
      return [counted, waitMs, ScheduleDecision.continueWith(ScheduleInterval.after(now + waitMs))] as const
    }),
  )
