/** `GET /alerts`, `GET /state` and `GET /providers/state`, of a gateway whose hosts fail as a test says. docs/state.md */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { hostname } from "node:os"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { KeptAlert } from "../../../src/domain/alerts/bodies.ts"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { version } from "../../../src/process/version.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { sampleRow } from "../../sql/samples.ts"
import { asManager, expectAnswer, json, startControlPlane } from "../../support/gateways/control.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"
import { lastingStorage, memoryStorage } from "../../support/storage/lastingStorage.ts"
import { hasPostgres, makeDatabase, postgresAt } from "../../support/storage/postgres.ts"

const postgres = () => Layer.unwrapEffect(Effect.map(Effect.promise(makeDatabase), (database) => postgresAt(database)))
const kinds = [["memory", () => lastingStorage], ...(hasPostgres ? [["postgres", postgres] as const] : [])] as const
if (!hasPostgres) test.skip("over PostgreSQL, the state", () => {})

// biome-ignore lint/suspicious/noExplicitAny: the tests look into answers, and a wrong guess is a failing test.
type Anything = any

const paths = ["/alerts", "/state", "/providers/state"]

const usd = 1_000_000_000_000n
const secrets = ["key-of-steady", "key-of-broken", "first-of-several", "second-of-several", "path-with-a-token"]

describe.each(kinds)("over %s", (kind, storage) => {
  let gateway: TestGateway
  const steady = scriptedHost(() => wholeAnswer("fine"))
  const broken = scriptedHost((_, request) => {
    const { pathname } = new URL(request.url)
    if (pathname.includes("/limited/")) return new Response("{}", { status: 429, headers: { "retry-after": "600" } })
    return new Response("{}", { status: pathname.includes("/refused/") ? 401 : 500 })
  })
  const several = scriptedHost((_, request) =>
    request.headers.get("authorization") === "Bearer first-of-several"
      ? new Response("{}", { status: 401 })
      : wholeAnswer("fine"),
  )

  beforeAll(async () => {
    const config = configFor({ steady: { url: steady.url } })
    const hostOf = (provider: string) => ({ provider, model: "upstream", pricing: { prompt: "1", completion: "1" } })
    const own = { plugin: "openai-compatible", network: "private" as const }
    gateway = await startGateway({
      config: {
        ...config,
        limits: { retries: 0 },
        providers: {
          ...config.providers,
          broken: { ...own, base_url: `${broken.url}/path-with-a-token`, api_key: "key-of-broken" },
          limited: { ...own, base_url: `${broken.url}/limited`, api_key: "key-of-broken" },
          refused: { ...own, base_url: `${broken.url}/refused`, api_key: "key-of-broken" },
          several: {
            ...own,
            base_url: several.url,
            api_keys: [{ key: "first-of-several", limit: 5 }, { key: "second-of-several" }],
          },
          off: { ...own, name: "Off Ltd", base_url: "https://off.test/v1", enabled: false },
        },
        models: [
          ...config.models,
          { id: "acme/broken", context_length: 100, hosts: [hostOf("broken")] },
          { id: "acme/limited", context_length: 100, hosts: [hostOf("limited")] },
          { id: "acme/refused", context_length: 100, hosts: [hostOf("refused")] },
          { id: "acme/several", context_length: 100, hosts: [hostOf("several")] },
        ],
      },
      storage: storage(),
    })
  })
  afterAll(async () => {
    await gateway.stop()
    await Promise.all([steady, broken, several].map((host) => host.stop()))
  })

  const get = (path: string, secret = gateway.managementKey) =>
    gateway.call(path, { headers: { authorization: `Bearer ${secret}` } })
  const read = async (path: string): Promise<Anything> => {
    const response = await get(path)
    expect(response.status).toBe(200)
    const text = await response.text()
    for (const secret of [...secrets, gateway.managementKey, gateway.key]) expect(text).not.toContain(secret)
    return JSON.parse(text)
  }
  const ask = async (model: string): Promise<number> => {
    const response = await gateway.chat({ model, messages: [{ role: "user", content: "hi" }] })
    await response.text()
    return response.status
  }
  const provider = async (slug: string) =>
    (await read("/providers/state")).data.find((one: Anything) => one.slug === slug)

  test.each(paths)("%s is for management keys", async (path) => {
    expect((await gateway.call(path)).status).toBe(403)
    expect((await get(path, "sk-nothing")).status).toBe(401)
  })

  test("the state says what runs here, and what it has", async () => {
    expect(await ask("acme/small")).toBe(200)
    const { data } = await read("/state")
    expect(data).toMatchObject({
      version,
      bun_version: Bun.version,
      process: { machine: hostname(), pid: process.pid, worker: null },
      storage: { kind, reachable: true },
      ledger: { takes_requests: true, why: null, backlog_rows: 0, spooled_rows: 0 },
      disk: null,
      requests: { placed: 0 },
      configuration: { file: null },
    })
    const [started, committed] = [Date.parse(data.started_at), Date.parse(data.ledger.last_commit_at)]
    expect(started <= committed && committed <= Date.now()).toBe(true)
    expect(Date.parse(data.configuration.loaded_at) <= committed).toBe(true)
  })

  test("a provider that works, one that is off, and one that is only installed", async () => {
    expect(await provider("steady")).toEqual({
      ...{ slug: "steady", name: "steady", plugin: "openai-compatible", source: "configuration", state: "on" },
      ...{ why: null, variable: null, base_url_host: "127.0.0.1", hosts: 1, models: 1, network: "private" },
      ...{ keys: [], account_refused_at: null, last_error: null },
    })
    expect(await provider("off")).toMatchObject({
      ...{ name: "Off Ltd", state: "off", why: "disabled in the configuration", hosts: 0, models: 0 },
      ...{ base_url_host: null, network: null },
    })
    const installed = (await read("/providers/state")).data.filter((one: Anything) => one.source === "plugin")
    expect(installed.length > 0 && installed.every((one: Anything) => one.state === "off" && one.why !== null)).toBe(
      true,
    )
  })

  test("a host that is limited, and one that refuses our account, rest for a while", async () => {
    await ask("acme/limited")
    await ask("acme/refused")
    const { resting } = (await read("/state")).data
    expect(resting).toEqual([
      {
        ...{ provider: "limited", model: "acme/limited", host: "limited", why: "rate-limited" },
        until: expect.any(String),
      },
      { provider: "refused", model: "acme/refused", host: "refused", why: "account", until: expect.any(String) },
    ])
    for (const { until } of resting) expect(Date.parse(until) > Date.now()).toBe(true)
    const { account_refused_at, last_error } = await provider("refused")
    expect(account_refused_at).toBe(last_error.at)
    expect(await provider("limited")).toMatchObject({ account_refused_at: null, last_error: { why: "rate-limited" } })
  })

  test("a host that fails has an open breaker, and a last error", async () => {
    const before = Date.now()
    for (let at = 0; at < 12; at++) await ask("acme/broken")
    const { breakers } = (await read("/state")).data
    expect(breakers).toEqual([
      { model: "acme/broken", host: "broken", state: "open", since: expect.any(String), why: expect.any(String) },
    ])
    const since = Date.parse(breakers[0].since)
    // Two clocks are read, which a busy machine may set apart.
    expect(since >= before - 1000 && since <= Date.now() + 1000).toBe(true)
    const { last_error, account_refused_at } = await provider("broken")
    expect(account_refused_at).toBeNull()
    expect(last_error).toEqual({
      ...{ at: expect.any(String), model: "acme/broken", host: "broken", why: breakers[0].why },
    })
  })

  test("of several keys, one that its vendor refuses rests, with its reason and until when; each has what it was charged", async () => {
    for (let at = 0; at < 20; at++) expect(await ask("acme/several")).toBe(200)
    const { keys, variable, account_refused_at, last_error } = await provider("several")
    expect([variable, last_error.why]).toEqual([null, "account"])
    // The other key of the provider has answered since, or will at the next request.
    expect(account_refused_at === null || Date.parse(account_refused_at) <= Date.now()).toBe(true)
    const [first, second] = keys
    expect(first).toMatchObject({ label: "key 1", state: "resting", why: "left alone after a failure: account" })
    expect(Date.parse(first.rests_until) > Date.now()).toBe(true)
    expect([first.spent_usd, first.exact]).toEqual([0, { spent_usd: "0" }])
    expect(second).toMatchObject({ label: "key 2", state: "ready", why: null, rests_until: null })
    expect(second.spent_usd > 0).toBe(true)
    expect(Number(second.exact.spent_usd)).toBe(second.spent_usd)
  })

  test("keys that have spent most of their limit, the nearest first, with when it is reset", async () => {
    const spenders = await Promise.all(
      [
        ["calm", 10n, null],
        ["near", 10n, "monthly"],
        ["over", 1n, null],
      ].map(async ([name, limit, limitReset]) => {
        const members = {
          name: String(name),
          limit: BigInt(limit ?? 0n) * usd,
          limitReset: limitReset as "monthly" | null,
        }
        return [name, keyId(await gateway.newKey(members))] as const
      }),
    )
    const costs: Readonly<Record<string, bigint>> = { calm: 7n, near: 9n, over: 2n }
    const rows = spenders.map(([name, key]) =>
      sampleRow(crypto.randomUUID(), { key, cost: (costs[String(name)] ?? 0n) * usd, admittedAt: Date.now() }),
    )
    await gateway.run(Effect.flatMap(Storage, ({ ledger }) => ledger.append(rows)))
    const { keys_near_limit } = (await read("/state")).data
    const idOf = (wanted: string) => spenders.find(([name]) => name === wanted)?.[1]
    expect(keys_near_limit).toEqual([
      { hash: idOf("over"), name: "over", spent_share: 2, resets_at: null },
      { hash: idOf("near"), name: "near", spent_share: 0.9, resets_at: expect.stringMatching(/-01T00:00:00.000Z$/) },
    ])
  })

  test("alerts, the newest first, page by page, with their states", async () => {
    const kept = (id: string, createdAt: number, period: string | null): KeptAlert => ({
      id: id.repeat(32),
      alert: {
        rule: "disk_space",
        subject: { kind: "machine", id, name: `box ${id}` },
        ...{
          severity: "critical",
          value: 1.5,
          threshold: 2,
          unit: "bytes",
          since: 5,
          text: "the disk is full",
          period,
        },
      },
      ...{ instance: "box", installation: "i", createdAt, resolvedAt: null },
    })
    await gateway.run(
      Effect.flatMap(Storage, ({ alerts }) =>
        Effect.gen(function* () {
          for (const [id, createdAt, period] of [
            ["a", 1000, "2026"],
            ["b", 2000, null],
            ["c", 3000, null],
          ] as const) {
            const name = { rule: "disk_space", subject: `machine:${id}`, period: period ?? id } as const
            yield* alerts.insert(name, kept(id, createdAt, period), [])
          }
          yield* alerts.seen({ rule: "disk_space", subject: "machine:c", period: null }, 9000)
          yield* alerts.resolve(2500, 5000, [])
        }),
      ),
    )
    const first = await read("/alerts?limit=2")
    expect(first.data[0]).toEqual({
      id: "c".repeat(32),
      rule: "disk_space",
      subject: { kind: "machine", id: "c", name: "box c" },
      severity: "critical",
      state: "firing",
      text: "the disk is full",
      ...{ value: 1.5, threshold: 2, unit: "bytes" },
      created_at: "1970-01-01T00:00:03.000Z",
      seen_at: "1970-01-01T00:00:09.000Z",
      resolved_at: null,
    })
    const statesIn = ({ data }: Anything) =>
      data.map(({ subject, state, resolved_at }: Anything) => [subject.id, state, resolved_at])
    expect(statesIn(first).slice(1)).toEqual([["b", "resolved", "1970-01-01T00:00:05.000Z"]])
    const second = await read(`/alerts?limit=2&after=${first.next}`)
    expect([statesIn(second), second.next]).toEqual([[["a", "told", null]], null])
    expect(statesIn(await read("/alerts?state=firing"))).toEqual([["c", "firing", null]])
  })

  test.each([
    ["after=x", "after"],
    ["after=1.g", "after"],
    ["limit=0", "limit"],
    ["limit=1001", "limit"],
    ["state=told", "state"],
  ])("/alerts?%s is 400", async (query, path) => {
    const response = await get(`/alerts?${query}`)
    expect(response.status).toBe(400)
    const { error }: Anything = await response.json()
    expect(error.metadata.issues.map((issue: Anything) => issue.path)).toEqual([path])
  })
})

test("while the database is away the state says so, and providers are told of; alerts are 503", async () => {
  const failing = () => Effect.fail(new StorageUnavailable({ reason: "locked" }))
  const storage = Layer.effect(
    Storage,
    Effect.map(Storage, (all) => ({
      ...all,
      keys: { ...all.keys, list: failing, countManagement: failing },
      alerts: { ...all.alerts, page: failing },
    })),
  ).pipe(Layer.provide(memoryStorage))
  const gateway = await startControlPlane({ storage })
  const state = await gateway.send("/api/v1/state", asManager())
  expectAnswer(state, 200)
  expect((await json(state)).data).toMatchObject({ storage: { reachable: false }, keys_near_limit: null })
  expectAnswer(await gateway.send("/api/v1/providers/state", asManager()), 200)
  expectAnswer(await gateway.send("/api/v1/alerts", asManager()), 503)
  await gateway.close()
})

test("pages of other origins may read the list of providers, and not their state", async () => {
  const gateway = await startControlPlane()
  const origin = { headers: { ...asManager().headers, origin: "https://page.test" } }
  const allowed = async (path: string) =>
    (await gateway.send(`/api/v1${path}`, origin)).headers.get("access-control-allow-origin")
  expect([await allowed("/providers"), await allowed("/providers/state"), await allowed("/state")]).toEqual([
    "*",
    null,
    null,
  ])
  await gateway.close()
})
