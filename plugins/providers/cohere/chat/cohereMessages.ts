/** Converts canonical messages to Cohere's. Text files become documents, which Cohere's models can cite. */
import {
  type AssistantMessage,
  type Content,
  type ContentPart,
  type FilePart,
  type JsonObject,
  type Message,
  partsInOrder,
  partsOf,
  type ReasoningDetail,
  readDataUrl,
  textOfDataUrl,
  Unsupported,
} from "headgate/plugin"

export interface Conversation {
  readonly messages: ReadonlyArray<JsonObject>
  /** Contents of the files in it. */
  readonly documents: ReadonlyArray<JsonObject>
  /** `OrderedParts.isInOrder` of all its messages. */
  readonly isInOrder: boolean
}

/** Marks reasoning that came from Cohere and may go back to it. */
export const reasoningFormat = "cohere-v2"

/** `id` of the reasoning that Cohere calls a plan: what it says before it calls tools. */
export const planId = "tool_plan"

export const conversationOf = (messages: ReadonlyArray<Message>): Conversation | Unsupported =>
  new Translation().conversation(messages)

class Translation {
  private readonly documents: Array<JsonObject> = []
  private unsupported: Unsupported | undefined
  private isInOrder = true

  conversation(messages: ReadonlyArray<Message>): Conversation | Unsupported {
    const written = messages.map((message, at) => this.message(message, `messages[${at}]`))
    return this.unsupported ?? { messages: written, documents: this.documents, isInOrder: this.isInOrder }
  }

  private message(message: Message, path: string): JsonObject {
    switch (message.role) {
      case "system":
      case "developer":
        return { role: "system", content: this.content(message.content, path) }
      case "user":
        return { role: "user", content: this.content(message.content, path) }
      case "tool": {
        const { tool_call_id, content } = message
        return { role: "tool", tool_call_id, content: this.content(content, path, "this host takes text as results") }
      }
      case "assistant":
        return this.assistant(message, path)
    }
  }

  /** Thinking and text in their order; the plan and calls have members of their own. */
  private assistant(message: AssistantMessage, path: string): JsonObject {
    const { parts, isInOrder } = partsInOrder(message)
    if (!isInOrder) this.isInOrder = false
    const placeOf = (part: ContentPart): string =>
      `${path}.content[${Array.isArray(message.content) ? message.content.indexOf(part) : 0}]`
    const blocks: Array<JsonObject> = []
    let plan = ""
    for (const part of parts) {
      if (part.type === "content") {
        blocks.push(...this.block(part.content, placeOf(part.content), "this host takes text here"))
      } else if (part.type === "reasoning") {
        const { planned, thinking } = ownReasoning(part.details)
        plan += planned
        if (thinking !== "") blocks.push({ type: "thinking", thinking })
      }
    }
    const { refusal, tool_calls: calls } = message
    if (refusal && partsOf(message.content).length === 0) blocks.push({ type: "text", text: refusal })
    const [only] = blocks
    const isText = typeof message.content === "string" && blocks.length === 1 && only?.["type"] === "text"
    return {
      role: "assistant",
      ...(blocks.length === 0 ? {} : { content: isText ? only["text"] : blocks }),
      ...(calls == null || calls.length === 0 ? {} : { tool_calls: this.calls(calls, path) }),
      ...(plan === "" ? {} : { tool_plan: plan }),
    }
  }

  private calls(calls: NonNullable<AssistantMessage["tool_calls"]>, path: string): ReadonlyArray<JsonObject> {
    return calls.map((call, at) => {
      if (call.function === undefined) {
        const reason = "this host takes calls of functions only"
        this.unsupported ??= new Unsupported({ path: `${path}.tool_calls[${at}]`, reason })
        return call
      }
      const { name, arguments: written } = call.function
      return { id: call.id, type: "function", function: { name, arguments: written === "" ? "{}" : written } }
    })
  }

  /** `onlyText`: why parts of other kinds are refused; absent: images and text files are taken. */
  private content(content: Content, path: string, onlyText?: string): string | ReadonlyArray<JsonObject> {
    if (typeof content === "string") return content
    return content.flatMap((part, at) => this.block(part, `${path}.content[${at}]`, onlyText))
  }

  private block(part: ContentPart, path: string, onlyText: string | undefined): ReadonlyArray<JsonObject> {
    const block = part.type === "text" || onlyText === undefined ? this.part(part) : onlyText
    if (typeof block !== "string") return block
    this.unsupported ??= new Unsupported({ path, reason: block })
    return []
  }

  /** The part in Cohere's words; a text: why there is none. */
  private part(part: ContentPart): ReadonlyArray<JsonObject> | string {
    switch (part.type) {
      case "text":
        return [{ type: "text", text: part.text }]
      case "refusal":
        return [{ type: "text", text: part.refusal }]
      case "image_url": {
        const { url, detail } = part.image_url
        return [{ type: "image_url", image_url: { url, ...(detail == null ? {} : { detail }) } }]
      }
      case "file":
        return this.file(part)
      case "input_audio":
        return "this host takes no audio"
      case "video_url":
      case "input_video":
        return "this host takes no video"
      default:
        return "this host does not know this kind of part"
    }
  }

  private file({ file: { file_data: data, filename } }: FilePart): ReadonlyArray<JsonObject> | string {
    const embedded = data == null ? undefined : readDataUrl(data)
    if (data != null && embedded?.mediaType.startsWith("image/"))
      return [{ type: "image_url", image_url: { url: data } }]
    const isText = embedded?.mediaType.startsWith("text/") || embedded?.mediaType === "application/json"
    if (embedded === undefined || !isText) return "this host takes only text and images as files, as data URLs"
    const title = filename ? { title: filename } : {}
    this.documents.push({ id: `doc:${this.documents.length}`, data: { ...title, text: textOfDataUrl(embedded) } })
    return []
  }
}

/** Cohere's own reasoning in a block. That of other vendors is left out. */
const ownReasoning = (details: ReadonlyArray<ReasoningDetail>) => {
  let planned = ""
  let thinking = ""
  for (const { format, type, id, text } of details) {
    if (format !== reasoningFormat || type !== "reasoning.text" || text == null) continue
    if (id === planId) planned += text
    else thinking += text
  }
  return { planned, thinking }
}
