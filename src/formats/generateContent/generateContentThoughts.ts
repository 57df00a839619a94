/**
 * Thoughts and their signatures, as pieces of reasoning. Gemini signs parts: a call of a function, a text, an image.
 * What it signed has to come back with the same signature, so a signature becomes an encrypted piece whose `id` says
 * what it belongs to: the id of a call; `text_<from>_<to>_...`, UTF-16 units of the message's text;
 * `image_<place>_...`; none: a part of its own without text, which ends a stream. The rest of these ids is random,
 * since callers expect ids to be unique. A thought is a piece of text, signed or not. The gateway writes reasoning of
 * other vendors into a signature of its own, which comes back in the next turn.
 */
import { randomText } from "../../domain/ids.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type { ReasoningDetail } from "../../domain/request/chat.ts"
import { unwrapped, wrappedPrefix } from "../foreignReasoning.ts"

/** Marks reasoning that came from Gemini and may go back to it. */
export const reasoningFormat = "google-gemini-v1"

export const thought = (index: number, text: string, signature: string | undefined): ReasoningDetail => ({
  type: "reasoning.text",
  text,
  ...(signature === undefined ? {} : { signature }),
  format: reasoningFormat,
  index,
})

/** `of`: the id of what is signed; `null`: a part without text. */
export const signed = (index: number, of: string | null, signature: string): ReasoningDetail => ({
  type: "reasoning.encrypted",
  data: signature,
  id: of,
  format: reasoningFormat,
  index,
})

export const textId = (from: number, to: number): string => `text_${from}_${to}_${randomText(12)}`
export const imageId = (place: number): string => `image_${place}_${randomText(12)}`

const ofTextOrImage = /^(text|image)_(\d+)(?:_(\d+))?_/

/** Whether a signature with this id belongs to a call. */
export const isOfCall = (id: string): boolean => !ofTextOrImage.test(id)

/** A part of the text with the signature that it came with. */
interface SignedSpan {
  readonly from: number
  readonly to: number
  readonly signature: string
}

/** The signatures of one message, by what they belong to. */
export interface Thoughts {
  /** Parts, in order. */
  readonly thoughts: ReadonlyArray<JsonObject>
  readonly ofCalls: ReadonlyMap<string, string>
  /** In the order of the text. */
  readonly ofTexts: ReadonlyArray<SignedSpan>
  readonly ofImages: ReadonlyMap<number, string>
  /** Parts without text. */
  readonly alone: ReadonlyArray<JsonObject>
}

/**
 * Reads the pieces that came from Gemini. A caller who collected a stream may give fragments: those of one index are
 * joined, up to a signature.
 */
export const thoughtsOf = (details: ReadonlyArray<ReasoningDetail>): Thoughts => {
  const thoughts: Array<JsonObject> = []
  const ofCalls = new Map<string, string>()
  const ofTexts: Array<SignedSpan> = []
  const ofImages = new Map<number, string>()
  const alone: Array<JsonObject> = []
  for (const { type, id, text, data, signature } of blocksOf(details)) {
    if (type === "reasoning.text") {
      if (text !== "" || signature !== "") thoughts.push(withSignature({ text, thought: true }, signature || undefined))
    } else if (type === "reasoning.encrypted" && data !== "") {
      const [, kind, first, second] = ofTextOrImage.exec(id) ?? []
      if (id === "") alone.push(withSignature({ text: "" }, data))
      else if (kind === "text") ofTexts.push({ from: Number(first), to: Number(second), signature: data })
      else if (kind === "image") ofImages.set(Number(first), data)
      else ofCalls.set(id, data)
    }
  }
  return { thoughts, ofCalls, ofTexts: ofTexts.sort((one, other) => one.from - other.from), ofImages, alone }
}

interface Block {
  readonly type: ReasoningDetail["type"]
  readonly id: string
  readonly index: number | undefined
  text: string
  data: string
  signature: string
}

const blocksOf = (details: ReadonlyArray<ReasoningDetail>): ReadonlyArray<Block> => {
  const blocks: Array<Block> = []
  for (const { format, type, index, id, text, data, signature } of details) {
    if (format !== reasoningFormat) continue
    let block = blocks.at(-1)
    // Signatures come whole.
    const goesOn =
      block?.type === type && type !== "reasoning.encrypted" && block.index === index && index !== undefined
    if (block === undefined || !goesOn || block.signature !== "") {
      block = { type, id: id ?? "", index, text: "", data: "", signature: "" }
      blocks.push(block)
    }
    block.text += text ?? ""
    block.data += data ?? ""
    block.signature += signature ?? ""
  }
  return blocks
}

export const withSignature = (part: JsonObject, signature: string | undefined): JsonObject =>
  signature === undefined ? part : { ...part, thoughtSignature: signature }

/**
 * The text of a message in the parts that were signed, and those between them, in the pieces in which the text comes.
 */
export class SignedText {
  private readonly spans: ReadonlyArray<SignedSpan>
  private readonly fits: boolean
  private at = 0

  constructor(text: string, spans: ReadonlyArray<SignedSpan>) {
    this.spans = spans
    this.fits = spans.every(
      ({ from, to }, place) => from >= (spans[place - 1]?.to ?? 0) && from <= to && to <= text.length,
    )
  }

  /** The next piece of the text. */
  next(text: string): ReadonlyArray<JsonObject> {
    const start = this.at
    const end = start + text.length
    const parts: Array<JsonObject> = []
    const upTo = (place: number, signature?: string) => {
      if (place <= this.at) return
      parts.push(withSignature({ text: text.slice(this.at - start, place - start) }, signature))
      this.at = place
    }
    for (const { from, to, signature } of this.fits ? this.spans : []) {
      upTo(Math.min(from, end))
      if (from < end) upTo(Math.min(to, end), to <= end ? signature : undefined)
    }
    upTo(end)
    return parts
  }

  /** A text that is not the one that was signed gets the signature at its last part. */
  signed(parts: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> {
    if (this.fits) return parts
    const last = parts.findLastIndex((part) => typeof part["text"] === "string" && part["thought"] !== true)
    return parts.map((part, at) => (at === last ? withSignature(part, this.spans.at(-1)?.signature) : part))
  }
}

// --- reasoning of other vendors

/** Google's clients read signatures as bytes. */
export const asSignature = (wrapped: string): string => Buffer.from(wrapped).toString("base64")

const ownHead = asSignature(wrappedPrefix)

export const isOwnSignature = (signature: unknown): signature is string =>
  typeof signature === "string" && signature.startsWith(ownHead)

/** The reasoning in a signature that the gateway wrote. */
export const unwrappedSignature = (signature: unknown): ReasoningDetail | undefined =>
  isOwnSignature(signature) ? unwrapped(Buffer.from(signature, "base64").toString()) : undefined
