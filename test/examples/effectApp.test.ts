/** `examples/effect-app` as an app on a socket of its own. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import * as HttpServer from "@effect/platform/HttpServer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import { serve } from "../../examples/effect-app/index.ts"

let base = ""
const scope = Effect.runSync(Scope.make())

beforeAll(async () => {
  const quiet = serve(0).pipe(Layer.provide(Logger.remove(Logger.defaultLogger)))
  const { address } = Context.get(await Effect.runPromise(Layer.buildWithScope(quiet, scope)), HttpServer.HttpServer)
  base = `http://127.0.0.1:${address._tag === "TcpAddress" ? address.port : 0}`
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const jsonOf = async (response: Response) => JSON.parse(await response.text())

const chat = (body: object, key = "a-session-of-ours") =>
  fetch(`${base}/api/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "ours", messages: [{ role: "user", content: "one two three" }], ...body }),
  })

test("the app's own page stands beside the gateway", async () => {
  expect(await (await fetch(`${base}/`)).text()).toBe("our own page")
})

test("a whole answer is metered", async () => {
  const response = await chat({})
  const body = await jsonOf(response)
  expect(response.status).toBe(200)
  expect(body.choices[0].message.content).toBe("one two three")
  expect(body.model).toBe("headgate/echo")
  // Three words in at 1 and three out at 2 USD per million.
  expect(body.usage.cost).toBe(0.000009)
  expect(response.headers.get("x-gw-cost-usd")).toBe("0.000009")
  expect(response.headers.get("x-gw-host")).toBe("echo")
})

test("a streamed answer comes in pieces and ends with its cost", async () => {
  const response = await chat({ stream: true })
  const events = (await response.text()).split("\n\n").filter((event) => event !== "")
  expect(events.at(-1)).toBe("data: [DONE]")
  const chunks = events.slice(0, -1).map((event) => JSON.parse(event.slice(6)))
  expect(chunks.map(({ choices }) => choices[0].delta.content).join("")).toBe("one two three")
  expect(chunks.at(-1).usage.cost).toBe(0.000009)
})

test("who may call is the app's idea", async () => {
  const response = await chat({}, "somebody else")
  expect(response.status).toBe(401)
  expect(await jsonOf(response)).toEqual({
    error: { message: "User not found. This is no active key of this gateway.", code: 401 },
  })
})

test("whoever the app lets in has a key status, with what was spent", async () => {
  const response = await fetch(`${base}/api/v1/auth/key`, { headers: { authorization: "Bearer a-session-of-ours" } })
  expect(response.status).toBe(200)
  expect((await jsonOf(response)).data.usage).toBeGreaterThan(0)
})

test("models are listed, unknown paths are a documented 404", async () => {
  const headers = { authorization: "Bearer a-session-of-ours" }
  const models = await jsonOf(await fetch(`${base}/api/v1/models`, { headers }))
  expect(models.data.map(({ id }: { id: string }) => id)).toEqual(["headgate/echo"])
  const unknown = await fetch(`${base}/api/v1/nothing`, { headers })
  expect(unknown.status).toBe(404)
  expect((await jsonOf(unknown)).error.code).toBe(404)
})
