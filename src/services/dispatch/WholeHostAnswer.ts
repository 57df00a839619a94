/** A whole answer of one host: sent, collected within its bounds of time and size, and read. */
import { HostFailed } from "../../domain/failures/Failure.ts"
import { isUnaryName } from "../../domain/request/operations.ts"
import type { ResponseHead, Sink } from "../../upstream/Exchange.ts"
import { modelSaid } from "../../wire/modelSaid.ts"
import { answerBody, longestErrorBody, refusedBy } from "../calls/answerBody.ts"
import { BodyText } from "../calls/BodyText.ts"
import type { UpstreamClient } from "../calls/UpstreamClient.ts"
import { shownOf } from "../calls/withoutSecrets.ts"
import type { Timer } from "../request/Timers.ts"
import type { AnswerRead, AnswerReader } from "./AnswerReader.ts"
import type { Begun, CallListener } from "./AttemptStart.ts"
import { tooLong } from "./readAnswer.ts"

/**
 * Sends the request once, collects the whole answer as the sink of its exchange, and ends at once when the attempt is
 * stopped, which `timer` does when the host takes too long. `read` gets the JSON of an answer with status
 * 200; when it throws, that is a defect of ours.
 */
export class WholeHostAnswer implements Sink {
  private readonly client: UpstreamClient
  private readonly begun: Begun
  private readonly longestAnswer: number
  private readonly read: AnswerReader
  private readonly timer: Timer
  /** Who gets the answer; `undefined`: it was given. */
  private listener: CallListener<AnswerRead> | undefined
  private received: ResponseHead | undefined
  private body: BodyText | undefined

  constructor(
    client: UpstreamClient,
    begun: Begun,
    longestAnswer: number,
    read: AnswerReader,
    timer: Timer,
    listener: CallListener<AnswerRead>,
  ) {
    this.client = client
    this.begun = begun
    this.longestAnswer = longestAnswer
    this.read = read
    this.timer = timer
    this.listener = listener
  }

  send(): void {
    const { attempt, endpoint, encoded } = this.begun
    attempt.onStop = () => this.failed(attempt.stopped ?? malformed)
    if (attempt.stopped !== undefined) this.failed(attempt.stopped)
    else
      attempt.exchange = this.client.send(
        endpoint,
        encoded,
        this,
        attempt.context.isOnce,
        attempt.traceparentFor(endpoint),
      )
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
    begun.attempt.received()
    const text = body.take()
    const json = received.status === 200 ? this.parsed(text) : refusedBy(begun.endpoint, received, text)
    if (begun.attempt.isTraced) {
      const model = modelSaid(json)
      begun.attempt.modelSaid = model && shownOf(begun.endpoint, begun.attempt.signature)(model)
    }
    this.finish(json instanceof HostFailed ? json : this.read(begun, received, json))
  }

  private parsed(text: string): unknown {
    const { attempt, endpoint } = this.begun
    const read = isUnaryName(attempt.context.operation) ? endpoint.unary?.readText : undefined
    return read === undefined ? answerBody(text) : read(text)
  }

  resent(): void {
    this.begun.attempt.resends += 1
  }

  failed(failure: HostFailed): void {
    this.begun.attempt.exchange?.cancel()
    this.finish(failure)
  }

  /** Only the first call counts. */
  private finish(answer: AnswerRead | HostFailed): void {
    const { listener } = this
    this.listener = undefined
    this.timer.clear()
    listener?.answered(this.begun, answer)
  }
}

const malformed = new HostFailed({ reason: "malformed" })
