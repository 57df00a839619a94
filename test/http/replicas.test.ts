/** Several gateways on one database, as an operator runs them. docs/guarantees.md#g1, #g2 and #g24 */
import { afterEach, expect, test } from "bun:test"
import { configFor, type ScriptedHost, scriptedHost, wholeAnswer } from "../support/host.ts"
import { describePostgres, makeDatabase, urlOf } from "../support/postgres.ts"
import { firstKey, install, type RunningGateway } from "../support/process.ts"
import { until } from "../support/rawHost.ts"

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const patience = 60_000

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

/** So many processes of a gateway on one new database. */
const replicas = async (count: number, host: ScriptedHost): Promise<ReadonlyArray<RunningGateway>> => {
  const database = await makeDatabase()
  const installation = install()
  closing.push(installation.remove)
  const options = { config: configFor({ a: { url: host.url } }), env: { HEADGATE_STORAGE: urlOf(database) } }
  return Array.from({ length: count }, () => installation.start(options))
}

describePostgres("several gateways on one database", () => {
  test(
    "that start at once make one pair of keys, which all of them accept",
    async () => {
      const gateways = await replicas(
        3,
        hostOf(() => wholeAnswer("Hello")),
      )
      const urls = await Promise.all(gateways.map(({ url }) => url()))
      const isSaid = ({ out }: RunningGateway) => out().includes("curl ")
      await until(() => gateways.some(isSaid), "the keys")
      const key = firstKey(gateways.find(isSaid)?.out() ?? "")
      expect(await Promise.all(urls.map(async (url) => (await post(url, key)).status))).toEqual([200, 200, 200])
      for (const gateway of gateways) gateway.kill("SIGTERM")
      expect(await Promise.all(gateways.map(({ exited }) => exited))).toEqual([0, 0, 0])
      expect(gateways.filter(isSaid)).toHaveLength(1)
    },
    patience,
  )
})
