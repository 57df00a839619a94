/**
 * A plugin that does not load is off, with one line in the log. Everything else works. All configuration mistakes are
 * reported at once.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import {
  chatProtocol,
  defineProvider,
  defineStrategy,
  httpError,
  type ListedModel,
  type Provider,
} from "headgate/plugin"
import echo from "../../plugins/providers/echo/index.ts"
import * as Gateway from "../../src/app/Gateway.ts"
import type { GatewayConfigInput } from "../../src/config/GatewayConfig.ts"
import { readConfig } from "../../src/config/loadConfig.ts"
import { type Parts, resolveConfig } from "../../src/config/resolveConfig.ts"
import { PluginInvalid } from "../../src/plugin/checks/PluginInvalid.ts"
import { contractMismatch } from "../../src/plugin/loading/contract.ts"
import type { Plugin } from "../../src/plugin/loading/discover.ts"
import { KeyStore } from "../../src/services/keys/KeyStore.ts"
import { layer as memoryStorage } from "../../src/sql/sqlite/MemoryStorage.ts"
import { Upstream } from "../../src/upstream/Upstream.ts"
import { gatewayWithoutSocket } from "../support/gateways/gateway.ts"
import { install } from "../support/gateways/process.ts"
import { ownPluginsFolder } from "../support/hosts/ownPlugins.ts"

const whole = { protocols: { chat: chatProtocol() }, error: httpError }
const nothing = Schema.Struct({})

/** A provider that is on without configuration, like `echo`. */
const provider = (id: string, load: () => Provider) => defineProvider({ ...facts, id, name: id, config: nothing, load })

const facts = { id: "regional", name: "Regional", baseUrl: "https://api.acme.example/v1", always: true }

// What no compiler would let pass, a plugin in JavaScript may give.
const wrongly = <A>(value: unknown): A => value as A

const bringing = (id: string, model: object) =>
  provider(id, () => ({ ...whole, models: async () => [wrongly<ListedModel>(model)] }))

const throwing = () => {
  throw new RangeError("no disk\nand more lines")
}

const wanting = Schema.Struct({ region: Schema.String })

const own = defineStrategy({ id: "balanced", config: nothing, load: () => (candidates) => candidates })

const broken: ReadonlyArray<readonly [what: string, plugin: Plugin, line: string]> = [
  ["a provider whose load throws", provider("acme", throwing), "plugin acme: load: no disk"],
  [
    "a provider without protocols",
    provider("idle", () => ({ ...whole, protocols: {} })),
    "plugin idle: load: idle.load must return at least one protocol",
  ],
  [
    "a provider whose load promises something else",
    provider(
      "late",
      wrongly(async () => 7),
    ),
    "plugin late: load: late.load must return a provider, not a number",
  ],
  [
    "a provider whose load rejects: it ended the gateway's start",
    provider(
      "lost",
      wrongly(async () => throwing()),
    ),
    "plugin lost: load: no disk",
  ],
  [
    "a provider whose load gives nothing: the log had text of the engine",
    provider(
      "empty",
      wrongly(() => undefined),
    ),
    "plugin empty: load: empty.load must return a provider, not nothing",
  ],
  [
    "a provider whose load gives no protocols: the log had text of the engine",
    provider(
      "mute",
      wrongly(() => ({ error: httpError })),
    ),
    "plugin mute: load: mute.load must return protocols: an object, not nothing",
  ],
  [
    "a plugin of its own make whose load is async: it ended the gateway's start",
    { ...provider("made", throwing), load: wrongly<never>(async () => whole) },
    "plugin made: load: made.load must return an Either of a provider, not a promise",
  ],
  [
    "a plugin of its own make whose load gives nothing: it ended the gateway's start",
    { ...provider("none", throwing), load: wrongly<never>(() => undefined) },
    "plugin none: load: none.load must return an Either of a provider, not nothing",
  ],
  [
    "a plugin of its own make whose load gives the provider itself",
    { ...provider("plain", throwing), load: wrongly<never>(() => whole) },
    "plugin plain: load: plain.load must return an Either of a provider, not an object",
  ],
  [
    "a plugin of its own make that refuses in words of its own",
    { ...provider("wordy", throwing), load: wrongly<never>(() => Either.left("no region")) },
    "plugin wordy: load: wordy.load must return a ParseError on the left, not a text",
  ],
  [
    "a provider made for another contract: it was loaded, unless it came from a folder",
    { ...provider("older", () => whole), contract: 1 },
    `plugin older: shape: ${contractMismatch({ contract: 1 })}`,
  ],
  [
    "a provider that is on unasked and wants configuration",
    defineProvider({ ...facts, config: wanting, load: () => whole }),
    "plugin regional: load: providers.regional.region: expected a string, got nothing",
  ],
  [
    "an unknown field in a model of its own",
    bringing("models", { id: "a/b", context_length: 1, colour: "red" }),
    "plugin models: load: models[0].colour: unknown field",
  ],
  [
    "two mistakes in models of its own",
    bringing("catalogue", { id: "a", context_length: 0 }),
    "plugin catalogue: load: models[0].id: expected a model id <author>/<slug>, got string; " +
      "models[0].context_length: expected a whole number from 1 to 2147483648, got 0",
  ],
  [
    "a strategy whose load throws",
    defineStrategy({ id: "first", config: nothing, load: throwing }),
    "plugin first: load: no disk",
  ],
  [
    "a strategy that wants configuration",
    defineStrategy({ id: "near", config: wanting, load: () => (candidates) => candidates }),
    "plugin near: load: region: expected a string, got nothing",
  ],
  [
    "a strategy whose load is async: it was taken for a ranking",
    defineStrategy({ id: "slow", config: nothing, load: wrongly<never>(async () => throwing()) }),
    "plugin slow: load: slow.load must return a function that ranks, not a promise",
  ],
  [
    "a strategy whose load gives nothing: it was taken for a ranking",
    defineStrategy({ id: "blank", config: nothing, load: wrongly<never>(() => undefined) }),
    "plugin blank: load: blank.load must return a function that ranks, not nothing",
  ],
  [
    "a strategy of its own make whose load gives the ranking itself",
    {
      ...own,
      id: "bare",
      load: wrongly<never>(
        () =>
          <A>(candidates: A) =>
            candidates,
      ),
    },
    "plugin bare: load: bare.load must return an Either of a ranking, not a function",
  ],
  [
    "a strategy made for another contract: it was loaded, unless it came from a folder",
    { ...own, id: "newer", contract: 4 },
    "plugin newer: shape: made for contract 4, this gateway has 3: it needs a newer gateway",
  ],
]

/** The lines of the log, and what the configuration comes to or the lines of the refusal. */
const resolved = async (parts: Parts, config: unknown = {}) => {
  const log: Array<string> = []
  const logger = Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ message }) => log.push(String([message].flat()[0]))),
  )
  const result = await Effect.runPromise(
    Effect.flatMap(readConfig(config), (reading) => resolveConfig(parts, reading)).pipe(
      Effect.mapError(({ message }) => message.split("\n")),
      Effect.either,
      Effect.provide(logger),
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map())),
    ),
  )
  return { log, result }
}

/** Slugs of the providers that can be called. */
const callable = (result: Awaited<ReturnType<typeof resolved>>["result"]) =>
  [...Either.getOrThrow(result).resolved.providers].flatMap(([slug, each]) => (each.callable ? [slug] : []))

/** Of hosts whose lack of a price is not the point. */
const pricing = { prompt: "0", completion: "0" }

describe("a plugin that does not load", () => {
  test.each(broken)("%s is off with one line, and the others are not", async (_what, plugin, line) => {
    const { log, result } = await resolved({ plugins: [plugin, echo, own] })
    expect(log).toEqual([line])
    const { models, routing } = Either.getOrThrow(result).resolved
    expect(callable(result)).toEqual(["echo"])
    expect(models.map(({ id }) => String(id))).toEqual([
      "headgate/echo",
      "headgate/echo-embeddings",
      "headgate/echo-rerank",
    ])
    expect([...routing.strategies.keys()]).toEqual(["balanced"])
  })

  test.each(broken)("%s is a configuration error where it is required", async (_what, plugin, line) => {
    const { log, result } = await resolved(
      { plugins: [plugin, echo, own] },
      { plugins: { required: ["echo", plugin.id, "balanced"] } },
    )
    expect(log).toEqual([line])
    expect(result).toEqual(
      Either.left([`config error: plugins.required[1]: expected the id of a plugin that loads, got "${plugin.id}"`]),
    )
  })

  test("says so once, however many providers use it; hosts that name these providers are not reported", async () => {
    const { log, result } = await resolved(
      { plugins: [provider("acme", throwing), echo] },
      {
        providers: { eu: { plugin: "acme" }, us: { plugin: "acme" } },
        models: [
          {
            id: "a/b",
            context_length: 1,
            hosts: [
              { provider: "eu", pricing },
              { provider: "echo", pricing },
            ],
          },
        ],
      },
    )
    expect(log).toEqual(["plugin acme: load: no disk"])
    expect(callable(result)).toEqual(["echo"])
  })

  test("refuses the start when it is the strategy in force: hosts were once left unordered without a message", async () => {
    const strategy = defineStrategy({ id: "first", config: nothing, load: throwing })
    const { log, result } = await resolved({ plugins: [strategy, own, echo] }, { routing: { strategy: "first" } })
    expect(log).toEqual(["plugin first: load: no disk"])
    expect(result).toEqual(
      Either.left(['config error: routing.strategy: expected the id of a strategy that loads, got "first"']),
    )
    // With no strategy at all, a missing default is not reported.
    expect(Either.isRight((await resolved({ plugins: [strategy, echo] })).result)).toBe(true)
  })

  test("that could not be imported is reported, not the configuration that names it", async () => {
    const invalid = [new PluginInvalid({ plugin: "/plugins/providers/acme", phase: "import", reason: "no comma" })]
    const config = {
      providers: { acme: {} },
      models: [
        {
          id: "a/b",
          context_length: 1,
          hosts: [
            { provider: "acme", pricing },
            { provider: "echo", pricing },
          ],
        },
      ],
    }
    const { log, result } = await resolved({ plugins: [echo], invalid }, config)
    expect(log).toEqual(["plugin /plugins/providers/acme: import: no comma"])
    expect(Either.isRight(result)).toBe(true)
    const required = await resolved({ plugins: [echo], invalid }, { ...config, plugins: { required: ["acme"] } })
    expect(required.result).toEqual(
      Either.left(['config error: plugins.required[0]: expected the id of a plugin that loads, got "acme"']),
    )
  })

  test("does not stop the others from answering", async () => {
    const log: Array<string> = []
    const gateway = await gatewayWithoutSocket({
      plugins: [...broken.map(([, plugin]) => plugin), echo],
      setting: Logger.add(Logger.make(({ message }) => log.push(String([message].flat()[0])))),
    })
    try {
      expect(log.toSorted()).toEqual(broken.map(([, , line]) => line).toSorted())
      const body = { model: "headgate/echo", messages: [{ role: "user", content: "still here" }] }
      expect(await (await gateway.chat(body)).json()).toMatchObject({
        choices: [{ message: { content: "still here" } }],
      })
    } finally {
      await gateway.stop()
    }
  })
})

/** A mistake in every place that is checked. */
const wrong = {
  server: { port: -1 },
  privacy: { log_content: true },
  routing: { strategy: "nope" },
  plugins: { required: ["missing"] },
  providers: {
    a: { plugin: "opnai" },
    b: { plugin: "echo", api: "messages" },
    c: { plugin: "echo", colour: "red" },
    d: { enabled: "yes" },
    e: { plugin: "openai-compatible" },
  },
  models: [
    {
      id: "acme/small",
      context_length: 8192,
      // `echo` is on without an entry. `d` is unknown.
      hosts: [{ provider: "a" }, { provider: "echo" }, { provider: "d" }, { provider: "somebody-else" }],
    },
  ],
}

const strategies = readdirSync(join(ownPluginsFolder(), "strategies")).toSorted()

const allWrong = [
  "config error: server.port: expected a whole number from 0 to 65535, got -1",
  "config error: privacy.log_content: expected false (anything else is not available in this version yet), got boolean",
  'config error: providers.d.enabled: expected a boolean, got string "yes"',
  'config error: plugins.required[0]: expected the id of a plugin that loads, got "missing"',
  'config error: providers.a.plugin: expected the id of a loaded plugin, got "opnai", did you mean "openai"?',
  'config error: providers.b.api: expected one of chat, got "messages"',
  "config error: providers.c.colour: expected no field: there is nothing to configure, got string",
  "config error: providers.e.base_url: expected a URL, got nothing: this plugin has no address of its own",
  "config error: models[0].hosts[3].provider: expected the slug of a configured provider, got string",
  `config error: routing.strategy: expected one of ${strategies.join(", ")}, got "nope"`,
]

/** Without the places in the file. */
const withoutPlaces = (text: string): string => text.replace(/ \(\S+\.json:\d+:\d+\)$/gm, "")

describe("the gateway as it is run", () => {
  const installation = install()
  const folder = join(installation.folder, "plugins")
  const config = { plugins: { folders: [folder, ownPluginsFolder()] } }

  beforeAll(async () => {
    const source = `
      import * as Schema from "effect/Schema"
      import { defineProvider } from "headgate/plugin"
      const load = () => { throw new Error("no disk") }
      export default defineProvider({ id: "acme", name: "Acme", always: true, config: Schema.Struct({}), load })`
    await Bun.write(join(folder, "providers/acme/index.ts"), source)
    await Bun.write(join(folder, "providers/torn/index.ts"), "export default {")
  })
  afterAll(() => installation.remove())

  test("starts without its broken plugins, with one line for each, and stops with exit code 0", async () => {
    const gateway = installation.start({ config: { ...config, providers: { torn: {} } } })
    const health = await fetch((await gateway.url()).replace("/api/v1", "/healthz"))
    expect(health.status).toBe(200)
    gateway.kill("SIGTERM")
    expect(await gateway.exited).toBe(0)
    expect(gateway.err().match(/plugin acme: load: no disk/g)).toHaveLength(1)
    expect(gateway.err().match(/plugin \S*providers\/torn: import: /g)).toHaveLength(1)
    expect(gateway.err()).not.toContain("    at ")
  })

  test("does not start without one that is required", async () => {
    const gateway = installation.start({
      config: { plugins: { ...config.plugins, required: ["acme"] } },
      env: { HEADGATE_STORAGE: `sqlite:${join(installation.folder, "unopened.db")}` },
    })
    expect(await gateway.exited).toBe(78)
    expect(gateway.err()).toContain("plugin acme: load: no disk")
    expect(withoutPlaces(gateway.err())).toEndWith(
      'config error: plugins.required[0]: expected the id of a plugin that loads, got "acme"\n',
    )
    expect(await Bun.file(join(installation.folder, "unopened.db")).exists()).toBe(false)
  })

  test("reports every mistake, and so does an embedded one", async () => {
    const gateway = installation.start({ config: wrong })
    expect(await gateway.exited).toBe(78)
    expect(withoutPlaces(gateway.err()).trimEnd().split("\n")).toEqual(allWrong)

    const plugins = [
      echo,
      ...(await Promise.all(
        ["providers/openai", "providers/openai-compatible", ...strategies.map((id) => `strategies/${id}`)].map(
          async (path): Promise<Plugin> => (await import(`../../plugins/${path}/index.ts`)).default,
        ),
      )),
    ]
    // The cast stands for a configuration file with arbitrary content. The wrong types are what is tested.
    const services = Gateway.services({ plugins, config: wrong as unknown as GatewayConfigInput }).pipe(
      Layer.provide([KeyStore.layer(), Upstream.layer]),
      Layer.provide(memoryStorage),
    )
    const refusal = await Effect.runPromise(Effect.flip(Effect.scoped(Layer.build(services))))
    expect(refusal.message.split("\n")).toEqual(allWrong)
  })
})
