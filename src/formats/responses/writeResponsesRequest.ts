/** Writes a canonical request in the Responses form. Nothing is stored at the host: each request has the whole conversation. */
import * as Either from "effect/Either"
import { Unsupported } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { isJsonObject, type JsonObject, objectsIn } from "../../domain/json/json.ts"
import type { ChatPayload, Tool, ToolChoice } from "../../domain/request/chat.ts"
import {
  addMember,
  byName,
  lackingIn,
  type PlacedParameter,
  placedIn,
  renamesIn,
  translatedIn,
} from "../../domain/request/placedParameters.ts"
import { type ChatRequest, mostSearches } from "../../domain/request/request.ts"
import { effortAsked, reasoningWish } from "../effort.ts"
import { type Encoded, jsonBody } from "../Protocol.ts"
import type { ResponsesQuirks } from "./ResponsesQuirks.ts"
import { hasReasoning } from "./responsesReasoning.ts"
import { customCallOf, inputOf } from "./writeResponsesInput.ts"

/** Members of the canonical form that this form has no counterpart for. */
export const lacking: ReadonlySet<string> = new Set(lackingIn("responses"))

/** Parameters that need no function of their own. */
export const parameters: ReadonlyMap<string, PlacedParameter> = byName(placedIn("responses"))

/** Members that functions of this protocol write, and those of the canonical form itself. */
const translated: ReadonlySet<string> = new Set(["messages", "store", ...translatedIn("responses")])

/**
 * Members that this function writes, from what it translates: the caller's of these names are not copied. Every other member that
 * comes here is of both forms, or may pass (`Protocol.passes`).
 */
const written: ReadonlySet<string> = new Set([
  ...["__proto__", "model", "input", "instructions", "stream", "store", "max_output_tokens", "max_tool_calls"],
  ...["include", "text", "background", "conversation", "previous_response_id", "prompt", ...translated],
  ...renamesIn("responses"),
])

export const encodeResponses = (
  quirks: ResponsesQuirks,
  request: ChatRequest,
  host: Host,
): Either.Either<Encoded, Unsupported> => {
  const { payload } = request
  const refusal = belowLeast(request, quirks) ?? foreignCallIn(payload)
  if (refusal !== undefined) return Either.left(refusal)
  const dropped: Array<string> = []
  const input = inputOf(payload.messages, quirks, host, dropped)
  if (input instanceof Unsupported) return Either.left(input)
  const refused = new Set(quirks.drop)
  const out: Record<string, unknown> = { model: host.upstreamModel, input, store: false }
  for (const name in payload) {
    const value = payload[name]
    if (value == null || translated.has(name)) continue
    if (lacking.has(name) || refused.has(name) || written.has(name)) {
      if (!asksNothing(name, value)) dropped.push(name)
    } else addMember(parameters, name, payload, out)
  }
  for (const [at, message] of payload.messages.entries()) {
    // Images that the model made are no input of an assistant in this form, and nobody who speaks has a name. That of a
    // result says only what its call says.
    if (Array.isArray(message["images"]) && message["images"].length > 0) dropped.push(`messages[${at}].images`)
    if (message.role !== "tool" && message["name"] != null && message["name"] !== "")
      dropped.push(`messages[${at}].name`)
  }
  if (request.maxTokens !== undefined) out["max_output_tokens"] = request.maxTokens
  Object.assign(out, toolFields(payload))
  // The reservation pays for at most so many searches.
  if (payload["web_search_options"] != null) out["max_tool_calls"] = mostSearches
  const text = textField(payload)
  if (text !== undefined) out["text"] = text
  const reasoning = reasoningField(request, host, quirks, dropped)
  if (reasoning !== undefined) out["reasoning"] = reasoning
  const include = includeFor(request, host, quirks, input)
  if (include.length > 0) out["include"] = include
  out["stream"] = request.stream
  return Either.right({ path: "/responses", ...jsonBody(out), dropped })
}

/** The bound is never raised, since the reservation depends on it. */
export const belowLeast = (
  { maxTokens }: ChatRequest,
  { leastTokens = 1 }: ResponsesQuirks,
  path = "max_tokens",
): Unsupported | undefined =>
  maxTokens === undefined || maxTokens >= leastTokens
    ? undefined
    : new Unsupported({ path, reason: `this host takes no bound below ${leastTokens}` })

/** The first call that is no call of a function or a custom tool: as an item it could be anything. */
const foreignCallIn = ({ messages }: ChatPayload): Unsupported | undefined => {
  for (const [at, message] of messages.entries()) {
    const calls = message.role === "assistant" ? (message.tool_calls ?? []) : []
    const foreign = calls.findIndex((call) => call.function === undefined && customCallOf(call) === undefined)
    if (foreign === -1) continue
    const reason = "this host takes calls of functions and custom tools only"
    return new Unsupported({ path: `messages[${at}].tool_calls[${foreign}]`, reason })
  }
  return undefined
}

/** One answer, and an empty list, are what the host does anyway. */
const asksNothing = (name: string, value: unknown): boolean =>
  ((name === "n" || name === "best_of") && value === 1) || (Array.isArray(value) && value.length === 0)

// --- tools

/** Without tools a choice among them says nothing, and hosts refuse it. */
const toolFields = (payload: ChatPayload): JsonObject => {
  const { tools, tool_choice: choice } = payload
  const search = searchTool(payload["web_search_options"])
  const listed = [...(tools ?? []).map(toolOf), ...(search === undefined ? [] : [search])]
  if (listed.length === 0) return {}
  return { tools: listed, ...(choice == null ? {} : { tool_choice: choiceOf(choice) }) }
}

/** `strict` is on by default in this form, and off in the canonical one. Tools of other kinds that callers run are alike in both. */
const toolOf = (tool: Tool): JsonObject => {
  if (tool.function === undefined) return tool.type === "custom" ? customTool(tool) : tool
  const { name, description, parameters, strict } = tool.function
  return {
    type: "function",
    name,
    ...(typeof description === "string" ? { description } : {}),
    parameters: parameters ?? { type: "object", properties: {} },
    strict: strict ?? false,
  }
}

/** The members of a tool stand beside its type in this form: `{ type: "custom", custom: { ... } }` loses a level. */
const customTool = (tool: JsonObject): JsonObject => {
  const { name, description, format }: JsonObject = isJsonObject(tool["custom"]) ? tool["custom"] : tool
  return {
    type: "custom",
    name,
    ...(typeof description === "string" ? { description } : {}),
    ...(isJsonObject(format) ? { format: formatOfCustom(format) } : {}),
  }
}

/** A grammar stands a level deeper in the canonical form. */
const formatOfCustom = ({ type, grammar, ...rest }: JsonObject): JsonObject =>
  isJsonObject(grammar)
    ? { type: "grammar", syntax: grammar["syntax"], definition: grammar["definition"] }
    : { ...rest, type: type === "text" ? "text" : "grammar" }

const choiceOf = (choice: ToolChoice): unknown => {
  if (typeof choice === "string") return choice
  const { type, allowed_tools: allowed } = choice
  if (type !== "allowed_tools") return namedTool(choice)
  const { mode, tools }: JsonObject = isJsonObject(allowed) ? allowed : choice
  return { type, mode: mode === "required" ? mode : "auto", tools: objectsIn(tools).map(namedTool) }
}

/** A tool by its name, or by its type alone. */
const namedTool = (tool: JsonObject): JsonObject => {
  const { type } = tool
  if (type !== "function" && type !== "custom") return { type }
  const inner = tool[type]
  return { type, name: isJsonObject(inner) ? inner["name"] : tool["name"] }
}

const searchTool = (options: unknown): JsonObject | undefined => {
  if (!isJsonObject(options)) return undefined
  const { search_context_size: size, user_location: place } = options
  const { approximate, ...rest }: JsonObject = isJsonObject(place) ? place : {}
  return {
    type: "web_search",
    ...(size == null ? {} : { search_context_size: size }),
    ...(place == null ? {} : { user_location: { ...rest, ...(isJsonObject(approximate) ? approximate : {}) } }),
  }
}

// --- output

const textField = ({ response_format: format, verbosity }: ChatPayload): JsonObject | undefined => {
  const wanted = format == null || format.type === "text" ? undefined : formatOf(format)
  if (wanted === undefined && verbosity == null) return undefined
  return { ...(wanted === undefined ? {} : { format: wanted }), ...(verbosity == null ? {} : { verbosity }) }
}

const formatOf = (format: NonNullable<ChatPayload["response_format"]>): JsonObject =>
  format.json_schema === undefined ? format : { ...format.json_schema, type: format.type }

/** A summary is asked for with the reasoning, since the form shows nothing else of it. */
const reasoningField = (
  request: ChatRequest,
  host: Host,
  quirks: ResponsesQuirks,
  dropped: Array<string>,
): JsonObject | undefined => {
  const { reasoning } = request
  const { summary, context, mode } = writtenReasoning(request)
  const wish = reasoningWish(reasoning)
  const effort = wish === undefined ? undefined : effortAsked(wish, request, host, quirks)
  if (wish !== undefined && effort === undefined) {
    dropped.push(reasoning.written["reasoning"] == null ? "reasoning_effort" : "reasoning")
    return undefined
  }
  const shown = reasoning.exclude ? undefined : (summary ?? (wish === undefined || wish === "off" ? undefined : "auto"))
  const field = {
    ...(context === undefined ? {} : { context }),
    ...(mode === undefined ? {} : { mode }),
    ...(effort === undefined ? {} : { effort }),
    ...(shown == null ? {} : { summary: shown }),
  }
  return Object.keys(field).length === 0 ? undefined : field
}

/** `reasoning` as the caller wrote it, without members that are null. */
const writtenReasoning = ({ reasoning }: ChatRequest): JsonObject => {
  const { reasoning: asked } = reasoning.written
  return isJsonObject(asked) ? Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== null)) : {}
}

export const encrypted = "reasoning.encrypted_content"

const includeFor = (
  request: ChatRequest,
  host: Host,
  quirks: ResponsesQuirks,
  input: unknown,
): ReadonlyArray<string> => [
  ...(wantsEncrypted(request, host, quirks, input) ? [encrypted] : []),
  ...(request.payload.logprobs === true ? ["message.output_text.logprobs"] : []),
]

/**
 * Whether the model may reason, so that a later turn needs its encrypted reasoning. Models that do not reason refuse the wish.
 * Where nothing is known of a model, the request says it.
 */
export const wantsEncrypted = (
  request: ChatRequest,
  { supportedParameters: known }: Host,
  { history = "encrypted" }: ResponsesQuirks,
  input: unknown,
): boolean => {
  if (history === "none") return false
  if (known.length > 0) return known.includes("reasoning") || known.includes("reasoning_effort")
  const wish = reasoningWish(request.reasoning)
  return (wish !== undefined && wish !== "off") || hasReasoning(input)
}
