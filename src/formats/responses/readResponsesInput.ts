/** The input of the Responses form: its items, checked, and translated to canonical messages. */

import {
  anyObject,
  type Check,
  type CheckFunction,
  checkOf,
  choiceSchema,
  hasMember,
  type JsonSchema,
  objectOf,
  oneOf,
  quoted,
  report,
  text,
} from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject, textOr } from "../../domain/json/json.ts"
import type { AssistantMessage, Content, Message, OutputImage } from "../../domain/request/chat.ts"
import { type AssistantPart, saidInOrder } from "../conversation.ts"
import { type Dropped, dropOthers } from "../request/Dropped.ts"
import { ruleOf } from "../request/rules.ts"
import { compactionItems, isCompaction } from "./compaction.ts"
import { notStored } from "./refusedByResponses.ts"
import { inputContent, outputContent, textContent, translatedContent } from "./responsesParts.ts"
import { readReasoning, reasoningItem, reasoningMembers } from "./responsesReasoning.ts"
import type { ToolNames } from "./tools/ToolNames.ts"
import { agentMessage, callOf, type ItemContext, itemContext, resultOf, toolItems } from "./tools/toolItems.ts"

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
 * Clients that leave it to the host to store their conversation name its items: `@ai-sdk/openai` does so from the second step on,
 * unless its option `store` is off (seen with 4.0, 2026-11).
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
      if (typeof item["result"] === "string") turn.images.push(imageOf(item["result"]))
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

/** The first characters of images in base64. */
const imageTypes: ReadonlyArray<readonly [start: string, mediaType: string]> = [
  ["/9j/", "image/jpeg"],
  ["R0lGOD", "image/gif"],
  ["UklGR", "image/webp"],
]

const imageOf = (result: string): OutputImage => {
  const type = imageTypes.find(([start]) => result.startsWith(start))?.[1] ?? "image/png"
  const url = /^(?:https?:|data:)/i.test(result) ? result : `data:${type};base64,${result}`
  return { type: "image_url", image_url: { url } }
}
