/** The gateway while PostgreSQL is away or slow, with a spool on its own disk. docs/guarantees.md#g2, #g3 and #g22 */
import { afterEach, expect, test } from "bun:test"
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { isJsonObject } from "../../../src/domain/json/json.ts"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { reconcile } from "../../../src/services/money/reconcile.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { openDatabase } from "../../../src/sql/postgres/postgresDatabase.ts"
import { finishesOf, readStrictly } from "../../support/clients/strictSse.ts"
import { tcpProxy } from "../../support/clients/tcpProxy.ts"
import { until } from "../../support/clocks/until.ts"
import { openAccount, type TestAccount } from "../../support/gateways/account.ts"
import { collectedLog } from "../../support/gateways/collectedLog.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { firstKey, install } from "../../support/gateways/process.ts"
import { chunkOf, configFor, type HeldStream, heldStream, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"
import { describePostgres, execute, makeDatabase, port, redactedUrlOf, urlOf } from "../../support/storage/postgres.ts"

const ask = { model: "acme/small", messages: [{ role: "user", content: "hello" }], max_tokens: 50 }

/** What each answer of these hosts costs. */
const cost = 20_000_000n

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-spool-"))
  closing.push(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const opened = <A extends { readonly stop: () => unknown }>(one: A): A => {
  closing.push(one.stop)
  return one
}

/** A host whose streams the test sends, in the order in which they were asked for. */
const streamingHost = () => {
  const streams: Array<HeldStream> = []
  const host = scriptedHost((body, request) => {
    if (body["stream"] !== true) return wholeAnswer("Hello")
    const stream = heldStream(request)
    streams.push(stream)
    stream.send(chunkOf({ delta: { content: "word" }, finish_reason: null }))
    return stream.response
  })
  closing.push(host.stop)
  const finish = ({ send, close }: HeldStream) => {
    send(chunkOf({ delta: {}, finish_reason: "stop" }))
    send(chunkOf({ delta: {} }, { choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } }))
    send("[DONE]")
    close()
  }
  return { ...host, streams, finish }
}

/** The cost that the last event of a stream reports, in picodollars. */
const costOf = (text: string): bigint | undefined => {
  const { events, done } = readStrictly(text)
  const usage = finishesOf(events).at(-1)?.["usage"]
  const reported = isJsonObject(usage) ? usage["cost"] : undefined
  return done && typeof reported === "number" ? BigInt(Math.round(reported * 1e12)) : undefined
}

/** A gateway in this process whose database is reached through a proxy. */
const throughProxy = async (hostUrl: string, { appendMs = 300, spoolFolder = newFolder() } = {}) => {
  const database = await makeDatabase()
  const proxy = await tcpProxy(port)
  closing.push(proxy.close)
  const opening = {
    url: redactedUrlOf(database, proxy.port),
    durability: "full",
    onTaken: () => Effect.void,
    spoolFolder,
  } as const
  const patience = { connectMs: 5000, statementMs: 10_000, silenceMs: 15_000, lockMs: 2000, appendMs }
  const log = collectedLog()
  const gateway = await startGateway({
    config: configFor({ acme: { url: hostUrl } }),
    storage: Layer.scoped(Storage, openDatabase(opening, patience)),
    setting: log.layer,
  })
  closing.push(gateway.stop)
  return { database, proxy, gateway, spoolFolder, log }
}

const authorized = ({ secret }: TestAccount) => ({ headers: { authorization: `Bearer ${secret}` } })

const asking = (gateway: TestGateway, account: TestAccount, more: object = {}) =>
  gateway.chat({ ...ask, ...more }, authorized(account))

const readiness = async (gateway: TestGateway): Promise<number> =>
  (await fetch(gateway.url.replace("/api/v1", "/readyz"))).status

const differences = (gateway: TestGateway) =>
  gateway.run(Effect.flatMap(Storage, (storage) => Effect.map(reconcile(storage), (found) => found.differences)))

describePostgres("a gateway with a spool, whose server", () => {
  const longest = 240_000

  test(
    "is away for a while: that is logged once when callers get 503, and once when it is over",
    async () => {
      const host = streamingHost()
      const { proxy, gateway, log } = await throughProxy(host.url)
      const account = await openAccount(gateway)
      const strangers = await Promise.all(Array.from({ length: 6 }, () => gateway.newKey()))
      const answer = await asking(gateway, account, { stream: true })
      await proxy.down()
      for (const stream of host.streams) host.finish(stream)
      await answer.text()
      // The first is refused by the ledger's state, the others since their keys cannot be read.
      expect((await asking(gateway, account)).status).toBe(503)
      for (const secret of strangers) {
        const headers = { authorization: `Bearer ${secret}` }
        expect((await gateway.chat(ask, { headers })).status).toBe(503)
      }
      expect(await (await fetch(gateway.url.replace("/api/v1", "/readyz"))).text()).toContain("does not answer")
      // Longer than the ledger and the lease wait before they try again.
      await Bun.sleep(2500)
      await proxy.up()
      const again = "INFO the database takes requests again"
      await until(() => log.lines.includes(again), "the end")
      expect(await readiness(gateway)).toBe(200)
      const errors = log.texts.filter((line) => line.startsWith("ERROR"))
      expect(errors).toEqual([expect.stringMatching(/^ERROR The database is not available: .*"database":"postgres:/)])
      const warnings = log.lines.filter((line) => line.startsWith("WARN"))
      expect(warnings).toEqual([...new Set(warnings)])
      expect(log.lines.filter((line) => line === again)).toHaveLength(1)
    },
    longest,
  )

  test(
    "is away while streams run: they end with their cost, which is booked once when it is back; new requests get 503",
    async () => {
      const host = streamingHost()
      const { proxy, gateway, spoolFolder } = await throughProxy(host.url)
      const account = await openAccount(gateway)
      const answers = await Promise.all(Array.from({ length: 6 }, () => asking(gateway, account, { stream: true })))
      const calls = host.calls.length
      await proxy.down()
      for (const stream of host.streams) host.finish(stream)
      const ended = await Promise.all(answers.map((answer) => answer.text()))
      expect(ended.map(costOf)).toEqual(ended.map(() => cost))

      const refused = await asking(gateway, account)
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"])
      expect([host.calls.length, await readiness(gateway)]).toEqual([calls, 503])
      expect([
        (await gateway.call("/models", authorized(account))).status,
        await account.reserved(),
        await account.total(),
      ]).toEqual([200, 0n, 6n * cost])

      await proxy.up()
      await until(async () => (await readiness(gateway)) === 200, "the recovery")
      expect((await asking(gateway, account)).status).toBe(200)
      await until(async () => (await account.rows()).length >= 7, "the last row")
      expect((await account.rows()).map((row) => row.cost)).toEqual(Array(7).fill(cost))
      // Their prices were used for the first time while it was away.
      const prices = await gateway.run(Effect.flatMap(Storage, (storage) => storage.prices.list(0, 10)))
      expect([prices.length, await account.total(), await differences(gateway)]).toEqual([1, 7n * cost, []])
      await gateway.stop()
      expect(readdirSync(spoolFolder)).toEqual([])
    },
    longest,
  )

  test.each([
    ["within the time of a write", 10_000],
    ["later than that", 100],
  ])(
    "answers every statement late, %s: all are answered, and every key is exact",
    async (_when, appendMs) => {
      const together = Promise.withResolvers<void>()
      const host = opened(
        scriptedHost(async ({ user }) => {
          if (user === "late") await together.promise
          return wholeAnswer("Hello")
        }),
      )
      const { proxy, gateway } = await throughProxy(host.url, { appendMs })
      const accounts = await Promise.all(Array.from({ length: 12 }, () => openAccount(gateway)))
      // On a busy machine a write may take longer than it may, and the next request is refused until it is done.
      for (const account of accounts)
        await until(async () => (await asking(gateway, account)).status === 200, "an answer")
      await until(async () => (await readiness(gateway)) === 200, "the last write")
      proxy.delay(400)
      const calls = host.calls.length
      const asked = accounts.map((account) => asking(gateway, account, { user: "late" }))
      // Once one of them is written late, no more are admitted.
      await until(() => host.calls.length === calls + asked.length, "the calls")
      together.resolve()
      const answers = await Promise.all(asked)
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
      proxy.delay(0)
      await until(async () => (await readiness(gateway)) === 200, "the recovery")
      for (const account of accounts)
        expect([(await account.rows()).length, await account.total(), await account.reserved()]).toEqual([
          2,
          2n * cost,
          0n,
        ])
      expect(await differences(gateway)).toEqual([])
    },
    longest,
  )

  test(
    "is away, and so is the folder of the spool: 503, and booked later at no cost to the caller",
    async () => {
      const host = streamingHost()
      const spoolFolder = join(newFolder(), "a file")
      writeFileSync(spoolFolder, "")
      // Nothing takes what a busy machine does not write in time.
      const { proxy, gateway } = await throughProxy(host.url, { spoolFolder, appendMs: 3000 })
      const account = await openAccount(gateway)
      expect((await asking(gateway, account)).status).toBe(200)
      await proxy.down()
      expect((await asking(gateway, account)).status).toBe(503)
      await proxy.up()
      await until(async () => (await readiness(gateway)) === 200, "the recovery")
      expect((await account.rows()).map((row) => row.cost)).toEqual([0n, cost])
    },
    longest,
  )

  test(
    "is away until the gateway is killed: the next one books what callers were told, and charges the streams that broke off",
    async () => {
      const host = streamingHost()
      const database = await makeDatabase()
      const proxy = await tcpProxy(port)
      closing.push(proxy.close)
      const installation = install()
      closing.push(installation.remove)
      const spoolFolder = join(installation.folder, "spool")
      const config = configFor(
        { a: { url: host.url } },
        { spool_folder: spoolFolder, discovery: { environment: false, local: false } },
      )
      const start = () => installation.start({ config, env: { HEADGATE_STORAGE: urlOf(database, proxy.port) } })
      const first = start()
      const url = await first.url()
      await until(() => firstKey(first.out()) !== "", "the key")
      const key = firstKey(first.out())
      const stream = () =>
        fetch(`${url}/chat/completions`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify({ ...ask, stream: true }),
        })
      const finishing = await stream()
      const broken = await stream()
      await until(async () => {
        const [open] = await execute(database, "SELECT * FROM headgate.open_requests WHERE state = 'streaming'")
        return open?.rowCount === 2
      }, "a checkpoint of both streams")
      await proxy.down()
      for (const one of host.streams.slice(0, 1)) host.finish(one)
      expect(costOf(await finishing.text())).toBe(cost)
      first.kill("SIGKILL")
      await first.exited
      await broken.text().catch(() => "broken")
      // The leases of the journal end, so that what is in it counts as left by a crash.
      const [rows] = await execute(database, "SELECT * FROM headgate.ledger", "DELETE FROM headgate.leases")
      expect(rows?.rowCount).toBe(0)

      await proxy.up()
      const second = start()
      await second.url()
      second.kill("SIGTERM")
      expect(await second.exited).toBe(0)
      const [ledger] = await execute(database, "SELECT generation_id, outcome, cost FROM headgate.ledger")
      const booked = new Map(ledger?.rows.map((row) => [row.generation_id, [row.outcome, BigInt(row.cost)]]))
      expect(ledger?.rowCount).toBe(2)
      expect(booked.get(finishing.headers.get("x-generation-id"))).toEqual(["finished", cost])
      expect(booked.get(broken.headers.get("x-generation-id"))).toEqual(["crashed", expect.any(BigInt)])
      expect(readdirSync(spoolFolder)).toEqual([])
      const spent = await Effect.runPromise(
        Effect.scoped(
          Effect.flatMap(openDatabase({ url: redactedUrlOf(database), durability: "full" }), (storage) =>
            Effect.all([storage.ledger.spend(keyId(key), Date.now()), reconcile(storage)]),
          ),
        ),
      )
      const total = ledger?.rows.reduce((sum, row) => sum + BigInt(row.cost), 0n)
      expect([spent[0].total, spent[1].differences]).toEqual([total, []])
    },
    longest,
  )
})
