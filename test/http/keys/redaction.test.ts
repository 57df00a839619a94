/**
 * A host that quotes the key which we sent to it: the key must not reach a caller or the log. docs/guarantees.md#g27
 */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { chatProtocol, defineProvider, HostFailed, httpError, noAuth, type Provider, Secret } from "headgate/plugin"
import echo from "../../../plugins/providers/echo/index.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { chunkOf, configFor, scriptedHost, sse } from "../../support/hosts/host.ts"
import { configWithOdd, withOdd } from "../../support/hosts/oddPlugin.ts"

closeAfterEach()

const key = "key-of-acme"
const quoted = `you sent ${key} here`
const word = chunkOf({ delta: { content: "Hello" }, finish_reason: null })
const errorEvent = (error: Record<string, unknown>) => JSON.stringify({ error })

const refusal = (status: number, error: Record<string, unknown>) => () => Response.json({ error }, { status })
const error200 = (error: Record<string, unknown>) => () => Response.json({ error })

/** The caller reads the words around the key. So no case passes merely because nothing is shown. */
const places: ReadonlyArray<readonly [name: string, stream: boolean, answer: () => Response]> = [
  ["the message of a 400", false, refusal(400, { message: quoted })],
  ["the message of a 400 before a stream", true, refusal(400, { message: quoted })],
  ["the message of a 429", false, refusal(429, { message: quoted })],
  ["a page of text with 422", false, () => new Response(quoted, { status: 422 })],
  ["the code of a 400", false, refusal(400, { message: "no", code: quoted })],
  ["the type of a 401", false, refusal(401, { message: quoted, type: quoted })],
  ["the code of a 500", true, refusal(500, { message: quoted, code: quoted })],
  ["the message of an error in a 200", false, error200({ message: quoted, code: 400 })],
  ["the code of an error in a 200", false, error200({ message: "no", code: quoted })],
  ["an error with 200 in place of a stream", true, error200({ message: quoted, code: 429 })],
  ["the first event of a stream", true, () => sse([errorEvent({ message: quoted, code: 400 })])],
  ["the code in the first event", true, () => sse([errorEvent({ message: "no", code: quoted })])],
]

test.each(places)("our key in %s is not shown", async (_name, stream, answer) => {
  const host = opened(scriptedHost(answer))
  const gateway = await startWatched({ config: configFor({ acme: host }) })
  const response = await gateway.chat({ model: "acme/small", messages: [{ role: "user", content: "hi" }], stream })
  const shown = `${JSON.stringify([...response.headers])}\n${await response.text()}`
  expect(host.calls[0]?.request.headers.get("authorization")).toBe(`Bearer ${key}`)
  expect(response.status).toBeGreaterThanOrEqual(400)
  expect(shown).toContain("you sent ")
  expect(shown).not.toContain(key)
  expect(gateway.log()).toContain("acme")
  expect(gateway.log()).not.toContain(key)
})

/** Errors after text was sent: they are shown in the stream. */
const later: ReadonlyArray<readonly [name: string, event: string]> = [
  ["the message of an error event", `data: ${errorEvent({ message: quoted, code: 429 })}\n\n`],
  ["the code of an error event", `data: ${errorEvent({ message: "no", code: quoted })}\n\n`],
  ["an event of the name error", `event: error\ndata: ${JSON.stringify({ message: quoted, code: 429 })}\n\n`],
  [
    "the reason of a finish that is an error",
    `data: ${chunkOf({ delta: {}, finish_reason: "error", native_finish_reason: quoted })}\n\n`,
  ],
]

test.each(later)("our key in %s after text was sent is not shown", async (_name, event) => {
  const seen = Promise.withResolvers<void>()
  const host = opened(
    scriptedHost(() => {
      const bytes = new TextEncoder()
      const body = new ReadableStream<Uint8Array>({
        start: async (controller) => {
          controller.enqueue(bytes.encode(`data: ${word}\n\n`))
          await seen.promise
          controller.enqueue(bytes.encode(event))
          controller.close()
        },
      })
      return new Response(body, { headers: { "content-type": "text/event-stream" } })
    }),
  )
  const gateway = await startWatched({ config: configFor({ acme: host }) })
  const request = { model: "acme/small", messages: [{ role: "user", content: "hi" }], stream: true }
  const response = await gateway.chat(request)
  expect(response.status).toBe(200)
  seen.resolve()
  const text = await response.text()
  expect(text).toContain("Hello")
  expect(text).toContain("you sent ")
  expect(text).not.toContain(key)
  expect(gateway.log()).toContain("acme")
  expect(gateway.log()).not.toContain(key)
})

test.each([false, true])("our key in an error of a plugin's transport is not logged, stream: %p", async (stream) => {
  // Not written out: the log quotes the lines of this file that threw.
  const secret = ["key", "of", "first"].join("-")
  const transport = (): Promise<Response> => Promise.reject(new Error(`https://acme.test/?key=${secret} failed`))
  const gateway = await startWatched({
    plugins: await withOdd({ transport }),
    config: configWithOdd({ first: { url: "http://127.0.0.1:1/v1" } }),
  })
  const response = await gateway.chat({ model: "acme/small", messages: [{ role: "user", content: "hi" }], stream })
  expect(response.status).toBe(502)
  expect(await response.text()).not.toContain(secret)
  expect(gateway.log()).toContain("https://acme.test/?key=[secret] failed")
  expect(gateway.log()).not.toContain(secret)
})

test.each([false, true])("our key in a failure of a plugin's transport is not shown, stream: %p", async (stream) => {
  const secret = "key-of-first"
  const transport = (): Promise<Response> =>
    Promise.reject(new HostFailed({ reason: "request", detail: `you sent ${secret} here`, code: secret }))
  const gateway = await startWatched({
    plugins: await withOdd({ transport }),
    config: configWithOdd({ first: { url: "http://127.0.0.1:1/v1" } }),
  })
  const response = await gateway.chat({ model: "acme/small", messages: [{ role: "user", content: "hi" }], stream })
  const shown = await response.text()
  expect(response.status).toBe(400)
  expect(shown).toContain("you sent [secret] here")
  expect(shown).not.toContain(secret)
  expect(gateway.log()).not.toContain(secret)
})

type Fields = Readonly<Record<string, Schema.Schema<unknown, unknown> | Schema.Schema.AnyNoContext>>

/** Asks a host, by a plugin of its own, that refuses each request and quotes it. `quote`: what it says of the request. */
const refusedThrough = async (
  own: Partial<Provider>,
  quote: (request: Request) => string,
  { settings = {}, config = {} }: { readonly settings?: Fields; readonly config?: object } = {},
) => {
  const host = opened(
    scriptedHost((_body, request) => {
      if (new URL(request.url).pathname.endsWith("/token")) return Response.json(tokenAnswer)
      const said = `you sent ${quote(request)} here`
      return Response.json({ error: { message: said, code: said.slice(0, 90) } }, { status: 400 })
    }),
  )
  const plugin = defineProvider({
    ...{ id: "signing", name: "Signing", auth: noAuth },
    config: Schema.Struct(settings),
    load: () => ({ protocols: { chat: chatProtocol() }, error: httpError, ...own }),
  })
  const { providers, models } = configFor({ acme: host })
  const { api_key: _, ...address } = Object(providers["acme"])
  const gateway = await startWatched({
    plugins: [echo, plugin],
    config: { providers: { acme: { ...address, plugin: "signing", ...config } }, models },
  })
  const shown: Array<string> = []
  for (const stream of [false, true]) {
    const response = await gateway.chat({
      model: "acme/small",
      messages: [{ role: "user", content: "hi" }],
      stream,
    })
    shown.push(JSON.stringify([...response.headers]), await response.text())
  }
  return { host, shown: shown.join("\n"), log: gateway.log() }
}

const token = "ya29.a0AfB_byC-fetched-by-the-plugin-7f31"
const tokenAnswer = { access_token: token, token_type: "Bearer", expires_in: 3600 }

/** Fetches a token, and puts it into the request. */
const fetching =
  (
    put: (encoded: Parameters<NonNullable<Provider["sign"]>>[0], token: string) => object,
  ): NonNullable<Provider["sign"]> =>
  (encoded, { url, http }) =>
    Effect.map(http({ url: new URL("/token", url).href, method: "POST", body: "{}" }), ({ body }) => ({
      ...encoded,
      ...put(encoded, JSON.parse(body).access_token),
    }))

const withHeader = (name: string, value: string): NonNullable<Provider["sign"]> => {
  return (encoded) => Effect.succeed({ ...encoded, headers: { ...encoded.headers, [name]: value } })
}

const allHeaders = ({ url, headers }: Request) => {
  const added = [...headers].filter(([name]) => /^(authorization$|x-)/.test(name))
  return `${added.map(([, value]) => value).join(" ")} ${url}`
}

describe("what a plugin signs with, repeated by the host in a 400, is not shown:", () => {
  test.each<[string, NonNullable<Provider["sign"]>, string, ((request: Request) => string)?]>([
    ["a token that it fetched", fetching((_, text) => ({ headers: { authorization: `Bearer ${text}` } })), token],
    ["a token in a header of another name", fetching((_, text) => ({ headers: { "x-acme": text } })), token],
    ["a token in the query", fetching(({ path }, text) => ({ path: `${path}?access_token=${text}` })), token],
    ["a token in the path", fetching(({ path }, text) => ({ path: `/${text}${path}` })), token],
    ["a token that is never sent", fetching(() => ({})), token, () => token],
    [
      "the beginning of a token, as vendors name one",
      fetching((_, text) => ({ headers: { authorization: `Bearer ${text}` } })),
      token.slice(0, 20),
      () => `${token.slice(0, 20)}...`,
    ],
    ["a token that it made", withHeader("authorization", "Bearer made-by-the-plugin-5521"), "made-by-the-plugin-5521"],
    ["one in a header of its own", withHeader("x-acme-pass", "made-by-the-plugin-5521"), "made-by-the-plugin-5521"],
    [
      "a signature, without what stands before it",
      withHeader("authorization", "ACME4 Key=of-the-operator, Signature=0123456789abcdef0123"),
      "0123456789abcdef0123",
      () => "Signature 0123456789abcdef0123",
    ],
    [
      "a password, which the host has decoded",
      withHeader("authorization", `Basic ${btoa("operator:of-the-operator-77")}`),
      "of-the-operator-77",
      ({ headers }) => atob(headers.get("authorization")?.slice(6) ?? ""),
    ],
  ])("%s", async (_name, sign, secret, quote = allHeaders) => {
    const { host, shown, log } = await refusedThrough({ sign }, quote)
    expect(
      host.calls.map(({ request }) => new URL(request.url).pathname).filter((path) => path !== "/token"),
    ).toHaveLength(2)
    expect(shown).toContain("you sent ")
    expect(shown).not.toContain(secret)
    expect(log).toContain("acme/small")
    expect(log).not.toContain(secret)
  })

  test("and what describes the request still is", async () => {
    const { shown } = await refusedThrough({ sign: withHeader("x-acme-version", "2026-11-23") }, allHeaders)
    expect(shown).toContain("2026-11-23")
  })
})

describe("a secret of the configuration that the plugin does not declare is not shown:", () => {
  const secret = "undeclared-secret-of-acme-90"
  process.env["TEST_UNDECLARED_SECRET"] = secret
  test.each<[string, Fields, object]>([
    ["given as text", { token: Secret }, { token: secret }],
    ["given by its variable", { token: Secret }, { token: { env: "TEST_UNDECLARED_SECRET" } }],
    ["in a list", { tokens: Schema.Array(Secret) }, { tokens: ["another-one-of-acme", secret] }],
    [
      "in a record",
      { accounts: Schema.Record({ key: Schema.String, value: Schema.Struct({ key: Secret }) }) },
      { accounts: { first: { key: secret } } },
    ],
    ["by Effect's own schema", { token: Schema.Redacted(Schema.String) }, { token: secret }],
  ])("%s", async (_name, settings, config) => {
    const { shown, log } = await refusedThrough({}, () => secret, { settings, config })
    expect(shown).toContain("you sent [secret] here")
    expect(shown).not.toContain(secret)
    expect(log).not.toContain(secret)
  })
})
