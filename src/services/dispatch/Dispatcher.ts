/**
 * Carries a plan out: tries the hosts in order, falls back before the first event, and passes the outcome to the meter.
 * Independent of providers' and clients' protocols. See docs/guarantees.md#g10 and #g11.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import { HedgeBudget } from "../../domain/hosts/HedgeBudget.ts"
import { RetryBudget } from "../../domain/hosts/RetryBudget.ts"
import type { AnyRequest } from "../../domain/request/operations.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import type { Plan } from "../../domain/routing/Plan.ts"
import { makeUpstreamClient } from "../calls/UpstreamClient.ts"
import { HostHealth } from "../hosts/HostHealth.ts"
import { HostStats } from "../hosts/HostStats.ts"
import { ProviderKeys } from "../hosts/ProviderKeys.ts"
import { RequestLimits } from "../keys/RequestLimits.ts"
import { makeGuardedMeter } from "../money/GuardedMeter.ts"
import { makeEffectRunner } from "../request/EffectRunner.ts"
import type { RequestContext } from "../request/RequestContext.ts"
import { Timers } from "../request/Timers.ts"
import type { AnswerReader } from "./AnswerReader.ts"
import { AnswerSettlement } from "./AnswerSettlement.ts"
import { makeEndAttempt } from "./EndAttempt.ts"
import type { DispatchFailure } from "./outcomeOf.ts"
import { ReadingOn } from "./ReadingOn.ts"
import { type StreamHead, StreamOpening, type StreamTarget } from "./StreamOpening.ts"
import { type Completed, WholeAnswer } from "./WholeAnswer.ts"

/** Neither method can be interrupted, since money is reserved. The request's lifetime ends them. */
export class Dispatcher extends Context.Tag("headgate/Dispatcher")<
  Dispatcher,
  {
    /** Succeeds when the answer is charged and booked. */
    readonly complete: (
      context: RequestContext,
      request: AnyRequest,
      plan: Plan,
      reader: AnswerReader,
    ) => Effect.Effect<Completed, DispatchFailure>
    /**
     * Succeeds with the first event, or after `commitAfterMs` without one. Then the stream goes on by itself, and calls
     * `onClosed` of the target once everything of it is booked, with the failure that it ended with.
     */
    readonly stream: (
      context: RequestContext,
      request: ChatRequest,
      plan: Plan,
      target: StreamTarget,
    ) => Effect.Effect<StreamHead, DispatchFailure>
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
  const runner = makeEffectRunner(yield* Effect.runtime<never>())
  const services = {
    registry,
    meter: yield* makeGuardedMeter,
    limits: yield* RequestLimits,
    health: yield* HostHealth,
    keys: yield* ProviderKeys,
    stats: yield* HostStats,
    timers: yield* Timers,
    runner,
    client: yield* makeUpstreamClient,
    log: (line: Effect.Effect<void>) => void runner.run(line, () => {}),
    endAttempt: yield* makeEndAttempt,
    retries,
    hedges,
    readingOn: new ReadingOn(),
  }
  const settlement = new AnswerSettlement(services)
  return Dispatcher.of({
    complete: (context, request, plan, reader) => new WholeAnswer(services, settlement, context, request, plan, reader),
    stream: (context, request, plan, target) => new StreamOpening(services, settlement, context, request, plan, target),
  })
})
