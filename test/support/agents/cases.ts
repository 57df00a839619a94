/**
 * What agents send, each construct in a small request of our own: tools that take text, tools within namespaces and within items, a
 * search of tools that the agent runs, messages between agents, tools that hosts run, marks of caches, reasoning of earlier turns.
 */
import type { JsonObject } from "../../../src/domain/Json.ts"
import type { HostName } from "./hosts.ts"
import type { Step, Task } from "./play.ts"

export interface AgentCase extends Task {
  readonly what: string
  /** The tools of its first request, as a host of the Responses form is told them, and as others are: see `shownTool`. */
  readonly offers: { readonly responses: string; readonly elsewhere: string }
  /** `X-GW-Dropped`. */
  readonly dropped: Readonly<Record<HostName, string>>
  /** The same in the turns that follow, where it differs. */
  readonly later?: Readonly<Partial<Record<HostName, string>>>
}

const json = { "content-type": "application/json" }

/** `others`: at every host that is not named. */
const at = (others: string, named: Partial<Record<HostName, string>> = {}): AgentCase["dropped"] => ({
  ...{ responses: others, chat: others, "strict chat": others, messages: others },
  ...{ gemini: others, converse: others, cohere: others, ollama: others },
  ...named,
})

/** At hosts of the Responses form nothing; members that only chat and Responses have come first. */
const elsewhere = (members: string, more = ""): AgentCase["dropped"] => {
  const both = [members, more].filter((text) => text !== "").join(", ")
  return at(both, { responses: "", chat: more, "strict chat": more })
}

// --- tools

const schema = (...names: ReadonlyArray<string>): JsonObject => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
  required: names,
  additionalProperties: false,
})

const read = {
  type: "function",
  name: "read",
  description: "Reads a file.",
  strict: false,
  parameters: schema("path", "range"),
}
const write = { ...read, name: "write", description: "Writes a file.", parameters: schema("path", "content") }
const note = { type: "custom", name: "note", description: "Leaves a note." }
const lark = {
  type: "custom",
  name: "patch",
  description: "Changes files.",
  format: { type: "grammar", syntax: "lark", definition: 'start: "begin" LINE+ "end"\nLINE: /[^\\n]*\\n/' },
}
const pattern = {
  type: "custom",
  name: "stamp",
  format: { type: "grammar", syntax: "regex", definition: "[0-9]{4}-[0-9]{2}" },
}
const search = {
  type: "tool_search",
  execution: "client",
  description: "Finds tools that are not offered yet.",
  parameters: schema("query"),
}

const reading = { kind: "function" as const, name: "read", input: { path: "notes.txt", range: "1-9" } }
const writing = { kind: "function" as const, name: "write", input: { path: "out.txt", content: "done" } }
/** All that JSON escapes, and a character of two halves. */
const hard = 'begin\n"a" \\n \\u00e9 é\t🌞 {"input":"x"}\r\n\u0001 end'
const noting = { kind: "custom" as const, name: "note", input: hard }

const step = (...calls: Step["calls"]): Step => ({ calls })
const within = <Call extends Step["calls"][number]>(namespace: string, call: Call) => ({ ...call, namespace })

// --- requests of the Responses form

const user = {
  type: "message",
  role: "user",
  content: [{ type: "input_text", text: "Read notes.txt, write out.txt." }],
}

const asked = (more: JsonObject): JsonObject => ({
  model: "agents/any",
  input: [{ role: "developer", content: [{ type: "input_text", text: "You are an agent." }] }, user],
  store: false,
  stream: true,
  ...more,
})

const responses = { form: "responses", headers: json, keeps: "vendor" } as const

const found: ReadonlyArray<JsonObject> = [
  write,
  { ...note, name: "remark" },
  {
    type: "namespace",
    name: "helpers",
    tools: [
      { ...read, name: "start", description: "Starts a helper." },
      { ...lark, format: { type: "text" } },
    ],
  },
]

const ofResponses: ReadonlyArray<AgentCase> = [
  {
    what: "a tool that takes text, beside functions",
    ...responses,
    body: asked({ tools: [read, note, { ...note, name: "free", format: { type: "text" } }], tool_choice: "auto" }),
    steps: [step(noting), step({ ...noting, name: "free", input: "" }, reading), step({ ...noting, input: "{" })],
    offers: { responses: "read, custom note, custom free", elsewhere: "read, note*, free*" },
    dropped: at(""),
  },
  {
    what: "tools whose text has to match a grammar",
    ...responses,
    body: asked({ tools: [lark, read, pattern] }),
    steps: [step({ ...noting, name: "patch" }), step({ ...noting, name: "stamp", input: "2026-11" })],
    offers: { responses: "custom patch, read, custom stamp", elsewhere: "patch*, read, stamp*" },
    dropped: at("tools[0].format, tools[2].format", { responses: "" }),
  },
  {
    what: "namespaces with tools of both kinds",
    ...responses,
    body: asked({
      tools: [
        { type: "namespace", name: "files", description: "", tools: [read, lark, note] },
        { type: "namespace", name: "web", description: "Pages.", tools: [read] },
        note,
      ],
      parallel_tool_calls: true,
    }),
    steps: [
      step(within("files", { ...noting, name: "patch" })),
      step(within("web", reading), within("files", reading)),
      step(within("files", noting), noting),
    ],
    offers: {
      responses: "files.read, custom files.patch, custom files.note, web.read, custom note",
      elsewhere: "files__read, files__patch*, files__note*, web__read, note*",
    },
    dropped: at("tools[1].description, tools[0].tools[1].format", { responses: "" }),
  },
  {
    what: "tools that an item brings",
    ...responses,
    body: asked({
      input: [
        {
          type: "additional_tools",
          id: "at_1",
          role: "developer",
          tools: [{ type: "namespace", name: "functions", description: "", tools: [lark, read] }, note],
        },
        user,
      ],
      parallel_tool_calls: false,
    }),
    steps: [step(within("functions", { ...noting, name: "patch" })), step(within("functions", reading)), step(noting)],
    offers: {
      responses: "custom functions.patch, functions.read, custom note",
      elsewhere: "functions__patch*, functions__read, note*",
    },
    dropped: at("parallel_tool_calls, input[0].tools[0].tools[0].format", {
      responses: "",
      chat: "input[0].tools[0].tools[0].format",
      "strict chat": "input[0].tools[0].tools[0].format",
      messages: "input[0].tools[0].tools[0].format",
      converse: "input[0].tools[0].tools[0].format",
    }),
  },
  {
    what: "tools that an item brings, one of which a host is to run",
    ...responses,
    body: asked({
      input: [{ type: "additional_tools", role: "developer", tools: [read, { type: "web_search" }, note] }, user],
    }),
    steps: [step(noting)],
    offers: { responses: "read, custom note", elsewhere: "read, note*" },
    dropped: at("input[0].tools[1]"),
  },
  {
    what: "a search of tools that the agent runs, and tools that it finds",
    ...responses,
    body: asked({ tools: [read, search] }),
    steps: [
      { ...step({ kind: "search", name: "tool_search", input: { query: "write" } }), found },
      step(writing),
      step({ ...noting, name: "remark" }, within("helpers", { ...reading, name: "start" })),
      step(within("helpers", { ...noting, name: "patch" })),
    ],
    offers: { responses: "read, search tool_search", elsewhere: "read, tool_search" },
    dropped: at(""),
  },
  {
    what: "a search of an earlier turn",
    ...responses,
    body: asked({
      tools: [search],
      input: [
        user,
        { type: "tool_search_call", call_id: "call_1", execution: "client", arguments: { query: "write" } },
        { type: "tool_search_output", call_id: "call_1", status: "completed", execution: "client", tools: found },
        {
          type: "function_call",
          call_id: "call_2",
          name: "start",
          namespace: "helpers",
          arguments: '{"path":"a","range":"b"}',
        },
        { type: "function_call_output", call_id: "call_2", output: "Started." },
      ],
    }),
    steps: [step({ ...noting, name: "remark" }), step(within("helpers", { ...noting, name: "patch" }))],
    offers: {
      responses: "search tool_search, write, custom remark, helpers.start, custom helpers.patch",
      elsewhere: "tool_search, write, remark*, helpers__start, helpers__patch*",
    },
    dropped: at(""),
  },
  {
    what: "calls of earlier turns that took text",
    ...responses,
    body: asked({
      tools: [note, { type: "namespace", name: "files", tools: [lark] }],
      input: [
        user,
        { type: "custom_tool_call", id: "ctc_1", status: "completed", call_id: "call_1", name: "note", input: hard },
        { type: "custom_tool_call_output", id: "ctco_1", call_id: "call_1", output: "Noted." },
        { type: "custom_tool_call", call_id: "call_2", name: "patch", namespace: "files", input: "" },
        {
          type: "custom_tool_call_output",
          call_id: "call_2",
          output: [
            { type: "input_text", text: "Done:\n" },
            { type: "input_text", text: "changed" },
          ],
        },
      ],
    }),
    steps: [step(noting), step(within("files", { ...noting, name: "patch" }))],
    offers: { responses: "custom note, custom files.patch", elsewhere: "note*, files__patch*" },
    dropped: at("tools[1].tools[0].format", { responses: "" }),
  },
  {
    what: "a message of another agent",
    ...responses,
    body: asked({
      tools: [read],
      input: [
        user,
        {
          type: "agent_message",
          author: "/root/helper",
          recipient: "/root",
          content: [{ type: "input_text", text: "notes.txt has a word." }],
        },
      ],
    }),
    steps: [step(reading)],
    offers: { responses: "read", elsewhere: "read" },
    dropped: at(""),
  },
  {
    what: "tools that hosts run, which are merely offered",
    ...responses,
    body: asked({
      tools: [
        { type: "web_search", external_web_access: true, search_content_types: ["text", "image"] },
        { type: "image_generation", output_format: "png" },
        read,
        note,
      ],
      tool_choice: "auto",
      include: ["web_search_call.action.sources"],
      truncation: "auto",
    }),
    steps: [step(reading), step(noting)],
    offers: { responses: "read, custom note", elsewhere: "read, note*" },
    dropped: at("tools[0], tools[1]"),
  },
  {
    what: "tools that hosts run, where searches have a price",
    ...responses,
    searches: true,
    runs: {
      responses: "web_search",
      chat: "web_search_options",
      "strict chat": "web_search_options",
      gemini: "googleSearch",
    },
    body: asked({
      tools: [
        { type: "image_generation", output_format: "png" },
        read,
        note,
        { type: "web_search", external_web_access: true },
      ],
      tool_choice: "auto",
      include: ["web_search_call.action.sources"],
    }),
    steps: [step(reading), step(noting)],
    offers: { responses: "read, custom note", elsewhere: "read, note*" },
    dropped: at("tools[0], tools[3]", {
      responses: "tools[0]",
      chat: "tools[0], tools[3].external_web_access",
      "strict chat": "tools[0], tools[3].external_web_access",
      gemini: "tools[0], tools[3].external_web_access",
    }),
  },
  {
    what: "nothing but tools that hosts run",
    ...responses,
    body: asked({
      tools: [{ type: "web_search" }, { type: "image_generation", output_format: "png" }],
      tool_choice: "auto",
      parallel_tool_calls: true,
    }),
    steps: [],
    offers: { responses: "", elsewhere: "" },
    dropped: at("tools[0], tools[1], tool_choice, parallel_tool_calls"),
  },
  {
    what: "encrypted reasoning of earlier turns, from an agent that gives items back as they were",
    ...responses,
    keeps: "items",
    body: asked({
      tools: [read, write],
      reasoning: { effort: "medium", summary: "auto" },
      include: ["reasoning.encrypted_content"],
      prompt_cache_key: "session-1",
      max_output_tokens: 16_384,
      input: [
        user,
        {
          type: "reasoning",
          id: "rs_1",
          summary: [{ type: "summary_text", text: "The file first." }],
          encrypted_content: "b3BhcXVl",
        },
        {
          type: "message",
          role: "assistant",
          id: "msg_1",
          status: "completed",
          content: [{ type: "output_text", text: "I shall look.", annotations: [] }],
        },
        { type: "function_call", id: "fc_1", call_id: "call_1", name: "read", arguments: '{"path":"a","range":"b"}' },
        { type: "function_call_output", call_id: "call_1", output: "A word.\n" },
      ],
    }),
    steps: [step(writing), step(reading)],
    offers: { responses: "read, write", elsewhere: "read, write" },
    dropped: at("prompt_cache_key", {
      responses: "",
      chat: "",
      "strict chat": "",
      // A thinking budget needs the thinking of the call whose result comes last.
      messages: "prompt_cache_key, reasoning",
      converse: "prompt_cache_key, reasoning",
    }),
  },
  {
    what: "reasoning from the first turn on, from an agent that keeps the members of the vendor",
    ...responses,
    body: asked({
      tools: [read, note],
      reasoning: { effort: "high", context: "all_turns" },
      include: ["reasoning.encrypted_content"],
      text: { verbosity: "low" },
      prompt_cache_key: "session-1",
      client_metadata: { session: "1" },
    }),
    steps: [step(noting), step(reading), step(reading, noting)],
    offers: { responses: "read, custom note", elsewhere: "read, note*" },
    dropped: elsewhere("prompt_cache_key, text.verbosity", "client_metadata, reasoning.context"),
  },
]

// --- requests of the chat form

const functionOf = ({ type, ...called }: JsonObject): JsonObject => ({ type, function: called })
const chatUser = { role: "user", content: "Read notes.txt, write out.txt." }
const chatCall = (id: string, name: string, input: JsonObject) => ({
  id,
  type: "function",
  function: { name, arguments: JSON.stringify(input) },
})
const chat = { form: "chat", headers: json } as const

const ofChat: ReadonlyArray<AgentCase> = [
  {
    what: "a chat whose reasoning comes back as reasoning_content, whose contents are parts, and tools without arguments",
    ...chat,
    keeps: "reasoning_content",
    body: {
      model: "agents/any",
      max_tokens: 32_000,
      stream: true,
      stream_options: { include_usage: true },
      tools: [read, { type: "function", name: "goal", description: "The goal." }].map(functionOf),
      messages: [
        { role: "system", content: "You are an agent." },
        {
          role: "user",
          content: [
            { type: "text", text: "<reminder>\nIt is Monday.\n</reminder>" },
            { type: "text", text: "Read notes.txt, write out.txt." },
          ],
        },
        {
          role: "assistant",
          content: null,
          reasoning_content: "The file first.",
          tool_calls: [chatCall("call_1", "goal", {})],
        },
        { role: "tool", tool_call_id: "call_1", content: [{ type: "text", text: '["none"]' }] },
      ],
    },
    steps: [step({ kind: "function", name: "goal", input: {} }), step(reading)],
    offers: { responses: "read, goal", elsewhere: "read, goal" },
    dropped: at(""),
  },
  {
    what: "a chat with a developer's message, an effort, and store",
    ...chat,
    keeps: "reasoning",
    body: {
      model: "agents/any",
      max_completion_tokens: 16_384,
      reasoning_effort: "medium",
      store: false,
      stream: true,
      stream_options: { include_usage: true },
      tools: [read, write].map(functionOf),
      messages: [{ role: "developer", content: "You are an agent." }, chatUser],
    },
    steps: [step(reading), step(writing)],
    offers: { responses: "read, write", elsewhere: "read, write" },
    dropped: at(""),
    // The agent keeps the text of the thinking alone, and a thinking budget needs it whole.
    later: { messages: "reasoning_effort", converse: "reasoning_effort" },
  },
  {
    what: "a chat that asks for its usage, and names the tools of results",
    ...chat,
    keeps: "nothing",
    body: {
      model: "agents/any",
      max_tokens: 32_000,
      usage: { include: true },
      tool_choice: "auto",
      stream: true,
      tools: [read, write].map(functionOf),
      messages: [
        { role: "system", content: [{ type: "text", text: "You are an agent." }] },
        chatUser,
        {
          role: "assistant",
          content: "",
          tool_calls: [chatCall("call_1", "read", { path: "a", range: "b" })],
        },
        { role: "tool", tool_call_id: "call_1", name: "read", content: "A word." },
      ],
    },
    steps: [step(writing), step(reading, writing)],
    offers: { responses: "read, write", elsewhere: "read, write" },
    dropped: at(""),
  },
]

// --- requests of the Messages form

const toolOf = ({ name, description, parameters }: JsonObject): JsonObject => ({
  name,
  description,
  input_schema: parameters,
})
const mark = { cache_control: { type: "ephemeral" } }
const messages = { form: "messages", headers: { ...json, "anthropic-version": "2023-06-01" }, keeps: "items" } as const

const ofMessages: ReadonlyArray<AgentCase> = [
  {
    what: "marks of a cache on instructions, calls and results",
    ...messages,
    body: {
      model: "agents/any",
      max_tokens: 32_000,
      stream: true,
      system: [{ type: "text", text: "You are an agent.", ...mark }],
      tool_choice: { type: "auto" },
      tools: [read, write].map(toolOf),
      messages: [
        { role: "user", content: [{ type: "text", text: "Read notes.txt, write out.txt." }] },
        {
          role: "assistant",
          content: [
            { type: "text", text: "I shall look." },
            { type: "tool_use", id: "toolu_1", name: "read", input: { path: "a", range: "b" }, ...mark },
          ],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "A word.", ...mark }] },
      ],
    },
    steps: [step(writing), step(reading, writing)],
    offers: { responses: "read, write", elsewhere: "read, write" },
    dropped: at(""),
  },
  {
    what: "thinking that is asked for, and given back",
    ...messages,
    body: {
      model: "agents/any",
      max_tokens: 16_000,
      stream: true,
      thinking: { type: "enabled", budget_tokens: 4000 },
      tools: [read, write].map(toolOf),
      messages: [{ role: "user", content: "Read notes.txt, write out.txt." }],
    },
    steps: [step(reading), step(writing)],
    offers: { responses: "read, write", elsewhere: "read, write" },
    dropped: at(""),
  },
]

const thinkingLate: AgentCase = {
  what: "thinking that is asked for after a call of a host that did not think",
  ...messages,
  body: {
    model: "agents/any",
    max_tokens: 16_000,
    stream: true,
    thinking: { type: "enabled", budget_tokens: 4000 },
    tools: [read, write].map(toolOf),
    messages: [
      { role: "user", content: "Read notes.txt, write out.txt." },
      { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "read", input: { path: "a" } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "A word." }] },
    ],
  },
  steps: [step(writing), step(reading)],
  offers: { responses: "read, write", elsewhere: "read, write" },
  // A thinking budget needs the thinking of the call whose result comes last.
  dropped: at("", { messages: "thinking", converse: "thinking" }),
}

export const agentCases: ReadonlyArray<AgentCase> = [...ofResponses, ...ofChat, ...ofMessages, thinkingLate]

const image = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg=="

/** A tool has shown an image. */
export const showing: ReadonlyArray<Task> = [
  { type: "function_call", name: "view", arguments: "{}" },
  { type: "custom_tool_call", name: "note", input: "view" },
].map((call) => ({
  ...responses,
  body: asked({
    tools: [{ ...read, name: "view" }, note],
    input: [
      user,
      { ...call, call_id: "call_1" },
      {
        type: `${call.type}_output`,
        call_id: "call_1",
        output: [
          { type: "input_text", text: "Here it is." },
          { type: "input_image", image_url: image },
        ],
      },
    ],
  }),
  steps: [],
}))

/** A conversation that its host is to compact. */
export const compacting: Task = {
  ...responses,
  body: asked({
    tools: [read],
    input: [
      user,
      { type: "function_call", call_id: "call_1", name: "read", arguments: '{"path":"a","range":"b"}' },
      { type: "function_call_output", call_id: "call_1", output: "A word." },
      { type: "compaction_trigger" },
    ],
  }),
  steps: [step(reading)],
}

const longSteps = [
  step(noting),
  step(reading),
  step(noting, reading),
  step(within("files", { ...noting, name: "patch" })),
]

/** Tasks of as many turns as there are protocols, in each form. */
export const longTasks: Readonly<Record<string, Task>> = {
  responses: {
    ...responses,
    body: asked({
      tools: [read, note, { type: "namespace", name: "files", tools: [lark] }],
      reasoning: { effort: "medium", summary: "auto" },
      include: ["reasoning.encrypted_content"],
    }),
    steps: [...longSteps, ...longSteps],
  },
  "responses, items as they were": {
    ...responses,
    keeps: "items",
    body: asked({
      tools: [read, note, { type: "namespace", name: "files", tools: [lark] }],
      reasoning: { effort: "medium", summary: "auto" },
      include: ["reasoning.encrypted_content"],
    }),
    steps: [...longSteps, ...longSteps],
  },
  chat: {
    ...chat,
    keeps: "items",
    body: {
      model: "agents/any",
      max_completion_tokens: 16_384,
      reasoning_effort: "medium",
      tools: [read, write].map(functionOf),
      messages: [{ role: "system", content: "You are an agent." }, chatUser],
    },
    steps: Array.from({ length: 8 }, (_, turn) => (turn % 3 === 2 ? step(reading, writing) : step(reading))),
  },
  messages: {
    ...messages,
    body: {
      model: "agents/any",
      max_tokens: 16_000,
      thinking: { type: "enabled", budget_tokens: 4000 },
      tools: [read, write].map(toolOf),
      messages: [{ role: "user", content: "Read notes.txt, write out.txt." }],
    },
    steps: Array.from({ length: 8 }, (_, turn) => (turn % 3 === 2 ? step(reading, writing) : step(reading))),
  },
}
