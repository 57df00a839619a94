/** Secrets that cannot be sent, and names that may be secrets. docs/configuration.md#form */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { until } from "../support/clocks/until.ts"
import { firstKey, type Installation, install } from "../support/gateways/process.ts"
import { configFor, scriptedHost, wholeAnswer } from "../support/hosts/host.ts"

const patience = 1_800_000

const installation: Installation = install()
const host = scriptedHost(() => wholeAnswer("Hello"))
afterAll(() => Promise.all([host.stop(), installation.remove()]))

const quiet = { discovery: { environment: false, local: false } }
let count = 0
const check = async (config: unknown, env: Readonly<Record<string, string>> = {}) => {
  const file = join(installation.folder, `config${count++}.${typeof config === "string" ? "ts" : "json"}`)
  writeFileSync(file, typeof config === "string" ? config : JSON.stringify({ ...quiet, ...Object(config) }))
  const { code, out, err } = await installation.command(["check", file], env)
  const errors = err
    .split("\n")
    .flatMap((line) => (line.startsWith("config error: ") ? [line.slice(14).replace(/ \(.*\)$/, "")] : []))
  const keys = out.split("\n").flatMap((line) => (line.startsWith("key: ") ? [line.slice(5)] : []))
  return { code, errors, keys, shown: out + err }
}

const openai = (entry: unknown) => ({ providers: { openai: entry } })

describe("a key in a variable", () => {
  test(
    "with a line break and blanks around it is sent without them, as is the management key",
    async () => {
      const config = configFor({ a: { url: host.url } }, quiet)
      const provider = { ...config.providers.a, api_key: { env: "A_KEY" } }
      const gateway = installation.start({
        config: { ...config, providers: { a: provider } },
        env: { A_KEY: " sk-a-0123456789 \r\n", HEADGATE_STORAGE: "memory:\n", HEADGATE_PORT: "0\n" },
      })
      const url = await gateway.url()
      await until(() => gateway.out().includes("curl "), "the keys")
      const answer = await fetch(`${url}/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${firstKey(gateway.out())}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "acme/small", messages: [{ role: "user", content: "hello" }] }),
      })
      expect(answer.status).toBe(200)
      expect(host.calls.at(-1)?.request.headers.get("authorization")).toBe("Bearer sk-a-0123456789")
      const management = `${"m".repeat(40)}\n`
      const other = installation.start({
        env: { HEADGATE_MANAGEMENT_KEY: management, A_KEY: "x", HEADGATE_STORAGE: "memory:" },
      })
      const keys = await installation.command(["keys", "list", "--url", await other.url()], {
        HEADGATE_MANAGEMENT_KEY: management,
      })
      expect(keys).toMatchObject({ code: 0, err: "" })
    },
    patience,
  )

  test.each([
    ["sk-a\nsk-b", "has a line break or another control character within: no HTTP header can have it"],
    ["sk-a\u0000", "has a line break or another control character within: no HTTP header can have it"],
    ["sk-\u2013-b", "has a character that is not ASCII: no HTTP header can have it"],
    ["sk-\u200bb", "has a character that is not ASCII: no HTTP header can have it"],
  ])(
    "that no header can have (%j) is refused by the variable's name, wherever it stands",
    async (value, fault) => {
      // The environment of a process cannot have this one.
      const isEnvironment = !value.includes("\u0000")
      if (isEnvironment) {
        expect(await check(openai({ api_key: { env: "MY_OPENAI" } }), { MY_OPENAI: value })).toMatchObject({
          code: 78,
          errors: [`providers.openai.api_key: environment variable MY_OPENAI ${fault}`],
        })
        const discovery = { environment: true, local: false }
        expect(await check({ discovery }, { OPENAI_API_KEY: value })).toMatchObject({
          code: 78,
          errors: [`OPENAI_API_KEY: it ${fault}`],
        })
        expect(await check(openai({}), { OPENAI_API_KEY: value })).toMatchObject({
          code: 78,
          errors: [`OPENAI_API_KEY: it ${fault}`],
        })
        expect(await check(openai({ api_key: "sk-c" }), { OPENAI_API_KEY: value })).toMatchObject({ code: 0 })
      }
      expect(await check(openai({ api_keys: [{ key: value }] }))).toMatchObject({
        code: 78,
        errors: [`providers.openai.api_keys[0].key: the secret ${fault}`],
      })
    },
    patience,
  )

  test(
    "of several lines may be the file of a service account",
    async () => {
      const vertex = {
        providers: { "google-vertex": { location: "global", project: "p", credentials: { env: "ACCOUNT" } } },
      }
      const { errors } = await check(vertex, { ACCOUNT: '{\n  "type": "service_account"\n}\n' })
      expect(errors.join()).not.toContain("line break")
      const bedrock = {
        region: "eu-west-1",
        access_key_id: "a",
        secret_access_key: "b",
        session_token: { env: "TOKEN" },
      }
      expect(await check({ providers: { bedrock } }, { TOKEN: "a\nb" })).toMatchObject({
        code: 78,
        errors: [
          "providers.bedrock.session_token: environment variable TOKEN has a line break or another control character within: no HTTP header can have it",
        ],
      })
    },
    patience,
  )

  test(
    "that is blank counts as not set",
    async () => {
      expect(await check(openai({ api_key: { env: "MY_OPENAI" } }), { MY_OPENAI: " \n" })).toMatchObject({
        code: 78,
        errors: ["providers.openai.api_key: environment variable MY_OPENAI is not set"],
      })
      expect(await check({ discovery: { environment: true, local: false } }, { OPENAI_API_KEY: " \n" })).toMatchObject({
        code: 0,
        keys: ["echo: none needed"],
      })
    },
    patience,
  )
})

test(
  "a key that is undefined in TypeScript is refused: no key would be sent",
  async () => {
    const file = `export default {
      discovery: { environment: false, local: false },
      providers: {
        groq: { api_key: process.env.NOT_SET },
        openai: { api_keys: [{ key: process.env.NOT_SET }] },
        bedrock: { region: "eu-west-1", access_key_id: "a", secret_access_key: process.env.NOT_SET },
      },
    }`
    const { code, errors } = await check(file)
    expect([code, errors]).toEqual([
      78,
      [
        "providers.groq.api_key: expected a secret, got undefined",
        'providers.openai.api_keys[0].key: expected a secret: { "env": "NAME" }, got nothing',
        'providers.bedrock.secret_access_key: expected a secret: { "env": "NAME" }, got nothing',
      ],
    ])
  },
  patience,
)

test(
  "check names where each key comes from, and no key",
  async () => {
    const providers = {
      openai: { api_key: "sk-secret-plain" },
      groq: { api_key: { env: "MY_GROQ" } },
      mistral: { api_keys: [{ key: { env: "FIRST" } }, { key: "sk-secret-second" }] },
      anthropic: {},
      deepseek: {},
    }
    const { code, keys, shown } = await check(
      { providers },
      { MY_GROQ: "sk-secret-0", FIRST: "sk-secret-1", ANTHROPIC_API_KEY: "sk-secret-2" },
    )
    expect([code, keys]).toEqual([
      0,
      [
        "openai: plain text in the configuration",
        "groq: environment variable MY_GROQ",
        "mistral: 2 in the configuration: FIRST, plain text",
        "anthropic: environment variable ANTHROPIC_API_KEY",
        "deepseek: none: DEEPSEEK_API_KEY is not set",
        "echo: none needed",
      ],
    ])
    expect(shown).not.toContain("sk-secret")
  },
  patience,
)

describe("a key where the name of its variable belongs", () => {
  const pasted = [
    "sk-proj-0123456789abcdefghijklmnop",
    "AKIAIOSFODNN7EXAMPLE",
    "GROQKEY0123456789ABCDEF",
    "A".repeat(65),
    "lower_case",
  ]
  const hidden = "environment variable with a name that is not shown"

  test.each(pasted.map((name) => [name]))(
    "%s is in no error",
    async (name) => {
      const { code, errors, shown } = await check(
        openai({ api_key: { env: name }, base_url: `https://\${${name}}/v1` }),
      )
      expect([code, errors[0]]).toEqual([78, expect.stringContaining("providers.openai")])
      expect(errors).toContain(`providers.openai.api_key: ${hidden} is not set`)
      expect(shown).not.toContain(name)
      const several = await check(openai({ api_keys: [{ key: { env: name } }] }))
      expect(several.errors).toEqual([`providers.openai.api_keys[0].key: ${hidden} is not set`])
    },
    patience,
  )

  let gateway: ReturnType<Installation["start"]>
  const management = "m".repeat(40)
  beforeAll(async () => {
    gateway = installation.start({
      config: quiet,
      env: { HEADGATE_MANAGEMENT_KEY: management, HEADGATE_STORAGE: "memory:" },
    })
    await gateway.url()
  }, patience)

  test(
    "is neither in a reload's answer nor in the log",
    async () => {
      const [name = ""] = pasted
      const config = { ...quiet, providers: { openai: { api_key: { env: name } } } }
      writeFileSync(join(installation.folder, "headgate.config.json"), JSON.stringify(config))
      const answer = await fetch(`${await gateway.url()}/config/reload`, {
        method: "POST",
        headers: { authorization: `Bearer ${management}` },
      })
      const text = await answer.text()
      expect([answer.status, text]).toEqual([400, expect.stringContaining("with a name that is not shown")])
      await until(() => gateway.err().includes("was not reloaded"), "the line of the log")
      expect(text + gateway.err() + gateway.out()).not.toContain(name)
    },
    patience,
  )
})
