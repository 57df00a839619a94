/**
 * An answer as Google's parts, whole or piece by piece. Calls go out whole, and what was said behind one waits for it.
 * Reasoning of other vendors travels in a signature of ours, so that it comes back in the next turn; it is base64, since
 * Google's clients read signatures as bytes.
 */
import { isJsonObject, type JsonObject, textOr } from "../../domain/json/json.ts"
import type { Annotation, ChatDelta, ChatMessage, ReasoningDetail, ToolCallDelta } from "../../domain/request/chat.ts"
import { JsonCount } from "../../wire/jsonDepth.ts"
import { argumentsObject, citationsIn, readDataUrl } from "../content.ts"
import { isOrderEntry } from "../conversation.ts"
import { deltasOf } from "../delta.ts"
import { unwrapped, wrapped, wrappedWhole } from "../foreignReasoning.ts"
import { given, reasoningFormat } from "./generateContentJson.ts"

const encoded = (text: string): string => Buffer.from(text).toString("base64")

/** How each signature of ours begins. */
const ownHead = encoded("headgate.v1.")

export const isOwnSignature = (signature: unknown): signature is string =>
  typeof signature === "string" && signature.startsWith(ownHead)

/** The reasoning in a signature of ours. */
export const unwrappedSignature = (signature: unknown): ReasoningDetail | undefined =>
  isOwnSignature(signature) ? unwrapped(Buffer.from(signature, "base64").toString()) : undefined

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
  /** The type of sound in it, which an answer in the canonical form does not say. */
  readonly soundType: string
}

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
    if (reasoning && !details.some(({ text, summary }) => text || summary))
      this.think({ type: "reasoning.text", text: reasoning })
    for (const detail of details) if (!isOrderEntry(detail)) this.think(detail)
    if (content) this.say({ text: content })
    for (const { image_url: image } of images ?? []) this.say(imagePart(image.url))
    const { audio } = delta
    const sound = isJsonObject(audio) ? textOr(audio["data"], "") : ""
    if (sound !== "") this.say({ inlineData: { mimeType: this.shown.soundType, data: sound } })
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
      if (format !== reasoningFormat) this.say({ text: "", thought: true, thoughtSignature: encoded(wrapped(detail)) })
      else if (id && !/^(?:text|image)_/.test(id)) this.signatures.set(id, data ?? "")
      else this.say({ text: "", thoughtSignature: data ?? "" })
      return
    }
    const text = detail.text ?? detail.summary ?? ""
    const { thought } = this
    const goesOn =
      thought !== undefined &&
      !thought.signature &&
      thought.index === index &&
      thought.format === format &&
      thought.type === type
    if (!goesOn) this.endThought()
    const said = (goesOn ? (thought.text ?? thought.summary ?? "") : "") + text
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
      if (signature) this.waiting.push({ text: "", thought: true, thoughtSignature: signature })
      return
    }
    // Nothing of it has to come back.
    if (type === "reasoning.text" && !signature && id == null && (format == null || format === "unknown")) return
    const mark = this.shown.thoughts ? wrapped(thought) : wrappedWhole(thought)
    this.waiting.push({ text: "", thought: true, thoughtSignature: encoded(mark) })
  }
}

const isCall = (one: JsonObject | Call): one is Call => one["json"] instanceof JsonCount

const imagePart = (url: string): JsonObject => {
  const embedded = readDataUrl(url)
  return embedded === undefined
    ? { fileData: { mimeType: "image/png", fileUri: url } }
    : { inlineData: { mimeType: embedded.mediaType, data: embedded.data } }
}

/** The parts of a whole message, in their order. */
export const partsOfMessage = (message: ChatMessage, writer: AnswerParts): ReadonlyArray<JsonObject> => [
  ...deltasOf(message, null).flatMap(({ delta }) => writer.add(delta)),
  ...writer.end(),
]

/** What the answer cites, as Google names sources. */
export const groundingOf = (annotations: ReadonlyArray<Annotation>): JsonObject | undefined => {
  const sources = annotations.map(({ url_citation: cited }) => cited).filter(isJsonObject)
  if (sources.length === 0) return undefined
  const byUrl = new Map(sources.map(({ url, title }) => [url, { web: { uri: url, title } }]))
  return { groundingChunks: [...byUrl.values()] }
}
