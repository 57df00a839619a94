/**
 * How long a host cools down after a failure, and whether the failure counts against its health. See
 * docs/guarantees.md#g10.
 */
import type { HostFailed } from "./Failure.ts"

/** Seconds. */
export interface Cooldowns {
  readonly accountSeconds: number
  readonly notFoundSeconds: number
  readonly rateLimitSeconds: number
  /** Also the upper bound for a host's own `Retry-After`. */
  readonly maxSeconds: number
}

/** Milliseconds for which a host is not called after this failure; 0 for failures that do not predict the next call. */
export const cooldownFor = (failure: HostFailed, cooldowns: Cooldowns): number => {
  const asked = failure.retryAfterSeconds
  const clamped = (seconds: number) => Math.min(Math.max(seconds, 1), cooldowns.maxSeconds) * 1000
  switch (failure.reason) {
    case "account":
      return cooldowns.accountSeconds * 1000
    case "not-found":
      return cooldowns.notFoundSeconds * 1000
    case "rate-limited":
      return asked === undefined ? cooldowns.rateLimitSeconds * 1000 : clamped(asked)
    case "overloaded":
      return asked === undefined ? 0 : clamped(asked)
    default:
      return 0
  }
}

/** Whether a failure counts against the host's health: a caller's bad request does not, nor does a rate limit. */
export const countsAgainstHealth = ({ reason }: HostFailed): boolean =>
  reason !== "request" && reason !== "rate-limited" && reason !== "forbidden"

/**
 * Whether a failure counts for the circuit breaker. Failures with a cooldown of their own do not, unless the host is in
 * trouble.
 */
export const trips = ({ reason }: HostFailed): boolean =>
  reason === "unreachable" || reason === "timeout" || reason === "overloaded" || reason === "malformed"
