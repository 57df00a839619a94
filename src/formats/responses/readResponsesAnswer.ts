/** Converts a response object to the canonical form, and has what whole and streamed answers share. */

import type { HostFailed } from "../../domain/failures/Failure.ts"
import { isJsonObject, type JsonObject, objectsIn, textOr } from "../../domain/json/json.ts"
import type {
  Annotation,
  ChatMessage,
  ChatResponse,
  FinishReason,
  OutputImage,
  ToolCall,
} from "../../domain/request/chat.ts"
import { bytesOf } from "../../domain/request/estimate.ts"
import { callIdOf } from "../callId.ts"
import { type AssistantPart, saidInOrder } from "../conversation.ts"
import { malformed } from "../httpError.ts"
import { responsesFailure } from "./responsesError.ts"
import { detailsOf } from "./responsesReasoning.ts"
import { isSearch, usageOf } from "./responsesUsage.ts"

export interface Finish {
  readonly reason: FinishReason
  /** In the host's words. */
  readonly native: string
}

/** How a response ended. `called`: whether it calls tools of the caller. */
export const finishOf = ({ status, incomplete_details: details }: JsonObject, called: boolean): Finish => {
  const reason = isJsonObject(details) ? details["reason"] : undefined
  if (typeof reason === "string") {
    return { reason: reason === "content_filter" ? "content_filter" : "length", native: reason }
  }
  if (isUnfinished(status)) return { reason: "length", native: status }
  if (status === "incomplete") return { reason: "length", native: "incomplete" }
  return { reason: called ? "tool_calls" : "stop", native: textOr(status, "completed") }
}

/**
 * Whether the host goes on with the response, and bills for it. Nobody fetches the rest, so its cost is never known. See
 * docs/guarantees.md#g5.
 */
export const isUnfinished = (status: unknown): status is "queued" | "in_progress" =>
  status === "queued" || status === "in_progress"

/** A response that has ended with this status, which its host may not have brought up to date. */
export const ended = (response: JsonObject, status: string): JsonObject =>
  isUnfinished(response["status"]) ? { ...response, status } : response

/** The failure in a response object, if it has one. A cancelled response is a failure too. */
export const failureIn = (response: JsonObject): HostFailed | undefined => {
  const { status, error } = response
  if (error != null) return responsesFailure(error)
  if (status === "failed") return responsesFailure({ code: "server_error" })
  return status === "cancelled" ? malformed() : undefined
}

/** Citations with an address, of a text that begins at `offset` of the whole answer's. */
export const annotationsOf = (cited: unknown, offset: number): ReadonlyArray<Annotation> =>
  objectsIn(cited).flatMap(
    ({ type, url, title, start_index: start, end_index: end, ...rest }): ReadonlyArray<Annotation> =>
      type === "url_citation" && typeof url === "string"
        ? [
            {
              type,
              url_citation: {
                ...rest,
                url,
                title: textOr(title, ""),
                ...(typeof start === "number" ? { start_index: start + offset } : {}),
                ...(typeof end === "number" ? { end_index: end + offset } : {}),
              },
            },
          ]
        : [],
  )

/** The call of an item; `undefined`: it is none of the caller's tools. A custom tool gets text in place of JSON. */
export const callOf = (item: JsonObject): ToolCall | undefined => {
  const { type, call_id: id, name } = item
  const kind = type === "function_call" ? "function" : type === "custom_tool_call" ? "custom" : undefined
  if (kind === undefined) return undefined
  return { id: callIdOf(id), type: kind, function: { name: textOr(name, ""), arguments: writtenIn(item) } }
}

/** What a call gives its tool: JSON, which some hosts write as the object itself, or the text of a custom tool. */
export const givenIn = ({ type, input, arguments: given }: JsonObject): string => {
  if (type === "custom_tool_call") return textOr(input, "")
  return isJsonObject(given) ? JSON.stringify(given) : textOr(given, "")
}

/** The same of a call that has ended: a function that is given nothing gets an empty object. */
const writtenIn = (item: JsonObject): string => givenIn(item) || nothingGiven(item)

export const nothingGiven = ({ type, status }: JsonObject): string =>
  type === "function_call" && status !== "incomplete" ? "{}" : ""

/** The parts of a message. SGLang called its texts `text` (sglang#12652), and a text may stand for its only part. */
export const partsOfMessage = ({ content }: JsonObject): ReadonlyArray<JsonObject> =>
  typeof content === "string" ? [{ type: "output_text", text: content }] : objectsIn(content)

export const isText = ({ type }: JsonObject): boolean => type === "output_text" || type === "text"

export const imageOf = ({ type, result, output_format: format }: JsonObject): OutputImage | undefined => {
  if (type !== "image_generation_call" || typeof result !== "string" || result === "") return undefined
  const url = /^(?:https?:|data:)/i.test(result) ? result : `data:image/${textOr(format, "png")};base64,${result}`
  return { type: "image_url", image_url: { url } }
}

/**
 * UTF-8 bytes of what the host has made of a conversation, whatever it calls the item: output that is no text, and that other forms do
 * not have. Encrypted reasoning is counted as reasoning.
 */
export const compactedBytes = ({ type, encrypted_content: data }: JsonObject): number =>
  type === "reasoning" ? 0 : bytesOf(data)

/** What the items of an answer say together. */
class Gathered {
  text = ""
  reasoning = ""
  refusal = ""
  hasMessage = false
  searches = 0
  /** `ChatResponse.unseen`. */
  unseen = 0
  /** Texts, reasoning and calls in the order of their items. */
  readonly parts: Array<AssistantPart> = []
  readonly calls: Array<ToolCall> = []
  readonly annotations: Array<Annotation> = []
  readonly images: Array<OutputImage> = []
  readonly logprobs: Array<unknown> = []
  private readonly format: string

  constructor(format: string) {
    this.format = format
  }

  /** Items of tools that the host itself runs are left out; the text around them stays. */
  add(item: JsonObject): void {
    if (isSearch(item)) this.searches += 1
    this.unseen += compactedBytes(item)
    if (item["type"] === "message") this.say(item)
    if (item["type"] === "reasoning") {
      const details = detailsOf(item, this.format)
      if (details.length > 0) this.parts.push({ type: "reasoning", details })
      this.reasoning += details.map(({ summary, text }) => summary ?? text ?? "").join("")
    }
    const call = callOf(item)
    if (call !== undefined) {
      this.calls.push(call)
      this.parts.push({ type: "call", call })
    }
    const image = imageOf(item)
    if (image !== undefined) this.images.push(image)
  }

  private say(message: JsonObject): void {
    this.hasMessage = true
    for (const part of partsOfMessage(message)) {
      if (part["type"] === "refusal") this.refusal += textOr(part["refusal"], "")
      if (!isText(part)) continue
      const { text: said, annotations, logprobs } = part
      const text = textOr(said, "")
      this.annotations.push(...annotationsOf(annotations, this.text.length))
      this.text += text
      if (text !== "") this.parts.push({ type: "content", content: { type: "text", text } })
      if (Array.isArray(logprobs)) this.logprobs.push(...logprobs)
    }
  }

  message(): ChatMessage {
    const { text, reasoning, refusal, hasMessage, calls, annotations, images } = this
    const { reasoning_details: details } = saidInOrder(this.parts)
    return {
      role: "assistant",
      content: text !== "" || (hasMessage && refusal === "") || calls.length === 0 ? text : null,
      refusal: refusal === "" ? null : refusal,
      reasoning: reasoning === "" ? null : reasoning,
      ...(details == null ? {} : { reasoning_details: details }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
      ...(annotations.length === 0 ? {} : { annotations }),
      ...(images.length === 0 ? {} : { images }),
    }
  }
}

export const tierOf = ({ service_tier: tier }: JsonObject): { readonly service_tier?: string } =>
  typeof tier === "string" ? { service_tier: tier } : {}

/** A whole answer. `format`: of its reasoning. */
export const responsesAnswer = (body: unknown, format: string): ChatResponse | HostFailed => {
  if (!isJsonObject(body)) return malformed()
  const failure = failureIn(body)
  if (failure !== undefined) return failure
  const { output: given, usage: counted } = body
  // Usage comes with the end, whatever the status says then.
  const isOver = isJsonObject(counted) && Array.isArray(given) && given.length > 0
  const unfinished = isUnfinished(body["status"]) && !isOver
  const output = given ?? (unfinished ? [] : undefined)
  if (!Array.isArray(output) || !output.every(isItem)) return malformed()
  const gathered = new Gathered(format)
  for (const item of output) gathered.add(item)
  const finish = finishOf(unfinished ? body : ended(body, "completed"), gathered.calls.length > 0)
  const usage = usageOf(body, gathered.searches)
  return {
    choices: [
      {
        index: 0,
        finish_reason: finish.reason,
        native_finish_reason: finish.native,
        logprobs: gathered.logprobs.length === 0 ? null : { content: gathered.logprobs },
        message: gathered.message(),
      },
    ],
    ...(usage === undefined ? {} : { usage }),
    ...(unfinished ? { unfinished } : {}),
    ...(gathered.unseen === 0 ? {} : { unseen: gathered.unseen }),
    ...tierOf(body),
  }
}

const isItem = (item: unknown): item is JsonObject =>
  isJsonObject(item) &&
  (item["type"] !== "message" || Array.isArray(item["content"]) || typeof item["content"] === "string")
