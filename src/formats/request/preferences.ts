/** Decodes the `provider` member of a request: `Preferences`. */

import {
  checkOf,
  described,
  filledText,
  flag,
  listOf,
  notNegative,
  objectOf,
  objectOr,
  oneOf,
  report,
  titled,
} from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { withoutKeys } from "../../domain/json/redaction.ts"
import { type Picodollars, scaled } from "../../domain/price/money.ts"
import {
  type MaxPrice,
  noPreferences,
  type Preferences,
  pricesWithCeiling,
  quantizations,
} from "../../domain/request/Preferences.ts"
import { percentiles, type Thresholds } from "../../domain/request/Thresholds.ts"

/** See docs/guarantees.md#g30. */
const mostNames = 64

// Longer texts are no price, and conversion to a bigint takes quadratic time.
const longestPrice = 64

/**
 * A ceiling in picodollars per token, request or image. It is given in USD per 1M tokens for prompt and completion, and
 * in USD per unit for the rest. Fractions of a picodollar are truncated. That does not change which hosts pass, since
 * their prices are whole picodollars.
 */
const ceilingOf = (name: string, ceiling: unknown): Picodollars | undefined => {
  if (typeof ceiling !== "number" && typeof ceiling !== "string") return undefined
  if (String(ceiling).length > longestPrice) return undefined
  // 12 digits from USD to picodollars, and 6 fewer for a price per million tokens.
  return scaled(ceiling, name === "prompt" || name === "completion" ? 6 : 12)?.value
}

const decimal = { type: "string", pattern: "^\\d+(\\.\\d+)?([eE][+-]?\\d{1,3})?$", maxLength: longestPrice }
const price = checkOf({ anyOf: [notNegative.schema, decimal] }, (value, path, issues) => {
  if (ceilingOf("request", value) === undefined)
    report(issues, path, "must be a non-negative number, or one as a decimal string")
})

const names = listOf(filledText, mostNames)
const threshold = objectOr(
  objectOf({ p50: notNegative, p75: notNegative, p90: notNegative, p99: notNegative }),
  notNegative,
)

// The router knows which strategies are installed.
const sort = objectOr(objectOf({ by: filledText, partition: oneOf("model", "none") }), filledText)

/** The `provider` member. */
export const preferences = titled(
  "ProviderPreferences",
  objectOf({
    order: described("Hosts to try first, in this order: tags, slugs or display names.", names),
    only: described("Only these hosts.", names),
    ignore: described("Not these hosts.", names),
    allow_fallbacks: described("false: only the listed hosts, or only the first one. Default true.", flag),
    sort: described(
      "How hosts are ordered: price, throughput, latency, exacto, or another strategy that is installed.",
      sort,
    ),
    require_parameters: described("Only hosts that support every parameter of the request.", flag),
    data_collection: described("deny: no host that may train on prompts.", oneOf("allow", "deny")),
    zdr: described("Only hosts that keep no prompts.", flag),
    enforce_distillable_text: described("Only models whose author allows distillation.", flag),
    quantizations: listOf(oneOf(...quantizations), mostNames),
    max_price: described(
      "Ceilings, inclusive: USD per 1M tokens for prompt and completion, per unit for the rest.",
      objectOf({ prompt: price, completion: price, request: price, image: price, audio: price }),
    ),
    preferred_min_throughput: described("Tokens per second; slower hosts are tried later.", threshold),
    preferred_max_latency: described("Seconds to the first token; slower hosts are tried later.", threshold),
    hedge: described("Whether a second host may be called beside a slow one.", flag),
  }),
)

const textsOf = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((item) => typeof item === "string").map(withoutKeys) : []

const sortOf = (value: unknown): string | undefined => {
  const by = isJsonObject(value) ? value["by"] : value
  return typeof by === "string" ? by : undefined
}

const maxPriceOf = (value: unknown): MaxPrice => {
  if (!isJsonObject(value)) return {}
  return Object.fromEntries(
    pricesWithCeiling.flatMap((name) => {
      const ceiling = ceilingOf(name, value[name])
      return ceiling === undefined ? [] : [[name, ceiling]]
    }),
  )
}

/** A number stands for the median. `unit`: how many of ours the caller's unit is. */
const thresholdsOf = (value: unknown, unit = 1): Thresholds | undefined => {
  if (typeof value === "number") return { p50: value * unit }
  if (!isJsonObject(value)) return undefined
  const given = percentiles.flatMap(([name]) => {
    const figure = value[name]
    return typeof figure === "number" ? [[name, figure * unit]] : []
  })
  return given.length === 0 ? undefined : Object.fromEntries(given)
}

const read = (value: JsonObject): Preferences => ({
  order: textsOf(value["order"]),
  only: textsOf(value["only"]),
  ignore: textsOf(value["ignore"]),
  sort: sortOf(value["sort"]),
  partition: isJsonObject(value["sort"]) && value["sort"]["partition"] === "none" ? "none" : "model",
  allowFallbacks: value["allow_fallbacks"] !== false,
  denyDataCollection: value["data_collection"] === "deny",
  zeroDataRetention: value["zdr"] === true,
  quantizations: textsOf(value["quantizations"]),
  maxPrice: maxPriceOf(value["max_price"]),
  requireParameters: value["require_parameters"] === true,
  distillable: value["enforce_distillable_text"] === true,
  minThroughput: thresholdsOf(value["preferred_min_throughput"]),
  maxLatencyMs: thresholdsOf(value["preferred_max_latency"], 1000),
  serviceTier: undefined,
  hedge: typeof value["hedge"] === "boolean" ? value["hedge"] : undefined,
})

const tiers: ReadonlyMap<unknown, Preferences["serviceTier"]> = new Map([
  ["default", "default"],
  ["flex", "flex"],
  ["priority", "priority"],
  ["fast", "priority"],
])

/**
 * Adds the members of the body that speak of routing and stand beside `provider`: `service_tier`, and `route`, an older
 * name of `sort.partition`.
 */
export const withSiblings = (preferences: Preferences, body: JsonObject): Preferences => {
  const serviceTier = tiers.get(body["service_tier"])
  const unpartitioned = body["route"] === "sort" && !isPartitioned(body["provider"])
  if (serviceTier === undefined && !unpartitioned) return preferences
  return { ...preferences, serviceTier, partition: unpartitioned ? "none" : preferences.partition }
}

const isPartitioned = (written: unknown): boolean =>
  isJsonObject(written) && isJsonObject(written["sort"]) && written["sort"]["partition"] != null

/** Of a checked member, or of none. Unknown members are ignored. */
export const preferencesOf = (value: unknown): Preferences => (isJsonObject(value) ? read(value) : noPreferences)
