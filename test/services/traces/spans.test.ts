/** Spans of requests, as they come to a collector over a socket. docs/traces.md */
import { beforeAll, expect, test } from "bun:test"
import { until } from "../../support/clocks/until.ts"
import { closeAfterAll, opened, startWatched, type Watched } from "../../support/gateways/watched.ts"
import { type Collector, exporting, type ReceivedSpan, startCollector } from "../../support/hosts/collector.ts"
import { chunkOf, configFor, scriptedHost, sse, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterAll()

const canary = "canary-of-the-prompt"
const secret = "canary-of-the-collector"

/** What the first of the two hosts does next. */
let first: (body: Record<string, unknown>, request: Request) => Response | Promise<Response>
const usual = ({ stream }: Record<string, unknown>) =>
  stream === true ? streamAnswer(["canary-of-the-answer"]) : wholeAnswer("canary-of-the-answer")

let collector: Collector
let gateway: Watched
let traces = 0

beforeAll(async () => {
  first = usual
  collector = opened(startCollector())
  const a = opened(scriptedHost((body, request) => first(body, request)))
  const b = opened(scriptedHost(usual))
  const config = configFor({ a, b })
  gateway = await startWatched({
    config: {
      ...config,
      server: { trust_traceparent: true },
      routing: { strategy: "price", hedge: { enabled: "on_request", max_cost_share: 1 } },
    },
    setting: exporting(collector.url, {
      OTEL_EXPORTER_OTLP_HEADERS: `x-collector-key=${secret}`,
      OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
      OTEL_SERVICE_NAME: "gate",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test%20one",
    }),
  })
})

const hi = { model: "acme/small", messages: [{ role: "user", content: canary }] }

/** Asks within a trace of its own. */
const ask = (body: Record<string, unknown>, init: RequestInit = {}) => {
  traces += 1
  const traceId = traces.toString(16).padStart(32, "a")
  const traceparent = `00-${traceId}-00000000000000ff-01`
  const asked = gateway.chat({ ...hi, ...body }, { ...init, headers: { traceparent, ...init.headers } })
  return { traceId, asked }
}

/** The spans of a trace, once all of it are there, in the order of their begin. */
const spansOf = async (traceId: string): Promise<ReadonlyArray<ReceivedSpan>> => {
  const of = () => collector.spans.filter((span) => span.traceId === traceId)
  await until(() => of().length > 0, "the spans")
  return of().toSorted((x, y) => Number(x.began - y.began))
}

const named = (spans: ReadonlyArray<ReceivedSpan>, name: string): ReceivedSpan => {
  const found = spans.find((span) => span.name === name)
  if (found === undefined) throw new Error(`there is no span ${name}`)
  return found
}

const server = "POST /api/v1/chat/completions"
const call = "chat upstream"

const isWithin = (inner: ReceivedSpan, outer: ReceivedSpan) => inner.began >= outer.began && inner.ended <= outer.ended

test("of a whole answer: the request, its reservation, its call and its commit", async () => {
  const { traceId, asked } = ask({ user: "canary-of-the-user" })
  const answered = await asked
  expect(answered.status).toBe(200)
  const spans = await spansOf(traceId)
  const root = named(spans, server)
  expect(root).toMatchObject({ kind: 2, parentSpanId: "00000000000000ff", links: [], status: {} })
  expect(root.attributes).toMatchObject({
    "http.request.method": "POST",
    "http.route": "/api/v1/chat/completions",
    "http.response.status_code": 200,
    "headgate.request_id": answered.headers.get("x-request-id"),
    "headgate.generation_id": answered.headers.get("x-generation-id"),
    "headgate.outcome": "ok",
    "headgate.stream": false,
    "headgate.host": "a",
    "headgate.attempts": 1,
    "headgate.cost_usd": 0.00002,
  })
  expect(root.attributes["error.type"]).toBeUndefined()
  expect(root.resource).toMatchObject({ "service.name": "gate", "deployment.environment.name": "test one" })
  expect(root.resource["service.instance.id"]).toMatch(/^[\da-f-]{36}$/)
  const attempt = named(spans, call)
  expect(attempt).toMatchObject({ kind: 3, parentSpanId: root.spanId, status: {} })
  expect(attempt.attributes).toMatchObject({
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai-compatible",
    "gen_ai.request.model": "upstream",
    "gen_ai.response.model": "upstream",
    "gen_ai.usage.input_tokens": 10,
    "gen_ai.usage.output_tokens": 5,
    "gen_ai.response.finish_reasons": ["stop"],
    "server.address": "127.0.0.1",
    "headgate.attempt": 1,
    "headgate.host": "a",
    "headgate.model": "acme/small",
    "headgate.outcome": "finished",
    "headgate.hold_usd": 0,
    "headgate.upstream_cost_usd": 0.00002,
  })
  expect(spans.map(({ name }) => name).toSorted()).toEqual([server, call, "commit", "reserve"].toSorted())
  for (const inner of spans) expect(isWithin(inner, root)).toBe(true)
  expect(named(spans, "reserve").ended).toBeLessThanOrEqual(attempt.began)
  expect(named(spans, "commit").began).toBe(attempt.ended)
})

test("of a stream: with the time to its first event", async () => {
  const { traceId, asked } = ask({ stream: true })
  await (await asked).text()
  const { attributes } = named(await spansOf(traceId), call)
  expect(attributes["gen_ai.response.time_to_first_chunk"]).toBeGreaterThan(0)
  expect(attributes["gen_ai.response.time_to_first_chunk"]).toBeLessThan(30)
})

const named2026 = { id: "1", object: "chat.completion", created: 1, model: "upstream-2026-11-01" }
const message = { role: "assistant", content: "fine" }
const events = (model: unknown) => [
  JSON.stringify({ ...named2026, model: "", choices: [], prompt_filter_results: [] }),
  chunkOf({ delta: { content: "fine" }, finish_reason: null }, { model }),
  chunkOf({ delta: { content: " again" }, finish_reason: null }, { model: "another" }),
  chunkOf({ delta: {}, finish_reason: "stop" }, { model: "another" }),
  "[DONE]",
]

test.each([
  ["of a whole answer", "upstream-2026-11-01", false],
  ["of a stream whose first event has none", "upstream-2026-11-01", true],
  ["that cannot be a name, of a whole answer", "canary of\nthe answer", false],
  ["that cannot be a name, of a stream", "canary of\nthe answer", true],
])("the model that the host says, %s", async (_, model, stream) => {
  first = () =>
    stream
      ? sse(events(model))
      : Response.json({ ...named2026, model, choices: [{ index: 0, message, finish_reason: "stop" }] })
  const { traceId, asked } = ask({ stream })
  expect((await asked).status).toBe(200)
  await (await asked).text()
  first = usual
  const { attributes } = named(await spansOf(traceId), call)
  expect(attributes["gen_ai.response.model"]).toBe(model === named2026.model ? model : undefined)
  expect(attributes["gen_ai.request.model"]).toBe("upstream")
})

test("of a fallback: both calls, and the first has failed", async () => {
  first = () => Response.json({ error: { message: canary } }, { status: 503 })
  const { traceId, asked } = ask({})
  expect((await asked).status).toBe(200)
  first = usual
  const calls = (await spansOf(traceId)).filter(({ name }) => name === call)
  expect(calls.map(({ status, attributes }) => [attributes["headgate.host"], status["code"]])).toEqual([
    ["a", 2],
    ["b", undefined],
  ])
  expect(calls[0]?.attributes).toMatchObject({ "error.type": "overloaded", "http.response.status_code": 503 })
})

test("of a hedged request: the calls side by side, and the lost one is linked to the one that won", async () => {
  for (let at = 0; at < 20; at++) await (await ask({ stream: true }).asked).text()
  first = async (body, request) => {
    await new Promise((resolve) => request.signal.addEventListener("abort", resolve))
    return usual(body)
  }
  const { traceId, asked } = ask({ stream: true, provider: { hedge: true } })
  await (await asked).text()
  first = usual
  const calls = (await spansOf(traceId)).filter(({ name }) => name === call)
  expect(calls.map(({ attributes }) => [attributes["headgate.host"], attributes["headgate.outcome"]])).toEqual([
    ["a", "lost"],
    ["b", "finished"],
  ])
  const [lost, won] = calls
  expect(lost?.links).toEqual([won?.spanId ?? ""])
  expect(Number(won?.began)).toBeLessThan(Number(lost?.ended))
})

test("of a refused request: no call, and its outcome", async () => {
  const { traceId, asked } = ask({ model: "acme/unknown" })
  expect((await asked).status).toBe(400)
  const spans = await spansOf(traceId)
  expect(spans.map(({ name }) => name)).toEqual([server])
  // What a caller did wrong is no fault of the service.
  expect(spans[0]).toMatchObject({ status: {}, attributes: { "error.type": "caller_model_not_found" } })
  const unknown = ask({}, { headers: { authorization: "Bearer nobody" } })
  expect((await unknown.asked).status).toBe(401)
  const [one] = await spansOf(unknown.traceId)
  expect(one?.attributes).toMatchObject({ "headgate.outcome": "caller_unauthenticated" })
})

test("of a caller who left: the call that was abandoned", async () => {
  const called = Promise.withResolvers<void>()
  first = async (body, request) => {
    called.resolve()
    await new Promise((resolve) => request.signal.addEventListener("abort", resolve))
    return usual(body)
  }
  const caller = new AbortController()
  const { traceId, asked } = ask({ stream: true }, { signal: caller.signal })
  const left = asked.catch(() => "left")
  await called.promise
  caller.abort()
  await left
  first = usual
  const spans = await spansOf(traceId)
  expect(named(spans, server).attributes["headgate.outcome"]).toBe("caller_gone")
  expect(named(spans, call).attributes["headgate.outcome"]).toBe("abandoned")
})

test("of a caller who wants none: nothing", async () => {
  const before = collector.exports.length
  const traceparent = `00-${"b".repeat(32)}-00000000000000ff-00`
  await gateway.chat(hi, { headers: { traceparent } })
  const { traceId, asked } = ask({})
  await asked
  await spansOf(traceId)
  expect(collector.exports.length).toBeGreaterThan(before)
  expect(collector.exports.some(({ text }) => text.includes("b".repeat(32)))).toBe(false)
})

test("none has a word of a prompt, an answer or an end user, nor a secret", () => {
  const all = collector.exports.map(({ text }) => text).join("\n")
  expect(all).toContain("headgate.request_id")
  expect(all).not.toContain("canary")
  expect(all).not.toContain("key-of-")
  expect(all).not.toContain(gateway.key)
  for (const { headers, path } of collector.exports) {
    expect(headers.get("x-collector-key")).toBe(secret)
    expect(path).toBe("/v1/traces")
  }
})
