/**
 * Generated bodies, paths, query strings and headers: every answer is a documented one and never a 500.
 * docs/guarantees.md#g30
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { errorOf } from "../../support/clients/answers.ts"
import { fine, type Json } from "../../support/clients/badInputs.ts"
import { gatewayWithoutSocket, type TestGateway } from "../../support/gateways/gateway.ts"
import { configFor, scriptedHost, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"

const host = scriptedHost((body) => (body["stream"] === true ? streamAnswer(["Hello."]) : wholeAnswer("Hello.")))
let gateway: TestGateway
/** A key with a limit: its requests reserve money. */
let limited: string
let managed: string

beforeAll(async () => {
  gateway = await gatewayWithoutSocket({ config: configFor({ acme: { url: host.url } }) })
  limited = await gateway.newKey({ limit: 10_000_000_000_000n })
  managed = keyId(await gateway.newKey())
})
afterAll(async () => {
  await gateway.stop()
  await host.stop()
})

/** Checks a whole answer: one of these statuses, and errors in the documented form. */
const expectOneOf = async (response: Response, ...statuses: ReadonlyArray<number>): Promise<void> => {
  expect(statuses).toContain(response.status)
  if (response.status >= 300) await errorOf(response)
  else await response.text()
}

const runs = (numRuns: number) => ({ numRuns })

/** Edge cases that are often forgotten. */
const awkward = FastCheck.constantFrom<unknown>(
  ...[null, true, 0, -0, -1, 0.5, 1e308, 5e-324, 2 ** 31, 2 ** 53, "", " ", "0", "NaN", "\u0000", "\ud800", "\u2028"],
  ...["__proto__", "x".repeat(300), "9".repeat(400), "1e400", [], [[]], [null], {}, { "": null }, { toString: 1 }],
)
const anyValue = FastCheck.oneof(awkward, FastCheck.jsonValue())

type Step = string | number

/** The path of every place in a value, without the value itself. */
const placesIn = (value: unknown, at: ReadonlyArray<Step> = []): ReadonlyArray<ReadonlyArray<Step>> => {
  if (typeof value !== "object" || value === null) return [at]
  const steps: ReadonlyArray<Step> = Array.isArray(value) ? [...value.keys()] : Object.keys(value)
  return [...(at.length > 0 ? [at] : []), ...steps.flatMap((step) => placesIn(Reflect.get(value, step), [...at, step]))]
}

/** What a mutation does to one place. */
type Change = { readonly place: number; readonly value: unknown; readonly kind: "put" | "remove" | "double" | "wrap" }

const changed = (value: Json, { place, value: other, kind }: Change): Json => {
  const places = placesIn(value)
  const path = places[place % places.length] ?? []
  const copy = structuredClone(value)
  const parent = path.slice(0, -1).reduce<object>((inside, step) => Reflect.get(inside, step), copy)
  const last = path.at(-1) ?? ""
  if (kind === "remove") Reflect.deleteProperty(parent, last)
  else if (kind === "double" && Array.isArray(parent)) parent.push(structuredClone(parent[Number(last)]))
  else Reflect.set(parent, last, kind === "wrap" ? [Reflect.get(parent, last)] : other)
  return copy
}

const changeOf: FastCheck.Arbitrary<Change> = FastCheck.record({
  place: FastCheck.nat(1000),
  value: anyValue,
  kind: FastCheck.constantFrom("put", "put", "put", "remove", "double", "wrap"),
})

/** A valid object with up to four mutations. */
const near = (valid: Json): FastCheck.Arbitrary<Json> =>
  FastCheck.array(changeOf, { minLength: 1, maxLength: 4 }).map((changes) => changes.reduce(changed, valid))

/** A text with pieces removed and other bytes inserted. */
const mangled = (text: string): FastCheck.Arbitrary<Uint8Array<ArrayBuffer>> => {
  const bytes = new TextEncoder().encode(text)
  return FastCheck.tuple(
    FastCheck.nat(bytes.length),
    FastCheck.nat(4),
    FastCheck.oneof(
      FastCheck.uint8Array({ maxLength: 4 }),
      FastCheck.constantFrom(...[...'{}[]":,\\\u00ff0eE+-'].map((sign) => new TextEncoder().encode(sign))),
    ),
  ).map(([at, cut, put]) => new Uint8Array(Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + cut)])))
}

const anyBytes = FastCheck.uint8Array({ maxLength: 200 }).map((bytes) => new Uint8Array(bytes))

/** A valid request with many members. */
const rich: Json = {
  ...fine,
  models: ["acme/small", "small"],
  messages: [
    { role: "system", content: "Be brief." },
    {
      role: "user",
      content: [
        { type: "text", text: "hi" },
        { type: "image_url", image_url: { url: "https://x.test/y" } },
      ],
    },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "c", content: "42" },
  ],
  provider: {
    order: ["acme"],
    only: ["acme"],
    ignore: ["other"],
    sort: { by: "price", partition: "none" },
    allow_fallbacks: true,
    quantizations: ["unknown"],
    max_price: { prompt: 10, completion: "20" },
    preferred_max_latency: { p90: 3 },
  },
  tools: [{ type: "function", function: { name: "f", parameters: { type: "object", properties: { a: {} } } } }],
  tool_choice: { type: "function", function: { name: "f" } },
  response_format: { type: "json_schema", json_schema: { name: "s", schema: {} } },
  reasoning: { effort: "high", exclude: true },
  logit_bias: { "1": 5 },
  metadata: { a: "b" },
  max_tokens: 10,
  temperature: 0.5,
  stop: ["a"],
  n: 1,
  seed: 7,
  usage: { include: true },
  stream_options: { include_usage: true },
  user: "u",
  foo: { bar: [1] },
}

describe("chat completions", () => {
  const post = (body: string | Uint8Array<ArrayBuffer>, key: string) =>
    gateway.call("/chat/completions", {
      method: "POST",
      body,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    })
  const keyOf = (money: boolean) => (money ? limited : gateway.key)

  test("the base of the mutations is a valid request", async () => {
    await expectOneOf(await post(JSON.stringify(rich), limited), 200)
    await expectOneOf(await post(JSON.stringify({ ...rich, stream: true }), limited), 200)
  })
  test("any JSON value", async () => {
    const property = FastCheck.asyncProperty(
      FastCheck.oneof(
        FastCheck.json(),
        anyValue.map((value) => JSON.stringify(value)),
      ),
      async (body) => expectOneOf(await post(body, gateway.key), 400),
    )
    await FastCheck.assert(property, runs(300))
  })
  test("any further members of a valid request", async () => {
    const property = FastCheck.asyncProperty(FastCheck.object(), async (members) =>
      expectOneOf(await post(JSON.stringify({ ...members, ...fine }), gateway.key), 200, 400, 404),
    )
    await FastCheck.assert(property, runs(150))
  })
  test("a valid request with mutations", async () => {
    const property = FastCheck.asyncProperty(
      near(rich),
      FastCheck.boolean(),
      FastCheck.boolean(),
      async (body, stream, money) =>
        expectOneOf(await post(JSON.stringify({ ...body, stream }), keyOf(money)), 200, 400, 402, 404),
    )
    await FastCheck.assert(property, runs(500))
  })
  test("any bytes", async () => {
    const property = FastCheck.asyncProperty(anyBytes, async (body) => expectOneOf(await post(body, gateway.key), 400))
    await FastCheck.assert(property, runs(300))
  })
  test("a valid request with other bytes in it", async () => {
    const property = FastCheck.asyncProperty(mangled(JSON.stringify(rich)), async (body) =>
      expectOneOf(await post(body, limited), 200, 400, 402, 404),
    )
    await FastCheck.assert(property, runs(500))
  })
  test("any header values", async () => {
    const value = FastCheck.oneof(
      FastCheck.string({ unit: "binary-ascii", maxLength: 40 }).map((text) => text.replace(/[\0\r\n]/g, "")),
      FastCheck.constantFrom(
        "",
        "acme",
        "ACME",
        "acme/eu",
        "application/json",
        `Bearer ${"x".repeat(55)}`,
        "\u00fc\u00ff",
      ),
    )
    const names = [
      "authorization",
      "x-api-key",
      "content-type",
      "content-encoding",
      "x-gw-host",
      "x-title",
      "http-referer",
      "origin",
    ]
    const headersOf = FastCheck.dictionary(FastCheck.constantFrom(...names), value)
    const property = FastCheck.asyncProperty(headersOf, async (headers) =>
      expectOneOf(await gateway.chat(fine, { headers }), 200, 400, 401, 404),
    )
    await FastCheck.assert(property, runs(300))
  })
})

describe("key management", () => {
  const manage = (method: string, path: string, body?: string | Uint8Array<ArrayBuffer>) =>
    gateway.call(path, {
      method,
      headers: { authorization: `Bearer ${gateway.managementKey}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body }),
    })
  const key: Json = {
    name: "n",
    limit: 5.25,
    limit_reset: "daily",
    include_byok_in_limit: false,
    expires_at: "2999-01-01T00:00:00Z",
    creator_user_id: "u",
    rate_limit: null,
  }
  const change: Json = { name: "n", disabled: false, limit: null, limit_reset: null, include_byok_in_limit: true }
  const bodies = (valid: Json) =>
    FastCheck.oneof(
      FastCheck.json(),
      near(valid).map((body) => JSON.stringify(body)),
      mangled(JSON.stringify(valid)),
      anyBytes,
    )

  test("the base of the mutations is valid", async () => {
    await expectOneOf(await manage("POST", "/keys", JSON.stringify(key)), 201)
    await expectOneOf(await manage("PATCH", `/keys/${managed}`, JSON.stringify(change)), 200)
  })
  test("any body of a new key", async () => {
    const property = FastCheck.asyncProperty(bodies(key), async (body) =>
      expectOneOf(await manage("POST", "/keys", body), 201, 400),
    )
    await FastCheck.assert(property, runs(400))
  })
  test("any body of a change", async () => {
    const property = FastCheck.asyncProperty(bodies(change), async (body) =>
      expectOneOf(await manage("PATCH", `/keys/${managed}`, body), 200, 400),
    )
    await FastCheck.assert(property, runs(400))
  })
  test("any query of the list", async () => {
    const names = ["limit", "offset", "include_disabled", "workspace_id", "search"]
    const value = FastCheck.oneof(
      FastCheck.string({ unit: "grapheme" }),
      FastCheck.integer().map(String),
      FastCheck.constantFrom("true", "1e3", "0x1", "9".repeat(30), "%", "\u0000"),
    )
    const pairs = FastCheck.array(
      FastCheck.tuple(FastCheck.oneof(FastCheck.constantFrom(...names), FastCheck.string()), value),
    )
    const written = FastCheck.oneof(
      pairs.map((list) => String(new URLSearchParams(list))),
      FastCheck.webQueryParameters(),
      FastCheck.constantFrom("%", "%zz", "limit=%ff", "&&=&", "limit", "limit=", "limit[]=1", "limit=1&limit=2"),
    )
    const property = FastCheck.asyncProperty(written, async (query) =>
      expectOneOf(await manage("GET", `/keys?${query}`), 200, 400),
    )
    await FastCheck.assert(property, runs(400))
  })
  test("any name of a key, and any path at all", async () => {
    const segment = FastCheck.oneof(
      FastCheck.string({ unit: "grapheme" }).map(encodeURIComponent),
      FastCheck.webSegment(),
      FastCheck.constantFrom("%", "%zz", "%ff", "%00", "..%2f", "a".repeat(5000), ":hash", "*", "__proto__"),
    )
    const method = FastCheck.constantFrom("GET", "PATCH", "DELETE", "POST", "PUT")
    const paths = FastCheck.oneof(
      segment.map((name) => `/keys/${name}`),
      FastCheck.tuple(segment, segment).map(([author, slug]) => `/models/${author}/${slug}/endpoints`),
      FastCheck.array(segment, { maxLength: 4 }).map((segments) => `/${segments.join("/")}`),
    )
    const property = FastCheck.asyncProperty(method, paths, async (verb, path) =>
      expectOneOf(await manage(verb, path, verb === "GET" || verb === "DELETE" ? undefined : "{}"), 200, 400, 404),
    )
    await FastCheck.assert(property, runs(500))
  })
})
