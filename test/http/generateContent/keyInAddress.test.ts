/** Google's clients may write their key into the address: it gets no further than the check of the key. docs/guarantees.md#g27 */
import { expect, test } from "bun:test"
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Tracer from "effect/Tracer"
import { Gateway, KeyId, KeyStore, memoryStorage, Upstream } from "headgate"
import echo from "headgate/providers/echo"
import { until } from "../../support/clocks/until.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

test("a key in the query is in no log and no record, and no host is sent it", async () => {
  const seen: Array<string> = []
  const host = opened(
    scriptedHost((body, request) => {
      seen.push(`${request.url} ${JSON.stringify([...request.headers])} ${JSON.stringify(body)}`)
      return wholeAnswer("fine")
    }),
  )
  const gateway = await startWatched({ config: { ...configFor({ acme: host }), server: { access_log: "all" } } })
  const key = await gateway.newKey()
  const at = (model: string, secret: string) =>
    fetch(`${gateway.url.replace(/\/v1$/, "")}/v1beta/models/${model}:generateContent?key=${secret}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ contents: [{ role: "user", parts: [{ text: "Hi" }] }] }),
    })
  expect((await at("acme/small", key)).status).toBe(200)
  expect((await at("acme/none", key)).status).toBe(400)
  expect((await at("acme/small", `${key}x`)).status).toBe(401)
  const records = async () => {
    const response = await gateway.call("/requests", { headers: { authorization: `Bearer ${gateway.managementKey}` } })
    return response.text()
  }
  await until(async () => (await records()).includes("generateContent"), "the records")
  for (const text of [...seen, gateway.log(), await records()]) expect(text).not.toContain(key)
  expect(gateway.log()).toContain("generateContent")
})

/** An app whose tracer and logger keep everything, with the gateway in it. */
const app = () => {
  const spans: Array<Tracer.Span> = []
  const lines: Array<string> = []
  const native = Tracer.make({
    span: (name, parent, context, links, startTime, kind) => {
      const attributes = new Map<string, unknown>()
      const span: Tracer.Span = {
        ...{ _tag: "Span", name, parent, context, links, kind, attributes, sampled: true },
        ...{ spanId: String(spans.length), traceId: "1", status: { _tag: "Started", startTime } },
        ...{ end: () => {}, event: () => {}, addLinks: () => {} },
        attribute: (key, value) => {
          attributes.set(key, value)
        },
      }
      spans.push(span)
      return span
    },
    context: (run) => run(),
  })
  const logger = Logger.map(Logger.jsonLogger, (line) => {
    lines.push(line)
  })
  const { handler, dispose } = HttpLayerRouter.toWebHandler(
    Gateway.routes.pipe(
      Layer.provide(Gateway.services({ plugins: [echo] })),
      Layer.provide([
        KeyStore.layerFrom(() => Effect.succeed({ id: KeyId.make("everyone") })),
        Upstream.layer,
        memoryStorage,
        HttpServer.layerContext,
      ]),
      Layer.provideMerge(Layer.setTracer(native)),
      Layer.provideMerge(Logger.replace(Logger.defaultLogger, logger)),
    ),
  )
  opened({ stop: dispose })
  const told = () => `${JSON.stringify(spans.map(({ attributes }) => [...attributes]))} ${lines.join("\n")}`
  return { handler, told }
}

test.each([
  ["POST", "v1beta/models/headgate/echo:generateContent?key=SECRET", {}],
  ["POST", "v1beta/models/headgate/echo:generateContent?a=1&%6Bey=SECRET&b=2", {}],
  ["POST", "v1beta/models/headgate/echo:generateContent", { "x-goog-api-key": "SECRET" }],
  ["POST", "v1/models/headgate/echo:generateContent?key=SECRET", {}],
  ["POST", "v1beta/models/headgate/echo:nothing?key=SECRET", {}],
  ["GET", "v1beta/models?key=SECRET", {}],
  ["GET", "v1beta/models", { "x-goog-api-key": "SECRET" }],
] as const)("%s %s with %j: the app around the gateway does not tell of the key", async (method, path, headers) => {
  const { handler, told } = app()
  const body = { contents: [{ role: "user", parts: [{ text: "Hi" }] }] }
  const response = await handler(
    new Request(`http://app.test/api/${path}`, {
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(method === "GET" ? {} : { body: JSON.stringify(body) }),
    }),
  )
  await response.text()
  expect(response.status).toBe(path.includes("nothing") ? 404 : 200)
  await until(() => told().includes("url.path"), "the span")
  expect(told()).not.toContain("SECRET")
})
