/** Rerank: documents by their relevance to a query. Members keep the names of the wire. */

import type { JsonObject } from "../json/Json.ts"
import { distinctPlaces, isListOfObjects } from "../json/places.ts"
import type { ChatUsage } from "./Chat.ts"

/** At least one of the two. `image`: http(s), or a data URL. */
export interface RerankDocument extends JsonObject {
  readonly text?: string | null
  readonly image?: string | null
}

/** What is sent to the host, without router-only members, credentials and addresses. Checked by the HTTP layer. */
export interface RerankPayload extends JsonObject {
  readonly query: string
  /** At least one. */
  readonly documents: ReadonlyArray<string | RerankDocument>
  /** How many results are wanted, the most relevant ones. Default: one for each document. */
  readonly top_n?: number | null
}

export interface RerankResult extends JsonObject {
  /** The place of its document. */
  readonly index: number
  readonly relevance_score: number
}

/** A host's answer. The gateway sorts it, adds the documents, id, model, provider and cost. */
export interface RerankResponse extends JsonObject {
  /** At least one, in any order, and at most one for each document. */
  readonly results: ReadonlyArray<RerankResult>
  /** `completion_tokens` is 0. Absent: the host did not count, and the gateway estimates. */
  readonly usage?: ChatUsage
}

/** Whether the results have scores of different documents among `documents`, and there is one at least. */
export const isRanking = (results: unknown, documents: number): results is ReadonlyArray<RerankResult> =>
  isListOfObjects(results) &&
  distinctPlaces(results, documents) > 0 &&
  results.every(({ relevance_score: score }) => Number.isFinite(score))
