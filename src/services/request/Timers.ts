/**
 * Many timers on one tick. An open request has a few: its body's, the first event's, a stream's watch. A timer is a
 * number that is compared once per tick, and moving it is an assignment, which costs far less than a runtime timer or a
 * fiber. Runs on Effect's clock, so that a test can control it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Member, Roster } from "../../domain/structures/Roster.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { monotonic } from "./RequestContext.ts"

export interface Timer {
  /** Fires this many milliseconds after the last tick, in place of its previous time. */
  restart(delayMs: number): void
  /** Does not fire any more. */
  clear(): void
}

export interface TickTimers {
  /** Milliseconds of a clock that never steps back, as of the last tick. */
  readonly now: () => number
  /** Calls `fire` once, `delayMs` from now, up to a tick (50 ms) early or late. `fire` must not throw. */
  readonly set: (delayMs: number, fire: () => void) => Timer
}

export class Timers extends Context.Tag("headgate/Timers")<Timers, TickTimers>() {
  static readonly layer: Layer.Layer<Timers> = Layer.scoped(
    Timers,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const nowMs = monotonic(yield* Effect.clock)
  const ticks = new Ticks(nowMs())
  const tick = Effect.sync(() => ticks.tick(nowMs()))
  // A timer that throws is a defect, and must not stop the others.
  const guarded = Effect.catchAllDefect(tick, (cause) => logEvent("background_defect", { what: "a timer" }, cause))
  // No `Schedule`, whose round takes 28 µs and many objects in place of one.
  yield* guarded.pipe(Effect.delay("50 millis"), Effect.forever, Effect.forkScoped)

  return Timers.of({
    now: () => ticks.now,
    set: (delayMs, fire) => {
      const timer = new TickTimer(ticks, fire)
      timer.restart(delayMs)
      return timer
    },
  })
})

/** The time of the last tick, and the timers that have not fired yet. */
class Ticks {
  now: number
  readonly pending = new Roster<TickTimer>()

  constructor(now: number) {
    this.now = now
  }

  tick(now: number): void {
    this.now = now
    this.pending.each((timer) => {
      if (timer.at > now) return
      timer.clear()
      timer.fire()
    })
  }
}

class TickTimer implements Timer, Member {
  rosterIndex = -1
  at = 0
  readonly fire: () => void
  private readonly ticks: Ticks

  constructor(ticks: Ticks, fire: () => void) {
    this.ticks = ticks
    this.fire = fire
  }

  restart(delayMs: number): void {
    this.at = this.ticks.now + delayMs
    this.ticks.pending.add(this)
  }

  clear(): void {
    this.ticks.pending.delete(this)
  }
}
