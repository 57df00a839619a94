/** A whole answer in the Messages form, and what whole and streamed answers have in common. */

import { isJsonObject, type JsonObject, objectsIn, textOr } from "../../domain/json/json.ts"
import { type Charge, promptTokens } from "../../domain/money/Charge.ts"
import { toUsd } from "../../domain/price/money.ts"
import { noCost } from "../../domain/price/price.ts"
import { noUsage } from "../../domain/price/Usage.ts"
import type {
  Annotation,
  ChatChoice,
  ChatMessage,
  ChatResponse,
  FinishReason,
  ReasoningDetail,
  ToolCall,
} from "../../domain/request/chat.ts"
import type { ChatRequest, Reasoning } from "../../domain/request/request.ts"
import type { AnswerNames, AnswerWriter } from "../AnswerWriter.ts"
import { argumentsObject, citationsIn, readDataUrl } from "../content.ts"
import { type AssistantPart, partsInOrder } from "../conversation.ts"
import { reasoningWish } from "../effort.ts"
import { isClaudes, wrapped } from "../foreignReasoning.ts"

/** What every answer to one request has in common. */
export interface MessageNames extends AnswerNames {
  /**
   * What callers get of the thinking of a host of another form: its text, only signatures (`thinking.display` is `omitted`),
   * or nothing, where they did not ask for it. A host of this form sees to that itself.
   */
  readonly thinking: "shown" | "signed" | "none"
  /** Estimated tokens of the prompt, which clients read at the start of a stream. */
  readonly promptTokens: number
}

export const namesFor = (names: AnswerNames, { native, reasoning, bounds }: ChatRequest): MessageNames => ({
  ...names,
  thinking: shownThinking(native?.body ?? {}, reasoning),
  promptTokens: promptTokens(bounds),
})

const shownThinking = ({ thinking, model }: JsonObject, reasoning: Reasoning): MessageNames["thinking"] => {
  if (isJsonObject(thinking) && thinking["display"] === "omitted") return "signed"
  const wish = reasoningWish(reasoning)
  // The name of a model may ask, too.
  const isAsked = wish === undefined ? textOr(model, "").includes(":thinking") : wish !== "off"
  return isAsked ? "shown" : "none"
}

/** The members of `usage` that every answer has. Cached reads and writes do not count as input here. */
const countsOf = ({ usage }: Pick<Charge, "usage">) => ({
  input_tokens: usage.promptTokens - usage.cachedTokens - usage.cacheWriteTokens,
  cache_creation_input_tokens: usage.cacheWriteTokens,
  cache_read_input_tokens: usage.cachedTokens,
  cache_creation: {
    ephemeral_5m_input_tokens: usage.cacheWriteTokens - usage.cacheWrite1hTokens,
    ephemeral_1h_input_tokens: usage.cacheWrite1hTokens,
  },
  output_tokens: usage.completionTokens,
  output_tokens_details: { thinking_tokens: usage.reasoningTokens },
  server_tool_use: usage.webSearches === 0 ? null : { web_search_requests: usage.webSearches, web_fetch_requests: 0 },
})

const costsOf = ({ cost, upstream }: Pick<Charge, "cost" | "upstream">) => ({
  cost: toUsd(cost.total),
  is_byok: false,
  cost_details: {
    upstream_inference_cost: toUsd(upstream.total),
    upstream_inference_prompt_cost: toUsd(upstream.prompt),
    upstream_inference_completions_cost: toUsd(upstream.completion),
  },
})

/** What is known before the end, besides the prompt's tokens. */
export const nothing = { usage: noUsage, cost: noCost, upstream: noCost }

/** The `usage` of a start: what the prompt is estimated to have. */
export const usageAtStart = ({ promptTokens }: Pick<MessageNames, "promptTokens">): JsonObject =>
  usageBody({ ...nothing, usage: { ...noUsage, promptTokens } })

/** `tier`: the host's word for the service tier that served. */
export const usageBody = (charge: Pick<Charge, "usage" | "cost" | "upstream">, tier?: unknown): JsonObject => ({
  ...countsOf(charge),
  inference_geo: null,
  service_tier: typeof tier === "string" && tier !== "default" ? tier : "standard",
  ...costsOf(charge),
})

/** The host's own `usage`, with the cost. Where the gateway had to count, its counts replace those of the host. */
export const usageWithCost = (written: unknown, charge: Charge): JsonObject => ({
  ...usageBody(charge),
  ...(isJsonObject(written) ? written : {}),
  ...(charge.estimated ? countsOf(charge) : {}),
  ...costsOf(charge),
})

const stopReasons: Readonly<Record<FinishReason, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
  // The form has no word for an answer that the model got wrong, and agents take any other for a finished turn.
  error: "refusal",
}

/** Hosts of other forms that know the words of this one. */
const ownWords: ReadonlySet<unknown> = new Set(["stop_sequence", "pause_turn", "model_context_window_exceeded"])

/**
 * The members that say how an answer ended. `native`: the host's own word for it. `refusal`: the host's explanation, "" for
 * none.
 */
export const ending = (finish: FinishReason | null, native: string | null | undefined, refusal: string) => {
  const own = finish !== "tool_calls" && ownWords.has(native)
  const reason = own ? native : refusal === "" ? stopReasons[finish ?? "stop"] : "refusal"
  const failed = finish === "error" ? `The model's answer could not be read: ${native ?? "error"}.` : null
  const details = { type: "refusal", category: null, explanation: refusal === "" ? failed : refusal }
  return {
    stop_reason: reason ?? "end_turn",
    stop_sequence: null,
    stop_details: reason === "refusal" ? details : null,
    container: null,
  }
}

/** A piece of reasoning as a block. */
export const thinkingBlock = (detail: ReasoningDetail, omitsText: boolean): JsonObject => {
  if (detail.type === "reasoning.encrypted") {
    const own = isClaudes(detail) && typeof detail.data === "string"
    return { type: "redacted_thinking", data: own ? detail.data : wrapped(detail) }
  }
  const text = detail.text ?? detail.summary ?? ""
  return { type: "thinking", thinking: omitsText ? "" : text, signature: signatureOf(detail) }
}

/** Whether the text of the reasoning is in its pieces too, and not only beside them. */
export const saysText = ({ text, summary }: ReasoningDetail): boolean => Boolean(text ?? summary)

/** What a block of thinking is signed with; "" where it needs nothing to be given back. */
export const signatureOf = (detail: ReasoningDetail): string => {
  if (isClaudes(detail)) return detail.signature ?? ""
  const { type, signature, id, format } = detail
  const isPlain =
    type === "reasoning.text" && signature == null && id == null && (format == null || format === "unknown")
  return isPlain ? "" : wrapped(detail)
}

/** A citation of a web page, which is what the canonical form has. */
export const citationOf = ({ url_citation: { url, title, content } }: Annotation): JsonObject => ({
  type: "web_search_result_location",
  url,
  title,
  cited_text: typeof content === "string" ? content : "",
  encrypted_index: "",
})

/** An image that the model made, in the form of images in requests: the form has none for answers. */
export const imageBlock = (url: string): JsonObject => {
  const embedded = readDataUrl(url)
  const source =
    embedded === undefined
      ? { type: "url", url }
      : { type: "base64", media_type: embedded.mediaType, data: embedded.data }
  return { type: "image", source }
}

const contentOf = (message: ChatMessage, thinking: MessageNames["thinking"]): ReadonlyArray<JsonObject> => {
  const { reasoning, reasoning_details: details = [], annotations, images = [] } = message
  const { parts } = partsInOrder(message)
  const blocks = parts.flatMap((part) => blocksOf(part, thinking))
  if (reasoning && thinking !== "none" && !details.some(saysText)) {
    blocks.unshift(thinkingBlock({ type: "reasoning.text", text: reasoning }, thinking === "signed"))
  }
  // Which of several texts cites a source is not told.
  const cited = blocks.findLastIndex(({ type }) => type === "text")
  const citations = citationsIn(annotations).map(citationOf)
  if (citations.length > 0) {
    if (cited === -1) blocks.push({ type: "text", text: "", citations })
    else blocks[cited] = { ...blocks[cited], citations }
  }
  const made = images.map(({ image_url: { url } }) => imageBlock(url))
  const firstCall = blocks.findIndex(({ type }) => type === "tool_use")
  blocks.splice(firstCall === -1 ? blocks.length : firstCall, 0, ...made)
  return blocks
}

const blocksOf = (part: AssistantPart, thinking: MessageNames["thinking"]): ReadonlyArray<JsonObject> => {
  switch (part.type) {
    case "content":
      return part.content.type === "text" ? [{ type: "text", text: part.content.text, citations: null }] : []
    case "reasoning":
      return thinking === "none" ? [] : part.details.map((detail) => thinkingBlock(detail, thinking === "signed"))
    case "call": {
      const { call } = part
      if (call.function === undefined) return []
      return [{ type: "tool_use", id: call.id, name: call.function.name, input: argumentsObject(call) }]
    }
  }
}

/** `native`: the answer of a host of the form, of which ids, model, usage and cost are exchanged. */
export const answerWriter =
  ({ generationId, metadata, thinking }: MessageNames): AnswerWriter =>
  (host, response, native) => {
    const { usage: written, ...body } = native === undefined ? translated(response, thinking) : withCallsStop(native)
    const text = JSON.stringify({
      ...body,
      id: generationId,
      model: host.model,
      provider: host.providerName,
      openrouter_metadata: metadata?.(host),
    })
    return (charge) => {
      const usage = native === undefined ? usageBody(charge, response.service_tier) : usageWithCost(written, charge)
      return `${text.slice(0, -1)},"usage":${JSON.stringify(usage)}}`
    }
  }

/** The host's answer: one that stops beside calls stops for them. */
const withCallsStop = (native: JsonObject): JsonObject => {
  const isStop = native["stop_reason"] == null || native["stop_reason"] === "end_turn"
  const calls = isStop && objectsIn(native["content"]).some(({ type }) => type === "tool_use")
  return calls ? { ...native, stop_reason: "tool_use" } : native
}

const translated = ({ choices }: ChatResponse, thinking: MessageNames["thinking"]): JsonObject => {
  const choice = choices.find(({ index }) => index === 0) ?? choices[0]
  // Every answer has a choice.
  if (choice === undefined) return {}
  const { message, finish_reason: finish, native_finish_reason: native } = choice
  const calls = callsIn(choices)
  const isForCalls = calls.length > 0 && (finish ?? "stop") === "stop"
  return {
    id: "",
    type: "message",
    role: "assistant",
    model: "",
    content: contentOf(message.tool_calls === calls ? message : { ...message, tool_calls: calls }, thinking),
    ...ending(isForCalls ? "tool_calls" : finish, native, message.refusal ?? ""),
  }
}

/** Some hosts give calls a choice of their own. The form gives one answer: those of the first choice that has some. */
const callsIn = (choices: ReadonlyArray<ChatChoice>): ReadonlyArray<ToolCall> =>
  choices.find(({ message }) => (message.tool_calls?.length ?? 0) > 0)?.message.tool_calls ?? []
