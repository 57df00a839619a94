/**
 * Everything that can go wrong for a caller, as one closed union. There is a class for each way to react, and its
 * fields hold what the reaction needs. `message` is shown to the caller: one sentence with a full stop, no secret,
 * nothing of a host's body. Only `http/errorBody.ts` knows HTTP statuses.
 */
import * as Data from "effect/Data"
import type { Issue } from "../json/checks.ts"
import { formatUsd, type Picodollars } from "../price/money.ts"
import type { ChatUsage } from "../request/chat.ts"
import { type Excluded, type Exclusion, noHostText, type TooLong, tooLongText } from "./Exclusion.ts"
import type { HostReason } from "./HostReason.ts"

/** The request itself is at fault. */
export class BadRequest extends Data.TaggedError("BadRequest")<{
  readonly issues: readonly [Issue, ...ReadonlyArray<Issue>]
  /** A more exact kind of fault, where one is known. */
  readonly kind?: "context_length_exceeded" | "model_not_found" | "wrong_endpoint"
  /** Names of the models that were asked for, where the fault is about them. */
  readonly models?: ReadonlyArray<string>
  /** Present with the kind `context_length_exceeded`. */
  readonly tooLong?: TooLong
}> {
  override get message() {
    if (this.tooLong !== undefined) return `This model's ${tooLongText(this.tooLong)}.`
    const [first, ...more] = this.issues
    const rest = more.length === 0 ? "" : ` (and ${more.length} more)`
    return `${first.path === "" ? "" : `${first.path}: `}${first.message}${rest}.`
  }
}

/** `path`: where the prompt is in the body. */
export const promptTooLong = (path: string, tooLong: TooLong, models: ReadonlyArray<string> = []): BadRequest =>
  new BadRequest({
    kind: "context_length_exceeded",
    issues: [{ path, message: `the ${tooLongText(tooLong)}` }],
    models,
    tooLong,
  })

/** No key came with the request. */
export class KeyMissing extends Data.TaggedError("KeyMissing") {
  override get message() {
    return "Missing Authentication header: send your key as 'Authorization: Bearer <key>'."
  }
}

/**
 * The key is unknown, disabled, expired, deleted or malformed. The message is the same for all, so that it reveals
 * nothing.
 */
export class KeyNotAccepted extends Data.TaggedError("KeyNotAccepted") {
  override get message() {
    return "User not found. This is no active key of this gateway."
  }
}

/** The key's budget does not cover this request. */
export class PaymentRequired extends Data.TaggedError("PaymentRequired")<{
  readonly reason: "limit_exhausted" | "request_exceeds_budget" | "in_flight_budget_exhausted" | "unknown_price"
  readonly limitSource: string
  readonly limit: Picodollars
  readonly spend: Picodollars
  readonly reserved: Picodollars
  /** The least that has to be reserved for the request; absent: not known. */
  readonly required?: Picodollars | undefined
  /** Unix milliseconds; `null`: the limit never resets. */
  readonly resetsAt: number | null
  readonly retryAfterSeconds?: number
  /**
   * Output tokens of each answer that the budget pays for now, at the cheapest host of the plan. Absent: the bound of the output is not
   * what is wrong.
   */
  readonly affordableTokens?: number
  /** The bound that the caller gave. */
  readonly askedTokens?: number | undefined
}> {
  /** What is neither spent nor reserved. */
  get left(): Picodollars {
    const left = this.limit - this.spend - this.reserved
    return left > 0n ? left : 0n
  }

  override get message() {
    const { limitSource, limit, reserved, required, left } = this
    const of = `of the ${limitSource} limit of $${formatUsd(limit)}`
    const needs = required === undefined ? "" : `it needs at least $${formatUsd(required)}, and `
    switch (this.reason) {
      case "limit_exhausted":
        return `The key's ${limitSource} limit of $${formatUsd(limit)} is used up.`
      case "request_exceeds_budget":
        return `This request could cost more than the key has left: ${needs}$${formatUsd(left)} ${of} is left${this.tokens}; ${this.affordableTokens === undefined ? "" : "lower max_tokens, "}shorten the prompt, or raise the limit.`
      case "in_flight_budget_exhausted":
        return `What the key has left is held by requests in flight: ${needs}$${formatUsd(left)} ${of} is free while $${formatUsd(reserved)} is held${this.tokens}; try again in a moment, or send fewer requests at once.`
      default:
        return "No price is known for this model's hosts, so a key with a limit may not call it."
    }
  }

  private get tokens(): string {
    const { affordableTokens, askedTokens } = this
    if (affordableTokens === undefined) return ""
    return askedTokens === undefined
      ? `; the budget pays for ${affordableTokens} tokens of output`
      : `; it asks for ${askedTokens} tokens, and the budget pays for ${affordableTokens}`
  }
}

/** A rule forbids the request: the wrong kind of key, a model that the key may not use, a key that was deleted while it ran. */
export class NotPermitted extends Data.TaggedError("NotPermitted")<{
  readonly rule: string
  /** `address`: the key may not be used from where the caller is. `stop`: the operator stopped the request. Absent: it is another rule. */
  readonly by?: "address" | "stop"
}> {
  override get message() {
    return this.rule
  }
}

/** A limit on the number of requests: of the key, or of free models. */
export class RateLimited extends Data.TaggedError("RateLimited")<{
  readonly scope:
    | "key"
    | "free-models-per-min"
    | "free-models-per-day"
    | "key-requests-in-flight"
    | "key-bytes-in-flight"
    | "sign-in"
  /** Requests in the window; of what is in flight: requests, or bytes. */
  readonly limit: number
  /** Unix milliseconds: from then on a request is admitted, unless others come before it. */
  readonly resetsAt: number
  /** The same as whole seconds from now, rounded up. */
  readonly retryAfterSeconds: number
}> {
  override get message() {
    return rateLimitTexts[this.scope]?.(this.limit) ?? `Rate limit exceeded: ${this.scope}.`
  }
}

const rateLimitTexts: Readonly<Partial<Record<RateLimited["scope"], (limit: number) => string>>> = {
  key: () => "Rate limit exceeded: requests of this key.",
  "key-requests-in-flight": (limit) => `This key has ${limit} requests in flight, which is as many as it may.`,
  "sign-in": () => "Too many tries to sign in: wait, and try again.",
  "key-bytes-in-flight": (limit) =>
    `This key has too many bytes of request bodies in flight: ${limit} bytes is as many as it may.`,
}

/** There is no such route, model or key. */
export class NotFound extends Data.TaggedError("NotFound")<{
  readonly what: string
  /** A further sentence: where to look instead. */
  readonly hint?: string
}> {
  override get message() {
    return `${this.what} does not exist.${this.hint === undefined ? "" : ` ${this.hint}`}`
  }
}

/** The caller asks for another protocol than HTTP, on a path that has none. */
export class UpgradeRequired extends Data.TaggedError("UpgradeRequired") {
  override get message() {
    return "This gateway speaks no WebSocket: send the request with POST, over HTTP."
  }
}

/** The model is known, but no host of it is left after the caller's filters. */
export class NoHostMatches extends Data.TaggedError("NoHostMatches")<
  Excluded & {
    /** What the caller named in `only`. */
    readonly requestedProviders?: ReadonlyArray<string>
  }
> {
  override get message() {
    return noHostText(this)
  }
}

/** Time ran out: while the caller sent the body, or while we waited for hosts. */
export class TimedOut extends Data.TaggedError("TimedOut")<{
  readonly phase: "body" | "upstream"
  readonly afterMs: number
  /** Of a body: no byte of it came for `afterMs` (`silent`), or too few (`slow`). Absent: the whole of it took too long. */
  readonly because?: "silent" | "slow"
}> {
  override get message() {
    if (this.phase === "upstream") return "Operation timed out."
    const seconds = this.afterMs / 1000
    if (this.because === "silent") return `No byte of the request body came for ${seconds} seconds.`
    if (this.because === "slow") return `Too little of the request body came within ${seconds} seconds.`
    return `The request body was not complete after ${seconds} seconds.`
  }
}

export class BodyTooLarge extends Data.TaggedError("BodyTooLarge")<{ readonly limitBytes: number }> {
  override get message() {
    return `The request body is larger than ${this.limitBytes} bytes.`
  }
}

/** An attempt gave no valid answer. The dispatcher reacts to it; a caller sees it only within `RoutingExhausted`. */
export class HostFailed extends Data.TaggedError("HostFailed")<{
  readonly reason: HostReason
  /** The status of the host's answer; absent when there was none. */
  readonly status?: number
  /**
   * What the host said, for the caller, who sees it with reason `request` or `rate-limited` and never otherwise. The gateway
   * cuts it to 1,024 characters, takes control characters and our secrets out, and does not log it.
   */
  readonly detail?: string
  /** The host's own code for it, such as `context_length_exceeded`: for the caller and the log. Cut to 100 characters. */
  readonly code?: string
  /** Seconds the host asked us to wait. */
  readonly retryAfterSeconds?: number
  /** With reason `unreachable`: the connection broke after a part of the request was sent, so the request may have caused it. */
  readonly isAfterSending?: boolean
  /** The usage that the host sent with its error, unchecked. */
  readonly usage?: ChatUsage
  /** For the log alone: what went wrong inside. Nothing of a prompt or an answer belongs here. */
  readonly cause?: unknown
}> {
  override get message() {
    return `The host failed: ${this.reason}${this.status === undefined ? "" : ` (${this.status})`}.`
  }

  /** The same failure with some members changed; `undefined` removes one. */
  with(changes: HostFailedChanges): HostFailed {
    const { reason, status, detail, code, retryAfterSeconds, isAfterSending, usage, cause } = this
    const own = { status, detail, code, retryAfterSeconds, isAfterSending, usage, cause }
    const { reason: meant = reason, ...rest } = { ...own, ...changes }
    return new HostFailed({ reason: meant, ...definedOnly(rest) })
  }
}

type HostFailedMember = "detail" | "code" | "status" | "retryAfterSeconds" | "usage" | "cause"

/** What `HostFailed.with` may change. */
export type HostFailedChanges = { readonly reason?: HostReason } & {
  readonly [Member in HostFailedMember]?: HostFailed[Member] | undefined
}

const definedOnly = <A extends object>(members: A): { [K in keyof A]?: Exclude<A[K], undefined> } =>
  // TypeScript cannot see that the filter removes the undefined members.
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [K in keyof A]?: Exclude<A[K], undefined>
  }

/** A host's protocol cannot carry the request. Another host's may; when none can, the request is refused with this. */
export class Unsupported extends Data.TaggedError("Unsupported")<{
  /** Path of the member in the request: `messages[2].content[0]`. */
  readonly path: string
  /** Why, without a full stop: `this host takes no audio`. */
  readonly reason: string
}> {
  override get message() {
    return `${this.path}: ${this.reason}.`
  }
}

/** One attempt that failed. */
export interface FailedAttempt {
  readonly provider: string
  readonly host: string
  readonly model: string
  readonly failure: HostFailed
  /** Milliseconds that its call took; `null`: it was not called. */
  readonly durationMs: number | null
  /**
   * Milliseconds for which the host is left alone since, where it was rate limited, refused our account or asked for
   * it.
   */
  readonly coolsMs?: number
  /** Whether the host speaks the client's own format, so that the client's program knows the host's error messages. */
  readonly isNative?: boolean
}

export type ExhaustedBecause =
  | "request"
  | "rate-limited"
  | "not-found"
  | "cooling-down"
  | "busy"
  | "timeout"
  | "forbidden"
  | "unavailable"

/** Every host of the plan failed, or none could be tried. `outcome` follows the table in docs/guarantees.md#g10. */
export class RoutingExhausted extends Data.TaggedError("RoutingExhausted")<{
  readonly outcome: ExhaustedBecause
  readonly attempts: ReadonlyArray<FailedAttempt>
  readonly retryAfterSeconds?: number
  /** Names of the models that were asked for. */
  readonly models?: ReadonlyArray<string>
  /** Hosts that were not tried because they may not be called now. */
  readonly waiting?: ReadonlyArray<Exclusion>
  /**
   * Whether a repetition fails until the operator has acted: every host refuses our account or cannot be sent the
   * request, and no other one may be called later. Default false.
   */
  readonly needsOperator?: boolean
}> {
  override get message() {
    return exhaustedTexts[this.outcome]
  }
}

const exhaustedTexts: Readonly<Record<ExhaustedBecause, string>> = {
  request: "Provider returned error: it found the request itself at fault.",
  "rate-limited": "Every host of the model is rate limited.",
  "not-found": "No host of the model knows it any more.",
  "cooling-down": "Every host of the model is cooling down after failures.",
  busy: "Every host of the model has as many requests as it may have at once.",
  timeout: "Operation timed out.",
  forbidden: "Provider refused permission.",
  unavailable: "Provider returned error.",
}

/**
 * A host's answer exceeds a limit of the gateway. The client pays for it. No other host is called, because it would
 * produce the same answer. See docs/guarantees.md#g10.
 */
export class AnswerBeyondLimit extends Data.TaggedError("AnswerBeyondLimit")<{
  /** The exceeded limit, without a full stop: `the answer is nested too deep`. */
  readonly limit: string
  /** Display name of the provider. */
  readonly provider: string
  /** What the client pays, in picodollars. */
  readonly cost: Picodollars
}> {
  override get message() {
    return `The host's answer exceeds a limit of the gateway: ${this.limit}. It is charged. Ask for a shorter answer: the same request would get the same one.`
  }
}

/** The gateway cannot take the request now. */
export class Unavailable extends Data.TaggedError("Unavailable")<{
  readonly why: "overloaded" | "draining" | "metering" | "storage" | "backup" | "callers" | "processes"
  readonly retryAfterSeconds: number
  /** Why, in words that anybody may read, without a full stop. */
  readonly because?: string
}> {
  override get message() {
    const text = unavailableTexts[this.why]
    return this.because === undefined ? text : `${text.slice(0, -1)}: ${this.because}.`
  }
}

const unavailableTexts = {
  overloaded: "The gateway is overloaded.",
  draining: "The gateway is shutting down.",
  metering: "The ledger cannot be written, so no paid request starts.",
  storage: "The database cannot be read.",
  backup: "The database could not be copied; the gateway's log says why.",
  callers: "It could not be checked who is calling; the gateway's log says why.",
  processes: "Another process of the gateway did not answer, and the request may run there.",
}

/**
 * A request under this Idempotency-Key came before, and there is no answer of it to send again.
 *
 * - `other-body`: it was another request.
 * - `running`: it is not over yet.
 * - `not-kept`: it was carried out and charged, and its answer was not kept, such as that of a stream.
 * - `unknown`: the gateway crashed while it ran, so a host may have carried it out.
 */
export class RequestRepeated extends Data.TaggedError("RequestRepeated")<{
  readonly because: "other-body" | "running" | "not-kept" | "unknown"
  readonly firstRequestId: string
  /** Of the answer that was not kept. */
  readonly generationId: string | null
}> {
  override get message() {
    return repeatedTexts[this.because]
      .replace("{request}", this.firstRequestId)
      .replace("{generation}", this.generationId ?? "")
  }
}

const repeatedTexts = {
  "other-body": "This Idempotency-Key was used with another body before, by {request}: use a new one.",
  running: "The request {request} with this Idempotency-Key is still running: try again in a moment.",
  "not-kept":
    "The request {request} with this Idempotency-Key was carried out as {generation}, and its answer was not kept.",
  unknown: "The gateway stopped while {request} with this Idempotency-Key was running, so its outcome is unknown.",
}

/** The caller closed the connection before the answer. */
export class CallerGone extends Data.TaggedError("CallerGone") {
  override get message() {
    return "The caller closed the connection."
  }
}

export type Failure =
  | BadRequest
  | KeyMissing
  | KeyNotAccepted
  | PaymentRequired
  | NotPermitted
  | RateLimited
  | NotFound
  | UpgradeRequired
  | NoHostMatches
  | TimedOut
  | BodyTooLarge
  | RoutingExhausted
  | AnswerBeyondLimit
  | Unavailable
  | RequestRepeated
  | CallerGone
