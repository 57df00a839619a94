/**
 * What one candidate says, whole or piece by piece: a host's parts as a delta, and deltas as parts for Google's
 * clients. A whole answer is one piece. Calls go out whole, and what was said behind one waits for it.
 */
import { randomText } from "../../domain/ids.ts"
import { isJsonObject, type JsonObject, objectIn, objectsIn, textOr } from "../../domain/json/json.ts"
import type { Annotation, ChatDelta, OutputImage, ReasoningDetail, ToolCallDelta } from "../../domain/request/chat.ts"
import { JsonCount } from "../../wire/jsonDepth.ts"
import { callIdOf } from "../callId.ts"
import { argumentsObject, citationsIn } from "../content.ts"
import { isOrderEntry, PartOrder, textOfDetail } from "../conversation.ts"
import { wrapped, wrappedWhole } from "../foreignReasoning.ts"
import { given } from "./generateContentJson.ts"
import { imagePart, soundPart } from "./generateContentParts.ts"
import { annotationsOf, searchesOf } from "./generateContentSources.ts"
import { asSignature, imageId, isOfCall, reasoningFormat, signed, textId, thought } from "./generateContentThoughts.ts"

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

/** Reads one of the answers of a response. */
export class CandidateReader {
  /** Web searches that are billed. */
  searches = 0
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

  /** What a piece adds. Members that nothing was added to are absent. */
  read(candidate: JsonObject): ChatDelta {
    const delta: Delta = {}
    for (const part of objectsIn(objectIn(candidate["content"])["parts"])) this.part(part, delta)
    this.searches = Math.max(this.searches, searchesOf(candidate, this.isThird))
    const annotations = annotationsOf(candidate, this.text).filter((each) => this.isNew(each))
    if (annotations.length > 0) delta.annotations = annotations
    return delta
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

// --- for clients

interface Call {
  readonly json: JsonCount
  id: string
  name: string
  text: string
}

/** How an answer is shown to one client. */
export interface Shown {
  /** Google's clients are shown thoughts where they ask for them. */
  readonly thoughts: boolean
  /** `audio.format` of the request, which the answer does not repeat. */
  readonly soundFormat: string
}

/** Writes one of the answers for a client. */
export class AnswerParts {
  /** The model's words for why it does not answer. */
  refusal = ""
  readonly annotations: Array<Annotation> = []
  /** What waits: calls that are not complete, and what was said behind them. */
  private waiting: Array<JsonObject | Call> = []
  private readonly calls = new Map<number, Call>()
  private thought: ReasoningDetail | undefined
  private readonly signatures = new Map<string, string>()
  private readonly shown: Shown

  constructor(shown: Shown) {
    this.shown = shown
  }

  /** The parts that are ready. */
  add(delta: ChatDelta): ReadonlyArray<JsonObject> {
    const { content, reasoning, reasoning_details: details = [], tool_calls: calls, images, refusal } = delta
    if (reasoning && !details.some(textOfDetail)) this.think({ type: "reasoning.text", text: reasoning })
    for (const detail of details) if (!isOrderEntry(detail)) this.think(detail)
    if (content) this.say({ text: content })
    for (const { image_url: image } of images ?? []) this.say(imagePart(image.url))
    const sound = textOr(objectIn(delta["audio"])["data"], "")
    if (sound !== "") this.say(soundPart(sound, this.shown.soundFormat))
    for (const call of calls ?? []) this.call(call)
    if (refusal) this.refusal += refusal
    this.annotations.push(...citationsIn(delta.annotations))
    return this.ready(false)
  }

  /** The rest. */
  end(): ReadonlyArray<JsonObject> {
    this.endThought()
    return this.ready(true)
  }

  private ready(isOver: boolean): ReadonlyArray<JsonObject> {
    const { waiting } = this
    const at = isOver ? -1 : waiting.findIndex((one) => isCall(one) && !(one.json.isClosed && one.name !== ""))
    const ready = at === -1 ? waiting : waiting.slice(0, at)
    this.waiting = at === -1 ? [] : waiting.slice(at)
    return ready.map((one) => (isCall(one) ? this.callPart(one) : one))
  }

  private callPart({ id, name, text }: Call): JsonObject {
    const args = argumentsObject({ function: { name, arguments: text } })
    return given({ functionCall: { id, name, args }, thoughtSignature: this.signatures.get(id) })
  }

  private say(part: JsonObject): void {
    this.endThought()
    this.waiting.push(part)
  }

  private call({ index, id, function: called }: ToolCallDelta): void {
    let call = this.calls.get(index)
    if (call === undefined) {
      this.endThought()
      call = { json: new JsonCount(false), id: "", name: "", text: "" }
      this.calls.set(index, call)
      this.waiting.push(call)
    }
    const text = typeof called?.arguments === "string" ? called.arguments : ""
    call.id ||= id ?? ""
    call.name ||= called?.name ?? ""
    call.text += text
    call.json.add(text)
  }

  /** Fragments of one block are one thought, until one that is signed. */
  private think(detail: ReasoningDetail): void {
    const { type, format, id, data, index } = detail
    if (type === "reasoning.encrypted") {
      if (format !== reasoningFormat) this.say(emptyThought(asSignature(wrapped(detail))))
      else if (id && isOfCall(id)) this.signatures.set(id, data ?? "")
      else this.say({ text: "", thoughtSignature: data ?? "" })
      return
    }
    const text = textOfDetail(detail)
    const { thought } = this
    const goesOn =
      thought !== undefined &&
      !thought.signature &&
      thought.index === index &&
      thought.format === format &&
      thought.type === type
    if (!goesOn) this.endThought()
    const said = (goesOn ? textOfDetail(thought) : "") + text
    const own = type === "reasoning.summary" ? { summary: said } : { text: said }
    this.thought = { ...(goesOn ? thought : {}), ...detail, ...own }
    if (this.shown.thoughts && text !== "") this.waiting.push({ text, thought: true })
  }

  private endThought(): void {
    const { thought } = this
    this.thought = undefined
    if (thought === undefined) return
    const { format, signature, id, type } = thought
    if (format === reasoningFormat) {
      if (signature) this.waiting.push(emptyThought(signature))
      return
    }
    // Nothing of it has to come back.
    if (type === "reasoning.text" && !signature && id == null && (format == null || format === "unknown")) return
    this.waiting.push(emptyThought(asSignature(this.shown.thoughts ? wrapped(thought) : wrappedWhole(thought))))
  }
}

const emptyThought = (thoughtSignature: string): JsonObject => ({ text: "", thought: true, thoughtSignature })

const isCall = (one: JsonObject | Call): one is Call => one["json"] instanceof JsonCount
