/** Rules of a key, on a real socket: its rate limit, the models and providers that it may use. docs/guarantees.md#g8 */
import { describe, expect, test } from "bun:test"
import { errorOf, streamOf, wholeBodyOf } from "../../support/clients/answers.ts"
import { startRuled, statuses, together } from "../../support/gateways/keyRules.ts"
import { closeAfterEach } from "../../support/gateways/watched.ts"

closeAfterEach()

describe("a key's rate limit", () => {
  const rateLimit = { requests: 3, intervalSeconds: 10 }

  test("admits exactly so many of concurrent requests, and refuses the others without a reservation or a call", async () => {
    const gateway = await startRuled()
    const key = await gateway.newKey({ rateLimit, limit: 10_000_000_000_000n })
    const answers = await together(20, () => gateway.ask(key))
    expect(statuses(answers)).toEqual([...Array(3).fill(200), ...Array(17).fill(429)])
    expect(gateway.called).toHaveLength(3)
    expect(await gateway.rowsOf(key)).toHaveLength(3)
    // Another key has nothing to do with it.
    await wholeBodyOf(await gateway.ask(gateway.key))
  })

  test("says when, and waiting that long succeeds", async () => {
    const gateway = await startRuled()
    const key = await gateway.newKey({ rateLimit })
    for (let n = 0; n < 3; n++) {
      await wholeBodyOf(await gateway.ask(key))
      gateway.clock.advance(1300)
    }
    const refused = await gateway.ask(key, { stream: true })
    const headers = {
      "X-RateLimit-Limit": "3",
      "X-RateLimit-Remaining": "0",
      "X-RateLimit-Reset": String(Date.UTC(2026, 0, 15, 23, 0) + 10_000),
    }
    for (const [name, value] of Object.entries(headers)) expect(refused.headers.get(name)).toBe(value)
    expect(refused.headers.get("retry-after")).toBe("7")
    expect(refused.headers.get("x-gw-host")).toBeNull()
    expect(await errorOf(refused)).toEqual({
      code: 429,
      message: "Rate limit exceeded: requests of this key.",
      metadata: {
        error_type: "rate_limit_exceeded",
        headers,
        limit_source: "gateway_key_rate_limit",
        remedy_hint: "Wait, or ask for a higher rate_limit of the key",
      },
    })
    gateway.clock.advance(6099)
    expect((await gateway.ask(key)).status).toBe(429)
    gateway.clock.advance(1)
    const [first, ...others] = await together(3, () => gateway.ask(key, { stream: true }))
    expect(statuses([first, ...others].flatMap((one) => one ?? []))).toEqual([200, 429, 429])
  })

  test("is checked before the body, so a request that is refused for its body counts too", async () => {
    const gateway = await startRuled()
    const key = await gateway.newKey({ rateLimit: { requests: 1, intervalSeconds: 60 } })
    expect((await gateway.ask(key, { model: "" })).status).toBe(400)
    expect((await gateway.ask(key, { model: "" })).status).toBe(429)
  })

  test("does not concern the control plane, and a success says nothing of it", async () => {
    const gateway = await startRuled()
    const key = await gateway.newKey({ rateLimit: { requests: 1, intervalSeconds: 60 } })
    for (let n = 0; n < 3; n++) await gateway.statusOf(key)
    const answer = await gateway.ask(key)
    expect([...answer.headers.keys()].filter((name) => name.startsWith("x-ratelimit"))).toEqual([])
    await wholeBodyOf(answer)
  })

  test("is that of the last change at once: what was admitted counts against the new one", async () => {
    const gateway = await startRuled()
    const key = await gateway.newKey({ rateLimit })
    for (let n = 0; n < 3; n++) await wholeBodyOf(await gateway.ask(key))
    expect((await gateway.ask(key)).status).toBe(429)
    await gateway.manage(key, "PATCH", { rate_limit: { requests: 4, interval_s: 10 } })
    await wholeBodyOf(await gateway.ask(key))
    expect((await gateway.ask(key)).status).toBe(429)
    await gateway.manage(key, "PATCH", { rate_limit: { requests: 4, interval_s: 5 } })
    gateway.clock.advance(5000)
    await wholeBodyOf(await gateway.ask(key))
    await gateway.manage(key, "PATCH", { rate_limit: null })
    expect(statuses(await together(10, () => gateway.ask(key)))).toEqual(Array(10).fill(200))
  })
})

describe("the models and providers that a key may use", () => {
  test.each([
    [["acme/*"], null, {}, "a"],
    [["ACME/LARGE", "acme/small"], null, {}, "a"],
    [["*"], ["b"], {}, "b"],
    [null, ["[ab]", "B*"], {}, "b"],
    [null, ["b"], { models: ["acme/large", "acme/small"], model: undefined }, "b"],
    [["acme/large"], null, { models: ["acme/small", "acme/large"], model: undefined }, "a"],
  ] as const)("models %p, providers %p, request %p: host %s", async (allowedModels, allowedProviders, more, host) => {
    const gateway = await startRuled()
    const key = await gateway.newKey({ allowedModels, allowedProviders })
    for (const stream of [false, true]) {
      const response = await gateway.ask(key, { ...more, stream })
      expect(response.headers.get("x-gw-host")).toBe(host)
      await (stream ? streamOf(response) : wholeBodyOf(response))
    }
  })

  test.each([
    [["other/*"], null, {}, "acme/small: excluded by its allowed_models."],
    [null, ["c"], {}, "acme/small: excluded by its allowed_providers."],
    [null, ["b"], { provider: { only: ["a"] } }, "acme/small: excluded by its allowed_providers."],
    [["acme/small"], null, { model: "acme/small:free" }, "acme/small:free: excluded by its allowed_models."],
    [
      ["acme/small"],
      ["b"],
      { models: ["acme/large", "acme/small"], model: undefined, provider: { only: ["a"] } },
      "acme/large, acme/small: excluded by its allowed_models and allowed_providers.",
    ],
  ] as const)(
    "models %p, providers %p, request %p: 403, and no host is called",
    async (models, providers, more, why) => {
      const gateway = await startRuled()
      const key = await gateway.newKey({ allowedModels: models, allowedProviders: providers })
      const { code, message, metadata } = await errorOf(await gateway.ask(key, { ...more }))
      expect([code, metadata]).toEqual([403, { error_type: "permission_denied" }])
      expect(message).toBe(`This key may not use ${why}`)
      expect(gateway.called).toEqual([])
      expect(await gateway.rowsOf(key)).toEqual([])
    },
  )

  test("are no reason where the request itself leaves no host", async () => {
    const gateway = await startRuled()
    const key = await gateway.newKey({ allowedProviders: ["b"] })
    expect((await gateway.ask(key, { provider: { only: ["nobody"] } })).status).toBe(404)
    expect((await gateway.ask(key, { model: "acme/none" })).status).toBe(400)
  })

  test("are no reason where a host that the key may use cools down: waiting helps", async () => {
    const gateway = await startRuled()
    const key = await gateway.newKey({ allowedProviders: ["b"] })
    gateway.answers["b"] = () => Response.json({ error: { message: "later" } }, { status: 429 })
    expect((await gateway.ask(key)).status).toBe(429)
    const cooling = await gateway.ask(key)
    expect([cooling.status, cooling.headers.get("retry-after")]).toEqual([429, "5"])
    expect(gateway.called).toEqual(["b"])
  })

  test("are those of the last change at once", async () => {
    const gateway = await startRuled()
    const key = await gateway.newKey({ allowedModels: ["acme/large"] })
    expect((await gateway.ask(key)).status).toBe(403)
    await gateway.manage(key, "PATCH", { allowed_models: ["acme/large", "acme/small"], allowed_providers: ["b"] })
    expect((await gateway.ask(key)).headers.get("x-gw-host")).toBe("b")
    await gateway.manage(key, "PATCH", { allowed_models: null, allowed_providers: null })
    expect((await gateway.ask(key)).headers.get("x-gw-host")).toBe("a")
  })
})
