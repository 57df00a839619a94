/** `KeyStore` of the app: its own sessions call models, each with a budget of the app's, and the gateway has no keys of its own. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Gateway, KeyId, KeyNotAccepted, KeyStore, memoryStorage, parseUsd, Upstream } from "headgate"
import echo from "headgate/providers/echo"

const sessions = new Map([["session-of-ann", { user: "ann", budget: parseUsd("0.50") ?? 0n }]])

const OurKeys = KeyStore.layerFrom((secret) => {
  const session = sessions.get(Redacted.value(secret))
  return session === undefined
    ? new KeyNotAccepted()
    : Effect.succeed({ id: KeyId.make(session.user), name: session.user, limit: session.budget, limitReset: "daily" })
})

export const App = Gateway.routes.pipe(
  Layer.provide(Gateway.services({ plugins: [echo] })),
  Layer.provide([OurKeys, Upstream.layer, memoryStorage]),
)
