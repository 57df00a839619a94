/** Slices of budgets in PostgreSQL: see the function `take_slice` in `postgresShared.ts`. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { BudgetWindow } from "../../domain/money/Slice.ts"
import type { SliceRepository } from "../../services/storage/SharedRepositories.ts"
import { query } from "../tables/query.ts"
import { storedText } from "../tables/table.ts"
import { notifyWanted } from "./postgresEvents.ts"

type GrantRow = Readonly<Record<"granted" | "spent" | "others", string>>

export const makeSliceRepository = (sql: SqlClient): SliceRepository => {
  const ofProcess = (process: string, { key, window, start }: BudgetWindow) =>
    sql`key_id = ${storedText(key)} AND window_kind = ${window} AND window_start = ${start} AND process = ${process}`
  return {
    take: (process, { key, window, start }, limit, need) =>
      Effect.map(
        query(
          sql<GrantRow>`SELECT granted::text, spent::text, others::text
            FROM take_slice(${storedText(key)}, ${window}, ${start}, ${process}, ${limit.toString()}, ${need.toString()})`,
        ),
        ([grant]) =>
          grant && { granted: BigInt(grant.granted), spent: BigInt(grant.spent), others: BigInt(grant.others) },
      ),
    // By a difference, so that it does no harm when its connection broke and it runs after a later `take`.
    giveBack: (process, budget, amount) =>
      Effect.asVoid(
        query(
          sql`UPDATE slices SET amount = GREATEST(0, amount - ${amount.toString()}::bigint)
            WHERE ${ofProcess(process, budget)}`,
        ),
      ),
    kept: (process, budget) =>
      Effect.map(
        query(sql<{ readonly amount: string }>`SELECT amount::text FROM slices WHERE ${ofProcess(process, budget)}`),
        ([slice]) => BigInt(slice?.amount ?? 0),
      ),
    want: (process, budget) => Effect.asVoid(query(notifyWanted(sql, process, budget))),
  }
}
