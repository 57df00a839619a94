/**
 * Appends ledger rows to PostgreSQL: one statement for a batch, so it is one transaction and one round trip. It goes to
 * the pool directly, without a fiber, since every paid answer waits for it.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schedule from "effect/Schedule"
import type { Pool } from "pg"
import { windowStart } from "../domain/Key.ts"
import type { LedgerRow, StorageUnavailable } from "../services/ledger.ts"
import type { StepRunner } from "../services/Steps.ts"
import { wait } from "../services/Steps.ts"
import type { LedgerRepository } from "../services/Storage.ts"
import { unavailable } from "./failure.ts"
import { ledger } from "./LedgerRepository.ts"

const columns = ledger.names.join(", ")

/**
 * $1: the rows as objects of column names. $2: [day, week, month] of each UTC day on which one was admitted. Only rows
 * that were inserted count in the sums. Sums are written in the order of their key, so that two batches at once do not
 * wait for each other in a circle.
 */
const statement = `
WITH added AS (
  INSERT INTO ledger (${columns})
    SELECT ${columns} FROM jsonb_populate_recordset(NULL::ledger, $1::jsonb) WITH ORDINALITY ORDER BY ordinality
    ON CONFLICT (request_id) DO NOTHING
    RETURNING key_id, cost, admitted_at - admitted_at % 86400000 AS day
), windows AS (
  SELECT (starts->>0)::bigint AS day, (starts->>1)::bigint AS week, (starts->>2)::bigint AS month
    FROM jsonb_array_elements($2::jsonb) AS starts
), sums AS (
  SELECT key_id, kind, start, SUM(cost)::bigint AS amount
    FROM added JOIN windows USING (day),
      LATERAL (VALUES ('total', 0::bigint), ('daily', day), ('weekly', week), ('monthly', month)) AS each(kind, start)
    WHERE cost > 0
    GROUP BY key_id, kind, start
)
INSERT INTO spend (key_id, window_kind, window_start, amount)
  SELECT key_id, kind, start, amount FROM sums ORDER BY key_id, kind, start
  ON CONFLICT (key_id, window_kind, window_start) DO UPDATE SET amount = spend.amount + EXCLUDED.amount`

const parametersOf = (rows: ReadonlyArray<LedgerRow>): [rows: string, windows: string] => {
  const days = new Set(rows.map(({ admittedAt }) => windowStart("daily", admittedAt)))
  const windows = Array.from(days, (day) => [day, windowStart("weekly", day), windowStart("monthly", day)])
  return [JSON.stringify(rows.map(ledger.columnsOf)), JSON.stringify(windows)]
}

/**
 * All rows or none. A batch whose connection breaks, or that meets a server that restarts, is tried again for `retryMs`;
 * `runner` runs that. It may have been committed already; then its rows are skipped. Callers wait meanwhile, and get
 * their answers when the server is back in time.
 */
export const makeAppend = (
  pool: Pool,
  runner: StepRunner,
  retryMs: number,
  countRows: (rows: number) => void,
): LedgerRepository["append"] => {
  const schedule = Schedule.upTo(Schedule.spaced("100 millis"), retryMs)
  const commit = (values: [string, string], resume: (exit: Exit.Exit<void, StorageUnavailable>) => void): void =>
    pool.query({ name: "append", text: statement, values }, (error: Error | null | undefined) =>
      resume(error == null ? Exit.void : Exit.fail(unavailable(error))),
    )
  return (rows) => {
    if (rows.length === 0) return Effect.void
    const values = parametersOf(rows)
    const again = Effect.retry(
      wait<void, StorageUnavailable>((resume) => commit(values, resume)),
      { schedule, while: ({ refused }) => refused !== true },
    ).pipe(Effect.tap(() => countRows(rows.length)))
    return wait((resume) =>
      commit(values, (exit) => {
        const failure = Exit.isFailure(exit) && exit.cause._tag === "Fail" ? exit.cause.error : undefined
        if (failure === undefined) countRows(rows.length)
        if (failure === undefined || failure.refused === true) resume(exit)
        else runner.effect(again, resume)
      }),
    )
  }
}
