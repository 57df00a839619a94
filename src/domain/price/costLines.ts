/** What a usage costs, line by line, for those who look at one request. What is charged is `costOf`, which these add up to. Pure. */
import type { Picodollars } from "./money.ts"
import { explicitReads, type Pricing, pricesFor } from "./price.ts"
import type { Usage } from "./Usage.ts"

/** In the order in which they are shown. */
export const costLineNames = [
  "prompt",
  "prompt_audio",
  "prompt_images",
  "cache_read",
  "cache_read_explicit",
  "cache_read_audio",
  "cache_write",
  "cache_write_1h",
  "completion",
  "reasoning",
  "completion_audio",
  "completion_images",
  "request",
  "search_units",
  "web_search",
  "images",
] as const

export type CostUnit = "token" | "request" | "search unit" | "search" | "image"

export interface CostLine {
  readonly what: (typeof costLineNames)[number]
  readonly quantity: number
  readonly unit: CostUnit
  /** Before a discount. */
  readonly price: Picodollars
  readonly amount: Picodollars
}

/**
 * Lines of what was used, and of the request where that has a price. Each token is in one line, by the rules of `costOf`. The amounts add up
 * to the cost before a discount. `images`: images in the prompt.
 */
export const costLines = (pricing: Pricing, usage: Usage, admittedAt: number, images = 0): ReadonlyArray<CostLine> => {
  const p = pricesFor(pricing, usage.promptTokens, admittedAt)
  const read = p.inputCacheRead ?? p.prompt
  const write = p.inputCacheWrite ?? p.prompt
  const fresh = usage.promptTokens - usage.cachedTokens - usage.cacheWriteTokens
  const audioIn = p.audio === null ? 0 : Math.min(usage.promptAudioTokens - usage.cachedAudioTokens, fresh)
  const imageIn = p.imageToken === null ? 0 : Math.min(usage.promptImageTokens, fresh - audioIn)
  const output = usage.completionTokens
  const reasoning = p.internalReasoning > 0n ? Math.min(usage.reasoningTokens, output) : 0
  const audioOut = p.audioOutput === null ? 0 : Math.min(usage.completionAudioTokens, output - reasoning)
  const imageOut = p.imageOutput === null ? 0 : Math.min(usage.completionImageTokens, output - reasoning - audioOut)

  const lines: Array<CostLine> = []
  const add = (what: CostLine["what"], quantity: number, unit: CostUnit, price: Picodollars): void => {
    const isShown = quantity !== 0 && (unit === "token" || price !== 0n)
    if (isShown) lines.push({ what, quantity, unit, price, amount: BigInt(quantity) * price })
  }
  add("prompt", fresh - audioIn - imageIn, "token", p.prompt)
  add("prompt_audio", audioIn, "token", p.audio ?? 0n)
  add("prompt_images", imageIn, "token", p.imageToken ?? 0n)
  const explicit = explicitReads(usage)
  add("cache_read", usage.cachedTokens - usage.cachedAudioTokens - explicit, "token", read)
  add("cache_read_explicit", explicit, "token", p.inputCacheReadExplicit ?? read)
  add("cache_read_audio", usage.cachedAudioTokens, "token", p.inputAudioCache ?? read)
  add("cache_write", usage.cacheWriteTokens - usage.cacheWrite1hTokens, "token", write)
  add("cache_write_1h", usage.cacheWrite1hTokens, "token", p.inputCacheWrite1h ?? write)
  add("completion", output - reasoning - audioOut - imageOut, "token", p.completion)
  add("reasoning", reasoning, "token", p.internalReasoning)
  add("completion_audio", audioOut, "token", p.audioOutput ?? 0n)
  add("completion_images", imageOut, "token", p.imageOutput ?? 0n)
  if (usage.searchUnits > 0) add("search_units", usage.searchUnits, "search unit", p.request)
  else add("request", 1, "request", p.request)
  add("web_search", usage.webSearches, "search", p.webSearch)
  add("images", images, "image", p.image)
  return lines
}
