/** `Upstream` of the app: a function answers in place of the hosts, for a model in this process or for a test without a network. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Gateway, KeyId, KeyStore, memoryStorage, Upstream } from "headgate"
import openaiCompatible from "headgate/providers/openai-compatible"

const OurModel = Upstream.layerFrom(async (request) => {
  const { messages }: { readonly messages: ReadonlyArray<unknown> } = JSON.parse(await request.text())
  return Response.json({
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: `You said ${messages.length} things.` },
        finish_reason: "stop",
      },
    ],
    usage: { prompt_tokens: 10, completion_tokens: 5 },
  })
})

const everyone = KeyStore.layerFrom(() => Effect.succeed({ id: KeyId.make("everyone") }))

export const App = Gateway.routes.pipe(
  Layer.provide(
    Gateway.services({
      plugins: [openaiCompatible],
      config: {
        providers: { ours: { plugin: "openai-compatible", base_url: "https://ours.example/v1" } },
        models: [
          {
            id: "ours/counter",
            context_length: 8192,
            hosts: [{ provider: "ours", pricing: { prompt: "0", completion: "0" } }],
          },
        ],
      },
    }),
  ),
  Layer.provide([everyone, OurModel, memoryStorage]),
)
