/** Behaviour of @effect/sql that we rely on, over our own connection to `bun:sqlite`. */
import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import * as Migrator from "@effect/sql/Migrator"
import { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { makeClient } from "../../../src/sql/sqlite/sqliteClient.ts"

const inMemory = <A, E>(effect: Effect.Effect<A, E, SqlClient>): Promise<A> =>
  Effect.runPromise(Effect.provideServiceEffect(effect, SqlClient, makeClient(new Database(":memory:"))))

test("a transaction that fails leaves nothing, one that succeeds everything", async () => {
  const kept = await inMemory(
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* sql`CREATE TABLE t (a INTEGER) STRICT`
      yield* Effect.flip(
        sql.withTransaction(Effect.andThen(sql`INSERT INTO t VALUES (1)`, sql`INSERT INTO t VALUES ('x')`)),
      )
      yield* sql.withTransaction(Effect.andThen(sql`INSERT INTO t VALUES (2)`, sql`INSERT INTO t VALUES (3)`))
      return yield* sql<{ readonly a: number }>`SELECT a FROM t`
    }),
  )
  expect(kept.map((row) => row.a)).toEqual([2, 3])
})

test("migrations run in order, once, and one that fails leaves nothing", async () => {
  const run = (steps: Record<string, string>) =>
    Migrator.make({})({
      loader: Migrator.fromRecord(
        Object.fromEntries(
          Object.entries(steps).map(([name, text]) => [
            name,
            Effect.flatMap(SqlClient, (sql) => sql.unsafe(text)).pipe(Effect.asVoid),
          ]),
        ),
      ),
    })
  const first = { "1_make": "CREATE TABLE t (a)", "2_fill": "INSERT INTO t VALUES (1)" }
  const [ran, again, broken, rows, tables] = await inMemory(
    Effect.gen(function* () {
      const sql = yield* SqlClient
      return [
        yield* run(first),
        yield* run(first),
        yield* Effect.exit(run({ ...first, "3_more": "CREATE TABLE u (a)", "4_bad": "NO SQL AT ALL" })),
        yield* sql`SELECT a FROM t`,
        yield* sql`SELECT name FROM sqlite_schema WHERE name = 'u'`,
      ] as const
    }),
  )
  expect(ran.map(([id]) => id)).toEqual([1, 2])
  expect(again).toEqual([])
  expect(broken._tag).toBe("Failure")
  expect(rows).toHaveLength(1)
  expect(tables).toEqual([])
})

test("integers above 2^53 are exact as decimal text, in and out", async () => {
  const amount = (2n ** 62n + 1n).toString()
  const rows = await inMemory(
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* sql`CREATE TABLE t (a INTEGER) STRICT`
      yield* sql`INSERT INTO t VALUES (${amount})`
      return yield* sql`SELECT CAST(a AS TEXT) AS a, CAST(a - 1 AS TEXT) AS b, typeof(a) AS kind FROM t`
    }),
  )
  expect(rows).toEqual([{ a: amount, b: (2n ** 62n).toString(), kind: "integer" }])
})
