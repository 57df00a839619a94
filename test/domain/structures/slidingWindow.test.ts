/** Sliding windows: exact, whatever comes, and bounded in memory. */
import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { KeyId } from "../../../src/domain/ids.ts"
import { SlidingWindow } from "../../../src/domain/structures/SlidingWindow.ts"
import { KeyWindows } from "../../../src/services/keys/KeyWindows.ts"

const times = FastCheck.array(FastCheck.integer({ min: 0, max: 900 }), { maxLength: 200 }).map((steps) => {
  let now = 0
  return steps.map((step) => (now += step))
})

describe("a sliding window", () => {
  test("admits exactly what a list of all admissions would, and says how long to wait", () => {
    const limits = FastCheck.record({
      requests: FastCheck.integer({ min: 1, max: 30 }),
      intervalSeconds: FastCheck.integer({ min: 1, max: 5 }),
    })
    FastCheck.assert(
      FastCheck.property(limits, times, (limit, arrivals) => {
        const window = new SlidingWindow()
        const interval = limit.intervalSeconds * 1000
        const admitted: Array<number> = []
        const isFull = (at: number) => admitted.filter((then) => then > at - interval).length >= limit.requests
        for (const now of arrivals) {
          const wait = window.waitFor(limit, now)
          expect(wait > 0).toBe(isFull(now))
          if (wait === 0) {
            window.add(now)
            admitted.push(now)
            // One of which nothing came is as if it had never been.
            const [undone] = admitted.slice(-3)
            if (undone !== undefined && now % 4 === 0) {
              expect(window.remove(undone)).toBe(undone > now - interval)
              admitted.splice(admitted.lastIndexOf(undone), 1)
            }
          } else {
            // Waiting that long suffices, and a millisecond less does not.
            expect(isFull(now + wait)).toBe(false)
            expect(isFull(now + wait - 1)).toBe(true)
          }
          expect(window.size).toBeLessThanOrEqual(limit.requests)
          expect(window.bytes).toBeLessThanOrEqual(Math.max(64, 32 * window.size))
        }
      }),
      { numRuns: 500 },
    )
  })

  test("gives its memory back when a burst has left it", () => {
    const window = new SlidingWindow()
    const limit = { requests: 10_000, intervalSeconds: 1 }
    for (let n = 0; n < 10_000; n++) window.add(0)
    for (let n = 0; n < 10; n++) window.add(500)
    expect(window.bytes).toBeGreaterThan(80_000)
    expect(window.waitFor(limit, 1000)).toBe(0)
    expect([window.size, window.bytes]).toEqual([10, 160])
    expect(window.waitFor({ requests: 1, intervalSeconds: 1 }, 1000)).toBe(500)
  })

  test("of another limit counts what is remembered", () => {
    const window = new SlidingWindow()
    const wide = { requests: 10, intervalSeconds: 60 }
    for (let n = 0; n < 10; n++) {
      expect(window.waitFor(wide, n * 1000)).toBe(0)
      window.add(n * 1000)
    }
    expect(window.waitFor(wide, 10_000)).toBe(50_000)
    // The eighth of the ten must have left the window before there are fewer than three.
    expect(window.waitFor({ requests: 3, intervalSeconds: 60 }, 10_000)).toBe(57_000)
    expect(window.waitFor({ requests: 11, intervalSeconds: 60 }, 10_000)).toBe(0)
  })
})

describe("the windows of keys", () => {
  const [alice, bob, carol] = ["a", "b", "c"].map((letter) => KeyId.make(letter)) as [KeyId, KeyId, KeyId]
  const limit = { requests: 2, intervalSeconds: 60 }
  const take = (windows: KeyWindows, key: KeyId, now: number): boolean => {
    if (windows.waitFor(key, limit, now) > 0) return false
    windows.add(key, now)
    return true
  }

  test("do not share anything", () => {
    const windows = new KeyWindows()
    expect([alice, alice, alice, bob].map((key) => take(windows, key, 0))).toEqual([true, true, false, true])
  })

  test("are forgotten beyond the bounds, the least recently used one first", () => {
    for (const most of [
      { keys: 2, remembered: 1000 },
      { keys: 1000, remembered: 4 },
    ]) {
      const windows = new KeyWindows(most)
      for (const key of [alice, alice, bob, bob, carol]) expect(take(windows, key, 0)).toBe(true)
      expect(windows.waitFor(bob, limit, 0)).toBe(60_000)
      expect(windows.waitFor(alice, limit, 0)).toBe(0)
    }
  })
})
