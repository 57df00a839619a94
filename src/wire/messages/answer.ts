/** An answer of Anthropic's Messages API in canonical words, and the parts that whole and streamed answers share. Reference 7, 15.1. */
import type { ChatResponse, FinishReason } from "../../domain/Chat.ts"
import { HostFailed } from "../../domain/Failure.ts"
import { isJsonObject, type JsonObject } from "../../domain/Json.ts"
import { reasoningFormat } from "./content.ts"
import { messagesErrorInBody } from "./failure.ts"

const finishReasons: ReadonlyMap<unknown, FinishReason> = new Map<unknown, FinishReason>([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["pause_turn", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_use", "tool_calls"],
  ["refusal", "content_filter"],
])

/** Reasons that nobody here knows count as a stop. Reference 7. */
export const finishReasonOf = (stopReason: string): FinishReason => finishReasons.get(stopReason) ?? "stop"

/** What the host says of a refusal, when it says anything. */
export const refusalOf = (stopDetails: unknown): string | undefined => {
  const explanation =
    isJsonObject(stopDetails) && stopDetails["type"] === "refusal" ? stopDetails["explanation"] : undefined
  return typeof explanation === "string" ? explanation : undefined
}

/** The chat form's name of the tier that served. Reference 11. */
export const tierField = (usage: unknown): JsonObject => {
  const tier = isJsonObject(usage) ? usage["service_tier"] : undefined
  return typeof tier === "string" ? { service_tier: tier === "standard" ? "default" : tier } : {}
}

/**
 * The canonical `usage`: the host counts cached reads and writes beside its input tokens, we count them within the
 * prompt's. `undefined` when a count is missing or no count at all: a wrong sum could pass for a right one. G5.
 */
export const usageOf = (raw: unknown): JsonObject | undefined => {
  if (!isJsonObject(raw)) return undefined
  const input = count(raw["input_tokens"])
  const output = count(raw["output_tokens"])
  const read = count(raw["cache_read_input_tokens"] ?? 0)
  const written = count(raw["cache_creation_input_tokens"] ?? 0)
  if (input === undefined || output === undefined || read === undefined || written === undefined) return undefined
  const prompt = input + read + written
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: {
      cached_tokens: read,
      cache_write_tokens: written,
      cache_write_1h_tokens: inside(raw["cache_creation"], "ephemeral_1h_input_tokens"),
    },
    completion_tokens_details: { reasoning_tokens: inside(raw["output_tokens_details"], "thinking_tokens") },
    server_tool_use_details: { web_search_requests: inside(raw["server_tool_use"], "web_search_requests") },
  }
}

const count = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : undefined

const inside = (details: unknown, member: string): number => (isJsonObject(details) ? (count(details[member]) ?? 0) : 0)

export const thoughtText = (
  index: number,
  part: { readonly text?: string; readonly signature?: string },
): JsonObject => ({
  type: "reasoning.text",
  ...part,
  format: reasoningFormat,
  index,
})

export const thoughtHidden = (index: number, data: unknown): JsonObject => ({
  type: "reasoning.encrypted",
  data,
  format: reasoningFormat,
  index,
})

/** Citations that lead somewhere, for the text between two places in the whole answer (UTF-16 units). */
export const annotationsOf = (citations: unknown, start: number, end: number): ReadonlyArray<JsonObject> => {
  if (!Array.isArray(citations)) return []
  const annotations: Array<JsonObject> = []
  for (const citation of citations) {
    if (!isJsonObject(citation) || typeof citation["url"] !== "string") continue
    const { url, title, cited_text: content } = citation
    const cited = typeof content === "string" ? { content } : {}
    annotations.push({
      type: "url_citation",
      url_citation: {
        url,
        title: typeof title === "string" ? title : "",
        ...cited,
        start_index: start,
        end_index: end,
      },
    })
  }
  return annotations
}

export const argumentsOf = (input: unknown): string => JSON.stringify(isJsonObject(input) ? input : {})

/** What the blocks of one answer come to. */
interface Gathered {
  text: string
  hasText: boolean
  reasoning: string
  readonly thoughts: Array<JsonObject>
  readonly calls: Array<JsonObject>
  readonly annotations: Array<JsonObject>
}

/** A whole answer. Blocks of tools that the host itself ran are left out; the text around them stays. */
export const messagesResponse = (body: unknown): ChatResponse | HostFailed => {
  if (!isJsonObject(body)) return new HostFailed({ reason: "malformed" })
  if (body["type"] === "error" || body["error"] != null) return messagesErrorInBody(body["error"])
  const { content, stop_reason: stopReason, usage } = body
  if (!Array.isArray(content)) return new HostFailed({ reason: "malformed" })
  const gathered = gather(content)
  const native = typeof stopReason === "string" ? stopReason : "stop"
  const counted = usageOf(usage)
  return {
    choices: [
      {
        index: 0,
        finish_reason: finishReasonOf(native),
        native_finish_reason: native,
        message: messageOf(gathered, refusalOf(body["stop_details"])),
      },
    ],
    ...(counted === undefined ? {} : { usage: counted }),
    ...tierField(usage),
  }
}

const messageOf = (gathered: Gathered, refusal: string | undefined) => {
  const { text, hasText, reasoning, thoughts, calls, annotations } = gathered
  return {
    role: "assistant" as const,
    content: hasText || calls.length === 0 ? text : null,
    refusal: refusal ?? null,
    reasoning: reasoning === "" ? null : reasoning,
    ...(thoughts.length === 0 ? {} : { reasoning_details: thoughts }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(annotations.length === 0 ? {} : { annotations }),
  }
}

const gather = (content: ReadonlyArray<unknown>): Gathered => {
  const gathered: Gathered = { text: "", hasText: false, reasoning: "", thoughts: [], calls: [], annotations: [] }
  for (const block of content) if (isJsonObject(block)) add(gathered, block)
  return gathered
}

const add = (gathered: Gathered, block: JsonObject): void => {
  const { text, thinking, signature } = block
  switch (block["type"]) {
    case "text": {
      if (typeof text !== "string") return
      const start = gathered.text.length
      gathered.text += text
      gathered.hasText = true
      gathered.annotations.push(...annotationsOf(block["citations"], start, gathered.text.length))
      return
    }
    case "thinking": {
      const thought = typeof thinking === "string" ? thinking : ""
      gathered.reasoning += thought
      const signed = typeof signature === "string" ? { signature } : {}
      gathered.thoughts.push(thoughtText(gathered.thoughts.length, { text: thought, ...signed }))
      return
    }
    case "redacted_thinking":
      gathered.thoughts.push(thoughtHidden(gathered.thoughts.length, block["data"]))
      return
    case "tool_use":
      gathered.calls.push({
        id: block["id"],
        type: "function",
        function: { name: block["name"], arguments: argumentsOf(block["input"]) },
      })
  }
}
