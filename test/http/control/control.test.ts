/** What the control plane shows of keys, models and hosts, and to whom. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { ListEndpointsResponse$inboundSchema, ModelsListResponse$inboundSchema } from "@openrouter/sdk/models"
import { GetCurrentKeyResponse$inboundSchema } from "@openrouter/sdk/models/operations"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { hostStatus } from "../../../src/http/control/models/hostListing.ts"
import { HostHealth } from "../../../src/services/hosts/HostHealth.ts"
import { HostStats } from "../../../src/services/hosts/HostStats.ts"
import { Permit } from "../../../src/services/hosts/Permit.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import {
  type Anything,
  asManager,
  bearer,
  type ControlPlane,
  expectAnswer,
  expectError,
  json,
  managementKey,
  models,
  noon,
  row,
  startControlPlane,
} from "../../support/gateways/control.ts"

let gateway: ControlPlane
let key: string

beforeAll(async () => {
  gateway = await startControlPlane()
  key = await gateway.newKey()
})
afterAll(() => gateway.close())

describe("authorization", () => {
  const missing = "Missing Authentication header"
  test.each([
    ["nothing", {}, missing],
    ["another scheme", { authorization: "Basic abc" }, "User not found. This is no active key of this gateway."],
    ["no key behind the scheme", { authorization: "Bearer" }, "User not found. This is no active key of this gateway."],
    [
      "only blanks behind the scheme",
      { authorization: "Bearer  " },
      "User not found. This is no active key of this gateway.",
    ],
    ["two keys", { authorization: "Bearer a, Bearer b" }, "User not found. This is no active key of this gateway."],
    ["SQL", { authorization: "Bearer ' OR 1=1 --" }, "User not found. This is no active key of this gateway."],
    [
      "an unknown key",
      { authorization: `Bearer sk-gw-${"x".repeat(49)}` },
      "User not found. This is no active key of this gateway.",
    ],
    [
      "15 KiB",
      { authorization: `Bearer ${"x".repeat(15_360)}` },
      "User not found. This is no active key of this gateway.",
    ],
    ["an unknown x-api-key", { "x-api-key": "x" }, "User not found. This is no active key of this gateway."],
  ])("%s is 401", async (_, headers, message) => {
    const response = await gateway.send("/api/v1/auth/key", { headers })
    expect(response.headers.get("www-authenticate")).toBe("Bearer")
    const error = await expectError(response, 401)
    expect(error.message).toStartWith(message)
    expect(error).not.toHaveProperty("metadata")
  })

  test("disabled, expired and deleted keys look alike", async () => {
    const disabled = await gateway.newKey()
    const deleted = await gateway.newKey()
    const expired = await gateway.newKey({ expiresAt: noon - 1 })
    await gateway.send(`/api/v1/keys/${keyId(disabled)}`, asManager("PATCH", { disabled: true }))
    await gateway.send(`/api/v1/keys/${keyId(deleted)}`, asManager("DELETE"))
    const errors = await Promise.all(
      [disabled, deleted, expired, `${key.slice(0, -1)}!`].map(async (secret) =>
        expectError(await gateway.send("/api/v1/key", bearer(secret)), 401),
      ),
    )
    expect(errors).toEqual(
      errors.map(() => ({ code: 401, message: "User not found. This is no active key of this gateway." })),
    )
  })

  test("x-api-key is accepted like Bearer, which wins", async () => {
    expectAnswer(await gateway.send("/api/v1/key", { headers: { "x-api-key": key } }), 200)
    const both = { authorization: "Bearer wrong", "x-api-key": key }
    await expectError(await gateway.send("/api/v1/key", { headers: both }), 401)
    await expectError(await gateway.send(`/api/v1/key?api_key=${key}`), 401)
  })

  const operations = [
    ["GET", "/api/v1/keys"],
    ["POST", "/api/v1/keys"],
    ["GET", "/api/v1/keys/abc"],
    ["PATCH", "/api/v1/keys/abc"],
    ["DELETE", "/api/v1/keys/abc"],
    ["GET", "/api/v1/activity"],
    ["GET", "/api/v1/credits"],
    ["DELETE", "/api/v1/requests/live/abc"],
  ] as const
  test.each(operations)("an ordinary key may not %s %s", async (method, path) => {
    for (const headers of [{ authorization: `Bearer ${key}` }, { "x-api-key": key }]) {
      const error = await expectError(await gateway.send(path, { method, headers }), 403)
      expect(error.message).toContain("management key")
      expect(error.metadata.error_type).toBe("permission_denied")
    }
  })

  test("only the public routes answer without a key", async () => {
    await gateway.send("/healthz")
    const open = ["GET /api/v1/openapi.json", "GET /docs", "GET /healthz", "GET /readyz"]
    expect(gateway.table.toSorted()).toEqual([
      "DELETE /api/v1/keys/:hash",
      "DELETE /api/v1/requests/live/:request_id",
      "DELETE /api/v1/session",
      "GET /",
      "GET /api/v1/activity",
      "GET /api/v1/alerts",
      "GET /api/v1/analytics",
      "GET /api/v1/auth/key",
      "GET /api/v1/backup",
      "GET /api/v1/credits",
      "GET /api/v1/embeddings/models",
      "GET /api/v1/endpoints/zdr",
      "GET /api/v1/generation",
      "GET /api/v1/generation/content",
      "GET /api/v1/key",
      "GET /api/v1/keys",
      "GET /api/v1/keys/:hash",
      "GET /api/v1/model/:author/:slug",
      "GET /api/v1/models",
      "GET /api/v1/models/:author/:slug",
      "GET /api/v1/models/:author/:slug/endpoints",
      "GET /api/v1/models/:id",
      "GET /api/v1/models/count",
      "GET /api/v1/models/user",
      "GET /api/v1/openapi.json",
      "GET /api/v1/providers",
      "GET /api/v1/providers/state",
      "GET /api/v1/requests",
      "GET /api/v1/requests/live",
      "GET /api/v1/requests/unknown",
      "GET /api/v1/session",
      "GET /api/v1/spend",
      "GET /api/v1/spend/provider_keys",
      "GET /api/v1/state",
      "GET /api/v1/version",
      "GET /console",
      "GET /console/*",
      "GET /docs",
      "GET /docs/guide",
      "GET /docs/guide/*",
      "GET /healthz",
      "GET /readyz",
      "OPTIONS /api/v1/embeddings/models",
      "OPTIONS /api/v1/endpoints/zdr",
      "OPTIONS /api/v1/model/:author/:slug",
      "OPTIONS /api/v1/models",
      "OPTIONS /api/v1/models/:author/:slug",
      "OPTIONS /api/v1/models/:author/:slug/endpoints",
      "OPTIONS /api/v1/models/:id",
      "OPTIONS /api/v1/models/count",
      "OPTIONS /api/v1/models/user",
      "OPTIONS /api/v1/providers",
      "PATCH /api/v1/keys/:hash",
      "POST /api/v1/config/reload",
      "POST /api/v1/keys",
      "POST /api/v1/keys/:hash/rotate",
      "POST /api/v1/session",
    ])
    // Whoever signs in has not shown a key yet, and the files of console and guide are everybody's (sessions.test.ts, console.test.ts, guide.test.ts).
    const other = [
      "GET /api/v1/session",
      "POST /api/v1/session",
      "GET /",
      "GET /console",
      "GET /console/*",
      "GET /docs/guide",
      "GET /docs/guide/*",
    ]
    for (const route of gateway.table.filter((one) => !other.includes(one))) {
      const [method = "", path = ""] = route.split(" ")
      const response = await gateway.send(path.replace(/:\w+/g, "x"), { method })
      if (method === "OPTIONS") expect(response.status).toBe(204)
      else if (open.includes(route)) expect(response.status).toBe(200)
      else await expectError(response, 401)
    }
  })
})

describe("unknown routes", () => {
  test.each([
    ["GET", "/"],
    ["GET", "/api/v1"],
    ["GET", "/api/v1/nothing"],
    ["PUT", "/api/v1/keys"],
    ["POST", "/api/v1/models"],
    ["DELETE", "/api/v1/auth/key"],
    ["OPTIONS", "/api/v1/keys"],
    ["PROPFIND", "/api/v1/keys"],
    ["HEAD", "/api/v1/nothing"],
    ["GET", "/api/v1//keys"],
    ["GET", "//api/v1/keys"],
    ["GET", "/api/v1/keys/"],
    ["GET", "/API/V1/keys"],
    ["GET", "/api/v1/Keys"],
    ["GET", "/api/v1/%6beys"],
    ["GET", "/api/v1/%2e%2e/keys"],
    ["GET", "/api/v1/keys;a=b"],
    ["GET", "/api/v1/%zz"],
    ["GET", "/healthz/"],
    ["GET", "/api/v1/openapi.json/"],
    ["GET", "/docs/"],
    ["GET", "/docs/index.html"],
    ["GET", "/api/v1/models/acme/m0/Endpoints"],
    ["GET", `/api/v1/keys/${"a".repeat(101)}`],
  ])("%s %s is 404", async (method, path) => {
    const response = await gateway.send(path, asManager(method))
    if (method === "HEAD") return expectAnswer(response, 404)
    const error = await expectError(response, 404)
    const hint = path === "/" || path === "/api/v1" ? " The API is at /api/v1, its description at /docs." : ""
    expect(error.message).toBe(`This route does not exist.${hint}`)
    expect(error.metadata).toEqual({ error_type: "not_found" })
  })

  test("HEAD is GET without its body", async () => {
    const response = await gateway.send("/api/v1/auth/key", { method: "HEAD", ...bearer(key) })
    expectAnswer(response, 200)
    expect(await response.text()).toBe("")
  })
})

describe("key status", () => {
  const members = [
    "label is_management_key is_provisioning_key limit limit_reset limit_remaining include_byok_in_limit budgets",
    "effective_budget usage usage_daily usage_weekly usage_monthly byok_usage byok_usage_daily byok_usage_weekly",
    "byok_usage_monthly is_free_tier expires_at creator_user_id organization_id workspace_id allowed_data_regions",
    "free_model_daily_requests rate_limit exact",
  ].flatMap((line) => line.split(" "))

  const statusOf = async (secret: string): Promise<Anything> => {
    const response = await gateway.send("/api/v1/auth/key", bearer(secret))
    expectAnswer(response, 200)
    const body = await json(response)
    expect(GetCurrentKeyResponse$inboundSchema.safeParse(body).error).toBeUndefined()
    expect(Object.keys(body.data).toSorted()).toEqual(members.toSorted())
    return body.data
  }

  test("of a key without a limit", async () => {
    const installation = await gateway.run(Effect.map(Storage, (storage) => storage.installation))
    const status = await statusOf(key)
    expect(status).toMatchObject({
      limit: null,
      limit_remaining: null,
      budgets: [],
      effective_budget: null,
      usage: 0,
      is_management_key: false,
      creator_user_id: installation,
      workspace_id: installation,
      expires_at: null,
      allowed_data_regions: ["global"],
      free_model_daily_requests: { used: 0, limit: 1000, remaining: 1000 },
    })
    expect(status.rate_limit).toMatchObject({ requests: -1, interval: "10s" })
    const other = await json(await gateway.send("/api/v1/key", bearer(key)))
    expect(other.data).toEqual(status)
    expect(await statusOf(managementKey)).toMatchObject({ is_management_key: true, is_provisioning_key: true })
  })

  test("of a limited key, through its windows", async () => {
    const limited = await gateway.newKey({
      limit: 10_000_000_000_000n,
      limitReset: "weekly",
      expiresAt: Date.UTC(2027, 0, 1),
      creatorUserId: "user_1",
    })
    const day = 86_400_000
    const spent = [
      row(limited, "0.1", noon),
      row(limited, "0.2", noon - day),
      row(limited, "3", noon - 9 * day),
      row(limited, "20", noon - 40 * day),
    ]
    await gateway.run(Effect.flatMap(Storage, (storage) => storage.ledger.append(spent)))
    const status = await statusOf(limited)
    const budget = {
      scope: "key_limit",
      guardrail_id: null,
      budget_id: null,
      limit_usd: 10,
      spend_usd: 0.3,
      remaining_usd: 9.7,
      exact: { limit_usd: "10", spend_usd: "0.3", remaining_usd: "9.7" },
      reset_interval: "weekly",
      resets_at: "2026-07-20T00:00:00.000Z",
      include_byok: false,
    }
    expect(status).toMatchObject({
      limit: 10,
      limit_remaining: 9.7,
      usage: 23.3,
      usage_daily: 0.1,
      usage_weekly: 0.3,
      usage_monthly: 3.3,
      effective_budget: budget,
      expires_at: "2027-01-01T00:00:00.000Z",
      creator_user_id: "user_1",
    })
    expect(status.budgets).toEqual([budget])
    gateway.time.now = Date.UTC(2026, 6, 20)
    expect(await statusOf(limited)).toMatchObject({ usage: 23.3, usage_daily: 0, usage_weekly: 0, limit_remaining: 10 })
    gateway.time.now = Date.UTC(2027, 0, 1)
    await expectError(await gateway.send("/api/v1/key", bearer(limited)), 401)
    gateway.time.now = noon
  })

  test("never shows a negative amount", async () => {
    const overspent = await gateway.newKey({ limit: 1_000_000_000_000n })
    await gateway.run(Effect.flatMap(Storage, (storage) => storage.ledger.append([row(overspent, "1.5", noon)])))
    expect(await statusOf(overspent)).toMatchObject({
      limit_remaining: 0,
      effective_budget: { spend_usd: 1.5, remaining_usd: 0, reset_interval: null, resets_at: null },
    })
  })
})

describe("models", () => {
  const page = async (query: string): Promise<Anything> => {
    const response = await gateway.send(`/api/v1/models${query}`, bearer(key))
    expectAnswer(response, 200)
    const body = await json(response)
    expect(ModelsListResponse$inboundSchema.safeParse(body).error).toBeUndefined()
    return body
  }

  test("all of them, as clients expect them", async () => {
    const { data, links, total_count } = await page("")
    expect([data.length, links.next, total_count]).toEqual([7, null, 7])
    expect(data[0]).toEqual({
      id: "acme/small-2.5:free",
      canonical_slug: "acme/small-2.5-20251009",
      name: "Acme Small",
      created: 1_760_000_000,
      description: "A small one.",
      context_length: 8192,
      architecture: {
        tokenizer: "Other",
        instruct_type: null,
        modality: "text+image->text",
        input_modalities: ["text", "image"],
        output_modalities: ["text"],
      },
      // The prices of the cheapest host, not of the first.
      pricing: expect.objectContaining({ prompt: "0.000001", completion: "0.000002", discount: 0 }),
      top_provider: { context_length: 8192, max_completion_tokens: 4096, is_moderated: false },
      per_request_limits: null,
      supported_parameters: ["seed", "tools"],
      default_parameters: null,
      supported_voices: null,
      hugging_face_id: "Acme/Small-2.5",
      knowledge_cutoff: "2025-06",
      // Of the host that is promised for longest.
      expiration_date: "2026-12-31",
      reasoning: { mandatory: false, supported_efforts: ["low", "high"], supports_max_tokens: true },
      links: { details: "/api/v1/models/acme/small-2.5:free/endpoints" },
    })
    expect(data[1].pricing).toMatchObject({ prompt: "-1", completion: "-1" })
    expect(data[1]).toMatchObject({ canonical_slug: "acme/m0", hugging_face_id: null, expiration_date: null })
    expect(data[1]).not.toHaveProperty("reasoning")
  })

  test("one of them, by further names that the catalogue has for it", async () => {
    for (const name of ["acme/small-2.5-20251009", "acme/small-2.5-latest"]) {
      const found = await json(await gateway.send(`/api/v1/model/${name}`, bearer(key)))
      expect([name, found.data.id]).toEqual([name, "acme/small-2.5:free"])
    }
  })

  test("page by page", async () => {
    const seen: Array<string> = []
    let next: string | null = "?limit=3"
    while (next !== null) {
      const { data, links }: Anything = await page(next)
      seen.push(...data.map(({ id }: Anything) => id))
      next = links.next === null ? null : links.next.replace("/api/v1/models", "")
    }
    expect(seen).toEqual(models.map(({ id }) => id))
    expect((await page("?offset=5")).data.length).toBe(2)
    expect(await page("?offset=100")).toMatchObject({ data: [], links: { next: null }, total_count: 7 })
    expect((await page("?limit=2")).links.next).toBe("/api/v1/models?offset=2&limit=2")
  })

  test("all problems of the page parameters are reported at once", async () => {
    const error = await expectError(await gateway.send("/api/v1/models?offset=-1&limit=5000", bearer(key)), 400)
    expect(error.metadata.issues.map(({ path }: Anything) => path).toSorted()).toEqual(["limit", "offset"])
    for (const query of ["offset=abc", "limit=0", "limit=", "limit=1.5", "offset=1&offset=2", "limit=1e2"]) {
      await expectError(await gateway.send(`/api/v1/models?${query}`, bearer(key)), 400)
    }
  })

  test("an unknown model", async () => {
    for (const path of ["acme/none", "acme%2Fm0/x", "m0/acme", "%2e/%2e"]) {
      await expectError(await gateway.send(`/api/v1/models/${path}/endpoints`, bearer(key)), 404)
    }
  })
})

describe("hosts of a model", () => {
  const path = "/api/v1/models/acme/small-2.5:free/endpoints"
  const members = [
    "name model_id model_name context_length pricing provider_name tag quantization max_completion_tokens",
    "max_prompt_tokens supported_parameters supports_tool_choice status uptime_last_30m uptime_last_5m uptime_last_1d",
    "supports_implicit_caching native_tools supports_voice_cloning supports_multiple_audio_references",
    "supports_image_reference supports_diarization latency_last_30m throughput_last_30m perf_last_30m_by_workload",
  ].flatMap((line) => line.split(" "))

  const hostsOf = async (at: ControlPlane): Promise<Anything> => {
    const response = await at.send(path, bearer(managementKey))
    expectAnswer(response, 200)
    const body = await json(response)
    expect(ListEndpointsResponse$inboundSchema.safeParse(body.data).error).toBeUndefined()
    for (const host of body.data.endpoints) expect(Object.keys(host).toSorted()).toEqual(members.toSorted())
    return body.data
  }

  test("have every documented member", async () => {
    const { endpoints, ...model } = await hostsOf(gateway)
    expect(model).toMatchObject({ id: "acme/small-2.5:free", name: "Acme Small", created: 1_760_000_000 })
    expect(endpoints.map(({ tag }: Anything) => tag)).toEqual(["toy/dear", "toy", "toy/unpriced"])
    expect(endpoints[1]).toMatchObject({
      name: "Toy Ltd | acme/small-2.5:free",
      model_id: "acme/small-2.5:free",
      model_name: "Acme Small",
      context_length: 8192,
      provider_name: "Toy Ltd",
      quantization: "fp8",
      max_completion_tokens: 4096,
      max_prompt_tokens: null,
      supports_tool_choice: { none: true, auto: true, required: true, function: true },
      status: 0,
      uptime_last_30m: null,
      latency_last_30m: null,
      throughput_last_30m: null,
      perf_last_30m_by_workload: {},
      native_tools: {},
      supports_voice_cloning: false,
      supports_diarization: false,
    })
    expect(endpoints[0]).toMatchObject({
      native_tools: { "router:web_search": { type: "web_search" } },
      supports_voice_cloning: true,
      supports_multiple_audio_references: true,
      supports_image_reference: true,
      supports_diarization: true,
    })
    expect(endpoints[1].pricing).toMatchObject({
      prompt: "0.000001",
      completion: "0.000002",
      web_search: "0",
      input_cache_read: "0.0000001",
      input_cache_write: "0.000001",
      discount: 0,
      // Cache writes cost as much as the prompt, so their price changes with it. Cache reads have a price of their own.
      overrides: [{ min_prompt_tokens: 200_000, prompt: "0.000003", input_cache_write: "0.000003" }],
    })
    expect(endpoints[2].pricing).toMatchObject({ prompt: "-1", completion: "-1", overrides: [] })
  })

  test.each([
    [96, 4, 0],
    [94, 6, -1],
    [80, 20, -1],
    [79, 21, -2],
    [0, 99, 0],
  ])("%p successes and %p failures are status %p", async (good, bad, status) => {
    const fresh = await startControlPlane()
    await fresh.run(
      Effect.gen(function* () {
        const stats = yield* HostStats
        const host = (yield* ProviderRegistry).current().models[0]?.hosts[0]
        if (host === undefined) throw new Error("no host")
        for (let n = 0; n < good; n++) stats.record(host, { ok: true, latencyMs: n + 1, tokensPerSecond: 50 })
        for (let n = 0; n < bad; n++) stats.record(host, { ok: false })
      }),
    )
    const [seen, unseen] = (await hostsOf(fresh)).endpoints
    expect(seen).toMatchObject({ status, uptime_last_5m: (good / (good + bad)) * 100 })
    expect(seen.perf_last_30m_by_workload.text_generation.request_count).toBe(good + bad)
    if (good > 0) {
      expect(Math.abs(seen.latency_last_30m.p50 / Math.ceil(good / 2) - 1)).toBeLessThan(0.055)
      for (const speed of Object.values(seen.throughput_last_30m)) {
        expect(Math.abs(Number(speed) / 50 - 1)).toBeLessThan(0.055)
      }
    }
    expect(unseen).toMatchObject({ status: 0, uptime_last_5m: null })
    await fresh.close()
  })

  test("a rate-limited host has status -3 for as long as it cools down", async () => {
    const fresh = await startControlPlane()
    await fresh.run(
      Effect.gen(function* () {
        const { model } = yield* Either.merge(
          Either.map((yield* ProviderRegistry).resolve("acme/small-2.5:free"), Effect.succeed),
        )
        for (const host of model.hosts.slice(0, 1)) {
          const failure = new HostFailed({ reason: "rate-limited", retryAfterSeconds: 60 })
          const permit = (yield* HostHealth).acquire({ host, maxConcurrent: 1 }, false, "a key")
          if (permit instanceof Permit) permit.failed(failure)
        }
      }),
    )
    expect((await hostsOf(fresh)).endpoints.map(({ status }: Anything) => status)).toEqual([-3, 0, 0])
    fresh.time.now += 60_000
    expect((await hostsOf(fresh)).endpoints.map(({ status }: Anything) => status)).toEqual([0, 0, 0])
    await fresh.close()
  })

  test("of a disabled provider are listed with status -10, and their price is not the model's", async () => {
    const response = await gateway.send("/api/v1/models/acme/m0/endpoints", bearer(key))
    const { endpoints } = (await json(response)).data
    expect(endpoints.map(({ tag, status }: Anything) => [tag, status])).toEqual([
      ["toy", 0],
      ["off", -10],
    ])
    const { data } = await json(await gateway.send("/api/v1/models", bearer(key)))
    expect(data.find(({ id }: Anything) => id === "acme/m0").pricing.prompt).toBe("-1")
  })

  test("are not listed under a variant of the model's name", async () => {
    await expectError(await gateway.send("/api/v1/models/acme/m0:nitro/endpoints", bearer(key)), 404)
  })

  const rateLimited = { because: "cooldown", reason: "rate-limited", retryAfterMs: 1000, isRateLimit: true } as const
  const refused = { because: "cooldown", reason: "account", retryAfterMs: 1000, isRateLimit: false } as const
  test.each([
    [{ unavailable: "its provider is disabled", inadmissible: rateLimited }, -10],
    [{ inadmissible: rateLimited }, -3],
    [{ inadmissible: refused }, 0],
    [{ inadmissible: { because: "breaker", reason: "unreachable", retryAfterMs: 1000, isRateLimit: false } }, -2],
    [{ inadmissible: refused, standing: "down" }, -2],
    [{ inadmissible: rateLimited, standing: "down" }, -3],
    [{ standing: "down" }, -2],
    [{ standing: "degraded" }, -1],
  ] as const)("%p is status %p", (condition, status) => {
    const normal = { unavailable: undefined, inadmissible: undefined, standing: "normal" } as const
    expect(hostStatus({ ...normal, ...condition })).toBe(status)
  })
})
