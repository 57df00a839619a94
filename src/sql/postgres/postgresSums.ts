/** Advances the sums of the ledger by day in PostgreSQL, in a transaction of its own: see `dailySums.ts`. */
import type { Pool } from "pg"
import { advance, advanced, mostUnsummed } from "../repositories/dailySums.ts"

/**
 * Rows are numbered before they are committed, so none may be on its way while the sums are advanced; the mode of the lock
 * excludes another session that advances them too. All in one message, so that no batch of any process waits longer than
 * the server works. Where the lock is not free soon, the rows stay for the next time.
 */
const advanceAll = [
  "SET LOCAL lock_timeout TO 500",
  "LOCK TABLE ledger IN SHARE ROW EXCLUSIVE MODE",
  advance,
  advanced,
].join(";\n")

/** Makes a function that counts rows which were committed, and advances the sums when there are enough. */
export const makeCountRows = (pool: Pool, onFailure: (cause: unknown) => void): ((rows: number) => void) => {
  let unsummed = 0
  let isAdvancing = false

  return (rows) => {
    unsummed += rows
    if (unsummed < mostUnsummed || isAdvancing) return
    isAdvancing = true
    // After a failure the sums stay as they are until as many rows more have come. Readers add up the rest themselves.
    unsummed = 0
    pool
      .query(advanceAll)
      .catch(onFailure)
      .finally(() => {
        isAdvancing = false
      })
  }
}
