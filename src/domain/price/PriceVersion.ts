/**
 * The prices of a host as the ledger keeps them, so that a row can be computed anew when the configuration has changed. A
 * version is named by its content: the same prices have the same number in every process. Pure.
 */
import { isJsonObject, type JsonObject } from "../json/json.ts"
import { formatUsd, parseUsd } from "./money.ts"
import { type PriceOverride, type Prices, type Pricing, priceFields, priceNames, standIn } from "./price.ts"

export interface PriceVersion {
  /** The first 52 bits of `hash`, so that it is a whole number everywhere. Rows of the ledger refer to it. */
  readonly id: number
  /** SHA-256 of `pricing`, hexadecimal. */
  readonly hash: string
  /** JSON in the vocabulary of the configuration. */
  readonly pricing: string
}

export const priceVersion = (pricing: Pricing): PriceVersion => {
  const text = JSON.stringify(written(pricing))
  const hash = hashOf(text)
  return { id: Number.parseInt(hash.slice(0, 13), 16), hash, pricing: text }
}

const hashOf = (text: string): string => new Bun.CryptoHasher("sha256").update(text).digest("hex")

/** In a fixed order and without defaults, so that a price that a later version of the program knows changes no hash. */
const written = ({ discountPpm, overrides, ...prices }: Pricing): JsonObject => ({
  ...writtenPrices(prices, (name, price) => price === null || (price === 0n && isFreeByDefault(name))),
  ...(discountPpm === 0n ? {} : { discount_ppm: Number(discountPpm) }),
  ...(overrides.length === 0 ? {} : { overrides: overrides.map(writtenOverride) }),
})

const isFreeByDefault = (name: keyof Prices): boolean => priceFields[name].otherwise === "free"

const writtenOverride = ({
  starts,
  minPromptTokens,
  utcStart,
  utcEnd,
  utcDays,
  prices,
}: PriceOverride): JsonObject => ({
  ...(starts === undefined ? {} : { starts }),
  min_prompt_tokens: minPromptTokens,
  ...(utcStart === undefined ? {} : { utc_start: utcStart }),
  ...(utcEnd === undefined ? {} : { utc_end: utcEnd }),
  ...(utcDays === undefined ? {} : { utc_days: utcDays }),
  // An override may set a price to zero where the base has another one.
  ...writtenPrices(prices, () => false),
})

const writtenPrices = (
  prices: Partial<Prices>,
  isLeftOut: (name: keyof Prices, price: bigint | null) => boolean,
): Record<string, string> => {
  const members: Record<string, string> = {}
  for (const name of priceNames) {
    const price = prices[name]
    if (price === undefined || isLeftOut(name, price)) continue
    if (price !== null) members[priceFields[name].wire] = formatUsd(price)
  }
  return members
}

/** The prices of a version; `undefined` when it is not as it was written: the hash is another, or the text is odd. */
export const pricingOf = ({ id, hash, pricing: text }: PriceVersion): Pricing | undefined => {
  if (hashOf(text) !== hash || Number.parseInt(hash.slice(0, 13), 16) !== id) return undefined
  // The hash shows that this program wrote it.
  const raw: unknown = JSON.parse(text)
  if (!isJsonObject(raw)) return undefined
  const { discount_ppm: discount = 0, overrides = [] } = raw
  if (!Number.isSafeInteger(discount) || !Array.isArray(overrides)) return undefined
  const base = priceNames.map((name) => [name, readPrice(raw, name) ?? (standIn(name) === undefined ? 0n : null)])
  return {
    // Every price of the table is set. Object.fromEntries loses that type.
    ...(Object.fromEntries(base) as Prices),
    discountPpm: BigInt(Number(discount)),
    overrides: overrides.map((entry) => readOverride(isJsonObject(entry) ? entry : {})),
  }
}

const readPrice = (raw: JsonObject, name: keyof Prices): bigint | undefined => {
  const value = raw[priceFields[name].wire]
  return typeof value === "string" ? parseUsd(value) : undefined
}

const readOverride = (raw: JsonObject): PriceOverride => {
  const { starts, min_prompt_tokens: least, utc_start: start, utc_end: end, utc_days: days } = raw
  const prices = priceNames.flatMap((name) => {
    const price = readPrice(raw, name)
    return price === undefined ? [] : [[name, price] as const]
  })
  return {
    ...(typeof starts === "string" ? { starts } : {}),
    minPromptTokens: Number(least),
    ...(typeof start === "number" ? { utcStart: start } : {}),
    ...(typeof end === "number" ? { utcEnd: end } : {}),
    ...(Array.isArray(days) ? { utcDays: days.map(String) } : {}),
    prices: Object.fromEntries(prices),
  }
}
