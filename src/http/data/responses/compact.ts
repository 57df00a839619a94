/**
 * `POST /responses/compact`: a shorter conversation in place of a long one, made by a host of the Responses form. It is planned,
 * paid for and tried like a request for an answer, and its answer comes as a whole.
 */
import * as Either from "effect/Either"
import { BadRequest, HostFailed } from "../../../domain/failures/Failure.ts"
import type { Host } from "../../../domain/hosts/Host.ts"
import { type JsonSchema, objectSchema, onlyFalse } from "../../../domain/json/checks.ts"
import { isJsonObject, type JsonObject } from "../../../domain/json/Json.ts"
import { type ChatRequest, type NativeRequest, routerOnly } from "../../../domain/request/Request.ts"
import type { AnswerWriter } from "../../../services/dispatch/Dispatcher.ts"
import { type AnswerReader, chatReader } from "../../../services/dispatch/readAnswer.ts"
import { responsesForm } from "../../../wire/responses/native.ts"
import { most } from "../../decode/members.ts"
import { chatErrorBody } from "../../ErrorBody.ts"
import type { Form } from "../Form.ts"
import { withHeaders } from "../requestHeaders.ts"
import { namesOf, type ResponseNames, usageBody } from "./answer.ts"
import { compactionReason } from "./compaction.ts"
import { decodeResponses, responsesTable } from "./decode.ts"
import { refusedMembers } from "./refused.ts"

/** Members of the Responses form that are sent, are the router's, or are refused. */
const read: ReadonlySet<string> = new Set([
  ...["model", "input", "instructions", "image", "service_tier", "stream"],
  ...["prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"],
  ...routerOnly,
  ...Object.keys(refusedMembers),
])

const isWhole = "must be false: a conversation that was compacted comes as a whole"

const readMembers = [...responsesTable.members].filter(([name, { kind }]) => read.has(name) && kind !== "dropped")

export const compactSchema: JsonSchema = {
  title: "CompactRequest",
  ...objectSchema({
    ...Object.fromEntries(readMembers.map(([name, { check }]) => [name, check])),
    stream: onlyFalse(isWhole),
  }),
  description: "Members that are not listed are not sent, and are named in X-GW-Dropped.",
  allOf: responsesTable.before.map(({ schema }) => schema),
}

export const decodeCompact = (body: JsonObject): Either.Either<ChatRequest, BadRequest> => {
  if (body["stream"] === true) return Either.left(noStream)
  const members = Object.entries(body)
  const others = members.filter(([name, value]) => !read.has(name) && asksForSomething(value)).map(([name]) => name)
  // A body with too many members is refused for all of them.
  const kept = members.length > most.members ? body : Object.fromEntries(members.filter(([name]) => read.has(name)))
  return Either.map(decodeResponses(kept), (request) => compacting(request, others))
}

const noStream = new BadRequest({ issues: [{ path: "stream", message: isWhole }] })

const asksForSomething = (value: unknown): boolean =>
  value !== null && value !== false && !(Array.isArray(value) && value.length === 0)

const compacting = (request: ChatRequest, others: ReadonlyArray<string>): ChatRequest => {
  const { routing, native, dropped = [] } = request
  return {
    ...request,
    routing: {
      ...routing,
      needs: { ...routing.needs, form: responsesForm, onlyForm: { path: "input", reason: compactionReason } },
    },
    // No host can be sent a bound, so its own is what money is held for.
    maxTokens: most.tokens,
    ...(native === undefined ? {} : { native: { ...native, compacts: true } satisfies NativeRequest }),
    ...(dropped.length + others.length === 0 ? {} : { dropped: [...dropped, ...others] }),
  }
}

export const compact: Form = {
  name: "compact",
  prompt: "input",
  decode: (body, headers) => {
    const decoded = Either.flatMap(decodeCompact(body), (request) => withHeaders(request, headers))
    return Either.map(decoded, (request) => ({
      request,
      answer: (context, shown) => compactionReader(compactionWriter(namesOf(context, request, shown))),
    }))
  },
  error: chatErrorBody,
}

/** The host's own answer with our id, its usage and its cost. Its items are the next input as they stand. */
const compactionWriter =
  (names: ResponseNames): AnswerWriter =>
  (host, _, native = {}) => {
    const { usage: __, openrouter_metadata: ___, ...own } = native
    const text = JSON.stringify({
      ...own,
      id: `resp_${names.suffix}`,
      ...modelOf(own, host),
      ...metadataOf(names, host),
    })
    return (charge) => `${text.slice(0, -1)},"usage":${JSON.stringify(usageBody(charge))}}`
  }

const modelOf = (own: JsonObject, { model }: Host): JsonObject => (own["model"] === undefined ? {} : { model })

const metadataOf = ({ metadata }: ResponseNames, host: Host): JsonObject =>
  metadata === undefined ? {} : { openrouter_metadata: metadata(host) }

const compactionReader = (writer: AnswerWriter): AnswerReader => {
  const reader = chatReader(responsesForm, writer)
  return (begun, head, body) => {
    const answer = reader(begun, head, body)
    if (answer instanceof HostFailed) return answer
    const isBilled = answer.delivered.isUnfinished === true
    return isJsonObject(body) && isCompacted(body, isBilled) ? answer : noCompaction
  }
}

/**
 * Without anything that the host made its caller would go on with an empty conversation. `isBilled`: the host has not ended it, so it is
 * no failure.
 */
const isCompacted = ({ object, output }: JsonObject, isBilled: boolean): boolean =>
  object === "response.compaction" && (isBilled || (Array.isArray(output) && !output.every(isOfUser)))

const isOfUser = (item: unknown): boolean => isJsonObject(item) && item["type"] === "message" && item["role"] === "user"

const noCompaction = new HostFailed({ reason: "malformed", cause: "an answer that is no compaction" })
