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
import { columnsOfSums, type GroupColumn, keptHoursMs, type SumsOf } from "../../domain/money/analytics.ts"
import { FirstTokenCounts, writtenFirstTokens } from "../../domain/money/firstTokens.ts"
import type { AnalyticsRepository } from "../../services/storage/analytics.ts"
import { query } from "../tables/query.ts"
import { unlessLost } from "./dailySums.ts"
import { inParts } from "./journalRepository.ts"

const tokens = ["prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens"]

export const sumNames = ["requests", ...tokens, "cost", "upstream_cost"]

const hour = `admitted_at - admitted_at % ${hourMs}`

/** The rows of a range of the ledger, added up by hour and these columns. `range`: a condition. */
const finest = (sql: SqlClient, columns: ReadonlyArray<GroupColumn>, range: Fragment): Fragment => sql`
  SELECT ${sql.literal(`${[`${hour} AS start`, ...columns].join(", ")}, SUM(${unlessLost("1")}) AS requests,
    ${tokens.map((name) => `SUM(${unlessLost(name)}) AS ${name}`).join(", ")},
    SUM(cost) AS cost, SUM(upstream_cost) AS upstream_cost`)}
  FROM ledger WHERE ${range} GROUP BY ${sql.literal([hour, ...columns].join(", "))}`

/** Of rows that the sums by hour do not have yet, by hour: a SELECT with `start`, these columns and `sumNames`. */
export const unsummedHours = (sql: SqlClient, of: SumsOf, more: Fragment): Fragment =>
  finest(sql, columnsOfSums[of], sql`seq > (SELECT summed_to FROM hourly_ledger) AND ${more}`)

/** Where sums of a kind are. */
interface Place {
  readonly table: string
  /** Of the groups of all kinds in the table. */
  readonly columns: ReadonlyArray<GroupColumn>
  /** The value of the column `kind`; "": there is none. */
  readonly kind: string
}

const inHourlySums = { table: "hourly_sums", columns: ["app_url", "app_title", "model", "host", "provider"] } as const

export const placeOfSums = (of: SumsOf, interval: "hour" | "day"): Place => {
  if (of === "user") return { table: "user_sums", columns: ["user_hash"], kind: interval }
  if (of === "key") return { table: "hourly_keys", columns: columnsOfSums.key, kind: "" }
  return { ...inHourlySums, kind: of }
}

/** Sums of a kind that are added, from the rows added up by hour. `start`: an expression. */
interface Part {
  readonly of: SumsOf
  readonly place: Place
  readonly start: string
}

const partsByTable: ReadonlyArray<ReadonlyArray<Part>> = [
  (["all", "host", "app"] as const).map((of) => ({ of, place: placeOfSums(of, "hour"), start: "start" })),
  [{ of: "key", place: placeOfSums("key", "hour"), start: "start" }],
  [
    { of: "user", place: placeOfSums("user", "hour"), start: "start" },
    { of: "user", place: placeOfSums("user", "day"), start: `start - start % ${dayMs}` },
  ],
]

/** A SELECT with the columns of the table. */
const selectOf = ({ of, place: { columns, kind }, start }: Part): string => {
  const own = columns.filter((name) => columnsOfSums[of].includes(name))
  const selected = [
    ...(kind === "" ? [] : [`'${kind}' AS kind`]),
    `${start} AS start`,
    ...columns.map((name) => (own.includes(name) ? name : `'' AS ${name}`)),
    ...sumNames.map((name) => `SUM(${name}) AS ${name}`),
  ]
  return `SELECT ${selected.join(", ")} FROM finest GROUP BY ${[start, ...own].join(", ")}`
}

const primaryKeyOf = ({ columns, kind }: Place): string =>
  [...(kind === "" ? [] : ["kind"]), "start", ...columns].join(", ")

/** The end of a statement that adds what the common table expression `finest` has. */
const additionOf = (parts: ReadonlyArray<Part>, { table, ...place }: Place): string => {
  const key = primaryKeyOf({ table, ...place })
  return `INSERT INTO ${table} (${key}, ${sumNames.join(", ")})
    SELECT * FROM (${parts.map(selectOf).join(" UNION ALL ")}) AS parts WHERE true
    ON CONFLICT (${key}) DO UPDATE SET
    ${sumNames.map((name) => `${name} = ${table}.${name} + excluded.${name}`).join(", ")}`
}

/** Answers whose time to the first token counts: those that came as streams, to their end. */
export const hasFirstToken = "streamed AND outcome = 'finished'"

/** So many new rows are left to readers. To add them up takes them some milliseconds, and more at once are cheaper to add. */
const leastAdded = 2048

/** Rows that are added at once. The thread of SQLite takes some 15 ms for them, and commits wait meanwhile. */
const mostAdded = 2048

/**
 * The last rows whose times are compared with the clock before anything is removed: a clock that is wrong for a moment, or that of one
 * gateway of several, removes nothing.
 */
const recentRows = 255

interface State {
  readonly from: number
  readonly to: number
  /** Unix milliseconds: hours of before are removed. */
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

interface HostCounts {
  readonly of: Omit<CountsRow, "counts">
  readonly counts: FirstTokenCounts
}

const placeOf = ({ kind, start, model, host, provider }: Omit<CountsRow, "counts">): string =>
  JSON.stringify([kind, start, model, host, provider])

/** Adds to the times to the first token. */
const addFirstTokens = (sql: SqlClient, range: Fragment) =>
  Effect.gen(function* () {
    const found = yield* sql<LatencyRow>`SELECT admitted_at AS at, model, host, provider, latency_ms AS ms
      FROM ledger WHERE ${range} AND ${sql.literal(hasFirstToken)}`
    if (found.length === 0) return
    const hours = new Map<string, HostCounts>()
    for (const { at, ms, ...host } of found) {
      const start = hourOf(at)
      const place = `${start}\n${host.model}\n${host.host}\n${host.provider}`
      const sum = hours.get(place) ?? { of: { kind: "hour", start, ...host }, counts: new FirstTokenCounts() }
      sum.counts.count(ms)
      hours.set(place, sum)
    }
    const sums = new Map<string, HostCounts>()
    for (const { of, counts } of hours.values()) {
      sums.set(placeOf(of), { of, counts })
      const day = { ...of, kind: "day", start: of.start - (of.start % dayMs) }
      const ofDay = sums.get(placeOf(day)) ?? { of: day, counts: new FirstTokenCounts() }
      ofDay.counts.add(counts.all)
      sums.set(placeOf(day), ofDay)
    }
    const starts = new Set(Array.from(sums.values(), ({ of }) => of.start))
    const before =
      yield* sql<CountsRow>`SELECT * FROM first_tokens WHERE ${sql.in("kind", ["hour", "day"])} AND ${sql.in("start", [...starts])}`
    for (const one of before) sums.get(placeOf(one))?.counts.addWritten(one.counts)
    const rows = Array.from(sums.values(), ({ of, counts }) => ({ ...of, counts: writtenFirstTokens(counts.all) }))
    for (const part of inParts(rows)) {
      yield* sql`INSERT INTO first_tokens ${sql.insert(part)}
        ON CONFLICT (kind, start, model, host, provider) DO UPDATE SET counts = excluded.counts`
    }
  })

/** When the last rows of the ledger before a number, that one included, were settled: the latest time, since a clock may have been behind. */
const settledUpTo = (sql: SqlClient, seq: number) =>
  sql<{ readonly at: number | null }>`SELECT MAX(settled_at) AS at FROM (
    SELECT settled_at FROM ledger WHERE seq <= ${seq} ORDER BY seq DESC LIMIT ${recentRows}
  ) AS recent`

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
    const since = Math.max(pruned, last?.at == null ? 0 : hourOf(last.at + 2 * hourMs))
    return since === 0 ? null : since
  })

export const makeHourlySums = (sql: SqlClient): Pick<AnalyticsRepository, "addUp" | "prune"> => {
  const stateNow = Effect.map(
    sql<State>`SELECT summed_from AS "from", h.summed_to AS "to", pruned_to AS pruned, d.summed_to AS days
      FROM hourly_ledger h CROSS JOIN summed_ledger d`,
    ([state]) => state,
  )

  /** `above`: the number before the first row. Rows of hours that are removed are not added. */
  const add = ([above, upTo]: Range, taken: ReadonlyArray<Pick<State, "pruned">>) =>
    Effect.gen(function* () {
      const [state] = taken
      if (state === undefined) return true
      const range = sql`seq > ${above} AND seq <= ${upTo} AND admitted_at >= ${state.pruned}`
      for (const parts of partsByTable) {
        const [first] = parts
        if (first === undefined) continue
        const rows = finest(sql, first.place.columns, range)
        yield* sql`WITH finest AS MATERIALIZED (${rows}) ${sql.literal(additionOf(parts, first.place))}`
      }
      yield* addFirstTokens(sql, range)
      return true
    })

  // Another process that does the same waits for the row of the state, and then finds nothing to do.
  const addNew = ({ to, days }: State) => {
    const upTo = Math.min(days, to + mostAdded)
    const taken = sql<Pick<State, "pruned">>`
      UPDATE hourly_ledger SET summed_to = ${upTo} WHERE summed_to = ${to} RETURNING pruned_to AS pruned`
    return sql.withTransaction(Effect.flatMap(taken, (state) => add([to, upTo], state)))
  }

  const addOld = ({ from }: State) => {
    const above = Math.max(0, from - mostAdded)
    const taken = sql<Pick<State, "pruned">>`
      UPDATE hourly_ledger SET summed_from = ${above} WHERE summed_from = ${from} RETURNING pruned_to AS pruned`
    return sql.withTransaction(Effect.flatMap(taken, (state) => add([above, from], state)))
  }

  const addSome = (now: number) =>
    Effect.gen(function* () {
      const state = yield* stateNow
      if (state === undefined) return false
      if (state.days - state.to >= leastAdded) return yield* addNew(state)
      if (state.from === 0) return false
      const [last] = yield* settledUpTo(sql, state.from)
      return (last?.at ?? 0) >= now - keptHoursMs ? yield* addOld(state) : false
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

  /** When most of the last rows were settled, by whatever clocks. */
  const usualTime = sql<{ readonly at: number }>`WITH recent AS (
      SELECT settled_at AS at FROM ledger ORDER BY seq DESC LIMIT ${recentRows}
    ) SELECT at FROM recent ORDER BY at LIMIT 1 OFFSET (SELECT COUNT(*) / 2 FROM recent)`

  /** Where hours were removed that cannot be past their time, because a clock was ahead: from that day on, all is added anew. */
  const addAgain = (since: number) =>
    Effect.gen(function* () {
      const taken = yield* sql`UPDATE hourly_ledger SET summed_from = summed_to, pruned_to = ${since}
        WHERE pruned_to > ${since + dayMs} RETURNING pruned_to`
      if (taken.length === 0) return
      for (const table of ["hourly_sums", "hourly_keys", "user_sums"]) yield* sql`DELETE FROM ${sql.literal(table)}`
      yield* sql`DELETE FROM first_tokens WHERE start >= ${since}`
    })

  const removeSome = (now: number, limit: number) =>
    Effect.gen(function* () {
      const [recent] = yield* usualTime
      const times = [now, recent?.at ?? now]
      const before = hourOf(Math.min(...times) - keptHoursMs)
      // First, so that nobody is told a part of an hour.
      yield* sql`UPDATE hourly_ledger SET pruned_to = ${before} WHERE pruned_to < ${before}`
      const since = Math.ceil((Math.max(...times) - keptHoursMs) / dayMs) * dayMs
      yield* sql.withTransaction(addAgain(since))
      const isOld = sql`start < ${before}`
      const ofKinds = (kinds: ReadonlyArray<string>) => sql`${sql.in("kind", kinds)} AND ${isOld}`
      const counts = [
        yield* removed("hourly_sums", primaryKeyOf(placeOfSums("all", "hour")), ofKinds(["all", "host", "app"]), limit),
        yield* removed("hourly_keys", primaryKeyOf(placeOfSums("key", "hour")), isOld, limit),
        yield* removed("user_sums", primaryKeyOf(placeOfSums("user", "hour")), ofKinds(["hour", "day"]), limit),
        yield* removed("first_tokens", "kind, start, model, host, provider", ofKinds(["hour"]), limit),
        yield* removed("failures", "kind, start, key_id, model, host, class", ofKinds(["hour"]), limit),
      ]
      return counts.includes(limit)
    })

  return {
    addUp: (now) => query(addSome(now)),
    prune: (now, limit) => query(removeSome(now, limit)),
  }
}
