/** One export to the collector. What it answers is not trusted: read up to a bound, and never logged with our secrets. */
import { gzip } from "node:zlib"
import * as Effect from "effect/Effect"
import { isJsonObject } from "../../domain/json/json.ts"
import { withoutControls } from "../../domain/json/plainText.ts"
import { hiding } from "../../domain/json/redaction.ts"
import type { ResponseHeaders } from "../../upstream/Exchange.ts"
import type { HostCaller } from "../../upstream/Upstream.ts"
import { wholeCall } from "../calls/wholeCall.ts"
import type { Collector } from "./otelEnvironment.ts"

/** `rejected`: spans that the collector did not take. */
export type Sent =
  | { readonly isTaken: true; readonly rejected: number; readonly message: string }
  | {
      readonly isTaken: false
      readonly because: string
      readonly mayRetry: boolean
      readonly waitMs: number | undefined
    }

/** Bytes of an answer that are read. */
const longestAnswer = 65_536
const longestMessage = 200
/** The longest wait that a collector may ask for. */
const mostWaitMs = 60_000

/** Statuses after which the same export may be sent again. https://opentelemetry.io/docs/specs/otlp/#retryable-response-codes */
const retryable: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** The body as it is sent. Compressing takes a thread of the runtime, not ours. */
export const bodyOf = ({ isCompressed }: Collector, json: string): Effect.Effect<string | Uint8Array> =>
  isCompressed
    ? Effect.async((resume) => {
        gzip(json, (error, bytes) => resume(error === null ? Effect.succeed(bytes) : Effect.die(error)))
      })
    : Effect.succeed(json)

/** Never fails. It goes to the address that the operator named, which is usually a private one, and through no proxy. */
export const send = (upstream: HostCaller, collector: Collector, body: string | Uint8Array): Effect.Effect<Sent> => {
  const { url, headers, timeoutMs, isCompressed } = collector
  const call = {
    ...{ url, method: "POST" as const, body, network: "private" as const },
    headers: {
      ...{ "content-type": "application/json", "accept-encoding": "identity", "user-agent": "headgate", ...headers },
      ...(isCompressed ? { "content-encoding": "gzip" } : {}),
    },
  }
  return wholeCall(upstream, call, longestAnswer).pipe(
    Effect.map((answer) => read(answer, hiding(Object.values(headers)))),
    Effect.timeoutTo({
      duration: timeoutMs,
      onSuccess: (sent) => sent,
      onTimeout: () => failed("the collector did not answer in time", true),
    }),
    Effect.catchAll(({ reason }) =>
      Effect.succeed(
        failed(`the collector could not be asked: ${reason}`, reason === "unreachable" || reason === "shortage"),
      ),
    ),
  )
}

interface Answer {
  readonly status: number
  readonly headers: ResponseHeaders
  readonly body: string
}

const read = ({ status, headers, body }: Answer, hide: (text: string) => string): Sent => {
  if (status >= 200 && status < 300) return { isTaken: true, ...partialSuccess(body, hide) }
  const waitMs = retryAfterMs(headers.get("retry-after"))
  return { ...failed(`the collector answered with status ${status}`, retryable.has(status)), waitMs }
}

const failed = (because: string, mayRetry: boolean): Sent & { readonly isTaken: false } => ({
  ...{ isTaken: false, because, mayRetry },
  waitMs: undefined,
})

/** `{"partialSuccess":{"rejectedSpans":"3","errorMessage":"…"}}`. What is no such answer counts as taken. */
const partialSuccess = (body: string, hide: (text: string) => string): { rejected: number; message: string } => {
  const partial = memberOf(parsed(body), "partialSuccess")
  const rejected = Number(memberOf(partial, "rejectedSpans") ?? 0)
  const message = memberOf(partial, "errorMessage")
  return {
    rejected: Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0,
    message: typeof message === "string" ? withoutControls(hide(message), " ").slice(0, longestMessage) : "",
  }
}

const memberOf = (value: unknown, name: string): unknown => (isJsonObject(value) ? value[name] : undefined)

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Seconds alone: a date needs a clock that both agree on. */
const retryAfterMs = (header: string | null): number | undefined =>
  header !== null && /^\d{1,9}$/.test(header) ? Math.min(mostWaitMs, Number(header) * 1000) : undefined
