/** `headgate check`: what a start would come to. docs/commands.md#check */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { type Installation, install, type RunningGateway } from "../support/gateways/process.ts"

const patience = 1_800_000

let installation: Installation
let gateway: RunningGateway
let port = ""

const config = {
  discovery: { environment: true, local: false },
  providers: { openai: { enabled: false }, anthropic: {}, mistral: { api_key: { env: "MY_MISTRAL" } } },
}

beforeAll(async () => {
  installation = install()
  gateway = installation.start({ config, env: { MY_MISTRAL: "sk-secret-0" } })
  port = new URL(await gateway.url()).port
}, patience)
afterAll(() => installation.remove())

const env = { MY_MISTRAL: "sk-secret-0", GROQ_API_KEY: "sk-secret-1", AWS_REGION: "eu-west-1" }

const check = (words: ReadonlyArray<string>, more: Readonly<Record<string, string>> = {}) =>
  installation.command(["check", ...words], { ...env, ...more })

const linesOf = (out: string, name: string) =>
  out.split("\n").flatMap((line) => (line.startsWith(`${name}: `) ? [line.slice(name.length + 2)] : []))

test(
  "says what would be on, whose key is there, and never a key",
  async () => {
    const storage = `sqlite:${join(installation.folder, "new", "headgate.db")}`
    const { code, out, err } = await check([], { HEADGATE_STORAGE: storage, HEADGATE_PROT: "1" })
    expect([code, err]).toEqual([0, ""])
    expect(linesOf(out, "configuration")).toEqual([join(installation.folder, "headgate.config.json")])
    expect(linesOf(out, "providers")[0]).toStartWith("anthropic, mistral, echo, groq (4 on; nothing is set for ")
    expect(linesOf(out, "key")).toEqual([
      "anthropic: none: ANTHROPIC_API_KEY is not set",
      "mistral: environment variable MY_MISTRAL",
      "echo: none needed",
      "groq: environment variable GROQ_API_KEY",
    ])
    expect(linesOf(out, "off")).toEqual([
      "openai: disabled in the configuration",
      "bedrock: AWS_REGION set, but not AWS_BEARER_TOKEN_BEDROCK",
    ])
    expect(linesOf(out, "models")[0]).toMatch(/^\d+ at \d+ hosts; USD per million tokens: 0.* to \d+ of the prompt, /)
    expect(linesOf(out, "port")).toEqual(["any free one"])
    expect(linesOf(out, "storage")).toEqual(["there is no database yet; it can be made"])
    expect(linesOf(out, "warning")).toEqual(['HEADGATE_PROT is set and not known, did you mean "HEADGATE_PORT"?'])
    expect(out).not.toContain("sk-secret")
    expect(await Bun.file(dirname(storage.slice(7))).exists()).toBe(false)
  },
  patience,
)

test(
  "beside a running gateway, which has port and database, is no fault",
  async () => {
    // A proxy cannot reach this machine's own gateway.
    const { code, out } = await check([], { HEADGATE_PORT: port, HTTP_PROXY: "http://127.0.0.1:9" })
    expect([code, linesOf(out, "storage")]).toEqual([
      0,
      [`the database is in use by a running gateway (pid ${gateway.pid})`],
    ])
    expect(linesOf(out, "port")[0]).toStartWith(`${port} is used by a running Headgate`)
  },
  patience,
)

test(
  "names a proxy of the environment that no call could use, which was said to be used",
  async () => {
    const ended = await check([], { HTTPS_PROXY: "socks5://me:s3cret@127.0.0.1:1080" })
    expect(ended.code).toBe(78)
    expect(ended.err).toContain("HTTPS_PROXY: expected the URL of an HTTP proxy")
    expect(ended.out + ended.err).not.toContain("s3cret")
    expect((await check([], { HTTPS_PROXY: "127.0.0.1:3128" })).code).toBe(0)
  },
  patience,
)

test(
  "names every problem of another file, and ends with 78; in JSON too",
  async () => {
    const file = join(installation.folder, "bad.json")
    writeFileSync(file, JSON.stringify({ server: { prot: 1 }, providers: { groq: { api_key: { env: "NOPE" } } } }))
    const { code, out, err } = await check([file])
    expect([code, out]).toEqual([78, ""])
    expect(err).toStartWith("headgate: 2 problems in the configuration\nconfig error: server.prot: unknown field")
    expect(err).toMatch(
      /\nconfig error: providers\.groq\.api_key: environment variable NOPE is not set \(.*bad\.json:1:43\)\n/,
    )
    const json = await check([file, "--json"])
    const answer = JSON.parse(json.out)
    expect([json.code, answer.ok, answer.problems.length]).toEqual([78, false, 2])
  },
  patience,
)

test(
  "a port that another program has, and a file that cannot be written or is none of ours, end as a start would",
  async () => {
    const other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("hello") })
    const used = other.port
    const taken = await check(["--json"], { HEADGATE_PORT: String(other.port), HEADGATE_STORAGE: "memory:" })
    await other.stop(true)
    expect(taken.code).toBe(69)
    const { ok, port: state } = JSON.parse(taken.out)
    expect([ok, state.ok]).toEqual([false, false])
    expect(state.says).toStartWith(`${used} is used by another program`)
    expect(taken.err).toStartWith(`headgate: 127.0.0.1 port ${used} is used by another program`)

    const text = join(installation.folder, "notes.txt")
    writeFileSync(text, "some notes")
    expect(await check([], { HEADGATE_STORAGE: `sqlite:${text}` })).toMatchObject({
      code: 65,
      err: "headgate: storage: it is no database\n",
    })
    expect(await check([], { HEADGATE_STORAGE: `sqlite:${text}/headgate.db` })).toMatchObject({
      code: 73,
      err: `headgate: storage: ${text}: it is no folder\n`,
    })
    expect(await check([], { HEADGATE_HOSTNAME: "192.0.2.1" })).toMatchObject({ code: 69 })
  },
  patience,
)

test(
  "in a terminal is aligned, and ends although a plugin has left a timer behind",
  async () => {
    const folder = join(installation.folder, "lasting")
    mkdirSync(join(folder, "strategies", "lasting"), { recursive: true })
    writeFileSync(join(folder, "strategies", "lasting", "index.ts"), "setInterval(() => {}, 1000)\nexport default 1")
    const file = join(installation.folder, "lasting.json")
    writeFileSync(file, JSON.stringify({ plugins: { folders: [folder] }, discovery: { local: false } }))
    const shown = await installation.inTerminal(["check", file], { NO_COLOR: "1" })
    expect(shown).toContain(`\n  configuration  ${file}\n`)
    expect(shown).toContain("\n  off            lasting: shape: ")
  },
  patience,
)
