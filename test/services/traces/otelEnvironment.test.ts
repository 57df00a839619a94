/** The variables of OpenTelemetry. docs/traces.md */
import { expect, test } from "bun:test"
import { readOtelEnvironment } from "../../../src/services/traces/otelEnvironment.ts"
import { isSampled, samplerOf } from "../../../src/services/traces/Sampler.ts"
import { SpanIds } from "../../../src/services/traces/SpanIds.ts"

const base = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318/" }

test("without any there is no export, and the defaults are the specification's", () => {
  expect(readOtelEnvironment({})).toEqual({
    collector: undefined,
    sampler: { share: 1, followsParent: true },
    resource: new Map([["service.name", "headgate"]]),
    ...{ queueSpans: 2048, batchSpans: 512, delayMs: 5000, warnings: [] },
  })
})

test.each([
  ["an endpoint", base, "http://collector:4318/v1/traces"],
  [
    "an endpoint with a path",
    { OTEL_EXPORTER_OTLP_ENDPOINT: "https://o.example/otlp" },
    "https://o.example/otlp/v1/traces",
  ],
  ["one for traces, as it is", { ...base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://t:1/x" }, "http://t:1/x"],
  ["only the exporter's name", { OTEL_TRACES_EXPORTER: "otlp" }, "http://localhost:4318/v1/traces"],
  ["http/json", { ...base, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" }, "http://collector:4318/v1/traces"],
  ["an empty endpoint", { OTEL_EXPORTER_OTLP_ENDPOINT: " " }, undefined],
  ["OTEL_SDK_DISABLED", { ...base, OTEL_SDK_DISABLED: "TRUE" }, undefined],
  ["the exporter none", { ...base, OTEL_TRACES_EXPORTER: "none" }, undefined],
])("%s", (_, environment, url) => {
  const { collector, warnings } = readOtelEnvironment(environment)
  expect(collector?.url).toBe(url)
  expect(warnings).toEqual([])
})

test.each([
  ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "http/json", undefined],
  ["OTEL_TRACES_EXPORTER", "zipkin", "neither otlp nor none", undefined],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318", "has to be an http or https URL", undefined],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:canary@collector", "without user and password", undefined],
  ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf", "sent as http/json", "on"],
  ["OTEL_EXPORTER_OTLP_COMPRESSION", "zstd", "neither gzip nor none", "on"],
  ["OTEL_EXPORTER_OTLP_TIMEOUT", "soon", "10000 is used", "on"],
  ["OTEL_BSP_MAX_QUEUE_SIZE", "-1", "2048 is used", "on"],
  ["OTEL_TRACES_SAMPLER", "jaeger_remote", "is none of always_on", "on"],
  ["OTEL_TRACES_SAMPLER_ARG", "canary", "no number from 0 to 1", "on"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "authorization canary", "not of the form name=value", "on"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "x=canary%0d%0ay: z", "cannot be sent", "on"],
  ["OTEL_RESOURCE_ATTRIBUTES", "a=%zz", "not of the form name=value", "on"],
])("%s=%s is warned of, without its value", (name, value, warning, on) => {
  const sampler = name === "OTEL_TRACES_SAMPLER_ARG" ? { OTEL_TRACES_SAMPLER: "traceidratio" } : {}
  const { collector, warnings } = readOtelEnvironment({ ...base, ...sampler, [name]: value })
  expect(warnings).toEqual([expect.stringContaining(warning)])
  expect(warnings[0]).toContain(name)
  expect(warnings[0]).not.toContain("canary")
  expect(collector === undefined ? undefined : "on").toBe(on as "on")
})

test("headers, resource, compression, time-out and sizes", () => {
  const { collector, resource, batchSpans, queueSpans, delayMs } = readOtelEnvironment({
    ...base,
    OTEL_EXPORTER_OTLP_HEADERS: "Authorization=Bearer%20a,x-b=c=d",
    OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: "gzip",
    OTEL_EXPORTER_OTLP_TIMEOUT: "10",
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: "20",
    OTEL_RESOURCE_ATTRIBUTES: "service.name=a, team=b%2Cc",
    OTEL_SERVICE_NAME: "gate",
    OTEL_BSP_MAX_QUEUE_SIZE: "100",
    OTEL_BSP_SCHEDULE_DELAY: "7",
  })
  expect(collector?.headers).toEqual({ authorization: "Bearer a", "x-b": "c=d" })
  expect(collector).toMatchObject({ isCompressed: true, timeoutMs: 20 })
  expect([...resource]).toEqual([
    ["service.name", "gate"],
    ["team", "b,c"],
  ])
  expect({ batchSpans, queueSpans, delayMs }).toEqual({ batchSpans: 100, queueSpans: 100, delayMs: 7 })
})

test.each([
  ["always_on", "", undefined, 1],
  ["always_on", "", false, 1],
  ["always_off", "", true, 0],
  ["traceidratio", "0.25", undefined, 0.25],
  ["traceidratio", "0.25", true, 0.25],
  ["traceidratio", "0", undefined, 0],
  ["traceidratio", "1", undefined, 1],
  ["parentbased_always_on", "", undefined, 1],
  ["parentbased_always_on", "", false, 0],
  ["parentbased_always_off", "", undefined, 0],
  ["parentbased_always_off", "", true, 1],
  ["parentbased_traceidratio", "0.25", undefined, 0.25],
  ["parentbased_traceidratio", "0.25", false, 0],
])("%s %s, where the caller's span is sampled: %p", (name, argument, parent, share) => {
  const sampler = samplerOf(name, argument)
  if (sampler === undefined) throw new Error("there is no such sampler")
  // Ids that are spread evenly.
  const ids = Array.from({ length: 400 }, (_, at) =>
    Math.floor(((at + 0.5) / 400) * 2 ** 52)
      .toString(16)
      .padStart(32, "1".padEnd(19, "0")),
  )
  const kept = ids.filter((id) => isSampled(sampler, id.slice(-32), parent))
  expect(kept.length / 400).toBeCloseTo(share, 5)
})

test("ids are hexadecimal, of the right length, and no two the same", () => {
  const ids = new SpanIds()
  const traces = Array.from({ length: 1000 }, ids.trace)
  const spans = Array.from({ length: 1000 }, ids.span)
  expect(traces.filter((id) => !/^[\da-f]{32}$/.test(id))).toEqual([])
  expect(spans.filter((id) => !/^[\da-f]{16}$/.test(id))).toEqual([])
  expect(new Set([...traces, ...spans]).size).toBe(2000)
})
