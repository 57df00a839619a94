/** What failed attempts add up to, and what they are held against their hosts. G10. */
import type * as Context from "effect/Context"
import { type ExhaustedBecause, type FailedAttempt, HostFailed, RoutingExhausted } from "../domain/Failure.ts"
import type { Host } from "../domain/Host.ts"
import type { HostStats } from "./HostStats.ts"

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

/** The failure without our own key in it: a host that refuses a request may quote what it was sent. G27. */
export const withoutSecret = (failure: HostFailed, secret: string | undefined): HostFailed => {
  const { reason, status, detail, code, retryAfterSeconds, cause } = failure
  const told = `${detail ?? ""} ${code ?? ""}`
  if (secret === undefined || !told.includes(secret)) return failure
  const hide = (text: string) => text.replaceAll(secret, "[secret]")
  return new HostFailed({
    reason,
    ...(status === undefined ? {} : { status }),
    ...(detail === undefined ? {} : { detail: hide(detail) }),
    ...(code === undefined ? {} : { code: hide(code) }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    cause,
  })
}

/** Remembers a failure against its host: its health, and how long it is left alone. */
export const blame = (
  stats: Context.Tag.Service<HostStats>,
  host: Host,
  failure: HostFailed,
  cooldowns: Cooldowns,
): void => {
  if (unhealthy(failure)) stats.record(host, { ok: false })
  const cooldown = cooldownFor(failure, cooldowns)
  if (cooldown > 0) stats.coolDown(host, cooldown)
}

/** Whether a failure speaks against the host's health: a caller's bad request does not, nor does a rate limit. */
const unhealthy = ({ reason }: HostFailed): boolean =>
  reason !== "request" && reason !== "rate-limited" && reason !== "forbidden"

/**
 * The one outcome of a route that is used up; `coolingMs` is the shortest wait among hosts that were not tried for it.
 * The first line that fits. Settled points.
 */
export const exhausted = (attempts: ReadonlyArray<FailedAttempt>, coolingMs: number | undefined): RoutingExhausted => {
  const reasons = attempts.map(({ failure }) => failure.reason)
  const all = (reason: string) => reasons.length > 0 && reasons.every((each) => each === reason)
  const outcome = (): ExhaustedBecause => {
    if (reasons.includes("request")) return "request"
    if (all("rate-limited")) return "rate-limited"
    if (all("not-found")) return "not-found"
    if (reasons.length === 0) return "cooling-down"
    if (all("timeout")) return "timeout"
    return reasons.at(-1) === "forbidden" ? "forbidden" : "unavailable"
  }
  const waits = attempts.flatMap(({ failure }) => failure.retryAfterSeconds ?? [])
  if (coolingMs !== undefined) waits.push(Math.ceil(coolingMs / 1000))
  return new RoutingExhausted({
    outcome: outcome(),
    attempts,
    ...(waits.length === 0 ? {} : { retryAfterSeconds: Math.min(Math.max(Math.min(...waits), 1), 300) }),
  })
}
