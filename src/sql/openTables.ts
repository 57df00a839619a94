/** Makes repositories of an open SQLite database: migrates its tables and reads or creates the installation's id. */
import type { Database } from "bun:sqlite"
import type { MigrationError } from "@effect/sql/Migrator"
import { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { Ballast } from "./ballast.ts"
import { unavailable } from "./failure.ts"
import { migrate } from "./migrations.ts"
import { makeRepositories, type SqlRepositories } from "./repositories.ts"
import { makeAppend } from "./sqliteAppend.ts"

export interface OpenTables {
  readonly installation: string
  /** Call them one at a time, each to its end before the next: see sqliteClient.ts. */
  readonly repositories: SqlRepositories
}

/** Writes the installation's id if there is none, so it fails when the file cannot be written. `ballast`: absent in memory. */
export const openTables = (
  db: Database,
  ballast?: Ballast,
): Effect.Effect<OpenTables, SqlError | MigrationError, SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql.unsafe("PRAGMA foreign_keys = ON")
    yield* migrate
    yield* sql`INSERT INTO installation (only_row, id) VALUES (1, ${crypto.randomUUID()}) ON CONFLICT DO NOTHING`
    // Who opens the database owns it, so that earlier processes are gone, whatever their leases say.
    yield* sql`DELETE FROM leases`
    const [installation] = yield* sql<{ readonly id: string }>`SELECT id FROM installation`
    if (installation === undefined) return yield* Effect.dieMessage("the installation has lost its id")

    const commit = makeAppend(db, ballast)
    return {
      installation: installation.id,
      repositories: makeRepositories(
        sql,
        (rows) => Effect.try({ try: () => commit(rows), catch: unavailable }),
        () => Effect.sync(() => ballast?.isThere() ?? true),
      ),
    }
  })
