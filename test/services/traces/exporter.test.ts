/** What a collector may do: be away, hang, refuse, talk nonsense. It costs spans, and nothing else. docs/traces.md */
import { afterAll, afterEach, expect, test } from "bun:test"
import { createServer, type Server } from "node:net"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import type { RequestEnd } from "../../../src/services/request/RequestEnds.ts"
import { TraceContext } from "../../../src/services/request/TraceContext.ts"
import { Exporter } from "../../../src/services/traces/Exporter.ts"
import { readOtelEnvironment } from "../../../src/services/traces/otelEnvironment.ts"
import type { EndpointOf } from "../../../src/services/traces/requestSpans.ts"
import { SpanIds } from "../../../src/services/traces/SpanIds.ts"
import { Upstream } from "../../../src/upstream/Upstream.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import { until, within } from "../../support/clocks/until.ts"
import { collectedLog } from "../../support/gateways/collectedLog.ts"
import { sampleAttempt, sampleEnd } from "../../support/gateways/observed.ts"
import { type Collector, startCollector } from "../../support/hosts/collector.ts"
import { oneEndpoint } from "../../support/hosts/oneEndpoint.ts"

const scope = Effect.runSync(Scope.make())
const upstream = Context.get(await Effect.runPromise(Layer.buildWithScope(Upstream.layer, scope)), Upstream)
const open: Array<() => unknown> = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const secret = "a-secret-of-the-operator"

/** An exporter under a clock of the test. `close` returns at once; `closed` resolves when it has ended. */
const startExporter = async (
  url: string,
  more: Record<string, string> = {},
  endpointOf: EndpointOf = () => undefined,
) => {
  const settings = readOtelEnvironment({
    ...{ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_HEADERS: `authorization=${secret}` },
    ...{ OTEL_BSP_SCHEDULE_DELAY: "0", ...more },
  })
  const { collector } = settings
  if (collector === undefined) throw new Error("there is no collector")
  const clock = new ManualClock()
  const log = collectedLog()
  const exporter = new Exporter(settings, collector, upstream, endpointOf)
  const own = Effect.runSync(Scope.make())
  const setting = Layer.mergeAll(Layer.setClock(clock), log.layer, Logger.remove(Logger.defaultLogger))
  await Effect.runPromise(Effect.provide(Scope.extend(exporter.run(), own), setting))
  let closed: Promise<void> | undefined
  const close = () => (closed ??= Effect.runPromise(Effect.provide(Scope.close(own, Exit.void), setting)))
  open.push(async () => {
    void close()
    await passUntil(clock, async () => (await Promise.race([closed, Bun.sleep(1).then(() => "open")])) !== "open")
  })
  return { exporter, clock, log, close }
}

/** Lets a second pass each time that it does not hold. */
const passUntil = (clock: ManualClock, holds: () => boolean | Promise<boolean>) =>
  until(async () => {
    clock.advance(0)
    if (await holds()) return true
    clock.advance(1000)
    return false
  })

const ids = new SpanIds()

/** A request with one span. */
const traced = (more: Partial<RequestEnd>): RequestEnd =>
  sampleEnd({
    times: { ...sampleEnd().times, booked: null },
    trace: new TraceContext(ids, undefined, { isSampled: true, hasOwnIds: true, isTrusted: false }),
    ...more,
  })

const add = (exporter: Exporter, count = 1, end: Partial<RequestEnd> = {}) => {
  for (let at = 0; at < count; at++) exporter.add(traced(end))
}

const collecting = (answer?: Parameters<typeof startCollector>[0]): Collector => {
  const collector = startCollector(answer)
  open.push(collector.stop)
  return collector
}

test("a 503 with Retry-After is waited for, and the same spans are sent again", async () => {
  const collector = collecting((number) =>
    number === 1 ? new Response("busy", { status: 503, headers: { "retry-after": "7" } }) : Response.json({}),
  )
  const { exporter, clock } = await startExporter(collector.url)
  add(exporter)
  await until(() => {
    clock.advance(0)
    return clock.dueIn().includes(7000)
  }, "the wait")
  expect(collector.exports).toHaveLength(1)
  clock.advance(7000)
  await until(() => exporter.counts.exported === 1)
  expect(collector.exports.map(({ text }) => text)).toEqual([
    collector.exports[0]?.text ?? "",
    collector.exports[0]?.text ?? "",
  ])
  expect(exporter.counts).toEqual({ exported: 1, dropped: 0 })
})

test.each([429, 502, 503, 504])("%d is tried five times, and logged without the secret", async (status) => {
  const collector = collecting(() => new Response(secret, { status }))
  const { exporter, clock, log } = await startExporter(collector.url)
  add(exporter)
  await passUntil(clock, () => exporter.counts.dropped === 1)
  expect(collector.exports).toHaveLength(5)
  await until(() => log.texts.length === 1, "the line")
  expect(log.texts.join("\n")).toContain(`status ${status}`)
  expect(log.texts.join("\n")).not.toContain(secret)
})

test.each([
  ["a refusal", () => new Response("no", { status: 400 })],
  ["a redirect", () => new Response(null, { status: 307, headers: { location: "http://127.0.0.1:1/" } })],
  ["an answer without end", () => new Response("x".repeat(100_000))],
])("%s is not tried again", async (_, answer) => {
  const collector = collecting(answer)
  const { exporter, clock } = await startExporter(collector.url)
  add(exporter)
  await until(() => {
    clock.advance(0)
    return exporter.counts.dropped === 1
  })
  expect(collector.exports).toHaveLength(1)
})

test("nonsense with status 200 counts as taken", async () => {
  const answers = ["<html>", "null", '{"partialSuccess":7}', '{"partialSuccess":{"rejectedSpans":"-3"}}', "{"]
  const collector = collecting((number) => new Response(answers[number - 1] ?? "{}"))
  const { exporter, clock } = await startExporter(collector.url)
  for (const [at] of answers.entries()) {
    add(exporter)
    await passUntil(clock, () => exporter.counts.exported === at + 1)
  }
  expect(exporter.counts).toEqual({ exported: answers.length, dropped: 0 })
})

test("a partial success is told, without secrets and control characters", async () => {
  const partialSuccess = { rejectedSpans: "2", errorMessage: `too old, said \u001b[2J ${secret}` }
  const collector = collecting(() => Response.json({ partialSuccess }))
  const { exporter, clock, log } = await startExporter(collector.url, { OTEL_BSP_SCHEDULE_DELAY: "1000" })
  add(exporter, 3)
  await passUntil(clock, () => log.texts.length === 1)
  expect(exporter.counts).toEqual({ exported: 1, dropped: 2 })
  expect(log.texts[0]).toContain('"spans":2')
  expect(log.texts[0]).toContain("the collector rejected spans: too old, said")
  expect(log.texts[0]).not.toContain(secret)
  expect(log.texts[0]).not.toContain("\u001b")
})

test("one that is away loses spans, and the log says so once a minute", async () => {
  const collector = startCollector()
  await collector.stop()
  const { exporter, clock, log } = await startExporter(collector.url)
  for (let round = 1; round <= 3; round++) {
    add(exporter)
    await passUntil(clock, () => exporter.counts.dropped === round)
  }
  const told = log.texts.length
  expect(told).toBeGreaterThanOrEqual(1)
  // Three losses take less than three minutes.
  expect(told).toBeLessThanOrEqual(2)
  expect(log.texts[0]).toContain("the collector could not be asked: unreachable")
})

const readsNothing = async (): Promise<{ readonly url: string; readonly stop: () => unknown }> => {
  const server: Server = createServer((socket) => socket.pause().on("error", () => {}))
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    stop: () => server.close(),
  }
}

const silent = () => startCollector(() => new Promise<Response>(() => {}))

test.each([
  ["hangs", async () => silent()],
  ["reads nothing", readsNothing],
])("one that %s holds a bounded queue, and a stop for two seconds", async (_, start) => {
  const collector = await start()
  open.push(collector.stop)
  const limits = { OTEL_BSP_MAX_QUEUE_SIZE: "10", OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "5" }
  const { exporter, clock, log, close } = await startExporter(collector.url, limits)
  add(exporter)
  // Its export runs: it waits for the answer.
  await until(() => {
    clock.advance(0)
    return clock.dueIn().includes(10_000)
  }, "the export")
  add(exporter, 15)
  expect(exporter.counts).toEqual({ exported: 0, dropped: 5 })
  const closed = close()
  await until(() => clock.dueIn().includes(2000), "the stop")
  clock.advance(2000)
  await within(closed, "the end")
  expect(exporter.counts).toEqual({ exported: 0, dropped: 16 })
  expect(log.texts.join("\n")).toContain('"spans":16')
})

test("a stop sends what waits", async () => {
  const collector = collecting()
  const { exporter, close } = await startExporter(collector.url, { OTEL_BSP_SCHEDULE_DELAY: "60000" })
  add(exporter, 3)
  await within(close(), "the end")
  expect(collector.spans).toHaveLength(3)
})

test("a full batch does not wait for the delay", async () => {
  const collector = collecting()
  const limits = { OTEL_BSP_SCHEDULE_DELAY: "60000", OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "4" }
  const { exporter } = await startExporter(collector.url, limits)
  add(exporter, 9)
  await until(() => collector.spans.length === 9)
  expect(collector.exports).toHaveLength(3)
})

test("a queue of one span lost every request, and no line said so: one request has room in any case", async () => {
  const collector = collecting()
  const { exporter } = await startExporter(collector.url, { OTEL_BSP_MAX_QUEUE_SIZE: "1" })
  const { host } = await oneEndpoint()
  add(exporter, 1, { attempts: [sampleAttempt(host, {})] })
  await until(() => exporter.counts.exported > 0, "the export")
  expect(exporter.counts.dropped).toBe(0)
})

test("a defect in writing one request ended the export of all later ones", async () => {
  const collector = collecting()
  let asked = 0
  const faulty: EndpointOf = () => {
    asked += 1
    if (asked === 1) throw new Error("a defect of ours")
    return undefined
  }
  const { exporter, clock, log } = await startExporter(collector.url, {}, faulty)
  const { host } = await oneEndpoint()
  const called = { attempts: [sampleAttempt(host, {})] }
  add(exporter, 1, called)
  await passUntil(clock, () => exporter.counts.dropped > 0)
  add(exporter, 1, called)
  await passUntil(clock, () => exporter.counts.exported > 0)
  expect(log.texts.filter((line) => line.includes("a defect in the export of spans"))).toHaveLength(1)
})
