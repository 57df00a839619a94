/** A whole answer of one host: sent, collected within its bounds of time and size, and read. */
import { HostFailed } from "../../domain/failures/Failure.ts"
import { isUnaryName, unaryOperations } from "../../domain/request/operations.ts"
import { modelSaid } from "../../formats/stream/modelSaid.ts"
import type { ResponseHead, Sink } from "../../upstream/Exchange.ts"
import { longestErrorBody, refusedBy } from "../calls/answerBody.ts"
import { AnswerText, BodyText } from "../calls/BodyText.ts"
import type { UpstreamClient } from "../calls/UpstreamClient.ts"
import { shownOf } from "../calls/withoutSecrets.ts"
import { takeTurn } from "../request/turns.ts"
import type { AnswerRead, AnswerReader } from "./AnswerReader.ts"
import type { AttemptTimer } from "./Attempt.ts"
import type { Begun, CallListener } from "./AttemptStart.ts"
import { type AnswerCut, excessive, parsedAnswer, tooLong, wholeBeyond } from "./beyondLimit.ts"

/**
 * Sends the request once and collects the whole answer, as the sink of its exchange. Ends at once when the attempt is
 * stopped, which `timer` does when the host takes too long. `read` gets the JSON of an answer with status 200; an
 * exception of `read` is a defect of the gateway. A long answer is read in its own turn of the event loop.
 */
export class WholeHostAnswer implements Sink {
  private readonly client: UpstreamClient
  private readonly begun: Begun
  /** Bytes. */
  private readonly longestAnswer: number
  private readonly isOfVectors: boolean
  private readonly read: AnswerReader
  private readonly timer: AttemptTimer
  /** Who gets the answer; `undefined`: it was given. */
  private listener: CallListener<AnswerRead | AnswerCut> | undefined
  private received: ResponseHead | undefined
  private body: BodyText | undefined
  /** The same object as `body`, if the status is 200. */
  private answer: AnswerText | undefined

  constructor(
    client: UpstreamClient,
    begun: Begun,
    longestAnswer: number,
    read: AnswerReader,
    timer: AttemptTimer,
    listener: CallListener<AnswerRead | AnswerCut>,
  ) {
    const { operation } = begun.attempt.context
    this.client = client
    this.begun = begun
    this.isOfVectors = isUnaryName(operation) && unaryOperations[operation].givesVectors === true
    const { bytesRead = 0 } = begun.attempt.batch ?? {}
    this.longestAnswer = (this.isOfVectors ? 2 * longestAnswer : longestAnswer) - bytesRead
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
    if (received.status === 200) this.answer = new AnswerText(this.longestAnswer, this.isOfVectors)
    this.body = this.answer ?? new BodyText(longestErrorBody)
  }

  data(bytes: Uint8Array, start: number, end: number): void {
    const { received, body } = this
    if (received === undefined || body === undefined) return
    if (!body.add(bytes, start, end)) {
      if (received.status === 200) this.beyond(tooLong)
      else this.failed(refusedBy(this.begun.endpoint, received, body.take()))
    } else if (copies * body.size > this.begun.attempt.countedBytes) {
      this.begun.attempt.hold(copies * body.size, this.timer)
    }
  }

  end(): void {
    const { received, body, answer, begun } = this
    if (received === undefined || body === undefined) return
    begun.attempt.received()
    if (answer === undefined) this.finish(refusedBy(begun.endpoint, received, body.take()))
    else if (answer.excess !== undefined) this.beyond(excessive(answer.excess))
    else if (answer.isLong) this.inOwnTurn(() => this.readText(received, answer))
    else this.readText(received, answer)
  }

  resent(): void {
    this.begun.attempt.resends += 1
  }

  failed(failure: HostFailed): void {
    this.begun.attempt.exchange?.cancel()
    if (failure.reason === "limit" && this.answer !== undefined) this.beyond(failure)
    else this.finish(failure)
  }

  private readText(received: ResponseHead, answer: AnswerText): void {
    const { begun } = this
    const text = answer.take()
    const { batch } = begun.attempt
    if (batch !== undefined) batch.bytesRead += answer.size
    const json = parsedAnswer(begun, text, answer.isLong)
    if (begun.attempt.isTraced) {
      const model = modelSaid(json)
      begun.attempt.modelSaid = model && shownOf(begun.endpoint, begun.attempt.signature)(model)
    }
    if (!(json instanceof HostFailed)) this.finish(this.read(begun, received, json))
    else if (json.reason === "limit") this.finish(wholeBeyond(begun, received, text, answer.size, json))
    else this.finish(json)
  }

  /** The answer exceeds a limit of the gateway. Nothing more of it is read. */
  private beyond(failure: HostFailed): void {
    const { begun, received, answer } = this
    begun.attempt.exchange?.cancel()
    if (received === undefined || answer === undefined) this.finish(failure)
    else this.inOwnTurn(() => this.finish(wholeBeyond(begun, received, answer.take(), answer.size, failure)))
  }

  /** Runs the last step in its own turn. Nothing more comes from the host, and its time limit ends. */
  private inOwnTurn(work: () => void): void {
    this.timer.clear()
    this.body = undefined
    this.begun.attempt.waits()
    takeTurn(() => {
      if (this.listener === undefined) return
      try {
        work()
      } catch (cause) {
        this.finish(new HostFailed({ reason: "defect", cause }))
      }
    })
  }

  /** Only the first call counts. */
  private finish(answer: AnswerRead | AnswerCut | HostFailed): void {
    const { listener } = this
    this.listener = undefined
    this.timer.clear()
    listener?.answered(this.begun, answer)
  }
}

/** How often a long answer is in memory at once: as it was read, and as one text that is parsed and written. */
const copies = 2

const malformed = new HostFailed({ reason: "malformed" })
