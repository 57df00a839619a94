/**
 * The events of a stream in Google's form: of hosts in the canonical form, and for clients, as events or as one JSON
 * array.
 */
import type { Failure, HostFailed } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { isJsonObject, type JsonObject, objectsIn } from "../../domain/json/json.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import type { ChatChunk, ChatChunkChoice } from "../../domain/request/chat.ts"
import { sseComment, sseEvent } from "../../wire/sse.ts"
import type { AnswerNames } from "../AnswerWriter.ts"
import type { NativeWriter } from "../ChunkWriter.ts"
import type { Decoder } from "../Protocol.ts"
import { noCharge } from "../routerUsage.ts"
import type { StreamWriter } from "../StreamWriter.ts"
import { AnswerReader, candidateOf, endOf, factsOf, writtenLogprobs } from "./generateContentAnswer.ts"
import { AnswerParts, type Shown } from "./generateContentAnswerParts.ts"
import { generateContentErrorBody, generateContentErrorInBody } from "./generateContentError.ts"
import { given } from "./generateContentJson.ts"
import { tierField, usageMetadata, usageWithCost } from "./generateContentUsage.ts"

const nothing: ReadonlyArray<ChatChunk> = []

export class GenerateContentDecoder implements Decoder {
  private readonly reader: AnswerReader

  constructor(upstreamModel: string) {
    this.reader = new AnswerReader(upstreamModel)
  }

  event(_name: string, data: unknown): ReadonlyArray<ChatChunk> | HostFailed {
    if (!isJsonObject(data)) return nothing
    if (data["error"] != null) {
      const failure = generateContentErrorInBody(data["error"])
      const usage = this.reader.usage(data)
      return usage === undefined ? failure : failure.with({ usage })
    }
    const choices = this.reader.choices(data)
    const counted = this.reader.usage(data)
    // Running reports without output are not passed on: an answer that is cut would be charged by one.
    const isReport = counted !== undefined && (Boolean(counted.completion_tokens) || this.reader.hasEnded)
    if (choices.length === 0 && !isReport) return nothing
    return [{ choices, ...(isReport ? { usage: counted } : {}), ...tierField(data["usageMetadata"]) }]
  }

  /** The order of the parts. */
  end(): ReadonlyArray<ChatChunk> {
    const choices: Array<ChatChunkChoice> = []
    for (const [index, entry] of this.reader.entries)
      if (entry.length > 0) choices.push({ index, delta: { reasoning_details: entry }, finish_reason: null })
    return choices.length === 0 ? nothing : [{ choices }]
  }
}

export class EventWriter implements StreamWriter {
  readonly native: NativeEvents
  private readonly names: AnswerNames
  private readonly host: Host | undefined
  private readonly shown: Shown
  private readonly asEvents: boolean
  private readonly parts = new Map<number, AnswerParts>()
  private isFirst = true

  constructor(names: AnswerNames, host: Host | undefined, shown: Shown, asEvents: boolean) {
    this.names = names
    this.host = host
    this.shown = shown
    this.asEvents = asEvents
    this.native = new NativeEvents((event) => this.written(event))
  }

  /** Blanks change nothing of an array. */
  get heartbeat(): string {
    return this.asEvents ? sseComment : "\n"
  }

  chunk({ choices }: ChatChunk): string {
    const candidates: Array<JsonObject> = []
    for (const { index, delta, logprobs } of choices) {
      const parts = this.partsOf(index).add(delta)
      const logprobsResult = writtenLogprobs(logprobs)
      if (parts.length > 0 || logprobsResult !== undefined)
        candidates.push(candidateOf(index, parts, { logprobsResult }))
    }
    return candidates.length === 0 ? "" : this.written({ candidates })
  }

  finish({ choices }: ChatChunk, charge: Charge): string {
    const ends = choices.map((choice) => {
      const writer = this.partsOf(choice.index)
      const parts = [...writer.add(choice.delta), ...writer.end()]
      return candidateOf(choice.index, parts, endOf(choice, writer))
    })
    const { hasStarted } = this.native
    const candidates = hasStarted ? this.native.finished(ends) : ends
    const usage = hasStarted ? usageWithCost(this.native.usage, charge) : usageMetadata(charge)
    return this.written({ candidates, ...this.lastFacts(usage) }) + this.closing
  }

  failure(failure: Failure | undefined, charge: Charge | undefined): string {
    const body = generateContentErrorBody(this.names.rendered(failure), this.names.requestId)
    const usage = usageMetadata(charge ?? noCharge)
    return this.framed({ ...body, ...this.lastFacts(usage) }) + this.closing
  }

  private lastFacts(usage: JsonObject): JsonObject {
    return given({ usageMetadata: usage, openrouter_metadata: this.names.metadata?.(this.host) })
  }

  private get closing(): string {
    return this.asEvents ? "" : "]"
  }

  private written(event: JsonObject): string {
    return this.framed({ ...event, ...factsOf(this.names, this.host) })
  }

  private framed(event: JsonObject): string {
    const json = JSON.stringify(event)
    if (this.asEvents) return sseEvent(json)
    const before = this.isFirst ? "[" : ",\r\n"
    this.isFirst = false
    return before + json
  }

  private partsOf(index: number): AnswerParts {
    const known = this.parts.get(index)
    if (known !== undefined) return known
    const parts = new AnswerParts(this.shown)
    this.parts.set(index, parts)
    return parts
  }
}

/**
 * Passes the events of a host of the form on, with ids, model, usage and cost exchanged. Their usage and the finishes
 * are withheld, so that the last event has them with the cost.
 */
class NativeEvents implements NativeWriter {
  hasStarted = false
  hasSpoken = false
  /** What the host counted last. */
  usage: JsonObject | undefined
  private readonly finishes = new Map<unknown, JsonObject>()
  private readonly written: (event: JsonObject) => string

  constructor(written: (event: JsonObject) => string) {
    this.written = written
  }

  event(_: string, event: JsonObject): string {
    const { usageMetadata: usage, candidates, error, ...others } = event
    if (error != null) return ""
    this.hasStarted = true
    if (isJsonObject(usage)) this.usage = { ...this.usage, ...usage }
    const said = objectsIn(candidates).flatMap((candidate): ReadonlyArray<JsonObject> => {
      const { finishReason, finishMessage, ...own } = candidate
      const { content, index = 0, ...more } = own
      if (finishReason != null) this.finishes.set(index, given({ index, finishReason, finishMessage }))
      const isSaid = isJsonObject(content) && objectsIn(content["parts"]).length > 0
      return isSaid || Object.keys(more).length > 0 ? [own] : []
    })
    const isBlocked = others["promptFeedback"] != null
    if (said.length === 0 && !isBlocked) return ""
    this.hasSpoken = true
    return this.written(said.length === 0 ? others : { ...others, candidates: said })
  }

  /** The last candidates: as the host finished them, or as the gateway would where it did not. */
  finished(ends: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> {
    return ends.map((end) => ({ ...end, ...this.finishes.get(end["index"] ?? 0) }))
  }

  plainBytes(): number {
    return 0
  }

  plain(): string {
    return ""
  }
}
