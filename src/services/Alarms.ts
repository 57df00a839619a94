/**
 * Many deadlines, one clock hand. Every open call has a few (its deadline, the host's silence, the next heartbeat) and
 * moves them with every chunk; a timer or a fiber for each would cost more than the chunk. So an alarm is a number that
 * is compared once per tick, and moving it is an assignment. Runs on Effect's clock, so that a test can turn it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export interface Alarm {
  /** Rings this many milliseconds from the last tick, instead of when it would have. */
  readonly again: (delayMs: number) => void
  /** Does not ring any more. */
  readonly clear: () => void
}

export class Alarms extends Context.Tag("headgate/Alarms")<
  Alarms,
  {
    /** Milliseconds of a clock that never steps back, as of the last tick. */
    readonly now: () => number
    /** Calls `ring` once, `delayMs` from now, up to a tick (50 ms) late. `ring` must not throw. */
    readonly set: (delayMs: number, ring: () => void) => Alarm
  }
>() {
  static readonly layer = Layer.scoped(
    Alarms,
    Effect.gen(function* () {
      const clock = yield* Effect.clock
      const monotonic = () => Number(clock.unsafeCurrentTimeNanos() / 1_000_000n)
      const pending = new Set<{ at: number; readonly ring: () => void }>()
      let now = monotonic()

      const tick = Effect.sync(() => {
        now = monotonic()
        for (const entry of pending) {
          if (entry.at > now) continue
          pending.delete(entry)
          entry.ring()
        }
      })
      // One that throws all the same is a defect of its own, and not the end of all deadlines.
      const guarded = Effect.catchAllDefect(tick, (cause) => Effect.logError("a defect in an alarm", cause))
      yield* guarded.pipe(Effect.delay("50 millis"), Effect.forever, Effect.forkScoped)

      return {
        now: () => now,
        set: (delayMs, ring) => {
          const entry = { at: now + delayMs, ring }
          pending.add(entry)
          return {
            again: (delay) => {
              entry.at = now + delay
              pending.add(entry)
            },
            clear: () => {
              pending.delete(entry)
            },
          }
        },
      }
    }),
  )
}
