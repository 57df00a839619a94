/** Schemas of what answers of several forms have in common. */
import { amount, anyObject, count, described, flag, given, like, oneOf, orNull, text, titled } from "./schemas.ts"

export const generationId = like(text, "gen-1764000000-4fGh2kLm9PqRsT7vWxYz")

/** What an answer costs. `example`: in USD. */
export const costing = (example: number) => like(described("What the key pays, USD.", amount), example)

/** What the usage of an answer says of money. */
export const costMembers = {
  cost: costing(0.000021),
  is_byok: like(flag, false),
  cost_details: given({
    upstream_inference_cost: like(described("What the host charges, USD.", amount), 0.000021),
    upstream_inference_prompt_cost: like(amount, 0.000009),
    upstream_inference_completions_cost: like(amount, 0.000012),
  }),
}

const none = like(count, 0)

export const usage = titled(
  "Usage",
  given({
    prompt_tokens: like(count, 12),
    completion_tokens: like(count, 4),
    total_tokens: like(count, 16),
    ...costMembers,
    prompt_tokens_details: given({
      cached_tokens: none,
      cache_write_tokens: none,
      audio_tokens: none,
      video_tokens: none,
    }),
    completion_tokens_details: given({ reasoning_tokens: none, image_tokens: none, audio_tokens: none }),
  }),
)

/** What a choice has besides what it says. */
export const choiceMembers = {
  logprobs: orNull(anyObject),
  finish_reason: orNull(like(oneOf("stop", "length", "tool_calls", "content_filter", "error"), "stop")),
  native_finish_reason: orNull(like(text, "stop")),
}

export const usageOfStream = described("On the last chunk, with its cost.", usage)

const named = {
  id: generationId,
  provider: like(described("Display name of the provider that answered.", text), "OpenAI"),
  model: like(text, "openai/gpt-5-mini"),
}

export const answerMembers = { ...named, created: like(described("Unix seconds.", count), 1764000000) }

export const metadata = described("The routing, where a header asked for it.", anyObject)

/** Of answers of operations without streams. */
export const unaryMembers = { ...named, openrouter_metadata: metadata }
