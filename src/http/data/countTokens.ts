/**
 * `POST /messages/count_tokens`: about how many tokens the prompt of such a body has. It is the estimate that is charged
 * where a host does not count: nobody is called, and nothing is paid.
 */
import type * as Context from "effect/Context"
import type { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import type { Failure } from "../../domain/failures/Failure.ts"
import { promptTokens } from "../../domain/money/Charge.ts"
import type { InFlight } from "../../services/request/InFlight.ts"
import type { Steps } from "../../services/request/Steps.ts"
import { requestIdHeaders } from "../headers.ts"
import type { Admissions } from "./admission.ts"
import type { Respond } from "./Respond.ts"

export interface CountServices {
  readonly admissions: Admissions
  readonly inFlight: Context.Tag.Service<InFlight>
  readonly registry: Context.Tag.Service<ProviderRegistry>
}

export const makeCountRoute = ({ admissions, inFlight, registry }: CountServices): Respond =>
  function* (protocol, state, request, watchCaller): Steps<Response, Failure> {
    const { lifetime } = yield* admissions.admit(state, request, watchCaller, "ordinary")
    const { body } = yield* admissions.read(request, lifetime, {})
    const { routing, bounds } = yield* protocol.decode(body, request.headers)
    for (const model of routing.models) yield* registry.resolve(model)
    inFlight.leave(lifetime)
    return Response.json({ input_tokens: promptTokens(bounds) }, { headers: requestIdHeaders(state.requestId) })
  }
