/** A host of Cohere's own chat. */
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { objectIn, objectsIn, pieces, textIn } from "../forms/script.ts"
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

const usage = {
  billed_units: { input_tokens: 30, output_tokens: 12 },
  tokens: { input_tokens: 30, output_tokens: 12 },
}

const finishOf = ({ calls }: Said): string => (calls.length === 0 ? "COMPLETE" : "TOOL_CALL")

const callsOf = ({ calls }: Said) =>
  calls.map((call) => ({
    id: call.id,
    type: "function",
    function: { name: functionName(call), arguments: JSON.stringify(functionInput(call)) },
  }))

const whole = (said: Said): JsonObject => ({
  id: "1",
  message: {
    role: "assistant",
    content: [
      ...(said.thought === undefined ? [] : [{ type: "thinking", thinking: said.thought }]),
      ...(said.text === undefined ? [] : [{ type: "text", text: said.text }]),
    ],
    ...(said.calls.length === 0 ? {} : { tool_calls: callsOf(said) }),
  },
  finish_reason: finishOf(said),
  usage,
})

const event = (type: string, more: JsonObject): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
const delta = (type: string, index: number, message: JsonObject): string => event(type, { index, delta: { message } })

const events = (said: Said): string => {
  const contents = [
    ["thinking", said.thought],
    ["text", said.text],
  ].filter((entry): entry is [string, string] => entry[1] !== undefined)
  return [
    event("message-start", { id: "1", delta: { message: { role: "assistant" } } }),
    ...contents.flatMap(([type, text], index) => [
      delta("content-start", index, { content: { type, [type]: "" } }),
      ...pieces(text, 3).map((piece) => delta("content-delta", index, { content: { [type]: piece } })),
      event("content-end", { index }),
    ]),
    ...callsOf(said).flatMap((call, index) => [
      delta("tool-call-start", index, { tool_calls: { ...call, function: { ...call.function, arguments: "" } } }),
      ...pieces(call.function.arguments, 3).map((piece) =>
        delta("tool-call-delta", index, { tool_calls: { function: { arguments: piece } } }),
      ),
      event("tool-call-end", { index }),
    ]),
    event("message-end", { delta: { finish_reason: finishOf(said), usage } }),
    "data: [DONE]\n\n",
  ].join("")
}

const linesOf = (message: JsonObject): ReadonlyArray<string> => {
  const { role, content } = message
  if (role === "tool") return [line.result(textIn(message["tool_call_id"]), textsOf(content).join(""))]
  if (role !== "assistant") return messageLines(textIn(role), content)
  const thoughts = objectsIn(content).filter(({ type }) => type === "thinking")
  const texts = typeof content === "string" ? content : objectsIn(content).filter(({ type }) => type === "text")
  return [
    ...thoughts.map(({ thinking }) => line.thought(textIn(thinking), "")),
    ...messageLines("assistant", texts),
    ...objectsIn(message["tool_calls"]).map((call) => {
      const { name, arguments: json } = objectIn(call["function"])
      return line.call(textIn(call["id"]), textIn(name), JSON.parse(textIn(json)))
    }),
  ]
}

const asked = (body: JsonObject): Asked => ({
  tools: objectsIn(body["tools"]).map((tool) => {
    const { name, parameters } = objectIn(tool["function"])
    return { name: textIn(name), kind: kindOf(parameters), parameters }
  }),
  turns: objectsIn(body["messages"]).flatMap(linesOf),
})

/** Cohere's reference of chat, 2026-11. */
const known = [
  ...["model", "messages", "stream", "tools", "tool_choice", "strict_tools", "documents", "citation_options", "k", "p"],
  ...["response_format", "safety_mode", "max_tokens", "stop_sequences", "temperature", "seed", "thinking"],
  ...["frequency_penalty", "presence_penalty", "logprobs"],
]

const refusals = (body: JsonObject): ReadonlyArray<string> => {
  const messages = objectsIn(body["messages"])
  return [
    ...refusedMembers(body, known, "body"),
    ...refusedNames(asked(body).tools.map(({ name }) => name)),
    ...refusedPairs(
      messages.flatMap((message) => objectsIn(message["tool_calls"])).map(({ id }) => id),
      messages.filter(({ role }) => role === "tool").map((message) => message["tool_call_id"]),
    ),
    ...(JSON.stringify(body).includes('"cache_control":') ? ["a mark of a cache"] : []),
  ]
}

export const cohere: AgentHost = {
  name: "cohere",
  provider: { plugin: "cohere" },
  model: "command-a-reasoning-08-2025",
  givesIds: true,
  isToThink: (body) => objectIn(body["thinking"])["type"] === "enabled",
  seal: "",
  answer: (said, isStream) =>
    isStream
      ? new Response(events(said), { headers: { "content-type": "text/event-stream" } })
      : Response.json(whole(said)),
  asked,
  refusals,
}
