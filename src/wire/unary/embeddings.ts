/** Embeddings as OpenAI and compatible hosts speak them: `POST /embeddings`. */
import * as Either from "effect/Either"
import type { ChatUsage } from "../domain/Chat.ts"
import {
  type EmbeddingInput,
  type EmbeddingsPayload,
  inputsOf,
  isComplete,
  type PackedKind,
  packedKind,
  unpackedBytes,
} from "../domain/Embeddings.ts"
import { type HostFailed, Unsupported } from "../domain/Failure.ts"
import { isJsonObject, type JsonObject } from "../domain/Json.ts"
import { errorInBody, malformed } from "./httpError.ts"
import { type EmbeddingsProtocol, jsonBody } from "./Protocol.ts"

export interface EmbeddingsQuirks {
  /** The host refuses what OpenAI's own API does not have: `input_type`, and inputs that are no text. Default false. */
  readonly strict?: boolean
  /** As `Protocol.passes`. */
  readonly passes?: "any" | ReadonlyArray<string>
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
}

/** The protocol with these quirks. */
export const embeddingsProtocol = (quirks: EmbeddingsQuirks = {}): EmbeddingsProtocol => {
  const { strict = false, drop = [], names = {}, path = () => "/embeddings", signedBytes = false } = quirks
  const refused = new Set([...(strict ? ["input_type"] : []), ...drop])
  return {
    passes: quirks.passes ?? [],
    encode: ({ payload }, host) => {
      const written = writtenInput(payload.input, strict)
      if (written instanceof Unsupported) return Either.left(written)
      const { body, dropped } = membersFor(payload, refused)
      // The gateway converts the vectors itself.
      const lost = dropped.filter((name) => name !== "encoding_format")
      const named = Object.fromEntries(
        Object.entries(body).map(([name, value]) => [
          (Object.hasOwn(names, name) ? names[name] : undefined) ?? name,
          value,
        ]),
      )
      const sent = jsonBody({ ...named, model: host.upstreamModel, input: written })
      return Either.right({ path: path(host.upstreamModel), ...sent, dropped: lost })
    },
    decode: (_head, body, { payload }) => {
      const answer = answerIn(body)
      if (!isJsonObject(answer)) return answer
      const { data, usage, ...rest } = answer
      const kind = signedBytes ? "int8" : kindOf(data, payload)
      const inOrder = Array.isArray(data) ? data.map(kind === "float" ? withPlace : withNumbers(kind)) : data
      if (!isComplete(inOrder, inputsOf(payload.input).length)) return malformed()
      return { ...rest, data: inOrder, ...promptUsage(usage) }
    },
  }
}

/** Some hosts leave the index out. */
const withPlace = (entry: unknown, at: number): unknown =>
  isJsonObject(entry) && entry["index"] === undefined ? { ...entry, index: at } : entry

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

/** The members of a payload for a host that refuses some of them. */
export const membersFor = (payload: JsonObject, refused: ReadonlySet<string>) => {
  const body: Record<string, unknown> = {}
  const dropped: Array<string> = []
  for (const name in payload) {
    if (!refused.has(name)) body[name] = payload[name]
    else if (payload[name] != null) dropped.push(name)
  }
  return { body, dropped }
}

/** The object of an answer with status 200, or the failure that it reports. */
export const answerIn = (body: unknown): JsonObject | HostFailed => {
  if (!isJsonObject(body)) return malformed()
  return body["error"] == null ? body : errorInBody(body["error"])
}

/** The usage of an operation without output. Hosts give both totals or one of them. */
export const promptUsage = (usage: unknown): { readonly usage?: ChatUsage } => {
  if (!isJsonObject(usage)) return {}
  const { prompt_tokens: prompt, total_tokens: total, prompt_tokens_details: details } = usage
  if (prompt == null && total == null) return {}
  const tokens = { prompt_tokens: prompt ?? total, completion_tokens: 0 }
  return { usage: isJsonObject(details) ? { ...tokens, prompt_tokens_details: details } : tokens }
}
