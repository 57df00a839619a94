/**
 * Converts canonical messages to turns of Converse: system text is separate, content is a list of blocks, adjacent messages
 * of one role form one turn, and results of tools are blocks of a user's turn.
 */
import {
  type AssistantMessage,
  argumentsObject,
  type Content,
  type ContentPart,
  isJsonObject,
  type JsonObject,
  type Message,
  partsOf,
  type ReasoningDetail,
  type ToolMessage,
  Unsupported,
} from "headgate/plugin"
import type { Family } from "../model.ts"
import { audioBlock, type Carried, documentNames, fileBlock, imageBlock, isRefused, videoBlock } from "./media.ts"

export interface Turn {
  readonly role: "user" | "assistant"
  readonly content: ReadonlyArray<JsonObject>
}

export interface Conversation {
  readonly system: ReadonlyArray<JsonObject>
  readonly turns: ReadonlyArray<Turn>
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
  private unsupported: Unsupported | undefined

  constructor(family: Family) {
    this.family = family
  }

  conversation(messages: ReadonlyArray<Message>): Conversation | Unsupported {
    for (const [at, message] of messages.entries()) this.message(message, `messages[${at}]`)
    if (this.unsupported !== undefined) return this.unsupported
    const { system, turns } = this
    // A turn is needed, so instructions alone become a user's.
    if (turns.length === 0) return { system: [], turns: system.length === 0 ? [] : [{ role: "user", content: system }] }
    return { system, turns: trimmedPrefill(turns) }
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
        this.say("assistant", [
          ...reasoningBlocks(message.reasoning_details ?? [], this.family),
          ...this.blocks(message.content, path),
          ...this.toolUses(message, path),
        ])
    }
  }

  private say(role: Turn["role"], blocks: ReadonlyArray<JsonObject>): void {
    if (blocks.length === 0) return
    const last = this.turns.at(-1)
    if (last?.role === role) last.content.push(...blocks)
    else this.turns.push({ role, content: [...blocks] })
  }

  /** Blank text is refused by the host, so it is left out. */
  private blocks(content: Content | null | undefined, path: string): ReadonlyArray<JsonObject> {
    const blocks: Array<JsonObject> = []
    for (const [at, part] of partsOf(content).entries()) {
      const block = this.block(part)
      if (isRefused(block)) {
        this.unsupported ??= new Unsupported({ path: `${path}.content[${at}]`, reason: block.refused })
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
    return [
      { toolResult: { toolUseId: toolId(message.tool_call_id), content: inside, ...failed } },
      ...(points.length > 0 ? points : cachePoint(message, this.family)),
    ]
  }

  private toolUses({ tool_calls: calls }: AssistantMessage, path: string): ReadonlyArray<JsonObject> {
    return (calls ?? []).flatMap((call, at) => {
      if (call.function === undefined) {
        const reason = "this host takes calls of functions only"
        this.unsupported ??= new Unsupported({ path: `${path}.tool_calls[${at}]`, reason })
        return []
      }
      const { name } = call.function
      const used = { toolUse: { toolUseId: toolId(call.id), name, input: argumentsObject(call) } }
      return [used, ...cachePoint(call, this.family)]
    })
  }
}

/** The mark of a prefix that is to be cached. Hosts other than these two refuse it, and it is only a hint. */
export const cachePoint = ({ cache_control: mark }: JsonObject, family: Family): ReadonlyArray<JsonObject> => {
  if (mark == null || (family !== "claude" && family !== "nova")) return []
  const ttl = isJsonObject(mark) && mark["ttl"] === "1h" ? { ttl: "1h" } : {}
  return [{ cachePoint: { type: "default", ...ttl } }]
}

/** The host accepts at most 64 letters, digits, `_` and `-`. Ids from other hosts may differ. */
const toolId = (id: string): string => id.replace(/[^a-zA-Z0-9_-]/g, "_").slice(-64)

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
export const has = ({ content }: Turn, ...kinds: ReadonlyArray<string>): boolean =>
  content.some((block) => kinds.some((kind) => block[kind] !== undefined))
