/** One of the answers of a response, whole or in pieces. Both are read by the same code: a whole one is one piece. */

import { randomText } from "../../domain/ids.ts"
import { isJsonObject, type JsonObject, objectsIn, textOr } from "../../domain/json/json.ts"
import type {
  Annotation,
  ChatDelta,
  FinishReason,
  OutputImage,
  ReasoningDetail,
  ToolCallDelta,
} from "../../domain/request/chat.ts"
import { callIdOf } from "../callId.ts"
import { PartOrder } from "../conversation.ts"
import { annotationsOf, logprobsOf, searchesOf } from "./generateContentSources.ts"
import { imageId, signed, textId, thought } from "./Thoughts.ts"

export interface Finish {
  readonly reason: FinishReason
  /** In Google's words. */
  readonly native: string
}

/** What a piece adds. Members that nothing was added to are absent. */
export interface Piece {
  readonly delta: ChatDelta
  readonly logprobs: JsonObject | undefined
  readonly finish: Finish | undefined
}

const contentFilters: ReadonlySet<string> = new Set([
  ...["SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"],
  ...["IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"],
])

/** Finish reasons for mistakes of the model. Google bills such an answer like any other. */
const mistakes: ReadonlySet<string> = new Set([
  ...["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"],
  ...["MISSING_THOUGHT_SIGNATURE", "NO_IMAGE", "IMAGE_OTHER", "OTHER"],
])

/** Unknown reasons count as a stop. */
const finishOf = (native: string, hasCalls: boolean): FinishReason => {
  if (native === "MAX_TOKENS") return "length"
  if (contentFilters.has(native)) return "content_filter"
  // The answer still has its call of the undeclared function, which the caller can answer.
  if (mistakes.has(native) && !hasCalls) return "error"
  return hasCalls ? "tool_calls" : "stop"
}

const reasonOf: Readonly<Record<FinishReason, string>> = {
  stop: "STOP",
  length: "MAX_TOKENS",
  tool_calls: "STOP",
  content_filter: "SAFETY",
  error: "OTHER",
}

/** The finish for Google's clients: in Google's words where a host used them. */
export const finishReasonOf = (reason: FinishReason | null, native: string | null | undefined): string =>
  native != null && (mistakes.has(native) || contentFilters.has(native)) ? native : reasonOf[reason ?? "stop"]

/** Not an interface: those have no members besides the listed ones. */
type Delta = {
  content?: string
  refusal?: string
  reasoning?: string
  reasoning_details?: Array<ReasoningDetail>
  tool_calls?: Array<ToolCallDelta>
  images?: Array<OutputImage>
  audio?: { readonly id: string; readonly data: string }
  annotations?: ReadonlyArray<Annotation>
}

export class CandidateReader {
  /** Web searches that are billed. */
  searches = 0
  isFinished = false
  private text = ""
  private calls = 0
  private images = 0
  private readonly order = new PartOrder()
  /** The number of the thought that may go on. */
  private openThought: number | undefined
  private readonly cited = new Set<string>()
  private readonly isThird: boolean

  constructor(isThird: boolean) {
    this.isThird = isThird
  }

  /** Google may send text and a further finish after a finish: the last one counts. */
  read(candidate: JsonObject): Piece {
    const delta: Delta = {}
    const { content, finishReason, finishMessage } = candidate
    for (const part of objectsIn(isJsonObject(content) ? content["parts"] : undefined)) this.part(part, delta)
    this.searches = Math.max(this.searches, searchesOf(candidate, this.isThird))
    const annotations = annotationsOf(candidate, this.text).filter((each) => this.isNew(each))
    if (annotations.length > 0) delta.annotations = annotations
    const logprobs = logprobsOf(candidate)
    if (finishReason == null) return { delta, logprobs, finish: undefined }
    const native = String(finishReason)
    const reason = finishOf(native, this.calls > 0)
    this.isFinished = true
    if (reason === "content_filter" && typeof finishMessage === "string") delta.refusal = finishMessage
    return { delta, logprobs, finish: { reason, native } }
  }

  /** Whether it has called a function. */
  get hasCalls(): boolean {
    return this.calls > 0
  }

  /** The order of its parts, where it is not the usual one. */
  entry(): ReadonlyArray<ReasoningDetail> {
    return this.order.entry()
  }

  private part(part: JsonObject, delta: Delta): void {
    const { text, thought: isThought, functionCall, inlineData, fileData } = part
    const signature = textOr(part["thoughtSignature"], undefined) || undefined
    if (isThought === true) {
      if (typeof text === "string") this.thought(text, signature, delta)
      return
    }
    if (isJsonObject(functionCall)) this.call(functionCall, signature, delta)
    else if (isJsonObject(inlineData)) this.media(inlineData, signature, delta)
    else if (isJsonObject(fileData)) this.image(textOr(fileData["fileUri"], ""), fileData, signature, delta)
    // Parts without a text are steps of Google's own tools, of which nothing is passed on.
    else if (typeof text === "string") this.said(text, signature, delta)
  }

  private thought(text: string, signature: string | undefined, delta: Delta): void {
    if (text === "" && signature === undefined) return
    this.openThought ??= this.order.reasoning()
    delta.reasoning = (delta.reasoning ?? "") + text
    const detail = thought(this.openThought, text, signature)
    this.order.reasoned(this.openThought, detail)
    detailsOf(delta).push(detail)
    if (signature !== undefined) this.openThought = undefined
  }

  private said(text: string, signature: string | undefined, delta: Delta): void {
    const from = this.text.length
    if (text !== "") {
      this.openThought = undefined
      this.text += text
      this.order.text(text)
      delta.content = (delta.content ?? "") + text
    }
    if (signature !== undefined) this.sign(text === "" ? null : textId(from, this.text.length), signature, delta)
  }

  private call({ id, name, args }: JsonObject, signature: string | undefined, delta: Delta): void {
    const callId = callIdOf(id)
    this.order.call(callId)
    delta.tool_calls ??= []
    delta.tool_calls.push({
      index: this.calls++,
      id: callId,
      type: "function",
      function: { name: textOr(name, ""), arguments: JSON.stringify(isJsonObject(args) ? args : {}) },
    })
    this.openThought = undefined
    if (signature !== undefined) this.sign(callId, signature, delta)
  }

  private media({ mimeType, data }: JsonObject, signature: string | undefined, delta: Delta): void {
    if (typeof mimeType !== "string" || typeof data !== "string") return
    if (mimeType.startsWith("audio/")) {
      delta.audio = { id: `audio_${randomText(12)}`, data: (delta.audio?.data ?? "") + data }
    } else this.image(`data:${mimeType};base64,${data}`, { mimeType }, signature, delta)
  }

  private image(url: string, { mimeType }: JsonObject, signature: string | undefined, delta: Delta): void {
    if (url === "" || typeof mimeType !== "string" || !mimeType.startsWith("image/")) return
    delta.images ??= []
    delta.images.push({ type: "image_url", image_url: { url } })
    const place = this.images++
    if (signature !== undefined) this.sign(imageId(place), signature, delta)
  }

  private sign(of: string | null, signature: string, delta: Delta): void {
    detailsOf(delta).push(signed(this.order.mark(), of, signature))
    this.openThought = undefined
  }

  /** Google repeats its sources while a stream goes on. */
  private isNew({ url_citation: { url, start_index: start, end_index: end } }: Annotation): boolean {
    const key = `${start} ${end} ${url}`
    if (this.cited.has(key)) return false
    this.cited.add(key)
    return true
  }
}

const detailsOf = (delta: Delta): Array<ReasoningDetail> => {
  delta.reasoning_details ??= []
  return delta.reasoning_details
}
