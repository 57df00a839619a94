/** How many streams are read on after their callers have left. docs/guarantees.md#g15 */
import { expect, test } from "bun:test"
import { KeyId } from "../../../src/domain/ids.ts"
import type { HostAnswer } from "../../../src/services/dispatch/HostAnswer.ts"
import { ReadingOn } from "../../../src/services/dispatch/ReadingOn.ts"

const key = (at: number) => KeyId.make(`key ${at}`)
const entered = (reading: ReadingOn, at: number, count: number) =>
  Array.from({ length: count }, () => reading.enter(key(at))).filter((has) => has).length

test("eight of one key, and one more for each that has ended", () => {
  const reading = new ReadingOn()
  expect(entered(reading, 1, 10)).toBe(8)
  reading.leave(key(1))
  expect(entered(reading, 1, 10)).toBe(1)
})

test("thirty-two of all keys", () => {
  const reading = new ReadingOn()
  expect([1, 2, 3, 4, 5].map((at) => entered(reading, at, 10))).toEqual([8, 8, 8, 8, 0])
  for (let left = 0; left < 8; left++) reading.leave(key(2))
  expect(entered(reading, 5, 10)).toBe(8)
})

test("a key that has none cannot free a place of others", () => {
  const reading = new ReadingOn()
  for (const at of [1, 2, 3, 4]) entered(reading, at, 8)
  reading.leave(key(5))
  expect(reading.enter(key(5))).toBe(false)
})

test("calls that have waited in vain are forgotten, however long others of their key have the places", () => {
  const reading = new ReadingOn()
  const fires: Array<() => void> = []
  const timers = {
    now: () => 0,
    set: (_: number, run: () => void) => {
      fires.push(run)
      return { restart: () => {}, clear: () => {} }
    },
  }
  let over = 0
  const leave = (): boolean => {
    const attempt = { context: { key: { id: key(1) }, lifetime: {} }, stopClock: () => {} }
    const stream = { state: "speaking", hasContent: true, bytes: 0 }
    const answer = { attempt, endpoint: { billsAfterAbort: false }, stream, take: () => "" } as unknown as HostAnswer
    return reading.read(answer, timers, 1000, () => {
      over += 1
    })
  }
  leave()
  expect(entered(reading, 1, 10)).toBe(7)
  for (let at = 0; at < 20; at++) leave()
  for (const fire of fires.slice(1)) fire()
  expect(over).toBe(20)
  for (let at = 0; at < 7; at++) reading.leave(key(1))
  // The last place has nobody to wait for: its time is over at once.
  fires[0]?.()
  expect(over).toBe(21)
})
