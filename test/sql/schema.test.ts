/** A database whose tables, triggers or views are not those of the migrations. docs/guarantees.md#g20 */
import { Database } from "bun:sqlite"
import { afterAll, describe, expect, test } from "bun:test"
import { cpSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { Storage } from "../../src/services/storage/Storage.ts"
import { openDatabase as openPostgres } from "../../src/sql/postgres/postgresDatabase.ts"
import { readDatabase } from "../../src/sql/postgres/postgresRead.ts"
import { verifyAudit } from "../../src/sql/repositories/auditLog.ts"
import { restoreDatabase } from "../../src/sql/sqlite/restore.ts"
import { openToRead } from "../../src/sql/sqlite/sqliteFile.ts"
import { knownHash, schemaHash } from "../../src/sql/sqlite/sqliteSchema.ts"
import { schemaVersion } from "../../src/sql/tables/migrations.ts"
import { describePostgres, execute, makeDatabase, redactedUrlOf } from "../support/storage/postgres.ts"
import { sampleRow } from "./samples.ts"
import { oldDatabase } from "./sqlite/oldDatabase.ts"
import { openInProcess } from "./sqlite/openInProcess.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-schema-"))
afterAll(() => rmSync(folder, { recursive: true }))

let made = 0
const newPath = (): string => join(folder, `${made++}.db`)

const start = (path: string) =>
  Effect.runPromise(
    Effect.either(
      Effect.provide(
        Effect.flatMap(Storage, ({ ledger }) => ledger.append([sampleRow("r1")])),
        openInProcess({ path, durability: "process" }),
      ),
    ),
  )

const changed = async (...statements: ReadonlyArray<string>): Promise<string> => {
  const path = newPath()
  expect((await start(path))._tag).toBe("Right")
  const db = new Database(path)
  for (const statement of statements) db.run(statement)
  db.close()
  return path
}

test("the hash of the schema is the one that a start compares with: put it into src/sql/sqlite/sqliteSchema.ts", () => {
  expect(knownHash).toBe(schemaHash(schemaVersion))
})

const alterations: ReadonlyArray<readonly [what: string, statements: ReadonlyArray<string>, said: string]> = [
  [
    "a foreign trigger that gives money back",
    ["CREATE TRIGGER gift AFTER INSERT ON ledger BEGIN UPDATE spend SET amount = 0; END"],
    'its trigger "gift" is not Headgate\'s',
  ],
  ["a foreign view", ["CREATE VIEW other AS SELECT * FROM keys"], 'its view "other" is not Headgate\'s'],
  ["a foreign index", ["CREATE UNIQUE INDEX one_each ON ledger (key_id)"], 'its index "one_each" is not Headgate\'s'],
  ["a foreign table", ["CREATE TABLE theirs (a)"], 'its table "theirs" is not Headgate\'s'],
  [
    "a ledger that may be changed",
    ["DROP TRIGGER ledger_keeps_values"],
    'its trigger "ledger_keeps_values" is missing',
  ],
  ["an audit log that may be cut", ["DROP TRIGGER audit_keeps_rows"], 'its trigger "audit_keeps_rows" is missing'],
  [
    "a trigger of ours that does nothing",
    [
      "DROP TRIGGER ledger_keeps_rows",
      "CREATE TRIGGER ledger_keeps_rows BEFORE DELETE ON ledger WHEN 0 BEGIN SELECT RAISE(ABORT, 'no'); END",
    ],
    'its trigger "ledger_keeps_rows" was changed',
  ],
]

describe("a SQLite file with", () => {
  test.each(alterations)(
    "%s is refused at a start, by restore and by audit verify: it was taken for whole",
    async (_, statements, said) => {
      const path = await changed(...statements)
      expect(await start(path)).toMatchObject({
        left: { reason: "altered", message: expect.stringContaining(`${path} was altered: ${said}`) },
      })
      const target = newPath()
      const restoring = restoreDatabase({ file: path, database: target, force: true })
      expect(await Effect.runPromise(Effect.flip(restoring))).toMatchObject({ reason: "altered" })
      const verifying = Effect.scoped(Effect.flatMap(openToRead(path), verifyAudit))
      expect(await Effect.runPromise(Effect.flip(verifying))).toMatchObject({ reason: "altered" })
    },
  )

  test("statistics that ANALYZE made is as good as without", async () => {
    const path = await changed("ANALYZE")
    expect((await start(path))._tag).toBe("Right")
  })

  test("tables of an earlier version and a foreign trigger is refused before it is migrated", async () => {
    const path = newPath()
    await oldDatabase(path, "plan_of_a_ledger_row", [sampleRow("old")])
    const whole = newPath()
    cpSync(path, whole)
    const db = new Database(path)
    db.run("CREATE TRIGGER gift AFTER INSERT ON ledger BEGIN UPDATE spend SET amount = 0; END")
    db.close()
    expect(await start(path)).toMatchObject({ left: { reason: "altered" } })
    expect((await start(whole))._tag).toBe("Right")
  })
})

describePostgres("a database of PostgreSQL with", () => {
  const opening = async (database: string) =>
    Effect.runPromise(
      Effect.either(Effect.scoped(openPostgres({ url: redactedUrlOf(database), durability: "process" }))),
    )

  test.each([
    ["a ledger that may be changed", "DROP TRIGGER ledger_keeps_rows ON headgate.ledger", "lacks a trigger"],
    ["a trigger that is switched off", "ALTER TABLE headgate.audit DISABLE TRIGGER audit_keeps_rows", "switched off"],
    [
      "a trigger of ours that does nothing",
      "CREATE OR REPLACE FUNCTION headgate.ledger_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
      "function was changed",
    ],
    [
      "a foreign trigger",
      "CREATE TRIGGER gift AFTER INSERT ON headgate.ledger FOR EACH STATEMENT EXECUTE FUNCTION headgate.audit_is_append_only()",
      "not Headgate's: gift on ledger",
    ],
    ["a foreign rule", "CREATE RULE none AS ON INSERT TO headgate.spend DO INSTEAD NOTHING", "none on spend"],
  ])("%s is refused at a start and by audit verify", async (_, statement, said) => {
    const database = await makeDatabase()
    expect((await opening(database))._tag).toBe("Right")
    await execute(database, statement)
    const refused = { reason: "altered", message: expect.stringContaining(said) }
    expect(await opening(database)).toMatchObject({ left: refused })
    expect(await Effect.runPromise(Effect.flip(readDatabase(redactedUrlOf(database), verifyAudit)))).toMatchObject(
      refused,
    )
  })
})
