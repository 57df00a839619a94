/** `Meter` of the app: it sees each charge before the caller does. Everything else is the gateway's own. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Gateway, KeyId, KeyStore, Meter, memoryStorage, Upstream, type Usage } from "headgate"
import echo from "headgate/providers/echo"

/** Tokens by caller, for the app's own statistics. */
export const used = new Map<string, Usage["completionTokens"]>()

const OurMeter = Layer.effect(
  Meter,
  Effect.map(Meter, (meter) => ({
    ...meter,
    settle: (reservation, settlement) =>
      Effect.tap(meter.settle(reservation, settlement), ({ usage }) => {
        const { id } = reservation.context.key
        used.set(id, (used.get(id) ?? 0) + usage.completionTokens)
      }),
  })),
)

const OurGateway = Gateway.serving.pipe(
  Layer.provideMerge(Gateway.routing),
  Layer.provideMerge(OurMeter),
  Layer.provideMerge(Gateway.state({ plugins: [echo] })),
)

const everyone = KeyStore.layerFrom(() => Effect.succeed({ id: KeyId.make("everyone") }))

export const App = Gateway.routes.pipe(
  Layer.provide(OurGateway),
  Layer.provide([everyone, Upstream.layer, memoryStorage]),
)
