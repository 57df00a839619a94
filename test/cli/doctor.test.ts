/** `headgate doctor`: what is wrong, as it says it, against hosts with every fault. docs/commands.md#doctor */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { until } from "../support/clocks/until.ts"
import type { Ended } from "../support/gateways/commands.ts"
import { firstManagementKey, type Installation, install, type RunningGateway } from "../support/gateways/process.ts"
import { ownPluginsFolder } from "../support/hosts/ownPlugins.ts"
import { makeAuthority } from "../upstream/certificates.ts"

const patience = 1_800_000

const key = "sk-a-secret-of-the-operator"
const list = (...ids: ReadonlyArray<string>) => Response.json({ object: "list", data: ids.map((id) => ({ id })) })
const says = (status: number, body = "{}", headers = {}) => new Response(body, { status, headers })

/** By the first segment of the path: a host each. */
const answers: Readonly<Record<string, (request: Request) => Response | Promise<Response>>> = {
  good: (request) => (request.headers.get("authorization") === `Bearer ${key}` ? list("small", "large") : says(401)),
  public: () => list("small"),
  // A host may quote the key.
  refused: () => says(401, JSON.stringify({ error: { message: `the key ${key} is unknown` } })),
  forbidden: () => says(403),
  broke: () => says(402),
  elsewhere: () => says(404),
  moved: () => says(302, "", { location: "https://www.acme.example/login" }),
  down: () => says(503),
  busy: () => says(429),
  late: () => says(200, '{"data":[]}', { date: new Date(Date.now() + 300_000).toUTCString() }),
  anthropic: (request) =>
    request.headers.get("x-api-key") === key && request.headers.has("anthropic-version") ? list("claude") : says(401),
}

let server: Bun.Server<unknown>
let secure: Bun.Server<unknown>
let installation: Installation

const provider = (name: string, more: object = {}) => ({
  plugin: "openai-compatible",
  base_url: `${server.url}${name}/v1`,
  network: "private",
  api_key: { env: "ACME_KEY" },
  ...more,
})

beforeAll(() => {
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => answers[new URL(request.url).pathname.split("/")[1] ?? ""]?.(request) ?? says(500),
  })
  const { key: tlsKey, cert } = makeAuthority().identity({ name: "127.0.0.1", selfSigned: true })
  secure = Bun.serve({ port: 0, hostname: "127.0.0.1", tls: { key: tlsKey, cert }, fetch: () => list("small") })
  installation = install()
})
afterAll(async () => {
  await installation.remove()
  await server.stop(true)
  await secure.stop(true)
})

/** Runs it with this configuration. */
const doctor = (
  config: object,
  words: ReadonlyArray<string> = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> => {
  const file = join(installation.folder, "headgate.config.json")
  const discovery = { environment: false, local: false }
  writeFileSync(file, JSON.stringify({ discovery, plugins: { folders: [ownPluginsFolder()] }, ...config }))
  return installation.command(["doctor", ...words], { ACME_KEY: key, HEADGATE_PORT: "1", ...env })
}

const findings = ({ out }: Ended): Readonly<Record<string, string>> =>
  Object.fromEntries(
    out
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => {
        const [of = "", state, what] = line.split("\t")
        return [of, `${state}: ${what?.replace(/\d+ ms/, "N ms")}`]
      }),
  )

test(
  "each fault of a provider in plain words; exit code 1, and no secret in what is said",
  async () => {
    const place = server.url.host
    const ended = await doctor(
      {
        providers: {
          ...Object.fromEntries(
            Object.keys(answers).flatMap((name) => (name === "late" ? [] : [[name, provider(name)]])),
          ),
          anthropic: provider("anthropic", { plugin: "anthropic" }),
          keyless: provider("good", { api_key: undefined }),
          several: provider("good", {
            api_key: undefined,
            api_keys: [{ key: { env: "ACME_KEY" } }, { key: { env: "OLD_KEY" } }],
          }),
          nobody: provider("", { base_url: "http://127.0.0.1:1/v1" }),
          untrusted: provider("", { base_url: `${secure.url}v1` }),
          nameless: provider("", { base_url: "https://no-such-name.invalid/v1", network: "public" }),
          resting: provider("good", { enabled: false }),
        },
      },
      [],
      { OLD_KEY: "sk-an-old-secret" },
    )
    expect(findings(ended)).toEqual({
      good: "ok: answered in N ms; the key is accepted",
      public: "not checked: answered in N ms; it lists its models for anybody, so the key was not checked",
      refused: "wrong: the key is refused (401)",
      forbidden: "wrong: refused (403): the key is wrong, or may not do this, or not from here",
      broke: "wrong: the account has no credit (402)",
      elsewhere: `not checked: ${place} answers, but has nothing at /elsewhere/v1/models (404): the key was not checked`,
      moved: `wrong: ${place} redirects to www.acme.example (302): base_url is not the address of an API`,
      down: `wrong: ${place} answers with status 503`,
      busy: "warning: answers, and takes no more requests for now (429)",
      anthropic: "ok: answered in N ms; the key is accepted",
      keyless: "wrong: wants a key, and none is configured (401)",
      "several key 1 (ACME_KEY)": "ok: answered in N ms; the key is accepted",
      "several key 2 (OLD_KEY)": "wrong: the key is refused (401)",
      nobody: "wrong: nothing listens at 127.0.0.1:1",
      untrusted: expect.stringMatching(/^wrong: TLS to 127\.0\.0\.1:\d+ failed: .*(CERT|SELF_SIGNED)/),
      nameless: expect.stringContaining("wrong: the name no-such-name.invalid cannot be looked up (DNS)"),
      echo: "ok: answers within the gateway",
      clock: expect.stringMatching(/^ok: within \d s of the providers'$/),
      database: expect.stringMatching(/^ok: .* is made by the first start$/),
      disk: expect.stringMatching(/MiB are free in/),
      gateway: "warning: none answers at http://127.0.0.1:1",
    })
    expect(ended.code).toBe(1)
    expect(ended.err).toStartWith("headgate: wrong: refused, forbidden, broke, moved, down, ")
    for (const secret of [key, "sk-an-old-secret"]) expect(`${ended.out}${ended.err}`).not.toContain(secret)
  },
  patience,
)

test(
  "only the named providers; a name that is none gets a near one; models that a provider does not list",
  async () => {
    const hosts = (model: string) => ({
      id: `acme/${model}`,
      context_length: 8192,
      hosts: [{ provider: "good", model, pricing: { prompt: "0", completion: "0" } }],
    })
    const config = {
      providers: { good: provider("good"), refused: provider("refused") },
      models: [
        hosts("small"),
        hosts("smal"),
        { ...hosts("large"), hosts: [{ provider: "good", pricing: { prompt: "0", completion: "0" } }] },
      ],
    }
    const ended = await doctor(config, ["good"])
    expect(ended.code).toBe(1)
    expect(findings(ended)).toEqual({ good: "wrong: does not list smal, which the configuration names" })
    expect(await doctor(config, ["god"])).toEqual({
      code: 64,
      out: "",
      err: 'headgate: there is no provider "god", did you mean "good"?\n',
    })
    expect(findings(await doctor(config, ["groq"]))).toEqual({
      groq: "wrong: off: GROQ_API_KEY is not set, and the configuration has no such provider",
    })
  },
  patience,
)

test(
  "a proxy of the environment that does not answer, without its password; a configuration that no gateway would start with",
  async () => {
    const config = { providers: { far: provider("", { base_url: "https://far.example/v1", network: "public" }) } }
    const ended = await doctor(config, ["far"], { HTTPS_PROXY: "http://me:s3cret@127.0.0.1:1" })
    expect(findings(ended)).toEqual({ far: "wrong: through the proxy 127.0.0.1:1: nothing listens at 127.0.0.1:1" })
    const lan = { lan: provider("", { base_url: "https://10.0.0.1/v1", network: "public" }) }
    expect(await doctor({ providers: lan })).toMatchObject({
      code: 78,
      err: expect.stringContaining("providers.lan.base_url"),
    })
  },
  patience,
)

test(
  "a clock that is wrong, by the Date of the answers; a database that is none; another program in the gateway's place",
  async () => {
    mkdirSync(dirname(installation.database), { recursive: true })
    writeFileSync(installation.database, "my notes ".repeat(1000))
    const ended = await doctor({ providers: { late: provider("late") } }, [], { HEADGATE_PORT: `${server.port}` })
    expect(findings(ended)).toMatchObject({
      clock: expect.stringMatching(/^wrong: (299|300|301) s behind the providers': signatures and tokens are refused$/),
      database: expect.stringMatching(/^wrong: .*it is not a database/),
      gateway: `wrong: another program answers at http://127.0.0.1:${server.port}`,
    })
    expect(ended.code).toBe(1)
  },
  patience,
)

test(
  "with a gateway that runs: its version, its database, and exit code 0",
  async () => {
    const own = install()
    const gateway: RunningGateway = own.start({ config: { discovery: { environment: false, local: false } } })
    const { port } = new URL(await gateway.url())
    await until(() => firstManagementKey(gateway.out()) !== "", "the keys")
    const { version } = await Bun.file(new URL("../../package.json", import.meta.url)).json()
    const HEADGATE_MANAGEMENT_KEY = firstManagementKey(gateway.out())
    const ended = await own.command(["doctor"], { HEADGATE_PORT: port, HEADGATE_MANAGEMENT_KEY })
    const wrongKey = await own.command(["doctor"], { HEADGATE_PORT: port, HEADGATE_MANAGEMENT_KEY: "x".repeat(40) })
    const shown = await own.command(["doctor", "--json", "echo"], { HEADGATE_PORT: port })
    await own.remove()
    expect(ended).toMatchObject({ code: 0, err: "" })
    expect(findings(ended)).toMatchObject({
      gateway: `ok: runs at http://127.0.0.1:${port}, version ${version}`,
      database: expect.stringMatching(/^ok: can be read; its schema \d+ is this program's$/),
    })
    expect(wrongKey.code).toBe(1)
    expect(findings(wrongKey)["gateway"]).toEndWith("HEADGATE_MANAGEMENT_KEY is no management key of it")
    expect(JSON.parse(shown.out)).toEqual([{ check: "echo", state: "ok", what: "answers within the gateway" }])
  },
  patience,
)

test.each([
  ["removed", (path: string) => rmSync(path)],
  [
    "replaced",
    (path: string) => {
      cpSync(path, `${path}.copy`)
      renameSync(`${path}.copy`, path)
    },
  ],
])(
  "a database that was %s under a running gateway: doctor said ok",
  async (_, harm) => {
    const own = install()
    const gateway: RunningGateway = own.start({ config: { discovery: { environment: false, local: false } } })
    const { port } = new URL(await gateway.url())
    harm(own.database)
    const ended = await own.command(["doctor"], { HEADGATE_PORT: port })
    await own.remove()
    expect(ended.code).toBe(1)
    // The processes of others cannot be looked into everywhere; the gateway itself says it too.
    expect(findings(ended)).toMatchObject({
      gateway: expect.stringMatching(/^wrong: .*the file of the database was removed, replaced or damaged/),
      ...(process.platform === "linux" && {
        database: expect.stringContaining(`under the running gateway (pid ${gateway.pid})`),
      }),
    })
  },
  patience,
)
