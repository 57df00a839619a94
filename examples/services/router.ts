/** `Router` of the app: a prompt never goes to more than one vendor, so a fallback stays with the vendor of the first host. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { Gateway, KeyId, KeyStore, memoryStorage, type Plan, Router, Upstream } from "headgate"
import openaiCompatible from "headgate/providers/openai-compatible"

const ofOneVendor = (plan: Plan): Plan => ({
  ...plan,
  attempts: plan.attempts.filter(({ provider }) => provider === plan.attempts[0]?.provider),
})

const OurRouter = Layer.effect(
  Router,
  Effect.map(Router, (router) => ({
    plan: (...request) => Either.map(router.plan(...request), ofOneVendor),
    explain: (...request) =>
      Either.map(router.explain(...request), (explained) => ({ ...explained, plan: ofOneVendor(explained.plan) })),
  })),
)

const host = { pricing: { prompt: "0.000001", completion: "0.000002" } }

const OurGateway = Gateway.serving.pipe(
  Layer.provideMerge(OurRouter),
  Layer.provideMerge(Gateway.routing),
  Layer.provideMerge(
    Gateway.state({
      plugins: [openaiCompatible],
      config: {
        providers: {
          first: { plugin: "openai-compatible", base_url: "https://first.example/v1" },
          second: { plugin: "openai-compatible", base_url: "https://second.example/v1" },
        },
        models: [
          {
            id: "acme/small",
            context_length: 8192,
            hosts: [
              { provider: "first", ...host },
              { provider: "second", ...host },
            ],
          },
        ],
      },
    }),
  ),
)

const everyone = KeyStore.layerFrom(() => Effect.succeed({ id: KeyId.make("everyone") }))

/** The hosts that were called. Each is down, and says so. */
export const called: Array<string> = []
const Down = Upstream.layerFrom(({ url }) => {
  called.push(new URL(url).hostname)
  return new Response("", { status: 503 })
})

export const App = Gateway.routes.pipe(Layer.provide(OurGateway), Layer.provide([everyone, Down, memoryStorage]))
