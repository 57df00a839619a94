/** `GET /activity` by hour, and of a span of time: read from the rows of the ledger. docs/decisions/0078-activity-by-hour.md */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { ActivityResponse$inboundSchema } from "@openrouter/sdk/models"
import * as Effect from "effect/Effect"
import { requestIdAt } from "../../../src/domain/ids.ts"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import type { SpanSum } from "../../../src/domain/money/activity.ts"
import { userHash } from "../../../src/domain/request/userHash.ts"
import { readSpan } from "../../../src/http/control/activity/readSpan.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import {
  type Anything,
  asManager,
  type ControlPlane,
  expectAnswer,
  expectError,
  json,
  managementKey,
  noon,
  row,
  startControlPlane,
} from "../../support/gateways/control.ts"

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

let gateway: ControlPlane
let alice: string
let bob: string
let made = 0

/** A row whose id is from the moment of its admission, as those of requests are. */
const used = (secret: string, cost: string, at: number, members: Partial<LedgerRow> = {}): LedgerRow => ({
  ...row(secret, cost, at),
  requestId: `${requestIdAt(at)}00${String(made++).padStart(14, "0")}`,
  ...members,
})

const activity = async (query: string): Promise<ReadonlyArray<Anything>> => {
  const response = await gateway.send(`/api/v1/activity?${query}`, asManager())
  expectAnswer(response, 200)
  const body = await json(response)
  expect(() => ActivityResponse$inboundSchema.parse(body)).not.toThrow()
  return body.data
}

beforeAll(async () => {
  gateway = await startControlPlane()
  alice = await gateway.newKey({ name: "alice" })
  bob = await gateway.newKey({ name: "bob" })
  const app = { appTitle: "Kitchen", appUrl: "https://kitchen.test" }
  const rows = [
    used(alice, "1", noon + 5 * minute),
    used(bob, "2", noon + 10 * minute, app),
    used(alice, "4.000000000001", noon - 1, { host: "toy/dear", upstreamCost: 3n }),
    used(bob, "8", noon - hour, { model: "acme/m1" }),
    used(bob, "0", noon - hour, { outcome: "lost", upstreamCost: 5n, model: "acme/m1" }),
    used(alice, "16", noon - day),
    used(alice, "32", noon - 3 * day),
  ]
  await gateway.run(Effect.flatMap(Storage, (storage) => storage.ledger.append(rows)))
  gateway.time.now = noon + 30 * minute
})
afterAll(() => gateway.close())

const brief = (data: ReadonlyArray<Anything>, ...more: ReadonlyArray<string>) =>
  data.map((item) => [item.hour ?? item.date, ...more.map((name) => item[name]), item.usage])

test("by hour: the last 24 hours, the newest hour first; the one that is not over is marked", async () => {
  const data = await activity("interval=hour")
  expect(brief(data, "model", "endpoint_id", "is_partial")).toEqual([
    ["2026-07-15T12:00:00Z", "acme/m0", "toy", true, 3],
    ["2026-07-15T11:00:00Z", "acme/m0", "toy/dear", false, 4.000000000001],
    ["2026-07-15T11:00:00Z", "acme/m1", "toy", false, 8],
  ])
  expect(data[2]).toEqual({
    ...{ date: "2026-07-15", hour: "2026-07-15T11:00:00Z", is_partial: false },
    ...{ model: "acme/m1", model_permaslug: "acme/m1", endpoint_id: "toy", provider_name: "Toy Ltd" },
    ...{ usage: 8, byok_usage_inference: 0, upstream_inference_cost: 5e-12, requests: 1 },
    exact: { usage: "8", byok_usage_inference: "0", upstream_inference_cost: "0.000000000005" },
    ...{ prompt_tokens: 1, completion_tokens: 1, cached_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 },
  })
})

test("the hours of a day add up to what the day has", async () => {
  for (const date of ["2026-07-15", "2026-07-14", "2026-07-12"]) {
    const sum = (data: ReadonlyArray<Anything>) => data.reduce((all, { usage }) => all + usage, 0)
    const [hours, kept] = [await activity(`interval=hour&date=${date}`), await activity(`date=${date}`)]
    expect([date, sum(hours)]).toEqual([date, sum(kept)])
    expect(hours.every((item) => item.date === date)).toBe(true)
  }
})

test("of a time: from then on, before then; by day, too", async () => {
  const at = (ms: number) => new Date(ms).toISOString()
  expect(brief(await activity(`from=${at(noon + 5 * minute)}&to=${at(noon + 10 * minute)}`))).toEqual([
    ["2026-07-15", 1],
  ])
  expect(brief(await activity(`interval=hour&from=${at(noon - day)}&to=${at(noon)}`))).toEqual([
    ["2026-07-15T11:00:00Z", 4.000000000001],
    ["2026-07-15T11:00:00Z", 8],
    ["2026-07-14T12:00:00Z", 16],
  ])
  // A time that ends a day ago, whose length is not said.
  expect(brief(await activity(`to=${at(noon - 2 * day - 1)}`))).toEqual([["2026-07-12", 32]])
  expect(await activity("from=9999-01-01")).toEqual([])
})

test("by key, with the names of keys; by app, also of one key; of one key alone", async () => {
  const of = `from=${new Date(noon).toISOString()}`
  const byKey = await activity(`${of}&group_by=api_key`)
  expect(new Set(byKey.map((item) => `${item.api_key_name} ${item.api_key_hash} ${item.usage}`))).toEqual(
    new Set([`alice ${keyId(alice)} 1`, `bob ${keyId(bob)} 2`]),
  )
  const byApp = await activity(`interval=hour&group_by=app&api_key_hash=${keyId(bob)}`)
  expect(brief(byApp, "app_title", "app_url")).toEqual([
    ["2026-07-15T12:00:00Z", "Kitchen", "https://kitchen.test", 2],
    ["2026-07-15T11:00:00Z", "", "", 8],
  ])
  expect(brief(await activity(`interval=hour&api_key_hash=${keyId(alice)}`))).toEqual([
    ["2026-07-15T12:00:00Z", 1],
    ["2026-07-15T11:00:00Z", 4.000000000001],
  ])
})

test("by end user, and of one; those of whom nobody was named are one", async () => {
  const own = await gateway.newKey()
  const installation = await gateway.run(Effect.map(Storage, (storage) => storage.installation))
  const [ann, ben] = ["ann", "ben"].map((name) => userHash(installation, name))
  const at = noon - 10 * day
  const rows = [
    used(own, "1", at, { userHash: ann ?? "" }),
    used(own, "2", at + hour, { userHash: ann ?? "" }),
    used(own, "4", at, { userHash: ben ?? "" }),
    used(own, "8", at),
  ]
  await gateway.run(Effect.flatMap(Storage, (storage) => storage.ledger.append(rows)))
  const span = `from=${new Date(at).toISOString()}&to=${new Date(at + day).toISOString()}`
  const found = async (query: string) => new Set(brief(await activity(`${span}&${query}`), "user_hash").map(String))
  expect(await found("group_by=user")).toEqual(new Set([`2026-07-05,${ann},3`, `2026-07-05,${ben},4`, "2026-07-05,,8"]))
  expect(await found("group_by=user&interval=hour&user=ann")).toEqual(
    new Set([`2026-07-05T13:00:00Z,${ann},2`, `2026-07-05T12:00:00Z,${ann},1`]),
  )
  expect(brief(await activity(`${span}&user=ben`))).toEqual([["2026-07-05", 4]])
  expect(await activity("user=nobody")).toEqual([])
})

test("as CSV with exact amounts, and a column for the hour only where it is asked for", async () => {
  const csv = async (query: string) => {
    const headers = { authorization: `Bearer ${managementKey}`, accept: "text/csv" }
    return (await (await gateway.send(`/api/v1/activity?${query}`, { headers })).text()).split("\r\n")
  }
  const lines = await csv("interval=hour")
  expect(lines[0]).toStartWith("date,hour,is_partial,model,")
  expect(lines[2]).toStartWith(
    "2026-07-15,2026-07-15T11:00:00Z,false,acme/m0,acme/m0,toy/dear,Toy Ltd,4.000000000001,0,0.000000000003,1,",
  )
  expect((await csv("interval=day"))[0]).toStartWith("date,is_partial,model,")
})

test.each([
  ["interval=week", "interval", "expected day or hour"],
  ["from=yesterday", "from", "expected a time such as"],
  ["from=2026-07-15T12:00:00Z&to=2026-07-15T12:00:00Z", "to", "must be after from"],
  ["interval=hour&from=2026-06-10", "from", "must be at most 31 days before to"],
  ["from=2026-01-01&to=2026-03-01", "from", "must be at most 31 days before to"],
  ["date=2026-07-14&from=2026-07-14", "date", "cannot be together with from or to"],
  ["interval=hour&interval=day", "interval", ""],
])("?%s is refused", async (query, path, says) => {
  const error = await expectError(await gateway.send(`/api/v1/activity?${query}`, asManager()), 400)
  expect(error.metadata.issues.map((issue: Anything) => issue.path)).toEqual([path])
  expect(error.message).toContain(says)
})

test("what one answer reads, and how many sums it has, is bounded", async () => {
  const span = { from: 0, to: 1, interval: "hour", by: "host" } as const
  const names = { key: "", userHash: "", appUrl: "", appTitle: "", model: "m", provider: "p" }
  const counts = { requests: 1, promptTokens: 0, completionTokens: 0, cachedTokens: 0, cacheWriteTokens: 0 }
  const sum = (host: string): SpanSum => ({
    ...{ start: 0, ...names, host, ...counts, reasoningTokens: 0, cost: 1n, upstreamCost: 0n },
  })
  const reading = (sums: number, last: number) => {
    let parts = 0
    return Effect.runPromise(
      Effect.either(
        readSpan(span, () => {
          parts += 1
          const found = Array.from({ length: sums }, (_, n) => sum(`${sums === 1 ? 0 : parts}-${n}`))
          return Effect.succeed({ sums: found, next: parts === last ? null : "x" })
        }),
      ),
    )
  }
  expect(await reading(1, 200)).toMatchObject({ right: [{ requests: 200, cost: 200n }] })
  expect(await reading(1, 201)).toMatchObject({ left: { issues: [{ path: "from" }] } })
  expect((await reading(5000, 10))._tag).toBe("Right")
  expect(await reading(5000, 12)).toMatchObject({ left: { issues: [{ path: "from" }] } })
})

test("is described, with its parameters", async () => {
  const { paths } = await json(await gateway.send("/api/v1/openapi.json"))
  const { parameters } = paths["/api/v1/activity"].get
  const named = new Map<string, Anything>(parameters.map((one: Anything) => [one.name, one]))
  expect([...named.keys()]).toEqual(expect.arrayContaining(["from", "to", "interval", "user"]))
  expect(named.get("interval").schema).toMatchObject({ type: "string", enum: ["day", "hour"] })
})
