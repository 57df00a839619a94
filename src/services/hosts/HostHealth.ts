/**
 * Decides whether a host may be called now, while `HostStats` only observes. A host that refused our account, does
 * not know the model or is rate limited cools down for a while. A host that keeps failing is behind an open circuit
 * breaker. A provider takes no more calls at once than it is configured for. In memory, per process. See
 * docs/guarantees.md#g10, #g12, #g16 and #g35.
 *
 * A failure that the request itself may have provoked (`Verdict.isDoubtful`) puts a host out in two cases only:
 * - A second caller met one within 30 seconds, and the host fails for callers who make at least half of its calls.
 * - No other caller called the host in that time. Then one call of another caller passes as a probe.
 * So no single caller can keep a host from the others. Keys with the same owner are one caller.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import type { Endpoint } from "../../catalogue/endpoints.ts"
import { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import type { OpenBreaker } from "../../domain/alerts/conditions.ts"
import type { HostFailed } from "../../domain/failures/Failure.ts"
import { type Cooldowns, cooldownMs, verdictOn } from "../../domain/failures/Verdict.ts"
import { Breaker, type BreakerRules } from "../../domain/hosts/Breaker.ts"
import { endpointKey, type Host } from "../../domain/hosts/Host.ts"
import { randomSequence, seedFrom } from "../../domain/structures/randomSequence.ts"
import { lasted } from "../../process/log/LoggedState.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { connectionFault } from "../calls/callFault.ts"
import { makeEffectRunner } from "../request/EffectRunner.ts"
import { monotonic } from "../request/RequestContext.ts"
import {
  type Busy,
  type EndpointOut,
  type EndpointState,
  type HealthFigures,
  type Inadmissible,
  type ModelProbes,
  mayProbe,
  mayTryForItself,
  newEndpoint,
  type Out,
  outOf,
  outsIn,
  type ProviderCalls,
} from "./endpointHealth.ts"
import { Permit, type PermitOutcomes } from "./Permit.ts"
import { RestLog } from "./RestLog.ts"

interface HealthRules {
  readonly cooldown: Cooldowns
  readonly breaker: BreakerRules
}

/** What a permit needs of the host that is called. */
export type Called = Pick<Endpoint, "host" | "maxConcurrent">

/** What a plan asks of each host. Has no side effects. */
export interface HostAvailability {
  /**
   * Why the host may not be called now; `undefined`: it may. Ignores the concurrency limit of its provider, since a
   * slot may be free by the time of the call. `caller`: who would call (`callerOf`); absent: anybody.
   */
  readonly admissible: (host: Host, caller?: string) => Out | undefined
  /**
   * Of hosts that may all not be called, the one to call nevertheless, so that a model that is out is noticed when it
   * is back; `undefined`: none now. That is one call at a time and per second for each model, at the host that may be
   * called first, and never at one that asked us to wait.
   */
  readonly emergencyProbe: (hosts: ReadonlyArray<Host>) => Host | undefined
}

/** What a call asks. */
export interface HostPermits {
  /** Why `acquire` would refuse; `undefined`: it would not. */
  readonly refusal: (called: Called, isEmergency: boolean, caller: string) => Inadmissible | undefined
  /**
   * The permit for one call, taken just before it: the probe of a half-open breaker, a slot at the provider.
   * `isEmergency`: the host is the `emergencyProbe` of its plan. `caller`: who calls (`callerOf`).
   */
  readonly acquire: (called: Called, isEmergency: boolean, caller: string) => Permit | Inadmissible
}

export interface HealthReport {
  /** Absent: not known. */
  readonly figures?: () => HealthFigures
  /** Absent: not known. */
  readonly outs?: () => ReadonlyArray<EndpointOut>
}

/** What those ask who watch the gateway. */
export interface HostStates {
  /** The hosts whose circuit breakers are open or half-open. */
  readonly openBreakers: () => ReadonlyArray<OpenBreaker>
}

export class HostHealth extends Context.Tag("headgate/HostHealth")<
  HostHealth,
  HostAvailability & HostPermits & HostStates & HealthReport
>() {
  static readonly layer: Layer.Layer<HostHealth, never, ProviderRegistry> = Layer.scoped(
    HostHealth,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const registry = yield* ProviderRegistry
  const nowMs = monotonic(yield* Effect.clock)
  // One number of Effect's random service seeds the jitter, so that a test can fix it.
  const random = randomSequence(seedFrom(yield* Random.next))
  const runner = makeEffectRunner(yield* Effect.runtime<never>())
  const log = (line: Effect.Effect<void>) => runner.run(line, () => {})
  const keyOf = (provider: string): string => {
    for (const [host, { keySource }] of registry.current().endpoints) if (host.provider === provider) return keySource
    return "none"
  }
  const health = new Health(registry.current().limits, nowMs, random, log, new RestLog(log, keyOf))
  yield* registry.onReplaced(() => {
    const { limits, endpoints } = registry.current()
    health.obey(limits)
    health.keepOnly([...endpoints.keys()])
  })
  return HostHealth.of(health)
})

/** Milliseconds for which a failure or a call of another caller counts. */
const witnessMs = 30_000

const emergencyEveryMs = 1000
const busy: Busy = { because: "concurrency", retryAfterMs: 1000 }

class Health implements PermitOutcomes {
  /** Milliseconds of a clock that never steps back. */
  readonly nowMs: () => number
  private rules: HealthRules
  private readonly random: () => number
  private readonly states = new Map<string, EndpointState>()
  /** Looked up by the host object, which saves building a key for each request. */
  private readonly byHost = new WeakMap<Host, EndpointState>()
  private readonly calls = new Map<string, ProviderCalls>()
  private readonly probes = new Map<string, ModelProbes>()
  /** The endpoints that cool down or whose breaker is not closed. Usually there is none, and a check is one comparison. */
  private readonly impaired = new Set<EndpointState>()

  private readonly log: (line: Effect.Effect<void>) => void
  private readonly rests: RestLog

  constructor(
    rules: HealthRules,
    nowMs: () => number,
    random: () => number,
    log: (line: Effect.Effect<void>) => void,
    rests: RestLog,
  ) {
    this.rules = rules
    this.nowMs = nowMs
    this.random = random
    this.log = log
    this.rests = rests
  }

  /** Other rules, under which what is known of the hosts stays. */
  obey(rules: HealthRules): void {
    this.rules = rules
    for (const { breaker } of this.states.values()) breaker.rules = rules.breaker
  }

  /** Forgets all other hosts. One that comes back later begins anew. */
  keepOnly(hosts: ReadonlyArray<Host>): void {
    const kept = new Set(hosts.map(endpointKey))
    for (const [key, state] of this.states) {
      if (kept.has(key)) continue
      state.isRemoved = true
      this.states.delete(key)
      this.impaired.delete(state)
    }
    for (const host of hosts) if (this.byHost.get(host)?.isRemoved === true) this.byHost.delete(host)
    const providers = new Set(hosts.map(({ provider }) => provider))
    const models = new Set<string>(hosts.map(({ model }) => model))
    // Calls that run are counted to their end.
    for (const [provider, { running }] of this.calls)
      if (!providers.has(provider) && running === 0) this.calls.delete(provider)
    for (const [model, { isRunning }] of this.probes) if (!models.has(model) && !isRunning) this.probes.delete(model)
  }

  readonly figures = (): HealthFigures => {
    const now = this.nowMs()
    return {
      endpoints: Array.from(this.states.values(), (state) => ({
        ...state.names,
        isUp: outOf(state, now) === undefined,
        isBreakerOpen: !state.breaker.isClosed,
      })),
      calls: Array.from(this.calls, ([provider, { running }]) => [provider, running] as const),
    }
  }

  readonly admissible = (host: Host, caller?: string): Out | undefined => {
    if (this.impaired.size === 0) return undefined
    const state = this.byHost.get(host) ?? this.states.get(endpointKey(host))
    if (state === undefined || !this.impaired.has(state) || mayTryForItself(state, caller)) return undefined
    return outOf(state, this.nowMs())
  }

  readonly openBreakers = (): ReadonlyArray<OpenBreaker> => {
    const now = this.nowMs()
    return [...this.impaired]
      .filter(({ breaker }) => !breaker.isClosed)
      .map(({ names, openReason, openedAt }) => ({ ...names, reason: openReason, openMs: now - openedAt }))
  }

  readonly outs = (): ReadonlyArray<EndpointOut> => outsIn(this.impaired, this.nowMs())

  readonly emergencyProbe = (hosts: ReadonlyArray<Host>): Host | undefined => {
    const now = this.nowMs()
    let first: { readonly host: Host; readonly waitMs: number } | undefined
    for (const host of hosts) {
      const state = this.stateOf(host)
      const out = outOf(state, now)
      if (out === undefined || !mayProbe(state, now)) continue
      if (first === undefined || out.retryAfterMs < first.waitMs) first = { host, waitMs: out.retryAfterMs }
    }
    return first?.host
  }

  readonly refusal = (
    { host, maxConcurrent }: Called,
    isEmergency: boolean,
    caller: string,
  ): Inadmissible | undefined => {
    const state = this.stateOf(host)
    if (state.calls.running >= maxConcurrent) return busy
    if (this.impaired.size === 0 || !this.impaired.has(state) || mayTryForItself(state, caller)) return undefined
    const now = this.nowMs()
    const out = outOf(state, now)
    return out !== undefined && isEmergency && mayProbe(state, now) ? undefined : out
  }

  readonly acquire = (called: Called, isEmergency: boolean, caller: string): Permit | Inadmissible => {
    const refused = this.refusal(called, isEmergency, caller)
    if (refused !== undefined) return refused
    const state = this.stateOf(called.host)
    const now = this.nowMs()
    state.calls.running += 1
    state.callers.add(caller, now)
    if (!this.impaired.has(state)) return new Permit(this, state, caller, false, false)
    const isOut = outOf(state, now) !== undefined
    if (isOut) {
      state.probes.isRunning = true
      state.probes.nextAt = now + emergencyEveryMs
    }
    const isProbe = !state.breaker.isClosed
    if (isProbe) state.breaker.probe()
    else if (!isOut) this.impaired.delete(state)
    return new Permit(this, state, caller, isProbe, isOut)
  }

  /** A call of this caller failed. `countsForBreaker`: the call began in the breaker's current epoch. */
  failed(state: EndpointState, failure: HostFailed, caller: string, countsForBreaker: boolean): void {
    const verdict = verdictOn(failure)
    if (verdict.cooldown === undefined && verdict.breaker === undefined) return
    const now = this.nowMs()
    state.ended.add(caller, verdict.isDoubtful || verdict.breaker === "failure", now)
    const isOfMost = !verdict.isDoubtful || state.ended.failsForMost(now)
    const isSure = !verdict.isDoubtful || (isOfMost && now - state.witnesses.latestBut(caller) < witnessMs)
    const mayPutOut = isSure || now - state.callers.latestBut(caller) >= witnessMs
    if (verdict.isDoubtful) state.witnesses.add(caller, now)
    if (isSure) state.onlyWitness = undefined
    else if (!this.impaired.has(state)) state.onlyWitness = caller
    else if (isOfMost && state.onlyWitness !== caller) state.onlyWitness = undefined
    const wait = cooldownMs(verdict.cooldown, failure.retryAfterSeconds, this.rules.cooldown)
    if (wait > 0 && mayPutOut) {
      // A call that was in flight does not shorten a cooldown that is running.
      if (now + wait > state.coolsUntil) {
        state.coolsUntil = now + wait
        state.coolingReason = failure.reason
        state.isWaitAsked = failure.retryAfterSeconds !== undefined
      }
      state.hasRested = true
      this.rests.begin(state.of, failure.reason, wait, now)
      this.wentOut(state, now)
    }
    if (!countsForBreaker || verdict.breaker === undefined) return
    const { epoch, isClosed } = state.breaker
    state.breaker.failed(now, mayPutOut)
    if (state.breaker.epoch === epoch) return
    state.openReason = failure.reason
    this.wentOut(state, now)
    if (!isClosed) return
    state.openedAt = now
    const forS = Math.round(state.breaker.waitMs(now) / 1000)
    this.log(
      logEvent("breaker_opened", { ...state.names, reason: failure.reason, fault: connectionFault(failure), forS }),
    )
  }

  /** A probe was answered. */
  recovered(state: EndpointState): void {
    if (!state.breaker.isClosed) {
      const now = this.nowMs()
      state.breaker.close(now)
      const about = { ...state.names, reason: state.openReason, lastedS: lasted((now - state.openedAt) / 1000) }
      this.log(logEvent("breaker_closed", about))
    }
    state.onlyWitness = undefined
    state.coolsUntil = Number.NEGATIVE_INFINITY
    this.impaired.delete(state)
  }

  /**
   * A call of this caller was answered completely. `countsForBreaker`: the call began in the breaker's current epoch.
   */
  succeeded(state: EndpointState, caller: string, countsForBreaker: boolean): void {
    const now = this.nowMs()
    state.ended.add(caller, false, now)
    if (state.hasRested) this.rested(state)
    if (state.breaker.isClosed && countsForBreaker) state.breaker.succeeded(now)
  }

  /** It has answered for the first time since it was left alone. */
  private rested(state: EndpointState): void {
    state.hasRested = false
    this.rests.end(state.of, this.nowMs())
  }

  private wentOut(state: EndpointState, now: number): void {
    if (!state.isRemoved) this.impaired.add(state)
    state.probes.nextAt = Math.max(state.probes.nextAt, now + emergencyEveryMs)
  }

  private stateOf(host: Host): EndpointState {
    const known = this.byHost.get(host)
    if (known !== undefined) return known
    const key = endpointKey(host)
    const state = this.states.get(key) ?? this.newState(host)
    this.states.set(key, state)
    this.byHost.set(host, state)
    return state
  }

  private newState(host: Host): EndpointState {
    return newEndpoint(host, {
      breaker: new Breaker(this.rules.breaker, this.random),
      calls: valueOf(this.calls, host.provider, () => ({ running: 0 })),
      probes: valueOf(this.probes, host.model, () => ({ isRunning: false, nextAt: 0 })),
    })
  }
}

/** The value of a key, made when it is first asked for. */
const valueOf = <V>(map: Map<string, V>, key: string, make: () => V): V => {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}
