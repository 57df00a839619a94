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

describe("our key beside a good answer reached callers:", () => {
  const written = [key, Buffer.from(key).toString("base64"), Buffer.from(`Bearer ${key}`).toString("base64url")]
  const beside = (secret: string) => ({
    system_fingerprint: `fp ${secret}`,
    service_tier: `tier ${secret}`,
    own: secret,
  })
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  const choice = (secret: string, message: object) => ({
    index: 0,
    finish_reason: "stop",
    native_finish_reason: `end ${secret}`,
    ...message,
  })
  const wholeAnswer = (secret: string) =>
    Response.json({
      id: `id ${secret}`,
      model: secret,
      ...beside(secret),
      choices: [choice(secret, { message: { role: "assistant", content: `I say ${secret}` } })],
      usage,
    })
  const streamed = (secret: string) => {
    const chunk = (choices: ReadonlyArray<object>) =>
      JSON.stringify({ id: secret, model: secret, ...beside(secret), choices, usage })
    const said = { index: 0, delta: { content: `I say ${secret}` }, finish_reason: null }
    return sse([chunk([said]), chunk([choice(secret, { delta: {} })])])
  }

  test.each([false, true])("chat and completions, stream: %p", async (stream) => {
    for (const secret of written) {
      const host = opened(scriptedHost(() => (stream ? streamed(secret) : wholeAnswer(secret))))
      const gateway = await startWatched({ config: configFor({ acme: host }) })
      const response = await gateway.chat({ model: "acme/small", messages: [{ role: "user", content: "hi" }], stream })
      expect(response.status).toBe(200)
      const text = await response.text()
      // What the model says is not searched.
      const others = text.replaceAll(`I say ${secret}`, "I say it")
      expect(others).toContain("I say it")
      expect(others).toContain("[secret]")
      expect(others).not.toContain(secret)
      expect(gateway.log()).not.toContain(secret)
    }
  })

  test.each(["messages", "responses"] as const)("a host of the form itself: %s", async (form) => {
    for (const stream of [false, true]) {
      const host = opened(scriptedHost(() => (stream ? nativeStream(form) : Response.json(nativeAnswer(form)))))
      const { providers, models } = configFor({ acme: host })
      const config = {
        providers: {
          acme: { ...Object(providers["acme"]), api: form, plugin: form === "messages" ? "anthropic" : "openai" },
        },
        models,
      }
      const gateway = await startWatched({ config })
      const asked =
        form === "messages" ? { messages: [{ role: "user", content: "hi" }], max_tokens: 9 } : { input: "hi" }
      const response = await gateway.call(`/${form}`, {
        method: "POST",
        body: JSON.stringify({ model: "acme/small", ...asked, stream }),
      })
      expect(response.status).toBe(200)
      const text = await response.text()
      expect(text).toContain("Fine.")
      expect(text).toContain("[secret]")
      expect(text).not.toContain(key)
    }
  })
})

const nativeAnswer = (form: "messages" | "responses", status = "completed") =>
  form === "messages"
    ? {
        ...{ id: key, type: "message", role: "assistant", model: key, own: key, stop_reason: "end_turn" },
        content: [{ type: "text", text: "Fine." }],
        usage: { input_tokens: 1, output_tokens: 1 },
      }
    : {
        ...{ id: key, object: "response", model: key, own: key, service_tier: key, status },
        output: [{ type: "message", id: "msg_1", role: "assistant", status: "completed", content: [outputText] }],
        usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
      }

const outputText = { type: "output_text", text: "Fine.", annotations: [] }

const nativeStream = (form: "messages" | "responses"): Response => {
  let next = 0
  const event = (type: string, members: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...members, sequence_number: next++ })}\n\n`
  const item = { type: "message", id: "msg_1", role: "assistant", status: "in_progress", content: [] }
  const at = { item_id: "msg_1", output_index: 0, content_index: 0 }
  const events =
    form === "messages"
      ? [
          event("message_start", { message: { ...nativeAnswer(form), content: [] } }),
          event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
          event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "Fine." } }),
          event("content_block_stop", { index: 0 }),
          event("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } }),
          event("message_stop", {}),
        ]
      : [
          event("response.created", { response: { ...nativeAnswer(form, "in_progress"), output: [] } }),
          event("response.in_progress", { response: { ...nativeAnswer(form, "in_progress"), output: [] } }),
          event("response.output_item.added", { output_index: 0, item }),
          event("response.content_part.added", { ...at, part: { ...outputText, text: "" } }),
          event("response.output_text.delta", { ...at, delta: "Fine." }),
          event("response.output_text.done", { ...at, text: "Fine." }),
          event("response.content_part.done", { ...at, part: outputText }),
          event("response.output_item.done", {
            output_index: 0,
            item: { ...item, status: "completed", content: [outputText] },
          }),
          event("response.completed", { response: nativeAnswer(form) }),
        ]
  return new Response(events.join(""), { headers: { "content-type": "text/event-stream" } })
}
