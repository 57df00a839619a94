/**
 * Tries the hosts of a plan one after another until one has an answer, and says what it adds up to when none has. See
 * docs/guarantees.md#g10, #g13 and #g14.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Endpoint } from "../../catalogue/endpoints.ts"
import type { ConfigInForce, Endpoints } from "../../catalogue/ProviderRegistry.ts"
import { HostFailed, Unavailable } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import type { RetryBudget } from "../../domain/hosts/RetryBudget.ts"
import { callerOf } from "../../domain/keys/key.ts"
import { type AnyRequest, isUnary } from "../../domain/request/operations.ts"
import type { Plan, Unaffordable } from "../../domain/routing/Plan.ts"
import { isUnreadable, RefusedModels } from "../../domain/routing/RefusedModels.ts"
import { sendsEncrypted } from "../../formats/request/encryptedReasoning.ts"
import { withoutSecrets } from "../calls/withoutSecrets.ts"
import type { HostAvailability, HostPermits } from "../hosts/HostHealth.ts"
import type { HostMeasurements } from "../hosts/HostStats.ts"
import { isOfKey } from "../hosts/ProviderKeys.ts"
import { mapOf } from "../request/EffectRunner.ts"
import type { RequestContext } from "../request/RequestContext.ts"
import { StepByStep } from "../request/StepByStep.ts"
import type { TickTimers } from "../request/Timers.ts"
import type { Attempt } from "./Attempt.ts"
import {
  type Begun,
  type CallListener,
  NotBegun,
  type Skipped,
  type StartServices,
  startAttempt,
} from "./AttemptStart.ts"
import { withAffordable } from "./affordable.ts"
import type { Turn } from "./attemptTimer.ts"
import type { EndAttempt } from "./EndAttempt.ts"
import { failedAttempt } from "./exhausted.ts"
import { type Contest, type Hedge, type HedgeServices, hedgeFor, mayHedge, Race, type RaceResult } from "./Hedge.ts"
import { type DispatchFailure, outcomeOf } from "./outcomeOf.ts"
import type { ReadingOn } from "./ReadingOn.ts"

/** What trying hosts uses of the services: each is the part that is asked, so that a test gives no more. */
export interface FailoverServices extends StartServices, HedgeServices {
  readonly health: HostAvailability & HostPermits
  readonly registry: ConfigInForce & Endpoints
  readonly stats: HostMeasurements
  readonly timers: TickTimers
  readonly retries: RetryBudget
  readonly endAttempt: EndAttempt
  readonly readingOn: ReadingOn
  readonly log: (effect: Effect.Effect<void>) => void
}

/** With less time than this before the deadline no further host is called, milliseconds. */
const leastTimeMs = 500

/**
 * Carries out the plan of one request. `A`: what a call of a host has as its answer. `Result`: what the request gets.
 */
export abstract class Failover<A extends object, Result>
  extends StepByStep<Result, DispatchFailure>
  implements Turn, CallListener<A>, Contest<A>
{
  protected readonly services: FailoverServices
  protected readonly context: RequestContext
  private readonly request: AnyRequest
  private readonly plan: Plan
  /** Place of the next host in the plan. */
  private at = 0
  /** Whether the next call may be made. The first one may; each further one is taken from the retry budget. */
  private mayCall = true
  private isBudgetSpent = false
  private readonly skipped: Array<Skipped> = []
  private unaffordable: Array<Unaffordable> | undefined
  private readonly refused = new RefusedModels()
  /** Hosts that have refused the encrypted reasoning that they were sent. */
  private unreadable: ReadonlyArray<Host> = noHosts
  private canHedge: boolean
  /** The host that was called beside another one, once at most for a request. */
  private hedged: Host | undefined
  /** What ends the request at once: a defect or a shortage of ours, which another host would not mend. */
  private fatal: Cause.Cause<Unavailable> | undefined
  /** Of the loop over hosts that fail at once. */
  private isTrying = false
  private hasNextTry = false

  constructor(services: FailoverServices, context: RequestContext, request: AnyRequest, plan: Plan) {
    super()
    this.services = services
    this.context = context
    this.request = request
    this.plan = plan
    this.canHedge = mayHedge(services.registry.current().routing.hedge, request)
  }

  /** Calls a host. `listener` gets the answer. */
  abstract call(begun: Begun, listener: CallListener<A>): void
  /** Takes the answer of the host that has one. */
  protected abstract accept(answer: A, attempt: Attempt): void

  protected override begin(): void {
    const { retries, timers } = this.services
    retries.request(timers.now())
    this.tryNext()
  }

  /** Goes on with the next host. Where one has failed at once it takes no recursion, however many these are. */
  private tryNext(): void {
    this.hasNextTry = true
    if (this.isTrying) return
    this.isTrying = true
    while (this.hasNextTry) {
      this.hasNextTry = false
      this.tryOne()
    }
    this.isTrying = false
  }

  private tryOne(): void {
    const host = this.plan.attempts[this.at]
    if (host === undefined || this.context.lifetime.ending !== undefined || this.fatal !== undefined) this.giveUp()
    else this.tryHost(host)
  }

  private tryHost(host: Host): void {
    const endpoint = this.services.registry.endpoint(host)
    this.at += 1
    if (endpoint === undefined || this.isDone(host)) this.tryNext()
    else if (this.mayCall || this.takesRetry()) this.after(this.start(endpoint), this.begun)
    else this.giveUp()
  }

  private takesRetry(): boolean {
    const { retries, timers } = this.services
    if (!this.hasTime()) return false
    this.mayCall = retries.take(timers.now())
    this.isBudgetSpent = !this.mayCall
    return this.mayCall
  }

  private start(endpoint: Endpoint): Effect.Effect<Begun | NotBegun> {
    const { services, context, request, plan, unreadable } = this
    return startAttempt(services, context, request, plan, endpoint, unreadable.includes(endpoint.host))
  }

  private begun(begun: Begun | NotBegun): void {
    if (begun instanceof NotBegun) this.notBegun(begun)
    else if (this.context.lifetime.ending === undefined) this.callFirst(begun)
    else {
      // A caller who left before this host was called does not pay for it.
      this.services.endAttempt.unused(begun.attempt)
      this.giveUp()
    }
  }

  private callFirst(begun: Begun): void {
    this.mayCall = false
    const hedge = this.nextHedge(begun.attempt.host)
    if (hedge === undefined) this.callAlone(begun)
    else this.after(new Race(this.services, this.context, begun, hedge, this), this.raced)
  }

  private callAlone(begun: Begun): void {
    const { attempt, endpoint } = begun
    this.context.calling = attempt
    const { readingOn, timers } = this.services
    if (endpoint.billsAfterAbort) attempt.mayReadOn = () => readingOn.hold(attempt, timers)
    try {
      this.call(begun, this)
    } catch (cause) {
      // The attempt has to end all the same, since it has a reservation and a place at the host.
      this.answered(begun, new HostFailed({ reason: "defect", cause }))
    }
  }

  private notBegun({ endpoint, why }: NotBegun): void {
    const { host } = endpoint
    if (!(why instanceof HostFailed)) this.skip(host, why)
    else if (this.context.lifetime.ending === undefined) {
      const failure = withoutSecrets(why, endpoint)
      this.failedAt(endpoint, failure, null)
      this.services.endAttempt.tellFailed(this.context, host, failure)
    }
    this.tryNext()
  }

  private skip(host: Host, why: Skipped): void {
    this.skipped.push(why)
    if (!("_tag" in why) || why._tag !== "PaymentRequired") return
    this.unaffordable ??= []
    this.unaffordable.push({ host, adjustment: this.plan.adjustments?.get(host) })
  }

  /** The host that was called has answered, or has failed. */
  answered(begun: Begun, answer: A | HostFailed): void {
    try {
      if (answer instanceof HostFailed) this.hasFailed(begun, answer)
      else this.accept(answer, begun.attempt)
    } catch (defect) {
      this.failed(Cause.die(defect))
    }
  }

  private hasFailed(begun: Begun, failure: HostFailed): void {
    const { isReadOn, stopped } = begun.attempt
    if (this.context.lifetime.ending !== undefined && (!isReadOn || stopped !== undefined)) this.abandon([begun])
    else this.failOver(begun, failure)
  }

  private failOver(begun: Begun, failure: HostFailed): void {
    this.callFailed(begun, failure)
    this.tryNext()
  }

  /** A call with a second one beside it is over. */
  private raced(result: RaceResult<A>): void {
    if (result.won === undefined) {
      this.abandon(result.left)
      return
    }
    const { won, answer, lost, first } = result
    this.context.calling = won.attempt
    if (lost !== undefined) {
      const { host } = lost.attempt
      this.context.lost = { host, wasFirst: lost === first, durationMs: lost.attempt.elapsedMs() }
    }
    this.accept(answer, won.attempt)
  }

  /** Ends calls that were stopped because the request was ended. The key pays for one of them at most. */
  private abandon(left: ReadonlyArray<Begun>): void {
    const { endAttempt } = this.services
    const ends = left.map(({ attempt, answerContext }, at) =>
      at === 0 ? endAttempt.abandoned(attempt) : endAttempt.lost(attempt, answerContext.request, false),
    )
    // A row that could not be written was logged.
    this.after(Effect.forEach(ends, Effect.merge, { discard: true }), this.tryNext)
  }

  /** No host is tried any more. */
  private giveUp(): void {
    const { ending } = this.context.lifetime
    if (ending !== undefined) this.fail(ending)
    else if (this.fatal !== undefined) this.failed(this.fatal)
    else this.fail(this.outcome())
  }

  /** What the attempts add up to. */
  private outcome(): DispatchFailure {
    const outcome = outcomeOf(this.context.failed, this.skipped, this.plan, this.isBudgetSpent)
    const unaffordable = [...(this.unaffordable ?? []), ...(this.plan.unaffordable ?? [])]
    return withAffordable(outcome, this.request, unaffordable, this.services.registry)
  }

  protected override failed(cause: Cause.Cause<DispatchFailure>): void {
    this.end(Exit.failCause(cause))
  }

  protected override look(): void {
    this.context.lifetime.look()
  }

  hasNext({ attempt: { host } }: Begun): boolean {
    const { attempts } = this.plan
    return attempts.some((other, at) => at > attempts.indexOf(host) && !this.isDone(other))
  }

  /** The second call beside one to `host`, for one host of a request at most. */
  private nextHedge(host: Host): Hedge | undefined {
    if (!this.canHedge) return undefined
    const hedge = hedgeFor(host, this.plan, this.refused, this.request, this.context, this.services.stats)
    this.canHedge = hedge === undefined
    return hedge
  }

  second({ host }: Hedge): Effect.Effect<Begun | undefined> {
    const { registry, health, retries, timers } = this.services
    const endpoint = registry.endpoint(host)
    if (endpoint === undefined || !this.hasTime()) return none
    // A second call that would be refused takes nothing from the retry budget.
    const isEmergency = this.plan.probes.includes(host)
    if (health.refusal(endpoint, isEmergency, callerOf(this.context.key)) !== undefined) return none
    if (!retries.take(timers.now())) return none
    return mapOf(this.start(endpoint), (begun) => {
      // One that cannot be called now may still have its turn.
      if (begun instanceof NotBegun) return undefined
      this.hedged = host
      return begun
    })
  }

  /** Does not throw, since the race of two calls goes on: a defect ends the request where no other call answers it. */
  callFailed(begun: Begun, answer: HostFailed): void {
    const { attempt, endpoint } = begun
    try {
      const failure = withoutSecrets(attempt.stopped ?? answer, endpoint, attempt.signature)
      this.services.endAttempt.failed(attempt, failure)
      this.failedAt(endpoint, failure, attempt.elapsedMs())
      if (this.mayRepeat(begun, failure)) this.repeatAt(attempt.host)
    } catch (defect) {
      this.fatal = Cause.die(defect)
      // It has a reservation and a place at the host. What was given back already stays so.
      this.services.endAttempt.unused(attempt)
    }
  }

  /** `durationMs`: of its call; `null`: it was not called. */
  private failedAt(endpoint: Endpoint, failure: HostFailed, durationMs: number | null): void {
    const { host } = endpoint
    const { health, keys } = this.services
    const { reason, retryAfterSeconds } = failure
    const isTold = reason === "rate-limited" || reason === "account" || retryAfterSeconds !== undefined
    const coolsMs = isTold ? (health.admissible(host) ?? keys.refusal(host))?.retryAfterMs : undefined
    const attempt = failedAttempt(endpoint, this.context.form, failure, durationMs)
    this.context.failed.push(coolsMs === undefined ? attempt : { ...attempt, coolsMs })
    this.refused.add(host, failure)
    if (failure.reason === "defect") this.fatal = Cause.die(failure.cause)
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

  /** Whether the host is called once more before any other one: with another key, or without encrypted reasoning. */
  private mayRepeat({ attempt, planned }: Begun, failure: HostFailed): boolean {
    const { stopped, host, account } = attempt
    if (stopped !== undefined || host === this.hedged || !this.hasTime()) return false
    if (isUnreadable(failure)) return this.leavesOutAt(host, account)
    if (planned.keys === undefined || !isOfKey(failure)) return false
    return !("because" in this.services.keys.choose(planned.keys, this.context))
  }

  /** Whether the host was sent encrypted reasoning, which is left out from now on. */
  private leavesOutAt(host: Host, account: string): boolean {
    const { request } = this
    if (isUnary(request) || this.unreadable.includes(host) || !sendsEncrypted(request, account)) return false
    this.unreadable = [...this.unreadable, host]
    return true
  }

  /** This is no retry: the host has not been asked so. */
  private repeatAt(host: Host): void {
    this.at = this.plan.attempts.indexOf(host)
    this.mayCall = true
  }
}

const short = Cause.fail(new Unavailable({ why: "overloaded", retryAfterSeconds: 1 }))

const none = Exit.succeed(undefined)

const noHosts: ReadonlyArray<Host> = []
