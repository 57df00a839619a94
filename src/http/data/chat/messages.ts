/** The messages of a conversation: roles, contents and the calls in them, checked and measured. */
import type { Message } from "../../../domain/Chat.ts"
import { bytesOf, bytesSaid } from "../../../domain/Estimate.ts"
import { isJsonObject, type JsonObject } from "../../../domain/Json.ts"
import {
  anyObject,
  byType,
  type Check,
  filledText,
  listOf,
  matching,
  objectOf,
  onlyKnown,
  orNull,
  report,
  text,
} from "../../decode/checks.ts"

const most = { messages: 4096 }
const maybeText = orNull(text)
const maybeObject = orNull(anyObject)

const textPart: Check = objectOf({ text }, "text")
const videoPart = objectOf({ video_url: objectOf({ url: filledText }, "url") }, "video_url")
const imageUrl = matching(/^(?:https?:\/\/|data:)./i, "must be an http(s) URL or a data URL")
const partTypes: ReadonlyMap<string, Check> = new Map([
  ["text", textPart],
  ["image_url", objectOf({ image_url: objectOf({ url: imageUrl, detail: maybeText }, "url") }, "image_url")],
  [
    "input_audio",
    objectOf({ input_audio: objectOf({ data: filledText, format: filledText }, "data", "format") }, "input_audio"),
  ],
  ["video_url", videoPart],
  ["input_video", videoPart],
  ["file", objectOf({ file: objectOf({ filename: maybeText, file_data: maybeText, file_id: maybeText }) }, "file")],
])

const contentOf = (types: ReadonlyMap<string, Check>): Check => {
  const part = byType(types, onlyKnown(types))
  const parts = listOf(part)
  return (value, path, issues) => {
    if (Array.isArray(value)) parts(value, path, issues)
    else if (typeof value !== "string") report(issues, path, "must be a string or an array of parts")
  }
}
const anyContent = contentOf(partTypes)
const refusalPart: Check = objectOf({ refusal: text }, "refusal")
const assistantContent = contentOf(new Map([...partTypes, ["refusal", refusalPart]]))
/** Text alone: a string, or text parts. */
export const textContent = contentOf(new Map([["text", textPart]]))

const functionCall = objectOf(
  { id: text, function: objectOf({ name: filledText, arguments: text }, "name", "arguments") },
  "id",
  "function",
)
// Unknown kinds of calls are left to the host.
const toolCall: Check = (value, path, issues) =>
  (isJsonObject(value) && typeof value["type"] === "string" && value["type"] !== "function" ? anyObject : functionCall)(
    value,
    path,
    issues,
  )

const instruction = objectOf({ content: textContent, name: maybeText }, "content")
const roles: ReadonlyMap<unknown, Check> = new Map<string, Check>([
  ["system", instruction],
  ["developer", instruction],
  ["user", objectOf({ content: anyContent, name: maybeText }, "content")],
  [
    "assistant",
    objectOf({
      content: orNull(assistantContent),
      name: maybeText,
      tool_calls: orNull(listOf(toolCall)),
      reasoning: maybeText,
      reasoning_content: maybeText,
      reasoning_details: orNull(listOf(anyObject)),
      refusal: maybeText,
      images: orNull(listOf(anyObject)),
      audio: maybeObject,
    }),
  ],
  ["tool", objectOf({ content: anyContent, tool_call_id: filledText }, "content", "tool_call_id")],
])
const knownRoles = [...roles.keys()].join(", ")

/** Members that an assistant's message may have in place of `content`. */
const wordless = [
  "tool_calls",
  "function_call",
  "refusal",
  "audio",
  "images",
  "reasoning",
  "reasoning_content",
  "reasoning_details",
]

const isWordless = (message: JsonObject): boolean =>
  wordless.some((member) => {
    const value = message[member]
    return value != null && !(Array.isArray(value) && value.length === 0)
  })

const message: Check = (value, path, issues) => {
  if (!isJsonObject(value)) return report(issues, path, "must be an object")
  const check = roles.get(value["role"])
  if (check === undefined) return report(issues, `${path}.role`, `must be one of ${knownRoles}`)
  check(value, path, issues)
  if (value["role"] === "assistant" && value["content"] == null && !isWordless(value)) {
    report(issues, `${path}.content`, "is required unless the assistant called tools")
  }
}

/** Whether a turn has only a role and a text, as most have. Such a turn needs no further checks. */
const isPlainTurn = (value: unknown): boolean =>
  isJsonObject(value) &&
  typeof value["content"] === "string" &&
  value["role"] !== "tool" &&
  roles.has(value["role"]) &&
  Object.keys(value).length === 2

export const messages: Check = (value, path, issues) => {
  if (!Array.isArray(value)) return report(issues, path, "must be an array")
  if (value.length === 0) return report(issues, path, "must have at least one message")
  if (value.length > most.messages)
    return report(issues, path, `must have at most ${most.messages} messages, not ${value.length}`)
  for (let at = 0; at < value.length; at++) {
    if (!isPlainTurn(value[at])) message(value[at], `${path}[${at}]`, issues)
  }
}

/** Sizes of a conversation: how much of it is text, and how much is media. */
export interface Measured {
  /** UTF-8 bytes of text, reasoning and tool calls. */
  readonly textBytes: number
  /** Bytes of base64 in parts that are not text. */
  readonly mediaBytes: number
  readonly mediaParts: number
  readonly images: number
  /** Kinds of its parts other than text, each once: `image`, `audio`, `video`, `file`. */
  readonly inputs: ReadonlyArray<string>
}

/** The kind of input that a part is, by its type. */
const kindOfPart: Readonly<Record<string, string>> = {
  image_url: "image",
  input_audio: "audio",
  video_url: "video",
  input_video: "video",
  file: "file",
}

const noInputs: ReadonlyArray<string> = []

/** Measures checked messages. */
export const measure = (messages: ReadonlyArray<Message>): Measured => {
  const measured = { textBytes: 0, mediaBytes: 0, mediaParts: 0, images: 0, inputs: noInputs }
  for (const message of messages) {
    measured.textBytes += bytesSaid(message)
    const parts = Array.isArray(message.content) ? message.content : []
    for (const part of parts) {
      measured.textBytes += bytesOf(part.text)
      if (part.type === "text") continue
      measured.mediaParts += 1
      measured.mediaBytes += base64In(part)
      if (part.type === "image_url") measured.images += 1
      const kind = kindOfPart[part.type]
      if (kind !== undefined && !measured.inputs.includes(kind)) measured.inputs = [...measured.inputs, kind]
    }
    if (message.role !== "assistant") continue
    // Earlier images and audio of the model.
    measured.mediaParts += listLength(message["images"]) + (message["audio"] == null ? 0 : 1)
  }
  return measured
}

const listLength = (value: unknown): number => (Array.isArray(value) ? value.length : 0)

const base64In = (part: JsonObject): number => {
  const { image_url: image, input_audio: audio, file, video_url: video } = part
  if (isJsonObject(image)) return base64OfUrl(image["url"])
  if (isJsonObject(video)) return base64OfUrl(video["url"])
  if (isJsonObject(audio)) return bytesOf(audio["data"])
  return isJsonObject(file) ? base64OfUrl(file["file_data"]) : 0
}

/** Bytes after the comma of a data URL. 0 for a file of text, which counts as text. */
const base64OfUrl = (url: unknown): number => {
  if (typeof url !== "string") return 0
  const head = /^data:([^,]{0,256}),/i.exec(url)
  if (head === null) return 0
  return /^(?:text\/|application\/json)/i.test(head[1] ?? "") ? 0 : url.length - head[0].length
}
