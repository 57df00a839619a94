/** The audit log: what changes of keys write, and what is found of changes to it. docs/guarantees.md#g32 */
import { Database } from "bun:sqlite"
import { describe, expect, test } from "bun:test"
import { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { emptyHead } from "../../../src/domain/keys/audit.ts"
import { runToEnd } from "../../../src/sql/calls.ts"
import { verifyAudit } from "../../../src/sql/repositories/auditLog.ts"
import type { SqlRepositories } from "../../../src/sql/repositories/repositories.ts"
import { openTables } from "../../../src/sql/sqlite/openTables.ts"
import { makeClient } from "../../../src/sql/sqlite/sqliteClient.ts"
import { alice, bob, sampleKey, someone } from "../samples.ts"

interface Logged {
  readonly seq: number
  readonly action: string
  readonly object: string
  readonly actor: string
  readonly at: number
  readonly changes: string
  readonly hash: string
}

/** Tables in memory with a log of four changes of keys, unless others are given. */
const opened = async (changes: (repositories: SqlRepositories) => Effect.Effect<unknown, unknown> = fourChanges) => {
  const db = new Database(":memory:")
  const sql = await Effect.runPromise(makeClient(db))
  const { repositories } = await Effect.runPromise(Effect.provideService(openTables(db), SqlClient, sql))
  await Effect.runPromise(changes(runToEnd(repositories)))
  return {
    db,
    rows: () => db.query<Logged, []>("SELECT * FROM audit ORDER BY seq").all(),
    verified: () => Effect.runPromise(verifyAudit(sql)),
  }
}

const fourChanges = ({ keys }: SqlRepositories) =>
  Effect.gen(function* () {
    yield* keys.insert(sampleKey(alice, { name: "first" }), someone)
    yield* keys.insert(sampleKey(bob), { actor: "gateway", at: 5 })
    yield* keys.update(alice, { name: "second", limit: 2n ** 62n, updatedAt: 9 }, someone)
    yield* keys.remove(alice, someone)
  })

/** The log without what protects it, for who has the file. */
const unprotected = (db: Database) => {
  for (const { name } of db.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all())
    db.run(`DROP TRIGGER ${name}`)
}

describe("a change of a key", () => {
  test("leaves who, when, what, and the members that are different, before and after", async () => {
    const { rows, verified } = await opened()
    const log = rows()
    expect(log.map(({ seq, action, object, actor, at }) => [seq, action, object, actor, at])).toEqual([
      [1, "key.create", alice, someone.actor, someone.at],
      [2, "key.create", bob, "gateway", 5],
      [3, "key.update", alice, someone.actor, someone.at],
      [4, "key.delete", alice, someone.actor, someone.at],
    ])
    expect(JSON.parse(log[0]?.changes ?? "")).toMatchObject({ name: [null, "first"], disabled: [null, false] })
    expect(JSON.parse(log[2]?.changes ?? "")).toEqual({
      name: ["first", "second"],
      limit_amount: [null, (2n ** 62n).toString()],
      updated_at: [null, 9],
    })
    expect(JSON.parse(log[3]?.changes ?? "")).toMatchObject({ name: ["second", null], id: [alice, null] })
    expect(await verified()).toEqual({ seq: 4, hash: log[3]?.hash ?? "" })
  })

  test("that changes nothing, or fails, leaves nothing", async () => {
    const { rows, verified } = await opened(({ keys }) =>
      Effect.gen(function* () {
        yield* keys.update(bob, { name: "nobody" }, someone)
        yield* keys.remove(bob, someone)
        yield* Effect.flip(keys.insert(sampleKey(alice, { limit: 2n ** 63n }), someone))
      }),
    )
    expect(rows()).toEqual([])
    expect(await verified()).toEqual(emptyHead)
  })

  test("is not made when its row cannot be written", async () => {
    const { db, rows } = await opened(({ keys }) => keys.insert(sampleKey(alice, { name: "first" }), someone))
    const sql = await Effect.runPromise(makeClient(db))
    const { repositories } = await Effect.runPromise(Effect.provideService(openTables(db), SqlClient, sql))
    db.run("CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no room'); END")
    const { keys } = runToEnd(repositories)
    const failed = await Effect.runPromise(Effect.flip(keys.update(alice, { name: "second" }, someone)))
    expect(failed.message).toContain("no room")
    expect((await Effect.runPromise(keys.find(alice)))?.name).toBe("first")
    expect(rows()).toHaveLength(1)
  })
})

test("has the sessions of those who have an author", async () => {
  const { rows, verified } = await opened(({ sessions }) =>
    Effect.gen(function* () {
      const session = { id: "d1", secret: alice, createdAt: 1, seenAt: 1 }
      yield* sessions.insert(session, 9, someone)
      yield* sessions.insert({ ...session, id: "d2" }, 9, undefined)
      yield* sessions.remove("d1", someone)
      yield* sessions.remove("d2", undefined)
    }),
  )
  expect(rows().map(({ action, object, actor }) => [action, object, actor])).toEqual([
    ["session.create", "d1", someone.actor],
    ["session.delete", "d1", someone.actor],
  ])
  expect(await verified()).toMatchObject({ seq: 2 })
})

describe("the log", () => {
  test.each([
    "UPDATE audit SET actor = 'x' WHERE seq = 2",
    "DELETE FROM audit WHERE seq = 4",
    "INSERT OR REPLACE INTO audit SELECT seq, at, 'x', action, object, changes, hash FROM audit WHERE seq = 2",
    "INSERT INTO audit SELECT 9, at, actor, action, object, changes, hash FROM audit WHERE seq = 4",
    "DELETE FROM audit_head",
    "UPDATE audit_head SET seq = 3",
    "UPDATE audit_head SET hash = 'x'",
  ])("refuses %s", async (statement) => {
    const { db, verified } = await opened()
    expect(() => db.run(statement)).toThrow("append-only")
    expect(await verified()).toMatchObject({ seq: 4 })
  })

  const changed = "was changed, or stands in another place than it was written"
  test.each([
    ["a changed value", "UPDATE audit SET changes = '{}' WHERE seq = 3", 3, changed],
    ["a changed hash", "UPDATE audit SET hash = 'x' WHERE seq = 2", 2, changed],
    ["a row that is gone", "DELETE FROM audit WHERE seq = 2", 2, "is missing"],
    ["the first row gone", "DELETE FROM audit WHERE seq = 1", 1, "is missing"],
    ["a cut end", "DELETE FROM audit WHERE seq > 2", 3, "is missing"],
    ["an empty log", "DELETE FROM audit", 1, "is missing"],
    [
      "two rows in each other's place",
      "UPDATE audit SET seq = 9 WHERE seq = 2; UPDATE audit SET seq = 2 WHERE seq = 3; UPDATE audit SET seq = 3 WHERE seq = 9",
      2,
      changed,
    ],
    [
      "a gap that was closed",
      "DELETE FROM audit WHERE seq = 2; UPDATE audit SET seq = 2 WHERE seq = 3; UPDATE audit SET seq = 3 WHERE seq = 4",
      2,
      changed,
    ],
    [
      "a shorter log with its head",
      "DELETE FROM audit WHERE seq = 4; UPDATE audit_head SET seq = 3",
      3,
      "is not the row that was written last",
    ],
    ["no head", "DELETE FROM audit_head", 4, "is the last one, but the record of the end of the log is missing"],
    ["an older head", "UPDATE audit_head SET seq = 2", 3, "was added after the recorded end of the log"],
  ])("shows %s", async (_what, statements, seq, why) => {
    const { db, verified } = await opened()
    unprotected(db)
    for (const statement of statements.split("; ")) db.run(statement)
    expect(await verified()).toEqual({ seq, why })
  })
})
