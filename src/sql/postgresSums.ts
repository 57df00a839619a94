/** Advances the sums of the ledger by day in PostgreSQL, in a transaction of its own: see `dailySums.ts`. */
import type { Pool, PoolClient } from "pg"
import { advance, advanced, mostUnsummed } from "./dailySums.ts"

/**
 * Rows are numbered before they are committed, so none may be on its way while the sums are advanced. This mode also excludes
 * another session that advances them.
 */
const lock = "LOCK TABLE ledger IN SHARE ROW EXCLUSIVE MODE"

/** Makes a function that counts rows which were committed, and advances the sums when there are enough. */
export const makeCountRows = (pool: Pool, onFailure: (cause: unknown) => void): ((rows: number) => void) => {
  let unsummed = 0
  let isAdvancing = false

  const inTransaction = async (client: PoolClient): Promise<void> => {
    try {
      for (const statement of ["BEGIN", lock, advance, advanced, "COMMIT"]) await client.query(statement)
      client.release()
    } catch (cause) {
      // The server undoes the transaction with its connection.
      client.release(true)
      throw cause
    }
  }

  return (rows) => {
    unsummed += rows
    if (unsummed < mostUnsummed || isAdvancing) return
    isAdvancing = true
    // After a failure the sums stay as they are until as many rows more have come. Readers add up the rest themselves.
    unsummed = 0
    pool
      .connect()
      .then(inTransaction)
      .catch(onFailure)
      .finally(() => {
        isAdvancing = false
      })
  }
}
