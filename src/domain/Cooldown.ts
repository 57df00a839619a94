/** How long a host is left alone after a failure, and whether the failure speaks against its health. G10. */
import type { HostFailed } from "./Failure.ts"

/** Seconds. */
export interface Cooldowns {
  readonly accountSeconds: number
  readonly notFoundSeconds: number
  readonly rateLimitSeconds: number
  /** Caps a host's own `Retry-After` too. */
  readonly maxSeconds: number
}

/** Milliseconds that a host is not called again after this failure; 0 for failures that say nothing of the next call. */
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

/** Whether a failure speaks against the host's health: a caller's bad request does not, nor does a rate limit. */
export const speaksAgainst = ({ reason }: HostFailed): boolean =>
  reason !== "request" && reason !== "rate-limited" && reason !== "forbidden"
