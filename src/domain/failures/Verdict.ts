/**
 * What the end of an attempt means for its host. Only what the host did counts against it: a limit, a shortage or a defect
 * of the gateway, a fault of a plugin, an end from outside and a finish that the model chose mean nothing. Whether another
 * host is tried is another question: `services/dispatch/Failover.ts`. Pure. See docs/guarantees.md#g35 and docs/decisions/0041-only-what-the-host-did.md.
 */
import type { HostFailed } from "./Failure.ts"
import type { HostReason } from "./HostReason.ts"

/** The ends of an attempt that are no failure of its host. */
export const quietEnds = [
  /** The host completed its answer, whatever finish the model chose. */
  "finished",
  /** A limit on the answer ended it: the budget, its length, a caller who takes no bytes, the deadline, a stop, a key that was revoked. */
  "cut",
  /** The caller closed the connection. */
  "caller-gone",
  /** Another call of the same request was faster. */
  "lost",
] as const

export type QuietEnd = (typeof quietEnds)[number]

/** Everything that can end an attempt. */
export type AttemptEnd = QuietEnd | HostFailed

export interface Verdict {
  /** What the host's uptime counts it as; `undefined`: nothing. */
  readonly uptime: "success" | "failure" | undefined
  /** What its circuit breaker counts it as. */
  readonly breaker: "success" | "failure" | undefined
  /** The rule for how long the host is not called; `undefined`: it may be called at once. */
  readonly cooldown: "account" | "not-found" | "rate-limit" | "as-asked" | undefined
  /**
   * Whether the request itself may have provoked it. Such a failure keeps the host from other callers only when a second key met one
   * too, or when one key alone calls the host: see `services/hosts/HostHealth.ts`.
   */
  readonly isDoubtful: boolean
  /** Whether a conversation that this host served goes on to prefer it. */
  readonly keepsConversation: boolean
}

const none: Verdict = {
  uptime: undefined,
  breaker: undefined,
  cooldown: undefined,
  isDoubtful: false,
  keepsConversation: true,
}
const success: Verdict = { ...none, uptime: "success", breaker: "success" }
const failure: Verdict = { ...none, uptime: "failure", breaker: "failure", keepsConversation: false }
const doubtful: Verdict = { ...failure, isDoubtful: true }

const ofFailures: Readonly<Record<HostReason, Verdict>> = {
  unreachable: failure,
  timeout: doubtful,
  overloaded: { ...doubtful, cooldown: "as-asked" },
  malformed: doubtful,
  account: { ...failure, breaker: undefined, cooldown: "account" },
  "not-found": { ...doubtful, breaker: undefined, cooldown: "not-found" },
  "rate-limited": { ...none, cooldown: "rate-limit", keepsConversation: false },
  forbidden: { ...none, keepsConversation: false },
  request: none,
  plugin: none,
  limit: none,
  shortage: none,
  defect: none,
  unsendable: none,
  "cut-short": none,
  ended: none,
}

const ofQuietEnds: Readonly<Record<QuietEnd, Verdict>> = {
  finished: success,
  cut: none,
  "caller-gone": none,
  lost: none,
}

/** A host asked us to wait. That is no matter of the request, so it is not doubtful. */
const askedToWait: Verdict = { ...failure, cooldown: "as-asked" }
/**
 * Said of our account, but perhaps because of this request: a router has too little left for one that asks for much (402), a host
 * may not read what the request refers to (403), or its words about the request sound like it.
 */
const perhapsAccount: Verdict = { ...ofFailures.account, isDoubtful: true }
/** A rate limit without its status: words that may be about the request. */
const perhapsRateLimited: Verdict = { ...ofFailures["rate-limited"], isDoubtful: true }

/** `HostFailed.code` of a request that alone is more than a host's limit on tokens per minute allows: a smaller one would pass. */
export const tooLargeForLimit = "request_too_large"

/** The one place that decides what counts against a host, and what for it. */
export const verdictOn = (end: AttemptEnd): Verdict => {
  if (typeof end === "string") return ofQuietEnds[end]
  const { reason, status, code, retryAfterSeconds, isAfterSending } = end
  if (reason === "unreachable" && isAfterSending === true) return doubtful
  if (reason === "overloaded" && retryAfterSeconds !== undefined) return askedToWait
  if (reason === "account" && status !== 401) return perhapsAccount
  if (reason === "rate-limited" && code === tooLargeForLimit) return ofFailures.forbidden
  if (reason === "rate-limited" && status !== 429) return perhapsRateLimited
  return ofFailures[reason]
}

/** Seconds. */
export interface Cooldowns {
  readonly accountSeconds: number
  readonly notFoundSeconds: number
  readonly rateLimitSeconds: number
  /** Also the upper bound for a host's own `Retry-After`. */
  readonly maxSeconds: number
}

/** Milliseconds for which the host is not called, by a verdict's rule; 0: it may be called at once. `asked`: seconds that the host asked for. */
export const cooldownMs = (rule: Verdict["cooldown"], asked: number | undefined, cooldowns: Cooldowns): number => {
  const clamped = (seconds: number) => Math.min(Math.max(seconds, 1), cooldowns.maxSeconds) * 1000
  switch (rule) {
    case "account":
      return cooldowns.accountSeconds * 1000
    case "not-found":
      return cooldowns.notFoundSeconds * 1000
    case "rate-limit":
      return asked === undefined ? cooldowns.rateLimitSeconds * 1000 : clamped(asked)
    case "as-asked":
      return asked === undefined ? 0 : clamped(asked)
    case undefined:
      return 0
  }
}
