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
import { argumentsObject, base64Of, type DataUrl, partsOf, readDataUrl, textOfDataUrl } from "../content.ts"
import { claudesFormat } from "../foreignReasoning.ts"

export interface Turn {
  readonly role: "user" | "assistant"
  readonly content: ReadonlyArray<JsonObject>
}

export interface Conversation {
  readonly system: ReadonlyArray<JsonObject>
  readonly turns: ReadonlyArray<Turn>
}

export const conversationOf = (messages: ReadonlyArray<Message>): Conversation => {
  const system: Array<JsonObject> = []
  const turns: Array<{ role: Turn["role"]; content: Array<JsonObject> }> = []
  const say = (role: Turn["role"], blocks: ReadonlyArray<JsonObject>) => {
    if (blocks.length === 0) return
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...blocks)
    else turns.push({ role, content: [...blocks] })
  }
  for (const message of messages) {
    switch (message.role) {
      case "system":
      case "developer":
        system.push(...blocksOf(message.content))
        break
      case "assistant":
        say("assistant", assistantBlocks(message))
        break
      case "tool":
        say("user", [toolResult(message)])
        break
      case "user":
        say("user", blocksOf(message.content))
    }
  }
  // Anthropic requires at least one turn, so instructions alone become a user's turn.
  if (turns.length === 0) return { system: [], turns: system.length === 0 ? [] : [{ role: "user", content: system }] }
  return { system, turns: trimmedPrefill(turns) }
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
  const source = embedded === undefined ? { type: "url", url } : base64Source(imageType(embedded.mediaType), embedded)
  return { type: "image", source, ...cacheMark(part) }
}

const imageType = (mediaType: string): string => (mediaType === "image/jpg" ? "image/jpeg" : mediaType)

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
    return { type: "image", source: base64Source(imageType(mediaType), embedded), ...cacheMark(part) }
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

/** Thinking first, as the host requires; then the text; then the calls. */
const assistantBlocks = (message: AssistantMessage): ReadonlyArray<JsonObject> => [
  ...thinkingBlocks(message.reasoning_details ?? []),
  ...blocksOf(message.content),
  ...(message.tool_calls ?? []).flatMap(toolUse),
]

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
const toolId = (id: string): string => id.replace(/[^a-zA-Z0-9_-]/g, "_")

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
