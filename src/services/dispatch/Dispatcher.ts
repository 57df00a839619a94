/**
 * Carries a plan out: tries the hosts in order, falls back before the first event, and passes the outcome to the meter.
 * Independent of providers' and clients' protocols. See docs/guarantees.md#g10 and #g11.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import type { Limits } from "../../catalogue/ResolvedConfig.ts"
import type { Unavailable } from "../../domain/failures/Failure.ts"
import { HedgeBudget } from "../../domain/hosts/HedgeBudget.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { RetryBudget } from "../../domain/hosts/RetryBudget.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import type { AnyRequest } from "../../domain/request/operations.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import type { Plan } from "../../domain/routing/Plan.ts"
import { makeUpstreamClient } from "../calls/upstreamCall.ts"
import { HostHealth } from "../hosts/HostHealth.ts"
import { HostStats } from "../hosts/HostStats.ts"
import { ProviderKeys } from "../hosts/ProviderKeys.ts"
import { RequestLimits } from "../keys/RequestLimits.ts"
import { Meter } from "../money/Meter.ts"
import type { RequestContext } from "../request/RequestContext.ts"
import type { EndFailure } from "../request/ServedRequest.ts"
import { makeStepRunner, type StepRunner, type Steps, Wait } from "../request/Steps.ts"
import { type TickTimers, Timers } from "../request/Timers.ts"
import type { AnswerRead, AnswerReader } from "./AnswerReader.ts"
import { AnswerStream, type StreamServices } from "./AnswerStream.ts"
import { wholeAnswerTimer } from "./attemptTimer.ts"
import { type Delivered, makeEndAttempt } from "./EndAttempt.ts"
import { type HostAnswer, streamAnswer } from "./HostAnswer.ts"
import { ReadingOn } from "./ReadingOn.ts"
import type { OpenOutput } from "./StreamOutput.ts"
import type { WriterFor } from "./StreamWriter.ts"
import { type CallHost, type DispatchFailure, type TryServices, tryHosts } from "./tryHosts.ts"
import { UnaryAnswer } from "./UnaryAnswer.ts"

/** A whole answer, charged and in the ledger. */
export interface Completed {
  readonly host: Host
  /** The body in the caller's form; "" where that is no text. */
  readonly text: string
  readonly bytes?: Uint8Array<ArrayBuffer> | undefined
  /** Default: JSON. */
  readonly contentType?: string | undefined
  readonly charge: Charge
  /** Members of the request that were not sent to the host. */
  readonly dropped: ReadonlyArray<string>
}

export interface StreamHead {
  readonly body: ReadableStream<Uint8Array>
  /** The host that answers; `undefined` when the head goes out before any host has answered. */
  readonly answering: { readonly host: Host; readonly dropped: ReadonlyArray<string> } | undefined
}

/** Neither method can be interrupted, since money is held. The request's lifetime ends them. */
export class Dispatcher extends Context.Tag("headgate/Dispatcher")<
  Dispatcher,
  {
    /** Succeeds when the answer is charged and booked. */
    readonly complete: (
      context: RequestContext,
      request: AnyRequest,
      plan: Plan,
      reader: AnswerReader,
    ) => Steps<Completed, DispatchFailure>
    /**
     * Succeeds with the first event, or after `commitAfterMs` without one. Then the stream goes on by itself, and calls
     * `onClosed` once everything of it is booked, with the failure that it ended with.
     */
    readonly stream: (
      context: RequestContext,
      request: ChatRequest,
      plan: Plan,
      writerFor: WriterFor,
      output: OpenOutput,
      onClosed: (failure?: EndFailure) => void,
    ) => Steps<StreamHead, DispatchFailure>
  }
>() {
  static readonly layer = Layer.scoped(
    Dispatcher,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const registry = yield* ProviderRegistry
  const { limits, routing } = registry.current()
  const retries = new RetryBudget(limits.retries)
  const hedges = new HedgeBudget(routing.hedge.maxCostShare)
  yield* registry.onReplaced(() => {
    const { limits, routing } = registry.current()
    retries.share = limits.retries
    hedges.share = routing.hedge.maxCostShare
  })
  const runner = makeStepRunner(yield* Effect.runtime<never>())
  const carrier = new PlanCarrier({
    registry,
    meter: yield* Meter,
    limits: yield* RequestLimits,
    health: yield* HostHealth,
    keys: yield* ProviderKeys,
    stats: yield* HostStats,
    timers: yield* Timers,
    runner,
    client: yield* makeUpstreamClient,
    log: (line) => runner.effect(line, () => {}),
    endAttempt: yield* makeEndAttempt,
    retries,
    hedges,
  })
  return Dispatcher.of({
    complete: (context, request, plan, reader) => carrier.complete(context, request, plan, reader),
    stream: (context, request, plan, writerFor, output, onClosed) =>
      carrier.stream(context, request, plan, writerFor, output, onClosed),
  })
})

/** Carries out the plans of all requests. */
class PlanCarrier implements StreamServices {
  readonly timers: TickTimers
  readonly runner: StepRunner
  readonly readingOn = new ReadingOn()
  private readonly services: TryServices

  constructor(services: TryServices) {
    this.services = services
    this.timers = services.timers
    this.runner = services.runner
  }

  *complete(
    context: RequestContext,
    request: AnyRequest,
    plan: Plan,
    reader: AnswerReader,
  ): Steps<Completed, DispatchFailure> {
    const { services } = this
    const { limits } = services.registry.current()
    const call: CallHost<AnswerRead> = (begun, turn) =>
      new UnaryAnswer(services.client, begun, limits.bodyBytes, reader, wholeAnswerTimer(services, limits, begun, turn))
    const { attempt, answer } = yield* tryHosts(services, context, request, plan, call)
    const charge = yield* services.endAttempt.delivered(attempt, answer.delivered)
    this.charged(charge)
    const written = answer.write(charge)
    return {
      host: attempt.host,
      text: typeof written === "string" ? written : "",
      bytes: typeof written === "string" ? undefined : written,
      contentType: answer.contentType,
      charge,
      dropped: attempt.dropped,
    }
  }

  *stream(
    context: RequestContext,
    request: ChatRequest,
    plan: Plan,
    writerFor: WriterFor,
    open: OpenOutput,
    onClosed: (failure?: EndFailure) => void,
  ): Steps<StreamHead, DispatchFailure> {
    // As they are when it begins: a reload does not change a stream that runs.
    const { limits } = this.services.registry.current()
    const opening = this.open(context, request, plan, writerFor, limits)
    return yield* new StreamOpening(this, opening, limits, context, writerFor, open, onClosed)
  }

  /** The first host that has an event which a caller would see. */
  private *open(
    context: RequestContext,
    request: ChatRequest,
    plan: Plan,
    writerFor: WriterFor,
    limits: Limits,
  ): Steps<HostAnswer, DispatchFailure> {
    const { services } = this
    const call: CallHost<HostAnswer> = (begun, turn) =>
      streamAnswer(services, limits, begun, turn, writerFor(begun.attempt.host))
    const { answer } = yield* tryHosts(services, context, request, plan, call)
    return answer
  }

  settle(answer: HostAnswer, delivered: Delivered, onExit: (exit: Exit.Exit<Charge, Unavailable>) => void): void {
    const { runner, endAttempt } = this.services
    runner.effect(endAttempt.delivered(answer.attempt, delivered), (exit) => {
      if (Exit.isSuccess(exit)) this.charged(exit.value)
      // A failure was logged by the ledger's writer.
      else if (Option.isNone(Cause.failureOption(exit.cause)))
        this.logDefect(answer.attempt.context.requestId, Cause.squash(exit.cause))
      onExit(exit)
    })
  }

  logDefect(requestId: string, cause: unknown): void {
    this.services.log(Effect.logError("a defect in a stream", { requestId }, Cause.die(cause)))
  }

  /** What hedging may cost is a share of what answers cost. */
  private charged({ cost }: Charge): void {
    const { registry, hedges, timers } = this.services
    if (registry.current().routing.hedge.enabled !== false) hedges.charged(timers.now(), Number(cost.total))
  }
}

/**
 * A stream up to its head: that goes out with the first event of a host, or after `commitAfterMs` without one, before any host has
 * answered. It can be run once.
 */
class StreamOpening extends Wait<StreamHead, DispatchFailure> {
  private readonly carrier: PlanCarrier
  private readonly opening: Steps<HostAnswer, DispatchFailure>
  private readonly limits: Limits
  private readonly context: RequestContext
  private readonly writerFor: WriterFor
  private readonly open: OpenOutput
  private readonly onClosed: (failure?: EndFailure) => void
  /** Set when the head went out before any host had answered. */
  private announced: AnswerStream | undefined

  constructor(
    carrier: PlanCarrier,
    opening: Steps<HostAnswer, DispatchFailure>,
    limits: Limits,
    context: RequestContext,
    writerFor: WriterFor,
    open: OpenOutput,
    onClosed: (failure?: EndFailure) => void,
  ) {
    super()
    this.carrier = carrier
    this.opening = opening
    this.limits = limits
    this.context = context
    this.writerFor = writerFor
    this.open = open
    this.onClosed = onClosed
  }

  override register(resume: (exit: Exit.Exit<StreamHead, DispatchFailure>) => void): void {
    const { timers, runner } = this.carrier
    const timer = timers.set(this.limits.commitAfterMs, () => resume(Exit.succeed(this.announce())))
    runner.steps(this.opening, (exit) => {
      timer.clear()
      if (this.announced !== undefined) this.announced.opened(exit)
      else resume(Exit.isSuccess(exit) ? Exit.succeed(this.begin(exit)) : Exit.failCause(exit.cause))
    })
  }

  private announce(): StreamHead {
    this.announced = this.makeStream()
    this.announced.announce()
    return { body: this.announced.body, answering: undefined }
  }

  private begin(exit: Exit.Success<HostAnswer, DispatchFailure>): StreamHead {
    const { host, dropped } = exit.value.attempt
    const started = this.makeStream()
    started.opened(exit)
    return { body: started.body, answering: { host, dropped } }
  }

  private makeStream(): AnswerStream {
    const { limits, context, writerFor, open, onClosed } = this
    return new AnswerStream(this.carrier, { limits, context, writerFor, open, onClosed })
  }
}
