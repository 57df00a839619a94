/**
 * The `usage` of a chat answer under canonical names. The counts are validated later (`parseUsage`). A missing count is
 * left out, so that it is estimated and not taken for zero.
 */

import { isJsonObject, type JsonObject } from "../domain/json/json.ts"
import type { ChatUsage } from "../domain/request/chat.ts"

const noDetails: JsonObject = {}

const objectOr = (value: unknown): JsonObject => (isJsonObject(value) ? value : noDetails)

const count = (value: unknown): number => (typeof value === "number" && value > 0 ? value : 0)

/** The counts that are present; `undefined` when there are none. */
const given = (counts: JsonObject): JsonObject | undefined => {
  const kept: Record<string, unknown> = {}
  let any = false
  for (const name in counts) {
    if (counts[name] == null) continue
    kept[name] = counts[name]
    any = true
  }
  return any ? kept : undefined
}

/**
 * `undefined` when the host reported no usage. In the canonical form the prompt includes audio and the output includes
 * reasoning. Some hosts count them separately: xAI reasoning, Mistral audio (seen in recordings). Their `total_tokens`
 * shows it; where it does not, `reasoningBeside` says so.
 */
export const canonicalUsage = (raw: unknown, reasoningBeside: boolean): ChatUsage | undefined => {
  if (!isJsonObject(raw)) return undefined
  const inward = objectOr(raw["prompt_tokens_details"])
  const outward = objectOr(raw["completion_tokens_details"])
  const reasoning = outward["reasoning_tokens"] ?? raw["reasoning_tokens"]
  const promptAudio = inward["audio_tokens"] ?? raw["audio_prompt_tokens"]
  let prompt = raw["prompt_tokens"]
  let completion = raw["completion_tokens"]
  if (typeof prompt === "number" && typeof completion === "number") {
    const missing = count(raw["total_tokens"]) - prompt - completion
    const reasoned = count(reasoning)
    const heard = count(promptAudio)
    const both = missing > 0 && missing === reasoned + heard
    if (reasoningBeside || both || (missing > 0 && missing === reasoned)) completion += reasoned
    if (both || (missing > 0 && missing === heard && missing !== reasoned)) prompt += heard
  }
  const promptDetails = given({
    cached_tokens:
      inward["cached_tokens"] ??
      raw["prompt_cache_hit_tokens"] ??
      raw["cached_tokens"] ??
      raw["num_cached_tokens"] ??
      raw["cache_read_input_tokens"],
    cache_write_tokens: inward["cache_write_tokens"] ?? raw["cache_creation_input_tokens"],
    cache_write_1h_tokens:
      inward["cache_write_1h_tokens"] ?? objectOr(raw["cache_creation"])["ephemeral_1h_input_tokens"],
    cached_audio_tokens: inward["cached_audio_tokens"] ?? objectOr(inward["cached_tokens_details"])["audio_tokens"],
    audio_tokens: promptAudio,
    image_tokens: inward["image_tokens"],
    video_tokens: inward["video_tokens"],
  })
  const completionDetails = given({
    reasoning_tokens: reasoning,
    image_tokens: outward["image_tokens"],
    audio_tokens: outward["audio_tokens"],
  })
  const tools = given({
    web_search_requests:
      objectOr(raw["server_tool_use_details"] ?? raw["server_tool_use"])["web_search_requests"] ??
      raw["num_search_queries"],
  })
  const usage: { -readonly [K in keyof ChatUsage]: ChatUsage[K] } = {}
  if (prompt != null) usage.prompt_tokens = prompt
  if (completion != null) usage.completion_tokens = completion
  if (promptDetails !== undefined) usage.prompt_tokens_details = promptDetails
  if (completionDetails !== undefined) usage.completion_tokens_details = completionDetails
  if (tools !== undefined) usage.server_tool_use_details = tools
  return usage
}
