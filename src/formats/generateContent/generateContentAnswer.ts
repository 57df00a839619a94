/** Answers of Google's hosts in the canonical form, and whole answers for Google's clients. */
import type { HostFailed } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { isJsonObject, type JsonObject, objectIn, objectsIn, textOr } from "../../domain/json/json.ts"
import type {
  ChatChoice,
  ChatChunkChoice,
  ChatDelta,
  ChatMessage,
  ChatResponse,
  ChatUsage,
  FinishReason,
  ReasoningDetail,
} from "../../domain/request/chat.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import type { AnswerNames, AnswerWriter } from "../AnswerWriter.ts"
import { deltasOf } from "../delta.ts"
import { malformed } from "../httpError.ts"
import { AnswerParts, CandidateReader, type Shown } from "./generateContentAnswerParts.ts"
import { generateContentErrorInBody } from "./generateContentError.ts"
import { given } from "./generateContentJson.ts"
import { modelFacts } from "./generateContentModels.ts"
import { groundingOf } from "./generateContentSources.ts"
import { tierField, usageOf, usageWithCost } from "./generateContentUsage.ts"

// --- why an answer ended

/** Google's words; the first one of each is written where no host said any. A call of a function is a stop. */
const wordsFor: Readonly<Record<FinishReason, ReadonlyArray<string>>> = {
  stop: ["STOP"],
  tool_calls: ["STOP"],
  length: ["MAX_TOKENS"],
  content_filter: [
    ...["SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"],
    ...["IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"],
  ],
  // Mistakes of the model. Google bills such an answer like any other.
  error: [
    ...["OTHER", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"],
    ...["MISSING_THOUGHT_SIGNATURE", "NO_IMAGE", "IMAGE_OTHER"],
  ],
}

/**
 * Unknown reasons count as a stop. An answer with a call of an undeclared function has it, and the caller can answer
 * it.
 */
const finishOf = (native: string, hasCalls: boolean): FinishReason => {
  if (wordsFor.length.includes(native)) return "length"
  if (wordsFor.content_filter.includes(native)) return "content_filter"
  return hasCalls ? "tool_calls" : wordsFor.error.includes(native) ? "error" : "stop"
}

const finishReasonOf = (reason: FinishReason, native: string | null | undefined): string => {
  const isOwn = native != null && (wordsFor.error.includes(native) || wordsFor.content_filter.includes(native))
  return isOwn ? native : (wordsFor[reason][0] ?? "STOP")
}

// --- of hosts

interface NumberedReader {
  readonly index: number
  readonly reader: CandidateReader
  isFinished: boolean
}

/** Reads a whole answer, or the events of one: the same form, one after another. */
export class AnswerReader {
  /** By the host's index. Choices are numbered in the order in which they begin, so that there is no gap. */
  private readonly candidates = new Map<number, NumberedReader>()
  private readonly isThird: boolean
  private isBlocked = false
  private hasUsage = false

  constructor(upstreamModel: string) {
    this.isThird = modelFacts(upstreamModel).isThird
  }

  choices(data: JsonObject): Array<ChatChunkChoice> {
    const choices: Array<ChatChunkChoice> = []
    for (const candidate of objectsIn(data["candidates"])) choices.push(this.choice(candidate))
    const blocked = choices.length === 0 && !this.isBlocked ? blockedIn(data) : undefined
    if (blocked === undefined) return choices
    this.isBlocked = true
    return [blocked]
  }

  /** `undefined` also for a report of nothing after one of something: the last event of some streams counts nothing. */
  usage(data: JsonObject): ChatUsage | undefined {
    let searches = 0
    for (const { reader } of this.candidates.values()) searches += reader.searches
    const usage = usageOf(data["usageMetadata"], searches)
    if (usage === undefined) return undefined
    const isNothing = !usage.prompt_tokens && !usage.completion_tokens
    if (isNothing && this.hasUsage) return undefined
    this.hasUsage ||= !isNothing
    return usage
  }

  /** Whether every candidate that has begun is finished. */
  get hasEnded(): boolean {
    for (const { isFinished } of this.candidates.values()) if (!isFinished) return false
    return true
  }

  /** The order of the parts, of each choice where it is not the usual one. */
  get entries(): ReadonlyMap<number, ReadonlyArray<ReasoningDetail>> {
    return new Map([...this.candidates.values()].map(({ index, reader }) => [index, reader.entry()]))
  }

  /** Google may send text and a further finish after a finish: the last one counts. */
  private choice(candidate: JsonObject): ChatChunkChoice {
    const { finishReason: finish, finishMessage: words } = candidate
    const state = this.stateOf(candidate)
    const { index, reader } = state
    const delta = reader.read(candidate)
    const logprobs = readLogprobs(candidate)
    const more = logprobs === undefined ? {} : { logprobs }
    if (finish == null) return { index, delta, finish_reason: null, ...more }
    state.isFinished = true
    const native = String(finish)
    const reason = finishOf(native, reader.hasCalls)
    const refused = reason === "content_filter" && typeof words === "string" ? { refusal: words } : {}
    return { index, delta: { ...delta, ...refused }, finish_reason: reason, native_finish_reason: native, ...more }
  }

  private stateOf({ index }: JsonObject): NumberedReader {
    // Google leaves zeros out.
    const place = typeof index === "number" ? index : 0
    const known = this.candidates.get(place)
    if (known !== undefined) return known
    const begun = { index: this.candidates.size, reader: new CandidateReader(this.isThird), isFinished: false }
    this.candidates.set(place, begun)
    return begun
  }
}

/** A prompt that was refused has no candidates. */
const blockedIn = (data: JsonObject): ChatChunkChoice | undefined => {
  const { blockReason: reason, blockReasonMessage: words } = objectIn(data["promptFeedback"])
  if (reason == null) return undefined
  const refused = typeof words === "string" ? { refusal: words } : {}
  const delta = { content: "", ...refused }
  return { index: 0, delta, finish_reason: "content_filter", native_finish_reason: String(reason) }
}

export const generateContentAnswer = (body: unknown, upstreamModel: string): ChatResponse | HostFailed => {
  if (!isJsonObject(body)) return malformed()
  if (body["error"] != null) return generateContentErrorInBody(body["error"])
  const isSound = ({ content, finishReason }: JsonObject) => isJsonObject(content) || finishReason != null
  const reader = new AnswerReader(upstreamModel)
  const read = reader.choices(body)
  if (read.length === 0 || !objectsIn(body["candidates"]).every(isSound)) return malformed()
  const { entries } = reader
  const choices = read.map((choice) => wholeChoice(choice, entries.get(choice.index) ?? []))
  const usage = reader.usage(body)
  return { choices, ...(usage === undefined ? {} : { usage }), ...tierField(body["usageMetadata"]) }
}

const wholeChoice = (
  { index, delta, finish_reason: finish, native_finish_reason: native = null, logprobs = null }: ChatChunkChoice,
  entry: ReadonlyArray<ReasoningDetail>,
): ChatChoice => ({
  index,
  finish_reason: finish ?? (delta.tool_calls === undefined ? "stop" : "tool_calls"),
  native_finish_reason: native,
  message: messageOf(delta, entry),
  logprobs,
})

const messageOf = (
  {
    content,
    refusal,
    reasoning,
    reasoning_details: details = [],
    tool_calls: pieces = [],
    role: _,
    ...rest
  }: ChatDelta,
  entry: ReadonlyArray<ReasoningDetail>,
): ChatMessage => {
  // Calls of Google come whole, so each piece is one.
  const calls = pieces.map(({ id = "", type = "function", function: called }) => ({
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

// --- for clients

export const shownTo = ({ native, payload }: ChatRequest): Shown => ({
  thoughts: objectIn(objectIn(native?.body["generationConfig"])["thinkingConfig"])["includeThoughts"] === true,
  soundFormat: textOr(objectIn(payload["audio"])["format"], "pcm16"),
})

export const answerWriter =
  (names: AnswerNames, shown: Shown): AnswerWriter =>
  (host, { choices }, native) => {
    const { usageMetadata: written, ...own } = native ?? {
      candidates: choices.map((choice) => wholeCandidate(choice, shown)),
    }
    const text = JSON.stringify({ ...own, ...factsOf(names, host), openrouter_metadata: names.metadata?.(host) })
    return (charge) => `${text.slice(0, -1)},"usageMetadata":${JSON.stringify(usageWithCost(written, charge))}}`
  }

/** What every answer and event says. */
export const factsOf = ({ model, generationId }: AnswerNames, host: Host | undefined): JsonObject =>
  given({ modelVersion: host?.model ?? model, responseId: generationId, provider: host?.providerName })

const wholeCandidate = ({ message, ...choice }: ChatChoice, shown: Shown): JsonObject => {
  const writer = new AnswerParts(shown)
  const said = [...deltasOf(message, null).flatMap(({ delta }) => writer.add(delta)), ...writer.end()]
  const parts: Array<JsonObject> = []
  for (const part of said) {
    const last = parts.at(-1)
    // A text that came in several pieces.
    if (last !== undefined && isPlain(last) && isPlain(part))
      parts[parts.length - 1] = { text: `${last["text"]}${part["text"]}` }
    else parts.push(part)
  }
  return candidateOf(choice.index, parts, {
    ...endOf(choice, writer),
    logprobsResult: writtenLogprobs(choice.logprobs),
  })
}

const isPlain = (part: JsonObject): boolean => typeof part["text"] === "string" && Object.keys(part).length === 1

/** Clients take a candidate without parts for a broken one. */
export const candidateOf = (index: number, parts: ReadonlyArray<JsonObject>, more: JsonObject): JsonObject =>
  given({ content: { role: "model", parts: parts.length === 0 ? [{ text: "" }] : parts }, index, ...more })

/** How a candidate ended, and what it cites. */
export const endOf = (
  {
    finish_reason: reason,
    native_finish_reason: native,
  }: Pick<ChatChunkChoice, "finish_reason" | "native_finish_reason">,
  { refusal, annotations }: AnswerParts,
): JsonObject => ({
  finishReason: finishReasonOf(reason ?? "stop", native),
  finishMessage: refusal || (reason === "error" ? (native ?? undefined) : undefined),
  groundingMetadata: groundingOf(annotations),
})

// --- probabilities of tokens

/** The chat form's `logprobs`; `undefined` where there are none. */
const readLogprobs = ({ logprobsResult: result }: JsonObject): JsonObject | undefined => {
  if (!isJsonObject(result) || !Array.isArray(result["chosenCandidates"])) return undefined
  const { topCandidates } = result
  const others: ReadonlyArray<unknown> = Array.isArray(topCandidates) ? topCandidates : []
  const content = objectsIn(result["chosenCandidates"]).map((token, at) => {
    const top = isJsonObject(others[at]) ? objectsIn(others[at]["candidates"]) : []
    return { ...readToken(token), top_logprobs: top.map(readToken) }
  })
  return { content, refusal: null }
}

const readToken = ({ token, logProbability }: JsonObject): JsonObject => ({
  token: textOr(token, ""),
  logprob: typeof logProbability === "number" ? logProbability : 0,
  bytes: [...Buffer.from(textOr(token, ""))],
})

export const writtenLogprobs = (logprobs: JsonObject | null | undefined): JsonObject | undefined => {
  const tokens = objectsIn(logprobs?.["content"])
  if (tokens.length === 0) return undefined
  const topCandidates = tokens.map((token) => ({ candidates: objectsIn(token["top_logprobs"]).map(writtenToken) }))
  return { chosenCandidates: tokens.map(writtenToken), topCandidates }
}

const writtenToken = ({ token, logprob }: JsonObject): JsonObject => ({ token, logProbability: logprob })
