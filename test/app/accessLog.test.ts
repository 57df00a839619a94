/** The access log of a process, as it is written: one request is one line, whatever stands in it. docs/access-log.md */
import { afterAll, expect, test } from "bun:test"
import { install } from "../support/gateways/process.ts"
import { configFor, scriptedHost, wholeAnswer } from "../support/hosts/host.ts"

const closing: Array<() => unknown> = []
afterAll(() => Promise.all(closing.map((close) => close())))

const managementKey = "access-log-management-key-0123456789"

test("hostile names of models, apps, users and keys make no second line; calls of hosts are one readable field", async () => {
  const installation = install()
  const host = scriptedHost(() => Response.json({}, { status: 429 }))
  const other = scriptedHost(() => wholeAnswer("canary-of-the-answer"))
  closing.push(host.stop, other.stop, installation.remove)
  const base = { discovery: { environment: false, local: false }, server: { access_log: "all" } }
  const gateway = installation.start({
    config: configFor({ one: host, two: other }, base),
    env: { HEADGATE_MANAGEMENT_KEY: managementKey },
  })
  const url = await gateway.url()
  const post = async (path: string, secret: string, body: object, headers: Record<string, string> = {}) => {
    const init = { method: "POST", body: JSON.stringify(body) }
    const sent = { authorization: `Bearer ${secret}`, "content-type": "application/json", ...headers }
    const response = await fetch(`${url}${path}`, { ...init, headers: sent })
    return { id: response.headers.get("x-gw-request-id") ?? "", body: (await response.json()) as { key?: string } }
  }
  const evil = 'evil"\n{"event":"request"}\r\nevent=request\u2028\u001b[2J\u0085 x=1'
  const made = await post("/keys", managementKey, { name: evil })
  const plain = await post("/keys", managementKey, { name: "plain" })
  const [key, evilKey] = [plain.body.key ?? "", made.body.key ?? ""]
  expect([key, evilKey]).toEqual([expect.stringMatching(/^sk-gw-/), expect.stringMatching(/^sk-gw-/)])
  const hi = {
    model: "acme/small",
    messages: [{ role: "user", content: evil }],
    user: evil,
    provider: { order: ["one"] },
  }
  const latin1 = Buffer.from('app"\u2028event=request\u0085', "utf8").toString("latin1")
  const requests = [
    await post("/chat/completions", key, hi, { "x-title": latin1, "http-referer": 'https://x.test/"event=request' }),
    await post("/chat/completions", evilKey, { ...hi, model: evil }),
    await post("/chat/completions", key, { ...hi, provider: { only: [evil] }, session_id: evil }),
  ]
  gateway.kill("SIGTERM")
  expect(await gateway.exited).toBe(0)
  const lines = gateway.err().split(/[\n\r\u2028\u2029\u0085]/)
  for (const { id } of [made, plain, ...requests]) {
    const own = lines.filter((line) => line.includes(id) && /\brequest\b/.test(line) && line.includes("duration_ms"))
    expect(own).toHaveLength(1)
  }
  const withoutTheirs = lines.filter((line) => ![made, plain, ...requests].some(({ id }) => line.includes(id)))
  expect(withoutTheirs.filter((line) => /evil|event=request|"event":"request"/.test(line))).toEqual([])
  expect(gateway.err()).not.toContain("\u001b[2J")
  for (const secret of [key, managementKey, evilKey, "key-of-one", "canary"]) {
    expect(gateway.err()).not.toContain(secret)
  }
  const [answered] = requests.map(({ id }) => lines.find((line) => line.includes(id) && line.includes("duration_ms")))
  expect(answered).toMatch(/attempts="?one:429:[\d.]+ms,two:200:[\d.]+ms|"attempts":\[\{/)
}, 1_800_000)
