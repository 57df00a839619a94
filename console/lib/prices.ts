/** Prices of the listings: decimal strings of USD for one token, shown for a million. */
import { exactUsd, type Picodollars, picodollars } from "./money.ts"

/** Members that are prices of tokens; the others are for one request, one search, one image. */
const ofTokens = new Set([
  "prompt",
  "completion",
  "input_cache_read",
  "input_cache_read_explicit",
  "input_cache_write",
  "input_cache_write_1h",
  "internal_reasoning",
  "audio",
  "input_audio_cache",
  "audio_output",
  "image_token",
  "image_output",
])

const words: Readonly<Record<string, string>> = {
  prompt: "prompt",
  completion: "completion",
  input_cache_read: "read from the cache",
  input_cache_read_explicit: "read from a cache that was asked for",
  input_cache_write: "written to the cache",
  input_cache_write_1h: "written to the cache for an hour",
  internal_reasoning: "reasoning",
  web_search: "a web search",
  request: "a request",
  image: "an image",
}

export const priceWords = (name: string): string => words[name] ?? name.replaceAll("_", " ")

/** Picodollars of 1,000,000 tokens. */
export const perMillion = (price: unknown): Picodollars | null => {
  const one = typeof price === "string" ? picodollars(price) : null
  return one === null ? null : one * 1_000_000n
}

export interface PriceLine {
  readonly title: string
  readonly amount: string
  readonly per: string
}

/** "$0.25" for what a million tokens cost, or for one of the rest. Prices of nothing are left out, but for those of prompt and completion. */
export const priceLines = (pricing: Readonly<Record<string, unknown>>): ReadonlyArray<PriceLine> =>
  Object.entries(pricing).flatMap(([name, price]): ReadonlyArray<PriceLine> => {
    if (typeof price !== "string" || name === "starts") return []
    const isOfTokens = ofTokens.has(name)
    const amount = isOfTokens ? perMillion(price) : picodollars(price)
    if (amount === null || (amount === 0n && name !== "prompt" && name !== "completion")) return []
    return [{ title: priceWords(name), amount: exactUsd(amount), per: isOfTokens ? "1M tokens" : "each" }]
  })

/** When a line of `overrides` holds, in words. */
export const overrideWords = (override: Readonly<Record<string, unknown>>): string => {
  const parts: Array<string> = []
  const least = override["min_prompt_tokens"]
  if (typeof least === "number" && least > 0) parts.push(`from ${least.toLocaleString("en-US")} prompt tokens on`)
  if (typeof override["starts"] === "string") parts.push(`from ${override["starts"]} on`)
  const hour = (value: unknown) =>
    typeof value === "number"
      ? `${String(Math.floor(value / 3600)).padStart(2, "0")}:${String(Math.floor((value % 3600) / 60)).padStart(2, "0")}`
      : null
  const [start, end] = [hour(override["utc_start"]), hour(override["utc_end"])]
  if (start !== null && end !== null) parts.push(`from ${start} to ${end} UTC`)
  const days = override["utc_days"]
  if (Array.isArray(days)) parts.push(`on ${days.join(", ")}`)
  return parts.length === 0 ? "always" : parts.join(", ")
}

/** What a status of a host means. */
export const statusWords: Readonly<
  Record<number, readonly [words: string, tone: "good" | "plain" | "warning" | "bad"]>
> = {
  0: ["normal", "good"],
  [-1]: ["degraded", "warning"],
  [-2]: ["down", "bad"],
  [-3]: ["rate limited", "warning"],
  [-5]: ["left alone", "warning"],
  [-10]: ["off", "plain"],
}
