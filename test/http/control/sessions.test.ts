/** Signing in, and what a session may do. docs/console.md */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { KeyId } from "../../../src/domain/ids.ts"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { placeOf, signInRefusal } from "../../../src/http/sessions/place.ts"
import { KeyStore } from "../../../src/services/keys/KeyStore.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { until } from "../../support/clocks/until.ts"
import {
  asManager,
  bearer,
  type ControlPlane,
  type ControlPlaneOptions,
  expectError,
  json,
  managementKey,
  startControlPlane,
} from "../../support/gateways/control.ts"
import { memoryStorage } from "../../support/storage/lastingStorage.ts"
import { hasPostgres, makeDatabase, postgresAt } from "../../support/storage/postgres.ts"

const minute = 60_000
const hour = 60 * minute
const publicUrl = "https://gateway.test"
const at = `${publicUrl}/api/v1`

const signIn = (gateway: ControlPlane, key: unknown, headers: Record<string, string> = {}, url = at) =>
  gateway.send(`${url}/session`, { method: "POST", body: JSON.stringify({ key }), headers })

/** The value of the header `Cookie` after signing in. */
const cookieFor = async (gateway: ControlPlane, key: string): Promise<string> => {
  const response = await signIn(gateway, key)
  expect(response.status).toBe(200)
  return (response.headers.get("set-cookie") ?? "").split(";")[0] ?? ""
}

const own = { "sec-fetch-site": "same-origin" }

const withCookie = (cookie: string, method = "GET", headers: Record<string, string> = own, body?: unknown) => ({
  method,
  headers: { cookie, ...headers },
  ...(body === undefined ? {} : { body: JSON.stringify(body) }),
})

const postgresOf = (database: string) => Layer.orDie(postgresAt(database))

const kinds: ReadonlyArray<readonly [string, () => Promise<Layer.Layer<Storage>>]> = [
  ["SQLite", async () => memoryStorage],
  ...(hasPostgres ? [["PostgreSQL", async () => postgresOf(await makeDatabase())] as const] : []),
]
if (!hasPostgres) test.skip("sessions in PostgreSQL", () => {})

const start = (options: ControlPlaneOptions = {}) => startControlPlane({ control: { publicUrl }, ...options })

describe.each(kinds)("over %s, a session", (_, storage) => {
  let gateway: ControlPlane
  beforeAll(async () => {
    gateway = await start({ storage: await storage() })
  })
  afterAll(() => gateway.close())

  const statusOf = async (cookie: string) => (await gateway.send(`${at}/session`, withCookie(cookie))).status
  const passed = async <A>(ms: number, then: () => Promise<A>): Promise<A> => {
    gateway.time.now += ms
    return then()
  }

  test("begins with a key, and says whose it is and until when", async () => {
    const key = await gateway.newKey({ name: "ann" })
    const response = await signIn(gateway, ` ${key}\n`)
    expect(response.headers.get("set-cookie")).toMatch(
      /^__Host-headgate=[0-9A-Za-z]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
    )
    expect(response.headers.get("cache-control")).toBe("no-store")
    expect(response.headers.get("vary")).toBe("Cookie, Authorization")
    const from = gateway.time.now
    const session = {
      kind: "ordinary",
      role: null,
      name: "ann",
      label: `${key.slice(0, 9)}...${key.slice(-3)}`,
      hash: keyId(key),
      created_at: new Date(from).toISOString(),
      expires_at: new Date(from + 8 * hour).toISOString(),
      idle_ends_at: new Date(from + 30 * minute).toISOString(),
      version: null,
      public_url: publicUrl,
    }
    expect(await json(response)).toEqual({ data: session })
    const cookie = (response.headers.get("set-cookie") ?? "").split(";")[0] ?? ""
    expect(await json(await gateway.send(`${at}/session`, withCookie(cookie)))).toEqual({ data: session })
    const none = { created_at: null, expires_at: null, idle_ends_at: null }
    expect(await json(await gateway.send(`${at}/session`, bearer(key)))).toEqual({ data: { ...session, ...none } })
  })

  test("of the bootstrap key may do everything", async () => {
    const cookie = await cookieFor(gateway, managementKey)
    const { data } = await json(await gateway.send(`${at}/session`, withCookie(cookie)))
    expect(data).toMatchObject({ kind: "management", role: "all", name: "HEADGATE_MANAGEMENT_KEY" })
    expect(data.version).toMatch(/^\d/)
    const made = await gateway.send(`${at}/keys`, withCookie(cookie, "POST", own, { name: "made by session" }))
    expect(made.status).toBe(201)
    expect(made.headers.get("cache-control")).toBe("no-store")
  })

  test("is at rest as a hash alone", async () => {
    const key = await gateway.newKey()
    const id = (await cookieFor(gateway, key)).split("=")[1] ?? ""
    const [byId, byHash] = await gateway.run(
      Effect.flatMap(Storage, ({ sessions }) =>
        Effect.all([sessions.find(id), sessions.find(Bun.SHA256.hash(id, "hex"))]),
      ),
    )
    expect(byId).toBeUndefined()
    expect(byHash?.secret).toBe(keyId(key))
  })

  test("ends when it was not used for half an hour, and after eight hours anyway", async () => {
    const cookie = await cookieFor(gateway, await gateway.newKey())
    expect(await passed(30 * minute, () => statusOf(cookie))).toBe(401)
    const other = await cookieFor(gateway, await gateway.newKey())
    const statuses: Array<number> = []
    for (let passing = 0; passing < 8 * hour; passing += 20 * minute) {
      statuses.push(await passed(20 * minute, () => statusOf(other)))
    }
    expect([...new Set(statuses.slice(0, -1))]).toEqual([200])
    expect(statuses.at(-1)).toBe(401)
  })

  test.each<readonly [string, (hash: string) => readonly [path: string, init: RequestInit]]>([
    ["deleted", (hash) => [`/keys/${hash}`, asManager("DELETE")]],
    ["disabled", (hash) => [`/keys/${hash}`, asManager("PATCH", { disabled: true })]],
    ["rotated without overlap", (hash) => [`/keys/${hash}/rotate`, asManager("POST", { overlap_s: 0 })]],
  ])("ends when its key is %s", async (__, change) => {
    const key = await gateway.newKey()
    const cookie = await cookieFor(gateway, key)
    expect(await statusOf(cookie)).toBe(200)
    const [path, init] = change(keyId(key))
    expect((await gateway.send(`${at}${path}`, init)).status).toBeLessThan(300)
    expect(await statusOf(cookie)).toBe(401)
  })

  test("of a disabled key stays ended once the key is enabled again, that of a rotated secret too", async () => {
    const key = await gateway.newKey()
    const change = (path: string, method: string, body: object) =>
      gateway.send(`${at}/keys/${keyId(key)}${path}`, asManager(method, body))
    const first = await cookieFor(gateway, key)
    const { key: secret } = await json(await change("/rotate", "POST", { overlap_s: 600 }))
    const second = await cookieFor(gateway, secret)
    expect([await statusOf(first), await statusOf(second)]).toEqual([200, 200])
    await change("", "PATCH", { disabled: true })
    await change("", "PATCH", { disabled: false })
    expect([await statusOf(first), await statusOf(second)]).toEqual([401, 401])
    expect(await statusOf(await cookieFor(gateway, secret))).toBe(200)
  })

  test("ends when its secret does: at the end of a rotation's overlap, or when the key expires", async () => {
    const [rotated, expiring] = [await gateway.newKey(), await gateway.newKey({ expiresAt: gateway.time.now + minute })]
    const cookies = [await cookieFor(gateway, rotated), await cookieFor(gateway, expiring)]
    await gateway.send(`${at}/keys/${keyId(rotated)}/rotate`, asManager("POST", { overlap_s: 60 }))
    const { data } = await json(await gateway.send(`${at}/session`, withCookie(cookies[0] ?? "")))
    expect(Date.parse(data.expires_at)).toBe(gateway.time.now + minute)
    expect(await Promise.all(cookies.map(statusOf))).toEqual([200, 200])
    expect(await passed(minute, () => Promise.all(cookies.map(statusOf)))).toEqual([401, 401])
  })

  test("is ended by signing out, which takes the cookie away", async () => {
    const key = await gateway.newKey()
    const [cookie, other] = [await cookieFor(gateway, key), await cookieFor(gateway, key)]
    const response = await gateway.send(`${at}/session`, withCookie(cookie, "DELETE"))
    expect(await json(response)).toEqual({ deleted: true })
    expect(response.headers.get("set-cookie")).toBe(
      "__Host-headgate=; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=0",
    )
    expect([await statusOf(cookie), await statusOf(other)]).toEqual([401, 200])
    await expectError(await gateway.send(`${at}/session`, { method: "DELETE", ...bearer(key) }), 404)
  })

  test("is the newest of a hundred of its key: the oldest ends with one more", async () => {
    const key = await gateway.newKey()
    const first = await cookieFor(gateway, key)
    await passed(1, async () => {})
    for (let count = 0; count < 99; count++) await cookieFor(gateway, key)
    expect(await statusOf(first)).toBe(200)
    await cookieFor(gateway, key)
    expect(await statusOf(first)).toBe(401)
  })

  test("that has ended is removed in bounded steps", async () => {
    const old = Date.UTC(2020, 0)
    const removed = await gateway.run(
      Effect.flatMap(Storage, ({ sessions }) =>
        Effect.gen(function* () {
          for (const id of ["a", "b", "c"]) {
            yield* sessions.insert({ id, secret: KeyId.make("s"), createdAt: old, seenAt: old }, 9, undefined)
          }
          const counts = [yield* sessions.prune(old, 2), yield* sessions.prune(old, 2), yield* sessions.prune(old, 2)]
          return [...counts, yield* sessions.find("a")]
        }),
      ),
    )
    expect(removed).toEqual([2, 1, 0, undefined])
  })
})

describe("with a session", () => {
  let gateway: ControlPlane
  let key: string
  let cookie: string
  beforeAll(async () => {
    gateway = await start()
    key = await gateway.newKey()
    cookie = await cookieFor(gateway, managementKey)
  })
  afterAll(() => gateway.close())

  test("a key in a header wins, and then the cookie is not looked at", async () => {
    const { data } = await json(await gateway.send(`${at}/session`, { headers: { cookie, ...bearer(key).headers } }))
    expect(data.kind).toBe("ordinary")
    for (const headers of [{ authorization: "Bearer no-key" }, { "x-api-key": "no-key" }, { authorization: "" }]) {
      await expectError(await gateway.send(`${at}/session`, { headers: { cookie, ...headers } }), 401)
    }
  })

  test("two cookies of the name are none, and neither is one of the other name or of another form", async () => {
    const id = cookie.split("=")[1] ?? ""
    const cookies = [`${cookie}; ${cookie}`, `headgate=${id}`, `${cookie}x`, "__Host-headgate=", `other=1;${cookie}`]
    const statuses = []
    for (const one of cookies) statuses.push((await gateway.send(`${at}/keys`, withCookie(one))).status)
    expect(statuses).toEqual([401, 401, 401, 401, 200])
  })

  test("a caller with neither a key nor a session is told that nobody calls, and no more", async () => {
    for (const headers of [{}, own, { cookie: "theme=dark" }] as ReadonlyArray<Record<string, string>>) {
      const response = await gateway.send(`${at}/session`, { headers })
      expect([response.status, await json(response)]).toEqual([200, { data: null }])
    }
    await expectError(await gateway.send(`${at}/session`, { method: "DELETE", headers: own }), 401)
    await expectError(await gateway.send(`${at}/session`, { headers: { cookie: "__Host-headgate=ended" } }), 401)
  })

  test.each<readonly [string, Record<string, string>, read: number, change: number]>([
    ["one of our pages", { "sec-fetch-site": "same-origin" }, 200, 201],
    ["the address bar", { "sec-fetch-site": "none" }, 200, 403],
    ["another site", { "sec-fetch-site": "cross-site", origin: publicUrl }, 403, 403],
    ["another port or subdomain", { "sec-fetch-site": "same-site" }, 403, 403],
    ["one of our pages in an older browser", { origin: publicUrl }, 200, 201],
    ["another page in an older browser", { origin: "https://gateway.test.evil.example" }, 403, 403],
    ["our name without TLS", { origin: "http://gateway.test" }, 403, 403],
    ["a page without an origin", { origin: "null" }, 403, 403],
    ["nobody knows what", {}, 200, 403],
  ])("a request from %s", async (_, headers, read, change) => {
    const reading = await gateway.send(`${at}/keys`, withCookie(cookie, "GET", headers))
    const changing = await gateway.send(`${at}/keys`, withCookie(cookie, "POST", headers, { name: "made" }))
    expect([reading.status, changing.status]).toEqual([read, change])
    if (change === 403) expect((await json(changing)).error.message).toContain("another origin")
  })

  test("no cache keeps what the cookie decides about, listings that other origins may read among it", async () => {
    const listing = await gateway.send(`${at}/models`, withCookie(cookie))
    expect(listing.status).toBe(200)
    expect([listing.headers.get("cache-control"), listing.headers.get("vary")]).toEqual([
      "no-store",
      "Cookie, Authorization",
    ])
    expect(listing.headers.get("access-control-allow-credentials")).toBeNull()
  })
})

describe("signing in", () => {
  test("is refused over plain HTTP from anywhere but this machine, in words that say what to do", async () => {
    const gateway = await startControlPlane()
    const error = await expectError(await signIn(gateway, managementKey, {}, "http://gateway.test/api/v1"), 403)
    expect(error.message).toContain("TLS")
    expect(error.message).toContain("server.public_url")
    const local = await signIn(gateway, managementKey, own, "http://127.0.0.1:8787/api/v1")
    expect(local.headers.get("set-cookie")).toMatch(/^headgate=[0-9A-Za-z]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
    await gateway.close()
  })

  const remote = "203.0.113.7"
  test.each<readonly [url: string, publicUrl: string | null, peer: string | null, address: string | null, boolean]>([
    ["http://127.0.0.1:8787/", null, "127.0.0.1", "127.0.0.1", true],
    ["http://[::1]:8787/", null, "::1", "::1", true],
    ["http://localhost/", null, "::ffff:127.0.0.1", "127.0.0.1", true],
    ["http://console.localhost/", null, "127.0.0.1", "127.0.0.1", true],
    ["http://localhost.evil.example/", null, "127.0.0.1", "127.0.0.1", false],
    ["http://127.0.0.1:abc/", null, "127.0.0.1", "127.0.0.1", false],
    ["/api/v1/session", null, "127.0.0.1", "127.0.0.1", false],
    ["http://127.0.0.1:8787/", null, remote, remote, false],
    ["http://127.0.0.1:8787/", null, "127.0.0.1", remote, false],
    ["http://192.168.0.4/", null, "127.0.0.1", "127.0.0.1", false],
    ["http://gateway.test/", "http://gateway.test", remote, remote, false],
    ["http://127.0.0.1/", "http://gateway.test", "127.0.0.1", "127.0.0.1", true],
    ["http://10.0.0.1/", publicUrl, remote, remote, true],
    ["https://app.test/", null, null, null, true],
  ])("at %s, server.public_url %p, peer %p, caller %p: %p", (url, known, peer, address, isAccepted) => {
    const refusal = signInRefusal({ method: "POST", headers: new Headers() }, placeOf(known, url), { peer, address })
    expect(refusal === undefined).toBe(isAccepted)
  })

  test("through a proxy of the same machine wants server.public_url, whatever name the proxy asks for", () => {
    const near = { peer: "127.0.0.1", address: "127.0.0.1" }
    const refusal = (known: string | null, headers: Record<string, string>) =>
      signInRefusal({ method: "POST", headers: new Headers(headers) }, placeOf(known, "http://127.0.0.1:8787/"), near)
    expect(refusal(null, { "x-forwarded-for": remote })?.message).toContain("server.public_url")
    expect(refusal(null, { "x-forwarded-proto": "https" })?.message).toContain("server.public_url")
    expect(refusal(null, { "x-real-ip": remote })?.message).toContain("server.public_url")
    // One that adds no header. The browser, which reaches it over TLS, says that the page is its own.
    const page = { "sec-fetch-site": "same-origin", origin: publicUrl }
    expect(refusal(null, page)?.message).toContain("server.public_url")
    expect(refusal(null, { ...page, origin: "http://127.0.0.1:8787" })).toBeUndefined()
    expect(refusal(publicUrl, { ...page, "x-forwarded-for": remote })).toBeUndefined()
  })

  test.each<readonly [Record<string, string>, number]>([
    [{}, 200],
    [{ origin: publicUrl }, 200],
    [{ "sec-fetch-site": "same-origin" }, 200],
    [{ origin: "https://evil.example" }, 403],
    [{ "sec-fetch-site": "cross-site" }, 403],
    [{ "sec-fetch-site": "none" }, 403],
  ])("from a page with %p is %p", async (headers, status) => {
    const gateway = await start()
    expect((await signIn(gateway, managementKey, headers)).status).toBe(status)
    await gateway.close()
  })

  test("with something else than a key is refused, and not repeated", async () => {
    const gateway = await start()
    await expectError(await signIn(gateway, "sk-gw-wrong"), 401)
    await expectError(await signIn(gateway, 7), 400)
    await expectError(await gateway.send(`${at}/session`, { method: "POST", body: "{" }), 400)
    const long = await signIn(gateway, "x".repeat(9000))
    expect(long.status).toBe(413)
    expect(gateway.log.join("\n")).not.toContain("sk-gw-wrong")
    await gateway.close()
  })

  test("keeps to the addresses of the key", async () => {
    const gateway = await start()
    const key = await gateway.newKey({ allowedAddresses: ["10.0.0.0/8"] })
    await expectError(await signIn(gateway, key), 403)
    await gateway.close()
  })

  test("may fail ten times in five minutes; what succeeds does not count", async () => {
    const gateway = await start()
    for (let count = 0; count < 30; count++) await cookieFor(gateway, managementKey)
    for (let count = 0; count < 10; count++) await expectError(await signIn(gateway, "sk-gw-wrong"), 401)
    const refused = await signIn(gateway, managementKey)
    expect(refused.headers.get("retry-after")).toBe("300")
    const error = await expectError(refused, 429)
    expect(error.metadata.limit_source).toBe("gateway_sign_in")
    gateway.time.now += 5 * minute
    expect((await signIn(gateway, managementKey)).status).toBe(200)
    await gateway.close()
  })

  test("is not for gateways whose app says who may call", async () => {
    const keys = KeyStore.layerFrom(() => Effect.succeed({ id: KeyId.make("ann"), limit: null }))
    const gateway = await start({ keys })
    const error = await expectError(await signIn(gateway, "any"), 404)
    expect(error.message).toContain("The app around this gateway")
    const cookie = `__Host-headgate=${"x".repeat(43)}`
    await expectError(await gateway.send(`${at}/session`, withCookie(cookie)), 401)
    const { data } = await json(await gateway.send(`${at}/session`, bearer("any")))
    expect(data).toMatchObject({ kind: "ordinary", hash: "ann", created_at: null })
    await gateway.close()
  })
})

describe.skipIf(!hasPostgres)("at two gateways on one database", () => {
  test("a session of one is good at the other, and ends at both", async () => {
    const database = await makeDatabase()
    const one = await start({ storage: postgresOf(database) })
    const other = await start({ storage: postgresOf(database) })
    const key = await one.newKey()
    const [cookie, second] = [await cookieFor(one, key), await cookieFor(one, key)]
    const seen = async (gateway: ControlPlane, which: string) =>
      (await gateway.send(`${at}/session`, withCookie(which))).status
    expect([await seen(one, cookie), await seen(other, cookie)]).toEqual([200, 200])
    await other.send(`${at}/session`, withCookie(cookie, "DELETE"))
    expect([await seen(one, cookie), await seen(other, cookie)]).toEqual([401, 401])
    expect(await seen(other, second)).toBe(200)
    await one.send(`${at}/keys/${keyId(key)}`, asManager("DELETE"))
    await until(async () => (await seen(other, second)) === 401, "the end of the key at the other gateway")
    await Promise.all([one.close(), other.close()])
  })
})
