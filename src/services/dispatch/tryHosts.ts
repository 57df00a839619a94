/**
 * Tries the hosts of a plan one after another until one has an answer, and says what it adds up to when none has. See
 * docs/guarantees.md#g10, #g13 and #g14.
 */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Endpoint } from "../../catalogue/endpoints.ts"
import type { ConfigInForce, Endpoints } from "../../catalogue/ProviderRegistry.ts"
import {
  BadRequest,
  type FailedAttempt,
  HostFailed,
  type PaymentRequired,
  type RateLimited,
  type RoutingExhausted,
  Unavailable,
  Unsupported,
} from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import type { RetryBudget } from "../../domain/hosts/RetryBudget.ts"
import type { AnyRequest } from "../../domain/request/operations.ts"
import type { Plan, Unaffordable } from "../../domain/routing/Plan.ts"
import { RefusedModels } from "../../domain/routing/RefusedModels.ts"
import { withoutSecrets } from "../calls/upstreamCall.ts"
import type { HostAvailability, HostPermits } from "../hosts/HostHealth.ts"
import type { HostMeasurements } from "../hosts/HostStats.ts"
import { isOfKey } from "../hosts/ProviderKeys.ts"
import type { Ending, RequestContext } from "../request/RequestContext.ts"
import { type Steps, valueOrFailure } from "../request/Steps.ts"
import type { TickTimers } from "../request/Timers.ts"
import type { Attempt } from "./Attempt.ts"
import { withAffordable } from "./affordable.ts"
import type { Turn } from "./attemptTimer.ts"
import { type BeginServices, type Begun, beginAttempt, type Skipped } from "./beginAttempt.ts"
import { type EndAttempt, failureLog } from "./EndAttempt.ts"
import { exhausted } from "./exhausted.ts"
import { type Hedge, type HedgeServices, hedgeFor, mayHedge, Race } from "./Hedge.ts"

export type CallHost<A> = (begun: Begun, turn: Turn) => Effect.Effect<A | HostFailed>

/** What the loop over hosts uses of the services: each is the part that is asked, so that a test gives no more. */
export interface TryServices extends BeginServices, HedgeServices {
  readonly health: HostAvailability & HostPermits
  readonly registry: ConfigInForce & Endpoints
  readonly stats: HostMeasurements
  readonly timers: TickTimers
  readonly retries: RetryBudget
  readonly endAttempt: EndAttempt
  readonly log: (effect: Effect.Effect<void>) => void
}

export type DispatchFailure = RoutingExhausted | PaymentRequired | RateLimited | BadRequest | Ending

export interface Tried<A> {
  readonly attempt: Attempt
  readonly answer: A
}

/** With less time than this before the deadline no further host is called, milliseconds. */
const leastTimeMs = 500

/** Tries the hosts in the order of the plan. */
export const tryHosts = <A extends object>(
  services: TryServices,
  context: RequestContext,
  request: AnyRequest,
  plan: Plan,
  call: CallHost<A>,
): Steps<Tried<A>, DispatchFailure> => new Tries(services, context, request, plan, call).run()

/** The loop over the hosts of one request, with what became of them so far. */
class Tries<A extends object> implements Turn {
  private readonly services: TryServices
  private readonly context: RequestContext
  private readonly request: AnyRequest
  private readonly plan: Plan
  private readonly call: CallHost<A>
  private readonly skipped: Array<Skipped> = []
  private unaffordable: Array<Unaffordable> | undefined
  private readonly refused = new RefusedModels()
  private canHedge: boolean
  /** The host that was called beside another one, once at most for a request. */
  private hedged: Host | undefined
  /** What ends the request at once: a defect or a shortage of ours, which another host would not mend. */
  private fatal: Exit.Exit<never, Unavailable> | undefined

  constructor(services: TryServices, context: RequestContext, request: AnyRequest, plan: Plan, call: CallHost<A>) {
    this.services = services
    this.context = context
    this.request = request
    this.plan = plan
    this.call = call
    this.canHedge = mayHedge(services.registry.current().routing.hedge, request)
  }

  *run(): Steps<Tried<A>, DispatchFailure> {
    const { registry, timers, retries, endAttempt, log } = this.services
    const { lifetime } = this.context
    const { attempts } = this.plan
    retries.request(timers.now())
    /** Whether the next call may be made. The first one may; each further one is taken from the retry budget. */
    let mayCall = true
    let isBudgetSpent = false
    for (let at = 0; at < attempts.length; at++) {
      if (lifetime.ending !== undefined || this.fatal !== undefined) break
      const host = attempts[at]
      const endpoint = host === undefined ? undefined : registry.endpoint(host)
      if (host === undefined || endpoint === undefined || this.isDone(host)) continue
      if (!mayCall) {
        if (!this.hasTime()) break
        if (!retries.take(timers.now())) {
          isBudgetSpent = true
          break
        }
        mayCall = true
      }
      const begun = yield* this.begin(endpoint)
      if (begun instanceof HostFailed) {
        if (lifetime.ending !== undefined) break
        const failure = withoutSecrets(begun, endpoint)
        this.failed(host, failure)
        log(failureLog(this.context, host, failure))
        continue
      }
      if (!("attempt" in begun)) {
        this.skip(host, begun)
        continue
      }
      const { attempt } = begun
      // A caller who left before this host was called does not pay for it.
      if (lifetime.ending !== undefined) {
        endAttempt.unused(attempt)
        break
      }
      mayCall = false
      const hedge = this.nextHedge(host)
      if (hedge !== undefined) {
        const won = yield* this.raced(begun, hedge)
        if (won !== undefined) return won
        continue
      }
      const answer = yield* this.call(begun, this)
      if (!(answer instanceof HostFailed)) return { attempt, answer }
      if (lifetime.ending !== undefined) {
        yield* valueOrFailure(endAttempt.abandoned(attempt))
        break
      }
      this.callFailed(begun, answer)
      if (this.hasAnotherKey(endpoint, attempt, answer)) {
        // The same host once more, which is no retry: it has not been asked with that key.
        at -= 1
        mayCall = true
      }
    }
    if (lifetime.ending !== undefined) return yield* Exit.fail(lifetime.ending)
    if (this.fatal !== undefined) return yield* this.fatal
    const outcome = outcomeOf(this.context.failed, this.skipped, this.plan, isBudgetSpent)
    const unaffordable = [...(this.unaffordable ?? []), ...(this.plan.unaffordable ?? [])]
    return yield* Exit.fail(withAffordable(outcome, this.request, unaffordable, registry))
  }

  private skip(host: Host, why: Skipped): void {
    this.skipped.push(why)
    if (!("_tag" in why) || why._tag !== "PaymentRequired") return
    this.unaffordable ??= []
    this.unaffordable.push({ host, adjustment: this.plan.adjustments?.get(host) })
  }

  hasNext({ attempt: { host } }: Begun): boolean {
    const { attempts } = this.plan
    return attempts.some((other, at) => at > attempts.indexOf(host) && !this.isDone(other))
  }

  private begin(endpoint: Endpoint): ReturnType<typeof beginAttempt> {
    return beginAttempt(this.services, this.context, this.request, this.plan, endpoint)
  }

  /** The second call beside one to `host`, for one host of a request at most. */
  private nextHedge(host: Host): Hedge | undefined {
    if (!this.canHedge) return undefined
    const hedge = hedgeFor(host, this.plan, this.refused, this.request, this.context, this.services.stats)
    this.canHedge = hedge === undefined
    return hedge
  }

  /** A call with a second one beside it; `undefined`: none has an answer, and both are ended. */
  private *raced(first: Begun, hedge: Hedge): Steps<Tried<A> | undefined> {
    const { services, context } = this
    const call = (begun: Begun) => this.call(begun, this)
    const { endAttempt } = services
    const second = () => this.beginSecond(hedge)
    const failed = (begun: Begun, failure: HostFailed) => this.callFailed(begun, failure)
    const result = yield* new Race(services, context, first, hedge, { call, second, failed })
    if (result.won !== undefined) {
      const { won, answer, lost } = result
      if (lost !== undefined) context.lost = { host: lost.attempt.host, wasFirst: lost === first }
      return { attempt: won.attempt, answer }
    }
    for (const [at, { attempt, answerContext }] of result.left.entries()) {
      const { request } = answerContext
      yield* valueOrFailure(at === 0 ? endAttempt.abandoned(attempt) : endAttempt.lost(attempt, request, false))
    }
    return undefined
  }

  /** Prepares the call beside another one; `undefined`: there is none after all. */
  private *beginSecond({ host }: Hedge): Steps<Begun | undefined> {
    const { registry, health, retries, timers } = this.services
    const endpoint = registry.endpoint(host)
    if (endpoint === undefined || !this.hasTime()) return undefined
    // A second call that would be refused takes nothing from the retry budget.
    const isEmergency = this.plan.probes.includes(host)
    if (health.refusal(endpoint, isEmergency, this.context.key.id) !== undefined) return undefined
    if (!retries.take(timers.now())) return undefined
    const begun = yield* this.begin(endpoint)
    // One that cannot be called now may still have its turn.
    if (!("attempt" in begun)) return undefined
    this.hedged = host
    return begun
  }

  private callFailed({ attempt, endpoint }: Begun, answer: HostFailed): void {
    const failure = withoutSecrets(attempt.stopped ?? answer, endpoint, attempt.signature)
    this.services.endAttempt.failed(attempt, failure)
    this.failed(attempt.host, failure)
  }

  private failed(host: Host, failure: HostFailed): void {
    const { health, keys } = this.services
    const isTold = failure.reason === "rate-limited" || failure.retryAfterSeconds !== undefined
    const coolsMs = isTold ? (health.admissible(host) ?? keys.refusal(host))?.retryAfterMs : undefined
    const attempt = { provider: host.providerName, host: host.tag, model: host.model, failure }
    this.context.failed.push(coolsMs === undefined ? attempt : { ...attempt, coolsMs })
    this.refused.add(host, failure)
    if (failure.reason === "defect") this.fatal = Exit.die(failure.cause)
    else if (failure.reason === "shortage") this.fatal = short
  }

  /** Whether the host has had its turn, or a host of its model found the request at fault. */
  private isDone(host: Host): boolean {
    return host === this.hedged || this.refused.has(host)
  }

  /** Whether there is time for a further call before the deadline. */
  private hasTime(): boolean {
    return this.context.lifetime.deadline - this.services.timers.now() >= leastTimeMs
  }

  /** Whether the call failed for its key, and the host can be called with another one. */
  private hasAnotherKey({ keys }: Endpoint, { stopped }: Attempt, failure: HostFailed): boolean {
    if (keys === undefined || stopped !== undefined || !isOfKey(failure) || !this.hasTime()) return false
    return !("because" in this.services.keys.choose(keys, this.context))
  }
}

const short = Exit.fail(new Unavailable({ why: "overloaded", retryAfterSeconds: 1 }))

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
  return exhausted(failed, coolingMs, { isBusy, isRateLimited, models: plan.requested })
}
