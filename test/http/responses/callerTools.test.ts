/**
 * Tools that a caller of the Responses form runs, at hosts of every form: the functions that hosts are sent, what their calls come back as,
 * and the next turn with the results.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { agentHosts, type HostName, hostNames } from "../../support/agents/hosts.ts"
import { type AgentScene, agentScene, modelAt } from "../../support/agents/scene.ts"
import { postResponses, responseOf, responsesStreamOf } from "../../support/clients/responsesForm.ts"

let scene: AgentScene
beforeAll(async () => {
  scene = await agentScene()
})
afterAll(() => scene.stop())

/** The host calls these functions from now on; none: it answers with a text. */
const hostCalls = (calls: ReadonlyArray<{ readonly name: string; readonly input: JsonObject }>): void => {
  scene.say = {
    ...(calls.length === 0 ? { text: "fine" } : {}),
    calls: calls.map((call, at) => ({ kind: "function", id: `call_${at}`, ...call })),
  }
}

/** The host of the Responses form answers with these items from now on. */
const hostItems = (items: ReadonlyArray<JsonObject>): void => {
  scene.say = { calls: [], items }
}

/** The calls of the conversation that a host was sent, with their arguments, and the results. */
const historyAt = (host: HostName) => {
  const { turns } = agentHosts[host].asked(scene.sentTo(host))
  return {
    calls: turns.flatMap((turn): ReadonlyArray<readonly [name: string, input: unknown]> => {
      const [, name, input] = /^call .*?: (\S+) (.*)$/s.exec(turn) ?? []
      return name === undefined || input === undefined ? [] : [[name, JSON.parse(input)]]
    }),
    results: turns.flatMap((turn) => /^result .*?: (.*)$/s.exec(turn)?.slice(1) ?? []),
  }
}

/** The items of an answer, as its last event or its body has them, and the names of what was dropped. */
const asked = async (host: HostName, body: JsonObject) => {
  const response = await postResponses(scene.gateway, { model: modelAt(host), ...body })
  if (response.status !== 200) throw new Error(await response.text())
  // A host of the form gets what the caller wrote, be that right or not.
  if (host !== "responses") expect(agentHosts[host].refusals(scene.sentTo(host))).toEqual([])
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

/** Each tool by the name of its function, the arguments of its call, the item that comes back, and the one of its result. */
const rows: ReadonlyArray<readonly [name: string, given: JsonObject, item: JsonObject, result: JsonObject]> = [
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

const results = [
  "waited",
  "ran",
  "waited there",
  "patched",
  "No tools were found.",
  '{"output":"a.txt"}',
  '[{"stdout":"a.txt","stderr":"","outcome":{"type":"exit","exit_code":0}}]',
  "failed: no such file",
]

const elsewhere = hostNames.filter((host) => host !== "responses")

describe.each(elsewhere.flatMap((host) => [[host, false] as const, [host, true] as const]))(
  "at a host of another form, %s, streamed: %p",
  (host, stream) => {
    const body = { stream, tools: [wait, patch, search, ...builtIn], input: [additional, question] }

    test("each tool is a function, its call comes back as what it is, and the next turn has calls and results", async () => {
      hostCalls([])
      const first = await asked(host, { ...body, stream: false })
      expect(first.dropped).toEqual(["input[0].tools[0].tools[0].format"])
      const { tools } = agentHosts[host].asked(scene.sentTo(host))
      const names = tools.map(({ name }) => name)
      expect(names.map((name) => name.replace(/_[0-9a-f]{10}$/, "_"))).toEqual([
        ...["wait", "apply_patch", "tool_search", "local_shell", "shell", "apply_patch_"],
        ...["functions__exec", "functions__wait"],
      ])
      expect(tools.find(({ name }) => name === "functions__exec")).toMatchObject({
        parameters: { properties: { input: { type: "string", description: expect.stringContaining("start: /a+/") } } },
      })
      for (const description of ["free text", "Finds tools."])
        expect(JSON.stringify(scene.sentTo(host))).toContain(description)

      const nameOf = (name: string) =>
        names.find((one) => one === name || (name.endsWith("_") && /^apply_patch_\w{10}$/.test(one))) ?? ""
      hostCalls(rows.map(([name, input]) => ({ name: nameOf(name), input })))
      const { output, events, tools: echoed } = await asked(host, body)
      // Google's hosts sign their first call; the signature stands in an item of its own.
      const called = output.filter(({ type }) => type !== "reasoning")
      expect(withoutIds(called)).toEqual(
        rows.map(([, , item], at) => ({
          ...item,
          call_id: agentHosts[host].givesIds ? `call_${at}` : expect.any(String),
          status: "completed",
        })),
      )
      expect(echoed).toEqual([wait, patch, search, ...builtIn])
      if (stream) {
        const texts = events.filter(({ type }) => type === "response.custom_tool_call_input.done")
        expect(texts.map(({ input }) => input)).toEqual([script, "*** Begin"])
      }

      const given = rows.map(([, , , result], at) => ({ ...result, call_id: called[at]?.["call_id"] }))
      hostCalls([])
      await asked(host, { ...body, stream: false, input: [additional, question, ...output, ...given] })
      const added: JsonObject = { local_shell: { env: {} }, shell: { timeout_ms: null, max_output_length: null } }
      expect(historyAt(host)).toEqual({
        calls: rows.map(([name, input]) => [nameOf(name), { ...input, ...Object(added[name]) }]),
        results,
      })
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

  test("a message to an agent that a model elsewhere wrote in plain text is text, since the host could not decrypt it", async () => {
    hostCalls([])
    const agentMessage = (content: ReadonlyArray<JsonObject>) => ({
      type: "agent_message",
      author: "/a",
      recipient: "/b",
      content,
    })
    const encrypted = { type: "encrypted_content", encrypted_content: ciphertext }
    const plain = { type: "encrypted_content", encrypted_content: "Read notes.txt." }
    const { dropped } = await asked("responses", { input: [question, agentMessage([encrypted, plain])] })
    const text = { type: "input_text", text: "Read notes.txt." }
    expect([scene.sentTo("responses")["input"], dropped]).toEqual([[question, agentMessage([encrypted, text])], []])
  })

  test.each([false, true])("all of it passes as the caller wrote it (stream: %p)", async (stream) => {
    hostCalls([])
    const { dropped } = await asked("responses", {
      tools,
      input,
      stream,
      tool_choice: { type: "custom", name: "apply_patch" },
    })
    const body = scene.sentTo("responses")
    expect(body["tools"]).toEqual(tools)
    expect(body["input"]).toEqual(input)
    expect(body["tool_choice"]).toEqual({ type: "custom", name: "apply_patch" })
    expect(dropped).toEqual([])
  })

  test("a choice reaches the host where items alone add tools", async () => {
    await asked("responses", { input: [additional, question], tool_choice: "auto", parallel_tool_calls: false })
    expect(scene.sentTo("responses")).toMatchObject({
      tool_choice: "auto",
      parallel_tool_calls: false,
      input: [additional, question],
    })
    expect(scene.sentTo("responses")["tools"]).toBeUndefined()
  })

  test.each([false, true])("its calls come back as it wrote them (stream: %p)", async (stream) => {
    const items = history
      .filter(({ type }) => type.endsWith("_call"))
      .map((item, at) => ({ ...item, id: `item_${at}`, status: "completed" }))
    hostItems(items)
    const { output } = await asked("responses", { tools, input: [additional, question], stream })
    expect(output).toHaveLength(6)
    expect(output).toEqual(items)
  })

  test.each([false, true])("a search of tools alone is an answer (stream: %p)", async (stream) => {
    const search = { ...history[0], id: "tsc_1" }
    hostItems([search])
    const { output } = await asked("responses", { tools, stream })
    expect(output).toEqual([search])
  })

  test("a conversation that began at a host of another form goes on, without ids of the gateway", async () => {
    hostCalls([
      { name: "functions__exec", input: { input: "1" } },
      { name: "tool_search", input: { query: "q" } },
    ])
    const body = { tools: [search], input: [additional, question] }
    const { output } = await asked("chat", body)
    expect(output.map(({ id }) => String(id).split("_")[0])).toEqual(["ctc", "tsc"])
    const results = [
      { type: "custom_tool_call_output", call_id: "call_0", output: "ran" },
      { type: "tool_search_output", call_id: "call_1", execution: "client", tools: [wait] },
    ]
    hostCalls([])
    await asked("responses", { ...body, input: [...body.input, ...output, ...results] })
    expect(scene.sentTo("responses")["input"]).toEqual([...body.input, ...withoutIds(output), ...results])
  })
})
