/**
 * Carries a plan out: tries the hosts in order, falls back before the first event, and passes the outcome to the meter.
 * Independent of providers' and clients' protocols. See docs/guarantees.md#g10 and #g11.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type { Endpoint } from "../catalogue/endpoints.ts"
import type { Charge } from "../domain/Charge.ts"
import type { ChatResponse } from "../domain/Chat.ts"
import { bytesSaid } from "../domain/Estimate.ts"
import {
  BadRequest,
  type FailedAttempt,
  HostFailed,
  type PaymentRequired,
  type RateLimited,
  type RoutingExhausted,
  type Unavailable,
  Unsupported,
} from "../domain/Failure.ts"
import { isFree } from "../domain/freeModels.ts"
import type { Host } from "../domain/Host.ts"
import type { Plan } from "../domain/Plan.ts"
import type { ChatRequest } from "../domain/Request.ts"
import { Upstream } from "../upstream/Upstream.ts"
import type { AnswerContext, Encoded } from "../wire/Protocol.ts"
import { AnswerStream, type StreamLimits, type StreamServices } from "./AnswerStream.ts"
import { Attempt } from "./Attempt.ts"
import { type Delivered, failureLog, makeEndAttempt } from "./endAttempt.ts"
import { exhausted } from "./exhausted.ts"
import { type HostAnswer, streamAnswer } from "./HostAnswer.ts"
import { HostHealth, type Inadmissible } from "./HostHealth.ts"
import { HostStats } from "./HostStats.ts"
import { type Hold, Meter } from "./Meter.ts"
import { ProviderRegistry } from "./ProviderRegistry.ts"
import type { Ending, Lifetime, RequestContext } from "./RequestContext.ts"
import { RequestLimits } from "./RequestLimits.ts"
import { eitherOf, isFinished, makeStepRunner, type Steps, wait } from "./Steps.ts"
import type { OpenOutput } from "./StreamOutput.ts"
import type { WriterFor } from "./StreamWriter.ts"
import { Timers } from "./Timers.ts"
import { unaryAnswer } from "./unaryAnswer.ts"
import { makeUpstreamClient, withoutSecrets } from "./upstreamCall.ts"

/**
 * Writes a whole answer in the caller's form, without its cost. The cost is added by the returned function, so an answer
 * that cannot be written fails before anything is charged.
 */
export type AnswerWriter = (host: Host, response: ChatResponse) => (charge: Charge) => string

/** A whole answer, charged and in the ledger. */
export interface Completed {
  readonly host: Host
  /** The body in the caller's form. */
  readonly text: string
  readonly charge: Charge
  /** Members of the request that were not sent to the host. */
  readonly dropped: ReadonlyArray<string>
}

export interface StreamHead {
  readonly body: ReadableStream<Uint8Array>
  /** The host that answers; `undefined` when the head goes out before any host has answered. */
  readonly answering: { readonly host: Host; readonly dropped: ReadonlyArray<string> } | undefined
}

export type DispatchFailure = RoutingExhausted | PaymentRequired | RateLimited | BadRequest | Ending

export interface DispatcherOptions extends StreamLimits {
  /** Milliseconds to the first event of a stream; a provider may have its own. */
  readonly ttfbMs: number
  /**
   * Milliseconds after which the head of a stream goes out without an event. Later failures are written into the
   * stream.
   */
  readonly commitAfterMs: number
  /** The largest whole answer of a host, bytes. */
  readonly answerBytes: number
}

/** Neither method can be interrupted, since money is held. The request's lifetime ends them. */
export class Dispatcher extends Context.Tag("headgate/Dispatcher")<
  Dispatcher,
  {
    /** Succeeds when the answer is charged and booked. */
    readonly complete: (
      context: RequestContext,
      request: ChatRequest,
      plan: Plan,
      writer: AnswerWriter,
    ) => Steps<Completed, DispatchFailure>
    /**
     * Succeeds with the first event, or after `commitAfterMs` without one. Then the stream goes on by itself, and calls
     * `onClosed` once everything of it is booked.
     */
    readonly stream: (
      context: RequestContext,
      request: ChatRequest,
      plan: Plan,
      writerFor: WriterFor,
      output: OpenOutput,
      onClosed: () => void,
    ) => Steps<StreamHead, DispatchFailure>
  }
>() {
  static readonly layer = (options: DispatcherOptions) => Layer.effect(Dispatcher, make(options))
}

/** Why a host of the plan was skipped just before its call. */
type Skipped = PaymentRequired | RateLimited | Unavailable | Unsupported | Inadmissible

interface Begun {
  readonly attempt: Attempt
  readonly endpoint: Endpoint
  readonly encoded: Encoded
}

type CallHost<A> = (begun: Begun, context: AnswerContext) => Effect.Effect<A | HostFailed>

const make = (options: DispatcherOptions) =>
  Effect.gen(function* () {
    const registry = yield* ProviderRegistry
    const meter = yield* Meter
    const health = yield* HostHealth
    const timers = yield* Timers
    const limits = yield* RequestLimits
    const runner = makeStepRunner(yield* Effect.runtime<never>())
    const client = makeUpstreamClient(yield* Upstream)
    const log = (effect: Effect.Effect<void>) => runner.effect(effect, () => {})
    const endAttempt = makeEndAttempt(meter, yield* HostStats, health, log)

    /** Runs an effect that a plugin made. It may never end, so it is interrupted when the request is ended. */
    const untilEnded = <A>(lifetime: Lifetime, effect: Effect.Effect<A, HostFailed>): Effect.Effect<A, HostFailed> =>
      isFinished(effect)
        ? effect
        : wait((resume) => {
            const ended = Exit.fail(new HostFailed({ reason: "unreachable" }))
            if (lifetime.ending !== undefined) return resume(ended)
            const giveUp = () => {
              resume(ended)
              interrupt()
            }
            lifetime.onEnd(giveUp)
            const interrupt = runner.effect(effect, (exit) => {
              lifetime.forget(giveUp)
              resume(exit)
            })
          })

    const streams: StreamServices = {
      limits: options,
      timers,
      settle: (answer, delivered, onExit) => runner.effect(endAttempt.delivered(answer.attempt, delivered), onExit),
      logDefect: (requestId, cause) => log(Effect.logError("a defect in a stream", { requestId }, cause)),
    }

    /** Prepares an attempt: gets the permit, encodes the request, counts it where the host is free, takes the hold. */
    const begin = function* (
      context: RequestContext,
      request: ChatRequest,
      endpoint: Endpoint,
    ): Steps<Begun | Skipped | HostFailed> {
      const { host, protocol } = endpoint
      const inadmissible = health.acquire(host)
      if (inadmissible !== undefined) return inadmissible
      const first = protocol.encode(request, host)
      if (Either.isLeft(first)) return first.left
      const ask = {
        bounds: request.bounds,
        maxTokens: request.maxTokens,
        sentBytes: byteLength(first.right.body),
        streamed: request.stream,
      }
      if (isFree(host)) {
        const counting = limits.takeFree(context)
        const counted = yield* eitherOf(counting)
        if (!isFinished(counting)) context.lifetime.look()
        if (Either.isLeft(counted)) return counted.left
      }
      const reserving = meter.reserve({ _tag: "Key", key: context.key }, context, ask, host)
      const reserved = yield* eitherOf(reserving)
      if (!isFinished(reserving)) context.lifetime.look()
      if (Either.isLeft(reserved)) return reserved.left
      const hold = reserved.right
      const encoded = within(request, hold) ? first : protocol.encode(bounded(request, hold), host)
      if (Either.isLeft(encoded)) {
        meter.release(hold)
        return encoded.left
      }
      const signed = yield* eitherOf(untilEnded(context.lifetime, client.signed(endpoint, encoded.right)))
      if (Either.isLeft(signed)) {
        meter.release(hold)
        return signed.left
      }
      const { dropped = [] } = signed.right
      return { attempt: new Attempt(context, host, hold, dropped), endpoint, encoded: signed.right }
    }

    /** Tries the hosts of a plan one after another until one has an answer. */
    const dispatch = function* <A extends object>(
      context: RequestContext,
      request: ChatRequest,
      plan: Plan,
      call: CallHost<A>,
    ): Steps<{ readonly attempt: Attempt; readonly answer: A }, DispatchFailure> {
      const { lifetime } = context
      const failed: Array<FailedAttempt> = []
      const skipped: Array<Skipped> = []
      /** Models of which a host refused the request as invalid. Their other hosts would refuse it too. */
      const rejectedModels = new Set<string>()
      const fail = (host: Host, failure: HostFailed) => {
        failed.push({ provider: host.providerName, host: host.tag, model: host.model, failure })
        if (failure.reason === "request") rejectedModels.add(host.model)
      }
      for (const host of plan.attempts) {
        if (lifetime.ending !== undefined) break
        const endpoint = registry.endpoint(host)
        if (endpoint === undefined || rejectedModels.has(host.model)) continue
        const begun = yield* begin(context, request, endpoint)
        if (begun instanceof HostFailed) {
          if (lifetime.ending !== undefined) break
          const failure = withoutSecrets(begun, endpoint)
          fail(host, failure)
          log(failureLog(context.requestId, host, failure))
          continue
        }
        if (!("attempt" in begun)) {
          skipped.push(begun)
          continue
        }
        const { attempt } = begun
        // A caller who left before this host was called does not pay for it.
        if (lifetime.ending !== undefined) {
          attempt.close()
          meter.release(attempt.hold)
          break
        }
        const answer = yield* call(begun, narrow(request, host))
        if (!(answer instanceof HostFailed)) return { attempt, answer }
        if (lifetime.ending !== undefined) {
          yield* eitherOf(endAttempt.abandoned(attempt))
          break
        }
        const failure = withoutSecrets(attempt.stopped ?? answer, endpoint)
        endAttempt.failed(attempt, failure)
        fail(host, failure)
      }
      if (lifetime.ending !== undefined) return yield* Exit.fail(lifetime.ending)
      return yield* Exit.fail(outcomeOf(failed, skipped, plan))
    }

    const complete = function* (
      context: RequestContext,
      request: ChatRequest,
      plan: Plan,
      writer: AnswerWriter,
    ): Steps<Completed, DispatchFailure> {
      const { attempt, answer } = yield* dispatch(
        context,
        request,
        plan,
        ({ attempt, endpoint, encoded }, answerContext) =>
          unaryAnswer(client, attempt, endpoint, encoded, answerContext, options.answerBytes, (response) => ({
            delivered: deliveredOf(response),
            write: writer(attempt.host, response),
          })),
      )
      const charge = yield* endAttempt.delivered(attempt, answer.delivered)
      return { host: attempt.host, text: answer.write(charge), charge, dropped: attempt.dropped }
    }

    const open = function* (
      context: RequestContext,
      request: ChatRequest,
      plan: Plan,
      writerFor: WriterFor,
    ): Steps<HostAnswer, DispatchFailure> {
      const { answer } = yield* dispatch(context, request, plan, ({ attempt, endpoint, encoded }, answerContext) =>
        streamAnswer(client, timers, options, attempt, endpoint, encoded, answerContext, writerFor(attempt.host)),
      )
      return answer
    }

    const stream = function* (
      context: RequestContext,
      request: ChatRequest,
      plan: Plan,
      writerFor: WriterFor,
      output: OpenOutput,
      onClosed: () => void,
    ): Steps<StreamHead, DispatchFailure> {
      const makeStream = () => new AnswerStream(streams, { context, writerFor, open: output, onClosed })
      return yield* wait<StreamHead, DispatchFailure>((resume) => {
        let announced: AnswerStream | undefined
        const timer = timers.set(options.commitAfterMs, () => {
          announced = makeStream()
          announced.announce()
          resume(Exit.succeed({ body: announced.body, answering: undefined }))
        })
        runner.steps(open(context, request, plan, writerFor), (exit) => {
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

/** A whole answer as `endAttempt` books it. */
const deliveredOf = ({ usage, choices }: ChatResponse): Delivered => ({
  outcome: "finished",
  usage,
  outputBytes: choices.reduce((sum, { message }) => sum + bytesSaid(message), 0),
  finishReason: choices[0]?.finish_reason ?? "",
  isAwaited: true,
})

const byteLength = (body: string | Uint8Array): number =>
  typeof body === "string" ? Buffer.byteLength(body) : body.byteLength

/** Whether the request already has the output bound of the hold. */
const within = (request: ChatRequest, { outputBound }: Hold): boolean =>
  outputBound === undefined || outputBound === request.maxTokens

const bounded = (request: ChatRequest, { outputBound }: Hold): ChatRequest => ({ ...request, maxTokens: outputBound })

/** What reading an answer needs of its request, without the prompt, which a running stream must not keep in memory. */
const narrow = ({ stream, maxTokens, reasoning, bounds }: ChatRequest, host: Host): AnswerContext => ({
  request: { stream, maxTokens, reasoning, bounds },
  host,
})

/** The failure of a plan that led to no answer. Budget comes first, because the caller can fix that. */
const outcomeOf = (
  failed: ReadonlyArray<FailedAttempt>,
  skipped: ReadonlyArray<Skipped>,
  plan: Plan,
): RoutingExhausted | PaymentRequired | RateLimited | Unavailable | BadRequest => {
  const waits = [...skipped, ...plan.excluded].flatMap((one) =>
    "retryAfterMs" in one && one.retryAfterMs !== undefined ? [one.retryAfterMs] : [],
  )
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
  return exhausted(failed, waits.length === 0 ? undefined : Math.min(...waits))
}
