/** PostgreSQL whose servers change their roles: sessions stay with the one that takes no writes any more. docs/guarantees.md#g22 */
import { afterEach, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as Pg from "pg"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { type DataAtRest, Storage } from "../../../src/services/storage/Storage.ts"
import * as PostgresStorage from "../../../src/sql/postgres/PostgresStorage.ts"
import { openDatabase } from "../../../src/sql/postgres/postgresDatabase.ts"
import { alice, bob, sampleKey, sampleRow, someone } from "../../sql/samples.ts"
import { until } from "../../support/clocks/until.ts"
import { collectedLog } from "../../support/gateways/collectedLog.ts"
import { startGateway } from "../../support/gateways/gateway.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"
import { describePostgres } from "../../support/storage/postgres.ts"
import { password, startServer } from "../../support/storage/postgresServer.ts"

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** A server of this file's own, since its settings are those of all its databases. Started once. */
let server: Promise<{ readonly port: number }> | undefined

const connectTo = async (port: number, database: string, options = "") => {
  const client = new Pg.Client({ host: "127.0.0.1", port, user: "postgres", password, database, options })
  await client.connect()
  return client
}

/** Databases, and what changes the role of their server. */
const switchable = async (count: number) => {
  server ??= startServer()
  const { port } = await server
  // It may write whatever the server's default is.
  const operator = await connectTo(port, "postgres", "-c default_transaction_read_only=off")
  const witness = await connectTo(port, "template1")
  const names = Array.from({ length: count }, () => `switched_${crypto.randomUUID().slice(0, 8)}`)
  for (const name of names) await operator.query(`CREATE DATABASE ${name} TEMPLATE template0`)
  const setReadOnly = async (value: "on" | "off") => {
    await operator.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`)
    await operator.query("SELECT pg_reload_conf()")
    await until(
      async () => (await witness.query("SHOW transaction_read_only")).rows[0]?.transaction_read_only === value,
    )
  }
  closing.push(async () => {
    await setReadOnly("off")
    await Promise.all([operator.end(), witness.end()])
  })
  return {
    urls: names.map((name) => Redacted.make(`postgres://postgres:${password}@127.0.0.1:${port}/${name}`)),
    /** Ids of the sessions of gateways. */
    sessions: async () => {
      const ours = `datname = ANY ($1) AND application_name LIKE 'headgate%'`
      const { rows } = await operator.query(`SELECT pid FROM pg_stat_activity WHERE ${ours}`, [names])
      return rows.map(({ pid }) => Number(pid))
    },
    demote: () => setReadOnly("on"),
    /** New sessions may write; those that are open may not. */
    promote: async () => {
      for (const name of names) await operator.query(`ALTER DATABASE ${name} SET default_transaction_read_only = off`)
    },
  }
}

/** Opens as many sessions as the pool may have. */
const openAll = ({ keys }: DataAtRest) =>
  Effect.all(
    Array.from({ length: 8 }, (_, n) => keys.find(keyId(`none ${n}`))),
    { concurrency: "unbounded", discard: true },
  )

/** A gateway. `keys`: so many with a limit, which were not used yet, so that their first request writes. */
const started = async (keys: number) => {
  const { urls, ...servers } = await switchable(1)
  const [url = Redacted.make("")] = urls
  const host = scriptedHost(() => wholeAnswer("Hello"))
  closing.push(host.stop)
  const log = collectedLog()
  const gateway = await startGateway({
    config: configFor({ a: { url: host.url } }),
    storage: PostgresStorage.layer({ url, durability: "process" }),
    setting: log.layer,
  })
  closing.push(gateway.stop)
  const secrets = await Promise.all(
    Array.from({ length: keys }, () => gateway.newKey({ limit: 1_000_000_000_000n, limitReset: null })),
  )
  const ask = async (secret = "") => {
    const headers = { authorization: `Bearer ${secret}` }
    const body = { model: "acme/small", messages: [{ role: "user", content: "hello" }], max_tokens: 50 }
    return (await gateway.chat(body, { headers })).status
  }
  const ready = async () => (await fetch(new URL("/readyz", gateway.url))).status
  return { ...servers, gateway, log, secrets, ask, ready }
}

describePostgres("a switchover of PostgreSQL", () => {
  test("keys with a limit got 503 for minutes, while idle sessions stayed with the demoted server", async () => {
    const { gateway, secrets, ask, ready, sessions, demote, promote } = await started(6)
    await gateway.run(Effect.flatMap(Storage, openAll))
    const before = await sessions()
    await demote()
    await promote()
    expect(await Promise.all(secrets.map(ask))).toEqual(secrets.map(() => 200))
    expect(await ready()).toBe(200)
    // The session that listens for notices too.
    await until(async () => (await sessions()).every((pid) => !before.includes(pid)), "new sessions")
  }, 1_800_000)

  test("/readyz said 200, and the log went to and fro, while no session could write", async () => {
    const { gateway, log, secrets, ask, ready, demote, promote } = await started(2)
    const [first, second] = secrets
    expect(await ready()).toBe(200)
    await demote()
    expect(await ask(first)).toBe(503)
    expect(await ready()).toBe(503)
    const takes = await gateway.run(Effect.flatMap(Storage, ({ ledger }) => ledger.takesRequests()))
    expect(takes).toEqual({ kind: "away", cause: expect.stringContaining("read-only transaction") })
    // Keys can be read.
    const known = await gateway.run(Effect.flatMap(Storage, ({ keys }) => keys.find(keyId(second ?? ""))))
    expect(known).toBeDefined()
    await promote()
    await until(async () => (await ready()) === 200, "the gateway")
    expect(await ask(second)).toBe(200)
    const told = () => log.lines.filter((line) => /database is not available|takes requests again/.test(line))
    await until(() => told().some((line) => line.includes("again")), "its end in the log")
    expect(told().map((line) => line.split(" ", 1)[0])).toEqual(["ERROR", "INFO"])
  }, 1_800_000)

  const entry = { id: "first-0", state: "streaming" as const, row: sampleRow("r1") }
  const writes: ReadonlyArray<(storage: DataAtRest) => Effect.Effect<unknown, unknown>> = [
    ({ shared }) => shared?.leases.take("first", 60_000) ?? Effect.dieMessage("not shared"),
    ({ journal }) => journal.write("first", 0, [entry], []),
    ({ keys }) => keys.insert(sampleKey(alice), someone),
    ({ ledger }) => ledger.append([sampleRow("r1")]),
  ]

  test("statements and transactions failed on sessions that stayed: they are tried once on new ones", async () => {
    const { urls, demote, promote } = await switchable(writes.length)
    const patience = { connectMs: 20_000, statementMs: 20_000, silenceMs: 30_000, appendMs: 20_000 }
    const opened = Effect.forEach(urls, (url) => openDatabase({ url, durability: "full" }, patience))
    const tried = Effect.gen(function* () {
      const storages = yield* opened
      yield* Effect.forEach(storages, openAll)
      yield* Effect.promise(demote)
      for (const { keys } of storages) {
        const refused = yield* Effect.flip(keys.insert(sampleKey(bob), someone))
        expect(refused).toMatchObject({ _tag: "StorageUnavailable", refusedBy: "session" })
      }
      yield* Effect.forEach(storages, openAll)
      yield* Effect.promise(promote)
      yield* Effect.forEach(storages, (storage, at) => writes[at]?.(storage) ?? Effect.void)
    })
    await Effect.runPromise(Effect.provide(Effect.scoped(tried), Logger.remove(Logger.defaultLogger)))
  }, 1_800_000)
})
