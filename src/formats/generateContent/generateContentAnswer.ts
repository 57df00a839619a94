/** Google's answers in the canonical form: whole ones, and the events of a stream. */

import type { HostFailed } from "../../domain/failures/Failure.ts"
import { isJsonObject, type JsonObject, objectsIn, textOr } from "../../domain/json/json.ts"
import type {
  ChatChoice,
  ChatChunk,
  ChatChunkChoice,
  ChatMessage,
  ChatResponse,
  ReasoningDetail,
} from "../../domain/request/chat.ts"
import { malformed } from "../httpError.ts"
import type { Decoder } from "../Protocol.ts"
import { CandidateReader, type Piece } from "./CandidateReader.ts"
import { generateContentErrorInBody } from "./generateContentError.ts"
import { modelFacts } from "./generateContentModels.ts"
import { tierField, usageOf } from "./generateContentUsage.ts"

/** A prompt that was refused has no candidates. */
interface Blocked {
  readonly reason: string
  readonly message: string | undefined
}

const blockedIn = (body: JsonObject): Blocked | undefined => {
  const feedback = body["promptFeedback"]
  const reason = isJsonObject(feedback) ? feedback["blockReason"] : undefined
  if (!isJsonObject(feedback) || reason == null) return undefined
  return { reason: String(reason), message: textOr(feedback["blockReasonMessage"], undefined) }
}

/** The place of a candidate; 0 is left out. */
const placeOf = ({ index }: JsonObject): number => (typeof index === "number" ? index : 0)

export const generateContentAnswer = (body: unknown, upstreamModel: string): ChatResponse | HostFailed => {
  if (!isJsonObject(body)) return malformed()
  if (body["error"] != null) return generateContentErrorInBody(body["error"])
  const candidates = objectsIn(body["candidates"])
  const blocked = blockedIn(body)
  if (candidates.length === 0) return blocked === undefined ? malformed() : answerOf(body, [blockedChoice(blocked)], 0)
  const { isThird } = modelFacts(upstreamModel)
  const choices: Array<ChatChoice> = []
  let searches = 0
  for (const candidate of candidates) {
    if (!isJsonObject(candidate["content"]) && candidate["finishReason"] == null) return malformed()
    const reader = new CandidateReader(isThird)
    choices.push(choiceOf(placeOf(candidate), reader.read(candidate), reader))
    searches += reader.searches
  }
  return answerOf(body, choices, searches)
}

const answerOf = (body: JsonObject, choices: ReadonlyArray<ChatChoice>, searches: number): ChatResponse => {
  const usage = usageOf(body["usageMetadata"], searches)
  return { choices, ...(usage === undefined ? {} : { usage }), ...tierField(body["usageMetadata"]) }
}

const choiceOf = (index: number, { delta, logprobs, finish }: Piece, reader: CandidateReader): ChatChoice => ({
  index,
  finish_reason: finish?.reason ?? (reader.hasCalls ? "tool_calls" : "stop"),
  native_finish_reason: finish?.native ?? null,
  message: messageOf(delta, reader.entry()),
  logprobs: logprobs ?? null,
})

const messageOf = (
  {
    content,
    refusal,
    reasoning,
    reasoning_details: details = [],
    tool_calls: pieces,
    role: _,
    ...rest
  }: Piece["delta"],
  entry: ReadonlyArray<ReasoningDetail>,
): ChatMessage => {
  // Calls of Google come whole, so each piece is one.
  const calls = (pieces ?? []).map(({ id = "", type = "function", function: called }) => ({
    id,
    type,
    function: { name: called?.name ?? "", arguments: called?.arguments ?? "{}" },
  }))
  return {
    role: "assistant",
    content: content ?? (calls.length === 0 ? "" : null),
    refusal: refusal ?? null,
    reasoning: reasoning ?? null,
    ...(details.length + entry.length === 0 ? {} : { reasoning_details: [...details, ...entry] }),
    ...rest,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

const blockedChoice = ({ reason, message }: Blocked): ChatChoice => ({
  index: 0,
  finish_reason: "content_filter",
  native_finish_reason: reason,
  message: { role: "assistant", content: "", refusal: message ?? null },
  logprobs: null,
})

export const generateContentDecoder = (upstreamModel: string): Decoder =>
  new GenerateContentDecoder(modelFacts(upstreamModel).isThird)

const nothing: ReadonlyArray<ChatChunk> = []

interface NumberedReader {
  readonly index: number
  readonly reader: CandidateReader
}

class GenerateContentDecoder implements Decoder {
  /** By the host's index. Choices are numbered in the order in which they begin, so that there is no gap. */
  private readonly candidates = new Map<number, NumberedReader>()
  private readonly isThird: boolean
  private isBlocked = false

  constructor(isThird: boolean) {
    this.isThird = isThird
  }

  event(_name: string, data: unknown): ReadonlyArray<ChatChunk> | HostFailed {
    if (!isJsonObject(data)) return nothing
    if (data["error"] != null) {
      const failure = generateContentErrorInBody(data["error"])
      const usage = usageOf(data["usageMetadata"], this.searches)
      return usage === undefined ? failure : failure.with({ usage })
    }
    const choices: Array<ChatChunkChoice> = []
    for (const candidate of objectsIn(data["candidates"])) {
      const { index, reader } = this.readerOf(placeOf(candidate))
      choices.push(chunkChoice(index, reader.read(candidate)))
    }
    const blocked = blockedIn(data)
    if (blocked !== undefined && choices.length === 0 && !this.isBlocked) {
      this.isBlocked = true
      choices.push(blockedChunk(blocked))
    }
    return this.chunks(data["usageMetadata"], choices)
  }

  /** The order of the parts. */
  end(): ReadonlyArray<ChatChunk> {
    const choices: Array<ChatChunkChoice> = []
    for (const { index, reader } of this.candidates.values()) {
      const entry = reader.entry()
      if (entry.length > 0) choices.push({ index, delta: { reasoning_details: entry }, finish_reason: null })
    }
    return choices.length === 0 ? nothing : [{ choices }]
  }

  private readerOf(place: number): NumberedReader {
    const known = this.candidates.get(place)
    if (known !== undefined) return known
    const begun = { index: this.candidates.size, reader: new CandidateReader(this.isThird) }
    this.candidates.set(place, begun)
    return begun
  }

  /** Running reports without output are not passed on: an answer that is cut would be charged by one. */
  private chunks(metadata: unknown, choices: ReadonlyArray<ChatChunkChoice>): ReadonlyArray<ChatChunk> {
    const counted = usageOf(metadata, this.searches)
    const isReport = counted !== undefined && (Boolean(counted.completion_tokens) || this.hasEnded)
    if (choices.length === 0 && !isReport) return nothing
    const usage = isReport ? { usage: counted } : {}
    return [{ choices, ...usage, ...tierField(metadata) }]
  }

  private get searches(): number {
    let searches = 0
    for (const { reader } of this.candidates.values()) searches += reader.searches
    return searches
  }

  /** Whether every candidate that has begun is finished. */
  private get hasEnded(): boolean {
    for (const { reader } of this.candidates.values()) if (!reader.isFinished) return false
    return true
  }
}

const chunkChoice = (index: number, { delta, logprobs, finish }: Piece): ChatChunkChoice => ({
  index,
  delta,
  finish_reason: finish?.reason ?? null,
  ...(finish === undefined ? {} : { native_finish_reason: finish.native }),
  ...(logprobs === undefined ? {} : { logprobs }),
})

const blockedChunk = ({ reason, message }: Blocked): ChatChunkChoice => ({
  index: 0,
  delta: { content: "", ...(message === undefined ? {} : { refusal: message }) },
  finish_reason: "content_filter",
  native_finish_reason: reason,
})
