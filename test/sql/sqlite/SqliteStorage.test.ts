import { Database } from "bun:sqlite"
import { afterAll, describe, expect, test } from "bun:test"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import type { StorageNotOpened } from "../../../src/sql/StorageNotOpened.ts"
import { layer, makeWith } from "../../../src/sql/sqlite/SqliteStorage.ts"
import { openFile, type Refused } from "../../../src/sql/sqlite/sqliteFile.ts"
import { migrationsTable, schemaVersion } from "../../../src/sql/tables/migrations.ts"
import { install } from "../../support/gateways/process.ts"
import { alice, bob, sampleKey, sampleRow, someone } from "../samples.ts"
import { oldDatabase } from "./oldDatabase.ts"
import { openInProcess } from "./openInProcess.ts"

type Methods = Context.Tag.Service<typeof Storage>

const folder = mkdtempSync(join(tmpdir(), "headgate-sqlite-"))
afterAll(() => rmSync(folder, { recursive: true }))

let made = 0
const newFolder = (): string => {
  const path = join(folder, `${made++}`)
  mkdirSync(path)
  return path
}

const at = 1_760_000_000_000

/** Storage as the gateway uses it, including the thread. */
const usingThread = <A, E>(path: string, use: (storage: Methods) => Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(Effect.provide(Effect.flatMap(Storage, use), layer({ path, durability: "full" })))

/** The file without the thread, which opens in a tenth of the time. */
const using = <A, E>(path: string, use: (storage: Methods) => Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(Effect.provide(Effect.flatMap(Storage, use), openInProcess({ path, durability: "full" })))

const notOpened = (path: string): Promise<StorageNotOpened> =>
  Effect.runPromise(Effect.flip(Effect.scoped(Layer.build(layer({ path, durability: "full" })))))

const refusalOf = (path: string): Promise<Refused> =>
  Effect.runPromise(Effect.flip(Effect.scoped(openFile({ path, durability: "full" }))))

/** What `change` does to a closed database that has one row in it. */
const changed = async (change: (db: Database) => void): Promise<string> => {
  const path = join(newFolder(), "headgate.db")
  await using(path, (storage) => storage.ledger.append([sampleRow("r1")]))
  const db = new Database(path)
  change(db)
  db.close(true)
  return path
}

describe("the file", () => {
  test("is created with its folders, and keeps everything when it is closed", async () => {
    const home = newFolder()
    const path = join(home, "a", "b", "headgate.db")
    const installation = await usingThread(path, (storage) =>
      Effect.gen(function* () {
        yield* storage.keys.insert(sampleKey(alice, { limit: 2n ** 62n }), someone)
        yield* storage.ledger.append([sampleRow("r1", { cost: 2n ** 60n + 1n })])
        return storage.installation
      }),
    )
    expect(readdirSync(join(home, "a", "b")).sort()).toEqual(["headgate.db", "headgate.db.ballast", "headgate.db.lock"])
    const again = await using(path, (storage) =>
      Effect.all([
        Effect.succeed(storage.installation),
        storage.keys.find(alice),
        storage.ledger.rows(alice, 9),
        storage.ledger.spend(alice, at),
      ]),
    )
    const sum = 2n ** 60n + 1n
    expect(again).toEqual([
      installation,
      sampleKey(alice, { limit: 2n ** 62n }),
      [sampleRow("r1", { cost: sum })],
      { total: sum, daily: sum, weekly: sum, monthly: sum },
    ])
  })

  test("migrations run once", async () => {
    const path = await changed(() => {})
    await using(path, () => Effect.void)
    const db = new Database(path, { readonly: true })
    const ran = db.query<{ migration_id: number }, []>(`SELECT migration_id FROM ${migrationsTable}`).all()
    db.close()
    const ids = ran.map((step) => step.migration_id)
    expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b))
    expect([ids.at(0), ids.at(-1)]).toEqual([1, schemaVersion])
  })

  test("a file of an earlier version is copied before it is changed, also over a copy that was cut off", async () => {
    const path = join(newFolder(), "headgate.db")
    await oldDatabase(path, "plan_of_a_ledger_row", [sampleRow("old")])
    const read = (file: string) => {
      const db = new Database(file, { readonly: true })
      const version = `SELECT MAX(migration_id) AS version FROM ${migrationsTable}`
      const found = [db.query(version).get(), db.query("SELECT request_id FROM ledger").all()]
      db.close()
      return found
    }
    const before = read(path)
    const [{ version }] = before as [{ version: number }]
    await Bun.write(`${path}.schema-${version}.part`, "half a copy")
    await using(path, () => Effect.void)
    expect(read(`${path}.schema-${version}`)).toEqual(before)
    expect(read(path)).toEqual([{ version: schemaVersion }, [{ request_id: "old" }]])
    await using(path, () => Effect.void)
    expect(readdirSync(dirname(path)).filter((name) => name.includes("schema"))).toEqual([
      `headgate.db.schema-${version}`,
    ])
  })

  test("rows from before the plan and the prices were kept have none", async () => {
    const path = join(newFolder(), "headgate.db")
    await oldDatabase(path, "plan_of_a_ledger_row", [sampleRow("old")])
    const rows = await using(path, (storage) => storage.ledger.rows(alice, 9))
    const unknown = {
      strategy: "",
      seed: 0,
      priceBasis: "",
      priceVersion: null,
      waived: null,
      rareUsage: null,
    } as const
    expect(rows).toEqual([sampleRow("old", { ...unknown, form: "", operation: "", callerRequestId: "", routed: "" })])
  })

  test("the ledger refuses changes, also from other programs", async () => {
    await changed((db) => {
      expect(() => db.run("UPDATE ledger SET cost = 0")).toThrow("append-only")
      expect(() => db.run("DELETE FROM ledger")).toThrow("append-only")
    })
  })

  test.each([
    ["full", 2],
    ["process", 1],
  ] as const)("durability %s: synchronous is %d where rows are written", async (durability, synchronous) => {
    const opened = openFile({ path: join(newFolder(), "headgate.db"), durability })
    const pragma = await Effect.runPromise(
      Effect.scoped(Effect.map(opened, ({ db }) => db.query("PRAGMA synchronous").get())),
    )
    expect(pragma).toEqual({ synchronous })
  })

  test("can be read by other programs while the gateway runs", async () => {
    const path = join(newFolder(), "headgate.db")
    const seen = await using(path, (storage) =>
      Effect.map(storage.ledger.append([sampleRow("r1"), sampleRow("r2")]), () => {
        const db = new Database(path, { readonly: true })
        const rows = db.query<{ n: number }, []>("SELECT COUNT(*) AS n FROM ledger").get()
        db.close()
        return rows?.n
      }),
    )
    expect(seen).toBe(2)
  })

  test("a lookup of a key's spend touches no other rows", async () => {
    await changed((db) => {
      const plan = (sql: string) =>
        db
          .query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`)
          .all()
          .map((step) => step.detail)
          .join("; ")
      expect(plan("SELECT amount FROM spend WHERE key_id = 'k' AND window_kind = 'daily' AND window_start = 0")).toBe(
        "SEARCH spend USING PRIMARY KEY (key_id=? AND window_kind=? AND window_start=?)",
      )
      expect(plan("SELECT * FROM keys WHERE kind = 'ordinary' ORDER BY created_at DESC, seq DESC LIMIT 5")).toBe(
        "SEARCH keys USING INDEX keys_by_age (kind=?)",
      )
    })
  })
})

describe("refused at start", () => {
  test("a second gateway on the same file, under any name, while the first goes on", async () => {
    const path = join(newFolder(), "headgate.db")
    const link = join(folder, "link.db")
    const { refusals, rows } = await usingThread(path, (storage) =>
      Effect.gen(function* () {
        symlinkSync(path, link)
        const refusals = yield* Effect.forEach([path, link], (name) => Effect.promise(() => notOpened(name)))
        yield* storage.ledger.append([sampleRow("r1")])
        return { refusals, rows: yield* storage.ledger.rows(alice, 9) }
      }),
    )
    const [direct, linked] = refusals
    expect(direct).toMatchObject({ _tag: "StorageNotOpened", reason: "in-use" })
    expect(direct?.message).toBe(`${path} is already in use by pid ${process.pid}.`)
    expect(linked).toMatchObject({ reason: "in-use" })
    expect(rows).toHaveLength(1)
    expect(await using(path, (storage) => storage.ledger.rows(alice, 9))).toHaveLength(1)
  })

  test("a second gateway in another process", async () => {
    const path = join(newFolder(), "headgate.db")
    const child = Bun.spawn([process.execPath, join(import.meta.dir, "writer.ts"), path], { stdout: "pipe" })
    try {
      await child.stdout.getReader().read()
      const refusal = await refusalOf(path)
      expect(refusal).toMatchObject({ reason: "in-use" })
      expect(refusal.message).toContain(`pid ${child.pid}`)
    } finally {
      child.kill("SIGKILL")
      await child.exited
    }
    expect((await using(path, (storage) => storage.ledger.rows(alice, 1))).length).toBe(1)
  })

  test.each([
    ["text", Buffer.from("these are my notes, not a database\n".repeat(500))],
    ["a few bytes", Buffer.from("xyz")],
  ])("%s, and it stays as it was", async (_, bytes) => {
    const path = join(newFolder(), "headgate.db")
    writeFileSync(path, bytes)
    const refusal = await refusalOf(path)
    expect(refusal).toMatchObject({ reason: "corrupt" })
    expect(refusal.message).toContain(path)
    expect(readFileSync(path).equals(bytes)).toBe(true)
    expect(existsSync(`${path}-wal`)).toBe(false)
  })

  test.each([
    ["cut in half", (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
    [
      "with a schema overwritten",
      (bytes: Buffer) => Buffer.concat([bytes.subarray(0, 100), Buffer.alloc(3996, 0x5a), bytes.subarray(4096)]),
    ],
  ])("a ledger %s, and it stays as it was", async (_, damage) => {
    const path = await changed(() => {})
    const bytes = damage(readFileSync(path))
    writeFileSync(path, bytes)
    expect(await refusalOf(path)).toMatchObject({ reason: "corrupt" })
    expect(readFileSync(path).equals(bytes)).toBe(true)
  })

  test("another program's database, and it stays as it was", async () => {
    const path = join(newFolder(), "theirs.db")
    const db = new Database(path)
    db.run("CREATE TABLE theirs (a)")
    db.close()
    const bytes = readFileSync(path)
    const refusal = await refusalOf(path)
    expect(refusal).toMatchObject({ reason: "corrupt" })
    expect(refusal.message).toContain("belongs to another program")
    expect(readFileSync(path).equals(bytes)).toBe(true)
  })

  test("a journal whose database is gone", async () => {
    const path = join(newFolder(), "headgate.db")
    writeFileSync(`${path}-wal`, "rows that were committed")
    expect(await refusalOf(path)).toMatchObject({ reason: "corrupt" })
    expect(readFileSync(`${path}-wal`, "utf8")).toBe("rows that were committed")
    expect(existsSync(path)).toBe(false)
  })

  test("a newer schema, and it stays as it was", async () => {
    const path = await changed((db) => {
      db.run(`INSERT INTO ${migrationsTable} (migration_id, name) VALUES (999, 'from_the_future')`)
    })
    const bytes = readFileSync(path)
    const refusal = await refusalOf(path)
    expect(refusal).toMatchObject({ reason: "newer" })
    expect(refusal.message).toContain(`database schema 999 is newer than this binary (${schemaVersion})`)
    expect(readFileSync(path).equals(bytes)).toBe(true)
  })

  test("a folder in the file's place, and a file in a folder's place", async () => {
    const home = newFolder()
    mkdirSync(join(home, "taken.db"))
    writeFileSync(join(home, "file"), "")
    expect(await refusalOf(join(home, "taken.db"))).toMatchObject({ reason: "unwritable" })
    expect(await refusalOf(join(home, "file", "headgate.db"))).toMatchObject({ reason: "unwritable" })
  })
})

test("a start on a path that cannot be written ends in a line that names it, and exit code 73", async () => {
  const installation = install()
  const file = join(newFolder(), "file")
  writeFileSync(file, "")
  const gateway = installation.start({ config: {}, env: { HEADGATE_STORAGE: `sqlite:${file}/headgate.db` } })
  expect(await gateway.exited).toBe(73)
  expect(gateway.err()).toMatch(/^[^\n]*\/headgate\.db cannot be opened for writing: [^\n]+\n$/)
  await installation.remove()
})

describe("the thread", () => {
  const start = (source: string) => () => {
    const path = join(newFolder(), "thread.js")
    writeFileSync(path, source)
    return new Worker(path)
  }

  test("concurrent calls each get their own answer", async () => {
    const path = join(newFolder(), "headgate.db")
    const names = Array.from({ length: 50 }, (_, n) => `k${n}`)
    const found = await usingThread(path, (storage) =>
      Effect.andThen(
        Effect.forEach(names, (name) => storage.keys.insert(sampleKey(name), someone), { concurrency: "unbounded" }),
        Effect.forEach(names, (name) => storage.keys.find(sampleKey(name).id), { concurrency: "unbounded" }),
      ),
    )
    expect(found.map((key) => key?.id)).toEqual(names.map((name) => sampleKey(name).id))
  })

  test("every call and every result crosses to the thread and back unchanged", async () => {
    const path = join(newFolder(), "headgate.db")
    const key = sampleKey(alice, { limit: 2n ** 62n, disabled: true, limitReset: "weekly", expiresAt: null })
    const row = sampleRow("r1", {
      cost: 2n ** 60n + 1n,
      estimated: true,
      streamed: false,
      appTitle: 'nul \u0000 😀 \\ "',
    })
    const seen = await usingThread(path, ({ keys, ledger }) =>
      Effect.gen(function* () {
        return [
          yield* keys.insert(key, someone),
          yield* keys.find(alice),
          yield* keys.find(bob),
          yield* keys.update(alice, { limit: null, name: "renamed" }, someone),
          yield* keys.list({ offset: 0, limit: 9, includeDisabled: true }),
          yield* keys.list({ offset: 0, limit: 9, includeDisabled: false }),
          yield* keys.countManagement(),
          yield* keys.remove(alice, someone),
          yield* keys.remove(alice, someone),
          yield* ledger.append([]),
          yield* ledger.append([row]),
          yield* ledger.rows(alice, 9),
          yield* ledger.spend(alice, at),
        ]
      }),
    )
    const renamed = { ...key, limit: null, name: "renamed" }
    const sum = row.cost
    const spend = { total: sum, daily: sum, weekly: sum, monthly: sum }
    expect(seen).toEqual([
      undefined,
      key,
      undefined,
      renamed,
      [renamed],
      [],
      0,
      true,
      false,
      undefined,
      undefined,
      [row],
      spend,
    ])
  })

  test("a refusal by the database differs from a database that is not available", async () => {
    const path = join(newFolder(), "headgate.db")
    const [row, limit, none] = await usingThread(path, ({ keys, ledger }) =>
      Effect.all([
        Effect.flip(ledger.append([sampleRow("r1", { cost: -1n })])),
        Effect.flip(keys.insert(sampleKey("rich", { limit: 2n ** 63n }), someone)),
        Effect.sync(() => {
          const other = new Database(path)
          other.run("DROP TABLE keys")
          other.close()
        }).pipe(Effect.zipRight(Effect.flip(keys.find(alice)))),
      ]),
    )
    expect([row.refused, limit.refused, none.refused]).toEqual([true, true, false])
    expect([row.reason, limit.reason, none.reason]).toEqual([
      "CHECK constraint failed: cost >= 0",
      "cannot store REAL value in INTEGER column keys.limit_amount",
      "no such table: keys",
    ])
  })

  test("when it dies, calls that wait fail, and so do those that come later", async () => {
    const dies = start(`
      self.onmessage = () => {
        self.postMessage({ installation: "its id", methods: { keys: ["countManagement"], ledger: ["append", "spend"] } })
        let calls = 0
        self.onmessage = () => { if (++calls === 2) throw new Error("out of luck") }
      }`)
    const errors = await Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const storage = yield* makeWith(dies, { path: join(newFolder(), "x.db"), durability: "full" })
          const waiting = yield* Effect.all(
            [Effect.flip(storage.keys.countManagement()), Effect.flip(storage.ledger.append([sampleRow("r1")]))],
            {
              concurrency: "unbounded",
            },
          )
          return [...waiting, yield* Effect.flip(storage.ledger.spend(alice, at))]
        }),
      ),
    )
    expect(errors).toHaveLength(3)
    for (const error of errors) expect(error).toBeInstanceOf(StorageUnavailable)
    expect(errors[0]?.reason).toContain("out of luck")
  })

  test("when its code does not load, the start fails", async () => {
    const options = { path: join(newFolder(), "x.db"), durability: "full" } as const
    const exit = await Effect.runPromise(
      Effect.scoped(Effect.sandbox(makeWith(start(`throw new Error("no such thing")`), options))).pipe(Effect.flip),
    )
    expect(exit._tag).toBe("Die")
    expect(String(exit)).toContain("no such thing")
  })

  test("after the layer is closed, calls fail", async () => {
    const path = join(newFolder(), "headgate.db")
    const storage = await usingThread(path, Effect.succeed)
    expect(await Effect.runPromise(Effect.flip(storage.ledger.append([sampleRow("r1")])))).toBeInstanceOf(
      StorageUnavailable,
    )
  })

  test("it keeps the process alive only while a call is running", async () => {
    const path = join(newFolder(), "headgate.db")
    const child = Bun.spawn([process.execPath, join(import.meta.dir, "writer.ts"), path, "3"], { stdout: "pipe" })
    const said = await new Response(child.stdout).text()
    expect(await child.exited).toBe(0)
    expect(said.trim().split("\n")).toHaveLength(3)
    expect((await using(path, (storage) => storage.ledger.rows(alice, 99))).length).toBe(1 + 2 + 3)
  })
})

test("SIGKILL loses no row that was reported, and counts none twice", async () => {
  const path = join(newFolder(), "headgate.db")
  const reported = new Set<string>()
  for (let round = 0; round < 5; round++) {
    const child = Bun.spawn([process.execPath, join(import.meta.dir, "writer.ts"), path], { stdout: "pipe" })
    const lines: Array<string> = []
    let rest = ""
    for await (const bytes of child.stdout) {
      const parts = (rest + new TextDecoder().decode(bytes)).split("\n")
      rest = parts.pop() ?? ""
      lines.push(...parts)
      // What it writes between this and its end is read too.
      if (lines.length >= 1 + round * 16) child.kill("SIGKILL")
    }
    await child.exited
    expect(child.signalCode).toBe("SIGKILL")
    for (const id of lines.flatMap((line) => line.split(" "))) reported.add(id)
  }
  expect(reported.size).toBeGreaterThan(10)
  const [rows, spend] = await using(path, (storage) =>
    Effect.all([storage.ledger.rows(alice, 1_000_000), storage.ledger.spend(alice, at)]),
  )
  const kept = new Set(rows.map((row) => row.requestId))
  expect([...reported].filter((id) => !kept.has(id))).toEqual([])
  expect(kept.size).toBe(rows.length)
  const sum = 7n * BigInt(rows.length)
  expect(spend).toEqual({ total: sum, daily: sum, weekly: sum, monthly: sum })
}, 1_800_000)
