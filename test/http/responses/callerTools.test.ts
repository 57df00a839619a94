/**
 * Tools that a caller of the Responses form runs, at hosts of every form: what hosts are told of them, what their calls come back as,
 * and the next turn with the results.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/Json.ts"
import { type Called, callingForm } from "../../support/callingHosts.ts"
import { postResponses, responseOf, responsesStreamOf } from "../../support/responsesForm.ts"
import { eventsOf, responseObject, streamOf } from "../../support/responsesHost.ts"
import { answerAt, type Hosts, startHosts } from "../payload/hosts.ts"

let hosts: Hosts
/** What the host calls; empty: it says "fine". */
let calls: ReadonlyArray<Called> = []
/** Items of a host of the Responses form, in place of calls. */
let items: ReadonlyArray<JsonObject> = []

beforeAll(async () => {
  hosts = await startHosts({
    answer: (path, body) => {
      const stream = body["stream"] === true || /converse-stream|streamGenerate/.test(path)
      if (path.endsWith("/responses") && items.length > 0)
        return stream ? streamOf(eventsOf(items)) : Response.json(responseObject(items))
      return calls.length === 0 ? answerAt(path) : callingForm(path).answer(calls, stream)
    },
  })
})
afterAll(() => hosts.stop())

const last = () => {
  const call = hosts.host.calls.at(-1)
  if (call === undefined) throw new Error("no host was called")
  return call
}

/** What the host was told of tools, of calls and of results. */
const told = () => {
  const { request, body } = last()
  const form = callingForm(new URL(request.url).pathname)
  return { tools: form.tools(body), turns: form.turns(body) }
}

/** The items of an answer, as its last event or its body has them, and the names of what was dropped. */
const asked = async (protocol: string, body: JsonObject) => {
  const response = await postResponses(hosts.gateway, { model: `acme/${protocol}`, ...body })
  if (response.status !== 200) throw new Error(await response.text())
  const dropped = response.headers.get("x-gw-dropped")?.split(", ") ?? []
  if (body["stream"] !== true) {
    const whole = await responseOf(response)
    return { output: whole["output"] as ReadonlyArray<JsonObject>, tools: whole["tools"], dropped, events: [] }
  }
  const { response: end, events } = await responsesStreamOf(response)
  return { output: end["output"] as ReadonlyArray<JsonObject>, tools: end["tools"], dropped, events }
}

const withoutIds = (output: ReadonlyArray<JsonObject>) => output.map(({ id: _, ...item }) => item)

const parameters = { type: "object", properties: { query: { type: "string" } }, required: ["query"] }
const grammar = { type: "grammar", syntax: "lark", definition: "start: /a+/" }
const wait = { type: "function", name: "wait", description: "Waits.", strict: false, parameters }
const exec = { type: "custom", name: "exec", description: "Runs JavaScript.", format: grammar }
const space = { type: "namespace", name: "functions", description: "", tools: [exec, wait] }
const patch = { type: "custom", name: "apply_patch", description: "Edits files.", format: { type: "text" } }
const search = { type: "tool_search", execution: "client", description: "Finds tools.", parameters }
const shell = { type: "shell", environment: { type: "local" } }
const builtIn = [{ type: "local_shell" }, shell, { type: "apply_patch" }]
const additional = { type: "additional_tools", id: "at_1", role: "developer", tools: [space] }
const question = { role: "user", content: "Go on." }

const script = 'text("a\\b");\n\u{1f600} "é"'
const edit = { type: "update_file", path: "a.txt", diff: "@@\n-a\n+b" }

/** Each tool by the name that hosts are told, the arguments of its call, and the item that comes back. */
const scene: ReadonlyArray<readonly [name: string, given: JsonObject, item: JsonObject, result: JsonObject]> = [
  [
    "wait",
    { query: "1" },
    { type: "function_call", name: "wait", arguments: expect.stringMatching(/^\{"query": ?"1"\}$/) },
    { type: "function_call_output", output: "waited" },
  ],
  [
    "functions__exec",
    { input: script },
    { type: "custom_tool_call", name: "exec", namespace: "functions", input: script },
    { type: "custom_tool_call_output", output: [{ type: "input_text", text: "ran" }] },
  ],
  [
    "functions__wait",
    { query: "2" },
    { type: "function_call", name: "wait", namespace: "functions", arguments: expect.stringContaining("2") },
    { type: "function_call_output", output: "waited there" },
  ],
  [
    "apply_patch",
    { input: "*** Begin" },
    { type: "custom_tool_call", name: "apply_patch", input: "*** Begin" },
    { type: "custom_tool_call_output", output: "patched" },
  ],
  [
    "tool_search",
    { query: "agents" },
    { type: "tool_search_call", execution: "client", arguments: { query: "agents" } },
    { type: "tool_search_output", execution: "client", status: "completed", tools: [] },
  ],
  [
    "local_shell",
    { command: ["ls", "-l"], timeout_ms: 5 },
    { type: "local_shell_call", action: { type: "exec", command: ["ls", "-l"], timeout_ms: 5, env: {} } },
    { type: "local_shell_call_output", output: '{"output":"a.txt"}' },
  ],
  [
    "shell",
    { commands: ["ls"] },
    {
      type: "shell_call",
      action: { commands: ["ls"], timeout_ms: null, max_output_length: null },
      environment: { type: "local" },
    },
    {
      type: "shell_call_output",
      output: [{ stdout: "a.txt", stderr: "", outcome: { type: "exit", exit_code: 0 } }],
    },
  ],
  [
    "apply_patch_",
    edit,
    { type: "apply_patch_call", operation: edit },
    { type: "apply_patch_call_output", status: "failed", output: "no such file" },
  ],
]

const said = [
  "waited",
  "ran",
  "waited there",
  "patched",
  "No tools were found.",
  '{"output":"a.txt"}',
  '[{"stdout":"a.txt","stderr":"","outcome":{"type":"exit","exit_code":0}}]',
  "failed: no such file",
]

const textOf = (says: unknown): string =>
  typeof says === "string" ? says : (says as ReadonlyArray<{ readonly text: string }>).map(({ text }) => text).join("")

const forms = ["chat", "compatible", "messages", "google", "converse", "cohere", "ollama"] as const

describe.each(forms.flatMap((form) => [[form, false] as const, [form, true] as const]))(
  "at a host of another form, %s, streamed: %p",
  (form, stream) => {
    const body = { stream, tools: [wait, patch, search, ...builtIn], input: [additional, question] }

    test("each tool is a function, its call comes back as what it is, and the next turn has calls and results", async () => {
      calls = []
      const first = await asked(form, { ...body, stream: false })
      expect(first.dropped).toEqual(["input[0].tools[0].tools[0].format"])
      const { tools } = told()
      const names = tools.map(({ name }) => name)
      expect(names.map((name) => name.replace(/_[0-9a-f]{10}$/, "_"))).toEqual([
        ...["wait", "apply_patch", "tool_search", "local_shell", "shell", "apply_patch_"],
        ...["functions__exec", "functions__wait"],
      ])
      expect(tools.find(({ name }) => name === "functions__exec")).toMatchObject({
        description: expect.stringContaining("free text"),
        parameters: { properties: { input: { type: "string", description: expect.stringContaining("start: /a+/") } } },
      })
      expect(tools.find(({ name }) => name === "tool_search")).toMatchObject({ description: "Finds tools." })

      const nameOf = (name: string) =>
        names.find((one) => one === name || (name.endsWith("_") && /^apply_patch_\w{10}$/.test(one))) ?? ""
      calls = scene.map(([name, given], at) => ({ id: `call_${at}`, name: nameOf(name), given: JSON.stringify(given) }))
      const { output, events, tools: echoed } = await asked(form, body)
      expect(withoutIds(output)).toEqual(
        scene.map(([, , item], at) => ({
          ...item,
          call_id: form === "ollama" ? expect.any(String) : `call_${at}`,
          status: "completed",
        })),
      )
      expect(echoed).toEqual([wait, patch, search, ...builtIn])
      if (stream) {
        const texts = events.filter(({ type }) => type === "response.custom_tool_call_input.done")
        expect(texts.map(({ input }) => input)).toEqual([script, "*** Begin"])
      }

      const results = scene.map(([, , , result], at) => ({ ...result, call_id: output[at]?.["call_id"] }))
      calls = []
      await asked(form, { ...body, stream: false, input: [additional, question, ...output, ...results] })
      const { turns } = told()
      expect(turns.flatMap((turn) => ("call" in turn ? [[turn.call, turn.given]] : []))).toEqual(
        scene.map(([name, given]) => [
          nameOf(name),
          name === "local_shell"
            ? { ...given, env: {} }
            : name === "shell"
              ? { ...given, timeout_ms: null, max_output_length: null }
              : given,
        ]),
      )
      expect(turns.flatMap((turn) => ("result" in turn ? [textOf(turn.says)] : []))).toEqual(said)
    })
  },
)

describe("at a host of the form", () => {
  /** As long as the shortest that OpenAI's hosts write. */
  const ciphertext = `gAAAAA${"Zx0_-9".repeat(20)}==`
  const history = [
    {
      type: "tool_search_call",
      call_id: "c1",
      execution: "client",
      arguments: { query: "agents" },
      status: "completed",
    },
    { type: "tool_search_output", call_id: "c1", status: "completed", execution: "client", tools: [space] },
    {
      type: "agent_message",
      author: "/root",
      recipient: "/root/helper",
      content: [
        { type: "input_text", text: "Look." },
        { type: "encrypted_content", encrypted_content: ciphertext },
      ],
    },
    {
      type: "custom_tool_call",
      call_id: "c2",
      name: "exec",
      namespace: "functions",
      input: script,
      status: "completed",
    },
    { type: "custom_tool_call_output", call_id: "c2", output: [{ type: "input_text", text: "ran" }] },
    {
      type: "local_shell_call",
      id: "lsh_1",
      call_id: "c3",
      status: "completed",
      action: { type: "exec", command: ["ls"], env: { file_id: "a" } },
    },
    { type: "local_shell_call_output", id: "c3", output: "{}" },
    {
      type: "shell_call",
      call_id: "c4",
      action: { commands: ["ls"], timeout_ms: null },
      environment: { type: "local" },
    },
    { type: "shell_call_output", call_id: "c4", output: [{ stdout: "a", stderr: "", outcome: { type: "timeout" } }] },
    { type: "apply_patch_call", call_id: "c5", status: "completed", operation: edit },
    { type: "apply_patch_call_output", call_id: "c5", status: "completed" },
    {
      type: "computer_call",
      call_id: "c6",
      action: { type: "screenshot" },
      status: "completed",
      pending_safety_checks: [],
    },
    {
      type: "computer_call_output",
      call_id: "c6",
      output: { type: "computer_screenshot", image_url: "data:image/png;base64,iVBORw0K" },
    },
  ].map((item) => ({ ...item, internal_chat_message_metadata_passthrough: { turn_id: "t" } }))
  const long = {
    ...space,
    name: "n".repeat(64),
    tools: [
      {
        ...wait,
        name: "w".repeat(64),
        defer_loading: true,
        output_schema: { properties: { file_id: { type: "string" } } },
      },
    ],
  }
  const skills = [{ name: "csv", description: "Reads tables.", path: "/skills/csv" }]
  const skilled = { type: "shell", environment: { type: "local", skills } }
  const tools = [
    wait,
    patch,
    search,
    ...builtIn,
    skilled,
    { type: "computer_use_preview", display_width: 1 },
    space,
    long,
  ]
  const input = [additional, question, ...history]

  test("what an agent was told in plain text by a model elsewhere is text, since the host could not decrypt it", async () => {
    calls = []
    const told = (content: ReadonlyArray<JsonObject>) => ({
      type: "agent_message",
      author: "/a",
      recipient: "/b",
      content,
    })
    const encrypted = { type: "encrypted_content", encrypted_content: ciphertext }
    const plain = { type: "encrypted_content", encrypted_content: "Read notes.txt." }
    const { dropped } = await asked("responses", { input: [question, told([encrypted, plain])] })
    const text = { type: "input_text", text: "Read notes.txt." }
    expect([last().body["input"], dropped]).toEqual([[question, told([encrypted, text])], []])
  })

  test.each([false, true])("all of it passes as the caller wrote it (stream: %p)", async (stream) => {
    calls = []
    const { dropped } = await asked("responses", {
      tools,
      input,
      stream,
      tool_choice: { type: "custom", name: "apply_patch" },
    })
    const { body } = last()
    expect(body["tools"]).toEqual(tools)
    expect(body["input"]).toEqual(input)
    expect(body["tool_choice"]).toEqual({ type: "custom", name: "apply_patch" })
    expect(dropped).toEqual([])
  })

  test("a choice reaches the host where items alone add tools", async () => {
    await asked("responses", { input: [additional, question], tool_choice: "auto", parallel_tool_calls: false })
    expect(last().body).toMatchObject({
      tool_choice: "auto",
      parallel_tool_calls: false,
      input: [additional, question],
    })
    expect(last().body["tools"]).toBeUndefined()
  })

  test.each([false, true])("its calls come back as it wrote them (stream: %p)", async (stream) => {
    items = history
      .filter(({ type }) => type.endsWith("_call"))
      .map((item, at) => ({ ...item, id: `item_${at}`, status: "completed" }))
    const { output } = await asked("responses", { tools, input: [additional, question], stream }).finally(() => {
      items = []
    })
    expect(output).toHaveLength(6)
    expect(output).toEqual(
      history
        .filter(({ type }) => type.endsWith("_call"))
        .map((item, at) => ({ ...item, id: `item_${at}`, status: "completed" })),
    )
  })

  test.each([false, true])("a search of tools alone is an answer (stream: %p)", async (stream) => {
    items = [{ ...history[0], id: "tsc_1" }]
    const { output } = await asked("responses", { tools, stream }).finally(() => {
      items = []
    })
    expect(output).toEqual([{ ...history[0], id: "tsc_1" }])
  })

  test("a conversation that began at a host of another form goes on, without ids of the gateway", async () => {
    calls = [
      { id: "call_a", name: "functions__exec", given: JSON.stringify({ input: "1" }) },
      { id: "call_b", name: "tool_search", given: '{"query":"q"}' },
    ]
    const body = { tools: [search], input: [additional, question] }
    const { output } = await asked("chat", body)
    expect(output.map(({ id }) => String(id).split("_")[0])).toEqual(["ctc", "tsc"])
    const results = [
      { type: "custom_tool_call_output", call_id: "call_a", output: "ran" },
      { type: "tool_search_output", call_id: "call_b", execution: "client", tools: [wait] },
    ]
    calls = []
    await asked("responses", { ...body, input: [...body.input, ...output, ...results] })
    expect(last().body["input"]).toEqual([...body.input, ...withoutIds(output), ...results])
  })
})
