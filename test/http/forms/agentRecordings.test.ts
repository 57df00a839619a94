/**
 * Requests as agents sent them, to a host of each protocol, and on from there: the host calls tools of the agent, gets their results,
 * and ends with a text. They are skipped where the recordings are missing; `agentConstructs.test.ts` has cases of our own.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { playCompaction, refusedElsewhere } from "../../support/agents/compaction.ts"
import { agentForms, type FormName, type Keeps } from "../../support/agents/forms.ts"
import { type HostName, hostNames } from "../../support/agents/hosts.ts"
import { play } from "../../support/agents/play.ts"
import { type AgentScene, agentScene } from "../../support/agents/scene.ts"
import type { Step, Task } from "../../support/agents/Task.ts"
import { type RecordedRequest, recordedRequests } from "../../support/recordings/recordings.ts"

const calls = (name: string, input: JsonObject | string, namespace?: string): Step => ({
  calls: [
    {
      kind: typeof input === "string" ? "custom" : "function",
      name,
      input,
      ...(namespace === undefined ? {} : { namespace }),
    },
  ],
})

interface Row {
  /** What the agent keeps of reasoning. */
  readonly keeps: Keeps
  /** How many tools the host is offered. */
  readonly tools: number
  readonly steps: ReadonlyArray<Step>
  /** `X-GW-Dropped` by host. */
  readonly dropped: Readonly<Record<HostName, string>>
}

const nothing: Row["dropped"] = {
  responses: "",
  chat: "",
  "strict chat": "",
  messages: "",
  gemini: "",
  converse: "",
  cohere: "",
  ollama: "",
}

const file = "/home/user/project/notes.txt"

const patch = '*** Begin Patch\n*** Add File: a "b".txt\n+x\\y\té 🌞\n*** End Patch\n'

/** What a search of tools finds. */
const agents: ReadonlyArray<JsonObject> = [
  {
    type: "namespace",
    name: "helpers",
    tools: [
      {
        type: "function",
        name: "start",
        description: "Starts a helper.",
        parameters: { type: "object", properties: { task: { type: "string" } }, required: ["task"] },
      },
      { type: "custom", name: "note", description: "Leaves a note." },
    ],
  },
]

const rows: Readonly<Record<string, Row>> = {
  "cline-chat": {
    keeps: "reasoning_content",
    tools: 25,
    steps: [calls("read_files", { files: [{ path: file }] }), calls("editor", { path: file, new_text: "x" })],
    dropped: nothing,
  },
  "cline-openai-native": {
    keeps: "vendor",
    tools: 25,
    steps: [calls("read_files", { files: [{ path: file }] }), calls("apply_patch", { input: "*** Begin Patch" })],
    dropped: {
      responses: "tools[0], tools[1]",
      chat: "tools[0], tools[1]",
      "strict chat": "tools[0], tools[1]",
      messages: "tools[0], tools[1]",
      gemini: "tools[0], tools[1]",
      converse: "tools[0], tools[1]",
      cohere: "tools[0], tools[1]",
      ollama: "tools[0], tools[1]",
    },
  },
  "codex-gpt-5.5": {
    keeps: "vendor",
    tools: 9,
    steps: [
      calls("exec_command", { cmd: `cat ${file}` }),
      calls("apply_patch", patch),
      { calls: [{ kind: "search", name: "tool_search", input: { query: "agents", limit: 2 } }], found: agents },
      calls("start", { task: "Look for it" }, "helpers"),
      calls("note", 'Say "done".', "helpers"),
    ],
    dropped: {
      responses: "tools[9]",
      chat: "tools[9], tools[3].format, client_metadata",
      "strict chat": "tools[9], tools[3].format, client_metadata",
      messages: "tools[9], prompt_cache_key, text.verbosity, tools[3].format, client_metadata",
      gemini: "tools[9], prompt_cache_key, text.verbosity, tools[3].format, client_metadata",
      converse: "tools[9], prompt_cache_key, text.verbosity, tools[3].format, client_metadata",
      cohere: "tools[9], prompt_cache_key, text.verbosity, tools[3].format, client_metadata",
      ollama: "tools[9], prompt_cache_key, text.verbosity, tools[3].format, client_metadata",
    },
  },
  "codex-gpt-6-sol": {
    keeps: "vendor",
    tools: 11,
    steps: [calls("exec", `text("${file}")\n`, "functions"), calls("wait", { cell_id: "1" }, "functions")],
    dropped: {
      responses: "",
      chat: "input[0].tools[1].description, input[0].tools[2].description, input[0].tools[0].tools[0].format, client_metadata, reasoning.context",
      "strict chat":
        "input[0].tools[1].description, input[0].tools[2].description, input[0].tools[0].tools[0].format, client_metadata, reasoning.context",
      messages:
        "prompt_cache_key, text.verbosity, reasoning, input[0].tools[1].description, input[0].tools[2].description, input[0].tools[0].tools[0].format, client_metadata",
      gemini:
        "parallel_tool_calls, prompt_cache_key, text.verbosity, input[0].tools[1].description, input[0].tools[2].description, input[0].tools[0].tools[0].format, client_metadata, reasoning.context",
      converse:
        "prompt_cache_key, text.verbosity, reasoning, input[0].tools[1].description, input[0].tools[2].description, input[0].tools[0].tools[0].format, client_metadata",
      cohere:
        "parallel_tool_calls, prompt_cache_key, text.verbosity, input[0].tools[1].description, input[0].tools[2].description, input[0].tools[0].tools[0].format, client_metadata, reasoning.context",
      ollama:
        "parallel_tool_calls, prompt_cache_key, text.verbosity, input[0].tools[1].description, input[0].tools[2].description, input[0].tools[0].tools[0].format, client_metadata, reasoning.context",
    },
  },
  "codex-unknown-model": {
    keeps: "vendor",
    tools: 12,
    steps: [
      calls("exec_command", { cmd: `cat ${file}` }),
      calls("spawn_agent", { message: "Look for it" }, "multi_agent_v1"),
    ],
    dropped: {
      responses: "tools[8]",
      chat: "tools[8], tools[4].description, client_metadata",
      "strict chat": "tools[8], tools[4].description, client_metadata",
      messages: "tools[8], prompt_cache_key, tools[4].description, client_metadata",
      gemini: "tools[8], prompt_cache_key, tools[4].description, client_metadata",
      converse: "tools[8], prompt_cache_key, tools[4].description, client_metadata",
      cohere: "tools[8], prompt_cache_key, tools[4].description, client_metadata",
      ollama: "tools[8], prompt_cache_key, tools[4].description, client_metadata",
    },
  },
  "opencode-chat": {
    keeps: "nothing",
    tools: 10,
    steps: [calls("read", { filePath: file }), calls("write", { filePath: file, content: "x" })],
    dropped: nothing,
  },
  "opencode-messages": {
    keeps: "items",
    tools: 10,
    steps: [calls("read", { filePath: file }), calls("write", { filePath: file, content: "x" })],
    dropped: {
      ...nothing,
      responses: "cache_control",
      "strict chat": "cache_control",
      gemini: "cache_control",
      cohere: "cache_control",
      ollama: "cache_control",
    },
  },
  "pi-chat": {
    keeps: "reasoning",
    tools: 4,
    steps: [calls("read", { path: file }), calls("write", { path: file, content: "x" })],
    dropped: { ...nothing, messages: "reasoning_effort", converse: "reasoning_effort" },
  },
  "pi-responses": {
    keeps: "items",
    tools: 4,
    steps: [calls("read", { path: file }), calls("write", { path: file, content: "x" })],
    dropped: {
      responses: "",
      chat: "",
      "strict chat": "",
      messages: "prompt_cache_key, reasoning",
      gemini: "prompt_cache_key",
      converse: "prompt_cache_key, reasoning",
      cohere: "prompt_cache_key",
      ollama: "prompt_cache_key",
    },
  },
  "qwen-chat": {
    keeps: "reasoning_content",
    tools: 14,
    steps: [calls("read_file", { file_path: file }), calls("write_file", { file_path: file, content: "x" })],
    dropped: nothing,
  },
}

const formOf = ({ path }: RecordedRequest): FormName =>
  path.endsWith("/responses") ? "responses" : path.endsWith("/messages") ? "messages" : "chat"

const found = recordedRequests()

describe.skipIf(found.length === 0)("recorded requests of agents", () => {
  let scene: AgentScene
  beforeAll(async () => {
    scene = await agentScene()
  })
  afterAll(() => scene.stop())

  test("each has a row", () => {
    expect(found.map(({ name }) => name)).toEqual([...Object.keys(rows), "codex-compaction"].toSorted())
  })

  for (const recorded of found) {
    const row = rows[recorded.name]
    if (row === undefined) continue
    const form = formOf(recorded)
    const { headers, body } = recorded
    describe(recorded.name, () => {
      test(`${row.tools} tools`, () => expect(agentForms[form].tools(body)).toHaveLength(row.tools))
      for (const host of hostNames) {
        for (const isStream of [false, true])
          test(`${host}, ${isStream ? "streamed" : "whole"}`, () =>
            play(scene, { form, headers, body, ...row }, host, isStream, row.dropped[host]))
      }
    })
  }

  describe("codex-compaction", () => {
    const compacting = (): Task => {
      const [recorded] = found.filter(({ name }) => name === "codex-compaction")
      if (recorded === undefined) throw new Error("no such recording")
      const { headers, body } = recorded
      return { form: "responses", headers, body, keeps: "vendor", steps: [calls("exec_command", { cmd: "ls" })] }
    }
    for (const isStream of [false, true]) {
      const how = isStream ? "streamed" : "whole"
      test(`a host of the form, ${how}`, () => playCompaction(scene, compacting(), isStream))
      test(`hosts of other forms, ${how}`, () => refusedElsewhere(scene, compacting(), isStream))
    }
  })
})
