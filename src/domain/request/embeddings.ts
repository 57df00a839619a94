/** Embeddings: texts as vectors. The canonical form is that of OpenAI and compatible hosts; members keep the names of the wire. */

import { longestNumber, writeFloats } from "../json/floatText.ts"
import type { JsonObject } from "../json/json.ts"
import { mayBeLarge, numberList, numbersIn, textOfNumbers } from "../json/numberList.ts"
import { distinctPlaces, isListOfObjects } from "../json/places.ts"
import { parseUsage } from "../price/Usage.ts"
import type { ChatUsage } from "./chat.ts"
import { sharedMembers, type UnaryAnswer, type UnaryOperation } from "./Operation.ts"
import type { UnaryRequest } from "./request.ts"

/** A part of an input, by its `type`: `text`, `image_url`, `input_audio`, `input_video`, `input_file`. */
export interface EmbeddingPart extends JsonObject {
  readonly type: string
}

/** One input: a text, the numbers of its tokens, or parts that become one vector together. */
export type EmbeddingInput = string | ReadonlyArray<number> | { readonly content: ReadonlyArray<EmbeddingPart> }

/** What is sent to the host, without router-only members, credentials and addresses. Checked by the HTTP layer. */
export interface EmbeddingsPayload extends JsonObject {
  /** One input, or a list of inputs of one kind. `inputsOf` reads either. */
  readonly input: EmbeddingInput | ReadonlyArray<EmbeddingInput>
  /** Length of the vectors. Default: the model's own. */
  readonly dimensions?: number | null
  /** How the caller wants the vectors; the gateway converts where the host gives the other one. Default: float. */
  readonly encoding_format?: "float" | "base64" | null
  /** What the texts are for, such as `search_query`. */
  readonly input_type?: string | null
  /** The caller's own end user. */
  readonly user?: string | null
}

/** The inputs, each of which becomes a vector. */
export const inputsOf = (input: EmbeddingsPayload["input"]): ReadonlyArray<EmbeddingInput> =>
  isList(input) ? input : [input]

const isList = (input: EmbeddingsPayload["input"]): input is ReadonlyArray<EmbeddingInput> =>
  Array.isArray(input) && typeof input[0] !== "number"

export interface Embedding extends JsonObject {
  /** The place of its input. */
  readonly index: number
  /** Numbers, or base64 of float32 in little-endian order. */
  readonly embedding: ReadonlyArray<number> | string
}

export interface EmbeddingsRequest extends UnaryRequest<"embeddings", EmbeddingsPayload> {}

export interface EmbeddingsResponse extends UnaryAnswer {
  /** One for each input, in any order. */
  readonly data: ReadonlyArray<Embedding>
}

export const embeddings: UnaryOperation<EmbeddingsPayload, EmbeddingsResponse> = {
  path: "/embeddings",
  gives: new Set(["embeddings"]),
  inability: "it makes no embeddings",
  promptMember: "input",
  members: new Set([...sharedMembers, "input", "dimensions", "encoding_format", "input_type"]),
  madeHere: new Set(["encoding_format"]),
  answerType: "an EmbeddingsResponse",
  givesVectors: true,
  answerMember: "data",
  answerRule: ({ input }) => `has a vector for each of ${inputsOf(input).length} inputs`,
  isAnswer: (answer, { input }): answer is EmbeddingsResponse => isComplete(answer["data"], inputsOf(input).length),
  sample: { input: ["HEADGATE-FIRST", "HEADGATE-SECOND"] },
  optional: { dimensions: 321, input_type: "search_query", user: "headgate-user" },
}

/** Splits a batch into parts of at most `most` inputs, in order. */
export const partsOf = (payload: EmbeddingsPayload, most: number): ReadonlyArray<EmbeddingsPayload> => {
  const inputs = inputsOf(payload.input)
  if (inputs.length <= most) return [payload]
  const parts: Array<EmbeddingsPayload> = []
  for (let at = 0; at < inputs.length; at += most) parts.push({ ...payload, input: inputs.slice(at, at + most) })
  return parts
}

/** Joins the answers to all parts of a batch. */
export const joined = (answers: ReadonlyArray<EmbeddingsResponse>): EmbeddingsResponse => {
  const data: Array<Embedding> = []
  for (const { data: part } of answers) {
    const before = data.length
    for (const entry of part) data.push({ ...entry, index: before + entry.index })
  }
  const { usage: _, ...first } = answers[0] ?? {}
  const usage = usageOfAll(answers.map(({ usage }) => usage))
  return usage === undefined ? { ...first, data } : { ...first, data, usage }
}

/** Sums the usage of several calls; `undefined`: one of them was not counted. */
export const usageOfAll = (usages: ReadonlyArray<ChatUsage | undefined>): ChatUsage | undefined => {
  const sum = { prompt: 0, cached: 0, audio: 0, image: 0, video: 0 }
  for (const one of usages) {
    const usage = parseUsage(one)
    if (usage === undefined) return undefined
    sum.prompt += usage.promptTokens
    sum.cached += usage.cachedTokens
    sum.audio += usage.promptAudioTokens
    sum.image += usage.promptImageTokens
    sum.video += usage.promptVideoTokens
  }
  const { prompt, cached, audio, image, video } = sum
  const details = { cached_tokens: cached, audio_tokens: audio, image_tokens: image, video_tokens: video }
  return { prompt_tokens: prompt, completion_tokens: 0, prompt_tokens_details: details }
}

/** Whether there is one vector for each of `inputs` inputs. */
export const isComplete = (data: unknown, inputs: number): boolean =>
  isListOfObjects(data) && distinctPlaces(data, inputs) === inputs && data.every(hasVector)

const hasVector = ({ embedding }: JsonObject): boolean => typeof embedding === "string" || isVector(embedding)

/** Whether the vector is a list of numbers. Does not parse the numbers of a host's answer. */
export const isVector = (value: unknown): value is ReadonlyArray<number> => {
  if (!Array.isArray(value)) return false
  if (textOfNumbers(value) !== undefined) return true
  if (value.length === 0) return false
  for (let at = 0; at < value.length; at++) if (typeof value[at] !== "number") return false
  return true
}

// Bun runs on little-endian machines only, so a Float32Array has the bytes of the wire.

/** Base64 of float32, little-endian; `undefined`: a number is beyond what they can hold. */
export const packed = (vector: ReadonlyArray<number>): string | undefined => {
  const text = textOfNumbers(vector)
  const floats = Float32Array.from(text === undefined ? vector : numbersIn(text))
  return areFinite(floats) ? Buffer.from(floats.buffer).toString("base64") : undefined
}

/** Whether `packed` can encode the vector. Parses a host's numbers only if one is unusually large. */
export const isPackable = (vector: ReadonlyArray<number>): boolean => {
  const text = textOfNumbers(vector)
  return (text !== undefined && !mayBeLarge(text)) || packed(vector) !== undefined
}

const areFinite = (floats: Float32Array): boolean => {
  const bits = new Uint32Array(floats.buffer)
  for (let at = 0; at < bits.length; at++) if (((bits[at] ?? 0) & 0x7f800000) === 0x7f800000) return false
  return true
}

/** The type of the numbers in a vector that is written in base64: hosts that have several call it `output_dtype`. */
export type PackedKind = "float" | "int8" | "uint8"

/** A vector of bytes that was not asked for has at least so many bytes. */
const leastBytes = 16
/** The largest number that is expected in a vector of floats: embeddings are near 1, while bytes that are read as floats can be any number. */
const largestLikely = 1e6

/**
 * The type of the numbers in a host's base64: the one that was asked for, else the one that it looks like. Packed bits (`binary`,
 * `ubinary`) are read as signed or unsigned bytes.
 */
export const packedKind = (text: string, { output_dtype: asked, dimensions }: EmbeddingsPayload): PackedKind => {
  if (asked === "int8" || asked === "binary") return "int8"
  if (asked === "uint8" || asked === "ubinary") return "uint8"
  if (asked === "float") return "float"
  const isLikely = unpacked(text, dimensions)?.every((one) => Math.abs(one) <= largestLikely) === true
  return isLikely || text.length < (leastBytes * 4) / 3 ? "float" : "int8"
}

/** The numbers in base64 of bytes; `undefined`: the text is no base64. */
export const unpackedBytes = (text: string, kind: "int8" | "uint8"): ReadonlyArray<number> | undefined => {
  const bytes = Buffer.from(text, "base64")
  if (text.length !== 4 * Math.ceil(bytes.length / 3) || bytes.length === 0) return undefined
  return numberList(`[${(kind === "uint8" ? bytes : new Int8Array(bytes)).join()}]`)
}

/** The numbers in base64 of float32; `undefined`: it is none, or one of them is not finite. `dimensions`: how many there must be. */
export const unpacked = (text: string, dimensions?: number | null): Float32Array<ArrayBuffer> | undefined => {
  const bytes = Buffer.from(text, "base64")
  const count = bytes.length / 4
  // A character that is none of base64 ends the text for the runtime.
  if (text.length !== 4 * Math.ceil(bytes.length / 3) || count === 0 || !Number.isInteger(count)) return undefined
  if (dimensions != null && count !== dimensions) return undefined
  const floats = new Float32Array(new Uint8Array(bytes).buffer)
  return areFinite(floats) ? floats : undefined
}

/** Numbers per piece. */
const numbersAtOnce = 4096
const written = Buffer.alloc(numbersAtOnce * longestNumber)

/**
 * The JSON of a list of float32 numbers, in pieces of bounded length. Each number has the fewest decimals that read
 * back as the same float32.
 */
export function* floatPieces(floats: Float32Array): Generator<string> {
  for (let from = 0; from < floats.length; from += numbersAtOnce) {
    const to = Math.min(floats.length, from + numbersAtOnce)
    const end = writeFloats(floats, from, to, written, 0)
    yield (from === 0 ? "[" : ",") + written.toString("latin1", 0, end)
  }
  yield "]"
}
