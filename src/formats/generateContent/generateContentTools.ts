/** Tools and the choice among them. Functions share one member; Google's search is a tool of its own. */
import * as Either from "effect/Either"
import { Unsupported } from "../../domain/failures/Failure.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { ChatPayload, FunctionTool, Tool, ToolChoice } from "../../domain/request/chat.ts"
import { given } from "./generateContentJson.ts"
import type { Reader } from "./generateContentMedia.ts"

export interface ToolFields {
  readonly tools?: ReadonlyArray<JsonObject>
  readonly toolConfig?: JsonObject
}

/** What Google has no words for: a function's exact schema, and tools whose input is text. */
export const droppedOfTools = ({ tools }: ChatPayload): ReadonlyArray<string> =>
  (tools ?? []).flatMap((tool, at) => {
    if (isCustom(tool)) return [`tools[${at}]`]
    return isFunction(tool) && tool.function.strict === true ? [`tools[${at}].function.strict`] : []
  })

/** Whether functions are declared. Before Gemini 3, such a request may not ask for JSON. */
export const hasFunctions = ({ tools, tool_choice: choice }: ChatPayload): boolean =>
  choice !== "none" && (tools ?? []).some(isFunction)

export const toolFields = (payload: ChatPayload, reader: Reader): Either.Either<ToolFields, Unsupported> => {
  const declarations: Array<JsonObject> = []
  // Before Gemini 3, functions that may not be called would be in the way of JSON that is asked for.
  const asksForJson = payload.response_format != null && payload.response_format.type !== "text"
  const isDeclared = reader.facts.isThird || payload.tool_choice !== "none" || !asksForJson
  let searches = payload["web_search_options"] != null
  for (const [at, tool] of (payload.tools ?? []).entries()) {
    if (isFunction(tool)) {
      if (isDeclared) declarations.push(declarationOf(tool))
    } else if (isCustom(tool)) continue
    else if (isSearch(tool)) searches = true
    else return Either.left(new Unsupported({ path: `tools[${at}]`, reason: "this host has no such tool" }))
  }
  const own = searches ? [{ googleSearch: {} }] : []
  const tools = declarations.length === 0 ? own : [{ functionDeclarations: declarations }, ...own]
  if (tools.length === 0) return Either.right({})
  return Either.map(callingOf(payload.tool_choice, declarations.length > 0), (functionCallingConfig) => {
    // The Gemini API requires this where functions stand beside its own tools.
    const isMixed = declarations.length > 0 && own.length > 0 && reader.facts.isThird && !reader.vertex
    const toolConfig = given({
      functionCallingConfig,
      includeServerSideToolInvocations: isMixed ? true : undefined,
    })
    return { tools, ...(Object.keys(toolConfig).length === 0 ? {} : { toolConfig }) }
  })
}

const isFunction = (tool: Tool): tool is FunctionTool => tool.function !== undefined

const isCustom = ({ type }: Tool): boolean => type === "custom"

/** The usual names of a search; the reservation counts what it may cost. Google's other tools have no price in a price list. */
const isSearch = ({ type }: Tool): boolean => type.includes("web_search")

const declarationOf = ({ function: { name, description, parameters } }: FunctionTool): JsonObject => {
  // An empty schema is refused; without one the function takes no arguments.
  const schema = isJsonObject(parameters) && Object.keys(parameters).length > 0 ? parameters : undefined
  return given({ name, description: description ?? undefined, parametersJsonSchema: schema })
}

const callingOf = (
  choice: ToolChoice | null | undefined,
  hasFunctions: boolean,
): Either.Either<JsonObject | undefined, Unsupported> => {
  if (choice == null || !hasFunctions) return Either.right(undefined)
  if (choice === "none") return Either.right({ mode: "NONE" })
  if (choice === "auto") return Either.right({ mode: "AUTO" })
  if (choice === "required") return Either.right({ mode: "ANY" })
  const { type, function: named, allowed_tools: allowed } = choice
  if (type === "function" && isJsonObject(named)) {
    return Either.right({ mode: "ANY", allowedFunctionNames: [named["name"]] })
  }
  if (type === "allowed_tools" && isJsonObject(allowed) && Array.isArray(allowed["tools"])) {
    // With `VALIDATED` the model may also answer in words; with `AUTO` the names would not be looked at.
    const mode = allowed["mode"] === "required" ? "ANY" : "VALIDATED"
    return Either.right({ mode, allowedFunctionNames: allowed["tools"].map(functionName) })
  }
  return Either.left(new Unsupported({ path: "tool_choice", reason: "this host has no such choice" }))
}

const functionName = (tool: unknown): unknown =>
  isJsonObject(tool) && isJsonObject(tool["function"]) ? tool["function"]["name"] : undefined
