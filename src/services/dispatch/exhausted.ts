/** The one outcome of several failed attempts. Pure. See docs/guarantees.md#g10. */
import type { Endpoint } from "../../catalogue/endpoints.ts"
import type { Exclusion } from "../../domain/failures/Exclusion.ts"
import {
  type ExhaustedBecause,
  type FailedAttempt,
  type HostFailed,
  RoutingExhausted,
} from "../../domain/failures/Failure.ts"

/** `form`: the client's format. `durationMs`: `FailedAttempt.durationMs`. */
export const failedAttempt = (
  { host, protocol }: Endpoint,
  form: string,
  failure: HostFailed,
  durationMs: number | null,
): FailedAttempt => {
  const attempt = { provider: host.providerName, host: host.tag, model: host.model, failure, durationMs }
  return protocol.native?.form === form ? { ...attempt, isNative: true } : attempt
}

interface Circumstances {
  /** The attempts whose reasons decide. Default: all. */
  readonly decisive?: ReadonlyArray<FailedAttempt>
  /** Whether a host was not called because its provider has as many calls as it may have. */
  readonly isBusy?: boolean
  /** Whether rate limits alone keep the hosts that were not tried from being called. */
  readonly isRateLimited?: boolean
  /** What the caller asked for. */
  readonly models?: ReadonlyArray<string>
  /** `RoutingExhausted.waiting`. */
  readonly waiting?: ReadonlyArray<Exclusion>
  /** `RoutingExhausted.needsOperator`. */
  readonly needsOperator?: boolean
}

/**
 * The caller's failure when no host is left. `coolingMs`: the shortest wait among hosts that were not tried because they
 * may not be called now. The first condition that holds decides.
 */
export const exhausted = (
  attempts: ReadonlyArray<FailedAttempt>,
  coolingMs: number | undefined,
  { decisive = attempts, isBusy = false, isRateLimited = false, models, waiting, needsOperator }: Circumstances = {},
): RoutingExhausted => {
  const reasons = decisive.map(({ failure }) => (failure.reason === "cut-short" ? "timeout" : failure.reason))
  const all = (reason: string) => reasons.length > 0 && reasons.every((each) => each === reason)
  const outcome = (): ExhaustedBecause => {
    if (reasons.includes("request")) return "request"
    if (all("rate-limited")) return "rate-limited"
    if (all("not-found")) return "not-found"
    if (reasons.length === 0) return isBusy ? "busy" : isRateLimited ? "rate-limited" : "cooling-down"
    if (all("timeout")) return "timeout"
    return reasons.at(-1) === "forbidden" ? "forbidden" : "unavailable"
  }
  const waits = attempts.flatMap(({ failure, coolsMs }) => {
    // A host that refuses our account is no reason to wait while another one may be called at once.
    if (failure.reason === "account" && !all("account")) return failure.retryAfterSeconds ?? []
    return coolsMs === undefined ? (failure.retryAfterSeconds ?? []) : Math.ceil(coolsMs / 1000)
  })
  if (coolingMs !== undefined) waits.push(Math.ceil(coolingMs / 1000))
  return new RoutingExhausted({
    outcome: outcome(),
    attempts,
    ...(models === undefined ? {} : { models }),
    ...(waiting === undefined ? {} : { waiting }),
    ...(needsOperator === true && attempts.length > 0 ? { needsOperator } : {}),
    ...(waits.length === 0 ? {} : { retryAfterSeconds: Math.min(Math.max(Math.min(...waits), 1), 300) }),
  })
}
