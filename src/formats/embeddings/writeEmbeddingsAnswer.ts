/** An answer with embeddings, in the encoding that the caller wants. */

import { HostFailed } from "../../domain/failures/Failure.ts"
import { textOfNumbers, withoutLongLists } from "../../domain/json/numberList.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import {
  type Embedding,
  type EmbeddingsPayload,
  type EmbeddingsRequest,
  floatPieces,
  isPackable,
  packed,
  unpacked,
} from "../../domain/request/embeddings.ts"
import type { AnswerNames, UnaryWriter } from "../AnswerWriter.ts"
import { usageBody } from "../routerUsage.ts"

/** Characters of a piece of a long answer. A shorter answer is written at once. */
const pieceLength = 262_144

/** Characters of number lists that pass on although they are not vectors. */
const otherNumbers = 65_536

/**
 * An entry of `data`. Its vector is converted only when it is written, because numbers take more memory than the
 * host's text.
 */
interface Entry {
  readonly head: string
  readonly vector: () => Iterable<string>
  /** An upper estimate of its length in characters. */
  readonly length: number
}

export const embeddingsWriter =
  ({ generationId, metadata }: AnswerNames, { payload }: EmbeddingsRequest): UnaryWriter<"embeddings"> =>
  (host, response) => {
    const { data, usage: _, ...rest } = response
    const entries: Array<Entry> = []
    const left = { characters: otherNumbers }
    let length = 0
    for (const one of data.toSorted((one, other) => one.index - other.index)) {
      const entry = entryFor(one, payload, left)
      if (entry === undefined) return unreadable
      entries.push(entry)
      length += entry.head.length + entry.length
    }
    const head = JSON.stringify({
      ...withoutLongLists(rest, left),
      id: generationId,
      object: "list",
      model: host.model,
      provider: host.providerName,
      openrouter_metadata: metadata?.(host),
    })
    return (charge) => {
      const pieces = piecesOf(head, entries, JSON.stringify(embeddingsUsage(charge)))
      return length > pieceLength ? { pieces } : Array.from(pieces).join("")
    }
  }

function* piecesOf(head: string, entries: ReadonlyArray<Entry>, usage: string): Generator<string> {
  let piece = `${head.slice(0, -1)},"data":[`
  for (const [at, entry] of entries.entries()) {
    piece += at === 0 ? entry.head : `,${entry.head}`
    for (const part of entry.vector()) {
      piece += part
      if (piece.length < pieceLength) continue
      yield piece
      piece = ""
    }
    piece += "}"
  }
  yield `${piece}],"usage":${usage}}`
}

const unreadable = new HostFailed({ reason: "malformed" })

/** `undefined`: the vector cannot be written in the requested encoding. */
const entryFor = (entry: Embedding, payload: EmbeddingsPayload, left: { characters: number }): Entry | undefined => {
  const { embedding, index, ...more } = entry
  const vector = vectorFor(embedding, payload)
  if (vector === undefined) return undefined
  const head = `${JSON.stringify({ ...withoutLongLists(more, left), object: "embedding", index }).slice(0, -1)},"embedding":`
  return { head, ...vector }
}

type Vector = Pick<Entry, "vector" | "length">

/** Characters of a float32 in an answer, with a comma: most have eight or nine digits. */
const floatLength = 13

/** Writes numbers by default. Finds out whether the vectors can be converted before anything is charged. */
const vectorFor = (
  embedding: Embedding["embedding"],
  { encoding_format: format, dimensions }: EmbeddingsPayload,
): Vector | undefined => {
  if (typeof embedding === "string") {
    if (format === "base64") return { vector: () => [JSON.stringify(embedding)], length: embedding.length }
    const floats = unpacked(embedding, dimensions)
    if (floats === undefined) return undefined
    return { vector: () => floatPieces(floats), length: floats.length * floatLength }
  }
  const text = textOfNumbers(embedding)
  if (format === "base64") {
    if (!isPackable(embedding)) return undefined
    return { vector: () => [JSON.stringify(packed(embedding))], length: text?.length ?? embedding.length * floatLength }
  }
  const numbers = text ?? listText(embedding)
  return { vector: () => [numbers], length: numbers.length }
}

/** A list of numbers as JSON. Each one reads as the same double, -0 too, which JSON.stringify makes 0. */
const listText = (numbers: ReadonlyArray<number>): string =>
  numbers.includes(0) ? `[${numbers.map(numberText).join()}]` : JSON.stringify(numbers)

const numberText = (number: number): string => (Object.is(number, -0) ? "-0" : String(number))

const embeddingsUsage = (charge: Charge) => {
  const { prompt_tokens, total_tokens, cost, is_byok, cost_details } = usageBody(charge)
  const { promptAudioTokens: audio, promptImageTokens: image, promptVideoTokens: video } = charge.usage
  const details = {
    ...(audio > 0 && { audio_tokens: audio }),
    ...(image > 0 && { image_tokens: image }),
    ...(video > 0 && { video_tokens: video }),
  }
  return {
    ...{ prompt_tokens, total_tokens, cost, is_byok, cost_details },
    ...(audio + image + video > 0 && { prompt_tokens_details: details }),
  }
}
