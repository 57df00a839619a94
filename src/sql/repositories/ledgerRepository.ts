/** The ledger in a database, in SQL that SQLite and PostgreSQL share. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { priceBases } from "../../domain/hosts/Host.ts"
import { type KeyId, requestOfGeneration } from "../../domain/ids.ts"
import { dayMs, type LimitReset, limitResets, type Spend, windowStart } from "../../domain/keys/limitWindows.ts"
import { waivers } from "../../domain/money/Charge.ts"
import type { LedgerRow } from "../../services/storage/ledger.ts"
import type { KeySum, LedgerRepository, ProviderSum, StoredRow } from "../../services/storage/Storage.ts"
import type { StorageUnavailable } from "../../services/storage/StorageUnavailable.ts"
import { firstRowOf, query, rowsOf } from "../tables/query.ts"
import {
  castToText,
  column,
  flag,
  keyIdText,
  money,
  optionalJson,
  originalText,
  storedText,
  table,
  text,
} from "../tables/table.ts"

const count = Schema.optionalWith(Schema.Number, { exact: true })

const RareUsage = Schema.Struct({
  cachedExplicitTokens: count,
  cacheWrite1hTokens: count,
  cachedAudioTokens: count,
  promptAudioTokens: count,
  promptImageTokens: count,
  promptVideoTokens: count,
  completionImageTokens: count,
  completionAudioTokens: count,
  webSearches: count,
  searchUnits: count,
  images: count,
  unchargedAtMost: count,
  pricedOtherwise: count,
})

const columns = {
  requestId: text("request_id"),
  generationId: text("generation_id"),
  key: keyIdText("key_id"),
  model: text("model"),
  host: text("host"),
  provider: text("provider"),
  cost: money("cost"),
  upstreamCost: money("upstream_cost"),
  promptTokens: column("prompt_tokens", Schema.Number),
  completionTokens: column("completion_tokens", Schema.Number),
  cachedTokens: column("cached_tokens", Schema.Number),
  cacheWriteTokens: column("cache_write_tokens", Schema.Number),
  reasoningTokens: column("reasoning_tokens", Schema.Number),
  rareUsage: optionalJson("rare_usage", RareUsage),
  estimated: flag("estimated"),
  streamed: flag("streamed"),
  finishReason: text("finish_reason"),
  outcome: column("outcome", Schema.Literal("finished", "host-failed", "cut", "caller-gone", "lost", "crashed")),
  admittedAt: column("admitted_at", Schema.Number),
  settledAt: column("settled_at", Schema.Number),
  latencyMs: column("latency_ms", Schema.Number),
  durationMs: column("duration_ms", Schema.Number),
  appTitle: text("app_title"),
  appUrl: text("app_url"),
  strategy: text("strategy"),
  seed: column("seed", Schema.Number),
  priceBasis: column("price_basis", Schema.Literal(...priceBases, "")),
  priceVersion: column("price_version", Schema.NullOr(Schema.Number)),
  waived: column("waived", Schema.NullOr(Schema.Literal(...waivers))),
  form: column("form", Schema.String),
  operation: column("operation", Schema.String),
  providerKey: column("provider_key", Schema.String),
  callerRequestId: text("caller_request_id"),
  userHash: text("user_hash"),
  routed: text("routed"),
}

export const ledger = table<LedgerRow>(columns)

const storedLedger = table<StoredRow>({ ...columns, seq: column("seq", Schema.Number) })

const sumColumns = {
  source: column("source", Schema.Literal("rows", "spend")),
  window: column("window_kind", Schema.Literal("total", ...limitResets)),
  start: column("window_start", Schema.Number),
  amount: money("amount"),
}

const keySums = table<KeySum>({ ...sumColumns, key: keyIdText("key_id") })
const providerSums = table<ProviderSum>({ ...sumColumns, providerKey: column("provider_key", Schema.String) })

/** What a key has spent in one window. */
interface WindowSum {
  readonly key: string
  readonly kind: keyof Spend
  readonly amount: string
}

const nothingSpent: Spend = { total: 0n, daily: 0n, weekly: 0n, monthly: 0n }

/** By key, as it is stored. */
const spendsIn = (rows: ReadonlyArray<WindowSum>): ReadonlyMap<string, Spend> => {
  const sums = new Map<string, Spend>()
  for (const { key, kind, amount } of rows) {
    sums.set(key, { ...(sums.get(key) ?? nothingSpent), [kind]: BigInt(amount) })
  }
  return sums
}

/** Rows of the whole ledger. */
export const ledgerLength = (sql: SqlClient): Effect.Effect<number, StorageUnavailable> =>
  Effect.map(
    query(sql<{ readonly rows: number }>`SELECT COUNT(*) AS rows FROM ledger`),
    ([counted]) => counted?.rows ?? 0,
  )

type Reads<Name extends keyof LedgerRepository> = Pick<LedgerRepository, Name>

/** What keys and keys of providers have spent in the windows that contain a time. */
const makeSpendReads = (sql: SqlClient): Reads<"spend" | "spendOf" | "providerSpend" | "providerSpends"> => {
  /** Reads the sums of a key, which `column` of that table names. */
  const spendIn = (sums: "spend" | "provider_spend", column: "key_id" | "provider_key") => {
    const sumOf = (key: string, kind: string, start: number) =>
      sql`(SELECT ${sql.literal(castToText("amount"))} FROM ${sql.literal(sums)}
        WHERE ${sql.literal(column)} = ${storedText(key)} AND window_kind = ${kind} AND window_start = ${start})`
    return (key: string, now: number) =>
      Effect.map(
        query(sql<Record<LimitReset | "total", string | null>>`SELECT
          ${sumOf(key, "total", 0)} AS total,
          ${sumOf(key, "daily", windowStart("daily", now))} AS daily,
          ${sumOf(key, "weekly", windowStart("weekly", now))} AS weekly,
          ${sumOf(key, "monthly", windowStart("monthly", now))} AS monthly`),
        ([row]): Spend => ({
          total: BigInt(row?.total ?? 0),
          daily: BigInt(row?.daily ?? 0),
          weekly: BigInt(row?.weekly ?? 0),
          monthly: BigInt(row?.monthly ?? 0),
        }),
      )
  }
  const isIn = (now: number) => sql`((window_kind = 'total' AND window_start = 0)
      OR (window_kind = 'daily' AND window_start = ${windowStart("daily", now)})
      OR (window_kind = 'weekly' AND window_start = ${windowStart("weekly", now)})
      OR (window_kind = 'monthly' AND window_start = ${windowStart("monthly", now)}))`
  const spendOf = (keys: ReadonlyArray<KeyId>, now: number) => {
    const found = query(sql<WindowSum>`
      SELECT key_id AS "key", window_kind AS kind, ${sql.literal(castToText("amount"))} AS amount FROM spend
        WHERE ${sql.in("key_id", keys.map(storedText))} AND ${isIn(now)}`)
    return Effect.map(found, (rows) => {
      const sums = spendsIn(rows)
      return keys.map((key) => sums.get(storedText(key)) ?? nothingSpent)
    })
  }
  return {
    spendOf: (keys, now) => (keys.length === 0 ? Effect.succeed([]) : spendOf(keys, now)),
    spend: spendIn("spend", "key_id"),
    providerSpend: spendIn("provider_spend", "provider_key"),
    providerSpends: (now) =>
      Effect.map(
        query(sql<WindowSum>`
          SELECT provider_key AS "key", window_kind AS kind, ${sql.literal(castToText("amount"))} AS amount
            FROM provider_spend WHERE ${isIn(now)}`),
        (rows) =>
          [...spendsIn(rows)]
            .map(([key, spend]) => ({ providerKey: originalText(key), spend }))
            .toSorted((a, b) => (a.providerKey < b.providerKey ? -1 : 1)),
      ),
  }
}

const makeRowReads = (sql: SqlClient): Reads<"find" | "rows" | "generation" | "page"> => ({
  find: (requestId) =>
    firstRowOf(
      ledger,
      sql`SELECT ${sql.literal(ledger.selection)} FROM ledger WHERE request_id = ${storedText(requestId)}`,
    ),
  rows: (key, limit) =>
    rowsOf(
      ledger,
      sql`SELECT ${sql.literal(ledger.selection)} FROM ledger
        WHERE key_id = ${storedText(key)} ORDER BY admitted_at DESC, seq DESC LIMIT ${limit}`,
    ),
  generation: (id) => {
    const request = requestOfGeneration(id)
    if (request === undefined) return Effect.succeed(undefined)
    const narrowed = sql.onDialectOrElse({
      // It has an index of its own, since the order of text there depends on the server's language.
      pg: () => sql.literal(""),
      // The index of request ids finds it; "~" comes after all characters of ids.
      orElse: () => sql`AND request_id > ${request} AND request_id < ${`${request}~`}`,
    })
    return firstRowOf(
      ledger,
      sql`SELECT ${sql.literal(ledger.selection)} FROM ledger
        WHERE generation_id = ${storedText(id)} AND outcome <> 'lost' ${narrowed}`,
    )
  },
  page: (after, limit) =>
    rowsOf(
      storedLedger,
      sql`SELECT ${sql.literal(storedLedger.selection)} FROM ledger WHERE seq > ${after} ORDER BY seq LIMIT ${limit}`,
    ),
})

/** The sums of rows, and those that were kept along with them: `reconcile` compares the two. */
const makeSumReads = (sql: SqlClient): Reads<"keySums" | "providerSums"> => ({
  // One statement, since several could see several states of the database while a gateway writes.
  keySums: (after, most) => {
    const isOfPage = sql`key_id > ${storedText(after)} AND COALESCE(key_id <= (SELECT key_id FROM last), TRUE)`
    return rowsOf(
      keySums,
      sql`WITH last AS (
        SELECT key_id FROM spend WHERE key_id > ${storedText(after)} ORDER BY key_id LIMIT 1 OFFSET ${most}
      )
      SELECT ${sql.literal(keySums.selection)} FROM (
        SELECT key_id, 'rows' AS source, 'daily' AS window_kind, admitted_at - admitted_at % ${dayMs} AS window_start,
          SUM(cost) AS amount
        FROM ledger WHERE ${isOfPage} GROUP BY key_id, 4
        UNION ALL
        SELECT key_id, 'spend', window_kind, window_start, amount FROM spend WHERE ${isOfPage}
      ) known ORDER BY key_id`,
    )
  },
  providerSums: () =>
    rowsOf(
      providerSums,
      sql`SELECT ${sql.literal(providerSums.selection)} FROM (
        SELECT provider_key, 'rows' AS source, 'daily' AS window_kind, admitted_at - admitted_at % ${dayMs} AS window_start,
          SUM(upstream_cost) AS amount
        FROM ledger WHERE provider_key <> '' GROUP BY provider_key, 4
        UNION ALL
        SELECT provider_key, 'spend', window_kind, window_start, amount FROM provider_spend
      ) known`,
    ),
})

/** The ledger without what is specific to each database. */
export const makeLedgerReads = (sql: SqlClient): Omit<LedgerRepository, "append" | "takesRequests"> => ({
  ...makeSpendReads(sql),
  ...makeRowReads(sql),
  ...makeSumReads(sql),
})
