/** What is wrong with a configuration, as the operator reads it. */
import { afterAll, describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import { badConfigs, model } from "./badConfigs.ts"
import { canary, configFolders, json, port } from "./configFolders.ts"

const { loaded, lines, outcome, remove } = configFolders()
afterAll(remove)

/** Fields that nothing heeds yet: a value that is not the default, and the default. */
const later: ReadonlyArray<readonly [path: string, value: unknown, fallback: string]> = [
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
    expect([config.server.metrics.open, warnings]).toEqual([false, []])
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
  test.each(badConfigs)("%s", async (_name, config, expected) => {
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

  test("a token for figures is not one that can be guessed", async () => {
    expect(await lines({ env: { HEADGATE_METRICS_TOKEN: canary.slice(0, 15) } })).toEqual([
      "config error: HEADGATE_METRICS_TOKEN: expected at least 16 visible ASCII characters, got fewer",
    ])
    const { metricsToken } = await loaded({ env: { HEADGATE_METRICS_TOKEN: canary } })
    expect(metricsToken !== null && Redacted.value(metricsToken)).toBe(canary)
    expect(Bun.inspect(metricsToken)).not.toContain(canary)
  })
})

test("a secret anywhere in a bad configuration is never repeated", async () => {
  const broken = [
    ...badConfigs.map(([, config]) => config),
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
