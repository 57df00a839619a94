/** A whole answer in the chat form, and what whole and streamed answers have in common. */

import type { Host } from "../../../domain/hosts/Host.ts"
import { hostFacts } from "../../../domain/hosts/hostFacts.ts"
import type { JsonObject } from "../../../domain/json/json.ts"
import type { Charge } from "../../../domain/money/Charge.ts"
import { toUsd } from "../../../domain/price/money.ts"
import type { ChatChoice } from "../../../domain/request/chat.ts"
import type { AnyRequest } from "../../../domain/request/operations.ts"
import type { AnswerWriter } from "../../../services/dispatch/AnswerReader.ts"
import type { RequestContext } from "../../../services/request/RequestContext.ts"
import { routeMetadata, type ShownRoute } from "../routeMetadata.ts"

/** What every answer to one request has in common. */
export interface AnswerNames {
  readonly generationId: string
  /** Unix seconds. */
  readonly created: number
  /** The model's name until a host has answered. */
  readonly model: string
  /** `openrouter_metadata` once this host answers; `undefined`: the caller did not ask for it. */
  readonly metadata: ((host: Host | undefined) => JsonObject) | undefined
}

export const namesOf = (
  context: RequestContext,
  request: Pick<AnyRequest, "routing">,
  shown: ShownRoute | undefined,
): AnswerNames => ({
  generationId: context.generationId,
  created: Math.floor(context.admittedAt / 1000),
  model: request.routing.models[0] ?? "",
  metadata: shown && ((host) => routeMetadata(shown, context, host)),
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
  cost_details: {
    upstream_inference_cost: toUsd(upstream.total),
    upstream_inference_prompt_cost: toUsd(upstream.prompt),
    upstream_inference_completions_cost: toUsd(upstream.completion),
  },
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

/** What differs between the forms whose answers are a list of choices. */
export interface AnswerShape {
  readonly object: string
  readonly choice: (choice: ChatChoice) => JsonObject
}

const chatShape: AnswerShape = { object: "chat.completion", choice: (choice) => choice }

export const answerWriter =
  (
    { generationId, created, metadata }: AnswerNames,
    excludeReasoning: boolean,
    { object, choice }: AnswerShape = chatShape,
  ): AnswerWriter =>
  (host, response) => {
    const { choices, usage: _, unseen: __, system_fingerprint: fingerprint, service_tier: tier, ...rest } = response
    const text = JSON.stringify({
      ...rest,
      id: generationId,
      provider: host.providerName,
      model: host.model,
      object,
      created,
      system_fingerprint: typeof fingerprint === "string" ? fingerprint : null,
      service_tier: tierOf(tier, host),
      openrouter_metadata: metadata?.(host),
      choices: (excludeReasoning ? choices.map(withoutReasoning) : choices).map(choice),
    })
    return (charge) => `${text.slice(0, -1)},"usage":${JSON.stringify(usageBody(charge))}}`
  }

const withoutReasoning = (choice: ChatChoice) => {
  const { reasoning_details: _, ...message } = choice.message
  return { ...choice, message: { ...message, reasoning: null } }
}
