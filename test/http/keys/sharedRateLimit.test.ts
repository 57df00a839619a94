/** A key's rate limit, and that of free models, at several gateways on one database. docs/guarantees.md#g8 */
import { afterAll, expect, test } from "bun:test"
import { makeSecret } from "../../../src/domain/keys/keySecret.ts"
import { until } from "../../support/clocks/until.ts"
import { install, type RunningGateway } from "../../support/gateways/process.ts"
import { configFor, type ScriptedHost, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"
import { describePostgres, makeDatabase, urlOf } from "../../support/storage/postgres.ts"

const closing: Array<() => unknown> = []
afterAll(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const patience = 1_800_000
const managementKey = makeSecret("management")

const post = (url: string, key: string, model = "acme/small"): Promise<Response> =>
  fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", connection: "close" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "hello" }], max_tokens: 50 }),
  })

/** Requests, in turn at each of these addresses, at once. */
const burst = (count: number, urls: ReadonlyArray<string>, key: string, model?: string): Promise<Array<Response>> =>
  Promise.all(Array.from({ length: count }, (_, at) => post(urls[at % urls.length] ?? "", key, model)))

/** Answers other than these two: 503 where the database did not answer in time, as on a busy machine. */
const admitted = (answers: ReadonlyArray<Response>): number => {
  const statuses = answers.map(({ status }) => status)
  expect(statuses.filter((status) => ![200, 429, 503].includes(status))).toEqual([])
  return statuses.filter((status) => status === 200).length
}

interface Asked {
  readonly count: number
  readonly urls: ReadonlyArray<string>
  readonly key: string
  readonly model?: string
}

/**
 * So many requests reach the host, some of them perhaps not at once: a gateway that stood still for a moment gives back too late
 * what it had for a request that is refused meanwhile. No more reach it then.
 */
const expectAdmitted = async (most: number, host: ScriptedHost, { count, urls, key, model }: Asked) => {
  const before = host.calls.length
  const called = () => host.calls.length - before
  admitted(await burst(count, urls, key, model))
  expect(called()).toBeLessThanOrEqual(most)
  for (let at = 0; called() < most; at++)
    await until(async () => admitted([await post(urls[at % urls.length] ?? "", key, model)]) > 0, "a permit")
  admitted(await burst(2 * urls.length, urls, key, model))
  expect(called()).toBe(most)
}

/** Who waits as it was told is admitted, and is never told to wait for longer than two seconds. */
const expectInTime = async (url: string, key: string) => {
  for (;;) {
    const answer = await post(url, key)
    if (answer.status === 200) return
    if (answer.status === 503) continue
    expect(Number(answer.headers.get("retry-after"))).toBeLessThanOrEqual(2)
    await Bun.sleep(1000 * Number(answer.headers.get("retry-after")))
  }
}

const keyFor = async (url: string, rateLimit: object | null): Promise<string> => {
  const answer = await fetch(`${url}/keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${managementKey}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "test", rate_limit: rateLimit }),
  })
  const { key } = (await answer.json()) as { readonly key: string }
  return key
}

const start = async () => {
  const host = scriptedHost(() => wholeAnswer("Hello"))
  closing.push(host.stop)
  const installation = install()
  closing.push(installation.remove)
  const storage = urlOf(await makeDatabase())
  const config = configFor({ a: { url: host.url } })
  const free = { requests_per_minute: 1000, requests_per_day: 20 }
  const model = { ...config.models[0], id: "acme/small:free", hosts: [{ ...config.models[0]?.hosts[0] }] }
  const settings = { ...config, models: [...config.models, model], billing: { free_models: free } }
  const gateway = (more: object = {}): RunningGateway =>
    installation.start({
      config: { ...settings, ...more },
      env: { HEADGATE_STORAGE: storage, HEADGATE_MANAGEMENT_KEY: managementKey },
    })
  return { gateway, host }
}

describePostgres("two gateways", () => {
  test(
    "admit 40 requests of a key with a limit of 40, evenly or at one alone; who waits as it was told is admitted",
    async () => {
      const { gateway, host } = await start()
      const gateways = [gateway(), gateway()]
      const urls = await Promise.all(gateways.map(({ url }) => url()))
      const [first = "", second = ""] = urls
      const limit = { requests: 40, interval_s: 3600 }
      const evenly = await keyFor(first, limit)
      await expectAdmitted(40, host, { count: 100, urls, key: evenly })
      const alone = await keyFor(first, limit)
      await expectAdmitted(40, host, { count: 50, urls: [second], key: alone })
      const refused = await post(first, alone)
      expect(refused.status).toBe(429)
      expect(refused.headers.get("x-ratelimit-limit")).toBe("40")
      expect(refused.headers.get("x-ratelimit-remaining")).toBe("0")
      expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(3600)

      const freeKey = await keyFor(first, null)
      await expectAdmitted(20, host, { count: 40, urls, key: freeKey, model: "acme/small:free" })

      const brief = await keyFor(first, { requests: 4, interval_s: 1 })
      // A slow machine may be late for some of the second.
      expect(admitted(await burst(4, [first], brief))).toBeLessThanOrEqual(4)
      await expectInTime(second, brief)

      // What a killed one had comes back by itself.
      await until(async () => admitted(await burst(2, [first], brief)) > 0, "a permit")
      gateways[0]?.kill("SIGKILL")
      await gateways[0]?.exited
      await expectInTime(second, brief)
    },
    patience,
  )

  test(
    "that are workers of one: the limit is that of the key",
    async () => {
      const { gateway, host } = await start()
      const both = gateway({ server: { workers: 2 } })
      const url = await both.url()
      await until(() => both.err().split(' serves"').length >= 3, "both workers", patience)
      const key = await keyFor(url, { requests: 30, interval_s: 3600 })
      await expectAdmitted(30, host, { count: 100, urls: [url], key })
    },
    patience,
  )
})
