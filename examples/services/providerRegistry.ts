/** `ProviderRegistry` of the app: names of models that the app can change while it runs. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Gateway, KeyId, KeyStore, memoryStorage, ProviderRegistry, Upstream } from "headgate"
import echo from "headgate/providers/echo"

/** What "default" means at the moment. */
export const chosen = { model: "headgate/echo" }

const OurRegistry = Layer.effect(
  ProviderRegistry,
  Effect.map(ProviderRegistry, (registry) => ({
    ...registry,
    resolve: (name) => registry.resolve(name === "default" ? chosen.model : name),
  })),
)

const OurGateway = Gateway.serving.pipe(
  Layer.provideMerge(Gateway.routing),
  Layer.provideMerge(OurRegistry),
  Layer.provideMerge(Gateway.state({ plugins: [echo] })),
)

const everyone = KeyStore.layerFrom(() => Effect.succeed({ id: KeyId.make("everyone") }))

export const App = Gateway.routes.pipe(
  Layer.provide(OurGateway),
  Layer.provide([everyone, Upstream.layer, memoryStorage]),
)
