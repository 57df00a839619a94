/**
 * Keeps the sums of the ledger by UTC day, so that reading them does not depend on the number of rows. They are written
 * with the rows, in one transaction. See docs/decisions/0020-sums-by-day.md.
 */
import type { Database } from "bun:sqlite"
import { windowStart } from "../domain/Key.ts"
import type { LedgerRow } from "../services/ledger.ts"
import { ledger } from "./LedgerRepository.ts"
import type { Stored } from "./table.ts"

/** A row as `encodeRows` writes it: its values in the order of the table's columns. */
export type EncodedRow = ReadonlyArray<Stored>

const placeOf = (member: keyof LedgerRow): number => ledger.members.indexOf(member)
const admittedAt = placeOf("admittedAt")
const outcomeAt = placeOf("outcome")
const groupedAt = (["key", "appUrl", "appTitle", "model", "host", "provider"] as const).map(placeOf)
const tokensAt = (
  ["promptTokens", "completionTokens", "cachedTokens", "cacheWriteTokens", "reasoningTokens"] as const
).map(placeOf)
const costsAt = (["cost", "upstreamCost"] as const).map(placeOf)

/** The rows of one day, key, app, model and host in one batch. */
interface Group {
  /** The day, and the values at `groupedAt`. */
  readonly of: ReadonlyArray<Stored>
  requests: number
  readonly tokens: Array<number>
  readonly costs: Array<bigint>
}

const groupsOf = (rows: Iterable<EncodedRow>): Iterable<Group> => {
  const groups = new Map<string, Group>()
  for (const row of rows) {
    const of = [windowStart("daily", Number(row[admittedAt])), ...groupedAt.map((at) => row[at] ?? "")]
    const name = JSON.stringify(of)
    const group = groups.get(name) ?? { of, requests: 0, tokens: tokensAt.map(() => 0), costs: costsAt.map(() => 0n) }
    groups.set(name, group)
    costsAt.forEach((at, n) => {
      group.costs[n] = (group.costs[n] ?? 0n) + BigInt(String(row[at]))
    })
    // Its request has another row, which counts.
    if (row[outcomeAt] === "lost") continue
    group.requests += 1
    tokensAt.forEach((at, n) => {
      group.tokens[n] = (group.tokens[n] ?? 0) + Number(row[at])
    })
  }
  return groups.values()
}

const names = ["kind", "day", "key_id", "app_url", "app_title", "model", "host", "provider"]
const sums = [
  "requests",
  "prompt_tokens",
  "completion_tokens",
  "cached_tokens",
  "cache_write_tokens",
  "reasoning_tokens",
  "cost",
  "upstream_cost",
]

/** ?1 the day, ?2 to ?7 key, address and title of the app, model, host, provider; from ?8 on the sums. */
const values = sums.map((_, n) => `?${n + 8}`).join(", ")

const addGroup = `INSERT INTO daily_sums (${[...names, ...sums].join(", ")}) VALUES
  ('day', ?1, '', '', '', '', '', '', ${values}),
  ('host', ?1, '', '', '', ?5, ?6, ?7, ${values}),
  ('key', ?1, ?2, '', '', ?5, ?6, ?7, ${values}),
  ('app', ?1, '', ?3, ?4, ?5, ?6, ?7, ${values})
  ON CONFLICT (${names.join(", ")}) DO UPDATE SET
  ${sums.map((name) => `${name} = daily_sums.${name} + excluded.${name}`).join(", ")}`

/** Makes a function that adds rows to the sums. Call it within the transaction that adds them to the ledger. */
export const makeAddToDays = (db: Database): ((rows: Iterable<EncodedRow>) => void) => {
  const add = db.query<never, Array<Stored>>(addGroup)
  return (rows) => {
    for (const { of, requests, tokens, costs } of groupsOf(rows)) {
      add.run(...of, requests, ...tokens, ...costs.map(String))
    }
  }
}
