/** The first steps of every request of the data plane: who calls, whether another request of the key is admitted, and its body. */
import type * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import { type Failure, Unavailable } from "../../domain/Failure.ts"
import type { JsonObject } from "../../domain/Json.ts"
import type { KeyRecord } from "../../domain/Key.ts"
import type { InFlight } from "../../services/InFlight.ts"
import type { KeyStore } from "../../services/KeyStore.ts"
import type { ProviderRegistry } from "../../services/ProviderRegistry.ts"
import type { Lifetime } from "../../services/RequestContext.ts"
import type { RequestLimits } from "../../services/RequestLimits.ts"
import { isFinished, type Steps, unwrap } from "../../services/Steps.ts"
import type { Timers } from "../../services/Timers.ts"
import { authenticate, managementKey } from "../authenticate.ts"
import { parseBody } from "../decode/json.ts"
import { readRequest } from "../readRequest.ts"
import type { RequestState } from "./Respond.ts"

export interface AdmissionServices {
  readonly keys: Context.Tag.Service<KeyStore>
  readonly limits: Context.Tag.Service<RequestLimits>
  readonly inFlight: Context.Tag.Service<InFlight>
  readonly timers: Context.Tag.Service<Timers>
  readonly registry: Context.Tag.Service<ProviderRegistry>
}

/** A request whose key may make it. */
export interface Admission {
  readonly lifetime: Lifetime
  readonly key: KeyRecord
}

export interface ReadBody {
  readonly body: JsonObject
  readonly byteLength: number
  /** `undefined` unless they were asked for: a long body should not be in memory twice. */
  readonly bytes: Uint8Array | undefined
}

export interface Admissions {
  /** From then on the request ends when its key is revoked. `kinds`: which kinds of keys may make it. */
  readonly admit: (
    state: RequestState,
    request: Request,
    watchCaller: (lifetime: Lifetime) => void,
    kinds: "ordinary" | "any",
  ) => Steps<Admission, Failure>
  readonly read: (request: Request, lifetime: Lifetime, keepsBytes: boolean) => Steps<ReadBody, Failure>
}

export const makeAdmissions = ({ keys, limits, inFlight, timers, registry }: AdmissionServices): Admissions => ({
  admit: function* (state, request, watchCaller, kinds): Steps<Admission, Failure> {
    const lifetime = inFlight.admit()
    if (lifetime instanceof Unavailable) return yield* Exit.fail(lifetime)
    state.lifetime = lifetime
    watchCaller(lifetime)
    const authenticating = authenticate(keys, request.headers)
    const key = yield* unwrap(authenticating)
    if (kinds === "ordinary" && key.kind !== "ordinary") return yield* Exit.fail(managementKey)
    // Before the rate limit, since a refused request does not count against that.
    const refusal = inFlight.own(lifetime, key.id)
    if (refusal !== undefined) return yield* Exit.fail(refusal)
    const counting = limits.admit(key)
    yield* unwrap(counting)
    if (!isFinished(authenticating) || !isFinished(counting)) lifetime.look()
    return { lifetime, key }
  },
  read: function* (request, lifetime, keepsBytes): Steps<ReadBody, Failure> {
    const { bodyBytes: limitBytes } = registry.current().limits
    const bytes = yield* readRequest(request, { limitBytes, timers, places: inFlight }, lifetime)
    const { byteLength } = bytes
    const body = yield* unwrap(parseBody(bytes))
    return { body, byteLength, bytes: keepsBytes ? bytes : undefined }
  },
})
