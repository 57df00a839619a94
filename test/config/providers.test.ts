/** Which providers can be called, with what, and which models they bring. */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as TestContext from "effect/TestContext"
import { loadProviders } from "../../src/catalogue/Providers.ts"
import { unconfigured } from "../../src/config/fields/providerFields.ts"
import { costOf, type Prices } from "../../src/domain/price/price.ts"
import { noUsage } from "../../src/domain/price/Usage.ts"
import type { Provider, ProviderDefinition } from "../../src/plugin/Provider.ts"
import { authHeader, defineProvider, noAuth } from "../../src/plugin/Provider.ts"
import { ownPlugins } from "../support/gateways/gateway.ts"
import { registryOf, resolution, resolvedFrom } from "../support/gateways/resolved.ts"
import { silentProvider } from "../support/hosts/silentProvider.ts"

type Facts = Partial<Omit<ProviderDefinition<object, object>, "config" | "load">>

const plugin = (id: string, provider: Partial<Provider> = {}, facts: Facts = {}) =>
  defineProvider({
    id,
    name: id,
    baseUrl: "https://api.acme.example/v1",
    ...facts,
    config: Schema.Struct({}),
    load: () => ({ ...silentProvider, ...provider }),
  })

const loadedLater = (id: string, provider: Promise<Provider>) =>
  defineProvider({ id, name: id, baseUrl: "https://api.acme.example/v1", config: anything, load: () => provider })

const anything = Schema.Struct({ region: Schema.optional(Schema.String) })

const model = (id: string, ...providers: ReadonlyArray<string>) => ({
  id,
  context_length: 10,
  hosts: providers.map((provider) => ({ provider, pricing: { prompt: "0", completion: "0" } })),
})

/** How the only host of `acme` is called. */
const endpointOf = async (provider: Partial<Provider>, facts: Facts = {}, settings: object = {}) => {
  const config = { providers: { acme: settings }, models: [model("a/b", "acme")] }
  const { endpoints } = await resolvedFrom({ plugins: [plugin("acme", provider, facts)] }, config)
  const [endpoint] = endpoints.values()
  if (endpoint === undefined) throw new Error("no endpoint")
  return endpoint
}

describe("an endpoint", () => {
  test("may be in this network where its plugin says so, and the configuration does not", async () => {
    const facts = { network: "private", baseUrl: "http://127.0.0.1:8000/v1" } as const
    expect(await endpointOf({}, facts)).toMatchObject({ network: "private", host: { local: true } })
    expect(await endpointOf({}, facts, { network: "public" })).toMatchObject({ network: "public" })
    expect(await endpointOf({}, {}, { network: "private" })).toMatchObject({ network: "private" })
  })

  test("has the address of its protocol, unless one is configured", async () => {
    const [chat] = Object.values(silentProvider.protocols)
    if (chat === undefined) throw new Error("no protocol")
    const protocols = { chat: { ...chat, baseUrl: "https://other.acme.example/v2/" } }
    expect(await endpointOf({ protocols })).toMatchObject({ baseUrl: "https://other.acme.example/v2" })
    const configured = { base_url: "https://mine.example/v1" }
    expect(await endpointOf({ protocols }, {}, configured)).toMatchObject({ baseUrl: "https://mine.example/v1" })
  })

  const key = { api_key: "sk-of-acme" }

  test.each<[string, Partial<Provider>, Facts, Record<string, string>]>([
    ["a bearer token where the plugin says nothing", {}, {}, { authorization: "Bearer sk-of-acme" }],
    ["the header that the plugin names", {}, { auth: authHeader("X-Api-Key") }, { "x-api-key": "sk-of-acme" }],
    ["nothing where the plugin wants nothing", {}, { auth: noAuth }, {}],
    ["nothing where a transport says nothing", { transport: async () => new Response() }, {}, {}],
    [
      "what a transport asks for",
      { transport: async () => new Response() },
      { auth: authHeader("x-key") },
      { "x-key": "sk-of-acme" },
    ],
  ])("has as its credentials %s", async (_what, provider, facts, credentials) => {
    const { headers, fixedHeaders } = await endpointOf(provider, facts, key)
    expect(fixedHeaders).toEqual({ "accept-encoding": "identity", ...credentials })
    expect(headers).toEqual({
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...fixedHeaders,
    })
  })

  test("knows every secret of its provider, for signing and for redaction", async () => {
    const credentials = { secret_access_key: Redacted.make("aws-secret"), session_token: Redacted.make("") }
    const endpoint = await endpointOf({ credentials }, {}, key)
    expect(endpoint.secrets).toEqual(["aws-secret", "sk-of-acme"])
    expect(Object.keys(endpoint.credentials)).toEqual(["secret_access_key", "session_token", "api_key"])
    expect(Bun.inspect(endpoint.credentials)).not.toContain("aws-secret")
    expect((await endpointOf({})).secrets).toEqual([])
  })

  const inProcess = { transport: async () => new Response() }
  const region = { baseUrl: "https://region.example/v1/" }

  test.each<[string, Partial<Provider>, string | null, object]>([
    ["https://file.example/v1", region, "https://api.acme.example/v1", { base_url: "https://file.example/v1/" }],
    ["https://region.example/v1", region, "https://api.acme.example/v1", {}],
    ["https://api.acme.example/v1", {}, "https://api.acme.example/v1", {}],
    ["http://in.process", inProcess, null, {}],
  ])("is at %s", async (expected, provider, own, settings) => {
    const { baseUrl: _, ...homeless } = plugin("acme", provider)
    const plugins = [own === null ? homeless : { ...homeless, baseUrl: own }]
    const config = { providers: { acme: settings }, models: [model("a/b", "acme")] }
    const { endpoints } = await resolvedFrom({ plugins }, config)
    expect([...endpoints.values()].map(({ baseUrl }) => baseUrl)).toEqual([expected])
  })

  test("takes its limits and network from the settings", async () => {
    expect(
      await endpointOf({}, {}, { ttfb_ms: 0, network: "private", proxy: "http://proxy.example:3128" }),
    ).toMatchObject({
      ttfbMs: Number.POSITIVE_INFINITY,
      network: "private",
      proxy: "http://proxy.example:3128",
    })
    expect(await endpointOf({}, {}, { ttfb_ms: 5 })).toMatchObject({ ttfbMs: 5, network: "public" })
    expect(await endpointOf({}, {}, { attempt_ms: 0 })).toMatchObject({ attemptMs: Number.POSITIVE_INFINITY })
    expect(await endpointOf({}, {}, { attempt_ms: 5 })).toMatchObject({ attemptMs: 5, ttfbMs: undefined })
  })

  test("whose address the plugin makes out of its configuration obeys the same rules", async () => {
    const plugins = [plugin("acme", { baseUrl: "http://169.254.169.254/v1" })]
    const { problems } = await resolution({ plugins }, { providers: { acme: {} } })
    expect(problems).toEqual([
      "config error: providers.acme: its plugin makes an address out of it: expected an address that may be dialled, " +
        "got a link-local, metadata or reserved one",
    ])
  })
})

describe("a provider's own models", () => {
  const bringing =
    (...models: ReadonlyArray<string>) =>
    async () =>
      models.map((id) => ({ id, context_length: 5 }))

  test("are asked for when it is on, and not when it is off", async () => {
    const asked: Array<string> = []
    const plugins = ["on", "off", "idle"].map((id) =>
      plugin(id, {
        models: async () => {
          asked.push(id)
          return [{ id: `${id}/m`, context_length: 5 }]
        },
      }),
    )
    const { models } = await resolvedFrom({ plugins }, { providers: { on: {}, off: { enabled: false } } })
    expect(asked).toEqual(["on"])
    expect(models.map(({ id }) => String(id))).toEqual(["on/m"])
  })

  test.each<[string, Provider["models"], RegExp]>([
    ["rejects", () => Promise.reject(new Error("no licence\nfor you")), /no licence"?$/],
    [
      "throws",
      () => {
        throw new RangeError("no disk")
      },
      /no disk"?$/,
    ],
    // A plugin in JavaScript may give anything.
    ["gives no list", async () => JSON.parse('{"a":1}'), /./],
    ["gives a model that is none", bringing("m"), /models\[0\]\.id: expected a model id <author>\/<slug>, got string$/],
  ])("turn it off with one line when the plugin %s", async (_what, models, reason) => {
    const plugins = [
      plugin("acme", models === undefined ? {} : { models }),
      plugin("beta", { models: bringing("b/m") }),
    ]
    const config = { providers: { acme: {}, beta: {} }, models: [model("a/b", "acme", "beta")] }
    const { log, resolved } = await resolution({ plugins }, config)
    expect(log).toEqual([expect.stringMatching(/^plugin acme: load: [^\n]*$/)])
    expect(log[0]).toMatch(reason)
    expect(resolved?.models.map(({ id }) => String(id))).toEqual(["a/b", "b/m"])
    expect(resolved?.providers.get("acme")).toEqual({ callable: false, reason: "its provider could not be loaded" })
    expect(resolved?.providers.get("beta")).toMatchObject({ callable: true })
  })
})

test.each([
  ["whose models never come", plugin("acme", { models: () => new Promise(() => {}) }), "its models did not come in 5"],
  ["that never loads", loadedLater("acme", new Promise(() => {})), "not loaded after 5"],
])("a provider %s is off after five seconds", async (_what, acme, reason) => {
  const plugins = [acme, plugin("beta")]
  const settings = ["acme", "beta"].map(unconfigured)
  const program = Effect.gen(function* () {
    const loading = yield* Effect.fork(loadProviders({ plugins, configured: settings, models: [] }))
    yield* TestClock.adjust("5 seconds")
    return yield* Fiber.join(loading)
  })
  const { off, providers } = await Effect.runPromise(Effect.provide(program, TestContext.TestContext))
  expect(off.map(({ message }) => message)).toEqual([`plugin acme: load: ${reason} seconds`])
  expect([...providers.values()].map(({ callable }) => callable)).toEqual([false, true])
})

test("a provider may come later: its hosts can be called as those of any other", async () => {
  const acme = loadedLater("acme", Promise.resolve({ ...silentProvider, baseUrl: "https://eu.acme.example/v1" }))
  const config = { providers: { acme: { region: "eu" } }, models: [model("a/b", "acme")] }
  const { endpoints } = await resolvedFrom({ plugins: [acme] }, config)
  expect([...endpoints.values()].map(({ baseUrl }) => baseUrl)).toEqual(["https://eu.acme.example/v1"])
  const wrong = await resolution({ plugins: [acme] }, { providers: { acme: { regoin: "eu" } } })
  expect(wrong.problems).toEqual([expect.stringMatching(/providers\.acme\.regoin/)])
})

describe("a host whose provider is off", () => {
  test("was tried all the same: it has no endpoint, and says why", async () => {
    const broken = plugin("broken", { protocols: {} })
    const config = {
      providers: { acme: {}, off: { plugin: "acme", enabled: false }, broken: {} },
      models: [model("a/b", "off", "broken", "acme")],
    }
    const resolved = await resolvedFrom({ plugins: [plugin("acme"), broken] }, config)
    const registry = await registryOf(resolved)
    const hosts = resolved.models[0]?.hosts ?? []
    expect(
      hosts.map((host) => [String(host.tag), registry.unavailable(host), registry.endpoint(host)?.baseUrl]),
    ).toEqual([
      ["off", "its provider is disabled", undefined],
      ["broken", "its provider could not be loaded", undefined],
      ["acme", undefined, "https://api.acme.example/v1"],
    ])
  })
})

describe("the configuration in force", () => {
  const config = (...ids: ReadonlyArray<string>) => ({
    providers: { acme: {} },
    models: ids.map((id) => model(id, "acme")),
    aliases: { best: ids[0] },
    limits: { ttfb_ms: 0, idle_ms: 7, attempt_ms: 0, attempt_ms_by_model: { "a/b": 9, "c/d": 0 } },
  })

  test("is one value: limits that 0 has switched off, strategies, names", async () => {
    const { limits, routing, aliases, names } = await resolvedFrom({ plugins: [plugin("acme")] }, config("a/b"))
    expect(limits).toMatchObject({
      ttfbMs: Number.POSITIVE_INFINITY,
      idleMs: 7,
      minBytesPerSecond: 16,
      attemptMs: Number.POSITIVE_INFINITY,
      attemptMsByModel: new Map([
        ["a/b", 9],
        ["c/d", Number.POSITIVE_INFINITY],
      ]),
    })
    expect(routing).toMatchObject({ strategies: new Map(), whys: new Map(), strategy: "balanced" })
    expect([...aliases]).toEqual([["best", "a/b"]])
    expect([...names.keys()]).toEqual(["a/b", "b", "best"])
  })

  test("can be replaced as a whole, and a request that has a host of the old one can still call it", async () => {
    const first = await resolvedFrom({ plugins: [plugin("acme")] }, config("a/old"))
    const second = await resolvedFrom({ plugins: [plugin("acme")] }, config("a/new"))
    const registry = await registryOf(first)
    const host = first.models[0]?.hosts[0]
    if (host === undefined) throw new Error("no host")
    registry.replace(second)
    expect(registry.current()).toBe(second)
    expect(registry.resolve("a/old")).toMatchObject({ _tag: "Left" })
    expect(registry.resolve("best")).toMatchObject({ right: { model: { id: "a/new" }, variants: [] } })
    expect(registry.endpoint(host)?.host).toBe(host)
  })
})

describe("a name", () => {
  const resolveIn = async (...ids: ReadonlyArray<string>) => {
    const config = { providers: { acme: {} }, models: ids.map((id) => model(id, "acme")), aliases: { best: ids[0] } }
    const { resolve } = await registryOf(await resolvedFrom({ plugins: [plugin("acme")] }, config))
    return (name: string) => {
      const found = resolve(name)
      return found._tag === "Right"
        ? [String(found.right.model.id), ...found.right.variants]
        : found.left.issues[0].message
    }
  }

  test.each([
    ["acme/small", ["acme/small"]],
    ["small", ["acme/small"]],
    ["best", ["acme/small"]],
    ["acme/small:nitro", ["acme/small", "nitro"]],
    ["small:floor", ["acme/small", "floor"]],
    ["best:online", ["acme/small", "online"]],
    // The catalogue has a model of this very id.
    ["acme/small:free", ["acme/small:free"]],
    ["acme/small:free:thinking", ["acme/small:free", "thinking"]],
    ["acme/small:free:thinking:online", ["acme/small:free", "thinking", "online"]],
    ["acme/big:online:floor", ["acme/big", "online", "floor"]],
    ["acme/big:online:online", expect.stringContaining("is not a valid model ID")],
    ["acme/small:exacto:nitro", expect.stringContaining("is not a valid model ID")],
    ["acme/small:turbo", expect.stringContaining("is not a valid model ID")],
    ["acme/small:", expect.stringContaining("is not a valid model ID")],
    [":nitro", expect.stringContaining("is not a valid model ID")],
    ["acme/smal:nitro", expect.stringContaining("(near: acme/small")],
  ])("%s", async (name, expected) => {
    const resolve = await resolveIn("acme/small", "acme/small:free", "acme/big")
    expect<unknown>(resolve(name)).toEqual(expected)
  })
})

describe("an alias of a model that is not there", () => {
  const plugins = [plugin("acme")]
  const config = { providers: { acme: {} }, models: [model("acme/small-2.5", "acme")] }

  test("was accepted: it is a problem with its path and near names", async () => {
    const aliases = { fast: "acme/small-25", far: "nobody/nothing" }
    expect((await resolution({ plugins }, { ...config, aliases })).problems).toEqual([
      'config error: aliases.fast: expected the id of a known model, got "acme/small-25", did you mean "acme/small-2.5"?',
      'config error: aliases.far: expected the id of a known model, got "nobody/nothing"',
    ])
  })

  test("is a warning while a provider is off: it may be a model of that one", async () => {
    const off = {
      ...config,
      providers: { acme: {}, beta: { plugin: "acme", enabled: false } },
      aliases: { far: "b/x" },
    }
    const { problems, log } = await resolution({ plugins }, off)
    expect(problems).toEqual([])
    expect(log).toEqual(['aliases.far: no model is known as "b/x" while providers are off.'])
    const near = await resolution({ plugins }, { ...off, aliases: { fast: "acme/small-25" } })
    expect(near.log).toEqual([
      'aliases.fast: no model is known as "acme/small-25" while providers are off, did you mean "acme/small-2.5"?',
    ])
  })

  test("is not blamed where the model itself is wrong", async () => {
    const wrong = { ...config, models: [{ id: "acme/small", hosts: [] }], aliases: { fast: "acme/small" } }
    const { problems } = await resolution({ plugins }, wrong)
    expect(problems.map((line) => line.split(": ")[1])).toEqual(["models[0].context_length"])
  })
})

describe("prices of the prompt cache", () => {
  const usd = (picodollars: bigint | null | undefined) =>
    picodollars == null ? picodollars : Number(picodollars) / 1e12
  const prompt = 0.00001
  /** The prices of a host that has none for its cache, of `plugin` at `baseUrl`. */
  const pricesOf = async (plugin: string, model: string, pricing: object = {}, settings: object = {}) => {
    const plugins = await Effect.runPromise(ownPlugins)
    const host = { provider: plugin, model, pricing: { prompt, completion: prompt, ...pricing } }
    const config = {
      providers: { [plugin]: { api_key: "sk-of-acme", ...settings } },
      models: [{ id: "author/model", context_length: 10, hosts: [host] }],
    }
    const { models } = await resolvedFrom({ plugins }, config)
    const found = models.find(({ id }) => id === "author/model")?.hosts[0]?.pricing
    if (found == null) throw new Error("no prices")
    return found
  }
  const cacheOf = ({ inputCacheRead, inputCacheWrite, inputCacheWrite1h }: Partial<Prices>) =>
    [inputCacheRead, inputCacheWrite, inputCacheWrite1h].map(usd)
  const compatible = "openai-compatible"

  test.each<[string, string, string | undefined, ReadonlyArray<number | null>]>([
    ["anthropic", "claude-99", undefined, [0.1, 1.25, 2]],
    ["openai", "gpt-4o-2099", undefined, [0.5, null, null]],
    ["openai", "gpt-4.1-2099", undefined, [0.25, null, null]],
    ["openai", "gpt-5.5-2099", undefined, [0.25, null, null]],
    ["openai", "gpt-5.6-2099", undefined, [0.25, 1.25, null]],
    ["openai", "gpt-6-2099", undefined, [0.25, 1.25, null]],
    [compatible, "m", "https://generativelanguage.googleapis.com/v1beta/openai", [0.25, null, null]],
    [compatible, "m", "https://api.deepseek.com/v1", [0.1, null, null]],
    [compatible, "m", "https://api.x.ai/v1", [0.25, null, null]],
    [compatible, "m", "https://api.moonshot.ai/v1", [0.25, null, null]],
    [compatible, "m", "https://api.groq.com/openai/v1", [0.5, null, null]],
    [compatible, "m", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", [0.2, 1.25, null]],
    [compatible, "m", "https://notdeepseek.com/v1", [null, null, null]],
  ])("%s, %s, %p: follow from that of the prompt as the vendor says", async (plugin, model, baseUrl, multipliers) => {
    const settings = baseUrl === undefined ? {} : { base_url: baseUrl }
    const expected = multipliers.map((multiplier) => (multiplier === null ? null : Math.round(multiplier * 1e7) / 1e12))
    expect(cacheOf(await pricesOf(plugin, model, {}, settings))).toEqual(expected)
  })

  test("are those that the catalogue lists, where it lists them", async () => {
    const pricing = await pricesOf("anthropic", "m", { input_cache_read: "0.000003", input_cache_write: "0" })
    expect(cacheOf(pricing)).toEqual([0.000003, 0, 0.00002])
  })

  test("change with the price of the prompt where an override has a price for it and none for the cache", async () => {
    const overrides = [
      { min_prompt_tokens: 1000, prompt: "0.00002", input_cache_write: "0.000001" },
      { min_prompt_tokens: 2000, completion: "0.00002" },
    ]
    const pricing = await pricesOf("anthropic", "m", { overrides })
    expect(pricing.overrides.map(({ prices }) => cacheOf(prices))).toEqual([
      [0.000002, 0.000001, 0.00004],
      [undefined, undefined, undefined],
    ])
    const usage = { ...noUsage, promptTokens: 1000, cachedTokens: 900, cacheWriteTokens: 50, cacheWrite1hTokens: 20 }
    expect(usd(costOf(pricing, usage, 0).prompt)).toBe(0.001 + 0.0018 + 0.00003 + 0.0008)
  })

  test.each<[string, () => unknown, string]>([
    ["a text", () => ({ read: "0.1" }), "must return read as a number from 0 to 100, not a text"],
    ["less than nothing", () => ({ write: -1 }), "must return write as a number from 0 to 100"],
    ["a number", () => 0.1, "must return an object of read, readExplicit, write and write1h, or nothing, not a number"],
    [
      "a throw",
      () => {
        throw new Error("no rule")
      },
      'threw "Error: no rule"',
    ],
  ])("of a plugin that gives %s: it is off, and a line says why", async (_what, cacheMultipliers, why) => {
    const host = { provider: "acme", pricing: { prompt, completion: prompt } }
    const loaded = await Effect.runPromise(
      loadProviders({
        // A plugin in JavaScript can return anything.
        plugins: [plugin("acme", { cacheMultipliers } as Partial<Provider>)],
        configured: [unconfigured("acme")],
        models: [{ id: "a/b", context_length: 10, hosts: [host] }],
      }),
    )
    expect(loaded.off.map(({ message }) => message)).toEqual([expect.stringContaining(`acme.cacheMultipliers ${why}`)])
    expect(loaded.providers.get("acme")).toMatchObject({ callable: false })
  })
})

describe("hosts that a provider cannot call", () => {
  const regional = (canCall: unknown) => plugin("acme", { models: async () => ownModels, canCall } as Partial<Provider>)
  const hosts = (names: ReadonlyArray<string>) =>
    names.map((model) => ({
      model,
      variant: model,
      context_length: 10,
      pricing: { prompt: "0.000001", completion: "0.000002" },
    }))
  const ownModels = [
    { id: "a/b", hosts: hosts(["near", "far"]) },
    { id: "a/c", hosts: hosts(["far"]) },
  ]
  const loadedWith = (canCall: unknown, more: Partial<Parameters<typeof loadProviders>[0]> = {}) =>
    Effect.runPromise(
      loadProviders({ plugins: [regional(canCall)], configured: [unconfigured("acme")], models: [], ...more }),
    )
  const near = ({ model }: { readonly model: string }) => model !== "far"
  const tags = ({ models }: Awaited<ReturnType<typeof loadedWith>>) =>
    models.map(({ id, hosts }) => [String(id), hosts.map(({ tag }) => String(tag))])

  test("are left out of its own list", async () => {
    expect(tags(await loadedWith(near))).toEqual([["a/b", ["acme/near"]]])
  })

  test("came back with a catalogue file, which was not looked through", async () => {
    const catalogue = new Map([["acme", [{ id: "a/d", hosts: hosts(["far", "near"]) }]]])
    expect(tags(await loadedWith(near, { catalogue }))).toEqual([["a/d", ["acme/near"]]])
  })

  test("are kept where the operator wrote them", async () => {
    const models = [{ id: "a/e", hosts: hosts(["far"]).map((host) => ({ ...host, provider: "acme" })) }]
    expect(tags(await loadedWith(near, { models }))).toContainEqual(["a/e", ["acme/far"]])
  })

  test.each([
    ["a text", () => "yes", "acme.canCall must return true or false"],
    [
      "a throw",
      () => {
        throw new Error("no list")
      },
      'threw "Error: no list"',
    ],
  ])("by a rule that gives %s: it is off, and a line says why", async (_what, canCall, why) => {
    const loaded = await loadedWith(canCall)
    expect(loaded.off.map(({ message }) => message)).toEqual([expect.stringContaining(why)])
  })
})
