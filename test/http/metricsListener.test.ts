/** Who may read figures, and where, by the configuration. docs/metrics.md#access */
import { expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { handler } from "../../src/app/handler.ts"
import { MetricsToken } from "../../src/http/metricsAnswer.ts"
import { closeAfterEach, opened, startWatched } from "../support/gateways/watched.ts"
import { configFor, scriptedHost, wholeAnswer } from "../support/hosts/host.ts"

closeAfterEach()

const token = "a-token-that-reads-figures"
const bearer = (secret: string) => ({ headers: { authorization: `Bearer ${secret}` } })
const setting = Layer.succeed(MetricsToken, Redacted.make(token))

test("on a port of its own they are read by the same rules, and there alone", async () => {
  const gateway = await startWatched({ setting, config: { server: { metrics: { port: 0 } } } })
  const at = /at: "(http:[^"]+\/metrics)"/.exec(gateway.log())?.[1] ?? ""
  expect(at).toStartWith("http://127.0.0.1:")
  expect((await fetch(at)).status).toBe(401)
  expect((await fetch(at, bearer(gateway.key))).status).toBe(403)
  for (const secret of [token, gateway.managementKey]) {
    const response = await fetch(at, bearer(secret))
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("headgate_in_flight 0")])
  }
  expect((await fetch(at, { method: "POST", ...bearer(token) })).status).toBe(404)
  expect((await fetch(new URL("/api/v1/models", at), bearer(token))).status).toBe(404)
  expect((await fetch(new URL("/metrics", gateway.url), bearer(token))).status).toBe(404)
})

test.each([{ metrics: { open: true } }, { open_metrics: true }])("with %p anybody reads them", async (server) => {
  const gateway = await startWatched({ config: { server } })
  expect((await fetch(new URL("/metrics", gateway.url))).status).toBe(200)
})

test("the token opens figures, and nothing else", async () => {
  const gateway = await startWatched({ setting })
  expect((await fetch(new URL("/metrics", gateway.url), bearer(token))).status).toBe(200)
  expect((await fetch(new URL("/metrics", gateway.url), bearer(`${token}x`))).status).toBe(401)
  for (const path of ["/keys", "/key", "/activity", "/credits"]) {
    expect([path, (await gateway.call(path, bearer(token))).status]).toEqual([path, 401])
  }
  expect((await gateway.chat({}, bearer(token))).status).toBe(401)
})

test("switched off there is nothing to read", async () => {
  const gateway = await startWatched({ setting, config: { server: { metrics: { enabled: false, open: true } } } })
  expect((await fetch(new URL("/metrics", gateway.url), bearer(token))).status).toBe(404)
})

test("budgets of keys are told of as many keys as the operator says, and of those that have a limit", async () => {
  const host = opened(scriptedHost(() => wholeAnswer("fine", { prompt_tokens: 10, completion_tokens: 5 })))
  const server = { metrics: { open: true, budget_keys: 2 } }
  const gateway = await startWatched({ config: configFor({ a: { url: host.url } }, { server }) })
  const limited = async (name: string) => gateway.newKey({ name, limit: 1_000_000_000_000n })
  await limited("oldest")
  const spender = await limited("spender")
  await limited("newest")
  const hi = { model: "acme/small", messages: [{ role: "user", content: "hi" }] }
  expect((await gateway.chat(hi, bearer(spender))).status).toBe(200)
  const text = await (await fetch(new URL("/metrics", gateway.url))).text()
  const told = text.split("\n").filter((line) => line.startsWith("headgate_key_budget_left_usd{"))
  expect(told.map((line) => line.replace(/key="[0-9a-f]{64}",/, ""))).toEqual([
    'headgate_key_budget_left_usd{name="newest"} 1',
    'headgate_key_budget_left_usd{name="spender"} 0.99998',
  ])
  for (const secret of [spender, gateway.key]) expect(text).not.toContain(secret)
})

test("a handler has them below its prefix; a token that is too short is refused", async () => {
  const managementKey = "a-management-key-of-the-test-of-figures"
  const options = {
    prefix: "/llm",
    managementKey,
    plugins: [],
    config: { storage: "memory:", discovery: { environment: false } },
  } as const
  const gateway = await handler({ ...options, metricsToken: token })
  const read = (secret: string) => gateway.fetch(new Request("http://app.test/llm/metrics", bearer(secret)))
  expect((await read(token)).status).toBe(200)
  expect((await read(managementKey)).status).toBe(200)
  expect((await read("another-token-of-the-test")).status).toBe(401)
  await gateway.close()
  const short = await Effect.runPromise(
    Effect.flip(Effect.tryPromise(() => handler({ ...options, metricsToken: "short" }))),
  )
  expect(String(short.cause)).toContain("metricsToken: expected at least 16 visible ASCII characters, got fewer")
})
