/** Sums of the ledger by day in a database, in SQL that SQLite and PostgreSQL share. Written by `dailySums.ts`. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { DaySum } from "../domain/Activity.ts"
import type { ActivityRepository } from "../services/Storage.ts"
import { type SumKind, unsummedSums } from "./dailySums.ts"
import { query, rowsOf } from "./query.ts"
import { type Column, castToText, column, table, text } from "./table.ts"

// PostgreSQL sums integers as decimals.
const sum = (name: string) => ({ ...column(name, Schema.Number), expression: `CAST(SUM(${name}) AS BIGINT)` })
const moneySum = (name: string) => ({ ...column(name, Schema.BigInt), expression: castToText(`SUM(${name})`) })

const sumsBy = (key: Column<string>) =>
  table<DaySum>({
    day: column("day", Schema.Number),
    key,
    appUrl: text("app_url"),
    appTitle: text("app_title"),
    model: text("model"),
    host: text("host"),
    provider: text("provider"),
    requests: sum("requests"),
    promptTokens: sum("prompt_tokens"),
    completionTokens: sum("completion_tokens"),
    cachedTokens: sum("cached_tokens"),
    cacheWriteTokens: sum("cache_write_tokens"),
    reasoningTokens: sum("reasoning_tokens"),
    cost: moneySum("cost"),
    upstreamCost: moneySum("upstream_cost"),
  })

const byKey = sumsBy(text("key_id"))
const ofAllKeys = sumsBy({ ...text("key_id"), expression: "''" })

/** The sums that are kept, and those of the rows that are not in them yet. */
const all = (kind: SumKind): string =>
  `(SELECT * FROM daily_sums WHERE kind = '${kind}' UNION ALL ${unsummedSums(kind)}) AS sums`

export const makeActivityRepository = (sql: SqlClient, installation: string): ActivityRepository => ({
  sums: ({ days, by, key, creator }) => {
    // The sums of keys have no app, and those of apps no key.
    const kind = by === "host" && (key !== undefined || creator !== undefined) ? "key" : by
    const read = by === "key" ? byKey : ofAllKeys
    const none = sql.literal("")
    const ofKey = key === undefined ? none : sql`AND key_id = ${key}`
    const ofCreator =
      creator === undefined
        ? none
        : sql`AND key_id IN (SELECT id FROM keys WHERE COALESCE(creator_user_id, ${installation}) = ${creator})`
    const members = ["model", "host", "provider", ...(by === "key" ? ["key_id"] : []), "app_url", "app_title"].join(
      ", ",
    )
    return rowsOf(
      read,
      sql`SELECT ${sql.literal(read.selection)} FROM ${sql.literal(all(kind))}
        WHERE ${sql.in("day", days)} ${ofKey} ${ofCreator}
        GROUP BY day, ${sql.literal(members)} ORDER BY day DESC, ${sql.literal(members)}`,
    )
  },
  total: () =>
    Effect.map(
      query(
        sql<{ readonly total: string | null }>`SELECT ${sql.literal(castToText("SUM(cost)"))} AS total
          FROM ${sql.literal(all("day"))}`,
      ),
      ([row]) => BigInt(row?.total ?? 0),
    ),
})
