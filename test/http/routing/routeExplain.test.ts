/** `POST /api/v1/route/explain`: the plan of a request, without the request. */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { randomSequence } from "../../../src/domain/structures/randomSequence.ts"
import { defineStrategy, type Reasons } from "../../../src/plugin/strategy.ts"
import { Meter } from "../../../src/services/money/Meter.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { errorOf } from "../../support/clients/answers.ts"
import { explainedBy } from "../../support/clients/explained.ts"
import { gatewayWithoutSocket, ownPlugins } from "../../support/gateways/gateway.ts"
import { ask, closeAfterEach, good, routed, status } from "../../support/gateways/routed.ts"
import { configFor } from "../../support/hosts/host.ts"

closeAfterEach()

const balanced = { routing: { strategy: "balanced" } }

describe("an explanation", () => {
  test("has the plan with its numbers, and calls nobody", async () => {
    const gateway = await routed(
      { a: good(), b: good(), c: good() },
      { prices: { c: { prompt: "0.000009" } }, ...balanced },
    )
    const body = ask({ max_tokens: 100, provider: { ignore: ["b"] } })
    const data = await explainedBy(gateway, body, "?seed=7")
    expect(data).toEqual({
      strategy: "balanced",
      seed: 7,
      attempts: [
        {
          model: "acme/small",
          host: "a",
          provider: "a",
          rank: 1,
          // One token of prompt, and 100 of output.
          estimated_cost_usd: "0.000201",
          why: { price_usd_per_million: "3", weight: 0.1111, failing: false, standing: "normal" },
        },
        {
          model: "acme/small",
          host: "c",
          provider: "c",
          rank: 2,
          estimated_cost_usd: "0.000209",
          why: { price_usd_per_million: "11", weight: 0.008264, failing: false, standing: "normal" },
        },
      ],
      excluded: [{ model: "acme/small", host: "b", by: "ignore", reason: expect.any(String) }],
      dropped_parameters: {},
    })
    expect(gateway.called()).toEqual([])
    const { total, reserved } = await gateway.run(Effect.flatMap(Meter, (meter) => meter.spent(keyId(gateway.key))))
    expect([total, reserved]).toEqual([0n, 0n])
  })

  test("is the same for the same seed, and another one for others", async () => {
    const gateway = await routed(
      { a: good(), b: good(), c: good() },
      { prices: { a: { prompt: "0.000001" }, b: { prompt: "0.000001" }, c: { prompt: "0.000001" } }, ...balanced },
    )
    const firsts = new Map<string, number>()
    for (let seed = 0; seed < 30; seed++) {
      const [one, two] = [
        await explainedBy(gateway, ask(), `?seed=${seed}`),
        await explainedBy(gateway, ask(), `?seed=${seed}`),
      ]
      expect(one).toEqual(two)
      const first = one.attempts[0]?.host ?? ""
      firsts.set(first, (firsts.get(first) ?? 0) + 1)
    }
    expect([...firsts.keys()].toSorted()).toEqual(["a", "b", "c"])
    const drawn = await explainedBy(gateway, ask())
    expect(await explainedBy(gateway, ask(), `?seed=${drawn.seed}`)).toEqual(drawn)
    expect((await explainedBy(gateway, ask())).seed).not.toBe(drawn.seed)
  })

  test("has the draws of the strategy repeated as shares, the same for the same seed", async () => {
    const gateway = await routed(
      { a: good(), b: good(), c: good(), d: good() },
      { prices: { a: { prompt: "0.000001" }, b: { prompt: "0.000001" }, c: { prompt: "0.000009" } }, ...balanced },
    )
    const body = ask({ provider: { ignore: ["d"] } })
    const { draws } = await explainedBy(gateway, body, "?seed=7&draws=1000")
    expect(draws?.count).toBe(1000)
    const shares = new Map(draws?.shares.map(({ host, share }) => [host, share]))
    expect([...shares.keys()].toSorted()).toEqual(["a", "b", "c"])
    expect(draws?.shares.reduce((all, { first }) => all + first, 0)).toBe(1000)
    // Two of the same price, and one whose weight is the 13th part: 0.48, 0.48 and 0.04.
    expect(shares.get("a")).toBeWithin(0.4, 0.56)
    expect(shares.get("b")).toBeWithin(0.4, 0.56)
    expect(shares.get("c")).toBeWithin(0.01, 0.09)
    expect((await explainedBy(gateway, body, "?seed=7&draws=1000")).draws).toEqual(draws)
    expect((await explainedBy(gateway, body, "?seed=8&draws=1000")).draws).not.toEqual(draws)
    expect(gateway.called()).toEqual([])
  })

  test("of a strategy that draws nothing has one host first, each time; of an empty plan there is no share", async () => {
    const gateway = await routed({ a: good(), b: good() })
    expect((await explainedBy(gateway, ask(), "?draws=20")).draws).toEqual({
      count: 20,
      shares: [
        { model: "acme/small", host: "a", first: 20, share: 1 },
        { model: "acme/small", host: "b", first: 0, share: 0 },
      ],
    })
    const none = await explainedBy(gateway, ask({ provider: { only: ["c"] } }), "?draws=20")
    expect(none.draws).toEqual({ count: 0, shares: [] })
    expect((await explainedBy(gateway, ask())).draws).toBeUndefined()
  })

  test("of several at once are made one after another, so that they hold the event loop no longer than one", async () => {
    const drawnFor: Array<string> = []
    const slow = defineStrategy({
      id: "slow",
      config: Schema.Struct({}),
      load:
        () =>
        (candidates, { request }) => {
          drawnFor.push(request.routing.preferences.ignore.join())
          // Longer than draws go on without a pause.
          for (const end = performance.now() + 6; performance.now() < end; );
          return candidates
        },
    })
    const urls = { a: { url: "http://127.0.0.1:1/v1" }, b: { url: "http://127.0.0.1:1/v1" } }
    const gateway = await gatewayWithoutSocket({
      config: configFor(urls, { routing: { strategy: "slow" } }),
      plugins: [...(await Effect.runPromise(ownPlugins)), slow],
    })
    const ignored = ["one", "two", "three"]
    await Promise.all(ignored.map((name) => explainedBy(gateway, ask({ provider: { ignore: [name] } }), "?draws=5")))
    await gateway.stop()
    // The first time is for the plan, which does not wait for the draws of others.
    const draws = drawnFor.filter((name, at) => drawnFor.indexOf(name) !== at)
    expect(draws).toHaveLength(15)
    expect(draws.filter((name, at) => name !== draws[at - 1])).toHaveLength(3)
  })

  test.each(["0", "1001", "-1", "1.5", "", "9&draws=9"])("refuses draws=%s", async (draws) => {
    const gateway = await routed({ a: good() })
    const response = await gateway.call(`/route/explain?draws=${draws}`, {
      method: "POST",
      body: JSON.stringify(ask()),
    })
    expect(await errorOf(response)).toMatchObject({ code: 400, metadata: { path: "draws" } })
  })

  test("the seed of a request is in the ledger, and repeats its plan", async () => {
    const gateway = await routed(
      { a: good(), b: good(), c: good() },
      { prices: { a: { prompt: "0.000001" }, b: { prompt: "0.000001" }, c: { prompt: "0.000001" } }, ...balanced },
    )
    for (let round = 0; round < 10; round++) {
      const host = (await gateway.chat(ask())).headers.get("x-gw-host")
      const [row] = await gateway.run(Effect.flatMap(Storage, (storage) => storage.ledger.rows(keyId(gateway.key), 1)))
      expect(row?.strategy).toBe("balanced")
      const again = await explainedBy(gateway, ask(), `?seed=${row?.seed}`)
      expect(again.attempts[0]?.host).toBe(host ?? "")
    }
  })

  test("an unknown price has no estimate; free answers cost nothing; images and answers count", async () => {
    const gateway = await routed({ a: good() }, { prices: { a: { prompt: "0", completion: "0.000001" } } })
    const [four] = (await explainedBy(gateway, ask({ n: 4 }))).attempts
    // 512 tokens for each answer where the caller gives no bound.
    expect(four?.estimated_cost_usd).toBe("0.002048")
    const [free] = (await explainedBy(gateway, ask({ max_tokens: 1 }))).attempts
    expect(free?.estimated_cost_usd).toBe("0.000001")
  })

  test("names members that a host would not be sent", async () => {
    const config = {
      providers: { claude: { plugin: "anthropic", api_key: "k" } },
      models: [
        {
          id: "acme/claude",
          context_length: 1000,
          hosts: [{ provider: "claude", model: "claude", pricing: { prompt: "0", completion: "0" } }],
        },
      ],
    }
    const gateway = await gatewayWithoutSocket({ config })
    const body = { ...ask({ frequency_penalty: 1, logit_bias: { "1": 2 } }), model: "acme/claude" }
    const data = await explainedBy(gateway, body)
    expect(Object.keys(data.dropped_parameters)).toEqual(["claude"])
    expect(data.dropped_parameters["claude"]?.toSorted()).toEqual(["frequency_penalty", "logit_bias"])
    await gateway.stop()
  })

  test("leaves out a host whose protocol cannot carry the request, and says what the request gets without it", async () => {
    const pricing = { prompt: "0.000001", completion: "0.000001" }
    const config = {
      providers: {
        claude: { plugin: "anthropic", api_key: "k" },
        local: { plugin: "openai-compatible", base_url: "http://127.0.0.1:1/v1", network: "private" as const },
      },
      models: [
        { id: "acme/one", context_length: 1000, hosts: ["claude", "local"].map((provider) => ({ provider, pricing })) },
      ],
    }
    const gateway = await gatewayWithoutSocket({ config })
    const audio = { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }
    const body = { model: "acme/one", messages: [{ role: "user", content: [audio] }] }
    const reason = "messages[0].content[0]: this host takes no audio"
    const both = await explainedBy(gateway, body)
    expect(both.attempts.map(({ host }) => host)).toEqual(["local"])
    expect(both.excluded).toEqual([{ model: "acme/one", host: "claude", by: "protocol", reason }])

    const alone = { ...body, provider: { only: ["claude"] } }
    const none = await explainedBy(gateway, alone)
    expect(none.attempts).toEqual([])
    expect(none.error).toEqual(await errorOf(await gateway.chat(alone)))
    expect(none.error).toMatchObject({ code: 400, metadata: { path: "messages[0].content[0]" } })
    await gateway.stop()
  })

  test("a host is pinned by `X-GW-Host`, as for a request", async () => {
    const gateway = await routed({ a: good(), b: good() })
    const { attempts, excluded } = await explainedBy(gateway, ask(), "", { "x-gw-host": "b" })
    expect(attempts.map(({ host }) => host)).toEqual(["b"])
    expect(excluded).toMatchObject([{ host: "a", by: "only" }])
  })
})

describe("nothing is left to try", () => {
  const cases = [
    ["no host matches", { provider: { only: ["nobody"] } }, 404],
    ["the prompt is too long", { messages: [{ role: "user", content: "x".repeat(500_000) }] }, 400],
  ] as const
  test.each(cases)("%s: 200 with the error that the request gets", async (_, more, code) => {
    const gateway = await routed({ a: good(), b: good() })
    const data = await explainedBy(gateway, ask(more))
    const refused = await gateway.chat(ask(more))
    expect(refused.status).toBe(code)
    const error = await errorOf(refused)
    expect(data.attempts).toEqual([])
    expect(data.excluded.map(({ host }) => host)).toEqual(["a", "b"])
    expect(data.error).toEqual(error)
  })

  test("the key has too little left", async () => {
    const gateway = await routed({ a: good() })
    const headers = { authorization: `Bearer ${await gateway.newKey({ limit: 10n })}` }
    const data = await explainedBy(gateway, ask(), "", headers)
    expect(data.excluded).toMatchObject([{ host: "a", by: "budget" }])
    expect(data.error).toEqual(await errorOf(await gateway.chat(ask(), { headers })))
  })

  test("every host is cooling down", async () => {
    const gateway = await routed({ a: status(401) })
    await gateway.chat(ask())
    const data = await explainedBy(gateway, ask())
    expect(data.excluded).toMatchObject([{ host: "a", by: "cooldown" }])
    expect(data.error).toMatchObject({ code: 503 })
  })
})

describe("who may ask", () => {
  const post = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  })

  test("a management key asks for the key that it names, with that key's budget", async () => {
    const gateway = await routed({ a: good() })
    const poor = keyId(await gateway.newKey({ limit: 10n }))
    const headers = { authorization: `Bearer ${gateway.managementKey}` }
    const own = await explainedBy(gateway, ask(), `?key_hash=${keyId(gateway.key)}`, headers)
    expect(own.attempts).toHaveLength(1)
    expect((await explainedBy(gateway, ask(), `?key_hash=${poor}`, headers)).error).toMatchObject({ code: 402 })

    // Without a key it is the plan of one without a limit and without lists.
    expect((await explainedBy(gateway, ask(), "", headers)).attempts).toEqual(own.attempts)

    const of = async (query: string) => errorOf(await gateway.call(`/route/explain${query}`, post(ask(), headers)))
    expect(await of("?key_hash=unknown")).toMatchObject({ code: 404, message: "This key does not exist." })
    expect(await of(`?key_hash=${keyId(gateway.managementKey)}`)).toMatchObject({ code: 404 })
    expect(await of("?key_hash=")).toMatchObject({ code: 400, metadata: { path: "key_hash" } })
  })

  test("an ordinary key asks for itself only", async () => {
    const gateway = await routed({ a: good() })
    expect((await explainedBy(gateway, ask(), `?key_hash=${keyId(gateway.key)}`)).attempts).toHaveLength(1)
    const other = keyId(await gateway.newKey())
    expect(await errorOf(await gateway.call(`/route/explain?key_hash=${other}`, post(ask())))).toMatchObject({
      code: 403,
    })
    const unknown = await gateway.call("/route/explain", post(ask(), { authorization: "Bearer nobody" }))
    expect(await errorOf(unknown)).toEqual({
      code: 401,
      message: "User not found. This is no active key of this gateway.",
    })
  })

  test.each([
    ["?seed=-1", ask(), "seed"],
    ["?seed=4294967296", ask(), "seed"],
    ["?seed=1.5", ask(), "seed"],
    ["?seed=", ask(), "seed"],
    ["?seed=1&seed=2", ask(), "seed"],
    ["", { model: "acme/small" }, "messages"],
    ["", ask({ temperature: 3 }), "temperature"],
    ["", ask({ provider: { sort: "luck" } }), "provider.sort"],
    ["", ask({ model: "acme/unknown" }), "model"],
  ])("%s %j is refused at %s", async (query, body, path) => {
    const gateway = await routed({ a: good() })
    expect(await errorOf(await gateway.call(`/route/explain${query}`, post(body)))).toMatchObject({
      code: 400,
      metadata: { path },
    })
  })

  test("counts against the key's rate limit: the router could be asked without end", async () => {
    const gateway = await routed({ a: good() })
    const authorization = `Bearer ${await gateway.newKey({ rateLimit: { requests: 2, intervalSeconds: 60 } })}`
    await explainedBy(gateway, ask(), "", { authorization })
    expect((await gateway.chat(ask(), { headers: { authorization } })).status).toBe(200)
    const refused = await gateway.call("/route/explain", post(ask(), { authorization }))
    expect([refused.status, refused.headers.get("x-ratelimit-limit")]).toEqual([429, "2"])
  })

  test("costs no request to a free model", async () => {
    const billing = { free_models: { requests_per_day: 1 } }
    const gateway = await routed({ a: good() }, { change: { model: { id: "acme/small:free" } }, billing })
    const body = ask({ model: "acme/small:free" })
    await explainedBy(gateway, body)
    expect((await gateway.chat(body)).status).toBe(200)
    expect((await gateway.chat(body)).status).toBe(429)
  })

  test("pages of allowed origins, as with other calls to models", async () => {
    const gateway = await routed({ a: good() }, { server: { cors_origins: ["https://a.test"] } })
    const response = await gateway.call("/route/explain", post(ask(), { origin: "https://a.test" }))
    expect(response.headers.get("access-control-allow-origin")).toBe("https://a.test")
    const asked = await gateway.call("/route/explain", { method: "OPTIONS", headers: { origin: "https://a.test" } })
    expect(asked.status).toBe(204)
  })

  test("over a socket too, on the native route", async () => {
    const gateway = await routed({ a: good() }, { socket: true })
    expect((await explainedBy(gateway, ask(), "?seed=3")).seed).toBe(3)
    expect((await gateway.call("/route/explain")).status).toBe(404)
  })

  test("an explanation keeps no place of a request", async () => {
    const gateway = await routed({ a: good() }, { limits: { max_in_flight: 1 } })
    await explainedBy(gateway, ask())
    await gateway.call("/route/explain", post({}))
    expect((await gateway.chat(ask())).status).toBe(200)
  })
})

describe("a strategy that explains itself wrongly", () => {
  const faults: ReadonlyArray<readonly [string, () => unknown]> = [
    [
      "throws",
      () => {
        throw new Error("no numbers")
      },
    ],
    ["returns no object", () => 7],
    ["returns nested values", () => ({ a: { b: 1 } })],
    ["returns NaN", () => ({ a: Number.NaN })],
    ["is async", async () => ({})],
  ]
  test.each(faults)("%s: the order stands, without numbers", async (_, why) => {
    const odd = defineStrategy({
      id: "odd",
      config: Schema.Struct({}),
      load: () => (candidates) => candidates.toReversed(),
      // A plugin in JavaScript may return anything.
      why: () => why() as Reasons,
    })
    const urls = { a: { url: "http://127.0.0.1:1/v1" }, b: { url: "http://127.0.0.1:1/v1" } }
    const gateway = await gatewayWithoutSocket({
      config: configFor(urls, { routing: { strategy: "odd" } }),
      plugins: [...(await Effect.runPromise(ownPlugins)), odd],
    })
    const { attempts } = await explainedBy(gateway, ask())
    await gateway.stop()
    expect(attempts.map(({ host, why }) => [host, why])).toEqual([
      ["b", null],
      ["a", null],
    ])
  })
})

test("seeds of plans are spread evenly", () => {
  const seeds = randomSequence(1)
  const draws = Array.from({ length: 100_000 }, () => randomSequence(Math.floor(seeds() * 2 ** 32))())
  const first = draws.filter((draw) => draw < 0.9).length
  // Five standard deviations.
  expect(Math.abs(first - 90_000)).toBeLessThan(5 * Math.sqrt(100_000 * 0.09))
})
