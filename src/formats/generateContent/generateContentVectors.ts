/** Google's form of embeddings for clients: `…:embedContent` for one input, `…:batchEmbedContents` for several. */

import { HostFailed } from "../../domain/failures/Failure.ts"
import type { JsonSchema } from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject, objectsIn, textOr } from "../../domain/json/json.ts"
import { textOfNumbers } from "../../domain/json/numberList.ts"
import { type Embedding, type EmbeddingsRequest, floatPieces, unpacked } from "../../domain/request/embeddings.ts"
import type { AnswerNames, UnaryWriter } from "../AnswerWriter.ts"
import type { Target } from "../Target.ts"
import { given } from "./generateContentJson.ts"
import { usageMetadata } from "./generateContentUsage.ts"

const content = { type: "object", properties: { parts: { type: "array", items: { type: "object" } } } }
const settings = { taskType: { type: "string" }, outputDimensionality: { type: "integer", minimum: 1 } }
const one = { content, ...settings }

/** Of a body: one input, or `requests` with several. */
export const embedContentSchema: JsonSchema = {
  title: "EmbedContentRequest",
  type: "object",
  properties: { ...one, requests: { type: "array", items: { type: "object", properties: one }, maxItems: 2048 } },
}

/** The body as one of the embeddings format, which checks it. Settings are those of the first request: hosts have one for all. */
export const embeddingsBody = (sent: JsonObject, target: Target): JsonObject => {
  const {
    requests,
    content,
    taskType,
    task_type,
    outputDimensionality,
    output_dimensionality,
    title: _,
    ...others
  } = sent
  const isOne = requests === undefined
  const asked = isOne
    ? [sent]
    : Array.isArray(requests)
      ? requests.map((one: unknown) => (isJsonObject(one) ? one : {}))
      : []
  const [first = {}] = asked
  const {
    taskType: task = first["task_type"] ?? taskType ?? task_type,
    outputDimensionality: dimensions = first["output_dimensionality"] ?? outputDimensionality ?? output_dimensionality,
  } = first
  return given({
    ...others,
    model: target.parameter ?? others["model"],
    // An explanation may have the body of the embeddings format.
    input: content === undefined && isOne ? others["input"] : asked.map((one) => inputOf(one["content"])),
    dimensions: dimensions ?? undefined,
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
const inputOf = (content: unknown): unknown => {
  if (typeof content === "string") return content
  if (!isJsonObject(content)) return null
  const parts = objectsIn(content["parts"])
  if (parts.every(({ text }) => typeof text === "string")) return parts.map(({ text }) => text).join("")
  return {
    content: parts.map(({ text, inlineData, inline_data: other = inlineData }) => {
      if (!isJsonObject(other)) return { type: "text", text }
      const type = String(other["mimeType"] ?? other["mime_type"])
      return type.startsWith("audio/")
        ? { type: "input_audio", input_audio: { data: other["data"], format: type.slice("audio/".length) } }
        : { type: "image_url", image_url: { url: `data:${type};base64,${other["data"]}` } }
    }),
  }
}

/** Characters of an answer that is written at once. */
const pieceLength = 262_144

/** Vectors are always lists of numbers, each written when it is its turn. */
export const embedContentWriter =
  ({ generationId, metadata }: AnswerNames, _: EmbeddingsRequest, target: Target): UnaryWriter<"embeddings"> =>
  (host, { data }) => {
    const vectors: Array<Vector> = []
    for (const { embedding } of data.toSorted((one, other) => one.index - other.index)) {
      const vector = vectorOf(embedding)
      if (vector === undefined) return new HostFailed({ reason: "malformed" })
      vectors.push(vector)
    }
    const facts = { modelVersion: host.model, responseId: generationId, provider: host.providerName }
    const head = JSON.stringify({ ...facts, openrouter_metadata: metadata?.(host) }).slice(0, -1)
    const isBatch = target.path.endsWith(":batchEmbedContents")
    return (charge) => {
      const pieces = piecesOf(`${head},"usageMetadata":${JSON.stringify(usageMetadata(charge))}`, vectors, isBatch)
      const isLong = vectors.reduce((sum, { length }) => sum + length, 0) > pieceLength
      return isLong ? { pieces } : Array.from(pieces).join("")
    }
  }

function* piecesOf(head: string, vectors: ReadonlyArray<Vector>, isBatch: boolean): Generator<string> {
  let piece = `${head},${isBatch ? '"embeddings":[' : '"embedding":'}`
  for (const [at, { text }] of vectors.entries()) {
    piece += `${at === 0 ? "" : ","}{"values":${text()}}`
    if (piece.length < pieceLength) continue
    yield piece
    piece = ""
  }
  yield `${piece}${isBatch ? "]}" : "}"}`
}

interface Vector {
  readonly text: () => string
  /** About how many characters it has. */
  readonly length: number
}

/** Characters of a number in an answer, about. */
const numberLength = 13

const vectorOf = (embedding: Embedding["embedding"]): Vector | undefined => {
  if (typeof embedding !== "string") {
    const text = () => textOfNumbers(embedding) ?? JSON.stringify(embedding)
    return { text, length: embedding.length * numberLength }
  }
  const floats = unpacked(embedding)
  if (floats === undefined) return undefined
  return { text: () => Array.from(floatPieces(floats)).join(""), length: floats.length * numberLength }
}
