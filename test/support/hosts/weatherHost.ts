/** A scripted host for tasks in two steps: it thinks and calls a tool, and answers once it has the tool's result. */
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { chunkOf, type ScriptedHost, scriptedHost, sse, streamAnswer, wholeAnswer } from "./host.ts"

/** Its reasoning, signed: a client has to give it back byte for byte in the second step. */
export const thought = {
  type: "reasoning.text",
  text: "Bern, then.",
  signature: "c2lnbmVk+/=",
  format: "anthropic-claude-v1",
  index: 0,
}

/** The parameters of the tool `weather`, which it calls with the town of Bern. */
export const townSchema = {
  type: "object",
  properties: { town: { type: "string" } },
  required: ["town"],
  additionalProperties: false,
} as const

/** Calls the tool where `tools` are given and no result is; a `response_format` gets JSON; else it says "Sunny in Bern". */
export const weatherHost = (): ScriptedHost => scriptedHost(answerOfWeather)

export const answerOfWeather = (body: JsonObject): Response => {
  const { role } = Array.isArray(body["messages"]) ? body["messages"].at(-1) : {}
  const stream = body["stream"] === true
  if (Array.isArray(body["tools"]) && role !== "tool") return stream ? streamedCall() : wholeCall()
  if (body["response_format"] != null)
    return stream ? streamAnswer(['{"town":', '"Bern"}']) : wholeAnswer('{"town":"Bern"}')
  return stream ? streamAnswer(["Sunny", " in", " Bern"]) : wholeAnswer("Sunny in Bern")
}

const usage = { prompt_tokens: 20, completion_tokens: 10, completion_tokens_details: { reasoning_tokens: 4 } }
const call = { id: "call_a", type: "function" }

const thinking = (more: { readonly text: string; readonly signature?: undefined }) => ({
  reasoning: more.text,
  reasoning_details: [{ ...thought, ...more }],
})

const wholeCall = (): Response => {
  const called = { ...call, function: { name: "weather", arguments: '{"town":"Bern"}' } }
  const message = {
    role: "assistant",
    content: null,
    reasoning: thought.text,
    reasoning_details: [thought],
    tool_calls: [called],
  }
  return Response.json({ choices: [{ index: 0, message, finish_reason: "tool_calls" }], usage })
}

const streamedCall = (): Response =>
  sse([
    ...[
      { role: "assistant", content: null, ...thinking({ text: "Bern, ", signature: undefined }) },
      thinking({ text: "then." }),
      { tool_calls: [{ index: 0, ...call, function: { name: "weather", arguments: "" } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"town":' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '"Bern"}' } }] },
    ].map((delta) => chunkOf({ delta, finish_reason: null })),
    chunkOf({ delta: {}, finish_reason: "tool_calls" }),
    chunkOf({}, { choices: [], usage }),
    "[DONE]",
  ])
