/** Checks a database file that no gateway uses, such as a backup, and says what is in it. Nothing is written. */
import type { Database } from "bun:sqlite"
import { existsSync } from "node:fs"
import { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { makeClient } from "./sqliteClient.ts"
import { expectSchema, openDatabase, type Refused, refusalFor, refused, refusing, versionOf } from "./sqliteFile.ts"

export interface DatabaseFacts {
  /** Version of its tables: this program's or an earlier one. */
  readonly schema: number
  /** Ordinary keys. */
  readonly keys: number
  /** Rows of the ledger. */
  readonly rows: number
  /** When the last of them was settled, Unix milliseconds; `null`: there is none. */
  readonly newestRow: number | null
}

/** Refuses a file that is damaged, of another program, without tables, or newer than this program. */
export const databaseFacts = (path: string): Effect.Effect<DatabaseFacts, Refused> =>
  Effect.gen(function* () {
    if (!existsSync(path)) return yield* refused("unreadable", path, "there is no such file")
    const db = yield* openDatabase(path, { readonly: true })
    const schema = yield* Effect.provideServiceEffect(versionOf(path), SqlClient, makeClient(db))
    if (schema === undefined || schema === 0) return yield* refused("corrupt", path, "it has no tables")
    yield* expectSchema(path, db, schema)
    const fault = faultIn(db)
    if (fault !== undefined) return yield* refused("corrupt", path, fault)
    return { schema, ...countsIn(db) }
  }).pipe(
    Effect.scoped,
    refusing((error) => {
      const refusal = refusalFor(path, error)
      return refusal?.reason === "unwritable" ? refused("unreadable", path, "it may not be opened") : refusal
    }),
  )

/** The first thing that does not hold together. */
const faultIn = (db: Database): string | undefined => {
  const found = db.query<{ readonly integrity_check: string }, []>("PRAGMA integrity_check(1)").get()
  return found?.integrity_check === "ok" ? undefined : (found?.integrity_check ?? "it cannot be checked")
}

const countsIn = (db: Database): Omit<DatabaseFacts, "schema"> => {
  const counts = db
    .query<Omit<DatabaseFacts, "schema">, []>(
      `SELECT (SELECT COUNT(*) FROM keys WHERE kind = 'ordinary') AS keys,
        (SELECT COUNT(*) FROM ledger) AS rows, (SELECT settled_at FROM ledger ORDER BY seq DESC LIMIT 1) AS newestRow`,
    )
    .get()
  return counts ?? { keys: 0, rows: 0, newestRow: null }
}
