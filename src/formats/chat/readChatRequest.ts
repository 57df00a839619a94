/**
 * Decodes the JSON of a chat completion to a `ChatRequest`. All problems are reported at once, at most ten. Plain
 * functions and a table, since it runs on every request (see `domain/json/checks.ts`). Optional members may be null.
 * Ranges that depend on the host are left to the host.
 */
import * as Either from "effect/Either"
import type { BadRequest } from "../../domain/failures/Failure.ts"
import {
  anyObject,
  anything,
  byType,
  type Check,
  described,
  filledText,
  flag,
  type Issues,
  listOf,
  objectOf,
  objectOr,
  oneOf,
  text,
  titled,
} from "../../domain/json/checks.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type { ChatPayload } from "../../domain/request/chat.ts"
import { otherChecks, parameterChecks } from "../../domain/request/placedParameters.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import { chatRequest, countOf } from "../request/chatRequest.ts"
import { memberTable, most, readMembers, refusalOf, sharedMembers } from "../request/members.ts"
import { otherTool } from "../request/operatorMembers.ts"
import { reasoningOf, reasoningRule } from "../request/reasoning.ts"
import { name, textMembers } from "../request/textMembers.ts"
import { messages } from "./chatMessages.ts"
import { legacyMembers, withoutFunctions } from "./legacyFunctions.ts"

const declared = objectOf(
  { name, description: text, parameters: described("JSON Schema of the arguments.", anyObject), strict: flag },
  "name",
)
const toolTypes: ReadonlyMap<string, Check> = new Map([["function", objectOf({ function: declared }, "function")]])

const tools = listOf(titled("ChatTool", byType(toolTypes, otherTool)), most.tools)

const namedChoice = byType(
  new Map([["function", objectOf({ function: objectOf({ name: filledText }, "name") }, "function")]]),
  anything,
)
const toolChoice = objectOr(namedChoice, oneOf("none", "auto", "required"))

/** Parameters that a host may or may not support (`supported_parameters`). */
const parameters: Readonly<Record<string, Check>> = {
  ...parameterChecks,
  ...textMembers,
  tools,
  tool_choice: toolChoice,
}

const others: Readonly<Record<string, Check>> = {
  ...sharedMembers,
  ...otherChecks,
  ...legacyMembers(declared, most.tools),
  messages,
  prompt: text,
}

/** Members that become fields of `ChatRequest`. Protocols encode them for each host. */
const decodedApart = [
  ...["model", "stream", "stream_options", "max_tokens", "max_completion_tokens"],
  ...["reasoning", "reasoning_effort", "include_reasoning"],
]

export const chatTable = memberTable({
  ...{ title: "ChatRequest", parameters, others, decodedApart },
  required: ["messages"],
  after: [reasoningRule],
})

/** The request refers to `body`, which must not change any more. */
export const decodeChat = (body: JsonObject): Either.Either<ChatRequest, BadRequest> => {
  const issues: Issues = []
  const read = readMembers(body, chatTable, issues)
  const refusal = refusalOf(body, read, issues)
  if (refusal !== undefined) return Either.left(refusal)
  const { preferences, parameters, dropped } = read
  const payload = withoutFunctions(read.payload)
  const isLegacy = payload !== read.payload
  if (isLegacy)
    for (const name of ["tools", "tool_choice"]) if (isNew(name, payload, read.payload)) parameters.push(name)
  const maxTokens = countOf(body["max_completion_tokens"]) ?? countOf(body["max_tokens"])
  const reasoning = reasoningOf(body)
  const request = chatRequest({
    ...{ body, preferences, parameters, reasoning, maxTokens, dropped, payload: checkedPayload(payload) },
  })
  return Either.right(isLegacy && read.payload["tools"] == null ? { ...request, functionCalls: true } : request)
}

const isNew = (name: string, payload: JsonObject, before: JsonObject): boolean =>
  payload[name] != null && before[name] == null

/** The checks above guarantee the type: required members are present, and known members have their type. */
const checkedPayload = (payload: JsonObject): ChatPayload => payload as unknown as ChatPayload
