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
import { citationsIn } from "../content.ts"
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

/** Fragments of a call that came while another one was incomplete. */
interface Waiting {
  readonly place: number
  readonly id: string
  readonly name: string
  json: string
}

class EventWriter implements StreamWriter {
  readonly native: NativeEvents
  private readonly names: MessageNames
  private readonly host: Host | undefined
  private started = false
  private blocks = 0
  private open: Open | undefined
  private readonly waiting = new Map<number, Waiting>()
  /** The same calls in order, from `next` on. Deleting the first entry of a map repeatedly takes quadratic time. */
  private readonly queue: Array<Waiting> = []
  private next = 0
  private readonly called = new Set<number>()
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
    for (const { index, delta } of choices) if (index === 0) text += this.delta(delta)
    return text
  }

  finish({ choices, service_tier: tier }: ChatChunk, charge: Charge): string {
    const metadata = this.names.metadata?.(this.host)
    const last = eventOf("message_stop", metadata === undefined ? {} : { openrouter_metadata: metadata })
    const [choice] = choices
    if (this.native.hasStarted) return this.native.finish(choice, charge) + last
    const text = choice === undefined ? "" : this.delta(choice.delta)
    const end = this.ending(choice)
    return (
      text +
      this.begin() +
      this.close() +
      this.callsInWait() +
      eventOf("message_delta", { delta: end, usage: usageBody(charge, tier) }) +
      last
    )
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
    return ending(choice?.finish_reason ?? "stop", choice?.native_finish_reason, this.refusal)
  }

  private delta(delta: ChatDelta): string {
    const { content, reasoning, reasoning_details: details, tool_calls: calls, annotations, images, refusal } = delta
    let text = ""
    if (reasoning && details?.some(saysText) !== true) {
      text += this.thought(undefined, { type: "reasoning.text", text: reasoning })
    }
    for (const detail of details ?? []) text += this.detail(detail)
    if (content) text += this.text() + this.textPiece(content)
    if (refusal) this.refusal += refusal
    for (const annotation of citationsIn(annotations)) {
      text += this.text() + this.piece({ type: "citations_delta", citation: citationOf(annotation) })
    }
    for (const image of images ?? []) text += this.whole(imageBlock(image.image_url.url))
    for (const call of calls ?? []) text += this.call(call)
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
        usage: usageBody(nothing),
      },
    })
  }

  private start(block: JsonObject, open: Open): string {
    const text =
      this.begin() + this.close() + eventOf("content_block_start", { index: this.blocks, content_block: block })
    this.open = open
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

  private text(): string {
    if (this.open?.kind === "text") return ""
    return this.start({ type: "text", text: "" }, { kind: "text" })
  }

  private detail(detail: ReasoningDetail): string {
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
    return said && !this.names.omitsThinking ? text + this.piece({ type: "thinking_delta", thinking: said }) : text
  }

  /** The call that is open goes on until its arguments are complete. Fragments of others wait until then. */
  private call({ index, id, function: called }: ToolCallDelta): string {
    const json = called?.arguments ?? ""
    const { open } = this
    if (open?.kind === "tool" && open.place === index) {
      open.json.add(json)
      return json === "" ? "" : this.piece({ type: "input_json_delta", partial_json: json })
    }
    if (this.called.has(index)) throw new Error("a piece of a tool call that was followed by something else")
    const waiting = this.waiting.get(index)
    if (waiting !== undefined) waiting.json += json
    else {
      const added = { place: index, id: id ?? "", name: called?.name ?? "", json }
      this.waiting.set(index, added)
      this.queue.push(added)
    }
    // Hosts that interleave calls announce several before the arguments of the first, so "" does not end a call.
    return open?.kind === "tool" && !open.json.isClosed ? "" : this.nextCall()
  }

  /** Opens the first call that waits. */
  private nextCall(): string {
    const waiting = this.queue[this.next]
    if (waiting === undefined) return ""
    const { place, id, name, json } = waiting
    this.next += 1
    this.waiting.delete(place)
    this.called.add(place)
    const written = new JsonCount(false)
    written.add(json)
    const started = this.start({ type: "tool_use", id, name, input: {} }, { kind: "tool", place, json: written })
    return json === "" ? started : started + this.piece({ type: "input_json_delta", partial_json: json })
  }

  private callsInWait(): string {
    let text = ""
    while (this.next < this.queue.length) text += this.nextCall()
    return text + this.close()
  }
}

const withoutNulls = ({ text: _, summary: __, ...detail }: ReasoningDetail): JsonObject =>
  Object.fromEntries(Object.entries(detail).filter(([, value]) => value != null))
