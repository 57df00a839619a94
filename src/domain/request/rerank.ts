/** Rerank: documents by their relevance to a query. Members keep the names of the wire. */
import type { JsonObject } from "../json/json.ts"
import { distinctPlaces, isListOfObjects } from "../json/places.ts"
import { sharedMembers, type UnaryAnswer, type UnaryOperation } from "./Operation.ts"
import type { UnaryRequest } from "./request.ts"

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

export interface RerankRequest extends UnaryRequest<"rerank", RerankPayload> {}

/** The gateway sorts the results, and adds the documents. */
export interface RerankResponse extends UnaryAnswer {
  /** At least one, in any order, and at most one for each document. */
  readonly results: ReadonlyArray<RerankResult>
}

export const rerank: UnaryOperation<RerankPayload, RerankResponse> = {
  path: "/rerank",
  gives: new Set(["rerank"]),
  inability: "it ranks no documents",
  promptMember: "documents",
  members: new Set([...sharedMembers, "query", "documents", "top_n"]),
  madeHere: new Set(["top_n"]),
  answerType: "a RerankResponse",
  answerMember: "results",
  answerRule: ({ documents }) => `have scores of some of ${documents.length} documents`,
  isAnswer: (answer, { documents }): answer is RerankResponse => isRanking(answer["results"], documents.length),
  sample: { query: "HEADGATE-QUERY", documents: ["HEADGATE-FIRST", "HEADGATE-SECOND"] },
  optional: { top_n: 1 },
}

/** Whether the results have scores of different documents among `documents`, and there is one at least. */
const isRanking = (results: unknown, documents: number): boolean =>
  isListOfObjects(results) &&
  distinctPlaces(results, documents) > 0 &&
  results.every(({ relevance_score: score }) => Number.isFinite(score))
