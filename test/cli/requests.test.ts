/** `headgate requests`, against a gateway that answers what the test says. */
import { afterAll, beforeEach, expect, test } from "bun:test"
import { runCommand } from "../support/gateways/commands.ts"

const key = "a".repeat(64)
const management = "a-management-key-that-the-operator-brought-along"

const item = (id: string, members: object = {}) => ({
  request_id: id,
  created_at: "2026-11-24T00:00:00.000Z",
  key_hash: key,
  model: "acme/small",
  host: null,
  status: 429,
  outcome: "policy_rate_limited",
  why: "Rate limit exceeded: requests of this key.",
  duration_ms: 1.6,
  exact: { usage: "0.00002" },
  attempts: null,
  ...members,
})

type Answer = (path: string, query: URLSearchParams) => object | undefined

let answer: Answer = () => undefined
const asked: Array<string> = []

const gateway = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: (request) => {
    const { pathname, searchParams } = new URL(request.url)
    asked.push(`${pathname.replace("/api/v1", "")}?${searchParams}`)
    const body = answer(pathname.replace("/api/v1", ""), searchParams)
    return body === undefined
      ? Response.json({ error: { message: "It is over.", code: 500 } }, { status: 500 })
      : Response.json(body)
  },
})
afterAll(() => gateway.stop(true))
beforeEach(() => {
  asked.length = 0
})

const headgate = (...words: ReadonlyArray<string>) =>
  runCommand({
    words: ["requests", "--url", String(gateway.url), ...words],
    env: { PATH: process.env["PATH"] ?? "", HEADGATE_MANAGEMENT_KEY: management },
  })

const keys = {
  data: [
    { ...keyRecord("ci", key) },
    { ...keyRecord("twice", "b".repeat(64)) },
    { ...keyRecord("twice", "c".repeat(64)) },
  ],
}

function keyRecord(name: string, hash: string) {
  return {
    ...{ hash, name, label: "sk-gw-a...b", disabled: false, limit: null, limit_reset: null, limit_remaining: null },
    ...{ include_byok_in_limit: false, usage: 0, usage_daily: 0, usage_weekly: 0, usage_monthly: 0 },
    ...{ created_at: "2026-07-15T00:00:00.000Z", updated_at: null, expires_at: null, creator_user_id: "u" },
    ...{ workspace_id: "w" },
  }
}

test("a line for each, of all pages up to the limit, by the filters that were given", async () => {
  answer = (path, query) => {
    if (path === "/keys") return keys
    const after = query.get("after")
    if (after === null)
      return { data: [item("r4"), item("r3", { why: null, model: null })], next: "r3", position: "1.1" }
    return after === "r3"
      ? { data: [], next: "r2", position: "1.1" }
      : { data: [item("r1", { status: null, requests: 401 })], next: null, position: "1.1" }
  }
  const { code, out, err } = await headgate(
    "--key",
    "ci",
    "--status",
    "4xx",
    "--since",
    "1h",
    "--model",
    "acme/small",
    "--outcome",
    "policy",
  )
  expect([code, err]).toEqual([0, ""])
  const line = (id: string, status: string, model: string, why: string) =>
    `2026-11-24T00:00:00.000Z\t${status}\tpolicy_rate_limited\t${key}\t${model}\t-\t2\t0.00002\t${id}\t${why}`
  const why = "Rate limit exceeded: requests of this key."
  expect(out.split("\n")).toEqual([
    line("r4", "429", "acme/small", why),
    line("r3", "429", "-", ""),
    line("r1", "-", "acme/small", `and 400 more in this minute; ${why}`),
    "",
  ])
  const listed = asked.filter((one) => one.startsWith("/requests")).map((one) => new URLSearchParams(one.split("?")[1]))
  expect(listed.map((query) => [query.get("limit"), query.get("after")])).toEqual([
    ["50", null],
    ["48", "r3"],
    ["48", "r2"],
  ])
  for (const query of listed) {
    expect(Object.fromEntries(query)).toMatchObject({
      key_hash: key,
      status: "4xx",
      model: "acme/small",
      outcome: "policy",
    })
    const hourAgo = Date.now() - 3_600_000
    expect(Math.abs(Date.parse(query.get("from") ?? "") - hourAgo)).toBeLessThan(120_000)
  }
})

test("a request that a second host answered says how the first one failed, and how long that took", async () => {
  const attempts = [
    { model: "acme/small", host: "acme/eu", outcome: "overloaded", status: 503, duration_ms: 812.4, fault: null },
    { model: "acme/small", host: "acme/ap", outcome: "unreachable", status: null, duration_ms: 5, fault: "dns" },
    { model: "acme/small", host: "acme/us", outcome: "finished", status: 200, duration_ms: 90, fault: null },
  ]
  answer = () => ({ data: [item("r1", { why: null, outcome: "ok", attempts })], next: null, position: "1.1" })
  const { out } = await headgate()
  expect(out.split("\t").at(-1)).toBe("acme/eu overloaded 503 after 812 ms; acme/ap unreachable: dns after 5 ms\n")
})

test("--json is what the gateway answers", async () => {
  const data = [item("r2", { more: { than: "is known" } }), item("r1")]
  answer = () => ({ data, next: null, position: "1.1" })
  const { out } = await headgate("--json", "--limit", "2")
  expect(JSON.parse(out)).toEqual(data)
})

test("--follow: the newest last, then what was written since, each once, until the gateway is gone", async () => {
  const rounds: Array<object> = [
    { data: [item("r2"), item("r1")], next: null, position: "1.1" },
    { data: [item("r2"), item("r3")], next: null, position: "2.1" },
  ]
  answer = () => rounds.shift()
  const { code, out, err } = await headgate("--follow", "--json", "--status", "429")
  const ids = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).request_id)
  expect(ids).toEqual(["r1", "r2", "r3"])
  expect([code, err]).toEqual([1, "headgate: the gateway answered 500: It is over.\n"])
  expect(asked).toEqual([
    "/requests?limit=10&status=429",
    "/requests?position=1.1&limit=1000&status=429",
    "/requests?position=2.1&limit=1000&status=429",
  ])
})

test("--follow ends with 0 when it is interrupted", async () => {
  let polls = 0
  answer = () => {
    polls += 1
    return { data: [], next: null, position: "1.1" }
  }
  const child = Bun.spawn([process.execPath, "src/main.ts", "requests", "--follow", "--url", String(gateway.url)], {
    cwd: `${import.meta.dir}/../..`,
    env: { PATH: process.env["PATH"] ?? "", HEADGATE_MANAGEMENT_KEY: management },
    stdout: "pipe",
    stderr: "pipe",
  })
  while (polls < 2 && child.exitCode === null) await Bun.sleep(5)
  child.kill("SIGINT")
  expect([await child.exited, await child.stdout.text(), await child.stderr.text()]).toEqual([0, "", ""])
})

test("--unknown: how many were refused without a known key", async () => {
  answer = () => ({ data: [{ minute: "2026-11-24T00:00:00.000Z", address: null, status: 401, requests: 12 }] })
  const { out } = await headgate("--unknown", "--since", "2026-11-24")
  expect(out).toBe("2026-11-24T00:00:00.000Z\t401\t12\t-\n")
  expect(asked).toEqual(["/requests/unknown?limit=50&from=2026-11-24T00%3A00%3A00.000Z"])
})

test.each([
  ["the list", [], { data: [], next: null, position: "1.1" }, "/requests?limit=50&"],
  ["callers without a key", ["--unknown"], { data: [] }, "/requests/unknown?limit=50&"],
])("--until bounds the time: %s", async (_, words, answered, path) => {
  answer = () => answered
  const span = ["--since", "2026-11-24T03:10:00Z", "--until", "2026-11-24T03:14:00Z"]
  expect(await headgate(...words, ...span)).toMatchObject({ code: 0, err: "" })
  expect(asked).toEqual([`${path}from=2026-11-24T03%3A10%3A00.000Z&to=2026-11-24T03%3A14%3A00.000Z`])
})

test.each([
  [
    ["--since", "soon"],
    64,
    '--since: expected a duration such as 1h, or a time such as 2026-07-15T09:30:00Z, got "soon"',
  ],
  [
    ["--until", "now"],
    64,
    '--until: expected a duration such as 1h, or a time such as 2026-07-15T09:30:00Z, got "now"',
  ],
  [["--follow", "--until", "1h"], 64, "--until cannot be used with --follow"],
  [["--key", "nobody"], 1, 'no key has the name "nobody"'],
  [["--key", "twice"], 1, '2 keys have the name "twice": give the hash of one of them'],
  [["--limit", "2"], 1, "the gateway did not answer with requests"],
])("%j: exit code %i, and one line says why", async (words, code, why) => {
  answer = (path) => (path === "/keys" ? keys : { data: [{}], next: null, position: "1.1" })
  expect(await headgate(...words)).toEqual({ code, out: "", err: `headgate: ${why}\n` })
})

test("--id shows one request: where it went, and its price line by line", async () => {
  const opened = {
    ...{ request_id: "req_1", created_at: "2026-11-24T00:00:00.000Z", model: "acme/small", status: 200, outcome: "ok" },
    ...{ why: null, generation_time: 812.4, exact: { usage: "0.000011" } },
    route: {
      ...{ strategy: "price", seed: 7, cut: false },
      order: [
        { model: "acme/small", host: "a", outcome: "overloaded", fault: null },
        { model: "acme/small", host: "b", outcome: "finished", fault: null },
      ],
      excluded: [{ model: "acme/small", host: "c", by: "zdr", reason: "may retain prompts" }],
    },
    billing: {
      lines: [
        { what: "prompt", quantity: 12, unit: "token", unit_price_usd: "0.00000025", amount_usd: "0.000003" },
        { what: "discount", quantity: 10, unit: "percent", unit_price_usd: null, amount_usd: "-0.0000003" },
      ],
    },
  }
  answer = () => ({ data: opened })
  const { code, out } = await headgate("--id", "req_1")
  expect(asked).toEqual(["/generation?id=req_1"])
  expect([code, out.trimEnd().split("\n")]).toEqual([
    0,
    [
      "request\treq_1",
      "time\t2026-11-24T00:00:00.000Z",
      "model\tacme/small",
      "status\t200",
      "outcome\tok",
      "ms\t812",
      "usd\t0.000011",
      "strategy\tprice, seed 7",
      "1\tacme/small\ta\toverloaded",
      "2\tacme/small\tb\tfinished",
      "-\tacme/small\tc\tzdr: may retain prompts",
      "prompt\t12\ttoken\t0.00000025\t0.000003",
      "discount\t10\tpercent\t-\t-0.0000003",
    ],
  ])
  const json = await headgate("--id", "req_1", "--json")
  expect(JSON.parse(json.out)).toEqual(opened)
  // Of one that failed before it had a plan.
  answer = () => ({ data: { ...opened, route: null, billing: null, why: "It is over." } })
  expect((await headgate("--id", "req_1")).out).toContain("why\tIt is over.")
})
