/** Who may say to which trace a request belongs, and which hosts are told of it. docs/traces.md */
import { beforeAll, expect, test } from "bun:test"
import * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import { defaultSampler } from "../../../src/services/traces/Sampler.ts"
import { Tracing } from "../../../src/services/traces/Tracing.ts"
import { RequestHeads } from "../../../src/upstream/http1/RequestHeads.ts"
import { requestOf } from "../../../src/upstream/http1/request.ts"
import { Upstream } from "../../../src/upstream/Upstream.ts"
import { until } from "../../support/clocks/until.ts"
import { gatewayWithoutSocket, startGateway } from "../../support/gateways/gateway.ts"
import { closeAfterAll, opened } from "../../support/gateways/watched.ts"
import { exporting, type ReceivedSpan, spansIn } from "../../support/hosts/collector.ts"
import { configFor, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterAll()

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736"
const spanId = "00f067aa0ba902b7"
const traceparent = `00-${traceId}-${spanId}-01`

const providers = {
  near: { network: "private" },
  silent: { network: "private", traceparent: false },
  far: { network: "public" },
  told: { network: "public", traceparent: true },
}

/** A gateway with a model at each provider, and what reaches these and the collector. */
const start = async (server: Record<string, unknown>, setting: Layer.Layer<never>, make = gatewayWithoutSocket) => {
  const sent: Array<Headers> = []
  const spans: Array<ReceivedSpan> = []
  const answer = async (request: Request) => {
    if (request.url.startsWith("http://collector.example/")) {
      spans.push(...spansIn(await request.text()))
      return Response.json({})
    }
    sent.push(request.headers)
    return wholeAnswer("fine")
  }
  const url = "https://host.example/v1"
  const models = Object.keys(providers).flatMap((name) =>
    configFor({ [name]: { url } }).models.map((model) => ({ ...model, id: `acme/${name}` })),
  )
  const configured = Object.entries(providers).map(([name, settings]) => [
    name,
    { plugin: "openai-compatible", base_url: url, api_key: "key", ...settings },
  ])
  const config = { providers: Object.fromEntries(configured), models, server }
  const gateway = opened(await make({ config, upstream: Upstream.layerFrom(answer), setting }))
  /** The headers that the host got. */
  const ask = async (headers: Record<string, string> = {}, more: Record<string, unknown> = {}) => {
    spans.length = 0
    const body = { model: "acme/near", messages: [{ role: "user", content: "hi" }], ...more }
    expect((await gateway.chat(body, { headers })).status).toBe(200)
    return sent.at(-1)
  }
  const named = async (name: string) => {
    await until(() => spans.some((span) => span.name === name), "the span")
    return spans.find((span) => span.name === name)
  }
  return { ask, named, spans }
}

let trusting: Awaited<ReturnType<typeof start>>
const trust = { trust_traceparent: true }
const toCollector = exporting("http://collector.example")

beforeAll(async () => {
  trusting = await start(trust, toCollector)
})

const server = "POST /api/v1/chat/completions"

test.each([
  ["near", true],
  ["silent", false],
  ["far", false],
  ["told", true],
] as const)("a host of the provider %s gets a traceparent: %p", async (provider, isSent) => {
  const headers = await trusting.ask(
    { traceparent, tracestate: "canary=1", baggage: "canary=1" },
    { model: `acme/${provider}` },
  )
  const call = await trusting.named("chat upstream")
  expect(headers?.get("traceparent") ?? null).toBe(isSent ? `00-${traceId}-${call?.spanId}-01` : null)
  expect(headers?.get("tracestate")).toBeNull()
  expect(headers?.get("baggage")).toBeNull()
  expect(call?.traceId).toBe(traceId)
})

test("who is not believed begins a trace of its own, by header and by body", async () => {
  const { ask, named } = await start({}, toCollector)
  const headers = await ask({ traceparent }, { trace: { trace_id: traceId, trace_name: "canary" } })
  const root = await named(server)
  expect(root?.traceId).not.toBe(traceId)
  expect(root?.parentSpanId).toBeUndefined()
  expect(Object.values(root?.attributes ?? {})).not.toContain("canary")
  expect(headers?.get("traceparent")).toStartWith(`00-${root?.traceId}-`)
})

test("an invalid traceparent begins a trace too", async () => {
  const { ask, named } = trusting
  await ask({ traceparent: `ff-${traceId}-${spanId}-01` })
  expect((await named(server))?.traceId).not.toBe(traceId)
})

test("the body's trace counts where there is no traceparent", async () => {
  const trace = { trace_id: traceId, parent_span_id: spanId, trace_name: "t", span_name: "s", generation_name: "g" }
  const { ask, named } = trusting
  const headers = await ask({}, { trace })
  const root = await named(server)
  expect(root).toMatchObject({ traceId, parentSpanId: spanId })
  expect(root?.attributes).toMatchObject({ "headgate.trace_name": "t", "headgate.span_name": "s" })
  expect((await named("chat upstream"))?.attributes["headgate.generation_name"]).toBe("g")
  expect(headers?.get("traceparent")).toStartWith(`00-${traceId}-`)
})

test("a traceparent goes before the body's trace", async () => {
  const { ask, named } = trusting
  await ask({ traceparent }, { trace: { trace_id: "a".repeat(32), parent_span_id: "b".repeat(16) } })
  expect(await named(server)).toMatchObject({ traceId, parentSpanId: spanId })
})

test("a request that is not sampled tells its hosts so", async () => {
  const off = exporting("http://collector.example", { OTEL_TRACES_SAMPLER: "always_off" })
  const { ask, spans } = await start(trust, off)
  expect((await ask({ traceparent }))?.get("traceparent")).toMatch(new RegExp(`^00-${traceId}-[\\da-f]{16}-00$`))
  expect(spans).toEqual([])
})

test("without traces no host gets one", async () => {
  const { ask } = await start(trust, Layer.empty)
  expect((await ask({ traceparent }))?.get("traceparent")).toBeNull()
})

test("a caller within the trusted ranges may say it, and only that", () => {
  const tracing = new Tracing(defaultSampler, false, false)
  const headers = new Headers({ traceparent })
  expect(tracing.begin(headers, { isFromWithin: () => true }).traceId).toBe(traceId)
  expect(tracing.begin(headers, { isFromWithin: () => false }).traceId).not.toBe(traceId)
})

test("a stranger behind a trusted proxy decided what is sampled: the address of the caller counts, not that of the proxy", async () => {
  const rootOf = async (trusted: ReadonlyArray<string> | number, forwarded?: string) => {
    const { ask, named } = await start({ trusted_proxies: trusted }, toCollector, startGateway)
    await ask({ traceparent, ...(forwarded === undefined ? {} : { "x-forwarded-for": forwarded }) })
    return (await named(server))?.traceId === traceId
  }
  const within = ["127.0.0.1", "10.0.0.0/8"]
  expect(await rootOf(within)).toBe(true)
  expect(await rootOf(within, "10.1.1.1")).toBe(true)
  expect(await rootOf(within, "203.0.113.7")).toBe(false)
  expect(await rootOf(within, "10.1.1.1, 203.0.113.7, 10.2.2.2")).toBe(false)
  expect(await rootOf(["10.0.0.0/8"], "10.0.0.1")).toBe(false)
  // Whoever connects is a proxy then, and nothing is known of its callers.
  expect(await rootOf(1, "127.0.0.1")).toBe(false)
})

test("the remembered heads of requests do without it", () => {
  const heads = new RequestHeads(" /v1 HTTP/1.1\r\nhost: a\r\n")
  const headers = { authorization: "Bearer a" }
  const remembered = heads.of("POST", headers)
  const call = { url: "http://a/v1", method: "POST", headers, body: "{}", network: "private" } as const
  for (let at = 10; at < 40; at++) {
    const text = requestOf({ ...call, traceparent: `00-${traceId}-00000000000000${at}-01` }, heads)
    expect(text).toContain(`\r\ntraceparent: 00-${traceId}-00000000000000${at}-01\r\n`)
  }
  expect(heads.of("POST", headers)).toBe(remembered)
  expect(requestOf(call, heads)).not.toContain("traceparent")
})

/** Keeps the spans that it makes. */
class RecordedSpan implements Tracer.Span {
  readonly _tag = "Span"
  readonly spanId: string
  readonly traceId: string
  readonly sampled = true
  readonly attributes = new Map<string, unknown>()
  readonly links: Array<Tracer.SpanLink> = []
  status: Tracer.SpanStatus
  readonly name: string
  readonly parent: Option.Option<Tracer.AnySpan>
  readonly context: Context.Context<never>
  readonly kind: Tracer.SpanKind

  constructor(
    number: number,
    name: string,
    parent: Option.Option<Tracer.AnySpan>,
    startTime: bigint,
    kind: Tracer.SpanKind,
  ) {
    this.spanId = number.toString(16).padStart(16, "c")
    this.traceId = Option.isSome(parent) ? parent.value.traceId : number.toString(16).padStart(32, "d")
    this.name = name
    this.parent = parent
    this.context = Context.empty()
    this.kind = kind
    this.status = { _tag: "Started", startTime }
  }

  end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    this.status = { _tag: "Ended", startTime: this.status.startTime, endTime, exit }
  }
  attribute(key: string, value: unknown): void {
    this.attributes.set(key, value)
  }
  event(): void {}
  addLinks(links: ReadonlyArray<Tracer.SpanLink>): void {
    this.links.push(...links)
  }
}

const recording = () => {
  const spans: Array<RecordedSpan> = []
  const tracer = Tracer.make({
    span: (name, parent, _context, _links, startTime, kind) => {
      const span = new RecordedSpan(spans.length + 1, name, parent, startTime, kind)
      spans.push(span)
      return span
    },
    context: (run) => run(),
  })
  return { spans, layer: Layer.setTracer(tracer) }
}

test("an app's Tracer gets the spans, with their times and parents, within the app's own span", async () => {
  const { spans, layer } = recording()
  const { ask } = await start({}, layer)
  const headers = await ask({ traceparent })
  await until(() => spans.some(({ name }) => name === "chat upstream"), "the spans")
  const root = spans.find(({ name }) => name === server)
  const call = spans.find(({ name }) => name === "chat upstream")
  const parent = Option.getOrUndefined(root?.parent ?? Option.none())
  // The app serves the request within a span of its HTTP server.
  expect(parent).toBe(spans.find(({ name }) => name.startsWith("http.server")))
  expect(root?.kind).toBe("internal")
  expect(Option.getOrUndefined(call?.parent ?? Option.none())).toBe(root)
  expect(call?.kind).toBe("client")
  expect(call?.attributes.get("headgate.host")).toBe("near")
  const [outer, inner] = [root?.status, call?.status]
  if (outer?._tag !== "Ended" || inner?._tag !== "Ended") throw new Error("a span has not ended")
  expect(Exit.isSuccess(outer.exit)).toBe(true)
  expect(outer.startTime).toBeLessThanOrEqual(inner.startTime)
  expect(inner.endTime).toBeLessThanOrEqual(outer.endTime)
  expect(Math.abs(Number(outer.endTime / 1_000_000n) - Date.now())).toBeLessThan(60_000)
  // The host is told of a span that the tracer knows.
  expect(headers?.get("traceparent")).toBe(`00-${parent?.traceId}-${parent?.spanId}-01`)
})
