/** Requests to rank documents: the JSON of clients, decoded, and the documents as hosts take them. */
import {
  checkOf,
  described,
  filledText,
  hasMember,
  integer,
  listOf,
  objectOf,
  refined,
  report,
  text,
  titled,
} from "../../domain/json/checks.ts"
import { isJsonObject } from "../../domain/json/json.ts"
import { bytesOf } from "../../domain/request/estimate.ts"
import type { RerankPayload } from "../../domain/request/rerank.ts"
import { Sizes } from "../request/measure.ts"
import { memberTable, most, sharedMembers } from "../request/members.ts"
import { noStream, unaryDecoder } from "../request/unaryRequest.ts"

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

export const decodeRerank = unaryDecoder("rerank", rerankTable, ({ query, documents }) => {
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
  return {
    sizes,
    messages: documents.length,
    repeatedBytes: queryBytes * (documents.length - 1),
    searchUnits: Math.max(1, Math.ceil(units / partsOfUnit)),
  }
})

/**
 * A search unit is a query with up to 100 parts of documents, and a part has up to 500 tokens with the query (Cohere's
 * pricing page, seen in 2025). A token is at least one byte.
 */
const partsOfUnit = 100
const unitPart = 500

// --- for hosts

/** Most hosts take documents as plain text only. */
export const writtenDocument = (document: RerankPayload["documents"][number]): unknown => {
  if (typeof document === "string") return document
  const { text, image, ...more } = document
  return text != null && image == null && Object.keys(more).length === 0 ? text : document
}
