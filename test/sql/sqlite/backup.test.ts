/** Copies of a database that is in use, and their restoration. docs/backup.md */
import { Database } from "bun:sqlite"
import { afterAll, describe, expect, test } from "bun:test"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { makeDatabaseCopies } from "../../../src/sql/sqlite/databaseCopy.ts"
import { databaseFacts } from "../../../src/sql/sqlite/databaseFacts.ts"
import { type Restored, restoreDatabase } from "../../../src/sql/sqlite/restore.ts"
import { layer } from "../../../src/sql/sqlite/SqliteStorage.ts"
import type { Refused } from "../../../src/sql/sqlite/sqliteFile.ts"
import { migrationsTable, schemaVersion } from "../../../src/sql/tables/migrations.ts"
import { until } from "../../support/clocks/until.ts"
import { alice, sampleKey, sampleRow, someone } from "../samples.ts"
import { oldDatabase } from "./oldDatabase.ts"
import { openInProcess } from "./openInProcess.ts"

type Methods = Context.Tag.Service<typeof Storage>

const folder = mkdtempSync(join(tmpdir(), "headgate-backup-"))
afterAll(() => rmSync(folder, { recursive: true }))

let made = 0
const newPath = (): string => {
  const path = join(folder, `${made++}`)
  mkdirSync(path)
  return join(path, "headgate.db")
}

const using = <A, E>(path: string, use: (storage: Methods) => Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(Effect.provide(Effect.flatMap(Storage, use), openInProcess({ path, durability: "process" })))

/** A closed database with these rows, of 7 picodollars each. */
const withRows = async (...ids: ReadonlyArray<string>): Promise<string> => {
  const path = newPath()
  await append(path, ...ids)
  return path
}
const append = (path: string, ...ids: ReadonlyArray<string>) =>
  using(path, ({ ledger }) => ledger.append(ids.map((id) => sampleRow(id, { cost: 7n }))))

const rowsOf = (path: string): ReadonlyArray<string> => {
  const db = new Database(path, { readonly: true })
  try {
    return db
      .query<{ readonly request_id: string }, []>("SELECT request_id FROM ledger ORDER BY seq")
      .all()
      .map(({ request_id }) => request_id)
  } finally {
    db.close()
  }
}

const beside = (path: string): ReadonlyArray<string> =>
  readdirSync(dirname(path)).map((name) => name.replace(/before-\w+/, "before"))

/** Leaves a database as a killed gateway does: with a journal that has rows. */
const killedWith = async (path: string): Promise<ReadonlyArray<string>> => {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "writer.ts"), path], { stdout: "pipe" })
  const reader = child.stdout.getReader()
  await reader.read()
  child.kill("SIGKILL")
  await child.exited
  expect(existsSync(`${path}-wal`)).toBe(true)
  return rowsOf(path)
}

const copyOf = async (path: string, to: string): Promise<string> => {
  const { content } = await Effect.runPromise(makeDatabaseCopies(path))
  await Bun.write(to, new Response(content))
  return to
}

const restored = (file: string, database: string, force = false): Promise<Restored> =>
  Effect.runPromise(restoreDatabase({ file, database, force }))
const refusalOf = (file: string, database: string): Promise<Refused> =>
  Effect.runPromise(Effect.flip(restoreDatabase({ file, database, force: true })))

describe("a copy", () => {
  test("is the database as it was at one moment, while rows are appended", async () => {
    const path = newPath()
    const batch = (n: number) => Array.from({ length: 20 }, (_, at) => sampleRow(`${n}-${at}`, { cost: 7n }))
    const copies = await Effect.runPromise(
      Effect.gen(function* () {
        const { ledger, copy = Effect.dieMessage("no copies") } = yield* Storage
        const appending = yield* Effect.fork(
          Effect.forEach(
            Array.from({ length: 100 }, (_, n) => n),
            (n) => ledger.append(batch(n)),
            { discard: true },
          ),
        )
        const both = yield* Effect.all([copy, copy], { concurrency: 2 })
        yield* Fiber.join(appending)
        return both
      }).pipe(Effect.provide(layer({ path, durability: "process" }))),
    )
    expect(beside(path).filter((name) => name.includes("backup"))).toEqual([])
    for (const { content, bytes, sha256 } of copies) {
      const file = newPath()
      const written = new Uint8Array(await new Response(content).arrayBuffer())
      writeFileSync(file, written)
      expect([written.length, Bun.SHA256.hash(written, "base64")]).toEqual([bytes, sha256])
      const facts = await Effect.runPromise(databaseFacts(file))
      // Whole batches, and the sums that were kept with them.
      expect(facts.rows % 20).toBe(0)
      const spend = await using(file, ({ ledger }) => ledger.spend(alice, 1_760_000_000_000))
      expect(spend.total).toBe(BigInt(facts.rows) * 7n)
    }
  })

  test("that is interrupted or fails leaves nothing behind, and the next one succeeds", async () => {
    const path = await withRows("r1")
    const fiber = Effect.runFork(makeDatabaseCopies(path))
    await Effect.runPromise(Fiber.interrupt(fiber))
    expect(beside(path)).not.toContain("headgate.db.backup")
    const missing = await Effect.runPromiseExit(makeDatabaseCopies(join(dirname(path), "absent.db")))
    expect(Exit.isFailure(missing)).toBe(true)
    expect(beside(path).filter((name) => name.includes("backup"))).toEqual([])
    const { content } = await Effect.runPromise(makeDatabaseCopies(path))
    expect((await content.getReader().read()).value?.length).toBeGreaterThan(1000)
  })

  test("that a SIGKILL cut off is removed at the next start, and no row is lost", async () => {
    const path = newPath()
    await using(path, ({ ledger }) =>
      ledger.append(Array.from({ length: 20_000 }, (_, at) => sampleRow(`r${at}`, { appTitle: "x".repeat(150) }))),
    )
    const child = Bun.spawn([process.execPath, join(import.meta.dir, "copier.ts"), path])
    await until(() => existsSync(`${path}.backup`), "a copy")
    child.kill("SIGKILL")
    await child.exited
    await using(path, () => Effect.void)
    expect(beside(path).filter((name) => name.includes("backup"))).toEqual([])
    expect(rowsOf(path)).toHaveLength(20_000)
  })
})

describe("restored", () => {
  test("into an empty place, with the rows that were only in the journal of the copied database", async () => {
    const source = newPath()
    const rows = await killedWith(source)
    const [place, copy] = [newPath(), await copyOf(source, newPath())]
    const result = await restored(copy, place)
    expect(result).toMatchObject({ done: true, kept: null, rows: rows.length, keys: 0, schema: schemaVersion })
    expect(rowsOf(place)).toEqual(rows)
    await append(place, "next")
    expect(rowsOf(place)).toEqual([...rows, "next"])
    // A raw copy of the file is restored with the journal beside it.
    const other = newPath()
    await restored(source, other)
    expect(rowsOf(other)).toEqual(rows)
  })

  test("over a database that has nothing more: without a question", async () => {
    const database = await withRows("r1", "r2")
    const copy = await copyOf(database, newPath())
    expect(await restored(copy, database)).toMatchObject({ done: true, lost: { rows: 0, cost: 0n } })
    expect(rowsOf(database)).toEqual(["r1", "r2"])
  })

  test("over a database that has more: only when it is said, and the previous one is kept with its journal", async () => {
    const database = await withRows("r1")
    const copy = await copyOf(database, newPath())
    const before = await killedWith(database)
    expect(await restored(copy, database)).toMatchObject({
      done: false,
      kept: null,
      lost: { rows: before.length - 1, cost: BigInt(before.length - 1) * 7n },
    })
    expect(rowsOf(database)).toEqual(before)
    expect(beside(database)).not.toContain("headgate.db.restore")

    const { kept } = await restored(copy, database, true)
    expect(rowsOf(database)).toEqual(["r1"])
    expect(rowsOf(kept ?? "")).toEqual(before)
    // Its own journal is not taken for the restored one's.
    await append(database, "r2")
    expect(rowsOf(database)).toEqual(["r1", "r2"])
  })

  test("what becomes of keys is said: those that are lost, changed back, and accepted again", async () => {
    const [old, gone, limited, fresh] = ["1", "2", "3", "4"].map((digit) => digit.repeat(64))
    const database = newPath()
    await using(database, ({ keys }) =>
      Effect.forEach([old, gone, limited], (id) => keys.insert(sampleKey(id ?? ""), someone)),
    )
    const copy = await copyOf(database, newPath())
    await using(database, ({ keys }) =>
      Effect.all([
        keys.update(sampleKey(old ?? "").id, { disabled: true, updatedAt: 5 }, someone),
        keys.remove(sampleKey(gone ?? "").id, someone),
        keys.update(sampleKey(limited ?? "").id, { limit: 5n, updatedAt: 5 }, someone),
        keys.insert(sampleKey(fresh ?? ""), someone),
      ]),
    )
    const { done, lost } = await restored(copy, database)
    expect(done).toBe(false)
    const hashes = (keys: ReadonlyArray<{ readonly hash: string }> = []) => keys.map(({ hash }) => hash)
    expect(hashes(lost?.keysRevoked)).toEqual([old, gone] as Array<string>)
    expect(hashes(lost?.keysChanged)).toEqual([limited] as Array<string>)
    expect(hashes(lost?.keysMade)).toEqual([fresh] as Array<string>)
  })

  test("over a damaged database: it is kept as it is, and what it had more is not known", async () => {
    const database = await withRows("r1")
    const copy = await copyOf(database, newPath())
    writeFileSync(database, "damaged")
    writeFileSync(`${database}-wal`, "its journal")
    expect(await restored(copy, database)).toMatchObject({ done: false, lost: undefined })
    const { kept } = await restored(copy, database, true)
    expect([readFileSync(kept ?? "", "utf8"), readFileSync(`${kept}-wal`, "utf8")]).toEqual(["damaged", "its journal"])
    await append(database, "r2")
    expect(rowsOf(database)).toEqual(["r1", "r2"])
  })

  test("a copy of an earlier version is brought up to date at the next start", async () => {
    const [copy, database] = [newPath(), newPath()]
    await oldDatabase(copy, "plan_of_a_ledger_row", [sampleRow("old")])
    expect((await restored(copy, database)).schema).toBeLessThan(schemaVersion)
    await using(database, () => Effect.void)
    expect(rowsOf(database)).toEqual(["old"])
  })

  test("rows that wait in a spool beside it stay there", async () => {
    const database = await withRows("r1")
    const spool = join(dirname(database), "spool-0b3c9f5e-1.db")
    writeFileSync(spool, "rows of PostgreSQL")
    await restored(await copyOf(database, newPath()), database, true)
    expect(readFileSync(spool, "utf8")).toBe("rows of PostgreSQL")
  })

  test("killed before any of its changes: the place has a whole database, and it can be done again", async () => {
    const copy = await copyOf(await withRows("copied"), newPath())
    const killed = newPath()
    const before = await killedWith(killed)
    let exitCode: number | null = null
    for (let at = 0; exitCode !== 0; at += 1) {
      const database = newPath()
      cpSync(dirname(killed), dirname(database), { recursive: true })
      const child = Bun.spawn([process.execPath, join(import.meta.dir, "restorer.ts"), copy, database, `${at}`])
      await child.exited
      exitCode = child.exitCode
      expect(rowsOf(database)).toEqual(exitCode === 0 ? ["copied"] : before)
      // The gateway starts with what is there, and removes what was not finished.
      await append(database, "next")
      expect(beside(database)).not.toContain("headgate.db.restore")
      const { kept } = await restored(copy, database, true)
      expect(rowsOf(database)).toEqual(["copied"])
      expect(rowsOf(kept ?? "")).toContain("next")
      expect(at).toBeLessThan(20)
    }
  })
})

describe("refused, and everything stays as it was:", () => {
  const database = async () => {
    const path = await withRows("r1")
    return { path, bytes: readFileSync(path) }
  }
  const damaged = async (change: (path: string) => void): Promise<string> => {
    const path = await withRows(...Array.from({ length: 200 }, (_, at) => `r${at}`))
    change(path)
    return path
  }
  const cases: ReadonlyArray<readonly [what: string, make: () => Promise<string>, reason: string, why: string]> = [
    ["no file", async () => "/nowhere/backup.db", "unreadable", "there is no such file"],
    [
      "text",
      () => damaged((path) => writeFileSync(path, "not a database".repeat(100))),
      "corrupt",
      "it is not a database",
    ],
    [
      "a file cut off",
      () => damaged((path) => writeFileSync(path, readFileSync(path).subarray(0, 65_536))),
      "corrupt",
      "",
    ],
    [
      "one with a damaged index",
      () =>
        damaged((path) => {
          const db = new Database(path)
          const root = "SELECT rootpage AS page FROM sqlite_schema WHERE name = 'sqlite_autoindex_ledger_1'"
          const { page } = db.query<{ readonly page: number }, []>(root).get() ?? { page: 0 }
          db.close()
          const bytes = readFileSync(path)
          writeFileSync(path, bytes.fill(0x5a, page * 4096 - 200, page * 4096))
        }),
      "corrupt",
      "",
    ],
    [
      "another program's database",
      () =>
        damaged((path) => {
          rmSync(path)
          const db = new Database(path)
          db.run("CREATE TABLE theirs (a)")
          db.close()
        }),
      "corrupt",
      "it belongs to another program",
    ],
    [
      "a newer one",
      () =>
        damaged((path) => {
          const db = new Database(path)
          db.run(`INSERT INTO ${migrationsTable} (migration_id, name) VALUES (999, 'from_the_future')`)
          db.close()
        }),
      "newer",
      `database schema 999 is newer than this binary (${schemaVersion})`,
    ],
  ]
  test.each(cases)("%s", async (_, make, reason, why) => {
    const { path, bytes } = await database()
    const refusal = await refusalOf(await make(), path)
    expect(refusal.reason).toBe(reason as Refused["reason"])
    expect(refusal.message).toContain(why)
    expect(readFileSync(path).equals(bytes)).toBe(true)
    expect(beside(path).filter((name) => /restore|before/.test(name))).toEqual([])
  })

  test("while a gateway uses the database", async () => {
    const { path } = await database()
    const copy = await copyOf(path, newPath())
    const refusal = await using(path, () => Effect.promise(() => refusalOf(copy, path)))
    expect(refusal).toMatchObject({ reason: "in-use", message: `${path} is already in use by pid ${process.pid}.` })
  })

  test("while another program reads it", async () => {
    const { path } = await database()
    const copy = await copyOf(path, newPath())
    await killedWith(path)
    const reader = new Database(path, { readonly: true })
    reader.run("BEGIN")
    reader.query("SELECT COUNT(*) FROM ledger").get()
    expect(await refusalOf(copy, path)).toMatchObject({ reason: "in-use" })
    reader.close()
    expect(beside(path).filter((name) => /restore|before/.test(name))).toEqual([])
  })

  test("where the place has another program's database", async () => {
    const path = newPath()
    const db = new Database(path)
    db.run("CREATE TABLE theirs (a)")
    db.close()
    const copy = await copyOf(await withRows("r1"), newPath())
    expect(await refusalOf(copy, path)).toMatchObject({
      reason: "corrupt",
      message: expect.stringContaining("another program"),
    })
  })
})
