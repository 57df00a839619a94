/** A clock that stands until a test moves it: for time-outs in a house on a real socket. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

export interface StandingClock {
  readonly clock: Clock.Clock
  /** Moves it, and lets whoever slept until then go on. */
  readonly advance: (milliseconds: number) => Promise<void>
}

/** It shows `now`, Unix milliseconds. */
export const standingClock = (now = Date.UTC(2026, 6, 15, 12)): StandingClock => {
  const time = { now }
  const sleepers = new Set<{ readonly at: number; readonly wake: () => void }>()
  const nanos = () => BigInt(time.now) * 1_000_000n
  const clock = Object.assign(Clock.make(), {
    unsafeCurrentTimeMillis: () => time.now,
    unsafeCurrentTimeNanos: nanos,
    currentTimeMillis: Effect.sync(() => time.now),
    currentTimeNanos: Effect.sync(nanos),
    sleep: (duration: Duration.Duration) =>
      Effect.async<void>((resume) => {
        const sleeper = { at: time.now + Duration.toMillis(duration), wake: () => resume(Effect.void) }
        sleepers.add(sleeper)
        return Effect.sync(() => sleepers.delete(sleeper))
      }),
  })
  return {
    clock,
    advance: async (milliseconds) => {
      time.now += milliseconds
      for (const sleeper of sleepers) {
        if (sleeper.at > time.now) continue
        sleepers.delete(sleeper)
        sleeper.wake()
      }
      // A turn of the event loop, in which those who woke and the sockets get on.
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}
