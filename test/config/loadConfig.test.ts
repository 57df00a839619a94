import { afterAll, describe, expect, test } from "bun:test"
import { join, resolve } from "node:path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import { defineConfig } from "../../src/config/GatewayConfig.ts"
import { decodeConfig, type LoadedConfig, loadConfigIn, workerProblems } from "../../src/config/loadConfig.ts"
import { canary, configFolders, definition, json, port } from "./configFolders.ts"

const { loaded, lines, outcome, remove } = configFolders()
afterAll(remove)

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
    metrics: { enabled: true, port: null, hostname: "127.0.0.1", open: false, budget_keys: 0 },
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

  test("has to name a form of the log that there is", async () => {
    expect(await lines({ env: { ...env, HEADGATE_LOG_FORMAT: "xml" } })).toEqual([
      'config error: HEADGATE_LOG_FORMAT: expected "pretty", "logfmt" or "json", got string "xml"',
    ])
    expect((await loaded({ env: { ...env, HEADGATE_LOG_FORMAT: "json" } })).problems).toEqual([])
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

test("a database of an earlier version in the working directory is not passed over in silence", async () => {
  const files = { "package.json": "{}", "sub/data/headgate.db": "" }
  const { warnings, folder } = await loaded({ files, cwd: "sub" })
  expect(warnings).toEqual([
    `storage: a new database begins at ${join(folder, "data/headgate.db")}, and there is one at ${join(folder, "sub/data/headgate.db")}: move it, or name it by HEADGATE_STORAGE.`,
  ])
  expect((await loaded({ files: { ...files, "data/headgate.db": "" }, cwd: "sub" })).warnings).toEqual([])
})
