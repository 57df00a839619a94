/** Commands in a shell that has the management key and none of the providers' keys. docs/commands.md#gateway */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { until } from "../support/clocks/until.ts"
import { firstManagementKey, type Installation, install, type RunningGateway } from "../support/gateways/process.ts"
import { ownPluginsFolder } from "../support/hosts/ownPlugins.ts"

const patience = 1_800_000

let installation: Installation
let gateway: RunningGateway
let managementKey = ""
let port = ""

beforeAll(async () => {
  installation = install()
  gateway = installation.start({
    config: {
      discovery: { environment: false, local: false },
      providers: { v1: { plugin: "groq", api_key: { env: "V1_KEY" } } },
    },
    env: { V1_KEY: "sk-secret-0" },
  })
  port = new URL(await gateway.url()).port
  await until(() => gateway.out().includes("curl "), "the keys")
  managementKey = firstManagementKey(gateway.out())
}, patience)
afterAll(() => installation.remove())

const headgate = (words: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) =>
  installation.command(words, { HEADGATE_MANAGEMENT_KEY: managementKey, HEADGATE_PORT: port, ...env })

test.each([
  [["keys", "list"]],
  [["keys", "create", "ci"]],
  [["spend"]],
  [["models"]],
  [["models", "echo", "--hosts"]],
  [["route", "headgate/echo"]],
  [["backup", "--force", "BACKUP"]],
  [["reconcile"]],
  [["audit", "verify"]],
  [["plugin", "list"]],
])(
  "%p works where a provider's key variable is not set: it needs the address or the database alone",
  async (words) => {
    const ended = await headgate(words.map((word) => (word === "BACKUP" ? join(installation.folder, "copy.db") : word)))
    expect(ended).toMatchObject({ code: 0, err: "" })
  },
  patience,
)

test(
  "catalogue refresh and reconcile --with-config compare prices, so they need the value of no secret, whichever field has it",
  async () => {
    const file = join(installation.folder, "prices.json")
    const pricing = { prompt: "0.000001", completion: "0.000001" }
    writeFileSync(
      file,
      JSON.stringify({
        discovery: { environment: false, local: false },
        plugins: { folders: [ownPluginsFolder()] },
        providers: {
          v1: { plugin: "groq", api_key: { env: "V1_KEY" } },
          v2: { plugin: "openai", api_keys: [{ key: { env: "V2_KEY" } }, { key: { env: "V3_KEY" } }] },
          v4: { plugin: "bedrock", region: "us-east-1", api_key: { env: "V4_KEY" } },
        },
        models: [
          {
            id: "acme/a",
            context_length: 100,
            hosts: [
              { provider: "v1", pricing },
              { provider: "v2", pricing },
            ],
          },
        ],
      }),
    )
    const books = await headgate(["reconcile", "--reprice", "--with-config", file])
    expect(books).toMatchObject({ code: 0, err: "" })
    const catalogue = join(installation.folder, "catalogue.json")
    writeFileSync(
      catalogue,
      JSON.stringify({
        format: 1,
        providers: { groq: [{ id: "acme/b", name: "B", context_length: 100, hosts: [{ model: "b" }] }] },
      }),
    )
    const refreshed = await headgate(["catalogue", "refresh", catalogue], { HEADGATE_CONFIG: file })
    expect(refreshed).toMatchObject({ code: 0 })
    // What is wrong otherwise is told as it was.
    writeFileSync(file, JSON.stringify({ providers: { groq: { api_key: { env: "NOPE" }, base_url: "no address" } } }))
    const wrong = await headgate(["reconcile", "--reprice", "--with-config", file])
    expect(wrong).toMatchObject({ code: 78, out: "" })
    expect(wrong.err).toContain("providers.groq.base_url: ")
    // A gateway is not started without them.
    expect(await headgate(["check", file])).toMatchObject({ code: 78 })
  },
  patience,
)

test(
  "an address that is wrong is told alone, whatever else is wrong; and --url does without it",
  async () => {
    const file = join(installation.folder, "wrong.json")
    writeFileSync(
      file,
      JSON.stringify({
        server: { port: "many", workers: 0 },
        plugins: { folders: 1 },
        providers: { groq: { api_key: { env: "NOPE" } } },
      }),
    )
    const env = { HEADGATE_CONFIG: file, HEADGATE_PORT: "" }
    const ended = await headgate(["keys", "list"], env)
    expect(ended).toMatchObject({ code: 78, out: "" })
    expect(ended.err).toMatch(/^headgate: server\.port: expected a whole number [^\n]*wrong\.json:1:\d+\)\n$/)
    expect(await headgate(["keys", "list", "--url", `http://127.0.0.1:${port}`], env)).toMatchObject({ code: 0 })
    writeFileSync(file, "[]")
    expect(await headgate(["keys", "list"], env)).toMatchObject({ code: 78 })
    expect(await headgate(["reconcile"], { ...env, HEADGATE_STORAGE: "" })).toMatchObject({ code: 78 })
  },
  patience,
)
