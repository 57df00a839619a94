/** An item of `GET /activity`, and its columns in CSV. */
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { dateOf, type SpanSum, type UsageSum } from "../../../domain/money/activity.ts"
import { formatUsd, toUsd } from "../../../domain/price/money.ts"
import type { ActivityQuery } from "./ActivityQuery.ts"

/** What was used on one UTC day, or in one hour, of one model at one host. Amounts in USD. */
export const ActivityItem = Schema.Struct({
  /** `2026-07-15`. A request counts on the day on which it was admitted. */
  date: Schema.String,
  /** Only with `interval=hour`: when the UTC hour began, `2026-07-15T09:00:00Z`. */
  hour: Schema.optionalWith(Schema.String, { exact: true }),
  /** Whether the day or the hour is not over, so that its sums still grow. */
  is_partial: Schema.Boolean,
  model: Schema.String,
  model_permaslug: Schema.String,
  /** The tag of the host. */
  endpoint_id: Schema.String,
  provider_name: Schema.String,
  /** What callers pay. */
  usage: Schema.Number,
  byok_usage_inference: Schema.Number,
  /** What the host charges the operator, also for what callers do not pay. */
  upstream_inference_cost: Schema.Number,
  /** The same amounts as decimal text. */
  exact: Schema.Struct({
    usage: Schema.String,
    byok_usage_inference: Schema.String,
    upstream_inference_cost: Schema.String,
  }),
  requests: Schema.Int,
  prompt_tokens: Schema.Int,
  completion_tokens: Schema.Int,
  /** Parts of the prompt: read from a cache, written to one. */
  cached_tokens: Schema.Int,
  cache_write_tokens: Schema.Int,
  /** Part of the completion. */
  reasoning_tokens: Schema.Int,
  /** Only with `group_by=workspace`. */
  workspace_id: Schema.optionalWith(Schema.String, { exact: true }),
  /** Only with `group_by=api_key`. */
  api_key_hash: Schema.optionalWith(Schema.String, { exact: true }),
  /** The last one of a deleted key; `null`: it is not known. */
  api_key_name: Schema.optionalWith(Schema.NullOr(Schema.String), { exact: true }),
  /** Only with `group_by=app`; "" where the caller gave none. */
  app_url: Schema.optionalWith(Schema.String, { exact: true }),
  app_title: Schema.optionalWith(Schema.String, { exact: true }),
  /** Only with `group_by=user`: of the end user's name, as `GET /requests` has it; "" where nobody was named. */
  user_hash: Schema.optionalWith(Schema.String, { exact: true }),
}).annotations({ identifier: "ActivityItem" })

type Item = typeof ActivityItem.Type

/** The sum of a day or an hour. */
export interface TimedSum {
  /** First Unix millisecond. */
  readonly start: number
  readonly sum: UsageSum & Partial<Pick<SpanSum, "userHash">>
}

export interface ItemContext {
  readonly query: ActivityQuery
  /** Names of providers by their slugs, and of keys by their hashes. */
  readonly providers: ReadonlyMap<string, string>
  readonly keys: ReadonlyMap<string, string>
  readonly workspace: string
  /** First Unix millisecond of the day or the hour that is not over. */
  readonly current: number
}

export const itemOf = (
  { start, sum }: TimedSum,
  { query: { group_by: grouping, interval }, providers, keys, workspace, current }: ItemContext,
): Item => ({
  date: dateOf(start),
  ...(interval === "hour" ? { hour: `${new Date(start).toISOString().slice(0, 19)}Z` } : {}),
  is_partial: start >= current,
  model: sum.model,
  model_permaslug: sum.model,
  endpoint_id: sum.host,
  provider_name: providers.get(sum.provider) ?? sum.provider,
  ...Struct.evolve(amountsOf(sum), { usage: toUsd, byok_usage_inference: toUsd, upstream_inference_cost: toUsd }),
  exact: Struct.evolve(amountsOf(sum), {
    usage: formatUsd,
    byok_usage_inference: formatUsd,
    upstream_inference_cost: formatUsd,
  }),
  requests: sum.requests,
  prompt_tokens: sum.promptTokens,
  completion_tokens: sum.completionTokens,
  cached_tokens: sum.cachedTokens,
  cache_write_tokens: sum.cacheWriteTokens,
  reasoning_tokens: sum.reasoningTokens,
  ...(grouping === "workspace" ? { workspace_id: workspace } : {}),
  ...(grouping === "api_key" ? { api_key_hash: sum.key, api_key_name: keys.get(sum.key) ?? null } : {}),
  ...(grouping === "app" ? { app_url: sum.appUrl, app_title: sum.appTitle } : {}),
  ...(grouping === "user" ? { user_hash: sum.userHash ?? "" } : {}),
})

export const amountsOf = (sum: UsageSum) => ({
  usage: sum.cost,
  byok_usage_inference: 0n,
  upstream_inference_cost: sum.upstreamCost,
})

/** Members that only some questions have. */
const isAskedFor: { readonly [name in keyof Item]?: (query: ActivityQuery) => boolean } = {
  hour: ({ interval }) => interval === "hour",
  workspace_id: ({ group_by }) => group_by === "workspace",
  api_key_hash: ({ group_by }) => group_by === "api_key",
  api_key_name: ({ group_by }) => group_by === "api_key",
  app_url: ({ group_by }) => group_by === "app",
  app_title: ({ group_by }) => group_by === "app",
  user_hash: ({ group_by }) => group_by === "user",
}

/** In CSV all amounts are exact. */
export const columnsOf = (query: ActivityQuery): ReadonlyArray<Exclude<keyof Item, "exact">> =>
  Struct.keys(Struct.omit(ActivityItem.fields, "exact")).filter((name) => isAskedFor[name]?.(query) ?? true)
