/** Tools, the choice among them, and the format of the text: in the Responses form, and in the canonical one. */
import type { FunctionTool, ResponseFormat, Tool, ToolChoice } from "../../../domain/Chat.ts"
import { isJsonObject, type JsonObject } from "../../../domain/Json.ts"
import {
  anyObject,
  anything,
  byType,
  type Check,
  filledText,
  type Issues,
  listOf,
  matching,
  objectOf,
  oneOf,
  onlyKnown,
  orNull,
  quoted,
  report,
} from "../../decode/checks.ts"
import { maybeFlag, maybeObject, maybeText, most } from "../../decode/members.ts"
import { type Dropped, dropOthers, textOr } from "./parts.ts"

const name = matching(/^[a-zA-Z0-9_-]{1,64}$/, "must be 1 to 64 letters, digits, underscores and dashes")

/** The names under which hosts and routers offer a search of the web. */
const searchTool = /^(?:(?:open)?router:)?web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/

const webSearch = objectOf({ search_context_size: oneOf("low", "medium", "high"), user_location: anyObject })

const toolTypes: ReadonlyMap<string, Check> = new Map([
  [
    "function",
    objectOf(
      { name, description: maybeText, parameters: maybeObject, strict: maybeFlag, cache_control: anyObject },
      "name",
    ),
  ],
])

export const tools = listOf(
  byType(toolTypes, (type, tool, path, issues) => {
    if (searchTool.test(type)) webSearch(tool, path, issues)
    else
      report(
        issues,
        `${path}.type`,
        `${quoted(type)} is a tool that this gateway neither runs nor can pass on: it takes functions and web_search`,
      )
  }),
  most.tools,
)

const namedFunction = objectOf({ type: oneOf("function"), name: filledText }, "type", "name")

const choices: ReadonlyMap<string, Check> = new Map([
  ["function", namedFunction],
  [
    "allowed_tools",
    objectOf({ mode: oneOf("auto", "required"), tools: listOf(namedFunction, most.tools, 1) }, "mode", "tools"),
  ],
])
const choice = byType(choices, onlyKnown(choices))
const wordChoice = oneOf("none", "auto", "required")
export const toolChoice: Check = (value, path, issues) =>
  (isJsonObject(value) ? choice : wordChoice)(value, path, issues)

const formats: ReadonlyMap<string, Check> = new Map([
  ["text", anything],
  ["json_object", anything],
  ["json_schema", objectOf({ name, description: maybeText, schema: anyObject, strict: maybeFlag }, "name", "schema")],
])

export const textConfig = objectOf({
  format: byType(formats, onlyKnown(formats)),
  verbosity: orNull(oneOf("low", "medium", "high", "xhigh", "max")),
})

/** Every function that a choice names has to be among the tools. Both were checked before. */
export const checkChoice = (body: JsonObject, issues: Issues): void => {
  const chosen = body["tool_choice"]
  if (!isJsonObject(chosen)) return
  const offered = new Set(listIn(body["tools"]).map((tool) => tool["name"]))
  const demand = (wanted: unknown, path: string): void => {
    if (typeof wanted === "string" && !offered.has(wanted))
      report(issues, path, `${quoted(wanted)} is not the name of a function in tools`)
  }
  if (chosen["type"] === "function") demand(chosen["name"], "tool_choice.name")
  for (const [at, tool] of listIn(chosen["tools"]).entries()) demand(tool["name"], `tool_choice.tools[${at}].name`)
}

const listIn = (value: unknown): ReadonlyArray<JsonObject> => (Array.isArray(value) ? value.filter(isJsonObject) : [])

export interface TranslatedTools {
  /** The functions that may be called; `undefined`: there are none. */
  readonly tools: ReadonlyArray<Tool> | undefined
  readonly choice: ToolChoice | undefined
  /** `web_search_options` of the canonical form, where a search is among the tools. */
  readonly search: JsonObject | undefined
}

const functionMembers = new Set(["type", "name", "description", "parameters", "strict", "cache_control"])
const searchMembers = new Set(["type", "search_context_size", "user_location"])

/**
 * Checked tools and choice. Of a choice among allowed tools only these are sent, which is what it means. The order of the
 * others in a host's cache is lost.
 */
export const translatedTools = (body: JsonObject, dropped: Dropped): TranslatedTools => {
  const functions: Array<FunctionTool> = []
  let search: JsonObject | undefined
  for (const [at, tool] of listIn(body["tools"]).entries()) {
    if (tool["type"] === "function") {
      dropOthers(tool, functionMembers, `tools[${at}]`, dropped)
      functions.push(functionTool(tool))
    } else {
      dropOthers(tool, searchMembers, `tools[${at}]`, dropped)
      search = searchOptions(tool)
    }
  }
  const chosen = body["tool_choice"]
  if (!isJsonObject(chosen)) {
    const word = chosen === "none" || chosen === "auto" || chosen === "required" ? chosen : undefined
    return { tools: orNone(functions), choice: word, search }
  }
  if (chosen["type"] === "function") {
    return { tools: functions, choice: { type: "function", function: { name: chosen["name"] } }, search }
  }
  const allowed = new Set(listIn(chosen["tools"]).map((tool) => tool["name"]))
  const mode = chosen["mode"] === "required" ? "required" : "auto"
  return { tools: functions.filter((tool) => allowed.has(tool.function.name)), choice: mode, search }
}

const orNone = (functions: ReadonlyArray<FunctionTool>) => (functions.length === 0 ? undefined : functions)

const functionTool = (tool: JsonObject): FunctionTool => {
  const { description, parameters, strict, cache_control: mark } = tool
  return {
    type: "function",
    function: {
      name: textOr(tool["name"]),
      ...(typeof description === "string" ? { description } : {}),
      ...(isJsonObject(parameters) ? { parameters } : {}),
      ...(typeof strict === "boolean" ? { strict } : {}),
    },
    ...(isJsonObject(mark) ? { cache_control: { ...mark, type: "ephemeral" } } : {}),
  }
}

const searchOptions = ({ search_context_size: size, user_location: place }: JsonObject): JsonObject => {
  const { type: _, ...approximate }: JsonObject = isJsonObject(place) ? place : {}
  return {
    ...(size == null ? {} : { search_context_size: size }),
    ...(place == null ? {} : { user_location: { type: "approximate", approximate } }),
  }
}

/** The checked `text.format`; `undefined` where any text will do. */
export const translatedFormat = (config: unknown): ResponseFormat | undefined => {
  const format = isJsonObject(config) ? config["format"] : undefined
  if (!isJsonObject(format)) return undefined
  if (format["type"] === "json_object") return { type: "json_object" }
  if (format["type"] !== "json_schema") return undefined
  const { description, schema, strict } = format
  return {
    type: "json_schema",
    json_schema: {
      name: textOr(format["name"]),
      ...(typeof description === "string" ? { description } : {}),
      ...(isJsonObject(schema) ? { schema } : {}),
      ...(typeof strict === "boolean" ? { strict } : {}),
    },
  }
}
