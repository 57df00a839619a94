/** Compares the sums of spend with the rows of the ledger, in SQL that SQLite and PostgreSQL share. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { StorageUnavailable } from "../services/ledger.ts"
import { type DaySum, differences, type KeptSum, type SumDifference } from "../services/sumDifferences.ts"
import { rowsOf } from "./query.ts"
import { castToText, column, money, table } from "./table.ts"

const days = table<DaySum>({
  key: column("key_id", Schema.String),
  day: column("day", Schema.Number),
  amount: { ...money("amount"), expression: castToText("SUM(cost)") },
})

const sums = table<KeptSum>({
  key: column("key_id", Schema.String),
  window: column("window_kind", Schema.Literal("total", "daily", "weekly", "monthly")),
  start: column("window_start", Schema.Number),
  amount: money("amount"),
})

/** Of one moment, when it runs in a transaction. Takes memory by keys and days, not by rows. */
export const reconcile = (
  sql: SqlClient,
): Effect.Effect<{ readonly rows: number; readonly differences: ReadonlyArray<SumDifference> }, StorageUnavailable> =>
  Effect.gen(function* () {
    const [counted] = yield* rowsOf(counts, sql`SELECT COUNT(*) AS rows FROM ledger`)
    const spent = yield* rowsOf(
      days,
      sql`SELECT ${sql.literal(days.selection)} FROM
        (SELECT key_id, cost, admitted_at - admitted_at % 86400000 AS day FROM ledger) AS rows_with_day
        GROUP BY key_id, day`,
    )
    const kept = yield* rowsOf(sums, sql`SELECT ${sql.literal(sums.selection)} FROM spend`)
    return { rows: counted?.rows ?? 0, differences: differences(spent, kept) }
  })

const counts = table<{ readonly rows: number }>({ rows: column("rows", Schema.Number) })
