/** The services that the steps of a request use, as one record: steps get it as a parameter, since yielding a service costs a fiber. */
import * as Effect from "effect/Effect"
import { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import { Dispatcher } from "../../services/dispatch/Dispatcher.ts"
import { KeyStore } from "../../services/keys/KeyStore.ts"
import { RequestLimits } from "../../services/keys/RequestLimits.ts"
import { Meter } from "../../services/money/Meter.ts"
import { Conversations } from "../../services/request/Conversations.ts"
import { Idempotency } from "../../services/request/Idempotency.ts"
import { InFlight } from "../../services/request/InFlight.ts"
import { monotonic } from "../../services/request/RequestContext.ts"
import { RequestEnds } from "../../services/request/RequestEnds.ts"
import { makeStepRunner } from "../../services/request/Steps.ts"
import { Timers } from "../../services/request/Timers.ts"
import { makeExplain } from "../../services/routing/Explain.ts"
import { Router } from "../../services/routing/Router.ts"

export const dataServices = Effect.gen(function* () {
  const clock = yield* Effect.clock
  const registry = yield* ProviderRegistry
  const router = yield* Router
  const explain = yield* makeExplain
  return {
    runner: makeStepRunner(yield* Effect.runtime<never>()),
    clock,
    nowMs: monotonic(clock),
    keys: yield* KeyStore,
    limits: yield* RequestLimits,
    inFlight: yield* InFlight,
    timers: yield* Timers,
    registry,
    idempotency: yield* Idempotency,
    meter: yield* Meter,
    conversations: yield* Conversations,
    router,
    explain,
    dispatcher: yield* Dispatcher,
    ends: yield* RequestEnds,
  }
})

export type DataServices = Effect.Effect.Success<typeof dataServices>
