/** Several gateways on one database, as an operator runs them. docs/guarantees.md#g1, #g2 and #g24 */
import { afterEach, expect, test } from "bun:test"
import { makeSecret } from "../../../src/domain/keys/keySecret.ts"
import { until } from "../../support/clocks/until.ts"
import { firstKey, install, type RunningGateway } from "../../support/gateways/process.ts"
import {
  chunkOf,
  configFor,
  heldStream,
  type ScriptedHost,
  scriptedHost,
  wholeAnswer,
} from "../../support/hosts/host.ts"
import { describePostgres, execute, makeDatabase, urlOf } from "../../support/storage/postgres.ts"

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const patience = 90_000

/** `REPLICA_ROUNDS=50` for the figures of a release. */
const rounds = Number(process.env["REPLICA_ROUNDS"] ?? 2)
/** `REPLICA_LEASE=1`: waits until the lease ends by itself. */
const waitsForLease = process.env["REPLICA_LEASE"] === "1"
const admissions: Array<number> = []
const one = 100_000_000n

const ask = { model: "acme/small", messages: [{ role: "user", content: "hello" }], max_tokens: 50 }

const post = (url: string, secret: string, body: unknown = ask): Promise<Response> =>
  fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  })

const hostOf = (answer: Parameters<typeof scriptedHost>[0]): ScriptedHost => {
  const host = scriptedHost(answer)
  closing.push(host.stop)
  return host
}

interface Replicas {
  readonly database: string
  readonly gateways: ReadonlyArray<RunningGateway>
  readonly urls: () => Promise<ReadonlyArray<string>>
  /** Starts one more. */
  readonly start: (env?: Readonly<Record<string, string>>) => RunningGateway
}

const managementKey = makeSecret("management")

/** So many processes of a gateway on one new database. */
const replicas = async (count: number, host: ScriptedHost, port?: number, env = {}): Promise<Replicas> => {
  const database = await makeDatabase()
  const installation = install()
  closing.push(installation.remove)
  const storage = { HEADGATE_STORAGE: urlOf(database, port) }
  const config = configFor({ a: { url: host.url, prompt: "0" } })
  const start: Replicas["start"] = (more = {}) => installation.start({ config, env: { ...storage, ...env, ...more } })
  const gateways = Array.from({ length: count }, () => start())
  return { database, gateways, start, urls: () => Promise.all(gateways.map(({ url }) => url())) }
}

/** Dollars that one request costs, and that are held for it: 50 tokens of output. */
const costOfOne = 0.0001

/** A key whose limit is room for so many requests. */
const keyFor = async (url: string, requests: number, more: Readonly<Record<string, unknown>> = {}) => {
  const answer = await fetch(`${url}/keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${managementKey}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "test", limit: requests * costOfOne, ...more }),
  })
  const { key, data } = (await answer.json()) as { readonly key: string; readonly data: { readonly hash: string } }
  return { key, hash: data.hash }
}

/** What the sums and the slices of a database say of a key, in picodollars. */
const booksOf = async (database: string, key: string) => {
  const [rows, sums, slices] = await execute(
    database,
    `SELECT COUNT(*)::int AS n, COALESCE(SUM(cost), 0)::text AS cost FROM headgate.ledger WHERE key_id = '${key}'`,
    `SELECT amount::text FROM headgate.spend WHERE key_id = '${key}' AND window_kind = 'total'`,
    `SELECT COALESCE(SUM(amount), 0)::text AS leased FROM headgate.slices WHERE key_id = '${key}'`,
  )
  return {
    rows: Number(rows?.rows[0]?.n),
    cost: BigInt(rows?.rows[0]?.cost ?? 0),
    spend: BigInt(sums?.rows[0]?.amount ?? 0),
    leased: BigInt(slices?.rows[0]?.leased ?? 0),
  }
}

/** Answers with 50 tokens when the gate is open. */
const gatedHost = () => {
  let gate = Promise.withResolvers<void>()
  const host = hostOf(async () => {
    await gate.promise
    return wholeAnswer("Hello", { prompt_tokens: 10, completion_tokens: 50 })
  })
  return {
    host,
    open: () => gate.resolve(),
    close: () => {
      gate = Promise.withResolvers()
    },
  }
}

describePostgres("several gateways on one database", () => {
  test(
    "that start at once make one pair of keys, which all of them accept",
    async () => {
      const host = hostOf(() => wholeAnswer("Hello"))
      const started = await replicas(3, host)
      const { gateways } = started
      const urls = await started.urls()
      const isSaid = ({ out }: RunningGateway) => out().includes("curl ")
      await until(() => gateways.some(isSaid))
      const key = firstKey(gateways.find(isSaid)?.out() ?? "")
      expect(await Promise.all(urls.map(async (url) => (await post(url, key)).status))).toEqual([200, 200, 200])
      for (const gateway of gateways) gateway.kill("SIGTERM")
      expect(await Promise.all(gateways.map(({ exited }) => exited))).toEqual([0, 0, 0])
      expect(gateways.filter(isSaid)).toHaveLength(1)
    },
    patience,
  )

  test(
    "a burst of 200 at a key with room for 37: 35 to 37 reach the host, and the rest of the money is usable then",
    async () => {
      const { host, open, close } = gatedHost()
      const { database, urls } = await replicas(2, host, undefined, { HEADGATE_MANAGEMENT_KEY: managementKey })
      const both = await urls()
      for (let round = 0; round < rounds; round++) {
        close()
        const before = host.calls.length
        const { key, hash } = await keyFor(both[0] ?? "", 37)
        let refused = 0
        const answers = Array.from({ length: 200 }, async (_, at) => {
          const { status } = await post(both[at % 2] ?? "", key)
          if (status !== 200) refused += 1
          return status
        })
        await until(() => host.calls.length - before + refused === 200)
        const admitted = host.calls.length - before
        const { leased } = await booksOf(database, hash)
        expect(leased).toBeLessThanOrEqual(37n * one)
        open()
        const statuses = await Promise.all(answers)
        expect([statuses.filter((status) => status === 200).length, refused]).toEqual([admitted, 200 - admitted])
        expect(statuses.filter((status) => ![200, 402].includes(status))).toEqual([])
        expect([admitted >= 35, admitted <= 37, admitted]).toEqual([true, true, admitted])
        // Whatever both have left can be had through either of them.
        for (let left = admitted; left < 37; left++) expect((await post(both[left % 2] ?? "", key)).status).toBe(200)
        expect((await post(both[round % 2] ?? "", key)).status).toBe(402)
        expect(await booksOf(database, hash)).toEqual({ rows: 37, cost: 37n * one, spend: 37n * one, leased: 0n })
        admissions.push(admitted)
      }
      if (rounds > 3) console.log(`reached the host: ${admissions.join(" ")}`)
    },
    patience * rounds,
  )

  test(
    "what a killed one had leased and held can be spent by the others when its lease has ended, and not before",
    async () => {
      const { host, open } = gatedHost()
      const { database, gateways, start, urls } = await replicas(2, host, undefined, {
        HEADGATE_MANAGEMENT_KEY: managementKey,
      })
      const [first = "", second = ""] = await urls()
      const { key, hash } = await keyFor(first, 20)
      const lost = Array.from({ length: 3 }, () => post(first, key).catch(() => undefined))
      await until(() => host.calls.length === 3)
      gateways[0]?.kill("SIGKILL")
      await Promise.all(lost)
      const { leased } = await booksOf(database, hash)
      expect(leased).toBeGreaterThanOrEqual(3n * one)
      const [slices] = await execute(database, `SELECT process FROM headgate.slices WHERE key_id = '${hash}'`)
      const killed = slices?.rows[0]?.process
      open()

      const burst = async () => {
        const statuses = await Promise.all(Array.from({ length: 30 }, async () => (await post(second, key)).status))
        return statuses.filter((status) => status === 200).length
      }
      const room = Number((20n * one - leased) / one)
      expect(await burst()).toBe(room)
      const killedAt = Date.now()
      if (waitsForLease)
        await until(async () => (await booksOf(database, hash)).leased === 0n, "the lease's end", 120_000)
      // As if its lease had ended already.
      else {
        await execute(database, `UPDATE headgate.leases SET ends_at = 0 WHERE process = '${killed}'`)
        // One that starts clears what the journal had of its requests.
        await start().url()
      }
      if (waitsForLease) console.log(`cleared after ${(Date.now() - killedAt) / 1000} s`)
      expect(await burst()).toBe(20 - room)
      expect(await booksOf(database, hash)).toMatchObject({ rows: 20, spend: 20n * one, leased: 0n })
    },
    3 * patience,
  )

  test(
    "what a stream of a killed one had delivered is charged before its slice is free for the others",
    async () => {
      const host = hostOf((body, request) => {
        if (body["stream"] !== true) return wholeAnswer("Hello", { prompt_tokens: 10, completion_tokens: 50 })
        const stream = heldStream(request)
        stream.send(chunkOf({ delta: { content: "word ".repeat(300) }, finish_reason: null }))
        return stream.response
      })
      const { database, gateways, start, urls } = await replicas(2, host, undefined, {
        HEADGATE_MANAGEMENT_KEY: managementKey,
      })
      const [first = "", second = ""] = await urls()
      const { key, hash } = await keyFor(first, 20)
      const stream = await post(first, key, { ...ask, stream: true, max_tokens: 500 })
      const lost = stream.text().catch(() => "")
      const entries = async () =>
        (await execute(database, "SELECT process FROM headgate.open_requests WHERE state = 'streaming'"))[0]?.rows ?? []
      await until(async () => (await entries()).length === 1)
      const killed = (await entries())[0]?.process
      gateways[0]?.kill("SIGKILL")
      await lost
      await execute(database, `UPDATE headgate.leases SET ends_at = 0 WHERE process = '${killed}'`)

      const spendAll = async () => {
        while ((await post(second, key)).status === 200);
      }
      await spendAll()
      // One that starts clears what others left.
      await start().url()
      expect(await entries()).toEqual([])
      await spendAll()
      const { cost, spend } = await booksOf(database, hash)
      expect([spend, spend <= 20n * one, spend > 19n * one]).toEqual([cost, true, true])
    },
    patience,
  )
})
