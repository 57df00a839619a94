/** A collector of OpenTelemetry on loopback, which keeps the spans that come. */
import { gunzipSync } from "node:zlib"
import * as Layer from "effect/Layer"
import { OtelEnvironment } from "../../../src/services/traces/Traces.ts"

/** A span as it came, its attributes as an object. */
export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  /** Nanoseconds. */
  readonly began: bigint
  readonly ended: bigint
  readonly attributes: Readonly<Record<string, unknown>>
  readonly links: ReadonlyArray<string>
  readonly status: Readonly<Record<string, unknown>>
  readonly resource: Readonly<Record<string, unknown>>
}

export interface Collector {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string
  readonly spans: ReadonlyArray<ReceivedSpan>
  /** Texts of the exports, and their headers. */
  readonly exports: ReadonlyArray<{ readonly text: string; readonly headers: Headers; readonly path: string }>
  readonly stop: () => Promise<void>
}

const taken = () => Response.json({})

/** `answer`: of the export of this number, from 1. */
export const startCollector = (answer: (number: number) => Response | Promise<Response> = taken): Collector => {
  const spans: Array<ReceivedSpan> = []
  const exports: Array<{ text: string; headers: Headers; path: string }> = []
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      const bytes = new Uint8Array(await request.arrayBuffer())
      const { headers } = request
      const text = new TextDecoder().decode(headers.get("content-encoding") === "gzip" ? gunzipSync(bytes) : bytes)
      exports.push({ text, headers, path: new URL(request.url).pathname })
      const response = await answer(exports.length)
      if (response.ok) spans.push(...spansIn(text))
      return response
    },
  })
  return { url: `http://127.0.0.1:${server.port}`, spans, exports, stop: () => server.stop(true) }
}

/** What a gateway of a test has for its environment: exports at once to this collector, and these variables. */
export const exporting = (url: string, more: Readonly<Record<string, string>> = {}): Layer.Layer<never> =>
  Layer.succeed(OtelEnvironment, { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_BSP_SCHEDULE_DELAY: "0", ...more })

// biome-ignore lint/suspicious/noExplicitAny: what came is looked at by tests
type Any = any

export const spansIn = (text: string): ReadonlyArray<ReceivedSpan> =>
  (JSON.parse(text) as Any).resourceSpans.flatMap((ofResource: Any) =>
    ofResource.scopeSpans.flatMap(({ spans }: Any) =>
      spans.map((span: Any) => ({
        ...span,
        began: BigInt(span.startTimeUnixNano),
        ended: BigInt(span.endTimeUnixNano),
        attributes: objectOf(span.attributes),
        links: (span.links ?? []).map(({ spanId }: Any) => spanId),
        resource: objectOf(ofResource.resource.attributes),
      })),
    ),
  )

const objectOf = (attributes: Any) => Object.fromEntries(attributes.map(({ key, value }: Any) => [key, valueOf(value)]))

const valueOf = (value: Any): unknown =>
  value.arrayValue === undefined ? Object.values(value)[0] : value.arrayValue.values.map(valueOf)
