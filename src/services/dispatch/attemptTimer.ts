/**
 * Stops an attempt that takes too long, so that the next host is tried: after the time of the configuration, or else after a time that
 * depends on what is known of the host (`domain/hosts/attemptTime.ts`). An attempt that is cut by the request's deadline is no time-out of the
 * host. See docs/guarantees.md#g10 and #g14.
 */
import type { Limits } from "../../catalogue/ResolvedConfig.ts"
import { HostFailed } from "../../domain/failures/Failure.ts"
import { type Awaited, firstEventMs, leastMs, wholeAnswerMs } from "../../domain/hosts/attemptTime.ts"
import { hostFacts, supports } from "../../domain/hosts/hostFacts.ts"
import type { HostMeasurements } from "../hosts/HostStats.ts"
import type { TickTimers, Timer } from "../request/Timers.ts"
import type { AttemptTimer } from "./Attempt.ts"
import type { Begun } from "./AttemptStart.ts"

export interface TimerServices {
  readonly timers: TickTimers
  readonly stats: HostMeasurements
}

/** What the loop over the hosts says of an attempt. */
export interface Turn {
  /** Whether another host could be called after the one of this attempt. */
  readonly hasNext: (begun: Begun) => boolean
}

const late = new HostFailed({ reason: "timeout" })

/** For an attempt at a whole answer. It begins when this is called, and is stopped once, unless the timer is cleared before. */
export const wholeAnswerTimer = (services: TimerServices, limits: Limits, begun: Begun, turn: Turn): AttemptTimer => {
  const { endpoint, attempt } = begun
  const { attemptMs, attemptMsByModel } = limits
  const bound = attemptMsByModel.get(attempt.host.model) ?? endpoint.attemptMs ?? attemptMs
  return new AttemptTime(services, begun, turn, bound, measuredWholeMs)
}

/** For an attempt at a stream, until its first event. */
export const firstEventTimer = (services: TimerServices, limits: Limits, begun: Begun, turn: Turn): AttemptTimer =>
  new AttemptTime(services, begun, turn, begun.endpoint.ttfbMs ?? limits.ttfbMs, measuredFirstMs)

type Measured = (stats: TimerServices["stats"], begun: Begun, awaited: Awaited) => number

const measuredWholeMs: Measured = (stats, { attempt: { host }, answerContext }, awaited) => {
  const { maxTokens, bounds } = answerContext.request
  // 0 where the operation has no output that takes its time token by token, such as vectors and ranks.
  const outputTokens = Math.min(maxTokens ?? host.maxCompletionTokens, host.maxCompletionTokens) * bounds.choices
  return wholeAnswerMs(awaited, outputTokens, {
    slowSpeed: stats.snapshot(host).throughputAt(99),
    slowDurationMs: stats.wholeAnswerAt(host, 99),
  })
}

const measuredFirstMs: Measured = (stats, { attempt: { host }, answerContext }, awaited) => {
  const { reasoning } = answerContext.request
  const isOff = reasoning.enabled === false || reasoning.effort === "none"
  const facts = hostFacts(host)
  const mayThink = !isOff && (facts.parameters.size === 0 || supports(facts, "reasoning"))
  return firstEventMs(awaited, mayThink, stats.snapshot(host).latencyAt(99))
}

/**
 * Where the configuration has no time, the figures of the host are read only when `leastMs` is over: most answers have come by then. A
 * class, so that each attempt allocates one closure.
 */
class AttemptTime implements AttemptTimer {
  private readonly services: TimerServices
  private readonly begun: Begun
  private readonly turn: Turn
  /** Computes the time once `leastMs` is over; `undefined`: the timer runs for its final time. */
  private measured: Measured | undefined
  private readonly timer: Timer
  /** When it fires, on the clock of `Timers`; `undefined`: the timer is disabled. */
  private dueAt: number | undefined
  private pausedAt: number | undefined

  constructor(services: TimerServices, begun: Begun, turn: Turn, bound: number | undefined, measured: Measured) {
    this.services = services
    this.begun = begun
    this.turn = turn
    this.measured = bound === undefined ? measured : undefined
    this.timer = services.timers.set(bound ?? leastMs, () => this.passed())
    this.dueAt = services.timers.now() + (bound ?? leastMs)
  }

  clear(): void {
    this.dueAt = undefined
    this.timer.clear()
  }

  pause(): void {
    this.pausedAt ??= this.services.timers.now()
    this.timer.clear()
  }

  goOn(): void {
    const { dueAt, pausedAt } = this
    this.pausedAt = undefined
    if (dueAt === undefined || pausedAt === undefined) return
    this.restart(dueAt - pausedAt)
  }

  private restart(ms: number): void {
    this.dueAt = this.services.timers.now() + ms
    this.timer.restart(ms)
  }

  private passed(): void {
    const { services, begun, turn, measured } = this
    const { attempt } = begun
    const { lifetime } = attempt.context
    if (measured !== undefined) {
      this.measured = undefined
      const awaited = { deadlineMs: lifetime.allowedMs, hasNext: turn.hasNext(begun) }
      const ms = measured(services.stats, begun, awaited)
      if (ms > leastMs) {
        this.restart(ms - leastMs)
        return
      }
    }
    if (services.timers.now() < lifetime.deadline) attempt.stop(late)
  }
}
