import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { discoverPlugins } from "../../src/config/discoverPlugins.ts"
import { defineConfig } from "../../src/config/GatewayConfig.ts"
import { decodeConfig, type LoadedConfig, loadConfigIn, workerProblems } from "../../src/config/loadConfig.ts"
import type { Overrides } from "../../src/config/Overrides.ts"
import { resolveConfig } from "../../src/config/resolveConfig.ts"
import type { ConfigInvalid } from "../../src/domain/json/Problem.ts"
import { defineProvider } from "../../src/plugin/Provider.ts"
import { silentProvider } from "../support/hosts/silentProvider.ts"

const root = mkdtempSync(join(tmpdir(), "headgate-config-"))
afterAll(() => rmSync(root, { recursive: true }))

const definition = resolve(import.meta.dir, "../../src/config/GatewayConfig.ts")
const canary = "sk-canary-0a1b2c3d4e5f60718293a4b5c6d7e8f9"

/** Files of a fresh directory, the environment, and the flags. */
interface Ground {
  readonly flags?: Overrides
  /** The working directory, below the fresh one. */
  readonly cwd?: string
  readonly files?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
}

/** Providers that are content with anything. */
const plugins = ["acme", "b", "openai-compatible"].map((id) =>
  defineProvider({
    id,
    name: id,
    baseUrl: "https://api.acme.example/v1",
    config: Schema.Struct({}),
    load: () => silentProvider,
  }),
)

interface Outcome {
  readonly directory: string
  /** As it is loaded when nothing at all is wrong with it. */
  readonly result: Either.Either<LoadedConfig, ConfigInvalid>
}

let count = 0
const outcome = async ({ files = {}, env = {}, flags = {}, cwd = "." }: Ground): Promise<Outcome> => {
  const directory = join(root, String(count++))
  await Bun.write(join(directory, ".keep"), "")
  for (const [name, text] of Object.entries(files)) await Bun.write(join(directory, name), text)
  const provider = ConfigProvider.fromMap(new Map(Object.entries(env)))
  const start = Effect.tap(loadConfigIn(join(directory, cwd), flags), (reading) => resolveConfig({ plugins }, reading))
  return { directory, result: await Effect.runPromise(Effect.either(Effect.withConfigProvider(start, provider))) }
}

const loaded = async (ground: Ground): Promise<LoadedConfig> => Either.getOrThrow((await outcome(ground)).result)

/** The lines that the operator reads, the directory's name left out. */
const lines = async (ground: Ground): Promise<ReadonlyArray<string>> => {
  const { directory, result } = await outcome(ground)
  if (Either.isRight(result)) return []
  return result.left.message.split("\n").map((line) =>
    line
      .replaceAll(`${directory}/`, "")
      .replaceAll(directory, ".")
      .replace(/ \([^()]*:\d+:\d+\)$/, ""),
  )
}

const json = (config: unknown) => ({ "headgate.config.json": JSON.stringify(config) })

/** Every field with its default. */
const example = defineConfig({
  server: {
    hostname: "127.0.0.1",
    port: 8787,
    workers: 1,
    trusted_proxies: [],
    cors_origins: ["*"],
    drain_s: 30,
    drain_delay_s: 0,
    metrics: { open: false },
  },
  storage: "sqlite:./data/headgate.db",
  durability: "full",
  spool_folder: "./data",
  limits: {
    ttfb_ms: null,
    attempt_ms: null,
    attempt_ms_by_model: {},
    idle_ms: 60000,
    thinking_idle_ms: 300000,
    deadline_ms: 600000,
    commit_after_ms: 10000,
    max_in_flight: 1024,
    body_bytes: 33554432,
    stream_bytes: 67108864,
    client_stall_ms: 60000,
    min_bytes_per_s: 16,
    retries: 0.2,
    breaker: { consecutive_failures: 5, error_rate: 0.5, min_requests: 20, open_s: 30 },
    cooldown: { account_s: 60, not_found_s: 60, rate_limit_s: 5, max_s: 300 },
  },
  routing: { strategy: "balanced", strategies: {}, hedge: { enabled: false, max_cost_share: 0.05 } },
  billing: {
    unknown_price: "deny",
    error_finish: "free",
    free_models: { requests_per_minute: 20, requests_per_day: 1000 },
  },
  privacy: { log_content: false, idempotency_bodies: true },
  discovery: { environment: true, local: true },
  plugins: { folders: ["./plugins", resolve(import.meta.dir, "../../plugins")], packages: [], required: [] },
  aliases: { "gpt-4o": "acme/small" },
  providers: {
    acme: {
      plugin: "openai-compatible",
      name: "Acme",
      base_url: "https://api.acme.example/v1/",
      api_key: { env: "ACME_KEY" },
      privacy: { may_train: false, retains_prompts: false },
      max_concurrent: null,
      ttfb_ms: null,
      attempt_ms: null,
      enabled: true,
      network: "private",
    },
  },
  models: [
    {
      id: "acme/small",
      name: "Acme Small",
      description: "",
      created: 1760000000,
      context_length: 8192,
      architecture: {
        tokenizer: "Other",
        instruct_type: null,
        input_modalities: ["text"],
        output_modalities: ["text"],
      },
      hosts: [
        {
          provider: "acme",
          variant: "eu",
          model: "upstream-name",
          quantization: "fp8",
          pricing: { prompt: "0.0000001", completion: "0.0000002", overrides: [] },
          context_length: 8192,
          max_completion_tokens: 4096,
          max_prompt_tokens: null,
          supported_parameters: ["tools"],
          supports_tool_choice: { none: true, auto: true, required: true, function: true },
          supports_implicit_caching: false,
        },
      ],
    },
  ],
})

describe("a good configuration", () => {
  test("says everything that the whole example says", async () => {
    const { config, warnings } = await loaded({ files: json(example), env: { ACME_KEY: canary } })
    expect(warnings).toEqual([])
    expect(config.aliases).toEqual(new Map([["gpt-4o", "acme/small"]]))
    const acme = config.providers.get("acme")
    expect(acme).toMatchObject({
      plugin: "openai-compatible",
      name: "Acme",
      baseUrl: "https://api.acme.example/v1",
      privacy: { mayTrain: false, retainsPrompts: false },
      maxConcurrent: null,
      ttfbMs: null,
      enabled: true,
      network: "private",
      proxy: null,
      api: null,
      own: {},
    })
    expect(acme?.apiKey && Redacted.value(acme.apiKey)).toBe(canary)
    expect(config.models).toEqual(example.models ?? [])
  })

  test("has the same defaults as the example, so that nothing at all is as good", async () => {
    const written = ({ config, folder }: LoadedConfig): LoadedConfig["config"] =>
      JSON.parse(JSON.stringify(config).replaceAll(folder, "."))
    const whole = await loaded({ files: json(example), env: { ACME_KEY: "k" } })
    const silent = await loaded({})
    const { config, managementKey } = silent
    expect(managementKey).toBeNull()
    expect(config).toMatchObject({ aliases: new Map(), providers: new Map(), models: [] })
    expect(written(silent)).toEqual({ ...written(whole), models: [] })
    expect(written(await loaded({ files: json({}) }))).toEqual(written(silent))
    expect(config.limits.breaker).toEqual({ consecutiveFailures: 5, errorRate: 0.5, minRequests: 20, openSeconds: 30 })
    expect(config.storage).toEqual({ _tag: "Sqlite", path: join(silent.folder, "data/headgate.db") })
  })

  test("may be TypeScript", async () => {
    const source = `
      import { defineConfig } from ${JSON.stringify(definition)}
      const port: number = 9000
      export default defineConfig({ server: { port }, providers: { b: {}, "my-vllm": { plugin: "acme", api_key: "${canary}" } } })`
    const { config, warnings } = await loaded({ files: { "headgate.config.ts": source } })
    expect(config.server.port).toBe(9000)
    expect([...config.providers].map(([slug, { plugin }]) => [slug, plugin])).toEqual([
      ["b", "b"],
      ["my-vllm", "acme"],
    ])
    expect(warnings).toEqual([
      'providers.my-vllm.api_key: a secret stands in the file; { "env": "NAME" } keeps it out.',
    ])
    expect(Bun.inspect(config)).not.toContain(canary)
    expect(JSON.stringify([...config.providers])).not.toContain(canary)
  })

  test("keeps the order of providers, whether their keys come from the environment or not", async () => {
    const entry = { plugin: "acme", api_key: { env: "Z" } }
    const providers = { zeta: entry, alpha: { plugin: "b" }, mid: entry }
    const { config } = await loaded({ files: json({ providers }), env: { Z: "z" } })
    expect([...config.providers.keys()]).toEqual(["zeta", "alpha", "mid"])
  })

  test("takes a privacy that says only half as the worse half", async () => {
    const { config } = await loaded({ files: json({ providers: { acme: { privacy: { may_train: false } } } }) })
    expect(config.providers.get("acme")?.privacy).toEqual({ mayTrain: false, retainsPrompts: true })
  })
})

test("an editor sees what is wrong before the gateway does", () => {
  // @ts-expect-error a misspelt field
  defineConfig({ server: { prot: 1 } })
  // @ts-expect-error a choice that is none
  defineConfig({ providers: { acme: { network: "lan" } } })
  // @ts-expect-error a host without its provider
  defineConfig({ models: [{ id: "a/b", hosts: [{ variant: "eu" }] }] })
  expect(defineConfig({ providers: { acme: { of_the_plugin: [1] } } })).toEqual({
    providers: { acme: { of_the_plugin: [1] } },
  })
})

describe("the environment", () => {
  const env = {
    HEADGATE_PORT: "0",
    HEADGATE_HOSTNAME: "0.0.0.0",
    HEADGATE_STORAGE: "memory:",
    HEADGATE_MANAGEMENT_KEY: canary,
  }

  test("wins over the file", async () => {
    const files = json({ server: { port: 1, hostname: "::1", drain_s: 3 }, storage: "sqlite:x.db" })
    const { config, managementKey, warnings } = await loaded({ files, env })
    expect(config.server).toMatchObject({ port: 0, hostname: "0.0.0.0", drainSeconds: 3 })
    expect(config.storage).toEqual({ _tag: "Memory" })
    expect(managementKey && Redacted.value(managementKey)).toBe(canary)
    expect(warnings).toEqual(['storage: keys and ledger end with the process ("memory:").'])
  })

  test("is where a password of PostgreSQL belongs: one in the file is warned about, and neither is shown", async () => {
    const url = `postgres://me:${canary}@db.example/gateway?sslmode=verify-full`
    const inFile = await loaded({ files: json({ storage: url }) })
    expect(inFile.warnings).toEqual([
      "storage: a password stands in the file; HEADGATE_STORAGE or PGPASSWORD keeps it out.",
    ])
    const inEnvironment = await loaded({ files: json({}), env: { HEADGATE_STORAGE: url } })
    expect(inEnvironment.warnings).toEqual([])
    for (const { config } of [inFile, inEnvironment]) {
      expect(config.storage._tag === "Postgres" && Redacted.value(config.storage.url)).toBe(url)
      expect(Bun.inspect(config)).not.toContain(canary)
    }
  })

  test("names the file, relative to the working directory", async () => {
    const files = { "etc/other.json": JSON.stringify({ server: { port: 7 } }), ...json({ server: { port: 8 } }) }
    const { config } = await loaded({ files, env: { HEADGATE_CONFIG: "etc/other.json" } })
    expect(config.server.port).toBe(7)
  })

  test("gives way to the command line", async () => {
    const files = { "etc/other.json": JSON.stringify({ server: { port: 7 } }), ...json({ server: { port: 8 } }) }
    const flags = { port: "9", hostname: "::1", storage: "sqlite:x.db", logLevel: "debug" }
    const { config, folder, logLevel } = await loaded({ files, env: { ...env, HEADGATE_LOG_LEVEL: "error" }, flags })
    expect(config.server).toMatchObject({ port: 9, hostname: "::1" })
    expect(config.storage).toEqual({ _tag: "Sqlite", path: join(folder, "x.db") })
    expect(logLevel.label).toBe("DEBUG")
    const other = await loaded({ files, env: { HEADGATE_CONFIG: "gone.json" }, flags: { file: "etc/other.json" } })
    expect(other.config.server.port).toBe(7)
    expect(await lines({ flags: { port: "http", storage: "x", logLevel: "loud", file: "gone.json" } })).toEqual([
      "config error: --config: expected the path of a file, but there is no gone.json",
      `config error: --port: expected ${port}, got string "http"`,
      'config error: --storage: expected "memory:", "sqlite:PATH" or "postgres://USER@HOST/DATABASE", got string',
      'config error: --log-level: expected "debug", "info", "warn", "error" or "none", got string "loud"',
    ])
  })

  test("counts as silent where a variable is empty", async () => {
    const { config } = await loaded({
      env: { HEADGATE_PORT: "", HEADGATE_CONFIG: "", HEADGATE_STORAGE: "", HEADGATE_MANAGEMENT_KEY: "" },
    })
    expect(config.server.port).toBe(8787)
  })
})

describe("the file", () => {
  const app = { "package.json": "{}" }
  const at = (port: number) => JSON.stringify({ server: { port } })

  test("is found beside the nearest package.json above the working directory", async () => {
    const { file, folder, config } = await loaded({
      files: { ...app, "headgate.config.jsonc": at(7), "src/deep/.keep": "" },
      cwd: "src/deep",
    })
    expect(config.server.port).toBe(7)
    expect([file, config.spoolFolder]).toEqual([join(folder, "headgate.config.jsonc"), join(folder, "data")])
  })

  test("is first looked for in the working directory, and not above the nearest package.json", async () => {
    const files = { ...app, "headgate.config.json": at(7), "a/headgate.config.json": at(8), "b/package.json": "{}" }
    const inA = await loaded({ files, cwd: "a" })
    expect([inA.config.server.port, inA.file]).toEqual([8, join(inA.folder, "headgate.config.json")])
    const inB = await loaded({ files, cwd: "b" })
    expect([inB.config.server.port, inB.file]).toEqual([8787, null])
    expect(inB.folder).toEndWith("/b")
  })

  test("may be none: then paths count from the folder of the package.json, so that each start has one database", async () => {
    const files = { ...app, "src/.keep": "" }
    const { directory } = await outcome({ files })
    const { config } = Either.getOrThrow(await Effect.runPromise(Effect.either(loadConfigIn(join(directory, "src")))))
    expect(config.storage).toEqual({ _tag: "Sqlite", path: join(directory, "data/headgate.db") })
    expect(config.plugins.folders).toContain(join(directory, "plugins"))
  })

  test("is what its paths count from; those of flags and variables count from the working directory", async () => {
    const own = {
      storage: "sqlite:gate.db",
      spool_folder: "spool",
      plugins: { folders: ["p"] },
      catalogue: { file: "c" },
    }
    const files = { "etc/headgate.json": JSON.stringify(own) }
    const flags = { file: "etc/headgate.json" }
    const { config, folder } = await loaded({ files, flags })
    expect(folder).toEndWith("/etc")
    expect(config).toMatchObject({
      storage: { path: join(folder, "gate.db") },
      spoolFolder: join(folder, "spool"),
      plugins: { folders: [join(folder, "p")] },
      catalogue: { file: join(folder, "c") },
    })
    const moved = await loaded({ files, flags, env: { HEADGATE_STORAGE: "sqlite:gate.db" } })
    expect(moved.config.storage).toMatchObject({ path: join(moved.folder, "../gate.db") })
  })
})

const model = (hosts: ReadonlyArray<unknown>, more: object = {}) => ({
  id: "acme/small",
  context_length: 8192,
  hosts,
  ...more,
})
const acme = { provider: "acme" }
const port = "a whole number from 0 to 65535"
const usd = 'a decimal of USD such as "0.0000025", not negative, at most 1000 and not finer than 1e-12'
const slugForm = 'a slug of a-z, 0-9, ".", "_" and "-"'

const bad: ReadonlyArray<readonly [string, unknown, ReadonlyArray<string>]> = [
  ["no object", [], ["headgate.config.json: expected an object, got list"]],
  ["no object either", null, ["headgate.config.json: expected an object, got null"]],
  ["a field of the wrong kind", { server: { port: "8787" } }, [`server.port: expected ${port}, got string "8787"`]],
  ["a number out of range", { server: { port: 70000 } }, [`server.port: expected ${port}, got 70000`]],
  ["a broken number", { server: { port: 1.5 } }, [`server.port: expected ${port}, got 1.5`]],
  ["a null", { server: { port: null } }, [`server.port: expected ${port}, got null`]],
  ["a section that is none", { limits: 3 }, ["limits: expected an object, got number"]],
  ["a list that is none", { server: { cors_origins: "*" } }, ["server.cors_origins: expected a list, got string"]],
  ["an unknown field", { server: { prot: 1 } }, ['server.prot: unknown field, did you mean "port"?']],
  [
    "an unknown field in the program's spelling",
    { server: { openMetrics: true } },
    ['server.openMetrics: unknown field, did you mean "open_metrics"?'],
  ],
  [
    "swapped letters",
    { limits: { breaker: { opne_s: 1 } } },
    ['limits.breaker.opne_s: unknown field, did you mean "open_s"?'],
  ],
  ["an unknown field like nothing known", { colour: "red" }, ["colour: unknown field"]],
  ["an unknown field with an odd name", { 'a "b"\n': 1 }, [String.raw`["a \"b\"\n"]: unknown field`]],
  ["a choice that is none", { durability: canary }, ['durability: expected "full" or "process", got string']],
  [
    "a time that no timer can wait",
    { limits: { idle_ms: 1e12 } },
    ["limits.idle_ms: expected a whole number from 0 to 2147483647, got 1000000000000"],
  ],
  [
    "breakers that cannot be",
    {
      limits: {
        retries: -1,
        breaker: { consecutive_failures: 1.5, error_rate: 1.5, min_requests: -1, open_s: 301 },
      },
      routing: { hedge: { enabled: "always", max_cost_share: 2 } },
      providers: { acme: { max_concurrent: 0 } },
    },
    [
      "limits.retries: expected a number of at least 0, got -1",
      "limits.breaker.consecutive_failures: expected a whole number of at least 0, got 1.5",
      "limits.breaker.error_rate: expected a number from 0 to 1, got 1.5",
      "limits.breaker.min_requests: expected a whole number of at least 0, got -1",
      "limits.breaker.open_s: expected a whole number from 0 to 300, got 301",
      'routing.hedge.enabled: expected false, "on_request" or true, got string "always"',
      "routing.hedge.max_cost_share: expected a number from 0 to 1, got 2",
      "providers.acme.max_concurrent: expected a whole number of at least 1, got 0",
    ],
  ],
  [
    "an origin with a path",
    { server: { cors_origins: ["https://a.example", "https://a.example/x"] } },
    [
      'server.cors_origins[1]: expected "*" or an origin such as "https://app.example", got string "https://a.example/x"',
    ],
  ],
  [
    "several workers on one file",
    { server: { workers: 4 } },
    ["server.workers: expected 1 (several workers need a storage that they can share: postgres://…), got 4"],
  ],
  [
    "too many workers",
    { server: { workers: 65 }, storage: "postgres://u@h/d" },
    ["server.workers: expected a whole number from 1 to 64, got 65"],
  ],
  [
    "several workers on a storage that is none",
    { server: { workers: 4 }, storage: "oracle:x" },
    ['storage: expected "memory:", "sqlite:PATH" or "postgres://USER@HOST/DATABASE", got string'],
  ],
  [
    "PostgreSQL without a database",
    { storage: `postgres://u:${canary}@h` },
    ['storage: expected "memory:", "sqlite:PATH" or "postgres://USER@HOST/DATABASE", got string'],
  ],
  [
    "PostgreSQL at a port that is none",
    { storage: `postgres://u:${canary}@h:70000/db` },
    ['storage: expected "memory:", "sqlite:PATH" or "postgres://USER@HOST/DATABASE", got string'],
  ],
  [
    "a storage without a path",
    { storage: "sqlite:" },
    ['storage: expected "memory:", "sqlite:PATH" or "postgres://USER@HOST/DATABASE", got string'],
  ],
  [
    "SQLite's own word for memory",
    { storage: "sqlite::memory:" },
    ['storage: expected "memory:", "sqlite:PATH" or "postgres://USER@HOST/DATABASE", got string'],
  ],
  [
    "a storage of another kind",
    { storage: { path: canary } },
    ['storage: expected "memory:", "sqlite:PATH" or "postgres://USER@HOST/DATABASE", got object'],
  ],
  [
    "an alias for what is no model",
    { aliases: { "gpt-4.1": "gpt", x: 3 } },
    [
      'aliases["gpt-4.1"]: expected a model id <author>/<slug>, got string "gpt"',
      "aliases.x: expected a model id <author>/<slug>, got number",
    ],
  ],
  ["a provider that is none", { providers: { acme: canary } }, ["providers.acme: expected an object, got string"]],
  [
    "a provider with a wrong slug",
    { providers: { "My/Host": {} } },
    [`providers["My/Host"]: expected ${slugForm} as its name`],
  ],
  [
    "a variable that is not set",
    { providers: { acme: { api_key: { env: "ACME_KEY" } }, b: { api_key: { env: "B_KEY" } } } },
    [
      "providers.acme.api_key: environment variable ACME_KEY is not set",
      "providers.b.api_key: environment variable B_KEY is not set",
    ],
  ],
  [
    "a secret of the wrong kind",
    { providers: { acme: { api_key: 123456789 } } },
    ['providers.acme.api_key: expected a secret: { "env": "NAME" }, got number'],
  ],
  [
    "a secret that is misspelt",
    { providers: { acme: { api_key: { environment: canary } } } },
    ['providers.acme.api_key: expected a secret: { "env": "NAME" }, got object'],
  ],
  [
    "a key and several keys",
    { providers: { acme: { api_key: "one", api_keys: [{ key: "two" }] } } },
    ["providers.acme.api_keys: expected nothing beside api_key: a provider has either"],
  ],
  [
    "keys that are wrong",
    {
      providers: {
        acme: { api_keys: [] },
        b: { api_keys: [{ key: "one", weight: 0, limit: -1, limit_reset: "hourly" }, { key: { env: "B_KEY" } }, {}] },
        c: { api_keys: [{ key: "one" }, { key: "one", weight: 2 }] },
      },
    },
    [
      "providers.acme.api_keys[0]: expected an object, got nothing",
      "providers.b.api_keys[0].weight: expected a number above 0, at most 1000000, got 0",
      "providers.b.api_keys[0].limit: expected USD, at least 0, got number",
      'providers.b.api_keys[0].limit_reset: expected "daily", "weekly" or "monthly", got string "hourly"',
      "providers.b.api_keys[1].key: environment variable B_KEY is not set",
      'providers.b.api_keys[2].key: expected a secret: { "env": "NAME" }, got nothing',
      "providers.c.api_keys: expected each key once",
    ],
  ],
  [
    "http to the world",
    { providers: { acme: { base_url: "http://api.acme.example/v1" } } },
    ['providers.acme.base_url: expected https (http needs "network": "private"), got http'],
  ],
  [
    "an address with a password",
    { providers: { acme: { base_url: `https://u:${canary}@h/v1` } } },
    ["providers.acme.base_url: expected a URL without user name and password, got one with them"],
  ],
  [
    "a private address",
    { providers: { acme: { base_url: "https://10.0.0.5/v1" } } },
    [
      'providers.acme.base_url: expected a public address (loopback and private ones need "network": "private"), got a private one',
    ],
  ],
  [
    "metadata",
    { providers: { acme: { network: "private", base_url: "http://169.254.169.254/v1" } } },
    ["providers.acme.base_url: expected an address that may be dialled, got a link-local, metadata or reserved one"],
  ],
  [
    "two things wrong with one provider",
    { providers: { acme: { enabled: "yes", base_url: "ftp://x" } } },
    [
      'providers.acme.enabled: expected a boolean, got string "yes"',
      'providers.acme.base_url: expected a URL such as "https://host/v1", got string',
    ],
  ],
  [
    "a proxy that is none",
    { providers: { acme: { proxy: "proxy:3128" } } },
    ["providers.acme.proxy: expected an http or https URL, got string"],
  ],
  [
    "a part of a provider",
    { providers: { acme: { privacy: { may_trian: false } } } },
    ['providers.acme.privacy.may_trian: unknown field, did you mean "may_train"?'],
  ],
  ["models that are no list", { models: {} }, ["models: expected a list, got object"]],
  [
    "a model without an id",
    { models: [{ context_length: 1 }] },
    ["models[0].id: expected a model id <author>/<slug>, got nothing"],
  ],
  ["a model that is none", { models: [3] }, ["models[0]: expected an object, got number"]],
  [
    "a host at an unknown provider",
    { providers: { acme: {} }, models: [model([{ provider: "acne" }])] },
    ['models[0].hosts[0].provider: expected the slug of a configured provider, got string, did you mean "acme"?'],
  ],
  [
    "a model twice",
    { providers: { acme: {} }, models: [model([acme]), model([acme])] },
    ["models[1].id: expected an id of its own, got that of models[0]"],
  ],
  [
    "a tag twice",
    { providers: { acme: {} }, models: [model([acme, { ...acme, variant: "eu" }, acme])] },
    ['models[0].hosts[2]: expected a host with a tag of its own (its "variant" makes one), got the tag of hosts[0]'],
  ],
  [
    "no context length",
    { providers: { acme: {} }, models: [{ id: "a/b", hosts: [acme] }, { id: "a/c" }] },
    [
      "models[0].hosts[0].context_length: expected a number of tokens here or at the model, got nothing",
      "models[1].context_length: expected a number of tokens here or at its hosts, got nothing",
    ],
  ],
  [
    "a price too fine",
    { providers: { acme: {} }, models: [model([{ ...acme, pricing: { prompt: "0.0000000000001", completion: -1 } }])] },
    [
      `models[0].hosts[0].pricing.prompt: expected ${usd}, got string`,
      `models[0].hosts[0].pricing.completion: expected ${usd}, got number`,
    ],
  ],
  [
    "a price of the wrong kind",
    { providers: { acme: {} }, models: [model([{ ...acme, pricing: { prompt: "0", completion: "0", audio: [] } }])] },
    [`models[0].hosts[0].pricing.audio: expected ${usd}, got list`],
  ],
  [
    "a price left out",
    { providers: { acme: {} }, models: [model([{ ...acme, pricing: { prompt: "0" } }])] },
    [`models[0].hosts[0].pricing.completion: expected ${usd}, got nothing`],
  ],
  [
    "a discount above one",
    {
      providers: { acme: {} },
      models: [model([{ ...acme, pricing: { prompt: "0", completion: "0", discount: 1.5 } }])],
    },
    ["models[0].hosts[0].pricing.discount: expected a share from 0 to 1 with at most 6 decimals, got number"],
  ],
  [
    "an hour that is none",
    {
      providers: { acme: {} },
      models: [model([{ ...acme, pricing: { prompt: "0", completion: "0", overrides: [{ utc_start: 1260 }] } }])],
    },
    [
      "models[0].hosts[0].pricing.overrides[0].utc_start: expected a time of the UTC day as a number HHMM from 0 to 2400, got 1260",
    ],
  ],
  [
    "other names of the same thing",
    {
      providers: { acme: { apiKey: "x", url: "https://a.example" } },
      models: [model([{ ...acme, price: { prompt: 1 } }])],
    },
    [
      'providers.acme.apiKey: expected no field: there is nothing to configure, got string, did you mean "api_key"?',
      'providers.acme.url: expected no field: there is nothing to configure, got string, did you mean "base_url"?',
      'models[0].hosts[0].price: unknown field, did you mean "pricing"?',
    ],
  ],
  [
    "variables in texts",
    { providers: { acme: { api_key: `\${ACME_KEY}`, base_url: `https://\${HOST}/v1` } } },
    [
      `providers.acme.api_key: expected { "env": "ACME_KEY" } for a secret, or a file headgate.config.ts with process.env["ACME_KEY"], got \${ACME_KEY}, which is not replaced in a text`,
      `providers.acme.base_url: expected { "env": "HOST" } for a secret, or a file headgate.config.ts with process.env["HOST"], got \${HOST}, which is not replaced in a text`,
    ],
  ],
  [
    "a bad host of a bad model",
    { models: [{ id: "small", hosts: [{ provder: "acme" }] }] },
    [
      "models[0].id: expected a model id <author>/<slug>, got string",
      'models[0].hosts[0].provder: unknown field, did you mean "provider"?',
      `models[0].hosts[0].provider: expected ${slugForm}, got nothing`,
    ],
  ],
]

describe("several workers", () => {
  const files = json({ server: { workers: 4 } })

  test.skipIf(process.platform !== "linux")("are those of the file, on the PostgreSQL of the environment", async () => {
    const { config } = await loaded({ files, env: { HEADGATE_STORAGE: "postgres://u@h/d" } })
    expect(config.server.workers).toBe(4)
  })

  test("are not complained of where only the storage of the environment is wrong", async () => {
    const [line = "", ...more] = await lines({ files, env: { HEADGATE_STORAGE: "oracle:x" } })
    expect([line, more]).toEqual([expect.stringContaining("HEADGATE_STORAGE: expected"), []])
  })

  test.each([
    ["linux", []],
    ["darwin", ["server.workers: expected 1 (several workers need Linux, which lets processes share a port), got 4"]],
  ] as const)("on %s", async (platform, expected) => {
    const config = await Effect.runPromise(decodeConfig({ server: { workers: 4 }, storage: "postgres://u@h/d" }))
    expect(workerProblems(config, platform).map(({ path, message }) => `${path}: ${message}`)).toEqual([...expected])
  })
})

/** Fields that nothing heeds yet: a value that is not the default, and the default. */
const later: ReadonlyArray<readonly [path: string, value: unknown, fallback: string]> = [
  ["server.trusted_proxies", ["10.0.0.0/8"], "[]"],
  ["server.metrics.open", true, "false"],
  ["server.open_metrics", true, "false"],
  ["privacy.log_content", true, "false"],
]

const at = (path: string, value: unknown): unknown =>
  path.split(".").reduceRight((inner, step) => ({ [step]: inner }), value)

describe("an option that does nothing yet", () => {
  test.each(later)("%s is refused unless it has its default", async (path, value, fallback) => {
    const [line = "", ...more] = await lines({ files: json(at(path, value)) })
    expect(more).toEqual([])
    expect(line).toStartWith(`config error: ${path}: expected ${fallback} (`)
    expect(line).toMatch(/ not available in this version yet\), got (list|boolean|string|[\d.]+)$/)
    expect(await lines({ files: json(at(path, JSON.parse(fallback))) })).toEqual([])
  })

  test("is read by its earlier name, with a warning that names the new one", async () => {
    const earlier = await loaded({ files: json({ server: { open_metrics: false } }) })
    expect(earlier.warnings).toEqual(["server.open_metrics: this is the earlier name of server.metrics.open."])
    const { config, warnings } = await loaded({ files: json({ server: { metrics: { open: false } } }) })
    expect([config.server.metrics, warnings]).toEqual([{ open: false }, []])
  })

  test.each([false, true])("is refused by both names at once: %p", async (open) => {
    expect(await lines({ files: json({ server: { metrics: { open: false }, open_metrics: open } }) })).toEqual([
      "config error: server.open_metrics: expected nothing beside server.metrics.open: it is the earlier name of that",
    ])
  })

  test.each(["discovery.local"])("%s may be false: that is what is", async (path) => {
    expect(await lines({ files: json(at(path, false)) })).toEqual([])
  })
})

describe("a bad configuration", () => {
  test.each(bad)("%s", async (_name, config, expected) => {
    expect(await lines({ files: json(config) })).toEqual(expected.map((line) => `config error: ${line}`))
  })

  test("says all that is wrong with file and environment at once", async () => {
    const files = json({
      server: { port: "x", hostname: "" },
      limit: {},
      providers: { acme: { api_key: { env: "ACME_KEY" }, base_url: "http://1.1.1.1" } },
      models: [model([{ provider: "nobody" }])],
    })
    const env = { HEADGATE_PORT: "http", HEADGATE_STORAGE: "mysql:x", HEADGATE_MANAGEMENT_KEY: canary.slice(0, 31) }
    expect(await lines({ files, env })).toEqual([
      'config error: limit: unknown field, did you mean "limits"?',
      'config error: server.hostname: expected an IP address or a host name, got string ""',
      `config error: server.port: expected ${port}, got string "x"`,
      "config error: providers.acme.api_key: environment variable ACME_KEY is not set",
      'config error: providers.acme.base_url: expected https (http needs "network": "private"), got http',
      `config error: HEADGATE_PORT: expected ${port}, got string "http"`,
      'config error: HEADGATE_STORAGE: expected "memory:", "sqlite:PATH" or "postgres://USER@HOST/DATABASE", got string',
      "config error: HEADGATE_MANAGEMENT_KEY: expected at least 32 visible ASCII characters, got fewer",
      "config error: models[0].hosts[0].provider: expected the slug of a configured provider, got string",
    ])
  })

  test("does not blame hosts for a provider whose entry is wrong, nor for providers that are no object", async () => {
    const models = [model([{ provider: "acme" }, { provider: "b" }, { provider: "nobody" }])]
    const unread = { acme: { enabled: 1 }, b: {} }
    expect(await lines({ files: json({ providers: unread, models }) })).toEqual([
      "config error: providers.acme.enabled: expected a boolean, got number",
      "config error: models[0].hosts[2].provider: expected the slug of a configured provider, got string",
    ])
    expect(await lines({ files: json({ providers: [], models }) })).toEqual([
      "config error: providers: expected an object, got list",
    ])
  })

  test.each([
    ["65536", `${port}, got 65536`],
    ["-1", `${port}, got string "-1"`],
    ["80.5", `${port}, got string "80.5"`],
    ["0x50", `${port}, got string "0x50"`],
  ])("HEADGATE_PORT=%s", async (value, expected) => {
    expect(await lines({ env: { HEADGATE_PORT: value } })).toEqual([
      `config error: HEADGATE_PORT: expected ${expected}`,
    ])
  })

  test.each(["999.1.1.1", "1.2.3", "::g", "a b", "-a", "a..b", "a/b", "[::1]"])(
    "HEADGATE_HOSTNAME=%s, in the file too",
    async (hostname) => {
      const message = `expected an IP address or a host name, got string "${hostname}"`
      expect(await lines({ env: { HEADGATE_HOSTNAME: hostname }, files: json({ server: { hostname } }) })).toEqual([
        `config error: server.hostname: ${message}`,
        `config error: HEADGATE_HOSTNAME: ${message}`,
      ])
    },
  )

  test.each(["::1", "::", "0.0.0.0", "localhost", "gate-1.acme.example", "a_b", "4u"])(
    "HEADGATE_HOSTNAME=%s is one",
    async (hostname) => {
      expect((await loaded({ env: { HEADGATE_HOSTNAME: hostname } })).config.server.hostname).toBe(hostname)
    },
  )

  test("a management key with a blank could not be sent", async () => {
    const key = "0123456789 0123456789 0123456789 0123"
    expect(await lines({ env: { HEADGATE_MANAGEMENT_KEY: key } })).toEqual([
      "config error: HEADGATE_MANAGEMENT_KEY: expected at least 32 visible ASCII characters, got others among them",
    ])
  })
})

describe("plugins in the file", () => {
  const pluginFile = resolve(import.meta.dir, "../../src/plugin.ts")
  const provider = (more = "") => `
    import * as Schema from "effect/Schema"
    import { chatProtocol, defineProvider, httpError } from ${JSON.stringify(pluginFile)}
    export const ours = defineProvider({
      id: "ours", name: "Ours", baseUrl: "https://api.ours.example/v1", config: Schema.Struct({}),
      load: () => ({ protocols: { chat: chatProtocol() }, error: httpError }),
    })
    export default { plugins: { folders: [], inline: [${more === "" ? "ours" : more}] }, providers: { ours: {} },
      models: [{ id: "a/b", context_length: 1, hosts: [{ provider: "ours" }] }] }`

  const discovered = async (source: string) => {
    const { result } = await outcome({ files: { "headgate.config.ts": source } })
    return result
  }

  test("are found like those of folders, and come first", async () => {
    const { directory } = await outcome({
      files: {
        "headgate.config.ts": provider("ours, { ...ours, name: 'Twice' }, { ...ours, id: 'old', contract: 0 }"),
      },
    })
    const reading = await Effect.runPromise(loadConfigIn(directory))
    const { plugins: found, invalid, origins } = await Effect.runPromise(discoverPlugins(reading))
    expect(found.map((plugin) => [plugin.id, origins.get(plugin)])).toEqual([["ours", "plugins.inline[0]"]])
    expect(invalid.map(({ message }) => message)).toEqual([
      "plugin plugins.inline[1]: duplicate: plugins.inline[0] has its id",
      expect.stringContaining("plugin plugins.inline[2]: shape: made for contract 0"),
    ])
    const { resolved } = await Effect.runPromise(resolveConfig({ plugins: found, invalid }, reading))
    expect(resolved.providers.get("ours")?.callable).toBe(true)
  })

  test("may have any text in them", async () => {
    const source = provider(`{ ...ours, about: "\\\${NAME}" }`)
    const { directory } = await outcome({ files: { "headgate.config.ts": source } })
    expect((await Effect.runPromise(loadConfigIn(directory))).problems).toEqual([])
  })

  test("must be plugins", async () => {
    const result = await discovered(provider("{ id: 'ours' }"))
    expect(Either.isLeft(result) && result.left.message).toBe(
      "config error: plugins.inline[0]: expected a plugin made by defineProvider or defineStrategy, got object",
    )
  })
})

describe("a file of JSON", () => {
  const commented = `{
  // The port of the office.
  "server": {
    "port": 70000, /* too high */
    "hostnme": "::1",
  },
  "models": [
    { "hosts": [] },
  ],
}`

  test("may have comments and commas at the end, and problems say where they stand", async () => {
    const { directory, result } = await outcome({ files: { "headgate.config.json": commented } })
    const at = (place: string) => `(${join(directory, "headgate.config.json")}:${place})`
    expect(Either.isLeft(result) && result.left.message.split("\n")).toEqual([
      `config error: server.hostnme: unknown field, did you mean "hostname"? ${at("5:5")}`,
      `config error: server.port: expected ${port}, got 70000 ${at("4:5")}`,
      `config error: models[0].id: expected a model id <author>/<slug>, got nothing ${at("8:5")}`,
    ])
    const files = { "headgate.config.json": '\uFEFF{ "server": { "port": 7, }, } // fine' }
    expect((await loaded({ files })).config.server.port).toBe(7)
  })

  test("may name its schema", async () => {
    expect(await lines({ files: json({ $schema: "./node_modules/headgate/config.schema.json" }) })).toEqual([])
  })

  test.each([
    ['{ "server": { "port" 1 } }', 'an error at line 1, column 22: { "server": { "…" 1 } }'],
    [`{\n  "api_key": "${canary}" "b": 1\n}`, 'an error at line 2, column 59: "api_key": "…" "b": 1'],
    [`{ "api_key": "${canary} }`, 'an error at line 1, column 14: { "api_key": "…"'],
  ])("%s", async (text, expected) => {
    const [line = ""] = await lines({ files: { "headgate.config.json": text } })
    expect(line).toContain(`expected JSON, got ${expected}`)
    expect(line).not.toContain(canary.slice(3, 12))
  })
})

test("a database of an earlier version in the working directory is not passed over in silence", async () => {
  const files = { "package.json": "{}", "sub/data/headgate.db": "" }
  const { warnings, folder } = await loaded({ files, cwd: "sub" })
  expect(warnings).toEqual([
    `storage: a new database begins at ${join(folder, "data/headgate.db")}, and there is one at ${join(folder, "sub/data/headgate.db")}: move it, or name it by HEADGATE_STORAGE.`,
  ])
  expect((await loaded({ files: { ...files, "data/headgate.db": "" }, cwd: "sub" })).warnings).toEqual([])
})

describe("a file that cannot be read", () => {
  test("is missed when it was asked for", async () => {
    expect(await lines({ env: { HEADGATE_CONFIG: "gone.json", HEADGATE_PORT: "x" } })).toEqual([
      "config error: HEADGATE_CONFIG: expected the path of a file, but there is no gone.json",
      `config error: HEADGATE_PORT: expected ${port}, got string "x"`,
    ])
  })

  test("is not chosen between two", async () => {
    expect(await lines({ files: { ...json({}), "headgate.config.ts": "export default {}" } })).toEqual([
      "config error: .: expected one configuration file, got headgate.config.ts and headgate.config.json",
    ])
  })

  test.each([
    ["bad.json", "{", "expected JSON, got text that ends too early at line 1, column 2: {"],
    ["word.json", `{\n  "api_key": ${canary} }`, 'expected JSON, got an error at line 2, column 14: "api_key": … }'],
    ["empty.json", "", "expected JSON, got text that ends too early at line 1, column 1"],
    [
      "syntax.ts",
      `export default { a: "${canary}"\n "b" }`,
      "expected a file that parses, got an error at line 2, column 2",
    ],
    [
      "identifier.ts",
      `export default { a: ${canary}}`,
      "expected a file that parses, got an error at line 1, column 31",
    ],
    ["throws.ts", "throw new RangeError('no disk')", "expected a file that loads, got RangeError: no disk"],
    ["throwsText.ts", `throw "${canary}"`, "expected a file that loads, got a throw of no Error"],
    [
      "throwsSecret.ts",
      `throw new Error("bad key ${canary} here")`,
      "expected a file that loads, got Error: bad key … here",
    ],
    [
      "calls.ts",
      `const x = {}\nexport default x.f({ api_key: "${canary}" })`,
      "expected a file that loads, got TypeError: x.f is not a function.",
    ],
    [
      "imports.ts",
      `import x from "nowhere-at-all"\nexport default x`,
      /^expected a file that loads, got ResolveMessage: Cannot find package 'nowhere-at-all'/,
    ],
    ["nothing.ts", "export const config = {}", "expected a default export made by defineConfig, got nothing"],
    ["list.ts", "export default [1]", "expected a default export made by defineConfig, got list"],
    ["config.yaml", "a: 1", "expected a file that ends in .ts, .js, .json or .jsonc"],
  ])("%s", async (file, text, expected) => {
    const [line = "", ...more] = await lines({ files: { [file]: text }, env: { HEADGATE_CONFIG: file } })
    expect(more).toEqual([])
    expect(line).toStartWith(`config error: ${file}: `)
    const message = line.slice(`config error: ${file}: `.length)
    if (typeof expected === "string") expect(message).toBe(expected)
    else expect(message).toMatch(expected)
    expect(line).not.toContain(canary)
  })
})

test("a secret anywhere in a bad configuration is never repeated", async () => {
  const broken = [
    ...bad.map(([, config]) => config),
    { [`x`]: canary, server: canary, storage: `postgres://${canary}`, aliases: { a: canary }, models: canary },
    {
      server: { hostname: 1, port: canary, cors_origins: [canary], trusted_proxies: canary },
      plugins: { folders: canary },
    },
    { providers: { acme: { api_key: { env: "NOT_SET", key: canary } } } },
    { providers: { acme: { api_key: [canary] } } },
    { providers: { acme: { api_key: canary, base_url: canary, proxy: canary, network: canary, privacy: canary } } },
    {
      models: [
        {
          id: canary,
          hosts: [{ provider: canary, pricing: { prompt: canary, completion: canary, discount: canary } }],
        },
      ],
    },
  ]
  for (const config of broken) {
    const { result } = await outcome({ files: json(config) })
    expect(Either.isLeft(result)).toBe(true)
    if (Either.isLeft(result)) {
      expect(result.left.message).not.toContain(canary)
      expect(Bun.inspect(result.left)).not.toContain(canary)
    }
  }
})
