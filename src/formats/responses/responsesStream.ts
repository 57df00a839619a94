/**
 * The events of a streamed response: read from a host, and written for a client. A whole answer of a host is read as the events
 * that would stream it.
 */

import type { Failure, HostFailed } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import type { ChatChunk, ChatChunkChoice, ChatResponse, ReasoningDetail } from "../../domain/request/chat.ts"
import { bytesOf, bytesOfTokens } from "../../domain/request/estimate.ts"
import { sseComment } from "../../wire/sse.ts"
import { PartOrder } from "../conversation.ts"
import { answerFrom, chunkOf } from "../delta.ts"
import { malformed } from "../httpError.ts"
import type { Decoder } from "../Protocol.ts"
import { isFinal, type Rendered } from "../Rendered.ts"
import { noCharge } from "../routerUsage.ts"
import type { StreamWriter } from "../StreamWriter.ts"
import {
  ended,
  endOf,
  failureIn,
  finishOf,
  isUnfinished,
  itemStatusOf,
  type ResponseNames,
  type ResponseState,
  responseBody,
} from "./responsesAnswer.ts"
import { responsesFailure } from "./responsesError.ts"
import { callInputs, EventSink, kindOfEvent, type PartKind, partKinds } from "./responsesEvents.ts"
import { NativeEvents } from "./responsesNativeStream.ts"
import { OutputItems } from "./responsesOutput.ts"
import {
  annotationsOf,
  callOf,
  compactedBytes,
  givenIn,
  imagesOf,
  nothingGiven,
  partsOf,
} from "./responsesOutputItems.ts"
import { commonOf } from "./responsesReasoning.ts"
import { isSearch, usageBody, usageOf } from "./responsesUsage.ts"

// --- from a host

const nothing: ReadonlyArray<ChatChunk> = []

const unseenOf = (bytes: number): ReadonlyArray<ChatChunk> => (bytes === 0 ? nothing : [{ choices: [], unseen: bytes }])

/** A whole answer. `format`: of its reasoning. */
export const responsesAnswer = (body: unknown, format: string): ChatResponse | HostFailed => {
  if (!isJsonObject(body)) return malformed()
  const { output, status, usage } = body
  // Usage comes with the end, whatever the status says then.
  const isOver = isJsonObject(usage) && Array.isArray(output) && output.length > 0
  const unfinished = isUnfinished(status) && !isOver
  const items: unknown = output ?? (unfinished ? [] : undefined)
  const failure = failureIn(body)
  if (failure !== undefined) return failure
  if (!Array.isArray(items) || !items.every(isItem)) return malformed()
  const decoder = responsesDecoder(format)
  const response = { ...body, output: [] }
  return answerFrom({ event: (name, data) => (name === "end" ? decoder.end() : decoder.event(name, data)) }, [
    ...items.map((item: unknown, at) => ["response.output_item.done", { output_index: at, item }] as const),
    ...(unfinished
      ? ([
          ["response.queued", { response: { ...response, background: true } }],
          ["end", undefined],
        ] as const)
      : ([["response.completed", { response }]] as const)),
  ])
}

const isItem = (item: unknown): item is JsonObject =>
  isJsonObject(item) &&
  (item["type"] !== "message" || Array.isArray(item["content"]) || typeof item["content"] === "string")

/** Tokens of a preview of an image (OpenAI, guide to image generation, 2025-11), as bytes of text. */
const previewBytes = bytesOfTokens(100)

/** Output for tools that the host itself runs, which the caller is not sent. */
const unseen = ({ delta, partial_image_b64: preview }: JsonObject): ReadonlyArray<ChatChunk> =>
  unseenOf(typeof preview === "string" ? previewBytes : bytesOf(delta))

const isListed = (logprobs: unknown): logprobs is ReadonlyArray<unknown> =>
  Array.isArray(logprobs) && logprobs.length > 0

interface Item {
  /** As it began. */
  readonly begun: JsonObject
  /** Of its call among the calls of the answer. */
  readonly call: number | undefined
  /** Whether its call has been given something. */
  isGiven: boolean
  /** The number of its reasoning among the parts of the answer, once it has said something. */
  thought: number | undefined
  /** The parts that have come, or begun to, by kind: of each, where it begins in the text of the whole answer. */
  readonly said: Readonly<Record<PartKind["type"], Map<number, number>>>
  /** The texts whose citations have come. */
  readonly cited: Set<number>
  isClosed: boolean
}

/** The place of a part, which hosts with one part may leave out. */
const placeOf = (part: unknown): number => (typeof part === "number" ? part : 0)

const tierOf = ({ service_tier: tier }: JsonObject): { readonly service_tier?: string } =>
  typeof tier === "string" ? { service_tier: tier } : {}

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
    const type = data["type"] ?? name
    // Nearly all events are of this type, so it is compared first.
    if (type === "response.output_text.delta") return this.text(data, data["delta"])
    const said = kindOfEvent.get(type)
    if (said !== undefined) {
      const { kind, isDelta } = said
      return isDelta ? this.say(kind, data, data["delta"]) : this.whole(kind, data, data[kind.text])
    }
    const { output_index: place, response } = data
    switch (type) {
      case `${callInputs.arguments}.delta`:
      case `${callInputs.input}.delta`:
        return this.arguments(this.items.get(place), data["delta"])
      case `${callInputs.arguments}.done`:
      case `${callInputs.input}.done`: {
        const item = this.items.get(place)
        return item?.isGiven === false ? this.arguments(item, givenIn({ ...data, type: item.begun["type"] })) : nothing
      }
      case "response.output_item.added":
        return this.begin(place, data["item"])
      case "response.output_item.done":
        return this.close(place, data["item"])
      case "response.output_text.annotation.added":
        return this.annotate(data)
      case "response.created":
      case "response.queued":
        return [...chunkOf({ role: "assistant", content: "" }), ...this.background(response)]
      case "response.completed":
        return this.finish(response, "completed")
      case "response.incomplete":
        return this.finish(response, "incomplete")
      case "response.failed":
        return isJsonObject(response) ? this.failed(response) : malformed()
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
    return [{ choices: [], unfinished: true, ...this.counted(response) }]
  }

  private counted(response: JsonObject): Pick<ChatChunk, "usage" | "service_tier"> {
    const usage = usageOf(response, this.searches)
    return usage === undefined ? tierOf(response) : { usage, ...tierOf(response) }
  }

  private begin(place: unknown, item: unknown): ReadonlyArray<ChatChunk> {
    if (!isJsonObject(item)) return nothing
    const call = callOf(item)
    const index = this.calls
    this.items.set(place, {
      ...{ begun: item, call: call && index, isGiven: false, thought: undefined, cited: new Set(), isClosed: false },
      said: { output_text: new Map(), refusal: new Map(), reasoning_text: new Map(), summary_text: new Map() },
    })
    if (call === undefined) return nothing
    this.calls += 1
    this.order.call(call.id)
    // What it was begun with may come once more in deltas.
    return chunkOf({ tool_calls: [{ index, ...call }] })
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
    const { encrypted_content: data } = item
    switch (item["type"]) {
      case "function_call":
      case "custom_tool_call":
        return known.isGiven
          ? nothing
          : this.arguments(known, givenIn(item) || givenIn(known.begun) || nothingGiven(item))
      case "message":
        return partsOf(item).flatMap(([kind, at, part]) => {
          const { logprobs, annotations: cited } = part
          const said = this.whole(kind, { output_index: place, [kind.index]: at, logprobs }, part[kind.text])
          if (kind !== partKinds.output_text || known.cited.has(at)) return said
          const annotations = annotationsOf(cited, known.said.output_text.get(at) ?? this.textLength)
          return annotations.length === 0 ? said : [...said, ...chunkOf({ annotations })]
        })
      case "reasoning":
        return [
          ...partsOf(item).flatMap(([kind, at, part]) =>
            this.whole(kind, { output_index: place, [kind.index]: at }, part[kind.text]),
          ),
          ...(typeof data === "string" && data !== ""
            ? chunkOf({ reasoning_details: [this.piece(known, { type: "reasoning.encrypted", data })] })
            : nothing),
        ]
      case "image_generation_call": {
        const images = imagesOf(item)
        return images.length === 0 ? nothing : chunkOf({ images })
      }
      default:
        return unseenOf(compactedBytes(item))
    }
  }

  /** A part at its end, where nothing of it has come before. */
  private whole(kind: PartKind, data: JsonObject, text: unknown): ReadonlyArray<ChatChunk> {
    const item = this.items.get(data["output_index"])
    return item === undefined || item.said[kind.type].has(placeOf(data[kind.index]))
      ? nothing
      : this.say(kind, data, text)
  }

  /** More of a part's text. */
  private say(kind: PartKind, data: JsonObject, text: unknown): ReadonlyArray<ChatChunk> {
    if (kind.type === "output_text") return this.text(data, text)
    const item = this.items.get(data["output_index"])
    if (typeof text !== "string" || text === "") return nothing
    const at = placeOf(data[kind.index])
    item?.said[kind.type].set(at, this.textLength)
    if (kind.type === "refusal") return chunkOf({ refusal: text })
    if (item === undefined) return nothing
    const piece =
      kind.type === "summary_text"
        ? this.piece(item, { type: "reasoning.summary", summary: text }, at)
        : this.piece(item, { type: "reasoning.text", text })
    return chunkOf({ reasoning: text, reasoning_details: [piece] })
  }

  private text(data: JsonObject, text: unknown): ReadonlyArray<ChatChunk> {
    if (typeof text !== "string" || text === "") return nothing
    const { output_index: place, content_index: part, logprobs } = data
    const starts = this.items.get(place)?.said.output_text
    const at = placeOf(part)
    if (starts?.has(at) === false) starts.set(at, this.textLength)
    this.textLength += text.length
    this.order.text(text)
    return chunkOf({ content: text }, isListed(logprobs) ? { logprobs: { content: logprobs } } : {})
  }

  private arguments(item: Item | undefined, json: unknown): ReadonlyArray<ChatChunk> {
    if (item?.call === undefined || typeof json !== "string" || json === "") return nothing
    item.isGiven = true
    return chunkOf({ tool_calls: [{ index: item.call, function: { arguments: json } }] })
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
    const at = placeOf(part)
    item?.cited.add(at)
    const annotations = annotationsOf([annotation], item?.said.output_text.get(at) ?? this.textLength)
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
    const wasUnfinished = this.unfinished === undefined ? {} : { unfinished: false }
    return [...missed, { choices: [this.last(ended(response, status))], ...this.counted(response), ...wasUnfinished }]
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
      const { begun, isGiven, isClosed } = item
      if (isClosed || isGiven || item.call === undefined) continue
      chunks.push(...this.arguments(item, givenIn(begun) || (isCompleted ? nothingGiven(begun) : "")))
    }
    return chunks
  }
}

// --- to a client

export const responseWriter = (names: ResponseNames, host: Host | undefined): StreamWriter =>
  new ResponseWriter(names, host)

/** What surrounds the text of a plain delta where a host's chunk is exchanged without being parsed (`wire/splice.ts`). */
const before = '{"delta":{"content":"'
const after = '"}}'

class ResponseWriter implements StreamWriter {
  readonly native: NativeEvents
  readonly heartbeat = sseComment
  readonly spliceable = {
    json: () => `${before}${JSON.stringify(this.lastText).slice(1, -1)}${after}`,
    text: (json: string) => this.plain(json.slice(before.length, -after.length)),
  }
  private readonly names: ResponseNames
  private readonly host: Host | undefined
  private readonly events = new EventSink()
  private readonly items: OutputItems
  private hasBegun = false
  /** Of the latest delta. */
  private lastText = ""

  constructor(names: ResponseNames, host: Host | undefined) {
    this.names = names
    this.host = host
    this.items = new OutputItems(names, this.events)
    this.native = new NativeEvents(names, host)
  }

  chunk({ choices, service_tier: tier }: ChatChunk): string {
    this.begin(tier)
    this.add(choices)
    return this.events.take()
  }

  finish(chunk: ChatChunk, charge: Charge): string {
    const { choices, service_tier: tier } = chunk
    if (this.native.hasStarted) return this.native.finish(choices[0], charge)
    this.begin(tier)
    this.add(choices)
    return this.end(endOf(choices.find(({ index }) => index === 0)), tier, charge)
  }

  failure(failure: Failure | undefined, charge: Charge | undefined): string {
    const rendered = this.names.rendered(failure)
    const hadBegun = this.hasBegun || this.native.hasStarted
    const state = hadBegun && isLength(rendered) ? endOf({ finish_reason: "length" }) : failedOf(rendered)
    if (this.native.hasStarted) return this.native.ended(state, charge ?? noCharge)
    this.begin(undefined)
    return this.end(state, undefined, charge ?? noCharge)
  }

  private begin(tier: unknown): void {
    if (this.hasBegun) return
    this.hasBegun = true
    const response = responseBody(this.names, this.host, { status: "in_progress" }, undefined, tier)
    this.events.event("response.created", { response })
    this.events.event("response.in_progress", { response })
  }

  private add(choices: ChatChunk["choices"]): void {
    for (const { index, delta, logprobs } of choices) {
      if (index !== 0) {
        this.items.addCalls(index, delta.tool_calls ?? [])
        continue
      }
      this.items.add(delta, logprobs)
      this.lastText = delta.content ?? ""
    }
  }

  /** A text delta, as it stands in the host's JSON. */
  private plain(written: string): string {
    const text: unknown = written.includes("\\") ? JSON.parse(`"${written}"`) : written
    if (typeof text === "string") this.items.add({ content: text })
    return this.events.take()
  }

  /**
   * Open items end with the response, unless it failed: they are in its output then, as incomplete. An agent carries out a
   * call when it has ended, and a call of an answer that broke off may not be what the model meant.
   */
  private end(state: ResponseState, tier: unknown, charge: Parameters<typeof usageBody>[0]): string {
    if (state.status !== "failed") this.items.close(itemStatusOf(state))
    const response = responseBody(this.names, this.host, state, this.items, tier)
    this.events.event(`response.${state.status}`, { response: { ...response, usage: usageBody(charge) } })
    return this.events.take()
  }
}

/** Failures in the middle of an answer that only say that it would become too long. */
const isLength = ({ errorType }: Rendered): boolean => errorType === "context_length_exceeded"

/**
 * The OpenAI code that makes agents react as to the same failure before a stream: they stop at `invalid_prompt`,
 * compact a prompt that is too long, and retry at the other codes.
 */
const codeOf = (rendered: Rendered): string => {
  const { errorType } = rendered
  if (errorType === "rate_limit_exceeded" || errorType === "context_length_exceeded") return errorType
  return isFinal(rendered) ? "invalid_prompt" : "server_error"
}

const failedOf = (rendered: Rendered): ResponseState => ({
  status: "failed",
  code: codeOf(rendered),
  message: rendered.message,
  errorType: rendered.errorType,
})
