/**
 * Many timers on one tick. An open request has a few: its body's, the first event's, a stream's watch. A timer is a
 * number that is compared once per tick, and moving it is an assignment, which costs far less than a runtime timer or a
 * fiber. Runs on Effect's clock, so that a test can control it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Member, Roster } from "../domain/Roster.ts"

export interface Timer {
  /** Fires this many milliseconds after the last tick, in place of its previous time. */
  readonly restart: (delayMs: number) => void
  /** Does not fire any more. */
  readonly clear: () => void
}

interface Pending extends Member {
  at: number
  readonly fire: () => void
}

export class Timers extends Context.Tag("headgate/Timers")<
  Timers,
  {
    /** Milliseconds of a clock that never steps back, as of the last tick. */
    readonly now: () => number
    /** Calls `fire` once, `delayMs` from now, up to a tick (50 ms) early or late. `fire` must not throw. */
    readonly set: (delayMs: number, fire: () => void) => Timer
  }
>() {
  static readonly layer = Layer.scoped(
    Timers,
    Effect.gen(function* () {
      const clock = yield* Effect.clock
      const monotonic = () => Number(clock.unsafeCurrentTimeNanos() / 1_000_000n)
      const pending = new Roster<Pending>()
      let now = monotonic()

      const tick = Effect.sync(() => {
        now = monotonic()
        pending.forEach((entry) => {
          if (entry.at > now) return
          pending.delete(entry)
          entry.fire()
        })
      })
      // A timer that throws is a defect, and must not stop the others.
      const guarded = Effect.catchAllDefect(tick, (cause) => Effect.logError("a defect in a timer", cause))
      yield* guarded.pipe(Effect.delay("50 millis"), Effect.forever, Effect.forkScoped)

      return {
        now: () => now,
        set: (delayMs, fire) => {
          const entry: Pending = { at: now + delayMs, fire, place: -1 }
          pending.add(entry)
          return {
            restart: (delay) => {
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
