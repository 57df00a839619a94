/** Custom tools of chat clients at a host that knows functions only: sent as functions, and called as custom tools. */
import { describe, expect, test } from "bun:test"
import { type JsonObject, objectIn, objectsIn } from "../../src/domain/json/json.ts"
import { streamOf, wholeBodyOf } from "../support/clients/answers.ts"
import { type Answer, closeAfterEach, routed } from "../support/gateways/routed.ts"
import { chunkOf, sse, wholeAnswer } from "../support/hosts/host.ts"

closeAfterEach()

const grammar = { type: "grammar", grammar: { syntax: "lark", definition: "start: /a/" } }
const tools = [
  { type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } },
  { type: "custom", custom: { name: "patch", description: "Edits files.", format: grammar } },
]
const hi = { role: "user", content: "go" }

const ask = async (body: JsonObject, answer: Answer) => {
  const gateway = await routed({ a: answer }, { settings: { a: { plugin: "deepseek" } } })
  const response = await gateway.chat({ model: "acme/small", messages: [hi], ...body })
  return { response, sent: gateway.hosts["a"]?.calls.at(-1)?.body ?? {} }
}

test("a custom tool is a function with one text; its call in the history and a choice of it are that function's", async () => {
  const call = { id: "c1", type: "custom", custom: { name: "patch", input: "*** Begin\n" } }
  const messages = [
    hi,
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "c1", content: "ok" },
  ]
  const choice = { type: "custom", custom: { name: "patch" } }
  const { response, sent } = await ask({ messages, tools, tool_choice: choice }, () => wholeAnswer("fine"))
  expect(response.headers.get("x-gw-dropped")).toBe("tools[1].custom.format")
  const [, patch] = objectsIn(sent["tools"])
  expect(patch).toMatchObject({
    type: "function",
    function: { name: "patch", parameters: { properties: { input: { type: "string" } }, required: ["input"] } },
  })
  expect(JSON.stringify(patch)).toContain("Edits files.")
  expect(JSON.stringify(patch)).toContain("lark grammar")
  expect(sent["tool_choice"]).toEqual({ type: "function", function: { name: "patch" } })
  const [, said] = objectsIn(sent["messages"])
  const asFunction = { name: "patch", arguments: JSON.stringify({ input: "*** Begin\n" }) }
  expect(said?.["tool_calls"]).toEqual([{ id: "c1", type: "function", function: asFunction }])
})

describe.each([false, true])("calls of it come back as calls of a custom tool (stream: %p)", (stream) => {
  const given = JSON.stringify({ input: "a\n\u{1f600}" })
  const call = (index: number, name: string, written: string) => ({
    ...{ index, id: `c${index}`, type: "function", function: { name, arguments: written } },
  })
  const usage = { prompt_tokens: 1, completion_tokens: 1 }
  const answer: Answer = () => {
    const calls = [call(0, "patch", given), call(1, "weather", "{}"), call(2, "patch", "as it is")]
    if (!stream) {
      const message = { role: "assistant", content: null, tool_calls: calls }
      return Response.json({ choices: [{ index: 0, message, finish_reason: "tool_calls" }], usage })
    }
    const delta = (piece: JsonObject) => chunkOf({ delta: { tool_calls: [piece] }, finish_reason: null })
    return sse([
      delta({ index: 0, id: "c0", type: "function" }),
      delta({ index: 0, function: { name: "patch", arguments: given.slice(0, 5) } }),
      delta(call(1, "weather", "{}")),
      delta({ index: 0, function: { arguments: given.slice(5, 13) } }),
      delta({ index: 0, function: { arguments: given.slice(13) } }),
      delta(call(2, "patch", "as ")),
      delta({ index: 2, function: { arguments: "it is" } }),
      chunkOf({ delta: {}, finish_reason: "tool_calls" }, { usage }),
      "[DONE]",
    ])
  }

  test("their texts are taken out of the JSON, and other calls stay as they are", async () => {
    const { response } = await ask({ tools, stream }, answer)
    expect(await callsIn(response, stream)).toEqual([
      { id: "c0", type: "custom", name: "patch", given: "a\n\u{1f600}" },
      { id: "c1", type: "function", name: "weather", given: "{}" },
      { id: "c2", type: "custom", name: "patch", given: "as it is" },
    ])
  })
})

const callsIn = async (response: Response, stream: boolean): Promise<ReadonlyArray<JsonObject>> => {
  const pieces: ReadonlyArray<JsonObject> = stream
    ? (await streamOf(response)).chunks.flatMap(({ choices }) =>
        choices.flatMap(({ delta }) => objectsIn(objectIn(delta)["tool_calls"])),
      )
    : objectsIn(objectIn((await wholeBodyOf(response)).choices[0]?.message)["tool_calls"])
  const calls = new Map<unknown, { id: unknown; type: unknown; name: string; given: string }>()
  for (const [at, { index = at, id, type, custom, function: called }] of pieces.entries()) {
    const call = calls.get(index) ?? { id, type, name: "", given: "" }
    calls.set(index, call)
    const { name = "", input = "", arguments: written = "" } = objectIn(custom ?? called)
    call.name += name
    call.given += `${input}${written}`
  }
  return [...calls.values()]
}

test("a function of the same name wins: the custom tool is named as dropped, and calls are the function's", async () => {
  const twice = [tools[0], { type: "custom", custom: { name: "weather" } }]
  const called = { id: "c", type: "function", function: { name: "weather", arguments: "{}" } }
  const { response, sent } = await ask({ tools: twice }, () =>
    Response.json({
      choices: [{ index: 0, message: { role: "assistant", tool_calls: [called] }, finish_reason: "tool_calls" }],
      usage: { prompt_tokens: 1, completion_tokens: 1 },
    }),
  )
  expect(sent["tools"]).toEqual([tools[0]])
  expect(response.headers.get("x-gw-dropped")).toBe("tools[1]")
  expect(await callsIn(response, false)).toEqual([{ id: "c", type: "function", name: "weather", given: "{}" }])
})

test("of two custom tools with one name the second is named as dropped: it was a second function of that name", async () => {
  const patch = { type: "custom", custom: { name: "patch" } }
  const { response, sent } = await ask({ tools: [patch, patch] }, () =>
    Response.json({
      choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 1, completion_tokens: 1 },
    }),
  )
  expect(sent["tools"]).toHaveLength(1)
  expect(response.headers.get("x-gw-dropped")).toBe("tools[1]")
})
