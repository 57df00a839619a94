/** Decodes the JSON of a request to rank documents. All problems are reported at once, at most ten. */
import * as Either from "effect/Either"
import type { BadRequest } from "../../../domain/failures/Failure.ts"
import {
  checkOf,
  described,
  filledText,
  hasMember,
  type Issues,
  integer,
  listOf,
  objectOf,
  refined,
  report,
  text,
  titled,
} from "../../../domain/json/checks.ts"
import { isJsonObject, type JsonObject } from "../../../domain/json/Json.ts"
import { bytesOf } from "../../../domain/request/Estimate.ts"
import type { RerankRequest } from "../../../domain/request/Request.ts"
import type { RerankPayload } from "../../../domain/request/Rerank.ts"
import { routingOf } from "../../decode/chatRequest.ts"
import { memberTable, most, readMembers, refusalOf, sharedMembers } from "../../decode/members.ts"
import { noStream, Sizes } from "../../decode/unaryRequest.ts"

const structured = titled(
  "RerankDocument",
  refined(
    objectOf({ text, image: described("An address, or a data URL.", text) }),
    { anyOf: [hasMember("text"), hasMember("image")] },
    (value, path, issues) => {
      if (isJsonObject(value) && value["text"] == null && value["image"] == null)
        report(issues, path, "needs a text or an image")
    },
  ),
)

/** A document that is no text, in requests and answers. */
export const documentSchema = structured.schema

const document = checkOf({ anyOf: [text.schema, structured.schema] }, (value, path, issues) => {
  if (typeof value === "string") return
  if (!isJsonObject(value)) report(issues, path, "must be a string or an object")
  else structured(value, path, issues)
})

const topN = described(
  "How many results are wanted, the most relevant ones. Default: every result.",
  integer(1, most.tokens),
)

export const rerankTable = memberTable({
  title: "RerankRequest",
  parameters: { top_n: topN },
  others: { ...sharedMembers, query: filledText, documents: listOf(document, most.inputs, 1), stream: noStream },
  decodedApart: ["model", "stream", "stream_options"],
  required: ["query", "documents"],
})

/** The request refers to `body`, which must not change any more. */
export const decodeRerank = (body: JsonObject): Either.Either<RerankRequest, BadRequest> => {
  const issues: Issues = []
  const read = readMembers(body, rerankTable, issues)
  const refusal = refusalOf(body, read, issues)
  if (refusal !== undefined) return Either.left(refusal)
  const { payload: written, preferences, parameters, dropped } = read
  const payload = checkedPayload(written)
  const { query, documents } = payload
  const queryBytes = bytesOf(query)
  const sizes = new Sizes()
  let units = 0
  for (const one of documents) {
    const { text, image } = typeof one === "string" ? { text: one, image: undefined } : one
    // The host reads the query with each document.
    const together = queryBytes + bytesOf(text)
    sizes.text(together)
    units += Math.ceil(together / unitPart)
    if (image != null) sizes.media("image", image)
  }
  const { textBytes, longestBytes, mediaBytes, mediaParts, images } = sizes
  return Either.right({
    operation: "rerank",
    routing: routingOf(body, preferences, parameters, sizes.needs()),
    bounds: {
      ...{ promptBytes: textBytes + mediaBytes, textBytes, longestBytes, mediaBytes, mediaParts, images },
      ...sizes.tokens(),
      messages: documents.length,
      repeatedBytes: queryBytes * (documents.length - 1),
      searchUnits: Math.max(1, Math.ceil(units / partsOfUnit)),
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

/**
 * A search unit is a query with up to 100 parts of documents, and a part has up to 500 tokens with the query (Cohere's
 * pricing page, seen in 2025). A token is at least one byte.
 */
const partsOfUnit = 100
const unitPart = 500

/** The checks above guarantee the type. */
const checkedPayload = (payload: Record<string, unknown>): RerankPayload => payload as unknown as RerankPayload
