/** What management sees of the ledger: `GET /activity` and `GET /credits`, as JSON and as CSV. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { ActivityResponse$inboundSchema } from "@openrouter/sdk/models"
import { GetCreditsResponse$inboundSchema } from "@openrouter/sdk/models/operations"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { layer as memoryStorage } from "../../../src/sql/sqlite/MemoryStorage.ts"
import {
  type Anything,
  asManager,
  bearer,
  type ControlPlane,
  expectAnswer,
  expectError,
  json,
  managementKey,
  noon,
  row,
  startControlPlane,
} from "../../support/gateways/control.ts"

const dayMs = 86_400_000
const midnight = Date.UTC(2026, 6, 15)

let gateway: ControlPlane
let alice: string
let bob: string

const append = (at: ControlPlane, ...rows: ReadonlyArray<LedgerRow>) =>
  at.run(Effect.flatMap(Storage, (storage) => storage.ledger.append(rows)))

const activity = async (query = "", at = gateway): Promise<ReadonlyArray<Anything>> => {
  const response = await at.send(`/api/v1/activity${query}`, asManager())
  expectAnswer(response, 200)
  expect(response.headers.get("vary")).toBe("accept")
  const body = await json(response)
  expect(Object.keys(body)).toEqual(["data"])
  expect(() => ActivityResponse$inboundSchema.parse(body)).not.toThrow()
  return body.data
}

const csvOf = async (path: string, accept = "text/csv") => {
  const response = await gateway.send(path, {
    headers: { authorization: `Bearer ${managementKey}`, accept },
  })
  expect(response.status).toBe(200)
  expect(response.headers.get("content-type")).toStartWith("text/csv")
  return response.text()
}

beforeAll(async () => {
  gateway = await startControlPlane()
  alice = await gateway.newKey({ creatorUserId: "user_a" })
  bob = await gateway.newKey()
  const app = { appUrl: "https://app.example", appTitle: '=HYPERLINK("x"), "quoted"\nApp' }
  await append(
    gateway,
    { ...row(alice, "0.000000000001", midnight - 1), upstreamCost: 3n, ...app, reasoningTokens: 1, cachedTokens: 1 },
    { ...row(bob, "1.5", midnight - dayMs), promptTokens: 10, cacheWriteTokens: 4 },
    { ...row(bob, "2", midnight - 1), host: "toy/dear" },
    { ...row(bob, "0", midnight - 2), outcome: "lost", requestId: "second-lost", upstreamCost: 5n },
    { ...row(bob, "4", midnight - 3), model: "gone/model", host: "gone", provider: "gone" },
    // Today, and the oldest day of the overview and the day before it.
    row(alice, "8", midnight),
    row(alice, "16", midnight - 30 * dayMs),
    row(alice, "32", midnight - 30 * dayMs - 1),
  )
})
afterAll(() => gateway.close())

const brief = (data: ReadonlyArray<Anything>, ...more: ReadonlyArray<string>) =>
  data.map((item) => [item.date, item.model, item.endpoint_id, ...more.map((name) => item[name]), item.usage])

describe("activity", () => {
  test("today was invisible: sums it and the 30 UTC days before by day, model and host, the newest day first", async () => {
    const data = await activity()
    expect(data.map((item) => item.is_partial)).toEqual([true, false, false, false, false])
    expect(brief(data)).toEqual([
      ["2026-07-15", "acme/m0", "toy", 8],
      ["2026-07-14", "acme/m0", "toy", 1.500000000001],
      ["2026-07-14", "acme/m0", "toy/dear", 2],
      ["2026-07-14", "gone/model", "gone", 4],
      ["2026-06-15", "acme/m0", "toy", 16],
    ])
    expect(data[1]).toEqual({
      date: "2026-07-14",
      is_partial: false,
      model: "acme/m0",
      model_permaslug: "acme/m0",
      endpoint_id: "toy",
      provider_name: "Toy Ltd",
      usage: 1.500000000001,
      byok_usage_inference: 0,
      upstream_inference_cost: 8e-12,
      exact: { usage: "1.500000000001", byok_usage_inference: "0", upstream_inference_cost: "0.000000000008" },
      // The second call of a request is none of its own, but costs the operator.
      requests: 2,
      prompt_tokens: 11,
      completion_tokens: 2,
      cached_tokens: 1,
      cache_write_tokens: 4,
      reasoning_tokens: 1,
    })
    // A provider that is not configured any more.
    expect(data[3].provider_name).toBe("gone")
  })

  test("of one day, also an older one", async () => {
    expect(brief(await activity("?date=2026-07-15"), "is_partial")).toEqual([["2026-07-15", "acme/m0", "toy", true, 8]])
    expect(brief(await activity("?date=2026-06-15"))).toEqual([["2026-06-15", "acme/m0", "toy", 16]])
    expect(brief(await activity("?date=2026-06-14"))).toEqual([["2026-06-14", "acme/m0", "toy", 32]])
    expect(await activity("?date=2026-06-16")).toEqual([])
  })

  test("of one key, and of the keys of one user", async () => {
    const ofAlice = [
      ["2026-07-15", "acme/m0", "toy", 8],
      ["2026-07-14", "acme/m0", "toy", 1e-12],
      ["2026-06-15", "acme/m0", "toy", 16],
    ]
    const ofBob = [
      ["2026-07-14", "acme/m0", "toy", 1.5],
      ["2026-07-14", "acme/m0", "toy/dear", 2],
      ["2026-07-14", "gone/model", "gone", 4],
    ]
    const installation = await gateway.run(Effect.map(Storage, (storage) => storage.installation))
    expect(brief(await activity(`?api_key_hash=${keyId(alice)}`))).toEqual(ofAlice)
    expect(brief(await activity("?user_id=user_a"))).toEqual(ofAlice)
    expect(brief(await activity(`?user_id=${installation}`))).toEqual(ofBob)
    expect(brief(await activity(`?api_key_hash=${keyId(bob)}&date=2026-07-14`))).toEqual(ofBob)
    expect(await activity(`?api_key_hash=${keyId(bob)}&user_id=user_a`)).toEqual([])
    expect(await activity(`?api_key_hash=${"0".repeat(64)}`)).toEqual([])
    expect((await activity(`?api_key_hash=${keyId(bob)}`))[0]).not.toHaveProperty("api_key_hash")
  })

  test("by key, by app, and by workspace", async () => {
    const [first, second] = [alice, bob].toSorted((a, b) => (keyId(a) < keyId(b) ? -1 : 1))
    const usage = (key: string | undefined) => (key === alice ? 1e-12 : 1.5)
    const byKey = await activity("?group_by=api_key&date=2026-07-14")
    expect(brief(byKey, "api_key_hash")).toEqual([
      ...[first, second].map((key) => ["2026-07-14", "acme/m0", "toy", keyId(key ?? ""), usage(key)]),
      ["2026-07-14", "acme/m0", "toy/dear", keyId(bob), 2],
      ["2026-07-14", "gone/model", "gone", keyId(bob), 4],
    ])
    const byApp = await activity("?group_by=app&date=2026-07-14")
    expect(brief(byApp, "app_url", "app_title")).toEqual([
      ["2026-07-14", "acme/m0", "toy", "", "", 1.5],
      ["2026-07-14", "acme/m0", "toy", "https://app.example", '=HYPERLINK("x"), "quoted"\nApp', 1e-12],
      ["2026-07-14", "acme/m0", "toy/dear", "", "", 2],
      ["2026-07-14", "gone/model", "gone", "", "", 4],
    ])
    const own = await gateway.run(Effect.map(Storage, (storage) => storage.installation))
    const byWorkspace = await activity(`?group_by=workspace&workspace_id=${own}`)
    expect(byWorkspace).toEqual((await activity()).map((item) => ({ ...item, workspace_id: own })))
  })

  const hash = "0".repeat(64)
  test.each([
    ["date=2026-07-16", "date", "expected a UTC day up to today"],
    ["date=2027-01-01", "date", "expected a UTC day up to today"],
    ["date=2026-02-29", "date", "as YYYY-MM-DD"],
    ["date=2026-7-1", "date", "as YYYY-MM-DD"],
    ["date=2026-07-01T00:00:00Z", "date", "as YYYY-MM-DD"],
    ["date=", "date", "as YYYY-MM-DD"],
    ["api_key_hash=abc", "api_key_hash", "64 lower-case hex digits"],
    [`api_key_hash=${"A".repeat(64)}`, "api_key_hash", "64 lower-case hex digits"],
    ["user_id=", "user_id", "a text of 1 to 200 characters"],
    ["workspace_id=x", "workspace_id", "expected the workspace of this installation, got another"],
    ["group_by=model", "group_by", 'expected "workspace", "api_key", "app" or "user"'],
    [`group_by=app&api_key_hash=${hash}`, "group_by", "cannot be app together with api_key_hash or user_id"],
    ["group_by=app&user_id=u", "group_by", "cannot be app together with api_key_hash or user_id"],
    ["date=2026-07-14&date=2026-07-13", "date", ""],
  ])("?%s is refused", async (query, path, says) => {
    for (const accept of ["application/json", "text/csv"]) {
      const init = { headers: { ...bearer(managementKey).headers, accept } }
      const error = await expectError(await gateway.send(`/api/v1/activity?${query}`, init), 400)
      expect(error.metadata.issues.map((issue: Anything) => issue.path)).toEqual([path])
      expect(error.message).toContain(says)
    }
  })

  test("all bad parameters are named at once", async () => {
    const query = "date=x&api_key_hash=x&user_id=&workspace_id=x&group_by=x"
    const error = await expectError(await gateway.send(`/api/v1/activity?${query}`, asManager()), 400)
    const paths = error.metadata.issues.map((issue: Anything) => issue.path)
    expect(paths).toEqual(["date", "api_key_hash", "user_id", "workspace_id", "group_by"])
  })

  test("days end at midnight UTC, also leap days and in week 53", async () => {
    const own = await startControlPlane()
    const key = await own.newKey()
    for (const date of ["2026-12-31", "2027-01-01", "2028-02-29"]) {
      const start = Date.parse(`${date}T00:00:00Z`)
      await append(own, row(key, "1", start), row(key, "2", start + dayMs - 1))
      own.time.now = start + dayMs - 1
      const found = async () => (await activity(`?date=${date}`, own)).map((item) => [item.is_partial, item.usage])
      expect(await found()).toEqual([[true, 3]])
      own.time.now = start - 1
      await expectError(await own.send(`/api/v1/activity?date=${date}`, asManager()), 400)
      own.time.now = start + dayMs
      expect(await found()).toEqual([[false, 3]])
      expect((await activity("", own))[0]).toMatchObject({ date, is_partial: false, requests: 2, usage: 3 })
    }
    await own.close()
  })
})

describe("CSV", () => {
  test("has a line of names, exact amounts, and no formulas", async () => {
    const text = await csvOf("/api/v1/activity?group_by=app&date=2026-07-14")
    const figures = (first: string, second: string) => `${first}toy,Toy Ltd,${second}`
    expect(text.split("\r\n").slice(0, 3)).toEqual([
      "date,is_partial,model,model_permaslug,endpoint_id,provider_name,usage,byok_usage_inference,upstream_inference_cost,requests," +
        "prompt_tokens,completion_tokens,cached_tokens,cache_write_tokens,reasoning_tokens,app_url,app_title",
      figures("2026-07-14,false,acme/m0,acme/m0,", "1.5,0,0.000000000005,1,10,1,0,4,0,,"),
      figures(
        "2026-07-14,false,acme/m0,acme/m0,",
        `0.000000000001,0,0.000000000003,1,1,1,1,0,1,https://app.example,"'=HYPERLINK(""x""), ""quoted""\nApp"`,
      ),
    ])
    expect(text).toEndWith("\r\n")
  })

  test("has the rows of the JSON, and its names even without rows", async () => {
    const lines = (await csvOf("/api/v1/activity")).trimEnd().split("\r\n")
    expect(lines.length).toBe(1 + (await activity()).length)
    const [names = "", ...none] = (await csvOf("/api/v1/activity?date=2026-06-16")).trimEnd().split("\r\n")
    expect(none).toEqual([])
    const { exact: _, ...item } = (await activity())[0]
    expect(names.split(",")).toEqual(Object.keys(item))
  })

  test.each([
    ["text/csv", true],
    ["TEXT/CSV; header=present", true],
    ["text/csv, */*", true],
    ["application/json;q=0.5, text/csv;q=0.9", true],
    ["application/json, text/csv;q=0.9", false],
    ["text/csv;q=0", false],
    ["text/*", false],
    ["*/*", false],
    ["text/html", false],
    ["text/csv;q=x", false],
  ])("Accept: %s", async (accept, isCsv) => {
    const init = { headers: { ...bearer(managementKey).headers, accept } }
    const response = await gateway.send("/api/v1/credits", init)
    expect(response.headers.get("content-type")).toStartWith(isCsv ? "text/csv" : "application/json")
  })
})

test("both are described with both types", async () => {
  const { paths } = await json(await gateway.send("/api/v1/openapi.json"))
  for (const path of ["/api/v1/activity", "/api/v1/credits"]) {
    const { content } = paths[path].get.responses["200"]
    expect(content["application/json"].schema.required).toEqual(["data"])
    expect(content["text/csv"].schema.type).toBe("string")
  }
})

test("spend of keys leaves out no deleted one, names it, and its pages add up to the ledger's total", async () => {
  const own = await startControlPlane()
  const [kept, gone, idle] = [
    await own.newKey({ name: "kept" }),
    await own.newKey({ name: "gone" }),
    await own.newKey(),
  ]
  await append(own, row(kept, "1.5", noon), row(kept, "2", 0), row(gone, "0.000000000001", noon))
  await own.send(`/api/v1/keys/${keyId(gone)}`, asManager("DELETE"))
  const all: Array<Anything> = []
  for (let after: string | null = ""; after !== null; ) {
    const page: Anything = await json(await own.send(`/api/v1/spend?limit=1&after=${after}`, asManager()))
    all.push(...page.data)
    after = page.next
  }
  const found = (secret: string) => all.find(({ hash }) => hash === keyId(secret))
  expect(found(kept)).toMatchObject({ name: "kept", is_deleted: false, usage: "3.5", usage_daily: "1.5" })
  expect(found(gone)).toMatchObject({ name: "gone", is_deleted: true, usage: "0.000000000001" })
  expect(found(idle)).toBeUndefined()
  const { total_usage } = (await json(await own.send("/api/v1/credits", asManager()))).data
  expect(all.reduce((sum, { usage }) => sum + Number(usage), 0)).toBe(total_usage)
  await expectError(await own.send("/api/v1/spend", bearer("x")), 401)
  await own.close()
})

describe("credits", () => {
  test("are what all keys have used, deleted ones and today too", async () => {
    const response = await gateway.send("/api/v1/credits", asManager())
    expectAnswer(response, 200)
    const body = await json(response)
    expect(() => GetCreditsResponse$inboundSchema.parse(body)).not.toThrow()
    const exact = { total_credits: "63.500000000001", total_usage: "63.500000000001" }
    expect(body).toEqual({ data: { total_credits: 63.500000000001, total_usage: 63.500000000001, exact } })
    expect(await csvOf("/api/v1/credits")).toBe("total_credits,total_usage\r\n63.500000000001,63.500000000001\r\n")

    const own = await startControlPlane()
    const key = await own.newKey()
    await append(own, row(key, "1", noon))
    await own.send(`/api/v1/keys/${keyId(key)}`, asManager("DELETE"))
    expect((await json(await own.send("/api/v1/credits", asManager()))).data.total_usage).toBe(1)
    await own.close()
  })
})

test("a database that fails is 503 with Retry-After", async () => {
  const lost = Effect.fail(new StorageUnavailable({ reason: "a secret" }))
  const storage = Layer.effect(
    Storage,
    Effect.map(Storage, (whole) => ({
      ...whole,
      activity: { sums: () => lost, spanSums: () => lost, total: () => lost, spenders: () => lost, names: () => lost },
    })),
  ).pipe(Layer.provide(memoryStorage))
  const broken = await startControlPlane({ storage })
  for (const path of ["/api/v1/activity", "/api/v1/activity?interval=hour", "/api/v1/credits"]) {
    const response = await broken.send(path, asManager())
    expect(response.headers.get("retry-after")).toBe("5")
    expect(JSON.stringify(await expectError(response, 503))).not.toContain("secret")
  }
  await broken.close()
})
