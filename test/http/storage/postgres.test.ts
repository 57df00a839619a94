/** The gateway on PostgreSQL, as an operator runs it. docs/guarantees.md#g3, #g21 and #g22 */
import { afterEach, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import { isJsonObject } from "../../../src/domain/json/json.ts"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import * as PostgresStorage from "../../../src/sql/postgres/PostgresStorage.ts"
import { openDatabase } from "../../../src/sql/postgres/postgresDatabase.ts"
import { finishesOf, readStrictly } from "../../support/clients/strictSse.ts"
import { tcpProxy } from "../../support/clients/tcpProxy.ts"
import { until } from "../../support/clocks/until.ts"
import { openAccount } from "../../support/gateways/account.ts"
import { startGateway } from "../../support/gateways/gateway.ts"
import {
  costsBeforeKill,
  firstKey,
  type Installation,
  install,
  killPatience,
  type RunningGateway,
  reportKills,
} from "../../support/gateways/process.ts"
import { configFor, scriptedHost, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"
import {
  describePostgres,
  execute,
  makeDatabase,
  port,
  postgresAt,
  redactedUrlOf,
  urlOf,
} from "../../support/storage/postgres.ts"

const ask = { model: "acme/small", messages: [{ role: "user", content: "hello" }], max_tokens: 50 }

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const hostFor = (answer: Parameters<typeof scriptedHost>[0]) => {
  const host = scriptedHost(answer)
  closing.push(host.stop)
  return host
}

const wholeOrStream = (body: Readonly<Record<string, unknown>>) =>
  body["stream"] === true ? streamAnswer(["word ", "by ", "word"]) : wholeAnswer("Hello")

const post = (url: string, secret: string, body: unknown): Promise<Response> =>
  fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  })

/** The cost in an answer, in picodollars. */
const reportedCost = (answer: unknown): bigint | undefined => {
  const usage = isJsonObject(answer) ? answer["usage"] : undefined
  const cost = isJsonObject(usage) ? usage["cost"] : undefined
  return typeof cost === "number" ? BigInt(Math.round(cost * 1e12)) : undefined
}

/** What a key has in a database that no gateway has open. */
const accountIn = (database: string, secret: string) =>
  Effect.runPromise(
    Effect.scoped(
      Effect.flatMap(openDatabase({ url: redactedUrlOf(database), durability: "full" }), ({ ledger }) =>
        Effect.all({
          rows: ledger.rows(keyId(secret), 100_000),
          spent: ledger.spend(keyId(secret), Date.now()),
        }),
      ),
    ),
  )

describePostgres("a gateway on PostgreSQL", () => {
  const patience = 1_800_000

  const installed = (): Installation => {
    const installation = install()
    closing.push(installation.remove)
    return installation
  }

  const plain = { discovery: { environment: false, local: false } }

  const start = (installation: Installation, storage: string, config: object = plain): RunningGateway =>
    installation.start({
      config: { ...config, spool_folder: installation.folder },
      env: { HEADGATE_STORAGE: storage, PGPASSWORD: "test-password" },
    })

  test(
    "killed at any moment, has written every cost that a caller saw, and starts again",
    async () => {
      const database = await makeDatabase()
      const host = hostFor(wholeOrStream)
      const installation = installed()
      const reported = new Map<unknown, bigint>()
      let key = ""
      const proxy = await tcpProxy(port)
      closing.push(proxy.close)
      // The password comes from its variable.
      const storage = urlOf(database, proxy.port).replace(":test-password@", "@")
      const running = async () => {
        const gateway = start(installation, storage, configFor({ a: { url: host.url } }))
        return { gateway, url: await gateway.url() }
      }
      /** `isAway`: the server goes away, and the gateway is killed when it has spooled something. */
      const round = async (least: number, isAway: boolean) => {
        const { gateway, url } = await running()
        if (key === "") {
          await until(() => gateway.out().includes("curl "), "the keys")
          key = firstKey(gateway.out())
        }
        const before = reported.size
        let killed = false
        const kill = () => {
          killed = true
          gateway.kill("SIGKILL")
        }
        const hear = (answer: unknown) => {
          const cost = reportedCost(answer)
          if (isJsonObject(answer) && cost !== undefined) reported.set(answer["id"], cost)
          if (reported.size - before < least || killed) return
          if (isAway) void proxy.down()
          else kill()
        }
        const caller = async (stream: boolean) => {
          while (!killed) {
            const response = await post(url, key, { ...ask, stream })
            const text = await response.text()
            if (response.status === 503) kill()
            else if (stream) for (const end of finishesOf(readStrictly(text).events)) hear(end)
            else hear(JSON.parse(text))
          }
        }
        await Promise.allSettled(Array.from({ length: 12 }, (_, at) => caller(at % 2 === 0)))
        expect(await gateway.exited).toBe(137)
        if (isAway) {
          await proxy.up()
          const next = await running()
          next.gateway.kill("SIGTERM")
          expect(await next.gateway.exited).toBe(0)
        }
        const { rows, spent } = await accountIn(database, key)
        const booked = new Map(rows.map((row) => [row.generationId as unknown, row.cost]))
        expect(booked.size).toBe(rows.length)
        for (const [generation, cost] of reported)
          expect([generation, booked.get(generation)]).toEqual([generation, cost])
        expect(spent.total).toBe(rows.reduce((sum, { cost }) => sum + cost, 0n))
      }
      for (const [at, least] of costsBeforeKill().entries()) await round(least, at % 5 === 2)
      expect(reported.size).toBeGreaterThan(200)
      const { rows, spent } = await accountIn(database, key)
      const sum = rows.reduce((total, { cost }) => total + cost, 0n)
      reportKills("PostgreSQL, killed", { answered: reported.size, rows: rows.length, spent: spent.total, sum })
    },
    killPatience,
  )

  test(
    "says in a line why it does not start",
    async () => {
      const database = await makeDatabase()
      const url = urlOf(database)
      const ended = async (storage: string) => {
        const gateway = start(installed(), storage)
        return [await gateway.exited, gateway.err().trim()] as const
      }
      const cases = [
        [url.replace(`:${port}/`, ":1/"), 69, `storage: postgres://127.0.0.1:1/${database} cannot be reached: `],
        [url.replace("test-password", "wrong"), 78, " does not let the gateway in: password authentication failed"],
        [`${url}_not`, 78, " does not let the gateway in: database "],
      ] as const
      for (const [storage, code, text] of cases) {
        const [exit, line] = await ended(storage)
        expect([exit, line.includes(text), line.includes("\n"), line.includes("test-password")]).toEqual([
          code,
          true,
          false,
          false,
        ])
      }
      const first = start(installed(), url)
      await first.url()
      first.kill("SIGTERM")
      expect(await first.exited).toBe(0)
      await execute(database, "INSERT INTO headgate.migrations (migration_id, name) VALUES (99, 'later')")
      expect((await ended(url))[0]).toBe(65)
    },
    patience,
  )

  test("whose server is away for less than the time of a retry loses nothing, and charges what it says", async () => {
    const { proxy, host, gateway, account } = await throughProxy()
    const chat = () => gateway.chat(ask, { headers: { authorization: `Bearer ${account.secret}` } })
    expect((await chat()).status).toBe(200)
    const calls = host.calls.length
    await proxy.down()
    const waiting = Array.from({ length: 20 }, chat)
    await until(() => host.calls.length === calls + 20, "the calls")
    await proxy.up()
    const answers = await Promise.all(waiting)
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    const rows = await account.rows()
    expect([rows.length, await account.reserved(), await account.total()]).toEqual([21, 0n, 21n * 20_000_000n])
  })

  test(
    "without a spool, whose server is away for long, answers 503, keeps what it could not write, and recovers by itself",
    async () => {
      const { proxy, host, gateway, account } = await throughProxy()
      const headers = { authorization: `Bearer ${account.secret}` }
      const ready = async () => (await fetch(gateway.url.replace("/api/v1", "/readyz"))).status
      expect((await gateway.chat(ask, { headers })).status).toBe(200)
      await proxy.down()
      expect((await gateway.chat(ask, { headers })).status).toBe(503)
      const calls = host.calls.length
      expect((await gateway.chat(ask, { headers })).status).toBe(503)
      expect([host.calls.length, await ready()]).toEqual([calls, 503])
      await proxy.up()
      await until(async () => (await ready()) === 200, "the recovery")
      expect((await gateway.chat(ask, { headers })).status).toBe(200)
      // The one who was answered 503 pays nothing.
      const rows = await account.rows()
      expect(rows.map(({ cost }) => cost)).toEqual([20_000_000n, 0n, 20_000_000n])
      expect([await account.reserved(), await account.total()]).toEqual([0n, 40_000_000n])
    },
    patience,
  )

  test(
    "whose server commits and goes away before it says so: the row counts as it was committed",
    async () => {
      const { proxy, gateway, account } = await throughProxy()
      const headers = { authorization: `Bearer ${account.secret}` }
      expect((await gateway.chat(ask, { headers })).status).toBe(200)
      const away = proxy.loseReplyTo("acme/small").then(proxy.down)
      expect((await gateway.chat(ask, { headers })).status).toBe(503)
      await away
      expect(await account.reserved()).toBeGreaterThan(0n)
      await proxy.up()
      await until(async () => (await account.reserved()) === 0n, "the recovery")
      const rows = await account.rows()
      expect(rows.map(({ cost }) => cost)).toEqual([20_000_000n, 20_000_000n])
      expect(await account.total()).toBe(40_000_000n)
    },
    patience,
  )

  test("whose server holds every statement for a while: all are answered, and every key is exact", async () => {
    const { proxy, host, gateway } = await throughProxy(postgresAt)
    const accounts = await Promise.all(Array.from({ length: 12 }, () => openAccount(gateway)))
    const chat = async (secret: string) =>
      (await gateway.chat(ask, { headers: { authorization: `Bearer ${secret}` } })).status
    for (const { secret } of accounts) expect(await chat(secret)).toBe(200)
    proxy.hold()
    // More statements than connections: changes of keys, and rows.
    const working = accounts.flatMap(({ secret, id }) => [
      chat(secret),
      gateway
        .call(`/keys/${id}`, {
          method: "PATCH",
          headers: { authorization: `Bearer ${gateway.managementKey}`, "content-type": "application/json" },
          body: JSON.stringify({ name: "renamed" }),
        })
        .then(({ status }) => status),
    ])
    await until(() => host.calls.length === 2 * accounts.length, "the calls")
    proxy.release()
    expect(await Promise.all(working)).toEqual(working.map(() => 200))
    for (const account of accounts)
      expect([(await account.rows()).length, await account.total(), await account.reserved()]).toEqual([
        2,
        40_000_000n,
        0n,
      ])
  })

  test("answers 404 for a key id that no database can hold", async () => {
    const { gateway } = await throughProxy()
    const headers = { authorization: `Bearer ${gateway.managementKey}` }
    expect((await gateway.call("/keys/%00", { headers })).status).toBe(404)
    expect(
      (
        await gateway.call("/keys", {
          method: "POST",
          headers: { ...headers, "content-type": "application/json" },
          body: JSON.stringify({ name: "nul \0 name" }),
        })
      ).status,
    ).toBe(201)
  })
})

/** As a gateway opens it, which waits for seconds. */
const impatientAt = (database: string, at: number) =>
  PostgresStorage.layer({ url: redactedUrlOf(database, at), durability: "full" })

/** A gateway in this process whose database is reached through a proxy, an account, and a host. */
const throughProxy = async (storageAt = impatientAt) => {
  const database = await makeDatabase()
  const proxy = await tcpProxy(port)
  closing.push(proxy.close)
  const host = hostFor(wholeOrStream)
  const gateway = await startGateway({
    config: configFor({ acme: { url: host.url } }),
    storage: storageAt(database, proxy.port),
  })
  closing.push(gateway.stop)
  return { database, proxy, host, gateway, account: await openAccount(gateway) }
}
