/** Usage in the Messages format: as hosts count it, and as clients get it with its cost. */
import { isJsonObject, type JsonObject, objectIn, objectsIn } from "../../domain/json/json.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import { toUsd } from "../../domain/price/money.ts"
import { isCount, noUsage } from "../../domain/price/Usage.ts"
import type { ChatUsage } from "../../domain/request/chat.ts"
import { costDetails, noCharge } from "../routerUsage.ts"

/**
 * The canonical `usage`. The host counts cached reads and writes separately from its input tokens; canonically they are
 * part of the prompt. `undefined` when a count is missing or invalid, because the sum would be wrong.
 */
export const usageOf = (raw: unknown): ChatUsage | undefined => {
  if (!isJsonObject(raw)) return undefined
  const { input_tokens: input, output_tokens: output } = raw
  const read = raw["cache_read_input_tokens"] ?? 0
  const written = writtenIn(raw)
  if (!isCount(input) || !isCount(output) || !isCount(read) || !isCount(written)) return undefined
  // The host's own summaries of a long conversation (`context_management`) are billed, and not part of its totals.
  const summaries = objectsIn(raw["iterations"]).filter(({ type }) => type === "compaction")
  const { speed, inference_geo } = raw
  return {
    ...(speed == null ? {} : { speed }),
    ...(inference_geo == null ? {} : { inference_geo }),
    prompt_tokens: input + read + written + sumOf(summaries, inputCounts),
    completion_tokens: output + sumOf(summaries, ["output_tokens"]),
    prompt_tokens_details: {
      cached_tokens: read,
      cache_write_tokens: written,
      ...hourOf(raw["cache_creation"]),
    },
    completion_tokens_details: { reasoning_tokens: countIn(raw["output_tokens_details"], "thinking_tokens") },
    server_tool_use_details: { web_search_requests: countIn(raw["server_tool_use"], "web_search_requests") },
  }
}

/** Cached tokens of a summary are counted as ordinary ones. */
const inputCounts = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]

/** Some hosts write only how long the tokens are kept, with a total of 0. */
const writtenIn = ({ cache_creation_input_tokens: total, cache_creation: split }: JsonObject): unknown =>
  total || splitOf(split)

const splitOf = (split: unknown): number => sumOf([split], ["ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"])

/** The written tokens that are kept for an hour. Absent: the host does not tell how long they are kept. */
const hourOf = (split: unknown): JsonObject =>
  splitOf(split) === 0 ? {} : { cache_write_1h_tokens: countIn(split, "ephemeral_1h_input_tokens") }

const sumOf = (all: ReadonlyArray<unknown>, members: ReadonlyArray<string>): number =>
  all.reduce<number>((sum, counts) => members.reduce((inner, member) => inner + countIn(counts, member), sum), 0)

const countIn = (counts: unknown, member: string): number => {
  const value = objectIn(counts)[member]
  return isCount(value) ? value : 0
}

/**
 * `usage` with the members of a later one of the same stream. Counts are cumulative, so they replace earlier ones; some hosts
 * write zeros for what they have told before.
 */
export const laterUsage = (before: JsonObject, later: unknown): JsonObject => {
  if (!isJsonObject(later)) return before
  const usage: Record<string, unknown> = { ...before }
  for (const name in later) {
    const value = later[name]
    if (value != null && (before[name] == null || !isZero(value))) usage[name] = value
  }
  return usage
}

const isZero = (value: unknown): boolean =>
  value === 0 || (isJsonObject(value) && Object.values(value).every((inner) => inner === 0))

/** The tier that served, in the words of the canonical form. */
export const tierField = (usage: unknown): { readonly service_tier?: string } => {
  const { service_tier: tier } = objectIn(usage)
  return typeof tier === "string" ? { service_tier: tier === "standard" ? "default" : tier } : {}
}

/** The same in the words of this form. */
const tierHere = (tier: unknown): string => (typeof tier === "string" && tier !== "default" ? tier : "standard")

type Spent = Pick<Charge, "usage" | "cost" | "upstream">

/** The `usage` of a start: what the prompt is estimated to have. */
export const usageAtStart = (promptTokens: number): JsonObject =>
  usageBody({ ...noCharge, usage: { ...noUsage, promptTokens } })

/** `tier`: the canonical word for the service tier that served. */
export const usageBody = (charge: Spent, tier?: unknown): JsonObject => ({
  ...countsOf(charge),
  inference_geo: null,
  service_tier: tierHere(tier),
  ...costsOf(charge),
})

/** The host's own `usage`, with the cost. Where the gateway had to count, its counts replace those of the host. */
export const usageWithCost = (written: unknown, charge: Charge): JsonObject => ({
  ...usageBody(charge),
  ...objectIn(written),
  ...(charge.estimated ? countsOf(charge) : {}),
  ...costsOf(charge),
})

/** The counts that every answer has. Cached reads and writes do not count as input here. */
const countsOf = ({ usage }: Spent) => ({
  input_tokens: usage.promptTokens - usage.cachedTokens - usage.cacheWriteTokens,
  cache_creation_input_tokens: usage.cacheWriteTokens,
  cache_read_input_tokens: usage.cachedTokens,
  cache_creation: {
    ephemeral_5m_input_tokens: usage.cacheWriteTokens - usage.cacheWrite1hTokens,
    ephemeral_1h_input_tokens: usage.cacheWrite1hTokens,
  },
  output_tokens: usage.completionTokens,
  output_tokens_details: { thinking_tokens: usage.reasoningTokens },
  server_tool_use: usage.webSearches === 0 ? null : { web_search_requests: usage.webSearches, web_fetch_requests: 0 },
})

const costsOf = ({ cost, upstream }: Spent) => ({
  cost: toUsd(cost.total),
  is_byok: false,
  cost_details: costDetails(upstream),
})
