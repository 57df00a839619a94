/** What each role of a management key may do, over every operation of the control plane. docs/console.md */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { KeyStore } from "../../../src/services/keys/KeyStore.ts"
import type { Storage } from "../../../src/services/storage/Storage.ts"
import {
  asManager,
  bearer,
  type ControlPlane,
  expectAnswer,
  expectError,
  json,
  startControlPlane,
} from "../../support/gateways/control.ts"
import { memoryStorage } from "../../support/storage/lastingStorage.ts"
import { hasPostgres, makeDatabase, postgresAt } from "../../support/storage/postgres.ts"

const publicUrl = "https://gateway.test"
const callers = ["ordinary", "read", "keys", "all"] as const
type Caller = (typeof callers)[number]

/** Who may do what. An operation that is not here needs `ordinary`, which is any key. */
const needed: Readonly<Record<string, Caller>> = {
  "GET /api/v1/activity": "read",
  "GET /api/v1/alerts": "read",
  "GET /api/v1/credits": "read",
  "GET /api/v1/keys": "read",
  "GET /api/v1/keys/:hash": "read",
  "GET /api/v1/providers/state": "read",
  "GET /api/v1/requests/unknown": "read",
  "GET /api/v1/spend": "read",
  "GET /api/v1/spend/provider_keys": "read",
  "GET /api/v1/state": "read",
  "GET /api/v1/version": "read",
  "POST /api/v1/keys": "keys",
  "PATCH /api/v1/keys/:hash": "keys",
  "DELETE /api/v1/keys/:hash": "keys",
  "POST /api/v1/keys/:hash/rotate": "keys",
  "GET /api/v1/backup": "all",
  "DELETE /api/v1/requests/live/:request_id": "all",
  "POST /api/v1/config/reload": "all",
}

/** Need no key. */
const open = ["/", "/console", "/console/*", "/docs", "/healthz", "/readyz", "/metrics", "/api/v1/openapi.json"]

let gateway: ControlPlane
const secrets = new Map<Caller, string>()
const cookies = new Map<Caller, string>()
const signIn = async (key: string) => {
  const response = await gateway.send(`${publicUrl}/api/v1/session`, { method: "POST", body: JSON.stringify({ key }) })
  return (response.headers.get("set-cookie") ?? "").split(";")[0] ?? ""
}

beforeAll(async () => {
  gateway = await startControlPlane({ control: { publicUrl } })
  for (const caller of callers) {
    const secret = await gateway.newKey(caller === "ordinary" ? {} : { kind: "management", role: caller })
    secrets.set(caller, secret)
    cookies.set(caller, await signIn(secret))
  }
})
afterAll(() => gateway.close())

const as = (caller: Caller, method = "GET", body?: unknown): RequestInit => ({
  ...asManager(method, body),
  ...bearer(secrets.get(caller) ?? ""),
})

test("every operation is open to exactly the roles that it is for, by key and by session", async () => {
  await gateway.send("/healthz")
  const operations = gateway.table.filter((route) => {
    const [method = "", path = ""] = route.split(" ")
    return method !== "OPTIONS" && !open.includes(path) && route !== "POST /api/v1/session"
  })
  expect(Object.keys(needed).filter((route) => !operations.includes(route))).toEqual([])
  const wrong: Array<string> = []
  for (const route of operations) {
    const [method = "", path = ""] = route.split(" ")
    const least = needed[route] ?? "ordinary"
    for (const caller of callers) {
      const headers = { cookie: cookies.get(caller) ?? "", "sec-fetch-site": "same-origin" }
      const url = `${publicUrl}${path.replace(/:\w+/g, "x")}`
      for (const init of [as(caller, method), { method, headers }]) {
        const { status } = await gateway.send(url, init)
        const isAllowed = callers.indexOf(caller) >= callers.indexOf(least)
        if ((status !== 403) !== isAllowed || status === 401) wrong.push(`${caller} ${route}: ${status}`)
      }
      // It may have been ended by DELETE /api/v1/session.
      if (route === "DELETE /api/v1/session") cookies.set(caller, await signIn(secrets.get(caller) ?? ""))
    }
  }
  expect(wrong).toEqual([])
})

test("a refusal names the role that is needed, and the one that is there", async () => {
  const made = await expectError(await gateway.send("/api/v1/keys", as("read", "POST", { name: "x" })), 403)
  expect(made.message).toBe('This needs a management key with the role "keys" or "all"; this one has "read".')
  const reloaded = await expectError(await gateway.send("/api/v1/config/reload", as("keys", "POST")), 403)
  expect(reloaded.message).toBe('This needs a management key with the role "all"; this one has "keys".')
})

describe("management keys", () => {
  const make = async (body: object) => {
    const response = await gateway.send("/api/v1/keys", as("all", "POST", body))
    expect(response.status).toBe(201)
    return json(response)
  }

  test("are made by naming a role, by those alone who may do everything", async () => {
    const { data, key } = await make({ name: "reader", role: "read" })
    expect(key).toStartWith("sk-gwm-")
    expect(data.role).toBe("read")
    expectAnswer(await gateway.send("/api/v1/keys", bearer(key)), 200)
    await expectError(await gateway.send("/api/v1/keys", as("keys", "POST", { name: "x", role: "read" })), 403)
    const ordinary = await json(await gateway.send("/api/v1/keys", as("keys", "POST", { name: "x", role: null })))
    expect([ordinary.data.role, ordinary.key.slice(0, 6)]).toEqual([null, "sk-gw-"])
  })

  test("are listed by kind, and read by every management key", async () => {
    const { data } = await make({ name: "listed", role: "keys" })
    const listed = await json(await gateway.send("/api/v1/keys?kind=management", as("read")))
    expect(listed.data.map(({ name }: { name: string }) => name)).toContain("listed")
    expect(new Set(listed.data.map(({ role }: { role: string }) => role)).has(null as never)).toBe(false)
    const others = await json(await gateway.send("/api/v1/keys", as("read")))
    expect(others.data.map(({ name }: { name: string }) => name)).not.toContain("listed")
    expectAnswer(await gateway.send(`/api/v1/keys/${data.hash}`, as("read")), 200)
    await expectError(await gateway.send("/api/v1/keys?kind=other", as("read")), 400)
  })

  test("are changed, rotated and deleted by those alone who may do everything, with effect at once", async () => {
    const { data, key } = await make({ name: "changed", role: "all" })
    const path = `/api/v1/keys/${data.hash}`
    const changes: ReadonlyArray<readonly [string, string, unknown]> = [
      ["PATCH", path, { role: "read" }],
      ["POST", `${path}/rotate`, { overlap_s: 60 }],
      ["DELETE", path, undefined],
    ]
    for (const [method, at, body] of changes) {
      await expectError(await gateway.send(at, as("keys", method, body)), 403)
    }
    expectAnswer(await gateway.send(path, as("all", "PATCH", { role: "read" })), 200)
    await expectError(await gateway.send("/api/v1/keys", { ...asManager("POST", { name: "x" }), ...bearer(key) }), 403)
    expect((await gateway.send(`${path}/rotate`, as("all", "POST", {}))).status).toBe(201)
    expectAnswer(await gateway.send(path, as("all", "DELETE")), 200)
    await expectError(await gateway.send("/api/v1/keys", bearer(key)), 401)
  })

  test.each<readonly [string, object, path: string]>([
    ["a limit", { name: "x", role: "read", limit: 1 }, "limit"],
    ["models", { name: "x", role: "read", allowed_models: ["acme/*"] }, "allowed_models"],
    ["an unknown role", { name: "x", role: "owner" }, "role"],
  ])("with %s are refused", async (_, body, path) => {
    const error = await expectError(await gateway.send("/api/v1/keys", as("all", "POST", body)), 400)
    expect(error.metadata.path).toBe(path)
  })

  test("keep a role, and ordinary keys get none", async () => {
    const { data } = await make({ name: "kept", role: "read" })
    await expectError(await gateway.send(`/api/v1/keys/${data.hash}`, as("all", "PATCH", { role: null })), 400)
    await expectError(await gateway.send(`/api/v1/keys/${data.hash}`, as("all", "PATCH", { limit: 5 })), 400)
    const hash = keyId(secrets.get("ordinary") ?? "")
    await expectError(await gateway.send(`/api/v1/keys/${hash}`, as("all", "PATCH", { role: "read" })), 400)
    expectAnswer(await gateway.send(`/api/v1/keys/${hash}`, as("all", "PATCH", { role: null, name: "o" })), 200)
  })
})

const kinds: ReadonlyArray<readonly [string, () => Promise<Layer.Layer<Storage>>]> = [
  ["SQLite", async () => memoryStorage],
  ...(hasPostgres ? [["PostgreSQL", async () => Layer.orDie(postgresAt(await makeDatabase()))] as const] : []),
]
if (!hasPostgres) test.skip("the last management key in PostgreSQL", () => {})

describe.each(kinds)("over %s, without a bootstrap key", (_, storage) => {
  test("the last key that may do everything and does not expire stays as it is", async () => {
    const control = await startControlPlane({ storage: await storage(), keys: KeyStore.layer() })
    const make = async (role: "read" | "all") => {
      const created = await control.run(
        Effect.flatMap(KeyStore, (keys) => keys.create({ kind: "management", name: role, role })),
      )
      return Redacted.value(created.secret)
    }
    const [last, reader] = [await make("all"), await make("read")]
    const change = (key: string, method: string, body?: unknown) =>
      control.send(`/api/v1/keys/${keyId(key)}`, { ...asManager(method, body), ...bearer(last) })
    const away: ReadonlyArray<readonly [string, unknown]> = [
      ["DELETE", undefined],
      ["PATCH", { role: "keys" }],
      ["PATCH", { disabled: true }],
      ["PATCH", { expires_at: "2030-01-01T00:00:00Z" }],
    ]
    for (const [method, body] of away) {
      expect((await expectError(await change(last, method, body), 403)).message).toContain("last management key")
    }
    expectAnswer(await change(last, "PATCH", { name: "renamed" }), 200)
    expectAnswer(await change(reader, "DELETE"), 200)
    // Of two such keys that are deleted at once one stays.
    const other = await make("all")
    const statuses = await Promise.all([change(last, "DELETE"), change(other, "DELETE")])
    expect(statuses.map(({ status }) => status).toSorted()).toEqual([200, 403])
    await control.close()
  })

  test("a key of an earlier version may do everything", async () => {
    const control = await startControlPlane({ storage: await storage(), keys: KeyStore.layer() })
    const first = await control.run(Effect.flatMap(KeyStore, (keys) => keys.createFirst("first")))
    const secret = first === undefined ? "" : Redacted.value(first.secret)
    expect((await json(await control.send(`/api/v1/keys/${keyId(secret)}`, bearer(secret)))).data.role).toBe("all")
    await control.close()
  })
})

test("where there is a bootstrap key, the last key that is stored may go", async () => {
  const control = await startControlPlane()
  const key = await control.newKey({ kind: "management" })
  expectAnswer(await control.send(`/api/v1/keys/${keyId(key)}`, asManager("DELETE")), 200)
  await control.close()
})
