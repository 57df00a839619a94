/**
 * The grammar of a stream in the Responses form. `response.created` and `response.in_progress` begin it, one of
 * `response.completed`, `.incomplete` and `.failed` ends it, and nothing comes after that. In between items open in the order of their
 * indexes, parts open in the order of theirs within an item, texts are told in deltas and once more at their end, and what
 * was opened is closed once. Several calls may be open at a time. Only a failed response leaves items open.
 */
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { listIn, objectIn, readEvents, readerOf, textIn, wrong } from "./events.ts"

/** Reads a whole stream, and throws at the first thing that breaks the grammar. Returns its events. */
export const readResponsesStream = readerOf("Responses", (text) => {
  const grammar = new ResponsesGrammar()
  for (const [name, event] of readEvents(text, { isNamed: true, hasDone: false })) grammar.event(name, event)
  grammar.end()
  return grammar.events
})

const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** A text that is told in deltas: a part of an item, or the arguments of a call. */
interface Told {
  /** What its deltas are called, without `.delta`. */
  readonly kind: string
  text: string
  annotations: number
  /** Its text was repeated. */
  isSaid: boolean
  /** Its part was repeated. */
  isClosed: boolean
}

interface Item {
  readonly id: string
  readonly type: string
  readonly content: Array<Told>
  readonly summary: Array<Told>
  readonly call: Told
  /** As it was told at its end. */
  done: JsonObject | undefined
}

const toldAs = (kind: string): Told => ({ kind, text: "", annotations: 0, isSaid: false, isClosed: false })

/** The deltas of each type of part. */
const kinds: Readonly<Record<string, string>> = {
  output_text: "response.output_text",
  refusal: "response.refusal",
  reasoning_text: "response.reasoning_text",
  summary_text: "response.reasoning_summary_text",
}

/** Texts of calls, which are told in deltas. Items of other calls come as a whole. */
const callTexts: Readonly<Record<string, { readonly event: string; readonly member: string }>> = {
  function_call: { event: "response.function_call_arguments", member: "arguments" },
  custom_tool_call: { event: "response.custom_tool_call_input", member: "input" },
}

const textMembers: Readonly<Record<string, string>> = {
  "response.refusal": "refusal",
  ...Object.fromEntries(Object.values(callTexts).map(({ event, member }) => [event, member])),
}

/** Several of these may be open at a time. */
const isCall = (type: string): boolean => type.endsWith("_call")

const ends = new Set(["response.completed", "response.incomplete", "response.failed"])

class ResponsesGrammar {
  readonly events: Array<JsonObject> = []
  private readonly items: Array<Item> = []
  private id: unknown
  private ending: string | undefined

  event(name: string, event: JsonObject): void {
    const { type } = event
    const at = this.events.length
    if (type !== name) wrong(`an event called ${name} of another type`, event)
    if (event["sequence_number"] !== at) wrong(`an event that is not number ${at}`, event)
    if (this.ending !== undefined) wrong(`an event after ${this.ending}`, event)
    this.events.push(event)
    const first = ["response.created", "response.in_progress"][at]
    if (first !== undefined) {
      if (name !== first) wrong(`an event that is not ${first} at ${at}`, event)
      this.state(event, "in_progress")
    } else if (ends.has(name)) this.over(name, event)
    else this.progress(name, event)
  }

  end(): void {
    if (this.ending === undefined) wrong("no end", this.events.at(-1))
  }

  private state(event: JsonObject, status: string): JsonObject {
    const response = objectIn(event, "response")
    this.id ??= response["id"]
    if (response["object"] !== "response") wrong("a response that is none", response)
    if (response["id"] !== this.id) wrong(`another id than ${this.id}`, response)
    if (response["status"] !== status) wrong(`a response that is not ${status}`, response)
    if (status === "in_progress" && listIn(response, "output").length > 0) wrong("output before its items", response)
    return response
  }

  private over(name: string, event: JsonObject): void {
    this.ending = name
    const status = name.slice("response.".length)
    const response = this.state(event, status)
    const output = listIn(response, "output")
    if (output.length !== this.items.length) wrong("an output with other items than were added", response)
    for (const [at, item] of this.items.entries()) {
      if (item.done === undefined && status !== "failed") wrong("an end before that of its items", item)
      if (item.done !== undefined && !same(item.done, output[at]))
        wrong("an item that changed after its end", output[at])
    }
    if (!isJsonObject(response["usage"])) wrong("an end without usage", response)
    if ((status === "failed") !== isJsonObject(response["error"])) wrong("an error that does not fit the end", response)
    if ((status === "incomplete") !== isJsonObject(response["incomplete_details"]))
      wrong("incomplete_details that do not fit the end", response)
  }

  private progress(name: string, event: JsonObject): void {
    if (name === "response.output_item.added") this.begin(event)
    else if (name === "response.output_item.done") this.endItem(this.itemOf(event), event)
    // It only says that the host is at work, and may come before its item.
    else if (name !== "response.compaction.compacting") this.tell(name, this.itemOf(event), event)
  }

  /** An event within an item. */
  private tell(name: string, item: Item, event: JsonObject): void {
    if (event["item_id"] !== item.id) wrong(`another item than ${item.id}`, event)
    if (name === "response.content_part.added") this.beginPart(item.content, "content_index", event)
    else if (name === "response.reasoning_summary_part.added") this.beginPart(item.summary, "summary_index", event)
    else this.tellPart(name, this.toldOf(item, event), event)
  }

  private tellPart(name: string, told: Told, event: JsonObject): void {
    const dot = name.lastIndexOf(".")
    const kind = name.slice(0, dot)
    if (kind === "response.content_part" || kind === "response.reasoning_summary_part") this.endPart(told, event)
    else if (name === "response.output_text.annotation.added") {
      if (event["annotation_index"] !== told.annotations++) wrong("an annotation out of order", event)
    } else if (kind !== told.kind || told.isSaid) wrong("an event that does not fit its part", event)
    else if (name.slice(dot) === ".delta") told.text += textIn(event, "delta")
    else this.endText(told, event)
  }

  private begin(event: JsonObject): void {
    const item = objectIn(event, "item")
    const [id, type] = [textIn(item, "id"), textIn(item, "type")]
    if (event["output_index"] !== this.items.length) wrong(`an item that is not number ${this.items.length}`, event)
    if (this.items.some((known) => known.id === id)) wrong("an id twice", event)
    if (item["status"] !== "in_progress") wrong("a new item that is not in_progress", event)
    if (this.items.some((known) => known.done === undefined && !isCall(known.type)))
      wrong("an item before the end of a message or of reasoning", event)
    const call = toldAs(callTexts[type]?.event ?? "no event of a call")
    this.items.push({ id, type, content: [], summary: [], call, done: undefined })
  }

  private itemOf(event: JsonObject): Item {
    const item = this.items[Number(event["output_index"])]
    if (item === undefined || item.done !== undefined) return wrong("an event of an item that is not open", event)
    return item
  }

  private toldOf(item: Item, event: JsonObject): Told {
    const { content_index: content, summary_index: summary } = event
    const told =
      typeof content === "number"
        ? item.content[content]
        : typeof summary === "number"
          ? item.summary[summary]
          : item.call
    return told === undefined || told.isClosed ? wrong("an event of a part that is not open", event) : told
  }

  private beginPart(parts: Array<Told>, member: string, event: JsonObject): void {
    const kind = kinds[textIn(objectIn(event, "part"), "type")]
    if (event[member] !== parts.length) wrong(`a part that is not number ${parts.length}`, event)
    parts.push(toldAs(kind ?? wrong("a part of an unknown type", event)))
  }

  private endText(told: Told, event: JsonObject): void {
    const member = textMembers[told.kind] ?? "text"
    if (textIn(event, member) !== told.text) wrong("a text that differs from its deltas", event)
    told.isSaid = true
  }

  private endPart(told: Told, event: JsonObject): void {
    if (!told.isSaid) wrong("the end of a part before that of its text", event)
    if (textOf(objectIn(event, "part")) !== told.text) wrong("a part that differs from its deltas", event)
    told.isClosed = true
  }

  private endItem(item: Item, event: JsonObject): void {
    const written = objectIn(event, "item")
    if (written["id"] !== item.id || written["type"] !== item.type) wrong("the end of another item", event)
    // A patch has no other state for a call that is cut.
    if (written["status"] === "in_progress" && item.type !== "apply_patch_call")
      wrong("an item in progress at its end", event)
    if ([...item.content, ...item.summary].some((part) => !part.isClosed))
      wrong("an end before that of its parts", event)
    const told = callTexts[item.type]
    if (told !== undefined && (!item.call.isSaid || written[told.member] !== item.call.text))
      wrong("a call that differs from its deltas", event)
    for (const [member, told] of [
      ["content", item.content],
      ["summary", item.summary],
    ] as const) {
      const parts = written[member]
      const texts = Array.isArray(parts) ? parts.map((part) => textOf(part)) : []
      if (
        !same(
          texts,
          told.map(({ text }) => text),
        )
      )
        wrong("an item that differs from its parts", event)
    }
    item.done = written
  }
}

const textOf = (part: unknown): unknown => (isJsonObject(part) ? (part["text"] ?? part["refusal"]) : undefined)
