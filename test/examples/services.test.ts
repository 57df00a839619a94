/** Each example of `examples/services` as an app: the layer of the app is the one that requests meet. */
import { afterEach, expect, test } from "bun:test"
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as keyStore from "../../examples/services/keyStore.ts"
import * as meter from "../../examples/services/meter.ts"
import * as providerRegistry from "../../examples/services/providerRegistry.ts"
import * as router from "../../examples/services/router.ts"
import * as storage from "../../examples/services/storage.ts"
import * as upstream from "../../examples/services/upstream.ts"

type App = typeof keyStore.App

let close: () => Promise<void>
afterEach(() => close())

const start = (app: App) => {
  const quiet = Logger.remove(Logger.defaultLogger)
  const { handler, dispose } = HttpLayerRouter.toWebHandler(Layer.provide(app, [HttpServer.layerContext, quiet]), {
    disableLogger: true,
  })
  close = dispose
  const send = (path: string, secret: string, body: object) =>
    handler(
      new Request(`http://app.test/api/v1${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
        body: JSON.stringify({ messages: [{ role: "user", content: "one two three" }], ...body }),
      }),
    )
  return async (model: string, secret = "anything", path = "/chat/completions") => {
    const answer = await send(path, secret, { model })
    return { status: answer.status, body: JSON.parse(await answer.text()) }
  }
}

test("KeyStore: the app's sessions, with their budget", async () => {
  const ask = start(keyStore.App)
  expect((await ask("headgate/echo", "session-of-ann")).status).toBe(200)
  expect((await ask("headgate/echo", "session-of-bob")).status).toBe(401)
})

test("Upstream: a function in place of hosts", async () => {
  const { status, body } = await start(upstream.App)("ours/counter")
  expect([status, body.choices?.[0].message.content]).toEqual([200, "You said 1 things."])
})

test("Storage: rows come to the app's books too", async () => {
  await start(storage.App)("headgate/echo")
  expect(storage.books).toEqual(["everyone headgate/echo 0.000009 USD"])
})

test("Meter: each charge is seen", async () => {
  await start(meter.App)("headgate/echo")
  expect([...meter.used]).toEqual([["everyone", 3]])
})

test("ProviderRegistry: a name that the app chooses", async () => {
  const ask = start(providerRegistry.App)
  expect((await ask("default")).body.model).toBe("headgate/echo")
  providerRegistry.chosen.model = "nobody/nothing"
  expect((await ask("default")).status).toBe(400)
})

test("Router: no fallback to another vendor, and an explanation says the same", async () => {
  const ask = start(router.App)
  const explained = await ask("acme/small", "anything", "/route/explain")
  expect(explained.body.data.attempts.length).toBe(1)
  expect((await ask("acme/small")).status).toBe(502)
  expect(new Set(router.called).size).toBe(1)
})
