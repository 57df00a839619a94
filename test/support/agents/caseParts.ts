/** What the requests of our own are made of: tools, calls of them, and the rest of a body in each form. */
import type { JsonObject } from "../../../src/domain/json/json.ts"
import type { HostName } from "./hosts.ts"
import type { Step, Task } from "./Task.ts"

export interface AgentCase extends Task {
  readonly what: string
  /** The tools of its first request, as a host of the Responses form is offered them, and as others are: see `shownTool`. */
  readonly offers: { readonly responses: string; readonly elsewhere: string }
  /** `X-GW-Dropped`. */
  readonly dropped: Readonly<Record<HostName, string>>
  /** The same in the turns that follow, where it differs. */
  readonly later?: Readonly<Partial<Record<HostName, string>>>
}

export const json = { "content-type": "application/json" }

/** `others`: at every host that is not named. */
export const at = (others: string, named: Partial<Record<HostName, string>> = {}): AgentCase["dropped"] => ({
  ...{ responses: others, chat: others, "strict chat": others, messages: others },
  ...{ gemini: others, converse: others, cohere: others, ollama: others },
  ...named,
})

/** At hosts of the Responses form nothing; members that only chat and Responses have come first. */
export const elsewhere = (members: string, more = ""): AgentCase["dropped"] => {
  const both = [members, more].filter((text) => text !== "").join(", ")
  return at(both, { responses: "", chat: more, "strict chat": more })
}

export const schema = (...names: ReadonlyArray<string>): JsonObject => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
  required: names,
  additionalProperties: false,
})

export const read = {
  type: "function",
  name: "read",
  description: "Reads a file.",
  strict: false,
  parameters: schema("path", "range"),
}
export const write = { ...read, name: "write", description: "Writes a file.", parameters: schema("path", "content") }
export const note = { type: "custom", name: "note", description: "Leaves a note." }
export const lark = {
  type: "custom",
  name: "patch",
  description: "Changes files.",
  format: { type: "grammar", syntax: "lark", definition: 'start: "begin" LINE+ "end"\nLINE: /[^\\n]*\\n/' },
}
export const pattern = {
  type: "custom",
  name: "stamp",
  format: { type: "grammar", syntax: "regex", definition: "[0-9]{4}-[0-9]{2}" },
}
export const search = {
  type: "tool_search",
  execution: "client",
  description: "Finds tools that are not offered yet.",
  parameters: schema("query"),
}

export const reading = { kind: "function" as const, name: "read", input: { path: "notes.txt", range: "1-9" } }
export const writing = { kind: "function" as const, name: "write", input: { path: "out.txt", content: "done" } }
/** All that JSON escapes, and a character of two halves. */
export const hard = 'begin\n"a" \\n \\u00e9 é\t🌞 {"input":"x"}\r\n\u0001 end'
export const noting = { kind: "custom" as const, name: "note", input: hard }

export const step = (...calls: Step["calls"]): Step => ({ calls })
export const within = <Call extends Step["calls"][number]>(namespace: string, call: Call) => ({ ...call, namespace })

export const user = {
  type: "message",
  role: "user",
  content: [{ type: "input_text", text: "Read notes.txt, write out.txt." }],
}

export const asked = (more: JsonObject): JsonObject => ({
  model: "agents/any",
  input: [{ role: "developer", content: [{ type: "input_text", text: "You are an agent." }] }, user],
  store: false,
  stream: true,
  ...more,
})

export const responses = { form: "responses", headers: json, keeps: "vendor" } as const

export const found: ReadonlyArray<JsonObject> = [
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

export const functionOf = ({ type, ...called }: JsonObject): JsonObject => ({ type, function: called })
export const chatUser = { role: "user", content: "Read notes.txt, write out.txt." }
export const chatCall = (id: string, name: string, input: JsonObject) => ({
  id,
  type: "function",
  function: { name, arguments: JSON.stringify(input) },
})
export const chat = { form: "chat", headers: json } as const

export const toolOf = ({ name, description, parameters }: JsonObject): JsonObject => ({
  name,
  description,
  input_schema: parameters,
})
export const mark = { cache_control: { type: "ephemeral" } }
export const messages = {
  form: "messages",
  headers: { ...json, "anthropic-version": "2023-06-01" },
  keeps: "items",
} as const
