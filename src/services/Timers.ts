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

/** What all timers have in common. */
interface Ticking {
  readonly pending: Roster<OneTimer>
  /** As of the last tick. */
  now: number
}

class OneTimer implements Timer, Member {
  place = -1
  at = 0
  readonly fire: () => void
  private readonly ticking: Ticking

  constructor(ticking: Ticking, fire: () => void) {
    this.ticking = ticking
    this.fire = fire
  }

  restart(delayMs: number): void {
    this.at = this.ticking.now + delayMs
    this.ticking.pending.add(this)
  }

  clear(): void {
    this.ticking.pending.delete(this)
  }
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
      const ticking: Ticking = { pending: new Roster(), now: monotonic() }
      const { pending } = ticking

      const tick = Effect.sync(() => {
        ticking.now = monotonic()
        pending.each((timer) => {
          if (timer.at > ticking.now) return
          pending.delete(timer)
          timer.fire()
        })
      })
      // A timer that throws is a defect, and must not stop the others.
      const guarded = Effect.catchAllDefect(tick, (cause) => Effect.logError("a defect in a timer", cause))
      yield* guarded.pipe(Effect.delay("50 millis"), Effect.forever, Effect.forkScoped)

      return {
        now: () => ticking.now,
        set: (delayMs, fire) => {
          const timer = new OneTimer(ticking, fire)
          timer.restart(delayMs)
          return timer
        },
      }
    }),
  )
}
