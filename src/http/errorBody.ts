/**
 * Maps every failure to an HTTP status and what its body says. No other file knows statuses. A failure that is missing
 * here does not compile.
 */
import { availabilityOf } from "../domain/failures/Availability.ts"
import { providersOf } from "../domain/failures/Exclusion.ts"
import type {
  BadRequest,
  FailedAttempt,
  Failure,
  NoHostMatches,
  RateLimited,
  RequestRepeated,
  RoutingExhausted,
} from "../domain/failures/Failure.ts"
import type { JsonObject } from "../domain/json/json.ts"
import { toUsd } from "../domain/price/money.ts"
import { isTooLong, refusalOf } from "../domain/routing/RefusedModels.ts"
import type { Rendered } from "../formats/Rendered.ts"
import { costHeader, costValue, idempotencyHeader, rateLimitHeaders, shouldRetryHeader } from "./headers.ts"

const retryAfter = (seconds: number | undefined): Pick<Rendered, "headers"> =>
  seconds === undefined ? {} : { headers: { "retry-after": String(seconds) } }

export const render = (failure: Failure): Rendered => {
  const rendered = described(failure)
  const advice = shouldRetry(rendered)
  return advice === undefined
    ? rendered
    : { ...rendered, headers: { ...rendered.headers, [shouldRetryHeader]: String(advice) } }
}

/**
 * Seconds. At a longer `Retry-After` OpenAI's SDK repeats within two seconds, and Anthropic's waits it out in silence
 * (2026-11).
 */
const longestWait = 60

/**
 * What the SDKs of OpenAI and Anthropic are told, which obey it before they look at the status; `undefined`: what they
 * do by themselves is right, which is to repeat 408, 409, 429 and 5xx, after `Retry-After`. `docs/errors.md#agents`.
 */
const shouldRetry = ({ status, headers = {} }: Rendered): boolean | undefined => {
  const wait = headers["retry-after"]
  if (wait !== undefined && Number(wait) > longestWait) return false
  // Nobody repeats a 402, but this one is over in a moment.
  if (status === 402) return wait !== undefined
  return status < 500 && status !== 408 && status !== 429 ? false : undefined
}

/** Of those of a body, as many are shown. */
const mostIssues = 10

const described = (failure: Failure): Rendered => {
  const { message } = failure
  switch (failure._tag) {
    case "BadRequest": {
      const issues = failure.issues.slice(0, mostIssues)
      const more = failure.issues.length - issues.length
      const metadata = { path: failure.issues[0].path, issues, ...(more > 0 ? { more } : {}) }
      const errorType = failure.kind === "context_length_exceeded" ? failure.kind : "invalid_request"
      return { status: 400, errorType, message, metadata, ...about(failure), ...inAnthropicsWords(failure) }
    }
    case "KeyMissing":
    case "KeyNotAccepted":
      return {
        status: 401,
        errorType: "authentication",
        message,
        metadata: null,
        headers: { "www-authenticate": "Bearer" },
      }
    case "PaymentRequired": {
      const { reason, limitSource, limit, spend, reserved, left, required, resetsAt, affordableTokens } = failure
      const metadata = {
        reason,
        limit_source: limitSource,
        limit_usd: toUsd(limit),
        spend_usd: toUsd(spend),
        held_usd: toUsd(reserved),
        left_usd: toUsd(left),
        ...(required === undefined ? {} : { required_usd: toUsd(required) }),
        ...(affordableTokens === undefined ? {} : { affordable_tokens: affordableTokens }),
        resets_at: resetsAt === null ? null : new Date(resetsAt).toISOString(),
        // Clients do not repeat a 402, so the body says that it may be repeated.
        ...(reason === "in_flight_budget_exhausted" ? { remedy_hint: inFlightHint } : {}),
      }
      return { status: 402, errorType: "payment_required", message, metadata, ...retryAfter(failure.retryAfterSeconds) }
    }
    case "NotPermitted":
      return { status: 403, errorType: "permission_denied", message, metadata: {} }
    case "RateLimited":
      return rateLimited(failure)
    case "NotFound":
      return { status: 404, errorType: "not_found", message, metadata: {} }
    case "UpgradeRequired":
      // RFC 9110, 15.5.22 and 7.8: the protocols that would do, and the connection option that goes with the header.
      return {
        status: 426,
        errorType: "upgrade_required",
        message,
        metadata: {},
        headers: { upgrade: "HTTP/1.1", connection: "upgrade" },
      }
    case "NoHostMatches":
      return { status: 404, errorType: "not_found", message, metadata: exclusions(failure), ...about(failure) }
    case "TimedOut":
      return {
        status: 408,
        errorType: "timeout",
        message,
        metadata: { phase: failure.phase },
        // After an incomplete body the start of the next request is unknown.
        ...(failure.phase === "body" ? { headers: { connection: "close" } } : {}),
      }
    case "BodyTooLarge":
      return {
        status: 413,
        errorType: "payload_too_large",
        message,
        metadata: { limit_bytes: failure.limitBytes },
        headers: { connection: "close" },
      }
    case "RoutingExhausted":
      return { ...exhausted(failure), ...about(failure) }
    case "AnswerBeyondLimit": {
      const headers = { [costHeader]: costValue(failure.cost), [shouldRetryHeader]: "false" }
      const metadata = { provider_name: failure.provider, cost: toUsd(failure.cost) }
      return { status: 502, errorType: "answer_beyond_limit", message, metadata, headers }
    }
    case "Unavailable": {
      const errorType = unavailableTypes[failure.why]
      // This gateway is stopping, so a retry needs a new connection. See docs/guarantees.md#g19.
      const headers = {
        "retry-after": String(failure.retryAfterSeconds),
        ...(failure.why === "draining" ? { connection: "close" } : {}),
      }
      return { status: 503, errorType, message, metadata: {}, headers }
    }
    case "RequestRepeated":
      return repeated(failure)
    case "CallerGone":
      // The caller has left, so the status is only for the log.
      return { status: 408, errorType: "timeout", message, metadata: { phase: "body" } }
  }
}

const inFlightHint =
  "Wait until a running request of the key has ended, then send it again; clients do not repeat a 402"

const unavailableTypes = {
  overloaded: "overloaded",
  draining: "draining",
  metering: "metering_unavailable",
  storage: "metering_unavailable",
  backup: "backup_unavailable",
  callers: "authentication_unavailable",
  processes: "process_unavailable",
}

const about = (failure: BadRequest | NoHostMatches | RoutingExhausted) => {
  const availability = availabilityOf(failure)
  return availability === undefined ? {} : { availability }
}

/** Clients tell a limit that is gone in a moment from a daily one by `limit_source`, so its suffixes are fixed. */
const limitSources = {
  key: { source: "gateway_key_rate_limit", hint: "Wait, or ask for a higher rate_limit of the key" },
  "key-requests-in-flight": { source: "gateway_key_in_flight", hint: "Send fewer requests of one key at once" },
  "key-bytes-in-flight": { source: "gateway_key_in_flight", hint: "Send fewer long requests of one key at once" },
  "sign-in": { source: "gateway_sign_in", hint: "Wait, or check the key: failed tries count" },
  "free-models-per-min": { source: "gateway_free_tier_per_minute", hint: "Wait, or use a model that is not free" },
  "free-models-per-day": { source: "gateway_free_tier_daily", hint: "Wait for the daily reset" },
}

const rateLimited = ({ message, scope, limit, resetsAt, retryAfterSeconds }: RateLimited): Rendered => {
  const [limitName, remainingName, resetName] = rateLimitHeaders
  const headers = { [limitName]: String(limit), [remainingName]: "0", [resetName]: String(resetsAt) }
  const { source, hint } = limitSources[scope]
  return {
    status: 429,
    errorType: "rate_limit_exceeded",
    message,
    metadata: { headers, limit_source: source, remedy_hint: hint },
    headers: { ...headers, "retry-after": String(retryAfterSeconds) },
  }
}

const repeatedTypes = {
  "other-body": { status: 400, errorType: "idempotency_key_reused" },
  running: { status: 429, errorType: "idempotency_in_progress", headers: { "retry-after": "2" } },
  "not-kept": { status: 400, errorType: "idempotency_answer_not_kept" },
  // The same key has the same outcome again.
  unknown: { status: 502, errorType: "outcome_unknown", headers: { [shouldRetryHeader]: "false" } },
}

const repeated = ({ message, because, firstRequestId, generationId }: RequestRepeated): Rendered => {
  const type = repeatedTypes[because]
  const place = { path: idempotencyHeader, issues: [{ path: idempotencyHeader, message: message.slice(0, -1) }] }
  return {
    ...type,
    message,
    metadata: {
      ...(type.status === 400 ? place : {}),
      first_request_id: firstRequestId,
      ...(generationId === null ? {} : { generation_id: generationId }),
    },
  }
}

const exclusions = ({ excluded, requestedProviders = [] }: NoHostMatches): JsonObject => ({
  excluded_by: [...new Set(excluded.map(({ by }) => by))],
  excluded: excluded.map(({ host, model, by, reason }) => ({ host, model, by, reason })),
  available_providers: providersOf(excluded),
  requested_providers: requestedProviders,
})

const exhausted = (failure: RoutingExhausted): Rendered => {
  const { message, attempts } = failure
  const wait = retryAfter(failure.retryAfterSeconds)
  const previous = {
    previous_errors: attempts.map(({ provider, model, failure: { reason, status, code } }) => ({
      provider,
      model,
      code: code ?? reason,
      status: status ?? null,
    })),
  }
  const reported = failure.outcome === "request" ? decisiveRefusal(attempts) : attempts.at(-1)
  const provider = reported === undefined ? {} : { provider_name: reported.provider }
  const raw = reported?.failure.detail === undefined ? {} : { raw: reported.failure.detail }
  const code = reported?.failure.code === undefined ? {} : { provider_code: reported.failure.code }
  const texts = reported === undefined ? { message } : textsOf(reported, message)
  switch (failure.outcome) {
    case "request":
      return {
        status: 400,
        errorType: (reported === undefined ? undefined : refusalOf(reported.failure)) ?? "invalid_request",
        ...texts,
        metadata: { ...provider, ...raw, ...code, ...previous },
      }
    case "rate-limited":
      return {
        status: 429,
        errorType: "rate_limit_exceeded",
        ...texts,
        metadata: { ...provider, ...raw, ...previous },
        ...wait,
      }
    case "not-found":
      return { status: 404, errorType: "not_found", message, metadata: { ...provider, ...previous } }
    case "cooling-down":
    case "busy":
      return { status: 503, errorType: "provider_overloaded", message, metadata: previous, ...wait }
    case "timeout":
      return { status: 408, errorType: "timeout", message, metadata: { phase: "upstream", ...previous } }
    case "forbidden":
      return { status: 403, errorType: "permission_denied", message, metadata: { ...provider, ...previous } }
    case "unavailable": {
      const headers = { ...wait.headers, ...(failure.needsOperator === true ? { [shouldRetryHeader]: "false" } : {}) }
      return {
        status: 502,
        errorType: "provider_unavailable",
        message,
        metadata: { ...provider, ...previous },
        ...(Object.keys(headers).length === 0 ? {} : { headers }),
      }
    }
  }
}

/**
 * The first refusal: a host that is tried after it may refuse the request for a reason of its own. Of a prompt that is
 * too long, the last one: that host has the longest context.
 */
const decisiveRefusal = (attempts: ReadonlyArray<FailedAttempt>): FailedAttempt | undefined => {
  const first = attempts.find(({ failure }) => failure.reason === "request")
  return first !== undefined && isTooLong(first.failure)
    ? attempts.findLast(({ failure }) => isTooLong(failure))
    : first
}

/**
 * A refusal with the host's own message, because programs act on it: agents compact a conversation at "prompt is too
 * long", or request fewer tokens. A Messages client of a Messages host gets the message unchanged. `general`: used
 * when the host gave no message.
 */
const textsOf = ({ provider, failure, isNative }: FailedAttempt, general: string) => {
  const { detail } = failure
  if (detail === undefined) return { message: general }
  const isLong = isTooLong(failure)
  const refusal = (word: string, isKnown: boolean) =>
    withFullStop(`${provider} rejected the request: ${detail}${isLong && !isKnown ? ` (${word})` : ""}`)
  return {
    message: refusal("context_length_exceeded", knownToAgents.test(detail)),
    inMessages: isNative === true ? detail : refusal("prompt is too long", knownToClaudeCode.test(detail)),
  }
}

/** Claude Code reads both numbers. */
const inAnthropicsWords = ({ tooLong }: BadRequest) =>
  tooLong === undefined
    ? {}
    : { inMessages: `prompt is too long: ${tooLong.fewest} tokens > ${tooLong.maximum} maximum` }

const withFullStop = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`)

/** Phrases for a prompt that is too long that agents recognize from any host (pi, opencode, Cline; 2026-11). */
const knownToAgents = /maximum context length is \d|context[_ ]length[_ ]exceeded|prompt is too long/i

/** Phrases that agents built for Anthropic recognize (Claude Code 2.0.76). */
const knownToClaudeCode = /prompt is too long|exceed context limit/

/** A defect of ours. The caller gets no details. */
export const defect: Rendered = { status: 500, errorType: "server", message: "Internal error.", metadata: {} }

/** Describes a failure inside a stream as an HTTP error. `undefined`: a defect of the gateway. */
export const renderedIn = (failure: Failure | undefined): Rendered => (failure === undefined ? defect : render(failure))
