/**
 * A chat completion: the JSON of a client, decoded to a `ChatRequest`, and a canonical request for an OpenAI-compatible
 * host. Both run for every request: plain functions and a table (see `domain/json/checks.ts`), which report all
 * problems at once, at most ten, and copy only the outermost object. Optional members may be null. Ranges that depend
 * on the host are left to the host.
 */
import * as Either from "effect/Either"
import { type BadRequest, Unsupported } from "../../domain/failures/Failure.ts"
import { baseModelOf, type Host } from "../../domain/hosts/Host.ts"
import {
  anyObject,
  anything,
  byType,
  type Check,
  described,
  filledText,
  flag,
  type Issues,
  listOf,
  objectOf,
  objectOr,
  oneOf,
  text,
  titled,
} from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { ChatPayload, Message, SystemMessage, Tool } from "../../domain/request/chat.ts"
import { namesWhere, otherChecks, parameterChecks } from "../../domain/request/placedParameters.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import { effortAsked, reasoningWish } from "../effort.ts"
import { jsonBody, type Protocol } from "../Protocol.ts"
import { hasMark, lostOfMessages, withPlainTools } from "../plainTools.ts"
import { chatRequest, countOf } from "../request/chatRequest.ts"
import { memberTable, most, readMembers, refusalOf, sharedMembers } from "../request/members.ts"
import { otherTool } from "../request/operatorMembers.ts"
import { reasoningOf, reasoningRule } from "../request/reasoning.ts"
import { textMembers } from "../request/textMembers.ts"
import { toolName } from "../request/toolNames.ts"
import type { ChatQuirks } from "./ChatQuirks.ts"
import { legacyMembers, withoutFunctions } from "./chatLegacyFunctions.ts"
import {
  arrangedMessages,
  changesNothing,
  type MessageMembers,
  messages,
  needsWriting,
  withChatDetails,
  withoutCacheControl,
  withoutListedOrder,
  withoutResultMedia,
  writtenMessage,
} from "./chatMessages.ts"

const declared = objectOf(
  {
    name: toolName,
    description: text,
    parameters: described("JSON Schema of the arguments.", anyObject),
    strict: flag,
  },
  "name",
)
const toolTypes: ReadonlyMap<string, Check> = new Map([["function", objectOf({ function: declared }, "function")]])

const tools = listOf(titled("ChatTool", byType(toolTypes, otherTool)), most.tools)

const namedChoice = byType(
  new Map([["function", objectOf({ function: objectOf({ name: filledText }, "name") }, "function")]]),
  anything,
)
const toolChoice = objectOr(namedChoice, oneOf("none", "auto", "required"))

/** Parameters that a host may or may not support (`supported_parameters`). */
const parameters: Readonly<Record<string, Check>> = {
  ...parameterChecks,
  ...textMembers,
  tools,
  tool_choice: toolChoice,
}

const others: Readonly<Record<string, Check>> = {
  ...sharedMembers,
  ...otherChecks,
  ...legacyMembers(declared, most.tools),
  messages,
  prompt: text,
}

/** Members that become fields of `ChatRequest`. Protocols encode them for each host. */
const decodedApart = [
  ...["model", "stream", "stream_options", "max_tokens", "max_completion_tokens"],
  ...["reasoning", "reasoning_effort", "include_reasoning"],
]

export const chatTable = memberTable({
  ...{ title: "ChatRequest", parameters, others, decodedApart },
  required: ["messages"],
  after: [reasoningRule],
})

/** The request refers to `body`, which must not change any more. */
export const decodeChat = (body: JsonObject): Either.Either<ChatRequest, BadRequest> => {
  const issues: Issues = []
  const read = readMembers(body, chatTable, issues)
  const refusal = refusalOf(body, read, issues)
  if (refusal !== undefined) return Either.left(refusal)
  const { preferences, parameters, dropped } = read
  const payload = withoutFunctions(read.payload)
  const isLegacy = payload !== read.payload
  if (isLegacy)
    for (const name of ["tools", "tool_choice"]) if (isNew(name, payload, read.payload)) parameters.push(name)
  const maxTokens = countOf(body["max_completion_tokens"]) ?? countOf(body["max_tokens"])
  const reasoning = reasoningOf(body)
  const request = chatRequest({
    ...{ body, preferences, parameters, reasoning, maxTokens, dropped, payload: checkedPayload(payload) },
  })
  return Either.right(isLegacy && read.payload["tools"] == null ? { ...request, functionCalls: true } : request)
}

const isNew = (name: string, payload: JsonObject, before: JsonObject): boolean =>
  payload[name] != null && before[name] == null

/** The checks above guarantee the type: required members are present, and known members have their type. */
const checkedPayload = (payload: JsonObject): ChatPayload => payload as unknown as ChatPayload

// --- for hosts

/** Members that routers added to the vendors' API. A strict host refuses them. */
const additions: ReadonlyArray<string> = namesWhere(({ addition }) => addition === true)

/** How requests are written for hosts with these quirks. */
export const encodeChat = (quirks: ChatQuirks): Protocol["encode"] => {
  const { maxTokens = "max_tokens", strict = false, streamUsage = true, history = "reasoning" } = quirks
  const { instructions = "one", missingReasoning, resultMedia = false } = quirks
  const { always, rewrite, path = () => "/chat/completions" } = quirks
  const unmarked = strict || quirks.cacheControl === false
  const refused = new Set([
    ...(strict ? additions : []),
    ...(unmarked ? ["cache_control"] : []),
    ...(quirks.drop ?? []),
  ])
  const taken = quirks.takes === undefined ? undefined : new Set(["messages", ...quirks.takes])
  const names = new Map(Object.entries(quirks.names ?? {}))
  const members = { history, missingReasoning: undefined, unmarked, refused: refusedInMessages(strict, quirks) }
  const { customTools = quirks.passes === "any" } = quirks
  return (request, host) => {
    const dropped: Array<string> = []
    const payload = customTools ? request.payload : withPlainTools(request.payload, dropped)
    const out: Record<string, unknown> = { model: host.upstreamModel }
    const told = quirks.schemas === false ? schemaTold(payload.response_format) : undefined
    const arranged = arrangedMessages(told === undefined ? payload.messages : [told, ...payload.messages], instructions)
    const messages = withChatDetails(resultMedia ? arranged : withoutResultMedia(arranged))
    const written = rewrite === undefined ? payload : rewrite({ ...payload, messages }, dropped)
    if (written instanceof Unsupported) return Either.left(written)
    for (const name in payload) {
      if (name === "__proto__") continue
      const named = names.get(name) ?? name
      if (written[name] === undefined || refused.has(name) || taken?.has(named) === false) {
        if (payload[name] != null) dropped.push(name)
      } else out[named] = written[name]
    }
    if (always !== undefined) write(out, always(baseModelOf(host)), payload, dropped)
    if (rewrite === undefined && unmarked && payload.tools != null && !refused.has("tools"))
      out["tools"] = withoutCacheControl<Tool>(payload.tools)
    if (told !== undefined) {
      out["response_format"] = { type: "json_object" }
      if (payload.response_format?.json_schema?.strict === true) dropped.push("response_format.json_schema.strict")
    }
    if (request.maxTokens !== undefined) out[maxTokens] = request.maxTokens
    writeReasoning(out, dropped, request, host, quirks, refused)
    if (rewrite !== undefined) out["messages"] = withoutListedOrder(out["messages"])
    else {
      const missing = thinks(out) ? missingReasoning?.(baseModelOf(host)) : undefined
      out["messages"] = messagesFor(messages, { ...members, missingReasoning: missing })
      if (members.refused.has("images") && payload.messages.some(({ images }) => images != null))
        dropped.push(...lostOfMessages(payload.messages, ["images"]))
    }
    out["stream"] = request.stream
    if (request.stream && streamUsage && !refused.has("stream_options")) out["stream_options"] = { include_usage: true }
    if (request.routing.needs.hosted !== undefined) withoutEmptyChoice(out, dropped)
    if (unmarked && payload.messages.some(hasMark) && payload.cache_control == null) dropped.push("cache_control")
    const { body, source } = jsonBody(out)
    return Either.right({ path: path(host.upstreamModel), body, source, dropped })
  }
}

/** Writes members of the protocol's. They take the place of the caller's own of that name, which are named. */
const write = (
  out: Record<string, unknown>,
  members: JsonObject,
  payload: JsonObject,
  dropped: Array<string>,
): void => {
  for (const name in members) {
    if (name === "__proto__") continue
    if (payload[name] != null && out[name] === payload[name] && out[name] !== members[name]) dropped.push(name)
    out[name] = members[name]
  }
}

/** A search of the host is no tool in this form, and hosts refuse a choice where there are no tools. */
const withoutEmptyChoice = (out: Record<string, unknown>, dropped: Array<string>): void => {
  if (out["tools"] != null) return
  for (const name of ["tool_choice", "parallel_tool_calls"]) {
    if (out[name] == null) continue
    delete out[name]
    dropped.push(name)
  }
}

const writeReasoning = (
  out: Record<string, unknown>,
  dropped: Array<string>,
  request: ChatRequest,
  host: Host,
  quirks: ChatQuirks,
  refused: ReadonlySet<string>,
): void => {
  const { reasoning } = request
  if (quirks.reasoning === "router") {
    for (const name in reasoning.written) {
      if (reasoning.written[name] == null) continue
      if (refused.has(name)) dropped.push(name)
      else out[name] = reasoning.written[name]
    }
    return
  }
  const wish = reasoningWish(reasoning)
  if (wish === undefined) return
  const cannot = quirks.reasoning === "none" || refused.has("reasoning_effort")
  const effort = cannot ? undefined : effortAsked(wish, request, host, quirks)
  const tokens = wish === "off" ? undefined : wish.tokens
  const members =
    effort === undefined
      ? undefined
      : typeof quirks.reasoning === "function"
        ? quirks.reasoning({ model: baseModelOf(host), effort, tokens })
        : { reasoning_effort: effort }
  if (members !== undefined) write(out, members, request.payload, dropped)
  else dropped.push(reasoning.written["reasoning"] == null ? "reasoning_effort" : "reasoning")
}

/** The instruction that stands for a schema; `undefined`: none is asked for. */
const schemaTold = (format: ChatPayload["response_format"]): SystemMessage | undefined => {
  if (format?.type !== "json_schema") return undefined
  const schema = format.json_schema?.schema
  const fitting = schema == null ? "." : ` that fits this JSON schema:\n\n${JSON.stringify(schema)}`
  return { role: "system", content: `Answer with one JSON object alone${fitting}` }
}

const thinks = ({ thinking }: JsonObject): boolean => !isJsonObject(thinking) || thinking["type"] !== "disabled"

/** Images that a model made are an addition of routers. */
const refusedInMessages = (strict: boolean, { dropInMessages = [] }: ChatQuirks): ReadonlySet<string> =>
  new Set(strict ? [...dropInMessages, "images"] : dropInMessages)

/** The same list where nothing changes. */
const messagesFor = (messages: ReadonlyArray<Message>, members: MessageMembers): ReadonlyArray<JsonObject> => {
  if (changesNothing(members) && !messages.some(needsWriting)) return messages
  return messages.map((message) => writtenMessage(message, members))
}
