/**
 * Thoughts and their signatures, as pieces of reasoning. Gemini signs parts: a call of a function, a text, an image. What it
 * signed has to come back with the same signature, so a signature becomes an encrypted piece whose `id` says what it belongs
 * to: the id of a call; `text_<from>_<to>_...`, UTF-16 units of the message's text; `image_<place>_...`; none: a part of its
 * own without text, which ends a stream. The rest of these ids is random, since callers expect ids to be unique. A thought is
 * a piece of text, signed or not.
 */

import { randomText } from "../../domain/ids.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type { ReasoningDetail } from "../../domain/request/chat.ts"
import { reasoningFormat } from "./generateContentJson.ts"

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

const unique = (): string => randomText(12)

export const textId = (from: number, to: number): string => `text_${from}_${to}_${unique()}`
export const imageId = (place: number): string => `image_${place}_${unique()}`

/** A part of the text with the signature that it came with. */
export interface SignedSpan {
  readonly from: number
  readonly to: number
  readonly signature: string
}

/** The signatures of one message, by what they belong to. */
export interface Thoughts {
  /** Parts, in order. */
  readonly thoughts: ReadonlyArray<JsonObject>
  readonly ofCalls: ReadonlyMap<string, string>
  readonly ofTexts: ReadonlyArray<SignedSpan>
  readonly ofImages: ReadonlyMap<number, string>
  /** Of parts without text. */
  readonly alone: ReadonlyArray<string>
}

interface Block {
  readonly type: ReasoningDetail["type"]
  readonly id: string | null
  readonly index: number | undefined
  text: string
  data: string
  signature: string
}

/**
 * Reads the pieces that came from Gemini. A caller who collected a stream may give fragments: those of one index are joined, up
 * to a signature.
 */
export const thoughtsOf = (details: ReadonlyArray<ReasoningDetail>): Thoughts => {
  const thoughts: Array<JsonObject> = []
  const ofCalls = new Map<string, string>()
  const ofTexts: Array<SignedSpan> = []
  const ofImages = new Map<number, string>()
  const alone: Array<string> = []
  for (const { type, id, text, data, signature } of blocksOf(details)) {
    if (type === "reasoning.text") {
      const mark = signature === "" ? {} : { thoughtSignature: signature }
      if (text !== "" || signature !== "") thoughts.push({ text, thought: true, ...mark })
    } else if (type === "reasoning.encrypted" && data !== "") {
      const [, kind, first, second] = /^(text|image)_(\d+)(?:_(\d+))?_/.exec(id ?? "") ?? []
      if (id === null) alone.push(data)
      else if (kind === "text") ofTexts.push({ from: Number(first), to: Number(second), signature: data })
      else if (kind === "image") ofImages.set(Number(first), data)
      else ofCalls.set(id, data)
    }
  }
  return { thoughts, ofCalls, ofTexts, ofImages, alone }
}

const blocksOf = (details: ReadonlyArray<ReasoningDetail>): ReadonlyArray<Block> => {
  const blocks: Array<Block> = []
  for (const { format, type, index, id = null, text, data, signature } of details) {
    if (format !== reasoningFormat) continue
    let block = blocks.at(-1)
    // Signatures come whole.
    const goesOn =
      block?.type === type && type !== "reasoning.encrypted" && block.index === index && index !== undefined
    if (block === undefined || !goesOn || block.signature !== "") {
      block = { type, id: id === "" ? null : id, index, text: "", data: "", signature: "" }
      blocks.push(block)
    }
    block.text += text ?? ""
    block.data += data ?? ""
    block.signature += signature ?? ""
  }
  return blocks
}
