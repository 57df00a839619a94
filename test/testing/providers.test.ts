/** The conformance kit, held against providers of which each breaks the contract in one place: that check fails, and no other. */
import { describe, expect, test } from "bun:test"
import * as Schema from "effect/Schema"
import { defineProvider, httpError, type WireForm } from "headgate/plugin"
import { type ProviderSubject, providerChecks } from "headgate/testing"
import {
  type Broken,
  bytes,
  chat,
  definition,
  failing,
  failuresOf,
  good,
  provider,
  subject,
  withBody,
  withForm,
  withProvider,
  writing,
} from "./acme.ts"

const brokenProviders: ReadonlyArray<Broken<ProviderSubject>> = [
  [
    "is made by defineProvider, for the contract of this gateway",
    "another contract",
    { ...subject, plugin: { ...good, contract: 99 } },
    "contract 99",
  ],
  ["has an id in kebab-case", "an id with capitals", { ...subject, plugin: { ...good, id: "Acme_AI" } }, "Acme_AI"],
  [
    "refuses an unknown field of its configuration, and says where it stands",
    "a load() that takes anything",
    { ...subject, plugin: { ...good, load: () => good.load({}) } },
    "field_that_nobody_knows",
  ],
  [
    "refuses an unknown field of its configuration, and says where it stands",
    "a lax Schema",
    {
      ...subject,
      plugin: defineProvider({
        ...definition,
        config: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
        load: () => provider,
      }),
    },
    "typing error",
  ],
  [
    "says well-formed things of its vendor",
    "a base URL that ends with a slash",
    { ...subject, plugin: { ...good, baseUrl: "https://api.acme.example/v1/" } },
    "ends with a slash",
  ],
  [
    "says well-formed things of its vendor",
    "a public base URL without TLS",
    {
      ...subject,
      plugin: { ...good, baseUrl: "http://api.acme.example/v1" },
      config: { base_url: "https://api.acme.example" },
    },
    "expected https",
  ],
  [
    "says well-formed things of its vendor",
    "a key variable in lower case",
    { ...subject, plugin: { ...good, keyVariable: "acme key" } },
    "environment variable",
  ],
  [
    "says well-formed things of its vendor",
    "an auth header that is none",
    { ...subject, plugin: { ...good, auth: { _tag: "Header", name: "x key" } }, config: {} },
    "auth header",
  ],
  [
    "chat: request() is pure and repeatable",
    "a request that is changed",
    withForm({
      request: (request, host) => {
        Object.assign(request.body, { stop: ["THE END"] })
        return chat.request(request, host)
      },
    }),
    "frozen",
  ],
  [
    "chat: request() is pure and repeatable",
    "a request that is never the same",
    withBody({
      get nonce() {
        return crypto.randomUUID()
      },
    }),
    "different things",
  ],
  [
    "chat: request() says a path below the base URL, and a body of JSON",
    "a path without a slash",
    writing((written) => ({ ...written, path: "chat" })),
    "begins with one slash",
  ],
  [
    "chat: request() says a path below the base URL, and a body of JSON",
    "a path that climbs",
    writing((written) => ({ ...written, path: "/../admin" })),
    "begins with one slash",
  ],
  [
    "chat: request() says a path below the base URL, and a body of JSON",
    "a header beyond ASCII",
    writing((written) => ({ ...written, headers: { "x-app": "café" } })),
    "header",
  ],
  [
    "chat: request() holds no credentials and no addresses",
    "a key in a header",
    writing((written) => ({ ...written, headers: { Authorization: "Bearer x" } })),
    "Authorization",
  ],
  [
    "chat: request() holds no credentials and no addresses",
    "a key in the path",
    writing((written) => ({ ...written, path: "/chat?key=abc" })),
    "credential",
  ],
  [
    "chat: request() holds no credentials and no addresses",
    "an address in the body",
    withBody({ callback: "see https://evil.example/x" }),
    "https://evil.example",
  ],
  [
    "chat: request() holds no credentials and no addresses",
    "a member of G29",
    withBody({ extra_headers: {} }),
    "extra_headers",
  ],
  [
    "chat: request() holds no credentials and no addresses",
    "a secret of the configuration",
    withBody({ user: "key-of-acme-1234" }),
    "a secret",
  ],
  [
    "chat: request() passes on what it does not know",
    "a list of what passes",
    writing(({ body: { messages, model, max_tokens }, ...written }) => ({
      ...written,
      body: { messages, model, max_tokens },
    })),
    "headgate_check_unknown",
  ],
  [
    "chat: request() asks for the model by the host's own name",
    "the caller's name of the model",
    withForm({ request: (request, host) => chat.request(request, { ...host, upstreamModel: host.model }) }),
    "name-at-the-host",
  ],
  ["chat: request() bounds the output", "the caller's own bound", withBody({ max_tokens: 3777 }), "money aside"],
  [
    "error(): 401, 402 is account",
    "our key as the caller's fault",
    failing((status, failure) => ({ ...failure, reason: status === 401 ? "request" : failure.reason })),
    "401",
  ],
  [
    "error(): 403 is forbidden or account",
    "403 as overloaded",
    failing((status, failure) => ({ ...failure, reason: status === 403 ? "overloaded" : failure.reason })),
    "403",
  ],
  [
    "error(): 404 is not-found",
    "404 as malformed",
    failing((status, failure) => ({ ...failure, reason: status === 404 ? "malformed" : failure.reason })),
    "404",
  ],
  [
    "error(): 429 is rate-limited",
    "429 as overloaded",
    failing((status, failure) => ({ ...failure, reason: status === 429 ? "overloaded" : failure.reason })),
    "429",
  ],
  [
    "error(): 500, 503, 529 is overloaded",
    "529 as malformed",
    failing((status, failure) => ({ ...failure, reason: status === 529 ? "malformed" : failure.reason })),
    "529",
  ],
  [
    "error(): 400, 422 is request",
    "422 as malformed",
    failing((status, failure) => ({ ...failure, reason: status === 422 ? "malformed" : failure.reason })),
    "422",
  ],
  [
    "error(): a rate limit keeps the host's Retry-After",
    "a wait that is lost",
    failing((_, { reason, status }) => ({ reason, ...(status === undefined ? {} : { status }) })),
    "retryAfterSeconds",
  ],
  [
    "error() never throws, and cuts and cleans what it shows",
    "an error() that trusts its host",
    withProvider({
      error: (status, headers, body) => {
        if (status === 418) Object(body).error.message.trim()
        return httpError(status, headers, body)
      },
    }),
    "threw",
  ],
  [
    "error() never throws, and cuts and cleans what it shows",
    "a detail without end",
    failing((status, failure, body) => ({
      ...failure,
      ...(status === 400 && typeof body === "string" ? { detail: body } : {}),
    })),
    "at most 2048",
  ],
  [
    "error() shows nothing of a secret",
    "a detail that tells all",
    failing((status, failure, body) => ({
      ...failure,
      ...(status === 403 && typeof body === "string" ? { detail: body.replace(/\p{Cc}/gu, "").slice(0, 99) } : {}),
    })),
    "words about a key",
  ],
  [
    "brings models that the catalogue takes",
    "a price with a comma",
    withProvider({
      models: [{ id: "acme/small", context_length: 1000, hosts: [{ pricing: { prompt: "0,1", completion: "0" } }] }],
    }),
    "models[0].hosts[0].pricing.prompt",
  ],
]

describe("providerChecks", () => {
  test("pass for a good plugin, and have names of their own", async () => {
    const checks = providerChecks(subject)
    expect([...(await failuresOf(checks))]).toEqual([])
    expect(new Set(checks.map(({ name }) => name)).size).toBe(checks.length)
  })

  test.each([...brokenProviders])("%s: %s", async (check, _, broken, says) => {
    const failures = await failuresOf(providerChecks(broken))
    expect([...failures.keys()]).toEqual([check])
    expect(failures.get(check)).toContain(says)
  })
})

describe("providerChecks with something wrong around the plugin", () => {
  const loads = "loads with the configuration given, and can do something"

  test.each([
    ["a field that the plugin does not have", { regoin: "eu" }, "regoin: expected no field"],
    ["a field of the house that is wrong", { base_url: "ftp://x" }, "base_url"],
    ["a variable that is not set", { api_key: { env: "HEADGATE_TEST_NEVER_SET" } }, "HEADGATE_TEST_NEVER_SET"],
  ])("%s: said by a check of its own, and none passes that cannot", async (_, config, says) => {
    const checks = providerChecks({ ...subject, config })
    const failures = await failuresOf(checks)
    expect(failures.get(loads)).toContain(says)
    expect(failures.size).toBeGreaterThan(10)
    expect(checks.some(({ name }) => name.startsWith("chat:"))).toBe(false)
  })

  test("an operation that is half done", async () => {
    const { decoder: _, ...half } = chat
    // What no compiler would let pass, a plugin in JavaScript may hold.
    const broken = withProvider({ operations: { chat: half as WireForm } })
    expect((await failuresOf(providerChecks(broken))).get(loads)).toContain('"chat" lacks')
  })

  test("no operation at all", async () => {
    const failures = await failuresOf(providerChecks(withProvider({ operations: {} })))
    expect([...failures]).toEqual([[loads, expect.stringContaining("no operation")]])
  })

  test("a stream for an operation that is not there", async () => {
    const failures = await failuresOf(
      providerChecks({ ...subject, streams: [{ operation: "responses", bytes, expects: { text: "" } }] }),
    )
    expect([...failures]).toEqual([[loads, expect.stringContaining('"responses"')]])
  })
})
