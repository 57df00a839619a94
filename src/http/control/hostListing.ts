/**
 * How a host is listed: `endpoints[]` of a model. The members of its pricing come from the table in `domain/Price.ts`.
 */
import * as Schema from "effect/Schema"
import type { Host, Model } from "../../domain/Host.ts"
import { formatUsd } from "../../domain/Money.ts"
import {
  effectivePrice,
  type PriceName,
  type PriceOverride,
  type Prices,
  type Pricing,
  priceFields,
  priceNames,
  standIn,
} from "../../domain/Price.ts"
import type { Out } from "../../services/HostHealth.ts"
import type { HostReport } from "../../services/HostStats.ts"

/** USD per unit, as a plain decimal. */
const Usd = Schema.String
const optionalUsd = Schema.optionalWith(Usd, { exact: true })

type Fields = typeof priceFields
type AlwaysListed = { [N in PriceName]: Fields[N] extends { readonly listed: "always" } ? N : never }[PriceName]

const isAlwaysListed = (name: PriceName): name is AlwaysListed => "listed" in priceFields[name]

/** A member for each of these prices, by its wire name. */
const byWireName = <N extends PriceName, A>(names: ReadonlyArray<N>, member: (name: N) => A) =>
  // Object.fromEntries loses the type of the members.
  Object.fromEntries(names.map((name) => [priceFields[name].wire, member(name)])) as {
    readonly [M in N as Fields[M]["wire"]]: A
  }

const alwaysListed = priceNames.filter(isAlwaysListed)

const Override = Schema.Struct({
  min_prompt_tokens: Schema.Int,
  utc_start: Schema.optionalWith(Schema.Int, { exact: true }),
  utc_end: Schema.optionalWith(Schema.Int, { exact: true }),
  utc_days: Schema.optionalWith(Schema.Array(Schema.String), { exact: true }),
  ...byWireName(priceNames, () => optionalUsd),
})

export const ListedPricing = Schema.Struct({
  ...byWireName(priceNames, () => optionalUsd),
  ...byWireName(alwaysListed, () => Usd),
  /** Discount on every price, as a share from 0 to 1. */
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
  /** 0: normal; -1: uptime below 95 %; -2: below 80 %, or an open breaker; -3: rate limited; -10: cannot be called. */
  status: Schema.Int,
  /** Percent; null without any requests. */
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

/** `unavailable`: why the host cannot be called at all. `inadmissible`: why it cannot be called now. */
export const listedHost = (
  model: Model,
  host: Host,
  seen: HostReport,
  unavailable: string | undefined,
  inadmissible: Out | undefined,
): typeof ListedHost.Type => ({
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
  status: hostStatus({ ...seen, unavailable, inadmissible }),
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
  // This version serves text only.
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

interface Condition extends Pick<HostReport, "requests30m" | "uptime30m"> {
  /** Why it cannot be called now. */
  readonly inadmissible: Out | undefined
  /** Why it cannot be called at all. */
  readonly unavailable: string | undefined
}

/**
 * -10: cannot be called. -3: rate limited. -2: the breaker is open. -2, -1: too many of at least 100 requests failed. 0:
 * normal.
 */
export const hostStatus = ({ unavailable, inadmissible, requests30m, uptime30m }: Condition): number => {
  if (unavailable !== undefined) return -10
  if (inadmissible?.because === "breaker") return -2
  if (inadmissible?.reason === "rate-limited") return -3
  if (uptime30m === null || requests30m < 100 || uptime30m >= 95) return 0
  return uptime30m < 80 ? -2 : -1
}

/**
 * An unknown price is listed as -1, as the router does where there is no fixed price. Zero would mean free, but a key
 * with a limit may not even call such a host.
 */
const unknownPricing: typeof ListedPricing.Type = {
  ...byWireName(alwaysListed, () => "-1"),
  discount: 0,
  overrides: [],
}

export const listedPricing = (pricing: Pricing | null): typeof ListedPricing.Type => {
  if (pricing === null) return unknownPricing
  return {
    ...listedPrices(pricing),
    ...byWireName(alwaysListed, (name) => formatUsd(effectivePrice(pricing, name))),
    discount: Number(pricing.discountPpm) / 1e6,
    overrides: pricing.overrides.map((entry) => listedOverride(pricing, entry)),
  }
}

const listedOverride = (base: Pricing, entry: PriceOverride): typeof Override.Type => {
  const { prices, utcStart, utcEnd, utcDays } = entry
  // A cache price that is missing is listed as the price used instead of it, so an override of that one changes both.
  const moved = alwaysListed.flatMap((name) => {
    const other = standIn(name)
    return other === undefined || base[name] !== null ? [] : [[name, prices[name] ?? prices[other]]]
  })
  return {
    min_prompt_tokens: entry.minPromptTokens,
    ...(utcStart === undefined ? {} : { utc_start: utcStart }),
    ...(utcEnd === undefined ? {} : { utc_end: utcEnd }),
    ...(utcDays === undefined ? {} : { utc_days: utcDays }),
    ...listedPrices({ ...prices, ...Object.fromEntries(moved) }),
  }
}

/** The prices that are set, by their wire names. The others are left out and inherit. */
const listedPrices = (prices: Partial<Prices>): { readonly [N in PriceName as Fields[N]["wire"]]?: string } =>
  Object.fromEntries(
    priceNames.flatMap((name) => {
      const price = prices[name]
      return price === undefined || price === null ? [] : [[priceFields[name].wire, formatUsd(price)]]
    }),
  )
