/**
 * Requests in Google's form. A client's body becomes the canonical form for routing, money and hosts of other forms,
 * and beside it the body for Google's hosts. A host of Google's gets a canonical request in Google's words, or a
 * client's body as it came, but for the bounds, what the host lacks, tools without a price and reasoning of other
 * vendors. Model and stream are in the path. Google refuses members that it does not know, so only known ones are sent.
 */
import * as Either from "effect/Either"
import { type BadRequest, Unsupported } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { anyObject, checkedElsewhere, type Issues, listOf, oneOf, refused } from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject, objectIn, objectsIn, textOr } from "../../domain/json/json.ts"
import type { ChatPayload } from "../../domain/request/chat.ts"
import { translatedIn } from "../../domain/request/placedParameters.ts"
import type { ChatRequest, NativeRequest } from "../../domain/request/request.ts"
import { withFunctions } from "../customTools.ts"
import { reasoningWish } from "../effort.ts"
import { type Encoded, jsonBody } from "../Protocol.ts"
import { stored } from "../payload/names.ts"
import { chatRequest, countOf, parametersIn } from "../request/chatRequest.ts"
import { memberTable, most, readMembers, refusalOf, sharedMembers } from "../request/members.ts"
import type { Target } from "../Target.ts"
import { parameters, passedConfig, readConfig, readThinking, writtenConfig } from "./generateContentConfig.ts"
import { contentsSchema, conversationOf, History, instructionSchema } from "./generateContentContents.ts"
import { given } from "./generateContentJson.ts"
import { modelFacts } from "./generateContentModels.ts"
import { foreignCall } from "./generateContentModelTurn.ts"
import type { Reader } from "./generateContentParts.ts"
import { isOwnSignature } from "./generateContentThoughts.ts"
import { droppedOfTools, readChoice, readTools, toolFields } from "./generateContentTools.ts"

/** Name of the form. */
export const generateContentForm = "generateContent"

// --- of clients

const members = {
  ...sharedMembers,
  contents: checkedElsewhere(contentsSchema),
  systemInstruction: checkedElsewhere(instructionSchema),
  tools: listOf(anyObject, most.tools),
  toolConfig: anyObject,
  safetySettings: listOf(anyObject),
  generationConfig: anyObject,
  labels: anyObject,
  cachedContent: refused(stored),
  service_tier: oneOf("unspecified", "standard", "default", "auto", "flex", "priority"),
}

export const generateContentTable = memberTable({
  title: "GenerateContentRequest",
  parameters: {},
  others: members,
  decodedApart: [],
  required: ["contents"],
  isModelInPath: true,
})

/** Members that are translated. Others are passed on, since a host may know them. */
const translated: ReadonlySet<string> = new Set(Object.keys(members).filter((name) => name !== "safetySettings"))

export const decodeGenerateContent = (
  sent: JsonObject,
  _headers: Headers,
  target: Target,
): Either.Either<ChatRequest, BadRequest> => {
  const body = bodyOf(sent, target)
  const issues: Issues = []
  const read = readMembers(body, generateContentTable, issues)
  const history = new History(issues)
  history.instruction(body["systemInstruction"])
  if (body["contents"] !== undefined) history.contents(body["contents"])
  const { messages, untranslated, pathOf, onlyForm } = history
  const config = objectIn(body["generationConfig"])
  const others = Object.entries(read.payload).filter(([name]) => !translated.has(name))
  const tools = readTools(body["tools"], untranslated, issues)
  const choice = readChoice(body["toolConfig"], untranslated, issues)
  const payload: ChatPayload = {
    ...Object.fromEntries(others),
    messages,
    ...readConfig(config, untranslated, issues),
    ...tools,
    // Hosts refuse a choice where there are no tools.
    ...(tools.tools === undefined ? {} : choice),
    ...(typeof body["user"] === "string" ? { user: body["user"] } : {}),
    ...readTier(body["service_tier"]),
  }
  const refusal = refusalOf(body, read, issues)
  if (refusal !== undefined) return Either.left(refusal)
  if (body["labels"] != null) untranslated.push("labels")
  const reasoning = readThinking(config["thinkingConfig"])
  const maxTokens = countOf(config["maxOutputTokens"])
  const { web_search_options: search } = payload
  const request = chatRequest({
    body: search === undefined ? body : { ...body, web_search_options: search },
    payload,
    preferences: read.preferences,
    parameters: parametersIn(payload, optional, reasoning, maxTokens),
    reasoning,
    maxTokens,
    dropped: read.dropped,
    native: untranslated.length === 0 ? undefined : read.payload,
    onlyForm,
    form: generateContentForm,
  })
  const native = { form: generateContentForm, body: read.payload, headers: {}, untranslated, pathOf }
  return Either.right({ ...request, native })
}

/** The members under the names that Google's JSON has. Where tokens are counted, they may stand in a member. */
const bodyOf = (sent: JsonObject, target: Target): JsonObject => {
  const { generateContentRequest: inner, ...own } = inCamelCase(sent)
  const { serviceTier, ...rest }: JsonObject = isJsonObject(inner) ? inner : own
  return given({
    ...rest,
    model: target.parameter ?? rest["model"],
    stream: target.path.endsWith(":streamGenerateContent"),
    service_tier: textOr(rest["service_tier"] ?? serviceTier, undefined)?.toLowerCase(),
  })
}

/** Members of the canonical form that a host may not support. */
const optional = [...parameters.map(({ name }) => name), "tools", "tool_choice", "response_format"]

// --- names in snake case, which Google takes too

/** Members whose content is the caller's own. */
const free: ReadonlySet<string> = new Set([
  ...["args", "response", "parameters", "parametersJsonSchema", "responseSchema", "responseJsonSchema"],
  ...["labels", "provider"],
])

/** Members that all forms share, whose underscores are on purpose. */
const asTheyAre: ReadonlySet<string> = new Set(Object.keys(sharedMembers))

const inCamelCase = (value: JsonObject, isBody = true): JsonObject => {
  const written: Record<string, unknown> = {}
  for (const name in value) {
    if (name === "__proto__") continue
    const isShared = isBody && asTheyAre.has(name)
    const own = isShared ? name : name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    const isFree = free.has(own) || (isShared && name !== "tools")
    written[own] = isFree ? value[name] : innerCase(value[name])
  }
  return written
}

const innerCase = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(innerCase)
  return isJsonObject(value) ? inCamelCase(value, false) : value
}

// --- for hosts

/** Parameters that this protocol has, and what it takes besides. */
const carried: ReadonlySet<string> = new Set([
  ...["messages", "safetySettings"],
  ...translatedIn("generateContent"),
  ...parameters.map(({ name }) => name),
])

export const encodeGenerateContent = (
  vertex: boolean,
  request: ChatRequest,
  host: Host,
): Either.Either<Encoded, Unsupported> =>
  Either.gen(function* () {
    const lost: Array<string> = []
    const payload = withFunctions(request.payload, lost)
    const reader: Reader = { vertex, facts: modelFacts(host.upstreamModel) }
    yield* soundOf(payload)
    const { system, contents, dropped } = yield* conversationOf(payload.messages, reader)
    const tools = yield* toolFields(payload, reader)
    const config = writtenConfig({ ...request, payload }, host, reader.facts)
    const body = {
      contents,
      systemInstruction: system.length === 0 ? undefined : { parts: system },
      ...tools,
      generationConfig: Object.keys(config).length === 0 ? undefined : config,
      safetySettings: payload["safetySettings"] ?? undefined,
    }
    const named = [...droppedOf(request, reader, config), ...droppedOfTools(payload), ...dropped]
    return encodedFor(vertex, request, host, body, [...lost, ...named])
  })

/** For Google's clients. */
export const encodeNative = (
  vertex: boolean,
  request: ChatRequest,
  { body }: NativeRequest,
  host: Host,
): Either.Either<Encoded, Unsupported> => {
  const dropped: Array<string> = []
  const { isThird } = modelFacts(host.upstreamModel)
  const tools = passedTools(body["tools"], request, dropped)
  const instruction = body["systemInstruction"]
  const sent: JsonObject = {
    contents: objectsIn(body["contents"]).flatMap((content) => passedTurn(content, isThird)),
    systemInstruction:
      typeof instruction === "string" ? { parts: [{ text: instruction }] } : (instruction ?? undefined),
    tools: tools.length === 0 ? undefined : tools,
    toolConfig: tools.length === 0 ? undefined : (body["toolConfig"] ?? undefined),
    safetySettings: body["safetySettings"] ?? undefined,
    labels: vertex ? (body["labels"] ?? undefined) : undefined,
    generationConfig: passedConfig(objectIn(body["generationConfig"]), request, host, dropped),
  }
  for (const name in body) {
    const isSent = sent[name] !== undefined || sentApart.has(name) || body[name] == null
    if (!isSent) dropped.push(name)
  }
  return Either.right(encodedFor(vertex, request, host, sent, dropped))
}

const encodedFor = (
  vertex: boolean,
  { payload, stream }: ChatRequest,
  host: Host,
  members: JsonObject,
  dropped: ReadonlyArray<string>,
): Encoded => {
  const tier = tierOf(payload.service_tier)
  const method = stream ? "streamGenerateContent?alt=sse" : "generateContent"
  return {
    path: `${modelPath(host.upstreamModel, vertex)}:${method}`,
    ...(vertex && tier !== undefined ? { headers: { "x-vertex-ai-llm-shared-request-type": tier } } : {}),
    ...jsonBody(given({ ...members, service_tier: vertex ? undefined : tier })),
    dropped,
  }
}

/** Where a model is, relative to the base URL. A name with a slash says so itself: `tunedModels/x`, `endpoints/7`. */
export const modelPath = (name: string, vertex: boolean): string => {
  if (name.includes("/")) return `/${name.split("/").map(encodeURIComponent).join("/")}`
  return `${vertex ? "/publishers/google" : ""}/models/${encodeURIComponent(name)}`
}

/** The only audio that Google writes is raw: 16 bits, 24 kHz. */
const soundOf = ({ audio }: ChatPayload): Either.Either<void, Unsupported> =>
  isJsonObject(audio) && audio["format"] != null && audio["format"] !== "pcm16"
    ? Either.left(new Unsupported({ path: "audio.format", reason: "this host writes pcm16 only" }))
    : Either.void

/** Names of the caller's members that are not sent to the host in any form. */
const droppedOf = ({ payload, reasoning }: ChatRequest, { facts }: Reader, config: JsonObject) => {
  // Several calls in an answer are what Google's models do anyway.
  const isUsual = (name: string) => name === "parallel_tool_calls" && payload[name] === true
  const dropped = Object.keys(payload).filter((name) => payload[name] != null && !carried.has(name) && !isUsual(name))
  const format = payload.response_format
  if (format != null && format.type !== "text" && config["responseMimeType"] === undefined)
    dropped.push("response_format")
  const tier = payload.service_tier
  if (tier != null && tier !== "auto" && tier !== "default" && tierOf(tier) === undefined) dropped.push("service_tier")
  const wish = reasoningWish(reasoning)
  if (wish !== undefined && wish !== "off" && facts.thinking.kind === "none")
    dropped.push(reasoning.written["reasoning"] == null ? "reasoning_effort" : "reasoning")
  return dropped
}

// --- tiers

const readTier = (tier: unknown): Pick<ChatPayload, "service_tier"> =>
  typeof tier === "string" && tier !== "unspecified" ? { service_tier: tier === "standard" ? "default" : tier } : {}

/** Google's tiers besides the usual one. */
const tierOf = (tier: string | null | undefined): string | undefined =>
  tier === "flex" || tier === "priority" ? tier : undefined

// --- what passes of a client's body

/** Members that are sent in another way, or whose own loss is named. */
const sentApart: ReadonlySet<string> = new Set([
  ...["model", "stream", "tools", "toolConfig", "generationConfig", "service_tier", "user"],
])

/** Functions, and a search where the host may be asked for one. */
const passedTools = (tools: unknown, { payload }: ChatRequest, dropped: Array<string>): ReadonlyArray<JsonObject> =>
  objectsIn(tools).flatMap((tool, at): ReadonlyArray<JsonObject> => {
    const { functionDeclarations: functions, googleSearch: search, ...others } = tool
    for (const name in others) dropped.push(`tools[${at}].${name}`)
    const left = given({
      functionDeclarations: payload.tools == null ? undefined : (functions ?? undefined),
      googleSearch: payload["web_search_options"] == null ? undefined : (search ?? undefined),
    })
    return Object.keys(left).length === 0 ? [] : [left]
  })

/**
 * Reasoning of other vendors is left out. Gemini 3 refuses a turn whose first call is not signed, as those of other
 * hosts are.
 */
const passedTurn = (content: JsonObject, isThird: boolean): ReadonlyArray<JsonObject> => {
  const parts = objectsIn(content["parts"])
  const own = parts.filter(({ thoughtSignature: signature }) => !isOwnSignature(signature))
  if (own.length === 0 && parts.length > 0) return []
  const first = isThird && content["role"] === "model" ? own.findIndex((part) => part["functionCall"] != null) : -1
  const isUnsigned = first !== -1 && own[first]?.["thoughtSignature"] == null
  if (isUnsigned) own[first] = { ...own[first], thoughtSignature: foreignCall }
  return [isUnsigned || own.length < parts.length ? { ...content, parts: own } : content]
}
