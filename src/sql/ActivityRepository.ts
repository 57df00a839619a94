/** Sums of the ledger by day in a database, in SQL that SQLite and PostgreSQL share. Written by `dailySums.ts`. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { DaySum } from "../domain/Activity.ts"
import type { ActivityRepository } from "../services/Storage.ts"
import { query, rowsOf } from "./query.ts"
import { type Column, castToText, column, table } from "./table.ts"

const text = (name: string) => ({ ...column(name, Schema.String), expression: `daily_sums.${name}` })
const sum = (name: string) => ({ ...column(name, Schema.Number), expression: `SUM(daily_sums.${name})` })
const moneySum = (name: string) => ({
  ...column(name, Schema.BigInt),
  expression: castToText(`SUM(daily_sums.${name})`),
})

const sumsBy = (key: Column<string>) =>
  table<DaySum>({
    day: { ...column("day", Schema.Number), expression: "daily_sums.day" },
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

export const makeActivityRepository = (sql: SqlClient, installation: string): ActivityRepository => ({
  sums: ({ days, by, key, creator }) => {
    // The sums of keys have no app, and those of apps no key.
    const kind = by === "host" && (key !== undefined || creator !== undefined) ? "key" : by
    const read = by === "key" ? byKey : ofAllKeys
    const ofCreator =
      creator === undefined
        ? sql.literal("")
        : sql`JOIN keys ON keys.id = daily_sums.key_id AND COALESCE(keys.creator_user_id, ${installation}) = ${creator}`
    const ofKey = key === undefined ? sql.literal("") : sql`AND daily_sums.key_id = ${key}`
    const members = ["model", "host", "provider", ...(by === "key" ? ["key_id"] : []), "app_url", "app_title"]
    const order = members.map((name) => `daily_sums.${name}`).join(", ")
    return rowsOf(
      read,
      sql`SELECT ${sql.literal(read.selection)} FROM daily_sums ${ofCreator}
        WHERE daily_sums.kind = ${kind} AND ${sql.in("day", days)} ${ofKey}
        GROUP BY daily_sums.day, ${sql.literal(order)} ORDER BY daily_sums.day DESC, ${sql.literal(order)}`,
    )
  },
  total: () =>
    Effect.map(
      query(
        sql<{ readonly total: string | null }>`SELECT ${sql.literal(castToText("SUM(cost)"))} AS total FROM daily_sums
          WHERE kind = 'day'`,
      ),
      ([row]) => BigInt(row?.total ?? 0),
    ),
})
