/**
 * The items of a conversation in the Responses form: those of a client's input, checked and read as canonical messages;
 * and messages as the input of a host.
 */

import type { Unsupported } from "../../domain/failures/Failure.ts"
import { baseModelOf, type Host } from "../../domain/hosts/Host.ts"
import {
  anyObject,
  type Check,
  type CheckFunction,
  checkOf,
  choiceSchema,
  filledText,
  hasMember,
  type JsonSchema,
  objectOf,
  oneOf,
  quoted,
  report,
  text,
} from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject, textOr } from "../../domain/json/json.ts"
import type {
  AssistantMessage,
  Content,
  ContentPart,
  HostToolCall,
  Message,
  OutputImage,
  ReasoningDetail,
  ToolCall,
} from "../../domain/request/chat.ts"
import type { FormNeed } from "../../domain/request/request.ts"
import { callIdWithin } from "../callId.ts"
import { type AssistantPart, partsInOrder, saidInOrder } from "../conversation.ts"
import { type Dropped, dropOthers } from "../request/Dropped.ts"
import { ruleOf } from "../request/rules.ts"
import type { ResponsesQuirks } from "./ResponsesQuirks.ts"
import {
  imageOf,
  inputContent,
  notStored,
  outputContent,
  outputPart,
  textContent,
  translatedContent,
  unsupportedIn,
  writtenContent,
} from "./responsesParts.ts"
import { readReasoning, reasoningItem, reasoningItems, reasoningMembers } from "./responsesReasoning.ts"
import { agentMessage, callOf, type ItemContext, itemContext, resultOf, toolItems } from "./responsesToolItems.ts"
import type { ToolNames } from "./responsesToolNames.ts"

// --- items by which a host of the form compacts a conversation. The result is encrypted, and only such a host can read
// it. Source: types of openai 7.55 (`ResponseInputItem`, 2026-11) and requests of Codex 0.169, which also has other
// names.

const compacted = objectOf({ encrypted_content: filledText }, "encrypted_content")

/** Item types with their checks. */
const compactionItems: ReadonlyMap<string, Check> = new Map([
  ["compaction_trigger", anyObject],
  ["compaction", compacted],
  ["compaction_summary", compacted],
  ["context_compaction", objectOf({ encrypted_content: text })],
])

export const isCompaction = (item: unknown): boolean =>
  isJsonObject(item) && typeof item["type"] === "string" && compactionItems.has(item["type"])

/** What only hosts of this form can do with such an item. */
export const compactionNeed = (input: unknown): FormNeed | undefined => {
  const at = Array.isArray(input) ? input.findIndex(isCompaction) : -1
  return at === -1 ? undefined : { path: `input[${at}]`, reason: compactionReason }
}

export const compactionReason = "only hosts of the Responses format compact a conversation"

// --- from a client

/** See docs/guarantees.md#g30. */
const most = { items: 4096 }

const roles: ReadonlyMap<string, Check> = new Map([
  ["user", objectOf({ content: inputContent }, "content")],
  ["system", objectOf({ content: textContent }, "content")],
  ["developer", objectOf({ content: textContent }, "content")],
  ["assistant", objectOf({ content: outputContent })],
])

const message = checkOf({ anyOf: choiceSchema("role", roles) }, (value, path, issues) => {
  if (!isJsonObject(value)) return
  const byRole: ReadonlyMap<unknown, Check> = roles
  const check = byRole.get(value["role"])
  if (check === undefined) report(issues, `${path}.role`, `must be one of ${[...roles.keys()].join(", ")}`)
  else check(value, path, issues)
})

const items: ReadonlyMap<string, Check> = new Map([
  ["message", message],
  ["reasoning", reasoningItem],
  [
    "image_generation_call",
    objectOf({ result: text, status: oneOf("in_progress", "completed", "generating", "failed") }),
  ],
  // Written by hosts of this form, and given back to them. Others are sent the text that followed the search.
  ["web_search_call", objectOf({ id: text, action: anyObject })],
  ...toolItems,
  ...compactionItems,
])

/**
 * Clients that leave it to the host to store their conversation name its items: `@ai-sdk/openai` does so from the
 * second step on, unless its option `store` is off (seen with 4.0, 2026-11).
 */
const reference =
  `names an item ${notStored}: send the item itself. Clients do so with store: false ` +
  "(@ai-sdk/openai: providerOptions.openai.store: false)"

/** The type of a reference may be left out (OpenAI's description of the API, 2026-11). */
const isBareReference = (value: JsonObject): boolean =>
  value["type"] == null && value["role"] == null && value["content"] == null && typeof value["id"] === "string"

const itemSchema: JsonSchema = {
  title: "ResponsesItem",
  anyOf: [
    { ...message.schema, properties: { type: { enum: ["message", null] } } },
    ...choiceSchema("type", new Map([...items].filter(([type]) => type !== "message"))),
  ],
}

const item = checkOf(itemSchema, (value, path, issues) => {
  if (!isJsonObject(value)) return report(issues, path, "must be an object")
  const { type } = value
  if (type === "item_reference" || isBareReference(value)) report(issues, path, reference)
  else if (type == null) {
    if (value["role"] == null) report(issues, `${path}.type`, "is required")
    else message(value, path, issues)
  } else if (typeof type !== "string") report(issues, `${path}.type`, "must be a string")
  else (items.get(type) ?? unknownItem)(value, path, issues)
})

const unknownItem: CheckFunction = (value, path, issues) => {
  const type = isJsonObject(value) ? textOr(value["type"], "") : ""
  report(
    issues,
    `${path}.type`,
    `${quoted(type)} is an item that this gateway cannot pass on: it must be one of ${[...items.keys()].join(", ")}`,
  )
}

const inputSchema = {
  anyOf: [text.schema, { type: "array", items: item.schema, minItems: 1, maxItems: most.items }],
  description: "A text, or the items of a conversation.",
}

export const input = checkOf(inputSchema, (value, path, issues) => {
  if (typeof value === "string") return
  if (!Array.isArray(value)) return report(issues, path, "must be a string or an array of items")
  if (value.length === 0) return report(issues, path, "must have at least one item")
  if (value.length > most.items)
    return report(issues, path, `must have at most ${most.items} items, not ${value.length}`)
  for (let at = 0; at < value.length; at++) item(value[at], `${path}[${at}]`, issues)
})

export const inputRule = ruleOf(hasMember("input"), (body, issues) => {
  if (body["input"] == null) report(issues, "input", "is required")
})

/** Where a canonical message comes from, as paths in the caller's body. */
interface Place {
  readonly path: string
  /** Of its parts, where they are not members of `content`. */
  readonly content: string | ReadonlyArray<string>
  readonly calls: ReadonlyArray<string>
}

/** What the assistant said and did between two messages of others: one message of the canonical form. */
class AssistantTurn {
  readonly path: string
  readonly partPaths: Array<string> = []
  readonly callPaths: Array<string> = []
  readonly parts: Array<AssistantPart> = []
  readonly images: Array<OutputImage> = []
  reasoning = ""

  /** `path`: of its first item. */
  constructor(path: string) {
    this.path = path
  }

  get place(): Place {
    return { path: this.path, content: this.partPaths, calls: this.callPaths }
  }

  message(): AssistantMessage {
    const { parts, images, reasoning } = this
    const { content, ...said } = saidInOrder(parts)
    const saysNothing = parts.length + images.length === 0 && reasoning === ""
    return {
      role: "assistant",
      content: content ?? (saysNothing ? "" : null),
      ...(reasoning === "" ? {} : { reasoning }),
      ...said,
      ...(images.length === 0 ? {} : { images }),
    }
  }
}

const known = {
  message: new Set(["type", "id", "status", "role", "content"]),
  additional_tools: new Set(["type", "id", "status", "role", "tools"]),
  image_generation_call: new Set(["type", "id", "status", "result"]),
} as const

export interface TranslatedInput {
  readonly messages: ReadonlyArray<Message>
  /** The caller's own path for a path in `messages`. */
  readonly pathOf: (path: string) => string
}

/** Translates checked input. Items of the assistant that follow each other become one message, with their order. */
export const translatedInput = (
  { instructions, input: given }: JsonObject,
  names: ToolNames,
  dropped: Dropped,
): TranslatedInput => {
  const messages: Array<Message> = []
  const places: Array<Place> = []
  const say = (message: Message, place: Place): void => {
    messages.push(message)
    places.push(place)
  }
  if (typeof instructions === "string" && instructions !== "")
    say({ role: "system", content: instructions }, placeOf("instructions"))
  if (!Array.isArray(given)) say({ role: "user", content: textOr(given, "") }, placeOf("input"))
  const items: ReadonlyArray<unknown> = Array.isArray(given) ? given : []
  const context = itemContext(items, names, dropped)
  let turn: AssistantTurn | undefined
  for (const [at, item] of items.entries()) {
    if (!isJsonObject(item) || isCompaction(item)) continue
    const path = `input[${at}]`
    if (item["type"] === "additional_tools") {
      dropOthers(item, known.additional_tools, path, dropped)
      continue
    }
    const message = messageOf(item, path, context)
    if (message === undefined) {
      turn ??= new AssistantTurn(path)
      addItem(turn, item, path, context)
    } else {
      if (turn !== undefined) say(turn.message(), turn.place)
      turn = undefined
      say(message, item["type"] === "agent_message" ? placeOfAll(path) : placeOf(path, contentOf(message)))
    }
  }
  if (turn !== undefined) say(turn.message(), turn.place)
  return { messages, pathOf: (path) => ownPath(path, places) }
}

const placeOf = (path: string, content = "content"): Place => ({ path, content: `${path}.${content}`, calls: [] })

const contentOf = ({ role }: Message): string => (role === "tool" ? "output" : "content")

/** A message whose parts are not those of the item. */
const placeOfAll = (path: string): Place => ({ path, content: [], calls: [] })

const ownPath = (path: string, places: ReadonlyArray<Place>): string => {
  if (path === "messages") return "input"
  const [found, message, member, index] = /^messages\[(\d+)\](?:\.(content|tool_calls)\[(\d+)\])?/.exec(path) ?? []
  const place = places[Number(message)]
  if (found === undefined || place === undefined) return path
  const { content, calls } = place
  const inside =
    member === "content"
      ? typeof content === "string"
        ? `${content}[${index}]`
        : content[Number(index)]
      : calls[Number(index)]
  return (inside ?? place.path) + path.slice(found.length)
}

/** `undefined` for an item of the assistant. */
const messageOf = (item: JsonObject, path: string, context: ItemContext): Message | undefined => {
  const { dropped } = context
  const { type, role } = item
  if (type === "agent_message") return agentMessage(item, path, dropped)
  if (type != null && type !== "message") return resultOf(item, path, context)
  if (role !== "user" && role !== "system" && role !== "developer") return undefined
  dropOthers(item, known.message, path, dropped)
  return { role, content: translatedContent(item["content"], `${path}.content`, dropped) }
}

const addItem = (turn: AssistantTurn, item: JsonObject, path: string, context: ItemContext): void => {
  const { dropped } = context
  const call = callOf(item, path, context)
  if (call !== undefined) {
    turn.callPaths.push(path)
    turn.parts.push({ type: "call", call })
    return
  }
  switch (item["type"]) {
    case "reasoning": {
      dropOthers(item, reasoningMembers, path, dropped)
      const { text, details } = readReasoning(item)
      turn.reasoning += text
      if (details.length > 0) turn.parts.push({ type: "reasoning", details })
      return
    }
    case "web_search_call":
      dropped.push(path)
      return
    case "image_generation_call":
      dropOthers(item, known.image_generation_call, path, dropped)
      if (typeof item["result"] === "string") turn.images.push(imageOf(item["result"], undefined))
      return
    default:
      dropOthers(item, known.message, path, dropped)
      addContent(turn, translatedContent(item["content"], `${path}.content`, dropped), `${path}.content`)
  }
}

const addContent = (turn: AssistantTurn, content: Content, path: string): void => {
  if (typeof content === "string") {
    if (content === "") return
    turn.parts.push({ type: "content", content: { type: "text", text: content } })
    turn.partPaths.push(path)
    return
  }
  for (const [at, part] of content.entries()) {
    turn.parts.push({ type: "content", content: part })
    turn.partPaths.push(`${path}[${at}]`)
  }
}

// --- to a host

/** The items, or the first part of the conversation that the form cannot carry. */
export const inputOf = (
  messages: ReadonlyArray<Message>,
  quirks: ResponsesQuirks,
  host: Host,
  dropped: Array<string>,
): ReadonlyArray<JsonObject> | Unsupported => {
  const items: Array<JsonObject> = []
  const breakpoints = quirks.breakpoints?.(baseModelOf(host)) === true
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
          output: writtenContent(message.content, breakpoints),
        })
        break
      default:
        items.push({ type: "message", role: message.role, content: writtenContent(message.content, breakpoints) })
    }
  }
  return items
}

/**
 * OpenAI refuses longer ids of calls (9router#393, 2026-03; Aether#829, 2026-09). Ids of other hosts may have any
 * length.
 */
const longestCallId = 64

/** The id of a call, and of its result, at a host of this form. */
export const callIdHere = <Id>(id: Id): Id | string => (typeof id === "string" ? callIdWithin(id, longestCallId) : id)

/**
 * A call of a custom tool, as the canonical form has it: its members, and no others. `undefined`: it is of another
 * kind.
 */
export const customCallOf = ({ type, id, custom }: HostToolCall): JsonObject | undefined =>
  type === "custom" && isJsonObject(custom)
    ? { type: "custom_tool_call", call_id: callIdHere(id), name: custom["name"], input: custom["input"] }
    : undefined

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
