/**
 * Ranking of documents as Jina, Cohere, vLLM, llama.cpp and others speak it: `POST /rerank` with `query` and `documents`,
 * answered by `results` with `index` and `relevance_score`.
 */
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { isCount } from "../../domain/price/Usage.ts"
import type { ChatUsage } from "../../domain/request/chat.ts"
import { tokensIn } from "../../domain/request/estimate.ts"
import { type RerankPayload, type RerankRequest, type RerankResponse, rerank } from "../../domain/request/rerank.ts"
import type { UnaryProtocol } from "../Protocol.ts"
import { promptUsage, type UnaryQuirks, unaryProtocol } from "../unaryProtocol.ts"

export interface RerankQuirks extends UnaryQuirks {
  /** Members of a request that the host refuses. `model`, `query` and `documents` are always sent. */
  readonly drop?: ReadonlyArray<string>
}

/** How a host is asked to rank documents. `decode` gives results of different documents that there are, else `malformed`. */
export type RerankProtocol = UnaryProtocol<RerankRequest, RerankResponse>

/** The protocol with these quirks. */
export const rerankProtocol = (quirks: RerankQuirks = {}): RerankProtocol =>
  unaryProtocol(rerank, quirks, {
    write: ({ query, documents }) => ({ query, documents: documents.map(plainText) }),
    listed: "results",
    read: ({ meta: _, results, ...answer }) => ({
      ...answer,
      results: Array.isArray(results) ? results.map(withScore) : results,
    }),
    usage: (answer, { bounds }) => usageOf(answer, bounds.textBytes),
  })

/** Hugging Face's text-embeddings-inference calls the relevance a score. */
const withScore = (result: unknown): unknown => {
  if (!isJsonObject(result) || result["relevance_score"] !== undefined) return result
  const { score, ...rest } = result
  return { ...rest, relevance_score: score }
}

/** Most hosts take documents as plain text only. */
const plainText = (document: RerankPayload["documents"][number]): unknown => {
  if (typeof document === "string") return document
  const { text, image, ...more } = document
  return text != null && image == null && Object.keys(more).length === 0 ? text : document
}

/** Tokens, and the search units of hosts that charge by these. Where Cohere counts units alone, the tokens are estimated. */
const usageOf = (answer: JsonObject, textBytes: number): { readonly usage?: ChatUsage } => {
  const { usage, meta } = answer
  const counted = promptUsage(answer)
  const units = memberOf(memberOf(meta, "billed_units"), "search_units") ?? memberOf(usage, "search_units")
  if (!isCount(units)) return counted
  const tokens = memberOf(memberOf(meta, "tokens"), "input_tokens")
  const estimated = { prompt_tokens: isCount(tokens) ? tokens : tokensIn(textBytes), completion_tokens: 0 }
  return { usage: { ...(counted.usage ?? estimated), search_units: units } }
}

const memberOf = (value: unknown, name: string): unknown => (isJsonObject(value) ? value[name] : undefined)
