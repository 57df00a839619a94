/** A database file as an earlier version of the program left it. */
import { Database } from "bun:sqlite"
import * as Migrator from "@effect/sql/Migrator"
import { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { LedgerRow } from "../../src/services/ledger.ts"
import { ledger } from "../../src/sql/LedgerRepository.ts"
import { migrationsTable, steps } from "../../src/sql/migrations.ts"
import { makeClient } from "../../src/sql/sqliteClient.ts"

/**
 * Makes the tables as they were before the step with this name (without its number), and adds ledger rows. Columns that
 * the ledger did not have yet are left out.
 */
export const oldDatabase = async (path: string, before: string, rows: ReadonlyArray<LedgerRow>): Promise<void> => {
  const all = Object.entries(steps)
  const at = all.findIndex(([name]) => name.replace(/^\d+_/, "") === before)
  if (at < 0) throw new Error(`no step ${before}`)
  const db = new Database(path)
  db.run("PRAGMA application_id = 0x68646774")
  const migrate = Migrator.make({})({
    loader: Migrator.fromRecord(Object.fromEntries(all.slice(0, at))),
    table: migrationsTable,
  })
  await Effect.runPromise(Effect.provideServiceEffect(migrate, SqlClient, makeClient(db)))
  const known = new Set(
    db
      .query<{ name: string }, []>("SELECT name FROM pragma_table_info('ledger')")
      .all()
      .map(({ name }) => name),
  )
  for (const row of rows) {
    const columns = Object.entries(ledger.columnsOf(row)).filter(([name]) => known.has(name))
    db.query(
      `INSERT INTO ledger (${columns.map(([name]) => name).join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
    ).run(...columns.map(([, value]) => value))
  }
  db.close()
}
