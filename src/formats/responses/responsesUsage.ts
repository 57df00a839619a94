/** Usage in the Responses form: as hosts count it, and as clients get it with its cost. */
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import { toUsd } from "../../domain/price/money.ts"
import type { ChatUsage } from "../../domain/request/chat.ts"
import { canonicalUsage } from "../canonicalUsage.ts"

/** `searches`: web searches among the output's items. xAI counts them itself. */
export const usageOf = (response: JsonObject, searches: number): ChatUsage | undefined => {
  const { usage } = response
  if (!isJsonObject(usage)) return undefined
  const ran = usage["server_side_tool_usage_details"]
  const counted = isJsonObject(ran) ? ran["web_search_calls"] : undefined
  return canonicalUsage(
    {
      prompt_tokens: usage["input_tokens"],
      completion_tokens: usage["output_tokens"],
      total_tokens: usage["total_tokens"],
      prompt_tokens_details: usage["input_tokens_details"],
      completion_tokens_details: usage["output_tokens_details"],
      server_tool_use_details: { web_search_requests: typeof counted === "number" ? counted : searches },
    },
    false,
  )
}

/** Whether an item is a web search that is charged: looking at a page that was found is not. */
export const isSearch = ({ type, action }: JsonObject): boolean =>
  type === "web_search_call" && (!isJsonObject(action) || action["type"] == null || action["type"] === "search")

/** The `usage` member, always with every documented field. */
export const usageBody = ({ usage, cost, upstream }: Pick<Charge, "usage" | "cost" | "upstream">) => ({
  input_tokens: usage.promptTokens,
  input_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: usage.cacheWriteTokens },
  output_tokens: usage.completionTokens,
  output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  total_tokens: usage.promptTokens + usage.completionTokens,
  cost: toUsd(cost.total),
  is_byok: false,
  cost_details: {
    upstream_inference_cost: toUsd(upstream.total),
    upstream_inference_input_cost: toUsd(upstream.prompt),
    upstream_inference_output_cost: toUsd(upstream.completion),
  },
})
