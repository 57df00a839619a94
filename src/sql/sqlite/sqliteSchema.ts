/**
 * Whether a SQLite file has the tables, indexes and triggers that the migrations make, and no others. A foreign trigger or view
 * could change what is booked, and without its own triggers the ledger could be changed by whoever has the file open.
 */
import { Database } from "bun:sqlite"
import * as Migrator from "@effect/sql/Migrator"
import { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { migrationsTable, schemaVersion, steps } from "../tables/migrations.ts"
import { makeClient } from "./sqliteClient.ts"

interface SchemaObject {
  readonly type: string
  readonly name: string
  /** The table that it belongs to. */
  readonly tbl_name: string
  /** `null` for an index that SQLite makes of a table's own constraints. */
  readonly sql: string | null
}

/**
 * `schemaHash(schemaVersion)`, so that a start need not run all migrations in memory to compare. A wrong value makes each start slower by
 * some 50 ms, and nothing else. A new migration changes it: `test/sql/schema.test.ts` prints the new one.
 */
export const knownHash = "0304d4e673bbd1ab55aad2f8ec1e69a31336e76bfae9b5314da3e347cbf7fab6"

/** Without SQLite's own: the statistics of ANALYZE, and indexes for PRIMARY KEY and UNIQUE of a table. */
const objectsIn = (db: Database): ReadonlyArray<SchemaObject> =>
  db
    .query<SchemaObject, []>(
      `SELECT type, name, tbl_name, sql FROM sqlite_schema
        WHERE NOT (type = 'index' AND sql IS NULL) AND NOT (type = 'table' AND name GLOB 'sqlite_stat[0-9]')
        ORDER BY type, name`,
    )
    .all()

// The migrator's own table is written by a library, in words that may change.
const textOf = ({ name, tbl_name, sql }: SchemaObject): string =>
  name === migrationsTable ? tbl_name : `${tbl_name} ${(sql ?? "").replaceAll(/\s+/g, " ")}`

const titleOf = ({ type, name }: SchemaObject): string => `${type} "${name}"`

const hashOf = (objects: ReadonlyArray<SchemaObject>): string =>
  new Bun.CryptoHasher("sha256").update(JSON.stringify(objects.map((one) => [titleOf(one), textOf(one)]))).digest("hex")

/** The objects that the migrations up to `version` make. */
const expectedObjects = (version: number): ReadonlyArray<SchemaObject> => {
  const db = new Database(":memory:")
  try {
    const wanted = Object.entries(steps).filter(([name]) => Number.parseInt(name, 10) <= version)
    const migrate = Migrator.make({})({
      loader: Migrator.fromRecord(Object.fromEntries(wanted)),
      table: migrationsTable,
    })
    Effect.runSync(Effect.provideServiceEffect(migrate, SqlClient, makeClient(db)))
    return objectsIn(db)
  } finally {
    db.close()
  }
}

export const schemaHash = (version: number): string => hashOf(expectedObjects(version))

/** The first difference to what the migrations up to `version` make, in words; `undefined`: there is none. */
export const schemaFault = (db: Database, version: number): string | undefined => {
  const found = objectsIn(db)
  if (version === schemaVersion && hashOf(found) === knownHash) return undefined
  const expected = new Map(expectedObjects(version).map((one) => [titleOf(one), one]))
  for (const one of found) {
    const known = expected.get(titleOf(one))
    if (known === undefined) return `its ${titleOf(one)} is not Headgate's`
    if (textOf(known) !== textOf(one)) return `its ${titleOf(one)} was changed`
    expected.delete(titleOf(one))
  }
  const [missing] = expected.values()
  return missing && `its ${titleOf(missing)} is missing`
}
