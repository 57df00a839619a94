/** A whole answer of one host: sent, collected within its bounds of time and size, and read. */
import * as Exit from "effect/Exit"
import type { Endpoint } from "../../catalogue/endpoints.ts"
import { HostFailed } from "../../domain/failures/Failure.ts"
import type { ChatResponse } from "../../domain/request/chat.ts"
import type { ResponseHead, Sink } from "../../upstream/Exchange.ts"
import type { AnswerContext } from "../../wire/Protocol.ts"
import { BodyText } from "../calls/BodyText.ts"
import { answerBody, longestErrorBody, refusedBy, type UpstreamClient } from "../calls/upstreamCall.ts"
import { Wait } from "../request/Steps.ts"
import type { Timer } from "../request/Timers.ts"
import type { AnswerRead, AnswerReader } from "./AnswerReader.ts"
import type { Begun } from "./beginAttempt.ts"

/**
 * An effect that sends the request, collects the whole answer as the sink of its exchange, and ends at once when the attempt is
 * stopped, which `timer` does when the host takes too long. It can be run once. `read` gets the JSON of an answer with status
 * 200; when it throws, that is a defect of ours.
 */
export class UnaryAnswer extends Wait<AnswerRead | HostFailed> implements Sink {
  private readonly client: UpstreamClient
  private readonly begun: Begun
  private readonly longestAnswer: number
  private readonly read: AnswerReader
  private readonly timer: Timer
  private resume: ((exit: Exit.Exit<AnswerRead | HostFailed>) => void) | undefined
  private received: ResponseHead | undefined
  private body: BodyText | undefined

  constructor(client: UpstreamClient, begun: Begun, longestAnswer: number, read: AnswerReader, timer: Timer) {
    super()
    this.client = client
    this.begun = begun
    this.longestAnswer = longestAnswer
    this.read = read
    this.timer = timer
  }

  override register(resume: (exit: Exit.Exit<AnswerRead | HostFailed>) => void): void {
    this.resume = resume
    const { attempt, endpoint, encoded } = this.begun
    attempt.onStop = () => this.failed(attempt.stopped ?? malformed)
    if (attempt.stopped !== undefined) this.failed(attempt.stopped)
    else attempt.exchange = this.client.send(endpoint, encoded, this, attempt.context.isOnce)
  }

  head(received: ResponseHead): void {
    this.received = received
    this.body = new BodyText(received.status === 200 ? this.longestAnswer : longestErrorBody)
  }

  data(bytes: Uint8Array, start: number, end: number): void {
    const { received, body } = this
    if (received === undefined || body === undefined || body.add(bytes, start, end)) return
    this.failed(received.status === 200 ? tooLong : refusedBy(this.begun.endpoint, received, body.take()))
  }

  end(): void {
    const { received, body, begun } = this
    if (received === undefined || body === undefined) return
    const text = body.take()
    const json = received.status === 200 ? answerBody(text) : refusedBy(begun.endpoint, received, text)
    this.finish(json instanceof HostFailed ? json : this.read(begun, received, json))
  }

  resent(): void {
    this.begun.attempt.resends += 1
  }

  failed(failure: HostFailed): void {
    this.begun.attempt.exchange?.cancel()
    this.finish(failure)
  }

  /** Only the first call counts: see `Wait`. */
  private finish(answer: AnswerRead | HostFailed): void {
    this.timer.clear()
    this.resume?.(Exit.succeed(answer))
  }
}

const malformed = new HostFailed({ reason: "malformed" })

/** The failure for a whole answer above `limits.body_bytes`. */
export const tooLong = new HostFailed({ reason: "limit", cause: "the answer is too long" })

/** Reads a complete body as an answer or as a failure. */
export const readAnswer = (
  endpoint: Endpoint,
  head: ResponseHead,
  body: string,
  context: AnswerContext,
): ChatResponse | HostFailed => {
  if (head.status !== 200) return refusedBy(endpoint, head, body)
  const json = answerBody(body)
  return json instanceof HostFailed ? json : endpoint.protocol.decode(head, json, context)
}
