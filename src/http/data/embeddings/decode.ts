/** Decodes the JSON of a request for embeddings. All problems are reported at once, at most ten. */
import * as Either from "effect/Either"
import type { BadRequest } from "../../../domain/failures/Failure.ts"
import { isJsonObject, type JsonObject } from "../../../domain/json/Json.ts"
import type { EmbeddingsRequest } from "../../../domain/request/Embeddings.ts"
import { type EmbeddingInput, type EmbeddingsPayload, inputsOf } from "../../../domain/request/Embeddings.ts"
import { bytesOf, bytesOfTokens } from "../../../domain/request/Estimate.ts"
import { routingOf } from "../../decode/chatRequest.ts"
import {
  byType,
  type Check,
  filledText,
  type Issues,
  integer,
  listOf,
  matching,
  objectOf,
  oneOf,
  onlyKnown,
  orNull,
  report,
  text,
} from "../../decode/checks.ts"
import { memberTable, most, readMembers, refusalOf, requireModel, sharedMembers } from "../../decode/members.ts"
import { noStream, Sizes } from "../../decode/unaryRequest.ts"

const media = objectOf({ data: filledText, format: orNull(text) }, "data")
const imageUrl = matching(/^(?:https?:\/\/|data:)./i, "must be an http(s) URL or a data URL")

const partTypes: ReadonlyMap<string, Check> = new Map([
  ["text", objectOf({ text }, "text")],
  ["image_url", objectOf({ image_url: objectOf({ url: imageUrl }, "url") }, "image_url")],
  ["input_audio", objectOf({ input_audio: media }, "input_audio")],
  ["input_video", objectOf({ input_video: media }, "input_video")],
  ["input_file", objectOf({ input_file: media }, "input_file")],
])

/** The kind of input that a part is. */
const kinds: Readonly<Record<string, string>> = {
  image_url: "image",
  input_audio: "audio",
  input_video: "video",
  input_file: "file",
}

const token = integer(0, most.tokens)
const tokens = listOf(token, Number.POSITIVE_INFINITY, 1)
const texts = listOf(text, most.inputs)
const tokenLists = listOf(tokens, most.inputs)
const inParts = listOf(
  objectOf({ content: listOf(byType(partTypes, onlyKnown(partTypes)), Number.POSITIVE_INFINITY, 1) }, "content"),
  most.inputs,
)

/** A text, the tokens of one, or a list of texts, of tokens, or of objects with `content`. The first entry tells the kind. */
const input: Check = (value, path, issues) => {
  if (typeof value === "string") return
  if (!Array.isArray(value)) return report(issues, path, "must be a string or an array")
  const [first] = value
  if (first === undefined) return report(issues, path, "must have at least 1 entry")
  checkFor(first)(value, path, issues)
}

const checkFor = (first: unknown): Check => {
  if (typeof first === "number") return tokens
  if (Array.isArray(first)) return tokenLists
  return isJsonObject(first) ? inParts : texts
}

const parameters: Readonly<Record<string, Check>> = {
  dimensions: orNull(integer(1, most.tokens)),
  encoding_format: orNull(oneOf("float", "base64")),
  input_type: orNull(text),
}

const table = memberTable(
  parameters,
  { ...sharedMembers, input, stream: orNull(noStream) },
  ["model", "stream", "stream_options"],
  ["input"],
)

/** The request refers to `body`, which must not change any more. */
export const decodeEmbeddings = (body: JsonObject): Either.Either<EmbeddingsRequest, BadRequest> => {
  const issues: Issues = []
  requireModel(body, issues)
  if (body["input"] === undefined) report(issues, "input", "is required")
  const read = readMembers(body, table, issues)
  const refusal = refusalOf(body, read, issues)
  if (refusal !== undefined) return Either.left(refusal)
  const { payload: written, preferences, parameters, dropped } = read
  const payload = checkedPayload(written)
  const inputs = inputsOf(payload.input)
  const sizes = sizesOf(inputs)
  const { textBytes, longestBytes, mediaBytes, mediaParts, images } = sizes
  return Either.right({
    operation: "embeddings",
    routing: routingOf(body, preferences, parameters, sizes.needs()),
    bounds: {
      ...{ promptBytes: textBytes + mediaBytes, textBytes, longestBytes, mediaBytes, mediaParts, images },
      ...sizes.tokens(),
      messages: inputs.length,
      searches: 0,
      maxTokens: 0,
      choices: 1,
    },
    stream: false,
    maxTokens: 0,
    payload,
    ...(dropped.length === 0 ? {} : { dropped }),
  })
}

/** The checks above guarantee the type. */
const checkedPayload = (payload: Record<string, unknown>): EmbeddingsPayload => payload as unknown as EmbeddingsPayload

const sizesOf = (inputs: ReadonlyArray<EmbeddingInput>): Sizes => {
  const sizes = new Sizes()
  for (const one of inputs) {
    if (typeof one === "string") sizes.text(bytesOf(one))
    else if (!("content" in one)) sizes.text(bytesOfTokens(one.length))
    else {
      let bytes = 0
      for (const { type, ...part } of one.content) {
        const kind = kinds[type]
        if (kind === undefined) bytes += bytesOf(part["text"])
        else sizes.media(kind, dataOf(part[type]))
      }
      sizes.text(bytes)
    }
  }
  return sizes
}

const dataOf = (media: unknown): unknown => (isJsonObject(media) ? (media["data"] ?? media["url"]) : undefined)
