/** Cohere's embeddings, `POST /v2/embed`. From its API reference, read in 2026-11. */
import * as Either from "effect/Either"
import {
  type ChatUsage,
  type Embedding,
  type EmbeddingInput,
  type EmbeddingsPayload,
  type EmbeddingsProtocol,
  inputsOf,
  isVector,
  type JsonObject,
  jsonBody,
  malformed,
  objectIn,
  Unsupported,
} from "headgate/plugin"

const carried: ReadonlySet<string> = new Set([
  ...["input", "input_type", "dimensions", "embedding_types", "truncate"],
  // The gateway converts the vectors itself.
  "encoding_format",
])

export const embeddings: EmbeddingsProtocol = {
  passes: ["embedding_types", "truncate"],
  // Texts per call, from its API reference.
  mostInputs: () => 96,
  encode: ({ payload }, host) => {
    const inputs = inputsIn(payload)
    if (inputs instanceof Unsupported) return Either.left(inputs)
    const kind = kindOf(payload)
    if (kind instanceof Unsupported) return Either.left(kind)
    const { input_type: purpose, dimensions, truncate } = payload
    const body = {
      model: host.upstreamModel,
      ...inputs,
      // Needed. Without a word of the caller the texts are those to be found.
      input_type: purpose ?? "search_document",
      embedding_types: [kind],
      ...(dimensions == null ? {} : { output_dimension: dimensions }),
      ...(truncate == null ? {} : { truncate }),
    }
    const dropped = Object.keys(payload).filter((name) => payload[name] != null && !carried.has(name))
    return Either.right({ path: "/embed", ...jsonBody(body), dropped })
  },
  decode: (_head, body, { payload }) => {
    const { embeddings: kinds, meta } = objectIn(body)
    const vectors = Object.values(objectIn(kinds)).find(Array.isArray)
    if (!Array.isArray(vectors) || vectors.length !== inputsOf(payload.input).length || !vectors.every(isVector)) {
      return malformed()
    }
    const data = vectors.map((embedding: ReadonlyArray<number>, index): Embedding => ({ index, embedding }))
    return { data, ...usageOf(meta) }
  },
}

/**
 * The kind of numbers: the caller's, if there is one. An answer has one vector for each input, so there cannot be
 * several.
 */
const kindOf = ({ embedding_types: kinds }: EmbeddingsPayload): string | Unsupported => {
  if (kinds == null) return "float"
  const [kind, ...more]: ReadonlyArray<unknown> = Array.isArray(kinds) ? kinds : []
  if (typeof kind === "string" && numbers.has(kind) && more.length === 0) return kind
  return new Unsupported({ path: "embedding_types", reason: `has to be one of ${[...numbers].join(", ")}` })
}

const numbers: ReadonlySet<string> = new Set(["float", "int8", "uint8", "binary", "ubinary"])

const inputsIn = ({ input }: EmbeddingsPayload): JsonObject | Unsupported => {
  const inputs = inputsOf(input)
  if (inputs.every((one) => typeof one === "string")) return { texts: inputs }
  const written: Array<JsonObject> = []
  for (const [at, one] of inputs.entries()) {
    const path = inputs === input ? `input[${at}]` : "input"
    const content = contentOf(one, path)
    if (content instanceof Unsupported) return content
    written.push({ content })
  }
  return { inputs: written }
}

const contentOf = (input: EmbeddingInput, path: string): ReadonlyArray<JsonObject> | Unsupported => {
  if (typeof input === "string") return [{ type: "text", text: input }]
  if (!("content" in input)) return new Unsupported({ path, reason: "this host takes no numbers of tokens" })
  const foreign = input.content.findIndex(({ type }) => type !== "text" && type !== "image_url")
  if (foreign === -1) return input.content
  return new Unsupported({ path: `${path}.content[${foreign}]`, reason: "this host takes text and images only" })
}

/** What is billed: tokens of texts and of images. */
const usageOf = (meta: unknown): { readonly usage?: ChatUsage } => {
  const { input_tokens: texts, image_tokens: images } = objectIn(objectIn(meta)["billed_units"])
  if (texts == null && images == null) return {}
  const text = texts ?? 0
  const image = images ?? 0
  if (!isTokens(text) || !isTokens(image)) return {}
  return {
    usage: { prompt_tokens: text + image, completion_tokens: 0, prompt_tokens_details: { image_tokens: image } },
  }
}

const isTokens = (count: unknown): count is number => typeof count === "number" && count >= 0
