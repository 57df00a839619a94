/**
 * Converts canonical messages to Anthropic's turns: system text is separate, content is always a list of blocks, and
 * adjacent messages of one role form one turn. Parts of unknown kinds are sent unchanged, for the host to judge.
 */

import type { JsonObject } from "../../domain/json/json.ts"
import type {
  AssistantMessage,
  Content,
  ContentPart,
  FilePart,
  HostToolCall,
  ImagePart,
  Message,
  ReasoningDetail,
  ToolCall,
  ToolMessage,
} from "../../domain/request/chat.ts"
import { callIdWithin } from "../callId.ts"
import {
  argumentsObject,
  base64Of,
  type DataUrl,
  imageTypeOf,
  partsOf,
  readDataUrl,
  textOfDataUrl,
} from "../content.ts"
import { partsInOrder } from "../conversation.ts"
import { claudesFormat } from "../foreignReasoning.ts"

export interface Turn {
  readonly role: "user" | "assistant"
  readonly content: ReadonlyArray<JsonObject>
}

export interface Conversation {
  readonly system: ReadonlyArray<JsonObject>
  readonly turns: ReadonlyArray<Turn>
  /** What it does not say of the messages. */
  readonly dropped: ReadonlyArray<string>
}

export const conversationOf = (messages: ReadonlyArray<Message>): Conversation => {
  const system: Array<JsonObject> = []
  const turns: Array<{ role: Turn["role"]; content: Array<JsonObject> }> = []
  const lost = new Set<string>()
  const say = (role: Turn["role"], blocks: ReadonlyArray<JsonObject>) => {
    if (blocks.length === 0) return
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...blocks)
    else turns.push({ role, content: [...blocks] })
  }
  for (const [at, message] of messages.entries()) {
    lostOf(message, `messages[${at}]`, lost)
    switch (message.role) {
      case "system":
      case "developer":
        system.push(...blocksOf(message.content))
        break
      case "assistant":
        say("assistant", assistantBlocks(message, lost))
        break
      case "tool":
        say("user", [toolResult(message)])
        break
      case "user":
        say("user", blocksOf(message.content))
    }
  }
  const dropped = [...lost]
  // Anthropic requires at least one turn, so instructions alone become a user's turn.
  if (turns.length === 0) {
    return { system: [], turns: system.length === 0 ? [] : [{ role: "user", content: system }], dropped }
  }
  // A blank message still is the user's turn. Without one the host would go on with its answer, which new models refuse.
  if (messages.at(-1)?.role === "user" && turns.at(-1)?.role === "assistant") say("user", [goOn])
  return { system, turns: trimmedPrefill(turns.map(resultsFirst)), dropped }
}

const goOn: JsonObject = { type: "text", text: "Please continue." }

/** Members that the form has no place for. */
const lostOf = ({ role, name, content }: Message, path: string, lost: Set<string>): void => {
  if (name != null && role !== "tool") lost.add(`${path}.name`)
  if (!Array.isArray(content)) return
  for (const [at, part] of content.entries()) {
    const detail: unknown = part.type === "image_url" ? part.image_url.detail : undefined
    if (detail != null && detail !== "auto") lost.add(`${path}.content[${at}].image_url.detail`)
  }
}

/** The host wants the results of calls at the beginning of the turn. */
const resultsFirst = (turn: Turn): Turn => {
  const isResult = (block: JsonObject): boolean => block["type"] === "tool_result"
  const first = turn.content.findIndex((block) => !isResult(block))
  if (first === -1 || !turn.content.slice(first).some(isResult)) return turn
  const results = turn.content.filter(isResult)
  return { role: turn.role, content: [...results, ...turn.content.filter((block) => !isResult(block))] }
}

/** Blank text is refused by the host, so it is left out. */
const blocksOf = (content: Content | null | undefined): ReadonlyArray<JsonObject> =>
  partsOf(content)
    .map(blockOf)
    .filter((block) => block["type"] !== "text" || !isBlank(block["text"]))

const isBlank = (text: unknown): boolean => typeof text !== "string" || text.trim() === ""

const cacheMark = ({ cache_control: mark }: JsonObject): JsonObject => (mark == null ? {} : { cache_control: mark })

const blockOf = (part: ContentPart): JsonObject => {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text, ...cacheMark(part) }
    case "refusal":
      return { type: "text", text: part.refusal }
    case "image_url":
      return imageBlock(part)
    case "file":
      return fileBlock(part)
    default:
      return part
  }
}

const imageBlock = (part: ImagePart): JsonObject => {
  const { url } = part.image_url
  const embedded = readDataUrl(url)
  const source = embedded === undefined ? { type: "url", url } : imageSource(embedded)
  return { type: "image", source, ...cacheMark(part) }
}

/** The host refuses an image of another type than it says. */
const imageSource = (embedded: DataUrl): JsonObject => {
  const { mediaType } = embedded
  return base64Source(imageTypeOf(embedded) ?? (mediaType === "image/jpg" ? "image/jpeg" : mediaType), embedded)
}

/** The content of a file; bare base64 is taken for a PDF. */
export const embeddedIn = (data: string): DataUrl =>
  readDataUrl(data) ?? { mediaType: "application/pdf", base64: true, data }

export const isWebAddress = (text: string): boolean => /^https?:/i.test(text)

const fileBlock = (part: FilePart): JsonObject => {
  const { file_data: data, file_id: id, filename } = part.file
  const title = filename ? { title: filename } : {}
  const documentOf = (source: JsonObject): JsonObject => ({ type: "document", source, ...title, ...cacheMark(part) })
  if (data == null) return id == null ? part : documentOf({ type: "file", file_id: id })
  if (isWebAddress(data)) return documentOf({ type: "url", url: data })
  const embedded = embeddedIn(data)
  const { mediaType } = embedded
  if (mediaType.startsWith("image/")) {
    return { type: "image", source: imageSource(embedded), ...cacheMark(part) }
  }
  if (isText(mediaType)) return documentOf({ type: "text", media_type: "text/plain", data: textOfDataUrl(embedded) })
  return documentOf(base64Source(mediaType, embedded))
}

export const isText = (mediaType: string): boolean => mediaType.startsWith("text/") || mediaType === "application/json"

const base64Source = (mediaType: string, embedded: DataUrl): JsonObject => ({
  type: "base64",
  media_type: mediaType,
  data: base64Of(embedded),
})

/** The parts as they were said. Where the order is lost, the host would refuse thinking, so that is left out. */
const assistantBlocks = (message: AssistantMessage, lost: Set<string>): ReadonlyArray<JsonObject> => {
  const { parts, isInOrder } = partsInOrder(message)
  if (!isInOrder) lost.add("order")
  const blocks = parts.flatMap((part) => {
    if (part.type === "content") return blocksOf([part.content])
    if (part.type === "call") return toolUse(part.call)
    return isInOrder ? thinkingBlocks(part.details) : []
  })
  const { refusal } = message
  return typeof refusal === "string" && !isBlank(refusal) ? [...blocks, { type: "text", text: refusal }] : blocks
}

/**
 * Claude's own thinking, unmodified and in order. A caller that collected a stream may send fragments: those of one
 * index are joined up to the signature that ends their block. Text without a signature is left out, because the host
 * refuses it.
 */
const thinkingBlocks = (details: ReadonlyArray<ReasoningDetail>): ReadonlyArray<JsonObject> => {
  const blocks: Array<JsonObject> = []
  let open: { readonly index: number | undefined; text: string } | undefined
  for (const { format, type, index, text, signature, data } of details) {
    if (format !== claudesFormat) continue
    if (type === "reasoning.encrypted" && typeof data === "string") {
      open = undefined
      blocks.push({ type: "redacted_thinking", data })
    } else if (type === "reasoning.text") {
      if (open === undefined || open.index !== index) open = { index, text: "" }
      if (typeof text === "string") open.text += text
      if (typeof signature === "string" && signature !== "") {
        blocks.push({ type: "thinking", thinking: open.text, signature })
        open = undefined
      }
    }
  }
  return blocks
}

/** The host accepts ids of letters, digits, `_` and `-` only. Ids from other hosts may have other characters. */
const toolId = (id: string): string => callIdWithin(id, Number.POSITIVE_INFINITY, /^[a-zA-Z0-9_-]+$/)

const toolUse = (call: ToolCall | HostToolCall): ReadonlyArray<JsonObject> =>
  call.function === undefined
    ? []
    : [
        {
          type: "tool_use",
          id: toolId(call.id),
          name: call.function.name,
          input: argumentsObject(call),
          ...cacheMark(call),
        },
      ]

const toolResult = (message: ToolMessage): JsonObject => {
  const content = blocksOf(message.content)
  const [only] = content
  // A single plain text is sent as a string, the shortest form.
  const plain = content.length === 1 && only?.["type"] === "text" && only["cache_control"] === undefined
  return {
    type: "tool_result",
    tool_use_id: toolId(message.tool_call_id),
    ...(content.length === 0 ? {} : { content: plain ? only?.["text"] : content }),
    ...(message["is_error"] === true ? { is_error: true } : {}),
    ...cacheMark(message),
  }
}

/** Trims a last turn of the assistant, which the model continues. The host refuses one that ends in white space. */
const trimmedPrefill = (turns: ReadonlyArray<Turn>): ReadonlyArray<Turn> => {
  const last = turns.at(-1)
  const block = last?.content.at(-1)
  if (last?.role !== "assistant" || typeof block?.["text"] !== "string" || block["type"] !== "text") return turns
  const trimmed = { ...block, text: block["text"].trimEnd() }
  return [...turns.slice(0, -1), { role: last.role, content: [...last.content.slice(0, -1), trimmed] }]
}
