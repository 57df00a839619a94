/**
 * The request of the Responses form: a client's, decoded to a `ChatRequest` in the canonical form, and a canonical one,
 * written for a host. Problems are named by their path in the caller's body. What the canonical form cannot carry is
 * refused, or named in `dropped`. Nothing is stored at the host: each request has the whole conversation.
 */
import * as Either from "effect/Either"
import type { Mutable } from "effect/Types"
import { type BadRequest, Unsupported } from "../../domain/failures/Failure.ts"
import { baseModelOf, type Host } from "../../domain/hosts/Host.ts"
import {
  anyObject,
  type Check,
  checkedElsewhere,
  flag,
  type Issues,
  listOf,
  objectOf,
  oneOf,
  onlyFalse,
  refused,
  shortText,
  text,
} from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { ChatPayload } from "../../domain/request/chat.ts"
import { runnerOf } from "../../domain/request/hostedTools.ts"
import {
  addMember,
  byName,
  insteadIn,
  lackingIn,
  type PlacedParameter,
  parameterChecks,
  placedIn,
  renamesIn,
  translatedIn,
} from "../../domain/request/placedParameters.ts"
import {
  type ChatRequest,
  type FormNeed,
  mostSearches,
  type NativeRequest,
  routerOnly,
} from "../../domain/request/request.ts"
import { effortAsked, reasoningWish } from "../effort.ts"
import { type Encoded, jsonBody } from "../Protocol.ts"
import { lostOfMessages } from "../plainTools.ts"
import { chatRequest, countOf } from "../request/chatRequest.ts"
import { type Dropped, dropOthers } from "../request/Dropped.ts"
import { memberTable, readMembers, refusalOf, sharedMembers, tokenCount } from "../request/members.ts"
import { hasAddedTools, offeredIn } from "../request/offered.ts"
import { reasoningOf, reasoningRule } from "../request/reasoning.ts"
import type { ResponsesQuirks } from "./ResponsesQuirks.ts"
import { compactionNeed, customCallOf, input, inputOf, inputRule, translatedInput } from "./responsesItems.ts"
import { notStored } from "./responsesParts.ts"
import { hasReasoning } from "./responsesReasoning.ts"
import { ToolNames } from "./responsesToolNames.ts"
import {
  checkChoice,
  checkToolCount,
  pathOfUntranslatable,
  type TranslatedTools,
  textConfig,
  toolChoice,
  toolFields,
  tools,
  toolsAsCalled,
  translatedFormat,
  translatedTools,
  writtenFormat,
} from "./responsesTools.ts"

/** Name of the form. */
export const responsesForm = "responses"

// --- from a client

export const encrypted = "reasoning.encrypted_content"
const outputLogprobs = "message.output_text.logprobs"

/** Data that can be asked for. Those of tools that this gateway does not run are never there, and are not refused. */
const include = oneOf(
  ...[encrypted, outputLogprobs, "message.input_image.image_url", "web_search_call.results"],
  ...["web_search_call.action.sources", "file_search_call.results", "code_interpreter_call.outputs"],
  "computer_call_output.output.image_url",
)

/**
 * What hosts of this form take for an image that is not in the input. It is judged as all texts are:
 * `formats/payload/walk.ts`.
 */
const anImage = {
  not: { type: "string", pattern: "^([/\\\\]{2}|[\\\\~.]|/(?!9j/))" },
  description: "Only hosts of this API format get it. No path of a machine, and no address within a network.",
}

/** Members of another form whose meaning this form has under another name. */
const renamed: ReadonlyArray<readonly [name: string, own: string]> = [["messages", "input"], ...insteadIn("responses")]

const oneAnswer = refused("is not known in this API format, which gives one answer")
const stateless = "send the whole conversation in input"

/**
 * Members that the gateway refuses, each with a sentence that says what to do instead. `store` and `moderation` are not
 * among them: as in the chat form they are left out and named, since the answer is the same without.
 */
export const refusedMembers: Readonly<Record<string, Check>> = {
  ...Object.fromEntries(
    renamed.map(([name, own]) => [name, refused(`belongs to the chat completions format: use ${own} here`)]),
  ),
  n: oneAnswer,
  best_of: oneAnswer,
  background: onlyFalse("must be false: this gateway stores no responses, so none could be fetched later"),
  previous_response_id: refused(`names a response ${notStored}: ${stateless}`),
  conversation: refused(`names a conversation ${notStored}: ${stateless}`),
  prompt: refused(`names a prompt ${notStored}: send its text in instructions and input`),
  context_management: refused("asks a host to shorten the conversation, which this gateway cannot pass on"),
  access_programs: refused("asks for a host's own access program, which this gateway cannot pass on"),
}

const others: Readonly<Record<string, Check>> = {
  ...sharedMembers,
  web_search_options: anyObject,
  input,
  instructions: text,
  max_output_tokens: tokenCount,
  max_tool_calls: tokenCount,
  tools,
  tool_choice: toolChoice,
  text: textConfig,
  include: listOf(include),
  truncation: oneOf("auto", "disabled"),
  stream_options: objectOf({ include_obfuscation: flag }),
  modalities: listOf(oneOf("text", "image")),
  image_config: anyObject,
  image: checkedElsewhere(anImage),
  user: shortText(256),
  safety_identifier: text,
  prompt_cache_retention: text,
}

/** Members that become fields of `ChatRequest`, or others of the payload. */
const decodedApart = [
  ...["model", "stream", "stream_options", "reasoning", "input", "instructions", "max_output_tokens", "max_tool_calls"],
  ...["tools", "tool_choice", "text", "include", "truncation", "background", "previous_response_id"],
  ...["conversation", "prompt", "context_management", "access_programs", "image", "client_metadata"],
]

/** Parameters that the canonical form has under the same name, with the same meaning. */
const accepted = Object.entries(parameterChecks).filter(([name]) => !Object.hasOwn(refusedMembers, name))

export const responsesTable = memberTable({
  title: "ResponsesRequest",
  parameters: Object.fromEntries(accepted),
  others: { ...others, ...refusedMembers },
  decodedApart: [...decodedApart, ...Object.keys(refusedMembers)],
  before: [inputRule],
  after: [reasoningRule],
})

/** The request refers to `body`, which must not change any more. */
export const decodeResponses = (body: JsonObject): Either.Either<ChatRequest, BadRequest> => {
  const issues: Issues = []
  const read = readMembers(body, responsesTable, issues)
  if (issues.length === 0) checkToolCount(body, issues)
  const names = new ToolNames(issues.length === 0 ? body : {})
  if (issues.length === 0) checkChoice(body, names, issues)
  const refusal = refusalOf(body, read, issues)
  if (refusal !== undefined) return Either.left(refusal)
  const dropped: Dropped = []
  const { messages, pathOf } = translatedInput(body, names, dropped)
  const translated = translatedTools(body, names, dropped)
  const payload: ChatPayload = { ...read.payload, messages, ...translatedMembers(body, names, translated, dropped) }
  const { preferences } = read
  const maxTokens = countOf(body["max_output_tokens"])
  const parameters = [...read.parameters, ...translatedParameters(payload, maxTokens)]
  const reasoning = reasoningOf(body)
  const sent = sentMembers(body, read.dropped)
  const onlyForm = compactionNeed(body["input"]) ?? untranslatableNeed(body, names)
  const request = chatRequest({
    body,
    payload,
    preferences,
    parameters,
    reasoning,
    maxTokens,
    native: onlyForm === undefined && dropped.length === 0 && !hasAddedTools(body) ? undefined : sent,
    form: responsesForm,
    onlyForm,
    dropped: read.dropped,
  })
  const native: Mutable<NativeRequest> = {
    form: responsesForm,
    body: sent,
    headers: {},
    untranslated: dropped,
    pathOf: (path) => pathOfTool(path, translated.paths) ?? pathOf(path),
  }
  if (!names.hasOnlyFunctions) native.tools = toolsAsCalled(names)
  return Either.right({ ...request, native })
}

/**
 * Tools and items that have no counterpart in other forms, such as those of a computer, whose results are screenshots.
 */
const untranslatableNeed = (body: JsonObject, names: ToolNames): FormNeed | undefined => {
  const path = pathOfUntranslatable(body, names)
  return path === undefined
    ? undefined
    : { path, reason: "only hosts of the Responses format have it, since it has no counterpart in other formats" }
}

/** The body as a host of this form would get it. */
const sentMembers = (body: JsonObject, dropped: ReadonlyArray<string>): JsonObject => {
  const left = dropped.length === 0 ? undefined : new Set(dropped)
  const sent: Record<string, unknown> = {}
  for (const name in body) if (!notSent.has(name) && left?.has(name) !== true) sent[name] = body[name]
  return sent
}

const notSent: ReadonlySet<string> = new Set([...routerOnly, "__proto__"])

/** The caller's own path for a path in the canonical tools; `undefined`: it is none. */
const pathOfTool = (path: string, paths: ReadonlyArray<string>): string | undefined => {
  const [found, at] = /^tools\[(\d+)\](?:\.function)?/.exec(path) ?? []
  const own = paths[Number(at)]
  return found === undefined || own === undefined ? undefined : own + path.slice(found.length)
}

const translatedMembers = (
  body: JsonObject,
  names: ToolNames,
  { tools, choice }: TranslatedTools,
  dropped: Dropped,
): Partial<ChatPayload> => {
  const searches = !names.hasOnlyFunctions && offeredIn(body).some(({ tool }) => runnerOf(tool) === "web_search")
  const format = translatedFormat(body["text"])
  const verbosity = isJsonObject(body["text"]) ? body["text"]["verbosity"] : undefined
  const { stream_options: stream } = body
  if (isJsonObject(stream) && stream["include_obfuscation"] === true) dropped.push("stream_options.include_obfuscation")
  for (const name of ["image", "client_metadata"]) if (body[name] != null) dropped.push(name)
  if (isJsonObject(body["reasoning"])) {
    const { context, mode }: JsonObject = body["reasoning"]
    if (context != null && context !== "auto") dropped.push("reasoning.context")
    if (mode != null && mode !== "standard") dropped.push("reasoning.mode")
  }
  // Only calls of tools that the host runs count, and of these the canonical form has the search alone.
  if (searches && body["max_tool_calls"] != null) dropped.push("max_tool_calls")
  if (isJsonObject(body["text"])) dropOthers(body["text"], textMembers, "text", dropped)
  const members: Mutable<Partial<ChatPayload>> = {}
  if (tools !== undefined) members.tools = tools
  if (choice !== undefined) members.tool_choice = choice
  if (format !== undefined) members.response_format = format
  if (typeof verbosity === "string") members.verbosity = verbosity
  if (wantsLogprobs(body)) members.logprobs = true
  return members
}

const textMembers = new Set(["format", "verbosity"])

const wantsLogprobs = (body: JsonObject): boolean =>
  (Array.isArray(body["include"]) && body["include"].includes(outputLogprobs)) || Number(body["top_logprobs"] ?? 0) > 0

/** Members of the payload that have another name or place in this form, and that a host may not support. */
const renamedParameters = ["tools", "tool_choice", "response_format", "verbosity", "logprobs"] as const

const translatedParameters = (payload: ChatPayload, maxTokens: number | undefined): ReadonlyArray<string> => {
  const names: Array<string> = renamedParameters.filter((name) => payload[name] != null)
  if (maxTokens !== undefined) names.push("max_tokens")
  return names
}

// --- to a host

/** Members of the canonical form that this form has no counterpart for. */
export const lacking: ReadonlySet<string> = new Set(lackingIn("responses"))

/** Parameters that need no function of their own. */
export const parameters: ReadonlyMap<string, PlacedParameter> = byName(placedIn("responses"))

/** Members that functions of this protocol write, and those of the canonical form itself. */
const reworded: ReadonlySet<string> = new Set(["messages", "store", ...translatedIn("responses")])

/**
 * Members that this function writes, from what it translates: the caller's of these names are not copied. Every other
 * member that comes here is of both forms, or may pass (`Protocol.passes`).
 */
const written: ReadonlySet<string> = new Set([
  ...["__proto__", "model", "input", "instructions", "stream", "store", "max_output_tokens", "max_tool_calls"],
  ...["include", "text", "background", "conversation", "previous_response_id", "prompt", ...reworded],
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
  const out: Record<string, unknown> = { model: host.upstreamModel, input, store: false }
  for (const name in payload) {
    const value = payload[name]
    if (value == null || reworded.has(name)) continue
    if (lacking.has(name) || written.has(name) || quirks.drop?.includes(name) === true) {
      if (!asksNothing(name, value)) dropped.push(name)
    } else addMember(parameters, name, payload, out)
  }
  // Images that the model made are no input of an assistant in this form, and nobody who speaks has a name.
  dropped.push(...lostOfMessages(payload.messages, quirks.breakpoints?.(baseModelOf(host)) ? lackedIfMarked : lacked))
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

const lackedIfMarked = ["name", "images"] as const
const lacked = [...lackedIfMarked, "marks"] as const

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

const textField = ({ response_format: format, verbosity }: ChatPayload): JsonObject | undefined => {
  const wanted = format == null || format.type === "text" ? undefined : writtenFormat(format)
  if (wanted === undefined && verbosity == null) return undefined
  return { ...(wanted === undefined ? {} : { format: wanted }), ...(verbosity == null ? {} : { verbosity }) }
}

/** Requests a summary with the reasoning, since the form shows nothing else of it. */
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

const includeFor = (
  request: ChatRequest,
  host: Host,
  quirks: ResponsesQuirks,
  input: unknown,
): ReadonlyArray<string> => [
  ...(wantsEncrypted(request, host, quirks, input) ? [encrypted] : []),
  ...(request.payload.logprobs === true ? [outputLogprobs] : []),
]

/**
 * Whether the model may reason, so that a later turn needs its encrypted reasoning. Models that do not reason refuse
 * the wish. Where nothing is known of a model, the request says it.
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
