/** What `GET /analytics` reads: the sums by hour and by day, and the rows that they do not have yet. In SQL that SQLite and PostgreSQL share. */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import * as Effect from "effect/Effect"
import { dayMs } from "../../domain/keys/limitWindows.ts"
import { intervalMs } from "../../domain/money/activity.ts"
import {
  type AnalyticsFilter,
  type AnalyticsQuestion,
  columnsOf,
  columnsOfSums,
  type GroupColumn,
  type GroupNames,
  type SumsOf,
  sumsFor,
  type UsagePoint,
} from "../../domain/money/analytics.ts"
import type { AnalyticsRepository } from "../../services/storage/analytics.ts"
import { atOnce, query } from "../tables/query.ts"
import { castToText, originalText, storedText } from "../tables/table.ts"
import { unsummedSums } from "./dailySums.ts"
import { makeFailureReads } from "./failureReads.ts"
import { makeFirstTokenReads } from "./firstTokenReads.ts"
import { makeHourlySums, placeOfSums, summedSince, sumNames, unsummedHours } from "./hourlySums.ts"

const groupColumns: ReadonlyArray<GroupColumn> = [
  "key_id",
  "app_url",
  "app_title",
  "user_hash",
  "model",
  "host",
  "provider",
]

/** A part of a span of time, and in which steps its sums are. */
interface Segment {
  readonly from: number
  readonly to: number
  readonly interval: AnalyticsQuestion["interval"]
}

/** Spans that are longer are read by day, but for their ends, where only a sum of all is wanted. */
const longestByHour = 2 * dayMs

const segmentsOf = ({ from, to, interval }: AnalyticsQuestion): ReadonlyArray<Segment> => {
  const firstDay = Math.ceil(from / dayMs) * dayMs
  const lastDay = Math.floor(to / dayMs) * dayMs
  if (interval === "day" || to - from <= longestByHour || firstDay >= lastDay) return [{ from, to, interval }]
  const all: ReadonlyArray<Segment> = [
    { from, to: firstDay, interval: "hour" },
    { from: firstDay, to: lastDay, interval: "day" },
    { from: lastDay, to, interval: "hour" },
  ]
  return all.filter((one) => one.from < one.to)
}

/** Money as text, since drivers return inexact numbers above 2^53. */
interface SelectedPoint extends Omit<UsagePoint, "cost" | "upstreamCost">, GroupNames {
  readonly cost: string
  readonly upstreamCost: string
}

const pointOf = ({ start, requests, promptTokens, completionTokens, ...row }: SelectedPoint): UsagePoint => ({
  ...{ start, requests, promptTokens, completionTokens },
  ...{ cachedTokens: row.cachedTokens, reasoningTokens: row.reasoningTokens },
  ...{ cost: BigInt(row.cost), upstreamCost: BigInt(row.upstreamCost) },
})

const sum = (name: string, member: string) => `CAST(SUM(${name}) AS BIGINT) AS "${member}"`

const figures = [
  sum("requests", "requests"),
  sum("prompt_tokens", "promptTokens"),
  sum("completion_tokens", "completionTokens"),
  sum("cached_tokens", "cachedTokens"),
  sum("reasoning_tokens", "reasoningTokens"),
  `${castToText("SUM(cost)")} AS cost, ${castToText("SUM(upstream_cost)")} AS "upstreamCost"`,
].join(", ")

/** The names of a row, which are stored texts. */
const namesIn = (columns: ReadonlyArray<GroupColumn>, row: GroupNames): GroupNames =>
  Object.fromEntries(columns.map((column) => [column, originalText(row[column] ?? "")]))

/** The conditions of a filter. */
const filtersOf = (
  sql: SqlClient,
  { model, host, provider, key, app, userHash }: AnalyticsFilter,
): ReadonlyArray<Fragment> => {
  const is = (column: GroupColumn, wanted: string | undefined) =>
    wanted === undefined ? [] : [sql`${sql.literal(column)} = ${storedText(wanted)}`]
  return [
    ...is("model", model),
    ...is("host", host),
    ...is("provider", provider),
    ...is("key_id", key),
    ...is("user_hash", userHash),
    ...(app === undefined ? [] : [sql`(app_title = ${storedText(app)} OR app_url = ${storedText(app)})`]),
  ]
}

/** Rows of any of these groups. */
const anyOf = (sql: SqlClient, groups: ReadonlyArray<GroupNames>): Fragment => {
  const entries = groups.map((names) => Object.entries(names))
  const [first] = entries
  // So that an index is used.
  if (first?.length === 1)
    return sql.in(
      first[0]?.[0] ?? "",
      entries.map((each) => storedText(each[0]?.[1] ?? "")),
    )
  return sql.or(
    entries.map((each) => sql.and(each.map(([name, value]) => sql`${sql.literal(name)} = ${storedText(value)}`))),
  )
}

/** An order by the sum of a column, the highest first. SQLite refuses a sum above 2^63, which a long time may come to: it gets two parts. */
const falling = (sql: SqlClient, column: "cost" | "upstream_cost"): Fragment => {
  const [high, low] = [`SUM(${column} / 1000000000)`, `SUM(${column} % 1000000000)`]
  return sql.literal(
    sql.onDialectOrElse({
      pg: () => `SUM(${column}) DESC`,
      orElse: () => `${high} + ${low} / 1000000000 DESC, ${low} % 1000000000 DESC`,
    }),
  )
}

/** Reads the sums of one kind. */
class UsageReads {
  private readonly sql: SqlClient
  private readonly question: AnalyticsQuestion

  constructor(sql: SqlClient, question: AnalyticsQuestion) {
    this.sql = sql
    this.question = question
  }

  /** The sums of each interval; with columns, of each group of them in it. */
  points(of: SumsOf, columns: ReadonlyArray<GroupColumn>, more: ReadonlyArray<Fragment>) {
    const { sql } = this
    const names = ["start", ...columns].join(", ")
    return sql<SelectedPoint>`SELECT ${sql.literal(names)}, ${sql.literal(figures)}
      FROM (${this.rows(this.question, of, more)}) AS sums GROUP BY ${sql.literal(names)} ORDER BY start`
  }

  /** The groups that cost most, in all. */
  costliest(of: SumsOf, columns: ReadonlyArray<GroupColumn>) {
    const { sql } = this
    const rows = segmentsOf(this.question).map((segment) => this.rows(segment, of, []))
    const all = rows.slice(1).reduce((before, next) => sql`${before} UNION ALL ${next}`, rows[0] ?? sql.literal(""))
    const names = columns.join(", ")
    return Effect.map(
      sql<GroupNames>`SELECT ${sql.literal(names)} FROM (${all}) AS sums GROUP BY ${sql.literal(names)}
        ORDER BY ${falling(sql, "cost")}, SUM(requests) DESC, ${falling(sql, "upstream_cost")}, ${sql.literal(names)} LIMIT ${this.question.limit}`,
      (found) => found.map((row) => namesIn(columns, row)),
    )
  }

  /** The kept sums of a segment, and those of rows that are not in them yet. */
  private rows({ from, to, interval }: Segment, of: SumsOf, more: ReadonlyArray<Fragment>): Fragment {
    const { sql } = this
    const where = [...filtersOf(sql, this.question.filter), ...more]
    if (interval === "day" && of !== "user") {
      const kind = of === "all" ? "day" : of
      const columns = groupColumns.map((name) => (name === "user_hash" ? "'' AS user_hash" : name))
      const selected = sql.literal(["day AS start", ...columns, ...sumNames].join(", "))
      const isDay = sql`day >= ${from} AND day < ${to}`
      return sql`SELECT ${selected} FROM daily_sums WHERE ${sql.and([sql`kind = ${kind}`, isDay, ...where])}
        UNION ALL SELECT ${selected} FROM (${sql.literal(unsummedSums(kind))}) AS unsummed WHERE ${sql.and([isDay, ...where])}`
    }
    const { table, columns, kind } = placeOfSums(of, interval)
    const own = columnsOfSums[of]
    const all = sql.literal(
      ["start", ...groupColumns.map((name) => (own.includes(name) ? name : `'' AS ${name}`)), ...sumNames].join(", "),
    )
    // What is "" in all sums of a kind is said, so that the primary key leads to each group.
    const others = columns.filter((name) => !own.includes(name))
    const kept = sql.and([
      ...(kind === "" ? [] : [sql`kind = ${kind}`]),
      sql`start = starts.at`,
      ...others.map((name) => sql`${sql.literal(name)} = ''`),
      ...where,
    ])
    const step = intervalMs[interval]
    const starts = sql`WITH RECURSIVE starts(at) AS (
      SELECT CAST(${from} AS BIGINT) UNION ALL SELECT at + ${step} FROM starts WHERE at + ${step} < ${to})`
    const unsummed = unsummedHours(sql, of, sql.and([sql`admitted_at >= ${from} AND admitted_at < ${to}`, ...where]))
    const start = interval === "day" ? `start - start % ${dayMs} AS start` : "start"
    const tail = sql.literal(
      [start, ...groupColumns.map((name) => (own.includes(name) ? name : `'' AS ${name}`)), ...sumNames].join(", "),
    )
    return sql`SELECT * FROM (${starts} SELECT ${all} FROM starts CROSS JOIN ${sql.literal(table)} WHERE ${kept}) AS kept
      UNION ALL SELECT ${tail} FROM (${unsummed}) AS unsummed`
  }
}

export const makeAnalyticsRepository = (sql: SqlClient): AnalyticsRepository => {
  const ofOneMoment = atOnce(sql)
  return {
    ...makeHourlySums(sql),
    ...makeFailureReads(sql),
    ...makeFirstTokenReads(sql),
    kept: () =>
      query(
        Effect.gen(function* () {
          const [first] = yield* sql<{ readonly at: number }>`SELECT admitted_at AS at FROM ledger ORDER BY seq LIMIT 1`
          const [record] = yield* sql<{
            readonly at: number
          }>`SELECT created_at AS at FROM requests ORDER BY seq LIMIT 1`
          return { sums: yield* summedSince(sql), rows: first?.at ?? null, requests: record?.at ?? null }
        }),
      ),
    usage: (question) => {
      const { by, filter } = question
      const ofAll = sumsFor(filter, null)
      const ofGroups = sumsFor(filter, by)
      if (ofAll === undefined || ofGroups === undefined) return Effect.dieMessage("no sums tell these apart")
      const reads = new UsageReads(sql, question)
      return query(
        ofOneMoment(
          Effect.gen(function* () {
            const points = (yield* reads.points(ofAll, [], [])).map(pointOf)
            if (by === null) return { points, groups: [] }
            const columns = columnsOf[by]
            const top = yield* reads.costliest(ofGroups, columns)
            if (top.length === 0) return { points, groups: [] }
            const found = yield* reads.points(ofGroups, columns, [anyOf(sql, top)])
            const groups = top.map((names) => ({
              names,
              points: found
                .filter((row) => columns.every((column) => originalText(row[column] ?? "") === names[column]))
                .map(pointOf),
            }))
            return { points, groups }
          }),
        ),
      )
    },
  }
}
