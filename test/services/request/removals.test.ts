/** What is old is not removed while the clock may be wrong. docs/guarantees.md#g7 */
import { expect, test } from "bun:test"
import { makeRemovals } from "../../../src/services/request/removals.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"

const minute = 60_000
const year = 365 * 24 * 60 * minute

test("nothing is removed for an hour after the clock has jumped ahead, and a clock that was put right lasts", () => {
  const clock = new ManualClock()
  const mayRemove = makeRemovals(clock)
  expect(mayRemove()).toBe(true)
  clock.aheadMs = year
  expect(mayRemove()).toBe(false)
  clock.advance(59 * minute)
  expect(mayRemove()).toBe(false)
  clock.advance(minute)
  expect(mayRemove()).toBe(true)
})

test("corrections of a clock that runs, and a clock that steps back, hold nothing up", () => {
  const clock = new ManualClock()
  const mayRemove = makeRemovals(clock)
  for (let step = 0; step < 10; step++) {
    clock.advance(minute)
    clock.aheadMs += minute
    expect(mayRemove()).toBe(true)
  }
  clock.aheadMs = -year
  expect(mayRemove()).toBe(true)
})
