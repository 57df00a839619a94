/** The first steps of every request of the data plane: authentication, the limits of the key, and reading the body. */
import type * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import type { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import type { ResolvedConfig } from "../../catalogue/ResolvedConfig.ts"
import { type Failure, Unavailable } from "../../domain/failures/Failure.ts"
import type { JsonObject } from "../../domain/json/Json.ts"
import type { KeyRecord } from "../../domain/keys/Key.ts"
import { type BudgetSnapshot, paymentRequired } from "../../domain/money/Hold.ts"
import type { KeyStore } from "../../services/keys/KeyStore.ts"
import type { RequestLimits } from "../../services/keys/RequestLimits.ts"
import type { Meter } from "../../services/money/Meter.ts"
import type { InFlight } from "../../services/request/InFlight.ts"
import type { Lifetime } from "../../services/request/RequestContext.ts"
import { isFinished, type StepRunner, type Steps, unwrap } from "../../services/request/Steps.ts"
import type { Timers } from "../../services/request/Timers.ts"
import { authenticateWithin, managementKey } from "../authenticate.ts"
import { parseBody } from "../decode/json.ts"
import { unscannedBytes } from "../decode/jsonScan.ts"
import { type OnePrompt, readBody } from "../decode/readBody.ts"
import { readRequest } from "../readRequest.ts"
import type { RequestState } from "./Respond.ts"

export interface AdmissionServices {
  readonly runner: StepRunner
  readonly keys: Context.Tag.Service<KeyStore>
  readonly limits: Context.Tag.Service<RequestLimits>
  readonly meter: Context.Tag.Service<Meter>
  readonly inFlight: Context.Tag.Service<InFlight>
  readonly timers: Context.Tag.Service<Timers>
  readonly registry: Context.Tag.Service<ProviderRegistry>
}

/** A request that was admitted, with its key. */
export interface Admission {
  readonly lifetime: Lifetime
  readonly key: KeyRecord
}

export interface ReadBody {
  readonly body: JsonObject
  readonly byteLength: number
  /** Only where `Purpose.keepsBytes`: a long body should not be in memory twice. */
  readonly bytes: Uint8Array | undefined
}

/** What a body is read for. */
export interface Purpose {
  /** The key that pays for it, where a host is called. */
  readonly payer?: KeyRecord
  readonly keepsBytes?: boolean
  /** Name of the member with the prompt, where the body is one prompt (`OnePrompt`). */
  readonly prompt?: string | undefined
}

/** A body of at least so many bytes is not parsed if the key that pays for it has used up its limit. */
const longBytes = 1_048_576

export interface Admissions {
  /** Admits the request, which ends from then on when its key is revoked. `kinds`: which kinds of keys may make it. */
  readonly admit: (
    state: RequestState,
    request: Request,
    watchCaller: (lifetime: Lifetime) => void,
    kinds: "ordinary" | "any",
  ) => Steps<Admission, Failure>
  readonly read: (request: Request, lifetime: Lifetime, purpose: Purpose) => Steps<ReadBody, Failure>
}

export const makeAdmissions = ({
  runner,
  keys,
  limits,
  meter,
  inFlight,
  timers,
  registry,
}: AdmissionServices): Admissions => ({
  admit: function* (state, request, watchCaller, kinds): Steps<Admission, Failure> {
    const lifetime = inFlight.admit()
    if (lifetime instanceof Unavailable) return yield* Exit.fail(lifetime)
    state.lifetime = lifetime
    watchCaller(lifetime)
    const authenticating = authenticateWithin(runner, lifetime, keys, request.headers)
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
  read: function* (request, lifetime, { payer, keepsBytes, prompt }): Steps<ReadBody, Failure> {
    const { bodyBytes: limitBytes } = registry.current().limits
    const bytes = yield* readRequest(request, { limitBytes, timers, places: inFlight }, lifetime)
    const { byteLength } = bytes
    if (byteLength >= longBytes && payer !== undefined) {
      const budget = yield* unwrap(meter.budget({ _tag: "Key", key: payer }))
      if (isUsedUp(budget)) return yield* Exit.fail(paymentRequired(budget, "limit_exhausted"))
    }
    const body =
      byteLength <= unscannedBytes
        ? yield* unwrap(parseBody(bytes))
        : yield* readBody(bytes, lifetime, prompt === undefined ? undefined : onePrompt(prompt, registry.current()))
    return { body, byteLength, bytes: keepsBytes === true ? bytes : undefined }
  },
})

const isUsedUp = ({ limit, spend }: BudgetSnapshot): boolean => limit !== null && spend >= limit

/** Tokens. */
const longestContexts = new WeakMap<ResolvedConfig, number>()

const onePrompt = (path: string, config: ResolvedConfig): OnePrompt => {
  let longestContext = longestContexts.get(config)
  if (longestContext === undefined) {
    longestContext = 0
    // Hosts that can be called.
    for (const { contextLength } of config.endpoints.keys()) longestContext = Math.max(longestContext, contextLength)
    longestContexts.set(config, longestContext)
  }
  return { path, longestContext }
}
