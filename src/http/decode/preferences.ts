/** The `provider` member of a request to `Preferences`. */
import { isJsonObject, type JsonObject } from "../../domain/json/Json.ts"
import { type Picodollars, scaled } from "../../domain/price/Money.ts"
import {
  type MaxPrice,
  noPreferences,
  type Preferences,
  pricesWithCeiling,
  quantizations,
} from "../../domain/request/Preferences.ts"
import { percentiles, type Thresholds } from "../../domain/request/thresholds.ts"
import {
  type Check,
  filledText,
  flag,
  type Issues,
  listOf,
  notNegative,
  objectOf,
  oneOf,
  orNull,
  report,
} from "./checks.ts"

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

const price: Check = (value, path, issues) => {
  if (ceilingOf("request", value) === undefined)
    report(issues, path, "must be a non-negative number, or one as a decimal string")
}

const names = orNull(listOf(filledText, mostNames))
const threshold = orNull((value, path, issues) => {
  if (isJsonObject(value)) thresholds(value, path, issues)
  else notNegative(value, path, issues)
})
const perhaps = orNull(notNegative)
const thresholds = objectOf({ p50: perhaps, p75: perhaps, p90: perhaps, p99: perhaps })

// The router knows which strategies are installed.
const sortObject = objectOf({ by: orNull(filledText), partition: orNull(oneOf("model", "none")) })
const sort: Check = (value, path, issues) => (isJsonObject(value) ? sortObject : filledText)(value, path, issues)

const provider = objectOf({
  order: names,
  only: names,
  ignore: names,
  allow_fallbacks: orNull(flag),
  sort: orNull(sort),
  require_parameters: orNull(flag),
  data_collection: orNull(oneOf("allow", "deny")),
  zdr: orNull(flag),
  enforce_distillable_text: orNull(flag),
  quantizations: orNull(listOf(oneOf(...quantizations), mostNames)),
  max_price: orNull(objectOf({ prompt: price, completion: price, request: price, image: price, audio: price })),
  preferred_min_throughput: threshold,
  preferred_max_latency: threshold,
  hedge: orNull(flag),
})

const textsOf = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((item) => typeof item === "string") : []

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

/** Adds problems to `issues`; the preferences are valid only if there are none. Unknown members are ignored. */
export const decodePreferences = (value: unknown, path: string, issues: Issues): Preferences => {
  if (value === null) return noPreferences
  provider(value, path, issues)
  return isJsonObject(value) ? read(value) : noPreferences
}
