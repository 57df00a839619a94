/** Ends an attempt: settles or releases its reservation, records the outcome for its host, and writes the log. */
import * as Effect from "effect/Effect"
import type { AnswerOutcome } from "../../domain/failures/AnswerOutcome.ts"
import { HostFailed, type Unavailable } from "../../domain/failures/Failure.ts"
import type { HostReason } from "../../domain/failures/HostReason.ts"
import { type QuietEnd, verdictOn } from "../../domain/failures/Verdict.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { PromptDensity } from "../../domain/hosts/PromptDensity.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import { parseUsage, type Usage } from "../../domain/price/Usage.ts"
import type { ChatUsage } from "../../domain/request/chat.ts"
import { bytesOfTokens, tokensIn, tokensWritten } from "../../domain/request/estimate.ts"
import { hiddenTokens } from "../../domain/request/hiddenTokens.ts"
import { allMedia, type MediaTokens } from "../../domain/request/MediaTokens.ts"
import { isUnaryName } from "../../domain/request/operations.ts"
import type { AnswerContext } from "../../formats/Protocol.ts"
import { PluginFault } from "../../plugin/checks/PluginFault.ts"
import { type Facts, logEvent } from "../../process/log/logEvent.ts"
import { Throttle } from "../../process/log/Throttle.ts"
import { connectionFault } from "../calls/callFault.ts"
import { type HostMeasurements, type HostOutcomes, HostStats } from "../hosts/HostStats.ts"
import { isOfKey, type KeyFailures, ProviderKeys } from "../hosts/ProviderKeys.ts"
import { makeGuardedMeter } from "../money/GuardedMeter.ts"
import type { Meter, Settlements } from "../money/Meter.ts"
import type { Settlement } from "../money/Reservation.ts"
import { type EffectRunner, makeEffectRunner } from "../request/EffectRunner.ts"
import { monotonic, type RequestContext } from "../request/RequestContext.ts"
import type { Timers } from "../request/Timers.ts"
import type { Attempt } from "./Attempt.ts"

/** An answer, or the part of it that came. */
export interface Delivered {
  readonly outcome: AnswerOutcome
  /** The failure of a host that broke off. */
  readonly failure?: HostFailed | undefined
  /** As the host sent it, unchecked. */
  readonly usage: ChatUsage | undefined
  /** `Answer.outputBytes` and `Answer.outputMedia`. */
  readonly outputBytes: number
  readonly outputMedia?: MediaTokens | undefined
  /** Whether the model's reasoning came as text, so that none of it is hidden. */
  readonly showsReasoning?: boolean | undefined
  /** Whether it has encrypted reasoning that one of several accounts alone can read. */
  readonly isBound?: boolean | undefined
  /** `Answer.isUnfinished`. */
  readonly isUnfinished?: boolean | undefined
  readonly finishReason: string
  /** `Answer.servedTier`. */
  readonly servedTier?: string | undefined
  /** Of an answer to a request with tools: `Sample.areToolCallsSound`. */
  readonly areToolCallsSound?: boolean | undefined
  /** Whether the caller waits for the booking. */
  readonly isAwaited: boolean
}

/** What a call asked for that another one was faster than. */
export type LostRequest = Pick<AnswerContext["request"], "stream" | "maxTokens">

const wordIn = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined)

/** Ends attempts, each exactly once. */
export class EndAttempt {
  private readonly meter: Settlements
  private readonly stats: HostMeasurements & HostOutcomes
  private readonly keys: KeyFailures
  private readonly runner: EffectRunner
  private readonly throttle: Throttle
  private readonly density = new PromptDensity()

  constructor(
    meter: Settlements,
    stats: HostMeasurements & HostOutcomes,
    keys: KeyFailures,
    runner: EffectRunner,
    throttle: Throttle,
  ) {
    this.meter = meter
    this.stats = stats
    this.keys = keys
    this.runner = runner
    this.throttle = throttle
  }

  /** The host answered, in whole or in part: it is charged as its outcome says. */
  delivered(attempt: Attempt, delivered: Delivered): Effect.Effect<Charge, Unavailable> {
    const { outcome, failure, usage, outputBytes, outputMedia, isUnfinished } = delivered
    const { reservation, permit } = attempt
    if (failure !== undefined) this.blame(attempt, failure)
    else if (verdictOn(quietEnd(outcome)).breaker === "success") {
      permit.succeeded()
      if (attempt.key !== undefined) this.keys.succeeded(attempt.key)
    }
    attempt.close(outcome, failure)
    this.tellResent(attempt)
    const durationMs = attempt.elapsedMs()
    const latencyMs = attempt.beganMs + (attempt.latencyMs ?? durationMs)
    const counted = parseUsage(usage, reservation.bounds.cachesAnHour)
    const shown = tokensIn(outputBytes) + (outputMedia === undefined ? 0 : allMedia(outputMedia))
    const mostHidden = counted !== undefined || delivered.showsReasoning === true ? 0 : reservation.mostHidden
    const hidden = this.hiddenBy(attempt, shown, mostHidden)
    // Where output may be hidden, an estimate of what was shown would make the host look slower than it is.
    const completionTokens = counted?.completionTokens ?? (mostHidden > 0 ? 0 : shown)
    this.measure(attempt, delivered, counted, durationMs, completionTokens)
    const { bounds } = reservation
    // Tokens that the host adds by itself are not part of the text.
    if (counted !== undefined && bounds.media === undefined && bounds.unseen !== true)
      this.density.counted(attempt.host, attempt.context.key.id, counted.promptTokens, bounds.textBytes)
    return this.meter.settle(reservation, {
      outcome,
      usage: counted,
      promptTextTokens: counted === undefined ? this.promptTextTokens(attempt) : undefined,
      outputBytes,
      outputMedia,
      hiddenTokens: hidden,
      isUnfinished,
      finishReason: delivered.finishReason,
      servedTier: delivered.servedTier,
      servedSpeed: wordIn(usage?.speed),
      servedRegion: wordIn(usage?.inference_geo),
      latencyMs,
      isAwaited: delivered.isAwaited,
      isOwnFault: failure === undefined,
    })
  }

  /** It failed before anything reached the caller: costs nothing, and the next host may be tried. */
  failed(attempt: Attempt, failure: HostFailed): void {
    this.blame(attempt, failure)
    attempt.close("failed", failure)
    this.tellResent(attempt)
    this.unpaid(attempt)
  }

  /**
   * Charges the key nothing. What the host counted for the answered parts of a batch is recorded as a cost of the
   * gateway.
   */
  private unpaid({ context, reservation, batch }: Attempt): void {
    const usage = batch?.counted
    if (usage === undefined) this.meter.release(reservation)
    else this.runner.run(this.meter.settle(reservation, { ...unanswered("lost", context), usage }), () => {})
  }

  /**
   * The request was ended before the host sent anything. A caller who left pays for the prompt; a caller who was cut
   * off by the gateway pays nothing. A deadline counts against a host that had all of the time.
   */
  abandoned(attempt: Attempt): Effect.Effect<unknown, Unavailable> {
    const { context, reservation, batch } = attempt
    const failure = hadAllTheTime(attempt) ? tooSlow : undefined
    if (failure !== undefined) this.blame(attempt, failure)
    attempt.close("abandoned", failure)
    if (context.lifetime.ending?._tag !== "CallerGone") {
      this.unpaid(attempt)
      return Effect.void
    }
    if (batch !== undefined)
      return this.meter.settle(reservation, { ...unanswered("caller-gone", context), usage: batch.sent })
    // Nothing of a whole answer is seen before all of it is there.
    const isWholeAnswer = !isUnaryName(context.operation) && !reservation.streamed
    const mostHidden = isWholeAnswer ? Number.POSITIVE_INFINITY : reservation.mostHidden
    const hidden = this.hiddenBy(attempt, 0, mostHidden)
    const promptTextTokens = this.promptTextTokens(attempt)
    return this.meter.settle(reservation, {
      ...unanswered("caller-gone", context),
      promptTextTokens,
      hiddenTokens: hidden,
    })
  }

  /**
   * A call beside another one that was faster, or whose caller pays for that one: it is free to the key, and the ledger
   * keeps what the host asks for it. `isSlow`: its time so far counts as its time to the first event, or to the end of
   * a whole answer.
   */
  lost(attempt: Attempt, { stream, maxTokens }: LostRequest, isSlow: boolean): Effect.Effect<unknown, Unavailable> {
    const { context, host, reservation } = attempt
    const elapsedMs = attempt.elapsedMs()
    // Without it the times of a host would look shorter the more of its slow answers are cut off.
    if (isSlow) this.stats.record(host, stream ? { latencyMs: elapsedMs } : { durationMs: elapsedMs })
    attempt.close("lost")
    // A host writes a whole answer before it sends anything.
    const written = stream ? 0 : tokensWritten(this.stats.snapshot(host).throughput, elapsedMs)
    const outputBytes = bytesOfTokens(Math.min(written, maxTokens ?? written, host.maxCompletionTokens))
    const promptTextTokens = this.promptTextTokens(attempt)
    return this.meter.settle(reservation, { ...unanswered("lost", context), promptTextTokens, outputBytes })
  }

  /** It was prepared, but its host is not called. */
  unused(attempt: Attempt): void {
    attempt.close(undefined)
    this.meter.release(attempt.reservation)
  }

  /** What the outcome says of the host's speed and of the conversation. */
  private measure(
    { context, host, key, latencyMs }: Attempt,
    { outcome, failure, isUnfinished, isBound, areToolCallsSound }: Delivered,
    counted: Usage | undefined,
    durationMs: number,
    completionTokens: number,
  ): void {
    if (outcome === "finished" && isUnfinished !== true) {
      this.stats.succeeded(host, { latencyMs, durationMs, completionTokens, areToolCallsSound })
      context.conversation?.succeeded(host, counted, key?.used.id, isBound)
    } else if (failure === undefined && latencyMs !== undefined) {
      // Ended by the caller or by a limit of ours: the host had answered in time, and has neither failed nor finished.
      this.stats.record(host, { latencyMs })
    }
  }

  /** Tokens that were probably made and not shown: at most `most`, by the time and the speed of the host. */
  private hiddenBy(attempt: Attempt, shown: number, most: number): number {
    if (most === 0) return 0
    return hiddenTokens(attempt.elapsedMs(), this.stats.snapshot(attempt.host).throughput, shown, most)
  }

  /** An estimate of the prompt's text tokens from the host's recent counts; `undefined`: there are none. */
  private promptTextTokens({ context, host, reservation }: Attempt): number | undefined {
    return this.density.tokensIn(host, context.key.id, reservation.bounds.textBytes)
  }

  /** Records a failure against the host, or against the key that it refused. */
  private blame({ context, host, permit, key }: Attempt, failure: HostFailed): void {
    if (failure.reason !== "defect") this.stats.providers?.failed(host, failure)
    // A refused key says nothing of its host.
    if (key === undefined || !this.keys.failed(key, failure)) {
      this.stats.failed(host, failure)
      permit.failed(failure)
      context.conversation?.failed(host, failure)
    }
    // It ends the request, and is logged there.
    if (failure.reason === "defect") return
    if (key !== undefined && isOfKey(failure)) context.triedKeys = [...context.triedKeys, key.used.id]
    this.tellFailed(context, host, failure, key?.key.label)
  }

  /**
   * Logs, for debugging alone, that a request was sent twice because the host had closed a kept connection. That is
   * usual, and no retry.
   */
  private tellResent({ context, host, resends }: Attempt): void {
    if (resends === 0) return
    const about = { ...context.logIds, host: host.tag, model: host.model }
    this.log(logEvent("request_resent", about))
  }

  /**
   * Logs a failure, also of an attempt that was not begun. What does not go away by itself would be logged with every
   * request, so it is logged once a minute. `key`: of several of the provider.
   */
  tellFailed(context: RequestContext, host: Host, failure: HostFailed, key?: string): void {
    const { event, hook, facts } = failureLine(context, host, failure, key)
    const cause = event === "plugin_fault" ? undefined : failure.cause
    const isRepeated = event === "plugin_fault" || event === "gateway_short" || event === "answer_over_limit"
    const unlogged = isRepeated ? this.throttle.pass(`${event} ${host.tag} ${hook}`) : 0
    if (unlogged === undefined) return
    this.log(logEvent(event, unlogged === 0 ? facts : { ...facts, unlogged }, cause))
  }

  private log(line: Effect.Effect<void>): void {
    this.runner.run(line, () => {})
  }
}

export const makeEndAttempt: Effect.Effect<EndAttempt, never, Meter | Timers | HostStats | ProviderKeys> = Effect.gen(
  function* () {
    const runner = makeEffectRunner(yield* Effect.runtime<never>())
    const throttle = new Throttle(monotonic(yield* Effect.clock))
    return new EndAttempt(yield* makeGuardedMeter, yield* HostStats, yield* ProviderKeys, runner, throttle)
  },
)

/** What is booked for an attempt whose host has sent nothing so far. */
const unanswered = (outcome: AnswerOutcome, context: RequestContext): Settlement => ({
  outcome,
  usage: undefined,
  outputBytes: 0,
  finishReason: "",
  latencyMs: context.elapsedMs(),
  isAwaited: false,
})

const tooSlow = new HostFailed({ reason: "timeout" })

/**
 * Whether the deadline came while the host had sent nothing, although it had the whole time of the request: nine tenths
 * of it, since admission takes some. A host that had less was called with what others had left of the time.
 */
const hadAllTheTime = (attempt: Attempt): boolean => {
  const { ending, allowedMs } = attempt.context.lifetime
  return ending?._tag === "TimedOut" && attempt.elapsedMs() >= 0.9 * allowedMs
}

/** An end without a failure of the host, in the words of `domain/failures/Verdict.ts`. */
const quietEnd = (outcome: AnswerOutcome): QuietEnd =>
  outcome === "finished" || outcome === "caller-gone" || outcome === "lost" ? outcome : "cut"

type FailureEvent =
  | "attempt_failed"
  | "plugin_fault"
  | "request_refused_by_host"
  | "answer_over_limit"
  | "gateway_short"
  | "request_unsendable"
  | "host_cut_short"

/**
 * The line for a failed attempt. A fault of a plugin is an error, since it does not go away by itself. Other single
 * failures are for debugging: what a host's failures come to is logged by its breaker. The line has nothing of the
 * prompt or the answer, nor the host's own message (`detail`).
 */
const failureLine = (
  { logIds, key: caller }: Pick<RequestContext, "logIds" | "key">,
  host: Host,
  failure: HostFailed,
  key: string | undefined,
): { readonly event: FailureEvent; readonly hook: string; readonly facts: Facts } => {
  const { reason, status, code, cause } = failure
  const attempt = { ...logIds, host: host.tag, model: host.model, key }
  if (cause instanceof PluginFault) {
    const { plugin, member, hook, message: problem, thrownAt } = cause
    return { event: "plugin_fault", hook, facts: { ...attempt, plugin, member, hook, problem, thrownAt } }
  }
  // The hash names the key in listings; a name is the operator's own word for it.
  const asker = { caller: caller.id, callerName: caller.name === "" ? undefined : caller.name }
  const facts = {
    ...attempt,
    reason,
    fault: connectionFault(failure),
    status,
    code,
    ...(reason === "request" ? asker : {}),
  }
  return { event: ownEvents[reason] ?? "attempt_failed", hook: "", facts }
}

/** What failures are called that are not the host's. */
const ownEvents: Partial<Record<HostReason, FailureEvent>> = {
  request: "request_refused_by_host",
  limit: "answer_over_limit",
  shortage: "gateway_short",
  unsendable: "request_unsendable",
  "cut-short": "host_cut_short",
}
