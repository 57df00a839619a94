/**
 * Ranking of documents as Jina, Cohere, vLLM, llama.cpp and others speak it: `POST /rerank` with `query` and `documents`,
 * answered by `results` with `index` and `relevance_score`.
 */
import * as Either from "effect/Either"
import type { ChatUsage } from "../domain/Chat.ts"
import { tokensIn } from "../domain/Estimate.ts"
import { isJsonObject } from "../domain/Json.ts"
import { isRanking, type RerankPayload } from "../domain/Rerank.ts"
import { isCount } from "../domain/Usage.ts"
import { answerIn, membersFor, promptUsage } from "./embeddings.ts"
import { malformed } from "./httpError.ts"
import { jsonBody, type RerankProtocol } from "./Protocol.ts"

export interface RerankQuirks {
  /** As `Protocol.passes`. */
  readonly passes?: "any" | ReadonlyArray<string>
  /** Members of a request that the host refuses. `model`, `query` and `documents` are always sent. */
  readonly drop?: ReadonlyArray<string>
}

/** The protocol with these quirks. */
export const rerankProtocol = ({ drop = [], passes = [] }: RerankQuirks = {}): RerankProtocol => {
  const refused = new Set(drop)
  return {
    passes,
    encode: ({ payload }, host) => {
      const { body, dropped } = membersFor(payload, refused)
      // The gateway cuts the results itself.
      const lost = dropped.filter((name) => name !== "top_n")
      const { query } = payload
      const documents = payload.documents.map(plainText)
      const sent = jsonBody({ ...body, model: host.upstreamModel, query, documents })
      return Either.right({ path: "/rerank", ...sent, dropped: lost })
    },
    decode: (_head, body, { payload, bounds }) => {
      const answer = answerIn(body)
      if (!isJsonObject(answer)) return answer
      const { results, usage, meta, ...rest } = answer
      if (!isRanking(results, payload.documents.length)) return malformed()
      return { ...rest, results, ...usageOf(usage, meta, bounds.textBytes) }
    },
  }
}

/** Most hosts take documents as plain text only. */
const plainText = (document: RerankPayload["documents"][number]): unknown => {
  if (typeof document === "string") return document
  const { text, image, ...more } = document
  return text != null && image == null && Object.keys(more).length === 0 ? text : document
}

/** Tokens, and the search units of hosts that charge by these. Where Cohere counts units alone, the tokens are estimated. */
const usageOf = (usage: unknown, meta: unknown, textBytes: number): { readonly usage?: ChatUsage } => {
  const counted = promptUsage(usage)
  const units = memberOf(memberOf(meta, "billed_units"), "search_units") ?? memberOf(usage, "search_units")
  if (!isCount(units)) return counted
  const tokens = memberOf(memberOf(meta, "tokens"), "input_tokens")
  const estimated = { prompt_tokens: isCount(tokens) ? tokens : tokensIn(textBytes), completion_tokens: 0 }
  return { usage: { ...(counted.usage ?? estimated), search_units: units } }
}

const memberOf = (value: unknown, name: string): unknown => (isJsonObject(value) ? value[name] : undefined)
