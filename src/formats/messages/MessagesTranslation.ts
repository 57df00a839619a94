/**
 * The messages of the Messages form in the canonical one, checked and translated in one pass. One message may become
 * several: results of tools are messages of their own there.
 */

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
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { ContentPart, Message, ReasoningDetail, ToolCall } from "../../domain/request/chat.ts"
import type { FormNeed } from "../../domain/request/request.ts"
import { type AssistantPart, addReasoning, saidInOrder } from "../conversation.ts"
import { claudesFormat, unwrapped } from "../foreignReasoning.ts"
import { type Dropped, dropOthers } from "../request/Dropped.ts"
import { sharedMembers } from "../request/members.ts"
import { documentParts, imagePart } from "./messagesMedia.ts"
import { checkLaterTool, isMark } from "./messagesTools.ts"

/** Where a canonical message comes from in the caller's body. */
interface Place {
  readonly path: string
  readonly parts: ReadonlyArray<string>
  readonly calls: ReadonlyArray<string>
}

const mostMessages = 4096

const noFile = hasMember("source", hasMember("type", { const: "file" }))

/** Of a block the schema has its type alone; `Translation` names what is wrong within one. */
const block: JsonSchema = {
  title: "MessagesBlock",
  description:
    "text, image, document, tool_use, tool_result, thinking or redacted_thinking; other types go to hosts of this API format only. Files that are stored at the host are not allowed.",
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

/** The members that `Translation` checks. */
export const translatedMembers = {
  messages: checkedElsewhere({ type: "array", items: turn, minItems: 1, maxItems: mostMessages }),
  system: checkedElsewhere({
    anyOf: [text.schema, { type: "array", items: byType(new Map([["text", objectOf({ text }, "text")]])).schema }],
  }),
}

/** Members of each type of block that are translated. */
const carried: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["text", new Set(["type", "text", "cache_control"])],
  ["image", new Set(["type", "source", "cache_control"])],
  ["document", new Set(["type", "source", "title", "context", "citations", "cache_control"])],
  ["tool_use", new Set(["type", "id", "name", "input", "cache_control"])],
  ["tool_result", new Set(["type", "tool_use_id", "content", "is_error", "cache_control"])],
  ["thinking", new Set(["type", "thinking", "signature"])],
  ["redacted_thinking", new Set(["type", "data"])],
])

/** Part of a message, with the path of its block. */
interface Placed<A> {
  readonly value: A
  readonly path: string
}

export class Translation {
  readonly messages: Array<Message> = []
  /** Members and blocks that the canonical form has no counterpart for. */
  readonly untranslated: Dropped = []
  /** The first block that no translation carries. */
  onlyForm: FormNeed | undefined
  private readonly places: Array<Place> = []
  private readonly issues: Issues

  constructor(issues: Issues) {
    this.issues = issues
  }

  /** The caller's path for one in the canonical messages. */
  readonly pathOf = (path: string): string => {
    const found = /^messages\[(\d+)\](?:\.(content|tool_calls)\[(\d+)\])?/.exec(path)
    const place = this.places[Number(found?.[1])]
    if (found === null || place === undefined) return path
    const [, , list, at] = found
    const inner = list === undefined ? undefined : (list === "content" ? place.parts : place.calls)[Number(at)]
    return inner ?? place.path
  }

  system(value: unknown): void {
    if (value != null) this.instruction(value, "system")
  }

  turns(value: unknown): void {
    if (!Array.isArray(value)) report(this.issues, "messages", "must be an array")
    else if (value.length === 0) report(this.issues, "messages", "must have at least one message")
    else if (value.length > mostMessages) {
      report(this.issues, "messages", `must have at most ${mostMessages} messages, not ${value.length}`)
    } else for (let at = 0; at < value.length; at++) this.turn(value[at], `messages[${at}]`)
  }

  private turn(message: unknown, path: string): void {
    const { role, content }: JsonObject = isJsonObject(message) ? message : {}
    if (!isJsonObject(message)) report(this.issues, path, "must be an object")
    else if (content === undefined) report(this.issues, `${path}.content`, "is required")
    else if (role === "user") this.user(content, path)
    else if (role === "assistant") this.assistant(content, path)
    else if (role === "system") this.instruction(content, path)
    else report(this.issues, `${path}.role`, "must be one of user, assistant, system")
  }

  private add(message: Message, path: string, parts: ReadonlyArray<string> = [], calls: ReadonlyArray<string> = []) {
    this.messages.push(message)
    this.places.push({ path, parts, calls })
  }

  private blocks(content: unknown, path: string): ReadonlyArray<readonly [block: JsonObject, path: string]> {
    if (!Array.isArray(content)) {
      report(this.issues, path, "must be a string or an array of blocks")
      return []
    }
    return content.flatMap((block: unknown, at) => {
      if (isJsonObject(block) && typeof block["type"] === "string") {
        const known = carried.get(block["type"])
        if (known !== undefined) dropOthers(block, known, `${path}[${at}]`, this.untranslated)
        return [[block, `${path}[${at}]`] as const]
      }
      const place = isJsonObject(block) ? `${path}[${at}].type` : `${path}[${at}]`
      report(this.issues, place, isJsonObject(block) ? "is required" : "must be an object")
      return []
    })
  }

  private instruction(content: unknown, path: string): void {
    if (typeof content === "string") {
      if (content !== "") this.add({ role: "system", content }, path)
      return
    }
    const at = path === "system" ? path : `${path}.content`
    const parts = this.blocks(content, at).flatMap(([block, place]) => {
      if (block["type"] === "text") return this.part(block, place)
      if (path === "system") report(this.issues, `${place}.type`, "must be text")
      else this.foreign(block, place)
      return []
    })
    if (parts.length > 0) this.add({ role: "system", content: shortest(parts) }, path, pathsOf(parts))
  }

  /** Results of tools come first, since hosts of other forms expect them right after the calls. */
  private user(content: unknown, path: string): void {
    if (typeof content === "string") {
      this.add({ role: "user", content }, path)
      return
    }
    if (Array.isArray(content) && content.length === 0) this.add({ role: "user", content: "" }, path)
    const parts: Array<Placed<ContentPart>> = []
    for (const [block, place] of this.blocks(content, `${path}.content`)) {
      if (block["type"] === "tool_result") parts.push(...this.toolResult(block, place))
      else parts.push(...this.part(block, place))
    }
    if (parts.length > 0) this.add({ role: "user", content: shortest(parts) }, path, pathsOf(parts))
  }

  /** Adds the text of a result, and returns its media: other forms take only text in results. */
  private toolResult(block: JsonObject, path: string): ReadonlyArray<Placed<ContentPart>> {
    const { tool_use_id: id, content, is_error: failed } = block
    if (typeof id !== "string" || id === "") report(this.issues, `${path}.tool_use_id`, "must be a non-empty string")
    const given = content == null || typeof content === "string" ? [] : this.resultParts(content, `${path}.content`)
    const media = given.filter(({ value }) => value.type !== "text")
    const texts = given.flatMap(({ value }) => (value.type === "text" ? [value.text] : []))
    if (typeof content === "string") texts.push(content)
    if (media.length > 0) texts.push("The files of this result follow in the next message.")
    const text = texts.join("\n\n")
    const mark = isMark(block["cache_control"]) ? { cache_control: block["cache_control"] } : {}
    // Other forms have no mark for it.
    const said = failed === true && !/^error/i.test(text) ? `Error: ${text}` : text
    this.add({ role: "tool", tool_call_id: String(id), content: said, ...mark }, path)
    if (media.length === 0) return media
    return [{ value: { type: "text", text: `Files of the result of ${String(id)}:` }, path }, ...media]
  }

  private resultParts(content: unknown, path: string): ReadonlyArray<Placed<ContentPart>> {
    return this.blocks(content, path).flatMap(([block, place]) => this.part(block, place))
  }

  private assistant(content: unknown, path: string): void {
    if (typeof content === "string") {
      this.add({ role: "assistant", content }, path)
      return
    }
    const parts: Array<AssistantPart> = []
    const paths: { readonly content: Array<string>; readonly calls: Array<string> } = { content: [], calls: [] }
    let reasoning = ""
    for (const [block, place] of this.blocks(content, `${path}.content`)) {
      switch (block["type"]) {
        case "thinking":
          reasoning += this.textIn(block, "thinking", place)
          addReasoning(parts, thought(block))
          break
        case "redacted_thinking":
          addReasoning(parts, hidden(this.textIn(block, "data", place)))
          break
        case "tool_use":
          parts.push({ type: "call", call: this.toolUse(block, place) })
          paths.calls.push(place)
          break
        default:
          for (const { value } of this.part(block, place)) {
            parts.push({ type: "content", content: value })
            paths.content.push(place)
          }
      }
    }
    const { content: said, ...rest } = saidInOrder(parts)
    const isEmpty = parts.length === 0 && reasoning === ""
    this.add(
      {
        role: "assistant",
        content: isEmpty ? "" : (said ?? null),
        ...(reasoning === "" ? {} : { reasoning }),
        ...rest,
      },
      path,
      paths.content,
      paths.calls,
    )
  }

  private toolUse(block: JsonObject, path: string): ToolCall {
    const { input } = block
    if (input !== undefined && !isJsonObject(input)) report(this.issues, `${path}.input`, "must be an object")
    const mark = isMark(block["cache_control"]) ? { cache_control: block["cache_control"] } : {}
    return {
      id: this.textIn(block, "id", path),
      type: "function",
      function: { name: this.textIn(block, "name", path), arguments: JSON.stringify(input ?? {}) },
      ...mark,
    }
  }

  private textIn(block: JsonObject, member: string, path: string): string {
    const text = block[member]
    if (typeof text === "string") return text
    report(this.issues, `${path}.${member}`, text === undefined ? "is required" : "must be a string")
    return ""
  }

  private part(block: JsonObject, path: string): ReadonlyArray<Placed<ContentPart>> {
    const { cache_control: mark } = block
    if (mark != null) sharedMembers.cache_control(mark, `${path}.cache_control`, this.issues)
    return this.partsOf(block, path).map((part) => ({
      value: isMark(mark) ? { ...part, cache_control: mark } : part,
      path,
    }))
  }

  private partsOf(block: JsonObject, path: string): ReadonlyArray<ContentPart> {
    switch (block["type"]) {
      case "text":
        return [{ type: "text", text: this.textIn(block, "text", path) }]
      case "image":
        return imagePart(block, path, this.issues)
      case "document": {
        const { citations } = block
        if (isJsonObject(citations) && citations["enabled"] === true) this.untranslated.push(`${path}.citations`)
        return documentParts(block, path, this.issues)
      }
      default:
        this.foreign(block, path)
        return []
    }
  }

  /** A block that only hosts of the form understand. */
  private foreign(block: JsonObject, path: string): void {
    const { type, tool } = block
    const definition = isJsonObject(tool) ? tool["definition"] : undefined
    if (definition !== undefined) checkLaterTool(definition, `${path}.tool.definition`, this.issues)
    const reason = `only hosts of the Messages format take blocks of the type ${String(type).slice(0, 64)}`
    this.onlyForm ??= { path, reason }
  }
}

/** A single text without a mark is written as a string, which every host takes. */
const shortest = (parts: ReadonlyArray<Placed<ContentPart>>): string | ReadonlyArray<ContentPart> => {
  const [only, more] = parts
  if (only?.value.type === "text" && more === undefined && only.value.cache_control === undefined)
    return only.value.text
  return parts.map(({ value }) => value)
}

const pathsOf = (placed: ReadonlyArray<Placed<unknown>>): ReadonlyArray<string> => placed.map(({ path }) => path)

/** Thinking without a signature came from a host that gives none, and is plain text. */
const thought = ({ thinking, signature }: JsonObject): ReasoningDetail | undefined => {
  const text = typeof thinking === "string" ? thinking : ""
  const own = unwrapped(signature)
  if (own !== undefined) return own.type === "reasoning.summary" ? { ...own, summary: text } : { ...own, text }
  if (typeof signature !== "string" || signature === "") return undefined
  return { type: "reasoning.text", text, signature, format: claudesFormat }
}

const hidden = (data: string): ReasoningDetail =>
  unwrapped(data) ?? { type: "reasoning.encrypted", data, format: claudesFormat }
