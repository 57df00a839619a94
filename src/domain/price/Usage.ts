/** What a host counted. Tokens, always whole and never negative. */
import { isJsonObject } from "../json/json.ts"

export interface Usage {
  /** All of the prompt, cached reads and cache writes included. */
  readonly promptTokens: number
  /** All of the output, reasoning included. */
  readonly completionTokens: number
  readonly cachedTokens: number
  /** The part of `cachedTokens` that was read from a cache which the caller asked for by marks. 0 where the host does not tell. */
  readonly cachedExplicitTokens: number
  readonly cacheWriteTokens: number
  /** The part of `cacheWriteTokens` that is kept for an hour and costs more. */
  readonly cacheWrite1hTokens: number
  /** The part of `cachedTokens` that is audio. */
  readonly cachedAudioTokens: number
  /** Cached ones included. */
  readonly promptAudioTokens: number
  readonly promptImageTokens: number
  readonly promptVideoTokens: number
  readonly reasoningTokens: number
  readonly completionImageTokens: number
  readonly completionAudioTokens: number
  readonly webSearches: number
  /** Of a rerank. */
  readonly searchUnits: number
}

export const noUsage: Usage = {
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
  cachedExplicitTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  cachedAudioTokens: 0,
  promptAudioTokens: 0,
  promptImageTokens: 0,
  promptVideoTokens: 0,
  reasoningTokens: 0,
  completionImageTokens: 0,
  completionAudioTokens: 0,
  webSearches: 0,
  searchUnits: 0,
}

const largestCount = 2 ** 31

/** Whether a host can have counted so many tokens. */
export const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= largestCount

const part = (details: unknown, member: string, atMost: number): number => {
  const value = isJsonObject(details) ? details[member] : undefined
  return isCount(value) ? Math.min(value, atMost) : 0
}

const hour = "cache_write_1h_tokens"

const tellsHour = (details: unknown): boolean => isJsonObject(details) && details[hour] != null

/**
 * Reads a canonical `usage` object. `undefined` when its totals are missing or invalid (negative, fractional, text,
 * together above 2^31): the usage is then estimated, never taken for zero. Parts above their total are clamped, cached
 * reads first, then writes. `hourly`: every mark of the request asks for a cache of an hour, which decides where the
 * host does not tell how long it keeps what was written. See docs/guarantees.md#g5.
 */
export const parseUsage = (raw: unknown, hourly = false): Usage | undefined => {
  if (!isJsonObject(raw)) return undefined
  const { prompt_tokens: promptTokens, completion_tokens: completionTokens } = raw
  if (!isCount(promptTokens) || !isCount(completionTokens)) return undefined
  if (promptTokens + completionTokens > largestCount) return undefined
  const inward = raw["prompt_tokens_details"]
  const outward = raw["completion_tokens_details"]
  const searchUnits = part(raw, "search_units", largestCount)
  if (inward == null && outward == null && raw["server_tool_use_details"] == null) {
    return { ...noUsage, promptTokens, completionTokens, searchUnits }
  }
  const cachedTokens = part(inward, "cached_tokens", promptTokens)
  const promptAudioTokens = part(inward, "audio_tokens", promptTokens)
  const cacheWriteTokens = part(inward, "cache_write_tokens", promptTokens - cachedTokens)
  return {
    promptTokens,
    completionTokens,
    cachedTokens,
    cachedExplicitTokens: part(inward, "cached_explicit_tokens", cachedTokens),
    cacheWriteTokens,
    cacheWrite1hTokens: hourly && !tellsHour(inward) ? cacheWriteTokens : part(inward, hour, cacheWriteTokens),
    cachedAudioTokens: part(inward, "cached_audio_tokens", Math.min(cachedTokens, promptAudioTokens)),
    promptAudioTokens,
    promptImageTokens: part(inward, "image_tokens", promptTokens),
    promptVideoTokens: part(inward, "video_tokens", promptTokens),
    reasoningTokens: part(outward, "reasoning_tokens", completionTokens),
    completionImageTokens: part(outward, "image_tokens", completionTokens),
    completionAudioTokens: part(outward, "audio_tokens", completionTokens),
    webSearches: part(raw["server_tool_use_details"], "web_search_requests", largestCount),
    searchUnits,
  }
}
