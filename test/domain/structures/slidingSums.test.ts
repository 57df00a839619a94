import { expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { SlidingSums } from "../../../src/domain/structures/SlidingSums.ts"

const slotMs = 1000
const slots = 5
const start = 1_000_000

test("any steps ahead: the sums are those of the slots in the window", () => {
  const step = FastCheck.record({
    passed: FastCheck.oneof(FastCheck.integer({ min: 0, max: 2500 }), FastCheck.integer({ min: 0, max: 10_000_000 })),
    column: FastCheck.integer({ min: 0, max: 1 }),
  })
  FastCheck.assert(
    FastCheck.property(FastCheck.array(step, { maxLength: 60 }), (steps) => {
      const sums = new SlidingSums(slots, slotMs, 2, start)
      const events: Array<{ readonly at: number; readonly column: number }> = []
      let at = start
      for (const { passed, column } of steps) {
        at += passed
        sums.moveTo(at)
        sums.add(column)
        events.push({ at, column })
        const present = Math.floor(at / slotMs)
        for (const each of [0, 1]) {
          for (const lately of [1, 3, slots]) {
            const inside = events.filter(
              (event) => event.column === each && Math.floor(event.at / slotMs) > present - lately,
            )
            expect(sums.lately(each, lately)).toBe(inside.length)
          }
          expect(sums.total(each)).toBe(sums.lately(each, slots))
        }
      }
    }),
  )
})

test("any steps of the clock, also back: no sum is negative, all are those of the slots, nothing is invented", () => {
  const step = FastCheck.oneof(
    FastCheck.integer({ min: -5000, max: 5000 }),
    FastCheck.integer({ min: -1e12, max: 1e12 }),
  )
  FastCheck.assert(
    FastCheck.property(FastCheck.array(step, { maxLength: 60 }), (steps) => {
      let left = 0
      const sums = new SlidingSums(slots, slotMs, 1, start, (place) => {
        left += 1
        expect(sums.at(place, 0)).toBe(0)
      })
      let at = start
      for (const [n, passed] of steps.entries()) {
        at += passed
        left = 0
        sums.moveTo(at)
        expect(left).toBeLessThanOrEqual(slots)
        sums.add(0)
        expect(sums.total(0)).toBe(sums.lately(0, slots))
        expect(sums.total(0)).toBeGreaterThan(0)
        expect(sums.total(0)).toBeLessThanOrEqual(n + 1)
      }
    }),
  )
})

test("a clock that is set back by days keeps what was counted, and it leaves the window in time", () => {
  const sums = new SlidingSums(slots, slotMs, 1, start)
  sums.add(0, 7)
  sums.moveTo(start - 86_400_000)
  expect(sums.total(0)).toBe(7)
  sums.moveTo(start - 86_400_000 + 4 * slotMs)
  expect(sums.total(0)).toBe(7)
  sums.moveTo(start - 86_400_000 + 5 * slotMs)
  expect(sums.total(0)).toBe(0)
})
