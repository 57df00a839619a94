/** Tasks of agents that several tests share: a tool that shows an image, a conversation that grows long, many turns. */
import {
  asked,
  chat,
  chatUser,
  functionOf,
  lark,
  messages,
  note,
  noting,
  read,
  reading,
  responses,
  step,
  toolOf,
  user,
  within,
  write,
  writing,
} from "./caseParts.ts"
import type { Task } from "./Task.ts"

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
