/**
 * Reads the events of a streamed Messages answer. The host numbers all blocks of an answer together; canonically calls are
 * numbered from 0, and reasoning by its place among the parts.
 */

import type { HostFailed } from "../../domain/failures/Failure.ts"
import { isJsonObject, type JsonObject, textOr } from "../../domain/json/json.ts"
import type { ChatChunk, ReasoningDetail } from "../../domain/request/chat.ts"
import { bytesOf } from "../../domain/request/estimate.ts"
import { callIdOf } from "../callId.ts"
import { PartOrder } from "../conversation.ts"
import { chunkOf } from "../delta.ts"
import { malformed } from "../httpError.ts"
import type { Decoder } from "../Protocol.ts"
import {
  annotationsOf,
  argumentsOf,
  finishReasonOf,
  laterUsage,
  refusalOf,
  thoughtHidden,
  thoughtText,
  tierField,
  usageOf,
} from "./readMessagesAnswer.ts"
import { messagesErrorInBody } from "./readMessagesError.ts"

/** An open block. Blocks of tools that the host itself runs are not kept, since nothing of them is passed on. */
type Block =
  | { readonly kind: "text"; readonly start: number; readonly citations: Array<unknown> }
  | { readonly kind: "thinking"; readonly index: number }
  | { readonly kind: "tool"; readonly index: number; readonly input: unknown; empty: boolean }

const nothing: ReadonlyArray<ChatChunk> = []

export const messagesDecoder = (): Decoder => new MessagesDecoder()

class MessagesDecoder implements Decoder {
  private readonly blocks = new Map<unknown, Block>()
  /** Members of every `usage` so far. Counts are cumulative, so later ones replace earlier ones. */
  private usage: JsonObject = {}
  private tools = 0
  private readonly order = new PartOrder()
  /** UTF-16 units of text so far. */
  private textLength = 0
  private spoke = false
  private finished = false
  private stopped = false

  event(name: string, data: unknown): ReadonlyArray<ChatChunk> | HostFailed {
    if (!isJsonObject(data)) return nothing
    switch (data["type"] ?? name) {
      case "content_block_delta":
        return this.delta(data["index"], data["delta"])
      case "content_block_start":
        return this.begin(data["index"], data["content_block"])
      case "content_block_stop":
        return this.close(data["index"])
      case "message_start":
        return this.start(data["message"])
      case "message_delta":
        return this.messageDelta(data)
      case "message_stop":
        return this.stop()
      case "error":
        return messagesErrorInBody(data["error"])
      default:
        // A proxy in front of the host may send errors in another form.
        return data["error"] == null ? nothing : messagesErrorInBody(data["error"])
    }
  }

  done(): boolean {
    return this.stopped
  }

  /** Returns nothing, since nothing is held back. */
  end(): ReadonlyArray<ChatChunk> {
    return nothing
  }

  /** Its usage is kept and not passed on: its output count is 0 or 1, which would undercharge an answer that is cut. */
  private start(message: unknown): ReadonlyArray<ChatChunk> {
    if (isJsonObject(message)) this.count(message["usage"])
    return chunkOf({ role: "assistant", content: "" })
  }

  private begin(place: unknown, block: unknown): ReadonlyArray<ChatChunk> {
    if (!isJsonObject(block)) return nothing
    switch (block["type"]) {
      case "text":
        this.blocks.set(place, { kind: "text", start: this.textLength, citations: listOf(block["citations"]) })
        return this.text(block["text"])
      case "thinking": {
        const index = this.order.reasoning()
        this.blocks.set(place, { kind: "thinking", index })
        return [...this.thought(index, block["thinking"]), ...this.signed(index, block["signature"])]
      }
      case "redacted_thinking":
        this.spoke = true
        return chunkOf({ reasoning_details: [this.piece(this.order.reasoning(), thoughtHidden(block["data"]))] })
      case "tool_use": {
        const index = this.tools++
        this.spoke = true
        this.blocks.set(place, { kind: "tool", index, input: block["input"], empty: true })
        const called = { name: textOr(block["name"], ""), arguments: "" }
        const id = callIdOf(block["id"])
        this.order.call(id)
        return chunkOf({ tool_calls: [{ index, id, type: "function", function: called }] })
      }
      default:
        return nothing
    }
  }

  private delta(place: unknown, delta: unknown): ReadonlyArray<ChatChunk> | HostFailed {
    if (!isJsonObject(delta)) return nothing
    if (delta["type"] === "text_delta") {
      return typeof delta["text"] === "string" ? this.text(delta["text"]) : malformed()
    }
    const block = this.blocks.get(place)
    switch (delta["type"]) {
      case "input_json_delta":
        return block?.kind === "tool" ? this.input(block, delta["partial_json"]) : unseen(delta["partial_json"])
      case "thinking_delta":
        return block?.kind === "thinking" ? this.thought(block.index, delta["thinking"]) : nothing
      case "signature_delta":
        return block?.kind === "thinking" ? this.signed(block.index, delta["signature"]) : nothing
      case "citations_delta":
        if (block?.kind === "text") block.citations.push(delta["citation"])
        return nothing
      default:
        return nothing
    }
  }

  private text(text: unknown): ReadonlyArray<ChatChunk> {
    if (typeof text !== "string" || text === "") return nothing
    this.spoke = true
    this.textLength += text.length
    this.order.text(text)
    return chunkOf({ content: text })
  }

  private thought(index: number, text: unknown): ReadonlyArray<ChatChunk> {
    if (typeof text !== "string" || text === "") return nothing
    this.spoke = true
    return chunkOf({ reasoning: text, reasoning_details: [this.piece(index, thoughtText({ text }))] })
  }

  private signed(index: number, signature: unknown): ReadonlyArray<ChatChunk> {
    if (typeof signature !== "string" || signature === "") return nothing
    this.spoke = true
    return chunkOf({ reasoning_details: [this.piece(index, thoughtText({ signature }))] })
  }

  private piece(index: number, detail: ReasoningDetail): ReasoningDetail {
    this.order.reasoned(index, detail)
    return { ...detail, index }
  }

  private input(block: Extract<Block, { kind: "tool" }>, json: unknown): ReadonlyArray<ChatChunk> {
    if (typeof json !== "string" || json === "") return nothing
    block.empty = false
    return chunkOf({ tool_calls: [{ index: block.index, function: { arguments: json } }] })
  }

  /** Closes a block. A call without arguments has no input deltas, so it gets `{}` as its arguments. */
  private close(place: unknown): ReadonlyArray<ChatChunk> {
    const block = this.blocks.get(place)
    this.blocks.delete(place)
    if (block?.kind === "tool" && block.empty) return this.input(block, argumentsOf(block.input))
    if (block?.kind !== "text") return nothing
    // The end of the cited text is known only now.
    const annotations = annotationsOf(block.citations, block.start, this.textLength)
    return annotations.length === 0 ? nothing : chunkOf({ annotations })
  }

  private messageDelta(data: JsonObject): ReadonlyArray<ChatChunk> {
    this.count(data["usage"])
    const delta = data["delta"]
    const reason = isJsonObject(delta) ? delta["stop_reason"] : undefined
    if (typeof reason !== "string" || this.finished) return nothing
    const refusal = isJsonObject(delta) ? refusalOf(delta["stop_details"]) : undefined
    return this.finish(reason, refusal)
  }

  /** An end without a reason is a stop, when any content came before it. */
  private stop(): ReadonlyArray<ChatChunk> | HostFailed {
    this.stopped = true
    if (this.finished) return nothing
    return this.spoke ? this.finish("stop", undefined) : malformed()
  }

  private finish(native: string, refusal: string | undefined): ReadonlyArray<ChatChunk> {
    this.finished = true
    const rest = [...this.blocks.keys()].flatMap((place) => this.close(place))
    const order = this.order.entry()
    const reason = finishReasonOf(native, this.tools > 0)
    const usage = usageOf(this.usage)
    const delta = { content: "", ...(refusal === undefined ? {} : { refusal }) }
    return [
      ...rest,
      ...(order.length === 0 ? nothing : chunkOf({ reasoning_details: order })),
      {
        choices: [{ index: 0, delta, finish_reason: reason, native_finish_reason: native }],
        ...(usage === undefined ? {} : { usage }),
        ...tierField(this.usage),
      },
    ]
  }

  private count(usage: unknown): void {
    this.usage = laterUsage(this.usage, usage)
  }
}

/** Counts the input of a tool that the host itself runs: the model wrote it, and the caller is not sent it. */
const unseen = (json: unknown): ReadonlyArray<ChatChunk> => {
  const bytes = bytesOf(json)
  return bytes === 0 ? nothing : [{ choices: [], unseen: bytes }]
}

const listOf = (value: unknown): Array<unknown> => (Array.isArray(value) ? [...value] : [])
