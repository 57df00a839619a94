/**
 * Hedging: a second host is called when the first one has sent no event by the time within which 95 % of its latest
 * answers began. The first event wins; the other call is cancelled, and its cost is the gateway's. The head of a whole answer
 * comes at its end, so a late one is usually a long one: there it is the time within which 99 % were complete. See
 * docs/hedging.md.
 */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { HedgeOptions } from "../../catalogue/ResolvedConfig.ts"
import { HostFailed } from "../../domain/failures/Failure.ts"
import type { HedgeBudget } from "../../domain/hosts/HedgeBudget.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { chargeFor } from "../../domain/money/Charge.ts"
import { mostUsage } from "../../domain/money/reservation.ts"
import { bytesOfTokens, tokensWritten } from "../../domain/request/estimate.ts"
import type { AnyRequest } from "../../domain/request/operations.ts"
import type { Plan } from "../../domain/routing/Plan.ts"
import type { RefusedModels } from "../../domain/routing/RefusedModels.ts"
import type { HostMeasurements } from "../hosts/HostStats.ts"
import { type EffectRunner, Wait } from "../request/EffectRunner.ts"
import type { RequestContext } from "../request/RequestContext.ts"
import type { TickTimers, Timer } from "../request/Timers.ts"
import type { Begun, CallListener } from "./AttemptStart.ts"
import type { EndAttempt } from "./EndAttempt.ts"

/** Whether a request may be hedged. */
export const mayHedge = ({ enabled }: HedgeOptions, { routing }: AnyRequest): boolean => {
  if (enabled === false) return false
  const { hedge } = routing.preferences
  return enabled === "on_request" ? hedge === true : hedge !== false
}

/** A second call that may be made. */
export interface Hedge {
  readonly host: Host
  /** Milliseconds after the start of the first call. */
  readonly delayMs: number
  /** The most that the losing call costs, picodollars. */
  readonly cost: number
}

/**
 * The second call beside one to `first`: the next host of its model. `undefined`: there is none, or nothing is known of the
 * times of the first, or what a losing call would cost.
 */
export const hedgeFor = (
  first: Host,
  plan: Plan,
  refused: RefusedModels,
  { bounds, stream, maxTokens }: AnyRequest,
  context: RequestContext,
  stats: HostMeasurements,
): Hedge | undefined => {
  const at = plan.attempts.indexOf(first)
  const host = plan.attempts.find((other, place) => place > at && other.model === first.model && !refused.has(other))
  if (host === undefined || host.pricing === null || first.pricing === null) return undefined
  const delayMs = stream ? stats.snapshot(first).latencyAt(95) : stats.wholeAnswerAt(first, 99)
  if (delayMs === null) return undefined
  const costOf = (one: Host): number => {
    const written = stream ? 0 : tokensWritten(stats.snapshot(one).throughput, 2 * delayMs)
    const outputTokens = Math.min(written, maxTokens ?? one.maxCompletionTokens, one.maxCompletionTokens)
    const answer = { ...nothingYet, outputBytes: bytesOfTokens(outputTokens) }
    const most = mostUsage({ bounds, maxTokens, sentBytes: bounds.promptBytes }, Number.POSITIVE_INFINITY, one)
    return Number(chargeFor(one.pricing, answer, { bounds, most }, context.admittedAt).upstream.total)
  }
  return { host, delayMs, cost: Math.max(costOf(first), costOf(host)) }
}

/** The answer of a call that is cancelled before its first event. */
const nothingYet = { outcome: "lost", usage: undefined, outputBytes: 0, finishReason: "" } as const

export interface HedgeServices {
  readonly timers: TickTimers
  readonly runner: EffectRunner
  readonly endAttempt: EndAttempt
  readonly hedges: HedgeBudget
}

/** What the race needs of whoever tries the hosts. */
export interface Contest<A> {
  readonly call: (begun: Begun, listener: CallListener<A>) => void
  /** Prepares the second call; `undefined`: there is none after all. */
  readonly second: (hedge: Hedge) => Effect.Effect<Begun | undefined>
  /** A call failed by itself, while the request goes on. */
  readonly callFailed: (begun: Begun, failure: HostFailed) => void
}

/** `lost`: the slower call, where it was still running. `left`: calls that were stopped because the request was ended. */
export type RaceResult<A> =
  | { readonly won: Begun; readonly answer: A; readonly first: Begun; readonly lost: Begun | undefined }
  | { readonly won: undefined; readonly left: ReadonlyArray<Begun> }

const wasSlower = new HostFailed({ reason: "ended" })

/** Calls the first host, and after `hedge.delayMs` without an event the second one beside it. It can be run once. */
export class Race<A extends object> extends Wait<RaceResult<A>> implements CallListener<A> {
  private readonly services: HedgeServices
  private readonly context: RequestContext
  private readonly first: Begun
  private readonly hedge: Hedge
  private readonly contest: Contest<A>
  private readonly running = new Set<Begun>()
  private readonly left: Array<Begun> = []
  private winner: Begun | undefined
  /** Whether the second call is being prepared. */
  private isPreparing = false
  /** Taken from the budget, for a call that will be lost. */
  private reserved = 0
  private timer: Timer | undefined
  private resume: ((exit: Exit.Exit<RaceResult<A>>) => void) | undefined

  constructor(services: HedgeServices, context: RequestContext, first: Begun, hedge: Hedge, contest: Contest<A>) {
    super()
    this.services = services
    this.context = context
    this.first = first
    this.hedge = hedge
    this.contest = contest
  }

  override register(resume: (exit: Exit.Exit<RaceResult<A>>) => void): void {
    this.resume = resume
    this.timer = this.services.timers.set(this.hedge.delayMs, () => this.startSecond())
    this.start(this.first)
  }

  private start(begun: Begun): void {
    this.running.add(begun)
    this.context.calling = begun.attempt
    try {
      this.contest.call(begun, this)
    } catch (cause) {
      this.answered(begun, new HostFailed({ reason: "defect", cause }))
    }
  }

  private startSecond(): void {
    const { hedges, timers, runner, endAttempt } = this.services
    if (!hedges.take(timers.now(), this.hedge.cost)) return
    this.reserved = this.hedge.cost
    this.isPreparing = true
    runner.run(this.prepared(), (exit) => {
      this.isPreparing = false
      const begun = Exit.isSuccess(exit) ? exit.value : undefined
      const isWanted = this.winner === undefined && this.context.lifetime.ending === undefined
      if (begun !== undefined && isWanted) return this.start(begun)
      if (begun !== undefined) endAttempt.unused(begun.attempt)
      // After the end of the race it has been given back already.
      this.finishWithout()
    })
  }

  /** A defect ends the preparation too: the race waits for it. */
  private prepared(): Effect.Effect<Begun | undefined> {
    try {
      return this.contest.second(this.hedge)
    } catch (defect) {
      return Exit.die(defect)
    }
  }

  answered(begun: Begun, answer: A | HostFailed): void {
    this.running.delete(begun)
    if (this.winner !== undefined) this.lost(begun)
    else if (!(answer instanceof HostFailed)) this.won(begun, answer)
    else {
      if (this.context.lifetime.ending === undefined) this.contest.callFailed(begun, answer)
      else this.left.push(begun)
      this.finishWithout()
    }
  }

  private won(begun: Begun, answer: A): void {
    this.winner = begun
    const [slower] = this.running
    slower?.attempt.stop(wasSlower)
    this.finish({ won: begun, answer, first: this.first, lost: slower })
  }

  /** Another call was faster. The slower one is stopped, and this is its end. */
  private lost({ attempt, answerContext }: Begun): void {
    this.reserved = 0
    const { runner, endAttempt } = this.services
    runner.run(endAttempt.lost(attempt, answerContext.request, attempt === this.first.attempt), () => {})
  }

  private finishWithout(): void {
    if (this.winner !== undefined || this.running.size > 0 || this.isPreparing) return
    // Of calls that were stopped, the key pays for one at most.
    if (this.left.length > 1) this.reserved = 0
    this.finish({ won: undefined, left: this.left })
  }

  private finish(result: RaceResult<A>): void {
    const { hedges, timers } = this.services
    this.timer?.clear()
    hedges.giveBack(timers.now(), this.reserved)
    this.resume?.(Exit.succeed(result))
  }
}
