/** Hosts of the chat form: one that takes whatever comes, and OpenAI's own, which refuses what its reference does not have. */
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { answerIn, hostForms } from "../forms/hosts.ts"
import { joined, objectIn, objectsIn, textIn } from "../forms/script.ts"
import {
  type AgentHost,
  type Asked,
  functionInput,
  functionName,
  kindOf,
  line,
  messageLines,
  refusedMembers,
  refusedNames,
  refusedPairs,
  type Said,
  textsOf,
} from "./AgentHost.ts"

const [form] = hostForms
const seal = "c2lnbmVk+/="

/** What two forms of hosts, chat and Messages, are told to say. */
export const answerOf = ({ thought, text, calls }: Said, signature: string) => ({
  finish: calls.length === 0 ? ("stop" as const) : ("tool_calls" as const),
  ...(text === undefined ? {} : { text }),
  thoughts:
    thought === undefined
      ? []
      : [{ type: "reasoning.text" as const, text: thought, signature, format: "anthropic-claude-v1" }],
  calls: calls.map((call) => ({ id: call.id, name: functionName(call), input: functionInput(call) })),
})

const turnOf = (message: JsonObject): ReadonlyArray<string> => {
  const { role, content, tool_call_id: id } = message
  if (role === "tool") return [line.result(textIn(id), textsOf(content).join(""))]
  if (role !== "assistant") return messageLines(textIn(role), content)
  const details = joined(objectsIn(message["reasoning_details"]))
  const plain = textIn(message["reasoning"] ?? message["reasoning_content"])
  return [
    ...details.map(({ text, summary, signature, data }) =>
      line.thought(textIn(text ?? summary), textIn(signature ?? data)),
    ),
    ...(details.length === 0 && plain !== "" ? [line.thought(plain, "")] : []),
    ...messageLines("assistant", content),
    ...objectsIn(message["tool_calls"]).map((call) => {
      const { name, arguments: json } = objectIn(call["function"])
      return line.call(textIn(call["id"]), textIn(name), JSON.parse(textIn(json)))
    }),
  ]
}

const asked = (body: JsonObject): Asked => ({
  tools: [
    ...objectsIn(body["tools"]).map((tool): Asked["tools"][number] => {
      const { name, parameters } = objectIn(tool["function"])
      return tool["type"] === "function"
        ? { name: textIn(name), kind: kindOf(parameters), parameters }
        : { name: textIn(tool["type"]), kind: "hosted" }
    }),
    ...(body["web_search_options"] === undefined ? [] : [{ name: "web_search_options", kind: "hosted" } as const]),
  ],
  turns: objectsIn(body["messages"]).flatMap(turnOf),
})

const refusals = (body: JsonObject): ReadonlyArray<string> => {
  const messages = objectsIn(body["messages"])
  const calls = messages.flatMap((message) => objectsIn(message["tool_calls"]))
  return [
    ...refusedNames(asked(body).tools.map(({ name }) => name)),
    ...refusedPairs(
      calls.map(({ id }) => id),
      messages.filter(({ role }) => role === "tool").map((message) => message["tool_call_id"]),
    ),
    ...calls.filter(({ type }) => type !== "function").map(({ type }) => `a call of the type ${String(type)}`),
    ...(isObject(body["tools"]) ? [] : ["tools without a function"]),
  ]
}

const isObject = (tools: unknown): boolean =>
  objectsIn(tools).every(
    (tool) => tool["type"] === "function" && typeof objectIn(tool["function"])["name"] === "string",
  )

/** OpenAI's reference of chat completions, 2026-11. */
const strictMembers = {
  body: [
    ...["model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options", "store"],
    ...["web_search_options"],
    ...[
      "max_completion_tokens",
      "reasoning_effort",
      "verbosity",
      "prompt_cache_key",
      "service_tier",
      "user",
      "metadata",
    ],
    ...["temperature", "top_p", "stop", "seed", "n", "response_format", "safety_identifier", "prompt_cache_retention"],
  ],
  message: ["role", "content", "name", "refusal", "tool_calls", "tool_call_id", "audio"],
  tool: ["type", "function"],
  function: ["name", "description", "parameters", "strict"],
}

const strictRefusals = (body: JsonObject): ReadonlyArray<string> => [
  ...refusals(body),
  ...objectsIn(body["messages"])
    .filter(({ role, content }) => role === "tool" && objectsIn(content).some(({ type }) => type !== "text"))
    .map(() => "a result that is no text"),
  ...refusedMembers(body, strictMembers.body, "body"),
  ...objectsIn(body["messages"]).flatMap((message) => refusedMembers(message, strictMembers.message, "message")),
  ...objectsIn(body["tools"]).flatMap((tool) => [
    ...refusedMembers(tool, strictMembers.tool, "tool"),
    ...refusedMembers(objectIn(tool["function"]), strictMembers.function, "function"),
  ]),
  ...(JSON.stringify(body).includes('"cache_control":') ? ["a mark of a cache"] : []),
]

export const chat: AgentHost = {
  name: "chat",
  provider: { plugin: "openai-compatible" },
  model: "upstream",
  givesIds: true,
  isToThink: () => true,
  seal,
  answer: (said, stream) => answerIn(form, { stream }, [answerOf(said, seal)]),
  asked,
  refusals,
}

export const strictChat: AgentHost = {
  ...chat,
  name: "strict chat",
  provider: { plugin: "openai", api: "chat" },
  model: "gpt-5.4",
  // OpenAI's chat form does not tell its reasoning.
  isToThink: () => false,
  refusals: strictRefusals,
}
