/** Requests for embeddings: the JSON of clients, decoded, and the input as hosts take it. */
import { Unsupported } from "../../domain/failures/Failure.ts"
import {
  byType,
  type Check,
  checkOf,
  described,
  filledText,
  integer,
  listOf,
  objectOf,
  oneOf,
  report,
  text,
  titled,
} from "../../domain/json/checks.ts"
import { isJsonObject } from "../../domain/json/json.ts"
import { type EmbeddingInput, type EmbeddingsPayload, inputsOf } from "../../domain/request/embeddings.ts"
import { bytesOf, bytesOfTokens } from "../../domain/request/estimate.ts"
import { Sizes } from "../request/measure.ts"
import { mediaUrl } from "../request/mediaUrl.ts"
import { memberTable, most, sharedMembers } from "../request/members.ts"
import { noStream, unaryDecoder } from "../request/unaryRequest.ts"

const media = objectOf({ data: filledText, format: text }, "data")

const partTypes: ReadonlyMap<string, Check> = new Map([
  ["text", objectOf({ text }, "text")],
  ["image_url", objectOf({ image_url: objectOf({ url: mediaUrl }, "url") }, "image_url")],
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
const texts = listOf(text, most.inputs, 1)
const tokenLists = listOf(tokens, most.inputs, 1)
const part = titled("EmbeddingPart", byType(partTypes))
const inParts = listOf(objectOf({ content: listOf(part, Number.POSITIVE_INFINITY, 1) }, "content"), most.inputs, 1)

const inputSchema = {
  anyOf: [text, tokens, texts, tokenLists, inParts].map(({ schema }) => schema),
  description:
    "A text, the tokens of one, or a list of texts, of lists of tokens, or of objects whose parts become one vector together.",
}

/** The first entry tells the kind. */
const input = checkOf(inputSchema, (value, path, issues) => {
  if (typeof value === "string") return
  if (!Array.isArray(value)) return report(issues, path, "must be a string or an array")
  const [first] = value
  if (first === undefined) return report(issues, path, "must have at least 1 entry")
  checkFor(first)(value, path, issues)
})

const checkFor = (first: unknown): Check => {
  if (typeof first === "number") return tokens
  if (Array.isArray(first)) return tokenLists
  return isJsonObject(first) ? inParts : texts
}

const parameters: Readonly<Record<string, Check>> = {
  dimensions: described("Length of the vectors. Default: the model's own.", integer(1, most.tokens)),
  encoding_format: described("Default: as the host gives them.", oneOf("float", "base64")),
  input_type: described("What the inputs are for, such as search_query.", text),
}

export const embeddingsTable = memberTable({
  title: "EmbeddingsRequest",
  parameters,
  others: { ...sharedMembers, input, stream: noStream },
  decodedApart: ["model", "stream", "stream_options"],
  required: ["input"],
})

export const decodeEmbeddings = unaryDecoder("embeddings", embeddingsTable, (payload) => {
  const inputs = inputsOf(payload.input)
  return { sizes: sizesOf(inputs), messages: inputs.length }
})

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

// --- for hosts

/** `textOnly`: the host takes no other parts. */
export const writtenInput = (input: EmbeddingsPayload["input"], textOnly: boolean): unknown => {
  const inputs = inputsOf(input)
  // All inputs are of one kind.
  if (!isJsonObject(inputs[0])) return input
  const written: Array<unknown> = []
  for (const [at, one] of inputs.entries()) {
    const text = textOf(one)
    if (text === undefined && textOnly) {
      const reason = "has parts other than text, and the host takes text alone"
      return new Unsupported({ path: `input[${at}].content`, reason })
    }
    written.push(text ?? one)
  }
  return written
}

/** The text of an input whose parts are all text. */
const textOf = (input: EmbeddingInput): string | undefined => {
  if (typeof input === "string" || !("content" in input)) return undefined
  const { content } = input
  return content.every(({ type }) => type === "text") ? content.map(({ text }) => text).join("") : undefined
}
