/** Cohere's rerank, `POST /v2/rerank`. It is charged by search units. From its API reference, read in 2026-11. */
import * as Either from "effect/Either"
import {
  isJsonObject,
  jsonBody,
  type RerankDocument,
  type RerankProtocol,
  rerankProtocol,
  Unsupported,
} from "headgate/plugin"

const common = rerankProtocol()

const carried: ReadonlySet<string> = new Set(["query", "documents", "top_n", "max_tokens_per_doc"])

export const rerank: RerankProtocol = {
  passes: ["max_tokens_per_doc"],
  encode: ({ payload }, host) => {
    const { query, documents, top_n: most, max_tokens_per_doc: longest } = payload
    const image = documents.findIndex((document) => isJsonObject(document) && document["image"] != null)
    if (image !== -1) {
      return Either.left(new Unsupported({ path: `documents[${image}].image`, reason: "this host ranks text only" }))
    }
    const body = {
      model: host.upstreamModel,
      query,
      documents: documents.map(textOf),
      ...(most == null ? {} : { top_n: most }),
      ...(longest == null ? {} : { max_tokens_per_doc: longest }),
    }
    const dropped = Object.keys(payload).filter((name) => payload[name] != null && !carried.has(name))
    return Either.right({ path: "/rerank", ...jsonBody(body), dropped })
  },
  decode: common.decode,
}

/** The host takes texts alone: a document with further members is written as JSON. */
const textOf = (document: string | RerankDocument): string => {
  if (typeof document === "string") return document
  const { text, image: _, ...more } = document
  return typeof text === "string" && Object.keys(more).length === 0 ? text : JSON.stringify({ text, ...more })
}
