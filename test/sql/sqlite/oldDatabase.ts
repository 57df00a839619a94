/** Databases as an earlier version of the program left them. */
import { Database } from "bun:sqlite"
import * as Migrator from "@effect/sql/Migrator"
import { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import { clientOf, openPool, schema } from "../../../src/sql/postgres/postgresPool.ts"
import { ledger } from "../../../src/sql/repositories/ledgerRepository.ts"
import { makeClient } from "../../../src/sql/sqlite/sqliteClient.ts"
import { migrationsTable, steps } from "../../../src/sql/tables/migrations.ts"

/** Runs the steps before the one with this name (without its number). */
const migrateUpTo = (before: string) => {
  const all = Object.entries(steps)
  const at = all.findIndex(([name]) => name.replace(/^\d+_/, "") === before)
  if (at < 0) throw new Error(`no step ${before}`)
  return Migrator.make({})({
    loader: Migrator.fromRecord(Object.fromEntries(all.slice(0, at))),
    table: migrationsTable,
  })
}

/** The columns of a row that the ledger has already. */
const knownColumns = (row: LedgerRow, known: ReadonlySet<string>) =>
  Object.fromEntries(Object.entries(ledger.columnsOf(row)).filter(([name]) => known.has(name)))

/**
 * Makes a file with the tables as they were before a step, and adds ledger rows. Columns that the ledger did not have yet are left
 * out.
 */
export const oldDatabase = async (path: string, before: string, rows: ReadonlyArray<LedgerRow>): Promise<void> => {
  const db = new Database(path)
  db.run("PRAGMA application_id = 0x68646774")
  await Effect.runPromise(Effect.provideServiceEffect(migrateUpTo(before), SqlClient, makeClient(db)))
  const known = new Set(
    db
      .query<{ name: string }, []>("SELECT name FROM pragma_table_info('ledger')")
      .all()
      .map(({ name }) => name),
  )
  for (const row of rows) {
    const columns = knownColumns(row, known)
    const names = Object.keys(columns)
    db.query(`INSERT INTO ledger (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`).run(
      ...Object.values(columns),
    )
  }
  db.close()
}

const patience = { connectMs: 2000, statementMs: 0, silenceMs: 0, lockMs: 0, appendMs: 0 }

/** The same in a database of PostgreSQL. */
export const oldPostgres = (url: Redacted.Redacted, before: string, rows: ReadonlyArray<LedgerRow>): Promise<void> =>
  Effect.gen(function* () {
    const sql = yield* clientOf(yield* openPool({ url, durability: "process" }, patience, { name: "old", max: 1 }))
    yield* sql`CREATE SCHEMA ${sql(schema)}`
    yield* Effect.provideService(migrateUpTo(before), SqlClient, sql)
    const columns = yield* sql<{ readonly name: string }>`
      SELECT column_name AS name FROM information_schema.columns WHERE table_schema = ${schema} AND table_name = 'ledger'`
    const known = new Set(columns.map(({ name }) => name))
    for (const row of rows) yield* sql`INSERT INTO ledger ${sql.insert(knownColumns(row, known))}`
  }).pipe(Effect.scoped, Effect.runPromise)
