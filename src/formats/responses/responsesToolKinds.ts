/**
 * The kinds of tools that the caller of a Responses request runs: how each is offered as a function to hosts of other
 * forms, and which items its calls and results are. Members are those of the vendor's types (npm package `openai`,
 * 7.55). See docs/decisions/0052-tools-of-the-caller.md.
 */

import {
  anyObject,
  anything,
  type Check,
  exactly,
  filledText,
  hasMember,
  listOf,
  objectOf,
  oneOf,
  refined,
  report,
  text,
} from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject, objectsIn, textOr } from "../../domain/json/json.ts"
import type { Content } from "../../domain/request/chat.ts"
import { runnerOf } from "../../domain/request/hostedTools.ts"
import { innerJson } from "../../wire/jsonDepth.ts"
import { functionOfCustom, hasGrammar, jsonOfInput } from "../customTools.ts"
import type { Dropped } from "../request/Dropped.ts"
import { inputContent, translatedContent } from "./responsesParts.ts"

/** What makes a tool of the caller the one that it is: no two have all three. */
export interface ToolIdentity {
  readonly kind: CallerToolKind
  readonly name: string
  /** `undefined`: it stands in none. */
  readonly namespace: string | undefined
}

/** The function that a host of another form is sent for a tool, without its name. */
interface OfferedFunction {
  readonly description: string | undefined
  /** JSON Schema of the arguments; `undefined`: it takes none. */
  readonly parameters: JsonObject | undefined
}

/** An item that is a call or a result. `members`: those that are carried. */
interface ItemOfTool {
  readonly type: string
  readonly check: Check
  readonly members: ReadonlySet<string>
}

export interface CallerToolKind {
  /** Of the tool. */
  readonly type: string
  /** Whether it has a name of its own, and may stand in a namespace. Others are called by their type. */
  readonly isNamed: boolean
  /** Members of the tool that are carried. */
  readonly members: ReadonlySet<string>
  readonly offered: (tool: JsonObject) => OfferedFunction
  /** The item that is a call. `id`: the prefix of ids that the gateway makes for it. */
  readonly call: ItemOfTool & { readonly id: CallId }
  readonly result: ItemOfTool
  /** The arguments of a call, as the JSON of a function. */
  readonly argumentsOf: (call: JsonObject) => string
  /** What a result says. `path`: of the item. */
  readonly contentOf: (result: JsonObject, path: string, dropped: Dropped) => Content
  /** The member that is streamed in deltas (`callInputs`). Absent: the item comes as a whole. */
  readonly streamed?: "arguments" | "input"
  /**
   * Members of the item of a call. `text`: its arguments as the host wrote them; of a custom tool the text of its
   * input.
   */
  readonly itemOf: (text: string) => JsonObject
  /** Whether the vendor knows no status `incomplete` of its calls. Default false. */
  readonly hasNoIncomplete?: boolean
}

export type CallId = "fc" | "ctc" | "tsc" | "lsh" | "sh" | "apc"

/** Of the checks of items: what the item carries beside its type, id and status. */
const itemOfTool = (type: string, members: Readonly<Record<string, Check>>, ...required: ReadonlyArray<string>) => ({
  type,
  check: objectOf(members, ...required),
  members: new Set(["type", "id", "status", ...Object.keys(members)]),
})

const callOf = (
  type: string,
  id: CallId,
  members: Readonly<Record<string, Check>>,
  ...required: ReadonlyArray<string>
) => ({
  id,
  ...itemOfTool(type, { call_id: filledText, ...members }, "call_id", ...required),
})

const resultOf = (type: string, members: Readonly<Record<string, Check>>, ...required: ReadonlyArray<string>) =>
  itemOfTool(type, { call_id: filledText, ...members }, "call_id", ...required)

// A model may call a tool without a name.
const named = { name: text, namespace: anything }

/** A search that the host has run is never asked for by this gateway, so there is none in a conversation. */
export const byClient = exactly("client", 'must be "client": this gateway passes on no search of tools that hosts run')

/** The vendor's types have the call's id in `id`. */
const localResult = itemOfTool(
  "local_shell_call_output",
  { id: filledText, call_id: filledText, output: text },
  "output",
)
const localOutput = refined(
  localResult.check,
  { anyOf: [hasMember("id"), hasMember("call_id")] },
  (value, path, issues) => {
    if (isJsonObject(value) && value["id"] == null && value["call_id"] == null)
      report(issues, `${path}.call_id`, "is required")
  },
)

const patch = objectOf({ type: oneOf("create_file", "update_file", "delete_file"), path: text }, "type", "path")

const outputContent = (result: JsonObject, path: string, dropped: Dropped): Content =>
  translatedContent(result["output"], `${path}.output`, dropped)

const texts = { type: "array", items: { type: "string" } }
const milliseconds = { type: "integer", description: "Time limit in milliseconds." }

const schemaOf = (properties: JsonObject, ...required: ReadonlyArray<string>): JsonObject => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
})

/** The arguments as an object; `undefined`: the model wrote something else, or nested it too deeply. */
const argumentsIn = (given: string): JsonObject | undefined => {
  const parsed = innerJson(given)
  return isJsonObject(parsed) ? parsed : undefined
}

const without = (object: JsonObject, name: string): JsonObject => {
  const { [name]: _, ...rest } = object
  return rest
}

const textsIn = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.map((part) => (typeof part === "string" ? part : JSON.stringify(part))) : []

/**
 * Without marks of arguments that hosts of this form encrypt (`formats/responses/responsesParts.ts`), which are no
 * keyword of JSON Schema.
 */
const readableSchema = (schema: JsonObject): JsonObject => {
  const { properties } = schema
  if (!isJsonObject(properties) || !Object.values(properties).some(isMarked)) return schema
  const unmarked = Object.entries(properties).map(([name, value]) => [
    name,
    isMarked(value) ? without(value, "encrypted") : value,
  ])
  return { ...schema, properties: Object.fromEntries(unmarked) }
}

const isMarked = (value: unknown): value is JsonObject => isJsonObject(value) && value["encrypted"] === true

export const functionKind: CallerToolKind = {
  type: "function",
  isNamed: true,
  members: new Set(["type", "name", "description", "parameters", "strict", "cache_control"]),
  offered: ({ description, parameters }) => ({
    description: textOr(description, undefined),
    parameters: isJsonObject(parameters) ? readableSchema(parameters) : undefined,
  }),
  call: callOf("function_call", "fc", { ...named, arguments: text }, "name", "arguments"),
  result: resultOf("function_call_output", { ...named, name: anything, output: inputContent }, "output"),
  argumentsOf: (call) => textOr(call["arguments"], ""),
  contentOf: outputContent,
  streamed: "arguments",
  itemOf: (text) => ({ arguments: text }),
}

const customKind: CallerToolKind = {
  type: "custom",
  isNamed: true,
  members: new Set(["type", "name", "description", "format"]),
  offered: functionOfCustom,
  call: callOf("custom_tool_call", "ctc", { ...named, input: text }, "name", "input"),
  result: resultOf("custom_tool_call_output", { ...named, name: anything, output: inputContent }, "output"),
  argumentsOf: (call) => jsonOfInput(textOr(call["input"], "")),
  contentOf: outputContent,
  streamed: "input",
  itemOf: (text) => ({ input: text }),
}

const searchKind: CallerToolKind = {
  type: "tool_search",
  isNamed: false,
  members: new Set(["type", "execution", "description", "parameters"]),
  offered: ({ description, parameters }) => ({
    description: textOr(description, "Finds further tools, which can be called from then on."),
    parameters: isJsonObject(parameters) ? parameters : { type: "object" },
  }),
  call: callOf("tool_search_call", "tsc", { execution: byClient, arguments: anything }, "arguments"),
  // Its tools are checked with the others (`responsesToolItems.ts`).
  result: resultOf("tool_search_output", { execution: byClient, tools: anything, output: anything }, "tools"),
  argumentsOf: ({ arguments: given }) => (typeof given === "string" ? given : JSON.stringify(given ?? {})),
  // The tools that were found have names that only the request knows: `resultOf` in `responsesToolItems.ts`.
  contentOf: () => "",
  itemOf: (text) => ({ execution: "client", arguments: text === "" ? {} : (argumentsIn(text) ?? text) }),
}

const localShellKind: CallerToolKind = {
  type: "local_shell",
  isNamed: false,
  members: new Set(["type"]),
  offered: () => ({
    description: "Runs a command on the user's machine.",
    parameters: schemaOf(
      {
        command: { ...texts, description: "The program and its arguments." },
        env: { type: "object", additionalProperties: { type: "string" }, description: "Environment variables." },
        timeout_ms: milliseconds,
        user: { type: "string", description: "Whom to run it as." },
        working_directory: { type: "string" },
      },
      "command",
    ),
  }),
  call: callOf("local_shell_call", "lsh", { action: objectOf({ command: listOf(text) }, "command") }, "action"),
  result: { ...localResult, check: localOutput },
  argumentsOf: ({ action }) => JSON.stringify(isJsonObject(action) ? without(action, "type") : {}),
  contentOf: outputContent,
  itemOf: (text) => {
    const { command, env, ...rest } = argumentsIn(text) ?? {}
    // A command line, not a list of words, is meant for a shell.
    const words = typeof command === "string" ? ["bash", "-lc", command] : textsIn(command)
    return { action: { type: "exec", ...without(rest, "type"), command: words, env: isJsonObject(env) ? env : {} } }
  },
}

/** What a shell is good for, as lines of its description. */
const skillsOf = (environment: unknown): ReadonlyArray<string> => {
  const skills = objectsIn(isJsonObject(environment) ? environment["skills"] : undefined)
  const lines = skills.map(({ name, path, description }) => `- ${name} (${path}): ${description}`)
  return lines.length === 0 ? [] : ["Skills, each described by the files at its path:", ...lines]
}

const shellKind: CallerToolKind = {
  type: "shell",
  isNamed: false,
  members: new Set(["type", "environment"]),
  offered: ({ environment }) => ({
    description: ["Runs commands in a shell on the user's machine.", ...skillsOf(environment)].join("\n"),
    parameters: schemaOf(
      {
        commands: { ...texts, description: "Command lines." },
        timeout_ms: milliseconds,
        max_output_length: { type: "integer", description: "The most characters of output to give back." },
      },
      "commands",
    ),
  }),
  call: callOf(
    "shell_call",
    "sh",
    { action: objectOf({ commands: listOf(text) }, "commands"), environment: anything },
    "action",
  ),
  result: resultOf("shell_call_output", { output: listOf(anyObject), max_output_length: anything }, "output"),
  argumentsOf: ({ action }) => JSON.stringify(isJsonObject(action) ? action : {}),
  contentOf: ({ output }) => (typeof output === "string" ? output : JSON.stringify(output)),
  itemOf: (text) => {
    const { commands, timeout_ms, max_output_length, ...rest } = argumentsIn(text) ?? {}
    const lines = typeof commands === "string" ? [commands] : textsIn(commands)
    return {
      action: {
        ...rest,
        commands: lines,
        timeout_ms: timeout_ms ?? null,
        max_output_length: max_output_length ?? null,
      },
      environment: { type: "local" },
    }
  },
}

const patchKind: CallerToolKind = {
  type: "apply_patch",
  isNamed: false,
  members: new Set(["type"]),
  offered: () => ({
    description: "Creates, updates or deletes a file by a unified diff.",
    parameters: schemaOf(
      {
        type: { type: "string", enum: ["create_file", "update_file", "delete_file"] },
        path: { type: "string", description: "Of the file, relative to the workspace." },
        diff: { type: "string", description: "The unified diff. Not for delete_file." },
      },
      "type",
      "path",
    ),
  }),
  call: callOf("apply_patch_call", "apc", { operation: patch }, "operation"),
  result: resultOf("apply_patch_call_output", { status: oneOf("completed", "failed"), output: text }, "status"),
  argumentsOf: ({ operation }) => JSON.stringify(isJsonObject(operation) ? operation : {}),
  contentOf: ({ status, output }) =>
    typeof output === "string" && output !== "" ? `${textOr(status, "")}: ${output}` : textOr(status, ""),
  itemOf: (text) => {
    const { type, path, diff, ...rest } = argumentsIn(text) ?? {}
    const isDelete = type === "delete_file"
    return {
      operation: {
        ...rest,
        type: textOr(type, "update_file"),
        path: textOr(path, ""),
        ...(isDelete ? {} : { diff: textOr(diff, "") }),
      },
    }
  },
  hasNoIncomplete: true,
}

export const callerToolKinds: ReadonlyArray<CallerToolKind> = [
  ...[functionKind, customKind, searchKind, localShellKind, shellKind, patchKind],
]

const byTool: ReadonlyMap<unknown, CallerToolKind> = new Map(callerToolKinds.map((kind) => [kind.type, kind]))
const byCall: ReadonlyMap<unknown, CallerToolKind> = new Map(callerToolKinds.map((kind) => [kind.call.type, kind]))
const byResult: ReadonlyMap<unknown, CallerToolKind> = new Map(callerToolKinds.map((kind) => [kind.result.type, kind]))

/**
 * The kind of a tool; `undefined`: the caller does not run it, it is a namespace, or only hosts of this form know it.
 */
export const kindOfTool = (tool: JsonObject): CallerToolKind | undefined => {
  const kind = byTool.get(tool["type"])
  return kind === undefined || kind === functionKind || runnerOf(tool) === "client" ? kind : undefined
}

/** The kind of tools that a choice names by its type. */
export const kindOfChoice = (type: unknown): CallerToolKind | undefined => byTool.get(type)

/** The kind whose call an item is. */
export const kindOfCall = (item: JsonObject): CallerToolKind | undefined => byCall.get(item["type"])

/** The kind whose result an item is. */
export const kindOfResult = (item: JsonObject): CallerToolKind | undefined => byResult.get(item["type"])

/** The tool that a tool, a call or a choice of this kind names. */
export const identityOf = (kind: CallerToolKind, { name, namespace }: JsonObject): ToolIdentity => ({
  kind,
  name: kind.isNamed ? textOr(name, "") : kind.type,
  namespace: kind.isNamed && typeof namespace === "string" && namespace !== "" ? namespace : undefined,
})

/** Whether a custom tool asks for more than text. */
export const asksGrammar = (tool: JsonObject): boolean => tool["type"] === "custom" && hasGrammar(tool)

/** Tools within a namespace. */
export const membersOf = (space: JsonObject): ReadonlyArray<JsonObject> => objectsIn(space["tools"])
