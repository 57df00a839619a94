/** The conformance kit with faults in the hooks beside the protocols, in other operations, and in what it shows of secrets. */
import { expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import {
  defineProvider,
  embeddingsProtocol,
  HostFailed,
  type JsonObject,
  type Provider,
  rerankProtocol,
  Secret,
} from "headgate/plugin"
import { type ProviderSubject, providerChecks } from "headgate/testing"
import { type Broken, definition, failureOf, failuresOf, provider, subject, withProvider } from "./acme.ts"

const signing = (sign: NonNullable<Provider["sign"]>, more: Partial<Provider> = {}) =>
  withProvider({ sign, credentials: { secret: Redacted.make("a-secret-of-the-plugin") }, ...more })

const goodSign: NonNullable<Provider["sign"]> = (encoded, { credentials: { secret }, now }) =>
  secret === undefined
    ? new HostFailed({ reason: "account" })
    : Effect.succeed({ ...encoded, headers: { ...encoded.headers, "x-signature": `${now}` } })

const listing = (decode: NonNullable<Provider["listModels"]>["decode"]): ProviderSubject => ({
  ...withProvider({ listModels: { request: { method: "GET", path: "/models", body: "" }, decode } }),
  listed: { body: { data: [{ id: "acme/small" }] }, expects: ["acme/small"] },
})

const goodListing = listing((body) => {
  const data: unknown = typeof body === "object" && body !== null && "data" in body ? body.data : []
  const entries: ReadonlyArray<unknown> = Array.isArray(data) ? data : []
  return entries.flatMap((entry) =>
    typeof entry === "object" && entry !== null && "id" in entry && typeof entry.id === "string"
      ? [{ id: entry.id, context_length: 1000, hosts: [{}] }]
      : [],
  )
})

const vectors = {
  data: [
    { index: 1, embedding: [3, 4] },
    { index: 0, embedding: [1, 2] },
  ],
  usage: { prompt_tokens: 6, total_tokens: 6 },
}
const scores = { results: [{ index: 1, relevance_score: 0.5 }], usage: { total_tokens: 4 } }
const unary = (more: Partial<Provider> = {}): ProviderSubject => ({
  ...withProvider({ embeddings: embeddingsProtocol(), rerank: rerankProtocol(), ...more }),
  embeddings: [
    {
      body: vectors,
      expects: {
        vectors: [
          [1, 2],
          [3, 4],
        ],
      },
    },
  ],
  rerank: [{ body: scores, expects: { scores: [null, 0.5] } }],
})

test.each<[string, ProviderSubject]>([
  ["a provider that signs", signing(goodSign)],
  ["one that lists models", goodListing],
  ["one with a check of its key", withProvider({ keyCheck: { request: { method: "GET", path: "/key", body: "" } } })],
  ["one with embeddings and a rerank", unary()],
])("%s passes", async (_, good) => {
  const checks = (await providerChecks(good)).filter(({ name }) =>
    /^(sign|listModels|keyCheck|keeps|embeddings|rerank)/.test(name),
  )
  expect(checks.length).toBeGreaterThan(1)
  expect([...(await failuresOf(checks))]).toEqual([])
})

process.env["TEST_HIDDEN_SECRET"] = "a-secret-that-nobody-declares"
/** A provider with a field of its own for a secret. `credentials`: what it makes known of it. */
const keeping = (credentials: Provider["credentials"]): ProviderSubject => ({
  ...subject,
  plugin: defineProvider({
    ...definition,
    config: Schema.Struct({ token: Secret }),
    load: () => ({ ...provider, ...(credentials === undefined ? {} : { credentials }) }),
  }),
  config: { ...subject.config, token: { env: "TEST_HIDDEN_SECRET" } },
})

/** A provider with fields of its own, of which it makes nothing known. */
const reading = <A, I>(fields: Readonly<Record<string, Schema.Schema<A, I>>>, config: JsonObject): ProviderSubject => ({
  ...subject,
  plugin: defineProvider({ ...definition, config: Schema.Struct(fields), load: () => provider }),
  config: { ...subject.config, ...config },
})

test.each<[string, ProviderSubject]>([
  ["given by its variable", keeping(undefined)],
  ["given as text", reading({ token: Secret }, { token: "a-secret-that-is-written-there" })],
  ["in a list", reading({ tokens: Schema.Array(Secret) }, { tokens: ["a-secret-that-is-written-there"] })],
])("a secret that a plugin does not declare is known all the same, %s", async (_, good) => {
  const checks = (await providerChecks(good)).filter(({ name }) => /secret/.test(name))
  expect(checks.map(({ name }) => name)).toContain("chat: no secret is shown, whatever the host repeats")
  expect([...(await failuresOf(checks))]).toEqual([])
})

const broken: ReadonlyArray<Broken<ProviderSubject>> = [
  [
    "sign() completes a request, and keeps its body",
    "a body that is changed after money is reserved for it",
    signing((encoded) => Effect.succeed({ ...encoded, body: `${encoded.body} ` })),
    "changes the body",
  ],
  [
    "sign() completes a request, and keeps its body",
    "a secret in the path",
    signing((encoded) => Effect.succeed({ ...encoded, path: `${encoded.path}?token=a-secret-of-the-plugin` })),
    "a secret into the path",
  ],
  [
    "sign() fails as a host where it cannot sign",
    "a credential that is taken for granted",
    signing((encoded, { credentials: { secret } }) =>
      Effect.sync(() => ({ ...encoded, headers: { "x-signature": Redacted.value(Object(secret)) } })),
    ),
    "without credentials",
  ],
  [
    "sign() fails as a host where it cannot sign",
    "an answer that is trusted",
    signing((encoded, { http }) =>
      Effect.map(http({ url: "https://login.acme.example/token" }), ({ body }) => ({
        ...encoded,
        headers: { authorization: String(JSON.parse(body).access.token) },
      })),
    ),
    "has to give a HostFailed",
  ],
  [
    "transport() answers with streams of its protocol",
    "a stream that is none",
    withProvider({ transport: async () => Response.json({ nothing: true }) }),
    "its own decoder",
  ],
  [
    "listModels reads its host's list, and throws at nothing",
    "a list that is taken for granted",
    listing((body) => Object(body).data.map(({ id }: { readonly id: string }) => ({ id, context_length: 1 }))),
    "threw",
  ],
  [
    "keyCheck asks without credentials",
    "an address of its own in the path",
    withProvider({ keyCheck: { request: { method: "GET", path: "https://acme.example/key", body: "" } } }),
    "",
  ],
  ["listModels reads its host's list, and throws at nothing", "a model that is lost", listing(() => []), "expected"],
  [
    "keeps its secrets where the gateway can see them",
    "a secret that it reads from the environment by itself",
    reading({ token: Schema.Struct({ env: Schema.String }) }, { token: { env: "TEST_HIDDEN_SECRET" } }),
    "not among `credentials`",
  ],
  [
    "keeps its secrets where the gateway can see them",
    "a secret that is a text to it",
    reading({ token: Schema.String }, { token: "a-secret-that-is-a-text" }),
    "not among `credentials`",
  ],
  [
    "keeps its secrets where the gateway can see them",
    "one of several secrets that are texts to it",
    reading({ tokens: Schema.Array(Schema.String) }, { tokens: ["a-secret-that-is-a-text"] }),
    "not among `credentials`",
  ],
  [
    "chat: no secret is shown, whatever the host repeats",
    "a token in a header that by its name is none",
    {
      ...signing((encoded) =>
        Effect.succeed({ ...encoded, headers: { ...encoded.headers, "x-acme-version": "made-by-the-plugin-5521" } }),
      ),
    },
    "what `sign` adds",
  ],
  [
    "embeddings: sample 1 comes to what is expected",
    "vectors in the wrong places",
    {
      ...unary(),
      embeddings: [
        {
          body: vectors,
          expects: {
            vectors: [
              [3, 4],
              [1, 2],
            ],
          },
        },
      ],
    },
    "vectors are",
  ],
  [
    "rerank: encode() sends every member, or says that it drops it",
    "a bound of the results that is lost in silence",
    unary({
      rerank: {
        ...rerankProtocol(),
        encode: (request, host) => {
          const { top_n: _, ...payload } = request.payload
          return rerankProtocol().encode({ ...request, payload }, host)
        },
      },
    }),
    "top_n",
  ],
]

test.each([...broken])("%s: %s", async (check, _, given, says) => {
  expect(await failureOf(await providerChecks(given), check)).toContain(says)
})
