/** Embeddings as OpenAI and compatible hosts speak them: `POST /embeddings`. */
import { Unsupported } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { hostFacts, maySupport } from "../../domain/hosts/hostFacts.ts"
import { isJsonObject } from "../../domain/json/json.ts"
import { textOfNumbers } from "../../domain/json/numberList.ts"
import {
  type EmbeddingInput,
  type EmbeddingsPayload,
  embeddings,
  inputsOf,
  type PackedKind,
  packedKind,
  unpackedBytes,
} from "../../domain/request/embeddings.ts"
import type { EmbeddingsProtocol } from "../Protocol.ts"
import { type UnaryQuirks, unaryProtocol } from "../unaryProtocol.ts"

export interface EmbeddingsQuirks extends UnaryQuirks {
  /** The host refuses what OpenAI's own API does not have: `input_type`, and inputs that are no text. Default false. */
  readonly strict?: boolean
  /** Further members of a request that the host refuses. `model` and `input` are always sent. */
  readonly drop?: ReadonlyArray<string>
  /** The host's own names of members: `{ dimensions: "output_dimension" }`. */
  readonly names?: Readonly<Record<string, string>>
  /** Below the base URL. Default `/embeddings`. */
  readonly path?: (upstreamModel: string) => string
  /**
   * The host always sends its vectors as base64 of signed bytes, which become numbers. Default: numbers, or base64 of what
   * `output_dtype` asks for, else of what it looks like.
   */
  readonly signedBytes?: boolean
  /**
   * Whether to request base64 of float32 whatever the client wants, because it takes a third of the bytes of
   * decimals. The gateway converts the vectors. Default: requests what the client requests.
   */
  readonly base64?: boolean | ((host: Host) => boolean)
  /** As `UnaryProtocol.mostInputs`, for all models or by the host's own model name. */
  readonly mostInputs?: number | ((upstreamModel: string) => number)
}

/** The protocol with these quirks. */
export const embeddingsProtocol = (quirks: EmbeddingsQuirks = {}): EmbeddingsProtocol => {
  const { strict = false, drop = [], names = {}, path, signedBytes = false, base64 = false, mostInputs } = quirks
  const refused = strict ? ["input_type", ...drop] : drop
  return unaryProtocol(
    embeddings,
    { ...quirks, drop: refused },
    {
      path,
      names,
      ...(mostInputs !== undefined && {
        mostInputs: ({ upstreamModel }) => (typeof mostInputs === "number" ? mostInputs : mostInputs(upstreamModel)),
      }),
      write: (payload, host) => {
        const input = writtenInput(payload.input, strict)
        if (input instanceof Unsupported) return input
        const isAsked = (base64 === true || (base64 !== false && base64(host))) && givesFloats(payload, host)
        return isAsked ? { input, encoding_format: "base64" } : { input }
      },
      listed: "data",
      read: ({ data, ...answer }, payload) => {
        const kind = signedBytes ? "int8" : kindOf(data, payload)
        return {
          ...answer,
          data: Array.isArray(data) ? data.map(kind === "float" ? withPlace : withNumbers(kind)) : data,
        }
      },
    },
  )
}

/**
 * Whether to request base64: the host supports it, and the vectors are floats. Other types are shorter as numbers,
 * and rarely come in bulk.
 */
const givesFloats = ({ output_dtype: kind }: EmbeddingsPayload, host: Host): boolean =>
  (kind == null || kind === "float") && maySupport(hostFacts(host), "encoding_format")

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
const kindOf = (data: unknown, payload: EmbeddingsPayload): PackedKind => {
  const first: unknown = Array.isArray(data) ? data[0] : undefined
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

const writtenInput = (input: EmbeddingsPayload["input"], strict: boolean): unknown => {
  const inputs = inputsOf(input)
  // All inputs are of one kind.
  if (!isInParts(inputs[0])) return input
  const written: Array<unknown> = []
  for (const [at, one] of inputs.entries()) {
    const text = textOf(one)
    if (text === undefined && strict) {
      return new Unsupported({
        path: `input[${at}].content`,
        reason: "has parts other than text, and the host takes text alone",
      })
    }
    written.push(text ?? one)
  }
  return written
}

const isInParts = (input: EmbeddingInput | undefined): boolean => isJsonObject(input)

/** The text of an input whose parts are all text. */
const textOf = (input: EmbeddingInput): string | undefined => {
  if (typeof input === "string") return input
  const parts = "content" in input ? input.content : []
  return parts.every(({ type }) => type === "text") ? parts.map(({ text }) => text).join("") : undefined
}
