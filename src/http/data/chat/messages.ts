/** The messages of a conversation: roles, contents and the calls in them, checked. */
import { isJsonObject, type JsonObject } from "../../../domain/json/Json.ts"
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
import { refused, stored } from "../../decode/operatorMembers.ts"

const most = { messages: 4096 }
const maybeText = orNull(text)
const maybeObject = orNull(anyObject)

const textPart: Check = objectOf({ text }, "text")
const storedFile = refused(`${stored}: send its content in file_data`)
const mediaUrl = matching(/^(?:https?:\/\/|data:)./i, "must be an http(s) URL or a data URL")
const videoPart = objectOf({ video_url: objectOf({ url: mediaUrl }, "url") }, "video_url")
const partTypes: ReadonlyMap<string, Check> = new Map([
  ["text", textPart],
  ["image_url", objectOf({ image_url: objectOf({ url: mediaUrl, detail: maybeText }, "url") }, "image_url")],
  [
    "input_audio",
    objectOf({ input_audio: objectOf({ data: filledText, format: filledText }, "data", "format") }, "input_audio"),
  ],
  ["video_url", videoPart],
  ["input_video", videoPart],
  ["file", objectOf({ file: objectOf({ filename: maybeText, file_data: maybeText, file_id: storedFile }) }, "file")],
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
const isPlainTurn = (value: unknown): boolean => {
  if (!isJsonObject(value)) return false
  for (const name in value) if (name !== "role" && name !== "content") return false
  return typeof value["content"] === "string" && value["role"] !== "tool" && roles.has(value["role"])
}

export const messages: Check = (value, path, issues) => {
  if (!Array.isArray(value)) return report(issues, path, "must be an array")
  if (value.length === 0) return report(issues, path, "must have at least one message")
  if (value.length > most.messages)
    return report(issues, path, `must have at most ${most.messages} messages, not ${value.length}`)
  for (let at = 0; at < value.length; at++) {
    if (!isPlainTurn(value[at])) message(value[at], `${path}[${at}]`, issues)
  }
}
