/**
 * What the hooks of a provider have to return, checked by hand since it runs for every request and every event. Each
 * function gives what was expected and what came, to follow "must return", or `undefined` when the value has that
 * shape.
 */

import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { isCount } from "../../domain/price/Usage.ts"
import type { UnaryOperation } from "../../domain/request/Operation.ts"
import { isLowerCaseHeaderName } from "../../wire/head.ts"
import { but, butWord } from "./misfit.ts"

type Misfit = string | undefined

const isTextOrNothing = (value: unknown): boolean => value == null || typeof value === "string"

/** An async hook gives a promise, which is an object too. */
const isPlainObject = (value: unknown): value is JsonObject => isJsonObject(value) && !(value instanceof Promise)

const isListOfTexts = (value: unknown): boolean => Array.isArray(value) && value.every((one) => typeof one === "string")

/** For a list that may also have a wrong member: then what came is a list, which says nothing. */
const butList = (expected: string, came: unknown): string => (Array.isArray(came) ? expected : but(expected, came))

// --- requests

export const expectedOfEncoded = (encoded: unknown): Misfit => {
  if (!isPlainObject(encoded)) return but("a request with path and body", encoded)
  const { method, path, headers, body, dropped } = encoded
  if (method !== undefined && method !== "POST" && method !== "GET") {
    return butWord("a request whose method is POST or GET", method)
  }
  if (typeof path !== "string") return but("a request whose path begins with a slash", path)
  if (!path.startsWith("/")) return "a request whose path begins with a slash"
  if (typeof body !== "string" && !(body instanceof Uint8Array)) {
    return but("a request whose body is text or bytes", body)
  }
  if (dropped !== undefined && !(Array.isArray(dropped) && dropped.every((name) => typeof name === "string"))) {
    return butList("a request whose dropped is a list of names", dropped)
  }
  if (headers === undefined) return undefined
  if (!isJsonObject(headers)) return but("a request whose headers are an object", headers)
  for (const name in headers) {
    // Lower case only, because names are compared with those of the credentials.
    if (!isLowerCaseHeaderName(name))
      return `a request whose header names are tokens in lower case, not ${JSON.stringify(name)}`
    if (typeof headers[name] !== "string") return but(`a request whose header ${name} is text`, headers[name])
  }
  return undefined
}

// --- answers

const finishReasons: ReadonlySet<unknown> = new Set([null, "stop", "length", "tool_calls", "content_filter", "error"])

export const expectedOfAnswer = (answer: unknown): Misfit => {
  if (!isPlainObject(answer)) return but("a ChatResponse or a HostFailed", answer)
  const { choices, usage } = answer
  if (!Array.isArray(choices) || choices.length === 0) {
    return but("an answer whose choices are a list of at least one", choices)
  }
  for (let at = 0; at < choices.length; at++) {
    const expected = expectedOfChoice(choices[at], `choices[${at}]`)
    if (expected !== undefined) return `an answer whose ${expected}`
  }
  const expected = expectedOfUsage(usage) ?? expectedOfUnseen(answer) ?? expectedOfUnfinished(answer)
  return expected === undefined ? undefined : `an answer whose ${expected}`
}

const expectedOfUnfinished = ({ unfinished }: JsonObject): Misfit =>
  unfinished === undefined || typeof unfinished === "boolean"
    ? undefined
    : but("unfinished is true or false", unfinished)

const expectedOfUnseen = ({ unseen }: JsonObject): Misfit =>
  unseen === undefined || isCount(unseen) ? undefined : but("unseen is a number of bytes", unseen)

const expectedOfChoice = (choice: unknown, at: string): Misfit => {
  if (!isJsonObject(choice)) return but(`${at} is an object`, choice)
  const { index, finish_reason: finish, native_finish_reason: native, message } = choice
  if (typeof index !== "number") return but(`${at}.index is a number`, index)
  if (!finishReasons.has(finish)) return butWord(`${at}.finish_reason is a FinishReason or null`, finish)
  if (native !== null && typeof native !== "string") return but(`${at}.native_finish_reason is text or null`, native)
  if (!isJsonObject(message)) return but(`${at}.message is an object`, message)
  const { content, reasoning, tool_calls: calls, images } = message
  if (content !== null && typeof content !== "string") return but(`${at}.message.content is text or null`, content)
  if (!isTextOrNothing(reasoning)) return but(`${at}.message.reasoning is text or null`, reasoning)
  if (calls != null && !(Array.isArray(calls) && calls.every(isToolCall))) {
    const expected = `${at}.message.tool_calls are a list of calls with id, function.name and function.arguments as text`
    return butList(expected, calls)
  }
  return areImages(images) ? undefined : butList(`${at}.message.images are a list of ${imageParts}`, images)
}

const isToolCall = (call: unknown): boolean => {
  if (!isJsonObject(call) || typeof call["id"] !== "string") return false
  const called = call["function"]
  return isJsonObject(called) && typeof called["name"] === "string" && typeof called["arguments"] === "string"
}

const imageParts = "parts with type image_url and image_url.url as text"

const areImages = (images: unknown): boolean => images == null || (Array.isArray(images) && images.every(isImage))

const isImage = (part: unknown): boolean => {
  if (!isJsonObject(part) || part["type"] !== "image_url") return false
  const image = part["image_url"]
  return isJsonObject(image) && typeof image["url"] === "string"
}

const details = ["prompt_tokens_details", "completion_tokens_details", "server_tool_use_details"] as const

const expectedOfUsage = (usage: unknown): Misfit => {
  if (usage == null) return undefined
  if (!isJsonObject(usage)) return but("usage is an object", usage)
  for (const name of details) {
    if (usage[name] != null && !isJsonObject(usage[name])) return but(`usage.${name} is an object`, usage[name])
  }
  return undefined
}

// --- answers of other operations

/** `payload`: of a request of this operation. */
export const expectedOfUnary = (operation: UnaryOperation, answer: unknown, payload: JsonObject): Misfit => {
  if (!isPlainObject(answer)) return but(`${operation.answerType} or a HostFailed`, answer)
  if (!operation.isAnswer(answer, payload)) {
    const { answerMember: member } = operation
    return butList(`an answer whose ${member} ${operation.answerRule(payload)}`, answer[member])
  }
  const expected = expectedOfUsage(answer["usage"])
  return expected === undefined ? undefined : `an answer whose ${expected}`
}

// --- chunks

export const expectedOfChunks = (chunks: unknown): Misfit => {
  if (!Array.isArray(chunks)) return but("an array of chunks or a HostFailed", chunks)
  for (const chunk of chunks) {
    const expected = expectedOfChunk(chunk)
    if (expected !== undefined) return `an array of chunks whose ${expected}`
  }
  return undefined
}

const expectedOfChunk = (chunk: unknown): Misfit => {
  if (!isJsonObject(chunk)) return but("members are objects", chunk)
  const { choices, usage } = chunk
  if (!Array.isArray(choices)) return but("choices are a list", choices)
  for (const choice of choices) {
    const expected = expectedOfDelta(choice)
    if (expected !== undefined) return expected
  }
  return expectedOfUsage(usage) ?? expectedOfUnseen(chunk) ?? expectedOfUnfinished(chunk)
}

const expectedOfDelta = (choice: unknown): Misfit => {
  if (!isJsonObject(choice)) return but("choices are objects with an index and a delta", choice)
  const { index, finish_reason: finish, delta } = choice
  if (typeof index !== "number") return but("choices have an index: a number", index)
  if (!finishReasons.has(finish)) return butWord("choices have a finish_reason: a FinishReason, or null", finish)
  if (!isJsonObject(delta)) return but("choices have a delta: an object", delta)
  const { content, reasoning, tool_calls: calls, images } = delta
  if (!isTextOrNothing(content)) return but("delta.content is text", content)
  if (!isTextOrNothing(reasoning)) return but("delta.reasoning is text", reasoning)
  if (calls != null && !(Array.isArray(calls) && calls.every(isCallPiece))) {
    return butList("delta.tool_calls are a list of pieces with an index", calls)
  }
  return areImages(images) ? undefined : butList(`delta.images are a list of ${imageParts}`, images)
}

const isCallPiece = (piece: unknown): boolean => isJsonObject(piece) && typeof piece["index"] === "number"

// --- explanations

const isReason = (value: unknown): boolean =>
  value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)

export const expectedOfReasons = (reasons: unknown): Misfit => {
  if (!isPlainObject(reasons)) return but("an object of numbers, texts, booleans and nulls", reasons)
  const odd = Object.keys(reasons).find((name) => !isReason(reasons[name]))
  return odd === undefined ? undefined : but(`${odd} as a finite number, a text, a boolean or null`, reasons[odd])
}

// --- prices

const isMultiplier = (value: unknown): boolean =>
  value === undefined || (typeof value === "number" && value >= 0 && value <= 100)

export const expectedOfMultipliers = (multipliers: unknown): Misfit => {
  if (multipliers === undefined) return undefined
  if (!isPlainObject(multipliers))
    return but("an object of read, readExplicit, write and write1h, or nothing", multipliers)
  const odd = ["read", "readExplicit", "write", "write1h"].find((name) => !isMultiplier(multipliers[name]))
  if (odd === undefined) return undefined
  const expected = `${odd} as a number from 0 to 100`
  return typeof multipliers[odd] === "number" ? expected : but(expected, multipliers[odd])
}

export const expectedOfRegions = (multipliers: unknown): Misfit => {
  if (multipliers === undefined) return undefined
  if (!isPlainObject(multipliers)) return but("regionMultipliers as an object", multipliers)
  const odd = Object.keys(multipliers).find(
    (name) => typeof multipliers[name] !== "number" || !isMultiplier(multipliers[name]),
  )
  return odd === undefined ? undefined : but(`regionMultipliers.${odd} as a number from 0 to 100`, multipliers[odd])
}

// --- the result of load

const isFunction = (value: unknown): boolean => typeof value === "function"

export const expectedOfDecoder = (decoder: unknown): Misfit =>
  typeof decoder === "object" &&
  decoder !== null &&
  "event" in decoder &&
  isFunction(decoder.event) &&
  "end" in decoder &&
  isFunction(decoder.end) &&
  (!("done" in decoder) || decoder.done === undefined || isFunction(decoder.done))
    ? undefined
    : but("a decoder with event and end, and done where the protocol has a last event", decoder)

export const expectedOfUnaryProtocol = (protocol: JsonObject): Misfit => {
  const missing = ["encode", "decode"].find((hook) => !isFunction(protocol[hook]))
  if (missing !== undefined) return but(`${missing} is a function`, protocol[missing])
  const odd = ["readText", "mostInputs"].find((hook) => protocol[hook] !== undefined && !isFunction(protocol[hook]))
  return odd === undefined ? undefined : but(`${odd} is a function`, protocol[odd])
}

export const expectedOfProtocol = (protocol: JsonObject, isFraming: (value: unknown) => boolean): Misfit => {
  const { framing, baseUrl, usage, usageAfterError, transparent, native, passes, searches } = protocol
  if (!isFraming(framing)) return butWord("framing is one that this gateway has", framing)
  if (usage !== undefined && usage !== "largest" && usage !== "last") {
    return butWord('usage is "largest" or "last"', usage)
  }
  if (baseUrl !== undefined && typeof baseUrl !== "string") return but("baseUrl is a text", baseUrl)
  if (usageAfterError !== undefined && typeof usageAfterError !== "boolean") {
    return but("usageAfterError is true or false", usageAfterError)
  }
  if (transparent !== undefined && typeof transparent !== "boolean") {
    return but("transparent is true or false", transparent)
  }
  if (passes !== undefined && passes !== "any" && !isListOfTexts(passes)) {
    return butList('passes is "any" or a list of names', passes)
  }
  if (searches !== undefined && !isFunction(searches)) return but("searches is a function", searches)
  if (
    native !== undefined &&
    !(isPlainObject(native) && typeof native["form"] === "string" && isFunction(native["encode"]))
  ) {
    return but("native is an object with form as text and encode as a function", native)
  }
  const { ofEveryHost, isSpokenBy }: JsonObject = isPlainObject(native) ? native : {}
  if (ofEveryHost !== undefined && typeof ofEveryHost !== "boolean") {
    return but("native.ofEveryHost is true or false", ofEveryHost)
  }
  if (isSpokenBy !== undefined && !isFunction(isSpokenBy)) return but("native.isSpokenBy is a function", isSpokenBy)
  const missing = ["encode", "decode", "decoder"].find((hook) => !isFunction(protocol[hook]))
  return missing === undefined ? undefined : but(`${missing} is a function`, protocol[missing])
}
