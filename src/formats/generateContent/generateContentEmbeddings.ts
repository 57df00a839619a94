/**
 * Embeddings in Google's forms: of the Gemini API (`batchEmbedContents`; for clients also `embedContent` with one
 * input), and of Vertex AI: `predict` for its older models, `embedContent`, which takes one input, from Gemini
 * Embedding 2 on.
 */
import * as Either from "effect/Either"
import { HostFailed, Unsupported } from "../../domain/failures/Failure.ts"
import { baseModelOf, type Host } from "../../domain/hosts/Host.ts"
import type { JsonSchema } from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject, objectIn, objectsIn, textOr } from "../../domain/json/json.ts"
import { isCount } from "../../domain/price/Usage.ts"
import type { ChatUsage } from "../../domain/request/chat.ts"
import {
  type EmbeddingInput,
  type EmbeddingPart,
  type EmbeddingsPayload,
  type EmbeddingsRequest,
  inputsOf,
} from "../../domain/request/embeddings.ts"
import type { AnswerNames, UnaryWriter } from "../AnswerWriter.ts"
import { malformed } from "../httpError.ts"
import { type EmbeddingsProtocol, type Encoded, jsonBody } from "../Protocol.ts"
import type { Target } from "../Target.ts"
import { answerText, type VectorText, vectorText } from "../vectorText.ts"
import { factsOf } from "./generateContentAnswer.ts"
import { generateContentErrorInBody } from "./generateContentError.ts"
import { given } from "./generateContentJson.ts"
import { modelFacts } from "./generateContentModels.ts"
import { embeddedPart, mediaPart, type Reader } from "./generateContentParts.ts"
import { modelPath } from "./generateContentRequest.ts"
import { usageMetadata, usageOf } from "./generateContentUsage.ts"

// --- requests of clients

const content = { type: "object", properties: { parts: { type: "array", items: { type: "object" } } } }
const one = { content, taskType: { type: "string" }, outputDimensionality: { type: "integer", minimum: 1 } }

/** Of a body: one input, or `requests` with several. */
export const embedContentSchema: JsonSchema = {
  title: "EmbedContentRequest",
  type: "object",
  properties: { ...one, requests: { type: "array", items: { type: "object", properties: one }, maxItems: 2048 } },
}

/**
 * The body as one of the embeddings format, which checks it. Settings are those of the first request: hosts have one
 * for all.
 */
export const embeddingsBody = (sent: JsonObject, target: Target): JsonObject => {
  const { requests, content, title: _, ...members } = sent
  const { taskType, task_type, outputDimensionality, output_dimensionality, ...others } = members
  const isOne = requests === undefined
  const asked = isOne ? [sent] : Array.isArray(requests) ? requests.map(objectIn) : []
  const [first = {}] = asked
  const task = first["taskType"] ?? first["task_type"] ?? taskType ?? task_type
  const length = first["outputDimensionality"] ?? first["output_dimensionality"]
  return given({
    ...others,
    model: target.parameter ?? others["model"],
    // An explanation may have the body of the embeddings format.
    input: content === undefined && isOne ? others["input"] : asked.map((one) => readInput(one["content"])),
    dimensions: length ?? outputDimensionality ?? output_dimensionality ?? undefined,
    input_type: textOr(task, undefined)?.toLowerCase(),
  })
}

/** The caller's path for one in the body of the embeddings format. */
export const embedContentPath = ({ requests, input }: JsonObject, target: Target, path: string): string => {
  if (input !== undefined) return path
  const isBatch = requests !== undefined || target.path.endsWith(":batchEmbedContents")
  if (path === "dimensions") return `${isBatch ? "requests[0]." : ""}outputDimensionality`
  const [whole, at, place] = /^input(?:\[(\d+)\])?(?:\.content\[(\d+)\])?/.exec(path) ?? []
  if (whole === undefined) return path
  if (isBatch && at === undefined) return "requests"
  const own = isBatch ? `requests[${at}].content` : "content"
  return place === undefined ? own : `${own}.parts[${place}]`
}

/** A text, or parts of several kinds; `null`: neither. */
const readInput = (content: unknown): unknown => {
  if (typeof content === "string") return content
  if (!isJsonObject(content)) return null
  const parts = objectsIn(content["parts"])
  if (parts.every(({ text }) => typeof text === "string")) return parts.map(({ text }) => text).join("")
  return {
    content: parts.map(({ text, inlineData, inline_data: media = inlineData }) => {
      const { mimeType, mime_type: type = mimeType, data } = objectIn(media)
      if (typeof type !== "string" || typeof data !== "string") return { type: "text", text }
      if (type.startsWith("audio/")) return embeddedPart(type, data)
      return { type: "image_url", image_url: { url: `data:${type};base64,${data}` } }
    }),
  }
}

// --- requests for hosts

/** Google's names of what a text is for, by the usual words; its own are taken in any case. */
const taskTypes: ReadonlyMap<string, string> = new Map([
  ...["RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT", "SEMANTIC_SIMILARITY", "CLASSIFICATION", "CLUSTERING"].map(named),
  ...["QUESTION_ANSWERING", "FACT_VERIFICATION", "CODE_RETRIEVAL_QUERY"].map(named),
  ...["search_query", "query"].map((word) => [word, "RETRIEVAL_QUERY"] as const),
  ...["search_document", "document", "passage"].map((word) => [word, "RETRIEVAL_DOCUMENT"] as const),
])

function named(task: string): readonly [string, string] {
  return [task.toLowerCase(), task]
}

/** Models from Gemini Embedding 2 on read the purpose in the text. They refuse a task, and take more than text. */
const isSecond = (model: string): boolean => /embedding-(?:[2-9]|\d\d)(?!\d)/.test(model)

// The gateway converts the vectors itself.
const carried: ReadonlySet<string> = new Set(["input", "dimensions", "encoding_format", "input_type"])

const settingsOf = (payload: EmbeddingsPayload, host: Host) => {
  const purpose = isSecond(baseModelOf(host)) ? undefined : payload.input_type
  const taskType = taskTypes.get(purpose?.toLowerCase().replaceAll(" ", "_") ?? "")
  const dropped = Object.keys(payload).filter((name) => payload[name] != null && !carried.has(name))
  if (payload.input_type != null && taskType === undefined) dropped.push("input_type")
  return { taskType, outputDimensionality: payload.dimensions ?? undefined, dropped }
}

/** Of the Gemini API. */
export const embedContentProtocol = (): EmbeddingsProtocol => ({
  // Its error: "BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch".
  mostInputs: () => 100,
  encode: ({ payload }, host) => {
    const { dropped, ...settings } = settingsOf(payload, host)
    const path = modelPath(host.upstreamModel, false)
    return Either.map(contentsOf(payload, host, false), (contents) => {
      const requests = contents.map((content) => given({ model: path.slice(1), content, ...settings }))
      return encoded(`${path}:batchEmbedContents`, { requests }, dropped)
    })
  },
  decode: (_head, body) => readVectors(body),
})

/** Of Vertex AI. */
export const vertexEmbeddingsProtocol = (): EmbeddingsProtocol => ({
  // Its page on text embeddings: 250 texts per request.
  mostInputs: (host) => (isSecond(baseModelOf(host)) ? 1 : 250),
  encode: ({ payload }, host) => {
    const { dropped, taskType, outputDimensionality } = settingsOf(payload, host)
    const path = modelPath(host.upstreamModel, true)
    if (isSecond(baseModelOf(host))) {
      if (inputsOf(payload.input).length > 1) return unsupported("input", "this host takes one input in a request")
      return Either.map(contentsOf(payload, host, true), ([content]) =>
        encoded(`${path}:embedContent`, { content, outputDimensionality }, dropped),
      )
    }
    const parameters = outputDimensionality === undefined ? undefined : { outputDimensionality }
    return Either.map(textsOf(payload), (texts) => {
      const instances = texts.map((content) => given({ content, task_type: taskType }))
      return encoded(`${path}:predict`, { instances, parameters }, dropped)
    })
  },
  decode: (_head, body) => readVectors(body),
})

const encoded = (path: string, body: JsonObject, dropped: ReadonlyArray<string>): Encoded => ({
  path,
  ...jsonBody(given(body)),
  dropped,
})

const unsupported = (path: string, reason: string) => Either.left(new Unsupported({ path, reason }))

const partsOf = (input: EmbeddingInput, path: string): Either.Either<ReadonlyArray<EmbeddingPart>, Unsupported> => {
  if (typeof input === "string") return Either.right([{ type: "text", text: input }])
  return "content" in input
    ? Either.right(input.content)
    : unsupported(path, "this host takes text and not numbers of tokens")
}

const textsOf = ({ input }: EmbeddingsPayload): Either.Either<ReadonlyArray<string>, Unsupported> =>
  Either.gen(function* () {
    const texts: Array<string> = []
    for (const [at, one] of inputsOf(input).entries()) {
      const parts = yield* partsOf(one, `input[${at}]`)
      const other = parts.findIndex(({ type }) => type !== "text")
      if (other !== -1)
        return yield* unsupported(`input[${at}].content[${other}]`, "this host makes vectors of text only")
      texts.push(parts.map((part) => part["text"]).join(""))
    }
    return texts
  })

/** The forms of parts are those of a chat, but for videos and files. */
const contentsOf = (
  { input }: EmbeddingsPayload,
  host: Host,
  vertex: boolean,
): Either.Either<ReadonlyArray<JsonObject>, Unsupported> =>
  Either.gen(function* () {
    const reader: Reader = { vertex, facts: modelFacts(baseModelOf(host)) }
    const contents: Array<JsonObject> = []
    for (const [at, one] of inputsOf(input).entries()) {
      const parts: Array<JsonObject> = []
      for (const [place, part] of (yield* partsOf(one, `input[${at}]`)).entries()) {
        const written = part.type === "text" ? { text: part.text } : mediaPart(part, reader)
        if (typeof written === "string") return yield* unsupported(`input[${at}].content[${place}]`, written)
        parts.push(written)
      }
      contents.push({ parts })
    }
    return contents
  })

// --- answers

/** Of either API: vectors in `embeddings`, `embedding` or `predictions`. */
const readVectors = (body: unknown) => {
  if (!isJsonObject(body)) return malformed()
  if (body["error"] != null) return generateContentErrorInBody(body["error"])
  const { embedding, embeddings, predictions } = body
  const predicted = objectsIn(predictions).map((each) => objectIn(each["embeddings"]))
  const found = isJsonObject(embedding) ? [embedding] : [...objectsIn(embeddings), ...predicted]
  const data: Array<{ readonly index: number; readonly embedding: ReadonlyArray<number> }> = []
  for (const [index, { values }] of found.entries()) {
    if (!Array.isArray(values)) return malformed()
    data.push({ index, embedding: values })
  }
  if (data.length === 0) return malformed()
  const usage = predicted.length > 0 ? countedIn(predicted) : usageOf(body["usageMetadata"], 0)
  return usage === undefined ? { data } : { data, usage: { ...usage, completion_tokens: 0 } }
}

/** Each prediction says what was read of its text. */
const countedIn = (predicted: ReadonlyArray<JsonObject>): ChatUsage | undefined => {
  let tokens = 0
  for (const each of predicted) {
    const { token_count: counted } = objectIn(each["statistics"])
    if (!isCount(counted)) return undefined
    tokens += counted
  }
  return { prompt_tokens: tokens, completion_tokens: 0 }
}

/** Vectors are always lists of numbers. */
export const embedContentWriter =
  (names: AnswerNames, _: EmbeddingsRequest, target: Target): UnaryWriter<"embeddings"> =>
  (host, { data }) => {
    const vectors: Array<VectorText> = []
    for (const { embedding } of data.toSorted((one, other) => one.index - other.index)) {
      const vector = vectorText(embedding)
      if (vector === undefined) return new HostFailed({ reason: "malformed" })
      vectors.push(vector)
    }
    const facts = { ...factsOf(names, host), openrouter_metadata: names.metadata?.(host) }
    const isBatch = target.path.endsWith(":batchEmbedContents")
    const length = vectors.reduce((sum, vector) => sum + vector.length, 0)
    return (charge) =>
      answerText(partsOfAnswer({ ...facts, usageMetadata: usageMetadata(charge) }, vectors, isBatch), length)
  }

function* partsOfAnswer(facts: JsonObject, vectors: ReadonlyArray<VectorText>, isBatch: boolean): Generator<string> {
  yield `${JSON.stringify(facts).slice(0, -1)},${isBatch ? '"embeddings":[' : '"embedding":'}`
  for (const [at, { pieces }] of vectors.entries()) {
    yield at === 0 ? '{"values":' : ',{"values":'
    yield* pieces()
    yield "}"
  }
  yield isBatch ? "]}" : "}"
}
