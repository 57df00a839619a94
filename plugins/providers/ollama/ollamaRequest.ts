/** Writes a canonical request for Ollama's `POST /api/chat`. */
import * as Either from "effect/Either"
import {
  type AssistantMessage,
  argumentsObject,
  base64Of,
  baseModelOf,
  type ChatPayload,
  type ChatRequest,
  calledNames,
  chatMembers,
  type Encoded,
  effortFor,
  type Host,
  isJsonObject,
  type JsonObject,
  jsonBody,
  lostOfMessages,
  lostStrict,
  type Message,
  partsInOrder,
  readDataUrl,
  reasoningWish,
  type Tool,
  textOf,
  Unsupported,
  withPlainTools,
} from "headgate/plugin"
import type { Options } from "./Options.ts"

/** Sampling parameters, and what they are called among the options. */
const options: Readonly<Record<string, string>> = {
  temperature: "temperature",
  top_p: "top_p",
  top_k: "top_k",
  min_p: "min_p",
  seed: "seed",
  frequency_penalty: "frequency_penalty",
  presence_penalty: "presence_penalty",
  repetition_penalty: "repeat_penalty",
}

/**
 * Members that are translated. Others that the chat form does not have are passed on, since a newer server may know
 * them.
 */
const reworded: ReadonlySet<string> = new Set([
  ...["__proto__", "messages", "tools", "tool_choice", "response_format", "stop", "options", "think"],
  ...Object.keys(options),
])

/** Members of the chat form that go to the server as they are. */
const passed: ReadonlySet<string> = new Set(["logprobs", "top_logprobs", "prompt_cache_options"])

/** Members that the API has no counterpart for. The server would ignore them without a word. */
const lacking: ReadonlySet<string> = new Set(
  [...chatMembers, "store"].filter((name) => !reworded.has(name) && !passed.has(name)),
)

/** Members of the server's form that this function writes, or that are the operator's to say. */
const written: ReadonlySet<string> = new Set(["model", "truncate", "format", "stream", "keep_alive", "template", "raw"])

export const encodeChat = (
  { contextTokens }: Options,
  request: ChatRequest,
  host: Host,
): Either.Either<Encoded, Unsupported> => {
  const dropped: Array<string> = []
  const payload = withPlainTools(request.payload, dropped)
  const unsupported = unsupportedIn(payload)
  if (unsupported !== undefined) return Either.left(unsupported)
  // Without this the server cuts the beginning of a long conversation without a word.
  const body: Record<string, unknown> = { model: host.upstreamModel, truncate: false }
  for (const name in payload) {
    if (payload[name] == null || reworded.has(name)) continue
    if (!lacking.has(name) && !written.has(name)) body[name] = payload[name]
    else if (!asksNothing(name, payload[name])) dropped.push(name)
  }
  body["messages"] = messagesOf(payload.messages, dropped)
  dropped.push(
    ...lostOfMessages(payload.messages, ["name", "detail", "images", "marks"]),
    ...lostStrict(payload.tools ?? []),
  )
  const tools = toolsOf(payload, dropped)
  if (tools.length > 0) body["tools"] = tools
  const format = formatOf(payload)
  if (format !== undefined) body["format"] = format
  const think = thinkFor(request, host, dropped)
  if (think !== undefined) body["think"] = think
  const chosen = optionsOf(request, contextTokens)
  if (Object.keys(chosen).length > 0) body["options"] = chosen
  body["stream"] = request.stream
  return Either.right({ path: "/api/chat", ...jsonBody(body), dropped })
}

/** One answer, any number of calls, and text alone are what the server does anyway. */
const asksNothing = (name: string, value: unknown): boolean =>
  ((name === "n" || name === "best_of") && value === 1) ||
  (name === "parallel_tool_calls" && value === true) ||
  (Array.isArray(value) && value.every((one) => one === "text"))

const unsupportedIn = ({ messages, tools }: ChatPayload): Unsupported | undefined => {
  for (const [at, message] of messages.entries()) {
    const { content } = message
    const calls = message.role === "assistant" ? (message.tool_calls ?? []) : []
    const unnamed = calls.findIndex((call) => call.function === undefined)
    if (unnamed !== -1)
      return new Unsupported({
        path: `messages[${at}].tool_calls[${unnamed}]`,
        reason: "this host takes calls of functions only",
      })
    for (const [place, part] of (Array.isArray(content) ? content : []).entries()) {
      const path = `messages[${at}].content[${place}]`
      if (part.type === "text" || part.type === "refusal") continue
      if (part.type !== "image_url") return new Unsupported({ path, reason: "this host takes text and images only" })
      if (readDataUrl(part.image_url.url) === undefined)
        return new Unsupported({ path, reason: "this host takes images as data only, not by their address" })
    }
  }
  const foreign = (tools ?? []).findIndex((tool) => tool.function === undefined)
  return foreign === -1
    ? undefined
    : new Unsupported({ path: `tools[${foreign}]`, reason: "this host takes functions only" })
}

// --- messages

const messagesOf = (messages: ReadonlyArray<Message>, dropped: Array<string>): ReadonlyArray<JsonObject> => {
  const names = calledNames(messages)
  return messages.map((message) => {
    const common = { content: textOf(message.content), ...imagesOf(message) }
    switch (message.role) {
      case "assistant":
        return { role: message.role, ...common, ...saidBesides(message, dropped) }
      case "tool": {
        const name = names.get(message.tool_call_id)
        // By the name in older servers, by the id in newer ones.
        const called = { tool_call_id: message.tool_call_id, ...(name === undefined ? {} : { tool_name: name }) }
        return { role: message.role, ...common, ...called }
      }
      default:
        return { role: message.role === "user" ? "user" : "system", ...common }
    }
  })
}

const imagesOf = ({ content }: Message): { readonly images?: ReadonlyArray<string> } => {
  const images = (Array.isArray(content) ? content : []).flatMap((part) => {
    const embedded = part.type === "image_url" ? readDataUrl(part.image_url.url) : undefined
    return embedded === undefined ? [] : [base64Of(embedded)]
  })
  return images.length === 0 ? {} : { images }
}

/** Thinking, text and calls have members of their own here, so their order is not told. */
const saidBesides = (message: AssistantMessage, dropped: Array<string>): JsonObject => {
  const { refusal, content } = message
  const { parts, isInOrder } = partsInOrder(message)
  if (!isInOrder && !dropped.includes("order")) dropped.push("order")
  let pieces = ""
  const calls: Array<JsonObject> = []
  for (const part of parts) {
    if (part.type === "reasoning") for (const { text, summary } of part.details) pieces += text ?? summary ?? ""
    if (part.type === "call" && part.call.function !== undefined) {
      const { id, function: called } = part.call
      calls.push({ id, function: { name: called.name, arguments: argumentsObject(part.call) } })
    }
  }
  // Many callers give it back under the second name, some only in pieces.
  const thinking = message.reasoning ?? message["reasoning_content"] ?? pieces
  return {
    ...(refusal && textOf(content) === "" ? { content: refusal } : {}),
    ...(typeof thinking === "string" && thinking !== "" ? { thinking } : {}),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

// --- tools and output

/** There is no choice among tools but to offer none. */
const toolsOf = ({ tools, tool_choice: choice }: ChatPayload, dropped: Array<string>): ReadonlyArray<JsonObject> => {
  if (tools == null || tools.length === 0 || choice === "none") return []
  if (choice != null && choice !== "auto") dropped.push("tool_choice")
  return tools.map(toolOf)
}

const toolOf = ({ function: called }: Tool): JsonObject => {
  const { name, description, parameters }: JsonObject = called ?? {}
  return {
    type: "function",
    function: {
      name,
      ...(typeof description === "string" ? { description } : {}),
      parameters: isJsonObject(parameters) ? parameters : { type: "object", properties: {} },
    },
  }
}

const formatOf = ({ response_format: format }: ChatPayload): unknown => {
  if (format?.type === "json_object") return "json"
  return format?.type === "json_schema" ? (format.json_schema?.schema ?? "json") : undefined
}

/** gpt-oss alone knows levels, and refuses none of them; other models are told to think or not to. */
const thinkFor = (request: ChatRequest, host: Host, dropped: Array<string>): unknown => {
  const own = request.payload["think"]
  if (typeof own === "boolean" || own === "low" || own === "medium" || own === "high") return own
  if (own != null) dropped.push("think")
  const wish = reasoningWish(request.reasoning)
  if (wish === undefined) return undefined
  const known = host.supportedParameters
  if (known.length > 0 && !known.includes("reasoning")) {
    // Those that do not think refuse to be asked, and need not be told not to.
    if (wish !== "off") dropped.push(request.reasoning.written["reasoning"] == null ? "reasoning_effort" : "reasoning")
    return undefined
  }
  if (wish === "off") return false
  // Agents ask for thinking by default, and a model that cannot think refuses to be asked: "does not support thinking"
  // (CherryHQ/cherry-studio#18744, 2026-08). Of a model of which nothing is known only an effort or a number asks for
  // it.
  const { effort: given, maxTokens: budget, written } = request.reasoning
  if (known.length === 0 && given === undefined && budget === undefined) {
    dropped.push(written["reasoning"] == null ? "reasoning_effort" : "reasoning")
    return undefined
  }
  if (!baseModelOf(host).includes("gpt-oss")) return true
  const bound = request.maxTokens ?? host.maxCompletionTokens
  const effort = wish.effort ?? effortFor(wish.tokens, bound, ["low", "medium", "high"])
  return effort === "low" || effort === "minimal" ? "low" : effort === "medium" ? "medium" : "high"
}

/** The caller's own `options` first: they are how the API is asked for what the canonical form has no name for. */
const optionsOf = ({ payload, maxTokens }: ChatRequest, contextTokens: number | undefined): JsonObject => {
  const { stop } = payload
  const own = isJsonObject(payload["options"]) ? payload["options"] : {}
  const chosen: Record<string, unknown> = contextTokens === undefined ? { ...own } : { ...own, num_ctx: contextTokens }
  for (const name in options) {
    const called = options[name]
    if (called !== undefined && payload[name] != null) chosen[called] = payload[name]
  }
  if (stop != null && stop.length > 0) chosen["stop"] = typeof stop === "string" ? [stop] : stop
  // Never the caller's own: the reservation depends on it.
  if (maxTokens !== undefined) chosen["num_predict"] = maxTokens
  else delete chosen["num_predict"]
  return chosen
}
