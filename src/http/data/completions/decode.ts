/**
 * Decodes a legacy completion. The prompt becomes one user message, since hosts offer chat; all other members are those of
 * the chat form, where they make sense without messages and tools. What asks for something that no chat can do is refused.
 */
import * as Either from "effect/Either"
import type { BadRequest } from "../../../domain/failures/Failure.ts"
import type { JsonObject } from "../../../domain/json/Json.ts"
import type { ChatPayload } from "../../../domain/request/Chat.ts"
import { otherChecks } from "../../../domain/request/placedParameters.ts"
import type { ChatRequest } from "../../../domain/request/Request.ts"
import { chatRequest, countOf } from "../../decode/chatRequest.ts"
import { type Check, type Issues, listOf, oneOf, report } from "../../decode/checks.ts"
import {
  maybeFlag,
  memberTable,
  readMembers,
  refusalOf,
  requireModel,
  samplingMembers,
  sharedMembers,
} from "../../decode/members.ts"
import { checkReasoning, reasoningOf } from "../../decode/reasoning.ts"
import { textMembers, topLogprobs } from "../chat/decode.ts"

export const completionsForm = "completions"

const tokens = "is a list of tokens, which mean something to one model only: give the prompt as a text"

const prompt: Check = (value, path, issues) => {
  if (typeof value === "string") return
  if (!Array.isArray(value)) return report(issues, path, "must be a string, or a list of one string")
  const [first] = value
  if (typeof first === "number" || Array.isArray(first)) report(issues, path, tokens)
  else if (value.length !== 1) report(issues, path, `must be one prompt, not ${value.length}: send a request for each`)
  else if (typeof first !== "string") report(issues, `${path}[0]`, "must be a string")
}

const refused =
  (message: string): Check =>
  (_value, path, issues) =>
    report(issues, path, message)

const ofChat = "is not a member of this form: use /chat/completions"
const noTools = refused(`${ofChat}, which has tools`)
const textOnly = refused(`${ofChat}, whose answers may be more than text`)

const suffix: Check = (value, path, issues) => {
  if (value !== "") report(issues, path, "is not supported: models of chat hosts cannot fill in the middle of a text")
}

/** How many alternatives to report for each token, as the form has it, or the flag of the chat form. */
const logprobs: Check = (value, path, issues) => {
  if (typeof value !== "boolean") topLogprobs(value, path, issues)
}

const parameters: Readonly<Record<string, Check>> = {
  ...samplingMembers,
  ...textMembers,
  logprobs,
}

const others: Readonly<Record<string, Check>> = {
  ...sharedMembers,
  ...otherChecks,
  prompt,
  echo: maybeFlag,
  suffix,
  messages: refused(`${ofChat} for conversations, or give a prompt`),
  tools: (value, path, issues) => {
    if (!Array.isArray(value) || value.length > 0) noTools(value, path, issues)
  },
  tool_choice: noTools,
  parallel_tool_calls: noTools,
  functions: noTools,
  function_call: noTools,
  modalities: listOf(oneOf("text")),
  image_config: textOnly,
  audio: textOnly,
}

const table = memberTable(parameters, others, [], ["prompt"])

/** Members that are translated, become fields of `ChatRequest`, or ask for nothing once they are accepted. */
const notCanonical: ReadonlySet<string> = new Set([
  ...["model", "stream", "stream_options", "max_tokens", "max_completion_tokens"],
  ...["reasoning", "reasoning_effort", "include_reasoning"],
  ...["prompt", "echo", "suffix", "best_of", "logprobs", "top_logprobs"],
  ...["messages", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"],
  ...["modalities", "image_config", "audio"],
])

export const decodeCompletions = (body: JsonObject): Either.Either<ChatRequest, BadRequest> => {
  const issues: Issues = []
  requireModel(body, issues)
  if (body["prompt"] === undefined) report(issues, "prompt", "is required")
  const read = readMembers(body, table, issues)
  checkReasoning(body, issues)
  checkTogether(body, issues)
  const refusal = refusalOf(body, read, issues)
  if (refusal !== undefined) return Either.left(refusal)
  const { payload: own, preferences, parameters: written, dropped } = read
  const payload = payloadOf(own)
  const reasoning = reasoningOf(body)
  const maxTokens = countOf(body["max_completion_tokens"]) ?? countOf(body["max_tokens"])
  const parameters = [...written.filter((name) => !name.endsWith("logprobs")), ...logprobNames(payload)]
  const form = completionsForm
  const request = chatRequest({ body, payload, preferences, parameters, reasoning, maxTokens, form, dropped })
  return Either.right({
    ...request,
    native: { form: completionsForm, body: own, headers: {}, untranslated: [], pathOf },
  })
}

/** Members that exclude each other. */
const checkTogether = ({ n, best_of, stream, echo, logprobs, top_logprobs }: JsonObject, issues: Issues): void => {
  const wanted = countOf(n) ?? 1
  const made = countOf(best_of) ?? wanted
  if (made < wanted) report(issues, "best_of", "must not be less than n")
  if (made > wanted && stream === true) {
    report(issues, "best_of", "must not be greater than n in a stream: which answers are best is known at their end")
  }
  const wantsLogprobs = typeof logprobs === "number" || logprobs === true
  if (echo === true && wantsLogprobs)
    report(issues, "echo", "excludes logprobs: hosts do not report them for the prompt")
  if (typeof logprobs === "number" && top_logprobs != null) {
    report(issues, "top_logprobs", "excludes logprobs as a number, which says the same")
  }
}

/** The canonical payload. The members are checked. */
const payloadOf = (own: JsonObject): ChatPayload => {
  const { n, best_of: best } = own
  const more = typeof best === "number" && best > (countOf(n) ?? 1)
  return {
    ...Object.fromEntries(Object.entries(own).filter(([name]) => !notCanonical.has(name))),
    messages: [{ role: "user", content: promptOf(own) }],
    ...(more ? { best_of: best } : {}),
    ...logprobsOf(own),
  }
}

/** The prompt of a body that was checked. */
export const promptOf = ({ prompt }: JsonObject): string => String(Array.isArray(prompt) ? prompt[0] : prompt)

const logprobsOf = ({ logprobs, top_logprobs: top }: JsonObject): Pick<ChatPayload, "logprobs" | "top_logprobs"> => {
  const alternatives = countOf(logprobs) ?? countOf(top)
  return {
    ...(logprobs == null ? {} : { logprobs: logprobs !== false }),
    ...(alternatives === undefined || logprobs === 0 ? {} : { top_logprobs: alternatives }),
  }
}

const logprobNames = (payload: ChatPayload): ReadonlyArray<string> =>
  ["logprobs", "top_logprobs"].filter((name) => payload[name] !== undefined)

const pathOf = (path: string): string => (path.startsWith("messages") ? "prompt" : path)
