/** The tools of a request and the choice among them. */
import {
  type ChatPayload,
  type Conversation,
  exactSchema,
  type Host,
  isJsonObject,
  type JsonObject,
  objectIn,
  offeredTools,
  type Tool,
  type Turn,
  Unsupported,
} from "headgate/plugin"
import type { Family } from "../model.ts"
import { cachePoint } from "./converseMessages.ts"
import { novaSchema } from "./novaSchema.ts"

export interface Tools {
  /** `undefined`: there are none. */
  readonly config: JsonObject | undefined
  /** For `additionalModelRequestFields`. */
  readonly additional: JsonObject
  /** Whether a tool must be called. */
  readonly forced: boolean
  /** What the host is not told of them. */
  readonly dropped: ReadonlyArray<string>
}

export const toolsOf = (
  payload: ChatPayload,
  { turns }: Conversation,
  family: Family,
  host: Host,
): Tools | Unsupported => {
  const { tools, choice: wanted, dropped } = offeredTools(payload)
  const isOffered = tools.length > 0 && wanted !== "none"
  const called = isOffered ? [] : calledIn(turns)
  const none = { config: undefined, additional: {}, forced: false, dropped }
  if (!isOffered && called.length === 0) return none
  const written: Array<JsonObject> = []
  const lost = [...dropped]
  for (const [at, tool] of tools) {
    const spec = toolSpec(tool, host, family)
    if (spec === undefined) return new Unsupported({ path: `tools[${at}]`, reason: "this host takes functions only" })
    if (tool.function?.strict === true && !takesSchemas(host)) lost.push(`tools[${at}].function.strict`)
    const mark = { cache_control: tool["cache_control"] ?? tool.function?.["cache_control"] }
    written.push(spec, ...(family === "nova" ? [] : cachePoint(mark, family)))
  }
  if (!isOffered) {
    const config = { tools: written.length > 0 ? written : called }
    // Only Claude can be told that no more are to be called.
    if (family === "claude") return { ...none, config, additional: { tool_choice: { type: "none" } }, dropped: lost }
    return { ...none, config, dropped: wanted === "none" ? [...lost, "tool_choice"] : lost }
  }
  const choice = choiceOf(wanted)
  if (choice instanceof Unsupported) return choice
  const forced = choice !== undefined && choice["auto"] === undefined
  return payload.parallel_tool_calls === false && family === "claude"
    ? { config: { tools: written }, additional: { tool_choice: oneAtATime(choice) }, forced, dropped: lost }
    : {
        ...none,
        config: { tools: written, ...(choice === undefined ? {} : { toolChoice: choice }) },
        forced,
        dropped: lost,
      }
}

/**
 * The tools that a conversation calls. The host refuses one with calls when there are no tools, as in the summary that
 * an agent asks for, so these are declared.
 */
const calledIn = (turns: ReadonlyArray<Turn>): ReadonlyArray<JsonObject> => {
  const calls = turns.flatMap(({ content }) => content.flatMap(({ toolUse }) => toolUse ?? []))
  const names = new Set(calls.map((call) => objectIn(call)["name"]))
  const inputSchema = { json: { type: "object", properties: {} } }
  return [...names].map((name) => ({ toolSpec: { name, inputSchema } }))
}

const toolSpec = (tool: Tool, host: Host, family: Family): JsonObject | undefined => {
  if (tool.function === undefined) return undefined
  const { name, description, parameters, strict } = tool.function
  const schema = { type: "object", ...(isJsonObject(parameters) ? parameters : { properties: {} }) }
  const isStrict = strict === true && takesSchemas(host)
  return {
    toolSpec: {
      name,
      ...(typeof description === "string" && description !== "" ? { description } : {}),
      inputSchema: { json: family === "nova" ? novaSchema(schema) : isStrict ? exactSchema(schema) : schema },
      ...(isStrict ? { strict } : {}),
    },
  }
}

/** Models without structured outputs refuse `strict`. */
const takesSchemas = ({ supportedParameters }: Host): boolean => supportedParameters.includes("structured_outputs")

const choiceOf = (choice: ChatPayload["tool_choice"]): JsonObject | undefined | Unsupported => {
  if (choice == null || choice === "none") return undefined
  if (choice === "auto") return { auto: {} }
  if (choice === "required") return { any: {} }
  const named: unknown = isJsonObject(choice) ? choice["function"] : undefined
  if (isJsonObject(named)) return { tool: { name: named["name"] } }
  return new Unsupported({ path: "tool_choice", reason: "this host knows auto, required and one function only" })
}

/** Claude's own word for the choice, since Converse cannot say that calls must not be parallel. */
const oneAtATime = (choice: JsonObject | undefined): JsonObject => {
  const [type, details] = Object.entries(choice ?? {})[0] ?? ["auto"]
  return { type, ...objectIn(details), disable_parallel_tool_use: true }
}
