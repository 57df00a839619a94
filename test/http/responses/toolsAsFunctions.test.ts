/** The functions that a host of the chat form is sent for the tools that a caller of the Responses form runs, and its calls as items. */
import { describe, expect, test } from "bun:test"
import OpenAI from "openai"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { errorOf } from "../../support/clients/answers.ts"
import { postResponses, responseOf, responsesStreamOf } from "../../support/clients/responsesForm.ts"
import { type Answer, closeAfterEach, routed } from "../../support/gateways/routed.ts"
import { chunkOf, sse, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

const call = (name: string, given: string, index = 0) => ({
  ...{ index, id: `call_${index}`, type: "function", function: { name, arguments: given } },
})

/** Answers with these calls, the arguments of a stream in these fragments. */
const calling =
  (...calls: ReadonlyArray<readonly [name: string, fragments: ReadonlyArray<string>]>): Answer =>
  ({ stream }) => {
    const usage = { prompt_tokens: 1, completion_tokens: 1 }
    if (stream !== true) {
      const tool_calls = calls.map(([name, fragments], at) => call(name, fragments.join(""), at))
      const message = { role: "assistant", content: null, tool_calls }
      return Response.json({ choices: [{ index: 0, message, finish_reason: "tool_calls" }], usage })
    }
    const delta = (tool: JsonObject) => chunkOf({ delta: { tool_calls: [tool] }, finish_reason: null })
    return sse([
      ...calls.flatMap(([name, fragments], index) => [
        delta(call(name, "", index)),
        ...fragments.map((given) => delta({ index, function: { arguments: given } })),
      ]),
      chunkOf({ delta: {}, finish_reason: "tool_calls" }, { usage }),
      "[DONE]",
    ])
  }

const fine: Answer = () => wholeAnswer("fine")

interface Sent {
  readonly messages: ReadonlyArray<JsonObject>
  readonly tools?: ReadonlyArray<{ readonly function: { readonly name: string; readonly description?: string } }>
  readonly tool_choice?: unknown
}

const asked = async (body: JsonObject, answer: Answer = fine) => {
  const gateway = await routed({ a: answer })
  const response = await postResponses(gateway, body)
  const dropped = response.headers.get("x-gw-dropped")
  if (body["stream"] === true) {
    const { events, response: end } = await responsesStreamOf(response)
    return { dropped, events, output: end["output"] as ReadonlyArray<JsonObject>, sent: sentTo(gateway) }
  }
  const { output } = await responseOf(response)
  return { dropped, events: [], output: output as ReadonlyArray<JsonObject>, sent: sentTo(gateway) }
}

const sentTo = ({ hosts }: Awaited<ReturnType<typeof routed>>) => hosts["a"]?.calls.at(-1)?.body as unknown as Sent

const namesIn = ({ tools = [] }: Sent) => tools.map((tool) => tool.function.name)

const f = (name: string, more: JsonObject = {}) => ({ type: "function", name, parameters: { type: "object" }, ...more })
const custom = (name: string, more: JsonObject = {}) => ({ type: "custom", name, ...more })
const space = (name: string, ...tools: ReadonlyArray<JsonObject>) => ({ type: "namespace", name, tools })
const search = { type: "tool_search", execution: "client" }
const hi = { role: "user", content: "hi" }
const additional = (...tools: ReadonlyArray<JsonObject>) => ({ type: "additional_tools", role: "developer", tools })

describe("a name", () => {
  test("longer than 64 letters is shortened, and no two tools share one", async () => {
    const [long, other] = [`${"n".repeat(40)}_a`, `${"n".repeat(40)}_b`]
    const tools = [
      ...[space(long, f("w".repeat(64)), f(`${"w".repeat(63)}x`)), space(other, f("w".repeat(64)))],
      ...[space("a", f("b__c")), space("a__b", f("c"), custom("c")), f("a__b__c"), custom("a__b__c")],
    ]
    const { sent } = await asked({ tools })
    const names = namesIn(sent)
    expect(names).toHaveLength(8)
    expect(new Set(names).size).toBe(8)
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    // A function without a namespace keeps its name, wherever it stands.
    expect(names[6]).toBe("a__b__c")
    const { output } = await asked({ tools }, calling(...names.map((name) => [name, ["{}"]] as const)))
    expect(output.map(({ type, namespace, name }) => [type, namespace, name])).toEqual([
      ["function_call", long, "w".repeat(64)],
      ["function_call", long, `${"w".repeat(63)}x`],
      ["function_call", other, "w".repeat(64)],
      ["function_call", "a", "b__c"],
      ["function_call", "a__b", "c"],
      ["custom_tool_call", "a__b", "c"],
      ["function_call", undefined, "a__b__c"],
      ["custom_tool_call", undefined, "a__b__c"],
    ])
  })

  test("stays the same when tools are added, so that a host's cache holds", async () => {
    const first = [space("n".repeat(60), f("wait"), f("other"))]
    const before = namesIn((await asked({ tools: first })).sent)
    const after = namesIn(
      (await asked({ tools: first, input: [hi, additional(space("m".repeat(60), f("wait")))] })).sent,
    )
    expect(after.slice(0, 2)).toEqual(before)
  })

  test("of an earlier call whose tool is gone is one of its own", async () => {
    const gone = { type: "custom_tool_call", call_id: "c", name: "f", input: "x" }
    const result = { type: "custom_tool_call_output", call_id: "c", output: "y" }
    const { sent } = await asked({ tools: [f("f")], input: [hi, gone, result] })
    expect(sent.messages[1]?.["tool_calls"]).toEqual([
      {
        id: "c",
        type: "function",
        function: { name: expect.stringMatching(/^f_[0-9a-f]{10}$/), arguments: '{"input":"x"}' },
      },
    ])
  })
})

test("a tool that is added again counts once, as it was described last", async () => {
  const input = [
    additional(f("wait", { description: "old" }), custom("exec")),
    hi,
    { type: "tool_search_call", call_id: "c", execution: "client", arguments: { query: "q" } },
    {
      type: "tool_search_output",
      call_id: "c",
      execution: "client",
      tools: [
        f("wait", { description: "new" }),
        space("agents", f("close", { description: "Closes." }), custom("run")),
      ],
    },
    additional(f("wait", { description: "newest" })),
  ]
  const { sent, dropped } = await asked({ tools: [search], input })
  expect(namesIn(sent)).toEqual(["tool_search", "wait", "exec", "agents__close", "agents__run"])
  expect(sent.tools?.[1]?.function.description).toBe("newest")
  expect(sent.messages).toEqual([
    { role: "user", content: "hi" },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c", type: "function", function: { name: "tool_search", arguments: '{"query":"q"}' } }],
    },
    {
      role: "tool",
      tool_call_id: "c",
      content: "These tools can be called now:\n- wait: new\n- agents__close: Closes.\n- agents__run",
    },
  ])
  expect(dropped).toBeNull()
})

test("a grammar is in the description and named as dropped, a format of text is not", async () => {
  const grammar = { type: "grammar", syntax: "regex", definition: "[a-z]+" }
  const { sent, dropped } = await asked({
    tools: [
      custom("a"),
      custom("b", { format: { type: "text" } }),
      custom("c", { format: grammar, defer_loading: true }),
    ],
  })
  expect(dropped).toBe("tools[2].defer_loading, tools[2].format")
  expect(JSON.stringify(sent.tools?.[2])).toContain("must match this regex grammar:\\n[a-z]+")
  expect(sent.tools?.[0]).toEqual({
    type: "function",
    function: {
      name: "a",
      description: "Takes free text, given as `input`.",
      parameters: {
        type: "object",
        properties: { input: { type: "string", description: "The text, as it is meant." } },
        required: ["input"],
        additionalProperties: false,
      },
    },
  } as never)
})

test("the result of a local shell belongs to its call, whichever of its ids it has", async () => {
  const shellCall = (id: string, call_id: string) => ({
    ...{ type: "local_shell_call", id, call_id, status: "completed" },
    action: { type: "exec", command: ["ls"], env: {} },
  })
  const result = (ids: JsonObject) => ({ type: "local_shell_call_output", ...ids, output: "{}" })
  const input = [
    ...[hi, shellCall("lsh_1", "c1"), shellCall("lsh_2", "c2"), shellCall("lsh_3", "c3")],
    ...[result({ id: "lsh_1" }), result({ id: "c2" }), result({ id: "out", call_id: "c3" })],
  ]
  const { sent } = await asked({ tools: [{ type: "local_shell" }], input })
  expect(sent.messages.slice(2).map(({ tool_call_id: id }) => id)).toEqual(["c1", "c2", "c3"])
})

test("skills of a local shell are in its description; those that a host has stored are refused", async () => {
  const skill = { name: "csv", description: "Reads tables.", path: "/skills/csv" }
  const shell = (skills: ReadonlyArray<JsonObject>) => ({ type: "shell", environment: { type: "local", skills } })
  const { sent, dropped } = await asked({ tools: [shell([skill])] })
  expect(sent.tools?.[0]?.function.description).toContain("- csv (/skills/csv): Reads tables.")
  expect(dropped).toBeNull()
  const gateway = await routed({ a: fine })
  for (const stored of [shell([{ ...skill, skill_id: "s" }]), { type: "shell", environment: { skills: [skill] } }])
    expect((await postResponses(gateway, { tools: [stored] })).status).toBe(400)
})

/** As long as the shortest that OpenAI's hosts write. */
const ciphertext = `gAAAAA${"Zx0_-9".repeat(20)}==`

test("a message of another agent says who it is from; its encrypted part is named", async () => {
  const input = [
    {
      type: "agent_message",
      id: "am_1",
      author: "/root",
      recipient: "/root/a",
      content: [
        { type: "encrypted_content", encrypted_content: ciphertext },
        { type: "input_text", text: "Look." },
      ],
    },
  ]
  const { sent, dropped } = await asked({ input })
  expect(dropped).toBe("input[0].content[0]")
  expect(sent.messages).toEqual([
    {
      role: "user",
      content: [
        { type: "text", text: "Message from /root to /root/a:" },
        { type: "text", text: "Look." },
      ],
    },
  ])
})

test("Codex passes on as encrypted what a model elsewhere wrote as plain text for another agent: the agent was given no task", async () => {
  const task = "Read notes.txt, and say what is in it."
  const content = [
    { type: "input_text", text: "Payload:\n" },
    { type: "encrypted_content", encrypted_content: task },
    { type: "encrypted_content", encrypted_content: "continue" },
  ]
  const { sent, dropped } = await asked({
    input: [{ type: "agent_message", author: "/root", recipient: "/root/a", content }],
  })
  expect(dropped).toBeNull()
  const texts = ["Message from /root to /root/a:", "Payload:\n", task, "continue"]
  expect(sent.messages).toEqual([{ role: "user", content: texts.map((text) => ({ type: "text", text })) }])
})

test("the mark of an argument that hosts of the form encrypt is no schema", async () => {
  const message = { type: "string", description: "The task.", encrypted: true }
  const other = { type: "string" }
  const schema = { type: "object", properties: { message, other }, required: ["message"], additionalProperties: false }
  const { sent, dropped } = await asked({
    tools: [{ type: "function", name: "spawn", parameters: schema, strict: false }],
    input: [hi],
  })
  const plain = { type: "string", description: "The task." }
  expect(sent.tools?.[0]?.function).toMatchObject({ parameters: { ...schema, properties: { message: plain, other } } })
  expect(JSON.stringify(sent.tools)).not.toContain("encrypted")
  expect(dropped).toBeNull()
})

describe("a choice", () => {
  const tools = [custom("exec"), search, { type: "apply_patch" }, space("agents", f("close"), custom("run")), f("wait")]
  const input = [additional(custom("added")), hi]

  test.each([
    [{ type: "custom", name: "exec" }, "exec"],
    [{ type: "custom", name: "added" }, "added"],
    [{ type: "custom", namespace: "agents", name: "run" }, "agents__run"],
    [{ type: "function", namespace: "agents", name: "close" }, "agents__close"],
    [{ type: "tool_search" }, "tool_search"],
    [{ type: "apply_patch" }, "apply_patch"],
  ])("%j is the function %s", async (choice, name) => {
    const { sent } = await asked({ tools, input, tool_choice: choice })
    expect(sent.tool_choice).toEqual({ type: "function", function: { name } })
  })

  test("among allowed tools has these alone", async () => {
    const allowed = [
      ...[{ type: "custom", name: "added" }, { type: "tool_search" }, { type: "namespace", name: "agents" }],
    ]
    const { sent } = await asked({
      tools,
      input,
      tool_choice: { type: "allowed_tools", mode: "required", tools: allowed },
    })
    expect([sent.tool_choice, namesIn(sent)]).toEqual([
      "required",
      ["tool_search", "agents__close", "agents__run", "added"],
    ])
  })

  test.each([
    [{ type: "custom", name: "wait" }, "tool_choice.name", '"wait" is not the name of a custom tool in tools'],
    [{ type: "function", namespace: "other", name: "close" }, "tool_choice.name", '"other.close" is not'],
    [{ type: "local_shell" }, "tool_choice.type", "not among the tools"],
    [
      { type: "allowed_tools", mode: "auto", tools: [{ type: "custom", name: "gone" }] },
      "tool_choice.tools[0].name",
      "gone",
    ],
  ])("of what is not offered is refused: %j", async (choice, path, says) => {
    const gateway = await routed({ a: fine })
    const { metadata, message } = await errorOf(await postResponses(gateway, { tools, input, tool_choice: choice }))
    expect(metadata?.["path"]).toBe(path)
    expect(message).toContain(says)
  })
})

describe.each([true, false])("a call of a custom tool (stream: %p)", (stream) => {
  const body = { tools: [custom("exec"), search, { type: "local_shell" }], stream }

  test("is streamed as pieces of the text, and another call may come between them", async () => {
    const answer: Answer = (asking) => {
      if (asking["stream"] !== true)
        return calling(["exec", ['{"input":"a\\n\\ud83d\\ude00"}']])(asking, new Request("http://a"), 1)
      const delta = (tool: JsonObject) => chunkOf({ delta: { tool_calls: [tool] }, finish_reason: null })
      return sse([
        delta(call("exec", '{"in', 0)),
        delta(call("exec", "", 1)),
        delta({ index: 0, function: { arguments: 'put": "a\\' } }),
        delta({ index: 1, function: { arguments: "not JSON" } }),
        delta({ index: 0, function: { arguments: "n\\ud8" } }),
        delta({ index: 0, function: { arguments: '3d\\ude00"}' } }),
        chunkOf({ delta: {}, finish_reason: "tool_calls" }, { usage: { prompt_tokens: 1, completion_tokens: 1 } }),
        "[DONE]",
      ])
    }
    const { output, events } = await asked(body, answer)
    expect(output[0]).toMatchObject({
      type: "custom_tool_call",
      call_id: "call_0",
      name: "exec",
      input: "a\n\u{1f600}",
    })
    if (!stream) return
    expect(output[1]).toMatchObject({ type: "custom_tool_call", call_id: "call_1", name: "exec", input: "not JSON" })
    const pieces = events.filter(
      ({ type, output_index: at }) => type === "response.custom_tool_call_input.delta" && at === 0,
    )
    expect(pieces.map(({ delta }) => delta)).toEqual(["a", "\n", "\u{1f600}"])
  })

  test("that is no JSON is the text; other calls that are none have what a client can read", async () => {
    const { output } = await asked(
      body,
      calling(
        ["exec", ["*** Begin", " Patch"]],
        ["exec", []],
        ["exec", ['{"code"', ':"x"}']],
        ["tool_search", ["agents"]],
        ["tool_search", []],
        ["local_shell", ['{"command":"ls -l"}']],
        ["local_shell", ["ls"]],
        ["unknown", ["{}"]],
      ),
    )
    expect(output.map(({ id: _, call_id: __, status: ___, ...item }) => item)).toEqual([
      { type: "custom_tool_call", name: "exec", input: "*** Begin Patch" },
      { type: "custom_tool_call", name: "exec", input: "" },
      { type: "custom_tool_call", name: "exec", input: '{"code":"x"}' },
      { type: "tool_search_call", execution: "client", arguments: "agents" },
      { type: "tool_search_call", execution: "client", arguments: {} },
      { type: "local_shell_call", action: { type: "exec", command: ["bash", "-lc", "ls -l"], env: {} } },
      { type: "local_shell_call", action: { type: "exec", command: [], env: {} } },
      { type: "function_call", name: "unknown", arguments: "{}" },
    ])
  })
})

test("the openai client puts calls of custom tools together, and gives them back", async () => {
  const answer = calling(["exec", ['{"inp', 'ut":"text(', "1", ')"}']], ["shell", ['{"commands":["ls"]}']])
  const gateway = await routed({ a: answer }, { socket: true })
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 })
  const tools = [custom("exec"), { type: "shell", environment: { type: "local" } }] as never
  const stream = client.responses.stream({ model: "acme/small", input: "go", tools })
  const { output } = await stream.finalResponse()
  expect(output).toMatchObject([
    { type: "custom_tool_call", name: "exec", input: "text(1)", call_id: "call_0" },
    { type: "shell_call", action: { commands: ["ls"] }, call_id: "call_1" },
  ])
  const results = [
    { type: "custom_tool_call_output", call_id: "call_0", output: "1" },
    { type: "shell_call_output", call_id: "call_1", output: [] },
  ]
  await client.responses.create({ model: "acme/small", input: [...output, ...results] as never, tools })
  expect(sentTo(gateway).messages).toHaveLength(3)
})
