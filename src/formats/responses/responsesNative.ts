/**
 * The body of a Responses caller for a host of the Responses form. It is sent as it came, but for the model's name, the
 * output bound, the service tier, parameters that the host lacks, reasoning that came from hosts of other vendors, and
 * names of calls that the host refuses. Nothing is stored.
 */
import * as Either from "effect/Either"
import type { Unsupported } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { isJsonObject, type JsonObject, objectIn, objectsIn } from "../../domain/json/json.ts"
import { isSameType, runnerOf } from "../../domain/request/hostedTools.ts"
import { type ChatRequest, mostSearches, type NativeRequest } from "../../domain/request/request.ts"
import { fittingCallName } from "../callId.ts"
import { effortAsked, reasoningWish } from "../effort.ts"
import { isWrapped } from "../foreignReasoning.ts"
import { type Encoded, jsonBody } from "../Protocol.ts"
import { addsTools } from "../request/offered.ts"
import { defaultFormat, type ResponsesQuirks } from "./ResponsesQuirks.ts"
import { callIdHere } from "./responsesItems.ts"
import { readableParts } from "./responsesParts.ts"
import { ownId } from "./responsesReasoning.ts"
import { belowLeast, encrypted, lacking, parameters, wantsEncrypted } from "./responsesRequest.ts"

/** Members that stand for a member of the canonical form. Where that was taken out, the host lacks the parameter. */
const counterparts: ReadonlyMap<string, string> = new Map([
  ["tool_choice", "tool_choice"],
  ...[...parameters.values()].map(({ at, name }) => [at, name] as const),
])

/** Written anew. */
const own: ReadonlySet<string> = new Set([
  ...["model", "input", "store", "stream", "max_output_tokens", "tools", "text", "reasoning", "include"],
  ...["service_tier", "web_search_options", "background"],
])

/** Members of the form that are sent as they came: each is checked where the body comes in. */
const known: ReadonlySet<string> = new Set([
  ...["instructions", "max_tool_calls", "truncation", "stream_options", "image", "client_metadata"],
  ...counterparts.keys(),
])

export const encodeNative = (
  quirks: ResponsesQuirks,
  request: ChatRequest,
  { body, headers }: NativeRequest,
  host: Host,
): Either.Either<Encoded, Unsupported> => {
  const { payload } = request
  const refusal = belowLeast(request, quirks, "max_output_tokens")
  if (refusal !== undefined) return Either.left(refusal)
  const dropped: Array<string> = []
  const { parameters: asked } = request.routing
  const sent: Record<string, unknown> = {
    model: host.upstreamModel,
    input: inputOf(body["input"], request, quirks),
    store: false,
  }
  for (const name in body) {
    const value = body[name]
    const canonical = counterparts.get(name)
    const isLacking = canonical !== undefined && payload[canonical] === undefined && asked.includes(canonical)
    if (value === null || own.has(name) || isLacking) continue
    const isTaken = known.has(name) || (isOwn(name, quirks, host) && !lacking.has(name))
    if (isTaken && quirks.drop?.includes(name) !== true) sent[name] = value
    // What is no longer in the payload was named already.
    else if (payload[name] !== undefined && !saysNothing(value)) dropped.push(name)
  }
  if (request.maxTokens !== undefined) sent["max_output_tokens"] = request.maxTokens
  if (typeof payload.service_tier === "string") sent["service_tier"] = payload.service_tier
  const added = addedTools(sent["input"])
  const tools = toolsOf(body, request, added)
  if (tools.length > 0) sent["tools"] = tools
  // A choice among tools that are not sent is refused.
  if (tools.length + added.length === 0) delete sent["tool_choice"]
  else if (isJsonObject(sent["tool_choice"]))
    sent["tool_choice"] = choiceAmong([...tools, ...added], sent["tool_choice"])
  if (tools.some(isSearch) || added.some(isSearch)) {
    // The reservation pays for at most so many searches.
    const { max_tool_calls: most } = body
    sent["max_tool_calls"] = typeof most === "number" ? Math.min(most, mostSearches) : mostSearches
  }
  setText(sent, body["text"], request)
  setReasoning(sent, body["reasoning"], request, host, quirks)
  setInclude(sent, body["include"], request, host, quirks)
  sent["stream"] = request.stream
  return Either.right({ path: "/responses", headers, ...jsonBody(sent), dropped })
}

/** Whether a member that is none of the form belongs to the host's API. */
const isOwn = (name: string, { own: ofApi }: ResponsesQuirks, { extraMembers }: Host): boolean =>
  ofApi?.includes(name) === true || extraMembers?.includes(name) === true

const saysNothing = (value: unknown): boolean => Array.isArray(value) && value.length === 0

/** The input without what is the gateway's, and without what this host cannot read. */
export const inputOf = (input: unknown, request: ChatRequest, quirks: ResponsesQuirks): unknown => {
  if (!Array.isArray(input)) return input
  return input.flatMap(
    (item: unknown): ReadonlyArray<unknown> => (isJsonObject(item) ? itemOf(item, request, quirks) : [item]),
  )
}

/** An item without what is the gateway's: its ids, its members, and marks of other forms. */
const itemOf = (item: JsonObject, request: ChatRequest, quirks: ResponsesQuirks): ReadonlyArray<JsonObject> => {
  const isReasoning = item["type"] === "reasoning"
  // Without its result it is a reference to an image that the host has stored.
  if (item["type"] === "image_generation_call" && !item["result"]) return []
  if (isReasoning && !isHosts(item, quirks)) return []
  const added = addsTools(item) ? keptTools(item["tools"], request) : undefined
  // Without its tools it says nothing.
  if (item["type"] === "additional_tools" && added?.length === 0) return []
  const isAgentMessage = item["type"] === "agent_message"
  const isCall = item["type"] === "function_call" || item["type"] === "custom_tool_call"
  const hasOwnId = typeof item["id"] === "string" && ownId.test(item["id"])
  const kept: Record<string, unknown> = {}
  for (const name in item) {
    const value = item[name]
    if (name === "__proto__" || (name === "id" && hasOwnId)) continue
    if (isReasoning && notInReasoning.has(name)) continue
    if (name === "call_id") kept[name] = callIdHere(value)
    else if (name === "name" && isCall) kept[name] = fittingCallName(value)
    else if ((name === "content" || name === "output") && Array.isArray(value)) {
      const parts = value.map(ownPart)
      kept[name] = isAgentMessage ? readableParts(parts) : parts
    } else kept[name] = value
  }
  if (added !== undefined) kept["tools"] = added
  return [kept]
}

/**
 * Members of reasoning that are the gateway's, and the status, which OpenAI writes and refuses ("Unknown parameter:
 * 'input[1].status'", litellm#13420, 2025-08; jcode#1028, 2026-08).
 */
const notInReasoning: ReadonlySet<string> = new Set(["format", "signature", "status"])

/**
 * Whether reasoning can be read by this host, which does not know items of its own that came without encrypted content.
 */
const isHosts = (item: JsonObject, { format = defaultFormat, history = "encrypted" }: ResponsesQuirks): boolean => {
  const { id, format: named, encrypted_content: data } = item
  const given = named ?? (typeof id === "string" ? ownId.exec(id)?.[1] : undefined)
  if (given !== undefined && given !== format) return false
  if (isWrapped(data) || history === "none") return false
  return history === "text" || (typeof data === "string" && data !== "")
}

/** A part without marks of other forms. Citations lose the text of their source, which OpenAI's form does not have. */
const ownPart = (part: unknown): unknown => {
  const own = withoutMark(part)
  if (!isJsonObject(own) || !Array.isArray(own["annotations"])) return own
  return { ...own, annotations: own["annotations"].map(withoutQuote) }
}

const withoutQuote = (annotation: unknown): unknown => {
  if (!isJsonObject(annotation) || annotation["type"] !== "url_citation") return annotation
  const { content: _, ...rest }: JsonObject = annotation
  return rest
}

const withoutMark = (part: unknown): unknown => {
  if (!isJsonObject(part) || part["cache_control"] === undefined) return part
  const { cache_control: _, ...rest }: JsonObject = part
  return rest
}

/** The body's tools, with the search that `web_search_options` asks for, unless one is among them. */
const toolsOf = (body: JsonObject, request: ChatRequest, added: ReadonlyArray<unknown>): ReadonlyArray<unknown> => {
  const kept = keptTools(body["tools"], request)
  const asked = request.payload["web_search_options"] !== undefined && !kept.some(isSearch) && !added.some(isSearch)
  return asked ? [...kept, { type: "web_search" }] : kept
}

/**
 * The caller's tools, unless the host takes none, and tools that the host runs. Tools that it must not run were taken
 * out before.
 */
const keptTools = (tools: unknown, { payload, routing }: ChatRequest): ReadonlyArray<unknown> => {
  const lacksTools = payload.tools === undefined && routing.parameters.includes("tools")
  const listed: ReadonlyArray<unknown> = Array.isArray(tools) ? tools : []
  const kept = lacksTools ? listed.filter((tool) => isJsonObject(tool) && runnerOf(tool) !== "client") : listed
  return kept.map(withoutMark).map(withoutPrefix)
}

/** The tools that items add. */
const addedTools = (input: unknown): ReadonlyArray<unknown> =>
  Array.isArray(input)
    ? input.flatMap((item: unknown): ReadonlyArray<unknown> => (addsTools(item) ? objectsIn(item["tools"]) : []))
    : []

const isSearch = (tool: unknown): boolean => runnerOf(objectIn(tool)) === "web_search"

/** Routers write the names of their tools with a prefix. */
const withoutPrefix = (tool: unknown): unknown =>
  isJsonObject(tool) && typeof tool["type"] === "string" && tool["type"].includes(":")
    ? { ...tool, type: tool["type"].slice(tool["type"].indexOf(":") + 1) }
    : tool

/** A choice of a tool that the host runs, by the type that the tool itself has. */
const choiceAmong = (tools: ReadonlyArray<unknown>, choice: JsonObject): unknown => {
  const chosen = objectsIn(tools).find(
    (tool) => runnerOf(tool) !== "client" && isSameType(tool["type"], choice["type"]),
  )
  return chosen === undefined ? choice : { ...choice, type: chosen["type"] }
}

const setText = (sent: Record<string, unknown>, text: unknown, { payload }: ChatRequest): void => {
  if (!isJsonObject(text)) return
  const kept = Object.entries(text).filter(
    ([name, value]) =>
      value !== null &&
      (name !== "verbosity" || payload.verbosity !== undefined) &&
      (name !== "format" || payload.response_format !== undefined || isText(value)),
  )
  if (kept.length > 0) sent["text"] = Object.fromEntries(kept)
}

const isText = (format: unknown): boolean => isJsonObject(format) && format["type"] === "text"

/** The caller's `reasoning` without the router's members, its effort as the host knows it. */
const setReasoning = (
  sent: Record<string, unknown>,
  given: unknown,
  request: ChatRequest,
  host: Host,
  quirks: ResponsesQuirks,
): void => {
  const { effort: asked, max_tokens: _, enabled: __, exclude, ...others } = objectIn(given)
  const wish = reasoningWish(request.reasoning)
  const effort = wish === undefined ? undefined : effortAsked(wish, request, host, quirks)
  const kept: Record<string, unknown> = effort === undefined ? {} : { effort }
  // The host does not reason, and requestFor says so.
  const lacks = asked != null && effort === undefined
  for (const name in others) {
    const isShown = name !== "summary" || exclude !== true
    if (others[name] !== null && !lacks && isShown) kept[name] = others[name]
  }
  if (Object.keys(kept).length > 0) sent["reasoning"] = kept
}

/** What the caller includes, and what the next turn needs. */
const setInclude = (
  sent: Record<string, unknown>,
  given: unknown,
  request: ChatRequest,
  host: Host,
  quirks: ResponsesQuirks,
): void => {
  const wants = wantsEncrypted(request, host, quirks, sent["input"])
  const named: ReadonlyArray<unknown> = Array.isArray(given) ? given : []
  const kept = named.filter(
    (name) =>
      name !== encrypted && (name !== "message.output_text.logprobs" || request.payload["logprobs"] !== undefined),
  )
  const asked = wants || (named.includes(encrypted) && host.supportedParameters.length === 0)
  const include = asked ? [...kept, encrypted] : kept
  if (include.length > 0) sent["include"] = include
}
