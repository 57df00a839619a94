/** Answers with embeddings: of hosts, with their vectors as numbers or base64 of floats, and in the encoding that the client wants. */
import { HostFailed } from "../../domain/failures/Failure.ts"
import { isJsonObject } from "../../domain/json/json.ts"
import { textOfNumbers, withoutLongLists } from "../../domain/json/numberList.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import {
  type Embedding,
  type EmbeddingsPayload,
  type EmbeddingsRequest,
  isPackable,
  type PackedKind,
  packed,
  packedKind,
  unpackedBytes,
} from "../../domain/request/embeddings.ts"
import type { AnswerNames, UnaryWriter } from "../AnswerWriter.ts"
import { usageBody } from "../routerUsage.ts"
import { answerText, floatLength, type VectorText, vectorText } from "../vectorText.ts"

// --- of hosts

/** `signedBytes`: as `EmbeddingsQuirks.signedBytes`. */
export const readVectors = (data: unknown, payload: EmbeddingsPayload, signedBytes: boolean): unknown => {
  if (!Array.isArray(data)) return data
  const kind = signedBytes ? "int8" : kindOf(data, payload)
  return data.map(kind === "float" ? withPlace : withNumbers(kind))
}

/** Some hosts leave the index out, and llama.cpp has the vector in a list of its own. */
const withPlace = (entry: unknown, at: number): unknown => {
  if (!isJsonObject(entry)) return entry
  const placed = entry["index"] === undefined ? { ...entry, index: at } : entry
  const vectors: unknown = entry["embedding"]
  // A list of numbers is not parsed for this.
  if (!Array.isArray(vectors) || textOfNumbers(vectors) !== undefined || vectors.length !== 1) return placed
  const [vector]: ReadonlyArray<unknown> = vectors
  return Array.isArray(vector) ? { ...placed, embedding: vector } : placed
}

/** What the base64 of an answer holds, by its first vector. */
const kindOf = (data: ReadonlyArray<unknown>, payload: EmbeddingsPayload): PackedKind => {
  const [first] = data
  const vector = isJsonObject(first) ? first["embedding"] : undefined
  return typeof vector === "string" ? packedKind(vector, payload) : "float"
}

/** Bytes as numbers, which every caller can read. */
const withNumbers =
  (kind: "int8" | "uint8") =>
  (entry: unknown, at: number): unknown => {
    const placed = withPlace(entry, at)
    if (!isJsonObject(placed) || typeof placed["embedding"] !== "string") return placed
    const embedding = unpackedBytes(placed["embedding"], kind)
    return embedding === undefined ? placed : { ...placed, embedding }
  }

// --- for clients

/** Characters of number lists that pass on although they are not vectors. */
const otherNumbers = 65_536

/** An entry of `data`: what stands before its vector, and the vector. */
interface Entry {
  readonly head: string
  readonly vector: VectorText
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
      length += entry.head.length + entry.vector.length
    }
    const head = JSON.stringify({
      ...withoutLongLists(rest, left),
      id: generationId,
      object: "list",
      model: host.model,
      provider: host.providerName,
      openrouter_metadata: metadata?.(host),
    })
    return (charge) => answerText(partsOfAnswer(head, entries, JSON.stringify(embeddingsUsage(charge))), length)
  }

function* partsOfAnswer(head: string, entries: ReadonlyArray<Entry>, usage: string): Generator<string> {
  yield `${head.slice(0, -1)},"data":[`
  for (const [at, { head: before, vector }] of entries.entries()) {
    yield at === 0 ? before : `,${before}`
    yield* vector.pieces()
    yield "}"
  }
  yield `],"usage":${usage}}`
}

const unreadable = new HostFailed({ reason: "malformed" })

/** `undefined`: the vector cannot be written in the requested encoding. */
const entryFor = (entry: Embedding, payload: EmbeddingsPayload, left: { characters: number }): Entry | undefined => {
  const { embedding, index, ...more } = entry
  const vector = vectorFor(embedding, payload)
  if (vector === undefined) return undefined
  const head = `${JSON.stringify({ ...withoutLongLists(more, left), object: "embedding", index }).slice(0, -1)},"embedding":`
  return { head, vector }
}

/** Writes numbers by default. Finds out whether the vectors can be converted before anything is charged. */
const vectorFor = (
  embedding: Embedding["embedding"],
  { encoding_format: format, dimensions }: EmbeddingsPayload,
): VectorText | undefined => {
  if (format !== "base64") return vectorText(embedding, dimensions)
  if (typeof embedding === "string") return { pieces: () => [JSON.stringify(embedding)], length: embedding.length }
  if (!isPackable(embedding)) return undefined
  return { pieces: () => [JSON.stringify(packed(embedding))], length: embedding.length * floatLength }
}

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
