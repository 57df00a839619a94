/**
 * Keeps the sums of the ledger by UTC day, so that reading them does not depend on the number of rows. To update them with
 * each row would double the cost of a commit. So they cover the rows up to `summed_to`, which is advanced by some hundred
 * rows at a time, in the transaction of a commit; readers add the few rows after it. See docs/decisions/0020-sums-by-day.md.
 */
import type { Database } from "bun:sqlite"
import { dayMs } from "../../domain/keys/limitWindows.ts"

/** What the sums are of, in addition to the day: nothing, model and host, and a key or an app. */
export type SumKind = "day" | "host" | "key" | "app"

const groupOf: Readonly<Record<SumKind, ReadonlySet<string>>> = {
  day: new Set([]),
  host: new Set(["model", "host", "provider"]),
  key: new Set(["model", "host", "provider", "key_id"]),
  app: new Set(["model", "host", "provider", "app_url", "app_title"]),
}

const groupColumns = ["key_id", "app_url", "app_title", "model", "host", "provider"]

const place = ["kind", "day", ...groupColumns].join(", ")

const tokens = ["prompt_tokens", "completion_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens"]

const sumNames = ["requests", ...tokens, "cost", "upstream_cost"]

const names = [place, ...sumNames].join(", ")

// The request of a lost call has another row, which counts.
export const unlessLost = (value: string) => `CASE outcome WHEN 'lost' THEN 0 ELSE ${value} END`

/** The rows of a range of the ledger, added up by day and all columns of groups. */
const finest = (range: string): string =>
  `SELECT admitted_at - admitted_at % ${dayMs} AS day, ${groupColumns.join(", ")}, SUM(${unlessLost("1")}) AS requests,
    ${tokens.map((name) => `SUM(${unlessLost(name)}) AS ${name}`).join(", ")},
    SUM(cost) AS cost, SUM(upstream_cost) AS upstream_cost
  FROM ledger WHERE ${range} GROUP BY admitted_at - admitted_at % ${dayMs}, ${groupColumns.join(", ")}`

/** The sums by day, added up further: a SELECT with the columns of `daily_sums`. */
const sumsOf = (kind: SumKind, source: string): string =>
  `SELECT '${kind}' AS kind, day, ${groupColumns.map((name) => (groupOf[kind].has(name) ? name : `'' AS ${name}`)).join(", ")},
    ${sumNames.map((name) => `SUM(${name}) AS ${name}`).join(", ")}
  FROM ${source} GROUP BY ${["day", ...groupOf[kind]].join(", ")}`

/** The rows that the sums do not have yet. */
const unsummed = "seq > (SELECT summed_to FROM summed_ledger)"

/** The sums of those: a SELECT with the columns of `daily_sums`. */
export const unsummedSums = (kind: SumKind): string => sumsOf(kind, `(${finest(unsummed)}) AS finest`)

const kinds: ReadonlyArray<SumKind> = ["day", "host", "key", "app"]

/** A statement that adds the unsummed rows to the sums. */
export const advance = `WITH finest AS MATERIALIZED (${finest(unsummed)})
  INSERT INTO daily_sums (${names})
  SELECT * FROM (${kinds.map((kind) => sumsOf(kind, "finest")).join(" UNION ALL ")}) AS parts WHERE true
  ON CONFLICT (${place}) DO UPDATE SET
  ${sumNames.map((name) => `${name} = daily_sums.${name} + excluded.${name}`).join(", ")}`

/** A statement that makes all rows count as summed. */
export const advanced = "UPDATE summed_ledger SET summed_to = (SELECT MAX(seq) FROM ledger)"

/** So many rows are left to readers. With a row per group, to add them up takes 5 ms. */
export const mostUnsummed = 256

/**
 * Makes a function that counts rows, and advances the sums when there are enough. Call it within the transaction that adds
 * the rows. Where sums would not fit into their columns they stay as they are, and the ledger goes on without them.
 */
export const makeCountRows = (db: Database): ((rows: number) => void) => {
  const begin = db.query("SAVEPOINT sums")
  const add = db.query(advance)
  const done = db.query(advanced)
  const undo = db.query("ROLLBACK TO sums")
  const end = db.query("RELEASE sums")

  const tryToAdvance = (): boolean => {
    begin.run()
    try {
      add.run()
      done.run()
      return true
    } catch (error) {
      // After some errors, such as a full disk, the caller's transaction is gone too.
      if (!db.inTransaction) throw error
      undo.run()
      return false
    } finally {
      if (db.inTransaction) end.run()
    }
  }

  let unsummedRows = db.query<{ n: number }, []>(`SELECT COUNT(*) AS n FROM ledger WHERE ${unsummed}`).get()?.n ?? 0
  let most = mostUnsummed
  return (rows) => {
    unsummedRows += rows
    if (unsummedRows < most) return
    if (tryToAdvance()) {
      unsummedRows = 0
      most = mostUnsummed
    } else {
      // The next attempt has all these rows to add up again, so it waits for as many more.
      most = unsummedRows * 2
    }
  }
}
