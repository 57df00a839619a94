/** Where a request comes from, and keys that may be used from certain addresses alone. docs/decisions/0070-the-address-of-a-caller.md */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { networkInterfaces } from "node:os"
import * as Schema from "effect/Schema"
import { Gateway } from "headgate"
import echo from "headgate/providers/echo"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import type { RequestEnd } from "../../../src/services/request/RequestEnds.ts"
import { errorOf } from "../../support/clients/answers.ts"
import { until } from "../../support/clocks/until.ts"
import { collectedLog } from "../../support/gateways/collectedLog.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { observe } from "../../support/gateways/observed.ts"
import { configFor, scriptedHost, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"

const host = scriptedHost((body) => (body["stream"] === true ? streamAnswer(["fine"]) : wholeAnswer("fine")))
const hi = { model: "acme/small", messages: [{ role: "user", content: "hi" }] }

let gateway: TestGateway
let ends: ReadonlyArray<RequestEnd>
let seen = 0

beforeAll(async () => {
  const server = { trusted_proxies: ["127.0.0.1", "10.0.0.0/8"] }
  gateway = await startGateway({ config: { ...configFor({ a: host }), server } })
  ends = await observe(gateway)
})

afterAll(async () => {
  await gateway.stop()
  host.stop()
})

beforeEach(() => {
  seen = ends.length
})

const as = (key: string, from?: string) => ({
  authorization: `Bearer ${key}`,
  ...(from === undefined ? {} : { "x-forwarded-for": from }),
})

const decodeKey = Schema.decodeUnknownSync(
  Schema.Struct({
    key: Schema.optional(Schema.String),
    data: Schema.Struct({ hash: Schema.String, allowed_addresses: Schema.NullOr(Schema.Array(Schema.String)) }),
  }),
)

const decodeAddresses = Schema.decodeUnknownSync(
  Schema.Struct({
    data: Schema.Array(Schema.Struct({ outcome: Schema.String, status: Schema.Number, address: Schema.String })),
  }),
)

/** The end of the test's only request. */
const end = async (): Promise<RequestEnd> => {
  await until(() => ends.length === seen + 1, "the end of a request")
  return ends.at(-1) ?? expect.unreachable()
}

const manage = (path: string, method: string, body?: unknown) =>
  gateway.call(path, {
    method,
    headers: { ...as(gateway.managementKey), "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })

describe("those who observe are told the caller's address", () => {
  test.each<[name: string, from: string | undefined, expected: string]>([
    ["without a header", undefined, "127.0.0.1"],
    ["behind a proxy", "203.0.113.7", "203.0.113.7"],
    ["behind two, and a lie", "6.6.6.6, 2001:DB8::7, 10.0.0.2", "2001:db8::7"],
  ])("%s", async (_name, from, expected) => {
    const response = await gateway.chat(hi, { headers: as(gateway.key, from) })
    await response.text()
    expect([response.status, (await end()).address]).toEqual([200, expected])
  })

  test("of a stream, of a refusal without a key, of the control plane, and of no route", async () => {
    const requests: ReadonlyArray<() => Promise<Response>> = [
      () => gateway.chat({ ...hi, stream: true }, { headers: as(gateway.key, "203.0.113.7") }),
      () => gateway.chat(hi, { headers: as("sk-gw-nobody", "203.0.113.7") }),
      () => gateway.call("/models", { headers: as(gateway.key, "203.0.113.7") }),
      () => gateway.call("/nowhere", { headers: as(gateway.key, "203.0.113.7") }),
    ]
    const told: Array<unknown> = []
    for (const request of requests) {
      seen = ends.length
      await (await request()).text()
      const { status, address } = await end()
      told.push([status, address])
    }
    expect(told).toEqual([200, 401, 200, 404].map((status) => [status, "203.0.113.7"]))
  })

  test("whatever the other header says", async () => {
    const headers = { ...as(gateway.key, "203.0.113.7"), forwarded: "for=6.6.6.6" }
    await (await gateway.chat(hi, { headers })).text()
    expect((await end()).address).toBe("203.0.113.7")
  })
})

describe("a key with allowed_addresses", () => {
  test("is refused elsewhere, told which address was seen, before its rate limit is counted", async () => {
    const key = await gateway.newKey({
      allowedAddresses: ["203.0.113.0/24", "2001:db8::/32"],
      rateLimit: { requests: 2, intervalSeconds: 86_400 },
    })
    for (const stream of [false, true, false]) {
      seen = ends.length
      const refused = await gateway.chat({ ...hi, stream }, { headers: as(key, "203.0.113.7, 198.51.100.1") })
      expect(refused.status).toBe(403)
      expect(await errorOf(refused)).toEqual({
        code: 403,
        message: "This key may not be used from 198.51.100.1.",
        metadata: { error_type: "permission_denied" },
      })
      const { outcome, address, key: whose } = await end()
      expect([outcome, address, whose?.id]).toEqual(["policy_address", "198.51.100.1", keyId(key)])
    }
    const listed = await gateway.call(`/requests?outcome=policy_address&key_hash=${keyId(key)}`, {
      headers: as(gateway.managementKey),
    })
    expect(decodeAddresses(await listed.json()).data).toEqual(
      Array(3).fill({ outcome: "policy_address", status: 403, address: "198.51.100.1" }),
    )
    for (const from of ["203.0.113.7", "2001:db8::1"]) {
      const response = await gateway.chat(hi, { headers: as(key, from) })
      expect([from, response.status]).toEqual([from, 200])
      await response.text()
    }
  })

  test("is refused on every route that asks for a key", async () => {
    const [ordinary, management] = await Promise.all([
      gateway.newKey({ allowedAddresses: ["203.0.113.0/24"] }),
      gateway.newKey({ kind: "management", allowedAddresses: ["203.0.113.0/24"] }),
    ])
    const post = { method: "POST", body: "{}" }
    const routes: ReadonlyArray<readonly [path: string, key: string, init?: RequestInit]> = [
      ["/chat/completions", ordinary, post],
      ["/completions", ordinary, post],
      ["/messages", ordinary, post],
      ["/messages/count_tokens", ordinary, post],
      ["/responses", ordinary, post],
      ["/responses/compact", ordinary, post],
      ["/embeddings", ordinary, post],
      ["/rerank", ordinary, post],
      ["/route/explain", ordinary, post],
      ["/route/explain", management, post],
      ["/key", ordinary],
      ["/keys", management],
      ["/activity", management],
    ]
    const answered = await Promise.all(
      routes.map(async ([path, key, init]) => {
        const response = await gateway.call(path, { ...init, headers: as(key, "198.51.100.1") })
        const text = await response.text()
        return [path, response.status, text.includes("This key may not be used from 198.51.100.1.")]
      }),
    )
    expect(answered).toEqual(routes.map(([path]) => [path, 403, true]))
    const figures = (from: string) => fetch(new URL("/metrics", gateway.url), { headers: as(management, from) })
    expect((await figures("198.51.100.1")).status).toBe(403)
    expect((await figures("203.0.113.7")).status).toBe(200)
    expect((await gateway.call("/keys", { headers: as(management, "203.0.113.7") })).status).toBe(200)
    expect((await gateway.call("/key", { headers: as(ordinary, "203.0.113.7") })).status).toBe(200)
  })

  test("is made and changed over the API, and a change holds at once", async () => {
    const made = decodeKey(
      await (await manage("/keys", "POST", { name: "a", allowed_addresses: ["203.0.113.7"] })).json(),
    )
    const use = async (from: string) => (await gateway.call("/key", { headers: as(made.key ?? "", from) })).status
    const change = async (allowed_addresses: unknown) =>
      decodeKey(await (await manage(`/keys/${made.data.hash}`, "PATCH", { allowed_addresses })).json()).data
        .allowed_addresses
    expect(made.data.allowed_addresses).toEqual(["203.0.113.7"])
    expect([await use("203.0.113.7"), await use("203.0.113.8")]).toEqual([200, 403])
    expect(await change(["203.0.113.8/32", "2001:DB8::/32"])).toEqual(["203.0.113.8/32", "2001:DB8::/32"])
    expect([await use("203.0.113.7"), await use("203.0.113.8"), await use("2001:db8::5")]).toEqual([403, 200, 200])
    expect(await change([])).toBeNull()
    expect(await use("198.51.100.1")).toBe(200)
    expect([await change(["::1"]), await change(null)]).toEqual([["::1"], null])
    expect(await use("198.51.100.1")).toBe(200)
  })

  test.each<[written: unknown, says: string]>([
    [["10.0.0.0/33"], "expected a prefix of 0 to 32 bits after the slash"],
    [["10.0.0.1/8"], "10.0.0.0/8 has this one"],
    [["example.com"], "expected an IP address or a range"],
    [[""], "expected an IP address or a range"],
    [[7], "expected"],
    ["10.0.0.0/8", "expected"],
    [Array(101).fill("10.0.0.1"), "expected at most 100 ranges, got 101"],
  ])("is not made of %j", async (written, says) => {
    const response = await manage("/keys", "POST", { name: "a", allowed_addresses: written })
    const { message, metadata } = await errorOf(response)
    expect([response.status, String(metadata?.["path"])]).toEqual([400, expect.stringMatching(/^allowed_addresses/)])
    expect(`${message} ${JSON.stringify(metadata)}`).toContain(says)
  })
})

const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === "::1"))
if (!hasIpv6) console.warn("1 test is skipped: addresses over a socket of IPv6 (this machine has no ::1)")

test.skipIf(!hasIpv6)(
  "over a socket of IPv6 the address is an IPv6 address, and so are ranges of keys and proxies",
  async () => {
    const server = { hostname: "::1", trusted_proxies: ["::1"] }
    const own = await startGateway({ config: { ...configFor({ a: host }), server } })
    const seenBy = await observe(own)
    const restricted = await own.newKey({ allowedAddresses: ["::1", "2001:db8::/32"] })
    const ask = async (from?: string) => {
      const before = seenBy.length
      const response = await fetch(`http://[::1]:${new URL(own.url).port}/api/v1/chat/completions`, {
        method: "POST",
        headers: { ...as(restricted, from), "content-type": "application/json" },
        body: JSON.stringify(hi),
      })
      await response.text()
      await until(() => seenBy.length > before, "the end of a request")
      return [response.status, seenBy.at(-1)?.address]
    }
    expect(await ask()).toEqual([200, "::1"])
    expect(await ask("2001:DB8:0::7")).toEqual([200, "2001:db8::7"])
    expect(await ask("2001:db9::7")).toEqual([403, "2001:db9::7"])
    expect(await ask("::ffff:203.0.113.7")).toEqual([403, "203.0.113.7"])
    await own.stop()
  },
)

test("an operator who forgot server.trusted_proxies is told so, once, when the address of a request is looked at", async () => {
  const told = async (server: object, headers: ReadonlyArray<Readonly<Record<string, string>>>) => {
    const log = collectedLog()
    const own = await startGateway({ config: { ...configFor({ a: host }), server }, setting: log.layer })
    for (const more of headers) await (await own.chat(hi, { headers: { ...as("sk-gw-nobody"), ...more } })).text()
    await own.stop()
    return log.texts.filter((text) => text.includes("trusted_proxies"))
  }
  const forwarded = { forwarded: "for=203.0.113.7" }
  const forwardedFor = { "x-forwarded-for": "203.0.113.7" }
  const [first, second] = [await told({}, [{}, forwardedFor, forwarded]), await told({}, [forwarded, forwarded])]
  for (const lines of [first, second]) {
    expect(lines).toEqual([expect.stringMatching(/^WARN .*server\.trusted_proxies is not set.*127\.0\.0\.1/)])
  }
  expect(await told({}, [{}])).toEqual([])
  expect(await told({ trusted_proxies: ["10.0.0.0/8"] }, [forwardedFor])).toEqual([])
})

test("in an app of its own the address is what the app says, and a restricted caller without one is refused", async () => {
  const app = await Gateway.handler({
    plugins: [echo],
    config: { storage: "memory:" },
    authenticate: () => ({ id: "ann", allowedAddresses: ["203.0.113.0/24"] }),
  })
  const paths = ["/api/v1/key", "/api/v1/chat/completions"]
  const ask = async (server?: unknown) => {
    const answers = paths.map(async (path) => {
      const body = JSON.stringify({ model: "headgate/echo", messages: [{ role: "user", content: "hi" }] })
      const init = { headers: { ...as("x", "203.0.113.7"), "content-type": "application/json" } }
      const isPost = path.endsWith("completions")
      const request = new Request(`http://app.test${path}`, isPost ? { ...init, method: "POST", body } : init)
      const response = await app.fetch(request, server)
      const text = await response.text()
      return [response.status, /may (not )?be used from[^"]*/.exec(text)?.[0] ?? ""]
    })
    return await Promise.all(answers)
  }
  const both = (answer: ReadonlyArray<string | number>) => [[...answer], [...answer]]
  const unknown = [403, "may be used from certain addresses alone, and the caller's address is not known."]
  const at = (address: string | null) => ({ requestIP: () => (address === null ? null : { address }) })
  expect(await ask()).toEqual(both(unknown))
  expect(await ask({ params: {} })).toEqual(both(unknown))
  expect(await ask(at(null))).toEqual(both(unknown))
  expect(await ask(at("198.51.100.1"))).toEqual(both([403, "may not be used from 198.51.100.1."]))
  expect(await ask(at("203.0.113.9"))).toEqual(both([200, ""]))
  await app.close()
})
