/** What is logged when it begins and when it is over, and not in between. */
import * as Effect from "effect/Effect"

/** Seconds of a clock that never steps back. */
const seconds = Effect.map(Effect.clock, (clock) => Number(clock.unsafeCurrentTimeNanos()) / 1e9)

/** For the field `lasted_s`: to the millisecond. */
export const lasted = (forSeconds: number): number => Math.round(forSeconds * 1000) / 1000

/** A state of something that fails and recovers. */
export class LoggedState {
  /** By `seconds`; `undefined`: it has not begun. */
  private since: number | undefined

  get hasBegun(): boolean {
    return this.since !== undefined
  }

  /** Logs the line unless the state has begun already. */
  begin(line: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.flatMap(seconds, (now) => {
      if (this.since !== undefined) return Effect.void
      this.since = now
      return line
    })
  }

  /** Logs the line, which is given how long the state has lasted, unless it has not begun. */
  end(line: (lastedS: number) => Effect.Effect<void>): Effect.Effect<void> {
    return Effect.flatMap(seconds, (now) => {
      const { since } = this
      this.since = undefined
      return since === undefined ? Effect.void : line(lasted(now - since))
    })
  }
}
