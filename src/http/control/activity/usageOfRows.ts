/** Usage over time of the rows of a span, for questions that no kept sums answer. Pure. */
import type { SpanSum } from "../../../domain/money/activity.ts"
import {
  type AnalyticsQuestion,
  columnsOf,
  type GroupColumn,
  type GroupNames,
  noUsage,
  type UsageFigures,
  type UsageOverTime,
  type UsagePoint,
  usageOfBoth,
} from "../../../domain/money/analytics.ts"

const valueOf: Readonly<Record<GroupColumn, (sum: SpanSum) => string>> = {
  model: (sum) => sum.model,
  host: (sum) => sum.host,
  provider: (sum) => sum.provider,
  key_id: (sum) => sum.key,
  app_url: (sum) => sum.appUrl,
  app_title: (sum) => sum.appTitle,
  user_hash: (sum) => sum.userHash,
}

const pointsOf = (sums: ReadonlyArray<SpanSum>): ReadonlyArray<UsagePoint> =>
  [...Map.groupBy(sums, ({ start }) => start)]
    .toSorted(([a], [b]) => a - b)
    .map(([start, own]) => ({ start, ...own.reduce<UsageFigures>(usageOfBoth, noUsage) }))

/** `sums`: of the keys and end users of the question, by model, host and what it groups by. */
export const usageOfRows = ({ filter, by, limit }: AnalyticsQuestion, sums: ReadonlyArray<SpanSum>): UsageOverTime => {
  const { model, host, provider, app } = filter
  const wanted = sums.filter(
    (sum) =>
      (model ?? sum.model) === sum.model &&
      (host ?? sum.host) === sum.host &&
      (provider ?? sum.provider) === sum.provider &&
      (app === undefined || app === sum.appTitle || app === sum.appUrl),
  )
  const points = pointsOf(wanted)
  if (by === null) return { points, groups: [] }
  const namesOf = (sum: SpanSum): GroupNames =>
    Object.fromEntries(columnsOf[by].map((column) => [column, valueOf[column](sum)]))
  const groups = [...Map.groupBy(wanted, (sum) => JSON.stringify(namesOf(sum))).values()]
    .flatMap((own) => (own[0] === undefined ? [] : [{ names: namesOf(own[0]), points: pointsOf(own), own }]))
    .map((group) => ({ ...group, cost: group.own.reduce((all, { cost }) => all + cost, 0n) }))
    .toSorted((a, b) => (a.cost === b.cost ? 0 : a.cost < b.cost ? 1 : -1))
  return { points, groups: groups.slice(0, limit).map(({ names, points: own }) => ({ names, points: own })) }
}
