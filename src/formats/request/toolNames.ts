/**
 * Names of tools that a host refuses, and the names that it is sent for them. Clients may use 128 characters
 * (Anthropic's and OpenAI's Responses API, 2026-11), where most hosts take 64. The same name always becomes the same
 * other one, so that a conversation keeps its beginning from turn to turn.
 */
import { matching } from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { ChatPayload, HostToolCall, Message, Tool, ToolCall, ToolChoice } from "../../domain/request/chat.ts"

/** The name of a tool as clients may write it. */
export const toolName = matching(/^[a-zA-Z0-9_-]{1,128}$/, "must be 1 to 128 letters, digits, underscores and dashes")

/**
 * The most characters of a name that hosts take, unless their protocol says otherwise. Chat Completions: OpenAI's
 * reference of `tools[].function.name`; Converse: `ToolSpecification` of AWS's reference; Gemini: `FunctionDeclaration`
 * (all read in 2026-11).
 */
export const usualLongestToolName = 64

const refusedLetters = /[^a-zA-Z0-9_-]/
const hashLength = 10

/** Other names by the names of tools. */
export type ToolNameMap = ReadonlyMap<string, string>

/**
 * A name of at most `most` characters that stands for `name`, with the beginning of it. `key`: what no other tool has.
 */
export const shortToolName = (name: string, most: number, key = name): string => {
  const start = name.slice(0, most - hashLength - 1).replace(new RegExp(refusedLetters, "g"), "_")
  return `${start}_${new Bun.CryptoHasher("sha256").update(key).digest("hex").slice(0, hashLength)}`
}

/**
 * By the name of each tool or earlier call that the host refuses, the name that it is sent. `undefined`: it takes all.
 */
export const refusedToolNames = (
  { tools, messages }: Pick<ChatPayload, "tools" | "messages">,
  most: number,
): ToolNameMap | undefined => {
  let sent: Map<string, string> | undefined
  const look = (name: unknown): void => {
    if (typeof name !== "string" || (name.length <= most && name !== "" && !refusedLetters.test(name))) return
    sent ??= new Map()
    sent.set(name, shortToolName(name, most))
  }
  if (tools != null) for (const tool of tools) look(nameIn(tool))
  for (const message of messages)
    if (message.role === "assistant" && message.tool_calls != null)
      for (const call of message.tool_calls) look(nameIn(call))
  return sent
}

/** The names to be read in the answer: those of `sent`, the other way round. */
export const turned = (sent: ToolNameMap): ToolNameMap => new Map(Array.from(sent, ([name, other]) => [other, name]))

/** The payload with other names in its tools, the choice among them, and earlier calls and results. */
export const withToolNames = (payload: ChatPayload, names: ToolNameMap): ChatPayload => ({
  ...payload,
  messages: payload.messages.map((message) => withNamesIn(message, names)),
  ...(payload.tools == null ? {} : { tools: payload.tools.map((tool): Tool => renamed(tool, names)) }),
  ...(isJsonObject(payload.tool_choice) ? { tool_choice: renamedChoice(payload.tool_choice, names) } : {}),
})

const withNamesIn = (message: Message, names: ToolNameMap): Message => {
  if (message.role === "tool") {
    const other = typeof message["name"] === "string" ? names.get(message["name"]) : undefined
    return other === undefined ? message : { ...message, name: other }
  }
  if (message.role !== "assistant" || message.tool_calls == null) return message
  const calls = message.tool_calls.map((call): ToolCall | HostToolCall => renamed(call, names))
  return { ...message, tool_calls: calls }
}

/** Calls of an answer with the names that the client knows. */
export const withCalledNames = <Call extends JsonObject>(calls: ReadonlyArray<Call>, names: ToolNameMap) =>
  calls.map((call) => renamed(call, names))

/** The members in which tools, calls and choices have a name. */
const named = ["function", "custom"] as const

const nameIn = (tool: JsonObject): unknown => {
  for (const member of named) {
    const inner = tool[member]
    if (isJsonObject(inner)) return inner["name"]
  }
  return undefined
}

const renamed = <Named extends JsonObject>(tool: Named, names: ToolNameMap): Named => {
  for (const member of named) {
    const inner = tool[member]
    const name = isJsonObject(inner) ? inner["name"] : undefined
    const other = typeof name === "string" ? names.get(name) : undefined
    if (other !== undefined && isJsonObject(inner)) return { ...tool, [member]: { ...inner, name: other } }
  }
  return tool
}

/** The choice of one tool, or the list of allowed tools, which is within `allowed_tools` or beside the type. */
const renamedChoice = (choice: Exclude<ToolChoice, string>, names: ToolNameMap): ToolChoice => {
  const { allowed_tools: allowed, tools } = choice
  if (isJsonObject(allowed))
    return { ...choice, allowed_tools: { ...allowed, ...renamedList(allowed["tools"], names) } }
  return Array.isArray(tools) ? { ...choice, ...renamedList(tools, names) } : renamed(choice, names)
}

const renamedList = (tools: unknown, names: ToolNameMap): { readonly tools?: ReadonlyArray<unknown> } =>
  Array.isArray(tools)
    ? { tools: tools.map((tool: unknown) => (isJsonObject(tool) ? renamed(tool, names) : tool)) }
    : {}
