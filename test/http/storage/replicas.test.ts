/** Several gateways on one database, as an operator runs them. docs/guarantees.md#g1, #g2 and #g24 */
import { afterAll, beforeAll, expect, test } from "bun:test"
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
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
})

const patience = 1_800_000

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

const managementKey = makeSecret("management")

/** A new database, and how a gateway is started on it. */
const replicas = async (host: ScriptedHost, env: Readonly<Record<string, string>> = {}) => {
  const database = await makeDatabase()
  const installation = install()
  closing.push(installation.remove)
  const config = configFor({ a: { url: host.url, prompt: "0" } })
  const start = () => installation.start({ config, env: { HEADGATE_STORAGE: urlOf(database), ...env } })
  return { database, start }
}

/**
 * A database with a management key and its gateways, for tests one after the other. Each has keys of its own, says how the host answers, and
 * may kill a gateway.
 */
const sharedReplicas = async () => {
  let answer: Parameters<typeof scriptedHost>[0] = () => wholeAnswer("Hello")
  const host = hostOf((...asked) => answer(...asked))
  const { database, start } = await replicas(host, { HEADGATE_MANAGEMENT_KEY: managementKey })
  const running = new Set<RunningGateway>()
  /** Starts one more; its address, when it listens. */
  const startOne = () => {
    const gateway = start()
    running.add(gateway)
    void gateway.exited.then(() => running.delete(gateway))
    return gateway.url()
  }
  /** Two that run. `calls`: how many have reached the host since. */
  const two = async (answers: typeof answer) => {
    answer = answers
    const before = host.calls.length
    while (running.size < 2) void startOne()
    const [first, second] = await Promise.all([...running].map(async ({ url, kill }) => ({ url: await url(), kill })))
    if (first === undefined || second === undefined) throw new Error("one of them has ended")
    return { database, startOne, first, second, calls: () => host.calls.length - before }
  }
  return two
}

/** Dollars that one request costs, and that are reserved for it: 50 tokens of output. */
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

/** An answer of 50 tokens when the gate is open. */
const gated = () => {
  let gate = Promise.withResolvers<void>()
  return {
    answer: async () => {
      await gate.promise
      return wholeAnswer("Hello", { prompt_tokens: 10, completion_tokens: 50 })
    },
    open: () => gate.resolve(),
    close: () => {
      gate = Promise.withResolvers()
    },
  }
}

describePostgres("several gateways on one database", () => {
  let two: Awaited<ReturnType<typeof sharedReplicas>>
  beforeAll(async () => {
    two = await sharedReplicas()
  })

  test(
    "that start at once make one pair of keys, which all of them accept",
    async () => {
      const host = hostOf(() => wholeAnswer("Hello"))
      const { start } = await replicas(host)
      const gateways = [start(), start(), start()]
      const urls = await Promise.all(gateways.map(({ url }) => url()))
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
      const { answer, open, close } = gated()
      const { database, first, second, calls } = await two(answer)
      const both = [first.url, second.url]
      /** A gateway that stands still for a moment gives back too late what another one needs, so it is not so in every round. */
      const full = () => admissions.filter((count) => count >= 35).length
      const isDue = (round: number) => round < rounds || (round < rounds + 8 && full() < rounds / 2)
      for (let round = 0; isDue(round); round++) {
        close()
        const before = calls()
        const { key, hash } = await keyFor(first.url, 37)
        let refused = 0
        const answers = Array.from({ length: 200 }, async (_, at) => {
          const { status } = await post(both[at % 2] ?? "", key)
          if (status !== 200) refused += 1
          return status
        })
        await until(() => calls() - before + refused === 200)
        const admitted = calls() - before
        const { leased } = await booksOf(database, hash)
        expect(leased).toBeLessThanOrEqual(37n * one)
        open()
        const statuses = await Promise.all(answers)
        expect([statuses.filter((status) => status === 200).length, refused]).toEqual([admitted, 200 - admitted])
        expect(statuses.filter((status) => ![200, 402].includes(status))).toEqual([])
        expect(admitted).toBeLessThanOrEqual(37)
        // Whatever both have left can be had through either of them.
        for (let left = admitted; left < 37; left++)
          await until(async () => (await post(both[left % 2] ?? "", key)).status === 200, "the rest of the money")
        expect((await post(both[round % 2] ?? "", key)).status).toBe(402)
        expect(await booksOf(database, hash)).toEqual({ rows: 37, cost: 37n * one, spend: 37n * one, leased: 0n })
        admissions.push(admitted)
      }
      expect(full()).toBeGreaterThanOrEqual(rounds / 2)
      if (rounds > 3) console.log(`reached the host: ${admissions.join(" ")}`)
    },
    patience * (rounds + 1),
  )

  test(
    "what a killed one had leased and reserved can be spent by the others when its lease has ended, and not before",
    async () => {
      const { answer, open } = gated()
      const { database, first, second, calls, startOne } = await two(answer)
      const { key, hash } = await keyFor(first.url, 20)
      const lost = Array.from({ length: 3 }, () => post(first.url, key).catch(() => undefined))
      await until(() => calls() === 3)
      first.kill("SIGKILL")
      await Promise.all(lost)
      const { leased } = await booksOf(database, hash)
      expect(leased).toBeGreaterThanOrEqual(3n * one)
      const [slices] = await execute(database, `SELECT process FROM headgate.slices WHERE key_id = '${hash}'`)
      const killed = slices?.rows[0]?.process
      open()

      const burst = async () => {
        const statuses = await Promise.all(Array.from({ length: 30 }, async () => (await post(second.url, key)).status))
        return statuses.filter((status) => status === 200).length
      }
      const room = Number((20n * one - leased) / one)
      expect(await burst()).toBe(room)
      const killedAt = Date.now()
      if (waitsForLease)
        await until(async () => (await booksOf(database, hash)).leased === 0n, "the lease's end", 300_000)
      // As if its lease had ended already.
      else {
        await execute(database, `UPDATE headgate.leases SET ends_at = 0 WHERE process = '${killed}'`)
        // One that starts clears what the journal had of its requests.
        await startOne()
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
      const { database, first, second, startOne } = await two((body, request) => {
        if (body["stream"] !== true) return wholeAnswer("Hello", { prompt_tokens: 10, completion_tokens: 50 })
        const stream = heldStream(request)
        stream.send(chunkOf({ delta: { content: "word ".repeat(300) }, finish_reason: null }))
        return stream.response
      })
      const { key, hash } = await keyFor(first.url, 20)
      const stream = await post(first.url, key, { ...ask, stream: true, max_tokens: 500 })
      const lost = stream.text().catch(() => "")
      const entries = async () =>
        (await execute(database, "SELECT process FROM headgate.open_requests WHERE state = 'streaming'"))[0]?.rows ?? []
      await until(async () => (await entries()).length === 1)
      const killed = (await entries())[0]?.process
      first.kill("SIGKILL")
      await lost
      await execute(database, `UPDATE headgate.leases SET ends_at = 0 WHERE process = '${killed}'`)

      const spendAll = async () => {
        while ((await post(second.url, key)).status === 200);
      }
      await spendAll()
      // One that starts clears what others left.
      await startOne()
      expect(await entries()).toEqual([])
      await spendAll()
      const { cost, spend } = await booksOf(database, hash)
      expect([spend, spend <= 20n * one, spend > 19n * one]).toEqual([cost, true, true])
    },
    patience,
  )
})
