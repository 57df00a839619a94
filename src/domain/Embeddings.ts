/** Embeddings: texts as vectors. The canonical form is that of OpenAI and compatible hosts; members keep the names of the wire. */
import type { ChatUsage } from "./Chat.ts"
import type { JsonObject } from "./Json.ts"

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
  /** How the caller wants the vectors; the gateway converts where the host gives the other one. Default: as the host gives them. */
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

/** A host's answer. The gateway adds id, model, provider and cost. */
export interface EmbeddingsResponse extends JsonObject {
  /** One for each input, in any order. */
  readonly data: ReadonlyArray<Embedding>
  /** `completion_tokens` is 0. Absent: the host did not count, and the gateway estimates. */
  readonly usage?: ChatUsage
}
