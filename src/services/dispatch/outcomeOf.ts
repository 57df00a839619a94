/** What carrying a plan out adds up to when no host has an answer. */
import {
  type AnswerBeyondLimit,
  BadRequest,
  type FailedAttempt,
  type PaymentRequired,
  type RateLimited,
  type RoutingExhausted,
  type Unavailable,
  Unsupported,
} from "../../domain/failures/Failure.ts"
import type { Plan } from "../../domain/routing/Plan.ts"
import type { Ending } from "../request/RequestContext.ts"
import type { Skipped } from "./AttemptStart.ts"
import { exhausted } from "./exhausted.ts"

export type DispatchFailure = RoutingExhausted | AnswerBeyondLimit | PaymentRequired | RateLimited | BadRequest | Ending

/** The failure of a plan that led to no answer. Budget comes first, because the caller can fix that. */
export const outcomeOf = (
  failed: ReadonlyArray<FailedAttempt>,
  skipped: ReadonlyArray<Skipped>,
  plan: Plan,
  isBudgetSpent = false,
): RoutingExhausted | PaymentRequired | RateLimited | Unavailable | BadRequest => {
  // The hosts that the retry budget kept from being tried have no say.
  if (isBudgetSpent) return exhausted(failed, undefined, { decisive: failed.slice(0, 1), models: plan.requested })
  const waiting = [...skipped, ...plan.excluded].flatMap((one) =>
    "retryAfterMs" in one && one.retryAfterMs !== undefined
      ? { retryAfterMs: one.retryAfterMs, isRateLimit: "isRateLimit" in one && one.isRateLimit === true }
      : [],
  )
  const waits = waiting.map(({ retryAfterMs }) => retryAfterMs)
  if (failed.length === 0) {
    for (const one of skipped.toReversed()) {
      if ("_tag" in one && one._tag !== "Unsupported") return one
    }
    const unsupported = skipped.find((one) => one instanceof Unsupported)
    if (unsupported !== undefined && waits.length === 0) {
      const { path, reason } = unsupported
      return new BadRequest({ issues: [{ path, message: reason }] })
    }
  }
  const isBusy = skipped.some((one) => "because" in one && one.because === "concurrency")
  const isRateLimited = waiting.length > 0 && waiting.every(({ isRateLimit }) => isRateLimit)
  const coolingMs = waits.length === 0 ? undefined : Math.min(...waits)
  const needsOperator =
    failed.every(({ failure: { reason } }) => reason === "account" || reason === "unsendable") &&
    waits.length === 0 &&
    skipped.every((one) => one instanceof Unsupported)
  return exhausted(failed, coolingMs, { isBusy, isRateLimited, models: plan.requested, needsOperator })
}
