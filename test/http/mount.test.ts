/** The gateway's routes in an app that has an HttpApi, pages and a 404 of its own: at the root and below a prefix at once. */
import { afterAll, expect, test } from "bun:test"
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import { Gateway, KeyId, KeyStore, memoryStorage, Upstream } from "headgate"
import echo from "headgate/providers/echo"

const OurApi = HttpApi.make("ours").add(
  HttpApiGroup.make("users").add(HttpApiEndpoint.get("list", "/api/v1/users").addSuccess(Schema.Array(Schema.String))),
)
const users = HttpApiBuilder.group(OurApi, "users", (handlers) =>
  handlers.handle("list", () => Effect.succeed(["ann"])),
)

const everyone = KeyStore.layerFrom(() => Effect.succeed({ id: KeyId.make("everyone") }))
const { handler, dispose } = HttpLayerRouter.toWebHandler(
  Layer.mergeAll(
    HttpLayerRouter.addHttpApi(OurApi).pipe(Layer.provide(users)),
    HttpLayerRouter.add("GET", "/pages/*", HttpServerResponse.text("our page")),
    Gateway.routes,
    Gateway.routesAt("/llm"),
  ).pipe(
    Layer.provide(Gateway.services({ plugins: [echo] })),
    Layer.provide([everyone, Upstream.layer, memoryStorage]),
    Layer.provide([HttpServer.layerContext, Logger.remove(Logger.defaultLogger)]),
  ),
  { disableLogger: true },
)
afterAll(dispose)

const get = async (path: string) => {
  const answer = await handler(new Request(`http://app.test${path}`, { headers: { authorization: "Bearer anything" } }))
  return { status: answer.status, text: await answer.text() }
}

test("the app's own API and pages are the app's", async () => {
  expect(await get("/api/v1/users")).toEqual({ status: 200, text: '["ann"]' })
  expect((await get("/pages/any")).text).toBe("our page")
  // Not an operation of the gateway's.
  expect((await get("/llm/api/v1/users")).status).toBe(404)
})

test("unknown paths are the gateway's below /api/v1/ and its prefix, and the app's elsewhere", async () => {
  const isOurs = async (path: string) => (await get(path)).text.includes('"code":404')
  expect(await Promise.all(["/api/v1/nothing", "/llm/nothing"].map(isOurs))).toEqual([true, true])
  expect(await Promise.all(["/nothing", "/api/v2/models", "/llmx"].map(isOurs))).toEqual([false, false, false])
})

test.each(["", "/llm"])("the gateway answers at %p, and its description has the paths", async (prefix) => {
  expect((await get(`${prefix}/api/v1/models`)).text).toContain(`"details":"${prefix}/api/v1/models/`)
  const { paths } = JSON.parse((await get(`${prefix}/api/v1/openapi.json`)).text)
  expect(Object.keys(paths)).toContain(`${prefix}/api/v1/chat/completions`)
  expect(Object.keys(paths)).not.toContain(`${prefix}/api/v1/users`)
})
