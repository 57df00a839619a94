/** Converts an answer of Converse to the canonical form, and has what whole and streamed answers share. */
import {
  type Annotation,
  type AssistantPart,
  type ChatMessage,
  type ChatResponse,
  type ChatUsage,
  callIdOf,
  type FinishReason,
  type HostFailed,
  isJsonObject,
  type JsonObject,
  malformed,
  type OutputImage,
  type ReasoningDetail,
  saidInOrder,
  type ToolCall,
  textOr,
} from "headgate/plugin"
import type { Family } from "../model.ts"
import { bedrockFormat, formatOf } from "./content.ts"

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["tool_use", "tool_calls"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["guardrail_intervened", "content_filter"],
  ["content_filtered", "content_filter"],
])

/**
 * How an answer ended. `malformed_tool_use` and the like: the model wrote what the host could not read, which is an answer, and
 * billed. Unknown ones: a stop, which beside calls is one for the calls.
 */
export const finishReasonOf = (stopReason: string, hasCalls: boolean): FinishReason => {
  if (stopReason.startsWith("malformed_")) return "error"
  const reason = finishReasons.get(stopReason) ?? "stop"
  return reason === "stop" && hasCalls ? "tool_calls" : reason
}

/**
 * The canonical `usage`. The host counts cached reads and writes apart from its input tokens; canonically they are part of
 * the prompt. `undefined` when a count is missing or invalid, because the sum would be wrong.
 */
export const usageOf = (raw: unknown): ChatUsage | undefined => {
  if (!isJsonObject(raw)) return undefined
  const input = count(raw["inputTokens"])
  const output = count(raw["outputTokens"])
  const read = count(raw["cacheReadInputTokens"] ?? 0)
  const written = count(raw["cacheWriteInputTokens"] ?? 0)
  if (input === undefined || output === undefined || read === undefined || written === undefined) return undefined
  return {
    prompt_tokens: input + read + written,
    completion_tokens: output,
    prompt_tokens_details: {
      cached_tokens: read,
      cache_write_tokens: written,
      cache_write_1h_tokens: keptForAnHour(raw["cacheDetails"]),
    },
  }
}

/** Tokens that were written to be kept for an hour; the others are kept for five minutes. */
const keptForAnHour = (details: unknown): number => {
  let tokens = 0
  for (const detail of Array.isArray(details) ? details : []) {
    if (isJsonObject(detail) && detail["ttl"] === "1h") tokens += count(detail["inputTokens"]) ?? 0
  }
  return tokens
}

const count = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : undefined

/** The tier that served. */
export const tierField = (tier: unknown): { readonly service_tier?: string } =>
  isJsonObject(tier) && typeof tier["type"] === "string" ? { service_tier: tier["type"] } : {}

/** Whether the host ran the tool itself: then its call and result are not the caller's. */
export const isOfHost = (toolUse: JsonObject): boolean => toolUse["type"] === "server_tool_use"

export const thought = (
  family: Family,
  part: { readonly text?: string; readonly signature?: string },
): ReasoningDetail => ({ type: "reasoning.text", ...part, format: formatOf(family) })

export const hiddenThought = (data: string): ReasoningDetail => ({
  type: "reasoning.encrypted",
  data,
  format: bedrockFormat,
})

/** Some models' input comes as JSON text, and what cannot be read is not taken for an empty input. */
const argumentsOf = (input: unknown): string => {
  if (typeof input === "string" && input.trim() !== "") return input
  return JSON.stringify(isJsonObject(input) ? input : {})
}

/** A source with an address, for the text between two places in the whole answer (UTF-16 units); others have no place in the form. */
export const annotationsOf = (citation: unknown, start: number, end: number): ReadonlyArray<Annotation> => {
  if (!isJsonObject(citation)) return []
  const { location, title, sourceContent } = citation
  const web = isJsonObject(location) ? location["web"] : undefined
  const url = isJsonObject(web) ? web["url"] : undefined
  if (typeof url !== "string") return []
  const [source]: ReadonlyArray<unknown> = Array.isArray(sourceContent) ? sourceContent : []
  const content = isJsonObject(source) && typeof source["text"] === "string" ? { content: source["text"] } : {}
  const cited = { url, title: textOr(title, ""), ...content, start_index: start, end_index: end }
  return [{ type: "url_citation", url_citation: cited }]
}

export const imageOf = (image: unknown): OutputImage | undefined => {
  if (!isJsonObject(image) || !isJsonObject(image["source"])) return undefined
  const { bytes } = image["source"]
  if (typeof bytes !== "string") return undefined
  return { type: "image_url", image_url: { url: `data:image/${textOr(image["format"], "png")};base64,${bytes}` } }
}

/** A whole answer. Blocks of tools that the host itself ran are left out; the text around them stays. */
export const converseAnswer = (body: unknown, family: Family): ChatResponse | HostFailed => {
  if (!isJsonObject(body) || !isJsonObject(body["output"])) return malformed()
  const { stopReason, usage, serviceTier } = body
  const content: unknown = isJsonObject(body["output"]["message"]) ? body["output"]["message"]["content"] : undefined
  if (!Array.isArray(content) || !content.every(isJsonObject) || typeof stopReason !== "string") return malformed()
  const gathered = new Gathered(family)
  for (const block of content) gathered.add(block)
  const message = gathered.message()
  const counted = usageOf(usage)
  return {
    choices: [
      {
        index: 0,
        finish_reason: finishReasonOf(stopReason, message.tool_calls !== undefined),
        native_finish_reason: stopReason,
        logprobs: null,
        message,
      },
    ],
    ...(counted === undefined ? {} : { usage: counted }),
    ...tierField(serviceTier),
  }
}

/** The combined content of an answer's blocks. */
class Gathered {
  private text: string | undefined
  private reasoning = ""
  private readonly parts: Array<AssistantPart> = []
  private readonly calls: Array<ToolCall> = []
  private readonly annotations: Array<Annotation> = []
  private readonly images: Array<OutputImage> = []
  private readonly family: Family

  constructor(family: Family) {
    this.family = family
  }

  add(block: JsonObject): void {
    const { text, toolUse, reasoningContent, citationsContent, image } = block
    if (typeof text === "string") this.say(text)
    else if (isJsonObject(toolUse)) this.call(toolUse)
    else if (isJsonObject(reasoningContent)) this.think(reasoningContent)
    else if (isJsonObject(citationsContent)) this.cited(citationsContent)
    else {
      const made = imageOf(image)
      if (made !== undefined) this.images.push(made)
    }
  }

  message(): ChatMessage {
    const { text, reasoning, calls, annotations, images } = this
    const { reasoning_details: details } = saidInOrder(this.parts)
    return {
      role: "assistant",
      content: text ?? (calls.length === 0 ? "" : null),
      refusal: null,
      reasoning: reasoning === "" ? null : reasoning,
      ...(details == null ? {} : { reasoning_details: details }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
      ...(annotations.length === 0 ? {} : { annotations }),
      ...(images.length === 0 ? {} : { images }),
    }
  }

  private say(text: string): void {
    this.text = (this.text ?? "") + text
    this.parts.push({ type: "content", content: { type: "text", text } })
  }

  private call(toolUse: JsonObject): void {
    if (isOfHost(toolUse)) return
    const { toolUseId, name, input } = toolUse
    const called = { name: textOr(name, ""), arguments: argumentsOf(input) }
    const call = { id: callIdOf(toolUseId), type: "function", function: called }
    this.calls.push(call)
    this.parts.push({ type: "call", call })
  }

  private think({ reasoningText, redactedContent }: JsonObject): void {
    if (typeof redactedContent === "string") {
      this.parts.push({ type: "reasoning", details: [hiddenThought(redactedContent)] })
    } else if (isJsonObject(reasoningText)) {
      const text = textOr(reasoningText["text"], "")
      const { signature } = reasoningText
      const signed = typeof signature === "string" ? { signature } : {}
      this.reasoning += text
      this.parts.push({ type: "reasoning", details: [thought(this.family, { text, ...signed })] })
    }
  }

  private cited({ content, citations }: JsonObject): void {
    const start = this.text?.length ?? 0
    this.say("")
    for (const part of Array.isArray(content) ? content : []) {
      if (isJsonObject(part)) this.say(textOr(part["text"], ""))
    }
    for (const citation of Array.isArray(citations) ? citations : []) {
      this.annotations.push(...annotationsOf(citation, start, this.text?.length ?? start))
    }
  }
}
