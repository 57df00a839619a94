/**
 * The body of `POST /messages`. A client's becomes a `ChatRequest`: the canonical form for routing, money and hosts of
 * other forms, and beside it the body for hosts that speak this one (`messagesNative.ts`). A host gets one that is
 * written from the canonical form.
 */
import * as Either from "effect/Either"
import type { Mutable } from "effect/Types"
import { type BadRequest, Unsupported } from "../../domain/failures/Failure.ts"
import { baseModelOf, type Host } from "../../domain/hosts/Host.ts"
import { type Issues, quoted, report } from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject, objectIn, objectsIn } from "../../domain/json/json.ts"
import type { ChatPayload } from "../../domain/request/chat.ts"
import {
  addMember,
  addParameters,
  byName,
  isLost,
  lackingIn,
  renamesIn,
  translatedIn,
} from "../../domain/request/placedParameters.ts"
import type { ChatRequest, FormNeed } from "../../domain/request/request.ts"
import { withFunctions } from "../customTools.ts"
import { efforts, reasoningWish } from "../effort.ts"
import { type Encoded, jsonBody } from "../Protocol.ts"
import { stored } from "../payload/names.ts"
import { bodyWithoutAttribution } from "../request/attribution.ts"
import { chatRequest, countOf, parametersIn } from "../request/chatRequest.ts"
import { dropOthers } from "../request/Dropped.ts"
import { readMembers, refusalOf } from "../request/members.ts"
import type { Turn } from "../request/turns.ts"
import { betasFor, type MessagesCloud, messagesApis } from "./messagesClouds.ts"
import { cacheMark } from "./messagesMedia.ts"
import { isTranslated, messagesForm, messagesTable, parameters } from "./messagesMembers.ts"
import { exactSchema } from "./messagesSchema.ts"
import { isAdaptive, reasoningOf, type Thinking, type ThinkingKind, thinkingFor } from "./messagesThinking.ts"
import { isForced, ownToolAmong, readChoice, readTool, writtenTools } from "./messagesTools.ts"
import { conversationOf, TurnReader } from "./messagesTurns.ts"

// --- a client's request

/** All problems are reported at once, with paths of this form. */
export const decodeMessages = (body: JsonObject, headers: Headers): Either.Either<ChatRequest, BadRequest> => {
  const issues: Issues = []
  const read = readMembers(body, messagesTable, issues)
  const betas = betasOf(headers, issues)
  const turns = new TurnReader(body, issues)
  const refusal = refusalOf(body, read, issues)
  if (refusal !== undefined) return Either.left(refusal)
  const { payload: own, preferences, dropped } = read
  const { untranslated, pathOf } = turns
  const payload = payloadOf(body, own, turns)
  const reasoning = reasoningOf(body)
  const maxTokens = countOf(body["max_tokens"])
  const onlyForm = turns.onlyForm ?? onlyHere(body)
  const request = chatRequest({
    body: routed(body),
    payload,
    preferences,
    parameters: parametersIn(payload, optional, reasoning, maxTokens),
    reasoning,
    maxTokens,
    dropped,
    native: onlyForm === undefined && untranslated.length === 0 ? undefined : bodyWithoutAttribution(own),
    form: messagesForm,
    onlyForm,
    // A block that only hosts of this form know may stand for more than it is.
    unseen: turns.onlyForm !== undefined,
  })
  const native = { form: messagesForm, body: own, headers: headersOf(headers, betas), untranslated, pathOf }
  return Either.right({ ...request, native })
}

/** The canonical payload. The members are checked. */
const payloadOf = (body: JsonObject, own: JsonObject, { messages, untranslated }: TurnReader): ChatPayload => {
  const { stop_sequences: stop, tool_choice: choice, cache_control: mark, service_tier: tier } = body
  const config = objectIn(body["output_config"])
  const metadata = objectIn(body["metadata"])
  for (const name of ["context_management", "diagnostics", "safeguards"]) if (own[name] != null) untranslated.push(name)
  dropOthers(metadata, metadataMembers, "metadata", untranslated)
  dropOthers(config, outputMembers, "output_config", untranslated)
  const payload: Mutable<ChatPayload> = { messages }
  for (const name in own) if (!isTranslated(name)) payload[name] = own[name]
  for (const { name, at, check } of parameters) if (check !== undefined && body[at] != null) payload[name] = body[at]
  if (Array.isArray(stop)) payload.stop = stop.filter((word) => typeof word === "string")
  const tools = objectsIn(body["tools"])
  if (tools.length > 0) payload.tools = tools.map((tool, at) => readTool(tool, `tools[${at}]`, untranslated))
  if (isJsonObject(choice)) Object.assign(payload, readChoice(choice))
  const format = config["format"] ?? body["output_format"]
  if (isJsonObject(format)) {
    const schema = objectIn(format["schema"])
    payload.response_format = { type: "json_schema", json_schema: { name: "answer", schema, strict: true } }
  }
  if (typeof config["effort"] === "string" && !isAdaptive(body["thinking"])) payload.verbosity = config["effort"]
  const user = metadata["user_id"] ?? body["user"]
  if (typeof user === "string") payload.user = user
  if (typeof tier === "string") payload.service_tier = tier === "standard_only" ? "default" : tier
  if (isJsonObject(mark)) Object.assign(payload, { cache_control: mark })
  return payload
}

const metadataMembers = new Set(["user_id"])
const outputMembers = new Set(["effort", "format"])

/** Members of the canonical form that a host may not support. */
const optional = [
  ...parameters.flatMap(({ name, check }) => (check === undefined ? [] : [name])),
  ...["stop", "tools", "tool_choice", "parallel_tool_calls", "response_format", "verbosity"],
]

/** The members that speak to the router, with the names that all forms share. */
const routed = (body: JsonObject): JsonObject => {
  const { fallbacks, service_tier: tier } = body
  const isStandard = tier === "standard_only"
  if (!Array.isArray(fallbacks) && !isStandard) return body
  const models = objectsIn(fallbacks).map(({ model }) => model)
  return { ...body, ...(models.length > 0 && { models }), ...(isStandard && { service_tier: "default" }) }
}

/** What only hosts of this form have, besides blocks of messages. */
const onlyHere = ({ tools, compaction }: JsonObject): FormNeed | undefined => {
  if (compaction != null) {
    return { path: "compaction", reason: "only hosts of the Messages format summarize a conversation" }
  }
  const at = Array.isArray(tools) ? ownToolAmong(tools) : -1
  return at === -1 ? undefined : { path: `tools[${at}]`, reason: "only hosts of the Messages format have this tool" }
}

const betaName = /^[a-zA-Z0-9._-]{1,64}$/

/** Betas that reach what belongs to the operator. */
const refusedBetas = /^(?:mcp-tunnels|managed-agents|agent-memory|message-threads|user-profiles)/

/** Names in `anthropic-beta` and `x-anthropic-beta`, each once. */
const betasOf = (headers: Headers, issues: Issues): ReadonlySet<string> => {
  const names = new Set<string>()
  for (const header of ["anthropic-beta", "x-anthropic-beta"]) {
    for (const name of (headers.get(header) ?? "").split(",").map((word) => word.trim())) {
      if (name === "" || names.has(name)) continue
      if (!betaName.test(name)) report(issues, header, `${quoted(name)} is not the name of a beta`)
      else if (refusedBetas.test(name)) report(issues, header, `${quoted(name)} ${stored}`)
      else names.add(name)
    }
  }
  return names
}

const headersOf = (headers: Headers, betas: ReadonlySet<string>): Readonly<Record<string, string>> => {
  const given = headers.get("anthropic-version")
  return {
    ...(given !== null && /^[0-9a-z-]{1,32}$/.test(given) ? { "anthropic-version": given } : {}),
    ...(betas.size === 0 ? {} : { "anthropic-beta": [...betas].join(",") }),
  }
}

// --- a host's request

/** The version of the API. */
export const version = "2023-06-01"

/** The beta that enables uploaded files. */
const filesBeta = "files-api-2025-04-14"

/** Members that are sent if the model may be asked for them, after the rest. */
export const samplingParameters = parameters.filter(({ unlessThinking }) => unlessThinking)

const others = byName(parameters.filter(({ unlessThinking }) => !unlessThinking))

/** Members of the payload that Anthropic refuses. */
const refused = [...lackingIn("messages"), "store", "prompt"]

/** Members of the host's form that are written here: the caller's of these names are not copied. */
const written = [
  ...["__proto__", "model", "max_tokens", "system", "stop_sequences", "stream", "mcp_servers", "container"],
  ...["context_management", "output_format", "inference_geo", "speed", "skills", ...renamesIn("messages")],
]

const notSent: ReadonlySet<string> = new Set([...refused, ...written])

/** Members that are not copied, since functions of this protocol write them. */
const reworded: ReadonlySet<string> = new Set([
  ...["messages", "thinking", "output_config"],
  ...translatedIn("messages"),
  ...samplingParameters.map(({ name }) => name),
])

/** The output bound, which the host requires, within its maximum. */
export const outputBound = ({ maxTokens }: ChatRequest, { maxCompletionTokens: most }: Host): number =>
  Math.min(maxTokens ?? most, most)

export const encodeMessages = (
  kind: ThinkingKind,
  cloud: MessagesCloud,
  request: ChatRequest,
  host: Host,
): Either.Either<Encoded, Unsupported> => {
  const lost: Array<string> = []
  const api = messagesApis[cloud]
  const payload = withFunctions(request.payload, lost)
  const conversation = conversationOf(payload.messages, api.systemTurns(baseModelOf(host)))
  if (conversation instanceof Unsupported) return Either.left(conversation)
  const { system } = conversation
  const maxTokens = outputBound(request, host)
  const tools = writtenTools(payload, host.supportedParameters.includes("structured_outputs"))
  const { cache_control: mark, ...passed } = passedOn(payload)
  const marksEnd = isJsonObject(mark) && !api.marksBody
  const marked = [...system, ...objectsIn(tools.fields["tools"])]
  const turns = marksEnd ? withMarkedEnd(conversation.turns, mark, marked) : conversation.turns
  if (marksEnd && turns === conversation.turns) lost.push("cache_control")
  const thinking = thinkingFor(kind, request, maxTokens, isForced(tools.fields["tool_choice"]), turns)
  const sampling: Record<string, unknown> = {}
  if (thinking.sampling) addParameters(samplingParameters, payload, sampling)
  const body: JsonObject = {
    ...passed,
    ...(mark == null || marksEnd ? {} : { cache_control: mark }),
    model: host.upstreamModel,
    max_tokens: maxTokens,
    ...(system.length > 0 ? { system } : {}),
    messages: turns,
    ...tools.fields,
    ...(thinking.thinking === undefined ? {} : { thinking: thinking.thinking }),
    ...outputFields(payload, host, thinking),
    ...sampling,
    ...stopField(payload),
    ...userField(payload),
    ...writtenTier(payload.service_tier),
    ...(request.stream ? { stream: true } : {}),
  }
  return Either.right({
    path: "/messages",
    headers: headersFor(turns, betasFor(cloud, request.native, host, lost)),
    ...jsonBody(body),
    dropped: [...conversation.dropped, ...lost, ...tools.dropped, ...droppedOf(request, body)],
  })
}

const headersFor = (turns: ReadonlyArray<Turn>, carried: ReadonlyArray<string>): Record<string, string> => {
  const isFile = (block: JsonObject) => objectIn(block["source"])["type"] === "file"
  const hasFiles = turns.some((turn) => turn.content.some(isFile))
  const betas = hasFiles ? [filesBeta, ...carried] : carried
  return { "anthropic-version": version, ...(betas.length === 0 ? {} : { "anthropic-beta": betas.join(",") }) }
}

/** The host takes no more marks (Anthropic's page on prompt caching, 2026-11). */
const mostMarks = 4

/** Thinking takes no mark. */
const markable: ReadonlySet<unknown> = new Set(["text", "image", "document", "tool_use", "tool_result"])

/**
 * The turns with a mark on the last block, which says what `cache_control` of the body does, for APIs that refuse it
 * there. The same turns, where the block takes none. `others`: what else may be marked.
 */
const withMarkedEnd = (
  turns: ReadonlyArray<Turn>,
  mark: JsonObject,
  others: ReadonlyArray<JsonObject>,
): ReadonlyArray<Turn> => {
  const last = turns.at(-1)
  const block = last?.content.at(-1)
  const blocks = [...others, ...turns.flatMap(({ content }) => content)]
  const marks = blocks.filter(({ cache_control: given }) => given != null).length
  if (last === undefined || block === undefined || marks >= mostMarks || !markable.has(block["type"])) return turns
  return turns.with(-1, {
    ...last,
    content: last.content.with(-1, { ...cacheMark({ cache_control: mark }), ...block }),
  })
}

/** Parameters, and members that may pass, as the caller ordered them. */
const passedOn = (payload: ChatPayload): JsonObject => {
  const passed: Record<string, unknown> = {}
  for (const name in payload) {
    if (payload[name] != null && !notSent.has(name) && !reworded.has(name)) addMember(others, name, payload, passed)
  }
  return passed
}

const outputFields = (payload: ChatPayload, host: Host, thinking: Thinking): JsonObject => {
  const { effort: given } = objectIn(payload["output_config"])
  const { response_format: format } = payload
  const verbosity = host.supportedParameters.includes("verbosity") ? payload.verbosity : undefined
  const effort = isEffort(given) ? given : (thinking.effort ?? verbosity)
  const schema = format?.type === "json_schema" ? format.json_schema?.schema : undefined
  if (effort == null && schema == null) return {}
  return {
    output_config: {
      ...(effort == null ? {} : { effort }),
      ...(schema == null ? {} : { format: { type: "json_schema", schema: exactSchema(schema) } }),
    },
  }
}

/** An effort that the host knows, as the caller's own `output_config` has it. */
const isEffort = (value: unknown): boolean => efforts.some((effort) => effort === value)

const textsOf = (stop: ChatPayload["stop"]): ReadonlyArray<string> => (typeof stop === "string" ? [stop] : (stop ?? []))

const isBlank = (text: string): boolean => text.trim() === ""

/** The host refuses a blank one. */
const stopField = ({ stop }: ChatPayload): JsonObject => {
  const texts = textsOf(stop).filter((text) => !isBlank(text))
  return texts.length === 0 ? {} : { stop_sequences: texts }
}

const userField = ({ user, metadata }: ChatPayload): JsonObject => {
  const id = user ?? metadata?.["user_id"]
  return typeof id === "string" ? { metadata: { user_id: id } } : {}
}

/** Anthropic knows two service tiers. Others of the chat form are dropped. */
export const writtenTier = (tier: string | null | undefined): JsonObject => {
  if (tier === "auto" || tier === "standard_only") return { service_tier: tier }
  return tier === "default" ? { service_tier: "standard_only" } : {}
}

/** Names of the caller's members that are not sent to the host in any form. */
const droppedOf = ({ payload, reasoning }: ChatRequest, body: JsonObject): ReadonlyArray<string> => {
  const dropped = Object.keys(payload).filter((name) => payload[name] != null && notSent.has(name))
  for (const parameter of parameters) {
    // Its loss is named where it is written.
    if (parameter.name !== "cache_control" && isLost(parameter, payload, body)) dropped.push(parameter.name)
  }
  const drop = (name: string, isDropped: boolean) => {
    if (payload[name] != null && isDropped) dropped.push(name)
  }
  const { thinking, metadata } = body
  const { effort, format } = objectIn(body["output_config"])
  const { response_format: wanted } = payload
  drop("stop", textsOf(payload.stop).some(isBlank))
  drop("service_tier", body["service_tier"] === undefined)
  drop("metadata", !isWithin(objectIn(payload.metadata), objectIn(metadata)))
  drop("thinking", !isJsonObject(thinking))
  drop("output_config", !isEffort(objectIn(payload["output_config"])["effort"]))
  drop("verbosity", effort !== payload.verbosity)
  // `json_object` has no counterpart.
  drop("response_format", wanted?.type !== "text" && format === undefined)
  const wish = reasoningWish(reasoning)
  // The caller's own `thinking` takes precedence over `reasoning`, whatever it says.
  const mayThink = isJsonObject(payload["thinking"]) || (isJsonObject(thinking) && thinking["type"] !== "disabled")
  if (wish !== undefined && wish !== "off" && !mayThink) {
    dropped.push(reasoning.written["reasoning"] == null ? "reasoning_effort" : "reasoning")
  }
  return dropped
}

/** Whether every member of the caller's metadata is sent. */
const isWithin = (metadata: JsonObject, sent: JsonObject): boolean =>
  Object.entries(metadata).every(([name, value]) => sent[name] === value)
