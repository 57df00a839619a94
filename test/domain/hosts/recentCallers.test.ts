/** For whom a host fails, and how many of its calls that is. docs/guarantees.md#g35 */
import { expect, test } from "bun:test"
import { RecentCallers } from "../../../src/domain/hosts/RecentCallers.ts"

const called = (callers: RecentCallers, name: string, times: number, isFailing: boolean, now = 0) => {
  for (let at = 0; at < times; at++) callers.add(name, isFailing, now)
}

test("a caller counts with all of its calls, by its latest one", () => {
  const callers = new RecentCallers()
  called(callers, "a", 5, false)
  called(callers, "b", 4, false)
  called(callers, "b", 1, true)
  expect(callers.failsForMost(0)).toBe(true)
  called(callers, "a", 1, false)
  expect(callers.failsForMost(0)).toBe(false)
  called(callers, "b", 1, false)
  called(callers, "a", 1, true)
  expect(callers.failsForMost(0)).toBe(true)
})

test("calls count for 15 to 30 seconds", () => {
  const callers = new RecentCallers()
  called(callers, "a", 9, false, 0)
  called(callers, "b", 1, true, 14_000)
  called(callers, "b", 1, true, 29_000)
  expect(callers.failsForMost(29_000)).toBe(false)
  expect(callers.failsForMost(30_000)).toBe(true)
  called(callers, "a", 2, false, 90_000)
  expect(callers.failsForMost(90_000)).toBe(false)
})

test("callers beyond the 256th count as one", () => {
  const callers = new RecentCallers()
  for (let at = 0; at < 1000; at++) callers.add(`k${at}`, false, 0)
  callers.add("another", true, 0)
  expect(callers.failsForMost(0)).toBe(true)
  callers.add("yet another", false, 0)
  expect(callers.failsForMost(0)).toBe(false)
})
