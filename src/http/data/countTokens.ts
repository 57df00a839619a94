/**
 * `POST /messages/count_tokens`: about how many tokens the prompt of such a body has. It is the estimate that is charged
 * where a host does not count: nobody is called, and nothing is paid.
 */
import type * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import { tokensIn } from "../../domain/Estimate.ts"
import { Unavailable } from "../../domain/Failure.ts"
import type { InFlight } from "../../services/InFlight.ts"
import type { KeyStore } from "../../services/KeyStore.ts"
import type { ProviderRegistry } from "../../services/ProviderRegistry.ts"
import type { RequestLimits } from "../../services/RequestLimits.ts"
import type { Timers } from "../../services/Timers.ts"
import { authenticate, managementKey } from "../authenticate.ts"
import { parseBody } from "../decode/json.ts"
import { requestIdHeaders } from "../headers.ts"
import { readRequest } from "../readRequest.ts"
import type { Respond } from "./Respond.ts"

export interface CountServices {
  readonly keys: Context.Tag.Service<KeyStore>
  readonly limits: Context.Tag.Service<RequestLimits>
  readonly inFlight: Context.Tag.Service<InFlight>
  readonly timers: Context.Tag.Service<Timers>
  readonly registry: Context.Tag.Service<ProviderRegistry>
}

export const makeCountRoute = ({ keys, limits, inFlight, timers, registry }: CountServices): Respond =>
  function* (protocol, state, request, watchCaller) {
    const lifetime = inFlight.admit()
    if (lifetime instanceof Unavailable) return yield* Exit.fail(lifetime)
    state.lifetime = lifetime
    watchCaller(lifetime)
    const key = yield* authenticate(keys, request.headers)
    if (key.kind !== "ordinary") return yield* Exit.fail(managementKey)
    yield* limits.admit(key)
    const bytes = yield* readRequest(request, registry.current().limits.bodyBytes, timers, lifetime)
    const body = yield* parseBody(bytes)
    const { routing, bounds } = yield* protocol.decode(body, bytes.byteLength, request.headers)
    for (const model of routing.models) yield* registry.resolve(model)
    inFlight.leave(lifetime)
    const headers = requestIdHeaders(state.requestId)
    return Response.json({ input_tokens: tokensIn(bounds.textBytes) }, { headers })
  }
