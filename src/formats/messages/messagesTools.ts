/** Tools of the Messages form, and the choice among them. */

import {
  anyObject,
  type CheckFunction,
  checkOf,
  described,
  filledText,
  flag,
  hasMember,
  type JsonSchema,
  listOf,
  matching,
  objectOf,
  oneOf,
  quoted,
  refined,
  report,
  text,
} from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { FunctionTool, HostTool, Tool, ToolChoice } from "../../domain/request/chat.ts"
import { runnerOf } from "../../domain/request/hostedTools.ts"
import type { Dropped } from "../request/Dropped.ts"
import { most, sharedMembers } from "../request/members.ts"
import { reachesNothing } from "../request/operatorMembers.ts"

const name = matching(/^[a-zA-Z0-9_-]{1,128}$/, "must be 1 to 128 letters, digits, underscores and dashes")

const customTool = objectOf(
  {
    name,
    description: text,
    input_schema: described("JSON Schema of the input.", anyObject),
    strict: flag,
    cache_control: sharedMembers.cache_control,
  },
  "name",
  "input_schema",
)

export const isCustom = (tool: JsonObject): boolean => tool["type"] == null || tool["type"] === "custom"

const toolSchema = {
  anyOf: [
    { allOf: [customTool.schema, { properties: { type: { enum: ["custom", null] } } }] },
    { allOf: [reachesNothing, hasMember("type", { type: "string", not: { const: "custom" } })] },
  ],
}

/** A tool. Those that hosts run are judged for each host (`src/formats/request/hosted.ts`). */
const checkTool = checkOf(toolSchema, (value, path, issues) => {
  if (!isJsonObject(value)) return report(issues, path, "must be an object")
  const { type } = value
  if (isCustom(value)) customTool(value, path, issues)
  else if (typeof type !== "string") report(issues, `${path}.type`, "must be a string")
})

/** One that is defined amid the conversation is for the caller to run: hosts cannot be chosen by it. */
export const checkLaterTool: CheckFunction = (value, path, issues) => {
  checkTool(value, path, issues)
  if (isJsonObject(value) && runnerOf(value) !== "client")
    report(issues, `${path}.type`, `${quoted(String(value["type"]))} is a tool that hosts run: offer it in tools`)
}

export const tools = listOf(checkTool, most.tools)

const choiceShape = objectOf(
  {
    type: oneOf("auto", "any", "tool", "none"),
    name: described("Required where type is tool.", filledText),
    disable_parallel_tool_use: flag,
  },
  "type",
)

/** Where `type` has this value, another member must be given. */
export const needsWhere = (type: string, member: string): JsonSchema => ({
  anyOf: [{ not: { properties: { type: { const: type } } } }, { required: [member] }],
})

export const toolChoice = refined(choiceShape, needsWhere("tool", "name"), (value, path, issues) => {
  if (isJsonObject(value) && value["type"] === "tool" && value["name"] === undefined) {
    report(issues, `${path}.name`, "is required")
  }
})

/** Members of a custom tool that the canonical form has no counterpart for. */
const untranslatedMembers = ["input_examples", "eager_input_streaming", "defer_loading", "allowed_callers"]

/** A checked tool in the canonical form. Anthropic's own keep their form: a host of another one cannot have them. */
export const toolOf = (tool: JsonObject, path: string, untranslated: Dropped): Tool => {
  if (!isCustom(tool)) return hostTool(tool)
  for (const member of untranslatedMembers) if (tool[member] != null) untranslated.push(`${path}.${member}`)
  return functionTool(tool)
}

const hostTool = ({ function: _, type, ...rest }: JsonObject): HostTool => ({ ...rest, type: String(type) })

const functionTool = ({
  name,
  description,
  input_schema: schema,
  strict,
  cache_control: mark,
}: JsonObject): FunctionTool => ({
  type: "function",
  function: {
    name: String(name),
    ...(typeof description === "string" ? { description } : {}),
    ...(isJsonObject(schema) ? { parameters: schema } : {}),
    ...(typeof strict === "boolean" ? { strict } : {}),
  },
  ...(isMark(mark) ? { cache_control: mark } : {}),
})

/** A checked `cache_control`. */
export const isMark = (mark: unknown): mark is NonNullable<FunctionTool["cache_control"]> => isJsonObject(mark)

/** A checked choice in the canonical form. */
export const choiceOf = (choice: JsonObject): ToolChoice => {
  switch (choice["type"]) {
    case "any":
      return "required"
    case "none":
      return "none"
    case "tool":
      return { type: "function", function: { name: choice["name"] } }
    default:
      return "auto"
  }
}

export const parallelOf = (choice: JsonObject): { readonly parallel_tool_calls?: boolean } =>
  typeof choice["disable_parallel_tool_use"] === "boolean"
    ? { parallel_tool_calls: !choice["disable_parallel_tool_use"] }
    : {}

/** The first tool that only a host of the form can have. */
export const ownToolAmong = (tools: ReadonlyArray<unknown>): number =>
  tools.findIndex((tool) => isJsonObject(tool) && !isCustom(tool) && runnerOf(tool) === "client")
