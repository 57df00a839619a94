/** What is seen of requests over two workers: the caller's address, figures on a port of their own, and spans. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import * as Schema from "effect/Schema"
import { isJsonObject } from "../../../src/domain/json/json.ts"
import { until } from "../../support/clocks/until.ts"
import { freePort } from "../../support/gateways/freePort.ts"
import { samplesOf } from "../../support/gateways/metricsScene.ts"
import { firstManagementKey, install } from "../../support/gateways/process.ts"
import { type Collector, startCollector } from "../../support/hosts/collector.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"
import { describePostgres, makeDatabase, urlOf } from "../../support/storage/postgres.ts"

const closing: Array<() => unknown> = []
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
})

const processMs = 550_000
const patience = 1_800_000
const decodeState = Schema.decodeUnknownSync(
  Schema.Struct({
    data: Schema.Struct({
      storage: Schema.Struct({ kind: Schema.String, reachable: Schema.Boolean }),
      process: Schema.Struct({ worker: Schema.NullOr(Schema.Number) }),
    }),
  }),
)
const token = "a-token-that-reads-figures"
const allowed = "203.0.113.7"

describePostgres("two workers", () => {
  let url: string
  let figuresUrl: string
  let managementKey: string
  let restricted: string
  let collector: Collector

  /** Each on a connection of its own, so that the kernel spreads them over the workers. */
  const send = (path: string, secret: string, init: RequestInit & { readonly from?: string } = {}) =>
    fetch(`${url}${path}`, {
      ...init,
      headers: {
        ...{ authorization: `Bearer ${secret}`, "content-type": "application/json", connection: "close" },
        ...(init.from === undefined ? {} : { "x-forwarded-for": init.from }),
      },
    })
  const chat = async (from: string) => {
    const body = JSON.stringify({ model: "acme/small", messages: [{ role: "user", content: "hi" }] })
    const response = await send("/chat/completions", restricted, { method: "POST", body, from })
    await response.text()
    return response.status
  }
  /** The workers that the spans of answered requests came from. */
  const instances = () =>
    new Set(
      collector.spans.filter(({ name }) => name.startsWith("chat")).map((span) => span.resource["service.instance.id"]),
    )

  beforeAll(async () => {
    const host = scriptedHost(() => wholeAnswer("fine"))
    collector = startCollector()
    const installation = install()
    closing.push(host.stop, collector.stop, installation.remove)
    const port = freePort()
    const gateway = installation.start({
      config: configFor(
        { a: { url: host.url } },
        {
          discovery: { environment: false, local: false },
          server: { workers: 2, trusted_proxies: ["127.0.0.1"], metrics: { port } },
        },
      ),
      env: {
        ...{ HEADGATE_STORAGE: urlOf(await makeDatabase()), HEADGATE_METRICS_TOKEN: token },
        ...{ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: "10" },
      },
    })
    url = await gateway.url()
    figuresUrl = `http://127.0.0.1:${port}/metrics`
    await until(() => (gateway.err().match(/"worker \d+ serves"/g) ?? []).length === 2, "two workers", processMs)
    managementKey = firstManagementKey(gateway.out())
    const body = JSON.stringify({ name: "restricted", allowed_addresses: [allowed] })
    const made: unknown = await (await send("/keys", managementKey, { method: "POST", body })).json()
    restricted = isJsonObject(made) ? String(made["key"]) : ""
  }, patience)

  test(
    "each says of itself which it is, when it is asked for its state",
    async () => {
      const workers = new Set<unknown>()
      await until(
        async () => {
          const answer: unknown = await (await send("/state", managementKey)).json()
          const { data } = decodeState(answer)
          expect(data.storage).toEqual({ kind: "postgres", reachable: true })
          workers.add(data.process.worker)
          return workers.size === 2
        },
        "both workers",
        processMs,
      )
      expect([...workers].toSorted()).toEqual([1, 2])
    },
    processMs,
  )

  test(
    "each of them goes by the address that the proxy tells, and the list has it of all that were refused",
    async () => {
      const froms = Array.from({ length: 24 }, (_, at) => (at % 2 === 0 ? allowed : `198.51.100.${at}`))
      const statuses = await Promise.all(froms.map(chat))
      expect(statuses).toEqual(froms.map((from) => (from === allowed ? 200 : 403)))
      const refused = froms.filter((from) => from !== allowed).toSorted()
      const listed = async () => {
        const page: unknown = await (await send("/requests?outcome=policy_address", managementKey)).json()
        const data = isJsonObject(page) && Array.isArray(page["data"]) ? page["data"] : []
        return data.map((one) => (isJsonObject(one) ? String(one["address"]) : "")).toSorted()
      }
      // A worker that is not asked writes its records once a second.
      await until(async () => (await listed()).length === refused.length, "the records")
      expect(await listed()).toEqual(refused)
    },
    patience,
  )

  test(
    "figures on a port of their own are the sum of both, whichever answers, and are on no other",
    async () => {
      const headers = { authorization: `Bearer ${token}`, connection: "close" }
      const answered = 'headgate_requests_total{form="chat",model="acme/small",outcome="ok"}'
      for (let round = 0; round < 6; round++) {
        const response = await fetch(figuresUrl, { headers })
        expect(response.status).toBe(200)
        const samples = samplesOf(await response.text())
        const refusals = [...samples].filter(([name]) => name.includes('outcome="policy_address"'))
        expect([samples.get("headgate_processes"), samples.get(answered)]).toEqual(["2", "12"])
        expect(refusals.map(([, value]) => value)).toEqual(["12"])
      }
      expect((await fetch(figuresUrl, { headers: { connection: "close" } })).status).toBe(401)
      expect((await fetch(new URL("/metrics", url), { headers })).status).toBe(404)
    },
    patience,
  )

  test(
    "a collector gets the spans of both",
    async () => {
      // The kernel chooses the worker of a connection.
      await until(
        async () => {
          expect(await chat(allowed)).toBe(200)
          return instances().size === 2
        },
        "spans of both workers",
        processMs,
      )
    },
    patience,
  )
})
