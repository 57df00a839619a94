/** The `provider` member of a request to `Preferences`. Reference 6.3; bad inputs 43, 46, 47, 49 and 50. */
import { isJsonObject, type JsonObject } from "../../domain/Json.ts"
import { type Picodollars, scaled } from "../../domain/Money.ts"
import { noPreferences, type Preferences, quantizations, sorts } from "../../domain/Preferences.ts"
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

/** G30. */
const mostNames = 64

// Longer ones are no price, and turning digits into a bigint takes the square of their number.
const longestPrice = 64

/**
 * Picodollars per token in a ceiling of USD per 1M tokens. What is finer than a picodollar a token is cut off: prices
 * of hosts are whole picodollars, so they are below or at the one just when they are below or at the other.
 */
const perToken = (ceiling: unknown): Picodollars | undefined => {
  if (typeof ceiling !== "number" && typeof ceiling !== "string") return undefined
  if (String(ceiling).length > longestPrice) return undefined
  // 12 digits from USD to picodollars, less 6 from a million tokens to one.
  return scaled(ceiling, 6)?.value
}

const price: Check = (value, path, issues) => {
  if (perToken(value) === undefined) report(issues, path, "must be a non-negative number, or one as a decimal string")
}

const names = orNull(listOf(filledText, mostNames))
const threshold = orNull((value, path, issues) => {
  if (isJsonObject(value)) percentiles(value, path, issues)
  else notNegative(value, path, issues)
})
const perhaps = orNull(notNegative)
const percentiles = objectOf({ p50: perhaps, p75: perhaps, p90: perhaps, p99: perhaps })

const sortName = oneOf(...sorts)
const sortObject = objectOf({ by: orNull(sortName), partition: orNull(oneOf("model", "none")) })
const sort: Check = (value, path, issues) => (isJsonObject(value) ? sortObject : sortName)(value, path, issues)

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
  max_price: objectOf({ prompt: price, completion: price, request: price, image: price, audio: price }),
  preferred_min_throughput: threshold,
  preferred_max_latency: threshold,
})

const textsOf = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((item) => typeof item === "string") : []

const sortOf = (value: unknown): string | undefined => {
  const by = isJsonObject(value) ? value["by"] : value
  return typeof by === "string" ? by : undefined
}

const maxPriceOf = (value: unknown): Preferences["maxPrice"] => {
  if (!isJsonObject(value)) return {}
  const prompt = perToken(value["prompt"])
  const completion = perToken(value["completion"])
  return { ...(prompt === undefined ? {} : { prompt }), ...(completion === undefined ? {} : { completion }) }
}

const read = (value: JsonObject): Preferences => ({
  order: textsOf(value["order"]),
  only: textsOf(value["only"]),
  ignore: textsOf(value["ignore"]),
  sort: sortOf(value["sort"]),
  allowFallbacks: value["allow_fallbacks"] !== false,
  denyDataCollection: value["data_collection"] === "deny",
  zeroDataRetention: value["zdr"] === true,
  quantizations: textsOf(value["quantizations"]),
  maxPrice: maxPriceOf(value["max_price"]),
  requireParameters: value["require_parameters"] === true,
})

/** What is wrong goes to `issues`; the preferences are to be used only if nothing is. Members not known are ignored. */
export const decodePreferences = (value: unknown, path: string, issues: Issues): Preferences => {
  if (value === null) return noPreferences
  provider(value, path, issues)
  return isJsonObject(value) ? read(value) : noPreferences
}
