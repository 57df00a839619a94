/** The tools of a request and the choice among them. */
import { type ChatPayload, type Host, isJsonObject, type JsonObject, type Tool, Unsupported } from "headgate/plugin"
import type { Family } from "../model.ts"
import { type Conversation, cachePoint, has } from "./content.ts"

export interface Tools {
  /** `undefined`: there are none. */
  readonly config: JsonObject | undefined
  /** For `additionalModelRequestFields`. */
  readonly additional: JsonObject
  /** Whether a tool must be called. */
  readonly forced: boolean
}

const noTools: Tools = { config: undefined, additional: {}, forced: false }

export const toolsOf = (
  payload: ChatPayload,
  { turns }: Conversation,
  family: Family,
  host: Host,
): Tools | Unsupported => {
  const { tools, tool_choice: wanted, parallel_tool_calls: parallel } = payload
  const forbidden = wanted === "none"
  if (tools == null || tools.length === 0 || forbidden) {
    // The host refuses a conversation with calls when there are no tools, and has no way to forbid further ones.
    if (!turns.some((turn) => has(turn, "toolUse", "toolResult"))) return noTools
    const reason = `this host needs tools that may be called where the conversation has calls`
    return new Unsupported({ path: forbidden ? "tool_choice" : "tools", reason })
  }
  const written: Array<JsonObject> = []
  for (const [at, tool] of tools.entries()) {
    const spec = toolSpec(tool, host)
    if (spec === undefined) return new Unsupported({ path: `tools[${at}]`, reason: "this host takes functions only" })
    written.push(
      spec,
      ...cachePoint({ cache_control: tool["cache_control"] ?? tool.function?.["cache_control"] }, family),
    )
  }
  const choice = choiceOf(wanted)
  if (choice instanceof Unsupported) return choice
  const forced = choice !== undefined && choice["auto"] === undefined
  if (parallel === false && family === "claude") {
    return { config: { tools: written }, additional: { tool_choice: oneAtATime(choice) }, forced }
  }
  return { config: { tools: written, ...(choice === undefined ? {} : { toolChoice: choice }) }, additional: {}, forced }
}

const toolSpec = (tool: Tool, host: Host): JsonObject | undefined => {
  if (tool.function === undefined) return undefined
  const { name, description, parameters, strict } = tool.function
  return {
    toolSpec: {
      name,
      ...(typeof description === "string" && description !== "" ? { description } : {}),
      inputSchema: { json: { type: "object", ...(isJsonObject(parameters) ? parameters : { properties: {} }) } },
      // Models without structured outputs refuse `strict`.
      ...(strict === true && host.supportedParameters.includes("structured_outputs") ? { strict } : {}),
    },
  }
}

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
  const kind = Object.keys(choice ?? { auto: {} })[0] ?? "auto"
  const details = choice?.[kind]
  return { type: kind, ...(isJsonObject(details) ? details : {}), disable_parallel_tool_use: true }
}
