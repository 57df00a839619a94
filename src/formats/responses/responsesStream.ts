/**
 * Reads the events of a streamed response. What a host sends only whole, in the event that ends an item, is passed on then.
 */

import type { HostFailed } from "../../domain/failures/Failure.ts"
import { isJsonObject, type JsonObject, objectsIn } from "../../domain/json/json.ts"
import type { ChatChunk, ChatChunkChoice, ReasoningDetail } from "../../domain/request/chat.ts"
import { bytesOf, bytesOfTokens } from "../../domain/request/estimate.ts"
import { PartOrder } from "../conversation.ts"
import { chunkOf } from "../delta.ts"
import { malformed } from "../httpError.ts"
import type { Decoder } from "../Protocol.ts"
import {
  annotationsOf,
  callOf,
  compactedBytes,
  ended,
  failureIn,
  finishOf,
  givenIn,
  imageOf,
  isText,
  isUnfinished,
  nothingGiven,
  partsOfMessage,
  tierOf,
} from "./readResponsesAnswer.ts"
import { responsesFailure } from "./responsesError.ts"
import { commonOf } from "./responsesReasoning.ts"
import { isSearch, usageOf } from "./responsesUsage.ts"

const nothing: ReadonlyArray<ChatChunk> = []

/** Tokens of a preview of an image (OpenAI, guide to image generation, 2025-11), as bytes of text. */
const previewBytes = bytesOfTokens(100)

/** Output for tools that the host itself runs, which the caller is not sent. */
const unseen = ({ delta, partial_image_b64: preview }: JsonObject): ReadonlyArray<ChatChunk> => {
  const bytes = typeof preview === "string" ? previewBytes : bytesOf(delta)
  return bytes === 0 ? nothing : [{ choices: [], unseen: bytes }]
}

const isListed = (logprobs: unknown): logprobs is ReadonlyArray<unknown> =>
  Array.isArray(logprobs) && logprobs.length > 0

interface Item {
  /** As it began. */
  readonly begun: JsonObject
  /** Of its call among the calls of the answer. */
  readonly call: number | undefined
  /** The number of its reasoning among the parts of the answer, once it has said something. */
  thought: number | undefined
  /** Parts that have come, or begun to: `text 0`. */
  readonly said: Set<string>
  /** Where each part of its text begins in the whole answer. */
  readonly starts: Map<number, number>
  isClosed: boolean
}

/** The place of a part, which hosts with one part may leave out. */
const placeOf = (part: unknown): number => (typeof part === "number" ? part : 0)

/** `format`: of its reasoning. */
export const responsesDecoder = (format: string): Decoder => new ResponsesDecoder(format)

class ResponsesDecoder implements Decoder {
  private readonly format: string
  /** By their place in the output. */
  private readonly items = new Map<unknown, Item>()
  private calls = 0
  private readonly order = new PartOrder()
  /** UTF-16 units of text so far. */
  private textLength = 0
  private searches = 0
  private isOver = false
  /** The state of a response in the background; `undefined`: it is none. */
  private unfinished: "queued" | "in_progress" | undefined

  constructor(format: string) {
    this.format = format
  }

  event(name: string, data: unknown): ReadonlyArray<ChatChunk> | HostFailed {
    if (!isJsonObject(data)) return nothing
    switch (data["type"] ?? name) {
      case "response.output_text.delta":
        return this.text(data)
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
        return this.arguments(this.items.get(data["output_index"]), data["delta"])
      case "response.reasoning_summary_text.delta":
        return this.summary(data, data["delta"])
      case "response.reasoning_text.delta":
        return this.thought(data, data["delta"])
      case "response.refusal.delta":
        return this.refusal(data)
      case "response.output_text.done":
        return this.whole("text", data, data["text"])
      case "response.refusal.done":
        return this.whole("refusal", data, data["refusal"])
      case "response.reasoning_summary_text.done":
        return this.whole("summary", data, data["text"])
      case "response.reasoning_text.done":
        return this.whole("thought", data, data["text"])
      case "response.function_call_arguments.done":
      case "response.custom_tool_call_input.done":
        return this.whole("arguments", data, undefined)
      case "response.output_item.added":
        return this.begin(data["output_index"], data["item"])
      case "response.output_item.done":
        return this.close(data["output_index"], data["item"])
      case "response.output_text.annotation.added":
        return this.annotate(data)
      case "response.created":
      case "response.queued":
        return [...chunkOf({ role: "assistant", content: "" }), ...this.background(data["response"])]
      case "response.completed":
        return this.finish(data["response"], "completed")
      case "response.incomplete":
        return this.finish(data["response"], "incomplete")
      case "response.failed":
        return isJsonObject(data["response"]) ? this.failed(data["response"]) : malformed()
      case "error":
        return responsesFailure(data["error"] ?? data)
      default:
        // A proxy in front of the host may send errors in another form.
        if (data["type"] == null && data["error"] != null) return responsesFailure(data["error"])
        return unseen(data)
    }
  }

  done(): boolean {
    return this.isOver
  }

  /** Nothing is held back. `unfinished`: a response in the background goes on after its events have ended. */
  end(): ReadonlyArray<ChatChunk> {
    if (this.isOver || this.unfinished === undefined) return nothing
    this.isOver = true
    return [{ choices: [this.last({ status: this.unfinished })] }]
  }

  /** How a response in this state has ended, with the order of its parts. */
  private last(state: JsonObject): ChatChunkChoice {
    const { reason, native } = finishOf(state, this.calls > 0)
    const entry = this.order.entry()
    const delta = { content: "", ...(entry.length === 0 ? {} : { reasoning_details: entry }) }
    return { index: 0, delta, finish_reason: reason, native_finish_reason: native }
  }

  /** Whether the host works in the background, so that it goes on when its events end. */
  private background(response: unknown): ReadonlyArray<ChatChunk> {
    if (!isJsonObject(response) || (response["background"] !== true && response["status"] !== "queued")) return nothing
    this.unfinished = isUnfinished(response["status"]) ? response["status"] : "in_progress"
    return [{ choices: [], unfinished: true }]
  }

  private begin(place: unknown, item: unknown): ReadonlyArray<ChatChunk> {
    if (!isJsonObject(item)) return nothing
    const call = callOf(item)
    const index = this.calls
    const known: Item = {
      ...{ begun: item, call: call === undefined ? undefined : index, thought: undefined, isClosed: false },
      ...{ said: new Set(), starts: new Map() },
    }
    this.items.set(place, known)
    if (call === undefined) return nothing
    this.calls += 1
    const { id, type, function: called } = call
    this.order.call(id)
    // What it was begun with may come once more in deltas.
    return chunkOf({ tool_calls: [{ index, id, type, function: { ...called, arguments: "" } }] })
  }

  /** The item as a whole: what did not come in deltas is passed on now. */
  private close(place: unknown, item: unknown): ReadonlyArray<ChatChunk> {
    if (!isJsonObject(item)) return nothing
    const before = this.items.get(place)
    // An item may show only now that it is a call.
    const isNew = before === undefined || (before.call === undefined && callOf(item) !== undefined)
    const begun = isNew ? this.begin(place, item) : nothing
    const known = this.items.get(place)
    if (known === undefined || known.isClosed) return nothing
    known.isClosed = true
    if (isSearch(item)) this.searches += 1
    return [...begun, ...this.rest(known, place, item)]
  }

  private rest(known: Item, place: unknown, item: JsonObject): ReadonlyArray<ChatChunk> {
    switch (item["type"]) {
      case "function_call":
      case "custom_tool_call":
        return known.said.has("arguments")
          ? nothing
          : this.arguments(known, givenIn(item) || givenIn(known.begun) || nothingGiven(item))
      case "message":
        return partsOfMessage(item).flatMap((part, at) => {
          const where = { output_index: place, content_index: at }
          if (part["type"] === "refusal") return this.whole("refusal", where, part["refusal"])
          if (!isText(part)) return nothing
          const said = this.whole("text", { ...where, logprobs: part["logprobs"] }, part["text"])
          if (known.said.has(`annotations ${at}`)) return said
          const annotations = annotationsOf(part["annotations"], known.starts.get(at) ?? this.textLength)
          return annotations.length === 0 ? said : [...said, ...chunkOf({ annotations })]
        })
      case "reasoning":
        return this.closeReasoning(known, place, item)
      case "image_generation_call": {
        const image = imageOf(item)
        return image === undefined ? nothing : chunkOf({ images: [image] })
      }
      default: {
        const bytes = compactedBytes(item)
        return bytes === 0 ? nothing : [{ choices: [], unseen: bytes }]
      }
    }
  }

  private closeReasoning(known: Item, place: unknown, item: JsonObject): ReadonlyArray<ChatChunk> {
    const { encrypted_content: data } = item
    const where = { output_index: place }
    return [
      ...objectsIn(item["summary"]).flatMap((part, at) =>
        this.whole("summary", { ...where, summary_index: at }, part["text"]),
      ),
      ...objectsIn(item["content"]).flatMap((part, at) =>
        this.whole("thought", { ...where, content_index: at }, part["text"]),
      ),
      ...(typeof data === "string" && data !== ""
        ? chunkOf({ reasoning_details: [this.piece(known, { type: "reasoning.encrypted", data })] })
        : nothing),
    ]
  }

  /** A part at its end, where nothing of it has come before. */
  private whole(
    kind: "text" | "refusal" | "summary" | "thought" | "arguments",
    data: JsonObject,
    text: unknown,
  ): ReadonlyArray<ChatChunk> {
    const item = this.items.get(data["output_index"])
    if (item === undefined) return nothing
    const part = placeOf(kind === "summary" ? data["summary_index"] : data["content_index"])
    if (item.said.has(kind === "arguments" ? kind : `${kind} ${part}`)) return nothing
    switch (kind) {
      case "text":
        return this.text({ ...data, delta: text })
      case "refusal":
        return this.refusal({ ...data, delta: text })
      case "summary":
        return this.summary(data, text)
      case "thought":
        return this.thought(data, text)
      case "arguments":
        return this.arguments(item, givenIn({ ...data, type: item.begun["type"] }))
    }
  }

  private text(data: JsonObject): ReadonlyArray<ChatChunk> {
    const { delta, output_index: place, content_index: part, logprobs } = data
    if (typeof delta !== "string" || delta === "") return nothing
    const item = this.items.get(place)
    const at = placeOf(part)
    if (item !== undefined && !item.starts.has(at)) {
      item.starts.set(at, this.textLength)
      item.said.add(`text ${at}`)
    }
    this.textLength += delta.length
    this.order.text(delta)
    return chunkOf({ content: delta }, isListed(logprobs) ? { logprobs: { content: logprobs } } : {})
  }

  private refusal({ delta, output_index: place, content_index: part }: JsonObject): ReadonlyArray<ChatChunk> {
    if (typeof delta !== "string" || delta === "") return nothing
    this.items.get(place)?.said.add(`refusal ${placeOf(part)}`)
    return chunkOf({ refusal: delta })
  }

  private arguments(item: Item | undefined, json: unknown): ReadonlyArray<ChatChunk> {
    if (item?.call === undefined || typeof json !== "string" || json === "") return nothing
    item.said.add("arguments")
    return chunkOf({ tool_calls: [{ index: item.call, function: { arguments: json } }] })
  }

  private summary({ output_index: place, summary_index: part }: JsonObject, text: unknown): ReadonlyArray<ChatChunk> {
    const item = this.items.get(place)
    if (item === undefined || typeof text !== "string" || text === "") return nothing
    const at = placeOf(part)
    item.said.add(`summary ${at}`)
    const piece = this.piece(item, { type: "reasoning.summary", summary: text }, at)
    return chunkOf({ reasoning: text, reasoning_details: [piece] })
  }

  private thought({ output_index: place, content_index: part }: JsonObject, text: unknown): ReadonlyArray<ChatChunk> {
    const item = this.items.get(place)
    if (item === undefined || typeof text !== "string" || text === "") return nothing
    item.said.add(`thought ${placeOf(part)}`)
    return chunkOf({ reasoning: text, reasoning_details: [this.piece(item, { type: "reasoning.text", text })] })
  }

  /** A piece of the item's reasoning. `at`: of its summary, whose texts have a number each. */
  private piece(item: Item, said: ReasoningDetail, at = 0): ReasoningDetail {
    item.thought ??= this.order.reasoning()
    const piece = { ...said, ...commonOf(item.begun["id"], this.format), index: item.thought + at }
    this.order.reasoned(item.thought, piece)
    return piece
  }

  private annotate({ annotation, output_index: place, content_index: part }: JsonObject): ReadonlyArray<ChatChunk> {
    const item = this.items.get(place)
    item?.said.add(`annotations ${placeOf(part)}`)
    const annotations = annotationsOf([annotation], item?.starts.get(placeOf(part)) ?? this.textLength)
    return annotations.length === 0 ? nothing : chunkOf({ annotations })
  }

  /** With what it counted until then. */
  private failed(response: JsonObject): HostFailed {
    const failure = failureIn(response) ?? malformed()
    const usage = usageOf(response, this.searches)
    return usage === undefined ? failure : failure.with({ usage })
  }

  /** `status`: of the event, which is the end whatever the response's own says. */
  private finish(response: unknown, status: string): ReadonlyArray<ChatChunk> | HostFailed {
    this.isOver = true
    if (!isJsonObject(response)) return malformed()
    if (failureIn(response) !== undefined) return this.failed(response)
    const missed = this.missed(response["output"], status === "completed")
    const usage = usageOf(response, this.searches)
    return [
      ...missed,
      {
        choices: [this.last(ended(response, status))],
        ...(usage === undefined ? {} : { usage }),
        unfinished: false,
        ...tierOf(response),
      },
    ]
  }

  /**
   * What only the response at the end has: items whose end did not come, and those of a kind that did not come at all. Others
   * may be listed at another place than they came at.
   */
  private missed(output: unknown, isCompleted: boolean): ReadonlyArray<ChatChunk> {
    const kinds = new Set(Array.from(this.items.values(), ({ begun }) => begun["type"]))
    if (this.textLength > 0) kinds.add("message")
    const chunks = (Array.isArray(output) ? output : []).flatMap((item: unknown, at): ReadonlyArray<ChatChunk> => {
      if (!isJsonObject(item)) return nothing
      if (this.items.get(at)?.begun["type"] === item["type"]) return this.close(at, item)
      return kinds.has(item["type"]) ? nothing : this.close(`at the end ${at}`, item)
    })
    for (const item of this.items.values()) {
      const { begun, said, isClosed } = item
      if (isClosed || said.has("arguments") || callOf(begun) === undefined) continue
      chunks.push(...this.arguments(item, givenIn(begun) || (isCompleted ? nothingGiven(begun) : "")))
    }
    return chunks
  }
}
