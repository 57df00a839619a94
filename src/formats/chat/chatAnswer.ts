/**
 * Whole answers in the chat form, of hosts and for clients, and the small readings that whole and streamed answers
 * share.
 */
import { HostFailed } from "../../domain/failures/Failure.ts"
import { isJsonObject, type JsonObject, objectsIn } from "../../domain/json/json.ts"
import type {
  ChatChoice,
  ChatMessage,
  ChatResponse,
  ChatUsage,
  FinishReason,
  OutputImage,
  ReasoningDetail,
  ToolCall,
} from "../../domain/request/chat.ts"
import { callIdOf } from "../callId.ts"
import { canonicalUsage } from "../canonicalUsage.ts"
import type { AnswerShape } from "../choices.ts"
import { detailsIn } from "../content.ts"
import { withCustomCalls } from "../customTools.ts"
import { errorInBody, malformed } from "../httpError.ts"
import type { ChatQuirks } from "./ChatQuirks.ts"
import { legacyChoice } from "./chatLegacyFunctions.ts"
import { ChatPartOrder } from "./chatPartOrder.ts"
import { ThinkTags } from "./chatThinkTags.ts"

export type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** Copies the other members of `from` into `into`. */
export const addRest = (into: Record<string, unknown>, from: JsonObject, taken: ReadonlySet<string>): void => {
  for (const name in from) {
    if (!taken.has(name)) into[name] = from[name]
  }
}

// The gateway writes its own ids, names and costs. `__proto__` would set the prototype.
export const takenOfBody = new Set([
  ...["__proto__", "id", "object", "created", "model", "provider", "cost"],
  ...["choices", "usage", "error", "system_fingerprint", "service_tier"],
])
export const takenOfChoice = new Set([
  ...["__proto__", "index", "message", "delta", "text", "error", "usage"],
  ...["finish_reason", "native_finish_reason", "logprobs"],
])

/** Hosts' words for finish reasons other than stop. */
const wordsFor = {
  length: "length max_tokens max_output_tokens max_length model_length model_context_window_exceeded",
  tool_calls: "tool_calls tool_call tool_use function_call",
  content_filter:
    "content_filter content_filtered safety refusal recitation blocked blocklist sensitive prohibited_content spii guardrail_intervened",
  error: "error insufficient_system_resource network_error",
} as const

/** Finishes that the model chose although nothing good came of it, in hosts' words. They are answers, and billed. */
const mistakes: ReadonlySet<string> = new Set([
  ...["malformed_function_call", "unexpected_tool_call", "too_many_tool_calls", "malformed_response", "abort"],
  ...["missing_thought_signature", "no_image", "image_other"],
])

const finishWords: ReadonlyMap<string, FinishReason> = new Map([
  ...(["length", "tool_calls", "content_filter", "error"] as const).flatMap((finish) =>
    wordsFor[finish].split(" ").map((word) => [word, finish] as const),
  ),
  ...[...mistakes].map((word) => [word, "error"] as const),
])

/** The canonical finish reason; `null` while the answer goes on, for which some hosts send "". */
export const finishOf = (word: unknown): FinishReason | null => {
  if (typeof word !== "string" || word === "") return null
  return finishWords.get(word) ?? finishWords.get(word.toLowerCase()) ?? "stop"
}

export const nativeOf = (choice: JsonObject): string | null => {
  const { native_finish_reason: native, finish_reason: word } = choice
  if (typeof native === "string" && native !== "") return native
  return typeof word === "string" && word !== "" ? word : null
}

/** The failure in a body or an event with status 200, if it holds one. */
export const errorOf = (body: JsonObject, event: string, quirks: ChatQuirks): HostFailed | undefined => {
  const error = errorMemberOf(body, event) ?? quirks.errorIn?.(body)
  return error === undefined ? undefined : errorInBody(error, quirks.reasons)
}

const errorMemberOf = (body: JsonObject, event: string): unknown => {
  if (body["error"]) return body["error"]
  if (event === "error" || body["object"] === "error") return body
  const groq = body["x_groq"]
  if (isJsonObject(groq) && groq["error"]) return groq["error"]
  // FastAPI's form of an error, which servers in Python send in the middle of a stream too.
  const { detail, choices, usage } = body
  if (detail == null || choices != null || usage != null) return undefined
  return { message: typeof detail === "string" ? detail : JSON.stringify(detail) }
}

/** The failure in one choice, if it holds one. The finish reason `error` without a detail is a failure too. */
export const choiceError = (
  choice: JsonObject,
  finish: FinishReason | null,
  { reasons }: ChatQuirks,
): HostFailed | undefined => {
  if (choice["error"]) return errorInBody(choice["error"], reasons)
  if (finish !== "error") return undefined
  const native = String(nativeOf(choice))
  return mistakes.has(native.toLowerCase())
    ? undefined
    : new HostFailed({ reason: "overloaded", code: native.slice(0, 100) })
}

/**
 * The usage of a body or an event. Groq's streams have it twice, or only under `x_groq`, Moonshot's in a choice
 * (earendil-works/pi#2017, 2026-03).
 */
export const usageOf = (body: JsonObject, { reasoningBeside = false }: ChatQuirks): ChatUsage | undefined =>
  canonicalUsage(body["usage"] ?? usageIn(body["x_groq"]) ?? usageInChoice(body["choices"]), reasoningBeside)

const usageIn = (value: unknown): unknown => (isJsonObject(value) ? (value["usage"] ?? undefined) : undefined)

const usageInChoice = (choices: unknown): unknown => (Array.isArray(choices) ? usageIn(choices[0]) : undefined)

/** Strict clients expect `content` in every `logprobs`. */
export const logprobsOf = (logprobs: unknown): JsonObject | null => {
  if (!isJsonObject(logprobs)) return null
  return logprobs["content"] === undefined ? { content: null, ...logprobs } : logprobs
}

/** Text and reasoning of a content that is a list of parts, as in Mistral's form of thinking. */
export const textAndReasoningOf = (
  content: ReadonlyArray<unknown>,
): { readonly text: string; readonly reasoning: string } => {
  let text = ""
  let reasoning = ""
  for (const part of content) {
    if (!isJsonObject(part)) continue
    if (typeof part["text"] === "string") text += part["text"]
    const thinking = part["thinking"]
    if (Array.isArray(thinking)) reasoning += textAndReasoningOf(thinking).text
    else if (typeof thinking === "string") reasoning += thinking
  }
  return { text, reasoning }
}

export const argumentsOf = (written: unknown): string => {
  if (typeof written === "string") return written
  return written == null ? "" : JSON.stringify(written)
}

const imagesIn = (listed: unknown): ReadonlyArray<OutputImage> =>
  objectsIn(listed).flatMap((part): ReadonlyArray<OutputImage> => {
    const { image_url: image } = part
    if (!isJsonObject(image) || typeof image["url"] !== "string") return []
    return [{ ...part, type: "image_url", image_url: { ...image, url: image["url"] } }]
  })

/** Whether a `content` is one at all: text, parts, or nothing. */
export const isContent = (content: unknown): boolean =>
  content == null || typeof content === "string" || Array.isArray(content)

// --- whole answers

/** `model`: as the host calls it. */
export const readAnswer = (body: unknown, quirks: ChatQuirks, model: string): ChatResponse | HostFailed => {
  if (!isJsonObject(body)) return malformed()
  const wrong = errorOf(body, "", quirks)
  if (wrong !== undefined) return wrong
  const listed: unknown = body["choices"]
  if (!Array.isArray(listed) || listed.length === 0) return malformed()
  const choices: Array<ChatChoice> = []
  for (const [at, one] of listed.entries()) {
    const choice = readChoice(one, at, quirks, model)
    if (choice instanceof HostFailed) return choice
    choices.push(choice)
  }
  const { system_fingerprint: fingerprint, service_tier: tier } = body
  const out: Mutable<ChatResponse> = {
    choices,
    system_fingerprint: typeof fingerprint === "string" ? fingerprint : null,
  }
  if (typeof tier === "string") out.service_tier = tier
  addRest(out, body, takenOfBody)
  const usage = usageOf(body, quirks)
  if (usage !== undefined) out.usage = usage
  return out
}

const readChoice = (choice: unknown, at: number, quirks: ChatQuirks, model: string): ChatChoice | HostFailed => {
  if (!isJsonObject(choice)) return malformed()
  let finish = finishOf(choice["finish_reason"])
  const wrong = choiceError(choice, finish, quirks)
  if (wrong !== undefined) return wrong
  const given = choice["message"]
  // Azure's content filter may send only the finish reason (seen in a recording).
  const found = given == null && finish === "content_filter" ? { content: "" } : given
  if (!isJsonObject(found) || !isContent(found["content"])) return malformed()
  const message = readMessage(found, quirks, model)
  if (message.tool_calls !== undefined && (finish === "stop" || finish === null || finish === "tool_calls")) {
    finish = "tool_calls"
    message.tool_calls = message.tool_calls.map(withArguments)
  }
  const { index } = choice
  const out: Mutable<ChatChoice> = {
    index: typeof index === "number" ? index : at,
    logprobs: logprobsOf(choice["logprobs"]),
    finish_reason: finish,
    native_finish_reason: nativeOf(choice),
    message,
  }
  addRest(out, choice, takenOfChoice)
  return out
}

const takenOfMessage = new Set([
  ...["__proto__", "role", "content", "refusal", "reasoning", "reasoning_content", "tool_calls"],
])

/** A member that whole messages and deltas have alike; `undefined`: there is nothing in it that a client could read. */
export const memberOf = (name: string, value: unknown): unknown => {
  switch (name) {
    case "annotations":
      return Array.isArray(value) ? objectsIn(value) : undefined
    case "reasoning_details":
      return Array.isArray(value) ? detailsIn(value) : undefined
    case "images": {
      const images = imagesIn(value)
      return images.length === 0 ? undefined : images
    }
    default:
      // Nulls carry no information, and strict clients do not expect them.
      return value ?? undefined
  }
}

/** A complete call without arguments has none that are JSON. */
const withArguments = (call: ToolCall): ToolCall =>
  call.function.arguments === "" ? { ...call, function: { ...call.function, arguments: "{}" } } : call

const withEntry = (
  details: ReadonlyArray<ReasoningDetail>,
  { content, tool_calls: calls }: ChatMessage,
): ReadonlyArray<ReasoningDetail> => {
  const order = new ChatPartOrder()
  order.reasoned(details)
  if (content) order.text()
  if (calls !== undefined) order.calls(calls)
  const entry = order.entry()
  return entry === undefined ? details : [...details, entry]
}

const readMessage = (message: JsonObject, quirks: ChatQuirks, model: string): Mutable<ChatMessage> => {
  const { content, refusal, reasoning, reasoning_content: other, tool_calls: calls } = message
  const parts = Array.isArray(content) ? textAndReasoningOf(content) : undefined
  let text = typeof content === "string" ? content : (parts?.text ?? null)
  let thought =
    typeof reasoning === "string" ? reasoning : typeof other === "string" ? other : (parts?.reasoning ?? null)
  if (quirks.thinkTags === true && text !== null) {
    const tags = new ThinkTags(model)
    if (thought) tags.separated()
    const first = tags.push(text)
    const last = tags.end()
    text = first.text + last.text
    const tagged = first.reasoning + last.reasoning
    if (tagged !== "") thought = (thought ?? "") + tagged
  }
  const out: Mutable<ChatMessage> = {
    role: "assistant",
    content: text,
    refusal: typeof refusal === "string" ? refusal : null,
    reasoning: thought === "" ? null : thought,
  }
  if (Array.isArray(calls) && calls.length > 0) out.tool_calls = calls.map(readCall)
  for (const name in message) {
    if (takenOfMessage.has(name)) continue
    const value = memberOf(name, message[name])
    if (value !== undefined) out[name] = value
  }
  const { reasoning_details: details } = out
  if (details !== undefined && details.length > 1) out.reasoning_details = withEntry(details, out)
  return out
}

const readCall = (call: unknown): ToolCall => {
  const given = isJsonObject(call) ? call : {}
  const { id, type, function: called } = given
  const { name, arguments: written, ...rest } = isJsonObject(called) ? called : {}
  return {
    ...given,
    id: callIdOf(id),
    type: typeof type === "string" ? type : "function",
    function: { name: typeof name === "string" ? name : "", ...rest, arguments: argumentsOf(written) },
  }
}

// --- for clients

export const answers: AnswerShape = { object: "chat.completion", choice: (choice) => choice }

export const legacyAnswers: AnswerShape = { ...answers, choice: legacyChoice }

/** For a request with these custom tools. */
export const customAnswers = (names: ReadonlySet<string>): AnswerShape => ({
  ...answers,
  choice: (choice) => withCustomCalls(choice, names),
})
