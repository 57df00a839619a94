/** Prices of a host's prompt cache that follow from the price of its prompt. Pure. */
import { divideHalfEven, type Picodollars } from "./money.ts"
import type { Prices, Pricing } from "./price.ts"

/**
 * What tokens of a vendor's prompt cache cost, as multiples of the price of a token of the prompt, with at most six decimals.
 * A member that is absent changes nothing: such tokens cost what the table of prices says (`priceFields`).
 */
export interface CacheMultipliers {
  /** Read from the cache. */
  readonly read?: number
  /** Read from a cache that the caller asked for, where the vendor has another price for it. Default: as `read`. */
  readonly readExplicit?: number
  /** Written to the cache. 0 is free; a vendor that takes no extra charge has no such member. */
  readonly write?: number
  /** Written to a cache that is kept for an hour. */
  readonly write1h?: number
}

const times = (price: Picodollars, multiplier: number): Picodollars =>
  divideHalfEven(price * BigInt(Math.round(multiplier * 1e6)), 1_000_000n)

/**
 * The prices with those that the multipliers give and that are not written. An override that changes the price of the prompt
 * changes them too, unless it has them itself.
 */
export const withMultiplied = (pricing: Pricing, { read, readExplicit, write, write1h }: CacheMultipliers): Pricing => {
  const multipliers = [
    ["inputCacheRead", read],
    ["inputCacheReadExplicit", readExplicit],
    ["inputCacheWrite", write],
    ["inputCacheWrite1h", write1h],
  ] as const
  const missing = multipliers.filter(([name]) => pricing[name] === null)
  const multiplied = (prompt: Picodollars): Partial<Prices> =>
    Object.fromEntries(
      missing.flatMap(([name, multiplier]) => (multiplier === undefined ? [] : [[name, times(prompt, multiplier)]])),
    )
  return {
    ...pricing,
    ...multiplied(pricing.prompt),
    overrides: pricing.overrides.map((entry) => {
      const { prompt } = entry.prices
      return prompt === undefined ? entry : { ...entry, prices: { ...multiplied(prompt), ...entry.prices } }
    }),
  }
}
