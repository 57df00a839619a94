/** Gateways that observe nothing of requests, or all that they can, and a collector for their traces. */
import { alertRules } from "../../src/domain/alerts/Alert.ts"

/** Everything that is told of the end of a request is off. */
export const observingNothing = <Usual extends object>(usual: Usual) => ({
  ...usual,
  server: { metrics: { enabled: false }, access_log: "off" },
  records: { requests_days: 0 },
  alerts: Object.fromEntries(alertRules.map((rule) => [rule, { enabled: false }])),
})

/** Beside what is on by default, what is off. The variables of `tracesTo` belong to it. */
export const observingAll = <Usual extends object>(usual: Usual) => ({
  ...usual,
  server: { metrics: { budget_keys: 10 }, access_log: "all" },
})

/** Every request is sampled. */
export const tracesTo = (collector: string): Readonly<Record<string, string>> => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: collector,
  OTEL_TRACES_SAMPLER: "always_on",
  // The default drops spans of a gateway that is as busy as here.
  OTEL_BSP_MAX_QUEUE_SIZE: "100000",
})

interface Collector {
  readonly url: string
  /** Spans that have come. */
  readonly spans: () => number
  readonly stop: () => Promise<void>
}

/** In the process of the bench, whose processor time is not counted. It keeps nothing. */
export const startCollector = (): Collector => {
  let spans = 0
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const text = await request.text()
      spans += text.split('"spanId"').length - 1
      return Response.json({})
    },
  })
  return { url: `http://127.0.0.1:${server.port}`, spans: () => spans, stop: () => server.stop(true) }
}
