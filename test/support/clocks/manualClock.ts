/**
 * A clock that only the test advances. Unlike Effect's `TestClock`, it does not wait for fibers to suspend after each
 * step. That takes 70 ms, too long for an hour in steps of a second.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

interface Sleeper {
  readonly at: number
  readonly wake: () => void
}

export class ManualClock implements Clock.Clock {
  readonly [Clock.ClockTypeId]: Clock.ClockTypeId = Clock.ClockTypeId
  private now: number
  private sleepers: Array<Sleeper> = []
  /** Milliseconds by which the wall clock is ahead of the one that never steps back. */
  aheadMs = 0

  constructor(now = Date.UTC(2026, 0, 15)) {
    this.now = now
  }

  unsafeCurrentTimeMillis(): number {
    return this.now + this.aheadMs
  }

  unsafeCurrentTimeNanos(): bigint {
    // Simulated days pause for fractions of a millisecond.
    return BigInt(Math.floor(this.now)) * 1_000_000n + BigInt(Math.round((this.now % 1) * 1_000_000))
  }

  readonly currentTimeMillis = Effect.sync(() => this.unsafeCurrentTimeMillis())
  readonly currentTimeNanos = Effect.sync(() => this.unsafeCurrentTimeNanos())

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    return Effect.async((resume) => {
      const sleeper = { at: this.now + Duration.toMillis(duration), wake: () => resume(Effect.void) }
      this.sleepers.push(sleeper)
      return Effect.sync(() => {
        this.sleepers = this.sleepers.filter((other) => other !== sleeper)
      })
    })
  }

  /** Milliseconds until each sleeper is due: says what waits, and so when something has ended. */
  dueIn(): ReadonlyArray<number> {
    return this.sleepers.map(({ at }) => at - this.now)
  }

  /** Advances the clock, and wakes the sleepers that are due. */
  advance(milliseconds: number): void {
    this.now += milliseconds
    const due = this.sleepers.filter(({ at }) => at <= this.now)
    this.sleepers = this.sleepers.filter(({ at }) => at > this.now)
    for (const { wake } of due) wake()
  }
}

/** Advances the clock in steps of at most 100 ms, and after each lets what it woke run. */
export const pass = async (clock: ManualClock, milliseconds: number): Promise<void> => {
  for (let left = milliseconds; left > 0; left -= 100) {
    clock.advance(Math.min(left, 100))
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
}
