/** Every failure as HTTP shows it: its status, its headers, and its body in both documented forms. */
import { describe, expect, test } from "bun:test"
import {
  AnswerBeyondLimit,
  BadRequest,
  BodyTooLarge,
  CallerGone,
  type ExhaustedBecause,
  type FailedAttempt,
  type Failure,
  HostFailed,
  KeyMissing,
  KeyNotAccepted,
  NoHostMatches,
  NotFound,
  NotPermitted,
  PaymentRequired,
  RateLimited,
  RequestRepeated,
  RoutingExhausted,
  TimedOut,
  Unavailable,
  UpgradeRequired,
} from "../../src/domain/failures/Failure.ts"
import type { HostReason } from "../../src/domain/failures/HostReason.ts"
import { chatErrorBody } from "../../src/formats/errorBody.ts"
import { messagesErrorBody } from "../../src/formats/messages/messagesError.ts"
import { defect, render } from "../../src/http/errorBody.ts"

interface Row {
  readonly failure: Failure
  /** The message where it is not the failure's own: it has the host's words. */
  readonly says?: string
  readonly status: number
  /** `error_type` of both forms; the type of the Messages form. */
  readonly types: readonly [errorType: string, messagesType: string]
  /** Besides `error_type`; `null`: no metadata at all. */
  readonly metadata: Readonly<Record<string, unknown>> | null
  readonly headers?: Readonly<Record<string, string>>
  /** Besides `docs_url`, which follows from the code. */
  readonly availability?: { readonly code: string } & Readonly<Record<string, unknown>>
}

const attempt = (reason: HostReason, host: string, more: Partial<ConstructorParameters<typeof HostFailed>[0]> = {}) =>
  ({
    provider: host,
    host,
    model: "acme/small",
    failure: new HostFailed({ reason, ...more }),
    durationMs: 1,
  }) satisfies FailedAttempt

const exhausted = (outcome: ExhaustedBecause, attempts: ReadonlyArray<FailedAttempt>, retryAfterSeconds?: number) =>
  new RoutingExhausted({
    outcome,
    attempts,
    models: ["small", "acme/big"],
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  })

/** The availability of a used-up route. */
const usedUp = (code: string, providers: ReadonlyArray<string>, retryAfter: number | null = null) => ({
  code,
  retryable: code !== "model_unavailable_upstream",
  requested_models: ["small", "acme/big"],
  retry_after: retryAfter,
  affected_providers: providers,
})

const wrong = attempt("request", "acme", { status: 400, code: "bad_tool", detail: "no such tool" })
const limitedAttempt = attempt("rate-limited", "beta", { status: 429, detail: "slow down" })
const silent = attempt("timeout", "beta")

const previous = {
  wrong: { provider: "acme", model: "acme/small", code: "bad_tool", status: 400 },
  limited: { provider: "beta", model: "acme/small", code: "rate-limited", status: 429 },
  silent: { provider: "beta", model: "acme/small", code: "timeout", status: null },
}

const issues = Array.from({ length: 12 }, (_, at) => ({ path: `stop[${at}]`, message: "must be a string" }))
const [firstIssue = { path: "", message: "" }, ...otherIssues] = issues

const money = { limitSource: "daily", limit: 2_500_000_000_000n, spend: 2_000_000_000_000n, reserved: 400_000_000_000n }
const moneyMetadata = { limit_source: "daily", limit_usd: 2.5, spend_usd: 2, held_usd: 0.4, left_usd: 0.1 }

const inFlight = {
  ...money,
  reason: "in_flight_budget_exhausted",
  required: 200_000_000_000n,
  resetsAt: null,
} as const

const first = { firstRequestId: "req_1", generationId: null }
const place = (says: string, begins = "This") => {
  const path = "Idempotency-Key"
  return { path, issues: [{ path, message: `${begins} Idempotency-Key ${says}` }] }
}

const beyondLimit = new AnswerBeyondLimit({
  limit: "the answer is nested too deep",
  provider: "Acme",
  cost: 1_500_000_000n,
})

/** By tag, so that a failure without a row does not compile. */
const rows: Readonly<Record<Failure["_tag"], ReadonlyArray<Row>>> = {
  BadRequest: [
    {
      failure: new BadRequest({ issues: [firstIssue, ...otherIssues] }),
      status: 400,
      types: ["invalid_request", "invalid_request_error"],
      metadata: { path: "stop[0]", issues: issues.slice(0, 10), more: 2 },
    },
    {
      failure: new BadRequest({ issues: [firstIssue], kind: "context_length_exceeded" }),
      status: 400,
      types: ["context_length_exceeded", "invalid_request_error"],
      metadata: { path: "stop[0]", issues: [firstIssue] },
      availability: {
        code: "constraint_filtered",
        retryable: false,
        requested_models: [],
        retry_after: null,
        excluded_by: ["context_length"],
        constraint: { field: "stop[0]", detail: "must be a string" },
      },
    },
    {
      failure: new BadRequest({ issues: [firstIssue], kind: "model_not_found", models: ["acme/none"] }),
      status: 400,
      types: ["invalid_request", "invalid_request_error"],
      metadata: { path: "stop[0]", issues: [firstIssue] },
      availability: {
        code: "model_not_found",
        retryable: false,
        requested_models: ["acme/none"],
        retry_after: null,
      },
    },
  ],
  KeyMissing: [
    {
      failure: new KeyMissing(),
      status: 401,
      types: ["authentication", "authentication_error"],
      metadata: null,
      headers: { "www-authenticate": "Bearer" },
    },
  ],
  KeyNotAccepted: [
    {
      failure: new KeyNotAccepted(),
      status: 401,
      types: ["authentication", "authentication_error"],
      metadata: null,
      headers: { "www-authenticate": "Bearer" },
    },
  ],
  PaymentRequired: [
    {
      failure: new PaymentRequired({ ...money, reason: "limit_exhausted", resetsAt: Date.UTC(2026, 2, 8) }),
      status: 402,
      types: ["payment_required", "billing_error"],
      metadata: { ...moneyMetadata, reason: "limit_exhausted", resets_at: "2026-03-08T00:00:00.000Z" },
    },
    {
      failure: new PaymentRequired({
        ...money,
        reason: "in_flight_budget_exhausted",
        required: 200_000_000_000n,
        resetsAt: null,
        retryAfterSeconds: 1,
      }),
      status: 402,
      types: ["payment_required", "billing_error"],
      metadata: {
        ...moneyMetadata,
        required_usd: 0.2,
        reason: "in_flight_budget_exhausted",
        resets_at: null,
        remedy_hint: expect.stringContaining("do not repeat a 402"),
      },
      headers: { "retry-after": "1" },
    },
  ],
  NotPermitted: [
    {
      failure: new NotPermitted({ rule: "Only management keys can perform this operation." }),
      status: 403,
      types: ["permission_denied", "permission_error"],
      metadata: {},
    },
  ],
  RateLimited: (
    [
      ["key", "gateway_key_rate_limit", "Wait, or ask for a higher rate_limit of the key"],
      ["free-models-per-min", "gateway_free_tier_per_minute", "Wait, or use a model that is not free"],
      ["free-models-per-day", "gateway_free_tier_daily", "Wait for the daily reset"],
    ] as const
  ).map(([scope, limit_source, remedy_hint]) => {
    const headers = {
      "X-RateLimit-Limit": "20",
      "X-RateLimit-Remaining": "0",
      "X-RateLimit-Reset": "1788220800000",
    }
    return {
      failure: new RateLimited({ scope, limit: 20, resetsAt: 1_788_220_800_000, retryAfterSeconds: 9 }),
      status: 429,
      types: ["rate_limit_exceeded", "rate_limit_error"],
      metadata: { headers, limit_source, remedy_hint },
      headers: { ...headers, "retry-after": "9" },
    }
  }),
  UpgradeRequired: [
    {
      failure: new UpgradeRequired(),
      status: 426,
      types: ["upgrade_required", "api_error"],
      metadata: {},
      headers: { upgrade: "HTTP/1.1", connection: "upgrade" },
    },
  ],
  NotFound: [
    {
      failure: new NotFound({ what: "This route" }),
      status: 404,
      types: ["not_found", "not_found_error"],
      metadata: {},
    },
  ],
  NoHostMatches: [
    {
      failure: new NoHostMatches({
        models: ["acme/small"],
        excluded: [
          { host: "acme", model: "acme/small", by: "ignore", reason: "among the ignored providers" },
          { host: "beta", model: "acme/small", by: "ignore", reason: "among the ignored providers" },
        ],
      }),
      status: 404,
      types: ["not_found", "not_found_error"],
      metadata: {
        excluded_by: ["ignore"],
        excluded: [
          { host: "acme", model: "acme/small", by: "ignore", reason: "among the ignored providers" },
          { host: "beta", model: "acme/small", by: "ignore", reason: "among the ignored providers" },
        ],
        available_providers: ["acme", "beta"],
        requested_providers: [],
      },
      availability: {
        code: "constraint_filtered",
        retryable: false,
        requested_models: ["acme/small"],
        retry_after: null,
        affected_providers: ["acme", "beta"],
        excluded_by: ["ignored_providers"],
        constraint: { field: "provider.ignore", detail: "among the ignored providers" },
      },
    },
  ],
  TimedOut: [
    {
      failure: new TimedOut({ phase: "body", afterMs: 30_000 }),
      status: 408,
      types: ["timeout", "timeout_error"],
      metadata: { phase: "body" },
      headers: { connection: "close" },
    },
    {
      failure: new TimedOut({ phase: "upstream", afterMs: 600_000 }),
      status: 408,
      types: ["timeout", "timeout_error"],
      metadata: { phase: "upstream" },
    },
  ],
  BodyTooLarge: [
    {
      failure: new BodyTooLarge({ limitBytes: 1024 }),
      status: 413,
      types: ["payload_too_large", "invalid_request_error"],
      metadata: { limit_bytes: 1024 },
      headers: { connection: "close" },
    },
  ],
  AnswerBeyondLimit: [
    {
      failure: beyondLimit,
      status: 502,
      types: ["answer_beyond_limit", "api_error"],
      metadata: { provider_name: "Acme", cost: 0.0015 },
      headers: { "x-gw-cost-usd": "0.0015" },
    },
  ],
  RoutingExhausted: [
    {
      // The body shows the last attempt that found the request at fault, not the last attempt.
      failure: exhausted("request", [wrong, silent]),
      says: "acme rejected the request: no such tool.",
      status: 400,
      types: ["invalid_request", "invalid_request_error"],
      metadata: {
        provider_name: "acme",
        raw: "no such tool",
        provider_code: "bad_tool",
        previous_errors: [previous.wrong, previous.silent],
      },
    },
    {
      failure: exhausted("rate-limited", [limitedAttempt], 7),
      says: "beta rejected the request: slow down.",
      status: 429,
      types: ["rate_limit_exceeded", "rate_limit_error"],
      metadata: { provider_name: "beta", raw: "slow down", previous_errors: [previous.limited] },
      headers: { "retry-after": "7" },
      availability: usedUp("capacity_exhausted", ["beta"], 7),
    },
    {
      failure: exhausted("not-found", [silent]),
      status: 404,
      types: ["not_found", "not_found_error"],
      metadata: { provider_name: "beta", previous_errors: [previous.silent] },
      availability: usedUp("model_unavailable_upstream", ["beta"]),
    },
    {
      failure: exhausted("cooling-down", [], 30),
      status: 503,
      types: ["provider_overloaded", "overloaded_error"],
      metadata: { previous_errors: [] },
      headers: { "retry-after": "30" },
      availability: usedUp("temporarily_unavailable", [], 30),
    },
    {
      failure: exhausted("timeout", [silent]),
      status: 408,
      types: ["timeout", "timeout_error"],
      metadata: { phase: "upstream", previous_errors: [previous.silent] },
      availability: usedUp("temporarily_unavailable", ["beta"]),
    },
    {
      failure: exhausted("forbidden", [silent]),
      status: 403,
      types: ["permission_denied", "permission_error"],
      metadata: { provider_name: "beta", previous_errors: [previous.silent] },
    },
    {
      // What a host says about its own failures is not shown to the caller.
      failure: exhausted("unavailable", [limitedAttempt], 5),
      status: 502,
      types: ["provider_unavailable", "api_error"],
      metadata: { provider_name: "beta", previous_errors: [previous.limited] },
      headers: { "retry-after": "5" },
      availability: usedUp("temporarily_unavailable", ["beta"], 5),
    },
  ],
  RequestRepeated: [
    {
      failure: new RequestRepeated({ because: "other-body", ...first }),
      status: 400,
      types: ["idempotency_key_reused", "invalid_request_error"],
      metadata: { ...place("was used with another body before, by req_1: use a new one"), first_request_id: "req_1" },
    },
    {
      failure: new RequestRepeated({ because: "running", ...first }),
      status: 429,
      types: ["idempotency_in_progress", "rate_limit_error"],
      metadata: { first_request_id: "req_1" },
      headers: { "retry-after": "2" },
    },
    {
      failure: new RequestRepeated({ because: "not-kept", ...first, generationId: "gen-1" }),
      status: 400,
      types: ["idempotency_answer_not_kept", "invalid_request_error"],
      metadata: {
        ...place("was carried out as gen-1, and its answer was not kept", "The request req_1 with this"),
        first_request_id: "req_1",
        generation_id: "gen-1",
      },
    },
    {
      failure: new RequestRepeated({ because: "unknown", ...first }),
      status: 502,
      types: ["outcome_unknown", "api_error"],
      metadata: { first_request_id: "req_1" },
    },
  ],
  Unavailable: [
    {
      failure: new Unavailable({ why: "overloaded", retryAfterSeconds: 1 }),
      status: 503,
      types: ["overloaded", "overloaded_error"],
      metadata: {},
      headers: { "retry-after": "1" },
    },
    {
      failure: new Unavailable({ why: "draining", retryAfterSeconds: 1 }),
      status: 503,
      types: ["draining", "overloaded_error"],
      metadata: {},
      headers: { "retry-after": "1", connection: "close" },
    },
    ...(["metering", "storage"] as const).map((why) => ({
      failure: new Unavailable({ why, retryAfterSeconds: 5 }),
      status: 503,
      types: ["metering_unavailable", "api_error"] as const,
      metadata: {},
      headers: { "retry-after": "5" },
    })),
  ],
  CallerGone: [
    {
      failure: new CallerGone(),
      status: 408,
      types: ["timeout", "timeout_error"],
      metadata: { phase: "body" },
    },
  ],
}

const named = Object.values(rows)
  .flat()
  .map((row): readonly [string, Row] => [`${row.failure._tag}: ${row.failure.message}`, row])

/** `x-should-retry` by status. Absent: none, so a client does what it does by itself. */
const neverRepeated: Readonly<Record<number, string>> = {
  400: "false",
  401: "false",
  402: "false",
  403: "false",
  404: "false",
  413: "false",
  426: "false",
}
const nameOf = (failure: Failure) => `${failure._tag}: ${failure.message}`
/** The failures for which it is another one than their status has. */
const adviceFor: Readonly<Record<string, string>> = {
  [nameOf(new PaymentRequired({ ...inFlight, retryAfterSeconds: 1 }))]: "true",
  [nameOf(new RequestRepeated({ because: "unknown", ...first }))]: "false",
  [nameOf(beyondLimit)]: "false",
}

describe("whether agents repeat a request that failed", () => {
  const limited = (retryAfterSeconds: number) =>
    new RateLimited({ scope: "key", limit: 20, resetsAt: 1_788_220_800_000, retryAfterSeconds })

  test.each([
    ["a rate limit that is over in a minute: after that, as clients do by themselves", limited(60), undefined],
    [
      "Continue sent 21 requests in 45 seconds against a limit of an hour: nobody waits that long",
      limited(61),
      "false",
    ],
    ["the same of hosts that rest", exhausted("rate-limited", [limitedAttempt], 300), "false"],
    ["hosts that cool down for longer", exhausted("cooling-down", [], 61), "false"],
    ["hosts that cool down for a while", exhausted("cooling-down", [], 60), undefined],
    ["hosts that failed", exhausted("unavailable", [limitedAttempt]), undefined],
    ["a stop", new Unavailable({ why: "draining", retryAfterSeconds: 1 }), undefined],
    ["no money until the reset", new PaymentRequired({ ...money, reason: "limit_exhausted", resetsAt: 1 }), "false"],
    ["money that running requests have reserved", new PaymentRequired({ ...inFlight, retryAfterSeconds: 1 }), "true"],
  ])("%s", (_name, failure, advice) => {
    expect(render(failure).headers?.["x-should-retry"]).toBe(advice)
  })
})

/** What callers of the Messages form are told of the metadata: what a program has to read. */
const toldOfMessages = (metadata: Row["metadata"]) =>
  metadata !== null && "cost" in metadata ? { metadata: { cost: metadata["cost"] } } : {}

describe("a failure and its answer", () => {
  test.each(named)("%s", (name, { failure, says, status, types, metadata, headers = {}, availability }) => {
    const rendered = render(failure)
    const [errorType, messagesType] = types
    const message = says ?? failure.message
    expect(rendered.status).toBe(status)
    const { "x-should-retry": advice, ...others } = rendered.headers ?? {}
    expect(others).toEqual(headers)
    expect(advice).toBe(adviceFor[name] ?? neverRepeated[status])
    expect(message).toMatch(/^[^.].*\.$/)
    expect<unknown>(chatErrorBody(rendered)).toStrictEqual({
      error: {
        message,
        code: status,
        ...(metadata === null ? {} : { metadata: { error_type: errorType, ...metadata } }),
        ...(availability === undefined
          ? {}
          : { availability: { ...availability, docs_url: `/docs/guide/errors#${availability.code}` } }),
      },
    })
    expect<unknown>(messagesErrorBody(rendered, "req_1")).toStrictEqual({
      type: "error",
      error: { type: messagesType, message, error_type: errorType, ...toldOfMessages(metadata) },
      request_id: "req_1",
    })
  })

  test("a defect of ours shows no details in either form", () => {
    expect(chatErrorBody(defect)).toStrictEqual({
      error: { message: "Internal error.", code: 500, metadata: { error_type: "server" } },
    })
    expect(messagesErrorBody(defect, "req_1")).toStrictEqual({
      type: "error",
      error: { type: "api_error", message: "Internal error.", error_type: "server" },
      request_id: "req_1",
    })
  })
})
