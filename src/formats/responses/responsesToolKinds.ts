/**
 * The kinds of tools that the caller of a Responses request runs: how each is offered as a function to hosts of other forms, and
 * which items its calls and results are. Members are those of the vendor's types (npm package `openai`, 7.55).
 * See docs/decisions/0052-tools-of-the-caller.md.
 */

import { isJsonObject, type JsonObject, objectsIn, textOr } from "../../domain/json/json.ts"
import type { Content } from "../../domain/request/chat.ts"
import { runnerOf } from "../../domain/request/hostedTools.ts"
import { innerJson } from "../../wire/jsonDepth.ts"
import { functionOfCustom, hasGrammar, jsonOfInput } from "../customTools.ts"
import type { Dropped } from "../request/Dropped.ts"
import { translatedContent } from "./responsesParts.ts"

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

export interface CallerToolKind {
  /** Of the tool. */
  readonly type: string
  /** Whether it has a name of its own, and may stand in a namespace. Others are called by their type. */
  readonly isNamed: boolean
  /** Members of the tool that are carried. */
  readonly members: ReadonlySet<string>
  readonly offered: (tool: JsonObject) => OfferedFunction
  /** Of an item that is a call. `id`: how ids of ours begin. `members`: those that are carried, beside its type, ids and status. */
  readonly call: { readonly type: string; readonly id: CallId; readonly members: ReadonlySet<string> }
  /** Of an item that is a result. */
  readonly result: { readonly type: string; readonly members: ReadonlySet<string> }
  /** The arguments of a call, as the JSON of a function. */
  readonly argumentsOf: (call: JsonObject) => string
  /** What a result says. `path`: of the item. */
  readonly contentOf: (result: JsonObject, path: string, dropped: Dropped) => Content
  /** The member that is streamed in deltas (`callInputs`). Absent: the item comes as a whole. */
  readonly streamed?: "arguments" | "input"
  /** Members of the item of a call. `text`: its arguments as the host wrote them; of a custom tool the text of its input. */
  readonly itemOf: (text: string) => JsonObject
  /** Whether the vendor knows no status `incomplete` of its calls. Default false. */
  readonly hasNoIncomplete?: boolean
}

export type CallId = "fc" | "ctc" | "tsc" | "lsh" | "sh" | "apc"

const callMembers = (...more: ReadonlyArray<string>): ReadonlySet<string> =>
  new Set(["type", "id", "status", "call_id", ...more])

const resultMembers = (...more: ReadonlyArray<string>): ReadonlySet<string> =>
  new Set(["type", "id", "status", "call_id", "output", ...more])

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
const objectOf = (given: string): JsonObject | undefined => {
  const parsed = innerJson(given)
  return isJsonObject(parsed) ? parsed : undefined
}

const without = (object: JsonObject, name: string): JsonObject => {
  const { [name]: _, ...rest } = object
  return rest
}

const textsIn = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.map((part) => (typeof part === "string" ? part : JSON.stringify(part))) : []

/** Without marks of arguments that hosts of this form encrypt (`formats/responses/responsesParts.ts`), which are no keyword of JSON Schema. */
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
  call: { type: "function_call", id: "fc", members: callMembers("name", "namespace", "arguments") },
  result: { type: "function_call_output", members: resultMembers("name", "namespace") },
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
  call: { type: "custom_tool_call", id: "ctc", members: callMembers("name", "namespace", "input") },
  result: { type: "custom_tool_call_output", members: resultMembers("name", "namespace") },
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
  call: { type: "tool_search_call", id: "tsc", members: callMembers("execution", "arguments") },
  result: { type: "tool_search_output", members: resultMembers("execution", "tools") },
  argumentsOf: ({ arguments: given }) => (typeof given === "string" ? given : JSON.stringify(given ?? {})),
  // The tools that were found have names that only the request knows: `resultOf` in `responsesToolItems.ts`.
  contentOf: () => "",
  itemOf: (text) => ({ execution: "client", arguments: text === "" ? {} : (objectOf(text) ?? text) }),
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
  call: { type: "local_shell_call", id: "lsh", members: callMembers("action") },
  result: { type: "local_shell_call_output", members: resultMembers() },
  argumentsOf: ({ action }) => JSON.stringify(isJsonObject(action) ? without(action, "type") : {}),
  contentOf: outputContent,
  itemOf: (text) => {
    const { command, env, ...rest } = objectOf(text) ?? {}
    // A line in place of a list is meant for a shell.
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
  call: { type: "shell_call", id: "sh", members: callMembers("action", "environment") },
  result: { type: "shell_call_output", members: resultMembers("max_output_length") },
  argumentsOf: ({ action }) => JSON.stringify(isJsonObject(action) ? action : {}),
  contentOf: ({ output }) => (typeof output === "string" ? output : JSON.stringify(output)),
  itemOf: (text) => {
    const { commands, timeout_ms, max_output_length, ...rest } = objectOf(text) ?? {}
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
  call: { type: "apply_patch_call", id: "apc", members: callMembers("operation") },
  result: { type: "apply_patch_call_output", members: resultMembers() },
  argumentsOf: ({ operation }) => JSON.stringify(isJsonObject(operation) ? operation : {}),
  contentOf: ({ status, output }) =>
    typeof output === "string" && output !== "" ? `${textOr(status, "")}: ${output}` : textOr(status, ""),
  itemOf: (text) => {
    const { type, path, diff, ...rest } = objectOf(text) ?? {}
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

const callerToolKinds: ReadonlyArray<CallerToolKind> = [
  ...[functionKind, customKind, searchKind, localShellKind, shellKind, patchKind],
]

const byTool: ReadonlyMap<unknown, CallerToolKind> = new Map(callerToolKinds.map((kind) => [kind.type, kind]))
const byCall: ReadonlyMap<unknown, CallerToolKind> = new Map(callerToolKinds.map((kind) => [kind.call.type, kind]))
const byResult: ReadonlyMap<unknown, CallerToolKind> = new Map(callerToolKinds.map((kind) => [kind.result.type, kind]))

/** The kind of a tool; `undefined`: the caller does not run it, it is a namespace, or only hosts of this form know it. */
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
