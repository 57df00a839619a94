/** How an answer looks in the chat form: whole, as chunks, and broken off. Spec 2.2 and 6, reference 7 and 8. */

import type { Charge } from "../../domain/Charge.ts"
import type { ChatChunk, ChatChunkChoice } from "../../domain/Chat.ts"
import type { Failure } from "../../domain/Failure.ts"
import type { Host } from "../../domain/Host.ts"
import { toUsd } from "../../domain/Money.ts"
import { noCost } from "../../domain/Price.ts"
import { noUsage } from "../../domain/Usage.ts"
import type { Completed } from "../../services/Dispatcher.ts"
import type { StreamWriter } from "../../services/StreamBody.ts"
import { sseComment, sseDone, sseEvent } from "../../wire/sse.ts"
import { chatError, render } from "../ErrorBody.ts"

/** What every answer to one request has in common. */
export interface Answering {
  readonly generationId: string
  /** Unix seconds. */
  readonly created: number
  /** The model to name as long as no host has answered. */
  readonly model: string
}

/** The `usage` member: every field of the contract, always. Spec 2.2. */
const usageBody = ({ usage, cost, upstream }: Pick<Charge, "usage" | "cost" | "upstream">) => ({
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

const tierOf = (tier: unknown): string => (typeof tier === "string" ? tier : "default")

export const wholeBody = (
  { generationId, created }: Answering,
  { host, response, charge }: Completed,
  excludeReasoning: boolean,
): string => {
  const { choices, usage: _, system_fingerprint: fingerprint, service_tier: tier, ...rest } = response
  return JSON.stringify({
    ...rest,
    id: generationId,
    provider: host.providerName,
    model: host.model,
    object: "chat.completion",
    created,
    system_fingerprint: typeof fingerprint === "string" ? fingerprint : null,
    service_tier: tierOf(tier),
    choices: excludeReasoning ? choices.map(withoutReasoning) : choices,
    usage: usageBody(charge),
  })
}

const withoutReasoning = (choice: Completed["response"]["choices"][number]) => {
  const { reasoning_details: _, ...message } = choice.message
  return { ...choice, message: { ...message, reasoning: null } }
}

const nothing = { usage: noUsage, cost: noCost, upstream: noCost }

/** Writes one streamed answer. All its chunks begin alike: what names it is made once. */
export const chunkWriter = ({ generationId, created, model }: Answering, host: Host | undefined): StreamWriter => {
  const names = {
    id: generationId,
    ...(host === undefined ? {} : { provider: host.providerName }),
    model: host?.model ?? model,
    object: "chat.completion.chunk",
    created,
  }
  const head = JSON.stringify(names).slice(0, -1)
  const write = ({ choices, ...rest }: ChatChunk): string => {
    const extras = JSON.stringify(rest)
    return sseEvent(
      `${head},"choices":${JSON.stringify(choices.map(chunkChoice))}${extras === "{}" ? "}" : `,${extras.slice(1)}`}`,
    )
  }
  return {
    chunk: write,
    spliceable: { json: (text) => text.slice(6, -2), text: sseEvent },
    finish: (chunk, charge) =>
      write({ ...chunk, service_tier: tierOf(chunk["service_tier"]), usage: usageBody(charge) }) + sseDone,
    failure: (failure: Failure, charge) => {
      const { metadata, ...error } = chatError(render(failure))
      const choice = { index: 0, delta: { content: "" }, finish_reason: "error", native_finish_reason: null } as const
      return (
        write({
          error: { ...error, metadata: metadata ?? { error_type: render(failure).errorType } },
          choices: [choice],
          usage: usageBody(charge ?? nothing),
        }) + sseDone
      )
    },
    heartbeat: sseComment,
  }
}

/** Every delta says the role and has a text; every choice has all its members. Reference 2.1 and 8.2. */
const chunkChoice = ({ index, delta, finish_reason, native_finish_reason, ...rest }: ChatChunkChoice) => ({
  index,
  delta: { role: "assistant", content: "", ...delta },
  finish_reason,
  native_finish_reason: native_finish_reason ?? null,
  logprobs: null,
  ...rest,
})
