/** Numbers 74 to 76 and 84: key management. */
import { expect } from "bun:test"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { expectRefusal, type Json } from "../../support/clients/badInputs.ts"
import { answerTo, requestOf } from "../../support/clients/rawCaller.ts"
import { asManager, badInput, gateway, refused, secrets } from "./harness.ts"

const data = async (response: Response): Promise<Json> => ((await response.json()) as { readonly data: Json }).data

export const managementTests = (): void => {
  const later = new Date(Date.now() + 86_400_000).toISOString()
  const keyList = async () => (await gateway.call("/keys", asManager())).text()
  /** Returns the paths of all problems, and checks that nothing was changed. */
  const faults = async (method: string, path: string, body: unknown, says: string | RegExp, first: string) => {
    const before = await keyList()
    const metadata = await refused(() => gateway.call(path, asManager(method, body)), {
      status: 400,
      says,
      path: first,
    })
    expect(await keyList()).toBe(before)
    return (metadata["issues"] as ReadonlyArray<Json>).map(({ path: at }) => at)
  }
  const create = (name: string, body: Json, says: string | RegExp, ...paths: ReadonlyArray<string>) =>
    badInput(74, name, async () => {
      expect(await faults("POST", "/keys", body, says, paths[0] ?? "")).toEqual([...paths])
    })

  const amount = "expected an amount of USD from 0 to 9000000"
  create("a negative limit", { name: "n", limit: -1 }, amount, "limit")
  create("a limit of 1e30", { name: "n", limit: 1e30 }, amount, "limit")
  create("a limit as text", { name: "n", limit: "5" }, `${amount}, got string`, "limit")
  create("a name of 10,000 characters", { name: "n".repeat(10_000) }, "expected a text of 1 to 200 characters", "name")
  create("an hourly reset", { name: "n", limit_reset: "hourly" }, /expected "daily", "weekly"/, "limit_reset")
  create("an expiry that is past", { name: "n", expires_at: "2020-01-01T00:00:00Z" }, "in the future", "expires_at")
  create(
    "all of them at once",
    { name: "", limit: -1, limit_reset: "hourly", expires_at: "2020-01-01T00:00:00Z", nam: 1 },
    /\(and 4 more\)/,
    ...["nam", "name", "limit", "limit_reset", "expires_at"],
  )
  badInput(74, "a valid key is created", async () => {
    const body = { name: "fine", limit: 5, limit_reset: "daily", expires_at: later }
    const response = await gateway.call("/keys", asManager("POST", body))
    expect(response.status).toBe(201)
    expect(await data(response)).toMatchObject(body)
  })

  for (const [name, value] of Object.entries({ usage: 0, hash: "x", is_management_key: true, label: "x" })) {
    badInput(75, `${name} cannot be set`, async () => {
      const key = await gateway.newKey()
      const says = `${name}: this field cannot be set.`
      expect(await faults("PATCH", `/keys/${keyId(key)}`, { [name]: value }, says, name)).toEqual([name])
      expect(await faults("POST", "/keys", { name: "n", [name]: value }, says, name)).toEqual([name])
    })
  }

  for (const [query, path, says] of [
    ["limit=-1", "limit", "a whole number from 1 to 100"],
    ["limit=0", "limit", "a whole number from 1 to 100"],
    ["limit=101", "limit", "a whole number from 1 to 100"],
    ["offset=abc", "offset", "a whole number from 0"],
    ["offset=-1", "offset", "a whole number from 0"],
    ["offset=1&offset=2", "offset", "a whole number from 0"],
    ["include_disabled=maybe", "include_disabled", 'expected "true" or "false"'],
  ] as const) {
    badInput(76, query, () => refused(() => gateway.call(`/keys?${query}`, asManager()), { status: 400, says, path }))
  }
  badInput(76, "wildcards are searched for as they are written", async () => {
    const found = async (text: string) => {
      const response = await gateway.call(`/keys?search=${encodeURIComponent(text)}`, asManager())
      expect(response.status).toBe(200)
      const { data: keys } = (await response.json()) as { readonly data: ReadonlyArray<{ readonly name: string }> }
      return keys.map(({ name }) => name)
    }
    await gateway.newKey({ name: "%" })
    expect([await found("%"), await found("%%%%%"), await found("_")]).toEqual([["%"], [], []])
  })

  badInput(84, "a page of another origin gets no CORS headers", async () => {
    const page = { Origin: "https://evil.test", "Content-Type": "application/json" }
    const send = (line: string, headers: Record<string, string>, body = "") =>
      answerTo(gateway.url, requestOf(line, { ...page, ...headers }, body))
    const bearer = (key: string) => ({ Authorization: `Bearer ${key}` })
    const corsIn = ({ headers }: Response) => [...headers.keys()].filter((name) => name.startsWith("access-control"))
    for (const line of ["GET /api/v1/keys", "POST /api/v1/keys", "DELETE /api/v1/keys/x", "GET /api/v1/auth/key"]) {
      const anonymous = await send(line, {})
      expect(corsIn(anonymous)).toEqual([])
      await expectRefusal(anonymous, { status: 401, says: "send your key" }, secrets())
      const preflight = await send(line.replace(/^\w+/, "OPTIONS"), { "Access-Control-Request-Method": "GET" })
      expect(corsIn(preflight)).toEqual([])
      await expectRefusal(preflight, { status: 404, says: "This route does not exist" }, secrets())
    }
    const ordinaryKey = await send("GET /api/v1/keys", bearer(gateway.key))
    expect(corsIn(ordinaryKey)).toEqual([])
    await expectRefusal(ordinaryKey, { status: 403, says: "Only management keys" }, secrets())
    const manager = await send("GET /api/v1/keys", bearer(gateway.managementKey))
    expect(manager.status).toBe(200)
    expect(corsIn(manager)).toEqual([])
    // Other routes do allow pages, so the headers are not missing everywhere.
    expect(corsIn(await send("GET /api/v1/models", bearer(gateway.key)))).toContain("access-control-allow-origin")
  })
}
