/** What is probably not meant in a configuration: `check` and a start say so, and a start goes on. docs/commands.md#check */
import { afterAll, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { secretDoubt } from "../../src/config/secretWarnings.ts"
import { type Installation, install } from "../support/gateways/process.ts"

const patience = 1_800_000

const installation: Installation = install()
afterAll(() => installation.remove())

let count = 0
const check = async (text: string, env: Readonly<Record<string, string>> = {}) => {
  const file = join(installation.folder, `config${count++}.json`)
  writeFileSync(file, text)
  const { code, out, err } = await installation.command(["check", file], env)
  const linesOf = (text: string, begin: string) =>
    text
      .split("\n")
      .flatMap((line) => (line.startsWith(begin) ? [line.slice(begin.length).replaceAll(file, "FILE")] : []))
  return { code, warnings: linesOf(out, "warning: "), errors: linesOf(err, "config error: ") }
}

const config = (more: object) => JSON.stringify({ discovery: { environment: false, local: false }, ...more })

test(
  "a model without a price, with its path: a key with a limit may not call it",
  async () => {
    const provider = { plugin: "openai-compatible", base_url: "https://api.acme.example/v1" }
    const host = { provider: "acme", context_length: 1000 }
    const models = [
      { id: "acme/priced", hosts: [{ ...host, pricing: { prompt: "0", completion: "0" } }] },
      {
        id: "acme/small",
        hosts: [
          { ...host, pricing: { prompt: "0", completion: "0" } },
          { ...host, variant: "eu" },
        ],
      },
    ]
    const text = (more: object) => config({ providers: { acme: provider }, models, ...more })
    expect(await check(text({}))).toEqual({
      code: 0,
      errors: [],
      warnings: [
        'no price is known, so keys with a limit may not call these hosts ("0" is free; billing.unknown_price): models[1].hosts[1].pricing',
      ],
    })
    const allowed = await check(text({ billing: { unknown_price: "allow" } }))
    expect(allowed.warnings).toEqual(["no price is known, so nothing is charged: acme/small at acme/eu"])
  },
  patience,
)

test.each([
  ["https://api.acme.example/v1/chat/completions", "/chat/completions"],
  ["https://api.acme.example/v1/Messages/", "/messages"],
  ["https://api.acme.example/v1/responses", "/responses"],
  ["https://api.acme.example/v1/embeddings", "/embeddings"],
  ["https://api.acme.example/v1/models", "/models"],
])(
  "a base URL that already has the path of an operation: %s",
  async (base_url, operation) => {
    const { code, warnings } = await check(config({ providers: { acme: { plugin: "openai-compatible", base_url } } }))
    expect([code, warnings]).toEqual([
      0,
      [
        `providers.acme.base_url: ends with "${operation}", which calls add themselves: did you mean the address before it?`,
      ],
    ])
  },
  patience,
)

test(
  "a member that is written twice in JSON, with its place, at any depth and with comments",
  async () => {
    const text = `{ // everything
  "discovery": { "environment": false, "local": false },
  "limits": { "retries": 0.1, "breaker": { "open_s": 1 }, "retries": 0.3 },
  "providers": { "groq": {}, "echo": {}, "groq": { "enabled": false } },
}`
    const { code, warnings } = await check(text)
    expect([code, warnings]).toEqual([
      0,
      [
        "limits.retries: it is written twice, and the last one counts (FILE:3:59).",
        "providers.groq: it is written twice, and the last one counts (FILE:4:42).",
      ],
    ])
  },
  patience,
)

test(
  "an alias of a model that is not there, by its id and with the near one",
  async () => {
    const text = (more: object) => config({ aliases: { fast: "headgate/ecko", far: "b/x" }, ...more })
    expect(await check(text({ providers: { groq: { enabled: false } } }))).toMatchObject({
      code: 0,
      warnings: [
        'aliases.fast: no model is known as "headgate/ecko" while providers are off, did you mean "headgate/echo" or "headgate/echo-rerank" or "headgate/echo-embeddings"?',
        'aliases.far: no model is known as "b/x" while providers are off.',
      ],
    })
    expect((await check(text({}))).errors.map((line) => line.replace(/ \(FILE.*/, ""))).toEqual([
      'aliases.fast: expected the id of a known model, got "headgate/ecko", did you mean "headgate/echo" or "headgate/echo-rerank" or "headgate/echo-embeddings"?',
      'aliases.far: expected the id of a known model, got "b/x"',
    ])
  },
  patience,
)

test(
  "all problems are told in one round: both api_key and api_keys hide nothing of the provider's plugin",
  async () => {
    const keys = { api_key: "a", api_keys: [{ key: "b" }] }
    const { code, errors } = await check(
      config({
        providers: { groq: { ...keys, regoin: 1 }, bedrock: { ...keys, region: "eu-west-1", sesion_token: "x" } },
      }),
    )
    expect([code, errors.map((line) => line.replace(/ \(FILE.*/, ""))]).toEqual([
      78,
      [
        "providers.groq.api_keys: expected nothing beside api_key: a provider has either",
        "providers.bedrock.api_keys: expected nothing beside api_key: a provider has either",
        "providers.groq.regoin: expected no field: there is nothing to configure, got number",
        'providers.bedrock.sesion_token: unknown field, did you mean "session_token"?',
      ],
    ])
  },
  patience,
)

test(
  "a secret that is quoted or a placeholder passed without a word",
  async () => {
    const webhook = { url: "https://hooks.acme.example", secret: { env: "HOOK" } }
    const { code, warnings } = await check(
      config({
        providers: {
          openai: { api_key: { env: "OPENAI" } },
          groq: { api_keys: [{ key: { env: "FINE" } }, { key: { env: "GROQ" } }] },
        },
        alerts: { webhooks: [webhook] },
      }),
      {
        ...{ OPENAI: '"sk-secret-1"', FINE: "sk-secret-2", GROQ: `$${"{GROQ_API_KEY}"}`, HOOK: "changeme" },
        HEADGATE_MANAGEMENT_KEY: `'${"sk-secret-3".repeat(4)}'`,
        HEADGATE_METRICS_TOKEN: "your-metrics-token-here",
        HEADGATE_STORAGE: "postgres://headgate:changeme@127.0.0.1/headgate",
      },
    )
    const quoted = "is in quotation marks, which are sent as part of it: remove them (`docker --env-file` keeps them)"
    expect(code).toBe(0)
    expect(warnings.toSorted()).toEqual(
      [
        `HEADGATE_MANAGEMENT_KEY: the secret ${quoted}.`,
        "HEADGATE_METRICS_TOKEN: the secret looks like a placeholder: replace it.",
        "alerts.webhooks[0].secret: the secret looks like a placeholder: replace it.",
        "storage: the secret looks like a placeholder: replace it.",
        `providers.openai.api_key: the secret ${quoted}.`,
        "providers.groq.api_keys[1].key: the secret is the name of a variable that was not replaced: set the variable's value.",
      ].toSorted(),
    )
  },
  patience,
)

test.each([
  ...[
    '"sk-1"',
    "'sk-1'",
    "sk-...",
    "sk-ant-…",
    "sk-xxxxxxxx",
    "xxx",
    "****",
    "<your key>",
    "$KEY",
    `$${"{KEY}"}`,
    "%KEY%",
  ],
  ...[
    "your-api-key",
    "YOUR_API_KEY_HERE",
    "changeme",
    "change-me",
    "replace-me",
    "api_key",
    "my-secret-key",
    "undefined",
  ],
])("%s is doubted", (text) => expect(secretDoubt(text)).toBeDefined())

test(
  "a placeholder in a plugin's own secret, and a word in the place of a vendor's key, passed without a word",
  async () => {
    const bedrock = { access_key_id: "AKIDEXAMPLE", secret_access_key: { env: "AWS" }, region: "eu-west-1" }
    const local = { plugin: "openai-compatible", base_url: "http://127.0.0.1:9/v1", network: "private" }
    const { code, warnings } = await check(
      config({
        providers: { bedrock, openai: { api_key: { env: "OPENAI" } }, local: { ...local, api_key: { env: "LOCAL" } } },
      }),
      { AWS: "<your secret access key>", OPENAI: "none", LOCAL: "none" },
    )
    expect(code).toBe(0)
    expect(warnings.toSorted()).toEqual([
      "providers.bedrock: the secret looks like a placeholder: replace it.",
      "providers.openai.api_key: the secret has fewer than 8 characters, so it is probably no key of a vendor.",
    ])
  },
  patience,
)

// Local servers take any key, and are often given such ones.
test.each([
  ...["sk-proj-abc123", "test", "EMPTY", "none", "dummy", "not-needed", "key-of-a", '"', "p$ssword", "yourself"],
])("%s is not", (text) => expect(secretDoubt(text)).toBeUndefined())
