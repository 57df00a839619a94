/** Tools, the choice among them, and the format of the text: in the Responses form, and in the canonical one. */

import {
  anyObject,
  anything,
  byType,
  type Check,
  checkOf,
  described,
  filledText,
  flag,
  type Issues,
  listOf,
  objectOf,
  objectOr,
  oneOf,
  quoted,
  report,
  text,
  titled,
} from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject, objectsIn, textOr } from "../../domain/json/json.ts"
import type { ChatPayload, FunctionTool, ResponseFormat, Tool, ToolChoice } from "../../domain/request/chat.ts"
import { chatParameters } from "../../domain/request/chatParameters.ts"
import { reachesOut, runnerOf } from "../../domain/request/hostedTools.ts"
import { type Dropped, dropOthers } from "../request/Dropped.ts"
import { most } from "../request/members.ts"
import { offeredIn, pathOfOffered } from "../request/offered.ts"
import { reachesNothing } from "../request/operatorMembers.ts"
import { schemaName } from "../request/textMembers.ts"
import { toolName } from "../request/toolNames.ts"
import {
  asksGrammar,
  functionKind,
  identityOf,
  kindOfChoice,
  kindOfTool,
  membersOf,
  type ToolIdentity,
} from "./responsesToolKinds.ts"
import { type CallerTool, hasOnlyFunctions, keyOf, type ToolNames } from "./responsesToolNames.ts"

/** The names under which hosts and routers offer a search of the web. */
const searchTool = /^(?:(?:open)?router:)?web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/

const webSearch = objectOf({ search_context_size: oneOf("low", "medium", "high"), user_location: anyObject })

/** A tool that takes text. Only hosts of this form enforce its format, so that is left to them to check. */
const custom = objectOf({ name: toolName, description: text, format: anyObject }, "name")

/** What may stand in a namespace. */
const namedTypes: ReadonlyMap<string, Check> = new Map([
  [
    "function",
    objectOf(
      { name: toolName, description: text, parameters: anyObject, strict: flag, cache_control: anyObject },
      "name",
    ),
  ],
  ["custom", custom],
])

const namespace = objectOf(
  { name: toolName, description: text, tools: listOf(byType(namedTypes), most.tools, 1) },
  "name",
  "tools",
)

const toolTypes: ReadonlyMap<string, Check> = new Map([
  ...namedTypes,
  ["namespace", namespace],
  ["tool_search", objectOf({ description: text, parameters: anyObject })],
])

const typeOf = (value: unknown): string => (isJsonObject(value) ? textOr(value["type"], "") : "")

const otherSchema = {
  anyOf: [
    { allOf: [webSearch.schema, { properties: { type: { pattern: searchTool.source } } }] },
    { allOf: [reachesNothing, { properties: { type: { not: { pattern: searchTool.source } } } }] },
  ],
}
/** Any other tool. Whether a host may run one itself is decided for each host: `src/formats/request/hosted.ts`. */
const otherTool = checkOf(otherSchema, (tool, path, issues) => {
  const type = typeOf(tool)
  if (searchTool.test(type)) webSearch(tool, path, issues)
  else if (reachesOut(type))
    report(
      issues,
      `${path}.type`,
      `${quoted(type)} is a tool that this gateway neither runs nor can pass on: it takes tools that the caller runs, namespaces of them, and web_search`,
    )
})

/** Of the body, or of an item that adds tools. */
export const tools = listOf(titled("ResponsesTool", byType(toolTypes, otherTool)), most.tools)

const named = objectOf({ name: filledText }, "name")

/** Tools that are chosen by their names. */
const namedChoices: ReadonlyArray<readonly [type: string, check: Check]> = [
  ["function", named],
  ["custom", named],
]

/** A tool that hosts run may be chosen, unless it reaches what is not the caller's. */
const otherChoice = checkOf(reachesNothing, (value, path, issues) => {
  if (reachesOut(typeOf(value))) report(issues, `${path}.type`, "must be one of function, custom, allowed_tools")
})
const allowedTool = byType(new Map([...namedChoices, ["namespace", named]]), otherChoice)

const choices: ReadonlyMap<string, Check> = new Map([
  ...namedChoices,
  [
    "allowed_tools",
    objectOf({ mode: oneOf("auto", "required"), tools: listOf(allowedTool, most.tools, 1) }, "mode", "tools"),
  ],
])
export const toolChoice = described(
  "Tools of the caller that are named must be among the tools, or those that items add.",
  objectOr(byType(choices, otherChoice), oneOf("none", "auto", "required")),
)

const formats: ReadonlyMap<string, Check> = new Map([
  ["text", anything],
  ["json_object", anything],
  ["json_schema", objectOf({ name: schemaName, description: text, schema: anyObject, strict: flag }, "name", "schema")],
])

export const textConfig = objectOf({
  format: byType(formats),
  verbosity: chatParameters.verbosity.check,
})

/** See docs/guarantees.md#g30. */
const mostInAll = 4096

/**
 * Each list is bounded by itself; this bounds the tools of all items and namespaces together. All were checked before.
 */
export const checkToolCount = (body: JsonObject, issues: Issues): void => {
  if (hasOnlyFunctions(body)) return
  let number = 0
  for (const { tool, item } of offeredIn(body)) {
    number += tool["type"] === "namespace" ? membersOf(tool).length : 1
    if (number <= mostInAll) continue
    const path = item === undefined ? "tools" : "input"
    report(issues, path, `has more than ${mostInAll} tools, with those of namespaces and of items before`)
    return
  }
}

/** Every tool that a choice names has to be among the tools. All were checked before. */
export const checkChoice = (body: JsonObject, names: ToolNames, issues: Issues): void => {
  const chosen = body["tool_choice"]
  if (!isJsonObject(chosen)) return
  const types = new Set(offeredIn(body).map(({ tool }) => tool["type"]))
  const demand = (wanted: JsonObject, path: string): void => {
    const identity = identityChosenBy(wanted)
    if (identity === undefined || names.offers(identity)) return
    const { kind, name, namespace } = identity
    // A shell, or a search of tools, that the host is to run.
    if (!kind.isNamed && types.has(kind.type)) return
    const shown = quoted(namespace === undefined ? name : `${namespace}.${name}`)
    const type = kind.type === "custom" ? "custom tool" : kind.type
    if (kind.isNamed) report(issues, `${path}.name`, `${shown} is not the name of a ${type} in tools`)
    else report(issues, `${path}.type`, `${shown} is not among the tools`)
  }
  if (chosen["type"] !== "allowed_tools") demand(chosen, "tool_choice")
  else for (const [at, tool] of objectsIn(chosen["tools"]).entries()) demand(tool, `tool_choice.tools[${at}]`)
}

/** The caller's tool that a choice names; `undefined`: it names one of a host, or a namespace. */
const identityChosenBy = (wanted: JsonObject): ToolIdentity | undefined => {
  const kind = kindOfChoice(wanted["type"])
  return kind && identityOf(kind, wanted)
}

export interface TranslatedTools {
  /** The functions that may be called; `undefined`: there are none. */
  readonly tools: ReadonlyArray<FunctionTool> | undefined
  readonly choice: ToolChoice | undefined
  /** Of each function, its place in the caller's body. */
  readonly paths: ReadonlyArray<string>
}

const namespaceMembers = new Set(["type", "name", "tools"])
const searchMembers = new Set(["type", "search_context_size", "user_location"])

/**
 * Checked tools and choice. Of a choice among allowed tools only these are sent, which is what it means. The order of
 * the others in a host's cache is lost.
 */
export const translatedTools = (body: JsonObject, names: ToolNames, dropped: Dropped): TranslatedTools => {
  if (!names.hasOnlyFunctions) dropOfOthers(body, dropped)
  const { tool_choice: chosen } = body
  const isAmong = isJsonObject(chosen) && chosen["type"] === "allowed_tools"
  const allows = isAmong ? allowedBy(objectsIn(chosen["tools"])) : undefined
  const tools: Array<FunctionTool> = []
  const paths: Array<string> = []
  for (const one of names.tools) {
    const tool = functionTool(one, names, dropped)
    if (allows?.(one.identity) === false) continue
    tools.push(tool)
    paths.push(one.path)
  }
  if (!isJsonObject(chosen)) {
    const word = chosen === "none" || chosen === "auto" || chosen === "required" ? chosen : undefined
    return { tools: orNone(tools), choice: word, paths }
  }
  if (isAmong) return { tools, choice: chosen["mode"] === "required" ? "required" : "auto", paths }
  const identity = identityChosenBy(chosen)
  const choice =
    identity !== undefined && names.offers(identity)
      ? { type: "function", function: { name: names.nameOf(identity) } }
      : undefined
  return { tools: orNone(tools), choice, paths }
}

/** Whether a tool is allowed, by itself or with its namespace. */
const allowedBy = (allowed: ReadonlyArray<JsonObject>): ((identity: ToolIdentity) => boolean) => {
  const spaces = new Set(allowed.filter(({ type }) => type === "namespace").map(({ name }) => name))
  const keys = new Set(allowed.flatMap((wanted) => identityChosenBy(wanted) ?? []).map(keyOf))
  return (identity) => keys.has(keyOf(identity)) || (identity.namespace !== undefined && spaces.has(identity.namespace))
}

/** Names the members of namespaces and searches that are not carried. */
const dropOfOthers = (body: JsonObject, dropped: Dropped): void => {
  for (const offered of offeredIn(body)) {
    const { tool } = offered
    if (tool["type"] === "namespace") dropOthers(tool, namespaceMembers, pathOfOffered(offered), dropped)
    else if (runnerOf(tool) === "web_search") dropOthers(tool, searchMembers, pathOfOffered(offered), dropped)
  }
}

const orNone = (functions: ReadonlyArray<FunctionTool>) => (functions.length === 0 ? undefined : functions)

const functionTool = ({ identity, tool, path }: CallerTool, names: ToolNames, dropped: Dropped): FunctionTool => {
  const { kind } = identity
  dropOthers(tool, kind.members, path, dropped)
  if (asksGrammar(tool)) dropped.push(`${path}.format`)
  const { description, parameters } = kind.offered(tool)
  const { strict, cache_control: mark }: JsonObject = kind === functionKind ? tool : {}
  return {
    type: "function",
    function: {
      name: names.nameOf(identity),
      ...(description === undefined ? {} : { description }),
      ...(parameters === undefined ? {} : { parameters }),
      ...(typeof strict === "boolean" ? { strict } : {}),
    },
    ...(isJsonObject(mark) ? { cache_control: { ...mark, type: "ephemeral" } } : {}),
  }
}

/** The tools by the names that hosts of this form call, which do not join a namespace to it. */
export const toolsAsCalled = ({ tools }: ToolNames): ReadonlyArray<Tool> =>
  tools.map(({ identity: { name } }) => ({ type: "function", function: { name } }))

/** The first tool or item of a checked body that only hosts of this form can carry; `undefined`: there is none. */
export const pathOfUntranslatable = (body: JsonObject, names: ToolNames): string | undefined => {
  const offered = names.hasOnlyFunctions ? undefined : offeredIn(body).find(({ tool }) => isUntranslatable(tool))
  if (offered !== undefined) return pathOfOffered(offered)
  const { input } = body
  const item = Array.isArray(input) ? input.findIndex(isOfComputer) : -1
  return item === -1 ? undefined : `input[${item}]`
}

const isUntranslatable = (tool: JsonObject): boolean =>
  runnerOf(tool) === "client" && tool["type"] !== "namespace" && kindOfTool(tool) === undefined

const isOfComputer = (item: unknown): boolean =>
  isJsonObject(item) && (item["type"] === "computer_call" || item["type"] === "computer_call_output")

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

// --- to a host

/** Without tools a choice among them says nothing, and hosts refuse it. */
export const toolFields = (payload: ChatPayload): JsonObject => {
  const { tools, tool_choice: choice } = payload
  const search = writtenSearch(payload["web_search_options"])
  const listed = [...(tools ?? []).map(toolOf), ...(search === undefined ? [] : [search])]
  if (listed.length === 0) return {}
  return { tools: listed, ...(choice == null ? {} : { tool_choice: choiceOf(choice) }) }
}

/**
 * `strict` is on by default in this form, and off in the canonical one. Tools of other kinds that callers run are alike
 * in both.
 */
const toolOf = (tool: Tool): JsonObject => {
  if (tool.function === undefined) return tool.type === "custom" ? customTool(tool) : tool
  const { name, description, parameters, strict } = tool.function
  return {
    type: "function",
    name,
    ...(typeof description === "string" ? { description } : {}),
    parameters: parameters ?? { type: "object", properties: {} },
    strict: strict ?? false,
  }
}

/** The members of a tool stand beside its type in this form: `{ type: "custom", custom: { ... } }` loses a level. */
const customTool = (tool: JsonObject): JsonObject => {
  const { name, description, format }: JsonObject = isJsonObject(tool["custom"]) ? tool["custom"] : tool
  return {
    type: "custom",
    name,
    ...(typeof description === "string" ? { description } : {}),
    ...(isJsonObject(format) ? { format: formatOfCustom(format) } : {}),
  }
}

/** A grammar stands a level deeper in the canonical form. */
const formatOfCustom = ({ type, grammar, ...rest }: JsonObject): JsonObject =>
  isJsonObject(grammar)
    ? { type: "grammar", syntax: grammar["syntax"], definition: grammar["definition"] }
    : { ...rest, type: type === "text" ? "text" : "grammar" }

const choiceOf = (choice: ToolChoice): unknown => {
  if (typeof choice === "string") return choice
  const { type, allowed_tools: allowed } = choice
  if (type !== "allowed_tools") return namedTool(choice)
  const { mode, tools }: JsonObject = isJsonObject(allowed) ? allowed : choice
  return { type, mode: mode === "required" ? mode : "auto", tools: objectsIn(tools).map(namedTool) }
}

/** A tool by its name, or by its type alone. */
const namedTool = (tool: JsonObject): JsonObject => {
  const { type } = tool
  if (type !== "function" && type !== "custom") return { type }
  const inner = tool[type]
  return { type, name: isJsonObject(inner) ? inner["name"] : tool["name"] }
}

const writtenSearch = (options: unknown): JsonObject | undefined => {
  if (!isJsonObject(options)) return undefined
  const { search_context_size: size, user_location: place } = options
  const { approximate, ...rest }: JsonObject = isJsonObject(place) ? place : {}
  return {
    type: "web_search",
    ...(size == null ? {} : { search_context_size: size }),
    ...(place == null ? {} : { user_location: { ...rest, ...(isJsonObject(approximate) ? approximate : {}) } }),
  }
}

export const writtenFormat = (format: NonNullable<ChatPayload["response_format"]>): JsonObject =>
  format.json_schema === undefined ? format : { ...format.json_schema, type: format.type }
