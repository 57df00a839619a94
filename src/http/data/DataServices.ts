/** The services that requests of the data plane use, as one record: a request gets it as a parameter, since yielding a service costs a fiber. */
import * as Effect from "effect/Effect"
import { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import { Dispatcher } from "../../services/dispatch/Dispatcher.ts"
import { KeyStore } from "../../services/keys/KeyStore.ts"
import { RequestLimits } from "../../services/keys/RequestLimits.ts"
import { Sessions } from "../../services/keys/Sessions.ts"
import { Meter } from "../../services/money/Meter.ts"
import { Conversations } from "../../services/request/Conversations.ts"
import { makeEffectRunner } from "../../services/request/EffectRunner.ts"
import { Idempotency } from "../../services/request/Idempotency.ts"
import { InFlight } from "../../services/request/InFlight.ts"
import { monotonic } from "../../services/request/RequestContext.ts"
import { RequestEnds } from "../../services/request/RequestEnds.ts"
import { Timers } from "../../services/request/Timers.ts"
import { makeExplain } from "../../services/routing/Explain.ts"
import { Router } from "../../services/routing/Router.ts"
import { Traces } from "../../services/traces/Traces.ts"
import { CallerAddresses } from "../CallerAddresses.ts"
import { findCaller } from "../sessions/callers.ts"

export interface DataOptions {
  /** Whether whole answers say what their time was spent on. */
  readonly serverTiming: boolean
  /** `server.public_url`. */
  readonly publicUrl: string | null
}

export const makeDataServices = Effect.fnUntraced(function* ({ serverTiming, publicUrl }: DataOptions) {
  const clock = yield* Effect.clock
  const registry = yield* ProviderRegistry
  const router = yield* Router
  const explain = yield* makeExplain
  const keys = yield* KeyStore
  const ends = yield* RequestEnds
  // Times are noted of requests that somebody observes.
  if (serverTiming) yield* ends.subscribe(() => {}, "never")
  return {
    runner: makeEffectRunner(yield* Effect.runtime<never>()),
    clock,
    nowMs: monotonic(clock),
    keys,
    /** For the one route that a session will do for. */
    callers: findCaller(keys, yield* Sessions, publicUrl),
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
    ends,
    serverTiming,
    traces: yield* Traces,
    addresses: yield* CallerAddresses,
  }
})

export type DataServices = Effect.Effect.Success<ReturnType<typeof makeDataServices>>
