/**
 * Reads the events of a streamed response. What a host sends only whole, in the event that ends an item, is passed on then.
 */

import type { HostFailed } from "../../domain/failures/Failure.ts"
import { isJsonObject, type JsonObject, objectsIn } from "../../domain/json/json.ts"
import type { ChatChunk, ReasoningDetail } from "../../domain/request/chat.ts"
import { bytesOf, bytesOfTokens } from "../../domain/request/estimate.ts"
import { chunkOf } from "../delta.ts"
import { malformed } from "../httpError.ts"
import type { Decoder } from "../Protocol.ts"
import {
  annotationsOf,
  callOf,
  commonOf,
  compactedBytes,
  encryptedPiece,
  ended,
  failureIn,
  finishOf,
  imageOf,
  indicesOf,
  isSearch,
  isUnfinished,
  tierOf,
  usageOf,
} from "./readResponsesAnswer.ts"
import { responsesFailure } from "./readResponsesError.ts"

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
  readonly kind: unknown
  readonly id: unknown
  /** Of its call among the calls of the answer, or of its first piece among those of all reasoning. */
  readonly index: number
  /** Parts whose text has come in deltas: `output_text 0`. */
  readonly said: Set<string>
  /** Where each part of its text begins in the whole answer. */
  readonly starts: Map<unknown, number>
}

/** `format`: of its reasoning. */
export const responsesDecoder = (format: string): Decoder => new ResponsesDecoder(format)

class ResponsesDecoder implements Decoder {
  private readonly format: string
  /** By their place in the output. */
  private readonly items = new Map<unknown, Item>()
  private calls = 0
  /** The next index of a piece of reasoning. */
  private thoughts = 0
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
    const { reason, native } = finishOf({ status: this.unfinished }, this.calls > 0)
    return [{ choices: [{ index: 0, delta: { content: "" }, finish_reason: reason, native_finish_reason: native }] }]
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
    const index = call === undefined ? this.thoughts : this.calls
    const known: Item = { kind: item["type"], id: item["id"], index, said: new Set(), starts: new Map() }
    this.items.set(place, known)
    if (call === undefined) return nothing
    this.calls += 1
    const { id, type, function: called } = call
    if (called.arguments !== "") known.said.add("arguments")
    return chunkOf({ tool_calls: [{ index, id, type, function: called }] })
  }

  /** The item as a whole: what did not come in deltas is passed on now. */
  private close(place: unknown, item: unknown): ReadonlyArray<ChatChunk> {
    if (!isJsonObject(item)) return nothing
    const begun = this.items.has(place) ? nothing : this.begin(place, item)
    const known = this.items.get(place)
    if (known === undefined) return nothing
    if (isSearch(item)) this.searches += 1
    return [...begun, ...this.rest(known, place, item)]
  }

  private rest(known: Item, place: unknown, item: JsonObject): ReadonlyArray<ChatChunk> {
    switch (item["type"]) {
      case "function_call":
      case "custom_tool_call":
        return known.said.has("arguments") ? nothing : this.arguments(known, callOf(item)?.function.arguments)
      case "message":
        return objectsIn(item["content"]).flatMap((part, at) => {
          const where = { output_index: place, content_index: at }
          if (part["type"] === "refusal" && !known.said.has(`refusal ${at}`))
            return this.refusal({ ...where, delta: part["refusal"] })
          if (part["type"] !== "output_text") return nothing
          const said = known.said.has(`text ${at}`)
            ? nothing
            : this.text({ ...where, delta: part["text"], logprobs: part["logprobs"] })
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
    const chunks = [
      ...objectsIn(item["summary"]).flatMap((part, at) =>
        known.said.has(`summary ${at}`)
          ? nothing
          : this.summary({ output_index: place, summary_index: at }, part["text"]),
      ),
      ...(known.said.has("thought")
        ? nothing
        : objectsIn(item["content"]).flatMap((part) => this.thought({ output_index: place }, part["text"]))),
      ...(typeof data === "string" && data !== ""
        ? chunkOf({ reasoning_details: [encryptedPiece(data, known.id, this.format, known.index)] })
        : nothing),
    ]
    this.thoughts = Math.max(this.thoughts, known.index + indicesOf(item))
    return chunks
  }

  private text(data: JsonObject): ReadonlyArray<ChatChunk> {
    const { delta, output_index: place, content_index: part, logprobs } = data
    if (typeof delta !== "string" || delta === "") return nothing
    const item = this.items.get(place)
    if (item !== undefined && !item.starts.has(part)) {
      item.starts.set(part, this.textLength)
      item.said.add(`text ${part}`)
    }
    this.textLength += delta.length
    return chunkOf({ content: delta }, isListed(logprobs) ? { logprobs: { content: logprobs } } : {})
  }

  private refusal({ delta, output_index: place, content_index: part }: JsonObject): ReadonlyArray<ChatChunk> {
    if (typeof delta !== "string" || delta === "") return nothing
    this.items.get(place)?.said.add(`refusal ${part}`)
    return chunkOf({ refusal: delta })
  }

  private arguments(item: Item | undefined, json: unknown): ReadonlyArray<ChatChunk> {
    if (item === undefined || typeof json !== "string" || json === "") return nothing
    item.said.add("arguments")
    return chunkOf({ tool_calls: [{ index: item.index, function: { arguments: json } }] })
  }

  private summary(data: JsonObject, text: unknown): ReadonlyArray<ChatChunk> {
    const { output_index: place, summary_index: part } = data
    const item = this.items.get(place)
    if (item === undefined || typeof text !== "string" || text === "") return nothing
    item.said.add(`summary ${part}`)
    const at = typeof part === "number" ? part : 0
    this.thoughts = Math.max(this.thoughts, item.index + at + 1)
    return this.reason(text, { type: "reasoning.summary", summary: text, ...this.common(item), index: item.index + at })
  }

  private thought({ output_index: place }: JsonObject, text: unknown): ReadonlyArray<ChatChunk> {
    const item = this.items.get(place)
    if (item === undefined || typeof text !== "string" || text === "") return nothing
    item.said.add("thought")
    return this.reason(text, { type: "reasoning.text", text, ...this.common(item), index: item.index })
  }

  private reason(text: string, detail: ReasoningDetail): ReadonlyArray<ChatChunk> {
    return chunkOf({ reasoning: text, reasoning_details: [detail] })
  }

  private common({ id }: Item) {
    return commonOf(id, this.format)
  }

  private annotate({ annotation, output_index: place, content_index: part }: JsonObject): ReadonlyArray<ChatChunk> {
    const item = this.items.get(place)
    item?.said.add(`annotations ${part}`)
    const annotations = annotationsOf([annotation], item?.starts.get(part) ?? this.textLength)
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
    const finish = finishOf(ended(response, status), this.calls > 0)
    const usage = usageOf(response, this.searches)
    return [
      {
        choices: [
          { index: 0, delta: { content: "" }, finish_reason: finish.reason, native_finish_reason: finish.native },
        ],
        ...(usage === undefined ? {} : { usage }),
        unfinished: false,
        ...tierOf(response),
      },
    ]
  }
}
