/** Members of a chat host's message in shapes that this gateway does not know. docs/guarantees.md#g5 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { chunkOf, configFor, type ScriptedHost, scriptedHost, sse } from "../../support/hosts/host.ts"

let gateway: TestGateway
let host: ScriptedHost
let said: JsonObject = {}

const usage = { prompt_tokens: 50, completion_tokens: 7 }

beforeAll(async () => {
  host = scriptedHost(({ stream }) =>
    stream === true
      ? sse([
          chunkOf({ delta: { content: "It says 4." }, finish_reason: null }),
          chunkOf({ delta: said, finish_reason: null }),
          chunkOf({ delta: {}, finish_reason: "stop" }, { usage }),
          "[DONE]",
        ])
      : Response.json({
          choices: [
            { index: 0, message: { role: "assistant", content: "It says 4.", ...said }, finish_reason: "stop" },
          ],
          usage,
        }),
  )
  gateway = await startGateway({ config: configFor({ host }) })
})
afterAll(async () => {
  await gateway.stop()
  await host.stop()
})

const question = [{ role: "user", content: "What does it say?" }]
const forms = {
  chat: ["/chat/completions", { messages: question }],
  messages: ["/messages", { messages: question, max_tokens: 100 }],
  responses: ["/responses", { input: question }],
} as const

const asked = async (form: keyof typeof forms, stream: boolean): Promise<string> => {
  const [path, body] = forms[form]
  const response = await gateway.call(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/small", stream, ...body }),
  })
  expect(response.status).toBe(200)
  return response.text()
}

const file = { type: "file", file: { hash: "abc", name: "a.pdf", content: [{ type: "text", text: "4" }] } }
const cited = { type: "url_citation", url_citation: { url: "https://example.com/a", title: "A" } }
const flat = { type: "url_citation", url: "https://example.com/flat", title: "Flat" }

const shapes: ReadonlyArray<JsonObject> = [
  ...[null, 5, "x", [], {}, file, flat, { type: "file_citation", file_id: "f" }].map((odd) => ({ annotations: [odd] })),
  ...[null, {}, { url: 5 }, { title: "no address" }].map((odd) => ({
    annotations: [{ type: "url_citation", url_citation: odd }],
  })),
  ...[null, 5, {}].map((annotations) => ({ annotations })),
  ...[null, 5, "x", [], {}, { type: 5 }, { type: "reasoning.text", text: 5 }].map((odd) => ({
    reasoning_details: [odd],
  })),
  ...["data", "summary", "signature", "id", "format", "index"].map((name) => ({
    reasoning_details: [{ type: "reasoning.text", text: "Look.", [name]: { a: [1] } }],
  })),
  ...[null, 5, {}].map((reasoning_details) => ({ reasoning_details })),
  { images: [null, 5, { image_url: null }, { image_url: { url: 5 } }] },
]

describe.each(["chat", "messages", "responses"] as const)("%s client", (form) => {
  for (const stream of [false, true]) {
    describe(stream ? "streamed" : "whole", () => {
      test.each(shapes.map((shape) => [JSON.stringify(shape), shape] as const))("H1: %s", async (_, shape) => {
        said = shape
        const text = await asked(form, stream)
        expect(text).toContain("It says 4.")
        expect(text).not.toContain("Internal error")
      })
    })
  }
})

test.each([false, true])("H1: citations beside a parsed file stay, streamed: %p", async (stream) => {
  said = { annotations: [file, cited, null] }
  for (const form of ["messages", "responses"] as const) {
    const text = await asked(form, stream)
    expect(text).toContain("https://example.com/a")
    expect(text).not.toContain("a.pdf")
  }
  // Clients of the host's own form get whatever kinds it has.
  const text = await asked("chat", stream)
  expect(text).toContain("https://example.com/a")
  expect(text).toContain("a.pdf")
})

test("H1: reasoning keeps what of it can be read", async () => {
  said = {
    reasoning_details: [null, { type: "reasoning.text", text: "Look.", signature: 5, index: "0" }, { text: "Think." }],
  }
  const answer: unknown = JSON.parse(await asked("chat", false))
  const [choice] = isJsonObject(answer) && Array.isArray(answer["choices"]) ? answer["choices"] : []
  expect(choice.message.reasoning_details).toEqual([
    { type: "reasoning.text", text: "Look." },
    { type: "reasoning.text", text: "Think." },
  ])
})
