/**
 * Decodes the JSON of Google's `generateContent` to a `ChatRequest`: the canonical form for routing, money and hosts of other
 * forms, and beside it the body for Google's hosts. Model and stream are in the path. Members may be in snake case, as Google's
 * own pages write them.
 */
import * as Either from "effect/Either"
import type { Mutable } from "effect/Types"
import type { BadRequest } from "../../domain/failures/Failure.ts"
import { anyObject, checkedElsewhere, type Issues, listOf, oneOf, refused, report } from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject, objectsIn, textOr } from "../../domain/json/json.ts"
import type { ChatPayload, FunctionTool, ToolChoice } from "../../domain/request/chat.ts"
import { placedIn } from "../../domain/request/placedParameters.ts"
import type { ChatRequest, Reasoning } from "../../domain/request/request.ts"
import { stored } from "../payload/names.ts"
import { chatRequest, countOf } from "../request/chatRequest.ts"
import { type Dropped, dropOthers } from "../request/Dropped.ts"
import { memberTable, most, readMembers, refusalOf, sharedMembers, tokenCount } from "../request/members.ts"
import { isEffort, noReasoning } from "../request/reasoning.ts"
import type { Target } from "../Target.ts"
import { contentsSchema, History, instructionSchema } from "./generateContentHistory.ts"
import { given } from "./generateContentJson.ts"
import { generateContentForm } from "./nativeGenerateContent.ts"

const tier = oneOf("unspecified", "standard", "default", "auto", "flex", "priority")

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
  service_tier: tier,
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

const parameters = placedIn("generateContent")

/** Members of `generationConfig` that are translated besides parameters. */
const configMembers: ReadonlySet<string> = new Set([
  ...parameters.map(({ at }) => at),
  ...["maxOutputTokens", "responseMimeType", "responseSchema", "responseJsonSchema", "responseModalities"],
  ...["thinkingConfig", "imageConfig"],
])

export const decodeGenerateContent = (
  sent: JsonObject,
  _headers: Headers,
  target: Target,
): Either.Either<ChatRequest, BadRequest> => {
  // Where tokens are counted, the request may stand in a member.
  const { generateContentRequest: inner, ...own } = inCamelCase(sent)
  const asked: JsonObject = isJsonObject(inner) ? inner : own
  const { serviceTier, ...rest } = asked
  const written = textOr(rest["service_tier"] ?? serviceTier, undefined)?.toLowerCase()
  const body: JsonObject = given({
    ...rest,
    model: target.parameter ?? rest["model"],
    stream: target.path.endsWith(":streamGenerateContent"),
    service_tier: written,
  })
  const issues: Issues = []
  const read = readMembers(body, generateContentTable, issues)
  const history = new History(issues)
  history.instruction(body["systemInstruction"])
  if (body["contents"] !== undefined) history.contents(body["contents"])
  const config: JsonObject = isJsonObject(body["generationConfig"]) ? body["generationConfig"] : {}
  const payload = payloadOf(body, read.payload, history, config, issues)
  const refusal = refusalOf(body, read, issues)
  if (refusal !== undefined) return Either.left(refusal)
  dropOthers(config, configMembers, "generationConfig", history.untranslated)
  if (body["labels"] != null) history.untranslated.push("labels")
  const reasoning = reasoningOf(config["thinkingConfig"])
  const maxTokens = countOf(config["maxOutputTokens"])
  const { web_search_options: search } = payload
  const request = chatRequest({
    body: search === undefined ? body : { ...body, web_search_options: search },
    payload,
    preferences: read.preferences,
    parameters: parametersOf(payload, reasoning, maxTokens),
    reasoning,
    maxTokens,
    dropped: read.dropped,
    native: history.untranslated.length === 0 ? undefined : read.payload,
    form: generateContentForm,
  })
  const { pathOf, untranslated } = history
  return Either.right({
    ...request,
    native: { form: generateContentForm, body: read.payload, headers: {}, untranslated, pathOf },
  })
}

const payloadOf = (
  body: JsonObject,
  own: JsonObject,
  { messages, untranslated }: History,
  config: JsonObject,
  issues: Issues,
): ChatPayload => {
  const others: Record<string, unknown> = {}
  for (const name in own) if (!translated.has(name)) others[name] = own[name]
  const payload: Mutable<ChatPayload> = { ...others, messages }
  for (const { name, at, check } of parameters) {
    if (config[at] == null) continue
    check?.(config[at], `generationConfig.${at}`, issues)
    payload[name] = config[at]
  }
  if (config["maxOutputTokens"] != null)
    tokenCount(config["maxOutputTokens"], "generationConfig.maxOutputTokens", issues)
  const { responseModalities: modalities, imageConfig: image } = config
  if (Array.isArray(modalities)) payload["modalities"] = modalities.map((kind) => String(kind).toLowerCase())
  if (isJsonObject(image))
    payload["image_config"] = given({ aspect_ratio: image["aspectRatio"], image_size: image["imageSize"] })
  Object.assign(
    payload,
    toolsOf(body["tools"], untranslated, issues),
    choiceOf(body["toolConfig"], issues),
    formatOf(config, untranslated),
  )
  if (typeof body["user"] === "string") payload.user = body["user"]
  const { service_tier: wanted } = body
  if (typeof wanted === "string" && wanted !== "unspecified")
    payload.service_tier = wanted === "standard" ? "default" : wanted
  return payload
}

const toolsOf = (tools: unknown, untranslated: Dropped, issues: Issues): Partial<ChatPayload> => {
  const functions: Array<FunctionTool> = []
  let searches = false
  for (const [at, tool] of objectsIn(tools).entries()) {
    const { functionDeclarations: declared, googleSearch, ...others } = tool
    searches ||= googleSearch != null
    dropOthers(others, new Set(), `tools[${at}]`, untranslated)
    for (const name in others) if (isEmptyObject(others[name])) untranslated.push(`tools[${at}].${name}`)
    for (const [place, { name, description, parametersJsonSchema: schema, parameters: written }] of objectsIn(
      declared,
    ).entries()) {
      if (typeof name !== "string" || name === "") {
        report(issues, `tools[${at}].functionDeclarations[${place}].name`, "must be a non-empty string")
        continue
      }
      const own = isJsonObject(schema) ? schema : isJsonObject(written) ? jsonSchemaOf(written) : undefined
      const about = typeof description === "string" ? { description } : {}
      functions.push({
        type: "function",
        function: { name, ...about, ...(own === undefined ? {} : { parameters: own }) },
      })
    }
  }
  return { ...(functions.length === 0 ? {} : { tools: functions }), ...(searches ? { web_search_options: {} } : {}) }
}

const isEmptyObject = (value: unknown): boolean => isJsonObject(value) && Object.keys(value).length === 0

const choiceOf = (config: unknown, issues: Issues): { readonly tool_choice?: ToolChoice } => {
  const calling = isJsonObject(config) ? config["functionCallingConfig"] : undefined
  if (!isJsonObject(calling)) return {}
  const mode = textOr(calling["mode"], "").toUpperCase()
  const allowed: ReadonlyArray<unknown> = Array.isArray(calling["allowedFunctionNames"])
    ? calling["allowedFunctionNames"]
    : []
  const named = allowed.map((name, at) => {
    if (typeof name !== "string")
      report(issues, `toolConfig.functionCallingConfig.allowedFunctionNames[${at}]`, "must be a string")
    return { type: "function", function: { name: textOr(name, "") } }
  })
  const [only, more] = named
  if (mode === "NONE") return { tool_choice: "none" }
  if (mode === "ANY" && only !== undefined && more === undefined) return { tool_choice: only }
  if (only !== undefined && (mode === "ANY" || mode === "VALIDATED")) {
    const allowed_tools = { mode: mode === "ANY" ? "required" : "auto", tools: named }
    return { tool_choice: { type: "allowed_tools", allowed_tools } }
  }
  return mode === "ANY"
    ? { tool_choice: "required" }
    : mode === "AUTO" || mode === "VALIDATED"
      ? { tool_choice: "auto" }
      : {}
}

const formatOf = (config: JsonObject, untranslated: Dropped): Partial<ChatPayload> => {
  const { responseMimeType: type, responseSchema: written, responseJsonSchema: own } = config
  if (type !== "application/json") {
    if (type != null && type !== "text/plain") untranslated.push("generationConfig.responseMimeType")
    return {}
  }
  const schema = isJsonObject(own) ? own : isJsonObject(written) ? jsonSchemaOf(written) : undefined
  if (schema === undefined) return { response_format: { type: "json_object" } }
  return { response_format: { type: "json_schema", json_schema: { name: "answer", schema } } }
}

/** Google's own kind of schema as JSON Schema: types in lower case, and `nullable` as a type. */
const jsonSchemaOf = (schema: JsonObject): JsonObject => {
  const { nullable, propertyOrdering: _, ...rest } = schema
  const written: Record<string, unknown> = {}
  for (const name in rest) {
    const value = rest[name]
    if (name === "type" && typeof value === "string") written[name] = value.toLowerCase()
    else if (name === "properties" && isJsonObject(value)) {
      written[name] = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inSchema(inner)]))
    } else if (name === "anyOf" && Array.isArray(value)) written[name] = value.map(inSchema)
    else if (name === "items") written[name] = inSchema(value)
    else if (/^(?:min|max)(?:Items|Length|Properties)$/.test(name) && typeof value === "string")
      written[name] = Number(value)
    else written[name] = value
  }
  return nullable === true && typeof written["type"] === "string"
    ? { ...written, type: [written["type"], "null"] }
    : written
}

const inSchema = (value: unknown): unknown => (isJsonObject(value) ? jsonSchemaOf(value) : value)

const reasoningOf = (thinking: unknown): Reasoning => {
  if (!isJsonObject(thinking)) return noReasoning
  const { thinkingBudget: budget, thinkingLevel: level } = thinking
  const effort = textOr(level, "").toLowerCase()
  if (isEffort(effort)) return { ...noReasoning, effort, written: { reasoning: { effort } } }
  if (typeof budget !== "number") return noReasoning
  if (budget <= 0) return { ...noReasoning, enabled: budget < 0, written: { reasoning: { enabled: budget < 0 } } }
  return { ...noReasoning, maxTokens: budget, written: { reasoning: { max_tokens: budget } } }
}

/** Members of the canonical form that a host may not support. */
const optional = [...parameters.map(({ name }) => name), "tools", "tool_choice", "response_format"]

const parametersOf = (
  payload: ChatPayload,
  reasoning: Reasoning,
  maxTokens: number | undefined,
): ReadonlyArray<string> => [
  ...optional.filter((name) => payload[name] !== undefined),
  ...(reasoning === noReasoning ? [] : ["reasoning"]),
  ...(maxTokens === undefined ? [] : ["max_tokens"]),
]

/** Members whose content is the caller's own. */
const free: ReadonlySet<string> = new Set([
  ...[
    "args",
    "response",
    "parameters",
    "parametersJsonSchema",
    "responseSchema",
    "responseJsonSchema",
    "labels",
    "provider",
  ],
])

/** Members that all forms share, and what else has its underscores on purpose. */
const asTheyAre: ReadonlySet<string> = new Set(Object.keys(sharedMembers))

/** Google's members in the spelling that Google's JSON has. */
const inCamelCase = (value: JsonObject, isBody = true): JsonObject => {
  const written: Record<string, unknown> = {}
  for (const name in value) {
    const own =
      name === "__proto__" || (isBody && asTheyAre.has(name))
        ? name
        : name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    const inner = value[name]
    const isFree = free.has(own) || (isBody && asTheyAre.has(name) && name !== "tools")
    if (own !== "__proto__") written[own] = isFree ? inner : innerCase(inner)
  }
  return written
}

const innerCase = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(innerCase)
  return isJsonObject(value) ? inCamelCase(value, false) : value
}
