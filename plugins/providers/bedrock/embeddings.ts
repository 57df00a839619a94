/**
 * Embeddings by InvokeModel, whose bodies are those of each vendor: Cohere's Embed, and Amazon's Titan and Nova, which
 * make one vector in a call. From the pages of their request parameters in AWS's user guide (2026-11); Titan and Nova
 * are untested against recorded traffic.
 */
import * as Either from "effect/Either"
import {
  type Embedding,
  type EmbeddingInput,
  type EmbeddingPart,
  type EmbeddingsPayload,
  type EmbeddingsProtocol,
  type EmbeddingsRequest,
  type EmbeddingsResponse,
  type Host,
  type HostFailed,
  inputsOf,
  isJsonObject,
  isVector,
  type JsonObject,
  jsonBody,
  malformed,
  objectIn,
  type ResponseHead,
  readDataUrl,
  Unsupported,
} from "headgate/plugin"
import { pathOf } from "./model.ts"

export const embeddings: EmbeddingsProtocol = {
  passes: ["truncate", "normalize"],
  // Cohere's models take as many texts here as at Cohere itself.
  mostInputs: (host) => (isOfAmazon(namesOf(host)) ? 1 : 96),
  encode: ({ payload }, host) => {
    const body = bodyFor(namesOf(host), payload)
    if (body instanceof Unsupported) return Either.left(body)
    // The gateway converts the vectors itself.
    const known = new Set(["input", "encoding_format", ...body.carried])
    const dropped = Object.keys(payload).filter((name) => payload[name] != null && !known.has(name))
    return Either.right({ path: pathOf(host, "invoke"), ...jsonBody(body.body), dropped })
  },
  decode: (head, body, request) => answerOf(head, body, request),
}

/** Includes our own model name, because the operator's ARN may not say which model it is. */
const namesOf = ({ upstreamModel, model }: Host): string => `${upstreamModel} ${model}`

const isOfAmazon = (model: string): boolean => /titan|nova/.test(model)

interface Written {
  readonly body: JsonObject
  /** Members of the payload that are in it, besides the inputs. */
  readonly carried: ReadonlyArray<string>
}

const bodyFor = (model: string, payload: EmbeddingsPayload): Written | Unsupported => {
  if (!isOfAmazon(model)) return cohereBody(payload)
  const inputs = inputsOf(payload.input)
  const [input] = inputs
  if (input === undefined || inputs.length > 1) {
    return new Unsupported({ path: "input", reason: "this host takes one input in a request" })
  }
  if (/nova/.test(model)) return novaBody(payload, input)
  if (/titan-embed-image/.test(model)) return titanImageBody(payload, input)
  return titanBody(model, payload, input)
}

const onlyText = (input: EmbeddingInput, path: string): string | Unsupported => {
  if (typeof input === "string") return input
  const parts = "content" in input ? input.content : []
  const text = parts.every(({ type }) => type === "text") ? parts.map((part) => part["text"]).join("") : ""
  return parts.length > 0 && text !== "" ? text : new Unsupported({ path, reason: "this host takes text only" })
}

/** What a text is for has to be said. Without a word of the caller it is one to be found. */
const cohereBody = (payload: EmbeddingsPayload): Written | Unsupported => {
  const texts: Array<string> = []
  const inputs = inputsOf(payload.input)
  for (const [at, input] of inputs.entries()) {
    const text = onlyText(input, inputs === payload.input ? `input[${at}]` : "input")
    if (text instanceof Unsupported) return text
    texts.push(text)
  }
  const { input_type: purpose, dimensions, truncate } = payload
  return {
    body: {
      texts,
      input_type: purpose ?? "search_document",
      embedding_types: ["float"],
      ...(dimensions == null ? {} : { output_dimension: dimensions }),
      ...(truncate == null ? {} : { truncate }),
    },
    carried: ["input_type", "dimensions", "truncate"],
  }
}

const titanBody = (
  model: string,
  { dimensions, normalize }: EmbeddingsPayload,
  input: EmbeddingInput,
): Written | Unsupported => {
  const inputText = onlyText(input, "input")
  if (inputText instanceof Unsupported) return inputText
  // The first version takes nothing but text.
  if (/titan-embed-(?:g1-text-0\d|text-v1)/.test(model)) return { body: { inputText }, carried: [] }
  const sized = dimensions == null ? {} : { dimensions }
  const normal = normalize == null ? {} : { normalize }
  return { body: { inputText, ...sized, ...normal, embeddingTypes: ["float"] }, carried: ["dimensions", "normalize"] }
}

const titanImageBody = ({ dimensions }: EmbeddingsPayload, input: EmbeddingInput): Written | Unsupported => {
  const sized = dimensions == null ? {} : { embeddingConfig: { outputEmbeddingLength: dimensions } }
  if (typeof input === "string") return { body: { inputText: input, ...sized }, carried: ["dimensions"] }
  const members = ("content" in input ? input.content : []).map((part) =>
    part.type === "text" ? { inputText: part["text"] } : { inputImage: imageIn(part) },
  )
  if (members.length === 0 || members.some((member) => Object.values(member).includes(undefined))) {
    return new Unsupported({ path: "input", reason: "this host takes text and embedded images only" })
  }
  return { body: Object.assign({ ...sized }, ...members), carried: ["dimensions"] }
}

/** Base64 of an embedded image. */
const imageIn = ({ type, image_url: image }: EmbeddingPart): string | undefined => {
  const { url } = objectIn(image)
  const embedded = type === "image_url" && typeof url === "string" ? readDataUrl(url) : undefined
  return embedded?.base64 === true ? embedded.data : undefined
}

const novaPurposes: ReadonlyMap<string, string> = new Map(
  Object.entries({
    search_document: "GENERIC_INDEX",
    search_query: "GENERIC_RETRIEVAL",
    classification: "CLASSIFICATION",
    clustering: "CLUSTERING",
  }),
)

const novaBody = (
  { dimensions, input_type: purpose }: EmbeddingsPayload,
  input: EmbeddingInput,
): Written | Unsupported => {
  const value = onlyText(input, "input")
  if (value instanceof Unsupported) return value
  return {
    body: {
      taskType: "SINGLE_EMBEDDING",
      singleEmbeddingParams: {
        // The host's own words pass too.
        embeddingPurpose: novaPurposes.get(purpose ?? "search_document") ?? purpose,
        ...(dimensions == null ? {} : { embeddingDimension: dimensions }),
        text: { truncationMode: "NONE", value },
      },
    },
    carried: ["dimensions", "input_type"],
  }
}

const answerOf = (
  head: ResponseHead,
  body: unknown,
  { payload }: EmbeddingsRequest,
): EmbeddingsResponse | HostFailed => {
  if (!isJsonObject(body)) return malformed()
  const vectors = vectorsIn(body)
  if (vectors === undefined || vectors.length !== inputsOf(payload.input).length) return malformed()
  const tokens = body["inputTextTokenCount"] ?? countIn(head.headers.get("x-amzn-bedrock-input-token-count"))
  return {
    data: vectors.map((embedding, index): Embedding => ({ index, embedding })),
    ...(tokens === undefined ? {} : { usage: { prompt_tokens: tokens, completion_tokens: 0 } }),
  }
}

const countIn = (text: string | null): number | undefined =>
  text !== null && /^\d{1,10}$/.test(text) ? Number(text) : undefined

/** Titan: `embedding`; Cohere: `embeddings`, by kind or without one; Nova: `embeddings` of objects. */
const vectorsIn = ({ embedding, embeddings }: JsonObject): ReadonlyArray<ReadonlyArray<number>> | undefined => {
  const listed = isJsonObject(embeddings) ? embeddings["float"] : (embeddings ?? [embedding])
  if (!Array.isArray(listed)) return undefined
  const vectors: ReadonlyArray<unknown> = listed.map((one: unknown) => (isJsonObject(one) ? one["embedding"] : one))
  return vectors.every(isVector) ? vectors : undefined
}
