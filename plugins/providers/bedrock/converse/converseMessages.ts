/** The blocks of Converse, for the turns of a conversation. */
import {
  argumentsObject,
  type BlockWriter,
  type ContentPart,
  type Conversation,
  callIdWithin,
  isJsonObject,
  type JsonObject,
  type Message,
  type ReasoningDetail,
  type ToolCall,
  turnsOf,
  type Unsupported,
} from "headgate/plugin"
import type { Family } from "../model.ts"
import {
  audioBlock,
  type Carried,
  documentNames,
  fileBlock,
  imageBlock,
  isRefused,
  videoBlock,
} from "./converseMedia.ts"

/** Thinking of Claude: its signatures are valid at every vendor that has the model. */
const claudeFormat = "anthropic-claude-v1"

/** Reasoning that only Bedrock can read: that of other models, and what is encrypted. */
export const bedrockFormat = "amazon-bedrock-v1"

export const conversationOf = (messages: ReadonlyArray<Message>, family: Family): Conversation | Unsupported =>
  turnsOf(messages, blocksFor(family))

const blocksFor = (family: Family): BlockWriter => {
  const nameFor = documentNames()
  const marksOf = (call: JsonObject) => (family === "nova" ? [] : cachePoint(call, family))
  return {
    text: (text) => ({ text }),
    part: (part) => {
      const block = blockOf(part, nameFor)
      return isRefused(block) ? block.refused : [block, ...cachePoint(part, family)]
    },
    call: (call) => [toolUse(call), ...marksOf(call)],
    result: (message, content) => {
      // Cache points stand beside results, not in them.
      const inside = content.filter((block) => block["cachePoint"] === undefined)
      const points = content.filter((block) => block["cachePoint"] !== undefined).slice(0, 1)
      const failed = message["is_error"] === true ? { status: "error" } : {}
      const result = { toolResult: { toolUseId: toolId(message.tool_call_id), content: inside, ...failed } }
      return [result, ...(family === "nova" || points.length === 0 ? marksOf(message) : points)]
    },
    reasoning: (details) => reasoningBlocks(details, family),
    arranged: (content) => resultsFirst(withText(content)),
  }
}

const blockOf = (part: ContentPart, nameFor: ReturnType<typeof documentNames>): Carried => {
  switch (part.type) {
    case "text":
      return { text: part.text }
    case "refusal":
      return { text: part.refusal }
    case "image_url":
      return imageBlock(part)
    case "file":
      return fileBlock(part, nameFor)
    case "input_audio":
      return audioBlock(part)
    case "video_url":
    case "input_video":
      return videoBlock(part)
    default:
      return { refused: "this host does not know this kind of part" }
  }
}

const toolUse = (call: ToolCall): JsonObject => ({
  toolUse: { toolUseId: toolId(call.id), name: call.function.name, input: argumentsObject(call) },
})

/** The host wants text beside a document. */
const withText = (content: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> => {
  const has = (kind: string) => content.some((block) => block[kind] !== undefined)
  return has("document") && !has("text") ? [...content, { text: "See the document." }] : content
}

/** The host wants the results of calls at the beginning of the turn. A cache point goes with the result before it. */
const resultsFirst = (content: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> => {
  const results: Array<JsonObject> = []
  const others: Array<JsonObject> = []
  let last = others
  for (const block of content) {
    if (block["cachePoint"] === undefined) last = block["toolResult"] === undefined ? others : results
    last.push(block)
  }
  return [...results, ...others]
}

/**
 * The mark of a prefix that is to be cached. Hosts other than these two refuse it, and it is only a hint. Nova takes it in
 * instructions and beside text and media only, and for five minutes (AWS's page on prompt caching, 2026-11).
 */
export const cachePoint = ({ cache_control: mark }: JsonObject, family: Family): ReadonlyArray<JsonObject> => {
  if (mark == null || (family !== "claude" && family !== "nova")) return []
  const ttl = family === "claude" && isJsonObject(mark) && mark["ttl"] === "1h" ? { ttl: "1h" } : {}
  return [{ cachePoint: { type: "default", ...ttl } }]
}

/** The host accepts at most 64 letters, digits, `_` and `-`. Ids from other hosts may differ. */
const toolId = (id: string): string => callIdWithin(id, 64, /^[a-zA-Z0-9_-]+$/)

/**
 * Signed and encrypted reasoning, unmodified and in order. A caller that collected a stream may send fragments: those of one
 * index are joined up to the signature that ends their block. Text without a signature is left out: models refuse it.
 */
const reasoningBlocks = (details: ReadonlyArray<ReasoningDetail>, family: Family): ReadonlyArray<JsonObject> => {
  const ownFormat = formatOf(family)
  const blocks: Array<JsonObject> = []
  let open: { readonly index: number | undefined; text: string } | undefined
  for (const { type, format, index, text, signature, data } of details) {
    if (type === "reasoning.encrypted" && format === bedrockFormat && typeof data === "string") {
      open = undefined
      blocks.push({ reasoningContent: { redactedContent: data } })
    } else if (type === "reasoning.text" && format === ownFormat) {
      if (open === undefined || open.index !== index) open = { index, text: "" }
      if (typeof text === "string") open.text += text
      if (typeof signature === "string" && signature !== "") {
        blocks.push({ reasoningContent: { reasoningText: { text: open.text, signature } } })
        open = undefined
      }
    }
  }
  return blocks
}

/** The format of a model's signed reasoning. */
export const formatOf = (family: Family): string => (family === "claude" ? claudeFormat : bedrockFormat)
