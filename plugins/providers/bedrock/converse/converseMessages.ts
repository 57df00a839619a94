/**
 * Converts canonical messages to turns of Converse: system text is separate, content is a list of blocks, adjacent messages
 * of one role form one turn, and results of tools are blocks of a user's turn.
 */
import {
  type AssistantMessage,
  argumentsObject,
  type Content,
  type ContentPart,
  callIdWithin,
  type HostToolCall,
  isJsonObject,
  type JsonObject,
  lostOfMessages,
  type Message,
  partsInOrder,
  partsOf,
  type ReasoningDetail,
  type ToolCall,
  type ToolMessage,
  Unsupported,
} from "headgate/plugin"
import type { Family } from "../model.ts"
import {
  audioBlock,
  type Carried,
  documentNames,
  fileBlock,
  imageBlock,
  isRefused,
  videoBlock,
} from "./converseMedia.ts"

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

/** Thinking of Claude: its signatures are valid at every vendor that has the model. */
const claudeFormat = "anthropic-claude-v1"

/** Reasoning that only Bedrock can read: that of other models, and what is encrypted. */
export const bedrockFormat = "amazon-bedrock-v1"

export const conversationOf = (messages: ReadonlyArray<Message>, family: Family): Conversation | Unsupported =>
  new Translation(family).conversation(messages)

class Translation {
  private readonly system: Array<JsonObject> = []
  private readonly turns: Array<{ role: Turn["role"]; content: Array<JsonObject> }> = []
  private readonly nameFor = documentNames()
  private readonly family: Family
  private isInOrder = true
  private unsupported: Unsupported | undefined

  constructor(family: Family) {
    this.family = family
  }

  conversation(messages: ReadonlyArray<Message>): Conversation | Unsupported {
    for (const [at, message] of messages.entries()) this.message(message, `messages[${at}]`)
    if (this.unsupported !== undefined) return this.unsupported
    const { system, turns } = this
    const dropped = [...lostOfMessages(messages, ["name", "detail", "images"]), ...(this.isInOrder ? [] : ["order"])]
    // A turn is needed, so instructions alone become a user's.
    if (turns.length === 0) {
      return { system: [], turns: system.length === 0 ? [] : [{ role: "user", content: system }], dropped }
    }
    // A blank message still is the user's turn. Without one the host would go on with its answer, which new models refuse.
    if (messages.at(-1)?.role === "user" && turns.at(-1)?.role === "assistant") this.say("user", [goOn])
    return { system, turns: trimmedPrefill(turns.map(withText)), dropped }
  }

  private message(message: Message, path: string): void {
    switch (message.role) {
      case "system":
      case "developer":
        this.system.push(...this.blocks(message.content, path))
        return
      case "user":
        this.say("user", this.blocks(message.content, path))
        return
      case "tool":
        this.say("user", this.toolResult(message, path))
        return
      case "assistant":
        this.say("assistant", this.answer(message, path))
    }
  }

  /** The parts as they were said. Where the order is lost, the host would refuse thinking, so that is left out. */
  private answer(message: AssistantMessage, path: string): ReadonlyArray<JsonObject> {
    const { parts, isInOrder } = partsInOrder(message)
    if (!isInOrder) this.isInOrder = false
    let contents = 0
    let calls = 0
    const blocks = parts.flatMap((part) => {
      if (part.type === "content") return this.blocks([part.content], path, contents++)
      if (part.type === "call") return this.toolUse(part.call, `${path}.tool_calls[${calls++}]`)
      return isInOrder ? reasoningBlocks(part.details, this.family) : []
    })
    const { refusal } = message
    return typeof refusal === "string" && refusal.trim() !== "" ? [...blocks, { text: refusal }] : blocks
  }

  private say(role: Turn["role"], blocks: ReadonlyArray<JsonObject>): void {
    if (blocks.length === 0) return
    const last = this.turns.at(-1)
    if (last?.role === role) last.content.push(...blocks)
    else this.turns.push({ role, content: [...blocks] })
  }

  /** Blank text is refused by the host, so it is left out. `from`: the place of the first part. */
  private blocks(content: Content | null | undefined, path: string, from = 0): ReadonlyArray<JsonObject> {
    const blocks: Array<JsonObject> = []
    for (const [at, part] of partsOf(content).entries()) {
      const place = `${path}.content[${from + at}]`
      const block = this.block(part)
      if (isRefused(block)) {
        this.unsupported ??= new Unsupported({ path: place, reason: block.refused })
      } else if (typeof block["text"] !== "string" || block["text"].trim() !== "") {
        blocks.push(block, ...cachePoint(part, this.family))
      }
    }
    return blocks
  }

  private block(part: ContentPart): Carried {
    switch (part.type) {
      case "text":
        return { text: part.text }
      case "refusal":
        return { text: part.refusal }
      case "image_url":
        return imageBlock(part)
      case "file":
        return fileBlock(part, this.nameFor)
      case "input_audio":
        return audioBlock(part)
      case "video_url":
      case "input_video":
        return videoBlock(part)
      default:
        return { refused: "this host does not know this kind of part" }
    }
  }

  private toolResult(message: ToolMessage, path: string): ReadonlyArray<JsonObject> {
    const content = this.blocks(message.content, path)
    // Cache points stand beside results, not in them.
    const inside = content.filter((block) => block["cachePoint"] === undefined)
    const points = content.filter((block) => block["cachePoint"] !== undefined).slice(0, 1)
    const failed = message["is_error"] === true ? { status: "error" } : {}
    const result = { toolResult: { toolUseId: toolId(message.tool_call_id), content: inside, ...failed } }
    if (this.family === "nova") return [result]
    return [result, ...(points.length > 0 ? points : cachePoint(message, this.family))]
  }

  private toolUse(call: ToolCall | HostToolCall, path: string): ReadonlyArray<JsonObject> {
    if (call.function === undefined) {
      this.unsupported ??= new Unsupported({ path, reason: "this host takes calls of functions only" })
      return []
    }
    const { name } = call.function
    const used = { toolUse: { toolUseId: toolId(call.id), name, input: argumentsObject(call) } }
    return this.family === "nova" ? [used] : [used, ...cachePoint(call, this.family)]
  }
}

const goOn: JsonObject = { text: "Please continue." }

/** The host wants text beside a document, and the results of calls at the beginning of the turn. */
const withText = (turn: Turn): Turn => {
  const isLacking = has(turn, "document") && !has(turn, "text")
  const content = isLacking ? [...turn.content, { text: "See the document." }] : turn.content
  return { role: turn.role, content: resultsFirst(content) }
}

/** A cache point goes with the result before it. */
const resultsFirst = (content: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> => {
  const results: Array<JsonObject> = []
  const others: Array<JsonObject> = []
  let last = others
  for (const block of content) {
    if (block["cachePoint"] === undefined) last = block["toolResult"] === undefined ? others : results
    last.push(block)
  }
  return [...results, ...others]
}

/**
 * The mark of a prefix that is to be cached. Hosts other than these two refuse it, and it is only a hint. Nova takes it in
 * instructions and beside text and media only, and for five minutes (AWS's page on prompt caching, 2026-11).
 */
export const cachePoint = ({ cache_control: mark }: JsonObject, family: Family): ReadonlyArray<JsonObject> => {
  if (mark == null || (family !== "claude" && family !== "nova")) return []
  const ttl = family === "claude" && isJsonObject(mark) && mark["ttl"] === "1h" ? { ttl: "1h" } : {}
  return [{ cachePoint: { type: "default", ...ttl } }]
}

/** The host accepts at most 64 letters, digits, `_` and `-`. Ids from other hosts may differ. */
const toolId = (id: string): string => callIdWithin(id, 64, /^[a-zA-Z0-9_-]+$/)

/**
 * Signed and encrypted reasoning, unmodified and in order. A caller that collected a stream may send fragments: those of one
 * index are joined up to the signature that ends their block. Text without a signature is left out: models refuse it.
 */
const reasoningBlocks = (details: ReadonlyArray<ReasoningDetail>, family: Family): ReadonlyArray<JsonObject> => {
  const ownFormat = formatOf(family)
  const blocks: Array<JsonObject> = []
  let open: { readonly index: number | undefined; text: string } | undefined
  for (const { type, format, index, text, signature, data } of details) {
    if (type === "reasoning.encrypted" && format === bedrockFormat && typeof data === "string") {
      open = undefined
      blocks.push({ reasoningContent: { redactedContent: data } })
    } else if (type === "reasoning.text" && format === ownFormat) {
      if (open === undefined || open.index !== index) open = { index, text: "" }
      if (typeof text === "string") open.text += text
      if (typeof signature === "string" && signature !== "") {
        blocks.push({ reasoningContent: { reasoningText: { text: open.text, signature } } })
        open = undefined
      }
    }
  }
  return blocks
}

/** The format of a model's signed reasoning. */
export const formatOf = (family: Family): string => (family === "claude" ? claudeFormat : bedrockFormat)

/** Trims a last turn of the assistant, which the model continues. Claude refuses one that ends in white space. */
const trimmedPrefill = (turns: ReadonlyArray<Turn>): ReadonlyArray<Turn> => {
  const last = turns.at(-1)
  const text = last?.content.at(-1)?.["text"]
  if (last?.role !== "assistant" || typeof text !== "string") return turns
  return [...turns.slice(0, -1), { role: last.role, content: [...last.content.slice(0, -1), { text: text.trimEnd() }] }]
}

/** Whether a turn has a block of this kind. */
const has = ({ content }: Turn, kind: string): boolean => content.some((block) => block[kind] !== undefined)
