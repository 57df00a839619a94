/**
 * A payload in Mistral's form: messages have no members beyond those of its API, earlier reasoning is a chunk of the
 * content, documents have a part of their own, ids of tool calls have nine letters or digits, and a last message of the
 * assistant says that it is a beginning.
 */
import { createHash } from "node:crypto"
import {
  type AssistantMessage,
  type ChatPayload,
  type Content,
  type ContentPart,
  type FilePart,
  type HostToolCall,
  isJsonObject,
  type JsonObject,
  lostOfMessages,
  type Message,
  partsInOrder,
  readDataUrl,
  type Tool,
  type ToolCall,
  textOfDataUrl,
  Unsupported,
} from "headgate/plugin"

export const payloadFor = (payload: ChatPayload, dropped: Array<string>): JsonObject | Unsupported => {
  const messages: Array<JsonObject> = []
  for (const [at, message] of payload.messages.entries()) {
    const written = messageFor(message, at, at === payload.messages.length - 1, dropped)
    if (written instanceof Unsupported) return written
    messages.push(written)
  }
  dropped.push(...lostOfMessages(payload.messages, ["name", "images", "marks"]))
  const { tools, tool_choice: choice } = payload
  return {
    ...payload,
    messages,
    // It refuses an empty list.
    tools: tools != null && tools.length > 0 ? tools.map(toolFor) : undefined,
    tool_choice: choice === "required" ? "any" : choice,
  }
}

const messageFor = (
  message: Message,
  at: number,
  isLast: boolean,
  dropped: Array<string>,
): JsonObject | Unsupported => {
  if (message.role === "assistant") return assistantMessage(message, isLast, dropped)
  const content = contentFor(message.content, at)
  if (content instanceof Unsupported) return content
  if (message.role !== "tool") return { role: message.role, content }
  const { name, tool_call_id: id } = message
  return { role: "tool", content, tool_call_id: toolCallId(id), ...(typeof name === "string" ? { name } : {}) }
}

const assistantMessage = (message: AssistantMessage, isLast: boolean, dropped: Array<string>): JsonObject => {
  const { parts, isInOrder } = partsInOrder(message)
  if (!isInOrder && !dropped.includes("order")) dropped.push("order")
  const chunks: Array<JsonObject> = []
  const calls: Array<JsonObject> = []
  for (const part of parts) {
    if (part.type === "call") calls.push(callFor(part.call))
    else if (part.type === "content") chunks.push(...saidIn(part.content))
    else chunks.push(...thinkingOf(part.details.map(({ text, summary }) => text ?? summary ?? "").join("")))
  }
  const reasoning = message.reasoning ?? message["reasoning_content"]
  if (typeof reasoning === "string" && !chunks.some(isThinking)) chunks.unshift(...thinkingOf(reasoning))
  if (message.refusal && chunks.every(isThinking)) chunks.push({ type: "text", text: message.refusal })
  return {
    role: "assistant",
    content: chunks.some(isThinking) ? chunks : chunks.map(({ text }) => text).join(""),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(isLast && calls.length === 0 ? { prefix: true } : {}),
  }
}

const isThinking = ({ type }: JsonObject): boolean => type === "thinking"

const thinkingOf = (text: string): ReadonlyArray<JsonObject> =>
  text === "" ? [] : [{ type: "thinking", thinking: [{ type: "text", text }] }]

const saidIn = (part: ContentPart): ReadonlyArray<JsonObject> => {
  if (part.type === "refusal") return [{ type: "text", text: part.refusal }]
  return part.type === "text" ? [{ type: "text", text: part.text }] : []
}

const callFor = (call: ToolCall | HostToolCall): JsonObject =>
  call.function === undefined ? call : { id: toolCallId(call["id"]), type: call.type, function: { ...call.function } }

/** The id, or nine letters and digits that always stand for it: other hosts' ids are refused. */
const toolCallId = (id: unknown): string => {
  const given = String(id)
  if (/^[A-Za-z0-9]{9}$/.test(given)) return given
  // Base64 has + and /, which are not allowed.
  return createHash("sha256").update(given).digest("base64").replace(/[+/=]/g, "").slice(0, 9)
}

const contentFor = (content: Content, at: number): unknown => {
  if (typeof content === "string") return content
  const parts: Array<JsonObject> = []
  for (const [place, part] of content.entries()) {
    const written = partFor(part)
    if (typeof written === "string")
      return new Unsupported({ path: `messages[${at}].content[${place}]`, reason: written })
    parts.push(written)
  }
  return parts
}

/** The part, or why it cannot be carried. */
const partFor = (part: ContentPart): JsonObject | string => {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text }
    case "refusal":
      return { type: "text", text: part.refusal }
    case "file":
      return filePart(part)
    case "video_url":
    case "input_video":
      return "this host takes no video"
    case "image_url":
      return { type: "image_url", image_url: part.image_url }
    default:
      return part
  }
}

const filePart = ({ file: { file_data: data, file_id: id, filename } }: FilePart): JsonObject | string => {
  if (data == null) return id == null ? "the file has neither data nor an id" : { type: "file", file_id: id }
  const named = filename ? { document_name: filename } : {}
  if (/^https?:/i.test(data)) return { type: "document_url", document_url: data, ...named }
  const embedded = readDataUrl(data)
  if (embedded === undefined)
    return { type: "document_url", document_url: `data:application/pdf;base64,${data}`, ...named }
  if (embedded.mediaType.startsWith("image/")) return { type: "image_url", image_url: { url: data } }
  if (/^(text\/|application\/json$)/.test(embedded.mediaType)) return { type: "text", text: textOfDataUrl(embedded) }
  return { type: "document_url", document_url: data, ...named }
}

/** It wants parameters, and knows no other members. */
const toolFor = (tool: Tool): JsonObject => {
  if (tool.function === undefined) return tool
  const { name, description, parameters, strict } = tool.function
  return {
    type: "function",
    function: {
      name,
      ...(typeof description === "string" ? { description } : {}),
      parameters: isJsonObject(parameters) ? parameters : { type: "object", properties: {} },
      ...(typeof strict === "boolean" ? { strict } : {}),
    },
  }
}
