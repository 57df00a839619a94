/** Usage and cost as the router's own formats have them. */
import type { Host } from "../domain/hosts/Host.ts"
import { hostFacts } from "../domain/hosts/hostFacts.ts"
import type { Charge } from "../domain/money/Charge.ts"
import { toUsd } from "../domain/price/money.ts"
import { noCost } from "../domain/price/price.ts"
import { noUsage } from "../domain/price/Usage.ts"

/** What is charged before anything is known. */
export const noCharge = { usage: noUsage, cost: noCost, upstream: noCost }

export const costDetails = (upstream: Charge["upstream"]) => ({
  upstream_inference_cost: toUsd(upstream.total),
  upstream_inference_prompt_cost: toUsd(upstream.prompt),
  upstream_inference_completions_cost: toUsd(upstream.completion),
})

/** The `usage` member, always with every documented field. */
export const usageBody = ({ usage, cost, upstream }: Pick<Charge, "usage" | "cost" | "upstream">) => ({
  prompt_tokens: usage.promptTokens,
  completion_tokens: usage.completionTokens,
  total_tokens: usage.promptTokens + usage.completionTokens,
  cost: toUsd(cost.total),
  is_byok: false,
  prompt_tokens_details: {
    cached_tokens: usage.cachedTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    audio_tokens: usage.promptAudioTokens,
    video_tokens: usage.promptVideoTokens,
  },
  cost_details: costDetails(upstream),
  completion_tokens_details: {
    reasoning_tokens: usage.reasoningTokens,
    image_tokens: usage.completionImageTokens,
    audio_tokens: usage.completionAudioTokens,
  },
})

/** The service tier that served: as the host says, else that which it stands for. */
export const tierOf = (tier: unknown, host: Host | undefined): string => {
  if (typeof tier === "string") return tier
  return (host === undefined ? null : hostFacts(host).tier) ?? "default"
}
