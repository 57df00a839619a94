/**
 * Decodes a legacy completion. The prompt becomes one user message, since hosts offer chat; all other members are those of
 * the chat form, where they make sense without messages and tools. What asks for something that no chat can do is refused.
 */
import * as Either from "effect/Either"
import type { BadRequest } from "../../domain/failures/Failure.ts"
import {
  type Check,
  checkOf,
  described,
  emptyList,
  exactly,
  flag,
  type Issues,
  type JsonSchema,
  listOf,
  oneOf,
  refused,
  report,
  text,
} from "../../domain/json/checks.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type { ChatPayload } from "../../domain/request/chat.ts"
import { chatParameters } from "../../domain/request/chatParameters.ts"
import { otherChecks, parameterChecks } from "../../domain/request/placedParameters.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import { chatRequest, countOf } from "../request/chatRequest.ts"
import { memberTable, readMembers, refusalOf, sharedMembers } from "../request/members.ts"
import { reasoningOf, reasoningRule } from "../request/reasoning.ts"
import { ruleOf } from "../request/rules.ts"
import { textMembers } from "../request/textMembers.ts"

export const completionsForm = "completions"

const tokens = "is a list of tokens, which mean something to one model only: give the prompt as a text"

const promptSchema = {
  anyOf: [text.schema, { type: "array", items: text.schema, minItems: 1, maxItems: 1 }],
  description: "A text, or a list of one.",
}
const prompt = checkOf(promptSchema, (value, path, issues) => {
  if (typeof value === "string") return
  if (!Array.isArray(value)) return report(issues, path, "must be a string, or a list of one string")
  const [first] = value
  if (typeof first === "number" || Array.isArray(first)) report(issues, path, tokens)
  else if (value.length !== 1) report(issues, path, `must be one prompt, not ${value.length}: send a request for each`)
  else if (typeof first !== "string") report(issues, `${path}[0]`, "must be a string")
})

const ofChat = "is not a member of this API format: use /chat/completions"
const withTools = `${ofChat}, which has tools`
const noTools = refused(withTools)
const textOnly = refused(`${ofChat}, whose answers may be more than text`)

/** As the form has it, or as the chat form does. */
const logprobs = checkOf(
  {
    anyOf: [flag.schema, chatParameters.top_logprobs.check.schema],
    description: "How many alternatives for each token, or whether there are any.",
  },
  (value, path, issues) => {
    if (typeof value !== "boolean") chatParameters.top_logprobs.check(value, path, issues)
  },
)

const { parallel_tool_calls: _, ...parametersOfText } = parameterChecks

const parameters: Readonly<Record<string, Check>> = { ...parametersOfText, ...textMembers, logprobs }

const others: Readonly<Record<string, Check>> = {
  ...sharedMembers,
  ...otherChecks,
  prompt,
  best_of: described("Not less than n, and in a stream not more.", chatParameters.best_of.check),
  echo: described("Whether the answer begins with the prompt.", flag),
  suffix: exactly("", "is not supported: models of chat hosts cannot fill in the middle of a text"),
  messages: refused(`${ofChat} for conversations, or give a prompt`),
  tools: emptyList(withTools),
  tool_choice: noTools,
  parallel_tool_calls: noTools,
  functions: noTools,
  function_call: noTools,
  modalities: listOf(oneOf("text")),
  image_config: textOnly,
  audio: textOnly,
}

const notNull: JsonSchema = { not: { type: "null" } }

/** Both members, with these values, exclude each other. */
const excludes = (first: string, value: JsonSchema, second: string, other: JsonSchema): JsonSchema => ({
  not: { properties: { [first]: value, [second]: other }, required: [first, second] },
})

/** No schema says what `best_of` has to be beside `n`. */
const together: JsonSchema = {
  allOf: [
    excludes("echo", { const: true }, "logprobs", { anyOf: [{ const: true }, { type: "number" }] }),
    excludes("logprobs", { type: "number" }, "top_logprobs", notNull),
  ],
}

/** Members that exclude each other. */
const togetherRule = ruleOf(together, ({ n, best_of, stream, echo, logprobs, top_logprobs }, issues) => {
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
})

export const completionsTable = memberTable({
  ...{ title: "CompletionRequest", parameters, others, decodedApart: [] },
  required: ["prompt"],
  after: [reasoningRule, togetherRule],
})

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
  const read = readMembers(body, completionsTable, issues)
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
