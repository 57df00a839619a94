/** What a process knows of a budget that others spend too. docs/guarantees.md#g1 */
import { expect, test } from "bun:test"
import { KeyId } from "../../../src/domain/ids.ts"
import { Slice } from "../../../src/domain/money/Slice.ts"

const limit = 100n

/** A slice with 40 reserved for one request. */
const reserving = () => {
  const slice = new Slice({ key: KeyId.make("a"), window: "total", start: 0 }, "one")
  slice.learn({ granted: 40n, spent: 0n, others: 0n })
  expect(slice.take(40n)).toBe(true)
  return slice
}

const leftOf = (slice: Slice) => {
  const { spend, reserved } = slice.atBest(limit, 0)
  return limit - spend - reserved
}

test("a cost that the database tells of before its booking is confirmed was counted twice: with its reservation, then for ever", () => {
  const slice = reserving()
  const since = slice.settles(40n)
  slice.learn({ granted: 0n, spent: 30n, others: 0n })
  expect(leftOf(slice)).toBe(70n)
  slice.settled(40n, 30n, since)
  expect([leftOf(slice), slice.free, slice.reserved]).toEqual([70n, 10n, 0n])
})

test("a cost that the database does not tell of is counted when it is booked", () => {
  const slice = reserving()
  slice.settled(40n, 30n, slice.settles(40n))
  expect([leftOf(slice), slice.free, slice.reserved]).toEqual([70n, 10n, 0n])
})

test("an answer of the database from before a booking leaves that out until the next answer", () => {
  const slice = reserving()
  slice.settled(40n, 30n, slice.settles(40n))
  slice.learn({ granted: 0n, spent: 0n, others: 0n })
  expect(leftOf(slice)).toBe(100n)
  slice.learn({ granted: 0n, spent: 30n, others: 0n })
  expect(leftOf(slice)).toBe(70n)
})
