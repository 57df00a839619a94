/** Answers with ranked documents: what differs between hosts, and the answer for clients. */
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { toUsd } from "../../domain/price/money.ts"
import { isCount } from "../../domain/price/Usage.ts"
import type { ChatUsage } from "../../domain/request/chat.ts"
import { tokensIn } from "../../domain/request/estimate.ts"
import type { RerankPayload, RerankRequest } from "../../domain/request/rerank.ts"
import type { AnswerNames, UnaryWriter } from "../AnswerWriter.ts"
import { promptUsage } from "../unaryProtocol.ts"

// --- of hosts

/** Hugging Face's text-embeddings-inference calls the relevance a score. */
export const readResult = (result: unknown): unknown => {
  if (!isJsonObject(result) || result["relevance_score"] !== undefined) return result
  const { score, ...rest } = result
  return { ...rest, relevance_score: score }
}

/** Tokens, and the search units of hosts that charge by these. Where Cohere counts units alone, the tokens are estimated. */
export const readUsage = (answer: JsonObject, textBytes: number): { readonly usage?: ChatUsage } => {
  const { usage, meta } = answer
  const counted = promptUsage(answer)
  const units = memberOf(memberOf(meta, "billed_units"), "search_units") ?? memberOf(usage, "search_units")
  if (!isCount(units)) return counted
  const tokens = memberOf(memberOf(meta, "tokens"), "input_tokens")
  const estimated = { prompt_tokens: isCount(tokens) ? tokens : tokensIn(textBytes), completion_tokens: 0 }
  return { usage: { ...(counted.usage ?? estimated), search_units: units } }
}

const memberOf = (value: unknown, name: string): unknown => (isJsonObject(value) ? value[name] : undefined)

// --- for clients

export const rerankWriter =
  ({ generationId, metadata }: AnswerNames, { payload }: RerankRequest): UnaryWriter<"rerank"> =>
  (host, { results, usage: _, ...rest }) => {
    const { documents, top_n: wanted } = payload
    const ranked = results
      .toSorted((one, other) => other.relevance_score - one.relevance_score)
      .slice(0, wanted ?? results.length)
    const text = JSON.stringify({
      ...rest,
      id: generationId,
      model: host.model,
      provider: host.providerName,
      openrouter_metadata: metadata?.(host),
      results: ranked.map((result) => ({ ...result, document: shownDocument(documents[result.index]) })),
    })
    return ({ usage, cost }) => {
      const { promptTokens, completionTokens, searchUnits } = usage
      const counted = {
        total_tokens: promptTokens + completionTokens,
        ...(searchUnits > 0 && { search_units: searchUnits }),
        cost: toUsd(cost.total),
      }
      return `${text.slice(0, -1)},"usage":${JSON.stringify(counted)}}`
    }
  }

/** The document as the caller wrote it, always an object. */
const shownDocument = (document: RerankPayload["documents"][number] | undefined) =>
  typeof document === "string" ? { text: document } : document
