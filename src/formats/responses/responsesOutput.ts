/**
 * The output of the Responses form, made of canonical deltas. For a stream each step is reported as an event. A whole answer
 * is read as the same deltas (`deltasOf`), without events, so both have the same items.
 *
 * A message and reasoning end when something else begins. Calls stay open while other calls come, since hosts of the chat
 * form may write several at a time. Complete ones end when something else begins: Codex keeps items in the order of their
 * ends.
 */

import type { JsonObject } from "../../domain/json/json.ts"
import type { Annotation, ChatDelta, OutputImage, ReasoningDetail, ToolCallDelta } from "../../domain/request/chat.ts"
import { citationsIn } from "../content.ts"
import { isOrderEntry } from "../conversation.ts"
import type { EventSink } from "./responsesEvents.ts"
import {
  CallOutput,
  ImageOutput,
  type ItemStatus,
  MessageOutput,
  type OutputItem,
  ReasoningOutput,
  saysReasoning,
} from "./responsesOutputItems.ts"
import { itemId } from "./responsesReasoning.ts"
import type { ToolNames } from "./responsesToolNames.ts"

/** What the items of a response are named by. */
export interface ItemNames {
  /** The generation's id without its prefix, for the ids of the items. */
  readonly suffix: string
  /** The tools of the request, by the names that hosts call them. */
  readonly tools: ToolNames
}

interface Entry {
  readonly item: OutputItem
  /** `in_progress` until its end was reported. */
  status: ItemStatus
}

/** A call whose name has not come yet. */
interface Unnamed {
  id: string
  fragments: string
}

export class OutputItems {
  private readonly suffix: string
  private readonly events: EventSink | undefined
  private readonly tools: ToolNames
  private readonly entries: Array<Entry> = []
  /** The message or the reasoning that is open. */
  private current: MessageOutput | ReasoningOutput | undefined
  private readonly messages: Array<MessageOutput> = []
  private readonly calls = new Map<number, CallOutput>()
  /** Calls whose end was not reported, in their order. */
  private readonly open: Array<CallOutput> = []
  private readonly unnamed = new Map<number, Unnamed>()
  /** The choice whose calls count. */
  private calledIn: number | undefined

  /** `events`: absent for a whole answer. */
  constructor({ suffix, tools }: ItemNames, events?: EventSink) {
    this.suffix = suffix
    this.tools = tools
    this.events = events
  }

  /** Adds what a delta says. `logprobs`: of its text. */
  add(delta: ChatDelta, logprobs?: unknown): void {
    const { content, refusal, reasoning, reasoning_details: details, annotations, images, tool_calls: calls } = delta
    if (reasoning || details !== undefined) this.think(reasoning, details ?? [])
    if (content) this.said().addText(content, logprobs)
    if (refusal) this.said().addRefusal(refusal)
    if (annotations !== undefined) for (const annotation of citationsIn(annotations)) this.cite(annotation)
    if (images !== undefined) for (const image of images) this.show(image)
    if (calls !== undefined) this.addCalls(0, calls)
  }

  /** Calls of a choice. Some hosts have text in the first one, and calls in the second: those of one choice count. */
  addCalls(choice: number, calls: ReadonlyArray<ToolCallDelta>): void {
    if (calls.length === 0) return
    this.calledIn ??= choice
    if (this.calledIn === choice) for (const call of calls) this.call(call)
  }

  /** Ends what is open. */
  close(status: ItemStatus): void {
    for (const [index, { id, fragments }] of this.unnamed) this.beginCall(index, id, "", fragments)
    this.unnamed.clear()
    for (const entry of this.entries) this.end(entry, status)
  }

  /** All items in their order. `open`: the status of those whose end was not reported. */
  written(open: ItemStatus): ReadonlyArray<JsonObject> {
    return this.entries.map(({ item, status }) => item.written(status === "in_progress" ? open : status))
  }

  /** The text of the answer. */
  get text(): string {
    return this.messages.map(({ text }) => text).join("")
  }

  private begin<A extends OutputItem>(item: A): A {
    this.endCurrent()
    if (!(item instanceof CallOutput)) this.endCalls()
    this.entries.push({ item, status: "in_progress" })
    this.events?.event("response.output_item.added", { output_index: item.at, item: item.written("in_progress") })
    return item
  }

  private end(entry: Entry, status: ItemStatus): void {
    if (entry.status !== "in_progress") return
    entry.status = status
    if (this.events === undefined) return
    const { item } = entry
    item.close(this.events, status)
    this.events.event("response.output_item.done", { output_index: item.at, item: item.written(status) })
  }

  private endCurrent(): void {
    const entry = this.current && this.entries[this.current.at]
    this.current = undefined
    if (entry !== undefined) this.end(entry, "completed")
  }

  /** Ends calls up to the first whose arguments may go on. */
  private endCalls(): void {
    while (this.open.length > 0) {
      const [call] = this.open
      const entry = call && this.entries[call.at]
      if (entry === undefined || !call?.isComplete) return
      this.open.shift()
      this.end(entry, "completed")
    }
  }

  /** Where the next item goes, and the id that the gateway gives it. */
  private next(kind: Parameters<typeof itemId>[0]): readonly [id: string, at: number] {
    const at = this.entries.length
    return [itemId(kind, this.suffix, at), at]
  }

  private said(): MessageOutput {
    if (this.current instanceof MessageOutput) return this.current
    const message = this.begin(new MessageOutput(...this.next("msg"), this.events))
    this.messages.push(message)
    this.current = message
    return message
  }

  /**
   * The places of a citation count from the beginning of the answer's text, here from that of the message. In a stream the
   * messages before the last one have ended.
   */
  private cite(annotation: Annotation): void {
    const { start_index: start } = annotation.url_citation
    let before = 0
    for (const message of this.events === undefined ? this.messages : []) {
      if (typeof start === "number" && start < before + message.text.length) {
        message.cite(annotation, before)
        return
      }
      before += message.text.length
    }
    const message = this.said()
    message.cite(annotation, this.text.length - message.text.length)
  }

  /** Plain text is read only where no piece has a text: hosts that give pieces give their text twice. */
  private think(text: string | null | undefined, details: ReadonlyArray<ReasoningDetail>): void {
    for (const detail of details) if (!isOrderEntry(detail) && saysReasoning(detail)) this.thought(detail).add(detail)
    if (text && !details.some((detail) => detail.text || detail.summary)) this.thought(undefined).addPlain(text)
  }

  /** The item of a piece, or of plain text. */
  private thought(detail: ReasoningDetail | undefined): ReasoningOutput {
    const { current } = this
    if (current instanceof ReasoningOutput && (detail === undefined ? current.isPlain : current.takes(detail))) {
      return current
    }
    const isTaken = (id: string) => this.entries.some(({ item }) => item.id === id)
    const thought = this.begin(new ReasoningOutput(...this.next("rs"), detail, this.events, isTaken))
    this.current = thought
    return thought
  }

  private show({ image_url: { url } }: OutputImage): void {
    const [id, at] = this.next("ig")
    const item = this.begin(new ImageOutput(id, at, url.replace(/^data:[^,]{0,256};base64,/i, "")))
    const entry = this.entries[item.at]
    if (entry !== undefined) this.end(entry, "completed")
  }

  private call({ index, id = "", function: called }: ToolCallDelta): void {
    const fragment = called?.arguments ?? ""
    const known = this.calls.get(index)
    if (known !== undefined) {
      if (fragment !== "" && this.entries[known.at]?.status === "in_progress") known.add(fragment)
      return
    }
    const early = this.unnamed.get(index) ?? { id, fragments: "" }
    early.fragments += fragment
    if (called?.name) {
      this.unnamed.delete(index)
      this.beginCall(index, early.id, called.name, early.fragments)
    } else this.unnamed.set(index, early)
  }

  private beginCall(index: number, callId: string, name: string, fragments: string): void {
    const tool = this.tools.calledAs(name)
    const [id, at] = this.next(tool.kind.call.id)
    const call = this.begin(new CallOutput(id, at, callId, tool, this.events))
    this.calls.set(index, call)
    this.open.push(call)
    if (fragments !== "") call.add(fragments)
  }
}
