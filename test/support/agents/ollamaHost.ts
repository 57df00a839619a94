/** A host of Ollama's own chat. Its calls have no ids. */
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { objectIn, objectsIn, pieces, textIn } from "../forms/script.ts"
import {
  type AgentHost,
  type Asked,
  functionInput,
  functionName,
  kindOf,
  line,
  refusedNames,
  type Said,
} from "./AgentHost.ts"

const message = (more: JsonObject): JsonObject => ({ role: "assistant", content: "", ...more })

const callsOf = ({ calls }: Said) =>
  calls.map((call) => ({ function: { name: functionName(call), arguments: functionInput(call) } }))

const end = { done: true, done_reason: "stop", prompt_eval_count: 30, eval_count: 12 }
const names = { model: "upstream", created_at: "2026-11-01T00:00:00Z" }

const answer = (said: Said, isStream: boolean): Response => {
  const { thought, text, calls } = said
  const called = calls.length === 0 ? {} : { tool_calls: callsOf(said) }
  if (!isStream) {
    const thinking = thought === undefined ? {} : { thinking: thought }
    return Response.json({ ...names, message: message({ content: text ?? "", ...thinking, ...called }), ...end })
  }
  const lines = [
    ...pieces(thought ?? "", 3).map((piece) => ({ ...names, message: message({ thinking: piece }), done: false })),
    ...pieces(text ?? "", 3).map((piece) => ({ ...names, message: message({ content: piece }), done: false })),
    ...(calls.length === 0 ? [] : [{ ...names, message: message(called), done: false }]),
    { ...names, message: message({}), ...end },
  ]
  return new Response(lines.map((entry) => `${JSON.stringify(entry)}\n`).join(""), {
    headers: { "content-type": "application/x-ndjson" },
  })
}

const linesOf = (given: JsonObject): ReadonlyArray<string> => {
  const { role, content, thinking } = given
  if (role === "tool") return [line.result("", textIn(content))]
  return [
    ...(thinking === undefined ? [] : [line.thought(textIn(thinking), "")]),
    ...(content === "" ? [] : [line.message(textIn(role), textIn(content))]),
    ...objectsIn(given["tool_calls"]).map((call) => {
      const { name, arguments: input } = objectIn(call["function"])
      return line.call("", textIn(name), input)
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

/** The server takes whatever it does not know. Calls and results belong together by their order. */
const refusals = (body: JsonObject): ReadonlyArray<string> => {
  const messages = objectsIn(body["messages"])
  const calls = messages
    .flatMap((given) => objectsIn(given["tool_calls"]))
    .map((call) => objectIn(call["function"])["name"])
  const results = messages.filter(({ role }) => role === "tool").map((given) => given["tool_name"])
  return [
    ...refusedNames(asked(body).tools.map(({ name }) => name)),
    ...(JSON.stringify(calls) === JSON.stringify(results) ? [] : [`results of ${results} for calls of ${calls}`]),
  ]
}

export const ollama: AgentHost = {
  name: "ollama",
  provider: { plugin: "ollama" },
  model: "qwen3:4b",
  givesIds: false,
  isToThink: (body) => body["think"] === true,
  seal: "",
  answer,
  asked,
  refusals,
}
