/** Variants of a model's name, service tiers and preferred speeds: which host is called, and what it is sent. */
import { describe, expect, test } from "bun:test"
import * as Schema from "effect/Schema"
import { defineStrategy } from "headgate/plugin"
import { errorOf, streamOf, wholeBodyOf } from "../../support/clients/answers.ts"
import { explainedBy } from "../../support/clients/explained.ts"
import { type Answer, ask, closeAfterEach, good, routed, status } from "../../support/gateways/routed.ts"

closeAfterEach()

const free = { pricing: { prompt: "0", completion: "0", web_search: "0" } }
const thinks = { supported_parameters: ["reasoning", "max_tokens"] }
const searches = {
  supported_parameters: ["web_search_options"],
  pricing: { prompt: "0.000001", completion: "0.000002", web_search: "0.01" },
}

/** The host that answered, by the header. */
const servedBy = (response: Response) => [response.status, response.headers.get("x-gw-host")]

describe("a variant", () => {
  test("`:free` leaves the free hosts", async () => {
    const gateway = await routed({ a: good(), b: good(), c: good() }, { change: { hosts: { b: free } } })
    expect(servedBy(await gateway.chat(ask({ model: "acme/small:free" })))).toEqual([200, "b"])
    expect(servedBy(await gateway.chat(ask({ provider: { order: ["a"] } })))).toEqual([200, "a"])
  })

  test("`:free` with the paid model as its fallback: the free host first, then the others", async () => {
    const gateway = await routed({ a: good(), b: status(500), c: good() }, { change: { hosts: { b: free } } })
    const response = await gateway.chat(ask({ model: "acme/small:free", models: ["acme/small"] }))
    expect(servedBy(response)).toEqual([200, "a"])
    expect(gateway.called()).toEqual(["b", "a"])
  })

  test("`:free` without a free host: 404, with the paid model in place of it", async () => {
    const gateway = await routed({ a: good() })
    const { code, message, availability } = await errorOf(await gateway.chat(ask({ model: "acme/small:free" })))
    expect([code, message]).toEqual([
      404,
      "No free endpoints found for acme/small:free: ask for acme/small, which is paid.",
    ])
    expect(availability).toMatchObject({
      code: "free_variant_ended",
      fallback_models: ["acme/small"],
      retryable: false,
    })
  })

  test("`:extended` leaves the hosts with the longest context", async () => {
    const gateway = await routed({ a: good(), b: good() }, { change: { hosts: { b: { context_length: 100_000 } } } })
    expect(servedBy(await gateway.chat(ask({ model: "acme/small:extended" })))).toEqual([200, "b"])
  })

  test("`:thinking` switches reasoning on, and leaves the hosts that have it", async () => {
    const gateway = await routed(
      { a: good(), b: good() },
      { change: { hosts: { a: { supported_parameters: ["tools"] }, b: thinks } } },
    )
    expect(servedBy(await gateway.chat(ask({ model: "acme/small:thinking" })))).toEqual([200, "b"])
    expect(gateway.hosts["b"]?.calls[0]?.body["reasoning_effort"]).toBe("medium")
    await gateway.chat(ask({ model: "acme/small:thinking", reasoning: { effort: "low" } }))
    expect(gateway.hosts["b"]?.calls[1]?.body["reasoning_effort"]).toBe("low")
    await gateway.chat(ask({ model: "acme/small", provider: { only: ["b"] } }))
    expect(gateway.hosts["b"]?.calls[2]?.body).not.toHaveProperty("reasoning_effort")
  })

  test("`:online` uses the host's own search", async () => {
    const gateway = await routed({ a: good(), b: good() }, { change: { hosts: { b: searches } } })
    expect(servedBy(await gateway.chat(ask({ model: "acme/small:online" })))).toEqual([200, "b"])
    expect(gateway.hosts["b"]?.calls[0]?.body["web_search_options"]).toEqual({})
    const web_search_options = { search_context_size: "low" }
    await gateway.chat(ask({ model: "acme/small:online", web_search_options }))
    expect(gateway.hosts["b"]?.calls[1]?.body["web_search_options"]).toEqual(web_search_options)
  })

  test("`:online` reserves money for several searches, a name without it for one", async () => {
    const pricing = { prompt: "0.000001", completion: "0.000002", web_search: "0.01" }
    const gateway = await routed({ a: good() }, { change: { hosts: { a: { ...searches, pricing } } } })
    const authorization = `Bearer ${await gateway.newKey({ limit: 50_000_000_000n })}`
    const statusOf = async (model: string) =>
      (await gateway.chat(ask({ model, max_tokens: 10 }), { headers: { authorization } })).status
    expect(await statusOf("acme/small")).toBe(200)
    expect(await statusOf("acme/small:online")).toBe(402)
    expect(await statusOf("acme/small:online:floor")).toBe(402)
    const explained = await explainedBy(gateway, ask({ model: "acme/small:online", max_tokens: 10 }), "", {
      authorization,
    })
    expect(explained.error).toMatchObject({ code: 402 })
  })

  test("`:online` of a model whose hosts have no search is 400, and no other model is tried", async () => {
    const gateway = await routed({ a: good(), b: good() }, { models: { "acme/big": ["b"] } })
    const response = await gateway.chat(ask({ model: "acme/small:online", models: ["acme/big"] }))
    const { code, metadata } = await errorOf(response)
    expect([code, metadata?.["path"]]).toEqual([400, "model"])
    expect(gateway.called()).toEqual([])
  })

  test("two of them can be combined", async () => {
    const gateway = await routed(
      { a: good(), b: good(), c: good() },
      { change: { hosts: { a: searches, c: { ...searches, ...free } } } },
    )
    expect(servedBy(await gateway.chat(ask({ model: "small:free:online" })))).toEqual([200, "c"])
  })

  test.each([
    [":floor", {}, "a"],
    [":nitro", {}, "c"],
    [":exacto", {}, "b"],
    [":nitro", { sort: "price" }, "a"],
    [":floor", { sort: { by: "throughput" } }, "c"],
    [":floor", { order: ["b"] }, "b"],
  ] as const)("%s with %p", async (variant, provider, expected) => {
    const gateway = await routed(
      { a: good(), b: good(), c: good() },
      { strategies: [front("price", "a"), front("throughput", "c"), front("exacto", "b")] },
    )
    const response = await gateway.chat(ask({ model: `acme/small${variant}`, provider }))
    expect(servedBy(response)).toEqual([200, expected])
  })

  test("each model is ordered as its own variant says", async () => {
    const gateway = await routed(
      { a: status(500), b: status(500), c: status(500), d: status(500) },
      {
        models: { "acme/big": ["c", "d"] },
        strategies: [front("price", "a"), front("throughput", "d")],
      },
    )
    await gateway.chat(ask({ model: "acme/small:floor", models: ["acme/big:nitro"] }))
    expect(gateway.called()).toEqual(["a", "b", "d", "c"])
  })
})

/** A strategy that puts one host in front. */
const front = (id: string, tag: string) =>
  defineStrategy({
    id,
    config: Schema.Struct({}),
    load: () => (candidates) => candidates.toSorted((a, b) => Number(b.host.tag === tag) - Number(a.host.tag === tag)),
  })

describe("service tiers", () => {
  const tiers = { more: ["flex", "priority"].map((variant) => ({ provider: "a", variant })) }
  const start = (change: Parameters<typeof routed>[1] = {}, answer: Answer = good()) =>
    routed({ a: answer, b: answer }, { change: tiers, ...change })

  test.each([
    ["nothing", {}, ["a", "b"]],
    ["default", { service_tier: "default" }, ["a", "b"]],
    ["default against the variant", { model: "acme/small:floor", service_tier: "default" }, ["a", "b"]],
    ["auto", { service_tier: "auto" }, ["a", "b"]],
    ["flex", { service_tier: "flex" }, ["a/flex"]],
    ["priority", { service_tier: "priority" }, ["a/priority", "a", "b"]],
    ["fast", { service_tier: "fast" }, ["a/priority", "a", "b"]],
    ["flex of one provider", { service_tier: "flex", provider: { only: ["a"] } }, ["a/flex"]],
    ["the variant for speed", { model: "acme/small:nitro" }, ["a", "b", "a/priority"]],
    ["the variant for low prices", { model: "acme/small:floor" }, ["a", "b", "a/flex"]],
    ["the variant and an order", { model: "acme/small:floor", provider: { order: ["b"] } }, ["b", "a"]],
    ["the full tag", { provider: { only: ["a/flex"] } }, ["a/flex"]],
    ["the slug", { provider: { only: ["a"] } }, ["a"]],
    ["the slug in an order", { service_tier: "priority", provider: { order: ["a"] } }, ["a", "b", "a/priority"]],
    ["an ignored provider", { service_tier: "priority", provider: { ignore: ["a"] } }, ["b"]],
  ] as const)("%s", async (_name, body, expected) => {
    const gateway = await start({}, status(500))
    const { metadata } = await errorOf(await gateway.chat(ask(body)))
    // A tier and its provider share one address, so attempts are counted.
    expect(metadata?.["previous_errors"]).toHaveLength(expected.length)
    const answering = await start()
    expect(servedBy(await answering.chat(ask(body)))).toEqual([200, expected[0]])
  })

  test.each([
    ["flex", "price"],
    ["priority", "throughput"],
    ["default", "balanced"],
  ])(
    "under %s the hosts are ordered by %s, and the explanation says so: it named the configured strategy",
    async (tier, strategy) => {
      const gateway = await start({ routing: { strategy: "balanced" } })
      const explained = await explainedBy(gateway, ask({ service_tier: tier }))
      expect(explained.strategy).toBe(strategy)
    },
  )

  test.each([false, true])("the host is asked for its tier, and the answer says it (stream: %p)", async (stream) => {
    const gateway = await start()
    const response = await gateway.chat(ask({ service_tier: "fast", stream }))
    const tier = stream
      ? (await streamOf(response)).chunks.at(-1)?.service_tier
      : (await wholeBodyOf(response)).service_tier
    expect(tier).toBe("priority")
    expect(gateway.hosts["a"]?.calls[0]?.body["service_tier"]).toBe("priority")
  })

  test("a host without the tier is not asked for it, since its price is another one", async () => {
    const gateway = await routed({ a: good() })
    const response = await gateway.chat(ask({ service_tier: "flex" }))
    expect(response.headers.get("x-gw-dropped")).toBe("service_tier")
    expect((await wholeBodyOf(response)).service_tier).toBe("default")
    expect(gateway.hosts["a"]?.calls[0]?.body).not.toHaveProperty("service_tier")
    const other = await gateway.chat(ask({ service_tier: "default" }))
    expect(other.headers.get("x-gw-dropped")).toBeNull()
    expect(gateway.hosts["a"]?.calls[1]?.body["service_tier"]).toBe("default")
  })

  test("billing follows the tier that served", async () => {
    const dear = { pricing: { prompt: "0.00001", completion: "0" } }
    const gateway = await routed({ a: good() }, { change: { more: [{ provider: "a", variant: "priority", ...dear }] } })
    const { usage } = await wholeBodyOf(await gateway.chat(ask({ service_tier: "priority" })))
    expect(usage.cost).toBe(0.0001)
  })
})
