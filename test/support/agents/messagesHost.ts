/** A host of the Messages form. */
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { answerIn, hostForms } from "../forms/hosts.ts"
import { objectIn, objectsIn, textIn } from "../forms/script.ts"
import { type AgentHost, type Asked, kindOf, line, refusedMembers, refusedNames, refusedPairs } from "./AgentHost.ts"
import { answerOf } from "./chatHosts.ts"

const form = hostForms[1] ?? hostForms[0]
const seal = "c2lnbmVkLWNsYXVkZQ=="

const blocksOf = (content: unknown): ReadonlyArray<JsonObject> =>
  typeof content === "string" ? [{ type: "text", text: content }] : objectsIn(content)

const textOf = (content: unknown): string =>
  blocksOf(content)
    .map(({ text }) => textIn(text))
    .join("")

const lineOf = (role: string, block: JsonObject): string => {
  switch (block["type"]) {
    case "thinking":
      return line.thought(textIn(block["thinking"]), textIn(block["signature"]))
    case "tool_use":
      return line.call(textIn(block["id"]), textIn(block["name"]), block["input"])
    case "tool_result":
      return line.result(textIn(block["tool_use_id"]), textOf(block["content"]))
    default:
      return line.message(role, textIn(block["text"]))
  }
}

const asked = (body: JsonObject): Asked => ({
  tools: objectsIn(body["tools"]).map(({ name, type, input_schema: parameters }) =>
    type === undefined || type === "custom"
      ? { name: textIn(name), kind: kindOf(parameters), parameters }
      : { name: textIn(type), kind: "hosted" },
  ),
  turns: [
    ...blocksOf(body["system"]).map((block) => lineOf("system", block)),
    ...objectsIn(body["messages"]).flatMap(({ role, content }) =>
      blocksOf(content).map((block) => lineOf(textIn(role), block)),
    ),
  ],
})

/** Anthropic's reference of the Messages API, 2026-11. */
const known = {
  body: [
    ...["model", "messages", "system", "tools", "tool_choice", "max_tokens", "stream", "thinking", "output_config"],
    ...["metadata", "stop_sequences", "temperature", "top_k", "top_p", "service_tier", "cache_control"],
    // With its beta (`liveScene.ts`).
    ...["context_management"],
  ],
  // `defer_loading` needs no beta since the search of tools is generally available (vercel/ai#16245).
  tool: ["type", "name", "description", "input_schema", "cache_control", "strict", "defer_loading"],
}

const refusals = (body: JsonObject): ReadonlyArray<string> => {
  const messages = objectsIn(body["messages"])
  const tools = objectsIn(body["tools"])
  const isThinking = objectIn(body["thinking"])["type"] === "enabled"
  const edits = objectsIn(objectIn(body["context_management"])["edits"])
  return [
    // Of a model before Claude 4.6, as this one is.
    ...(objectIn(body["thinking"])["type"] === "adaptive" ? ["thinking: Input tag 'adaptive' found using 'type'"] : []),
    ...(objectIn(body["output_config"])["effort"] === undefined ? [] : ["This model has no effort parameter"]),
    ...(!isThinking && edits.some(({ type }) => textIn(type).startsWith("clear_thinking"))
      ? ["`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive"]
      : []),
    ...(tools.length > 0 && tools.every((tool) => tool["defer_loading"] === true) ? ["all tools are deferred"] : []),
    ...refusedMembers(body, known.body, "body"),
    ...tools.flatMap((tool) => refusedMembers(tool, known.tool, "tool")),
    ...refusedNames(tools.map(({ name }) => textIn(name))),
    ...tools.filter((tool) => objectIn(tool["input_schema"])["type"] !== "object").map(() => "a schema of no object"),
    ...messages.flatMap(({ role, content }, at) => {
      const blocks = blocksOf(content)
      const of = (list: ReadonlyArray<JsonObject>, type: string) => list.filter((block) => block["type"] === type)
      if (blocks.length === 0) return ["an empty message"]
      if (role === "user") {
        const before = at === 0 ? [] : blocksOf(messages[at - 1]?.["content"])
        return [
          ...refusedPairs(
            of(before, "tool_use").map(({ id }) => id),
            of(blocks, "tool_result").map((block) => block["tool_use_id"]),
          ),
          ...(blocks[0]?.["type"] !== "tool_result" && of(blocks, "tool_result").length > 0
            ? ["a result not first"]
            : []),
        ]
      }
      const isCalling = of(blocks, "tool_use").length > 0
      const isLast = at === messages.length - 2
      return isThinking && isCalling && isLast && blocks[0]?.["type"] !== "thinking"
        ? ["a call without its thinking"]
        : []
    }),
    ...messages.filter(({ role }, at) => role === messages[at - 1]?.["role"]).map(() => "two messages of one role"),
  ]
}

export const messages: AgentHost = {
  name: "messages",
  provider: { plugin: "anthropic" },
  model: "claude-sonnet-4-5",
  givesIds: true,
  isToThink: (body) => objectIn(body["thinking"])["type"] === "enabled",
  seal,
  answer: (said, stream) => answerIn(form, { stream }, [answerOf(said, seal)]),
  asked,
  refusals,
}
