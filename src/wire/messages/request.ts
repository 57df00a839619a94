/** A canonical request as a call of Anthropic's Messages API. Reference 6, 6.2, 6.4. */
import type { ChatRequest } from "../../domain/Chat.ts"
import type { Host } from "../../domain/Host.ts"
import { isJsonObject, type JsonObject } from "../../domain/Json.ts"
import type { UpstreamRequest } from "../Form.ts"
import { type Conversation, conversationOf, type Turn } from "./content.ts"
import { type Thinking, type ThinkingKind, thinkingFor } from "./thinking.ts"

/** The version of the API that all of this is written for. */
const version = "2023-06-01"

/** Without it the host knows no uploaded files. */
const filesBeta = "files-api-2025-04-14"

/**
 * Members of the canonical body that do not go to the host as they are: those said in other words, the router's own,
 * and those that Anthropic refuses. Every other member passes, since the host may know what we do not.
 */
const withheld: ReadonlySet<string> = new Set([
  // said in other words
  ...["model", "messages", "prompt", "system", "max_tokens", "max_completion_tokens", "stream", "stop", "tools"],
  ...["tool_choice", "parallel_tool_calls", "response_format", "temperature", "top_p", "top_k", "reasoning"],
  ...["reasoning_effort", "include_reasoning", "thinking", "output_config", "verbosity", "user", "metadata"],
  ...["service_tier"],
  // the router's own
  ...["models", "provider", "route", "preset", "usage", "plugins", "transforms", "session_id", "trace", "debug"],
  ...["fallbacks", "stop_server_tools_when", "stream_options"],
  // refused
  ...["n", "logprobs", "top_logprobs", "logit_bias", "frequency_penalty", "presence_penalty", "repetition_penalty"],
  ...["min_p", "top_a", "seed", "modalities", "audio", "image_config", "prediction", "prompt_cache_key"],
  ...["prompt_cache_options", "prompt_cache_retention", "store", "safety_identifier", "structured_outputs"],
  ...["web_search_options", "functions", "function_call"],
])

export const messagesRequest = (
  kindOf: (upstreamModel: string) => ThinkingKind,
  request: ChatRequest,
  host: Host,
): UpstreamRequest => {
  const { body } = request
  const spoken = conversationOf(body["messages"] ?? [{ role: "user", content: body["prompt"] }])
  // Required by the host. A caller's figure above what the host can do is cut to that.
  const maxTokens = Math.min(request.maxTokens ?? host.maxCompletionTokens, host.maxCompletionTokens)
  const tools = toolFields(body, host)
  const forced = isForced(tools["tool_choice"])
  const thinking = thinkingFor(kindOf(host.upstreamModel), request, maxTokens, forced, spoken.turns)
  return {
    path: "/messages",
    headers: headersFor(spoken.turns),
    body: {
      ...passed(body),
      model: host.upstreamModel,
      max_tokens: maxTokens,
      ...systemField(body, spoken),
      messages: spoken.turns,
      ...tools,
      ...(thinking.thinking === undefined ? {} : { thinking: thinking.thinking }),
      ...outputFields(body, host, thinking),
      ...(thinking.sampling ? samplingFields(body) : {}),
      ...stopField(body["stop"]),
      ...userField(body),
      ...tierField(body["service_tier"]),
      ...(request.stream ? { stream: true } : {}),
    },
  }
}

const headersFor = (turns: ReadonlyArray<Turn>): Record<string, string> => {
  const fromFile = (block: JsonObject) => isJsonObject(block["source"]) && block["source"]["type"] === "file"
  const files = turns.some((turn) => turn.content.some(fromFile))
  return { "anthropic-version": version, ...(files ? { "anthropic-beta": filesBeta } : {}) }
}

const passed = (body: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(body).filter(([name, value]) => value != null && !withheld.has(name)))

const systemField = (body: JsonObject, { system }: Conversation): JsonObject => {
  if (system.length > 0) return { system }
  return body["system"] == null ? {} : { system: body["system"] }
}

/** Without tools a choice among them is refused, so it goes with them or not at all. */
const toolFields = (body: JsonObject, host: Host): JsonObject => {
  const given: ReadonlyArray<unknown> = Array.isArray(body["tools"]) ? body["tools"] : []
  const tools = given.filter(isJsonObject).map((tool) => toolOf(tool, host))
  if (tools.length === 0) return {}
  const choice = choiceOf(body["tool_choice"], body["parallel_tool_calls"] === false)
  return { tools, ...(choice === undefined ? {} : { tool_choice: choice }) }
}

/** A tool that is no function is Anthropic's own kind, or one that the host will name in its refusal. */
const toolOf = (tool: JsonObject, host: Host): JsonObject => {
  const declared = tool["function"]
  if (tool["type"] !== "function" || !isJsonObject(declared)) return tool
  const { name, description, parameters, strict } = declared
  const cache = tool["cache_control"] ?? declared["cache_control"]
  return {
    name,
    ...(typeof description === "string" ? { description } : {}),
    input_schema: isJsonObject(parameters) ? { type: "object", ...parameters } : { type: "object", properties: {} },
    // Models without structured outputs refuse the word, and are no less exact without it.
    ...(strict === true && host.supportedParameters.includes("structured_outputs") ? { strict } : {}),
    ...(cache == null ? {} : { cache_control: cache }),
  }
}

const choiceOf = (choice: unknown, oneAtATime: boolean): JsonObject | undefined => {
  const alone = oneAtATime ? { disable_parallel_tool_use: true } : {}
  if (choice === "none") return { type: "none" }
  if (choice === "required") return { type: "any", ...alone }
  if (choice === "auto") return { type: "auto", ...alone }
  if (isJsonObject(choice)) {
    const named = choice["function"]
    return isJsonObject(named) ? { type: "tool", name: named["name"], ...alone } : { ...choice, ...alone }
  }
  return oneAtATime ? { type: "auto", ...alone } : undefined
}

const isForced = (choice: unknown): boolean =>
  isJsonObject(choice) && (choice["type"] === "any" || choice["type"] === "tool")

/** `json_object` has no counterpart: the prompt alone then asks for JSON. */
const outputFields = (body: JsonObject, host: Host, thinking: Thinking): JsonObject => {
  const config: Record<string, unknown> = isJsonObject(body["output_config"]) ? { ...body["output_config"] } : {}
  const wanted = body["response_format"]
  const described = isJsonObject(wanted) && wanted["type"] === "json_schema" ? wanted["json_schema"] : undefined
  if (isJsonObject(described) && isJsonObject(described["schema"])) {
    config["format"] = { type: "json_schema", schema: described["schema"] }
  }
  const verbosity = host.supportedParameters.includes("verbosity") ? body["verbosity"] : undefined
  const effort = thinking.effort ?? verbosity
  if (effort != null) config["effort"] ??= effort
  return Object.keys(config).length === 0 ? {} : { output_config: config }
}

/**
 * Temperatures end at 1 here, where the chat form goes to 2. Newer models refuse temperature and top_p together, so
 * the first one stays. A top_k of 0 means none.
 */
const samplingFields = (body: JsonObject): JsonObject => {
  const { temperature, top_p: topP, top_k: topK } = body
  if (typeof temperature === "number") return { temperature: Math.min(temperature, 1), ...kField(topK) }
  return { ...(topP == null ? {} : { top_p: topP }), ...kField(topK) }
}

const kField = (topK: unknown): JsonObject => (topK == null || topK === 0 ? {} : { top_k: topK })

const stopField = (stop: unknown): JsonObject => {
  if (typeof stop === "string") return { stop_sequences: [stop] }
  return Array.isArray(stop) && stop.length > 0 ? { stop_sequences: stop } : {}
}

const userField = (body: JsonObject): JsonObject => {
  const metadata = body["metadata"]
  const user = body["user"] ?? (isJsonObject(metadata) ? metadata["user_id"] : undefined)
  return typeof user === "string" ? { metadata: { user_id: user } } : {}
}

/** Anthropic knows two tiers to ask for; the chat form's others are not its. */
const tierField = (tier: unknown): JsonObject => {
  if (tier === "auto" || tier === "standard_only") return { service_tier: tier }
  return tier === "default" ? { service_tier: "standard_only" } : {}
}
