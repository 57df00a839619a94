/** Readings of the clock that never steps back. */
import { afterEach, expect, setSystemTime, test } from "bun:test"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { monotonic } from "../../../src/services/request/RequestContext.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"

afterEach(() => {
  setSystemTime()
})

const read = () => Effect.runSync(Effect.map(Effect.clock, (clock) => monotonic(clock)()))

test("the wall clock may step: the time goes on", () => {
  const began = read()
  for (const year of [1990, 2060]) {
    setSystemTime(new Date(Date.UTC(year, 0)))
    const now = read()
    expect(now).toBeGreaterThanOrEqual(began)
    expect(now - began).toBeLessThan(60_000)
  }
})

test("a clock that is set says the time, and whole milliseconds stay whole", () => {
  const manual = new ManualClock(1_768_435_200_001)
  const nowMs = Effect.runSync(Effect.withClock(Effect.map(Effect.clock, monotonic), manual))
  expect(nowMs()).toBe(1_768_435_200_001)
  manual.advance(1)
  expect(nowMs()).toBe(1_768_435_200_002)
  const fine = Object.assign(Clock.make(), { unsafeCurrentTimeNanos: () => 1_500_000n })
  expect(monotonic(fine)()).toBe(1.5)
})
