/**
 * The forms in which agents speak: how they read an answer, and how they give it back in the next turn. What an agent keeps of its
 * reasoning differs by program.
 */
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { chatClient } from "../forms/choicesClients.ts"
import { messagesClient } from "../forms/messagesClient.ts"
import { responsesClient } from "../forms/responsesClient.ts"
import { inputOf, objectIn, objectsIn, present, textIn } from "../forms/script.ts"
import { type Called, messageLines, textsOf } from "./AgentHost.ts"

/** What an agent reads of an answer. */
export interface Heard {
  readonly thought: string
  readonly text: string
  readonly calls: ReadonlyArray<Called>
  /** The answer as it stands in the conversation of the next turn. */
  readonly given: ReadonlyArray<JsonObject>
}

/** A result of a call. */
export interface Result {
  readonly call: Called
  readonly text: string
  /** Tools that a search has found. */
  readonly tools?: ReadonlyArray<JsonObject>
}

export interface AgentForm {
  readonly name: string
  /** Below `/api/v1`. */
  readonly path: string
  /** The answer of a body; of a stream it was assembled. */
  readonly heard: (answer: JsonObject, keeps: Keeps) => Heard
  readonly assembled: (stream: string) => JsonObject
  /** The next request: the answer, the results of its calls. */
  readonly next: (body: JsonObject, heard: Heard, results: ReadonlyArray<Result>) => JsonObject
  /** The conversation of a body, as `Asked.turns` has it; reasoning is left out. */
  readonly turns: (body: JsonObject, lines: HistoryLines) => ReadonlyArray<string>
  /** The tools that the agent runs, in order; those that items bring come last. */
  readonly tools: (body: JsonObject) => ReadonlyArray<Tool>
}

/** A tool as the agent offers it. */
export interface Tool {
  readonly name: string
  readonly namespace?: string
  readonly kind: "function" | "custom" | "search"
  readonly description?: string
  readonly parameters?: unknown
}

/** How the history of a conversation reaches a host, as lines. */
export interface HistoryLines {
  readonly call: (call: Called) => string
  readonly result: (id: string, text: string) => string
  /** The result of a search of tools. */
  readonly found: (id: string, tools: ReadonlyArray<Tool>) => string
  /** What one agent says to another: its lines. */
  readonly message: (from: string, to: string, content: unknown) => ReadonlyArray<string>
}

/**
 * What becomes of reasoning in the next turn. `items`: it comes back as it was; `vendor`: only members that the vendor's form has;
 * the names of a member: its text alone; `nothing`.
 */
export type Keeps = "items" | "vendor" | "reasoning_content" | "reasoning" | "nothing"

// --- chat

const chatCall = (call: JsonObject): Called => {
  const { name, arguments: json } = objectIn(call["function"])
  return { kind: "function", id: textIn(call["id"]), name: textIn(name), input: inputOf(json) }
}

const chat: AgentForm = {
  name: "chat",
  path: "/chat/completions",
  heard: (answer, keeps) => {
    const message = objectIn(objectsIn(answer["choices"])[0]?.["message"])
    const { reasoning, reasoning_details: details, content, tool_calls: calls } = message
    const isText = keeps === "reasoning_content" || keeps === "reasoning"
    const kept =
      isText && reasoning != null
        ? { [keeps]: reasoning }
        : keeps === "items"
          ? present({ reasoning_details: details })
          : {}
    return {
      thought: textIn(reasoning),
      text: textIn(content),
      calls: objectsIn(calls).map(chatCall),
      given: [{ role: "assistant", content: content ?? null, ...kept, tool_calls: calls }],
    }
  },
  assembled: chatClient.assembled,
  next: (body, { given }, results) => ({
    ...body,
    messages: [
      ...objectsIn(body["messages"]),
      ...given,
      ...results.map(({ call, text }) => ({ role: "tool", tool_call_id: call.id, content: text })),
    ],
  }),
  turns: (body, { call, result }) =>
    objectsIn(body["messages"]).flatMap((message) => {
      const { role, content, tool_call_id: id } = message
      if (role === "tool") return [result(textIn(id), textsOf(content).join(""))]
      return [...messageLines(textIn(role), content), ...objectsIn(message["tool_calls"]).map(chatCall).map(call)]
    }),
  tools: (body) => objectsIn(body["tools"]).map((tool) => named(objectIn(tool["function"]))),
}

const named = ({ name, description, parameters }: JsonObject): Tool => ({
  kind: "function",
  name: textIn(name),
  ...(typeof description === "string" ? { description } : {}),
  parameters,
})

// --- Messages

const blockCall = ({ id, name, input }: JsonObject): Called => ({
  kind: "function",
  id: textIn(id),
  name: textIn(name),
  input: objectIn(input),
})

const messages: AgentForm = {
  name: "messages",
  path: "/messages",
  heard: (answer, keeps) => {
    const blocks = objectsIn(answer["content"])
    const of = (type: string) => blocks.filter((block) => block["type"] === type)
    return {
      thought: of("thinking")
        .map(({ thinking }) => textIn(thinking))
        .join(""),
      text: of("text")
        .map(({ text }) => textIn(text))
        .join(""),
      calls: of("tool_use").map(blockCall),
      given: [
        {
          role: "assistant",
          content: blocks.filter(({ type }) => type !== "thinking" || keeps === "items"),
        },
      ],
    }
  },
  assembled: messagesClient.assembled,
  next: (body, { given }, results) => ({
    ...body,
    messages: [
      ...objectsIn(body["messages"]),
      ...given,
      {
        role: "user",
        content: results.map(({ call, text }) => ({ type: "tool_result", tool_use_id: call.id, content: text })),
      },
    ],
  }),
  turns: (body, { call, result }) => [
    ...messageLines("system", body["system"]),
    ...objectsIn(body["messages"]).flatMap(({ role, content }) =>
      typeof content === "string"
        ? messageLines(textIn(role), content)
        : objectsIn(content).flatMap((block) => {
            switch (block["type"]) {
              case "tool_use":
                return [call(blockCall(block))]
              case "tool_result":
                return [result(textIn(block["tool_use_id"]), textsOf(block["content"]).join(""))]
              default:
                return messageLines(textIn(role), [block])
            }
          }),
    ),
  ],
  tools: (body) => objectsIn(body["tools"]).map(({ name, input_schema: parameters }) => named({ name, parameters })),
}

// --- Responses

const toolsIn = (tools: unknown): ReadonlyArray<Tool> =>
  objectsIn(tools).flatMap((tool): ReadonlyArray<Tool> => {
    switch (tool["type"]) {
      case "function":
        return [named(tool)]
      case "custom":
        return [{ ...named(tool), kind: "custom" }]
      case "namespace":
        return toolsIn(tool["tools"]).map((inner) => ({ ...inner, namespace: textIn(tool["name"]) }))
      case "tool_search":
        return [{ kind: "search", name: "tool_search", parameters: tool["parameters"] }]
      default:
        return []
    }
  })

const callIn = (item: JsonObject): ReadonlyArray<Called> => {
  const { type, name, namespace, call_id: id, input, arguments: given } = item
  const common = { id: textIn(id), ...(namespace === undefined ? {} : { namespace: textIn(namespace) }) }
  switch (type) {
    case "function_call":
      return [{ kind: "function", ...common, name: textIn(name), input: objectIn(JSON.parse(textIn(given))) }]
    case "custom_tool_call":
      return [{ kind: "custom", ...common, name: textIn(name), input: textIn(input) }]
    case "tool_search_call":
      if (item["execution"] !== "client") throw new Error("a search that the agent is not to run")
      return [{ kind: "search", ...common, name: "tool_search", input: objectIn(given) }]
    default:
      return []
  }
}

/** The members that OpenAI's form has. */
const vendorMembers = (item: JsonObject): JsonObject => {
  if (item["type"] !== "reasoning") return item
  const { id, type, summary, content = null, encrypted_content: data = null } = item
  return { type, id, summary, content, encrypted_content: data }
}

const outputOf = ({ call, text, tools }: Result): JsonObject => {
  switch (call.kind) {
    case "custom":
      return {
        type: "custom_tool_call_output",
        call_id: call.id,
        output: [
          { type: "input_text", text: "Done:\n" },
          { type: "input_text", text },
        ],
      }
    case "search":
      return { type: "tool_search_output", call_id: call.id, status: "completed", execution: "client", tools }
    default:
      return { type: "function_call_output", call_id: call.id, output: text }
  }
}

const itemsIn = (body: JsonObject): ReadonlyArray<JsonObject> =>
  typeof body["input"] === "string" ? [{ role: "user", content: body["input"] }] : objectsIn(body["input"])

const turnsOfItem = (item: JsonObject, { call, result, found, message }: HistoryLines): ReadonlyArray<string> => {
  const [called] = callIn(item)
  if (called !== undefined) return [call(called)]
  const id = textIn(item["call_id"])
  switch (item["type"]) {
    case "reasoning":
    case "additional_tools":
    case "compaction_trigger":
      return []
    case "function_call_output":
    case "custom_tool_call_output":
      return [result(id, textsOf(item["output"]).join(""))]
    case "tool_search_output":
      return [found(id, toolsIn(item["tools"]))]
    case "agent_message":
      return message(textIn(item["author"]), textIn(item["recipient"]), item["content"])
    default:
      return messageLines(textIn(item["role"] ?? "user"), item["content"])
  }
}

const responses: AgentForm = {
  name: "responses",
  path: "/responses",
  heard: (answer, keeps) => {
    const output = objectsIn(answer["output"])
    const texts = (type: string, member: string) =>
      output
        .filter((item) => item["type"] === type)
        .flatMap((item) => textsOf(item[member]))
        .join("")
    return {
      thought: texts("reasoning", "summary") + texts("reasoning", "content"),
      text: texts("message", "content"),
      calls: output.flatMap(callIn),
      given: keeps === "vendor" ? output.map(vendorMembers) : output,
    }
  },
  assembled: responsesClient.assembled,
  next: (body, { given }, results) => ({
    ...body,
    input: [...itemsIn(body), ...given, ...results.map(outputOf)],
  }),
  turns: (body, as) => [
    ...messageLines("system", body["instructions"]),
    ...itemsIn(body).flatMap((item) => turnsOfItem(item, as)),
  ],
  tools: (body) => [body, ...itemsIn(body)].flatMap(({ tools }) => toolsIn(tools)),
}

export const agentForms = { chat, messages, responses } as const

export type FormName = keyof typeof agentForms
