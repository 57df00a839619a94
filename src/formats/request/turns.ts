/**
 * A conversation as turns, for hosts whose instructions stand apart: adjacent messages of one role are one turn, and
 * results of tools are the user's. Messages and Converse have this in common, and write blocks of their own. Only the
 * instructions that begin the conversation stand apart; later ones stay where they are.
 */
import { Unsupported } from "../../domain/failures/Failure.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type {
  AssistantMessage,
  Content,
  ContentPart,
  Message,
  ReasoningDetail,
  ToolCall,
  ToolMessage,
} from "../../domain/request/chat.ts"
import { partsOf, reminderOf } from "../content.ts"
import { partsInOrder } from "../conversation.ts"
import { lostOfMessages } from "../plainTools.ts"

type Blocks = ReadonlyArray<JsonObject>

export interface Turn {
  /** `system`: an instruction within the conversation, for a model that takes it (`BlockWriter.systemTurns`). */
  readonly role: "user" | "assistant" | "system"
  readonly content: Blocks
}

export interface Conversation {
  /** The instructions that begin the conversation. */
  readonly system: Blocks
  readonly turns: ReadonlyArray<Turn>
  /** Members of the messages that these do not have, by their paths, and `order` where that was lost. */
  readonly dropped: ReadonlyArray<string>
}

/** The blocks of a form. Each has its text, if it has any, as `text`. */
export interface BlockWriter {
  readonly text: (text: string) => JsonObject
  /** A text instead of blocks: why the host cannot take the part. */
  readonly part: (part: ContentPart) => Blocks | string
  readonly call: (call: ToolCall) => Blocks
  readonly result: (message: ToolMessage, content: Blocks) => Blocks
  /** `details`: the pieces of one block of reasoning. */
  readonly reasoning: (details: ReadonlyArray<ReasoningDetail>) => Blocks
  /** All blocks of a turn in the order that the host requires. May change the given list. */
  readonly arranged: (content: Array<JsonObject>) => Blocks
  /**
   * Whether the model takes instructions within the conversation as turns of their own: behind a turn of the user, and
   * before one of the assistant or at the end. Elsewhere, and by default, they are texts of the user's (`reminderOf`).
   */
  readonly systemTurns?: boolean
}

export const turnsOf = (messages: ReadonlyArray<Message>, blocks: BlockWriter): Conversation | Unsupported =>
  new TurnWriter(blocks).conversation(messages)

interface OpenTurn extends Turn {
  readonly content: Array<JsonObject>
}

class TurnWriter {
  private readonly writer: BlockWriter
  private readonly system: Array<JsonObject> = []
  private turns: Array<OpenTurn> = []
  private hasReminders = false
  private isInOrder = true
  private unsupported: Unsupported | undefined

  constructor(writer: BlockWriter) {
    this.writer = writer
  }

  conversation(messages: ReadonlyArray<Message>): Conversation | Unsupported {
    for (const [at, message] of messages.entries()) this.message(message, `messages[${at}]`)
    if (this.unsupported !== undefined) return this.unsupported
    if (this.hasReminders) this.placeReminders()
    const { system, turns, writer } = this
    const dropped = [...lostOfMessages(messages, ["name", "detail", "images"]), ...(this.isInOrder ? [] : ["order"])]
    // Hosts require a turn, so instructions alone become one of the user.
    if (turns.length === 0) {
      return { system: [], turns: system.length === 0 ? [] : [{ role: "user", content: system }], dropped }
    }
    // A blank message still is the user's turn. Without one the host would go on with its answer, which new models
    // refuse.
    const isBlankTurn = messages.at(-1)?.role === "user" && turns.at(-1)?.role === "assistant"
    if (isBlankTurn) this.say("user", [writer.text("Please continue.")])
    const arranged = turns.map(({ role, content }) => ({ role, content: writer.arranged(content) }))
    return { system, turns: trimmedPrefill(arranged), dropped }
  }

  private message(message: Message, path: string): void {
    switch (message.role) {
      case "system":
      case "developer":
        this.instruct(this.blocks(message.content, path))
        break
      case "assistant":
        this.say("assistant", this.assistant(message, path))
        break
      case "tool":
        this.say("user", this.writer.result(message, this.blocks(message.content, path)))
        break
      case "user":
        this.say("user", this.blocks(message.content, path))
    }
  }

  private instruct(blocks: Blocks): void {
    if (this.turns.length === 0) {
      this.system.push(...blocks)
      return
    }
    this.hasReminders = true
    this.say("system", blocks)
  }

  /**
   * Writes instructions within the conversation as turns of the user's, but for those that may be turns of their own.
   */
  private placeReminders(): void {
    const { turns: given, writer } = this
    this.turns = []
    for (const [at, { role, content }] of given.entries()) {
      const isTaken =
        writer.systemTurns === true && this.turns.at(-1)?.role === "user" && given[at + 1]?.role !== "user"
      if (role !== "system" || isTaken) this.say(role, content)
      else this.say("user", content.map(asReminder))
    }
  }

  private say(role: Turn["role"], blocks: Blocks): void {
    if (blocks.length === 0) return
    const last = this.turns.at(-1)
    if (last?.role === role) last.content.push(...blocks)
    else this.turns.push({ role, content: [...blocks] })
  }

  /** Blank texts are left out, since hosts refuse them. `from`: the place of the first part. */
  private blocks(content: Content | null | undefined, path: string, from = 0): Blocks {
    return partsOf(content).flatMap((part, at) => {
      const blocks = this.writer.part(part)
      if (typeof blocks !== "string") return isBlank(blocks[0]?.["text"]) ? [] : blocks
      this.refuse(`${path}.content[${from + at}]`, blocks)
      return []
    })
  }

  private refuse(path: string, reason: string): void {
    this.unsupported ??= new Unsupported({ path, reason })
  }

  /** The parts in their order. Where that is lost, the host would refuse thinking, so thinking is left out. */
  private assistant(message: AssistantMessage, path: string): Blocks {
    const { writer } = this
    const { parts, isInOrder } = partsInOrder(message)
    if (!isInOrder) this.isInOrder = false
    let contents = 0
    let calls = 0
    const blocks = parts.flatMap((part): Blocks => {
      if (part.type === "content") return this.blocks([part.content], path, contents++)
      if (part.type === "reasoning") return isInOrder ? writer.reasoning(part.details) : []
      const place = `${path}.tool_calls[${calls++}]`
      if (part.call.function !== undefined) return writer.call(part.call)
      this.refuse(place, "this host takes calls of functions only")
      return []
    })
    const { refusal } = message
    return typeof refusal !== "string" || isBlank(refusal) ? blocks : [...blocks, writer.text(refusal)]
  }
}

const asReminder = (block: JsonObject): JsonObject =>
  typeof block["text"] === "string" ? { ...block, text: reminderOf(block["text"]) } : block

const isBlank = (text: unknown): boolean => typeof text === "string" && text.trim() === ""

/** Trims a last turn of the assistant, which the model continues. Claude refuses one that ends in white space. */
const trimmedPrefill = (turns: ReadonlyArray<Turn>): ReadonlyArray<Turn> => {
  const last = turns.at(-1)
  const block = last?.content.at(-1)
  const text = block?.["text"]
  if (last?.role !== "assistant" || typeof text !== "string") return turns
  return turns.with(-1, { role: "assistant", content: last.content.with(-1, { ...block, text: text.trimEnd() }) })
}
