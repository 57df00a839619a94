/** What was used, what failed and how quick it was, over time and by group: what `GET /analytics` is made of. Pure. */
import type { RequestOutcome } from "../failures/RequestOutcome.ts"
import type { KeyId } from "../ids.ts"
import { dayMs } from "../keys/limitWindows.ts"
import type { Picodollars } from "../price/money.ts"
import type { FirstTokenFigures, FirstTokens } from "./firstTokens.ts"

/** How long the sums by hour are kept: a month, and what is asked for beside it. */
export const keptHoursMs = 36 * dayMs

export const groupings = ["model", "host", "provider", "key", "app", "user"] as const

export type Grouping = (typeof groupings)[number]

/** What a group has in common, by the columns that the databases have for it. */
export type GroupColumn = "model" | "host" | "provider" | "key_id" | "app_url" | "app_title" | "user_hash"

export type GroupNames = { readonly [column in GroupColumn]?: string }

export const columnsOf: Readonly<Record<Grouping, ReadonlyArray<GroupColumn>>> = {
  model: ["model"],
  host: ["host", "provider"],
  provider: ["provider"],
  key: ["key_id"],
  app: ["app_url", "app_title"],
  user: ["user_hash"],
}

/** Which requests count; absent: all. */
export interface AnalyticsFilter {
  readonly model?: string
  /** A tag. */
  readonly host?: string
  readonly provider?: string
  readonly key?: KeyId
  /** Title or URL. */
  readonly app?: string
  readonly userHash?: string
}

export interface AnalyticsQuestion {
  /** Whole intervals, Unix milliseconds: from the first on, before the second. */
  readonly from: number
  readonly to: number
  readonly interval: "hour" | "day"
  readonly by: Grouping | null
  readonly filter: AnalyticsFilter
  /** Groups that are told apart. */
  readonly limit: number
}

/** What ledger rows add up to. A `lost` call counts with its upstream cost alone. */
export interface UsageFigures {
  readonly requests: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  readonly reasoningTokens: number
  readonly cost: Picodollars
  readonly upstreamCost: Picodollars
}

export const noUsage: UsageFigures = {
  ...{ requests: 0, promptTokens: 0, completionTokens: 0, cachedTokens: 0, reasoningTokens: 0 },
  ...{ cost: 0n, upstreamCost: 0n },
}

const combined = (a: UsageFigures, b: UsageFigures, sign: 1 | -1): UsageFigures => ({
  requests: a.requests + sign * b.requests,
  promptTokens: a.promptTokens + sign * b.promptTokens,
  completionTokens: a.completionTokens + sign * b.completionTokens,
  cachedTokens: a.cachedTokens + sign * b.cachedTokens,
  reasoningTokens: a.reasoningTokens + sign * b.reasoningTokens,
  cost: a.cost + BigInt(sign) * b.cost,
  upstreamCost: a.upstreamCost + BigInt(sign) * b.upstreamCost,
})

export const usageOfBoth = (a: UsageFigures, b: UsageFigures): UsageFigures => combined(a, b, 1)
export const usageBeside = (all: UsageFigures, part: UsageFigures): UsageFigures => combined(all, part, -1)

/** Of one interval; `start`: its first Unix millisecond. */
export interface UsagePoint extends UsageFigures {
  readonly start: number
}

export interface UsageGroup {
  readonly names: GroupNames
  readonly points: ReadonlyArray<UsagePoint>
}

/** Points without a row are absent. */
export interface UsageOverTime {
  readonly points: ReadonlyArray<UsagePoint>
  /** The costliest first. */
  readonly groups: ReadonlyArray<UsageGroup>
}

/** Who caused a failure, as the first word of a `RequestOutcome` says. `none`: it did not fail, or its caller left. */
export const failureClasses = ["caller", "policy", "host", "gateway", "none"] as const

export type FailureClass = (typeof failureClasses)[number]

export const failureClassOf = (outcome: RequestOutcome): FailureClass => {
  if (outcome === "ok" || outcome === "caller_gone") return "none"
  const first = outcome.slice(0, outcome.indexOf("_"))
  return failureClasses.find((known) => known === first) ?? "gateway"
}

/** Of a refusal whose caller nobody knows. */
export const failureClassOfStatus = (status: number): FailureClass => (status < 500 ? "caller" : "gateway")

/** Requests of which there are records, in one interval. */
export interface FailurePoint {
  readonly start: number
  readonly class: FailureClass
  readonly requests: number
  /** Requests without a row in the ledger. */
  readonly unbooked: number
}

/** Times to the first token in one interval. */
export interface FirstTokenPoint {
  readonly start: number
  readonly figures: FirstTokenFigures | null
}

/** Times to the first token by interval. `counts`: of all intervals, since a longer time is read in parts. */
export interface FirstTokenSeries {
  readonly points: ReadonlyArray<FirstTokenPoint>
  readonly counts: FirstTokens
}

/** Of everything that was asked for, and of each of some groups, in their order. */
export interface FailuresOverTime {
  readonly points: ReadonlyArray<FailurePoint>
  readonly groups: ReadonlyArray<ReadonlyArray<FailurePoint>>
}

export interface FirstTokensOverTime {
  readonly all: FirstTokenSeries
  readonly groups: ReadonlyArray<FirstTokenSeries>
}

/** The provider of a host, by its tag. */
export const providerOfTag = (tag: string): string => tag.split("/")[0] ?? tag

/** From when on there is what, Unix milliseconds; `null`: from the beginning, or there is none. */
export interface KeptSince {
  /** Sums by hour: whole hours. */
  readonly sums: number | null
  readonly rows: number | null
  readonly requests: number | null
}

/** The kinds of kept sums. Each has sums for its columns alone. */
export type SumsOf = "all" | "host" | "key" | "app" | "user"

const ofHosts: ReadonlyArray<GroupColumn> = ["model", "host", "provider"]

export const columnsOfSums: Readonly<Record<SumsOf, ReadonlyArray<GroupColumn>>> = {
  all: [],
  host: ofHosts,
  key: ["key_id", ...ofHosts],
  app: ["app_url", "app_title", ...ofHosts],
  user: ["user_hash"],
}

const columnsOfFilter = ({
  model,
  host,
  provider,
  key,
  app,
  userHash,
}: AnalyticsFilter): ReadonlyArray<GroupColumn> => [
  ...(model === undefined ? [] : (["model"] as const)),
  ...(host === undefined ? [] : (["host"] as const)),
  ...(provider === undefined ? [] : (["provider"] as const)),
  ...(key === undefined ? [] : (["key_id"] as const)),
  ...(app === undefined ? [] : (["app_url"] as const)),
  ...(userHash === undefined ? [] : (["user_hash"] as const)),
]

/** The fewest kept sums that can tell these apart; `undefined`: none can. */
export const sumsFor = (filter: AnalyticsFilter, by: Grouping | null): SumsOf | undefined => {
  const wanted = [...columnsOfFilter(filter), ...(by === null ? [] : columnsOf[by])]
  return (["all", "host", "user", "key", "app"] as const).find((kind) =>
    wanted.every((column) => columnsOfSums[kind].includes(column)),
  )
}

/** Whether failures can be answered for a question: their sums have neither apps nor users. */
export const hasFailures = ({ filter, by }: AnalyticsQuestion): boolean => {
  const kind = sumsFor(filter, by)
  return kind === "all" || kind === "host" || kind === "key"
}

/** Whether times to the first token can be answered: they are kept by model and host. */
export const hasFirstTokens = ({ filter, by }: AnalyticsQuestion): boolean => {
  const kind = sumsFor(filter, by)
  return kind === "all" || kind === "host"
}
