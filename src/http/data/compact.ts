/**
 * `POST /responses/compact`: a shorter conversation in place of a long one, made by a host of the Responses form. It is planned,
 * paid for and tried like a request for an answer, and its answer comes as a whole.
 */
import * as Either from "effect/Either"
import { HostFailed } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { AnswerWriter } from "../../formats/AnswerWriter.ts"
import { namesFor, type ResponseNames } from "../../formats/responses/responsesAnswer.ts"
import { compactSchema, decodeCompact } from "../../formats/responses/responsesCompact.ts"
import { responsesErrorBody } from "../../formats/responses/responsesError.ts"
import { responsesForm } from "../../formats/responses/responsesRequest.ts"
import { usageBody } from "../../formats/responses/responsesUsage.ts"
import { type AnswerReader, chatReader } from "../../services/dispatch/AnswerReader.ts"
import { jsonBody } from "./Body.ts"
import { type Form, namesOf } from "./Form.ts"
import { withHeaders } from "./requestHeaders.ts"

export const compact: Form = {
  name: "compact",
  body: jsonBody((body, headers) => {
    const decoded = Either.flatMap(decodeCompact(body), (request) => withHeaders(request, headers))
    return Either.map(decoded, (request) => ({
      request,
      answer: (context, shown) =>
        compactionReader(compactionWriter(namesFor(namesOf(context, request, shown), request))),
    }))
  }, "input"),
  error: responsesErrorBody,
  schema: compactSchema,
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
