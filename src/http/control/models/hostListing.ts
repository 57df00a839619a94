/**
 * How a host is listed: `endpoints[]` of a model. The members of its pricing come from the table in `domain/price/price.ts`.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ProviderRegistry } from "../../../catalogue/ProviderRegistry.ts"
import type { Host, Model } from "../../../domain/hosts/Host.ts"
import type { Percentiles } from "../../../domain/hosts/HostFigures.ts"
import { formatUsd } from "../../../domain/price/money.ts"
import {
  effectivePrice,
  type PriceName,
  type PriceOverride,
  type Prices,
  type Pricing,
  priceFields,
  priceNames,
  standIn,
} from "../../../domain/price/price.ts"
import type { Out } from "../../../services/hosts/endpointHealth.ts"
import { HostHealth } from "../../../services/hosts/HostHealth.ts"
import { type HostReport, HostStats } from "../../../services/hosts/HostStats.ts"
import { type KeysOut, ProviderKeys } from "../../../services/hosts/ProviderKeys.ts"

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
  /** Our own: the first day on which it holds, UTC. */
  starts: Schema.optionalWith(Schema.String, { exact: true }),
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

const ListedPercentiles = Schema.NullOr(
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
  /** `hostStatus` has the meaning of each. */
  status: Schema.Literal(0, -1, -2, -3, -5, -10),
  /** Percent of the requests that succeeded, rate limits not counted; null without any. */
  uptime_last_30m: percent,
  uptime_last_5m: percent,
  uptime_last_1d: percent,
  supports_implicit_caching: Schema.Boolean,
  native_tools: Schema.Record({ key: Schema.String, value: Schema.Struct({ type: Schema.String }) }),
  supports_voice_cloning: Schema.Boolean,
  supports_multiple_audio_references: Schema.Boolean,
  supports_image_reference: Schema.Boolean,
  supports_diarization: Schema.Boolean,
  /** Milliseconds to the first token of streamed answers; null without any. */
  latency_last_30m: ListedPercentiles,
  /** Output tokens per second over the whole call, ascending. */
  throughput_last_30m: ListedPercentiles,
  perf_last_30m_by_workload: Schema.Record({
    key: Schema.String,
    value: Schema.Struct({ latency: ListedPercentiles, throughput: ListedPercentiles, request_count: Schema.Int }),
  }),
}).annotations({ identifier: "Host" })

/** Lists hosts with what is known of them at the moment of the call. */
export const makeHostListing = Effect.map(
  Effect.all([ProviderRegistry, HostStats, HostHealth, ProviderKeys]),
  ([registry, stats, health, keys]) =>
    (model: Model, host: Host): typeof ListedHost.Type =>
      listedHost(
        model,
        host,
        stats.report(host),
        registry.unavailable(host),
        health.admissible(host) ?? keys.refusal(host),
      ),
)

/** `unavailable`: why the host cannot be called at all. `inadmissible`: why it cannot be called now. */
const listedHost = (
  model: Model,
  host: Host,
  seen: HostReport,
  unavailable: string | undefined,
  inadmissible: Out | KeysOut | undefined,
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
  native_tools: host.listed?.nativeTools ?? {},
  supports_voice_cloning: host.listed?.voiceCloning ?? false,
  supports_multiple_audio_references: host.listed?.multipleAudioReferences ?? false,
  supports_image_reference: host.listed?.imageReference ?? false,
  supports_diarization: host.listed?.diarization ?? false,
  // Models make text only, so this is the workload that the members without one are about.
  latency_last_30m: rounded(seen.performance30m.get("text_generation")?.latency),
  throughput_last_30m: rounded(seen.performance30m.get("text_generation")?.throughput),
  perf_last_30m_by_workload: Object.fromEntries(
    Array.from(seen.performance30m, ([workload, { latency, throughput, requests }]) => [
      workload,
      { latency: rounded(latency), throughput: rounded(throughput), request_count: requests },
    ]),
  ),
})

/** To three digits, since the figures are at most 5 % off. */
const rounded = (percentiles: Percentiles | null | undefined): Percentiles | null => {
  if (percentiles == null) return null
  const { p50, p75, p90, p99 } = percentiles
  return { p50: threeDigits(p50), p75: threeDigits(p75), p90: threeDigits(p90), p99: threeDigits(p99) }
}

const threeDigits = (value: number): number => Number(value.toPrecision(3))

interface Condition extends Pick<HostReport, "standing"> {
  /** Why it cannot be called now. */
  readonly inadmissible: Out | KeysOut | undefined
  /** Why it cannot be called at all. */
  readonly unavailable: string | undefined
}

/**
 * The first that holds of: -10, its provider is disabled or does not load; -3, it cools down after a rate limit, or no key of its provider may
 * be used now; -2, its circuit breaker is open, or it is `down` by its uptime of the last day; -1, it is `degraded` by that uptime; 0, normal,
 * also while it cools down after another failure. -5, demoted by the operator, is not given: there is no such setting.
 */
export const hostStatus = ({ unavailable, inadmissible, standing }: Condition): typeof ListedHost.Type.status => {
  if (unavailable !== undefined) return -10
  if (inadmissible?.because === "api_keys") return -3
  if (inadmissible?.because === "cooldown" && inadmissible.reason === "rate-limited") return -3
  if (inadmissible?.because === "breaker" || standing === "down") return -2
  return standing === "degraded" ? -1 : 0
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

// Prices live as long as their configuration. There may be thousands, and amounts take time to format.
const listings = new WeakMap<Pricing, typeof ListedPricing.Type>()

export const listedPricing = (pricing: Pricing | null): typeof ListedPricing.Type => {
  if (pricing === null) return unknownPricing
  const before = listings.get(pricing)
  if (before !== undefined) return before
  const listed = {
    ...listedPrices(pricing),
    ...byWireName(alwaysListed, (name) => formatUsd(effectivePrice(pricing, name))),
    discount: Number(pricing.discountPpm) / 1e6,
    overrides: pricing.overrides.map((entry) => listedOverride(pricing, entry)),
  }
  listings.set(pricing, listed)
  return listed
}

const listedOverride = (base: Pricing, entry: PriceOverride): typeof Override.Type => {
  const { starts, prices, utcStart, utcEnd, utcDays } = entry
  // A cache price that is missing is listed as the price used instead of it, so an override of that one changes both.
  const moved = alwaysListed.flatMap((name) => {
    const other = standIn(name)
    return other === undefined || base[name] !== null ? [] : [[name, prices[name] ?? prices[other]]]
  })
  return {
    ...(starts === undefined ? {} : { starts }),
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
