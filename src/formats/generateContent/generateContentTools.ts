/** Tools and the choice among them. Functions share one member; Google's search is a tool of its own. */
import * as Either from "effect/Either"
import { Unsupported } from "../../domain/failures/Failure.ts"
import { type Issues, report } from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject, objectIn, objectsIn, textOr } from "../../domain/json/json.ts"
import type { ChatPayload, FunctionTool, Tool, ToolChoice } from "../../domain/request/chat.ts"
import { isCustom } from "../customTools.ts"
import { lostStrict, offeredTools } from "../plainTools.ts"
import { type Dropped, dropOthers } from "../request/Dropped.ts"
import { given, givenSome } from "./generateContentJson.ts"
import type { Reader } from "./generateContentParts.ts"

// --- tools

const noMembers: ReadonlySet<string> = new Set()
const parameterSchemas: ReadonlySet<string> = new Set(["parametersJsonSchema", "parameters"])

export const readTools = (tools: unknown, untranslated: Dropped, issues: Issues): Partial<ChatPayload> => {
  const functions: Array<FunctionTool> = []
  let searches = false
  for (const [at, { functionDeclarations: declared, googleSearch, ...others }] of objectsIn(tools).entries()) {
    searches ||= googleSearch != null
    dropOthers(others, noMembers, `tools[${at}]`, untranslated)
    if (declared != null && !Array.isArray(declared))
      report(issues, `tools[${at}].functionDeclarations`, "must be an array")
    for (const [place, { name, description, ...schemas }] of objectsIn(declared).entries()) {
      if (typeof name !== "string" || name === "")
        report(issues, `tools[${at}].functionDeclarations[${place}].name`, "must be a non-empty string")
      else {
        dropOthers(schemas, parameterSchemas, `tools[${at}].functionDeclarations[${place}]`, untranslated)
        const parameters = readSchema(schemas["parametersJsonSchema"], schemas["parameters"])
        const about = given({ description: textOr(description, undefined), parameters })
        functions.push({ type: "function", function: { name, ...about } })
      }
    }
  }
  return { ...(functions.length === 0 ? {} : { tools: functions }), ...(searches ? { web_search_options: {} } : {}) }
}

export interface ToolFields {
  readonly tools?: ReadonlyArray<JsonObject>
  readonly toolConfig?: JsonObject | undefined
}

export const toolFields = (payload: ChatPayload, reader: Reader): Either.Either<ToolFields, Unsupported> => {
  const declarations: Array<JsonObject> = []
  // Before Gemini 3, functions that may not be called would be in the way of JSON that is asked for.
  const asksForJson = payload.response_format != null && payload.response_format.type !== "text"
  const isDeclared = reader.facts.isThird || payload.tool_choice !== "none" || !asksForJson
  let searches = payload["web_search_options"] != null
  for (const [at, tool] of (payload.tools ?? []).entries()) {
    if (isFunction(tool)) {
      if (isDeclared) declarations.push(declarationOf(tool))
    } else if (isSearch(tool)) searches = true
    else if (!isCustom(tool))
      return Either.left(new Unsupported({ path: `tools[${at}]`, reason: "this host has no such tool" }))
  }
  const own = searches ? [{ googleSearch: {} }] : []
  const tools = declarations.length === 0 ? own : [{ functionDeclarations: declarations }, ...own]
  if (tools.length === 0) return Either.right({})
  return Either.map(callingOf(payload, declarations.length > 0), (functionCallingConfig) => {
    // The Gemini API requires this where functions stand beside its own tools.
    const isMixed = declarations.length > 0 && searches && reader.facts.isThird && !reader.vertex
    const includeServerSideToolInvocations = isMixed ? true : undefined
    return { tools, toolConfig: givenSome({ functionCallingConfig, includeServerSideToolInvocations }) }
  })
}

/** What Google has no words for: tools whose input is text, a choice of one, and a function's exact schema. */
export const droppedOfTools = (payload: ChatPayload): ReadonlyArray<string> => [
  ...offeredTools(payload).dropped,
  ...lostStrict(payload.tools ?? []),
]

/** Whether functions are declared. Before Gemini 3, such a request may not ask for JSON. */
export const hasFunctions = ({ tools, tool_choice: choice }: ChatPayload): boolean =>
  choice !== "none" && (tools ?? []).some(isFunction)

const isFunction = (tool: Tool): tool is FunctionTool => tool.function !== undefined

/**
 * The usual names of a search; the reservation counts what it may cost. Google's other tools have no price in a price
 * list.
 */
const isSearch = ({ type }: Tool): boolean => type.includes("web_search")

const declarationOf = ({ function: { name, description, parameters } }: FunctionTool): JsonObject => {
  // An empty schema is refused; without one the function takes no arguments.
  const schema = isJsonObject(parameters) && Object.keys(parameters).length > 0 ? parameters : undefined
  return given({ name, description: description ?? undefined, parametersJsonSchema: schema })
}

// --- the choice among them

/** The choices that name no function, and Google's modes. */
const modes = [
  ["none", "NONE"],
  ["auto", "AUTO"],
  ["required", "ANY"],
] as const

/** With `VALIDATED` the model may also answer in words; with `AUTO` the names would not be looked at. */
const among = [
  ["required", "ANY"],
  ["auto", "VALIDATED"],
] as const

const toolConfigMembers: ReadonlySet<string> = new Set(["functionCallingConfig"])
const callingMembers: ReadonlySet<string> = new Set(["mode", "allowedFunctionNames"])

export const readChoice = (
  toolConfig: unknown,
  untranslated: Dropped,
  issues: Issues,
): { readonly tool_choice?: ToolChoice } => {
  if (!isJsonObject(toolConfig)) return {}
  const calling = objectIn(toolConfig["functionCallingConfig"])
  dropOthers(toolConfig, toolConfigMembers, "toolConfig", untranslated)
  dropOthers(calling, callingMembers, "toolConfig.functionCallingConfig", untranslated)
  const { mode: written, allowedFunctionNames: names } = calling
  const mode = textOr(written, "").toUpperCase()
  const named = (Array.isArray(names) ? names : []).map((name: unknown, at) => {
    if (typeof name !== "string")
      report(issues, `toolConfig.functionCallingConfig.allowedFunctionNames[${at}]`, "must be a string")
    return { type: "function", function: { name: textOr(name, "") } }
  })
  const [only, more] = named
  const [choice] = among.find(([, its]) => its === mode) ?? []
  if (only !== undefined && choice !== undefined) {
    if (choice === "required" && more === undefined) return { tool_choice: only }
    return { tool_choice: { type: "allowed_tools", allowed_tools: { mode: choice, tools: named } } }
  }
  const [plain = choice] = modes.find(([, its]) => its === mode) ?? []
  if (plain !== undefined) return { tool_choice: plain }
  if (mode !== "" && mode !== "MODE_UNSPECIFIED") untranslated.push("toolConfig.functionCallingConfig.mode")
  return {}
}

const callingOf = (payload: ChatPayload, hasFunctions: boolean): Either.Either<JsonObject | undefined, Unsupported> => {
  const { tools, choice } = offeredTools(payload)
  if (choice == null || !hasFunctions) return Either.right(undefined)
  const [, allowed] = isList(payload.tool_choice) ? (among.find(([name]) => name === choice) ?? []) : []
  const [, mode] = modes.find(([name]) => name === choice) ?? []
  const names = tools.flatMap(([, { function: one }]) => (one === undefined ? [] : [one.name]))
  if (allowed !== undefined && names.length > 0) return Either.right({ mode: allowed, allowedFunctionNames: names })
  if (mode !== undefined) return Either.right({ mode })
  const { type, function: named }: JsonObject = isJsonObject(choice) ? choice : {}
  if (type === "function" && isJsonObject(named))
    return Either.right({ mode: "ANY", allowedFunctionNames: [named["name"]] })
  return Either.left(new Unsupported({ path: "tool_choice", reason: "this host has no such choice" }))
}

/** Google is sent all declarations, and the names of the allowed ones. */
const isList = (choice: ChatPayload["tool_choice"]): boolean => isJsonObject(choice) && choice.type === "allowed_tools"

// --- schemas

/** `own`: JSON Schema; else `written` in Google's own kind. `undefined`: there is neither. */
export const readSchema = (own: unknown, written: unknown): JsonObject | undefined =>
  isJsonObject(own) ? own : isJsonObject(written) ? jsonSchemaOf(written) : undefined

/** What JSON Schema calls members that Google's own kind of schema has by another name. */
const schemaNames: ReadonlyMap<string, string> = new Map([
  ["defs", "$defs"],
  ["ref", "$ref"],
])

/**
 * Google's own kind of schema as JSON Schema: types in lower case, and `nullable` as a type. Its members are those of
 * `Schema` in Vertex AI's reference (2026-11), of which the Gemini API has most.
 */
const jsonSchemaOf = ({ nullable, propertyOrdering: _, ...schema }: JsonObject): JsonObject => {
  const written: Record<string, unknown> = {}
  for (const name in schema) written[schemaNames.get(name) ?? name] = inSchema(name, schema[name])
  const { type } = written
  return nullable === true && typeof type === "string" ? { ...written, type: [type, "null"] } : written
}

const inSchema = (name: string, value: unknown): unknown => {
  if (name === "type" && typeof value === "string") return value.toLowerCase()
  if (/^(?:min|max)(?:Items|Length|Properties)$/.test(name) && typeof value === "string") return Number(value)
  if (name === "ref" && typeof value === "string") return value.replace(/^#\/defs\//, "#/$defs/")
  if (name === "items" || name === "additionalProperties") return schemaIn(value)
  if (name === "anyOf" && Array.isArray(value)) return value.map(schemaIn)
  if ((name !== "properties" && name !== "defs") || !isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, schemaIn(inner)]))
}

const schemaIn = (value: unknown): unknown => (isJsonObject(value) ? jsonSchemaOf(value) : value)
