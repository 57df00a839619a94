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
} from "../../domain/request/chat.ts"
import { readDataUrl } from "../content.ts"
import { defaultFormat, type ResponsesQuirks } from "./ResponsesQuirks.ts"

/** The items, or the first part of the conversation that the form cannot carry. */
export const inputOf = (
  messages: ReadonlyArray<Message>,
  quirks: ResponsesQuirks,
  host: Host,
): ReadonlyArray<JsonObject> | Unsupported => {
  const items: Array<JsonObject> = []
  for (const [at, message] of messages.entries()) {
    const wrong = unsupportedIn(message, `messages[${at}]`, host)
    if (wrong !== undefined) return wrong
    switch (message.role) {
      case "assistant":
        items.push(...assistantItems(message, quirks))
        break
      case "tool":
        items.push({
          type: "function_call_output",
          call_id: message.tool_call_id,
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

/** A call of a custom tool, as the canonical form has it: its members, and no others. `undefined`: it is of another kind. */
export const customCallOf = ({ type, id, custom }: HostToolCall): ReadonlyArray<JsonObject> | undefined =>
  type === "custom" && isJsonObject(custom)
    ? [{ type: "custom_tool_call", call_id: id, name: custom["name"], input: custom["input"] }]
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

const assistantItems = (message: AssistantMessage, quirks: ResponsesQuirks): ReadonlyArray<JsonObject> => {
  const items: Array<JsonObject> = [...reasoningItems(message.reasoning_details ?? [], quirks)]
  const said = saidBy(message)
  if (said !== undefined) items.push({ type: "message", role: "assistant", content: said })
  for (const call of message.tool_calls ?? []) {
    if (call.function === undefined) items.push(...(customCallOf(call) ?? []))
    else {
      const { name, arguments: written } = call.function
      items.push({ type: "function_call", call_id: call.id, name, arguments: written === "" ? "{}" : written })
    }
  }
  return items
}

/** Text alone stays a string. `undefined`: it said nothing. */
const saidBy = ({ content, refusal }: AssistantMessage): unknown => {
  const parts = (Array.isArray(content) ? content : []).map(outputPart)
  if (typeof content === "string" && content !== "") {
    if (!refusal) return content
    parts.push({ type: "output_text", text: content })
  }
  if (refusal) parts.push({ type: "refusal", refusal })
  return parts.length === 0 ? undefined : parts
}

const outputPart = (part: ContentPart): JsonObject => {
  if (part.type === "text") return { type: "output_text", text: part.text }
  return part.type === "refusal" ? { type: "refusal", refusal: part.refusal } : partOf(part)
}

interface Open {
  id: string | undefined
  /** `index` of the piece that came first. */
  readonly first: number | undefined
  /** Texts by the index of their pieces: fragments of one text share it. */
  readonly summary: Map<number | undefined, string>
  text: string
  encrypted: string
}

/**
 * The host's own reasoning, unmodified and in order. Pieces of one item share the host's id, or, where a client has lost it,
 * stand together up to the encrypted content, which comes last.
 */
const reasoningItems = (
  details: ReadonlyArray<ReasoningDetail>,
  { format = defaultFormat, history = "encrypted" }: ResponsesQuirks,
): ReadonlyArray<JsonObject> => {
  if (history === "none") return []
  const items: Array<Open> = []
  for (const detail of details) {
    if (detail.format !== format) continue
    const open = items.at(-1)
    const item = open !== undefined && continues(open, detail) ? open : begun(items, detail)
    add(item, detail)
  }
  return items.filter(({ encrypted }) => encrypted !== "" || history === "text").map(written)
}

const continues = ({ id, first, encrypted }: Open, detail: ReasoningDetail): boolean => {
  if (id !== undefined && detail.id) return id === detail.id
  // Only fragments of the same content may follow encrypted content.
  return (
    encrypted === "" || (detail.type === "reasoning.encrypted" && detail.index !== undefined && detail.index === first)
  )
}

const begun = (items: Array<Open>, { index }: ReasoningDetail): Open => {
  const item = { id: undefined, first: index, summary: new Map(), text: "", encrypted: "" }
  items.push(item)
  return item
}

const add = (item: Open, { id, type, index, summary, text, data }: ReasoningDetail): void => {
  if (id) item.id = id
  if (type === "reasoning.summary" && summary) item.summary.set(index, (item.summary.get(index) ?? "") + summary)
  if (type === "reasoning.text" && text) item.text += text
  if (type === "reasoning.encrypted" && data) item.encrypted += data
}

const written = ({ id, summary, text, encrypted }: Open): JsonObject => ({
  type: "reasoning",
  ...(id === undefined ? {} : { id }),
  summary: Array.from(summary.values(), (part) => ({ type: "summary_text", text: part })),
  ...(text === "" ? {} : { content: [{ type: "reasoning_text", text }] }),
  ...(encrypted === "" ? {} : { encrypted_content: encrypted }),
})

/** Whether a conversation has reasoning that goes back to the host. */
export const hasReasoning = (input: unknown): boolean =>
  Array.isArray(input) && input.some((item) => isJsonObject(item) && item["type"] === "reasoning")
