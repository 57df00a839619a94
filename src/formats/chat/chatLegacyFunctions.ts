/**
 * `functions` and `function_call`, which the form had before it had tools: old clients are given tools for them, and
 * get calls in the form that they read.
 */
import { type Check, filledText, listOf, objectOf, objectOr, oneOf, text } from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject, objectsIn } from "../../domain/json/json.ts"
import type { ChatChoice, ChatChunkChoice, FinishReason, ToolCallDelta } from "../../domain/request/chat.ts"

/** A check of each member. `declared`: of one function. */
export const legacyMembers = (declared: Check, most: number): Readonly<Record<string, Check>> => ({
  functions: listOf(declared, most),
  function_call: objectOr(objectOf({ name: filledText }, "name"), oneOf("none", "auto")),
})

/** The `function_call` of an assistant's message. */
export const legacyCall = objectOf({ name: text, arguments: text }, "name", "arguments")

/** Replaces functions by tools. Returns the same payload if it has none, the usual case. `messages` were checked. */
export const withoutFunctions = (payload: JsonObject): JsonObject => {
  const messages = objectsIn(payload["messages"])
  if (payload["functions"] == null && payload["function_call"] == null && !messages.some(isLegacy)) return payload
  const { functions, function_call: chosen, tools: given, tool_choice: choice = chosenTool(chosen), ...rest } = payload
  const tools = [...objectsIn(given), ...objectsIn(functions).map((called) => ({ type: "function", function: called }))]
  return {
    ...rest,
    messages: translated(messages),
    ...(tools.length === 0 ? {} : { tools }),
    ...(choice == null ? {} : { tool_choice: choice }),
  }
}

const isLegacy = ({ role, function_call: call }: JsonObject): boolean => role === "function" || call != null

const chosenTool = (chosen: unknown): unknown =>
  isJsonObject(chosen) ? { type: "function", function: { name: chosen["name"] } } : chosen

/**
 * A result belongs to the last call of its function, since neither had an id. A result without a call becomes a message
 * of the user.
 */
const translated = (messages: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> => {
  const open = new Map<unknown, string>()
  return messages.map((message, at) => {
    const { role, name, content, function_call: call, ...rest } = message
    if (role === "function") {
      const id = open.get(name)
      open.delete(name)
      return id === undefined
        ? { role: "user", content: content ?? "" }
        : { role: "tool", tool_call_id: id, content: content ?? "" }
    }
    if (role !== "assistant" || !isJsonObject(call) || objectsIn(rest["tool_calls"]).length > 0) return message
    const id = `call_${at}`
    open.set(call["name"], id)
    return { ...rest, role, content: content ?? null, tool_calls: [{ id, type: "function", function: call }] }
  })
}

/** A choice of a whole answer with its first call: the form had no more than one. */
export const legacyChoice = ({ message, finish_reason: finish, ...rest }: ChatChoice): JsonObject => {
  const { tool_calls: calls, ...said } = message
  const [first] = calls ?? []
  const called = first === undefined ? {} : { function_call: first.function }
  return { ...rest, message: { ...said, ...called }, finish_reason: legacyFinish(finish) }
}

/** The same for a choice of a chunk. */
export const legacyPiece = ({ delta, finish_reason: finish, ...rest }: ChatChunkChoice): JsonObject => {
  const { tool_calls: pieces, ...said } = delta
  const first = pieces?.filter(({ index }: ToolCallDelta) => index === 0) ?? []
  const name = first.find((piece) => piece.function?.name)?.function?.name
  const written = first.map((piece) => piece.function?.arguments ?? "").join("")
  const called =
    first.length === 0 ? {} : { function_call: { ...(name === undefined ? {} : { name }), arguments: written } }
  return { ...rest, delta: { ...said, ...called }, finish_reason: legacyFinish(finish) }
}

const legacyFinish = (finish: FinishReason | null): string | null =>
  finish === "tool_calls" ? "function_call" : finish
