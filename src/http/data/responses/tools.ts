/** Tools, the choice among them, and the format of the text: in the Responses form, and in the canonical one. */
import type { FunctionTool, ResponseFormat, Tool, ToolChoice } from "../../../domain/Chat.ts"
import { reachesOut, runnerOf } from "../../../domain/hostedTools.ts"
import { isJsonObject, type JsonObject, objectsIn, textOr } from "../../../domain/Json.ts"
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
import { type Dropped, dropOthers } from "../../decode/dropped.ts"
import { maybeFlag, maybeObject, maybeText, most } from "../../decode/members.ts"

const name = matching(/^[a-zA-Z0-9_-]{1,64}$/, "must be 1 to 64 letters, digits, underscores and dashes")

/** The names under which hosts and routers offer a search of the web. */
const searchTool = /^(?:(?:open)?router:)?web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/

const webSearch = objectOf({ search_context_size: oneOf("low", "medium", "high"), user_location: anyObject })

const functionTypes: ReadonlyMap<string, Check> = new Map([
  [
    "function",
    objectOf(
      { name, description: maybeText, parameters: maybeObject, strict: maybeFlag, cache_control: anyObject },
      "name",
    ),
  ],
])

/** What hosts of other forms call a function of a namespace. */
const nameWithin = (namespace: unknown, name: string): string =>
  typeof namespace === "string" && namespace !== "" ? `${namespace}__${name}` : name

const spaceShape = objectOf(
  { name, description: maybeText, tools: listOf(byType(functionTypes, onlyKnown(functionTypes)), most.tools, 1) },
  "name",
  "tools",
)
const namespace: Check = (value, path, issues) => {
  spaceShape(value, path, issues)
  if (!isJsonObject(value)) return
  for (const [at, tool] of objectsIn(value["tools"]).entries())
    name(nameWithin(value["name"], textOr(tool["name"], "")), `${path}.tools[${at}].name`, issues)
}

/** A tool that takes text. Only hosts of this form have them, so the format of the text is left to them. */
const custom = objectOf({ name, description: maybeText, format: anyObject }, "name")

const toolTypes: ReadonlyMap<string, Check> = new Map([...functionTypes, ["namespace", namespace], ["custom", custom]])

export const tools = listOf(
  byType(toolTypes, (type, tool, path, issues) => {
    if (searchTool.test(type)) webSearch(tool, path, issues)
    // Others that hosts run are judged for each host: `src/http/decode/hosted.ts`.
    else if (reachesOut(type))
      report(
        issues,
        `${path}.type`,
        `${quoted(type)} is a tool that this gateway neither runs nor can pass on: it takes functions, namespaces of them, custom tools and web_search`,
      )
  }),
  most.tools,
)

const namedFunction = objectOf({ type: oneOf("function"), name: filledText }, "type", "name")

/** A tool that hosts run may be chosen, but for those that reach what is not the caller's. */
const hostedChoice = (type: string, value: JsonObject, path: string, issues: Issues): void => {
  if (reachesOut(type)) onlyKnown(choices)(type, value, path, issues)
}
const namedTool: Check = (value, path, issues) =>
  isJsonObject(value) && typeof value["type"] === "string" && runnerOf(value) !== "client"
    ? hostedChoice(value["type"], value, path, issues)
    : namedFunction(value, path, issues)

const choices: ReadonlyMap<string, Check> = new Map([
  ["function", namedFunction],
  ["custom", objectOf({ name: filledText }, "name")],
  [
    "allowed_tools",
    objectOf({ mode: oneOf("auto", "required"), tools: listOf(namedTool, most.tools, 1) }, "mode", "tools"),
  ],
])
const choice = byType(choices, hostedChoice)
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
  const offered = new Set(objectsIn(body["tools"]).flatMap(namesIn))
  const demand = (wanted: JsonObject, path: string): void => {
    if (!offered.has(calledName(wanted)))
      report(issues, `${path}.name`, `${quoted(calledName(wanted))} is not the name of a function in tools`)
  }
  if (chosen["type"] === "function" || chosen["type"] === "custom") demand(chosen, "tool_choice")
  for (const [at, tool] of objectsIn(chosen["tools"]).entries())
    if (runnerOf(tool) === "client") demand(tool, `tool_choice.tools[${at}]`)
}

/** The name of a function as hosts of other forms are told it. */
export const calledName = ({ namespace, name }: JsonObject): string => nameWithin(namespace, textOr(name, ""))

const namesIn = (tool: JsonObject): ReadonlyArray<string> =>
  tool["type"] === "namespace"
    ? objectsIn(tool["tools"]).map((inner) => nameWithin(tool["name"], textOr(inner["name"], "")))
    : [textOr(tool["name"], "")]

/** A function as the caller knows it. */
export interface CalledFunction {
  readonly name: string
  readonly namespace?: string
}

/** Functions of namespaces in a checked body, by the name that hosts are told. */
export const namespacedFunctions = (tools: unknown): ReadonlyMap<string, CalledFunction> =>
  new Map(
    objectsIn(tools)
      .filter((tool) => tool["type"] === "namespace")
      .flatMap((tool) => {
        const namespace = textOr(tool["name"], "")
        return objectsIn(tool["tools"]).map((inner) => {
          const name = textOr(inner["name"], "")
          return [nameWithin(namespace, name), { name, namespace }] as const
        })
      }),
  )

export interface TranslatedTools {
  /** The functions that may be called; `undefined`: there are none. */
  readonly tools: ReadonlyArray<Tool> | undefined
  readonly choice: ToolChoice | undefined
}

const functionMembers = new Set(["type", "name", "description", "parameters", "strict", "cache_control"])
const namespaceMembers = new Set(["type", "name", "tools"])
const searchMembers = new Set(["type", "search_context_size", "user_location"])

/**
 * Checked tools and choice. Of a choice among allowed tools only these are sent, which is what it means. The order of the
 * others in a host's cache is lost.
 */
export const translatedTools = (body: JsonObject, dropped: Dropped): TranslatedTools => {
  const functions: Array<FunctionTool> = []
  for (const [at, tool] of objectsIn(body["tools"]).entries()) {
    if (tool["type"] === "function") {
      dropOthers(tool, functionMembers, `tools[${at}]`, dropped)
      functions.push(functionTool(tool, undefined))
    } else if (tool["type"] === "namespace") {
      dropOthers(tool, namespaceMembers, `tools[${at}]`, dropped)
      for (const [place, inner] of objectsIn(tool["tools"]).entries()) {
        dropOthers(inner, functionMembers, `tools[${at}].tools[${place}]`, dropped)
        functions.push(functionTool(inner, tool["name"]))
      }
    } else if (runnerOf(tool) === "web_search") dropOthers(tool, searchMembers, `tools[${at}]`, dropped)
  }
  const chosen = body["tool_choice"]
  if (!isJsonObject(chosen)) {
    const word = chosen === "none" || chosen === "auto" || chosen === "required" ? chosen : undefined
    return { tools: orNone(functions), choice: word }
  }
  if (chosen["type"] === "function") {
    return { tools: functions, choice: { type: "function", function: { name: calledName(chosen) } } }
  }
  if (chosen["type"] !== "allowed_tools") return { tools: orNone(functions), choice: undefined }
  const allowed = new Set(objectsIn(chosen["tools"]).map(calledName))
  const mode = chosen["mode"] === "required" ? "required" : "auto"
  return { tools: functions.filter((tool) => allowed.has(tool.function.name)), choice: mode }
}

const orNone = (functions: ReadonlyArray<FunctionTool>) => (functions.length === 0 ? undefined : functions)

const functionTool = (tool: JsonObject, namespace: unknown): FunctionTool => {
  const { description, parameters, strict, cache_control: mark } = tool
  return {
    type: "function",
    function: {
      name: nameWithin(namespace, textOr(tool["name"], "")),
      ...(typeof description === "string" ? { description } : {}),
      ...(isJsonObject(parameters) ? { parameters } : {}),
      ...(typeof strict === "boolean" ? { strict } : {}),
    },
    ...(isJsonObject(mark) ? { cache_control: { ...mark, type: "ephemeral" } } : {}),
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
      name: textOr(format["name"], ""),
      ...(typeof description === "string" ? { description } : {}),
      ...(isJsonObject(schema) ? { schema } : {}),
      ...(typeof strict === "boolean" ? { strict } : {}),
    },
  }
}
