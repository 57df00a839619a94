/**
 * Decodes the JSON of a chat completion to a `ChatRequest`. All problems are reported at once, at most ten. Plain
 * functions and a table, since it runs on every request (see `../../decode/checks.ts`). Optional members may be null.
 * Ranges that depend on the host are left to the host.
 */
import * as Either from "effect/Either"
import type { BadRequest } from "../../../domain/failures/Failure.ts"
import { isJsonObject, type JsonObject } from "../../../domain/json/Json.ts"
import type { ChatPayload } from "../../../domain/request/Chat.ts"
import { otherChecks } from "../../../domain/request/placedParameters.ts"
import type { ChatRequest } from "../../../domain/request/Request.ts"
import { chatRequest, countOf } from "../../decode/chatRequest.ts"
import {
  anything,
  byType,
  type Check,
  filledText,
  type Issues,
  integer,
  listOf,
  matching,
  objectOf,
  oneOf,
  onlyKnown,
  orNull,
  report,
  text,
} from "../../decode/checks.ts"
import {
  maybeFlag,
  maybeObject,
  maybeText,
  memberTable,
  most,
  readMembers,
  refusalOf,
  requireModel,
  samplingMembers,
  sharedMembers,
} from "../../decode/members.ts"
import { otherTool } from "../../decode/otherRouters.ts"
import { checkReasoning, reasoningOf } from "../../decode/reasoning.ts"
import { messages, textContent } from "./messages.ts"

const name = matching(/^[a-zA-Z0-9_-]{1,64}$/, "must be 1 to 64 letters, digits, underscores and dashes")

const toolTypes: ReadonlyMap<string, Check> = new Map([
  [
    "function",
    objectOf(
      { function: objectOf({ name, description: maybeText, parameters: maybeObject, strict: maybeFlag }, "name") },
      "function",
    ),
  ],
])

const tools = listOf(byType(toolTypes, otherTool), most.tools)

const namedChoice = byType(
  new Map([["function", objectOf({ function: objectOf({ name: filledText }, "name") }, "function")]]),
  () => {},
)
const wordChoice = oneOf("none", "auto", "required")
const toolChoice: Check = (value, path, issues) => (isJsonObject(value) ? namedChoice : wordChoice)(value, path, issues)

const formats: ReadonlyMap<string, Check> = new Map([
  ["text", anything],
  ["json_object", anything],
  [
    "json_schema",
    objectOf(
      { json_schema: objectOf({ name, description: maybeText, schema: maybeObject, strict: maybeFlag }, "name") },
      "json_schema",
    ),
  ],
  ["grammar", objectOf({ grammar: text }, "grammar")],
  ["python", anything],
])

export const topLogprobs = integer(0, 20)

/** Parameters that say what the text of the answer is to be. */
export const textMembers = {
  prediction: orNull(objectOf({ type: oneOf("content"), content: textContent }, "type", "content")),
  response_format: orNull(byType(formats, onlyKnown(formats))),
} satisfies Readonly<Record<string, Check>>

/** Parameters that a host may or may not support (`supported_parameters`). */
const parameters: Readonly<Record<string, Check>> = {
  ...samplingMembers,
  ...textMembers,
  tools: orNull(tools),
  tool_choice: orNull(toolChoice),
}

const others: Readonly<Record<string, Check>> = {
  ...sharedMembers,
  ...otherChecks,
  messages,
  prompt: text,
}

/** Members that become fields of `ChatRequest`. Protocols encode them for each host. */
const decodedApart = [
  ...["model", "stream", "stream_options", "max_tokens", "max_completion_tokens"],
  ...["reasoning", "reasoning_effort", "include_reasoning"],
]

const table = memberTable(parameters, others, decodedApart, ["messages"])

/** The request refers to `body`, which must not change any more. */
export const decodeChat = (body: JsonObject): Either.Either<ChatRequest, BadRequest> => {
  const issues: Issues = []
  requireModel(body, issues)
  if (body["messages"] === undefined) report(issues, "messages", "is required")
  const read = readMembers(body, table, issues)
  checkReasoning(body, issues)
  const refusal = refusalOf(body, read, issues)
  if (refusal !== undefined) return Either.left(refusal)
  const { payload, preferences, parameters, dropped } = read
  const maxTokens = countOf(body["max_completion_tokens"]) ?? countOf(body["max_tokens"])
  const reasoning = reasoningOf(body)
  return Either.right(
    chatRequest({
      ...{ body, preferences, parameters, reasoning, maxTokens, dropped },
      payload: checkedPayload(payload),
    }),
  )
}

/** The checks above guarantee the type: required members are present, and known members have their type. */
const checkedPayload = (payload: Record<string, unknown>): ChatPayload => payload as unknown as ChatPayload
