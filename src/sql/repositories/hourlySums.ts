/**
 * Keeps the sums of the ledger by UTC hour, and the times to the first token, over the rows from `summed_from` to `summed_to` of
 * `hourly_ledger`. Unlike the sums by day they are no part of a commit: some hundred or thousand rows at a time are added in between.
 * Only rows that the sums by day have are added: of those none is on its way any more. See docs/decisions/0083-sums-by-hour.md.
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import * as Effect from "effect/Effect"
import { dayMs } from "../../domain/keys/limitWindows.ts"
import { hourMs, hourOf } from "../../domain/money/activity.ts"
import { columnsOfSums, keptHoursMs, type SumsOf } from "../../domain/money/analytics.ts"
import { FirstTokenCounts, readFirstTokens, writtenFirstTokens } from "../../domain/money/firstTokens.ts"
import type { AnalyticsRepository } from "../../services/storage/analytics.ts"
import { query } from "../tables/query.ts"
import { unlessLost } from "./dailySums.ts"
import { inParts } from "./journalRepository.ts"

/** The columns of all groups, in the order of the primary key. */
export const groupColumns = ["key_id", "app_url", "app_title", "user_hash", "model", "host", "provider"] as const

const tokens = ["prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens"]

export const sumNames = ["requests", ...tokens, "cost", "upstream_cost"]

const hour = `admitted_at - admitted_at % ${hourMs}`

/** The rows of a range of the ledger, added up by hour and all columns of groups. `range`: a condition. */
const finest = (sql: SqlClient, range: Fragment): Fragment => sql`
  SELECT ${sql.literal(`${hour} AS start, ${groupColumns.join(", ")}, SUM(${unlessLost("1")}) AS requests,
    ${tokens.map((name) => `SUM(${unlessLost(name)}) AS ${name}`).join(", ")},
    SUM(cost) AS cost, SUM(upstream_cost) AS upstream_cost`)}
  FROM ledger WHERE ${range} GROUP BY ${sql.literal(`${hour}, ${groupColumns.join(", ")}`)}`

/** Of rows that the sums by hour do not have yet, by hour: a SELECT with a column for each of `groupColumns` and `sumNames`. */
export const unsummedHours = (sql: SqlClient, more: Fragment): Fragment =>
  finest(sql, sql`seq > (SELECT summed_to FROM hourly_ledger) AND ${more}`)

const kinds: ReadonlyArray<readonly [kind: string, of: SumsOf, start: string]> = [
  ["all", "all", "start"],
  ["host", "host", "start"],
  ["key", "key", "start"],
  ["app", "app", "start"],
  ["user", "user", "start"],
  ["user_day", "user", `start - start % ${dayMs}`],
]

const place = ["kind", "start", ...groupColumns].join(", ")

/** A SELECT with the columns of `hourly_sums`. */
const partOf = ([kind, of, start]: (typeof kinds)[number]): string => {
  const own = groupColumns.filter((name) => columnsOfSums[of].includes(name))
  return `SELECT '${kind}' AS kind, ${start} AS start,
    ${groupColumns.map((name) => (own.includes(name) ? name : `'' AS ${name}`)).join(", ")},
    ${sumNames.map((name) => `SUM(${name}) AS ${name}`).join(", ")}
  FROM finest GROUP BY ${[start, ...own].join(", ")}`
}

const addition = `INSERT INTO hourly_sums (${place}, ${sumNames.join(", ")})
  SELECT * FROM (${kinds.map(partOf).join(" UNION ALL ")}) AS parts WHERE true
  ON CONFLICT (${place}) DO UPDATE SET
  ${sumNames.map((name) => `${name} = hourly_sums.${name} + excluded.${name}`).join(", ")}`

/** Answers whose time to the first token counts: those that came as streams, to their end. */
export const hasFirstToken = "streamed AND outcome = 'finished'"

/** So many new rows are left to readers, at least. To add them up takes some 5 ms. */
const leastAdded = 1024

/** Rows that are added at once. The thread of SQLite takes some 15 ms for them, and commits wait meanwhile. */
const mostAdded = 2048

interface State {
  readonly from: number
  readonly to: number
  readonly pruned: number
  /** Up to which the sums by day are. */
  readonly days: number
}

/** A range of the ledger's numbers: above the first, up to the second. */
type Range = readonly [above: number, upTo: number]

interface LatencyRow {
  readonly at: number
  readonly model: string
  readonly host: string
  readonly provider: string
  readonly ms: number
}

interface CountsRow extends Omit<LatencyRow, "at" | "ms"> {
  readonly kind: string
  readonly start: number
  readonly counts: string
}

const placeOf = ({ kind, start, model, host, provider }: Omit<CountsRow, "counts">): string =>
  JSON.stringify([kind, start, model, host, provider])

/** Adds to the times to the first token. */
const addFirstTokens = (sql: SqlClient, range: Fragment) =>
  Effect.gen(function* () {
    const found = yield* sql<LatencyRow>`SELECT admitted_at AS at, model, host, provider, latency_ms AS ms
      FROM ledger WHERE ${range} AND ${sql.literal(hasFirstToken)}`
    if (found.length === 0) return
    const sums = new Map<string, { readonly of: Omit<CountsRow, "counts">; readonly counts: FirstTokenCounts }>()
    for (const { at, ms, ...host } of found) {
      for (const [kind, length] of [["hour", hourMs] as const, ["day", dayMs] as const]) {
        const of = { kind, start: at - (at % length), ...host }
        const sum = sums.get(placeOf(of)) ?? { of, counts: new FirstTokenCounts() }
        sum.counts.count(ms)
        sums.set(placeOf(of), sum)
      }
    }
    const starts = new Set(Array.from(sums.values(), ({ of }) => of.start))
    const before =
      yield* sql<CountsRow>`SELECT * FROM first_tokens WHERE ${sql.in("kind", ["hour", "day"])} AND ${sql.in("start", [...starts])}`
    for (const one of before) sums.get(placeOf(one))?.counts.add(readFirstTokens(one.counts))
    const rows = Array.from(sums.values(), ({ of, counts }) => ({ ...of, counts: writtenFirstTokens(counts.all) }))
    for (const part of inParts(rows)) {
      yield* sql`INSERT INTO first_tokens ${sql.insert(part)}
        ON CONFLICT (kind, start, model, host, provider) DO UPDATE SET counts = excluded.counts`
    }
  })

/** The rows of the ledger before a number, that one included. */
const settledUpTo = (sql: SqlClient, seq: number) =>
  sql<{ readonly at: number }>`SELECT settled_at AS at FROM ledger WHERE seq <= ${seq} ORDER BY seq DESC LIMIT 1`

/**
 * Since when the sums by hour have every row, Unix milliseconds; `null`: from the first one. Rows are numbered in the order in which
 * they were settled, but for those that waited or were settled by another clock; an hour is enough for these.
 */
export const summedSince = (sql: SqlClient) =>
  Effect.gen(function* () {
    const [state] = yield* sql<Pick<State, "from" | "pruned">>`
      SELECT summed_from AS "from", pruned_to AS pruned FROM hourly_ledger`
    const { from = 0, pruned = 0 } = state ?? {}
    const [last] = from === 0 ? [] : yield* settledUpTo(sql, from)
    const since = Math.max(pruned, last === undefined ? 0 : hourOf(last.at + 2 * hourMs))
    return since === 0 ? null : since
  })

export const makeHourlySums = (sql: SqlClient): Pick<AnalyticsRepository, "addUp" | "prune"> => {
  const stateNow = Effect.map(
    sql<State>`SELECT summed_from AS "from", h.summed_to AS "to", pruned_to AS pruned, d.summed_to AS days
      FROM hourly_ledger h CROSS JOIN summed_ledger d`,
    ([state]) => state,
  )

  /** Rows that were admitted before are not added, since their hours are removed. */
  const add = ([above, upTo]: Range, pruned: number) =>
    Effect.gen(function* () {
      const range = sql`seq > ${above} AND seq <= ${upTo} AND admitted_at >= ${pruned}`
      yield* sql`WITH finest AS MATERIALIZED (${finest(sql, range)}) ${sql.literal(addition)}`
      yield* addFirstTokens(sql, range)
    })

  /** Another process that does the same waits for the row of the state, and then finds nothing to do. */
  const addNew = ({ to, days, pruned }: State) => {
    const upTo = Math.min(days, to + mostAdded)
    return sql.withTransaction(
      Effect.gen(function* () {
        const taken =
          yield* sql`UPDATE hourly_ledger SET summed_to = ${upTo} WHERE summed_to = ${to} RETURNING summed_to`
        if (taken.length > 0) yield* add([to, upTo], pruned)
        return true
      }),
    )
  }

  const addOld = ({ from, pruned }: State) => {
    const above = Math.max(0, from - mostAdded)
    return sql.withTransaction(
      Effect.gen(function* () {
        const taken =
          yield* sql`UPDATE hourly_ledger SET summed_from = ${above} WHERE summed_from = ${from} RETURNING summed_from`
        if (taken.length > 0) yield* add([above, from], pruned)
        return true
      }),
    )
  }

  const addSome = (now: number) =>
    Effect.gen(function* () {
      const state = yield* stateNow
      if (state === undefined) return false
      if (state.days - state.to >= leastAdded) return yield* addNew(state)
      if (state.from === 0) return false
      const [last] = yield* settledUpTo(sql, state.from)
      return last !== undefined && last.at >= now - keptHoursMs ? yield* addOld(state) : false
    })

  // Processes that remove sums at once take other rows each.
  const unlocked = sql.onDialectOrElse({ pg: () => sql`FOR UPDATE SKIP LOCKED`, orElse: () => sql.literal("") })
  const removed = (table: string, columns: string, isOld: Fragment, limit: number) =>
    Effect.map(
      sql`DELETE FROM ${sql.literal(table)} WHERE (${sql.literal(columns)}) IN (
        SELECT ${sql.literal(columns)} FROM ${sql.literal(table)} WHERE ${isOld} LIMIT ${limit} ${unlocked}
      ) RETURNING start`,
      (rows) => rows.length,
    )

  const removeSome = (now: number, limit: number) =>
    Effect.gen(function* () {
      const before = hourOf(now - keptHoursMs)
      // First, so that nobody is told a part of an hour.
      yield* sql`UPDATE hourly_ledger SET pruned_to = ${before} WHERE pruned_to < ${before}`
      const counts = [
        yield* removed(
          "hourly_sums",
          place,
          sql`${sql.in(
            "kind",
            kinds.map(([kind]) => kind),
          )} AND start < ${before}`,
          limit,
        ),
        yield* removed(
          "first_tokens",
          "kind, start, model, host, provider",
          sql`kind = 'hour' AND start < ${before}`,
          limit,
        ),
        yield* removed(
          "failures",
          "kind, start, key_id, model, host, class",
          sql`kind = 'hour' AND start < ${before}`,
          limit,
        ),
      ]
      return counts.includes(limit)
    })

  return {
    addUp: (now) => query(addSome(now)),
    prune: (now, limit) => query(removeSome(now, limit)),
  }
}
