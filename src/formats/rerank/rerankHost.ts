/**
 * Ranking of documents as Jina, Cohere, vLLM, llama.cpp and others speak it: `POST /rerank` with `query` and `documents`,
 * answered by `results` with `index` and `relevance_score`.
 */
import { type RerankRequest, type RerankResponse, rerank } from "../../domain/request/rerank.ts"
import type { UnaryProtocol } from "../Protocol.ts"
import { type UnaryQuirks, unaryProtocol } from "../unaryProtocol.ts"
import { readResult, readUsage } from "./rerankAnswer.ts"
import { writtenDocument } from "./rerankRequest.ts"

export interface RerankQuirks extends UnaryQuirks {
  /** Members of a request that the host refuses. `model`, `query` and `documents` are always sent. */
  readonly drop?: ReadonlyArray<string>
}

/** How a host is asked to rank documents. `decode` gives results of different documents that there are, else `malformed`. */
export type RerankProtocol = UnaryProtocol<RerankRequest, RerankResponse>

/** The protocol with these quirks. */
export const rerankProtocol = (quirks: RerankQuirks = {}): RerankProtocol =>
  unaryProtocol(rerank, quirks, {
    write: ({ query, documents }) => ({ query, documents: documents.map(writtenDocument) }),
    listed: "results",
    read: ({ meta: _, results, ...answer }) => ({
      ...answer,
      results: Array.isArray(results) ? results.map(readResult) : results,
    }),
    usage: (answer, { bounds }) => readUsage(answer, bounds.textBytes),
  })
