/** An answer with ranked documents. */
import { toUsd } from "../../domain/price/money.ts"
import type { RerankPayload, RerankRequest } from "../../domain/request/rerank.ts"
import type { AnswerNames, UnaryWriter } from "../AnswerWriter.ts"

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
