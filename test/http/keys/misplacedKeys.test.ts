/** A key where a model, a title or another text belongs is masked in all that is kept, logged or answered. docs/guarantees.md#g27 */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makeSecret } from "../../../src/domain/keys/keySecret.ts"
import { layer as layerSqlite } from "../../../src/sql/sqlite/SqliteStorage.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

setDefaultTimeout(1_800_000)

closeAfterEach()

const folder = mkdtempSync(join(tmpdir(), "headgate-misplaced-"))
afterAll(() => rmSync(folder, { recursive: true }))

const hi = { model: "acme/small", messages: [{ role: "user", content: "hi" }] }

const scene = async () => {
  const path = join(folder, `${crypto.randomUUID()}.db`)
  const host = opened(
    scriptedHost((_body, _request, call) => (call > 3 ? new Response("{}", { status: 500 }) : wholeAnswer("hi"))),
  )
  const gateway = await startWatched({
    config: configFor({ acme: host }),
    storage: layerSqlite({ path, durability: "process" }),
  })
  const secret = await gateway.newKey()
  return { path, gateway, secret }
}

/** What is said of requests, and of what was spent, in every form. */
const outputs = [
  "/requests",
  "/analytics?interval=hour&group_by=app",
  "/analytics?interval=hour&group_by=model",
  "/analytics?interval=hour&group_by=user",
  "/activity",
  "/activity?interval=hour&group_by=app",
  "/activity?interval=hour&group_by=user",
  "/requests/live",
  "/keys",
  "/state",
]

describe.each(["ordinary", "management"] as const)("a key of the kind %s", (kind) => {
  test("in a model, a title, a referer, a user, a request id or metadata was kept in clear, and shown to whoever may read", async () => {
    const { path, gateway, secret } = await scene()
    const misplaced = makeSecret(kind)
    const headers = {
      authorization: `Bearer ${secret}`,
      "x-title": `my app ${misplaced}`,
      "http-referer": `https://app.test/?key=${misplaced}`,
      "x-request-id": misplaced,
      "x-session-id": misplaced,
    }
    const bodies: ReadonlyArray<object> = [
      { ...hi, user: misplaced, metadata: { key: misplaced }, session_id: misplaced },
      { ...hi, user: misplaced, [misplaced]: 1 },
      { ...hi, model: misplaced },
      { ...hi, model: `acme/${misplaced}` },
      { ...hi, models: [misplaced, "acme/small"] },
      { ...hi, provider: { only: [misplaced] } },
      { ...hi, provider: { sort: misplaced } },
      { ...hi, reasoning: { effort: misplaced } },
      { ...hi, messages: [{ role: misplaced, content: "hi" }] },
      { ...hi, metadata: { [misplaced]: { a: 1 } } },
      { ...hi, plugins: [{ id: misplaced }] },
      { ...hi, tools: [{ type: misplaced }] },
      { ...hi, messages: [{ role: "user", content: [{ type: misplaced }] }] },
    ]
    const said: Array<string> = []
    const keep = async (what: string, response: Response) => {
      const text = await response.text()
      said.push(`${what} ${JSON.stringify([...response.headers])} ${text}`)
      return response
    }
    for (const [at, body] of bodies.entries()) {
      const response = await keep(`body ${at}:`, await gateway.chat(body, { headers }))
      const generation = response.headers.get("x-generation-id")
      if (generation !== null)
        await keep(`generation ${at}:`, await gateway.call(`/generation?id=${generation}`, { headers }))
      await keep(
        `explain ${at}:`,
        await gateway.call("/route/explain", { method: "POST", headers, body: JSON.stringify(body) }),
      )
    }
    await keep("pinned", await gateway.chat(hi, { headers: { ...headers, "x-gw-host": misplaced } }))
    const manager = { authorization: `Bearer ${gateway.managementKey}` }
    const texts = { name: misplaced, owner: misplaced, tags: [misplaced] }
    const made = { method: "POST", headers: manager, body: JSON.stringify(texts) }
    expect((await keep("made", await gateway.call("/keys", made))).status).toBe(201)
    for (const accept of ["application/json", "text/csv"]) {
      for (const output of outputs) {
        await keep(`${accept} ${output}:`, await gateway.call(output, { headers: { ...manager, accept } }))
      }
    }
    const backup = await gateway.call("/backup", { headers: manager })
    expect(backup.status).toBe(200)
    const files = readdirSync(folder).filter((name) => join(folder, name).startsWith(path))
    const kept = [Buffer.from(await backup.arrayBuffer()), ...files.map((name) => readFileSync(join(folder, name)))]
    const hits = [...said, ...gateway.log().split("\n")].filter((text) => text.includes(misplaced))
    expect(hits).toEqual([])
    expect(kept.filter((bytes) => bytes.includes(misplaced))).toHaveLength(0)
    // They are there, masked.
    expect(said.filter((text) => text.includes(`${misplaced.slice(0, 9)}`)).length).toBeGreaterThan(10)
  })
})
