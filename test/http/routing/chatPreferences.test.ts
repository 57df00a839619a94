/** Which host is called first, and which are left out: preferences of a request, pinned hosts and strategies. */
import { describe, expect, test } from "bun:test"
import * as Schema from "effect/Schema"
import { defineStrategy } from "headgate/plugin"
import { errorOf, streamOf, wholeBodyOf } from "../../support/clients/answers.ts"
import { ask, closeAfterEach, good, routed, status } from "../../support/gateways/routed.ts"
import { closeAfterEach as closeWatchedAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"
import { withOdd } from "../../support/hosts/oddPlugin.ts"

closeAfterEach()
closeWatchedAfterEach()

const contentOf = async (response: Response): Promise<unknown> =>
  (await wholeBodyOf(response)).choices[0]?.message.content

describe("preferences", () => {
  const abc = (more?: Parameters<typeof routed>[1]) => routed({ a: good("a"), b: good("b"), c: good("c") }, more)
  const failing = (...names: ReadonlyArray<string>) =>
    routed(Object.fromEntries(["a", "b", "c"].map((name) => [name, names.includes(name) ? status(500) : good(name)])))

  test.each([
    ["none", {}, "a"],
    ["order", { order: ["c", "a"] }, "c"],
    ["order with unknown names", { order: ["nobody", "b"] }, "b"],
    ["only", { only: ["b", "c"] }, "b"],
    ["only in capitals", { only: ["B"] }, "b"],
    ["ignore", { ignore: ["a"] }, "b"],
    ["only and ignore", { only: ["a", "b"], ignore: ["a"] }, "b"],
    ["order and only", { order: ["a", "c"], only: ["b", "c"] }, "c"],
    ["a ceiling that two hosts meet", { max_price: { prompt: 2 }, order: ["c", "b"] }, "b"],
    ["a ceiling that is just reached", { max_price: { prompt: "1", completion: 2 }, order: ["c"] }, "a"],
  ] as const)("%s", async (_name, provider, expected) => {
    const gateway = await abc()
    const response = await gateway.chat(ask({ provider }))
    expect(await contentOf(response)).toBe(expected)
    expect(response.headers.get("x-gw-host")).toBe(expected)
    expect(gateway.called()).toEqual([expected])
  })

  test("the other hosts follow the listed ones", async () => {
    const gateway = await failing("a", "b", "c")
    await gateway.chat(ask({ provider: { order: ["c", "b"] } }))
    expect(gateway.called()).toEqual(["c", "b", "a"])
  })

  test("without fallbacks only the listed ones are called", async () => {
    const gateway = await failing("b", "c")
    expect((await gateway.chat(ask({ provider: { order: ["c", "b"], allow_fallbacks: false } }))).status).toBe(502)
    expect(gateway.called()).toEqual(["c", "b"])
  })

  test("without fallbacks and without a list only the first is called", async () => {
    const gateway = await failing("a")
    expect((await gateway.chat(ask({ provider: { allow_fallbacks: false } }))).status).toBe(502)
    expect(gateway.called()).toEqual(["a"])
  })

  test("disallowed fallbacks concern hosts, not models: one host of each model is called", async () => {
    const gateway = await routed(
      { a: status(500), b: good(), other: good("other"), next: good() },
      { models: { "acme/other": ["other", "next"] } },
    )
    for (const sort of ["price", { by: "price", partition: "none" }]) {
      const body = ask({ models: ["acme/other"], provider: { allow_fallbacks: false, sort } })
      expect((await wholeBodyOf(await gateway.chat(body))).model).toBe("acme/other")
    }
    expect(gateway.called()).toEqual(["a", "other", "a", "other"])
  })

  test("`X-GW-Host` of a host that only the second model has was 404: that model is asked", async () => {
    const gateway = await routed({ a: good(), b: good(), other: good() }, { models: { "acme/other": ["other"] } })
    const pinned = { headers: { "x-gw-host": "other" } }
    const { model } = await wholeBodyOf(await gateway.chat(ask({ models: ["acme/other"] }), pinned))
    expect(model).toBe("acme/other")
    expect(gateway.called()).toEqual(["other"])
  })

  test("`X-GW-Host` pins one host, whatever the preferences", async () => {
    const gateway = await abc()
    const response = await gateway.chat(ask({ provider: { order: ["a"] } }), { headers: { "x-gw-host": "b" } })
    expect(response.headers.get("x-gw-host")).toBe("b")
    const nobody = await gateway.chat(ask(), { headers: { "x-gw-host": "nobody" } })
    expect(nobody.status).toBe(404)
    expect(gateway.called()).toEqual(["b"])
  })

  test.each([
    ["its tag", "b/eu", "b/eu"],
    ["its slug", "b", "b"],
    ["another spelling", "B/Eu", "b/eu"],
  ])("`X-GW-Host` pins a host by %s", async (_name, value, tag) => {
    const change = { more: [{ provider: "b", variant: "eu", pricing: { prompt: "1", completion: "1" } }] }
    const gateway = await routed({ a: good("a"), b: good("b") }, { change })
    const response = await gateway.chat(ask({ models: ["acme/small"] }), { headers: { "x-gw-host": value } })
    expect([response.status, response.headers.get("x-gw-host")]).toEqual([200, tag])
  })

  test("an empty `X-GW-Host` pins nothing", async () => {
    const gateway = await abc()
    expect((await gateway.chat(ask(), { headers: { "x-gw-host": "" } })).status).toBe(200)
  })

  test("a pinned host that fails is not replaced", async () => {
    const gateway = await failing("b")
    expect((await gateway.chat(ask(), { headers: { "x-gw-host": "b" } })).status).toBe(502)
    expect(gateway.called()).toEqual(["b"])
  })

  test("sort by price beats a strategy that spreads the load", async () => {
    const gateway = await abc({ routing: { strategy: "balanced" } })
    for (let at = 0; at < 24; at++) await gateway.chat(ask({ provider: { sort: "price" } }))
    expect(new Set(gateway.called())).toEqual(new Set(["a"]))
  })

  test("load balancing reaches every host, the cheapest most often", async () => {
    const gateway = await abc({ routing: { strategy: "balanced" } })
    // Prices 3, 4 and 5: about 48, 27 and 17 of these. The probability that one of them gets none is below 1e-9.
    for (let at = 0; at < 100; at++) await gateway.chat(ask())
    expect(new Set(gateway.called())).toEqual(new Set(["a", "b", "c"]))
  })

  test("models: the next one when all hosts of the first failed, and no host is called twice", async () => {
    const models = { "acme/second": ["c"], "acme/third": ["d"] }
    const gateway = await routed({ a: status(500), b: status(429), c: status(404), d: good("d") }, { models })
    const response = await gateway.chat(ask({ models: ["acme/small", "acme/second", "acme/third"], stream: true }))
    const { chunks, text } = await streamOf(response)
    expect(text).toBe("d")
    expect(chunks.every(({ model }) => model === "acme/third")).toBe(true)
    expect(response.headers.get("x-gw-host")).toBe("d")
    expect(gateway.called()).toEqual(["a", "b", "c", "d"])
  })

  test("`models` without `model`", async () => {
    const gateway = await routed({ a: good("a"), c: good("c") }, { models: { "acme/second": ["c"] } })
    const { model } = await wholeBodyOf(
      await gateway.chat(ask({ model: undefined, models: ["acme/second", "acme/small"] })),
    )
    expect(model).toBe("acme/second")
    expect(gateway.called()).toEqual(["c"])
  })

  test.each([
    ["only", { only: ["nobody"] }],
    ["ignore", { ignore: ["a", "b", "c"] }],
    ["max_price", { max_price: { prompt: 0.5 } }],
    ["max_price", { max_price: { completion: "1.999999" } }],
    ["quantizations", { quantizations: ["fp8"] }],
    ["data_collection", { data_collection: "deny" }],
    ["zdr", { zdr: true }],
  ] as const)("%s that leaves no host: 404 with every host and why", async (by, provider) => {
    const gateway = await abc()
    const response = await gateway.chat(ask({ provider }))
    expect(response.status).toBe(404)
    const { metadata } = await errorOf(response)
    expect(metadata).toMatchObject({ error_type: "not_found", excluded_by: [by], available_providers: ["a", "b", "c"] })
    expect(metadata?.["excluded"]).toMatchObject(
      ["a", "b", "c"].map((host) => ({ host, model: "acme/small", by, reason: expect.any(String) })),
    )
    expect(gateway.called()).toEqual([])
  })

  test("require_parameters keeps the hosts that support them all", async () => {
    const gateway = await abc()
    const response = await gateway.chat(ask({ temperature: 1, provider: { require_parameters: true } }))
    expect(response.status).toBe(404)
    expect((await errorOf(response)).metadata).toMatchObject({ excluded_by: ["require_parameters"] })
  })

  test("a prompt that fits no host", async () => {
    const gateway = await abc()
    const response = await gateway.chat(ask({ messages: [{ role: "user", content: "x".repeat(16 * 8192 + 16) }] }))
    expect(response.status).toBe(400)
    expect((await errorOf(response)).metadata).toMatchObject({
      error_type: "context_length_exceeded",
      path: "messages",
    })
    expect(gateway.called()).toEqual([])
  })
})

test.each([
  ["throws", "throw"],
  ["loses hosts", "lose"],
] as const)("a strategy that %s costs the order, not the request", async (_name, mistake) => {
  const broken = defineStrategy({
    id: "broken",
    config: Schema.Struct({}),
    load: () => () => {
      if (mistake === "lose") return []
      throw new Error("a plugin's mistake")
    },
  })
  const host = opened(scriptedHost(() => wholeAnswer("hello")))
  const gateway = await startWatched({
    config: { ...configFor({ one: host, two: host }), routing: { strategy: "broken" } },
    plugins: [...(await withOdd({})), broken],
  })
  expect((await gateway.chat(ask())).status).toBe(200)
})
