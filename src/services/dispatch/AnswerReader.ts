/** How the whole answer of a host is read, by its operation, and written in the caller's form. */

import { HostFailed } from "../../domain/failures/Failure.ts"
import { isJsonObject } from "../../domain/json/json.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import type { ChatResponse } from "../../domain/request/chat.ts"
import { bytesSaid, mediaSaid, showsReasoning } from "../../domain/request/estimate.ts"
import { type MediaTokens, mediaTogether } from "../../domain/request/MediaTokens.ts"
import type { UnaryAnswers, UnaryName, UnaryRequests } from "../../domain/request/operations.ts"
import { areToolCallsSound } from "../../domain/request/ToolCallFragments.ts"
import type { AnswerWriter, BodyPieces, UnaryWriter } from "../../formats/AnswerWriter.ts"
import { namedDetails, namedNative } from "../../formats/request/encryptedReasoning.ts"
import type { ResponseHead } from "../../upstream/Exchange.ts"
import { withShownTexts } from "../../wire/words/shownMembers.ts"
import { shownOf } from "../calls/withoutSecrets.ts"
import type { Attempt } from "./Attempt.ts"
import type { Begun } from "./AttemptStart.ts"
import type { Delivered } from "./EndAttempt.ts"

/** The body of a whole answer, in the caller's form: text, or bytes where the form's answer is no text. */
export type AnswerBody = string | Uint8Array<ArrayBuffer> | BodyPieces

/**
 * An answer that was read, written but for its cost. So one that cannot be written fails before anything is charged.
 */
export interface AnswerRead {
  readonly delivered: Delivered
  readonly write: (charge: Charge) => AnswerBody
  /** Default: JSON. */
  readonly contentType?: string
}

/** Reads the JSON of an answer with status 200. A throw is a defect of ours. */
export type AnswerReader = (begun: Begun, head: ResponseHead, body: unknown) => AnswerRead | HostFailed

/** `form`: the caller's. */
export const chatReader =
  (form: string, writer: AnswerWriter): AnswerReader =>
  ({ attempt, endpoint, answerContext }, head, body) => {
    const { protocol, host } = endpoint
    const decoded = protocol.decode(head, body, answerContext)
    if (decoded instanceof HostFailed) return decoded
    const shown = shownOf(endpoint, attempt.signature)
    const choices = decoded.choices.map((choice) => withShownTexts(choice, shown))
    const answer = { ...withShownTexts(decoded, shown), choices }
    const native = protocol.native?.form === form && isJsonObject(body) ? withShownTexts(body, shown) : undefined
    const delivered = deliveredOf(answer, attempt)
    const { namedAccount: account } = attempt
    if (account === undefined) return { delivered, write: writer(host, answer, native) }
    const named = namedAnswer(answer, account)
    return {
      delivered: named === answer ? delivered : { ...delivered, isBound: true },
      write: writer(host, named, native && namedNative(native, account)),
    }
  }

/** Returns the same answer where nothing of its reasoning gets the name of the account. */
const namedAnswer = (answer: ChatResponse, account: string): ChatResponse => {
  const choices = answer.choices.map((choice) => {
    const { reasoning_details: details } = choice.message
    if (details == null) return choice
    const named = namedDetails(details, account)
    return named === details ? choice : { ...choice, message: { ...choice.message, reasoning_details: named } }
  })
  return choices.every((choice, at) => choice === answer.choices[at]) ? answer : { ...answer, choices }
}

const deliveredOf = (
  { usage, choices, unfinished, unseen = 0, service_tier: tier }: ChatResponse,
  { tools }: Attempt,
): Delivered => {
  let outputBytes = unseen
  let outputMedia: MediaTokens | undefined
  let isReasoningShown = false
  for (const { message } of choices) {
    outputBytes += bytesSaid(message)
    outputMedia = mediaTogether(outputMedia, mediaSaid(message))
    isReasoningShown ||= showsReasoning(message)
  }
  return {
    outcome: "finished",
    usage,
    outputBytes,
    outputMedia,
    showsReasoning: isReasoningShown,
    isUnfinished: unfinished,
    finishReason: choices[0]?.finish_reason ?? "",
    servedTier: tier,
    areToolCallsSound: tools && areToolCallsSound(tools, choices),
    isAwaited: true,
  }
}

export const unaryReader =
  <Name extends UnaryName>(request: UnaryRequests[Name], writer: UnaryWriter<Name>): AnswerReader =>
  ({ attempt, endpoint }, head, body) => {
    const { batch } = attempt
    const decoded = endpoint.unary?.decode(head, body, batch?.request ?? request) ?? malformed
    if (decoded instanceof HostFailed) return decoded
    const read = batch === undefined ? decoded : batch.add(decoded)
    if (read === undefined) return partRead
    const answer = withShownTexts(read, shownOf(endpoint, attempt.signature))
    // The plan has hosts of models that serve the request's operation alone, and `decode` gives an answer of that.
    const write = writer(endpoint.host, answer as UnaryAnswers[Name])
    if (write instanceof HostFailed) return write
    // There is no output that comes piece by piece: the first event is the whole answer.
    attempt.answered()
    const { usage } = answer
    return { delivered: { outcome: "finished", usage, outputBytes: 0, finishReason: "stop", isAwaited: true }, write }
  }

/** The result for a part of a batch that is not the last. It is neither written nor booked. */
const partRead: AnswerRead = {
  delivered: { outcome: "finished", usage: undefined, outputBytes: 0, finishReason: "stop", isAwaited: true },
  write: () => "",
}

const malformed = new HostFailed({ reason: "malformed" })
