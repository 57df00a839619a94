/** A pooler between gateway and server, in each of its modes. docs/decisions/0048-poolers.md */
import { afterEach, describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as PostgresStorage from "../../../src/sql/postgres/PostgresStorage.ts"
import { openDatabase } from "../../../src/sql/postgres/postgresDatabase.ts"
import { readDatabase } from "../../../src/sql/postgres/postgresRead.ts"
import { openAccount } from "../../support/gateways/account.ts"
import { startGateway } from "../../support/gateways/gateway.ts"
import { install } from "../../support/gateways/process.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"
import { hasPgbouncer, startPgbouncer } from "../../support/storage/pgbouncer.ts"
import { execute, hasPostgres, makeDatabase, redactedUrlOf, urlOf } from "../../support/storage/postgres.ts"

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const pooler = async (...settings: ReadonlyArray<string>) => {
  const started = await startPgbouncer(...settings)
  closing.push(started.stop)
  return started
}

const tables = async (database: string): Promise<unknown> => {
  const [found] = await execute(database, "SELECT COUNT(*)::int AS n FROM pg_tables WHERE schemaname = 'headgate'")
  return found?.rows[0]?.n
}

const what = /is a pooler in transaction mode.*address of the server itself/

describe.skipIf(!hasPgbouncer || !hasPostgres)("PgBouncer", () => {
  test.each([
    [["pool_mode=transaction"]],
    [["pool_mode=transaction", "server_round_robin=1"]],
    [["pool_mode=transaction", "default_pool_size=1"]],
    [["pool_mode=statement"]],
  ])(
    "with %p is refused before anything is written: a start went well, and then every call failed",
    async (settings) => {
      const database = await makeDatabase()
      const { port } = await pooler(...settings)
      const url = redactedUrlOf(database, port)
      const refused = await Effect.runPromise(Effect.flip(Effect.scoped(openDatabase({ url, durability: "full" }))))
      expect(refused).toMatchObject({ reason: "misconfigured", message: expect.stringMatching(what) })
      expect(await tables(database)).toBe(0)
      const unread = await Effect.runPromise(Effect.flip(readDatabase(url, () => Effect.void)))
      expect(unread.message).toMatch(what)
      // Another client of the pooler finds none of our settings.
      const [found] = await execute(database, "SHOW search_path")
      expect(found?.rows[0]?.search_path).toBe('"$user", public')
    },
    1_800_000,
  )

  test("in transaction mode, while other clients use it, is refused", async () => {
    const database = await makeDatabase()
    const { port } = await pooler("pool_mode=transaction", "server_round_robin=1")
    let isOver = false
    const others = Array.from({ length: 4 }, async () => {
      const client = new (await import("pg")).Client({ connectionString: urlOf(database, port) })
      await client.connect()
      while (!isOver) await client.query("SELECT pg_sleep(0.001)")
      await client.end()
    })
    const url = redactedUrlOf(database, port)
    for (let start = 0; start < 5; start++) {
      const refused = await Effect.runPromise(Effect.flip(Effect.scoped(openDatabase({ url, durability: "full" }))))
      expect(refused.message).toMatch(what)
    }
    isOver = true
    await Promise.all(others)
  }, 1_800_000)

  test("in transaction mode ends a start with code 78 and the remedy", async () => {
    const database = await makeDatabase()
    const { port } = await pooler("pool_mode=transaction")
    const installation = install()
    closing.push(installation.remove)
    const gateway = installation.start({
      config: { discovery: { environment: false, local: false }, spool_folder: installation.folder },
      env: { HEADGATE_STORAGE: urlOf(database, port) },
    })
    expect(await gateway.exited).toBe(78)
    expect(gateway.err()).toMatch(what)
  }, 1_800_000)

  test("in session mode works", async () => {
    const database = await makeDatabase()
    const { port } = await pooler("pool_mode=session")
    const host = scriptedHost(() => wholeAnswer("hello"))
    closing.push(host.stop)
    const gateway = await startGateway({
      config: configFor({ acme: host }),
      storage: PostgresStorage.layer({ url: redactedUrlOf(database, port), durability: "full" }),
    })
    closing.push(gateway.stop)
    const account = await openAccount(gateway)
    const headers = { authorization: `Bearer ${account.secret}` }
    const ask = { model: "acme/small", max_tokens: 10, messages: [{ role: "user", content: "hi" }] }
    const answers = await Promise.all(Array.from({ length: 30 }, () => gateway.chat(ask, { headers })))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(await account.rows()).toHaveLength(30)
  }, 1_800_000)
})
