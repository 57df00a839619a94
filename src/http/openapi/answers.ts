/** Schemas of what answers of several forms have in common. */
import { amount, anyObject, count, described, flag, given, oneOf, orNull, text, titled } from "./schemas.ts"

export const cost = described("What the key pays, USD.", amount)

/** What the usage of an answer says of money. */
export const costMembers = {
  cost,
  is_byok: flag,
  cost_details: given({
    upstream_inference_cost: described("What the host charges, USD.", amount),
    upstream_inference_prompt_cost: amount,
    upstream_inference_completions_cost: amount,
  }),
}

export const usage = titled(
  "Usage",
  given({
    prompt_tokens: count,
    completion_tokens: count,
    total_tokens: count,
    ...costMembers,
    prompt_tokens_details: given({
      cached_tokens: count,
      cache_write_tokens: count,
      audio_tokens: count,
      video_tokens: count,
    }),
    completion_tokens_details: given({ reasoning_tokens: count, image_tokens: count, audio_tokens: count }),
  }),
)

/** Why an answer ended. */
export const reasons = orNull(oneOf("stop", "length", "tool_calls", "content_filter", "error"))

const named = {
  id: text,
  provider: described("Display name of the provider that answered.", text),
  model: text,
}

export const answerMembers = { ...named, created: described("Unix seconds.", count) }

/** Of answers of operations without streams. */
export const unaryMembers = {
  ...named,
  openrouter_metadata: described("The routing, where a header asked for it.", anyObject),
}

/** Examples. */
export const exampleCost = {
  cost: 0.000021,
  is_byok: false,
  cost_details: {
    upstream_inference_cost: 0.000021,
    upstream_inference_prompt_cost: 0.000009,
    upstream_inference_completions_cost: 0.000012,
  },
}

export const exampleUsage = {
  prompt_tokens: 12,
  completion_tokens: 4,
  total_tokens: 16,
  ...exampleCost,
  prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0, audio_tokens: 0, video_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, image_tokens: 0, audio_tokens: 0 },
}

export const exampleAnswer = {
  id: "gen-1764000000-4fGh2kLm9PqRsT7vWxYz",
  provider: "OpenAI",
  model: "openai/gpt-5-mini",
  created: 1764000000,
}
