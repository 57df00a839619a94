/** The conformance kit with providers that each break the contract in one place: the check of that place fails. */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { defineProvider, HostFailed, httpError, Unsupported } from "headgate/plugin"
import { type ProviderSubject, providerChecks } from "headgate/testing"
import {
  type Broken,
  bodyOf,
  bytes,
  chat,
  definition,
  failing,
  failureOf,
  failuresOf,
  good,
  provider,
  subject,
  withBody,
  withProtocol,
  withProvider,
  writing,
} from "./acme.ts"

const wellFormed = "chat: encode() gives a path below the base URL, headers and a body that can be sent"
const discreet = "chat: encode() writes no credentials and no addresses"
const passesOn = "chat: encode() passes on what it does not know, and names what it leaves out"

const brokenProviders: ReadonlyArray<Broken<ProviderSubject>> = [
  [
    "is made by defineProvider, for the contract of this gateway",
    "another contract",
    { ...subject, plugin: { ...good, contract: 99 } },
    "contract 99",
  ],
  ["has an id in kebab-case", "an id with capitals", { ...subject, plugin: { ...good, id: "Acme_AI" } }, "Acme_AI"],
  [
    "refuses an unknown field of its configuration, and says where it is",
    "a load() that takes anything",
    { ...subject, plugin: { ...good, load: () => good.load({}) } },
    "field_that_does_not_exist",
  ],
  [
    "refuses an unknown field of its configuration, and says where it is",
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
    "one of several key variables in lower case",
    { ...subject, plugin: { ...good, keyVariable: ["ACME_KEY", "acme"] } },
    "environment variable",
  ],
  [
    "says well-formed things of its vendor",
    "an empty set of variables",
    { ...subject, plugin: { ...good, discoveredBy: [["ACME_KEY"], []] } },
    "on everywhere",
  ],
  [
    "says well-formed things of its vendor",
    "a variable for a field that it does not have",
    { ...subject, plugin: { ...good, variables: { regoin: "ACME_REGION" } } },
    "regoin",
  ],
  [
    "says well-formed things of its vendor",
    "an auth header that is none",
    { ...subject, plugin: { ...good, auth: { _tag: "Header", name: "x key" } }, config: {} },
    "auth header",
  ],
  [
    "chat: encode() is pure and repeatable",
    "a request that is changed",
    withProtocol({
      encode: (request, host) => {
        Object.assign(request.payload, { stop: ["HEADGATE-STOP"] })
        return chat.encode(request, host)
      },
    }),
    "frozen",
  ],
  [
    "chat: encode() is pure and repeatable",
    "a request that is never the same",
    withBody((body) => ({ ...body, nonce: crypto.randomUUID() })),
    "different things",
  ],
  [
    wellFormed,
    "a path that climbs",
    writing((encoded) => ({ ...encoded, path: "/../admin" })),
    "begins with one slash",
  ],
  [wellFormed, "a header beyond ASCII", writing((encoded) => ({ ...encoded, headers: { "x-app": "café" } })), "header"],
  [
    discreet,
    "a key in a header",
    writing((encoded) => ({ ...encoded, headers: { authorization: "Bearer x" } })),
    "authorization",
  ],
  [discreet, "a key in the path", writing((encoded) => ({ ...encoded, path: "/chat?key=abc" })), "credential"],
  [
    discreet,
    "an address in the body",
    withBody((body) => ({ ...body, callback: "see https://evil.example/x" })),
    "https://evil.example",
  ],
  [discreet, "a member that leads elsewhere", withBody((body) => ({ ...body, extra_headers: {} })), "extra_headers"],
  [discreet, "a secret of the configuration", withBody((body) => ({ ...body, user: "key-of-acme-1234" })), "a secret"],
  [
    passesOn,
    "a list of what passes",
    withBody(({ messages, model, max_tokens, temperature, stop }) => ({
      ...{ messages, model, max_tokens, temperature, stop },
    })),
    "does not know",
  ],
  [
    "chat: encode() sends every parameter, or says that it drops it",
    "a parameter that is lost",
    withBody(({ temperature: _, ...body }) => body),
    "temperature",
  ],
  [
    "chat: encode() sends every parameter, or says that it drops it",
    "a parameter that every vendor has, dropped without a word of the author",
    writing((encoded) => {
      const { temperature, ...body } = bodyOf(encoded)
      return { ...encoded, body: JSON.stringify(body), dropped: temperature === undefined ? [] : ["temperature"] }
    }),
    'lacks: ["temperature"]',
  ],
  [
    passesOn,
    "every member named as dropped, and sent",
    writing((encoded) => ({ ...encoded, dropped: Object.keys(bodyOf(encoded)).filter((name) => name !== "messages") })),
    "and sends it",
  ],
  [
    passesOn,
    "names of members that the caller did not send",
    writing((encoded) => ({ ...encoded, dropped: ["logit_bias"] })),
    "which the caller did not send",
  ],
  [
    "chat: encode() asks for the model by the host's own name",
    "the caller's name of the model",
    withProtocol({ encode: (request, host) => chat.encode(request, { ...host, upstreamModel: host.model }) }),
    "name-at-the-host",
  ],
  [
    "chat: encode() bounds the output",
    "the caller's own bound",
    withBody((body) => ({ ...body, max_tokens: 3777 })),
    "money is reserved",
  ],
  [
    "chat: encode() sends or refuses every kind of part",
    "a refusal without a path",
    withProtocol({
      encode: (request, host) =>
        JSON.stringify(request.payload.messages).includes("input_audio")
          ? Either.left(new Unsupported({ path: "audio", reason: "this host takes no audio" }))
          : chat.encode(request, host),
    }),
    "at the path",
  ],
  [
    "chat: encode() sends or refuses every kind of part",
    "a part that is not expected",
    withProtocol({
      encode: (request, host) => {
        for (const { content } of request.payload.messages) {
          for (const part of Array.isArray(content) ? content : [])
            Object(part).image_url?.url.split(";base64,")[1].trim()
        }
        return chat.encode(request, host)
      },
    }),
    "threw",
  ],
  [
    "error(): 401, 402 is account",
    "the operator's key as the caller's fault",
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
    "at most 1024",
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
    "lists models that the catalogue takes",
    "a price with a comma",
    withProvider({
      models: async () => [
        { id: "acme/small", context_length: 1000, hosts: [{ pricing: { prompt: "0,1", completion: "0" } }] },
      ],
    }),
    "models[0].hosts[0].pricing.prompt",
  ],
]

describe("providerChecks", () => {
  test("pass for a good plugin, and have names of their own", async () => {
    const checks = await providerChecks(subject)
    expect([...(await failuresOf(checks))]).toEqual([])
    expect(new Set(checks.map(({ name }) => name)).size).toBe(checks.length)
  })

  test("are the same, and pass, for a good plugin that loads later", async () => {
    const later = { ...subject, plugin: defineProvider({ ...definition, load: async () => provider }) }
    const checks = await providerChecks(later)
    expect([...(await failuresOf(checks))]).toEqual([])
    expect(checks.map(({ name }) => name)).toEqual((await providerChecks(subject)).map(({ name }) => name))
  })

  test.each([...brokenProviders])("%s: %s", async (check, _, broken, says) => {
    expect(await failureOf(await providerChecks(broken), check)).toContain(says)
  })
})

describe("providerChecks with something wrong in the plugin as a whole", () => {
  const loads = "loads with the configuration given, and can do something"

  test.each([
    ["a field that the plugin does not have", { regoin: "eu" }, "regoin: expected no field"],
    ["a field of the gateway that is wrong", { base_url: "ftp://x" }, "base_url"],
    ["a variable that is not set", { api_key: { env: "HEADGATE_TEST_NEVER_SET" } }, "HEADGATE_TEST_NEVER_SET"],
  ])("%s: reported by a check of its own, and none passes that cannot", async (_, config, says) => {
    const checks = await providerChecks({ ...subject, config })
    const failures = await failuresOf(checks)
    expect(failures.get(loads)).toContain(says)
    expect(failures.size).toBeGreaterThan(10)
    expect(checks.some(({ name }) => name.startsWith("chat:"))).toBe(false)
  })

  // What no compiler would let pass, a plugin in JavaScript may return.
  const wrongly = <A>(value: unknown): A => value as A

  test.each<[string, ProviderSubject, string]>([
    ["half a protocol", withProtocol({ decoder: wrongly(undefined) }), "a protocol chat whose decoder is a function"],
    [
      "a promise of a provider that is rejected",
      { ...subject, plugin: defineProvider({ ...definition, load: () => Promise.reject(new Error("no module")) }) },
      "no module",
    ],
    ["no protocol at all", withProvider({ protocols: {} }), "acme.load must return at least one protocol"],
    ["no error()", withProvider({ error: wrongly(undefined) }), "acme.load must return error as a function"],
    [
      "a stream for a protocol that is not there",
      { ...subject, streams: [{ protocol: "responses", bytes, expects: { text: "" } }] },
      '"responses"',
    ],
  ])("%s", async (_, broken, says) => {
    expect((await failuresOf(await providerChecks(broken))).get(loads)).toContain(says)
  })

  test.each<[string, ProviderSubject]>([
    ["no Either", withProtocol({ encode: wrongly(() => ({ path: "/chat", body: "{}" })) })],
    ["a path without a slash", writing((encoded) => ({ ...encoded, path: "chat" }))],
    ["a body that is an object", writing((encoded) => ({ ...encoded, body: wrongly(bodyOf(encoded)) }))],
    ["names of headers in capitals", writing((encoded) => ({ ...encoded, headers: { "X-App": "a" } }))],
    [
      "a refusal of everything",
      withProtocol({ encode: () => Either.left(new Unsupported({ path: "", reason: "no" })) }),
    ],
    [
      "a failure of the host",
      withProtocol({ encode: wrongly(() => Either.left(new HostFailed({ reason: "request" }))) }),
    ],
    ["a body that is no JSON", writing((encoded) => ({ ...encoded, body: "model=x" }))],
  ])("an encode() that gives %s fails the checks that read its request", async (_, broken) => {
    expect(await failureOf(await providerChecks(broken), wellFormed)).toBeString()
  })
})
