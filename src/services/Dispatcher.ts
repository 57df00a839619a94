/**
 * The corridor: carries a plan out. Reserves, calls, falls back before the first event, hands the outcome to the
 * meter. Knows no provider's wire form and no caller's. Architecture, services; G5, G10, G11, G14.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type { Charge } from "../domain/Charge.ts"
import type { ChatRequest, ChatResponse } from "../domain/Chat.ts"
import { bytesSaid } from "../domain/Estimate.ts"
import type { FailedAttempt, HostFailed, PaymentRequired, RoutingExhausted, Unavailable } from "../domain/Failure.ts"
import type { Host } from "../domain/Host.ts"
import type { Plan } from "../domain/Plan.ts"
import { parseUsage } from "../domain/Usage.ts"
import { Upstream } from "../plugin/Upstream.ts"
import type { ChunkWriter } from "../wire/hostStream.ts"
import { Alarms } from "./Alarms.ts"
import type { Call, Ending } from "./Call.ts"
import { exhausted } from "./exhausted.ts"
import { type Begun, type HostCallOptions, makeHostCall } from "./HostCall.ts"
import { HostStats } from "./HostStats.ts"
import { type Hold, Meter } from "./Meter.ts"
import { type Endpoint, ProviderRegistry } from "./ProviderRegistry.ts"

/** A whole answer, paid for and in the ledger. */
export interface Completed {
  readonly host: Host
  readonly response: ChatResponse
  readonly charge: Charge
}

/** A stream that has begun: no other host takes over from here. */
export interface Opened extends Begun {
  readonly host: Host
  readonly hold: Hold
}

export type DispatchFailure = RoutingExhausted | PaymentRequired | Ending

/** Neither can be interrupted, since money is held meanwhile: `call.end` ends them. */
export class Dispatcher extends Context.Tag("headgate/Dispatcher")<
  Dispatcher,
  {
    /** Succeeds when the answer is paid for. */
    readonly complete: (call: Call, request: ChatRequest, plan: Plan) => Effect.Effect<Completed, DispatchFailure>
    /** Succeeds with the first event. The rest, and its settlement, are `Relay`'s. `writer` is asked for anew at each attempt. */
    readonly open: (
      call: Call,
      request: ChatRequest,
      plan: Plan,
      writer: (host: Host) => ChunkWriter,
    ) => Effect.Effect<Opened, DispatchFailure>
  }
>() {
  static readonly layer = (options: HostCallOptions) =>
    Layer.effect(
      Dispatcher,
      Effect.gen(function* () {
        const registry = yield* ProviderRegistry
        const meter = yield* Meter
        const stats = yield* HostStats
        const hostCall = makeHostCall(yield* Upstream, yield* Alarms, options)

        /** Tries the hosts of a plan one after another until one has an answer. */
        const walk = Effect.fnUntraced(function* <A>(
          call: Call,
          request: ChatRequest,
          plan: Plan,
          attempt: (endpoint: Endpoint, request: ChatRequest) => Effect.Effect<A, HostFailed>,
        ) {
          const failed: Array<FailedAttempt> = []
          const spoiled = new Set<string>()
          let unaffordable: PaymentRequired | Unavailable | undefined
          let coolingMs: number | undefined
          for (const host of plan.attempts) {
            const endpoint = registry.endpoint(host)
            if (endpoint === undefined || spoiled.has(host.model)) continue
            const wait = stats.coolingFor(host)
            if (wait > 0) {
              coolingMs = Math.min(coolingMs ?? wait, wait)
              continue
            }
            const reserved = yield* Effect.either(meter.reserve(call, request, host))
            if (Either.isLeft(reserved)) {
              unaffordable = reserved.left
              continue
            }
            const hold = reserved.right
            // Who left before this host was asked does not pay for it.
            if (call.ending !== undefined) {
              meter.release(hold)
              break
            }
            const result = yield* Effect.exit(Effect.suspend(() => attempt(endpoint, within(request, hold))))
            if (Exit.isSuccess(result)) return { hold, answer: result.value }
            const wrong = Cause.failureOrCause(result.cause)
            if (Either.isRight(wrong)) {
              meter.release(hold)
              return yield* Effect.failCause(wrong.right)
            }
            if (call.ending !== undefined) {
              yield* abandoned(call, hold)
              break
            }
            meter.release(hold)
            const failure = call.hungUp ?? wrong.left
            failed.push({ provider: host.providerName, host: host.tag, model: host.model, failure })
            stats.failed(host, failure)
            yield* logFailure(call, host, failure)
            // Another host would find the same fault with the request; another model may not.
            if (failure.reason === "request") spoiled.add(host.model)
          }
          if (call.ending !== undefined) return yield* call.ending
          if (failed.length === 0 && unaffordable !== undefined) return yield* unaffordable
          return yield* exhausted(failed, coolingMs)
        })

        /** A caller who left pays for the prompt that the host was given; whom we cut off before any output does not. G5. */
        const abandoned = (call: Call, hold: Hold): Effect.Effect<void, Unavailable> => {
          if (call.ending?._tag !== "CallerGone") return Effect.sync(() => meter.release(hold))
          const latencyMs = call.elapsedMs()
          return meter.settle(hold, {
            outcome: "caller-gone",
            usage: undefined,
            outputBytes: 0,
            finishReason: "",
            latencyMs,
          })
        }

        const complete = Effect.fnUntraced(function* (call: Call, request: ChatRequest, plan: Plan) {
          const { hold, answer } = yield* walk(call, request, plan, (endpoint, bounded) =>
            hostCall.whole(call, endpoint, bounded),
          )
          const durationMs = call.elapsedMs()
          const charge = yield* meter.settle(hold, {
            outcome: "finished",
            usage: parseUsage(answer.usage),
            outputBytes: answer.choices.reduce((sum, { message }) => sum + bytesSaid(message), 0),
            finishReason: answer.choices[0]?.finish_reason ?? "",
            latencyMs: durationMs,
          })
          const { completionTokens } = charge.usage
          stats.succeeded(hold.host, { latencyMs: durationMs, durationMs, completionTokens })
          return { host: hold.host, response: answer, charge }
        })

        const open = Effect.fnUntraced(function* (
          call: Call,
          request: ChatRequest,
          plan: Plan,
          writer: (host: Host) => ChunkWriter,
        ) {
          const { hold, answer } = yield* walk(call, request, plan, (endpoint, bounded) =>
            hostCall.open(call, endpoint, bounded, writer(endpoint.host)),
          )
          return { ...answer, hold, host: hold.host }
        })

        return {
          complete: (...asked) => Effect.uninterruptible(complete(...asked)),
          open: (...asked) => Effect.uninterruptible(open(...asked)),
        }
      }),
    )
}

/** For the operator: what the caller is not told. Nothing that was said or asked is in it. */
export const logFailure = ({ requestId }: Call, host: Host, { reason, status, cause }: HostFailed) =>
  Effect.logWarning(
    "a host failed",
    { requestId, host: host.tag, model: host.model, reason, status },
    Cause.fail(cause ?? reason),
  )

/** The request with the bound on its output that the meter put, where that is tighter than the caller's. */
const within = (request: ChatRequest, { outputBound }: Hold): ChatRequest =>
  outputBound === undefined || outputBound === request.maxTokens ? request : { ...request, maxTokens: outputBound }
