/**
 * A plugin with its own protocol, whose streams are lines of JSON as Ollama's are. It imports only what every plugin
 * may import.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import {
  argumentsObject,
  base64Of,
  type ChatMessage,
  type ChatUsage,
  type ContentPart,
  type Decoder,
  defineProvider,
  errorInBody,
  type FinishReason,
  HostFailed,
  httpError,
  isJsonObject,
  type JsonObject,
  type Message,
  newCallId,
  type Protocol,
  partsOf,
  readDataUrl,
  reasoningWish,
  type ToolCall,
  Unsupported,
} from "headgate/plugin"

// --- requests

const translated = new Set(["messages", "tools", "tool_choice", "temperature", "top_p", "stop", "seed"])

const encode: Protocol["encode"] = ({ payload, stream, maxTokens, reasoning }, host) => {
  const refusal = unsupportedIn(payload.messages)
  if (refusal !== undefined) return Either.left(refusal)
  const { tools, temperature, top_p, stop, seed } = payload
  const body = {
    model: host.upstreamModel,
    messages: payload.messages.map(messageOf),
    stream,
    ...(tools == null ? {} : { tools }),
    options: { temperature, top_p, stop, seed, num_predict: maxTokens },
  }
  const dropped = Object.keys(payload).filter((name) => payload[name] != null && !translated.has(name))
  if (payload.tool_choice != null && payload.tool_choice !== "auto") dropped.push("tool_choice")
  if (reasoningWish(reasoning) !== undefined) dropped.push("reasoning")
  return Either.right({ path: "/chat", body: JSON.stringify(body), dropped })
}

const unsupportedIn = (messages: ReadonlyArray<Message>): Unsupported | undefined => {
  for (const [at, { content }] of messages.entries()) {
    const place = partsOf(content).findIndex((part) => part.type !== "text" && imageIn(part) === undefined)
    const path = `messages[${at}].content[${place}]`
    if (place !== -1) return new Unsupported({ path, reason: "this host takes text and embedded images only" })
  }
  return undefined
}

const imageIn = (part: ContentPart): string | undefined => {
  const embedded = part.type === "image_url" ? readDataUrl(part.image_url.url) : undefined
  return embedded === undefined ? undefined : base64Of(embedded)
}

const messageOf = (message: Message): JsonObject => {
  const parts = partsOf(message.content)
  const images = parts.flatMap((part) => imageIn(part) ?? [])
  const calls = message.role === "assistant" ? (message.tool_calls ?? []) : []
  return {
    role: message.role,
    content: parts.map((part) => (part.type === "text" ? part.text : "")).join(""),
    ...(images.length === 0 ? {} : { images }),
    tool_calls: calls.flatMap((call) =>
      call.function === undefined ? [] : { function: { name: call.function.name, arguments: argumentsObject(call) } },
    ),
  }
}

// --- answers

const reasonOf = (word: unknown): FinishReason => (word === "length" ? "length" : "stop")

const usageOf = ({ prompt_eval_count: prompt, eval_count: output }: JsonObject): { readonly usage?: ChatUsage } =>
  typeof prompt === "number" && typeof output === "number"
    ? { usage: { prompt_tokens: prompt, completion_tokens: output } }
    : {}

interface LineMessage {
  readonly text: string
  readonly calls: ReadonlyArray<ToolCall>
}

const messageIn = (message: unknown): LineMessage | undefined => {
  if (!isJsonObject(message) || typeof message["content"] !== "string") return undefined
  const listed: ReadonlyArray<unknown> = Array.isArray(message["tool_calls"]) ? message["tool_calls"] : []
  const calls = listed.flatMap((each): ReadonlyArray<ToolCall> => {
    const called = isJsonObject(each) ? each["function"] : undefined
    if (!isJsonObject(called) || typeof called["name"] !== "string") return []
    const written = JSON.stringify(called["arguments"] ?? {})
    return [{ id: newCallId(), type: "function", function: { name: called["name"], arguments: written } }]
  })
  return { text: message["content"], calls }
}

const malformed = new HostFailed({ reason: "malformed" })

const decode: Protocol["decode"] = (_head, body) => {
  if (!isJsonObject(body)) return malformed
  if (body["error"] != null) return errorInBody(body["error"])
  const read = messageIn(body["message"])
  if (read === undefined || body["done"] !== true) return malformed
  const { text, calls } = read
  const message: ChatMessage = {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
  const native = String(body["done_reason"] ?? "stop")
  const reason = calls.length > 0 ? "tool_calls" : reasonOf(native)
  return {
    choices: [{ index: 0, finish_reason: reason, native_finish_reason: native, logprobs: null, message }],
    ...usageOf(body),
  }
}

const decoder = (): Decoder => {
  let calls = 0
  let isDone = false
  return {
    event: (_name, data) => {
      if (!isJsonObject(data)) return malformed
      if (data["error"] != null) return errorInBody(data["error"])
      const read = messageIn(data["message"])
      if (read === undefined) return malformed
      const pieces = read.calls.map((call) => ({ index: calls++, ...call }))
      const delta = { content: read.text, ...(pieces.length === 0 ? {} : { tool_calls: pieces }) }
      if (data["done"] !== true) return [{ choices: [{ index: 0, delta, finish_reason: null }] }]
      isDone = true
      const native = String(data["done_reason"] ?? "stop")
      const reason = calls > 0 ? "tool_calls" : reasonOf(native)
      return [
        { choices: [{ index: 0, delta, finish_reason: null }] },
        { choices: [{ index: 0, delta: {}, finish_reason: reason, native_finish_reason: native }], ...usageOf(data) },
      ]
    },
    end: () => [],
    done: () => isDone,
  }
}

const lines: Protocol = { framing: "ndjson", encode, decode, decoder }

/** The plugin with these members of its protocol replaced. */
export const pluginWith = (more: Partial<Protocol>) =>
  defineProvider({
    id: "lines",
    name: "Lines",
    baseUrl: "https://lines.example/api",
    config: Schema.Struct({}),
    load: () => ({ protocols: { lines: { ...lines, ...more } }, error: httpError }),
  })
