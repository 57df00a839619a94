/**
 * A streamed answer of the Messages format, read and written. A host numbers all blocks together; canonically calls are
 * numbered from 0, and reasoning by its place among the parts. For a client canonical chunks become blocks: one is open at
 * a time, numbered without gaps.
 */
import type { Mutable } from "effect/Types"
import type { Failure, HostFailed } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { isJsonObject, type JsonObject, objectIn, objectsIn, textOr } from "../../domain/json/json.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import type {
  ChatChunk,
  ChatChunkChoice,
  ChatDelta,
  ReasoningDetail,
  ToolCallDelta,
} from "../../domain/request/chat.ts"
import { bytesOf } from "../../domain/request/estimate.ts"
import { JsonCount } from "../../wire/jsonDepth.ts"
import { sseComment, sseNamed } from "../../wire/sse.ts"
import { callIdOf } from "../callId.ts"
import { citationsIn } from "../content.ts"
import { isOrderEntry, PartOrder, textOfDetail } from "../conversation.ts"
import { chunkOf } from "../delta.ts"
import { malformed } from "../httpError.ts"
import type { Decoder } from "../Protocol.ts"
import { noCharge } from "../routerUsage.ts"
import type { StreamWriter } from "../StreamWriter.ts"
import { type WaitingCall, WaitingCalls } from "./MessagesWaitingCalls.ts"
import {
  annotationsOf,
  argumentsOf,
  citationOf,
  signatureOf,
  thinkingBlock,
  thoughtHidden,
  thoughtText,
} from "./messagesBlocks.ts"
import { messagesErrorBody, messagesErrorInBody } from "./messagesError.ts"
import { imageBlock } from "./messagesMedia.ts"
import { NativeEvents } from "./messagesNativeStream.ts"
import { ending, finishReasonOf, refusalOf } from "./messagesStop.ts"
import type { MessageNames } from "./messagesThinking.ts"
import { laterUsage, tierField, usageAtStart, usageBody, usageOf } from "./messagesUsage.ts"

const noChunks: ReadonlyArray<ChatChunk> = []

/** A block that the host has begun. Those of tools that the host itself runs are not kept: nothing of them is passed on. */
type Begun =
  | { readonly kind: "text"; readonly start: number; readonly citations: Array<unknown> }
  | { readonly kind: "thinking"; readonly index: number }
  | BegunCall

interface BegunCall {
  readonly kind: "tool"
  readonly index: number
  readonly input: unknown
  isEmpty: boolean
}

export class MessagesDecoder implements Decoder {
  private readonly blocks = new Map<unknown, Begun>()
  /** Members of every `usage` so far. */
  private usage: JsonObject = {}
  private calls = 0
  private readonly order = new PartOrder()
  /** UTF-16 units of text so far. */
  private textLength = 0
  private spoke = false
  private finished = false
  private stopped = false

  event(name: string, data: unknown): ReadonlyArray<ChatChunk> | HostFailed {
    if (!isJsonObject(data)) return noChunks
    switch (data["type"] ?? name) {
      case "content_block_delta":
        return this.delta(data["index"], data["delta"])
      case "content_block_start":
        return this.begin(data["index"], data["content_block"])
      case "content_block_stop":
        return this.close(data["index"])
      case "message_start":
        // Its usage is not passed on: its output count is 0 or 1, which would undercharge an answer that is cut.
        this.usage = laterUsage(this.usage, objectIn(data["message"])["usage"])
        return chunkOf({ role: "assistant", content: "" })
      case "message_delta":
        return this.messageDelta(data)
      case "message_stop":
        this.stopped = true
        if (this.finished) return noChunks
        // An end without a reason is a stop, when any content came before it.
        return this.spoke ? this.finish("stop", undefined) : malformed()
      case "error":
        return messagesErrorInBody(data["error"])
      default:
        // A proxy in front of the host may send errors in another form.
        return data["error"] == null ? noChunks : messagesErrorInBody(data["error"])
    }
  }

  done(): boolean {
    return this.stopped
  }

  /** Returns nothing, since nothing is held back. */
  end(): ReadonlyArray<ChatChunk> {
    return noChunks
  }

  private begin(place: unknown, block: unknown): ReadonlyArray<ChatChunk> {
    if (!isJsonObject(block)) return noChunks
    switch (block["type"]) {
      case "text":
        this.blocks.set(place, { kind: "text", start: this.textLength, citations: [...objectsIn(block["citations"])] })
        return this.text(block["text"])
      case "thinking": {
        const index = this.order.reasoning()
        this.blocks.set(place, { kind: "thinking", index })
        return [
          ...this.thought(index, "text", block["thinking"]),
          ...this.thought(index, "signature", block["signature"]),
        ]
      }
      case "redacted_thinking": {
        const index = this.order.reasoning()
        return chunkOf({ reasoning_details: [this.piece(index, thoughtHidden(textOr(block["data"], "")))] })
      }
      case "tool_use": {
        const index = this.calls++
        this.spoke = true
        this.blocks.set(place, { kind: "tool", index, input: block["input"], isEmpty: true })
        const called = { name: textOr(block["name"], ""), arguments: "" }
        const id = callIdOf(block["id"])
        this.order.call(id)
        return chunkOf({ tool_calls: [{ index, id, type: "function", function: called }] })
      }
      default:
        return noChunks
    }
  }

  private delta(place: unknown, delta: unknown): ReadonlyArray<ChatChunk> | HostFailed {
    if (!isJsonObject(delta)) return noChunks
    if (delta["type"] === "text_delta") {
      return typeof delta["text"] === "string" ? this.text(delta["text"]) : malformed()
    }
    const block = this.blocks.get(place)
    switch (delta["type"]) {
      case "input_json_delta":
        return block?.kind === "tool" ? this.input(block, delta["partial_json"]) : unseen(delta["partial_json"])
      case "thinking_delta":
        return block?.kind === "thinking" ? this.thought(block.index, "text", delta["thinking"]) : noChunks
      case "signature_delta":
        return block?.kind === "thinking" ? this.thought(block.index, "signature", delta["signature"]) : noChunks
      case "citations_delta":
        if (block?.kind === "text") block.citations.push(delta["citation"])
        return noChunks
      default:
        return noChunks
    }
  }

  private text(text: unknown): ReadonlyArray<ChatChunk> {
    if (typeof text !== "string" || text === "") return noChunks
    this.spoke = true
    this.textLength += text.length
    this.order.text(text)
    return chunkOf({ content: text })
  }

  private thought(index: number, member: "text" | "signature", value: unknown): ReadonlyArray<ChatChunk> {
    if (typeof value !== "string" || value === "") return noChunks
    const reasoning_details = [this.piece(index, thoughtText({ [member]: value }))]
    return chunkOf(member === "text" ? { reasoning: value, reasoning_details } : { reasoning_details })
  }

  private piece(index: number, detail: ReasoningDetail): ReasoningDetail {
    this.spoke = true
    this.order.reasoned(index, detail)
    return { ...detail, index }
  }

  private input(block: BegunCall, json: unknown): ReadonlyArray<ChatChunk> {
    if (typeof json !== "string" || json === "") return noChunks
    block.isEmpty = false
    return chunkOf({ tool_calls: [{ index: block.index, function: { arguments: json } }] })
  }

  /** Closes a block. A call without input deltas has its input at its start, or none, which is `{}`. */
  private close(place: unknown): ReadonlyArray<ChatChunk> {
    const block = this.blocks.get(place)
    this.blocks.delete(place)
    if (block?.kind === "tool" && block.isEmpty) return this.input(block, argumentsOf(block.input))
    if (block?.kind !== "text") return noChunks
    // The end of the cited text is known only now.
    const annotations = annotationsOf(block.citations, block.start, this.textLength)
    return annotations.length === 0 ? noChunks : chunkOf({ annotations })
  }

  private messageDelta({ usage, delta }: JsonObject): ReadonlyArray<ChatChunk> {
    this.usage = laterUsage(this.usage, usage)
    const { stop_reason: reason, stop_details: details } = objectIn(delta)
    return typeof reason !== "string" || this.finished ? noChunks : this.finish(reason, refusalOf(details))
  }

  private finish(native: string, refusal: string | undefined): ReadonlyArray<ChatChunk> {
    this.finished = true
    const rest: Array<ChatChunk> = []
    for (const place of this.blocks.keys()) rest.push(...this.close(place))
    const order = this.order.entry()
    const finish = {
      index: 0,
      delta: { content: "", ...(refusal === undefined ? {} : { refusal }) },
      finish_reason: finishReasonOf(native, this.calls > 0),
      native_finish_reason: native,
    }
    const usage = usageOf(this.usage)
    return [
      ...rest,
      ...(order.length === 0 ? noChunks : chunkOf({ reasoning_details: order })),
      { choices: [finish], ...(usage === undefined ? {} : { usage }), ...tierField(this.usage) },
    ]
  }
}

/** Counts the input of a tool that the host itself runs: the model wrote it, and the caller is not sent it. */
const unseen = (json: unknown): ReadonlyArray<ChatChunk> => {
  const bytes = bytesOf(json)
  return bytes === 0 ? noChunks : [{ choices: [], unseen: bytes }]
}

// --- for clients

const eventOf = (type: string, members: JsonObject): string => sseNamed(type, JSON.stringify({ type, ...members }))

const ping = eventOf("ping", {})

/** The open block, and what it needs at its end. */
type Open =
  | { readonly kind: "text" }
  | { readonly kind: "thinking"; readonly place: number | undefined; readonly detail: Mutable<ReasoningDetail> }
  | { readonly kind: "tool"; readonly place: number; readonly json: JsonCount }

const openText: Open = { kind: "text" }

/** Events of a host of the form pass through `native`. The finish and failures are written here for both. */
export class MessagesWriter implements StreamWriter {
  readonly native: NativeEvents
  private readonly names: MessageNames
  private readonly host: Host | undefined
  private started = false
  private blocks = 0
  private open: Open | undefined
  private readonly waiting = new WaitingCalls()
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

  finish(chunk: ChatChunk, charge: Charge): string {
    const { choices, service_tier: tier } = chunk
    const last = eventOf("message_stop", { openrouter_metadata: this.names.metadata?.(this.host) })
    const choice = choices.find(({ index }) => index === 0) ?? choices[0]
    if (this.native.hasStarted) return this.native.finish(choice, charge) + last
    const text = this.chunk(chunk) + this.begin() + this.goOn(true) + this.close()
    const delta = ending(choice, this.called.size > 0, this.refusal)
    return text + eventOf("message_delta", { delta, usage: usageBody(charge, tier) }) + last
  }

  failure(failure: Failure | undefined, charge: Charge | undefined): string {
    const { error, request_id } = messagesErrorBody(this.names.rendered(failure), this.names.requestId)
    const openrouter_metadata = this.names.metadata?.(this.host)
    return eventOf("error", { error, request_id, usage: usageBody(charge ?? noCharge), openrouter_metadata })
  }

  /** The form gives one answer: what the first choice says, and the calls. What comes behind an incomplete call waits. */
  private choice({ index, delta }: ChatChunkChoice): string {
    let text = ""
    if (index === 0) {
      if (this.isCalling || !this.waiting.isEmpty) this.waiting.say(delta)
      else text = this.delta(delta)
    }
    const { tool_calls: calls } = delta
    if (calls === undefined || calls.length === 0) return text
    this.caller ??= index
    if (this.caller === index) for (const call of calls) text += this.call(call)
    return text
  }

  /** Hosts that interleave calls announce several before the arguments of the first, so "" does not end a call. */
  private get isCalling(): boolean {
    return this.open?.kind === "tool" && !this.open.json.isClosed
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

  private thoughts({ reasoning, reasoning_details }: ChatDelta): string {
    const details = reasoning_details ?? []
    let text = ""
    if (reasoning && !details.some(textOfDetail)) {
      text += this.thought(undefined, { type: "reasoning.text", text: reasoning })
    }
    for (const detail of details) {
      if (isOrderEntry(detail)) continue
      if (detail.type === "reasoning.encrypted") text += this.whole(thinkingBlock(detail, false))
      else text += this.thought(detail.index, detail)
    }
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
        usage: usageAtStart(this.names.promptTokens),
      },
    })
  }

  private start(block: JsonObject, open: Open): string {
    const before = this.begin() + this.close()
    this.open = open
    this.blank = ""
    return before + eventOf("content_block_start", { index: this.blocks, content_block: block })
  }

  private piece(delta: JsonObject): string {
    return eventOf("content_block_delta", { index: this.blocks, delta })
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
    return this.start(block, openText) + this.close()
  }

  /** Blank text changes nothing behind a call, unless other text follows. */
  private spoken(text: string): string {
    if (this.open?.kind === "tool" && text.trim() === "") {
      this.blank += text
      return ""
    }
    const json = JSON.stringify(this.blank + text)
    const started = this.text()
    // The commonest event, written without an object in between.
    const delta = `{"type":"text_delta","text":${json}}`
    const event = `{"type":"content_block_delta","index":${this.blocks},"delta":${delta}}`
    return started + sseNamed("content_block_delta", event)
  }

  private text(): string {
    return this.open?.kind === "text" ? "" : this.start({ type: "text", text: "" }, openText)
  }

  /** Fragments of the same place are one block, until one that is signed. */
  private thought(place: number | undefined, detail: ReasoningDetail): string {
    const { open } = this
    let text = ""
    if (open?.kind !== "thinking" || open.place !== place || open.detail.signature) {
      const begun: Open = { kind: "thinking", place, detail: { ...detail } }
      text = this.start({ type: "thinking", thinking: "", signature: "" }, begun)
    } else addMembers(open.detail, detail)
    const thinking = textOfDetail(detail)
    if (thinking === "" || this.names.thinking !== "shown") return text
    return text + this.piece({ type: "thinking_delta", thinking })
  }

  /** A late piece of a call that is complete changes nothing. */
  private call(piece: ToolCallDelta): string {
    const { open } = this
    let text = ""
    if (open?.kind === "tool" && open.place === piece.index) {
      const json = piece.function?.arguments ?? ""
      open.json.add(json)
      text = this.input(json)
    } else if (!this.called.has(piece.index)) this.waiting.call(piece)
    return text + this.goOn(false)
  }

  private input(json: string): string {
    return json === "" ? "" : this.piece({ type: "input_json_delta", partial_json: json })
  }

  /** Writes what waits, up to the next incomplete call; to the end where nothing more comes. */
  private goOn(isEnd: boolean): string {
    let text = ""
    while (isEnd || !this.isCalling) {
      const held = this.waiting.take(isEnd)
      if (held === undefined) break
      text += held.kind === "call" ? this.startCall(held) : this.delta(held.delta)
    }
    return text
  }

  private startCall({ place, id, name, json }: WaitingCall): string {
    this.called.add(place)
    const written = new JsonCount(false)
    written.add(json)
    const block = { type: "tool_use", id: callIdOf(id), name, input: {} }
    return this.start(block, { kind: "tool", place, json: written }) + this.input(json)
  }
}

/** Adds what a later piece of the same thinking has besides its text. Runs for each piece, so it copies nothing. */
const addMembers = (detail: Record<string, unknown>, piece: ReasoningDetail): void => {
  for (const name in piece) {
    if (name !== "text" && name !== "summary" && piece[name] != null) detail[name] = piece[name]
  }
}
