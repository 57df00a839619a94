/**
 * Amounts as the API tells them exactly (`exact`): decimal strings of USD. Inside they are picodollars as `bigint`; a float is made of
 * one only where a chart needs a height.
 */
import { formatUsd, type Picodollars, parseUsd, picodollarsPerUsd } from "../../src/domain/price/money.ts"

export type { Picodollars }

/** Picodollars in a decimal string of USD, which may be negative. `null` for `null`, and for text that is no amount. */
export const picodollars = (amount: string | null | undefined): Picodollars | null => {
  if (amount === null || amount === undefined) return null
  const isNegative = amount.startsWith("-")
  const value = parseUsd(isNegative ? amount.slice(1) : amount)
  if (value === undefined) return null
  return isNegative ? -value : value
}

const withSeparators = (digits: string): string => digits.replace(/\B(?=(\d{3})+$)/g, ",")

/** Every digit: "$1,234.000123". */
export const exactUsd = (amount: Picodollars): string => {
  const [whole = "0", fraction] = formatUsd(amount < 0n ? -amount : amount).split(".")
  return `${amount < 0n ? "−" : ""}$${withSeparators(whole)}${fraction === undefined ? "" : `.${fraction.padEnd(2, "0")}`}`
}

/** `amount / divisor` to the nearest integer, half away from zero; for amounts that are not negative. */
const rounded = (amount: bigint, divisor: bigint): bigint => (amount + divisor / 2n) / divisor

/**
 * An amount as one reads it: cents from a dollar on, three significant digits below, so that a small one does not look like nothing:
 * "$1,234.57", "$0.0123", "$0.00000025".
 */
export const shortUsd = (amount: Picodollars): string => {
  const size = amount < 0n ? -amount : amount
  if (size === 0n) return "$0"
  // Picodollars have 12 places behind the point.
  const places = size >= picodollarsPerUsd ? 2 : Math.min(12, Math.max(2, 12 - size.toString().length + 3))
  const step = 10n ** BigInt(12 - places)
  const value = rounded(size, step) * step
  const [whole = "0", fraction = ""] = formatUsd(value).split(".")
  const shown = fraction.padEnd(2, "0")
  return `${amount < 0n ? "−" : ""}$${withSeparators(whole)}.${shown}`
}

/** USD as a float: for the height of a bar, never for a sum. */
export const usdForChart = (amount: Picodollars | null): number | null =>
  amount === null ? null : Number(amount) / 1e12

/** The text of such a float on an axis, which has six digits behind the point at most. */
export const usdOfChart = (value: number): string => shortUsd(BigInt(Math.round(value * 1e6)) * 1_000_000n)

/** What `part` is of `whole` in percent, to a tenth. `null` where there is no whole. */
export const percentOf = (part: Picodollars, whole: Picodollars): number | null =>
  whole <= 0n ? null : Number((part * 1000n) / whole) / 10
