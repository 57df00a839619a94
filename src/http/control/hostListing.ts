/** What is said of a host: `endpoints[]` of a model. Spec 2.4, reference 13. */
import * as Schema from "effect/Schema"
import type { Host, Model } from "../../domain/Host.ts"
import { formatUsd, type Picodollars } from "../../domain/Money.ts"
import type { PriceOverride, Prices, Pricing } from "../../domain/Price.ts"
import type { HostReport } from "../../services/HostStats.ts"

/** USD per unit, as a plain decimal. */
const Usd = Schema.String
const usd = Schema.optionalWith(Usd, { exact: true })

const Override = Schema.Struct({
  min_prompt_tokens: Schema.Int,
  utc_start: Schema.optionalWith(Schema.Int, { exact: true }),
  utc_end: Schema.optionalWith(Schema.Int, { exact: true }),
  utc_days: Schema.optionalWith(Schema.Array(Schema.String), { exact: true }),
  prompt: usd,
  completion: usd,
  request: usd,
  image: usd,
  web_search: usd,
  internal_reasoning: usd,
  input_cache_read: usd,
  input_cache_write: usd,
  input_cache_write_1h: usd,
  audio: usd,
  audio_output: usd,
  image_output: usd,
})

export const ListedPricing = Schema.Struct({
  prompt: Usd,
  completion: Usd,
  web_search: Usd,
  input_cache_read: Usd,
  input_cache_write: Usd,
  request: usd,
  image: usd,
  internal_reasoning: usd,
  input_cache_write_1h: usd,
  audio: usd,
  audio_output: usd,
  image_output: usd,
  /** Share that is taken off every price, 0 to 1. */
  discount: Schema.Number,
  overrides: Schema.Array(Override),
}).annotations({ identifier: "Pricing" })

const Percentiles = Schema.NullOr(
  Schema.Struct({ p50: Schema.Number, p75: Schema.Number, p90: Schema.Number, p99: Schema.Number }),
)

const percent = Schema.NullOr(Schema.Number)

export const ListedHost = Schema.Struct({
  name: Schema.String,
  model_id: Schema.String,
  model_name: Schema.String,
  context_length: Schema.Int,
  pricing: ListedPricing,
  provider_name: Schema.String,
  tag: Schema.String,
  quantization: Schema.String,
  max_completion_tokens: Schema.Int,
  max_prompt_tokens: Schema.NullOr(Schema.Int),
  supported_parameters: Schema.Array(Schema.String),
  supports_tool_choice: Schema.Struct({
    none: Schema.Boolean,
    auto: Schema.Boolean,
    required: Schema.Boolean,
    function: Schema.Boolean,
  }),
  /** 0: normal; -1: uptime below 95 %; -2: below 80 %; -3: left alone for a while. Settled points. */
  status: Schema.Int,
  /** Percent; null where nothing was seen. */
  uptime_last_30m: percent,
  uptime_last_5m: percent,
  uptime_last_1d: percent,
  supports_implicit_caching: Schema.Boolean,
  native_tools: Schema.Record({ key: Schema.String, value: Schema.Struct({ type: Schema.String }) }),
  supports_voice_cloning: Schema.Boolean,
  supports_multiple_audio_references: Schema.Boolean,
  supports_image_reference: Schema.Boolean,
  supports_diarization: Schema.Boolean,
  /** Milliseconds to the first token. */
  latency_last_30m: Percentiles,
  /** Output tokens per second. */
  throughput_last_30m: Percentiles,
  perf_last_30m_by_workload: Schema.Record({
    key: Schema.String,
    value: Schema.Struct({ latency: Percentiles, throughput: Percentiles, request_count: Schema.Int }),
  }),
}).annotations({ identifier: "Host" })

export const listedHost = (model: Model, host: Host, seen: HostReport): typeof ListedHost.Type => ({
  name: `${host.providerName} | ${model.id}`,
  model_id: model.id,
  model_name: model.name,
  context_length: host.contextLength,
  pricing: listedPricing(host.pricing),
  provider_name: host.providerName,
  tag: host.tag,
  quantization: host.quantization,
  max_completion_tokens: host.maxCompletionTokens,
  max_prompt_tokens: host.maxPromptTokens,
  supported_parameters: host.supportedParameters,
  supports_tool_choice: host.supportsToolChoice,
  status: statusOf(seen),
  uptime_last_30m: seen.uptime30m,
  uptime_last_5m: seen.uptime5m,
  uptime_last_1d: seen.uptime1d,
  supports_implicit_caching: host.supportsImplicitCaching,
  native_tools: {},
  supports_voice_cloning: false,
  supports_multiple_audio_references: false,
  supports_image_reference: false,
  supports_diarization: false,
  latency_last_30m: seen.latency30m,
  throughput_last_30m: seen.throughput30m,
  // Text is all that this version serves.
  perf_last_30m_by_workload:
    seen.requests30m === 0
      ? {}
      : {
          text_generation: {
            latency: seen.latency30m,
            throughput: seen.throughput30m,
            request_count: seen.requests30m,
          },
        },
})

const statusOf = ({ coolingDown, requests30m, uptime30m }: HostReport): number => {
  if (coolingDown) return -3
  if (uptime30m === null || requests30m < 100 || uptime30m >= 95) return 0
  return uptime30m < 80 ? -2 : -1
}

/**
 * An unknown price is -1, as the reference has it where no fixed price can be named. Zero would say free, and such a host
 * is not: a limited key may not even call it.
 */
const unknownPricing: typeof ListedPricing.Type = {
  prompt: "-1",
  completion: "-1",
  web_search: "-1",
  input_cache_read: "-1",
  input_cache_write: "-1",
  discount: 0,
  overrides: [],
}

export const listedPricing = (pricing: Pricing | null): typeof ListedPricing.Type =>
  pricing === null
    ? unknownPricing
    : {
        ...listedPrices(pricing),
        prompt: formatUsd(pricing.prompt),
        completion: formatUsd(pricing.completion),
        web_search: formatUsd(pricing.webSearch),
        // Without a price of its own the cache costs what the prompt costs.
        input_cache_read: formatUsd(pricing.inputCacheRead ?? pricing.prompt),
        input_cache_write: formatUsd(pricing.inputCacheWrite ?? pricing.prompt),
        discount: Number(pricing.discountPpm) / 1e6,
        overrides: pricing.overrides.map((entry) => listedOverride(pricing, entry)),
      }

const listedOverride = (base: Pricing, entry: PriceOverride): typeof Override.Type => {
  const { prices, utcStart, utcEnd, utcDays } = entry
  return {
    min_prompt_tokens: entry.minPromptTokens,
    ...(utcStart === undefined ? {} : { utc_start: utcStart }),
    ...(utcEnd === undefined ? {} : { utc_end: utcEnd }),
    ...(utcDays === undefined ? {} : { utc_days: utcDays }),
    ...listedPrices({
      ...prices,
      // The base shows what the cache costs there; where that is the prompt's price, it moves with the prompt's.
      inputCacheRead: prices.inputCacheRead ?? (base.inputCacheRead === null ? (prices.prompt ?? null) : null),
      inputCacheWrite: prices.inputCacheWrite ?? (base.inputCacheWrite === null ? (prices.prompt ?? null) : null),
    }),
  }
}

const wireNames = [
  ["prompt", "prompt"],
  ["completion", "completion"],
  ["request", "request"],
  ["image", "image"],
  ["web_search", "webSearch"],
  ["internal_reasoning", "internalReasoning"],
  ["input_cache_read", "inputCacheRead"],
  ["input_cache_write", "inputCacheWrite"],
  ["input_cache_write_1h", "inputCacheWrite1h"],
  ["audio", "audio"],
  ["audio_output", "audioOutput"],
  ["image_output", "imageOutput"],
] as const satisfies ReadonlyArray<readonly [string, keyof Prices]>

/** Every price there is, by its wire name; the others are left out, and inherit. */
const listedPrices = (prices: Partial<Prices>): { readonly [Name in (typeof wireNames)[number][0]]?: string } =>
  Object.fromEntries(
    wireNames.flatMap(([name, member]) => {
      const price: Picodollars | null | undefined = prices[member]
      return price === undefined || price === null ? [] : [[name, formatUsd(price)]]
    }),
  )
