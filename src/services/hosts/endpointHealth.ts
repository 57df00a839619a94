/** What is known of the health of one endpoint, and whether it may be called. Pure. */

import type { HostReason } from "../../domain/failures/HostReason.ts"
import type { Breaker } from "../../domain/hosts/Breaker.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { RecentCallers } from "../../domain/hosts/RecentCallers.ts"
import { LatestKeys } from "../../domain/structures/LatestKeys.ts"

/** Why a host may not be called now. */
export type Inadmissible = Out | Busy

/** It cools down, or its breaker is open. */
export interface Out {
  readonly because: "cooldown" | "breaker"
  /** The failure that caused it: `rate-limited`, `account`, ... */
  readonly reason: HostReason
  /** Milliseconds until it may be called again. */
  readonly retryAfterMs: number
  /** Whether a rate limit is why. */
  readonly isRateLimit: boolean
}

/** Its provider has as many calls as it may have at once. */
export interface Busy {
  readonly because: "concurrency"
  readonly retryAfterMs: number
}

/** Calls of one provider that run now. */
export interface ProviderCalls {
  running: number
}

/** The emergency probes of one model. */
export interface ModelProbes {
  isRunning: boolean
  /** Not before this time. */
  nextAt: number
}

/** One endpoint that was called. */
export interface EndpointFigures {
  readonly model: string
  readonly host: string
  /** Whether it may be called. */
  readonly isUp: boolean
  /** Whether its breaker is open or half-open. */
  readonly isBreakerOpen: boolean
}

export interface HealthFigures {
  readonly endpoints: ReadonlyArray<EndpointFigures>
  /** Calls that run, by provider. */
  readonly calls: ReadonlyArray<readonly [provider: string, running: number]>
}

/** One endpoint. */
export interface EndpointState {
  /** For the log. */
  readonly names: { readonly host: string; readonly model: string }
  readonly of: Host
  /** Whether it was left alone after a failure, and has not answered since. */
  hasRested: boolean
  readonly breaker: Breaker
  readonly calls: ProviderCalls
  readonly probes: ModelProbes
  coolsUntil: number
  coolingReason: HostReason
  /** Whether the host said for how long. */
  isWaitAsked: boolean
  /** The failure that opened the breaker. */
  openReason: HostReason
  /** When the breaker opened, before any probe of it. */
  openedAt: number
  /** The callers (`callerOf`) that began a call, and when. */
  readonly callers: LatestKeys
  /** Whose calls ended recently, and for whom the host is failing. */
  readonly ended: RecentCallers
  /** The callers that met a doubtful failure, and when. */
  readonly witnesses: LatestKeys
  /**
   * The only caller that met the failures for which the endpoint is out; `undefined`: several did, or a failure was
   * not doubtful.
   */
  onlyWitness: string | undefined
  /** Whether a reload has removed it. Calls that run still have it. */
  isRemoved: boolean
}

/** An endpoint that was never called. */
export const newEndpoint = (host: Host, parts: Pick<EndpointState, "breaker" | "calls" | "probes">): EndpointState => ({
  ...parts,
  names: { host: host.tag, model: host.model },
  of: host,
  hasRested: false,
  coolsUntil: Number.NEGATIVE_INFINITY,
  coolingReason: "rate-limited",
  isWaitAsked: false,
  openReason: "unreachable",
  openedAt: Number.NEGATIVE_INFINITY,
  callers: new LatestKeys(),
  ended: new RecentCallers(),
  witnesses: new LatestKeys(),
  onlyWitness: undefined,
  isRemoved: false,
})

/** Why the endpoint may not be called now; `undefined`: it may. */
export const outOf = (
  { breaker, coolsUntil, coolingReason, openReason }: EndpointState,
  now: number,
): Out | undefined => {
  const coolingMs = coolsUntil - now
  const openMs = breaker.waitMs(now)
  if (coolingMs <= 0 && openMs <= 0) return undefined
  return coolingMs >= openMs
    ? {
        because: "cooldown",
        reason: coolingReason,
        retryAfterMs: coolingMs,
        isRateLimit: coolingReason === "rate-limited",
      }
    : { because: "breaker", reason: openReason, retryAfterMs: openMs, isRateLimit: false }
}

/** An endpoint whose breaker is not closed, or that is left alone after a failure. Times are milliseconds. */
export interface EndpointOut {
  readonly host: Host
  /** `null`: its breaker is closed. `isHalfOpen`: its next call is a probe. */
  readonly breaker: { readonly isHalfOpen: boolean; readonly reason: HostReason; readonly openMs: number } | null
  /** `null`: it is not left alone. */
  readonly rest: { readonly reason: HostReason; readonly waitMs: number } | null
}

export const outsIn = (states: Iterable<EndpointState>, now: number): ReadonlyArray<EndpointOut> =>
  Array.from(states, ({ of, breaker, openReason, openedAt, coolsUntil, coolingReason }) => ({
    host: of,
    breaker: breaker.isClosed
      ? null
      : { isHalfOpen: breaker.probing || breaker.waitMs(now) <= 0, reason: openReason, openMs: now - openedAt },
    rest: coolsUntil > now ? { reason: coolingReason, waitMs: coolsUntil - now } : null,
  })).filter(({ breaker, rest }) => breaker !== null || rest !== null)

/**
 * Whether this caller may call an endpoint that is out: only another caller met its failures, and no probe is
 * running.
 */
export const mayTryForItself = ({ onlyWitness, breaker, probes }: EndpointState, caller: string | undefined): boolean =>
  onlyWitness !== undefined && caller !== undefined && caller !== onlyWitness && !breaker.probing && !probes.isRunning

/** Whether an endpoint that is out may be called by an emergency probe. */
export const mayProbe = ({ breaker, probes, coolsUntil, isWaitAsked }: EndpointState, now: number): boolean =>
  !probes.isRunning && now >= probes.nextAt && !breaker.probing && !(isWaitAsked && coolsUntil > now)
