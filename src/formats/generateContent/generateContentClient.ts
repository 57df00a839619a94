/** Google's form for clients: `POST …:generateContent` and `…:streamGenerateContent`, whose stream is events or one JSON array. */
import type { Failure } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { isJsonObject, type JsonObject, objectsIn, textOr } from "../../domain/json/json.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import { noCost } from "../../domain/price/price.ts"
import { noUsage } from "../../domain/price/Usage.ts"
import type { ChatChoice, ChatChunk, ChatChunkChoice } from "../../domain/request/chat.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import { sseComment, sseEvent } from "../../wire/sse.ts"
import type { AnswerNames, AnswerWriter } from "../AnswerWriter.ts"
import type { ClientFormat } from "../ClientFormat.ts"
import type { StreamWriter } from "../StreamWriter.ts"
import type { Target } from "../Target.ts"
import { finishReasonOf } from "./CandidateReader.ts"
import { decodeGenerateContent, generateContentTable } from "./generateContentBody.ts"
import { generateContentErrorBody } from "./generateContentError.ts"
import { given } from "./generateContentJson.ts"
import { soundTypeOf } from "./generateContentMedia.ts"
import { AnswerParts, groundingOf, partsOfMessage, type Shown } from "./generateContentParts.ts"
import { usageMetadata, usageWithCost } from "./generateContentUsage.ts"
import { generateContentForm, NativeEvents } from "./nativeGenerateContent.ts"

/** Whether a stream is server-sent events. */
const isEvents = (target: Target): boolean => target.inQuery("alt") === "sse"

export const generateContent: ClientFormat = {
  name: generateContentForm,
  decode: decodeGenerateContent,
  prompt: "contents",
  answer: (names, request) => answerWriter(names, shownTo(request)),
  stream: (names, request, target) => {
    const shown = shownTo(request)
    const asEvents = isEvents(target)
    return (host) => new EventWriter(names, host, shown, asEvents)
  },
  streamType: (target) => (isEvents(target) ? "text/event-stream" : "application/json"),
  error: generateContentErrorBody,
  schema: generateContentTable.schema,
}

const shownTo = ({ native, payload: { audio } }: ChatRequest): Shown => {
  const config = native?.body["generationConfig"]
  const thinking = isJsonObject(config) ? config["thinkingConfig"] : undefined
  const format = isJsonObject(audio) ? textOr(audio["format"], undefined) : undefined
  return {
    thoughts: isJsonObject(thinking) && thinking["includeThoughts"] === true,
    soundType: soundTypeOf(format),
  }
}

const answerWriter =
  (names: AnswerNames, shown: Shown): AnswerWriter =>
  (host, { choices }, native) => {
    const { usageMetadata: written, ...own } = native ?? {
      candidates: choices.map((choice) => candidateOf(choice, shown)),
    }
    const text = JSON.stringify({ ...own, ...factsOf(names, host), openrouter_metadata: names.metadata?.(host) })
    return (charge) => `${text.slice(0, -1)},"usageMetadata":${JSON.stringify(usageWithCost(written, charge))}}`
  }

/** What every answer and event says. */
const factsOf = ({ model, generationId }: AnswerNames, host: Host | undefined): JsonObject =>
  given({ modelVersion: host?.model ?? model, responseId: generationId, provider: host?.providerName })

const candidateOf = ({ index, message, logprobs, ...finish }: ChatChoice, shown: Shown): JsonObject => {
  const writer = new AnswerParts(shown)
  const parts: Array<JsonObject> = []
  for (const part of partsOfMessage(message, writer)) {
    const last = parts.at(-1)
    // A text that came in several pieces.
    if (last !== undefined && isPlain(last) && isPlain(part))
      parts[parts.length - 1] = { text: `${last["text"]}${part["text"]}` }
    else parts.push(part)
  }
  return given({ ...candidate(index, parts), ...endOf(finish, writer), logprobsResult: logprobsResult(logprobs) })
}

const isPlain = (part: JsonObject): boolean => typeof part["text"] === "string" && Object.keys(part).length === 1

/** Clients take a candidate without parts for a broken one. */
const candidate = (index: number, parts: ReadonlyArray<JsonObject>): JsonObject => ({
  content: { role: "model", parts: parts.length === 0 ? [{ text: "" }] : parts },
  index,
})

const endOf = (
  {
    finish_reason: reason,
    native_finish_reason: native,
  }: Pick<ChatChunkChoice, "finish_reason" | "native_finish_reason">,
  { refusal, annotations }: AnswerParts,
): JsonObject => ({
  finishReason: finishReasonOf(reason, native),
  finishMessage: refusal || (reason === "error" ? (native ?? undefined) : undefined),
  groundingMetadata: groundingOf(annotations),
})

const logprobsResult = (logprobs: JsonObject | null | undefined): JsonObject | undefined => {
  const tokens = objectsIn(logprobs?.["content"])
  if (tokens.length === 0) return undefined
  const one = ({ token, logprob }: JsonObject): JsonObject => ({ token, logProbability: logprob })
  return {
    chosenCandidates: tokens.map(one),
    topCandidates: tokens.map((token) => ({ candidates: objectsIn(token["top_logprobs"]).map(one) })),
  }
}

class EventWriter implements StreamWriter {
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
    const candidates = choices.flatMap((choice): ReadonlyArray<JsonObject> => {
      const parts = this.partsOf(choice.index).add(choice.delta)
      const logprobs = logprobsResult(choice.logprobs)
      if (parts.length === 0 && logprobs === undefined) return []
      return [given({ ...candidate(choice.index, parts), logprobsResult: logprobs })]
    })
    return candidates.length === 0 ? "" : this.written({ candidates })
  }

  finish({ choices }: ChatChunk, charge: Charge): string {
    const ends = choices.map((choice) => {
      const writer = this.partsOf(choice.index)
      const parts = [...writer.add(choice.delta), ...writer.end()]
      return given({ ...candidate(choice.index, parts), ...endOf(choice, writer) })
    })
    const { hasStarted } = this.native
    const last = hasStarted ? this.native.last(ends) : { candidates: ends }
    const usage = hasStarted ? usageWithCost(this.native.usage, charge) : usageMetadata(charge)
    const metadata = this.names.metadata?.(this.host)
    return this.written(given({ ...last, usageMetadata: usage, openrouter_metadata: metadata })) + this.closing
  }

  failure(failure: Failure | undefined, charge: Charge | undefined): string {
    const body = generateContentErrorBody(this.names.rendered(failure), this.names.requestId)
    const usage = usageMetadata(charge ?? { usage: noUsage, cost: noCost, upstream: noCost })
    const metadata = this.names.metadata?.(this.host)
    return this.framed(given({ ...body, usageMetadata: usage, openrouter_metadata: metadata })) + this.closing
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
