/** Amounts as the console reads and shows them. */
import { expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { exactUsd, percentOf, picodollars, shortUsd, usdForChart } from "../../console/lib/money.ts"
import { formatUsd } from "../../src/domain/price/money.ts"

test.each([
  ["0", 0n],
  ["0.000123", 123_000_000n],
  ["-0.5", -500_000_000_000n],
  ["12.345678901234", 12_345_678_901_234n],
  ["123456789012345", 123_456_789_012_345_000_000_000_000n],
])("%s is %p picodollars", (text, amount) => {
  expect(picodollars(text)).toBe(amount)
})

test.each([null, undefined, "", "abc", "0.0000000000001", "1,5"])("%p is no amount", (text) => {
  expect(picodollars(text)).toBeNull()
})

test("every amount that the API writes is read back as it was", () => {
  FastCheck.assert(
    FastCheck.property(FastCheck.bigInt(-(10n ** 30n), 10n ** 30n), (amount) => {
      expect(picodollars(formatUsd(amount))).toBe(amount)
    }),
  )
})

test.each([
  ["0", "$0", "$0"],
  ["0.000000000001", "$0.000000000001", "$0.000000000001"],
  ["0.00000025", "$0.00000025", "$0.00000025"],
  ["0.0123456", "$0.0123", "$0.0123456"],
  ["0.5", "$0.50", "$0.50"],
  ["0.99999", "$1.00", "$0.99999"],
  ["1.005", "$1.01", "$1.005"],
  ["9.999", "$10.00", "$9.999"],
  ["1234567.891", "$1,234,567.89", "$1,234,567.891"],
  ["-3.14159", "−$3.14", "−$3.14159"],
  ["250", "$250.00", "$250"],
])("%s is shown as %s, and exactly as %s", (text, short, exact) => {
  const amount = picodollars(text) ?? 0n
  expect([shortUsd(amount), exactUsd(amount)]).toEqual([short, exact])
})

test("what is shown exactly has every digit of the amount", () => {
  FastCheck.assert(
    FastCheck.property(FastCheck.bigInt(0n, 10n ** 24n), (amount) => {
      expect(picodollars(exactUsd(amount).replace(/[$,]/g, ""))).toBe(amount)
    }),
  )
})

test("what is shown in short is never further from the amount than half of its last digit", () => {
  FastCheck.assert(
    FastCheck.property(FastCheck.bigInt(1n, 10n ** 24n), (amount) => {
      const text = shortUsd(amount).replace(/[$,]/g, "")
      const places = text.split(".")[1]?.length ?? 0
      const shown = picodollars(text) ?? -1n
      const difference = shown > amount ? shown - amount : amount - shown
      expect(difference * 2n <= 10n ** BigInt(12 - places)).toBe(true)
    }),
  )
})

test("shares and heights of bars", () => {
  expect(percentOf(1n, 3n)).toBe(33.3)
  expect(percentOf(1n, 0n)).toBeNull()
  expect(usdForChart(1_500_000_000_000n)).toBe(1.5)
  expect(usdForChart(null)).toBeNull()
})
