/** What agents send in the chat form and in the Messages form: contents in parts, marks of caches, efforts, and thinking. */
import {
  type AgentCase,
  at,
  chat,
  chatCall,
  chatUser,
  functionOf,
  mark,
  messages,
  read,
  reading,
  step,
  toolOf,
  write,
  writing,
} from "./caseParts.ts"

export const ofChat: ReadonlyArray<AgentCase> = [
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

export const ofMessages: ReadonlyArray<AgentCase> = [
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
    dropped: at("cache_control", { messages: "", converse: "", chat: "" }),
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

export const thinkingLate: AgentCase = {
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
