/** An app's own `Meter` that has a defect. docs/embedding.md */
import { expect, test } from "bun:test"
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { Gateway, KeyId, KeyStore, Meter, memoryStorage, Upstream } from "headgate"
import echo from "headgate/providers/echo"

test.each([true, false])(
  "a defect in a replaced `settle` was an error without a reason in the log, stream: %p",
  async (stream) => {
    const log: Array<string> = []
    const logger = Logger.make(({ message, cause }) => log.push(`${Bun.inspect(message)} ${String(cause)}`))
    const broken = Layer.effect(
      Meter,
      Effect.map(Meter, (meter) => ({
        ...meter,
        settle: () => Effect.die(new Error("a rate of exchange is missing")),
      })),
    )
    const gateway = Gateway.serving.pipe(
      Layer.provideMerge(Gateway.routing),
      Layer.provideMerge(broken),
      Layer.provideMerge(Gateway.state({ plugins: [echo] })),
    )
    const everyone = KeyStore.layerFrom(() => Effect.succeed({ id: KeyId.make("everyone") }))
    const { handler, dispose } = HttpLayerRouter.toWebHandler(
      Gateway.routes.pipe(
        Layer.provide(gateway),
        Layer.provide([everyone, Upstream.layer, memoryStorage]),
        Layer.provide([HttpServer.layerContext, Logger.replace(Logger.defaultLogger, logger)]),
      ),
      { disableLogger: true },
    )
    const response = await handler(
      new Request("http://app/api/v1/chat/completions", {
        method: "POST",
        headers: { authorization: "Bearer x", "content-type": "application/json" },
        body: JSON.stringify({ model: "headgate/echo", stream, messages: [{ role: "user", content: "hi" }] }),
      }),
    )
    expect(await response.text()).toContain('"code":500')
    await dispose()
    expect(log.filter((line) => line.includes("a rate of exchange is missing"))).toHaveLength(1)
  },
)
