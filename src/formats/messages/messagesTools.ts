/**
 * Tools of the Messages format and the choice among them: their checks, and both ways to and from the canonical ones.
 */

import {
  anyObject,
  type Check,
  type CheckFunction,
  checkOf,
  described,
  filledText,
  flag,
  hasMember,
  listOf,
  objectOf,
  oneOf,
  quoted,
  refined,
  report,
  text,
} from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject, objectIn } from "../../domain/json/json.ts"
import type { ChatPayload, FunctionTool, Tool, ToolChoice } from "../../domain/request/chat.ts"
import { runnerOf } from "../../domain/request/hostedTools.ts"
import { offeredTools } from "../plainTools.ts"
import type { Dropped } from "../request/Dropped.ts"
import { most, sharedMembers } from "../request/members.ts"
import { reachesNothing } from "../request/operatorMembers.ts"
import { toolName } from "../request/toolNames.ts"
import { cacheMark } from "./messagesMedia.ts"
import { exactSchema } from "./messagesSchema.ts"

const customTool = objectOf(
  {
    name: toolName,
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

/** A tool. Whether a host may run one itself is decided for each host (`src/formats/request/hosted.ts`). */
const checkTool = checkOf(toolSchema, (value, path, issues) => {
  if (!isJsonObject(value)) return report(issues, path, "must be an object")
  const { type } = value
  if (isCustom(value)) customTool(value, path, issues)
  else if (typeof type !== "string") report(issues, `${path}.type`, "must be a string")
})

/** A tool that is defined within the conversation. The caller must run it: no host is chosen for it. */
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

/** The check of an object in which a type requires another member. */
export const requiredWhere = (shape: Check, type: string, member: string): Check =>
  refined(
    shape,
    { anyOf: [{ not: { properties: { type: { const: type } } } }, { required: [member] }] },
    (value, path, issues) => {
      if (isJsonObject(value) && value["type"] === type && value[member] === undefined)
        report(issues, `${path}.${member}`, "is required")
    },
  )

export const toolChoice = requiredWhere(choiceShape, "tool", "name")

/** Members of a custom tool that the canonical form has no counterpart for. */
const untranslatedMembers = ["input_examples", "eager_input_streaming", "defer_loading", "allowed_callers"]

/** A checked `cache_control`. */
export const isMark = (mark: unknown): mark is NonNullable<FunctionTool["cache_control"]> => isJsonObject(mark)

/** Names the scope of a mark, which hosts of other forms lack (`cacheMark`). `path`: of what is marked. */
export const nameLostScope = (mark: unknown, path: string, untranslated: Dropped): void => {
  if (objectIn(mark)["scope"] != null) untranslated.push(`${path}.cache_control.scope`)
}

/** A checked tool in the canonical form. Anthropic's own keep their form: a host of another one cannot have them. */
export const readTool = (tool: JsonObject, path: string, untranslated: Dropped): Tool => {
  const { function: _, type, ...others } = tool
  if (!isCustom(tool)) return { ...others, type: String(type) }
  for (const member of untranslatedMembers) if (tool[member] != null) untranslated.push(`${path}.${member}`)
  const { name, description, input_schema: schema, strict, cache_control: mark } = tool
  nameLostScope(mark, path, untranslated)
  return {
    type: "function",
    function: {
      name: String(name),
      ...(typeof description === "string" ? { description } : {}),
      ...(isJsonObject(schema) ? { parameters: schema } : {}),
      ...(typeof strict === "boolean" ? { strict } : {}),
    },
    ...(isMark(mark) ? { cache_control: mark } : {}),
  }
}

/** A function tool is translated. Other kinds are Anthropic's own, or will be refused by the host. */
const writtenTool = (tool: Tool, isStrict: boolean): JsonObject => {
  if (tool.function === undefined) return tool
  const { name, description, parameters } = tool.function
  const mark = tool["cache_control"] ?? tool.function["cache_control"]
  const schema = isJsonObject(parameters) ? { type: "object", ...parameters } : { type: "object", properties: {} }
  return {
    name,
    ...(typeof description === "string" ? { description } : {}),
    input_schema: isStrict ? exactSchema(schema) : schema,
    ...(isStrict ? { strict: true } : {}),
    ...cacheMark({ cache_control: mark }),
  }
}

/** A checked choice in the canonical form. */
export const readChoice = (choice: JsonObject): Pick<ChatPayload, "tool_choice" | "parallel_tool_calls"> => {
  const { type, name, disable_parallel_tool_use: isAlone } = choice
  const parallel = typeof isAlone === "boolean" ? { parallel_tool_calls: !isAlone } : {}
  if (type === "tool") return { tool_choice: { type: "function", function: { name } }, ...parallel }
  return { tool_choice: type === "any" ? "required" : type === "none" ? "none" : "auto", ...parallel }
}

const writtenChoice = (choice: ToolChoice | null | undefined, isAlone: boolean): JsonObject | undefined => {
  const alone = isAlone ? { disable_parallel_tool_use: true } : {}
  if (choice === "none") return { type: "none" }
  if (choice === "required") return { type: "any", ...alone }
  if (choice == null && !isAlone) return undefined
  if (choice == null || choice === "auto") return { type: "auto", ...alone }
  const named = choice["function"]
  return isJsonObject(named) ? { type: "tool", name: named["name"], ...alone } : { ...choice, ...alone }
}

/** The members for a host, and the places of what it is not sent. Without tools it refuses a choice. */
export const writtenTools = (
  payload: ChatPayload,
  takesSchemas: boolean,
): { readonly fields: JsonObject; readonly dropped: ReadonlyArray<string> } => {
  const { tools, choice: wanted, dropped } = offeredTools(payload)
  if (tools.length === 0) return { fields: {}, dropped }
  const choice = writtenChoice(wanted, payload.parallel_tool_calls === false)
  const isStrict = (tool: Tool): boolean => tool.function?.strict === true
  // Models without structured outputs refuse `strict`.
  const loose = tools.flatMap(([at, tool]) => (isStrict(tool) && !takesSchemas ? [`tools[${at}].function.strict`] : []))
  return {
    fields: {
      tools: tools.map(([, tool]) => writtenTool(tool, isStrict(tool) && takesSchemas)),
      ...(choice === undefined ? {} : { tool_choice: choice }),
    },
    dropped: [...dropped, ...loose],
  }
}

/** Whether a tool must be called. */
export const isForced = (choice: unknown): boolean => {
  const { type } = objectIn(choice)
  return type === "any" || type === "tool"
}

/** The first tool that only a host of the form can have. */
export const ownToolAmong = (tools: ReadonlyArray<unknown>): number =>
  tools.findIndex((tool) => isJsonObject(tool) && !isCustom(tool) && runnerOf(tool) === "client")
