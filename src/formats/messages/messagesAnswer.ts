/** A whole answer of the Messages format, read and written. */
import type { HostFailed } from "../../domain/failures/Failure.ts"
import { isJsonObject, type JsonObject, objectsIn, textOr } from "../../domain/json/json.ts"
import type { Annotation, ChatChoice, ChatMessage, ChatResponse, ToolCall } from "../../domain/request/chat.ts"
import type { AnswerWriter } from "../AnswerWriter.ts"
import { byText, citationsIn } from "../content.ts"
import { type AssistantPart, partsInOrder, textOfDetail } from "../conversation.ts"
import { answerFrom } from "../delta.ts"
import { malformed } from "../httpError.ts"
import { citationOf, inputOf, thinkingBlock, toolUse } from "./messagesBlocks.ts"
import { messagesErrorInBody } from "./messagesError.ts"
import { imageBlock } from "./messagesMedia.ts"
import { ending, wordBesideCalls } from "./messagesStop.ts"
import { MessagesDecoder } from "./messagesStream.ts"
import type { MessageNames } from "./messagesThinking.ts"
import { usageBody, usageWithCost } from "./messagesUsage.ts"

/** Read as the events that would stream it. Blocks of tools that the host itself ran are left out. */
export const messagesAnswer = (body: unknown): ChatResponse | HostFailed => {
  if (!isJsonObject(body)) return malformed()
  if (body["type"] === "error" || body["error"] != null) return messagesErrorInBody(body["error"])
  const { content } = body
  if (!Array.isArray(content) || !content.every(isBlock)) return malformed()
  return answerFrom(new MessagesDecoder(), eventsOf(content, body))
}

/** Whether it is a block, of any kind. */
const isBlock = (block: unknown): block is JsonObject =>
  isJsonObject(block) && (block["type"] !== "text" || typeof block["text"] === "string")

function* eventsOf(
  content: ReadonlyArray<JsonObject>,
  { stop_reason, stop_details, usage }: JsonObject,
): Iterable<readonly [name: string, data: JsonObject]> {
  for (const [index, block] of content.entries()) {
    yield ["content_block_start", { index, content_block: block }]
    yield ["content_block_stop", { index }]
  }
  yield ["message_delta", { delta: { stop_reason: textOr(stop_reason, "stop"), stop_details }, usage }]
}

/** `native`: the answer of a host of the form, of which ids, model, usage and cost are exchanged. */
export const answerWriter =
  ({ generationId, metadata, thinking }: MessageNames): AnswerWriter =>
  (host, response, native) => {
    const { usage: written, ...body } = native === undefined ? translated(response, thinking) : mended(native)
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

/** The host's answer. One that stops beside calls stops for them, and the input of each call is an object. */
const mended = (native: JsonObject): JsonObject => {
  const isCall = ({ type }: JsonObject): boolean => type === "tool_use"
  const calls = objectsIn(native["content"]).filter(isCall)
  if (calls.length === 0) return native
  const isSound = calls.every(({ input }) => isJsonObject(input))
  const withInput = (block: JsonObject) => (isCall(block) ? { ...block, input: inputOf(block["input"]) } : block)
  const content = isSound ? native["content"] : objectsIn(native["content"]).map(withInput)
  return { ...native, content, stop_reason: wordBesideCalls(native["stop_reason"], true) }
}

const translated = ({ choices }: ChatResponse, thinking: MessageNames["thinking"]): JsonObject => {
  const choice = choices.find(({ index }) => index === 0) ?? choices[0]
  // Every answer has a choice.
  if (choice === undefined) return {}
  const { message } = choice
  const calls = callsIn(choices)
  return {
    id: "",
    type: "message",
    role: "assistant",
    model: "",
    content: contentOf(message.tool_calls === calls ? message : { ...message, tool_calls: calls }, thinking),
    ...ending(choice, calls.length > 0, message.refusal ?? ""),
  }
}

/** Some hosts give calls a choice of their own. The form gives one answer: those of the first choice that has some. */
const callsIn = (choices: ReadonlyArray<ChatChoice>): ReadonlyArray<ToolCall> =>
  choices.find(({ message }) => (message.tool_calls?.length ?? 0) > 0)?.message.tool_calls ?? []

type Blocks = Array<JsonObject>

const contentOf = (message: ChatMessage, thinking: MessageNames["thinking"]): Blocks => {
  const { reasoning, reasoning_details: details, annotations, images } = message
  const blocks = partsInOrder(message).parts.flatMap((part) => blocksOf(part, thinking))
  if (reasoning && thinking !== "none" && !(details ?? []).some(textOfDetail)) {
    blocks.unshift(thinkingBlock({ type: "reasoning.text", text: reasoning }, thinking === "signed"))
  }
  cite(blocks, citationsIn(annotations))
  const made = (images ?? []).map(({ image_url: { url } }) => imageBlock(url))
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
    case "call":
      return toolUse(part.call, part.call["id"])
  }
}

/** Gives each citation to the text that it was read from. */
const cite = (blocks: Blocks, annotations: ReadonlyArray<Annotation>): void => {
  if (annotations.length === 0) return
  const isText = ({ type }: JsonObject): boolean => type === "text"
  if (!blocks.some(isText)) blocks.push({ type: "text", text: "" })
  const places = [...blocks.keys()].filter((at) => isText(blocks[at] ?? {}))
  const texts = places.map((at) => textOr(blocks[at]?.["text"], ""))
  for (const [place, cited] of byText(annotations, texts).entries()) {
    const at = places[place] ?? 0
    if (cited.length > 0) blocks[at] = { ...blocks[at], citations: cited.map(citationOf) }
  }
}
