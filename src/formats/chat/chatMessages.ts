/** The messages of a conversation: roles, contents and the calls in them, checked. */

import {
  anyObject,
  byType,
  type Check,
  checkOf,
  choiceSchema,
  described,
  filledText,
  hasMember,
  listOf,
  objectOf,
  refused,
  report,
  text,
  titled,
} from "../../domain/json/checks.ts"
import { isJsonObject } from "../../domain/json/json.ts"
import { stored } from "../payload/names.ts"
import { mediaUrl } from "../request/mediaUrl.ts"
import { contentOf, textContent, textPart } from "../request/textMembers.ts"
import { legacyCall } from "./legacyFunctions.ts"

const most = { messages: 4096 }

const storedFile = refused(`${stored}: send its content in file_data`)
const videoPart = objectOf({ video_url: objectOf({ url: mediaUrl }, "url") }, "video_url")
const partTypes: ReadonlyMap<string, Check> = new Map([
  ["text", textPart],
  ["image_url", objectOf({ image_url: objectOf({ url: mediaUrl, detail: text }, "url") }, "image_url")],
  [
    "input_audio",
    objectOf({ input_audio: objectOf({ data: filledText, format: filledText }, "data", "format") }, "input_audio"),
  ],
  ["video_url", videoPart],
  ["input_video", videoPart],
  ["file", objectOf({ file: objectOf({ filename: text, file_data: text, file_id: storedFile }) }, "file")],
])

const anyContent = contentOf(titled("ContentPart", byType(partTypes)))
const refusalPart: Check = objectOf({ refusal: text }, "refusal")
const assistantContent = contentOf(byType(new Map([...partTypes, ["refusal", refusalPart]])))

const functionCall = objectOf(
  { id: text, function: objectOf({ name: filledText, arguments: text }, "name", "arguments") },
  "id",
  "function",
)
const otherType = { type: "string", not: { const: "function" } }
const callSchema = {
  anyOf: [{ allOf: [functionCall.schema, { properties: { type: { not: otherType } } }] }, hasMember("type", otherType)],
}
// Unknown kinds of calls are left to the host.
const toolCall = checkOf(callSchema, (value, path, issues) =>
  (isJsonObject(value) && typeof value["type"] === "string" && value["type"] !== "function" ? anyObject : functionCall)(
    value,
    path,
    issues,
  ),
)

/** Its content may be null or absent whatever else it has: answers have none where the model only thought, or refused. */
const assistant = objectOf({
  content: assistantContent,
  name: text,
  tool_calls: listOf(toolCall),
  reasoning: text,
  reasoning_content: text,
  reasoning_details: described("As they came with the answer, in the same order.", listOf(anyObject)),
  refusal: text,
  images: listOf(anyObject),
  audio: anyObject,
  function_call: legacyCall,
})

const instruction = objectOf({ content: textContent, name: text }, "content")
const roles: ReadonlyMap<string, Check> = new Map([
  ["system", instruction],
  ["developer", instruction],
  ["user", objectOf({ content: anyContent, name: text }, "content")],
  ["assistant", assistant],
  ["tool", objectOf({ content: anyContent, tool_call_id: filledText }, "content", "tool_call_id")],
])
const knownRoles = [...roles.keys()].join(", ")
const allRoles = new Map([...roles, ["function", objectOf({ name: filledText, content: text }, "name")]])
const byRole: ReadonlyMap<unknown, Check> = allRoles

const message = titled(
  "ChatMessage",
  checkOf({ anyOf: choiceSchema("role", allRoles) }, (value, path, issues) => {
    if (!isJsonObject(value)) return report(issues, path, "must be an object")
    const check = byRole.get(value["role"])
    if (check === undefined) report(issues, `${path}.role`, `must be one of ${knownRoles}`)
    else check(value, path, issues)
  }),
)

/** Whether a turn has only a role and a text, as most have. Such a turn needs no further checks. */
const isPlainTurn = (value: unknown): boolean => {
  if (!isJsonObject(value)) return false
  for (const name in value) if (name !== "role" && name !== "content") return false
  return (
    typeof value["content"] === "string" &&
    value["role"] !== "tool" &&
    value["role"] !== "function" &&
    byRole.has(value["role"])
  )
}

const messagesSchema = { type: "array", items: message.schema, minItems: 1, maxItems: most.messages }

export const messages: Check = checkOf(messagesSchema, (value, path, issues) => {
  if (!Array.isArray(value)) return report(issues, path, "must be an array")
  if (value.length === 0) return report(issues, path, "must have at least one message")
  if (value.length > most.messages)
    return report(issues, path, `must have at most ${most.messages} messages, not ${value.length}`)
  for (let at = 0; at < value.length; at++) {
    if (!isPlainTurn(value[at])) message(value[at], `${path}[${at}]`, issues)
  }
})
