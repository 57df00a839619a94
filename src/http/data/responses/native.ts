/**
 * The events of a host that speaks the Responses form, passed on as the host wrote them. Only the response object in the first
 * and the last of them is written anew: with our id, the model's name, usage and cost. The end is withheld until the answer is
 * booked.
 */
import type { Charge } from "../../../domain/Charge.ts"
import type { ChatChunkChoice } from "../../../domain/Chat.ts"
import { HostFailed } from "../../../domain/Failure.ts"
import type { Host } from "../../../domain/Host.ts"
import { isJsonObject, type JsonObject } from "../../../domain/Json.ts"
import type { NativeWriter } from "../../../wire/hostStream.ts"
import { sseNamed } from "../../../wire/sse.ts"
import {
  endOf,
  exchanged,
  itemStatusOf,
  type ResponseNames,
  type ResponseState,
  shownItem,
  stateMembers,
  usageBody,
} from "./answer.ts"

const broken = (cause: string): HostFailed => new HostFailed({ reason: "malformed", cause })

/** Where the pieces of a text belong, by the type of the event. */
const pieces: ReadonlyMap<
  string,
  { readonly list: string; readonly index: string; readonly type: string; readonly text: string }
> = new Map([
  ["response.output_text.delta", { list: "content", index: "content_index", type: "output_text", text: "text" }],
  ["response.refusal.delta", { list: "content", index: "content_index", type: "refusal", text: "refusal" }],
  ["response.reasoning_text.delta", { list: "content", index: "content_index", type: "reasoning_text", text: "text" }],
  [
    "response.reasoning_summary_text.delta",
    { list: "summary", index: "summary_index", type: "summary_text", text: "text" },
  ],
])

/** Members of an item that come in pieces, by the type of the event. */
const members: ReadonlyMap<string, string> = new Map([
  ["response.function_call_arguments.delta", "arguments"],
  ["response.custom_tool_call_input.delta", "input"],
])

/** An item of the output, as far as it has come. Needed where the host does not end it. */
class Item {
  readonly begun: JsonObject
  done: JsonObject | undefined
  private readonly lists: Record<string, Array<Record<string, unknown>>> = {}
  private readonly texts: Record<string, string> = {}

  constructor(begun: JsonObject) {
    this.begun = begun
  }

  add(type: string, event: JsonObject): void {
    const { delta } = event
    if (typeof delta !== "string") return
    const member = members.get(type)
    if (member !== undefined) this.texts[member] = (this.texts[member] ?? "") + delta
    const piece = pieces.get(type)
    if (piece === undefined) return
    this.lists[piece.list] ??= []
    const list = this.lists[piece.list] ?? []
    const at = event[piece.index]
    const place = typeof at === "number" && at >= 0 && at <= list.length ? at : list.length
    list[place] ??= { type: piece.type, [piece.text]: "", ...(piece.type === "output_text" ? { annotations: [] } : {}) }
    const part = list[place]
    if (part !== undefined) part[piece.text] = `${part[piece.text]}${delta}`
  }

  written(): JsonObject {
    return this.done ?? { ...this.begun, ...this.lists, ...this.texts, status: "incomplete" }
  }
}

export class NativeEvents implements NativeWriter {
  hasStarted = false
  hasSpoken = false
  private readonly names: ResponseNames
  private readonly host: Host | undefined
  /** The host's response at the start. */
  private start: JsonObject = {}
  private readonly items: Array<Item> = []
  /** The host's last event. */
  private last: JsonObject | undefined
  /** The number of the next event. */
  private next = 0

  constructor(names: ResponseNames, host: Host | undefined) {
    this.names = names
    this.host = host
  }

  /** Every event is read: the members of a delta stand in any order. */
  plainBytes(): number {
    return 0
  }

  plain(): string {
    return ""
  }

  event(name: string, event: JsonObject, json: string): string | HostFailed {
    const type = typeof event["type"] === "string" ? event["type"] : name
    switch (type) {
      case "response.created":
      case "response.in_progress":
      case "response.queued":
        return this.begin(type, event)
      case "response.completed":
      case "response.incomplete":
        this.last = event
        return ""
    }
    if (!this.hasStarted) return broken("an event before the start of the response")
    const wrong = this.follow(type, event)
    if (wrong !== undefined) return wrong
    return this.passed(type, event, json)
  }

  /** The end of the answer. `choice`: how it ended, where the host did not say so. */
  finish(choice: ChatChunkChoice | undefined, charge: Charge): string {
    const response = this.last?.["response"]
    if (this.last !== undefined && isJsonObject(response)) {
      const written = { ...exchanged(this.names, this.host, response), usage: usageBody(charge) }
      const type = String(this.last["type"] ?? "response.completed")
      return sseNamed(type, JSON.stringify({ ...this.last, type, response: written, sequence_number: this.next }))
    }
    const state = endOf(choice?.finish_reason)
    let text = ""
    for (const [at, item] of this.items.entries()) {
      if (item.done !== undefined) continue
      item.done = { ...item.written(), status: itemStatusOf(state) }
      text += this.numbered("response.output_item.done", { output_index: at, item: this.shown(item) })
    }
    return text + this.ended(state, charge)
  }

  /** The end of an answer that failed. Items that are open stay so: an agent carries out a call when it has ended. */
  ended(state: ResponseState, charge: Parameters<typeof usageBody>[0]): string {
    const output = this.items.map((item) => this.shown(item))
    const response = { ...this.start, ...stateMembers(this.names, state), output }
    const written = { ...exchanged(this.names, this.host, response), usage: usageBody(charge) }
    return this.numbered(`response.${state.status}`, { response: written })
  }

  private shown(item: Item): unknown {
    return shownItem(this.names, item.written())
  }

  private numbered(type: string, members: JsonObject): string {
    return sseNamed(type, JSON.stringify({ type, ...members, sequence_number: this.next++ }))
  }

  private begin(type: string, event: JsonObject): string | HostFailed {
    const { response } = event
    if (!isJsonObject(response)) return broken("a start without a response")
    if (!this.hasStarted && type !== "response.created") return broken("an event before the start of the response")
    this.hasStarted = true
    this.start = response
    this.count(event)
    const written = { ...exchanged(this.names, this.host, response), usage: null }
    return sseNamed(type, JSON.stringify({ ...event, type, response: written }))
  }

  /** Keeps the items in mind. A client that assembles them would fail at an event of an item that there is not. */
  private follow(type: string, event: JsonObject): HostFailed | undefined {
    const { output_index: at, item } = event
    if (type === "response.output_item.added") {
      if (at !== this.items.length || !isJsonObject(item)) return broken("items are not numbered in order")
      this.items.push(new Item(item))
      this.hasSpoken ||= item["type"] !== "message" && item["type"] !== "reasoning"
      return undefined
    }
    if (at === undefined) return undefined
    const known = typeof at === "number" ? this.items[at] : undefined
    if (known === undefined) return broken("an event of an item that has not begun")
    if (type === "response.output_item.done" && isJsonObject(item)) known.done = item
    else if (known.done !== undefined) return broken("an event of an item that has ended")
    else known.add(type, event)
    this.hasSpoken ||= type === "response.output_item.done" || typeof event["delta"] === "string"
    return undefined
  }

  private passed(type: string, event: JsonObject, json: string): string {
    // A line break in the name or the JSON would begin a line of its own.
    if (!/^[a-z0-9_.]+$/i.test(type)) return ""
    if (this.names.hidesReasoning && this.isOfReasoning(event)) {
      const { item } = event
      // Its parts are left out, so further events are numbered anew.
      if (item === undefined) return ""
      const { sequence_number: _, type: __, ...others } = event
      return this.numbered(type, { ...others, item: shownItem(this.names, item) })
    }
    if (this.names.hidesReasoning) {
      const { sequence_number: _, type: __, ...others } = event
      return this.numbered(type, others)
    }
    this.count(event)
    return sseNamed(type, /[\r\n]/.test(json) ? JSON.stringify(event) : json)
  }

  private isOfReasoning({ output_index: at }: JsonObject): boolean {
    return typeof at === "number" && this.items[at]?.begun["type"] === "reasoning"
  }

  private count({ sequence_number: number }: JsonObject): void {
    this.next = typeof number === "number" ? number + 1 : this.next + 1
  }
}
