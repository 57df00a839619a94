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
import { makeStepRunner, type Steps, wait } from "../request/Steps.ts"
import { Timers } from "../request/Timers.ts"
import type { AnswerRead, AnswerReader } from "./AnswerReader.ts"
import { AnswerStream, type StreamServices } from "./AnswerStream.ts"
import { wholeAnswerTimer } from "./attemptTimer.ts"
import { makeEndAttempt } from "./EndAttempt.ts"
import { type HostAnswer, streamAnswer } from "./HostAnswer.ts"
import { ReadingOn } from "./ReadingOn.ts"
import type { OpenOutput } from "./StreamOutput.ts"
import type { WriterFor } from "./StreamWriter.ts"
import { type CallHost, type DispatchFailure, tryHosts } from "./tryHosts.ts"
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
    Effect.suspend(() => make()),
  )
}

const make = () =>
  Effect.gen(function* () {
    const registry = yield* ProviderRegistry
    const meter = yield* Meter
    const health = yield* HostHealth
    const keys = yield* ProviderKeys
    const timers = yield* Timers
    const limits = yield* RequestLimits
    const runner = makeStepRunner(yield* Effect.runtime<never>())
    const client = yield* makeUpstreamClient
    const log = (effect: Effect.Effect<void>) => runner.effect(effect, () => {})
    const stats = yield* HostStats
    const endAttempt = yield* makeEndAttempt
    const retries = new RetryBudget(registry.current().limits.retries)
    const hedges = new HedgeBudget(registry.current().routing.hedge.maxCostShare)
    yield* registry.onReplaced(() => {
      const { limits, routing } = registry.current()
      retries.share = limits.retries
      hedges.share = routing.hedge.maxCostShare
    })
    const services = {
      ...{ registry, meter, limits, health, keys, stats, timers, runner, client, log, endAttempt, retries, hedges },
    }
    const charged = ({ cost }: Charge) => {
      if (registry.current().routing.hedge.enabled !== false) hedges.charged(timers.now(), Number(cost.total))
    }

    const logDefect: StreamServices["logDefect"] = (requestId, cause) =>
      log(Effect.logError("a defect in a stream", { requestId }, Cause.die(cause)))
    const streams: StreamServices = {
      timers,
      readingOn: new ReadingOn(),
      settle: (answer, delivered, onExit) =>
        runner.effect(endAttempt.delivered(answer.attempt, delivered), (exit) => {
          if (Exit.isSuccess(exit)) charged(exit.value)
          // A failure was logged by the ledger's writer.
          else if (Option.isNone(Cause.failureOption(exit.cause)))
            logDefect(answer.attempt.context.requestId, Cause.squash(exit.cause))
          onExit(exit)
        }),
      logDefect,
    }

    const complete = function* (
      context: RequestContext,
      request: AnyRequest,
      plan: Plan,
      reader: AnswerReader,
    ): Steps<Completed, DispatchFailure> {
      const { limits } = registry.current()
      const call: CallHost<AnswerRead> = (begun, turn) =>
        new UnaryAnswer(client, begun, limits.bodyBytes, reader, wholeAnswerTimer(services, limits, begun, turn))
      const { attempt, answer } = yield* tryHosts(services, context, request, plan, call)
      const charge = yield* endAttempt.delivered(attempt, answer.delivered)
      charged(charge)
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

    const open = function* (
      context: RequestContext,
      request: ChatRequest,
      plan: Plan,
      writerFor: WriterFor,
      limits: Limits,
    ): Steps<HostAnswer, DispatchFailure> {
      const call: CallHost<HostAnswer> = (begun, turn) =>
        streamAnswer(services, limits, begun, turn, writerFor(begun.attempt.host))
      const { answer } = yield* tryHosts(services, context, request, plan, call)
      return answer
    }

    const stream = function* (
      context: RequestContext,
      request: ChatRequest,
      plan: Plan,
      writerFor: WriterFor,
      output: OpenOutput,
      onClosed: (failure?: EndFailure) => void,
    ): Steps<StreamHead, DispatchFailure> {
      // As they are when it begins: a reload does not change a stream that runs.
      const { limits } = registry.current()
      const makeStream = () => new AnswerStream(streams, { limits, context, writerFor, open: output, onClosed })
      return yield* wait<StreamHead, DispatchFailure>((resume) => {
        let announced: AnswerStream | undefined
        const timer = timers.set(limits.commitAfterMs, () => {
          announced = makeStream()
          announced.announce()
          resume(Exit.succeed({ body: announced.body, answering: undefined }))
        })
        runner.steps(open(context, request, plan, writerFor, limits), (exit) => {
          timer.clear()
          if (announced !== undefined) return announced.opened(exit)
          if (Exit.isFailure(exit)) return resume(Exit.failCause(exit.cause))
          const { attempt } = exit.value
          const started = makeStream()
          started.opened(exit)
          resume(Exit.succeed({ body: started.body, answering: { host: attempt.host, dropped: attempt.dropped } }))
        })
      })
    }

    return { complete, stream }
  })
