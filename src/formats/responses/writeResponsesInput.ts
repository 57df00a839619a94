/**
 * Converts canonical messages to input items: a message of the assistant becomes its reasoning, what it said and a call for
 * each tool call; a tool message becomes the output of a call.
 */

import { Unsupported } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type {
  AssistantMessage,
  Content,
  ContentPart,
  FilePart,
  HostToolCall,
  Message,
  ReasoningDetail,
  ToolCall,
} from "../../domain/request/chat.ts"
import { callIdWithin } from "../callId.ts"
import { readDataUrl } from "../content.ts"
import { type AssistantPart, partsInOrder } from "../conversation.ts"
import type { ResponsesQuirks } from "./ResponsesQuirks.ts"
import { reasoningItems } from "./responsesReasoning.ts"

/** The items, or the first part of the conversation that the form cannot carry. */
export const inputOf = (
  messages: ReadonlyArray<Message>,
  quirks: ResponsesQuirks,
  host: Host,
  dropped: Array<string>,
): ReadonlyArray<JsonObject> | Unsupported => {
  const items: Array<JsonObject> = []
  /** Results of custom tools have a type of their own. */
  const customIds = new Set<unknown>()
  for (const [at, message] of messages.entries()) {
    const wrong = unsupportedIn(message, `messages[${at}]`, host)
    if (wrong !== undefined) return wrong
    switch (message.role) {
      case "assistant":
        for (const { type, id } of message.tool_calls ?? []) if (type === "custom") customIds.add(id)
        items.push(...assistantItems(message, quirks, dropped))
        break
      case "tool":
        items.push({
          type: customIds.has(message.tool_call_id) ? "custom_tool_call_output" : "function_call_output",
          call_id: callIdHere(message.tool_call_id),
          output: contentOf(message.content),
        })
        break
      default:
        items.push({ type: "message", role: message.role, content: contentOf(message.content) })
    }
  }
  return items
}

/** Kinds of parts that OpenAI's own models do not take in this form. Other hosts list them among their modalities. */
const listedOnly: ReadonlyMap<string, string> = new Map([
  ["input_audio", "audio"],
  ["video_url", "video"],
  ["input_video", "video"],
])

const unsupportedIn = ({ content }: Message, path: string, host: Host): Unsupported | undefined => {
  if (!Array.isArray(content)) return undefined
  for (const [at, part] of content.entries()) {
    const kind = listedOnly.get(part.type)
    if (kind !== undefined && !host.inputModalities.includes(kind))
      return new Unsupported({ path: `${path}.content[${at}]`, reason: `this host takes no ${kind}` })
  }
  return undefined
}

const contentOf = (content: Content | null | undefined): unknown =>
  Array.isArray(content) ? content.map(partOf) : (content ?? "")

/** OpenAI refuses longer ids of calls (9router#393, 2026-03; Aether#829, 2026-09). Ids of other hosts may have any length. */
const longestCallId = 64

/** The id of a call, and of its result, at a host of this form. */
export const callIdHere = <Id>(id: Id): Id | string => (typeof id === "string" ? callIdWithin(id, longestCallId) : id)

/** A call of a custom tool, as the canonical form has it: its members, and no others. `undefined`: it is of another kind. */
export const customCallOf = ({ type, id, custom }: HostToolCall): JsonObject | undefined =>
  type === "custom" && isJsonObject(custom)
    ? { type: "custom_tool_call", call_id: callIdHere(id), name: custom["name"], input: custom["input"] }
    : undefined

const partOf = (part: ContentPart): JsonObject => {
  switch (part.type) {
    case "text":
      return { type: "input_text", text: part.text }
    case "refusal":
      return { type: "input_text", text: part.refusal }
    case "image_url":
      return { type: "input_image", image_url: part.image_url.url, detail: part.image_url.detail ?? "auto" }
    case "file":
      return fileOf(part)
    case "video_url":
    case "input_video":
      return { type: "input_video", video_url: part.video_url.url }
    case "input_audio":
      return { type: "input_audio", input_audio: part.input_audio }
  }
}

const fileOf = ({ file: { filename, file_data: data, file_id: id } }: FilePart): JsonObject => {
  if (data == null) return { type: "input_file", ...(id == null ? {} : { file_id: id }) }
  if (/^https?:/i.test(data)) return { type: "input_file", file_url: data }
  // The host wants a name, and a data URL.
  const url = readDataUrl(data) === undefined ? `data:application/pdf;base64,${data}` : data
  return { type: "input_file", filename: filename ?? "file.pdf", file_data: url }
}

/** The items of what an assistant said, in its order. */
const assistantItems = (
  message: AssistantMessage,
  quirks: ResponsesQuirks,
  dropped: Array<string>,
): ReadonlyArray<JsonObject> => {
  const { parts, isInOrder } = partsInOrder(message)
  if (!isInOrder && !dropped.includes("order")) dropped.push("order")
  const items: Array<JsonObject> = []
  const isText = typeof message.content === "string"
  /** Parts of one kind that follow each other. */
  let said: Array<ContentPart> = []
  let thought: Array<ReasoningDetail> = []
  const flush = (): void => {
    const [only, more] = said
    const text = isText && more === undefined && only?.type === "text" ? only.text : undefined
    if (said.length > 0) items.push({ type: "message", role: "assistant", content: text ?? said.map(outputPart) })
    items.push(...reasoningItems(thought, quirks))
    said = []
    thought = []
  }
  for (const part of withRefusal(parts, message.refusal)) {
    if (part.type === "content" ? thought.length > 0 : said.length > 0) flush()
    if (part.type === "content") said.push(part.content)
    else if (part.type === "reasoning") thought.push(...part.details)
    else {
      flush()
      items.push(...callItem(part.call))
    }
  }
  flush()
  return items
}

/** A refusal ends what was said before the calls. */
const withRefusal = (
  parts: ReadonlyArray<AssistantPart>,
  refusal: string | null | undefined,
): ReadonlyArray<AssistantPart> => {
  if (!refusal) return parts
  const said = parts.findLastIndex(({ type }) => type === "content")
  const called = parts.findIndex(({ type }) => type === "call")
  const at = said !== -1 ? said + 1 : called !== -1 ? called : parts.length
  return parts.toSpliced(at, 0, { type: "content", content: { type: "refusal", refusal } })
}

const callItem = (call: ToolCall | HostToolCall): ReadonlyArray<JsonObject> => {
  if (call.function === undefined) return [customCallOf(call) ?? []].flat()
  const { name, arguments: written } = call.function
  const callId = callIdHere(call.id)
  return call.type === "custom"
    ? [{ type: "custom_tool_call", call_id: callId, name, input: written }]
    : [{ type: "function_call", call_id: callId, name, arguments: written === "" ? "{}" : written }]
}

const outputPart = (part: ContentPart): JsonObject => {
  if (part.type === "text") return { type: "output_text", text: part.text }
  return part.type === "refusal" ? { type: "refusal", refusal: part.refusal } : partOf(part)
}
