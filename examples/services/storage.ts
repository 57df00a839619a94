/** `Storage` of the app: each row of the ledger is also handed to the app, once it is durable. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { formatUsd, Gateway, KeyId, KeyStore, memoryStorage, Storage, Upstream } from "headgate"
import echo from "headgate/providers/echo"

/** The app's own books: a line for each answer. */
export const books: Array<string> = []

const OurStorage = Layer.effect(
  Storage,
  Effect.map(Storage, (storage) => ({
    ...storage,
    ledger: {
      ...storage.ledger,
      append: (rows) =>
        Effect.tap(storage.ledger.append(rows), () => {
          for (const { key, model, cost } of rows) books.push(`${key} ${model} ${formatUsd(cost)} USD`)
        }),
    },
  })),
).pipe(Layer.provide(memoryStorage))

const everyone = KeyStore.layerFrom(() => Effect.succeed({ id: KeyId.make("everyone") }))

export const App = Gateway.routes.pipe(
  Layer.provide(Gateway.services({ plugins: [echo] })),
  Layer.provide([everyone, Upstream.layer, OurStorage]),
)
