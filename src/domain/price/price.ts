/**
 * What a call costs.
 *
 * Units: picodollars per token (per request, image or search where the table says so) here; decimal strings of USD on
 * the wire and in the configuration.
 */
import { divideHalfEven, type Picodollars } from "./money.ts"
import type { Usage } from "./Usage.ts"

/** What a price is for: a token of the prompt or of the output, a request, an image of the prompt, a web search. */
export type PriceUnit = "prompt" | "completion" | "request" | "image" | "webSearch"

interface PriceField {
  /** Its name in the configuration and in listings. */
  readonly wire: string
  /** In USD, for those who write it. */
  readonly description: string
  readonly unit: PriceUnit
  /**
   * What holds where a host has no such price. `required`: every priced host has it. `free`: nothing is charged.
   * Another name: that price is used instead, here and in every override.
   */
  readonly otherwise: "required" | "free" | { readonly as: string }
  /** Whether every listing has it, so that a price used in its place is shown too. */
  readonly listed?: "always"
}

/**
 * Every price that a host can have. An override may replace each of them and inherits the others. The configuration's
 * schema, the types, the listings and the maximum prices are made from this table.
 */
export const priceFields = {
  prompt: {
    wire: "prompt",
    description: "Per token of the prompt.",
    unit: "prompt",
    otherwise: "required",
    listed: "always",
  },
  completion: {
    wire: "completion",
    description: "Per token of the output.",
    unit: "completion",
    otherwise: "required",
    listed: "always",
  },
  request: {
    wire: "request",
    description: "Per request; of a rerank, per search unit where the host counts those. Default: free.",
    unit: "request",
    otherwise: "free",
  },
  image: {
    wire: "image",
    description: "Per image in the prompt. Default: free.",
    unit: "image",
    otherwise: "free",
  },
  webSearch: {
    wire: "web_search",
    description: "Per web search. Default: free.",
    unit: "webSearch",
    otherwise: "free",
    listed: "always",
  },
  internalReasoning: {
    wire: "internal_reasoning",
    description:
      "Per token of reasoning, in place of `completion`. Default 0: reasoning costs what other output costs.",
    unit: "completion",
    otherwise: "free",
  },
  inputCacheRead: {
    wire: "input_cache_read",
    description:
      "Per token of the prompt that was read from the cache. Default: by the vendor's rule (`Provider.cacheMultipliers`), else `prompt`.",
    unit: "prompt",
    otherwise: { as: "prompt" },
    listed: "always",
  },
  inputCacheReadExplicit: {
    wire: "input_cache_read_explicit",
    description:
      "Per token of the prompt that was read from a cache which the caller asked for by `cache_control`, where the host tells those apart. Default: by that rule, else `input_cache_read`.",
    unit: "prompt",
    otherwise: { as: "inputCacheRead" },
  },
  inputCacheWrite: {
    wire: "input_cache_write",
    description: "Per token of the prompt that was written to the cache. Default: as above.",
    unit: "prompt",
    otherwise: { as: "prompt" },
    listed: "always",
  },
  inputCacheWrite1h: {
    wire: "input_cache_write_1h",
    description: "The same for a cache that is kept for an hour. Default: by that rule, else `input_cache_write`.",
    unit: "prompt",
    otherwise: { as: "inputCacheWrite" },
  },
  imageToken: {
    wire: "image_token",
    description: "Per token of images in the prompt, where the host counts them; besides `image`. Default: `prompt`.",
    unit: "prompt",
    otherwise: { as: "prompt" },
  },
  audio: {
    wire: "audio",
    description: "Per token of audio in the prompt. Default: `prompt`.",
    unit: "prompt",
    otherwise: { as: "prompt" },
  },
  inputAudioCache: {
    wire: "input_audio_cache",
    description:
      "Per token of audio in the prompt that was read from the cache, where the host counts them. Default: `input_cache_read`.",
    unit: "prompt",
    otherwise: { as: "inputCacheRead" },
  },
  audioOutput: {
    wire: "audio_output",
    description: "Per token of audio in the output. Default: `completion`.",
    unit: "completion",
    otherwise: { as: "completion" },
  },
  imageOutput: {
    wire: "image_output",
    description: "Per token of images in the output. Default: `completion`.",
    unit: "completion",
    otherwise: { as: "completion" },
  },
} as const satisfies Record<string, PriceField>

export type PriceName = keyof typeof priceFields
type PriceFields = typeof priceFields

/** Prices for which another one is used where they are absent. */
type Replaceable = { [N in PriceName]: PriceFields[N]["otherwise"] extends string ? never : N }[PriceName]

/** Every price of a host. `null`: it has none, and the table says which one is used instead. */
export type Prices = {
  readonly [N in keyof PriceFields]: N extends Replaceable ? Picodollars | null : Picodollars
}

// The type of Object.keys does not say that these are the names of the table.
export const priceNames = Object.keys(priceFields) as ReadonlyArray<PriceName>

/** The name of the price that is used where this one is absent; `undefined`: none. */
export const standIn = (
  name: PriceName,
): "prompt" | "completion" | "inputCacheRead" | "inputCacheWrite" | undefined => {
  const { otherwise } = priceFields[name]
  return typeof otherwise === "string" ? undefined : otherwise.as
}

/** The price in force: the host's own, or the one that is used instead. */
export const effectivePrice = (prices: Prices, name: PriceName): Picodollars =>
  prices[name] ?? effectivePrice(prices, standIn(name) ?? "prompt")

/** Prices that replace the base once every condition holds; of several the later one wins. */
export interface PriceOverride {
  /** The first day on which it holds, UTC, `YYYY-MM-DD`. */
  readonly starts?: string
  /** The prompt has reached this many tokens; the tier then holds for the whole request. */
  readonly minPromptTokens: number
  /** Half-open window of the UTC day as HHMM numbers; it may wrap midnight. */
  readonly utcStart?: number
  readonly utcEnd?: number
  /** Weekdays in UTC, "monday" to "sunday". */
  readonly utcDays?: ReadonlyArray<string>
  readonly prices: Partial<Prices>
}

export interface Pricing extends Prices {
  /** Parts per million taken off every price. */
  readonly discountPpm: bigint
  readonly overrides: ReadonlyArray<PriceOverride>
}

/** Whether a token that is read from the host's cache is cheaper than another one of the prompt. */
export const discountsCacheReads = (pricing: Pricing | null): boolean =>
  pricing !== null && pricing.inputCacheRead !== null && pricing.inputCacheRead < pricing.prompt

/**
 * The price by which hosts are compared: a token of the prompt and one of the output together, less the discount, before
 * any override. `null`: the price is unknown.
 */
export const sortPrice = (pricing: Pricing | null): Picodollars | null => {
  if (pricing === null) return null
  const sum = pricing.prompt + pricing.completion
  return pricing.discountPpm === 0n ? sum : (sum * (1_000_000n - pricing.discountPpm)) / 1_000_000n
}

/** The prices of a free host. */
export const freePricing: Pricing = {
  // Every price of the table is set, with null where another one is used. Object.fromEntries loses that type.
  ...(Object.fromEntries(priceNames.map((name) => [name, standIn(name) === undefined ? 0n : null])) as Prices),
  discountPpm: 0n,
  overrides: [],
}

// A vendor has few multipliers, and prices of a catalogue never change.
const multiplied = new WeakMap<Pricing, Map<number, Pricing>>()

/** The prices with every price of a token multiplied, rounded half-even. `multiplier`: with at most six decimals. */
export const withTokensTimes = (pricing: Pricing, multiplier: number): Pricing => {
  const before = multiplied.get(pricing)?.get(multiplier)
  if (before !== undefined) return before
  const ppm = BigInt(Math.round(multiplier * 1e6))
  const timesEach = <P extends Partial<Prices>>(prices: P): P => {
    const changed: Partial<Record<PriceName, Picodollars>> = {}
    for (const name of priceNames) {
      const { unit } = priceFields[name]
      const price = prices[name]
      if (price != null && (unit === "prompt" || unit === "completion"))
        changed[name] = divideHalfEven(price * ppm, 1_000_000n)
    }
    return { ...prices, ...changed }
  }
  const overrides = pricing.overrides.map((entry) => ({ ...entry, prices: timesEach(entry.prices) }))
  const result = { ...timesEach(pricing), overrides }
  const known = multiplied.get(pricing) ?? new Map<number, Pricing>()
  multiplied.set(pricing, known.set(multiplier, result))
  return result
}

const weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]

const hasStarted = ({ starts }: PriceOverride, at: number): boolean => starts === undefined || at >= Date.parse(starts)

const holds = (entry: PriceOverride, promptTokens: number, admittedAt: number): boolean => {
  if (promptTokens < entry.minPromptTokens || !hasStarted(entry, admittedAt)) return false
  if (entry.utcStart === undefined && entry.utcEnd === undefined && entry.utcDays === undefined) return true
  const at = new Date(admittedAt)
  const day = weekdays[at.getUTCDay()] ?? ""
  if (entry.utcDays !== undefined && !entry.utcDays.includes(day)) return false
  const hhmm = at.getUTCHours() * 100 + at.getUTCMinutes()
  const { utcStart = 0, utcEnd = 2400 } = entry
  return utcStart <= utcEnd ? hhmm >= utcStart && hhmm < utcEnd : hhmm >= utcStart || hhmm < utcEnd
}

/** The prices in force for a prompt of this size, admitted at this time (Unix milliseconds). */
export const pricesFor = (pricing: Pricing, promptTokens: number, admittedAt: number): Prices => {
  if (pricing.overrides.length === 0) return pricing
  let prices: Prices = pricing
  for (const entry of pricing.overrides) {
    if (holds(entry, promptTokens, admittedAt)) prices = { ...prices, ...entry.prices }
  }
  return prices
}

/**
 * The cost of a usage, and its parts for prompt and output. `total - prompt - completion` is the rest: the request, its
 * images and searches. Without those the two parts are the total.
 */
export interface Cost {
  readonly total: Picodollars
  readonly prompt: Picodollars
  readonly completion: Picodollars
}

export const noCost: Cost = { total: 0n, prompt: 0n, completion: 0n }

const times = (count: number, price: Picodollars): Picodollars => (count === 0 ? 0n : BigInt(count) * price)

/** Cached tokens at the price of explicit reads: audio has one of its own. */
export const explicitReads = ({ cachedTokens, cachedAudioTokens, cachedExplicitTokens }: Usage): number =>
  Math.min(cachedExplicitTokens, cachedTokens - cachedAudioTokens)

/**
 * The exact cost of `usage`, rounded half-even once (only a discount can leave a fraction). Every token is of one kind and
 * is charged once: in the prompt cached audio, other cached reads, cache writes, audio, images, the rest, and in the output
 * reasoning, audio, images, the rest. Counts of kinds that overlap are clamped in this order. `images`: images in the
 * prompt, which no host counts.
 *
 * With a discount each part is what it adds to the rounded sum of those before it (prompt, output, rest), so the parts
 * sum up to the total, and each is at most a picodollar off.
 */
export const costOf = (pricing: Pricing, usage: Usage, admittedAt: number, images = 0): Cost => {
  const p = pricesFor(pricing, usage.promptTokens, admittedAt)
  const read = p.inputCacheRead ?? p.prompt
  const write = p.inputCacheWrite ?? p.prompt
  const write1h = p.inputCacheWrite1h ?? write
  const fresh = usage.promptTokens - usage.cachedTokens - usage.cacheWriteTokens
  const audioIn = p.audio === null ? 0 : Math.min(usage.promptAudioTokens - usage.cachedAudioTokens, fresh)
  const imageIn = p.imageToken === null ? 0 : Math.min(usage.promptImageTokens, fresh - audioIn)
  const explicit = explicitReads(usage)
  const prompt =
    times(fresh - audioIn - imageIn, p.prompt) +
    times(audioIn, p.audio ?? 0n) +
    times(imageIn, p.imageToken ?? 0n) +
    times(usage.cachedTokens - usage.cachedAudioTokens - explicit, read) +
    times(explicit, p.inputCacheReadExplicit ?? read) +
    times(usage.cachedAudioTokens, p.inputAudioCache ?? read) +
    times(usage.cacheWriteTokens - usage.cacheWrite1hTokens, write) +
    times(usage.cacheWrite1hTokens, write1h)

  const output = usage.completionTokens
  const reasoning = p.internalReasoning > 0n ? Math.min(usage.reasoningTokens, output) : 0
  const audioOut = p.audioOutput === null ? 0 : Math.min(usage.completionAudioTokens, output - reasoning)
  const imageOut = p.imageOutput === null ? 0 : Math.min(usage.completionImageTokens, output - reasoning - audioOut)
  const completion =
    times(output - reasoning - audioOut - imageOut, p.completion) +
    times(reasoning, p.internalReasoning) +
    times(audioOut, p.audioOutput ?? 0n) +
    times(imageOut, p.imageOutput ?? 0n)

  const extra =
    times(Math.max(1, usage.searchUnits), p.request) + times(usage.webSearches, p.webSearch) + times(images, p.image)
  const total = prompt + completion + extra
  if (pricing.discountPpm === 0n) return { total, prompt, completion }
  const kept = 1_000_000n - pricing.discountPpm
  const charged = divideHalfEven(prompt * kept, 1_000_000n)
  return {
    total: divideHalfEven(total * kept, 1_000_000n),
    prompt: charged,
    completion: divideHalfEven((prompt + completion) * kept, 1_000_000n) - charged,
  }
}

/** The most that each thing can cost at a host. */
export type MaximumPrices = Readonly<Record<PriceUnit, Picodollars>>

// Cached, since it is read for every request of a key with a limit. Prices of a catalogue never change.
const known = new WeakMap<Pricing, MaximumPrices>()

/** The most that a token of the prompt, of the output, ... can cost at this host, in any tier and of any kind. */
export const maximumPrices = (pricing: Pricing): MaximumPrices => {
  const before = known.get(pricing)
  if (before !== undefined) return before
  const most = { prompt: 0n, completion: 0n, request: 0n, image: 0n, webSearch: 0n }
  for (const prices of [pricing, ...pricing.overrides.map((entry) => entry.prices)]) {
    for (const name of priceNames) {
      const price = prices[name] ?? 0n
      const { unit } = priceFields[name]
      if (price > most[unit]) most[unit] = price
    }
  }
  known.set(pricing, most)
  return most
}
