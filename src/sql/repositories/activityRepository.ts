/** Sums of the ledger by day in a database, in SQL that SQLite and PostgreSQL share. Written by `dailySums.ts`. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { KeyId } from "../../domain/ids.ts"
import { type LimitReset, type Spend, windowStart } from "../../domain/keys/limitWindows.ts"
import type { DaySum } from "../../domain/money/activity.ts"
import type { ActivityRepository, Spender } from "../../services/storage/Storage.ts"
import { query } from "../tables/query.ts"
import { castToText, originalText, storedText } from "../tables/table.ts"
import { type SumKind, unsummedSums } from "./dailySums.ts"
import { makeSpanSums } from "./spanSums.ts"

/** A row as it is selected: money as text, since drivers return inexact numbers above 2^53. */
interface SelectedSum extends Omit<DaySum, "cost" | "upstreamCost"> {
  readonly cost: string
  readonly upstreamCost: string
}

const sum = (name: string, member: string) => `CAST(SUM(${name}) AS BIGINT) AS "${member}"`

// Not a `table`, whose Schema took two thirds as long as the query: an overview has a thousand rows and more. PostgreSQL sums
// integers as decimals, so they are cast.
const selection = [
  `day, app_url AS "appUrl", app_title AS "appTitle", model, host, provider`,
  sum("requests", "requests"),
  sum("prompt_tokens", "promptTokens"),
  sum("completion_tokens", "completionTokens"),
  sum("cached_tokens", "cachedTokens"),
  sum("cache_write_tokens", "cacheWriteTokens"),
  sum("reasoning_tokens", "reasoningTokens"),
  `${castToText("SUM(cost)")} AS cost, ${castToText("SUM(upstream_cost)")} AS "upstreamCost"`,
].join(", ")

const decoded = (row: SelectedSum): DaySum => ({
  ...row,
  appUrl: originalText(row.appUrl),
  appTitle: originalText(row.appTitle),
  cost: BigInt(row.cost),
  upstreamCost: BigInt(row.upstreamCost),
})

interface SpenderRow extends Readonly<Record<keyof Spend, string | null>> {
  readonly key: string
  readonly name: string | null
  /** Changes of the row of the audit log, if it was deleted. */
  readonly deletion: string | null
}

interface NameRow {
  readonly key: string
  readonly name: string | null
}

const readDeletion = Schema.decodeUnknownOption(
  Schema.parseJson(Schema.Struct({ name: Schema.Tuple(Schema.String, Schema.Unknown) })),
)

/** The name of a deleted key, by its row of the audit log. */
const nameAtDeletion = (deletion: string | null): string | undefined =>
  Option.getOrUndefined(readDeletion(deletion))?.name[0]

const spenderOf = ({ key, name, deletion, total, daily, weekly, monthly }: SpenderRow): Spender => {
  const deleted = name === null ? nameAtDeletion(deletion) : undefined
  const stored = name ?? deleted
  return {
    key: KeyId.make(originalText(key)),
    name: stored === undefined ? null : originalText(stored),
    isDeleted: deleted !== undefined,
    spend: {
      total: BigInt(total ?? 0),
      daily: BigInt(daily ?? 0),
      weekly: BigInt(weekly ?? 0),
      monthly: BigInt(monthly ?? 0),
    },
  }
}

/** The sums that are kept, and those of the rows that are not in them yet. */
const all = (kind: SumKind): string =>
  `(SELECT * FROM daily_sums WHERE kind = '${kind}' UNION ALL ${unsummedSums(kind)}) AS sums`

export const makeActivityRepository = (sql: SqlClient, installation: string): ActivityRepository => ({
  sums: ({ days, by, key, creator }) => {
    // The sums of keys have no app, and those of apps no key.
    const kind = by === "host" && (key !== undefined || creator !== undefined) ? "key" : by
    const ofWhich = by === "key" ? "key_id" : "''"
    const none = sql.literal("")
    const ofKey = key === undefined ? none : sql`AND key_id = ${storedText(key)}`
    const ofCreator =
      creator === undefined
        ? none
        : sql`AND key_id IN (SELECT id FROM keys WHERE COALESCE(creator_user_id, ${installation}) = ${storedText(creator)})`
    const members = ["model", "host", "provider", ...(by === "key" ? ["key_id"] : []), "app_url", "app_title"]
    // By characters, where PostgreSQL would go by its server's language.
    const byCharacter = sql.onDialectOrElse({ pg: () => ' COLLATE "C"', orElse: () => "" })
    const order = members.map((member) => `${member}${byCharacter}`).join(", ")
    return Effect.map(
      query(sql<SelectedSum>`SELECT ${sql.literal(ofWhich)} AS "key", ${sql.literal(selection)}
        FROM ${sql.literal(all(kind))}
        WHERE ${sql.in("day", days)} ${ofKey} ${ofCreator}
        GROUP BY day, ${sql.literal(members.join(", "))} ORDER BY day DESC, ${sql.literal(order)}`),
      (rows) => rows.map(decoded),
    )
  },
  spanSums: makeSpanSums(sql, installation),
  spenders: (after, limit, now) => {
    const amountOf = (kind: LimitReset) =>
      sql`(SELECT ${sql.literal(castToText("s.amount"))} FROM spend s WHERE s.key_id = t.key_id
        AND s.window_kind = ${kind} AND s.window_start = ${windowStart(kind, now)})`
    return Effect.map(
      query(sql<SpenderRow>`SELECT t.key_id AS "key", k.name AS name, (
            SELECT a.changes FROM audit a WHERE a.object = t.key_id AND a.action = 'key.delete' ORDER BY a.seq DESC LIMIT 1
          ) AS deletion, ${sql.literal(castToText("t.amount"))} AS total,
          ${amountOf("daily")} AS daily, ${amountOf("weekly")} AS weekly, ${amountOf("monthly")} AS monthly
        FROM spend t LEFT JOIN keys k ON k.id = t.key_id
        WHERE t.window_kind = 'total' AND t.window_start = 0 AND t.key_id > ${storedText(after)}
        ORDER BY t.key_id LIMIT ${limit}`),
      (rows) => rows.map(spenderOf),
    )
  },
  names: (keys) => {
    if (keys.length === 0) return Effect.succeed(new Map())
    const ids = keys.map(storedText)
    // A key that is deleted between the two is in the first.
    const present = query(sql<NameRow>`SELECT id AS "key", name FROM keys WHERE ${sql.in("id", ids)}`)
    const deleted = query(sql<NameRow>`SELECT object AS "key", changes AS name FROM audit
      WHERE action = 'key.delete' AND ${sql.in("object", ids)} ORDER BY seq`)
    return Effect.zipWith(present, deleted, (kept, gone) => {
      const names = gone.map(({ key, name }) => [key, nameAtDeletion(name)] as const)
      return new Map(
        [...names, ...kept.map(({ key, name }) => [key, name] as const)].flatMap(([key, name]) =>
          name == null ? [] : [[KeyId.make(originalText(key)), originalText(name)] as const],
        ),
      )
    })
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
