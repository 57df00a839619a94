/** Our spans are written as OpenTelemetry's own serializer writes them. */
import { expect, test } from "bun:test"
import { type HrTime, SpanKind, TraceFlags } from "@opentelemetry/api"
import { JsonTraceSerializer } from "@opentelemetry/otlp-transformer"
import { names } from "../../../src/services/traces/conventions.ts"
import type { FinishedSpan } from "../../../src/services/traces/FinishedSpan.ts"
import { exportJson, spanJson } from "../../../src/services/traces/otlpJson.ts"

const root: FinishedSpan = {
  traceId: "a".repeat(32),
  spanId: "b".repeat(16),
  parentId: null,
  name: 'POST /a "quoted"\n',
  kind: "server",
  began: 1_760_000_000_000,
  ended: 1_760_000_000_012.5,
  attributes: [
    [names.form, "chat\u2028é"],
    [names.responseStatus, 200],
    [names.isStreamed, true],
    [names.cost, 0.25],
    [names.reserved, 2],
    [names.finishReasons, ["stop", "length"]],
  ],
  isError: false,
  linkTo: null,
}
const call: FinishedSpan = {
  ...root,
  ...{ spanId: "c".repeat(16), parentId: root.spanId, kind: "client", isError: true, linkTo: "d".repeat(16) },
}
const inner: FinishedSpan = { ...root, kind: "internal", attributes: [] }
const spans = [root, call, inner]

const time = (ms: number): HrTime => [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)]
const kinds = { internal: SpanKind.INTERNAL, server: SpanKind.SERVER, client: SpanKind.CLIENT }
const resource = { attributes: { "service.name": "gate" }, merge: () => resource, getRawAttributes: () => [] }

const readable = (span: FinishedSpan) => {
  const context = (spanId: string) => ({ traceId: span.traceId, spanId, traceFlags: TraceFlags.SAMPLED })
  return {
    name: span.name,
    kind: kinds[span.kind],
    spanContext: () => context(span.spanId),
    ...(span.parentId === null ? {} : { parentSpanContext: context(span.parentId) }),
    startTime: time(span.began),
    endTime: time(span.ended),
    status: { code: span.isError ? 2 : 0 },
    attributes: Object.fromEntries(
      span.attributes.map(([key, value]) => [key, typeof value === "object" ? [...value] : value]),
    ),
    links: span.linkTo === null ? [] : [{ context: context(span.linkTo), attributes: {} }],
    events: [],
    duration: time(span.ended - span.began),
    ended: true,
    resource,
    instrumentationScope: { name: "headgate", version: "1" },
    ...{ droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
  }
}

test("each span, with every kind of attribute, a parent, a link and a failure", () => {
  const bytes = JsonTraceSerializer.serializeRequest(spans.map(readable))
  const reference = JSON.parse(new TextDecoder().decode(bytes))
  const ours = JSON.parse(exportJson([["service.name", "gate"]], "1", spans.map(spanJson)))
  // Theirs writes a number without a fraction as a whole one; ours always has dollars with one.
  const dollars = JSON.parse(JSON.stringify(ours).replaceAll('{"doubleValue":2}', '{"intValue":2}'))
  expect(withoutStatus(reference)).toMatchObject(withoutStatus(dollars))
  expect(JSON.stringify(ours)).toContain('{"key":"headgate.hold_usd","value":{"doubleValue":2}}')
  expect(statuses(ours)).toEqual([{}, { code: 2 }, {}])
})

// biome-ignore lint/suspicious/noExplicitAny: what was parsed is looked at by the test
type Any = any
const spansOf = (body: Any): ReadonlyArray<Any> => body.resourceSpans[0].scopeSpans[0].spans
const statuses = (body: Any) => spansOf(body).map(({ status }) => status)
/** Theirs writes a status that is not set as 0, which is what its absence means. */
const withoutStatus = (body: Any) => {
  const copy = structuredClone(body)
  for (const span of spansOf(copy)) if (span.status.code === 0) span.status = {}
  return copy
}
