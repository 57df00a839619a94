/**
 * Appends ledger rows to PostgreSQL: one statement for a batch, so it is one transaction and one round trip. It goes to
 * the pool directly, without a fiber, since every paid answer waits for it.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schedule from "effect/Schedule"
import type { Pool } from "pg"
import { windowStart } from "../../domain/keys/limitWindows.ts"
import type { EffectRunner } from "../../services/request/EffectRunner.ts"
import { wait } from "../../services/request/EffectRunner.ts"
import type { NewRow } from "../../services/storage/ledger.ts"
import type { LedgerRepository } from "../../services/storage/Storage.ts"
import type { StorageUnavailable } from "../../services/storage/StorageUnavailable.ts"
import { unavailable } from "../failure.ts"
import { ledger } from "../repositories/ledgerRepository.ts"

const columns = ledger.names.join(", ")

/**
 * $1: the rows as objects of column names. $2: [day, week, month] of each UTC day on which one was admitted. Only rows
 * that were inserted count in the sums. Sums are written in the order of their key, so that two batches at once do not
 * wait for each other in a circle.
 */
const addition = `
WITH added AS (
  INSERT INTO ledger (${columns})
    SELECT ${columns} FROM jsonb_populate_recordset(NULL::ledger, $1::jsonb) WITH ORDINALITY ORDER BY ordinality
    ON CONFLICT (request_id) DO NOTHING
    RETURNING request_id, key_id, cost, provider_key, upstream_cost, admitted_at - admitted_at % 86400000 AS day
), windows AS (
  SELECT kind, day, start
    FROM jsonb_array_elements($2::jsonb) AS starts, LATERAL (SELECT (starts->>0)::bigint AS day) AS of_row,
      LATERAL (VALUES ('total', 0::bigint), ('daily', day), ('weekly', (starts->>1)::bigint),
        ('monthly', (starts->>2)::bigint)) AS each(kind, start)
), sums AS (
  SELECT key_id, kind, start, SUM(cost)::bigint AS amount
    FROM added JOIN windows USING (day) WHERE cost > 0 GROUP BY key_id, kind, start
)`

const booking = `
INSERT INTO spend (key_id, window_kind, window_start, amount)
  SELECT key_id, kind, start, amount FROM sums ORDER BY key_id, kind, start
  ON CONFLICT (key_id, window_kind, window_start) DO UPDATE SET amount = spend.amount + EXCLUDED.amount`

/** The sums of keys of providers, where a row has one. Always after those of callers' keys. */
const providerBooking = `, provider_booked AS (
  INSERT INTO provider_spend (provider_key, window_kind, window_start, amount)
    SELECT provider_key, kind, start, SUM(upstream_cost)::bigint
      FROM added JOIN windows USING (day) WHERE provider_key <> '' AND upstream_cost > 0
      GROUP BY provider_key, kind, start ORDER BY provider_key, kind, start
    ON CONFLICT (provider_key, window_kind, window_start)
      DO UPDATE SET amount = provider_spend.amount + EXCLUDED.amount
)`

/**
 * $3: the slices of rows, as objects. A slice changes after its sum is locked (as in `take_slice`), which `booked` sees to.
 */
const bookingWithSlices = `, booked AS (${booking}
  RETURNING key_id, window_kind, window_start
), used AS (
  SELECT key_id, kind, start, process, SUM(LEAST(cost, amount))::bigint AS amount
    FROM jsonb_to_recordset($3::jsonb) AS reserved(request_id TEXT, process TEXT, kind TEXT, amount BIGINT)
      JOIN added USING (request_id) JOIN windows USING (day, kind)
    GROUP BY key_id, kind, start, process
)
UPDATE slices SET amount = slices.amount - LEAST(slices.amount, used.amount)
  FROM used JOIN booked ON (booked.key_id, window_kind, window_start) = (used.key_id, kind, start)
  WHERE (slices.key_id, slices.window_kind, slices.window_start, slices.process) = (used.key_id, kind, start, used.process)`

/** A statement, prepared under its name, and its values. */
interface Prepared {
  readonly name: string
  readonly text: string
  readonly values: Array<string>
}

const preparedFor = (rows: ReadonlyArray<NewRow>): Prepared => {
  const days = new Set(rows.map(({ admittedAt }) => windowStart("daily", admittedAt)))
  const windows = Array.from(days, (day) => [day, windowStart("weekly", day), windowStart("monthly", day)])
  const reserved = rows.flatMap(({ requestId, reservedIn }) =>
    reservedIn === undefined
      ? []
      : [
          {
            request_id: requestId,
            process: reservedIn.process,
            kind: reservedIn.window,
            amount: reservedIn.amount.toString(),
          },
        ],
  )
  const values = [JSON.stringify(rows.map(ledger.columnsOf)), JSON.stringify(windows)]
  const hasKeys = rows.some(({ providerKey }) => providerKey !== "")
  const name = hasKeys ? "append with keys" : "append"
  const added = hasKeys ? addition + providerBooking : addition
  return reserved.length === 0
    ? { name, text: added + booking, values }
    : { name: `${name} with slices`, text: added + bookingWithSlices, values: [...values, JSON.stringify(reserved)] }
}

/**
 * All rows or none. A batch whose connection breaks, or that meets a server that restarts, is tried again for `retryMs`;
 * `runner` runs that. It may have been committed already; then its rows are skipped. Callers wait meanwhile, and get
 * their answers when the server is back in time.
 */
export const makeAppend = (
  pool: Pool,
  runner: EffectRunner,
  retryMs: number,
  countRows: (rows: number) => void,
): LedgerRepository["append"] => {
  const schedule = Schedule.upTo(Schedule.spaced("100 millis"), retryMs)
  const commit = (prepared: Prepared, resume: (exit: Exit.Exit<void, StorageUnavailable>) => void): void =>
    pool.query({ ...prepared }, (error: Error | null | undefined) =>
      resume(error == null ? Exit.void : Exit.fail(unavailable(error))),
    )
  return (rows) => {
    if (rows.length === 0) return Effect.void
    const prepared = preparedFor(rows)
    const again = Effect.retry(
      wait<void, StorageUnavailable>((resume) => commit(prepared, resume)),
      { schedule, while: ({ refused }) => refused !== true },
    ).pipe(Effect.tap(() => countRows(rows.length)))
    return wait((resume) =>
      commit(prepared, (exit) => {
        const failure = Exit.isFailure(exit) && exit.cause._tag === "Fail" ? exit.cause.error : undefined
        if (failure === undefined) countRows(rows.length)
        if (failure === undefined || failure.refused === true) resume(exit)
        else runner.run(again, resume)
      }),
    )
  }
}
