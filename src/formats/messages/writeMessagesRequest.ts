/** A canonical request as a call of Anthropic's Messages API. */
import * as Either from "effect/Either"
import type { Unsupported } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { ChatPayload, Tool, ToolChoice } from "../../domain/request/chat.ts"
import {
  addMember,
  addParameters,
  byName,
  isLost,
  lackingIn,
  type PlacedParameter,
  placedIn,
  renamesIn,
  translatedIn,
} from "../../domain/request/placedParameters.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import { withFunctions } from "../customTools.ts"
import { efforts, reasoningWish } from "../effort.ts"
import { type Encoded, jsonBody } from "../Protocol.ts"
import { type OfferedTools, offeredTools } from "../plainTools.ts"
import { exactSchema } from "./exactSchema.ts"
import { type Thinking, type ThinkingKind, thinkingFor } from "./Thinking.ts"
import { unsupportedIn } from "./unsupportedByMessages.ts"
import { type Conversation, conversationOf, type Turn } from "./writeMessagesContent.ts"

/** The version of the API. */
export const version = "2023-06-01"

/** The beta that enables uploaded files. */
const filesBeta = "files-api-2025-04-14"

/** Parameters that need no function of their own. */
export const parameters: ReadonlyArray<PlacedParameter> = placedIn("messages")

/** Members that are sent if the model may be asked for them, after the rest. */
export const samplingParameters: ReadonlyArray<PlacedParameter> = parameters.filter(
  ({ unlessThinking }) => unlessThinking,
)

const others = byName(parameters.filter(({ unlessThinking }) => !unlessThinking))

/** Members of the payload that Anthropic refuses. */
const refused: ReadonlySet<string> = new Set([...lackingIn("messages"), "store", "prompt"])

/** Members that functions of this protocol write. */
const reworded: ReadonlySet<string> = new Set([
  ...["messages", "thinking", "output_config"],
  ...translatedIn("messages"),
  ...samplingParameters.map(({ name }) => name),
])

/** Members of the host's form that this function writes: the caller's of these names are not copied. */
const written: ReadonlySet<string> = new Set([
  ...["__proto__", "model", "max_tokens", "system", "stop_sequences", "stream", "mcp_servers", "container"],
  ...["context_management", "output_format", "inference_geo", "speed", "skills", ...renamesIn("messages")],
])

export const encodeMessages = (
  kind: ThinkingKind,
  request: ChatRequest,
  host: Host,
): Either.Either<Encoded, Unsupported> => {
  const lost: Array<string> = []
  const payload = withFunctions(request.payload, lost)
  const unsupported = unsupportedIn(payload.messages)
  if (unsupported !== undefined) return Either.left(unsupported)
  const conversation = conversationOf(payload.messages)
  // Required by the host. Clamped to the host's maximum.
  const maxTokens = Math.min(request.maxTokens ?? host.maxCompletionTokens, host.maxCompletionTokens)
  const offered = offeredTools(payload)
  const tools = toolFields(offered, payload, host)
  const forced = isForced(tools["tool_choice"])
  const thinking = thinkingFor(kind, request, maxTokens, forced, conversation.turns)
  const body: JsonObject = {
    ...passedOn(payload),
    model: host.upstreamModel,
    max_tokens: maxTokens,
    ...systemField(conversation),
    messages: conversation.turns,
    ...tools,
    ...(thinking.thinking === undefined ? {} : { thinking: thinking.thinking }),
    ...outputFields(payload, host, thinking),
    ...(thinking.sampling ? samplingFields(payload) : {}),
    ...stopField(payload),
    ...userField(payload),
    ...tierField(payload.service_tier),
    ...(request.stream ? { stream: true } : {}),
  }
  return Either.right({
    path: "/messages",
    headers: headersFor(conversation.turns),
    ...jsonBody(body),
    dropped: [
      ...conversation.dropped,
      ...lost,
      ...offered.dropped,
      ...looseIn(offered, host).map((at) => `tools[${at}].function.strict`),
      ...droppedOf(request, body),
    ],
  })
}

const headersFor = (turns: ReadonlyArray<Turn>): Record<string, string> => {
  const fromFile = (block: JsonObject) => isJsonObject(block["source"]) && block["source"]["type"] === "file"
  const files = turns.some((turn) => turn.content.some(fromFile))
  return { "anthropic-version": version, ...(files ? { "anthropic-beta": filesBeta } : {}) }
}

/** Parameters, and members that may pass, as the caller ordered them. */
const passedOn = (payload: ChatPayload): JsonObject => {
  const passed: Record<string, unknown> = {}
  for (const name in payload) {
    if (payload[name] == null || refused.has(name) || reworded.has(name) || written.has(name)) continue
    addMember(others, name, payload, passed)
  }
  return passed
}

const systemField = ({ system }: Conversation): JsonObject => (system.length > 0 ? { system } : {})

/** Tools and the choice among them. Without tools the host refuses a choice, so it is left out. */
const toolFields = (
  { tools, choice: wanted }: OfferedTools,
  { parallel_tool_calls: parallel }: ChatPayload,
  host: Host,
): JsonObject => {
  if (tools.length === 0) return {}
  const choice = choiceOf(wanted, parallel === false)
  return {
    tools: tools.map(([, tool]) => toolOf(tool, host)),
    ...(choice === undefined ? {} : { tool_choice: choice }),
  }
}

/** A function tool is translated. Other kinds are Anthropic's own, or will be refused by the host. */
const toolOf = (tool: Tool, host: Host): JsonObject => {
  if (tool.function === undefined) return tool
  const { name, description, parameters, strict } = tool.function
  const cache = tool["cache_control"] ?? tool.function["cache_control"]
  const schema = isJsonObject(parameters) ? { type: "object", ...parameters } : { type: "object", properties: {} }
  const isStrict = strict === true && takesSchemas(host)
  return {
    name,
    ...(typeof description === "string" ? { description } : {}),
    input_schema: isStrict ? exactSchema(schema) : schema,
    ...(isStrict ? { strict } : {}),
    ...(cache == null ? {} : { cache_control: cache }),
  }
}

/** Models without structured outputs refuse `strict`. */
const takesSchemas = ({ supportedParameters }: Host): boolean => supportedParameters.includes("structured_outputs")

/** Places of the functions whose arguments are to fit exactly, which the host is not told. */
const looseIn = ({ tools }: OfferedTools, host: Host): ReadonlyArray<number> =>
  takesSchemas(host) ? [] : tools.flatMap(([at, { function: called }]) => (called?.strict === true ? [at] : []))

const choiceOf = (choice: ToolChoice | null | undefined, oneAtATime: boolean): JsonObject | undefined => {
  const alone = oneAtATime ? { disable_parallel_tool_use: true } : {}
  if (choice === "none") return { type: "none" }
  if (choice === "required") return { type: "any", ...alone }
  if (choice === "auto") return { type: "auto", ...alone }
  if (choice == null) return oneAtATime ? { type: "auto", ...alone } : undefined
  const named = choice["function"]
  return isJsonObject(named) ? { type: "tool", name: named["name"], ...alone } : { ...choice, ...alone }
}

export const isForced = (choice: unknown): boolean =>
  isJsonObject(choice) && (choice["type"] === "any" || choice["type"] === "tool")

const outputFields = (payload: ChatPayload, host: Host, thinking: Thinking): JsonObject => {
  const given = isJsonObject(payload["output_config"]) ? payload["output_config"]["effort"] : undefined
  const config: Record<string, unknown> = isEffort(given) ? { effort: given } : {}
  const schema = schemaIn(payload)
  if (schema != null) config["format"] = { type: "json_schema", schema: exactSchema(schema) }
  const verbosity = host.supportedParameters.includes("verbosity") ? payload.verbosity : undefined
  const effort = thinking.effort ?? verbosity
  if (effort != null) config["effort"] ??= effort
  return Object.keys(config).length === 0 ? {} : { output_config: config }
}

/** An effort that the host knows, as the caller's own `output_config` has it. */
const isEffort = (value: unknown): boolean => efforts.some((effort) => effort === value)

const schemaIn = ({ response_format: format }: ChatPayload): JsonObject | null | undefined =>
  format?.type === "json_schema" ? format.json_schema?.schema : undefined

const samplingFields = (payload: ChatPayload): JsonObject => {
  const fields: Record<string, unknown> = {}
  addParameters(samplingParameters, payload, fields)
  return fields
}

/** The host refuses a blank one. */
const stopField = ({ stop }: ChatPayload): JsonObject => {
  const texts = (typeof stop === "string" ? [stop] : (stop ?? [])).filter((text) => text.trim() !== "")
  return texts.length === 0 ? {} : { stop_sequences: texts }
}

const userField = ({ user, metadata }: ChatPayload): JsonObject => {
  const id = user ?? metadata?.["user_id"]
  return typeof id === "string" ? { metadata: { user_id: id } } : {}
}

/** Anthropic knows two service tiers. Others of the chat form are dropped. */
export const tierField = (tier: string | null | undefined): JsonObject => {
  if (tier === "auto" || tier === "standard_only") return { service_tier: tier }
  return tier === "default" ? { service_tier: "standard_only" } : {}
}

/** Names of the caller's members that are not sent to the host in any form. */
const droppedOf = ({ payload, reasoning }: ChatRequest, body: JsonObject): ReadonlyArray<string> => {
  const dropped = Object.keys(payload).filter(
    (name) => payload[name] != null && (refused.has(name) || written.has(name)),
  )
  for (const parameter of parameters) if (isLost(parameter, payload, body)) dropped.push(parameter.name)
  if (hasBlankStop(payload)) dropped.push("stop")
  if (payload.service_tier != null && body["service_tier"] === undefined) dropped.push("service_tier")
  if (payload.metadata != null && !isWithin(payload.metadata, body["metadata"])) dropped.push("metadata")
  if (payload["thinking"] != null && !isJsonObject(body["thinking"])) dropped.push("thinking")
  const config = payload["output_config"]
  if (config != null && !(isJsonObject(config) && isEffort(config["effort"]))) dropped.push("output_config")
  const output = isJsonObject(body["output_config"]) ? body["output_config"] : {}
  if (payload.verbosity != null && output["effort"] !== payload.verbosity) dropped.push("verbosity")
  // `json_object` has no counterpart.
  const format = payload.response_format
  if (format != null && format.type !== "text" && output["format"] === undefined) dropped.push("response_format")
  const wish = reasoningWish(reasoning)
  if (wish !== undefined && wish !== "off" && !mayThink(payload, body)) {
    dropped.push(reasoning.written["reasoning"] == null ? "reasoning_effort" : "reasoning")
  }
  return dropped
}

const hasBlankStop = ({ stop }: ChatPayload): boolean =>
  stop != null && (typeof stop === "string" ? [stop] : stop).some((text) => text.trim() === "")

/** Whether every member of the caller's metadata is sent. */
const isWithin = (metadata: JsonObject, sent: unknown): boolean =>
  Object.entries(metadata).every(([name, value]) => isJsonObject(sent) && sent[name] === value)

/** Whether the host is asked to think. The caller's own `thinking` takes precedence over `reasoning`, whatever it says. */
const mayThink = (payload: ChatPayload, { thinking }: JsonObject): boolean =>
  isJsonObject(payload["thinking"]) || (isJsonObject(thinking) && thinking["type"] !== "disabled")
