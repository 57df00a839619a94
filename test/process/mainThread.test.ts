/** What of a time a thread had for itself, on a machine that has others to run. docs/decisions/0047 */
import { expect, test } from "bun:test"
import { OwnTime, type Scheduled } from "../../src/process/mainThread.ts"

const main = (ranMs: number, waitedMs: number, isReady: boolean, collectorMs = 0): Scheduled => ({
  ...{ ranMs, isReady },
  waitedMs: new Map([
    ["1", waitedMs],
    ["2", collectorMs],
  ]),
})

test("the time in which it waited for a processor is not its own", () => {
  let now = main(50, 400, false)
  const own = new OwnTime(1, () => now)
  // It slept.
  expect(own.of(1000)).toBe(1000)
  // It has waited, and runs by turns.
  now = main(60, 1390, true)
  expect(own.of(1000)).toBe(10)
  // It waits since then, which the system counts later.
  expect(own.of(1000)).toBe(0)
  now = main(70, 2900, false)
  expect(own.of(1000)).toBe(0)
  // It computes.
  now = main(1070, 2900, true)
  expect(own.of(1000)).toBe(1000)
})

test("the time in which it slept for another thread of the process that waited for a processor is not its own", () => {
  let now = main(50, 400, false)
  const own = new OwnTime(1, () => now)
  now = main(50, 410, false, 900)
  expect(own.of(1000)).toBe(100)
  // A thread that is new has waited since then.
  now = { ...now, waitedMs: new Map([...now.waitedMs, ["3", 700]]) }
  expect(own.of(1000)).toBe(300)
  // The others had processors.
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
