/**
 * Decodes the JSON of the Responses form to a `ChatRequest` in the canonical form. Problems are named by their path in the
 * caller's body. What the canonical form cannot carry is refused, or named in `dropped`.
 */
import * as Either from "effect/Either"
import type { Mutable } from "effect/Types"
import type { BadRequest } from "../../domain/failures/Failure.ts"
import {
  anyObject,
  type Check,
  checkedElsewhere,
  flag,
  type Issues,
  listOf,
  objectOf,
  oneOf,
  shortText,
  text,
} from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { ChatPayload } from "../../domain/request/chat.ts"
import { runnerOf } from "../../domain/request/hostedTools.ts"
import { parameterChecks } from "../../domain/request/placedParameters.ts"
import { type ChatRequest, type FormNeed, type NativeRequest, routerOnly } from "../../domain/request/request.ts"
import { chatRequest, countOf } from "../request/chatRequest.ts"
import { type Dropped, dropOthers } from "../request/Dropped.ts"
import { memberTable, readMembers, refusalOf, sharedMembers, tokenCount } from "../request/members.ts"
import { hasAddedTools, offeredIn } from "../request/offered.ts"
import { reasoningOf, reasoningRule } from "../request/reasoning.ts"
import { compactionNeed } from "./compaction.ts"
import { responsesForm } from "./nativeResponses.ts"
import { input, inputRule, translatedInput } from "./readResponsesInput.ts"
import { refusedMembers } from "./refusedByResponses.ts"
import {
  checkChoice,
  checkToolCount,
  pathOfUntranslatable,
  type TranslatedTools,
  textConfig,
  toolChoice,
  tools,
  toolsAsCalled,
  translatedFormat,
  translatedTools,
} from "./tools/responsesTools.ts"
import { ToolNames } from "./tools/ToolNames.ts"

const encrypted = "reasoning.encrypted_content"
const outputLogprobs = "message.output_text.logprobs"

/** Data that can be asked for. Those of tools that this gateway does not run are never there, and are not refused. */
const include = oneOf(
  ...[encrypted, outputLogprobs, "message.input_image.image_url", "web_search_call.results"],
  ...["web_search_call.action.sources", "file_search_call.results", "code_interpreter_call.outputs"],
  "computer_call_output.output.image_url",
)

/** What hosts of this form take for an image that is not in the input. It is judged as all texts are: `formats/payload/walk.ts`. */
const anImage = {
  not: { type: "string", pattern: "^([/\\\\]{2}|[\\\\~.]|/(?!9j/))" },
  description: "Only hosts of this API format get it. No path of a machine, and no address within a network.",
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

/** Tools and items that have no counterpart in other forms, such as those of a computer, whose results are screenshots. */
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
const translated = ["tools", "tool_choice", "response_format", "verbosity", "logprobs"] as const

const translatedParameters = (payload: ChatPayload, maxTokens: number | undefined): ReadonlyArray<string> => {
  const names: Array<string> = translated.filter((name) => payload[name] != null)
  if (maxTokens !== undefined) names.push("max_tokens")
  return names
}
