/** `functions` and `function_call` of old clients: tools for every host, and calls in the form that they read. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { JsonObject } from "../../src/domain/json/json.ts"
import { startGateway, type TestGateway } from "../support/gateways/gateway.ts"
import { chunkOf, configFor, type ScriptedHost, scriptedHost, sse } from "../support/hosts/host.ts"

let gateway: TestGateway
let host: ScriptedHost

const usage = { prompt_tokens: 10, completion_tokens: 5 }
const call = { id: "call_of_host", type: "function", function: { name: "look", arguments: '{"at":1}' } }

beforeAll(async () => {
  host = scriptedHost(({ stream }) =>
    stream === true
      ? sse([
          chunkOf({ delta: { tool_calls: [{ index: 0, ...call, function: { name: "look", arguments: "" } }] } }),
          chunkOf({ delta: { tool_calls: [{ index: 0, function: { arguments: '{"at":1}' } }] }, finish_reason: null }),
          chunkOf({ delta: {}, finish_reason: "tool_calls" }, { usage }),
          "[DONE]",
        ])
      : Response.json({
          choices: [
            { index: 0, message: { role: "assistant", content: null, tool_calls: [call] }, finish_reason: "stop" },
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

const look = { name: "look", description: "Looks", parameters: { type: "object", properties: {} } }
const hi = { role: "user", content: "hi" }

const asked = async (body: JsonObject) => {
  const response = await gateway.chat({ model: "acme/small", messages: [hi], ...body })
  expect([response.status, response.headers.get("x-gw-dropped")]).toEqual([200, null])
  return { response, sent: host.calls.at(-1)?.body ?? {} }
}

describe("F7: a request with functions", () => {
  test.each<[unknown, unknown]>([
    [undefined, undefined],
    ["auto", "auto"],
    ["none", "none"],
    [{ name: "look" }, { type: "function", function: { name: "look" } }],
  ])("has tools, and for the choice %j it has %j", async (chosen, choice) => {
    const { sent } = await asked({ functions: [look], ...(chosen === undefined ? {} : { function_call: chosen }) })
    expect(sent["tools"]).toEqual([{ type: "function", function: look }])
    expect(sent["tool_choice"]).toEqual(choice)
    expect(sent).not.toHaveProperty("functions")
    expect(sent).not.toHaveProperty("function_call")
  })

  test("has calls and results with ids in its history", async () => {
    const { sent } = await asked({
      functions: [look],
      messages: [
        hi,
        { role: "assistant", content: null, function_call: call.function },
        { role: "function", name: "look", content: "seen" },
        { role: "function", name: "never_called", content: "odd" },
      ],
    })
    expect(sent["messages"]).toEqual([
      hi,
      { role: "assistant", content: null, tool_calls: [{ ...call, id: "call_1" }] },
      { role: "tool", tool_call_id: "call_1", content: "seen" },
      { role: "user", content: "odd" },
    ])
  })

  test.each<[JsonObject, string]>([
    [{ functions: [{}] }, "functions[0].name"],
    [{ functions: [look], function_call: "always" }, "function_call"],
    [{ messages: [{ role: "function", content: "a" }] }, "messages[0].name"],
    [{ messages: [{ role: "assistant", content: null, function_call: { name: "f" } }] }, "messages[0].function_call"],
  ])("is refused where it makes no sense: %j", async (body, path) => {
    const response = await gateway.chat({ model: "acme/small", messages: [hi], ...body })
    expect(response.status).toBe(400)
    expect(await response.text()).toContain(path)
  })
})

describe("F7: an answer with a call", () => {
  test("has it as a function call, whole", async () => {
    const { response } = await asked({ functions: [look] })
    const [choice] = JSON.parse(await response.text()).choices
    expect(choice).toMatchObject({ message: { function_call: call.function }, finish_reason: "function_call" })
    expect(choice.message).not.toHaveProperty("tool_calls")
  })

  test("has it as a function call, streamed", async () => {
    const { response } = await asked({ functions: [look], stream: true })
    const data = (await response.text())
      .split("\n\n")
      .flatMap((event) => (/^data: \{/.test(event) ? [event.slice(6)] : []))
    const choices = data.flatMap((text) => JSON.parse(text).choices)
    const pieces = choices.flatMap(({ delta }) => delta.function_call ?? [])
    expect(pieces.map(({ name }) => name ?? "").join("")).toBe("look")
    expect(pieces.map((piece) => piece.arguments).join("")).toBe(call.function.arguments)
    expect(choices.at(-1).finish_reason).toBe("function_call")
    expect(choices.some(({ delta }) => "tool_calls" in delta)).toBe(false)
  })

  test("has tool calls for a client that gave tools", async () => {
    const { response } = await asked({ functions: [look], tools: [{ type: "function", function: { name: "other" } }] })
    expect(JSON.parse(await response.text()).choices[0]).toMatchObject({
      message: { tool_calls: [call] },
      finish_reason: "tool_calls",
    })
  })
})
