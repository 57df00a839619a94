/** `limits` of the configuration: bounds of requests, and when a host is not called for a while. */
import * as Schema from "effect/Schema"
import { wholeNumber } from "../../catalogue/schema.ts"
import { setting } from "../../catalogue/setting.ts"
import { amount, milliseconds, notNegative, share } from "./kinds.ts"

const Breaker = Schema.Struct({
  consecutiveFailures: setting("consecutive_failures", amount, {
    default: 5,
    description: "Failures in a row that open it; 0: never.",
  }),
  errorRate: setting("error_rate", share, {
    default: 0.5,
    description: "Share of failures within 30 seconds that opens it, 0 to 1; 0: never.",
  }),
  minRequests: setting("min_requests", amount, {
    default: 20,
    description: "Requests within 30 seconds before the share counts; 0: the first one counts.",
  }),
  openSeconds: setting("open_s", wholeNumber(0, 300), {
    default: 30,
    description:
      "Seconds that it stays open the first time, 0 to 300; then twice, three times as many, up to 300. 0: it never opens.",
  }),
}).annotations({ identifier: "BreakerInput" })

const Cooldown = Schema.Struct({
  accountSeconds: setting("account_s", amount, {
    default: 60,
    description: "Seconds after it refused our account (401, 402).",
  }),
  notFoundSeconds: setting("not_found_s", amount, {
    default: 60,
    description: "Seconds after it did not know the model.",
  }),
  rateLimitSeconds: setting("rate_limit_s", amount, {
    default: 5,
    description: "Seconds after a 429 that named no time.",
  }),
  maxSeconds: setting("max_s", amount, {
    default: 300,
    description: "Seconds at most, also where the host named a time.",
  }),
}).annotations({ identifier: "CooldownInput" })

export const Limits = Schema.Struct({
  ttfbMs: setting("ttfb_ms", Schema.NullOr(milliseconds), {
    default: null,
    description:
      "Milliseconds until a stream's first event. Default: 2 minutes, 5 where the model may think unseen or no other host is left (docs/routing.md).",
  }),
  attemptMs: setting("attempt_ms", Schema.NullOr(milliseconds), {
    default: null,
    description:
      "Milliseconds that one host has for a whole answer. Default: by `max_tokens` and the host's speed, from 2 minutes to most of the deadline; none for the last host (docs/routing.md).",
  }),
  attemptMsByModel: setting("attempt_ms_by_model", Schema.Record({ key: Schema.String, value: milliseconds }), {
    default: {},
    description: "The same by the id of the model, in place of the provider's own and of `attempt_ms`.",
  }),
  idleMs: setting("idle_ms", milliseconds, {
    default: 60_000,
    description: "Milliseconds between events of a stream.",
  }),
  thinkingIdleMs: setting("thinking_idle_ms", milliseconds, {
    default: 300_000,
    description: "Milliseconds between events while a model that reasons has sent no content.",
  }),
  deadlineMs: setting("deadline_ms", milliseconds, {
    default: 600_000,
    description: "Milliseconds for a non-streaming answer, or until the first event of a stream, across all attempts.",
  }),
  streamMs: setting("stream_ms", milliseconds, {
    default: 14_400_000,
    description:
      "Milliseconds for a stream, from its first event on. A longer stream ends with the finish reason `length`, and its output so far is charged.",
  }),
  commitAfterMs: setting("commit_after_ms", milliseconds, {
    default: 10_000,
    description: "Milliseconds after which a stream's status is sent although no event came.",
  }),
  maxInFlight: setting("max_in_flight", amount, {
    default: 1024,
    description:
      "Requests at once, per process; further ones get 503. A key may have a quarter of them, at least 64; above that 429.",
  }),
  bodyBytes: setting("body_bytes", amount, {
    default: 33_554_432,
    description:
      "Bytes of a request's body, of a host's non-streaming answer, and of one event of its stream. Answers with embeddings may be twice as long.",
  }),
  streamBytes: setting("stream_bytes", amount, {
    default: 67_108_864,
    description: "Bytes of one stream of a host.",
  }),
  clientStallMs: setting("client_stall_ms", milliseconds, {
    default: 60_000,
    description:
      "Milliseconds for which a client may take no bytes of a stream, or of a non-streaming answer above 1 MiB, before it is cut off.",
  }),
  minBytesPerSecond: setting("min_bytes_per_s", amount, {
    default: 16,
    description: "Bytes per second, over a minute, that a stream of a host must reach.",
  }),
  retries: setting("retries", notNegative, {
    default: 0.2,
    description:
      "Attempts after the first one of a request, of all requests together, as a share of the requests of the last 10 seconds. 10 a second are always allowed.",
  }),
  breaker: setting("breaker", Breaker, {
    otherwise: {},
    description: "When a host that keeps failing is not called for a while.",
  }),
  cooldown: setting("cooldown", Cooldown, {
    otherwise: {},
    description: "Seconds for which a host is not called after certain answers.",
  }),
}).annotations({ identifier: "LimitsInput" })
