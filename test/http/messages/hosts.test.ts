/** What hosts of other forms were seen to send, and what a caller of the Messages form is answered. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { chunkOf, type ScriptedHost, scriptedHost, sse } from "../../support/hosts/host.ts"
import { ask, assembled, eventsOf, messagesConfig } from "../../support/hosts/messages.ts"

let gateway: TestGateway
let host: ScriptedHost
let answer: () => Response

beforeAll(async () => {
  host = scriptedHost(() => answer())
  const config = messagesConfig(
    { other: host },
    {},
    { limits: { breaker: { open_s: 0 }, cooldown: { rate_limit_s: 0 } } },
  )
  gateway = await startGateway({ config })
})
afterAll(async () => {
  await gateway.stop()
  await host.stop()
})

const usage = { prompt_tokens: 30, completion_tokens: 12 }
const piece = (index: number, json: string, more: JsonObject = {}) => ({
  tool_calls: [{ index, function: { arguments: json, ...more } }],
})
const begun = (index: number, json: string, name = `f${index}`) => ({
  tool_calls: [{ index, id: `call_${index}`, type: "function", function: { name, arguments: json } }],
})
const used = (index: number, input: JsonObject = {}) => ({
  ...{ type: "tool_use", id: `call_${index}`, name: `f${index}`, input },
})
const text = (said: string) => ({ type: "text", text: said })

type Choice = JsonObject & { readonly delta: JsonObject }

/** The message that the caller reads, whose blocks begin and end once each, in their order. */
const streamedMessage = async (choices: ReadonlyArray<Choice>, finish: string | null = "tool_calls", more = {}) => {
  const end = finish === null ? [] : [chunkOf({ delta: {}, finish_reason: finish, ...more }, { usage })]
  answer = () => sse([...choices.map((choice) => chunkOf({ finish_reason: null, ...choice })), ...end, "[DONE]"])
  const response = await ask(gateway, { stream: true, thinking: { type: "adaptive" } })
  expect(response.status).toBe(200)
  const events = await eventsOf(response)
  const open = events.flatMap(({ type, index }) => (type === "content_block_start" ? [index] : []))
  const closed = events.flatMap(({ type, index }) => (type === "content_block_stop" ? [index] : []))
  expect(open).toEqual(open.map((_, at) => at))
  expect(closed).toEqual(open)
  return assembled(events)
}
const streamed = (deltas: ReadonlyArray<JsonObject>, finish: string | null = "tool_calls") =>
  streamedMessage(
    deltas.map((delta) => ({ delta })),
    finish,
  )

const wholeMessage = async (choices: ReadonlyArray<JsonObject>): Promise<JsonObject> => {
  answer = () => Response.json({ choices, usage })
  const response = await ask(gateway, {})
  expect(response.status).toBe(200)
  return Object(await response.json())
}

describe("a late piece of a call", () => {
  const both = [used(0, { a: 1 }), used(1)]
  test.each<[string, ReadonlyArray<JsonObject>, ReadonlyArray<JsonObject>]>([
    ["blank text within", [begun(0, '{"a"'), { content: "\n" }, piece(0, ":1}")], [used(0, { a: 1 })]],
    ["blank text beside", [begun(0, '{"a"'), { content: " ", ...piece(0, ":1}") }], [used(0, { a: 1 })]],
    ["text within", [begun(0, '{"a"'), { content: "and" }, piece(0, ":1}")], [used(0, { a: 1 }), text("and")]],
    [
      "two texts within, and a call",
      [begun(0, '{"a"'), { content: "a" }, { content: "nd" }, begun(1, "{}"), { content: "so" }, piece(0, ":1}")],
      [used(0, { a: 1 }), text("and"), used(1), text("so")],
    ],
    [
      "reasoning within",
      [begun(0, '{"a"'), { reasoning: "Hm" }, piece(0, ":1}")],
      [used(0, { a: 1 }), { type: "thinking", thinking: "Hm", signature: "" }],
    ],
    ["an empty last piece", [begun(0, '{"a":1}'), begun(1, "{}"), piece(0, "")], both],
    ["a blank last piece", [begun(0, '{"a":1}'), begun(1, "{}"), piece(0, " ")], both],
    ["both repeated", [begun(0, '{"a":1}'), begun(1, "{}"), begun(0, ""), begun(1, "")], both],
    ["text before its arguments", [begun(0, ""), { content: "so" }, piece(0, "{}")], [used(0), text("so")]],
    ["text and no arguments", [begun(0, ""), { content: "so" }], [used(0), text("so")]],
    ["blank text behind it", [begun(0, "{}"), { content: "\n" }], [used(0)]],
    ["blank text and more", [begun(0, "{}"), { content: "\n" }, { content: "so" }], [used(0), text("\nso")]],
  ])("with %s is no failure", async (_, deltas, content) => {
    const message = await streamed(deltas)
    expect(message["content"]).toEqual([...content])
    expect(message["stop_reason"]).toBe("tool_use")
  })
})

test("a call waits for its name, which some hosts send in its second delta", async () => {
  const unnamed = { tool_calls: [{ index: 0, id: "call_0", type: "function", function: { arguments: "" } }] }
  const message = await streamed([unnamed, { content: "\n" }, piece(0, '{"a":1}', { name: "f0" })])
  expect(message["content"]).toEqual([used(0, { a: 1 })])
})

test("the start of a stream has the estimate of count_tokens, which some clients take for the input", async () => {
  answer = () => sse([chunkOf({ delta: { content: "So" } }), chunkOf({ delta: {}, finish_reason: "stop" }), "[DONE]"])
  const messages = [{ role: "user", content: "Some words to count" }]
  const [start] = await eventsOf(await ask(gateway, { stream: true, messages }))
  const counted = await gateway.call("/messages/count_tokens", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/small", messages }),
  })
  const { input_tokens: tokens } = Object(await counted.json())
  expect(tokens).toBeGreaterThan(0)
  expect(start).toMatchObject({ type: "message_start", message: { usage: { input_tokens: tokens } } })
})

describe("calls in a choice of their own, as GitHub Copilot gives them", () => {
  test("are in the streamed answer", async () => {
    const message = await streamedMessage([
      { delta: { content: "I look." } },
      { index: 1, delta: begun(0, '{"a":1}') },
      { index: 1, delta: {}, finish_reason: "tool_calls" },
    ])
    expect(message).toMatchObject({ content: [text("I look."), used(0, { a: 1 })], stop_reason: "tool_use" })
  })

  test("are in the whole answer", async () => {
    const calls = [{ id: "call_0", type: "function", function: { name: "f0", arguments: '{"a":1}' } }]
    const message = await wholeMessage([
      { index: 0, message: { role: "assistant", content: "I look." }, finish_reason: "stop" },
      { index: 1, message: { role: "assistant", content: null, tool_calls: calls }, finish_reason: "tool_calls" },
    ])
    expect(message).toMatchObject({ content: [text("I look."), used(0, { a: 1 })], stop_reason: "tool_use" })
  })
})

describe("a stop beside calls is a stop for the calls", () => {
  test("where the host says [DONE] without a finish", async () => {
    expect((await streamed([begun(0, "{}")], null))["stop_reason"]).toBe("tool_use")
  })

  test.each(["stop", null])("where a whole answer's finish is %p", async (finish) => {
    const calls = [{ id: "call_0", type: "function", function: { name: "f0", arguments: "" } }]
    const message = { role: "assistant", content: null, tool_calls: calls }
    expect((await wholeMessage([{ index: 0, message, finish_reason: finish }]))["stop_reason"]).toBe("tool_use")
  })
})

describe("a failed call of the model", () => {
  const failed = {
    stop_reason: "refusal",
    stop_details: { type: "refusal", category: null, explanation: "The model's answer could not be read: abort." },
  }
  test("is a refusal with the host's word for it", async () => {
    const message = { role: "assistant", content: "" }
    const whole = await wholeMessage([{ index: 0, message, finish_reason: "abort", native_finish_reason: "abort" }])
    expect(whole).toMatchObject({ ...failed, usage: { output_tokens: 12 } })
  })

  test("is a refusal in a stream, too", async () => {
    const message = await streamedMessage([{ delta: { content: "So" } }], "abort")
    expect(message).toMatchObject({ ...failed, usage: { output_tokens: 12 } })
  })
})
