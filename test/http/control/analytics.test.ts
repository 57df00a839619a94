/** `GET /analytics`: figures over time and by group, over the API. docs/decisions/0083-sums-by-hour.md */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { requestIdAt } from "../../../src/domain/ids.ts"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { until } from "../../support/clocks/until.ts"
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
import { startGateway } from "../../support/gateways/gateway.ts"
import { configFor, scriptedHost, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"
import { lastingStorage, memoryStorage } from "../../support/storage/lastingStorage.ts"
import { hasPostgres, makeDatabase, postgresAt } from "../../support/storage/postgres.ts"

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const iso = (ms: number) => new Date(ms).toISOString()

const onPostgres = () =>
  Layer.unwrapEffect(Effect.map(Effect.promise(makeDatabase), (database) => Layer.orDie(postgresAt(database))))

const kinds = [
  ["SQLite", () => memoryStorage, () => lastingStorage],
  ...(hasPostgres ? [["PostgreSQL", onPostgres, onPostgres] as const] : []),
] as const
if (!hasPostgres) test.skip("over PostgreSQL, analytics", () => {})

let made = 0

/** A row whose id is from the moment of its admission, as those of requests are. */
const used = (secret: string, cost: string, at: number, members: Partial<LedgerRow> = {}): LedgerRow => ({
  ...row(secret, cost, at),
  requestId: `${requestIdAt(at)}00${String(made++).padStart(14, "0")}`,
  ...members,
})

describe.each(kinds)("over %s", (_, storage, lasting) => {
  let gateway: ControlPlane
  let alice: string
  let bob: string

  const ask = async (query: string, secret?: string): Promise<Anything> => {
    const response = await gateway.send(
      `/api/v1/analytics?${query}`,
      secret === undefined ? asManager() : bearer(secret),
    )
    expectAnswer(response, 200)
    return (await json(response)).data
  }
  const brief = (points: ReadonlyArray<Anything>) => points.map(({ at, usage }) => [at, usage])
  const costs = ({ groups }: Anything) => groups.map(({ group, totals }: Anything) => [group, totals.exact.usage])

  beforeAll(async () => {
    gateway = await startControlPlane({ storage: storage() })
    alice = await gateway.newKey({ name: "alice" })
    bob = await gateway.newKey({ name: "bob" })
    const app = { appTitle: "Kitchen", appUrl: "https://kitchen.test" }
    const streamed = (latencyMs: number) => ({ streamed: true, latencyMs })
    const rows = [
      used(alice, "1", noon + 5 * minute, streamed(100)),
      used(bob, "2", noon + 10 * minute, { ...app, userHash: "0123456789abcdef" }),
      used(alice, "4.000000000001", noon - 1, { host: "toy/dear", upstreamCost: 3n, ...streamed(1000) }),
      used(bob, "8", noon - hour, { model: "acme/m1", cachedTokens: 1 }),
      used(bob, "0", noon - hour, { outcome: "lost", upstreamCost: 5n, model: "acme/m1", ...streamed(9) }),
      used(alice, "16", noon - day),
      used(alice, "32", noon - 3 * day),
    ]
    await gateway.run(Effect.flatMap(Storage, (to) => to.ledger.append(rows)))
    gateway.time.now = noon + 30 * minute
  })
  afterAll(() => gateway.close())

  test("by hour: the last 24 hours, with the one that is not over; every figure", async () => {
    const data = await ask("")
    const none = { caller: 0, policy: 0, host: 0, gateway: 0 }
    expect(data).toEqual({
      from: iso(noon - day),
      to: iso(noon + hour),
      interval: "hour",
      kept_since: { sums: null, rows: iso(noon + 5 * minute), requests: null },
      totals: {
        ...{ requests: 5, errors: 0, errors_by: none, tokens_prompt: 5, tokens_completion: 5, tokens_cached: 1 },
        ...{ tokens_reasoning: 0, usage: 31.000000000001, upstream_cost: 8e-12 },
        exact: { usage: "31.000000000001", upstream_cost: "0.000000000008" },
        first_token_ms: { p50: 103, p99: 981, count: 2 },
      },
      points: expect.any(Array),
      groups: [],
      other: null,
    })
    expect(data.points.map((one: Anything) => [one.at, one.is_partial, one.requests, one.exact.usage])).toEqual([
      [iso(noon - day), false, 1, "16"],
      [iso(noon - hour), false, 2, "12.000000000001"],
      [iso(noon), true, 2, "3"],
    ])
  })

  test("by day, and of whole intervals of a time", async () => {
    expect(brief((await ask("interval=day")).points)).toEqual([
      ["2026-07-12T00:00:00.000Z", 32],
      ["2026-07-14T00:00:00.000Z", 16],
      ["2026-07-15T00:00:00.000Z", 15.000000000001],
    ])
    const part = await ask(`from=${iso(noon - hour + 1)}&to=${iso(noon - 1)}`)
    expect([part.from, part.to, part.totals.usage]).toEqual([iso(noon - hour), iso(noon), 12.000000000001])
    expect((await ask("from=2026-07-10&to=2026-07-11")).points).toEqual([])
  })

  test("each grouping tells its groups with their names, the costliest first; the rest is other", async () => {
    expect(costs(await ask("group_by=model"))).toEqual([
      [{ model: "acme/m0" }, "23.000000000001"],
      [{ model: "acme/m1" }, "8"],
    ])
    expect(costs(await ask("group_by=host"))).toEqual([
      [{ host: "toy", provider: "toy", provider_name: "Toy Ltd" }, "27"],
      [{ host: "toy/dear", provider: "toy", provider_name: "Toy Ltd" }, "4.000000000001"],
    ])
    expect(costs(await ask("group_by=provider"))).toEqual([
      [{ provider: "toy", provider_name: "Toy Ltd" }, "31.000000000001"],
    ])
    const byKey = await ask("group_by=key&limit=1&interval=day")
    expect(costs(byKey)).toEqual([[{ key_hash: keyId(alice), key_name: "alice" }, "53.000000000001"]])
    expect(byKey.other).toMatchObject({ exact: { usage: "10" }, requests: 2, first_token_ms: null })
    expect(byKey.totals.first_token_ms).toBeNull()
    const byApp = await ask("group_by=app")
    expect(costs(byApp)).toEqual([
      [{ app_title: "", app_url: "" }, "29.000000000001"],
      [{ app_title: "Kitchen", app_url: "https://kitchen.test" }, "2"],
    ])
    expect(byApp.totals.errors).toBeNull()
    expect(costs(await ask("group_by=user"))).toEqual([
      [{ user_hash: "" }, "29.000000000001"],
      [{ user_hash: "0123456789abcdef" }, "2"],
    ])
  })

  test("filters, also those that are read from rows", async () => {
    const total = async (query: string) => (await ask(query)).totals.exact.usage
    expect(await total("model=acme/m1")).toBe("8")
    expect(await total("host=toy/dear")).toBe("4.000000000001")
    expect(await total(`key_hash=${keyId(bob)}&interval=day`)).toBe("10")
    expect(await total("app=Kitchen")).toBe("2")
    expect(await total("user_hash=0123456789abcdef")).toBe("2")
    expect(await total("user=nobody")).toBe("0")
    expect(await total(`key_hash=${keyId(bob)}&app=Kitchen`)).toBe("2")
    expect(await total(`key_hash=${keyId(alice)}&user_hash=0123456789abcdef`)).toBe("0")
    expect(costs(await ask(`key_hash=${keyId(bob)}&group_by=app&interval=day`))).toEqual([
      [{ app_title: "", app_url: "" }, "8"],
      [{ app_title: "Kitchen", app_url: "https://kitchen.test" }, "2"],
    ])
    expect(costs(await ask("model=acme/m0&group_by=user&limit=1"))).toEqual([[{ user_hash: "" }, "21.000000000001"]])
  })

  test("an ordinary key sees its own alone, and is refused others", async () => {
    const own = await ask("group_by=key&interval=day", bob)
    expect([own.totals.exact.usage, costs(own)]).toEqual(["10", [[{ key_hash: keyId(bob), key_name: "bob" }, "10"]]])
    expect((await ask("group_by=app", bob)).totals.exact.usage).toBe("10")
    await expectError(await gateway.send(`/api/v1/analytics?key_hash=${keyId(alice)}`, bearer(bob)), 403)
    await expectError(await gateway.send("/api/v1/analytics"), 401)
  })

  test.each([
    ["from=yesterday", "from"],
    ["interval=minute", "interval"],
    ["group_by=workspace", "group_by"],
    ["limit=51", "limit"],
    ["key_hash=abc", "key_hash"],
    ["user=a&user_hash=0123456789abcdef", "user_hash"],
    ["from=2026-07-15T13:00:00Z", "to"],
    ["from=2026-05-01", "from"],
    ["from=2026-03-01&interval=day", "from"],
    ["app=Kitchen&group_by=user", "group_by"],
    ["from=2026-06-10&user=a&group_by=key", "from"],
    ["from=2026-06-01&interval=day&user=a&group_by=model", "from"],
  ])("?%s is refused for %s", async (query, path) => {
    const { message } = await expectError(await gateway.send(`/api/v1/analytics?${query}`, asManager()), 400)
    expect(message).toContain(path)
  })

  test("a request that failed because its row could not be written is one request, also once the row is written", async () => {
    const database = { takesRows: false }
    const locked = new StorageUnavailable({ reason: "database is locked" })
    const storage = Layer.effect(
      Storage,
      Effect.map(Storage, (all) => ({
        ...all,
        ledger: {
          ...all.ledger,
          append: (rows: ReadonlyArray<LedgerRow>) =>
            Effect.suspend(() => (database.takesRows ? all.ledger.append(rows) : Effect.fail(locked))),
        },
      })),
    ).pipe(Layer.provide(lasting()))
    const host = scriptedHost(() => wholeAnswer("fine"))
    const real = await startGateway({ config: configFor({ a: { url: host.url } }), storage })
    try {
      const total = async () => {
        const response = await real.call("/analytics", { headers: { authorization: `Bearer ${real.managementKey}` } })
        const { data }: Anything = await response.json()
        return data.totals
      }
      const answer = await real.chat({ model: "acme/small", messages: [{ role: "user", content: "hi" }] })
      expect(answer.status).toBe(503)
      expect(await total()).toMatchObject({ errors: 1, usage: 0 })
      database.takesRows = true
      await until(async () => (await total()).tokens_prompt > 0, "the row")
      expect(await total()).toMatchObject({ requests: 1, errors: 1 })
    } finally {
      await real.stop()
      await host.stop()
    }
  })

  test("requests that were refused or failed are counted once, by who caused it, also those of unknown callers", async () => {
    const host = scriptedHost((body) => {
      if (body["user"] === "failing") return new Response("{}", { status: 500 })
      return body["stream"] === true ? streamAnswer(["fine"]) : wholeAnswer("fine")
    })
    const real = await startGateway({ config: configFor({ a: { url: host.url } }), storage: lasting() })
    try {
      const carol = await real.newKey({ allowedModels: ["acme/*"] })
      const dave = await real.newKey()
      const chat = async (secret: string, body: object) =>
        (
          await real.chat(
            { model: "acme/small", messages: [{ role: "user", content: "hi" }], ...body },
            {
              headers: { authorization: `Bearer ${secret}` },
            },
          )
        ).text()
      await chat(carol, {})
      await chat(carol, { stream: true })
      await chat(carol, { messages: 3 })
      await chat(dave, { user: "failing" })
      await chat("sk-nobody", {})
      const found = async (query: string, secret = real.managementKey): Promise<Anything> => {
        const response = await real.call(`/analytics?${query}`, { headers: { authorization: `Bearer ${secret}` } })
        expect(response.status).toBe(200)
        const { data }: Anything = await response.json()
        return data
      }
      // Two hours, where the hour is over within the test.
      const all = await found("group_by=key")
      expect([all.totals.requests, all.totals.errors, all.totals.errors_by]).toEqual([
        ...[5, 3],
        { caller: 2, policy: 0, host: 1, gateway: 0 },
      ])
      expect(all.totals.errors).toBe(all.points.reduce((sum: number, { errors }: Anything) => sum + errors, 0))
      expect(
        all.groups.map(({ group, totals: { requests, errors } }: Anything) => [group.key_hash, requests, errors]),
      ).toEqual([
        [keyId(carol), 3, 1],
        [keyId(dave), 1, 1],
      ])
      expect(all.other).toMatchObject({ requests: 1, errors: 1, usage: 0 })
      const byHost = await found("group_by=host")
      expect(byHost.groups[0].group).toMatchObject({ host: "a", provider: "a" })
      expect(byHost.groups[0].totals).toMatchObject({ requests: 3, errors: 1, first_token_ms: { count: 1 } })
      expect((await found("", carol)).totals).toMatchObject({ requests: 3, errors: 1 })
      expect((await found("interval=day&provider=a")).totals).toMatchObject({ requests: 3, errors: 1 })
      // The records are removed; what they said is still counted.
      await real.run(Effect.flatMap(Storage, ({ requests }) => requests.prune(Number.MAX_SAFE_INTEGER, 0, 100)))
      expect((await found("")).totals).toMatchObject({ requests: 5, errors: 3 })
    } finally {
      await real.stop()
      await host.stop()
    }
  })
})
