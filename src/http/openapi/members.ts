/** Schemas of what the bodies of all forms have in common; the decoders are in `http/decode`. */
import { quantizations } from "../../domain/request/Preferences.ts"
import { most } from "../decode/members.ts"
import {
  amount,
  anyObject,
  anyOf,
  count,
  described,
  filledText,
  flag,
  given,
  integer,
  listOf,
  matching,
  named,
  nothing,
  notNegative,
  oneOf,
  only,
  type Schema,
  shortText,
  taken,
  text,
  within,
} from "./schema.ts"

/** What becomes of a member that a form does not know. See docs/guarantees.md#g36. */
export const otherMembers =
  "Members that are not listed go unread to hosts of openai-compatible providers and to local servers, and to other hosts where their plugin or extra_members of the provider names them. The others are named in X-GW-Dropped."

const effort = oneOf("max", "xhigh", "high", "medium", "low", "minimal", "none")
const tokens = integer(1, most.tokens)

const percentiles = taken({ p50: notNegative, p75: notNegative, p90: notNegative, p99: notNegative })
const threshold = anyOf(notNegative, percentiles)

/** Longer texts are refused too. */
const price = anyOf(notNegative, { ...matching("^\\d+(\\.\\d+)?([eE][+-]?\\d{1,3})?$"), maxLength: 64 })
const names = listOf(filledText, { maxItems: 64 })

const preferences = taken({
  order: described("Hosts to try first, in this order: tags, slugs or display names.", names),
  only: described("Only these hosts.", names),
  ignore: described("Not these hosts.", names),
  allow_fallbacks: described("false: only the listed hosts, or only the first one. Default true.", flag),
  sort: described(
    "How hosts are ordered: price, throughput, latency, exacto, or another strategy that is installed.",
    anyOf(filledText, taken({ by: filledText, partition: oneOf("model", "none") })),
  ),
  require_parameters: described("Only hosts that support every parameter of the request.", flag),
  data_collection: described("deny: no host that may train on prompts.", oneOf("allow", "deny")),
  zdr: described("Only hosts that keep no prompts.", flag),
  enforce_distillable_text: described("Only models whose author allows distillation.", flag),
  quantizations: listOf(oneOf(...quantizations), { maxItems: 64 }),
  max_price: described(
    "Ceilings, inclusive: USD per 1M tokens for prompt and completion, per unit for the rest.",
    taken({ prompt: price, completion: price, request: price, image: price, audio: price }),
  ),
  preferred_min_throughput: described("Tokens per second; slower hosts are tried later.", threshold),
  preferred_max_latency: described("Seconds to the first token; slower hosts are tried later.", threshold),
  hedge: described("Whether a second host may be called beside a slow one.", flag),
})

/** Values that are null or of another type are left to the decoder of the member itself. */
const bothSet = (first: Schema, second: Schema): Schema => ({
  properties: { ...first, ...second },
  required: [...Object.keys(first), ...Object.keys(second)],
})

const reasoning: Schema = {
  ...taken({
    effort,
    max_tokens: integer(0, most.tokens),
    enabled: flag,
    exclude: described("Reason, but do not return it.", flag),
    summary: oneOf("auto", "concise", "detailed"),
    context: oneOf("auto", "all_turns", "current_turn"),
    mode: oneOf("standard", "pro"),
  }),
  description: "Either an effort or max_tokens.",
  not: bothSet({ effort: text }, { max_tokens: amount }),
}

/** Parameters of sampling, which a host may or may not support. */
export const samplingSchemas = {
  temperature: within(0, 2),
  top_p: within(0, 1),
  top_k: integer(0, most.tokens),
  min_p: within(0, 1),
  top_a: within(0, 1),
  frequency_penalty: within(-2, 2),
  presence_penalty: within(-2, 2),
  repetition_penalty: within(0, 2),
  max_tokens: described("Older name of max_completion_tokens, which wins.", tokens),
  max_completion_tokens: tokens,
  logit_bias: described("By token.", { type: "object", additionalProperties: within(-100, 100) }),
  seed: { type: "integer" },
  stop: anyOf(text, listOf(text, { maxItems: 4 })),
  reasoning: named("Reasoning"),
  reasoning_effort: described("Short for reasoning.effort, from which it may not differ.", effort),
  include_reasoning: flag,
  verbosity: oneOf("low", "medium", "high", "xhigh", "max"),
} satisfies Readonly<Record<string, Schema>>

const model: Schema = {
  type: "string",
  minLength: 1,
  maxLength: 256,
  not: { pattern: "\\p{Cc}|[\\u2028\\u2029]|\\.\\.[/\\\\]|%00" },
}

export const stored = described("Refers to something in the operator's account, which is not allowed.", nothing)

/** What the operator pays or owns at a host. */
const operatorSchemas = {
  speed: described("The gateway has no price for another.", only("standard")),
  inference_geo: described("The gateway has no price for a region.", only("global")),
  container: stored,
  thread: stored,
  fallback_credit_token: stored,
  user_profile_id: stored,
  billing_policy: { type: "object", properties: { bill_to: only("self") } },
  mcp_servers: described("Call MCP servers yourself, and give their tools.", { type: "array", maxItems: 0 }),
  previous_response_id: stored,
  conversation: stored,
  vector_store_ids: { type: "array", maxItems: 0 },
  cached_content: stored,
  workspace_id: stored,
} satisfies Readonly<Record<string, Schema>>

/** Members that mean the same in every form. */
export const sharedSchemas = {
  model: described("<author>/<slug>, possibly with variants such as :nitro; or an alias.", model),
  models: described("Tried after model, in this order.", listOf(model, { maxItems: most.models })),
  provider: named("ProviderPreferences"),
  route: described("Older form of provider.sort.partition.", oneOf("fallback", "sort")),
  stream: flag,
  stream_options: taken({ include_usage: described("Usage comes always.", flag) }),
  usage: taken({ include: described("Usage comes always.", flag) }),
  service_tier: oneOf("auto", "default", "fast", "flex", "priority", "scale"),
  cache_control: taken({ type: only("ephemeral"), ttl: oneOf("5m", "1h") }, "type"),
  prompt_cache_key: text,
  prompt_cache_options: taken({
    mode: text,
    ttl: described("The gateway has no price for a longer time.", only("30m")),
    prewarm: { const: false },
  }),
  session_id: described("Requests of one session stay with one host.", shortText(256)),
  user: text,
  metadata: {
    type: "object",
    maxProperties: most.metadata,
    propertyNames: shortText(64),
    additionalProperties: shortText(512),
  },
  trace: anyObject,
  plugins: described(
    "This gateway runs none: each must be switched off.",
    listOf({ type: "object", properties: { id: filledText, enabled: { const: false } }, required: ["id", "enabled"] }),
  ),
  preset: described("This gateway keeps none.", nothing),
  transforms: described("Prompts are never shortened.", listOf(only("middle-out"))),
  stop_server_tools_when: listOf(anyObject, { minItems: 1 }),
  debug: anyObject,
  ...operatorSchemas,
} satisfies Readonly<Record<string, Schema>>

/** What every form's request must hold besides its members. */
export const modelRules: ReadonlyArray<Schema> = [
  anyOf(
    { required: ["model"], properties: { model: text } },
    { required: ["models"], properties: { models: { type: "array", minItems: 1 } } },
  ),
]

export const reasoningRules: ReadonlyArray<Schema> = [
  {
    not: bothSet(
      { reasoning_effort: text },
      { reasoning: { type: "object", properties: { max_tokens: amount }, required: ["max_tokens"] } },
    ),
  },
]

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

export const usage = given({
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
})

/** Schemas by name, for every form. */
export const commonSchemas: Readonly<Record<string, Schema>> = {
  ProviderPreferences: preferences,
  Reasoning: reasoning,
  Usage: usage,
}

/** Tools that reach another server, or what is stored at a host (`domain/request/hostedTools.ts`). */
const reaching =
  "^\\s*((open)?router:)?(mcp|mcp_toolset|connector|file_search|collections_search|retrieval|knowledge_base|azure_ai_search|agent)(_\\d{8}|_\\d{4}_\\d{2}_\\d{2})?\\s*$"

/**
 * A tool that is no function. One that hosts run is sent where the host has a price for it, else dropped. Refused are those that
 * reach what the operator owns.
 */
export const otherTool = (...own: ReadonlyArray<string>): Schema =>
  taken({ type: { type: "string", not: anyOf({ enum: own }, { pattern: reaching }) } }, "type")
