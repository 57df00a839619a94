/**
 * A host that quotes the key which we sent to it: the key must not reach a caller or the log. docs/guarantees.md#g27
 */
import { expect, test } from "bun:test"
import { HostFailed } from "headgate/plugin"
import { chunkOf, configFor, scriptedHost, sse } from "../support/host.ts"
import { configWithOdd, withOdd } from "../support/oddPlugin.ts"
import { closeAfterEach, opened, startWatched } from "../support/watched.ts"

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
