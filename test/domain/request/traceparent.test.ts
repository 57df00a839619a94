/** `traceparent` is read strictly: https://www.w3.org/TR/trace-context/ */
import { expect, test } from "bun:test"
import { formatTraceparent, parseTraceMember, parseTraceparent } from "../../../src/domain/request/traceparent.ts"

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736"
const spanId = "00f067aa0ba902b7"

test.each([
  [`00-${traceId}-${spanId}-01`, { traceId, spanId, isSampled: true }],
  [`00-${traceId}-${spanId}-00`, { traceId, spanId, isSampled: false }],
  [`00-${traceId}-${spanId}-ff`, { traceId, spanId, isSampled: true }],
  [`00-${traceId}-${spanId}-02`, { traceId, spanId, isSampled: false }],
  [`cc-${traceId}-${spanId}-01-what-comes-later`, { traceId, spanId, isSampled: true }],
  [`01-${traceId}-${spanId}-01`, { traceId, spanId, isSampled: true }],
])("%s is read", (header, read) => {
  expect(parseTraceparent(header)).toEqual(read)
})

test.each([
  ["absent", null],
  ["empty", ""],
  ["the version ff", `ff-${traceId}-${spanId}-01`],
  ["more in version 00", `00-${traceId}-${spanId}-01-more`],
  ["a trace id of zeros", `00-${"0".repeat(32)}-${spanId}-01`],
  ["a span id of zeros", `00-${traceId}-${"0".repeat(16)}-01`],
  ["capitals", `00-${traceId.toUpperCase()}-${spanId}-01`],
  ["a short trace id", `00-${traceId.slice(1)}-${spanId}-01`],
  ["no flags", `00-${traceId}-${spanId}`],
  ["long flags of a later version", `cc-${traceId}-${spanId}-011`],
  ["two headers", `01-${traceId}-${spanId}-01, 01-${traceId}-${spanId}-01`],
  ["a line end", `00-${traceId}-${spanId}-01\n`],
  ["other signs", `00-${"g".repeat(32)}-${spanId}-01`],
])("%s is not", (_, header) => {
  expect(parseTraceparent(header)).toBeUndefined()
})

test("it is written as it is read", () => {
  const header = `00-${traceId}-${spanId}-01`
  const parent = parseTraceparent(header)
  expect(parent === undefined ? "" : formatTraceparent(parent)).toBe(header)
})

test("the member trace of a body has ids of the same form, and names of at most 128 characters", () => {
  const none = { traceId: null, parentSpanId: null, traceName: null, spanName: null, generationName: null }
  const ids = { trace_id: traceId, parent_span_id: spanId }
  expect(parseTraceMember(ids)).toEqual({ ...none, traceId, parentSpanId: spanId })
  expect(parseTraceMember({ trace_id: "mine", trace_name: "a".repeat(200), generation_name: 7 })).toEqual({
    ...none,
    traceName: "a".repeat(128),
  })
  for (const nothing of [undefined, null, "trace", [], {}, { trace_id: "0".repeat(32) }]) {
    expect(parseTraceMember(nothing)).toBeUndefined()
  }
})
