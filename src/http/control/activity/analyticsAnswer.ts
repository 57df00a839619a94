/** The answer of `GET /analytics`: figures in all, over time, and of each group. */
import * as Schema from "effect/Schema"
import { isoTime } from "../../../domain/keys/keyValues.ts"
import {
  type AnalyticsQuestion,
  type FailureClass,
  type FailurePoint,
  type FirstTokenSeries,
  failureClasses,
  type GroupNames,
  type KeptSince,
  noUsage,
  type UsageFigures,
  type UsagePoint,
  usageBeside,
  usageOfBoth,
} from "../../../domain/money/analytics.ts"
import { type FirstTokenFigures, firstTokenFigures } from "../../../domain/money/firstTokens.ts"
import { formatUsd, toUsd } from "../../../domain/price/money.ts"

const figures = {
  /** With those that were refused or failed, where these can be told. */
  requests: Schema.Int,
  /** Refused or failed; `null`: they are not counted by app or user. */
  errors: Schema.NullOr(Schema.Int),
  /** By who caused them. */
  errors_by: Schema.NullOr(
    Schema.Struct({ caller: Schema.Int, policy: Schema.Int, host: Schema.Int, gateway: Schema.Int }),
  ),
  tokens_prompt: Schema.Int,
  tokens_completion: Schema.Int,
  /** Part of the prompt. */
  tokens_cached: Schema.Int,
  /** Part of the completion. */
  tokens_reasoning: Schema.Int,
  /** What callers pay, and what hosts charge the operator, in USD. */
  usage: Schema.Number,
  upstream_cost: Schema.Number,
  /** The same amounts as decimal text. */
  exact: Schema.Struct({ usage: Schema.String, upstream_cost: Schema.String }),
  /** Milliseconds until streamed answers began, of `count` answers; `null`: there is none, or it is not kept for this. */
  first_token_ms: Schema.NullOr(Schema.Struct({ p50: Schema.Int, p99: Schema.Int, count: Schema.Int })),
}

const AnalyticsFigures = Schema.Struct(figures).annotations({ identifier: "AnalyticsFigures" })

/** An interval; one without a request is left out. `is_partial`: it is not over. */
const AnalyticsPoint = Schema.Struct({ at: Schema.String, is_partial: Schema.Boolean, ...figures }).annotations({
  identifier: "AnalyticsPoint",
})

const name = Schema.optionalWith(Schema.String, { exact: true })
const nameOrNull = Schema.optionalWith(Schema.NullOr(Schema.String), { exact: true })

/** The members that it was asked by. "": none was given. */
const AnalyticsGroup = Schema.Struct({
  model: name,
  host: name,
  provider: name,
  provider_name: name,
  key_hash: name,
  /** The last one of a deleted key; `null`: it is not known. */
  key_name: nameOrNull,
  app_title: name,
  app_url: name,
  user_hash: name,
}).annotations({ identifier: "AnalyticsGroup" })

export const AnalyticsAnswer = Schema.Struct({
  data: Schema.Struct({
    /** Whole intervals: from the first moment on, before the second. */
    from: Schema.String,
    to: Schema.String,
    interval: Schema.Literal("hour", "day"),
    /** From when on there are sums by hour, rows of the ledger, records of requests; `null`: of sums: as long as rows; else: there is none. */
    kept_since: Schema.Struct({
      sums: Schema.NullOr(Schema.String),
      rows: Schema.NullOr(Schema.String),
      requests: Schema.NullOr(Schema.String),
    }),
    totals: AnalyticsFigures,
    points: Schema.Array(AnalyticsPoint),
    /** The costliest first, then those with the most errors. */
    groups: Schema.Array(
      Schema.Struct({ group: AnalyticsGroup, totals: AnalyticsFigures, points: Schema.Array(AnalyticsPoint) }),
    ),
    /** Everything that is in no group; `null`: there is nothing. */
    other: Schema.NullOr(AnalyticsFigures),
  }).annotations({ identifier: "Analytics" }),
})

type Answer = typeof AnalyticsAnswer.Type.data

/** Requests by the class of their failure, and those without a row in the ledger. */
interface Failures {
  readonly by: Readonly<Record<FailureClass, number>>
  readonly unbooked: number
}

const noFailures: Failures = { by: { caller: 0, policy: 0, host: 0, gateway: 0, none: 0 }, unbooked: 0 }

const combined = (a: Failures, b: Failures, sign: 1 | -1): Failures => {
  const by = { ...a.by }
  for (const one of failureClasses) by[one] += sign * b.by[one]
  return { by, unbooked: a.unbooked + sign * b.unbooked }
}

const failuresIn = (point: FailurePoint): Failures => ({
  by: { ...noFailures.by, [point.class]: point.requests },
  unbooked: point.unbooked,
})

/** What was read of one group, or of all; `null`: it is not kept. */
export interface Read {
  readonly usage: ReadonlyArray<UsagePoint>
  readonly failures: ReadonlyArray<FailurePoint> | null
  readonly firstTokens: FirstTokenSeries | null
}

interface Sums {
  readonly usage: UsageFigures
  readonly failures: Failures | null
  readonly firstTokens: FirstTokenFigures | null
}

const sumsOf = ({ usage, failures, firstTokens }: Read): Sums => {
  return {
    usage: usage.reduce(usageOfBoth, noUsage),
    failures: failures?.map(failuresIn).reduce((a, b) => combined(a, b, 1), noFailures) ?? null,
    firstTokens: firstTokens && firstTokenFigures(firstTokens.counts),
  }
}

const figuresOf = ({ usage, failures, firstTokens }: Sums): typeof AnalyticsFigures.Type => {
  const { none: _, ...by } = failures?.by ?? noFailures.by
  return {
    requests: usage.requests + (failures?.unbooked ?? 0),
    errors: failures === null ? null : by.caller + by.policy + by.host + by.gateway,
    errors_by: failures === null ? null : by,
    tokens_prompt: usage.promptTokens,
    tokens_completion: usage.completionTokens,
    tokens_cached: usage.cachedTokens,
    tokens_reasoning: usage.reasoningTokens,
    usage: toUsd(usage.cost),
    upstream_cost: toUsd(usage.upstreamCost),
    exact: { usage: formatUsd(usage.cost), upstream_cost: formatUsd(usage.upstreamCost) },
    first_token_ms: firstTokens,
  }
}

const at = <Point extends { readonly start: number }>(points: ReadonlyArray<Point>) =>
  Map.groupBy(points, ({ start }) => start)

/** `current`: the first Unix millisecond of the interval that is not over. */
const pointsOf = ({ usage, failures, firstTokens }: Read, current: number): Answer["points"] => {
  const [used, failed, quick] = [at(usage), at(failures ?? []), at(firstTokens?.points ?? [])]
  const starts = [...new Set([...used.keys(), ...failed.keys(), ...quick.keys()])].toSorted((a, b) => a - b)
  return starts.map((start) => ({
    at: isoTime(start),
    is_partial: start >= current,
    ...figuresOf({
      ...sumsOf({ usage: used.get(start) ?? [], failures: failures && (failed.get(start) ?? []), firstTokens: null }),
      firstTokens: quick.get(start)?.[0]?.figures ?? null,
    }),
  }))
}

/** What is left of all beside the groups. */
const otherOf = (all: Sums, groups: ReadonlyArray<Sums>): Answer["other"] => {
  const rest: Sums = {
    usage: groups.reduce((left, group) => usageBeside(left, group.usage), all.usage),
    failures:
      all.failures && groups.reduce((left, group) => combined(left, group.failures ?? noFailures, -1), all.failures),
    firstTokens: null,
  }
  const found = figuresOf(rest)
  const isEmpty = [found.requests, found.errors ?? 0, found.tokens_prompt, found.tokens_completion].every(
    (n) => n === 0,
  )
  return isEmpty && rest.usage.cost === 0n && rest.usage.upstreamCost === 0n ? null : found
}

export interface ReadGroup extends Read {
  readonly names: GroupNames
}

interface Named {
  /** Names of providers by their slugs, and of keys by their hashes. */
  readonly providers: ReadonlyMap<string, string>
  readonly keys: ReadonlyMap<string, string>
}

const groupOf = ({ model, host, provider, key_id, app_url, app_title, user_hash }: GroupNames, named: Named) => ({
  ...(model === undefined ? {} : { model }),
  ...(host === undefined ? {} : { host }),
  ...(provider === undefined ? {} : { provider, provider_name: named.providers.get(provider) ?? provider }),
  ...(key_id === undefined ? {} : { key_hash: key_id, key_name: named.keys.get(key_id) ?? null }),
  ...(app_title === undefined ? {} : { app_title }),
  ...(app_url === undefined ? {} : { app_url }),
  ...(user_hash === undefined ? {} : { user_hash }),
})

const written = (ms: number | null): string | null => (ms === null ? null : isoTime(ms))

export const answerOf = (
  { from, to, interval, by }: AnalyticsQuestion,
  all: Read,
  groups: ReadonlyArray<ReadGroup>,
  context: Named & { readonly kept: KeptSince; readonly current: number },
): Answer => {
  const { kept, current } = context
  const sums = sumsOf(all)
  const groupSums = groups.map(sumsOf)
  return {
    ...{ from: isoTime(from), to: isoTime(to), interval },
    kept_since: { sums: written(kept.sums), rows: written(kept.rows), requests: written(kept.requests) },
    totals: figuresOf(sums),
    points: pointsOf(all, current),
    groups: groups.map((group, place) => ({
      group: groupOf(group.names, context),
      totals: figuresOf(groupSums[place] ?? sumsOf(group)),
      points: pointsOf(group, current),
    })),
    other: by === null ? null : otherOf(sums, groupSums),
  }
}
