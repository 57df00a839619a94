/**
 * Money. Inside the gateway it is an integer of picodollars (1e-12 USD) as `bigint`; at the edges a decimal
 * string (prices) or a JSON number of USD (spend, limits, costs). No float touches a sum.
 */

/** 1e-12 USD. */
export type Picodollars = bigint

export const picodollarsPerUsd = 1_000_000_000_000n

const decimal = /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/

/**
 * A decimal amount with its point moved `places` to the right, truncated to an integer; `exact` where nothing was
 * truncated. `undefined` for a negative amount and for text that is no decimal number.
 */
export const scaled = (
  amount: string | number,
  places: number,
): { readonly value: bigint; readonly exact: boolean } | undefined => {
  const match = decimal.exec(String(amount))
  if (match === null) return undefined
  const [, whole = "0", fraction = "", exponent = "0"] = match
  const scale = places - fraction.length + Number(exponent)
  const digits = BigInt(whole + fraction)
  if (scale >= 0) return { value: digits * 10n ** BigInt(scale), exact: true }
  const divisor = 10n ** BigInt(-scale)
  return { value: digits / divisor, exact: digits % divisor === 0n }
}

/**
 * Picodollars in a decimal amount of USD, such as "0.0000025" or 1.5; also `undefined` when it is finer than a
 * picodollar.
 */
export const parseUsd = (amount: string | number): Picodollars | undefined => {
  const picodollars = scaled(amount, 12)
  return picodollars?.exact === true ? picodollars.value : undefined
}

/**
 * The nearest picodollars to a JSON number of USD, which a client may have computed in floats: 3 * 0.0015 is
 * 0.0045000000000000005. `undefined` for a negative amount.
 */
export const roundUsd = (usd: number): Picodollars | undefined => {
  const exact = scaled(usd, 24)
  return exact === undefined ? undefined : divideHalfEven(exact.value, 1_000_000_000_000n)
}

/** The nearest JSON number of USD. Exact to the picodollar up to $8,192. */
export const toUsd = (amount: Picodollars): number => Number(amount) / 1e12

/** A plain decimal of USD without exponent or trailing zeros: "0.00001275". */
export const formatUsd = (amount: Picodollars): string => {
  const sign = amount < 0n ? "-" : ""
  const digits = (amount < 0n ? -amount : amount).toString().padStart(13, "0")
  const fraction = digits.slice(-12).replace(/0+$/, "")
  return sign + digits.slice(0, -12) + (fraction === "" ? "" : `.${fraction}`)
}

/** `amount / divisor`, to the nearest integer, a tie to the even one. */
export const divideHalfEven = (amount: bigint, divisor: bigint): bigint => {
  const quotient = amount / divisor
  const twice = (amount % divisor) * 2n
  if (twice < divisor || (twice === divisor && quotient % 2n === 0n)) return quotient
  return quotient + 1n
}
