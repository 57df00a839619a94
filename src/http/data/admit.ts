/**
 * The first steps of every request of the data plane, in this order: a place to wait in, the caller's key, the limits of the key, what
 * headers and query ask for, and the body.
 */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { BadRequest, type Failure, Unavailable } from "../../domain/failures/Failure.ts"
import type { KeyRecord } from "../../domain/keys/key.ts"
import { type BudgetSnapshot, paymentRequired } from "../../domain/money/hold.ts"
import type { Lifetime } from "../../services/request/RequestContext.ts"
import { isFinished, type Steps, unwrap } from "../../services/request/Steps.ts"
import { authenticateWithin, managementKey } from "../authenticate.ts"
import { readRequest } from "../readRequest.ts"
import type { Body } from "./Body.ts"
import type { DataRequest } from "./DataRequest.ts"
import type { DataServices } from "./DataServices.ts"
import { idempotencyKeyOf } from "./onlyOnce.ts"

/** Who may make a request. */
export interface Callers {
  /** Which kinds of keys: management keys cannot call models. */
  readonly kinds: "ordinary" | "any"
  /** Whether it counts against the limits of its key. */
  readonly isCounted: boolean
}

/** What a route asks of its requests. `Asked`: what headers and query say, which is known before anything of the body is read. */
export interface Terms<Content, Asked extends { readonly body: Body<Content> }> extends Callers {
  /** Whether hosts are called at the cost of the key. Only such a request may have an `Idempotency-Key`. */
  readonly isPaid: boolean
  readonly asked: (services: DataServices, request: DataRequest, key: KeyRecord) => Effect.Effect<Asked, Failure>
}

/** A request whose caller is known. */
export interface Entered {
  readonly lifetime: Lifetime
  readonly key: KeyRecord
}

export interface Admitted<Content, Asked> extends Entered {
  readonly asked: Asked
  /** What the body was decoded to. */
  readonly content: Content
  readonly repeatable: Repeatable | undefined
}

/** The value of an `Idempotency-Key`, and the body that it stands for. Other bodies are not kept: they would be in memory twice. */
export interface Repeatable {
  readonly value: string
  readonly bytes: Uint8Array
}

/** A body of at least so many bytes is not parsed if the key that pays for it has used up its limit. */
const longBytes = 1_048_576

/** Everything up to the decoded body. From its key on, the request ends when that is revoked. */
export const admit = function* <Content, Asked extends { readonly body: Body<Content> }>(
  services: DataServices,
  request: DataRequest,
  terms: Terms<Content, Asked>,
): Steps<Admitted<Content, Asked>, Failure> {
  const { lifetime, key } = yield* enter(services, request, terms)
  const { headers } = request.http
  const value = terms.isPaid ? idempotencyKeyOf(headers) : null
  if (value instanceof BadRequest) return yield* Exit.fail(value)
  const asked = yield* unwrap(terms.asked(services, request, key))
  const { meter, inFlight, timers, registry } = services
  const { body } = asked
  const { bodyBytes: limitBytes } = registry.current().limits
  const bytes = yield* readRequest(request.http, { limitBytes, timers, places: inFlight, type: body.type }, lifetime)
  if (terms.isPaid && bytes.byteLength >= longBytes) {
    const budget = yield* unwrap(meter.budget({ _tag: "Key", key }))
    if (isUsedUp(budget)) return yield* Exit.fail(paymentRequired(budget, "limit_exhausted"))
  }
  const content = yield* body.read({ bytes, headers, lifetime, config: registry.current() })
  if (lifetime.ending !== undefined) return yield* Exit.fail(lifetime.ending)
  const { observed } = request.served
  if (observed !== undefined) observed.admitted = observed.elapsed()
  return { lifetime, key, asked, content, repeatable: value === null ? undefined : { value, bytes } }
}

/** The place and the caller alone. No parameter of a generator is taken apart in its head, which would cost an object for each call. */
export const enter = function* (
  services: DataServices,
  request: DataRequest,
  callers: Callers,
): Steps<Entered, Failure> {
  const { inFlight, keys, limits, runner } = services
  const { kinds, isCounted } = callers
  const lifetime = inFlight.admit()
  if (lifetime instanceof Unavailable) return yield* Exit.fail(lifetime)
  request.admitted(lifetime)
  const authenticating = authenticateWithin(runner, lifetime, keys, request.http.headers)
  const key = yield* unwrap(authenticating)
  request.served.key = key
  if (kinds === "ordinary" && key.kind !== "ordinary") return yield* Exit.fail(managementKey)
  if (!isCounted) return { lifetime, key }
  // Before the rate limit, since a refused request does not count against that.
  const refusal = inFlight.own(lifetime, key.id)
  if (refusal !== undefined) return yield* Exit.fail(refusal)
  const counting = limits.admit(key)
  yield* unwrap(counting)
  if (!isFinished(authenticating) || !isFinished(counting)) lifetime.look()
  return { lifetime, key }
}

const isUsedUp = ({ limit, spend }: BudgetSnapshot): boolean => limit !== null && spend >= limit
