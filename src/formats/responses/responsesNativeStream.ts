/**
 * The events of a host that speaks the Responses form, passed on as the host wrote them. Only the response object in the first
 * and the last of them is written anew: with the gateway's id, the model's name, usage and cost. The end is withheld until the
 * answer is booked.
 */

import { HostFailed } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { isJsonObject, type JsonObject, objectIn, textOr } from "../../domain/json/json.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import type { ChatChunkChoice } from "../../domain/request/chat.ts"
import { isEventName, sseNamed, ssePassed } from "../../wire/sse.ts"
import type { NativeWriter } from "../ChunkWriter.ts"
import {
  ended,
  endOf,
  exchanged,
  itemStatusOf,
  type ResponseNames,
  type ResponseState,
  shownItem,
  stateMembers,
} from "./responsesAnswer.ts"
import { callInputs, endingsOf, kindOfEvent, type PartKind, partKinds } from "./responsesEvents.ts"
import { usageBody } from "./responsesUsage.ts"

const broken = (cause: string): HostFailed => new HostFailed({ reason: "malformed", cause })

export class NativeEvents implements NativeWriter {
  hasStarted = false
  hasSpoken = false
  private readonly names: ResponseNames
  private readonly host: Host | undefined
  /** The host's response at the start. */
  private start: JsonObject = {}
  private readonly items: Array<NativeItem> = []
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
      const type = String(this.last["type"] ?? "response.completed")
      const state = ended(this.withItems(response), type.slice("response.".length))
      const written = { ...exchanged(this.names, this.host, state), usage: usageBody(charge) }
      return sseNamed(type, JSON.stringify({ ...this.last, type, response: written, sequence_number: this.next }))
    }
    const state = endOf(choice)
    let text = ""
    for (const [at, item] of this.items.entries()) {
      if (item.done !== undefined) continue
      const isHidden = this.names.hidesReasoning && item.begun["type"] === "reasoning"
      for (const [type, members] of isHidden ? [] : item.endings(at)) text += this.numbered(type, members)
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

  /** Some hosts leave the output of the last event empty (litellm#32724). */
  private withItems(response: JsonObject): JsonObject {
    const { output } = response
    const isEmpty = !Array.isArray(output) || output.length === 0
    return isEmpty ? { ...response, output: this.items.map((item) => item.written()) } : response
  }

  private shown(item: NativeItem): unknown {
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
      this.items.push(new NativeItem(item))
      this.hasSpoken ||= item["type"] !== "message" && item["type"] !== "reasoning"
      return undefined
    }
    // The second only says that the host is at work on an item.
    if (at === undefined || type === "response.compaction.compacting") return undefined
    const known = typeof at === "number" ? this.items[at] : undefined
    if (known === undefined) return broken("an event of an item that has not begun")
    if (type === "response.output_item.done" && isJsonObject(item)) known.done = item
    else if (known.done !== undefined) return broken("an event of an item that has ended")
    else known.add(type, event)
    this.hasSpoken ||= type === "response.output_item.done" || typeof event["delta"] === "string"
    return undefined
  }

  private passed(type: string, event: JsonObject, json: string): string {
    if (!this.names.hidesReasoning) {
      const passed = ssePassed(type, event, json)
      if (passed !== "") this.count(event)
      return passed
    }
    if (!isEventName(type)) return ""
    // Parts of reasoning are left out, so further events are numbered anew.
    const { sequence_number: _, type: __, ...others } = event
    const isOfReasoning = this.items[Number(event["output_index"])]?.begun["type"] === "reasoning"
    if (!isOfReasoning) return this.numbered(type, others)
    return event["item"] === undefined
      ? ""
      : this.numbered(type, { ...others, item: shownItem(this.names, event["item"]) })
  }

  private count({ sequence_number: number }: JsonObject): void {
    this.next = typeof number === "number" ? number + 1 : this.next + 1
  }
}

interface Part {
  readonly kind: PartKind
  readonly begun: JsonObject
  text: string
  isTextEnded: boolean
  isEnded: boolean
}

const writtenPart = ({ kind, begun, text }: Part): JsonObject => ({ ...begun, [kind.text]: text })

/** The kinds of parts by their types, which hosts name. */
const kindOfType: ReadonlyMap<unknown, PartKind> = new Map(Object.entries(partKinds))

/**
 * An output item of the host, as far as it has come. Where the host ends a stream early, the gateway ends the item and its
 * parts with what came.
 */
class NativeItem {
  readonly begun: JsonObject
  /** As its host ended it. */
  done: JsonObject | undefined
  private readonly parts = { content: new Map<number, Part>(), summary: new Map<number, Part>() }
  /** The member of a call that comes in pieces. */
  private readonly member: "arguments" | "input" | undefined
  private input = ""
  private isInputEnded = false

  constructor(begun: JsonObject) {
    this.begun = begun
    this.member = (["arguments", "input"] as const).find((member) => typeof begun[member] === "string")
  }

  add(type: string, event: JsonObject): void {
    const isDone = type.endsWith(".done")
    if (type.startsWith(callInputs.arguments) || type.startsWith(callInputs.input)) {
      if (isDone) this.isInputEnded = true
      else this.input += textOr(event["delta"], "")
      return
    }
    const kind = kindOfEvent.get(type)?.kind
    const part = this.part(kind ?? kindOfType.get(objectIn(event["part"])["type"]), event)
    if (part === undefined) return
    if (type.endsWith(".delta")) part.text += textOr(event["delta"], "")
    if (isDone) part.isTextEnded = true
    if (isDone && kind === undefined) part.isEnded = true
  }

  /** What ends the parts that are open. */
  endings(at: number): ReadonlyArray<readonly [type: string, members: JsonObject]> {
    const place = { item_id: this.begun["id"], output_index: at }
    const endings: Array<readonly [type: string, members: JsonObject]> = []
    for (const list of [this.parts.summary, this.parts.content]) {
      for (const [index, part] of list) {
        const { kind, text, isTextEnded, isEnded } = part
        const [ofText, ofPart] = endingsOf(kind, { ...place, [kind.index]: index }, text, writtenPart(part))
        if (!isTextEnded) endings.push(ofText)
        if (!isEnded) endings.push(ofPart)
      }
    }
    const { member, input, isInputEnded } = this
    if (member !== undefined && !isInputEnded)
      endings.push([`${callInputs[member]}.done`, { ...place, [member]: input }])
    return endings
  }

  /** The item as its host ended it, or as far as it has come. */
  written(): JsonObject {
    if (this.done !== undefined) return this.done
    const { begun, member, input } = this
    const { content, summary } = this.parts
    return {
      ...begun,
      ...(content.size === 0 ? {} : { content: Array.from(content.values(), writtenPart) }),
      ...(summary.size === 0 ? {} : { summary: Array.from(summary.values(), writtenPart) }),
      ...(member === undefined ? {} : { [member]: input }),
      status: "incomplete",
    }
  }

  private part(kind: PartKind | undefined, event: JsonObject): Part | undefined {
    const index = kind && event[kind.index]
    if (kind === undefined || typeof index !== "number") return undefined
    const known = this.parts[kind.list].get(index)
    if (known !== undefined) return known
    const begun = isJsonObject(event["part"]) ? event["part"] : { type: kind.type }
    const part = { kind, begun, text: "", isTextEnded: false, isEnded: false }
    this.parts[kind.list].set(index, part)
    return part
  }
}
