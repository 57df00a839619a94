/** Sources that an answer cites, and searches that are billed. */

import { isJsonObject, type JsonObject, objectsIn, textOr } from "../../domain/json/json.ts"
import type { Annotation } from "../../domain/request/chat.ts"

/** The citations in a candidate, for the candidate's whole text so far. Google's places are bytes of UTF-8. */
export const annotationsOf = (candidate: JsonObject, text: string): ReadonlyArray<Annotation> => {
  const { groundingMetadata: grounding, citationMetadata: citations } = candidate
  const found = isJsonObject(grounding) ? grounded(grounding, text) : []
  return isJsonObject(citations) ? [...found, ...cited(citations, text)] : found
}

interface Source {
  readonly url: string
  readonly title: string
}

const grounded = (grounding: JsonObject, text: string): ReadonlyArray<Annotation> => {
  const sources = Array.isArray(grounding["groundingChunks"]) ? grounding["groundingChunks"].map(sourceOf) : []
  const supports = objectsIn(grounding["groundingSupports"])
  // Without a text that they support, the sources stand for the whole answer.
  if (supports.length === 0) return sources.flatMap((source) => (source === undefined ? [] : [annotation(source, {})]))
  return supports.flatMap(({ segment, groundingChunkIndices: places }) => {
    const place = isJsonObject(segment) ? spanOf(segment, text) : {}
    const named = Array.isArray(places) ? places.map((at) => sources[Number(at)]) : []
    return named.flatMap((source) => (source === undefined ? [] : [annotation(source, place)]))
  })
}

/** Chunks of the web, of maps and of the caller's own documents are alike. */
const sourceOf = (chunk: unknown): Source | undefined => {
  const source = isJsonObject(chunk) ? (chunk["web"] ?? chunk["maps"] ?? chunk["retrievedContext"]) : undefined
  if (!isJsonObject(source) || typeof source["uri"] !== "string") return undefined
  return { url: source["uri"], title: textOr(source["title"], "") }
}

/** Texts that the model repeated from somewhere. Vertex AI calls them `citations`. */
const cited = (metadata: JsonObject, text: string): ReadonlyArray<Annotation> =>
  objectsIn(metadata["citationSources"] ?? metadata["citations"]).flatMap((source) =>
    typeof source["uri"] === "string"
      ? [annotation({ url: source["uri"], title: textOr(source["title"], "") }, spanOf(source, text))]
      : [],
  )

interface Span {
  readonly start_index?: number
  readonly end_index?: number
}

const annotation = (source: Source, span: Span): Annotation => ({
  type: "url_citation",
  url_citation: { ...source, ...span },
})

/** The place in UTF-16 units; nothing where it does not fit the text. */
const spanOf = ({ startIndex, endIndex, text: marked }: JsonObject, text: string): Span => {
  const bytes = Buffer.from(text)
  const [from, to] = [startIndex ?? 0, endIndex]
  if (typeof from === "number" && typeof to === "number" && from <= to && to <= bytes.length) {
    const start = bytes.subarray(0, from).toString().length
    const end = start + bytes.subarray(from, to).toString().length
    if (marked === undefined || text.slice(start, end) === marked) return { start_index: start, end_index: end }
  }
  const at = typeof marked === "string" && marked !== "" ? text.indexOf(marked) : -1
  return typeof marked === "string" && at !== -1 ? { start_index: at, end_index: at + marked.length } : {}
}

/**
 * Searches that are billed: each query from Gemini 3 on, but for empty ones; before, an answer that searched (Google's price
 * page, 2026-11).
 */
export const searchesOf = (candidate: JsonObject, isThird: boolean): number => {
  const grounding = candidate["groundingMetadata"]
  const queries = isJsonObject(grounding) ? grounding["webSearchQueries"] : undefined
  if (!Array.isArray(queries)) return 0
  const asked = queries.filter((query) => typeof query === "string" && query !== "").length
  return isThird ? asked : Math.min(asked, 1)
}

/** What the answer cites, as Google names sources. */
export const groundingOf = (annotations: ReadonlyArray<Annotation>): JsonObject | undefined => {
  if (annotations.length === 0) return undefined
  const byUrl = new Map(annotations.map(({ url_citation: { url, title } }) => [url, { web: { uri: url, title } }]))
  return { groundingChunks: [...byUrl.values()] }
}
