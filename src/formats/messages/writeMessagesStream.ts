/**
 * A streamed answer in the Messages form. Events of a host of the form pass through `NativeMessagesEvents.ts`; canonical chunks of any
 * other host become blocks: one is open at a time, numbered without gaps. The finish, with usage and cost, and failures are
 * written here for both.
 */

import type { Failure } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import type {
  ChatChunk,
  ChatChunkChoice,
  ChatDelta,
  ReasoningDetail,
  ToolCallDelta,
} from "../../domain/request/chat.ts"
import { JsonCount } from "../../wire/jsonDepth.ts"
import { sseComment, sseNamed } from "../../wire/sse.ts"
import { callIdOf } from "../callId.ts"
import { citationsIn } from "../content.ts"
import { isOrderEntry } from "../conversation.ts"
import { plainText, says } from "../delta.ts"
import type { StreamWriter } from "../StreamWriter.ts"
import { messagesErrorBody } from "./messagesErrorBody.ts"
import { NativeEvents } from "./NativeMessagesEvents.ts"
import {
  citationOf,
  ending,
  imageBlock,
  type MessageNames,
  nothing,
  saysText,
  signatureOf,
  thinkingBlock,
  usageAtStart,
  usageBody,
} from "./writeMessagesAnswer.ts"

const ping = sseNamed("ping", '{"type":"ping"}')

export const eventOf = (type: string, members: JsonObject): string =>
  sseNamed(type, JSON.stringify({ type, ...members }))

export const messagesWriter = (names: MessageNames, host: Host | undefined): StreamWriter =>
  new EventWriter(names, host)

/** The open block, and what it needs at its end. */
type Open =
  | { readonly kind: "text" }
  | { readonly kind: "thinking"; readonly place: number | undefined; detail: ReasoningDetail }
  | { readonly kind: "tool"; readonly place: number; readonly json: JsonCount }

/** Fragments of a call that came while another one was incomplete, or that have no name yet. */
interface Waiting {
  readonly kind: "call"
  readonly place: number
  id: string
  name: string
  json: string
}

/** What was said behind such a call. Texts are joined. */
type Held = Waiting | { readonly kind: "text"; text: string } | { readonly kind: "said"; readonly delta: ChatDelta }

class EventWriter implements StreamWriter {
  readonly native: NativeEvents
  private readonly names: MessageNames
  private readonly host: Host | undefined
  private started = false
  private blocks = 0
  private open: Open | undefined
  private readonly waiting = new Map<number, Waiting>()
  /**
   * Calls, and what was said between them, in order, from `next` on. Deleting the first entry of a list repeatedly takes
   * quadratic time.
   */
  private queue: Array<Held> = []
  private next = 0
  /** Blank text behind a call. It is written with the text that follows, if any does. */
  private blank = ""
  private readonly called = new Set<number>()
  /** The choice whose calls are written: of hosts that give them a choice of their own, the first one with calls. */
  private caller: number | undefined
  private refusal = ""

  constructor(names: MessageNames, host: Host | undefined) {
    this.names = names
    this.host = host
    this.native = new NativeEvents(names, host)
  }

  /** Clients expect nothing before the start of the message, so until then it is a comment. */
  get heartbeat(): string {
    return this.started || this.native.hasStarted ? ping : sseComment
  }

  chunk({ choices }: ChatChunk): string {
    let text = ""
    for (const choice of choices) text += this.choice(choice)
    return text
  }

  finish({ choices, service_tier: tier }: ChatChunk, charge: Charge): string {
    const metadata = this.names.metadata?.(this.host)
    const last = eventOf("message_stop", metadata === undefined ? {} : { openrouter_metadata: metadata })
    const choice = choices.find(({ index }) => index === 0) ?? choices[0]
    if (this.native.hasStarted) return this.native.finish(choice, charge) + last
    let text = ""
    for (const ended of choices) text += this.choice(ended)
    text += this.begin() + this.goOn(true) + this.close()
    return text + eventOf("message_delta", { delta: this.ending(choice), usage: usageBody(charge, tier) }) + last
  }

  failure(failure: Failure | undefined, charge: Charge | undefined): string {
    const rendered = this.names.rendered(failure)
    const { type: _, ...body } = messagesErrorBody(rendered, this.names.requestId)
    return eventOf("error", {
      ...body,
      usage: usageBody(charge ?? nothing),
      openrouter_metadata: this.names.metadata?.(this.host),
    })
  }

  private ending(choice: ChatChunkChoice | undefined) {
    const finish = choice?.finish_reason ?? "stop"
    const hasCalled = this.called.size > 0
    return ending(hasCalled && finish === "stop" ? "tool_calls" : finish, choice?.native_finish_reason, this.refusal)
  }

  /** The form gives one answer: what the first choice says, and the calls. */
  private choice({ index, delta }: ChatChunkChoice): string {
    const { tool_calls: calls } = delta
    let text = index === 0 ? this.said(delta) : ""
    if (calls === undefined || calls.length === 0) return text
    this.caller ??= index
    if (this.caller === index) for (const call of calls) text += this.call(call)
    return text
  }

  /** What comes behind an incomplete call waits, so that every block has one start and one stop. */
  private said(delta: ChatDelta): string {
    if (!this.isWaiting) return this.delta(delta)
    const choice = { index: 0, delta, finish_reason: null }
    if (!says(choice)) return ""
    const text = plainText(choice)
    const last = this.queue.at(-1)
    if (text === undefined) this.queue.push({ kind: "said", delta })
    else if (last?.kind === "text") last.text += text
    else this.queue.push({ kind: "text", text })
    return ""
  }

  private get isWaiting(): boolean {
    return this.queue.length > 0 || (this.open?.kind === "tool" && !this.open.json.isClosed)
  }

  private delta(delta: ChatDelta): string {
    const { content, annotations, images, refusal } = delta
    let text = this.names.thinking === "none" ? "" : this.thoughts(delta)
    if (content) text += this.spoken(content)
    if (refusal) this.refusal += refusal
    for (const annotation of citationsIn(annotations)) {
      text += this.text() + this.piece({ type: "citations_delta", citation: citationOf(annotation) })
    }
    for (const image of images ?? []) text += this.whole(imageBlock(image.image_url.url))
    return text
  }

  private thoughts({ reasoning, reasoning_details: details }: ChatDelta): string {
    let text = ""
    if (reasoning && details?.some(saysText) !== true) {
      text += this.thought(undefined, { type: "reasoning.text", text: reasoning })
    }
    for (const detail of details ?? []) text += this.detail(detail)
    return text
  }

  /** The start of the message, once. */
  private begin(): string {
    if (this.started) return ""
    this.started = true
    return eventOf("message_start", {
      message: {
        id: this.names.generationId,
        type: "message",
        role: "assistant",
        model: this.host?.model ?? this.names.model,
        provider: this.host?.providerName,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        stop_details: null,
        container: null,
        usage: usageAtStart(this.names),
      },
    })
  }

  private start(block: JsonObject, open: Open): string {
    const text =
      this.begin() + this.close() + eventOf("content_block_start", { index: this.blocks, content_block: block })
    this.open = open
    this.blank = ""
    return text
  }

  private piece(delta: JsonObject): string {
    return eventOf("content_block_delta", { index: this.blocks, delta })
  }

  /** The commonest event, written without an object in between. */
  private textPiece(text: string): string {
    const delta = `{"type":"text_delta","text":${JSON.stringify(text)}}`
    return sseNamed("content_block_delta", `{"type":"content_block_delta","index":${this.blocks},"delta":${delta}}`)
  }

  private close(): string {
    const { open } = this
    if (open === undefined) return ""
    const signature = open.kind === "thinking" ? signatureOf(open.detail) : ""
    const signed = signature === "" ? "" : this.piece({ type: "signature_delta", signature })
    this.open = undefined
    return signed + eventOf("content_block_stop", { index: this.blocks++ })
  }

  /** A block that comes as a whole. */
  private whole(block: JsonObject): string {
    return this.start(block, { kind: "text" }) + this.close()
  }

  /** Blank text changes nothing behind a call, unless other text follows. */
  private spoken(text: string): string {
    if (this.open?.kind === "tool" && text.trim() === "") {
      this.blank += text
      return ""
    }
    const all = this.blank + text
    return this.text() + this.textPiece(all)
  }

  private text(): string {
    if (this.open?.kind === "text") return ""
    return this.start({ type: "text", text: "" }, { kind: "text" })
  }

  private detail(detail: ReasoningDetail): string {
    if (isOrderEntry(detail)) return ""
    if (detail.type === "reasoning.encrypted") return this.whole(thinkingBlock(detail, false))
    return this.thought(detail.index, detail)
  }

  /** Fragments of the same place are one block, until one that is signed. */
  private thought(place: number | undefined, detail: ReasoningDetail): string {
    const { open } = this
    let text = ""
    if (open?.kind !== "thinking" || open.place !== place || open.detail.signature) {
      text = this.start({ type: "thinking", thinking: "", signature: "" }, { kind: "thinking", place, detail })
    } else open.detail = { ...open.detail, ...withoutNulls(detail) }
    const said = detail.text ?? detail.summary
    return said && this.names.thinking === "shown"
      ? text + this.piece({ type: "thinking_delta", thinking: said })
      : text
  }

  /**
   * The call that is open goes on until its arguments are complete. Fragments of others wait until then, and for the name of
   * the call. A late piece of a call that is complete changes nothing.
   */
  private call({ index, id, function: called }: ToolCallDelta): string {
    const json = called?.arguments ?? ""
    const { open } = this
    if (open?.kind === "tool" && open.place === index) {
      open.json.add(json)
      const piece = json === "" ? "" : this.piece({ type: "input_json_delta", partial_json: json })
      return piece + this.goOn(false)
    }
    if (this.called.has(index)) return ""
    const waiting = this.waiting.get(index)
    if (waiting === undefined) {
      const added: Waiting = { kind: "call", place: index, id: id ?? "", name: called?.name ?? "", json }
      this.waiting.set(index, added)
      this.queue.push(added)
    } else {
      waiting.json += json
      waiting.id ||= id ?? ""
      waiting.name ||= called?.name ?? ""
    }
    return this.goOn(false)
  }

  /** Writes what waits, up to the next incomplete call; to the end where nothing more comes. */
  private goOn(isEnd: boolean): string {
    let text = ""
    for (let held = this.queue[this.next]; held !== undefined; held = this.queue[this.next]) {
      // Hosts that interleave calls announce several before the arguments of the first, so "" does not end a call.
      const isOpen = this.open?.kind === "tool" && !this.open.json.isClosed
      if (!isEnd && (isOpen || (held.kind === "call" && held.name === ""))) return text
      this.next += 1
      if (held.kind === "call") text += this.startCall(held)
      else text += held.kind === "text" ? this.spoken(held.text) : this.delta(held.delta)
    }
    this.queue = []
    this.next = 0
    return text
  }

  private startCall({ place, id, name, json }: Waiting): string {
    this.waiting.delete(place)
    this.called.add(place)
    const written = new JsonCount(false)
    written.add(json)
    const block = { type: "tool_use", id: callIdOf(id), name, input: {} }
    const started = this.start(block, { kind: "tool", place, json: written })
    return json === "" ? started : started + this.piece({ type: "input_json_delta", partial_json: json })
  }
}

const withoutNulls = ({ text: _, summary: __, ...detail }: ReasoningDetail): JsonObject =>
  Object.fromEntries(Object.entries(detail).filter(([, value]) => value != null))
