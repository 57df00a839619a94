/** The commands of the program, run as an operator runs them, against a gateway that runs. docs/commands.md */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdirSync, readFileSync, symlinkSync } from "node:fs"
import { dirname, join } from "node:path"
import { serveFlags } from "../../src/app/serveFlags.ts"
import { schemaVersion } from "../../src/sql/tables/migrations.ts"
import { until } from "../support/clocks/until.ts"
import type { Ended } from "../support/gateways/commands.ts"
import {
  firstKey,
  firstManagementKey,
  type Installation,
  install,
  type RunningGateway,
} from "../support/gateways/process.ts"

const patience = 1_800_000

let installation: Installation
let gateway: RunningGateway
let url = ""
let managementKey = ""
let ordinaryKey = ""

beforeAll(async () => {
  installation = install()
  gateway = installation.start({ config: { discovery: { environment: false, local: false } } })
  url = await gateway.url()
  await until(() => gateway.out().includes("curl "), "the keys")
  managementKey = firstManagementKey(gateway.out())
  ordinaryKey = firstKey(gateway.out())
}, patience)
afterAll(() => installation.remove())

const headgate = (...words: ReadonlyArray<string>): Promise<Ended> =>
  installation.command(words, { HEADGATE_MANAGEMENT_KEY: managementKey, HEADGATE_PORT: new URL(url).port })

/** Lines of values, as a script reads them. */
const linesOf = ({ out }: Ended) =>
  out
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.split("\t"))

const membersOf = (ended: Ended) => Object.fromEntries(linesOf(ended))

const ask = (key: string, content = "Hello, gateway!") =>
  fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "headgate/echo", messages: [{ role: "user", content }] }),
  })

describe("keys", () => {
  test(
    "are made, listed, shown, limited and revoked; a made key works until it is revoked",
    async () => {
      const made = await headgate(
        "keys",
        "create",
        "ci",
        "--limit",
        "12.50",
        "--reset",
        "monthly",
        "--rate",
        "100/60",
        "--model",
        "headgate/*",
      )
      expect(made).toMatchObject({ code: 0, err: "" })
      const { key = "", hash = "", ...members } = membersOf(made)
      expect(members).toMatchObject({
        name: "ci",
        limit: "12.5",
        limit_reset: "monthly",
        rate_limit: "100/60",
        models: "headgate/*",
        providers: "all",
        state: "active",
        usage: "0",
      })
      expect((await ask(key)).status).toBe(200)

      const listed = linesOf(await headgate("keys", "list"))
      expect(listed.map(([, name]) => name)).toEqual(["ci", "first key"])
      expect(listed[0]).toEqual([hash, "ci", members["label"], "active", "12.5", "monthly", "12.499994", "0.000006"])

      expect(membersOf(await headgate("keys", "show", hash.slice(0, 8)))).toMatchObject({ hash, usage: "0.000006" })
      const limited = membersOf(await headgate("keys", "limit", hash, "0.000001", "--reset", "never"))
      expect(limited).toMatchObject({ limit: "0.000001", limit_reset: "-", limit_remaining: "0" })
      expect((await ask(key)).status).toBe(402)
      expect(membersOf(await headgate("keys", "limit", hash, "none"))).toMatchObject({ limit: "-" })

      expect(await headgate("keys", "revoke", hash.slice(0, 8))).toEqual({ code: 0, out: `revoked ${hash}\n`, err: "" })
      expect((await ask(key)).status).toBe(401)
      expect(await headgate("keys", "show", hash)).toEqual({
        code: 1,
        out: "",
        err: "headgate: the gateway answered 404: This key does not exist.\n",
      })
    },
    patience,
  )

  test(
    "a key could only be made, limited and revoked: it is changed, renamed, disabled, enabled and rotated",
    async () => {
      const { key = "", hash = "" } = membersOf(await headgate("keys", "create", "svc"))
      const short = hash.slice(0, 8)
      const expires = "2099-01-01T00:00:00Z"
      const flags = ["--limit", "3", "--reset", "daily", "--rate", "5/60", "--model", "a/*", "--model", "b/*"]
      const changed = membersOf(
        await headgate("keys", "change", short, ...flags, "--provider", "headgate", "--expires", expires),
      )
      expect(changed).toMatchObject({
        ...{ limit: "3", limit_reset: "daily", rate_limit: "5/60", models: "a/*, b/*", providers: "headgate" },
        expires_at: "2099-01-01T00:00:00.000Z",
      })
      const none = ["--limit", "none", "--reset", "never", "--rate", "none", "--model", "none", "--provider", "none"]
      expect(membersOf(await headgate("keys", "change", short, ...none, "--expires", "none"))).toMatchObject({
        ...{ limit: "-", limit_reset: "-", rate_limit: "-", models: "all", providers: "all", expires_at: "-" },
      })
      const tagged = membersOf(await headgate("keys", "change", short, "--tag", "a b", "--tag", "c", "--owner", "Ann"))
      expect(tagged).toMatchObject({ tags: "a b, c", owner: "Ann" })
      expect(linesOf(await headgate("keys", "list", "--tag", "a b"))).toHaveLength(1)
      expect(linesOf(await headgate("keys", "list", "--tag", "a"))).toHaveLength(0)
      expect(membersOf(await headgate("keys", "change", short, "--tag", "none", "--owner", "none"))).toMatchObject({
        ...{ tags: "-", owner: "-" },
      })
      expect(await headgate("keys", "change", short)).toMatchObject({ code: 64 })
      expect(membersOf(await headgate("keys", "rename", short, "service"))).toMatchObject({ name: "service" })
      expect(membersOf(await headgate("keys", "disable", short))).toMatchObject({ state: "disabled" })
      expect((await ask(key)).status).toBe(401)
      expect(membersOf(await headgate("keys", "enable", short))).toMatchObject({ state: "active" })
      expect((await ask(key)).status).toBe(200)

      const { key: second = "", ...rotated } = membersOf(await headgate("keys", "rotate", short, "--overlap", "1h"))
      expect(rotated).toMatchObject({ hash, name: "service", usage: "0.000006" })
      // The answer to the rotation was the one place that said it.
      expect(membersOf(await headgate("keys", "show", short))).toMatchObject({
        previous_ends_at: rotated["previous_ends_at"],
      })
      const left = Date.parse(rotated["previous_ends_at"] ?? "") - Date.now()
      expect(left > 3_000_000 && left <= 3_600_000).toBe(true)
      expect([(await ask(key)).status, (await ask(second)).status]).toEqual([200, 200])
      const { key: third = "" } = membersOf(await headgate("keys", "rotate", short, "--overlap", "0"))
      expect([(await ask(key)).status, (await ask(second)).status, (await ask(third)).status]).toEqual([401, 401, 200])
      expect(await headgate("keys", "rotate", short, "--overlap", "soon")).toMatchObject({ code: 64 })
      expect(membersOf(await headgate("keys", "show", short))).toMatchObject({ usage: "0.000024" })
      await headgate("keys", "revoke", short)
    },
    patience,
  )

  test(
    "management keys have a role, and a list of their own",
    async () => {
      const made = membersOf(await headgate("keys", "create", "watcher", "--role", "read"))
      expect(made).toMatchObject({ role: "read", name: "watcher" })
      const short = (made["hash"] ?? "").slice(0, 8)
      const { out } = await headgate("keys", "list", "--management")
      expect(out).toMatch(/watcher.*read/)
      expect((await headgate("keys", "list")).out).not.toContain("watcher")
      expect(membersOf(await headgate("keys", "change", short, "--role", "keys"))).toMatchObject({ role: "keys" })
      expect(await headgate("keys", "create", "x", "--role", "owner")).toMatchObject({ code: 64 })
      expect(await headgate("keys", "revoke", short)).toMatchObject({ code: 0 })
    },
    patience,
  )

  test(
    "--json is what the gateway answers",
    async () => {
      const { out } = await headgate("keys", "list", "--json")
      const answer = await fetch(`${url}/keys`, { headers: { authorization: `Bearer ${managementKey}` } })
      const keys: ReadonlyArray<unknown> = JSON.parse(out)
      expect<unknown>({ data: keys, total: keys.length }).toEqual(await answer.json())
    },
    patience,
  )

  test(
    "a name with control characters stays on its line",
    async () => {
      const body = JSON.stringify({ name: "a\n\u001b[31mb\tc" })
      const headers = { authorization: `Bearer ${managementKey}`, "content-type": "application/json" }
      await fetch(`${url}/keys`, { method: "POST", headers, body })
      const [[hash = "", name] = []] = linesOf(await headgate("keys", "list"))
      expect(name).toBe("a [31mb c")
      await headgate("keys", "revoke", hash)
    },
    patience,
  )
})

test(
  "spend: what each key has spent, most first, deleted ones marked as such, and in all",
  async () => {
    expect((await ask(ordinaryKey)).status).toBe(200)
    await headgate("keys", "create", "idle")
    const { key = "", hash = "" } = membersOf(await headgate("keys", "create", "left"))
    expect((await ask(key)).status).toBe(200)
    await headgate("keys", "revoke", hash)
    const lines = linesOf(await headgate("spend"))
    const of = (wanted: string) => lines.find(([, name]) => name === wanted)?.slice(2)
    expect(of("first key")).toEqual(["0.000006", "0.000006", "0.000006", "0.000006"])
    expect(of("left (deleted)")).toEqual(["0.000006", "0.000006", "0.000006", "0.000006"])
    expect(of("idle")).toEqual(["0", "0", "0", "0"])
    const sums = lines.map((line) => Number(line[5]))
    expect(sums).toEqual([...sums.slice(0, -1).toSorted((a, b) => b - a), sums.at(-1) ?? 0])
    const answer = await fetch(`${url}/credits`, { headers: { authorization: `Bearer ${managementKey}` } })
    const { data } = (await answer.json()) as { readonly data: { readonly total_usage: number } }
    expect([lines.at(-1)?.[0], Number(lines.at(-1)?.[5])]).toEqual(["total", data.total_usage])
  },
  patience,
)

test(
  "spend --by day, model, provider and app add up what the gateway lists",
  async () => {
    const item = (date: string, model: string, usage: number) => ({
      date,
      model,
      endpoint_id: "acme/eu",
      provider_name: model === "acme/large" ? "Acme Large" : "Acme",
      app_title: date === "2026-07-15" ? "Kitchen" : "",
      app_url: date === "2026-07-15" ? "https://kitchen.test" : "",
      usage,
      requests: 2,
      prompt_tokens: 30,
      completion_tokens: 4,
    })
    const data = [
      item("2026-07-15", "acme/small", 0.1),
      item("2026-07-15", "acme/large", 0.7),
      item("2026-07-14", "acme/small", 0.2),
    ]
    const asked: Array<string> = []
    const other = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) => {
        const { pathname, search } = new URL(request.url)
        asked.push(`${request.method} ${pathname}${search} ${request.headers.get("authorization")}`)
        return Response.json({ data })
      },
    })
    const at = ["--url", `${other.url}api/v1/`]
    const byDay = await headgate("spend", "--by", "day", ...at)
    const byModel = await headgate("spend", "--by", "model", ...at)
    const byProvider = await headgate("spend", "--by", "provider", ...at)
    const byApp = await headgate("spend", "--by", "app", ...at)
    const json = await headgate("spend", "--by", "model", "--json", ...at)
    await other.stop(true)
    expect(linesOf(byDay)).toEqual([
      ["2026-07-15", "4", "60", "8", "0.8"],
      ["2026-07-14", "2", "30", "4", "0.2"],
      ["total", "6", "90", "12", "1"],
    ])
    expect(linesOf(byModel)).toEqual([
      ["acme/large", "2", "30", "4", "0.7"],
      ["acme/small", "4", "60", "8", "0.3"],
      ["total", "6", "90", "12", "1"],
    ])
    expect(linesOf(byProvider)).toEqual([
      ["Acme Large", "2", "30", "4", "0.7"],
      ["Acme", "4", "60", "8", "0.3"],
      ["total", "6", "90", "12", "1"],
    ])
    expect(linesOf(byApp)).toEqual([
      ["Kitchen https://kitchen.test", "4", "60", "8", "0.8"],
      ["-", "2", "30", "4", "0.2"],
      ["total", "6", "90", "12", "1"],
    ])
    expect(JSON.parse(json.out)).toEqual([
      { model: "acme/large", requests: 2, prompt_tokens: 30, completion_tokens: 4, usage: 0.7 },
      { model: "acme/small", requests: 4, prompt_tokens: 60, completion_tokens: 8, usage: 0.3 },
    ])
    const path = "GET /api/v1/activity"
    expect([...new Set(asked)]).toEqual([
      `${path} Bearer ${managementKey}`,
      `${path}?group_by=app Bearer ${managementKey}`,
    ])
  },
  patience,
)

test(
  "spend --by hour, and what was used since a time, also by key",
  async () => {
    const item = (hour: string, key: string, usage: number) => ({
      ...{ date: "2026-07-15", hour, is_partial: hour.includes("T10"), model: "acme/small", endpoint_id: "acme/eu" },
      ...{ provider_name: "Acme", api_key_hash: key.repeat(64), api_key_name: key === "a" ? "ci" : null },
      ...{ usage, requests: 1, prompt_tokens: 3, completion_tokens: 4, user_hash: "0123456789abcdef" },
    })
    const [ten, nine] = ["2026-07-15T10:00:00Z", "2026-07-15T09:00:00Z"]
    const data = [item(ten, "a", 0.1), item(ten, "b", 0.5), item(nine, "a", 0.2)]
    const asked: Array<URLSearchParams> = []
    const other = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) => {
        asked.push(new URL(request.url).searchParams)
        return Response.json({ data })
      },
    })
    const at = ["--url", `${other.url}api/v1/`]
    const byHour = await headgate("spend", "--by", "hour", ...at)
    const byUser = await headgate("spend", "--by", "user", ...at)
    const byKey = await headgate("spend", "--since", "2026-07-15T09:30:00Z", ...at)
    const json = await headgate("spend", "--since", "2026-07-15T09:30:00Z", "--json", ...at)
    const wrong = await headgate("spend", "--since", "yesterday", ...at)
    const impossible = await headgate("spend", "--by", "provider_key", "--since", "1h", ...at)
    await other.stop(true)
    expect(linesOf(byHour)).toEqual([
      [ten, "2", "6", "8", "0.6"],
      [nine, "1", "3", "4", "0.2"],
      ["total", "3", "9", "12", "0.8"],
    ])
    expect(linesOf(byUser)[0]).toEqual(["0123456789abcdef", "3", "9", "12", "0.8"])
    expect(linesOf(byKey)).toEqual([
      ["b".repeat(64), "-", "1", "3", "4", "0.5"],
      ["a".repeat(64), "ci", "2", "6", "8", "0.3"],
      ["total", "", "3", "9", "12", "0.8"],
    ])
    const figures = { prompt_tokens: 6, completion_tokens: 8 }
    expect(JSON.parse(json.out)[1]).toEqual({ hash: "a".repeat(64), name: "ci", requests: 2, ...figures, usage: 0.3 })
    const from = "2026-07-15T09:30:00.000Z"
    expect(asked.map((query) => Object.fromEntries(query))).toEqual([
      { interval: "hour" },
      { group_by: "user" },
      { group_by: "api_key", from },
      { group_by: "api_key", from },
    ])
    expect([wrong.code, impossible.code]).toEqual([64, 64])
    expect(impossible.err).toContain("--since cannot be used with --by provider_key")
  },
  patience,
)

test(
  "spend --by provider_key: what each key of a provider was charged, by its place and never by its secret, and in all",
  async () => {
    const figures = (usage: string) => ({
      ...{ usage, usage_daily: "0.1", usage_weekly: "0.2", usage_monthly: "0.3" },
    })
    const data = [
      { provider: "openai", api_key: "key 1", id: "openai/0000000000000000", ...figures("1.000000000001") },
      { provider: "openai", api_key: "key 2 (OPENAI_KEY_B)", id: "openai/1111111111111111", ...figures("20") },
      { provider: "gone", api_key: null, id: "gone/2222222222222222", ...figures("3") },
    ]
    const asked: Array<string> = []
    const other = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) => {
        asked.push(`${request.method} ${new URL(request.url).pathname}`)
        return Response.json({ data })
      },
    })
    const at = ["--by", "provider_key", "--url", `${other.url}api/v1/`]
    const lines = await headgate("spend", ...at)
    const answered = await headgate("spend", "--json", ...at)
    await other.stop(true)
    expect(linesOf(lines)).toEqual([
      ["openai", "key 2 (OPENAI_KEY_B)", "0.1", "0.2", "0.3", "20"],
      ["gone", "gone/2222222222222222 (not configured)", "0.1", "0.2", "0.3", "3"],
      ["openai", "key 1", "0.1", "0.2", "0.3", "1.000000000001"],
      ["total", "", "0.3", "0.6", "0.9", "24.000000000001"],
    ])
    expect(JSON.parse(answered.out)).toEqual(data)
    expect([...new Set(asked)]).toEqual(["GET /api/v1/spend/provider_keys"])
    // The gateway that runs here has no provider with several keys.
    expect(await headgate("spend", "--by", "provider_key")).toMatchObject({ code: 0, out: "" })
  },
  patience,
)

describe("refused", () => {
  const refusals: ReadonlyArray<readonly [words: ReadonlyArray<string>, code: number, why: string]> = [
    [["kys"], 64, '"headgate" has no command "kys", did you mean "keys"?'],
    [["keys", "lst"], 64, '"headgate keys" has no command "lst", did you mean "list"?'],
    [["audit", "zzzzz"], 64, '"headgate audit" has no command "zzzzz"; there are verify'],
    [["keys", "list", "--jsno"], 64, '"headgate keys list" has no flag "--jsno", did you mean "--json"?'],
    [["keys", "show", "--all", "abc"], 64, '"headgate keys show" has no flag "--all"'],
    [["keys", "create", "k", "--limit", "--json"], 64, '--limit: expected a value, got "--json"'],
    [["serve", "--prot", "1"], 64, '"headgate serve" has no flag "--prot", did you mean "--port"?'],
    [["--prot=1"], 64, '"headgate serve" has no flag "--prot", did you mean "--port"?'],
    [["--port", "70000"], 64, '--port: expected a whole number from 0 to 65535, got "70000"'],
    [["serve", "--config"], 64, "--config: expected a value, got nothing"],
    [
      ["serve", "--storage="],
      64,
      "--storage: expected memory:, sqlite:PATH or postgres://USER@HOST/DATABASE, got nothing",
    ],
    [["--port", "1", "keys", "list"], 64, '"headgate serve" takes no "keys"'],
    [["keys", "show"], 64, "Missing argument <key>"],
    [["keys", "list", "more"], 64, "Received unknown argument: 'more'"],
    [["keys", "show", "xyz"], 1, 'no key has the name "xyz"'],
    [["keys", "create", "k", "--limit", "1e3"], 64, 'expected an amount of USD such as 12.50, or none, got "1e3"'],
    [["keys", "create", "k", "--rate", "5"], 64, '--rate: expected requests/seconds such as 100/60, got "5"'],
    [["keys", "list", "--url", "here"], 64, '--url: expected an address such as http://127.0.0.1:8787, got "here"'],
    [
      ["keys", "list", "--url", "http://user:s3cret@127.0.0.1:1"],
      64,
      "--url: expected an address without user, password, query and #",
    ],
    [["keys", "limit", "abcdef", "-5"], 64, 'expected an amount of USD such as 12.50, or none, got "-5"'],
    [["--completions", "tcsh"], 64, '--completions: expected one of bash, fish, sh, zsh, got "tcsh"'],
    [["serve", "--log-level", "loud"], 64, '--log-level: expected one of debug, info, warn, error, none, got "loud"'],
    [
      ["--log-level", "warning", "keys", "list"],
      64,
      '--log-level: expected one of debug, info, warn, error, none, got "warning"',
    ],
    [["keys", "create", ""], 1, "the gateway answered 400: name: expected a text of 1 to 200 characters, got string."],
    [["keys", "show", "0".repeat(63)], 1, `no key has the name "${"0".repeat(63)}", and no hash begins with it`],
  ]
  test.each(refusals)(
    "%j: exit code %i, and one line says why",
    async (words, code, why) => {
      expect(await headgate(...words)).toEqual({ code, out: "", err: `headgate: ${why}\n` })
    },
    patience,
  )

  test(
    "without a management key, or with another one",
    async () => {
      const port = { HEADGATE_PORT: new URL(url).port }
      const without = await installation.command(["spend"], port)
      expect(without).toMatchObject({ code: 64, err: expect.stringContaining("HEADGATE_MANAGEMENT_KEY is not set") })
      const other = await installation.command(["spend"], { ...port, HEADGATE_MANAGEMENT_KEY: ordinaryKey })
      expect(other).toMatchObject({ code: 1, err: expect.stringMatching(/^headgate: the gateway answered 403: .*\n$/) })
    },
    patience,
  )

  test(
    "where no gateway answers",
    async () => {
      const { code, err } = await headgate("keys", "list", "--url", "http://127.0.0.1:1")
      expect([code, err.split("\n").length]).toEqual([69, 2])
      expect(err).toStartWith("headgate: no answer from http://127.0.0.1:1/api/v1: ")
      const configured = { HEADGATE_PORT: "1", HEADGATE_MANAGEMENT_KEY: ordinaryKey }
      const here = await installation.command(["spend"], configured)
      expect([here.code, here.err.split("\n").length]).toEqual([69, 2])
      expect(here.err).toEndWith("; --url names another address\n")
    },
    patience,
  )
})

test(
  "a terminal gets columns under headings, with short hashes and in colour unless NO_COLOR is set; its proxy is not asked for this machine",
  async () => {
    const env = {
      HEADGATE_MANAGEMENT_KEY: managementKey,
      HEADGATE_PORT: new URL(url).port,
      HTTP_PROXY: "http://127.0.0.1:1",
    }
    const hash = Bun.SHA256.hash(ordinaryKey, "hex").slice(0, 12)
    const shown = await installation.inTerminal(["keys", "list"], env)
    expect(shown).toStartWith(
      "\u001b[1mHASH          NAME       LABEL            STATE   LIMIT  RESET  LEFT     SPENT\u001b[0m\n",
    )
    expect(shown).toContain(
      `\n${hash}  first key  ${ordinaryKey.slice(0, 9)}...${ordinaryKey.slice(-3)}  active      -  -         -  `,
    )
    expect(await installation.inTerminal(["keys", "list"], { ...env, NO_COLOR: "1" })).toBe(Bun.stripANSI(shown))
  },
  patience,
)

test(
  "help and version are plain in a pipe, and the version is the package's",
  async () => {
    const help = await headgate("keys", "create", "--help")
    expect(help.code).toBe(0)
    expect(help.out).toContain("--limit")
    expect(help.out).not.toContain("\u001b")
    // Its name stood there without a word.
    for (const command of ["create", "rename"])
      expect((await headgate("keys", command, "--help")).out).toMatch(/^<name>\s+what the key is called/m)
    const { version } = await Bun.file(new URL("../../package.json", import.meta.url)).json()
    const versions = `headgate ${version} (Bun ${Bun.version}, database schema ${schemaVersion})\n`
    expect(await headgate("--version")).toMatchObject({ code: 0, out: versions })
    const serve = await headgate("serve", "--help")
    for (const { name, about } of serveFlags) expect(serve.out).toMatch(new RegExp(`--${name} .*${about}`, "s"))
  },
  patience,
)

test(
  "a value of a flag of every command was taken for a misspelt command",
  async () => {
    expect(await headgate("--log-level", "warn", "keys", "list", "--json")).toMatchObject({ code: 0, err: "" })
    expect(await headgate("keys", "list", "--json", "--log-level=debug")).toMatchObject({ code: 0, err: "" })
  },
  patience,
)

describe("completions", () => {
  test(
    "in bash are commands, those within them, flags, values of flags, and files",
    async () => {
      const { out: script } = await headgate("--completions", "bash")
      await Bun.write(join(installation.folder, "complete", "models.json"), "{}")
      /** What is offered for the last word. */
      const offered = async (...words: ReadonlyArray<string>) => {
        const say = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _headgate; echo "\${COMPREPLY[*]}"`
        const child = Bun.spawn(["bash", "-c", `${script}\n${say}`, "bash", "headgate", ...words], {
          cwd: join(installation.folder, "complete"),
        })
        return (await new Response(child.stdout).text()).trim()
      }
      expect(await offered("ke")).toBe("keys")
      expect(await offered("keys", "cr")).toBe("create")
      expect(await offered("keys", "create", "ci", "--re")).toBe("--reset")
      expect(await offered("keys", "create", "--reset", "")).toBe("daily weekly monthly")
      expect(await offered("--port", "9000", "--log-level", "")).toBe("debug info warn error none")
      expect(await offered("--completions", "")).toBe("bash fish sh zsh")
      expect(await offered("serve", "--config", "")).toBe("models.json")
      expect(await offered("catalogue", "refresh", "mod")).toBe("models.json")
      expect(await offered("keys", "create", "--limit", "")).toBe("")
    },
    patience,
  )

  test(
    "of all shells have every command with its flags; sh gets the script for bash",
    async () => {
      const written = new Map<string, string>()
      for (const shell of ["bash", "fish", "sh", "zsh"]) {
        const { code, out } = await headgate("--completions", shell)
        expect(code).toBe(0)
        written.set(shell, out)
      }
      expect(written.get("sh")).toBe(written.get("bash") ?? "")
      const { out: help } = await headgate("--help")
      const commands = Array.from(
        help.matchAll(/^ {2}- ([a-z ]+?)(?= [[<-]| {2})(.*?) {2}/gm),
        ([, words = "", more = ""]) => ({
          words,
          flags: more.match(/--[a-z-]+/g) ?? [],
        }),
      )
      expect(commands.length).toBeGreaterThan(15)
      for (const { words, flags } of commands) {
        const place = {
          bash: `    "${words}") words="`,
          zsh: `    "${words}") names=`,
          fish: `__headgate_at "${words}"' `,
        }
        for (const [shell, begin] of Object.entries(place)) {
          const lines = (written.get(shell) ?? "").split("\n").filter((line) => line.includes(begin))
          expect([shell, words, lines.length > 0]).toEqual([shell, words, true])
          const flagsThere = flags.filter((flag) =>
            lines.some((line) => line.includes(shell === "fish" ? `-l ${flag.slice(2)} ` : flag)),
          )
          expect([shell, words, ...flagsThere]).toEqual([shell, words, ...flags])
        }
      }
    },
    patience,
  )
})

test.each([
  ["keys", "create, list, show, limit, change, rename, disable, enable, rotate, revoke"],
  ["audit", "verify"],
])(
  "%s without its command showed the help and ended with 0, as if it had been done",
  async (group, commands) => {
    const { code, out, err } = await headgate(group)
    expect([code, out]).toEqual([64, ""])
    expect(err).toContain("COMMANDS")
    expect(err).toEndWith(`\nheadgate: "headgate ${group}" needs a command: ${commands}\n`)
  },
  patience,
)

test(
  "every line of the documentation runs as it is written, from a link to the program in the PATH",
  async () => {
    const root = join(import.meta.dir, "../..")
    const bin = join(installation.folder, "bin")
    mkdirSync(bin)
    symlinkSync(join(root, "src/main.ts"), join(bin, "headgate"))
    const pages = ["docs/commands.md", "README.md"].map((page) => readFileSync(join(root, page), "utf8"))
    const hash = Bun.SHA256.hash(ordinaryKey, "hex").slice(0, 8)
    const written = pages
      .flatMap((page) => page.match(/^```sh\n[\s\S]*?^```$/gm) ?? [])
      .flatMap((block) => block.match(/^(?:headgate|bun start --) \w.*$/gm) ?? [])
      .map((line) => line.replace("bun start --", "headgate").replace("8f3a1c", hash))
    // Some are on both pages, with comments of their own.
    const lines = [...new Map(written.map((line) => [line.replace(/\s+#.*/, ""), line])).values()]
    expect(lines.length).toBeGreaterThan(12)
    await Bun.write(join(installation.folder, "models.json"), JSON.stringify({ format: 1, providers: {} }))
    const run = async (line: string, code = 0) => {
      const child = Bun.spawn(["bash", "-c", line], {
        cwd: installation.folder,
        env: {
          PATH: `${bin}:${dirname(process.execPath)}:${process.env["PATH"]}`,
          HEADGATE_STORAGE: `sqlite:${installation.database}`,
          HEADGATE_MANAGEMENT_KEY: managementKey,
          HEADGATE_PORT: new URL(url).port,
        },
        stderr: "pipe",
      })
      const err = await new Response(child.stderr).text()
      // The test runner says there how the tests went.
      const said = line.includes(" plugin test ") || code !== 0 ? "" : err
      expect([line, await child.exited, said]).toEqual([line, code, ""])
    }
    const runAll = async (some: ReadonlyArray<string>) => {
      for (const line of some) await run(line)
    }
    const aboutPlugins = lines.filter((line) => line.includes(" plugin "))
    const revoking = lines.filter((line) => line.includes(" revoke "))
    // The gateway uses the database. test/cli/backup.test.ts restores one.
    const inUse = lines.filter((line) => line.includes(" restore "))
    const others = lines.filter((line) => ![...aboutPlugins, ...revoking, ...inUse].includes(line))
    // Plugins are tested after they are written, and revoking comes last: the others are about the same key.
    await Promise.all([runAll(aboutPlugins), runAll(others)])
    await runAll(revoking)
    for (const line of inUse) await run(line, 73)
  },
  patience,
)

test.each([
  [["--help"]],
  [["keys", "create", "--help"]],
  [["route", "--help"]],
  [["serve", "--help"]],
  [["check", "--help"]],
  [["backup", "--help"]],
])(
  "the help of %j has no line that says nothing, and those that do",
  async (words) => {
    const { code, out } = await headgate(...words)
    expect(code).toBe(0)
    expect(out).not.toContain("user-defined")
    if (words.length > 1) expect(out).toMatch(/\n(--\w|<\w)[^\n]*\n\n {2}\S[^\n]*\n/)
  },
  patience,
)
