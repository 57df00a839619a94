/** A host of the Responses form. */
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { objectsIn, textIn } from "../forms/script.ts"
import { eventsOf, responseObject, streamOf, thought as thoughtItem } from "../hosts/responsesHost.ts"
import {
  type AgentHost,
  type Asked,
  type Called,
  kindOf,
  line,
  messageLines,
  refusedMembers,
  refusedPairs,
  type Said,
  textsOf,
} from "./AgentHost.ts"

const seal = "ZW5jcnlwdGVk+/="

const callItem = ({ kind, id, name, namespace, input }: Called): JsonObject => {
  const within = namespace === undefined ? {} : { namespace }
  const common = { status: "completed", call_id: id }
  switch (kind) {
    case "custom":
      return { id: `ctc_${id}`, type: "custom_tool_call", ...common, name, ...within, input }
    case "search":
      return { id: `tsc_${id}`, type: "tool_search_call", ...common, execution: "client", arguments: input }
    default:
      return { id: `fc_${id}`, type: "function_call", ...common, name, ...within, arguments: JSON.stringify(input) }
  }
}

/** The items of an answer. Ids are made of the calls', so that no two turns have the same. */
const itemsOf = ({ thought, text, calls, items }: Said): ReadonlyArray<JsonObject> => {
  if (items !== undefined) return items
  const own = calls[0]?.id ?? "last"
  const content = [{ type: "output_text", annotations: [], logprobs: [], text }]
  return [
    ...(thought === undefined ? [] : [{ ...thoughtItem(thought, seal), id: `rs_${own}` }]),
    ...(text === undefined
      ? []
      : [{ id: `msg_${own}`, type: "message", status: "completed", role: "assistant", content }]),
    ...calls.map(callItem),
  ]
}

const linesOf = (item: JsonObject): ReadonlyArray<string> => {
  const id = textIn(item["call_id"])
  const { type, namespace, name } = item
  const full = namespace === undefined ? textIn(name) : `${textIn(namespace)}.${textIn(name)}`
  switch (type) {
    case "reasoning":
      return [line.thought(textsOf(item["summary"]).join(""), textIn(item["encrypted_content"]))]
    case "function_call":
      return [line.call(id, full, JSON.parse(textIn(item["arguments"])))]
    case "custom_tool_call":
      return [line.call(id, full, item["input"])]
    case "tool_search_call":
      return [line.call(id, "tool_search", item["arguments"])]
    case "function_call_output":
    case "custom_tool_call_output":
      return [line.result(id, textsOf(item["output"]).join(""))]
    case "tool_search_output":
      return [line.result(id, "tools")]
    default:
      return messageLines(textIn(item["role"] ?? "user"), item["content"])
  }
}

const offeredIn = (tool: JsonObject): Asked["tools"] => {
  const { type, name, parameters } = tool
  switch (type) {
    case "function":
      return [{ name: textIn(name), kind: kindOf(parameters), parameters }]
    case "custom":
      return [{ name: textIn(name), kind: "custom" }]
    case "namespace":
      return objectsIn(tool["tools"])
        .flatMap(offeredIn)
        .map((inner) => ({ ...inner, name: `${textIn(name)}.${inner.name}` }))
    case "tool_search":
      return [{ name: "tool_search", kind: tool["execution"] === "client" ? "search" : "hosted", parameters }]
    default:
      return [{ name: textIn(type), kind: "hosted" }]
  }
}

/** Tools of items come after those of the body. */
const asked = (body: JsonObject): Asked => {
  const items = typeof body["input"] === "string" ? [] : objectsIn(body["input"])
  return {
    tools: [...objectsIn(body["tools"]), ...items.flatMap(({ tools }) => objectsIn(tools))].flatMap(offeredIn),
    turns: [
      ...(body["instructions"] == null ? [] : [line.message("instructions", textIn(body["instructions"]))]),
      ...(typeof body["input"] === "string" ? [line.message("user", body["input"])] : items.flatMap(linesOf)),
    ],
  }
}

/** OpenAI's reference of responses, 2026-11. */
const known = [
  ...["model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options"],
  ...["store", "include", "truncation", "reasoning", "text", "max_output_tokens", "max_tool_calls", "metadata", "user"],
  ...["prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier", "temperature", "top_p"],
  ...["client_metadata"],
]

const outputs = ["function_call_output", "custom_tool_call_output", "tool_search_output"]
const calling = ["function_call", "custom_tool_call", "tool_search_call"]

const refusals = (body: JsonObject): ReadonlyArray<string> => {
  const items = objectsIn(body["input"])
  const names = asked(body).tools.map(({ name }) => name)
  const of = (types: ReadonlyArray<string>) => items.filter(({ type }) => types.includes(textIn(type)))
  return [
    ...refusedMembers(body, known, "body"),
    ...(body["store"] === false ? [] : ["store is not false"]),
    ...names.filter((name, at) => names.indexOf(name) !== at).map((name) => `two tools called ${name}`),
    ...refusedPairs(
      of(calling).map((item) => item["call_id"]),
      of(outputs).map((item) => item["call_id"]),
    ),
    ...items.filter(({ type, encrypted_content: data }) => type === "reasoning" && !data).map(() => "stored reasoning"),
    ...items.filter((item) => item["format"] !== undefined || item["signature"] !== undefined).map(() => "our members"),
    ...(JSON.stringify(body).includes('"cache_control":') ? ["a mark of a cache"] : []),
  ]
}

export const responses: AgentHost = {
  name: "responses",
  provider: { plugin: "openai", api: "responses" },
  model: "gpt-5.4",
  givesIds: true,
  isToThink: () => true,
  seal,
  answer: (said, stream) => (stream ? streamOf(eventsOf(itemsOf(said))) : Response.json(responseObject(itemsOf(said)))),
  asked,
  refusals,
}
