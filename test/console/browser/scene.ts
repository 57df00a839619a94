/** A gateway on a socket, with a host that the test scripts, and the built-in echo. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { configFor, type ScriptedHost, scriptedHost, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"

export interface Scene {
  readonly gateway: TestGateway
  /** `http://127.0.0.1:<port>`. */
  readonly base: string
  readonly host: ScriptedHost
  /** Puts the gateway's clock ahead by so many milliseconds; that of the browser stays. */
  readonly ahead: (ms: number) => void
  readonly stop: () => Promise<void>
}

export interface SceneOptions {
  /** The name of the model `acme/small`. */
  readonly modelName?: string
  /** Of that model, USD per token. */
  readonly prices?: { readonly prompt: string; readonly completion: string }
  readonly answer?: Parameters<typeof scriptedHost>[0]
}

const answerOf: Parameters<typeof scriptedHost>[0] = (body) =>
  body["stream"] === true ? streamAnswer(["It ", "works."]) : wholeAnswer("It works.")

export const startScene = async ({
  modelName = "Acme Small",
  prices = { prompt: "0.000001", completion: "0.000002" },
  answer = answerOf,
}: SceneOptions = {}): Promise<Scene> => {
  const host = scriptedHost(answer)
  const time = { ahead: 0 }
  const now = () => Date.now() + time.ahead
  const clock = Object.assign(Clock.make(), {
    unsafeCurrentTimeMillis: now,
    unsafeCurrentTimeNanos: () => BigInt(now()) * 1_000_000n,
    currentTimeMillis: Effect.sync(now),
    currentTimeNanos: Effect.sync(() => BigInt(now()) * 1_000_000n),
  })
  const { models, providers, ...config } = configFor({ host: { url: host.url, ...prices } })
  const gateway = await startGateway({
    config: {
      ...config,
      providers: { ...providers, echo: { plugin: "echo" } },
      models: models.map((model) => ({ ...model, name: modelName })),
    },
    setting: Layer.setClock(clock),
  })
  return {
    gateway,
    base: new URL(gateway.url).origin,
    host,
    ahead: (ms) => {
      time.ahead += ms
    },
    stop: async () => {
      await gateway.stop()
      await host.stop()
    },
  }
}

/** Some requests of an app to both models, so that every view has something to show. */
export const callSome = async ({ gateway }: Scene, count = 5): Promise<void> => {
  for (let made = 0; made < count; made += 1) {
    const model = made % 2 === 0 ? "acme/small" : "headgate/echo"
    const answer = await gateway.chat(
      { model, messages: [{ role: "user", content: `question ${made}` }], stream: made % 3 === 0 },
      { headers: { "x-title": "An app" } },
    )
    await answer.text()
  }
}
