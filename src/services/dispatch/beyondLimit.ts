/**
 * Parses non-streaming answers within the limits of the gateway, and decides what happens to one with status 200 that
 * exceeds them. If it begins as an answer, it is charged and no other host is called, because each would produce the
 * same. Anything else is not an answer. See docs/guarantees.md#g10.
 */
import type { Endpoint } from "../../catalogue/endpoints.ts"
import { AnswerBeyondLimit, HostFailed } from "../../domain/failures/Failure.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import type { ChatUsage } from "../../domain/request/chat.ts"
import { bytesOfTokens } from "../../domain/request/estimate.ts"
import { type AnyUnaryRequest, isUnaryName } from "../../domain/request/operations.ts"
import { beginsAnswer, skim } from "../../formats/beyondLimit.ts"
import type { AnswerContext } from "../../formats/Protocol.ts"
import { promptUsage } from "../../formats/unaryProtocol.ts"
import type { ResponseHead } from "../../upstream/Exchange.ts"
import { excessIn, type JsonCount } from "../../wire/jsonDepth.ts"
import { answerBody, jsonOr } from "../calls/answerBody.ts"
import type { Attempt } from "./Attempt.ts"
import type { Batch } from "./batch/Batch.ts"
import type { Delivered } from "./EndAttempt.ts"

/** A non-streaming answer that exceeds a limit of the gateway, and is charged. */
export interface AnswerCut {
  readonly delivered: Delivered
  readonly beyond: HostFailed
}

/** The failure of an answer with too many bytes. */
export const tooLong = new HostFailed({ reason: "limit", cause: "the answer is too long" })

const tooDeep = new HostFailed({ reason: "limit", cause: "the answer is nested too deep" })
const tooMany = new HostFailed({ reason: "limit", cause: "the answer has too many values" })
const noAnswer = new HostFailed({
  reason: "malformed",
  cause: "the response is not an answer, and exceeds a limit of the gateway",
})

/** The failure of an answer that exceeds this limit. */
export const excessive = (excess: NonNullable<JsonCount["excess"]>): HostFailed =>
  excess === "depth" ? tooDeep : tooMany

interface Asked {
  readonly attempt: Attempt
  readonly endpoint: Endpoint
  readonly answerContext: AnswerContext
  /** As in `Begun`. */
  readonly unary?: AnyUnaryRequest | undefined
  readonly batch?: Pick<Batch, "request"> | undefined
}

/**
 * The JSON of an answer, or the text if it is not JSON, or the failure if it exceeds a limit. `isCounted`: its
 * nesting and values were already checked.
 */
export const parsedAnswer = (
  { attempt, endpoint }: Pick<Asked, "attempt" | "endpoint">,
  text: string,
  isCounted: boolean,
): unknown | HostFailed => {
  const readText = isUnaryName(attempt.context.operation) ? endpoint.unary?.readText : undefined
  if (readText === undefined) return isCounted ? jsonOr(text) : answerBody(text)
  const excess = isCounted ? undefined : excessIn(text, true)
  return excess === undefined ? readText(text) : excessive(excess)
}

/**
 * What to book for an answer that exceeds a limit, or the failure if it is not an answer.
 * `text`: as much of it as was kept.
 * `bytes`: all that was read.
 */
export const wholeBeyond = (
  asked: Asked,
  head: ResponseHead,
  text: string,
  bytes: number,
  beyond: HostFailed,
): AnswerCut | HostFailed => {
  const { attempt, endpoint, answerContext } = asked
  const json = skim(text)
  if (!isJsonObject(json)) return noAnswer
  const begins = beginsAnswer(json)
  const cut = { outcome: "cut", failure: beyond, finishReason: "", isAwaited: true } as const
  if (isUnaryName(attempt.context.operation))
    return begins ? { beyond, delivered: { ...cut, usage: unaryUsage(asked, head, json), outputBytes: 0 } } : noAnswer
  const answer = endpoint.protocol.decode(head, json, answerContext)
  const outputBytes = Math.min(bytes, mostBytes(attempt))
  if (answer instanceof HostFailed) {
    if (begins) return { beyond, delivered: { ...cut, usage: answer.usage, outputBytes } }
    return answer.reason === "malformed" || answer.reason === "plugin" ? noAnswer : answer
  }
  if (!begins && answer.choices.length === 0) return noAnswer
  return { beyond, delivered: { ...cut, usage: answer.usage, outputBytes, isUnfinished: answer.unfinished } }
}

/** What the host counted, by its protocol where all parts of the answer are there. OpenAI's form is read without them. */
const unaryUsage = ({ endpoint, unary, batch }: Asked, head: ResponseHead, json: JsonObject): ChatUsage | undefined => {
  const request = batch?.request ?? unary
  const answer = request && endpoint.unary?.decode(head, json, request)
  return answer === undefined || answer instanceof HostFailed ? promptUsage(json).usage : answer.usage
}

/** The bytes of output that the reservation pays for, or would pay for if the key had a limit. */
export const mostBytes = ({ reservation }: Attempt): number => bytesOfTokens(reservation.most.completionTokens)

/** The exceeded limit, without a full stop. */
export const wordsOf = ({ cause }: HostFailed): string =>
  cause instanceof Error ? cause.message : typeof cause === "string" ? cause : "the answer is too long"

/** The failure that the client sees. `charge`: `undefined` until it is booked. */
export const answerBeyondLimit = ({ host }: Attempt, failure: HostFailed, charge: Charge | undefined) =>
  new AnswerBeyondLimit({
    limit: wordsOf(failure),
    provider: host.providerName,
    cost: charge?.cost.total ?? 0n,
  })
