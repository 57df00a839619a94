/**
 * The `usage` of a chat answer under canonical names. The counts are validated later (`parseUsage`). A missing count is
 * left out, so that it is estimated and not taken for zero.
 */

import { isJsonObject, type JsonObject, objectIn } from "../domain/json/json.ts"
import type { ChatUsage } from "../domain/request/chat.ts"

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
 * The totals. In the canonical form the prompt includes all cached tokens and audio, and the output includes reasoning. Some hosts
 * count them beside: xAI reasoning, Mistral audio (seen in recordings), Portkey cached tokens (Portkey-AI/gateway#1564,
 * 2026-03). Their `total_tokens` shows which; what it has more than any count explains is output that the host does not name, as
 * thinking is (mozilla-ai/any-llm#1290, 2026-08). `reasoningBeside`: the total does not show it.
 */
const totals = (raw: JsonObject, { read, written, audio, reasoning }: Counts, reasoningBeside: boolean): Totals => {
  const prompt = raw["prompt_tokens"] ?? promptOf(raw, read + written)
  const completion = raw["completion_tokens"] ?? raw["output_tokens"]
  if (typeof prompt !== "number" || typeof completion !== "number") return { prompt, completion, unnamed: 0 }
  const missing = count(raw["total_tokens"]) - prompt - completion
  if (missing <= 0) return { prompt, completion: completion + (reasoningBeside ? reasoning : 0), unnamed: 0 }
  const cached = read + written
  const ways: ReadonlyArray<readonly [output: number, input: number]> = [
    [reasoning, 0],
    [reasoning, audio],
    [0, audio],
    [0, cached],
    [0, read],
    [reasoning, cached],
    [reasoning, read],
  ]
  const way = ways.find(([output, input]) => output + input === missing)
  const unnamed = way === undefined && reasoning === 0 && audio === 0 && !reasoningBeside ? missing : 0
  const [output, input] = way ?? [unnamed, 0]
  return { prompt: prompt + input, completion: completion + (reasoningBeside ? reasoning : output), unnamed }
}

/** Parts of the totals, as far as the host has them. */
interface Counts {
  /** Cached tokens that were read, and written. */
  readonly read: number
  readonly written: number
  readonly audio: number
  readonly reasoning: number
}

interface Totals {
  readonly prompt: unknown
  readonly completion: unknown
  /** Tokens of the completion that only the host's total shows. */
  readonly unnamed: number
}

/** The prompt under the name of Anthropic and of OpenAI's responses, which differ in what it includes. */
const promptOf = (raw: JsonObject, cached: number): unknown => {
  const prompt = raw["input_tokens"]
  return typeof prompt === "number" && raw["input_tokens_details"] === undefined ? prompt + cached : prompt
}

/** `undefined` when the host reported no usage. */
export const canonicalUsage = (raw: unknown, reasoningBeside: boolean): ChatUsage | undefined => {
  if (!isJsonObject(raw)) return undefined
  const inward = objectIn(raw["prompt_tokens_details"] ?? raw["input_tokens_details"])
  const outward = objectIn(raw["completion_tokens_details"] ?? raw["output_tokens_details"])
  const reasoning = outward["reasoning_tokens"] ?? raw["reasoning_tokens"]
  const audio = inward["audio_tokens"] ?? raw["audio_prompt_tokens"]
  const read =
    inward["cached_tokens"] ??
    raw["prompt_cache_hit_tokens"] ??
    raw["cached_tokens"] ??
    raw["num_cached_tokens"] ??
    raw["cache_read_input_tokens"]
  const { ephemeral_5m_input_tokens: brief, ephemeral_1h_input_tokens: hourly } = objectIn(raw["cache_creation"])
  const total =
    inward["cache_write_tokens"] ?? inward["cache_creation_input_tokens"] ?? raw["cache_creation_input_tokens"]
  // Some hosts write only how long the tokens are kept, with a total of 0.
  const split = count(brief) + count(hourly)
  const written = split > 0 && (total == null || total === 0) ? split : total
  const counts = { read: count(read), written: count(written), audio: count(audio), reasoning: count(reasoning) }
  const { prompt, completion, unnamed } = totals(raw, counts, reasoningBeside)
  const promptDetails = given({
    cached_tokens: read,
    // Alibaba: the cache that was asked for. See its page on context cache, 2026-06.
    cached_explicit_tokens: inward["cache_type"] === "ephemeral" ? read : undefined,
    cache_write_tokens: written,
    cache_write_1h_tokens: inward["cache_write_1h_tokens"] ?? (split > 0 ? count(hourly) : undefined),
    cached_audio_tokens: inward["cached_audio_tokens"] ?? objectIn(inward["cached_tokens_details"])["audio_tokens"],
    audio_tokens: audio,
    image_tokens: inward["image_tokens"],
    video_tokens: inward["video_tokens"],
  })
  const completionDetails = given({
    reasoning_tokens: unnamed === 0 ? reasoning : unnamed,
    image_tokens: outward["image_tokens"],
    audio_tokens: outward["audio_tokens"],
  })
  const tools = given({
    web_search_requests:
      objectIn(raw["server_tool_use_details"] ?? raw["server_tool_use"])["web_search_requests"] ??
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
