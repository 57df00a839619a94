/**
 * Checks of what a provider's hooks return. Written by hand, since they run for every request and every event. Each
 * function returns what was expected, as text that follows "must return", or `undefined` for a valid value.
 */
import { isJsonObject, type JsonObject } from "../domain/Json.ts"

type Expected = string | undefined

const isTextOrNothing = (value: unknown): boolean => value == null || typeof value === "string"

// --- requests

// Lower case only, because names are compared with those of the credentials.
const headerName = /^[a-z0-9!#$%&'*+.^_`|~-]+$/

export const expectedOfEncoded = (encoded: unknown): Expected => {
  if (!isJsonObject(encoded)) return "a request with path and body"
  const { method, path, headers, body, dropped } = encoded
  if (method !== undefined && method !== "POST" && method !== "GET") return "a request whose method is POST or GET"
  if (typeof path !== "string" || !path.startsWith("/")) return "a request whose path begins with a slash"
  if (typeof body !== "string" && !(body instanceof Uint8Array)) return "a request whose body is text or bytes"
  if (dropped !== undefined && !(Array.isArray(dropped) && dropped.every((name) => typeof name === "string"))) {
    return "a request whose dropped is a list of names"
  }
  if (headers === undefined) return undefined
  if (!isJsonObject(headers)) return "a request whose headers are an object"
  for (const name in headers) {
    if (!headerName.test(name))
      return `a request whose header names are tokens in lower case, not ${JSON.stringify(name)}`
    if (typeof headers[name] !== "string") return `a request whose header ${name} is text`
  }
  return undefined
}

// --- answers

const finishReasons: ReadonlySet<unknown> = new Set([null, "stop", "length", "tool_calls", "content_filter", "error"])

export const expectedOfAnswer = (answer: unknown): Expected => {
  if (!isJsonObject(answer)) return "a ChatResponse or a HostFailed"
  const { choices, usage } = answer
  if (!Array.isArray(choices) || choices.length === 0) return "an answer whose choices are a list of at least one"
  for (let at = 0; at < choices.length; at++) {
    const expected = expectedOfChoice(choices[at], `choices[${at}]`)
    if (expected !== undefined) return `an answer whose ${expected}`
  }
  const expected = expectedOfUsage(usage)
  return expected === undefined ? undefined : `an answer whose ${expected}`
}

const expectedOfChoice = (choice: unknown, at: string): Expected => {
  if (!isJsonObject(choice)) return `${at} is an object`
  const { index, finish_reason: finish, native_finish_reason: native, message } = choice
  if (typeof index !== "number") return `${at}.index is a number`
  if (!finishReasons.has(finish)) return `${at}.finish_reason is a FinishReason or null`
  if (native !== null && typeof native !== "string") return `${at}.native_finish_reason is text or null`
  if (!isJsonObject(message)) return `${at}.message is an object`
  const { content, reasoning, tool_calls: calls } = message
  if (content !== null && typeof content !== "string") return `${at}.message.content is text or null`
  if (!isTextOrNothing(reasoning)) return `${at}.message.reasoning is text or null`
  return calls == null || (Array.isArray(calls) && calls.every(isToolCall))
    ? undefined
    : `${at}.message.tool_calls are a list of calls with id, function.name and function.arguments as text`
}

const isToolCall = (call: unknown): boolean => {
  if (!isJsonObject(call) || typeof call["id"] !== "string") return false
  const called = call["function"]
  return isJsonObject(called) && typeof called["name"] === "string" && typeof called["arguments"] === "string"
}

const details = ["prompt_tokens_details", "completion_tokens_details", "server_tool_use_details"] as const

const expectedOfUsage = (usage: unknown): Expected => {
  if (usage == null) return undefined
  if (!isJsonObject(usage)) return "usage is an object"
  for (const name of details) {
    if (usage[name] != null && !isJsonObject(usage[name])) return `usage.${name} is an object`
  }
  return undefined
}

// --- chunks

export const expectedOfChunks = (chunks: unknown): Expected => {
  if (!Array.isArray(chunks)) return "an array of chunks"
  for (const chunk of chunks) {
    const expected = expectedOfChunk(chunk)
    if (expected !== undefined) return `an array of chunks whose ${expected}`
  }
  return undefined
}

const expectedOfChunk = (chunk: unknown): Expected => {
  if (!isJsonObject(chunk)) return "members are objects"
  const { choices, usage } = chunk
  if (!Array.isArray(choices)) return "choices are a list"
  for (const choice of choices) {
    const expected = expectedOfDelta(choice)
    if (expected !== undefined) return expected
  }
  return expectedOfUsage(usage)
}

const expectedOfDelta = (choice: unknown): Expected => {
  if (!isJsonObject(choice) || typeof choice["index"] !== "number") return "choices have an index"
  if (!finishReasons.has(choice["finish_reason"])) return "choices have a finish_reason: a FinishReason, or null"
  const { delta } = choice
  if (!isJsonObject(delta)) return "choices have a delta"
  if (!isTextOrNothing(delta["content"])) return "delta.content is text"
  if (!isTextOrNothing(delta["reasoning"])) return "delta.reasoning is text"
  const calls = delta["tool_calls"]
  return calls == null || (Array.isArray(calls) && calls.every(isCallPiece))
    ? undefined
    : "delta.tool_calls are a list of pieces with an index"
}

const isCallPiece = (piece: unknown): boolean => isJsonObject(piece) && typeof piece["index"] === "number"

// --- the result of load

const isFunction = (value: unknown): boolean => typeof value === "function"

export const expectedOfDecoder = (decoder: unknown): Expected =>
  typeof decoder === "object" &&
  decoder !== null &&
  "event" in decoder &&
  isFunction(decoder.event) &&
  "end" in decoder &&
  isFunction(decoder.end) &&
  (!("done" in decoder) || decoder.done === undefined || isFunction(decoder.done))
    ? undefined
    : "a decoder with event and end, and done where the protocol has a last event"

export const expectedOfProtocol = (protocol: JsonObject, isFraming: (value: unknown) => boolean): Expected => {
  const { framing, usage, transparent } = protocol
  if (!isFraming(framing)) return "framing is one that this gateway has"
  if (usage !== undefined && usage !== "largest" && usage !== "last") return 'usage is "largest" or "last"'
  if (transparent !== undefined && typeof transparent !== "boolean") return "transparent is true or false"
  const missing = ["encode", "decode", "decoder"].find((hook) => !isFunction(protocol[hook]))
  return missing === undefined ? undefined : `${missing} is a function`
}
