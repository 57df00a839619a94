/** `/metrics` of a gateway under traffic: who may read it, in which form, and what it says. docs/metrics.md */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { formatUsd } from "../../src/domain/price/money.ts"
import { errorOf } from "../support/clients/answers.ts"
import { type MetricsScene, openMetricsScene, samplesOf } from "../support/gateways/metricsScene.ts"

let scene: MetricsScene
let text = ""
let samples: ReadonlyMap<string, string> = new Map()

beforeAll(async () => {
  scene = await openMetricsScene()
  await scene.traffic()
  text = await (await scene.metrics()).text()
  samples = samplesOf(text)
}, 1_800_000)
afterAll(() => scene.stop())

const value = (name: string): number => Number(samples.get(name) ?? Number.NaN)

/** The sum of a family's series whose labels have all of these. */
const sumOf = (of: ReadonlyMap<string, string>, family: string, ...labels: ReadonlyArray<string>): number =>
  [...of]
    .filter(
      ([name]) => (name === family || name.startsWith(`${family}{`)) && labels.every((label) => name.includes(label)),
    )
    .reduce((sum, [, one]) => sum + Number(one), 0)

test.each([
  ["without a key", "", 401],
  ["with an unknown key", "Bearer sk-gw-unknown", 401],
])("%s it is refused with the documented body", async (_, authorization, status) => {
  const response = await scene.metrics({ authorization })
  expect(response.status).toBe(status)
  expect(await errorOf(response)).toMatchObject({ code: 401, message: expect.stringMatching(/\.$/) })
})

test("an ordinary key may not read it", async () => {
  const response = await scene.metrics({ authorization: `Bearer ${scene.key}` })
  expect([response.status, (await errorOf(response)).code]).toEqual([403, 403])
})

test("other methods and spellings are unknown; HEAD has no body", async () => {
  const url = new URL("/metrics", scene.url).href
  const headers = { authorization: `Bearer ${scene.managementKey}` }
  for (const method of ["POST", "DELETE"]) expect((await fetch(url, { method, headers })).status).toBe(404)
  expect((await scene.metrics({}, "/metrics/")).status).toBe(404)
  const head = await fetch(url, { method: "HEAD", headers })
  expect([head.status, await head.text()]).toEqual([200, ""])
  expect((await fetch(url, { method: "HEAD" })).status).toBe(401)
})

test.each([
  [undefined, "text/plain; version=0.0.4; charset=utf-8"],
  ["text/plain", "text/plain; version=0.0.4; charset=utf-8"],
  // What Prometheus 2.42 sends.
  [
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
    "application/openmetrics-text; version=1.0.0; charset=utf-8",
  ],
  ["application/openmetrics-text;q=0, text/plain", "text/plain; version=0.0.4; charset=utf-8"],
])("asked with Accept %p it is %s", async (accept, type) => {
  const response = await scene.metrics(accept === undefined ? {} : { accept })
  expect(response.headers.get("content-type")).toBe(type)
  expect((await response.text()).endsWith("\n# EOF\n")).toBe(type.startsWith("application"))
})

test("requests are counted by form, model and outcome", () => {
  const of = (outcome: string) => value(`headgate_requests_total{form="chat",model="acme/small",outcome="${outcome}"}`)
  expect([of("ok"), of("host_unavailable")]).toEqual([30, 2])
  expect(value('headgate_requests_total{form="chat",model="_OTHER",outcome="caller_model_not_found"}')).toBe(1)
  expect(value('headgate_requests_total{form="chat",model="",outcome="caller_bad_request"}')).toBe(1)
  expect(sumOf(samples, "headgate_request_duration_seconds_count")).toBe(34)
})

test("attempts are counted by their end, those after a failure and those beside another one", () => {
  const of = (host: string, outcome: string) =>
    value(`headgate_attempts_total{model="acme/small",host="${host}",outcome="${outcome}"}`)
  expect([of("a", "lost"), of("a", "host_overloaded"), of("a", "host_broke_off")]).toEqual([1, 2, 1])
  expect(of("b", "ok")).toBe(2)
  expect(value('headgate_fallbacks_total{model="acme/small",host="b"}')).toBe(1)
  expect(value('headgate_hedges_total{model="acme/small",host="b"}')).toBe(1)
})

test("dollars are those of the ledger, to the picodollar: odd prices, failures, a hedge, free answers", async () => {
  const rows = await scene.rows()
  const money = (family: string, of: (row: (typeof rows)[number]) => bigint) => {
    for (const host of ["a", "b"]) {
      const sum = rows.filter((row) => row.host === host).reduce((total, row) => total + of(row), 0n)
      expect([family, samples.get(`${family}{model="acme/small",host="${host}"}`)]).toEqual([family, formatUsd(sum)])
    }
  }
  expect(new Set(rows.map(({ waived }) => waived))).toEqual(new Set([null, "empty", "host-failed", "lost"]))
  money("headgate_cost_usd_total", ({ cost }) => cost)
  money("headgate_upstream_cost_usd_total", ({ upstreamCost }) => upstreamCost)
  const free = rows.filter(({ waived }) => waived !== null).reduce((sum, { upstreamCost }) => sum + upstreamCost, 0n)
  expect(Math.round(sumOf(samples, "headgate_waived_cost_usd_total") * 1e12)).toBe(Number(free))
})

test("tokens are those of the ledger; estimated ones are apart", async () => {
  const rows = await scene.rows()
  const sum = (of: (row: (typeof rows)[number]) => number, estimated = false) =>
    rows.filter((row) => row.estimated === estimated).reduce((total, row) => total + of(row), 0)
  expect(sumOf(samples, "headgate_input_tokens_total")).toBe(sum((row) => row.promptTokens))
  expect(sumOf(samples, "headgate_output_tokens_total")).toBe(sum((row) => row.completionTokens))
  expect(sumOf(samples, "headgate_cache_read_tokens_total")).toBe(sum((row) => row.cachedTokens))
  expect(sumOf(samples, "headgate_reasoning_tokens_total")).toBe(sum((row) => row.reasoningTokens))
  expect(sumOf(samples, "headgate_estimated_output_tokens_total")).toBe(sum((row) => row.completionTokens, true))
  expect(sum((row) => row.completionTokens, true)).toBeGreaterThan(0)
})

test("times are counted once for each answer, and are those of a local host", () => {
  const whole = sumOf(samples, "headgate_overhead_seconds_count", 'form="chat"')
  expect(whole).toBe(31)
  expect(sumOf(samples, "headgate_time_to_first_token_seconds_count")).toBe(27)
  expect(sumOf(samples, "headgate_time_per_output_token_seconds_count")).toBe(26)
  const answers = sumOf(samples, "headgate_attempts_total", 'outcome="ok"')
  expect(answers).toBe(30)
  expect(sumOf(samples, "headgate_answer_duration_seconds_count")).toBe(answers)
  const overhead = sumOf(samples, "headgate_overhead_seconds_sum")
  const total = sumOf(samples, "headgate_request_duration_seconds_sum")
  expect(overhead).toBeGreaterThan(0)
  expect(overhead).toBeLessThan(total)
})

test("services say what they do at the moment", async () => {
  expect(value("headgate_in_flight")).toBe(0)
  expect(value("headgate_held_usd")).toBe(0)
  expect(value("headgate_places")).toBe(1024)
  expect(value("headgate_ledger_backlog_rows")).toBe(0)
  expect(value("headgate_ledger_writable")).toBe(1)
  expect(value('headgate_host_up{model="acme/small",host="a"}')).toBeOneOf([0, 1])
  expect(value("headgate_ledger_commit_rows_sum")).toBe((await scene.rows()).length)
  const [origin = "", second = ""] = scene.hosts.map(({ url }) => `origin="${new URL(url).origin}"`)
  expect(sumOf(samples, "headgate_upstream_dials_total", origin)).toBeGreaterThan(0)
  expect(sumOf(samples, "headgate_upstream_reuses_total", origin)).toBeGreaterThan(20)
  expect(sumOf(samples, "headgate_upstream_connections", second)).toBe(1)
  expect(sumOf(samples, "headgate_upstream_connections_idle", second)).toBe(1)
  expect(value("process_resident_memory_bytes")).toBeGreaterThan(1e7)
  expect(value("headgate_processes")).toBe(1)
})

test("no key is a label, nor is anything of a prompt", () => {
  for (const secret of [scene.key, scene.managementKey, "hi", "fine"]) expect(text).not.toContain(`"${secret}"`)
  expect(text).not.toMatch(/key=/)
})

test("it is not counted as a request", async () => {
  const before = samplesOf(await (await scene.metrics()).text())
  const after = samplesOf(await (await scene.metrics()).text())
  for (const family of ["headgate_requests_total", "headgate_control_requests_total"]) {
    expect(sumOf(after, family)).toBe(sumOf(before, family))
  }
})

test("unknown models add no series", async () => {
  const seriesOf = async () => samplesOf(await (await scene.metrics()).text())
  const before = await seriesOf()
  await Promise.all(Array.from({ length: 100 }, (_, at) => scene.ask("hi", { model: `acme/no-${at}` })))
  const after = await seriesOf()
  expect(after.size).toBe(before.size)
  const unknown = 'model="_OTHER"'
  expect(sumOf(after, "headgate_requests_total", unknown) - sumOf(before, "headgate_requests_total", unknown)).toBe(100)
})
