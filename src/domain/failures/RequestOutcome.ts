/**
 * How a request ended, in one word of a closed set, for log, metrics, records and traces. What stands before the first underscore says
 * who caused it: the caller, a rule of the operator (`policy`), the host, or the gateway. Pure.
 */
import type { AnswerOutcome } from "./AnswerOutcome.ts"
import type { ExhaustedBecause, Failure, NotPermitted, PaymentRequired, RateLimited, Unavailable } from "./Failure.ts"

const ofExhausted = {
  request: "caller_refused_by_host",
  "rate-limited": "host_rate_limited",
  "not-found": "host_not_found",
  "cooling-down": "host_cooling_down",
  busy: "host_busy",
  timeout: "host_timeout",
  forbidden: "host_forbidden",
  unavailable: "host_unavailable",
} as const satisfies Record<ExhaustedBecause, string>

const ofUnavailable = {
  overloaded: "gateway_overloaded",
  draining: "gateway_stopping",
  metering: "gateway_ledger",
  storage: "gateway_storage",
  backup: "gateway_backup",
  callers: "gateway_callers",
  processes: "gateway_processes",
} as const satisfies Record<Unavailable["why"], string>

const ofPayment = {
  limit_exhausted: "policy_budget_used_up",
  request_exceeds_budget: "policy_budget_too_small",
  in_flight_budget_exhausted: "policy_budget_in_flight",
  unknown_price: "policy_unknown_price",
} as const satisfies Record<PaymentRequired["reason"], string>

const ofLimit = {
  key: "policy_rate_limited",
  "free-models-per-min": "policy_free_models",
  "free-models-per-day": "policy_free_models",
  "key-requests-in-flight": "policy_in_flight",
  "key-bytes-in-flight": "policy_in_flight",
  "sign-in": "policy_rate_limited",
} as const satisfies Record<RateLimited["scope"], string>

/** Of an answer that was sent. One that its host did not finish broke off after its head had gone. */
const ofAnswer = {
  finished: "ok",
  "host-failed": "host_broke_off",
  cut: "policy_cut",
  "caller-gone": "caller_gone",
  lost: "ok",
  crashed: "gateway_crashed",
} as const satisfies Record<AnswerOutcome, string>

const ofTag = {
  KeyMissing: "caller_unauthenticated",
  KeyNotAccepted: "caller_unauthenticated",
  NotPermitted: "policy_not_permitted",
  NotFound: "caller_not_found",
  UpgradeRequired: "caller_upgrade_required",
  NoHostMatches: "policy_no_host",
  BodyTooLarge: "caller_body_too_large",
  AnswerBeyondLimit: "policy_answer_limit",
  RequestRepeated: "caller_repeated",
  CallerGone: "caller_gone",
} as const satisfies Partial<Record<Failure["_tag"], string>>

const ofRule = { address: "policy_address", stop: "policy_stopped" } as const satisfies Record<
  NonNullable<NotPermitted["by"]>,
  string
>

const others = [
  "caller_bad_request",
  "caller_context_length",
  "caller_model_not_found",
  "caller_slow_body",
  "gateway_defect",
] as const

type In<Table> = Table[keyof Table]

export type RequestOutcome =
  | In<typeof ofExhausted>
  | In<typeof ofUnavailable>
  | In<typeof ofPayment>
  | In<typeof ofLimit>
  | In<typeof ofAnswer>
  | In<typeof ofTag>
  | In<typeof ofRule>
  | (typeof others)[number]

export const requestOutcomes: ReadonlyArray<RequestOutcome> = [
  ...new Set(
    [ofAnswer, ofTag, ofRule, ofPayment, ofLimit, ofExhausted, ofUnavailable].flatMap(
      (table): ReadonlyArray<RequestOutcome> => Object.values(table),
    ),
  ).union(new Set(others)),
]

/** Reasons for which the gateway cut an answer: the deadline, a client that takes no bytes, a limit, a stop. */
const isCut = (failure: Failure): boolean =>
  failure._tag === "TimedOut" ||
  failure._tag === "CallerGone" ||
  failure._tag === "RoutingExhausted" ||
  (failure._tag === "Unavailable" && failure.why === "draining")

/**
 * The outcome of a request.
 * `failure`: why it failed; `null`: it did not.
 * `answer`: how the booked answer ended; `undefined`: nothing was booked.
 * `isHostsFault`: whether a host failed before the deadline or used up all of its time. Otherwise, when the deadline
 * ends the request, the gateway cut it.
 */
export const requestOutcome = (
  failure: Failure | "defect" | null,
  answer: AnswerOutcome | undefined,
  isHostsFault = false,
): RequestOutcome => {
  if (failure === null) return answer === undefined ? "ok" : ofAnswer[answer]
  if (failure === "defect") return "gateway_defect"
  if (answer === "cut" && isCut(failure)) return ofAnswer.cut
  switch (failure._tag) {
    case "BadRequest":
      if (failure.kind === "context_length_exceeded") return "caller_context_length"
      return failure.kind === "model_not_found" ? "caller_model_not_found" : "caller_bad_request"
    case "NotPermitted":
      return failure.by === undefined ? ofTag.NotPermitted : ofRule[failure.by]
    case "PaymentRequired":
      return ofPayment[failure.reason]
    case "RateLimited":
      return ofLimit[failure.scope]
    case "TimedOut":
      if (failure.phase === "body") return "caller_slow_body"
      return isHostsFault ? ofExhausted.timeout : ofAnswer.cut
    case "RoutingExhausted":
      return ofExhausted[failure.outcome]
    case "Unavailable":
      return ofUnavailable[failure.why]
    default:
      return ofTag[failure._tag]
  }
}
