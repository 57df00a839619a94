/** Key management, and what holds for every answer of the control plane. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import {
  CreateKeysResponse$inboundSchema,
  DeleteKeysResponse$inboundSchema,
  ListResponse$inboundSchema,
  UpdateKeysResponse$inboundSchema,
} from "@openrouter/sdk/models/operations"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { Meter } from "../../../src/services/money/Meter.ts"
import { InFlight } from "../../../src/services/request/InFlight.ts"
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

let gateway: ControlPlane

beforeAll(async () => {
  gateway = await startControlPlane()
})
afterAll(() => gateway.close())

const create = (body: unknown, at = gateway) => at.send("/api/v1/keys", asManager("POST", body))

const created = async (body: unknown, at = gateway): Promise<Anything> => {
  const response = await create(body, at)
  expectAnswer(response, 201)
  const answer = await json(response)
  expect(CreateKeysResponse$inboundSchema.safeParse(answer).error).toBeUndefined()
  return answer
}

const keyAt = (hash: string, method = "GET", body?: unknown) =>
  gateway.send(`/api/v1/keys/${hash}`, asManager(method, body))

const pathsOf = (error: Anything): ReadonlyArray<string> => error.metadata.issues.map(({ path }: Anything) => path)

describe("the life of a key", () => {
  test("is created with every default", async () => {
    const { data, key } = await created({ name: "first" })
    expect(key).toMatch(/^sk-gw-[0-9A-Za-z]{49}$/)
    expect(data).toEqual({
      hash: keyId(key),
      name: "first",
      label: `${key.slice(0, 9)}...${key.slice(-3)}`,
      disabled: false,
      limit: null,
      limit_remaining: null,
      limit_reset: null,
      include_byok_in_limit: false,
      usage: 0,
      usage_daily: 0,
      usage_weekly: 0,
      usage_monthly: 0,
      byok_usage: 0,
      byok_usage_daily: 0,
      byok_usage_weekly: 0,
      byok_usage_monthly: 0,
      exact: {
        ...{ limit: null, limit_remaining: null },
        ...{ usage: "0", usage_daily: "0", usage_weekly: "0", usage_monthly: "0" },
        ...{ byok_usage: "0", byok_usage_daily: "0", byok_usage_weekly: "0", byok_usage_monthly: "0" },
      },
      rate_limit: null,
      role: null,
      allowed_models: null,
      allowed_providers: null,
      allowed_addresses: null,
      created_at: "2026-07-15T12:00:00.000Z",
      updated_at: null,
      expires_at: null,
      previous_ends_at: null,
      tags: [],
      owner: null,
      creator_user_id: null,
      external_user: null,
      workspace_id: await gateway.run(Effect.map(Storage, (storage) => storage.installation)),
    })
    expectAnswer(await gateway.send("/api/v1/key", bearer(key)), 200)
  })

  test("is created with everything set", async () => {
    const workspace = await gateway.run(Effect.map(Storage, (storage) => storage.installation))
    const { data } = await created({
      name: "n".repeat(200),
      limit: 1.25,
      limit_reset: "monthly",
      include_byok_in_limit: true,
      expires_at: "2026-12-31T23:59:59Z",
      creator_user_id: "user_7",
      workspace_id: workspace,
      rate_limit: { requests: 10_000, interval_s: 86_400 },
      allowed_models: ["acme/*", "*:free"],
      allowed_providers: ["toy"],
    })
    expect(data).toMatchObject({
      limit: 1.25,
      limit_remaining: 1.25,
      limit_reset: "monthly",
      include_byok_in_limit: true,
      expires_at: "2026-12-31T23:59:59.000Z",
      creator_user_id: "user_7",
      rate_limit: { requests: 10_000, interval_s: 86_400 },
      allowed_models: ["acme/*", "*:free"],
      allowed_providers: ["toy"],
    })
    const changed = await json(await keyAt(data.hash, "PATCH", { rate_limit: null, allowed_models: ["acme/m0"] }))
    expect(changed.data).toMatchObject({ rate_limit: null, allowed_models: ["acme/m0"], allowed_providers: ["toy"] })
    expect(await json(await keyAt(data.hash))).toEqual(changed)
  })

  test("is read, changed and deleted", async () => {
    const { data, key } = await created({ name: "before", limit: 5, limit_reset: "daily" })
    await gateway.run(Effect.flatMap(Storage, (storage) => storage.ledger.append([row(key, "2", noon)])))
    const fresh = await created({ name: "other" })
    expect(await json(await keyAt(fresh.data.hash))).toEqual({ data: fresh.data })

    const changed = await keyAt(data.hash, "PATCH", { name: "after", limit: null, limit_reset: null, disabled: true })
    expectAnswer(changed, 200)
    const after = await json(changed)
    expect(UpdateKeysResponse$inboundSchema.safeParse(after).error).toBeUndefined()
    expect(after.data).toMatchObject({ name: "after", limit: null, limit_reset: null, disabled: true })
    expect(after.data.updated_at).toBe("2026-07-15T12:00:00.000Z")
    expect(after.data.creator_user_id).toBeNull()
    await expectError(await gateway.send("/api/v1/key", bearer(key)), 401)

    const unchanged = await json(await keyAt(data.hash, "PATCH", { limit: 0, allowed_models: null }))
    expect(unchanged.data).toMatchObject({ name: "after", limit: 0, limit_remaining: 0, disabled: true })

    const deleted = await keyAt(data.hash, "DELETE")
    expectAnswer(deleted, 200)
    const answer = await json(deleted)
    expect(DeleteKeysResponse$inboundSchema.safeParse(answer).error).toBeUndefined()
    expect(answer).toEqual({ deleted: true })
    for (const method of ["GET", "DELETE"]) await expectError(await keyAt(data.hash, method), 404)
    await expectError(await keyAt(data.hash, "PATCH", {}), 404)
  })

  test("is not for a key that is stored nowhere: the bootstrap key, or none", async () => {
    for (const hash of [keyId(managementKey), "nothing", "%20"]) {
      await expectError(await keyAt(hash), 404)
      await expectError(await keyAt(hash, "PATCH", { limit: 1 }), 404)
      await expectError(await keyAt(hash, "DELETE"), 404)
    }
    expectAnswer(await gateway.send("/api/v1/key", bearer(managementKey)), 200)
  })
})

describe("the list", () => {
  test("made a query for each key: what they have spent is asked for once", async () => {
    const asked = { spend: 0, spendOf: 0 }
    const storage = Layer.effect(
      Storage,
      Effect.map(Storage, ({ ledger, ...others }) => ({
        ...others,
        ledger: {
          ...ledger,
          spend: (...of: Parameters<typeof ledger.spend>) => {
            asked.spend += 1
            return ledger.spend(...of)
          },
          spendOf: (...of: Parameters<typeof ledger.spendOf>) => {
            asked.spendOf += 1
            return ledger.spendOf(...of)
          },
        },
      })),
    ).pipe(Layer.provide(memoryStorage))
    const own = await startControlPlane({ storage })
    const secrets = await Promise.all(Array.from({ length: 40 }, () => own.newKey()))
    const [poor = "", rich = ""] = secrets
    await own.run(Effect.flatMap(Storage, ({ ledger }) => ledger.append([row(rich, "2", noon), row(rich, "3", 0)])))
    asked.spend = 0
    const { data } = await json(await own.send("/api/v1/keys", asManager()))
    expect([data.length, asked]).toEqual([40, { spend: 0, spendOf: 1 }])
    const found = (secret: string) => data.find(({ hash }: Anything) => hash === keyId(secret))
    expect(found(rich)).toMatchObject({ usage: 5, usage_daily: 2, usage_weekly: 2, usage_monthly: 2 })
    expect(found(poor)).toMatchObject({ usage: 0, usage_daily: 0 })
    await own.close()
  })

  test("has the newest first, page by page, the disabled only when asked for", async () => {
    const fresh = await startControlPlane()
    for (let n = 0; n < 103; n++) {
      fresh.time.now += 1000
      await fresh.newKey({ name: `k${n}` })
    }
    const list = async (query: string): Promise<ReadonlyArray<Anything>> => {
      const response = await fresh.send(`/api/v1/keys${query}`, asManager())
      expectAnswer(response, 200)
      const body = await json(response)
      expect(ListResponse$inboundSchema.safeParse(body).error).toBeUndefined()
      return body.data
    }
    const first = await list("")
    expect(first.length).toBe(100)
    expect(first[0].name).toBe("k102")
    expect((await list("?offset=100")).map(({ name }) => name)).toEqual(["k2", "k1", "k0"])
    expect((await list("?offset=1&limit=2")).map(({ name }) => name)).toEqual(["k101", "k100"])
    expect(await list("?offset=1000")).toEqual([])
    await fresh.send(`/api/v1/keys/${first[0].hash}`, asManager("PATCH", { disabled: true }))
    expect((await list("?include_disabled=false"))[0].name).toBe("k101")
    expect((await list("?include_disabled=true"))[0]).toMatchObject({ name: "k102", disabled: true })
    await fresh.close()
  })

  test.each([
    ["offset=-1", "offset"],
    ["offset=abc", "offset"],
    ["offset=", "offset"],
    ["offset=1e3", "offset"],
    ["limit=-1", "limit"],
    ["limit=101", "limit"],
    ["include_disabled=yes", "include_disabled"],
    ["include_disabled=", "include_disabled"],
    ["workspace_id=00000000-0000-0000-0000-000000000000", "workspace_id"],
  ])("?%s is 400", async (query, path) => {
    const error = await expectError(await gateway.send(`/api/v1/keys?${query}`, asManager()), 400)
    expect(pathsOf(error)).toEqual([path])
    expect(error.metadata.path).toBe(path)
  })
})

describe("what a key may not be", () => {
  test.each([
    ["limit", -0.01],
    ["limit", 1e30],
    ["limit", 9_000_001],
    ["limit", "5"],
    ["limit", true],
    ["name", ""],
    ["name", "n".repeat(10_000)],
    ["name", null],
    ["name", 5],
    ["limit_reset", "hourly"],
    ["limit_reset", 1],
    ["include_byok_in_limit", null],
    ["expires_at", "2026-07-15T12:00:00Z"],
    ["expires_at", "2020-01-01T00:00:00Z"],
    ["expires_at", "2027-01-01"],
    ["expires_at", "2027-01-01T00:00:00"],
    ["expires_at", "2027-01-01T00:00:00+02:00"],
    ["expires_at", "2027-02-30T00:00:00Z"],
    ["expires_at", 1_800_000_000],
    ["creator_user_id", ""],
    ["workspace_id", "00000000-0000-0000-0000-000000000000"],
    ["workspace_id", null],
    ["rate_limit", 5],
    ["rate_limit.requests", { requests: 0, interval_s: 1 }],
    ["rate_limit.requests", { requests: 10_001, interval_s: 1 }],
    ["rate_limit.requests", { requests: 1.5, interval_s: 1 }],
    ["rate_limit.requests", { requests: "1", interval_s: 1 }],
    ["rate_limit.interval_s", { requests: 1, interval_s: 0 }],
    ["rate_limit.interval_s", { requests: 1, interval_s: 86_401 }],
    ["rate_limit.interval_s", { requests: 1 }],
    ["rate_limit.burst", { requests: 1, interval_s: 1, burst: 1 }],
    ["allowed_models", []],
    ["allowed_models", "acme/*"],
    ["allowed_models[1]", ["acme/*", ""]],
    ["allowed_models[0]", ["m".repeat(201)]],
    ["allowed_providers", Array.from({ length: 101 }, () => "toy")],
    ["allowed_providers[0]", [5]],
    ["usage", 0],
    ["hash", "x"],
    ["is_management_key", true],
    ["disabled", true],
    ["foo", 1],
  ])("created with %s %p is 400", async (path, value) => {
    const [member = ""] = path.split(/[.[]/)
    const error = await expectError(await create({ name: "n", [member]: value }), 400)
    expect(pathsOf(error)).toEqual([path])
    expect(error.metadata).toMatchObject({ error_type: "invalid_request", path })
    expect(error.message).toStartWith(`${path}: `)
  })

  test.each([
    ["usage", 0],
    ["hash", "x"],
    ["is_management_key", true],
    ["creator_user_id", "user_1"],
    ["created_at", "2027-01-01T00:00:00Z"],
    ["workspace_id", "x"],
  ])("%s cannot be set by a change", async (path, value) => {
    const { data } = await created({ name: "n" })
    const error = await expectError(await keyAt(data.hash, "PATCH", { [path]: value }), 400)
    expect(error.metadata.issues).toEqual([{ path, message: "this field cannot be set" }])
    expect(await json(await keyAt(data.hash))).toEqual({ data })
  })

  test.each([
    ["disabled", null],
    ["disabled", "true"],
    ["limit", -1],
    ["name", ""],
    ["limit_reset", "hourly"],
    ["allowed_providers", []],
    ["expires_at", "2026-07-15T12:00:00Z"],
    ["expires_at", "2020-01-01T00:00:00Z"],
    ["expires_at", "2027-02-30T00:00:00Z"],
    ["expires_at", 1_800_000_000],
  ])("changed to %s %p is 400", async (path, value) => {
    const { data } = await created({ name: "n" })
    expect(pathsOf(await expectError(await keyAt(data.hash, "PATCH", { [path]: value }), 400))).toEqual([path])
  })

  test("expires_at is changed as the README says: a change of it was 400", async () => {
    const { data } = await created({ name: "n", expires_at: "2026-08-01T00:00:00Z" })
    const changed = async (expires_at: string | null) =>
      (await json(await keyAt(data.hash, "PATCH", { expires_at }))).data.expires_at
    expect(await changed("2027-01-01T00:00:00Z")).toBe("2027-01-01T00:00:00.000Z")
    expect((await json(await keyAt(data.hash))).data.expires_at).toBe("2027-01-01T00:00:00.000Z")
    expect(await changed(null)).toBeNull()
  })

  test("all problems come at once", async () => {
    const bad = { limit: -1, limit_reset: "x", expires_at: "x", workspace_id: "x", usage: 1, foo: 1, allowed_models: 1 }
    const error = await expectError(await create({ ...bad, rate_limit: {} }), 400)
    const inside = ["rate_limit.requests", "rate_limit.interval_s"]
    expect(pathsOf(error).toSorted()).toEqual(["name", ...Object.keys(bad), ...inside].toSorted())
    expect(error.message).toEndWith(" (and 9 more).")
  })

  test.each([
    ["an empty body", ""],
    ["half a body", "{"],
    ["null", "null"],
    ["a list", "[]"],
    ["garbage behind it", '{"name":"n"} x'],
    ["65 levels", `{"name":${"[".repeat(64)}${"]".repeat(64)}}`],
  ])("%s is 400", async (_, body) => {
    await expectError(await create(body), 400)
  })

  test("neither other encodings nor other types are taken, nor large ones", async () => {
    const init = asManager("POST", { name: "n" })
    const sent = (headers: Record<string, string>, at = gateway) =>
      at.send("/api/v1/keys", { ...init, headers: { ...init.headers, ...headers } })
    await expectError(await sent({ "content-encoding": "br" }), 400)
    await expectError(await sent({ "content-type": "text/plain" }), 400)
    expectAnswer(await sent({ "content-type": "application/json; charset=utf-8" }), 201)
    const narrow = await startControlPlane({ config: { limits: { body_bytes: 20 } } })
    expect((await expectError(await create({ name: "n".repeat(20) }, narrow), 413)).metadata.limit_bytes).toBe(20)
    await created({ name: "n" }, narrow)
    await narrow.close()
  })
})

describe("a limit that a client computed in floats", () => {
  test("of 3 * 0.0015 was refused: it is the nearest picodollar", async () => {
    const { data } = await created({ name: "n", limit: 3 * 0.0015 })
    expect(3 * 0.0015).not.toBe(0.0045)
    expect(data.limit).toBe(0.0045)
    expect((await json(await keyAt(data.hash, "PATCH", { limit: 0.1 + 0.2 }))).data.limit).toBe(0.3)
    await expectError(await create({ name: "n", limit: "0.0045" }), 400)
  })
})

describe("whatever is sent", () => {
  test("to POST /keys answers 201 or the documented 400", async () => {
    const value = FastCheck.oneof(FastCheck.jsonValue(), FastCheck.double(), FastCheck.string())
    const member = FastCheck.constantFrom(
      "name",
      "limit",
      "limit_reset",
      "expires_at",
      "workspace_id",
      "__proto__",
      "x",
    )
    const body = FastCheck.oneof(FastCheck.jsonValue(), FastCheck.dictionary(member, value), FastCheck.string())
    await FastCheck.assert(
      FastCheck.asyncProperty(body, async (sent) => {
        const response = await create(JSON.stringify(sent))
        if (response.status === 201) expectAnswer(response, 201)
        else expect((await expectError(response, 400)).metadata.issues.length).toBeGreaterThan(0)
      }),
      { numRuns: 200 },
    )
  })

  test("a limit of whole microdollars comes back as it went", async () => {
    const { data } = await created({ name: "n" })
    await FastCheck.assert(
      FastCheck.asyncProperty(FastCheck.integer({ min: 0, max: 2 ** 31 - 1 }), async (micro) => {
        const changed = await json(await keyAt(data.hash, "PATCH", { limit: micro / 1e6 }))
        expect(changed.data).toMatchObject({ limit: micro / 1e6, limit_remaining: micro / 1e6 })
      }),
      { numRuns: 100 },
    )
  })
})

describe("pages of other origins", () => {
  const origin = "https://app.example"
  const asked = (at: ControlPlane, path: string, method = "GET", from = origin) =>
    at.send(path, { method, headers: { origin: from, authorization: `Bearer ${managementKey}` } })

  test("may read models, and errors about them", async () => {
    for (const [path, status] of [
      ["/api/v1/models", 200],
      ["/api/v1/models/acme/none/endpoints", 404],
    ] as const) {
      const response = await asked(gateway, path)
      expectAnswer(response, status)
      expect(response.headers.get("access-control-allow-origin")).toBe("*")
      expect(response.headers.get("access-control-allow-credentials")).toBeNull()
      const exposed = response.headers.get("access-control-expose-headers")?.split(", ")
      expect(exposed).toContain("retry-after")
      for (const name of response.headers.keys()) {
        // That one speaks to browsers and not to pages.
        if (name === "x-content-type-options") continue
        if (name.startsWith("x-") || name === "request-id") expect(exposed).toContain(name)
      }
    }
    const without = await gateway.send("/api/v1/models", { headers: { origin } })
    expect(without.headers.get("access-control-allow-origin")).toBe("*")
    await expectError(without, 401)
  })

  test("ask first, without a key", async () => {
    for (const path of ["/api/v1/models", "/api/v1/models/acme/m0/endpoints"]) {
      const response = await gateway.send(path, {
        method: "OPTIONS",
        headers: { origin, "access-control-request-headers": "authorization, x-title" },
      })
      expect(response.status).toBe(204)
      expect(response.headers.get("x-gw-request-id")).toMatch(/^req_/)
      expect(response.headers.get("access-control-allow-origin")).toBe("*")
      expect(response.headers.get("access-control-allow-headers")).toContain("authorization")
      expect(response.headers.get("access-control-allow-methods")).toContain("GET")
    }
  })

  test("may not touch keys", async () => {
    for (const path of [
      "/api/v1/keys",
      "/api/v1/keys/abc",
      "/api/v1/key",
      "/api/v1/auth/key",
      "/healthz",
      "/nothing",
    ]) {
      for (const method of ["GET", "OPTIONS"]) {
        const { headers } = await asked(gateway, path, method)
        expect([...headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([])
      }
    }
  })

  test("are those of the configuration", async () => {
    const strict = await startControlPlane({ control: { corsOrigins: [origin] } })
    const allowed = (response: Response) => response.headers.get("access-control-allow-origin")
    expect(allowed(await asked(strict, "/api/v1/models"))).toBe(origin)
    expect(allowed(await asked(strict, "/api/v1/models", "OPTIONS"))).toBe(origin)
    expect(allowed(await asked(strict, "/api/v1/models", "GET", "https://evil.example"))).toBeNull()
    expect(allowed(await asked(strict, "/api/v1/models", "OPTIONS", "https://evil.example"))).toBeNull()
    await strict.close()
  })
})

describe("the control plane itself", () => {
  test("is healthy, and ready until it drains", async () => {
    const fresh = await startControlPlane()
    for (const path of ["/healthz", "/readyz"]) {
      const response = await fresh.send(path)
      expectAnswer(response, 200)
      expect(await json(response)).toEqual({ status: "ok" })
    }
    await fresh.run(Effect.flatMap(InFlight, (inFlight) => inFlight.drain(0)))
    const draining = await fresh.send("/readyz")
    expect(draining.headers.get("retry-after")).toBe("1")
    expect((await expectError(draining, 503)).metadata.error_type).toBe("draining")
    expectAnswer(await fresh.send("/healthz"), 200)
    await fresh.close()
  })

  test("without its database is not ready, and says so", async () => {
    const lost = Effect.fail(new StorageUnavailable({ reason: "gone to /secret/path" }))
    const storage = Layer.effect(
      Storage,
      Effect.map(Storage, ({ keys, ledger, ...others }) => ({
        ...others,
        keys: { ...keys, countManagement: () => lost, list: () => lost },
        ledger: { ...ledger, spend: () => lost },
      })),
    ).pipe(Layer.provide(memoryStorage))
    const broken = await startControlPlane({ storage })
    for (const [path, init] of [
      ["/readyz", {}],
      ["/api/v1/auth/key", bearer(managementKey)],
      ["/api/v1/keys", asManager()],
    ] as const) {
      const response = await broken.send(path, init)
      expect(response.headers.get("retry-after")).toBe("5")
      const error = await expectError(response, 503)
      expect(error.metadata.error_type).toBe("metering_unavailable")
      expect(JSON.stringify(error)).not.toContain("secret")
    }
    expectAnswer(await broken.send("/healthz"), 200)
    await broken.close()
  })

  test("keeps its bugs to itself, and logs each once", async () => {
    const meter = Layer.effect(
      Meter,
      Effect.map(Storage, () => ({
        budget: () => Effect.die("unused"),
        reserve: () => Effect.die("unused"),
        release: () => {},
        writable: () => true,
        settle: () => Effect.die("unused"),
        spent: () => Effect.die(new Error("a stack and a secret")),
      })),
    )
    const buggy = await startControlPlane({ meter })
    const response = await buggy.send("/api/v1/auth/key", bearer(managementKey))
    const error = await expectError(response, 500)
    expect(error).toEqual({ code: 500, message: "Internal error.", metadata: { error_type: "server" } })
    // The start warns of a dear host of this catalogue, and of one without a price.
    const bugs = buggy.log.filter((line) => !/a token costs more than|no price is known/.test(line))
    expect(bugs.length).toBe(1)
    expect(bugs[0]).toContain("a stack and a secret")
    expect(bugs[0]).toContain(response.headers.get("x-gw-request-id") ?? "no id")
    await buggy.close()
  })

  test("describes itself", async () => {
    const response = await gateway.send("/api/v1/openapi.json")
    expectAnswer(response, 200)
    const { openapi, paths: all } = await json(response)
    expect(openapi).toStartWith("3.")
    // The data plane's are tested in test/http/openapi.
    const paths: Anything = Object.fromEntries(
      Object.entries<Anything>(all).filter(([, { get, post }]) => !(post ?? get)?.tags.includes("inference")),
    )
    const described = Object.entries<Anything>(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`),
    )
    const served = gateway.table.filter(
      (route) => !/^OPTIONS|openapi\.json$|docs(\/guide.*)?$|^GET \/(console.*)?$/.test(route),
    )
    expect(described.toSorted()).toEqual(served.toSorted())
    expect(Object.keys(paths["/api/v1/keys"].post.responses)).toEqual(
      expect.arrayContaining(["201", "400", "401", "403", "408", "413", "503"]),
    )
    // Each error that is described is the one body that errors have.
    for (const operation of Object.values<Anything>(paths).flatMap((each) => Object.values<Anything>(each))) {
      for (const [status, { content }] of Object.entries<Anything>(operation.responses)) {
        if (Number(status) >= 400)
          expect(content["application/json"].schema.allOf).toEqual([{ $ref: "#/components/schemas/Error" }])
      }
    }
    expect(Object.keys(paths["/api/v1/key"].get.responses)).toEqual(["200", "401", "403", "429", "503"])
  })
})
