/** Calls as no sound host writes them, and tools where none belong, as they were seen. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { CustomToolInput } from "../../../src/formats/customTools.ts"
import { decodeResponses } from "../../../src/formats/responses/responsesRequest.ts"
import { postResponses, responseOf, responsesStreamOf } from "../../support/clients/responsesForm.ts"
import { chunkOf, sse } from "../../support/hosts/host.ts"
import { type Hosts, startHosts } from "../payload/hosts.ts"

let called: JsonObject = {}
let hosts: Hosts
let priced: Hosts

/** A host of the chat form that makes the call. */
const calling = (stream: boolean): Response => {
  const tool_calls = [{ index: 0, id: "call_1", type: "function", function: called }]
  const usage = { prompt_tokens: 10, completion_tokens: 5 }
  const message = { role: "assistant", content: null, tool_calls }
  return stream
    ? sse([
        chunkOf({ delta: { tool_calls }, finish_reason: null }),
        chunkOf({ delta: {}, finish_reason: "tool_calls" }, { usage }),
        "[DONE]",
      ])
    : Response.json({ choices: [{ index: 0, message, finish_reason: "tool_calls" }], usage })
}

beforeAll(async () => {
  hosts = await startHosts({ answer: (_path, body) => calling(body["stream"] === true) })
  priced = await startHosts({ webSearch: "0.01" })
})
afterAll(async () => {
  await hosts.stop()
  await priced.stop()
})

const shell = { type: "shell", environment: { type: "local" } }
const search = { type: "tool_search", execution: "client", parameters: { type: "object" } }
const tools = [search, { type: "local_shell" }, shell, { type: "apply_patch" }, { type: "custom", name: "exec" }]

const itemFor = async (name: string, given: string, stream: boolean): Promise<unknown> => {
  called = { name, arguments: given }
  const answer = await postResponses(hosts.gateway, { model: "acme/chat", tools, stream })
  const { output } = stream ? (await responsesStreamOf(answer)).response : await responseOf(answer)
  return Array.isArray(output) ? output[0] : undefined
}

describe("arguments that are nested a hundred thousand deep do not end the answer as a fault of the gateway", () => {
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`
  const given = `{"input":${deep}}`
  test.each([
    ["tool_search", { arguments: given }],
    ["exec", { input: given }],
    ["local_shell", { action: { type: "exec", command: [], env: {} } }],
    ["shell", { action: { commands: [], timeout_ms: null, max_output_length: null } }],
    ["apply_patch", { operation: { type: "update_file", path: "", diff: "" } }],
  ])("%s", async (name, members) => {
    for (const stream of [false, true]) expect(await itemFor(name, given, stream)).toMatchObject(members)
  })
})

describe("a text of a custom tool is the same in one fragment and in many", () => {
  const read = (fragments: Iterable<string>): string => {
    const text = new CustomToolInput()
    return Array.from(fragments, (fragment) => text.add(fragment)).join("") + text.end()
  }
  const blanks = " ".repeat(300)
  test.each([
    ["cut off", `${blanks}{"input":"a\\nb`, "a\nb"],
    ["cut off within an escape", `{${blanks}"input":"a\\u00`, "a"],
    ["with more behind it", `${blanks}{"input":"a" "b"}`, "a"],
    ["with half a character", `${blanks}{"input":"a\\ud83d`, "a\ud83d"],
    ["another object", `${blanks}{"text":"a"`, `${blanks}{"text":"a"`],
  ])("after three hundred blanks, %s", (_, given, text) => {
    expect([read([given]), read(given)]).toEqual([text, text])
  })
})

describe("a search is sent to a host with a price only where money for it is reserved", () => {
  const found = { type: "web_search" }
  const wait = { type: "function", name: "wait", parameters: { type: "object" } }
  const message = { role: "user", content: "hi" }
  const custom = { type: "custom", name: "exec", format: { type: "text", tools: [found] } }
  const places: ReadonlyArray<readonly [string, JsonObject]> = [
    ["a message", { input: [{ ...message, tools: [found] }] }],
    ["a message of an agent", { input: [{ type: "agent_message", content: "hi", tools: [found] }] }],
    ["a function", { tools: [{ ...wait, tools: [found] }] }],
    ["a format", { tools: [custom] }],
  ]
  test.each(places)("not among the members of %s", async (_, body) => {
    const { status, sent } = await priced.ask("/responses", "responses", body)
    expect([status, sent]).toEqual([400, undefined])
  })
})

test.each(["web_fetch", "openrouter:web_fetch", "web_fetch_20250910", "tool_search_tool_bm25"])(
  "%s, whose price at a host of the Responses form nobody knows, is dropped and named",
  async (type) => {
    const own = await priced.ask("/responses", "responses", { tools: [{ type: "custom", name: "a" }, { type }] })
    expect([own.status, own.sent?.["tools"], own.dropped]).toEqual([200, [{ type: "custom", name: "a" }], ["tools[1]"]])
    const input = [
      { type: "additional_tools", tools: [{ type }] },
      { role: "user", content: "hi" },
    ]
    const brought = await priced.ask("/responses", "responses", { input })
    expect([brought.status, brought.sent?.["input"], brought.dropped]).toEqual([200, [input[1]], ["input[0].tools[0]"]])
  },
)

test("the result of a local shell that names no call is refused", async () => {
  const input = [
    { type: "local_shell_call", call_id: "call_1", action: { command: ["ls"] } },
    { type: "local_shell_call_output", output: "a.txt" },
  ]
  const { status, text } = await priced.ask("/responses", "chat", { input })
  expect([status, text]).toEqual([400, expect.stringContaining("input[1].call_id: is required")])
})

describe("what a prompt may cost", () => {
  const boundsOf = (body: JsonObject) => {
    const request = decodeResponses({ model: "acme/responses", ...body })
    if (Either.isLeft(request)) throw new Error(JSON.stringify(request.left.issues))
    return request.right
  }
  const image = `data:image/png;base64,${"A".repeat(10_000)}`

  test("counts screenshots of a computer as images", () => {
    const shot = (image_url: string, at: number) => [
      { type: "computer_call", call_id: `call_${at}`, action: { type: "screenshot" } },
      { type: "computer_call_output", call_id: `call_${at}`, output: { type: "computer_screenshot", image_url } },
    ]
    const { bounds, routing } = boundsOf({ input: [image, "https://images.example/a.png"].flatMap(shot) })
    expect(bounds).toMatchObject({ images: 2, mediaParts: 2, mediaBytes: 10_000, media: { image: 2000 } })
    expect(routing.needs.inputs).toEqual(["image"])
  })

  test("counts a description that begins like an image as text", () => {
    const space = { type: "namespace", name: "n", description: image, tools: [{ type: "function", name: "f" }] }
    expect(boundsOf({ input: "hi", tools: [space] }).bounds.textBytes).toBeGreaterThan(10_000)
  })
})

test("a tool that a search has found is told by the name that it has, whatever it says of a namespace", async () => {
  const input = [
    { role: "user", content: "hi" },
    { type: "tool_search_call", call_id: "call_1", arguments: {} },
    {
      type: "tool_search_output",
      call_id: "call_1",
      tools: [{ type: "function", name: "top", namespace: "other" }],
    },
  ]
  const { sent } = await priced.ask("/responses", "messages", { input })
  expect(sent?.["tools"]).toMatchObject([{ name: "top" }])
  expect(JSON.stringify(sent?.["messages"])).toContain("- top")
})

test("a choice that is sent beside tools of the form alone is not named as dropped", async () => {
  const tools = [{ type: "computer" }, { type: "image_generation" }]
  const { sent, dropped } = await priced.ask("/responses", "responses", { tools, tool_choice: "required" })
  expect([sent?.["tools"], sent?.["tool_choice"], dropped]).toEqual([[{ type: "computer" }], "required", ["tools[1]"]])
})
