/** What of a time a thread had for itself, on a machine that has others to run. docs/decisions/0047 */
import { expect, test } from "bun:test"
import { OwnTime, type Scheduled } from "../../src/process/mainThread.ts"

test("the time in which it waited for a processor is not its own", () => {
  let now: Scheduled = { ranMs: 50, waitedMs: 400, isReady: false }
  const own = new OwnTime(1, () => now)
  // It slept.
  expect(own.of(1000)).toBe(1000)
  // It has waited, and runs by turns.
  now = { ranMs: 60, waitedMs: 1390, isReady: true }
  expect(own.of(1000)).toBe(10)
  // It waits since then, which the system counts later.
  expect(own.of(1000)).toBe(0)
  now = { ranMs: 70, waitedMs: 2900, isReady: false }
  expect(own.of(1000)).toBe(0)
  // It computes.
  now = { ranMs: 1070, waitedMs: 2900, isReady: true }
  expect(own.of(1000)).toBe(1000)
})

test("all of it is its own where the system does not tell", () => {
  expect(new OwnTime(-1).of(1000)).toBe(1000)
})

test.skipIf(process.platform !== "linux")("this thread computes", () => {
  const own = new OwnTime(process.pid)
  const begun = process.cpuUsage().user
  while (process.cpuUsage().user - begun < 50_000) Math.sqrt(begun)
  expect(own.of(1_000_000_000)).toBeGreaterThan(0)
})
