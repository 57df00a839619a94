/**
 * What a call costs.
 *
 * Units: picodollars per token (per request, image or search where the name says so) here; decimal strings of
 * USD on the wire and in the configuration. Spec 2.4 and 8.5, reference 13 and 15.2.
 */
import { divideHalfEven, type Picodollars } from "./Money.ts"
import type { Usage } from "./Usage.ts"

/** Every price a host can have. `null`: it has none of its own and the formula says what stands in. */
export interface Prices {
  readonly prompt: Picodollars
  readonly completion: Picodollars
  readonly request: Picodollars
  readonly image: Picodollars
  readonly webSearch: Picodollars
  readonly internalReasoning: Picodollars
  readonly inputCacheRead: Picodollars | null
  readonly inputCacheWrite: Picodollars | null
  readonly inputCacheWrite1h: Picodollars | null
  readonly audio: Picodollars | null
  readonly audioOutput: Picodollars | null
  readonly imageOutput: Picodollars | null
}

/** Prices that replace the base once every condition holds; of several the later one wins. */
export interface PriceOverride {
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

export const freePricing: Pricing = {
  prompt: 0n,
  completion: 0n,
  request: 0n,
  image: 0n,
  webSearch: 0n,
  internalReasoning: 0n,
  inputCacheRead: null,
  inputCacheWrite: null,
  inputCacheWrite1h: null,
  audio: null,
  audioOutput: null,
  imageOutput: null,
  discountPpm: 0n,
  overrides: [],
}

const weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]

const holds = (entry: PriceOverride, promptTokens: number, admittedAt: number): boolean => {
  if (promptTokens < entry.minPromptTokens) return false
  if (entry.utcStart === undefined && entry.utcEnd === undefined && entry.utcDays === undefined) return true
  const at = new Date(admittedAt)
  const day = weekdays[at.getUTCDay()] ?? ""
  if (entry.utcDays !== undefined && !entry.utcDays.includes(day)) return false
  const hhmm = at.getUTCHours() * 100 + at.getUTCMinutes()
  const { utcStart = 0, utcEnd = 2400 } = entry
  return utcStart <= utcEnd ? hhmm >= utcStart && hhmm < utcEnd : hhmm >= utcStart || hhmm < utcEnd
}

/** The prices in force for a prompt of this size, admitted at this time (Unix milliseconds). */
const pricesFor = (pricing: Pricing, promptTokens: number, admittedAt: number): Prices => {
  if (pricing.overrides.length === 0) return pricing
  let prices: Prices = pricing
  for (const entry of pricing.overrides) {
    if (holds(entry, promptTokens, admittedAt)) prices = { ...prices, ...entry.prices }
  }
  return prices
}

/** What one usage costs, and which part of it is the prompt's and which the output's. Each part is rounded down, the whole half-even. */
export interface Cost {
  readonly total: Picodollars
  readonly prompt: Picodollars
  readonly completion: Picodollars
}

export const noCost: Cost = { total: 0n, prompt: 0n, completion: 0n }

const times = (count: number, price: Picodollars): Picodollars => (count === 0 ? 0n : BigInt(count) * price)

/**
 * The exact cost of `usage`, rounded half-even once (only a discount can leave a fraction). Cached reads, cache
 * writes and audio come out of the prompt's tokens; reasoning, audio and images out of the output's. `images`: those in
 * the prompt, which no host counts. Reference 15.2.
 */
export const costOf = (pricing: Pricing, usage: Usage, admittedAt: number, images = 0): Cost => {
  const p = pricesFor(pricing, usage.promptTokens, admittedAt)
  const read = p.inputCacheRead ?? p.prompt
  const write = p.inputCacheWrite ?? p.prompt
  const write1h = p.inputCacheWrite1h ?? write
  const fresh = usage.promptTokens - usage.cachedTokens - usage.cacheWriteTokens
  const audioIn = p.audio === null ? 0 : Math.min(usage.promptAudioTokens, fresh)
  const prompt =
    times(fresh - audioIn, p.prompt) +
    times(audioIn, p.audio ?? 0n) +
    times(usage.cachedTokens, read) +
    times(usage.cacheWriteTokens - usage.cacheWrite1hTokens, write) +
    times(usage.cacheWrite1hTokens, write1h)

  let visible = usage.completionTokens
  const take = (count: number): number => {
    const taken = Math.min(count, visible)
    visible -= taken
    return taken
  }
  const reasoning = p.internalReasoning > 0n ? take(usage.reasoningTokens) : 0
  const audioOut = p.audioOutput === null ? 0 : take(usage.completionAudioTokens)
  const imageOut = p.imageOutput === null ? 0 : take(usage.completionImageTokens)
  const completion =
    times(visible, p.completion) +
    times(reasoning, p.internalReasoning) +
    times(audioOut, p.audioOutput ?? 0n) +
    times(imageOut, p.imageOutput ?? 0n)

  const extra = p.request + times(usage.webSearches, p.webSearch) + times(images, p.image)
  const total = prompt + completion + extra
  if (pricing.discountPpm === 0n) return { total, prompt, completion }
  const kept = 1_000_000n - pricing.discountPpm
  return {
    total: divideHalfEven(total * kept, 1_000_000n),
    prompt: (prompt * kept) / 1_000_000n,
    completion: (completion * kept) / 1_000_000n,
  }
}

const highest = (...prices: ReadonlyArray<Picodollars | null>): Picodollars =>
  prices.reduce<Picodollars>((most, price) => (price !== null && price > most ? price : most), 0n)

/** The most that each thing can cost at a host. */
export type MaximumPrices = Pick<Prices, "prompt" | "completion" | "request" | "image" | "webSearch">

// Asked for every request of a key with a limit, and the same for as long as the configuration stands.
const known = new WeakMap<Pricing, MaximumPrices>()

/** The most that a prompt token and an output token can cost at this host, whatever tier or kind they turn out to be. G1. */
export const maximumPrices = (pricing: Pricing): MaximumPrices => {
  const before = known.get(pricing)
  if (before !== undefined) return before
  const all: ReadonlyArray<Partial<Prices>> = [pricing, ...pricing.overrides.map((entry) => entry.prices)]
  const most = (...members: ReadonlyArray<keyof Prices>) =>
    highest(...all.flatMap((prices) => members.map((member) => prices[member] ?? null)))
  const found = {
    prompt: most("prompt", "inputCacheRead", "inputCacheWrite", "inputCacheWrite1h", "audio"),
    completion: most("completion", "internalReasoning", "audioOutput", "imageOutput"),
    request: most("request"),
    image: most("image"),
    webSearch: most("webSearch"),
  }
  known.set(pricing, found)
  return found
}
