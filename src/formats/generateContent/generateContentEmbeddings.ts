/**
 * Embeddings of the Gemini API (`batchEmbedContents`) and of Vertex AI: `predict` for its older models, `embedContent`, which
 * takes one input, from Gemini Embedding 2 on.
 */
import * as Either from "effect/Either"
import { Unsupported } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { isJsonObject, type JsonObject, objectsIn } from "../../domain/json/json.ts"
import { isCount } from "../../domain/price/Usage.ts"
import type { ChatUsage } from "../../domain/request/chat.ts"
import {
  type EmbeddingInput,
  type EmbeddingPart,
  type EmbeddingsPayload,
  inputsOf,
} from "../../domain/request/embeddings.ts"
import { malformed } from "../httpError.ts"
import { type EmbeddingsProtocol, type Encoded, jsonBody } from "../Protocol.ts"
import { generateContentErrorInBody } from "./generateContentError.ts"
import { given } from "./generateContentJson.ts"
import { mediaPart, type Reader } from "./generateContentMedia.ts"
import { modelFacts } from "./generateContentModels.ts"
import { modelPath } from "./generateContentRequest.ts"
import { usageOf } from "./generateContentUsage.ts"

/** Google's names of what a text is for, by the usual words; its own are taken in any case. */
const taskTypes: ReadonlyMap<string, string> = new Map([
  ...["RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT", "SEMANTIC_SIMILARITY", "CLASSIFICATION", "CLUSTERING"].map(named),
  ...["QUESTION_ANSWERING", "FACT_VERIFICATION", "CODE_RETRIEVAL_QUERY"].map(named),
  ["search_query", "RETRIEVAL_QUERY"],
  ["query", "RETRIEVAL_QUERY"],
  ["search_document", "RETRIEVAL_DOCUMENT"],
  ["document", "RETRIEVAL_DOCUMENT"],
  ["passage", "RETRIEVAL_DOCUMENT"],
])

function named(task: string): readonly [string, string] {
  return [task.toLowerCase(), task]
}

/** Models from Gemini Embedding 2 on read the purpose in the text. They refuse a task, and take more than text. */
const isSecond = (model: string): boolean => /embedding-(?:[2-9]|\d\d)(?!\d)/.test(model)

interface Wanted {
  readonly inputs: ReadonlyArray<EmbeddingInput>
  readonly taskType: string | undefined
  readonly outputDimensionality: number | undefined
  readonly dropped: ReadonlyArray<string>
}

// The gateway converts the vectors itself.
const carried: ReadonlySet<string> = new Set(["input", "dimensions", "encoding_format", "input_type"])

const wantedOf = (payload: EmbeddingsPayload, { upstreamModel }: Host): Wanted => {
  const purpose = payload.input_type
  const taskType =
    purpose == null || isSecond(upstreamModel) ? undefined : taskTypes.get(purpose.toLowerCase().replaceAll(" ", "_"))
  const dropped = Object.keys(payload).filter((name) => payload[name] != null && !carried.has(name))
  if (purpose != null && taskType === undefined) dropped.push("input_type")
  return { inputs: inputsOf(payload.input), taskType, outputDimensionality: payload.dimensions ?? undefined, dropped }
}

/** Of the Gemini API. */
export const embedContentProtocol = (): EmbeddingsProtocol => ({
  // Its error: "BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch".
  mostInputs: () => 100,
  encode: ({ payload }, host) => {
    const { inputs, dropped, ...settings } = wantedOf(payload, host)
    const path = modelPath(host.upstreamModel, false)
    return Either.map(contentsOf(inputs, readerOf(host, false)), (contents) =>
      encoded(
        `${path}:batchEmbedContents`,
        { requests: contents.map((content) => given({ model: path.slice(1), content, ...settings })) },
        dropped,
      ),
    )
  },
  decode: (_head, body) => {
    if (!isJsonObject(body)) return malformed()
    if (body["error"] != null) return generateContentErrorInBody(body["error"])
    return vectors(objectsIn(body["embeddings"]), usageOf(body["usageMetadata"], 0))
  },
})

/** Of Vertex AI. */
export const vertexEmbeddingsProtocol = (): EmbeddingsProtocol => ({
  // Its page on text embeddings: 250 texts per request.
  mostInputs: ({ upstreamModel }) => (isSecond(upstreamModel) ? 1 : 250),
  encode: ({ payload }, host) => {
    const wanted = wantedOf(payload, host)
    return isSecond(host.upstreamModel) ? embedOne(wanted, host) : predict(wanted, host)
  },
  decode: (_head, body) => {
    if (!isJsonObject(body)) return malformed()
    if (body["error"] != null) return generateContentErrorInBody(body["error"])
    const { embedding, predictions } = body
    if (isJsonObject(embedding)) return vectors([embedding], usageOf(body["usageMetadata"], 0))
    const found = objectsIn(predictions).map((each) => (isJsonObject(each["embeddings"]) ? each["embeddings"] : {}))
    return vectors(found, countedIn(found))
  },
})

const encoded = (path: string, body: JsonObject, dropped: ReadonlyArray<string>): Encoded => ({
  path,
  ...jsonBody(body),
  dropped,
})

const readerOf = ({ upstreamModel }: Host, vertex: boolean): Reader => ({ vertex, facts: modelFacts(upstreamModel) })

const embedOne = ({ inputs, dropped, ...settings }: Wanted, host: Host): Either.Either<Encoded, Unsupported> => {
  if (inputs.length > 1) {
    return Either.left(new Unsupported({ path: "input", reason: "this host takes one input in a request" }))
  }
  return Either.map(contentsOf(inputs, readerOf(host, true)), ([content]) =>
    encoded(`${modelPath(host.upstreamModel, true)}:embedContent`, given({ content, ...settings }), dropped),
  )
}

const predict = (wanted: Wanted, host: Host): Either.Either<Encoded, Unsupported> =>
  Either.gen(function* () {
    const { inputs, taskType, outputDimensionality, dropped } = wanted
    const instances: Array<JsonObject> = []
    for (const [at, input] of inputs.entries()) {
      const parts = yield* partsOf(input, `input[${at}]`)
      const other = parts.findIndex(({ type }) => type !== "text")
      if (other !== -1) {
        const path = `input[${at}].content[${other}]`
        return yield* Either.left(new Unsupported({ path, reason: "this host makes vectors of text only" }))
      }
      const content = parts.map((part) => part["text"]).join("")
      instances.push(given({ content, task_type: taskType }))
    }
    const parameters = outputDimensionality === undefined ? undefined : { outputDimensionality }
    return encoded(`${modelPath(host.upstreamModel, true)}:predict`, given({ instances, parameters }), dropped)
  })

const partsOf = (input: EmbeddingInput, path: string): Either.Either<ReadonlyArray<EmbeddingPart>, Unsupported> => {
  if (typeof input === "string") return Either.right([{ type: "text", text: input }])
  if ("content" in input) return Either.right(input.content)
  return Either.left(new Unsupported({ path, reason: "this host takes text and not numbers of tokens" }))
}

const contentsOf = (
  inputs: ReadonlyArray<EmbeddingInput>,
  reader: Reader,
): Either.Either<ReadonlyArray<JsonObject>, Unsupported> =>
  Either.gen(function* () {
    const contents: Array<JsonObject> = []
    for (const [at, input] of inputs.entries()) {
      const parts: Array<JsonObject> = []
      for (const [place, part] of (yield* partsOf(input, `input[${at}]`)).entries()) {
        const written = writtenPart(part, reader)
        if (typeof written === "string") {
          const path = `input[${at}].content[${place}]`
          return yield* Either.left(new Unsupported({ path, reason: written }))
        }
        parts.push(written)
      }
      contents.push({ parts })
    }
    return contents
  })

/** The part, or why it cannot be sent. The forms are those of a chat, but for videos and files. */
const writtenPart = (part: EmbeddingPart, reader: Reader): JsonObject | string => {
  const { type, text, image_url: image, input_audio: audio } = part
  if (type === "text") return { text }
  if (type === "image_url" && isJsonObject(image) && typeof image["url"] === "string") {
    return mediaPart({ type, image_url: { url: image["url"] } }, reader)
  }
  if (type === "input_audio" && isJsonObject(audio)) {
    const { data, format } = audio
    if (typeof data === "string" && typeof format === "string") {
      return mediaPart({ type, input_audio: { data, format } }, reader)
    }
  }
  return "this host has no such part"
}

const vectors = (embeddings: ReadonlyArray<JsonObject>, usage: ChatUsage | undefined) => {
  const data: Array<{ readonly index: number; readonly embedding: ReadonlyArray<number> }> = []
  for (const [index, { values }] of embeddings.entries()) {
    if (!Array.isArray(values)) return malformed()
    data.push({ index, embedding: values })
  }
  if (data.length === 0) return malformed()
  return usage === undefined ? { data } : { data, usage: { ...usage, completion_tokens: 0 } }
}

/** Each prediction says what was read of its text. */
const countedIn = (embeddings: ReadonlyArray<JsonObject>): ChatUsage | undefined => {
  let tokens = 0
  for (const { statistics } of embeddings) {
    const counted = isJsonObject(statistics) ? statistics["token_count"] : undefined
    if (!isCount(counted)) return undefined
    tokens += counted
  }
  return { prompt_tokens: tokens, completion_tokens: 0 }
}
