/** Tags and owners of keys, how keys are found by them, and their amounts as decimals. docs/commands.md */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import {
  type Anything,
  asManager,
  bearer,
  type ControlPlane,
  expectAnswer,
  expectError,
  json,
  noon,
  row,
  startControlPlane,
} from "../../support/gateways/control.ts"

let gateway: ControlPlane

beforeAll(async () => {
  gateway = await startControlPlane()
})
afterAll(() => gateway.close())

const send = (method: string, path: string, body?: unknown) =>
  gateway.send(`/api/v1/keys${path}`, asManager(method, body))

const made = async (body: object): Promise<Anything> => {
  const response = await send("POST", "", { name: "a key", ...body })
  expectAnswer(response, 201)
  return json(response)
}

const list = async (query: string): Promise<Anything> => {
  const response = await send("GET", query)
  expectAnswer(response, 200)
  return json(response)
}

const namesIn = ({ data }: Anything): ReadonlyArray<string> => data.map(({ name }: Anything) => name)

describe("a key", () => {
  test("has tags and an owner, which can be changed and taken away", async () => {
    const { data } = await made({ tags: ["team a", "ci", "team a"], owner: "Ann" })
    expect(data).toMatchObject({ tags: ["team a", "ci"], owner: "Ann" })
    const changed = await json(await send("PATCH", `/${data.hash}`, { tags: ["b"] }))
    expect(changed.data).toMatchObject({ tags: ["b"], owner: "Ann" })
    const none = await json(await send("PATCH", `/${data.hash}`, { tags: [], owner: null }))
    expect(none.data).toMatchObject({ tags: [], owner: null })
  })

  test("does not show them to its holder", async () => {
    const { key } = await made({ tags: ["secret plan"], owner: "Ann" })
    const status = await json(await gateway.send("/api/v1/key", bearer(key)))
    expect(JSON.stringify(status)).not.toMatch(/secret plan|Ann/)
  })

  test.each([
    ["tags", "a"],
    ["tags", null],
    ["tags[0]", [""]],
    ["tags[0]", ["a,b"]],
    ["tags[1]", ["a", " b"]],
    ["tags[0]", ["a\nb"]],
    ["tags[0]", ["t".repeat(65)]],
    ["tags[0]", [5]],
    ["tags", Array.from({ length: 17 }, (_, at) => `t${at}`)],
    ["owner", ""],
    ["owner", "o".repeat(201)],
    ["owner", 5],
  ])("with %s %j is refused", async (path, value) => {
    const member = path.replace(/\[.*/, "")
    const { metadata } = await expectError(await send("POST", "", { name: "x", [member]: value }), 400)
    expect(metadata.issues.map((issue: Anything) => issue.path)).toEqual([path])
  })

  test("has its amounts as decimals beside the numbers, exact to the picodollar", async () => {
    const key = await gateway.newKey({ name: "of amounts", limit: 99_999_000_000_000_000n, limitReset: "daily" })
    const rows = [row(key, "0.000000000001", noon), row(key, "90000.1", noon), row(key, "2", 0)]
    await gateway.run(Effect.flatMap(Storage, ({ ledger }) => ledger.append(rows)))
    const exact = {
      ...{ limit: "99999", limit_remaining: "9998.899999999999" },
      ...{ usage: "90002.100000000001", usage_daily: "90000.100000000001" },
      ...{ usage_weekly: "90000.100000000001", usage_monthly: "90000.100000000001" },
      ...{ byok_usage: "0", byok_usage_daily: "0", byok_usage_weekly: "0", byok_usage_monthly: "0" },
    }
    expect((await json(await send("GET", `/${keyId(key)}`))).data.exact).toEqual(exact)
    const status = (await json(await gateway.send("/api/v1/auth/key", bearer(key)))).data
    expect(status.exact).toEqual(exact)
    const [budget] = status.budgets
    const figures = { limit_usd: "99999", spend_usd: "90000.100000000001", remaining_usd: "9998.899999999999" }
    expect([budget.exact, status.effective_budget.exact]).toEqual([figures, figures])
    const listed = (await list("?search=of%20amounts")).data.find(({ hash }: Anything) => hash === keyId(key))
    expect(listed.exact).toEqual(exact)
  })
})

describe("the list", () => {
  test("has the keys with a tag, or with a text in name, label or owner, and how many there are", async () => {
    const fresh = gateway
    gateway = await startControlPlane()
    for (const [name, tags, owner] of [
      ["one", ["red", "blue"], "Ann"],
      ["two", ["red"], null],
      ["50% off", [], "Hannah"],
      ["under_score", ["blue"], null],
    ] as const) {
      gateway.time.now += 1000
      await made({ name, tags, owner })
    }
    expect(await list("?limit=1")).toMatchObject({ data: [{ name: "under_score" }], total: 4 })
    expect(namesIn(await list("?tag=red"))).toEqual(["two", "one"])
    expect(await list("?tag=red&limit=1&offset=1")).toMatchObject({ data: [{ name: "one" }], total: 2 })
    expect(await list("?tag=re")).toEqual({ data: [], total: 0 })
    expect(namesIn(await list("?search=ANN"))).toEqual(["50% off", "one"])
    expect(namesIn(await list("?search=%25"))).toEqual(["50% off"])
    expect(namesIn(await list("?search=_"))).toEqual(["under_score"])
    expect(namesIn(await list("?search=ANN&tag=blue"))).toEqual(["one"])
    const [{ hash, label }] = (await list("?search=two")).data
    expect((await list(`?search=${label.slice(-7)}`)).data.map((key: Anything) => key.hash)).toEqual([hash])
    await send("PATCH", `/${hash}`, { disabled: true })
    expect((await list("?tag=red")).total).toBe(1)
    expect((await list("?tag=red&include_disabled=true")).total).toBe(2)
    await gateway.close()
    gateway = fresh
  })

  test.each([
    ["tag=", "tag"],
    ["tag=a,b", "tag"],
    ["tag=a&tag=b", "tag"],
    [`tag=${"t".repeat(65)}`, "tag"],
    ["search=", "search"],
    [`search=${"s".repeat(201)}`, "search"],
  ])("?%s is 400", async (query, path) => {
    const { metadata } = await expectError(await send("GET", `?${query}`), 400)
    expect(metadata.issues.map((issue: Anything) => issue.path)).toEqual([path])
  })
})
