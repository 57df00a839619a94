/**
 * Sums of the ledger's rows in a span of time, which are read from the rows: no sums by hour are kept. The rows of a span are found by
 * their ids, which begin with a time, and are read in parts, so that others are written in between. In SQL that SQLite and PostgreSQL share.
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { requestIdAt } from "../../domain/ids.ts"
import { hourMs, intervalMs, type SpanQuery, type SpanSum } from "../../domain/money/activity.ts"
import { type ActivityRepository, spanPartRows } from "../../services/storage/Storage.ts"
import { query } from "../tables/query.ts"
import { castToText, originalText, storedText } from "../tables/table.ts"
import { unlessLost } from "./dailySums.ts"

/**
 * An id is made when its request comes, on the same machine as the time of the admission. In between its body is read, and a clock
 * may have been set: so much further ids are looked at.
 */
const idsApartMs = hourMs

/** Money as text, since drivers return inexact numbers above 2^53. */
interface SelectedSum extends Omit<SpanSum, "cost" | "upstreamCost"> {
  readonly cost: string
  readonly upstreamCost: string
}

const groupsOf: Readonly<Record<SpanQuery["by"], ReadonlyArray<string>>> = {
  host: [],
  key: ["key_id"],
  app: ["app_url", "app_title"],
  user: ["user_hash"],
}

const sum = (name: string, member: string) => `CAST(SUM(${unlessLost(name)}) AS BIGINT) AS "${member}"`

const figures = [
  sum("1", "requests"),
  sum("prompt_tokens", "promptTokens"),
  sum("completion_tokens", "completionTokens"),
  sum("cached_tokens", "cachedTokens"),
  sum("cache_write_tokens", "cacheWriteTokens"),
  sum("reasoning_tokens", "reasoningTokens"),
  `${castToText("SUM(cost)")} AS cost, ${castToText("SUM(upstream_cost)")} AS "upstreamCost"`,
].join(", ")

/** Columns of a group, and "" for those of others. */
const selectedOf = (by: SpanQuery["by"]): string => {
  const column = (name: string, member: string) => `${groupsOf[by].includes(name) ? name : "''"} AS "${member}"`
  return [
    "model, host, provider",
    column("key_id", "key"),
    column("user_hash", "userHash"),
    column("app_url", "appUrl"),
    column("app_title", "appTitle"),
  ].join(", ")
}

const decoded = (row: SelectedSum): SpanSum => ({
  ...row,
  key: originalText(row.key),
  appUrl: originalText(row.appUrl),
  appTitle: originalText(row.appTitle),
  cost: BigInt(row.cost),
  upstreamCost: BigInt(row.upstreamCost),
})

export const makeSpanSums = (sql: SqlClient, installation: string): ActivityRepository["spanSums"] => {
  const id = sql.literal(sql.onDialectOrElse({ pg: () => 'request_id COLLATE "C"', orElse: () => "request_id" }))

  /** The rows of a span, of which those of the part are asked for. */
  const isAskedFor = ({ from, to, key, creator, userHash }: SpanQuery) =>
    sql.and([
      sql`admitted_at >= ${from} AND admitted_at < ${to}`,
      ...(key === undefined ? [] : [sql`key_id = ${storedText(key)}`]),
      ...(userHash === undefined ? [] : [sql`user_hash = ${userHash}`]),
      ...(creator === undefined
        ? []
        : [
            sql`key_id IN (SELECT id FROM keys WHERE COALESCE(creator_user_id, ${installation}) = ${storedText(creator)})`,
          ]),
    ])

  return (span, below) =>
    Effect.gen(function* () {
      const above = requestIdAt(span.from - idsApartMs)
      const ids = sql`${id} < ${below === "" ? requestIdAt(span.to + idsApartMs) : storedText(below)}`
      const [end] = yield* query(sql<{ readonly id: string }>`SELECT request_id AS id FROM ledger
        WHERE ${ids} AND ${id} >= ${above} ORDER BY ${id} DESC LIMIT 1 OFFSET ${spanPartRows - 1}`)
      const start = sql.literal(`admitted_at - admitted_at % ${intervalMs[span.interval]}`)
      const groups = sql.literal(["model", "host", "provider", ...groupsOf[span.by]].join(", "))
      // One bound alone from below, as in `requestRepository.ts`: of two SQLite may take the lower one for the index.
      const found = yield* query(sql<SelectedSum>`
        SELECT ${start} AS start, ${sql.literal(selectedOf(span.by))}, ${sql.literal(figures)}
        FROM ledger WHERE ${ids} AND ${id} >= ${end?.id ?? above} AND ${isAskedFor(span)} GROUP BY ${start}, ${groups}`)
      return { sums: found.map(decoded), next: end?.id ?? null }
    })
}
