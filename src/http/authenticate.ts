/** Authenticates a request. The only place that reads a caller's key, for both planes; `sessions/callers.ts` reads the cookie. See docs/guarantees.md#g24. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { KeyMissing, KeyNotAccepted, NotPermitted, type Unavailable } from "../domain/failures/Failure.ts"
import type { KeyRecord } from "../domain/keys/key.ts"
import type { Authenticator } from "../services/keys/KeyStore.ts"
import type { EffectRunner } from "../services/request/EffectRunner.ts"
import type { Ending, Lifetime } from "../services/request/RequestContext.ts"
import { untilEnded } from "../services/request/untilEnded.ts"
import { googleKey, presentedKey } from "./headers.ts"

/** The record of the key in `Authorization` or `x-api-key`. `url`: of a request that may have it where Google's clients send it. */
export const authenticate = (
  keys: Authenticator,
  headers: Headers,
  url?: string,
): Effect.Effect<KeyRecord, KeyMissing | KeyNotAccepted | Unavailable> => {
  const presented = presentedKey(headers) ?? (url === undefined ? undefined : googleKey(headers, url))
  if (presented === undefined) return Effect.fail(new KeyMissing())
  if (presented === "") return Effect.fail(new KeyNotAccepted())
  return keys.authenticate(Redacted.make(presented))
}

/** An authentication that ends with the request: an embedder's `authenticate` may never finish. */
export const authenticateWithin = <E>(
  runner: EffectRunner,
  lifetime: Lifetime,
  caller: Effect.Effect<KeyRecord, E>,
): Effect.Effect<KeyRecord, E | Ending> => untilEnded(runner, lifetime, caller, (ending) => ending)

/** The failure of a request to a model with a management key. */
export const managementKey = new NotPermitted({ rule: "Management keys cannot call models: use an ordinary key." })
