/**
 * Canonical messages as Anthropic's turns: system text apart, content always a list of blocks, and neighbours of one
 * role in one turn. Reference 6.1. What has no counterpart goes as it is; the host then says what is wrong with it.
 */
import { isJsonObject, type JsonObject } from "../../domain/Json.ts"

export interface Turn {
  readonly role: "user" | "assistant"
  readonly content: ReadonlyArray<JsonObject>
}

export interface Conversation {
  readonly system: ReadonlyArray<JsonObject>
  readonly turns: ReadonlyArray<Turn>
}

/** Marks reasoning that came from Claude and may go back to it. Reference 6.1. */
export const reasoningFormat = "anthropic-claude-v1"

export const conversationOf = (messages: unknown): Conversation => {
  const system: Array<JsonObject> = []
  const turns: Array<{ role: Turn["role"]; content: Array<JsonObject> }> = []
  const say = (role: Turn["role"], blocks: ReadonlyArray<JsonObject>) => {
    if (blocks.length === 0) return
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...blocks)
    else turns.push({ role, content: [...blocks] })
  }
  for (const message of objects(messages)) {
    switch (message["role"]) {
      case "system":
      case "developer":
        system.push(...blocksOf(message["content"]))
        break
      case "assistant":
        say("assistant", assistantBlocks(message))
        break
      case "tool":
        say("user", [toolResult(message)])
        break
      default:
        say("user", blocksOf(message["content"]))
    }
  }
  // Anthropic wants at least one turn: instructions alone are the question.
  if (turns.length === 0) return { system: [], turns: system.length === 0 ? [] : [{ role: "user", content: system }] }
  return { system, turns: trimmedPrefill(turns) }
}

const objects = (value: unknown): ReadonlyArray<JsonObject> => (Array.isArray(value) ? value.filter(isJsonObject) : [])

/** Blank text is refused by the host, so it is left out. */
const blocksOf = (content: unknown): ReadonlyArray<JsonObject> => {
  const blocks = typeof content === "string" ? [textBlock(content)] : objects(content).map(blockOf)
  return blocks.filter((block) => block["type"] !== "text" || !isBlank(block["text"]))
}

const textBlock = (text: string): JsonObject => ({ type: "text", text })

const isBlank = (text: unknown): boolean => typeof text !== "string" || text.trim() === ""

const cacheMark = (part: JsonObject): JsonObject =>
  part["cache_control"] == null ? {} : { cache_control: part["cache_control"] }

const blockOf = (part: JsonObject): JsonObject => {
  switch (part["type"]) {
    case "text":
      return { type: "text", text: part["text"], ...cacheMark(part) }
    case "refusal":
      return { type: "text", text: part["refusal"] }
    case "image_url":
      return imageBlock(part)
    case "file":
      return fileBlock(part)
    default:
      return part
  }
}

const imageBlock = (part: JsonObject): JsonObject => {
  const image = part["image_url"]
  const url = isJsonObject(image) ? image["url"] : image
  if (typeof url !== "string") return part
  const embedded = readDataUrl(url)
  const source = embedded === undefined ? { type: "url", url } : base64Source(imageType(embedded.mediaType), embedded)
  return { type: "image", source, ...cacheMark(part) }
}

const imageType = (mediaType: string): string => (mediaType === "image/jpg" ? "image/jpeg" : mediaType)

const fileBlock = (part: JsonObject): JsonObject => {
  const file = part["file"]
  if (!isJsonObject(file)) return part
  const { file_data: data, file_id: id, filename } = file
  const title = typeof filename === "string" && filename !== "" ? { title: filename } : {}
  const documentOf = (source: JsonObject): JsonObject => ({ type: "document", source, ...title, ...cacheMark(part) })
  if (typeof data !== "string") return typeof id === "string" ? documentOf({ type: "file", file_id: id }) : part
  if (/^https?:/i.test(data)) return documentOf({ type: "url", url: data })
  const embedded = readDataUrl(data) ?? { mediaType: "application/pdf", base64: true, data }
  const { mediaType } = embedded
  if (mediaType.startsWith("image/")) {
    return { type: "image", source: base64Source(imageType(mediaType), embedded), ...cacheMark(part) }
  }
  if (mediaType.startsWith("text/") || mediaType === "application/json") {
    return documentOf({ type: "text", media_type: "text/plain", data: asText(embedded) })
  }
  return documentOf(base64Source(mediaType, embedded))
}

interface DataUrl {
  readonly mediaType: string
  readonly base64: boolean
  readonly data: string
}

const readDataUrl = (url: string): DataUrl | undefined => {
  if (!/^data:/i.test(url)) return undefined
  const comma = url.indexOf(",")
  if (comma === -1) return undefined
  const [mediaType = "", ...parameters] = url.slice("data:".length, comma).toLowerCase().split(";")
  return { mediaType, base64: parameters.includes("base64"), data: url.slice(comma + 1) }
}

const base64Source = (mediaType: string, embedded: DataUrl): JsonObject => ({
  type: "base64",
  media_type: mediaType,
  data: embedded.base64 ? embedded.data : Buffer.from(unescaped(embedded.data)).toString("base64"),
})

const asText = (embedded: DataUrl): string =>
  embedded.base64 ? Buffer.from(embedded.data, "base64").toString("utf8") : unescaped(embedded.data)

const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Thinking first, as the host demands; then what was said; then the calls. */
const assistantBlocks = (message: JsonObject): ReadonlyArray<JsonObject> => [
  ...thinkingBlocks(message["reasoning_details"]),
  ...blocksOf(message["content"]),
  ...objects(message["tool_calls"]).flatMap(toolUse),
]

/**
 * Claude's own thinking, unmodified and in order. A caller that collected a stream gives it in fragments: those of one
 * index are joined until the signature that ends their block. Text without a signature is not accepted and left out.
 */
const thinkingBlocks = (details: unknown): ReadonlyArray<JsonObject> => {
  const blocks: Array<JsonObject> = []
  let open: { readonly index: unknown; text: string } | undefined
  for (const detail of objects(details)) {
    if (detail["format"] !== reasoningFormat) continue
    const { type, index, text, signature, data } = detail
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

/** The host takes ids of letters, digits, `_` and `-` only; other hosts' ids, met in a fallback, may have more. */
const toolId = (id: unknown): string => String(id).replace(/[^a-zA-Z0-9_-]/g, "_")

const toolUse = (call: JsonObject): ReadonlyArray<JsonObject> => {
  const called = call["function"]
  if (!isJsonObject(called)) return []
  const input = inputOf(called["arguments"])
  return [{ type: "tool_use", id: toolId(call["id"]), name: called["name"], input, ...cacheMark(call) }]
}

/** The host wants an object. What is none is kept under a name of ours, so that the model still sees what it wrote. */
const inputOf = (written: unknown): JsonObject => {
  if (isJsonObject(written)) return written
  if (typeof written !== "string" || written.trim() === "") return {}
  try {
    const parsed: unknown = JSON.parse(written)
    return isJsonObject(parsed) ? parsed : { arguments: parsed }
  } catch {
    return { arguments: written }
  }
}

const toolResult = (message: JsonObject): JsonObject => {
  const content = blocksOf(message["content"])
  const [only] = content
  // One plain text goes as a string, the shortest form the host knows.
  const plain = content.length === 1 && only?.["type"] === "text" && only["cache_control"] === undefined
  return {
    type: "tool_result",
    tool_use_id: toolId(message["tool_call_id"]),
    ...(content.length === 0 ? {} : { content: plain ? only?.["text"] : content }),
    ...(message["is_error"] === true ? { is_error: true } : {}),
    ...cacheMark(message),
  }
}

/** A last turn of the assistant is a beginning to go on from; the host refuses one that ends in white space. */
const trimmedPrefill = (turns: ReadonlyArray<Turn>): ReadonlyArray<Turn> => {
  const last = turns.at(-1)
  const block = last?.content.at(-1)
  if (last?.role !== "assistant" || typeof block?.["text"] !== "string" || block["type"] !== "text") return turns
  const trimmed = { ...block, text: block["text"].trimEnd() }
  return [...turns.slice(0, -1), { role: last.role, content: [...last.content.slice(0, -1), trimmed] }]
}
