/**
 * The turns of a conversation in the Messages format and as canonical messages. A turn may become several messages,
 * since results of tools are messages of their own there; messages of one role that follow each other become one turn.
 */
import type { Unsupported } from "../../domain/failures/Failure.ts"
import {
  byType,
  checkedElsewhere,
  hasMember,
  type Issues,
  type JsonSchema,
  objectOf,
  report,
  text,
} from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject, objectIn, objectsIn } from "../../domain/json/json.ts"
import type { Content, ContentPart, Message, OutputImage, ToolCall, ToolMessage } from "../../domain/request/chat.ts"
import type { FormNeed } from "../../domain/request/request.ts"
import { callIdWithin } from "../callId.ts"
import { reminderOf } from "../content.ts"
import { type AssistantPart, addReasoning, saidInOrder } from "../conversation.ts"
import { afterAttribution, withoutAttribution } from "../request/attribution.ts"
import { type Dropped, dropOthers } from "../request/Dropped.ts"
import { sharedMembers } from "../request/members.ts"
import { type BlockWriter, type Conversation, turnsOf } from "../request/turns.ts"
import { claudesThinking, hidden, thought, toolUse } from "./messagesBlocks.ts"
import { blockOf, cacheMark, documentParts, imageParts } from "./messagesMedia.ts"
import { checkLaterTool, isMark, nameLostScope } from "./messagesTools.ts"

// --- a client's turns, checked and translated in one pass

const mostMessages = 4096

const noFile = hasMember("source", hasMember("type", { const: "file" }))

/** The schema of a block has its type alone; `TurnReader` names what is wrong within one. */
const block: JsonSchema = {
  title: "MessagesBlock",
  description:
    "text, image, document, tool_use, tool_result, tool_reference, thinking or redacted_thinking; other types go to hosts of this API format only. Files that are stored at the host are not allowed.",
  ...hasMember("type", text.schema),
  not: { anyOf: [{ properties: { type: { const: "container_upload" } } }, noFile] },
}

const turn = {
  type: "object",
  properties: {
    role: { type: "string", enum: ["user", "assistant", "system"] },
    content: { anyOf: [text.schema, { type: "array", items: block }] },
  },
  required: ["role", "content"],
}

/** The members that `TurnReader` checks. */
export const turnMembers = {
  messages: checkedElsewhere({ type: "array", items: turn, minItems: 1, maxItems: mostMessages }),
  system: checkedElsewhere({
    anyOf: [text.schema, { type: "array", items: byType(new Map([["text", objectOf({ text }, "text")]])).schema }],
  }),
}

/** Members of each type of block that are translated. */
const carried: ReadonlyMap<unknown, ReadonlySet<string>> = new Map<unknown, ReadonlySet<string>>([
  ["text", new Set(["type", "text", "cache_control"])],
  ["image", new Set(["type", "source", "cache_control"])],
  ["document", new Set(["type", "source", "title", "context", "citations", "cache_control"])],
  ["tool_use", new Set(["type", "id", "name", "input", "cache_control"])],
  ["tool_result", new Set(["type", "tool_use_id", "content", "is_error", "cache_control"])],
  ["tool_reference", new Set(["type", "tool_name", "cache_control"])],
  ["thinking", new Set(["type", "thinking", "signature"])],
  ["redacted_thinking", new Set(["type", "data"])],
])

/** Where a canonical message comes from in the caller's body. */
interface Place {
  readonly path: string
  readonly parts: ReadonlyArray<string>
  readonly calls: ReadonlyArray<string>
}

/** Part of a message, with the path of its block. */
interface Placed {
  readonly value: ContentPart
  readonly path: string
}

export class TurnReader {
  readonly messages: Array<Message> = []
  /** Members and blocks that the canonical form has no counterpart for. */
  readonly untranslated: Dropped = []
  /** The first block that no translation carries. */
  onlyForm: FormNeed | undefined
  private readonly places: Array<Place> = []
  private readonly issues: Issues

  constructor({ system, messages }: JsonObject, issues: Issues) {
    this.issues = issues
    if (system != null) this.say("system", system, "system", "system")
    if (messages === undefined) return
    if (!Array.isArray(messages)) report(issues, "messages", "must be an array")
    else if (messages.length === 0) report(issues, "messages", "must have at least one message")
    else if (messages.length > mostMessages)
      report(issues, "messages", `must have at most ${mostMessages} messages, not ${messages.length}`)
    else for (const [at, message] of messages.entries()) this.turn(message, `messages[${at}]`)
  }

  /** The caller's path for one in the canonical messages. */
  readonly pathOf = (path: string): string => {
    const [found, message, list, at] = /^messages\[(\d+)\](?:\.(content|tool_calls)\[(\d+)\])?/.exec(path) ?? []
    const place = this.places[Number(message)]
    if (found === undefined || place === undefined) return path
    const inner = list === undefined ? [] : list === "content" ? place.parts : place.calls
    return inner[Number(at)] ?? place.path
  }

  private turn(message: unknown, path: string): void {
    const { role, content } = objectIn(message)
    const at = `${path}.content`
    if (!isJsonObject(message)) report(this.issues, path, "must be an object")
    else if (content === undefined) report(this.issues, at, "is required")
    else if (role === "system" || role === "user") this.say(role, content, path, at)
    else if (role !== "assistant") report(this.issues, `${path}.role`, "must be one of user, assistant, system")
    else if (typeof content === "string") this.add({ role, content }, path)
    else this.assistant(this.blocks(content, at), path)
  }

  private add(message: Message, path: string, parts: ReadonlyArray<string> = [], calls: ReadonlyArray<string> = []) {
    this.messages.push(message)
    this.places.push({ path, parts, calls })
  }

  private *blocks(content: unknown, path: string): Iterable<readonly [block: JsonObject, path: string]> {
    if (!Array.isArray(content)) {
      report(this.issues, path, "must be a string or an array of blocks")
      return
    }
    for (const [at, block] of content.entries()) {
      const place = `${path}[${at}]`
      if (!isJsonObject(block)) report(this.issues, place, "must be an object")
      else if (typeof block["type"] !== "string") report(this.issues, `${place}.type`, "is required")
      else {
        const known = carried.get(block["type"])
        if (known !== undefined) dropOthers(block, known, place, this.untranslated)
        yield [block, place]
      }
    }
  }

  /** Results of tools come first, since hosts of other forms expect them right after the calls. */
  private say(role: "system" | "user", content: unknown, path: string, at: string): void {
    if (typeof content === "string") {
      const said = role === "user" ? content : afterAttribution(content)
      if (said !== "" || role === "user") this.add({ role, content: said }, path)
      return
    }
    const parts: Array<Placed> = []
    for (const [block, place] of this.blocks(content, at)) {
      const { type } = block
      if (role === "user" && type === "tool_result") parts.push(...this.toolResult(block, place))
      else if (role === "user" || type === "text") parts.push(...this.parts(block, place))
      else if (path === "system") report(this.issues, `${place}.type`, "must be text")
      else this.foreign(block, place)
    }
    const given = parts.map(({ value }) => value)
    const values = role === "user" ? given : withoutAttribution(given)
    const paths = parts.map((part) => part.path)
    if (values.length > 0) this.add({ role, content: shortest(values) }, path, paths)
    else if (role === "user" && Array.isArray(content) && content.length === 0) this.add({ role, content: "" }, path)
  }

  /** Adds the text of a result, and returns its media: other forms take only text in results. */
  private toolResult(block: JsonObject, path: string): ReadonlyArray<Placed> {
    const { tool_use_id: id, content, is_error: failed, cache_control: mark } = block
    if (typeof id !== "string" || id === "") report(this.issues, `${path}.tool_use_id`, "must be a non-empty string")
    const texts: Array<string> = []
    const media: Array<Placed> = []
    if (typeof content === "string") texts.push(content)
    else if (content != null) {
      for (const [inner, place] of this.blocks(content, `${path}.content`)) {
        for (const part of this.parts(inner, place)) {
          if (part.value.type === "text") texts.push(part.value.text)
          else media.push(part)
        }
      }
    }
    if (media.length > 0) {
      texts.push("The files of this result follow in the next message.")
      media.unshift({ value: { type: "text", text: `Files of the result of ${String(id)}:` }, path })
    }
    const text = texts.join("\n\n")
    // Other forms have no mark for it.
    const said = failed === true && !/^error/i.test(text) ? `Error: ${text}` : text
    this.add({ role: "tool", tool_call_id: String(id), content: said, ...markOf(mark) }, path)
    return media
  }

  private assistant(blocks: Iterable<readonly [block: JsonObject, path: string]>, path: string): void {
    const parts: Array<AssistantPart> = []
    const contentPaths: Array<string> = []
    const callPaths: Array<string> = []
    const images: Array<OutputImage> = []
    let reasoning = ""
    for (const [block, place] of blocks) {
      switch (block["type"]) {
        case "thinking": {
          const text = this.textIn(block, "thinking", place)
          reasoning += text
          addReasoning(parts, thought(text, block["signature"]))
          break
        }
        case "redacted_thinking":
          addReasoning(parts, hidden(this.textIn(block, "data", place)))
          break
        case "tool_use":
          parts.push({ type: "call", call: this.call(block, place) })
          callPaths.push(place)
          break
        default:
          for (const { value } of this.parts(block, place)) {
            // The model made it: hosts take images in the content of users alone.
            if (value.type === "image_url") images.push({ type: "image_url", image_url: value.image_url })
            else {
              parts.push({ type: "content", content: value })
              contentPaths.push(place)
            }
          }
      }
    }
    const { content: said, ...rest } = saidInOrder(parts)
    const isEmpty = parts.length + images.length === 0 && reasoning === ""
    const content = isEmpty ? "" : (said ?? null)
    const thinking = reasoning === "" ? {} : { reasoning }
    const made = images.length === 0 ? {} : { images }
    this.add({ role: "assistant", content, ...thinking, ...rest, ...made }, path, contentPaths, callPaths)
  }

  private call(block: JsonObject, path: string): ToolCall {
    const { input, cache_control: mark } = block
    if (input !== undefined && !isJsonObject(input)) report(this.issues, `${path}.input`, "must be an object")
    const id = this.textIn(block, "id", path)
    const called = { name: this.textIn(block, "name", path), arguments: JSON.stringify(input ?? {}) }
    return { id, type: "function", function: called, ...markOf(mark) }
  }

  private textIn(block: JsonObject, member: string, path: string): string {
    const text = block[member]
    if (typeof text === "string") return text
    report(this.issues, `${path}.${member}`, text === undefined ? "is required" : "must be a string")
    return ""
  }

  private parts(block: JsonObject, path: string): ReadonlyArray<Placed> {
    const { cache_control: mark } = block
    if (mark != null) {
      sharedMembers.cache_control(mark, `${path}.cache_control`, this.issues)
      nameLostScope(mark, path, this.untranslated)
    }
    return this.partsOf(block, path).map((part) => ({
      value: isMark(mark) ? { ...part, cache_control: mark } : part,
      path,
    }))
  }

  private partsOf(block: JsonObject, path: string): ReadonlyArray<ContentPart> {
    switch (block["type"]) {
      case "text":
        return [{ type: "text", text: this.textIn(block, "text", path) }]
      // Hosts of other formats get all tools at once, so the name alone says what a search found.
      case "tool_reference":
        return [{ type: "text", text: `Tool found: ${this.textIn(block, "tool_name", path)}` }]
      case "image":
        return imageParts(block, path, this.issues)
      case "document":
        if (objectIn(block["citations"])["enabled"] === true) this.untranslated.push(`${path}.citations`)
        return documentParts(block, path, this.issues)
      default:
        this.foreign(block, path)
        return []
    }
  }

  /** A block that only hosts of the form understand. */
  private foreign({ type, tool }: JsonObject, path: string): void {
    const { definition } = objectIn(tool)
    if (definition !== undefined) checkLaterTool(definition, `${path}.tool.definition`, this.issues)
    const reason = `only hosts of the Messages format take blocks of the type ${String(type).slice(0, 64)}`
    this.onlyForm ??= { path, reason }
  }
}

const markOf = (mark: unknown) => (isMark(mark) ? { cache_control: mark } : {})

/** A single text without a mark is written as a string, which every host takes. */
const shortest = (parts: ReadonlyArray<ContentPart>): Content => {
  const [only, more] = parts
  return only?.type === "text" && more === undefined && only.cache_control === undefined ? only.text : parts
}

// --- the turns for a host

export const conversationOf = (messages: ReadonlyArray<Message>, systemTurns: boolean): Conversation | Unsupported =>
  turnsOf(messages, systemTurns ? withSystemTurns : messagesBlocks)

const messagesBlocks: BlockWriter = {
  text: (text) => ({ type: "text", text }),
  part: (part) => {
    const block = blockOf(part)
    return typeof block === "string" ? block : [block]
  },
  call: (call) => toolUse(call, toolId(call.id)).map((block) => ({ ...block, ...cacheMark(call) })),
  result: (message, content) => [toolResult(message, content)],
  reasoning: claudesThinking,
  // The host wants the results of calls at the beginning of the turn.
  arranged: (content) =>
    content.sort((one, other) => Number(other["type"] === "tool_result") - Number(one["type"] === "tool_result")),
}

const withSystemTurns: BlockWriter = { ...messagesBlocks, systemTurns: true }

/**
 * The caller's own messages for a model that takes no instructions among them (`reminderOf`). The same list if there
 * are none.
 */
export const withReminders = (messages: unknown): unknown => {
  if (!Array.isArray(messages) || !messages.some(isInstruction)) return messages
  return messages.map((message: unknown) => {
    if (!isInstruction(message)) return message
    const { content } = message
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : objectsIn(content)
    // Other blocks than texts change the tools, for instance. The host says whether it knows them.
    if (!blocks.every((block) => typeof block["text"] === "string")) return message
    return { role: "user", content: blocks.map((block) => ({ ...block, text: reminderOf(String(block["text"])) })) }
  })
}

const isInstruction = (message: unknown): message is JsonObject => objectIn(message)["role"] === "system"

/** The host accepts ids of letters, digits, `_` and `-` only. Ids from other hosts may have other characters. */
const toolId = (id: unknown): string => callIdWithin(String(id), Number.POSITIVE_INFINITY, /^[a-zA-Z0-9_-]+$/)

const toolResult = (message: ToolMessage, content: ReadonlyArray<JsonObject>): JsonObject => {
  const [only, more] = content
  // A single plain text is sent as a string, the shortest form.
  const isPlain = more === undefined && only?.["type"] === "text" && only["cache_control"] === undefined
  return {
    type: "tool_result",
    tool_use_id: toolId(message.tool_call_id),
    ...(only === undefined ? {} : { content: isPlain ? only["text"] : content }),
    ...(message["is_error"] === true ? { is_error: true } : {}),
    ...cacheMark(message),
  }
}
