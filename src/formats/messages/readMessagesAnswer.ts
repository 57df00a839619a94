/**
 * Converts an answer of Anthropic's Messages API to the canonical form, and has what whole and streamed answers share.
 */

import type { HostFailed } from "../../domain/failures/Failure.ts"
import { isJsonObject, type JsonObject, textOr } from "../../domain/json/json.ts"
import type {
  Annotation,
  ChatMessage,
  ChatResponse,
  ChatUsage,
  FinishReason,
  ReasoningDetail,
  ToolCall,
} from "../../domain/request/chat.ts"
import { callIdOf } from "../callId.ts"
import { type AssistantPart, saidInOrder } from "../conversation.ts"
import { claudesFormat } from "../foreignReasoning.ts"
import { malformed } from "../httpError.ts"
import { messagesErrorInBody } from "./readMessagesError.ts"

const finishReasons: ReadonlyMap<unknown, FinishReason> = new Map<unknown, FinishReason>([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["pause_turn", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_use", "tool_calls"],
  ["refusal", "content_filter"],
])

/** Unknown reasons count as a stop, and a stop beside calls is one for the calls. */
export const finishReasonOf = (stopReason: string, hasCalls: boolean): FinishReason => {
  const reason = finishReasons.get(stopReason) ?? "stop"
  return reason === "stop" && hasCalls ? "tool_calls" : reason
}

/** The host's explanation of a refusal, if it has one. */
export const refusalOf = (stopDetails: unknown): string | undefined => {
  const explanation =
    isJsonObject(stopDetails) && stopDetails["type"] === "refusal" ? stopDetails["explanation"] : undefined
  return typeof explanation === "string" ? explanation : undefined
}

/** The chat form's name of the tier that served. */
export const tierField = (usage: unknown): { readonly service_tier?: string } => {
  const tier = isJsonObject(usage) ? usage["service_tier"] : undefined
  return typeof tier === "string" ? { service_tier: tier === "standard" ? "default" : tier } : {}
}

/**
 * `usage` with the members of a later one of the same stream. Counts are cumulative, so they replace earlier ones; some hosts
 * write zeros for what they have told before.
 */
export const laterUsage = (before: JsonObject, later: unknown): JsonObject => {
  if (!isJsonObject(later)) return before
  const told = Object.entries(later).filter(
    ([name, value]) => value != null && !(isZero(value) && before[name] != null),
  )
  return { ...before, ...Object.fromEntries(told) }
}

const isZero = (value: unknown): boolean =>
  value === 0 || (isJsonObject(value) && Object.values(value).every((inner) => inner === 0))

/**
 * The canonical `usage`. The host counts cached reads and writes separately from its input tokens; canonically they are
 * part of the prompt. `undefined` when a count is missing or invalid, because the sum would be wrong.
 */
export const usageOf = (raw: unknown): ChatUsage | undefined => {
  if (!isJsonObject(raw)) return undefined
  const input = count(raw["input_tokens"])
  const output = count(raw["output_tokens"])
  const read = count(raw["cache_read_input_tokens"] ?? 0)
  const written = writtenIn(raw)
  if (input === undefined || output === undefined || read === undefined || written === undefined) return undefined
  const compacted = compactionIn(raw["iterations"])
  const { speed, inference_geo } = raw
  return {
    ...(speed == null ? {} : { speed }),
    ...(inference_geo == null ? {} : { inference_geo }),
    prompt_tokens: input + read + written + compacted.input,
    completion_tokens: output + compacted.output,
    prompt_tokens_details: {
      cached_tokens: read,
      cache_write_tokens: written,
      ...hourOf(raw["cache_creation"]),
    },
    completion_tokens_details: { reasoning_tokens: inside(raw["output_tokens_details"], "thinking_tokens") },
    server_tool_use_details: { web_search_requests: inside(raw["server_tool_use"], "web_search_requests") },
  }
}

/** Some hosts write only how long the tokens are kept, with a total of 0. */
const writtenIn = ({ cache_creation_input_tokens: total, cache_creation: split }: JsonObject): number | undefined => {
  const written = count(total ?? 0)
  return written === 0 ? splitOf(split) : written
}

const splitOf = (split: unknown): number =>
  inside(split, "ephemeral_5m_input_tokens") + inside(split, "ephemeral_1h_input_tokens")

/** The written tokens that are kept for an hour. Absent: the host does not tell how long they are kept. */
const hourOf = (split: unknown): JsonObject =>
  splitOf(split) === 0 ? {} : { cache_write_1h_tokens: inside(split, "ephemeral_1h_input_tokens") }

/**
 * Tokens of the host's own summaries of a long conversation (`context_management`), which are billed and not part of its
 * totals. Their cached tokens are counted as ordinary ones.
 */
const compactionIn = (iterations: unknown): { readonly input: number; readonly output: number } => {
  let input = 0
  let output = 0
  for (const iteration of Array.isArray(iterations) ? iterations : []) {
    if (!isJsonObject(iteration) || iteration["type"] !== "compaction") continue
    for (const name of ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]) {
      input += inside(iteration, name)
    }
    output += inside(iteration, "output_tokens")
  }
  return { input, output }
}

const count = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : undefined

const inside = (details: unknown, member: string): number => (isJsonObject(details) ? (count(details[member]) ?? 0) : 0)

export const thoughtText = (part: { readonly text?: string; readonly signature?: string }): ReasoningDetail => ({
  type: "reasoning.text",
  ...part,
  format: claudesFormat,
})

export const thoughtHidden = (data: unknown): ReasoningDetail => ({
  type: "reasoning.encrypted",
  data: textOr(data, ""),
  format: claudesFormat,
})

/** Citations with an address, for the text between two places in the whole answer (UTF-16 units). */
export const annotationsOf = (citations: unknown, start: number, end: number): ReadonlyArray<Annotation> => {
  if (!Array.isArray(citations)) return []
  const annotations: Array<Annotation> = []
  for (const citation of citations) {
    if (!isJsonObject(citation) || typeof citation["url"] !== "string") continue
    const { url, title, cited_text: content } = citation
    const cited = typeof content === "string" ? { content } : {}
    annotations.push({
      type: "url_citation",
      url_citation: {
        url,
        title: textOr(title, ""),
        ...cited,
        start_index: start,
        end_index: end,
      },
    })
  }
  return annotations
}

/** Some hosts write the input as JSON text, and what cannot be read is not taken for an empty input. */
export const argumentsOf = (input: unknown): string => {
  if (typeof input === "string" && input.trim() !== "") return input
  return JSON.stringify(isJsonObject(input) ? input : {})
}

/** A whole answer. Blocks of tools that the host itself ran are left out; the text around them stays. */
export const messagesAnswer = (body: unknown): ChatResponse | HostFailed => {
  if (!isJsonObject(body)) return malformed()
  if (body["type"] === "error" || body["error"] != null) return messagesErrorInBody(body["error"])
  const { content, stop_reason: stopReason, usage } = body
  if (!Array.isArray(content) || !content.every(isBlock)) return malformed()
  const message = messageOf(content, refusalOf(body["stop_details"]))
  const native = textOr(stopReason, "stop")
  const counted = usageOf(usage)
  return {
    choices: [
      {
        index: 0,
        finish_reason: finishReasonOf(native, message.tool_calls !== undefined),
        native_finish_reason: native,
        logprobs: null,
        message,
      },
    ],
    ...(counted === undefined ? {} : { usage: counted }),
    ...tierField(usage),
  }
}

/** Whether it is a block, of any kind. */
const isBlock = (block: unknown): block is JsonObject =>
  isJsonObject(block) && (block["type"] !== "text" || typeof block["text"] === "string")

const messageOf = (content: ReadonlyArray<JsonObject>, refusal: string | undefined): ChatMessage => {
  const parts: Array<AssistantPart> = []
  const calls: Array<ToolCall> = []
  const annotations: Array<Annotation> = []
  let text = ""
  let hasText = false
  let reasoning = ""
  for (const block of content) {
    switch (block["type"]) {
      case "text": {
        const start = text.length
        const said = textOr(block["text"], "")
        text += said
        hasText = true
        parts.push({ type: "content", content: { type: "text", text: said } })
        annotations.push(...annotationsOf(block["citations"], start, text.length))
        break
      }
      case "thinking": {
        const { signature } = block
        const thought = textOr(block["thinking"], "")
        reasoning += thought
        const signed = typeof signature === "string" ? { signature } : {}
        parts.push({ type: "reasoning", details: [thoughtText({ text: thought, ...signed })] })
        break
      }
      case "redacted_thinking":
        parts.push({ type: "reasoning", details: [thoughtHidden(block["data"])] })
        break
      case "tool_use": {
        const called = { name: textOr(block["name"], ""), arguments: argumentsOf(block["input"]) }
        const call = { id: callIdOf(block["id"]), type: "function", function: called }
        calls.push(call)
        parts.push({ type: "call", call })
      }
    }
  }
  const { reasoning_details: details } = saidInOrder(parts)
  return {
    role: "assistant",
    content: hasText || calls.length === 0 ? text : null,
    refusal: refusal ?? null,
    reasoning: reasoning === "" ? null : reasoning,
    ...(details == null ? {} : { reasoning_details: details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(annotations.length === 0 ? {} : { annotations }),
  }
}
