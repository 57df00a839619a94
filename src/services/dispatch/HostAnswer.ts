/**
 * A streamed answer of one host, from its head on. Its bytes are pushed through `wire/HostStream.ts`, and the text for
 * the caller is kept until it is taken. The answer is open once an event has come that a caller would see; before that,
 * another host may take over.
 */
import type { Endpoint } from "../../catalogue/endpoints.ts"
import type { AnswerOutcome } from "../../domain/failures/AnswerOutcome.ts"
import { HostFailed } from "../../domain/failures/Failure.ts"
import type { ResponseHead, Sink } from "../../upstream/Exchange.ts"
import { HostStream } from "../../wire/HostStream.ts"
import type { AnswerContext } from "../../wire/Protocol.ts"
import { longestErrorBody } from "../calls/answerBody.ts"
import { BodyText } from "../calls/BodyText.ts"
import type { UpstreamClient } from "../calls/UpstreamClient.ts"
import { type Shown, shownOf } from "../calls/withoutSecrets.ts"
import type { Timer } from "../request/Timers.ts"
import type { Attempt } from "./Attempt.ts"
import type { Begun, CallListener } from "./AttemptStart.ts"
import type { Delivered } from "./EndAttempt.ts"
import { readAnswer, tooLong } from "./readAnswer.ts"
import type { StreamWriter } from "./StreamWriter.ts"

const malformed = new HostFailed({ reason: "malformed" })

/** What ends with the first event. It has the prompt, so a running stream must not refer to it. */
interface Opening {
  readonly begun: Begun
  readonly timer: Timer
  readonly listener: CallListener<HostAnswer>
}

export class HostAnswer implements Sink {
  readonly attempt: Attempt
  readonly endpoint: Endpoint
  readonly writer: StreamWriter
  /** Set when the head has come. */
  stream: HostStream | undefined
  /** Why the connection broke off, or why the gateway stopped it; `undefined` while it is open. */
  broken: HostFailed | undefined
  /** Called on text, end or failure. Set once the answer is open. */
  onProgress: (() => void) | undefined
  private text = ""
  /** A body that is not a stream: an error, or a whole answer. */
  private whole: { readonly head: ResponseHead; readonly body: BodyText } | undefined
  /** `undefined` once the answer is open, or has failed before. */
  private opening: Opening | undefined
  private readonly context: AnswerContext
  private readonly shown: Shown
  private readonly longestWhole: number

  constructor(
    begun: Begun,
    writer: StreamWriter,
    longestWhole: number,
    timer: Timer,
    listener: CallListener<HostAnswer>,
  ) {
    this.attempt = begun.attempt
    this.endpoint = begun.endpoint
    this.context = begun.answerContext
    this.writer = writer
    this.longestWhole = longestWhole
    this.opening = { begun, timer, listener }
    this.shown = shownOf(begun.endpoint, begun.attempt.signature)
  }

  /** Sends the request. It ends at once when the attempt is stopped, which `timer` does when no event comes for too long. */
  send(client: UpstreamClient, { attempt, endpoint, encoded }: Begun): void {
    attempt.onStop = () => this.failed(attempt.stopped ?? malformed)
    if (attempt.stopped !== undefined) this.failed(attempt.stopped)
    else
      attempt.exchange = client.send(endpoint, encoded, this, attempt.context.isOnce, attempt.traceparentFor(endpoint))
  }

  /** Text for the caller since the last call. */
  take(): string {
    const { text } = this
    this.text = ""
    return text
  }

  /** What has come of it, to be booked. `isAwaited`: whether the caller waits for that. */
  delivered(outcome: AnswerOutcome, isAwaited: boolean, failure?: HostFailed): Delivered {
    const { stream } = this
    return {
      outcome,
      failure,
      usage: outcome === "finished" ? stream?.usage : stream?.usageSoFar,
      outputBytes: stream?.outputBytes ?? 0,
      outputMedia: stream?.outputMedia,
      showsReasoning: stream?.showsReasoning,
      isUnfinished: stream?.isUnfinished,
      finishReason: stream?.finish().choices[0]?.finish_reason ?? "",
      areToolCallsSound: outcome === "finished" ? stream?.areToolCallsSound : undefined,
      isAwaited,
    }
  }

  head(head: ResponseHead): void {
    if (head.status !== 200) this.whole = { head, body: new BodyText(longestErrorBody) }
    else if (this.endpoint.protocol.framing === "sse" && isJson(head)) {
      this.whole = { head, body: new BodyText(this.longestWhole) }
    } else this.begin(head)
  }

  data(bytes: Uint8Array, start: number, end: number): void {
    if (this.whole !== undefined) {
      const { head, body } = this.whole
      if (body.add(bytes, start, end)) return
      this.attempt.exchange?.cancel()
      if (head.status === 200) this.failed(tooLong)
      else this.readWhole(head, body.take())
    } else if (this.stream !== undefined) {
      this.text += this.stream.push(bytes, start, end)
      this.progress()
    }
  }

  end(): void {
    if (this.whole !== undefined) this.readWhole(this.whole.head, this.whole.body.take())
    else if (this.stream !== undefined) {
      this.text += this.stream.end()
      this.progress()
    }
  }

  resent(): void {
    this.attempt.resends += 1
  }

  failed(failure: HostFailed): void {
    this.broken = failure
    this.progress()
  }

  /** `isWhole`: it comes as one answer, not as events. */
  private begin(head: ResponseHead, isWhole = false): HostStream {
    const { endpoint, context } = this
    const { protocol } = endpoint
    this.stream = new HostStream({
      framing: protocol.framing,
      longestEvent: this.longestWhole,
      usage: protocol.usage ?? "largest",
      decoder: protocol.decoder(head, context),
      choices: context.request.bounds.choices,
      tools: this.attempt.tools,
      writer: this.writer,
      transparent: protocol.transparent === true,
      usageAfterError: protocol.usageAfterError,
      native: !isWhole && protocol.native?.form === this.attempt.context.form,
      excludeReasoning: context.request.reasoning.exclude,
      shown: this.shown,
      output: this.attempt.reservation.output,
    })
    this.attempt.reservation.progress = this.stream
    return this.stream
  }

  /**
   * Reads a body that is not an event stream: usually an error, also with status 200, or the whole answer. Anything else is read
   * as a stream.
   */
  private readWhole(head: ResponseHead, body: string): void {
    const answer = readAnswer(this.endpoint, head, body, this.context)
    if (head.status !== 200 || (answer instanceof HostFailed && answer.reason !== "malformed")) {
      this.failed(answer instanceof HostFailed ? answer : malformed)
      return
    }
    if (answer instanceof HostFailed) {
      const stream = this.begin(head)
      this.text += stream.push(new TextEncoder().encode(body)) + stream.end()
    } else this.text += this.begin(head, true).whole(answer)
    this.progress()
  }

  private answered(model: string | undefined): void {
    if (this.attempt.isTraced) this.attempt.modelSaid = model === undefined ? undefined : this.shown(model)
    this.attempt.answered()
  }

  private progress(): void {
    const { stream, opening } = this
    if (opening === undefined) {
      this.onProgress?.()
      return
    }
    const failure = this.broken ?? stream?.failure
    if (failure === undefined && (stream === undefined || stream.state === "silent")) return
    this.opening = undefined
    if (failure !== undefined) this.attempt.exchange?.cancel()
    else this.answered(stream?.modelSaid)
    opening.timer.clear()
    opening.listener.answered(opening.begun, failure ?? this)
  }
}

const isJson = ({ headers }: ResponseHead): boolean => /^application\/json\b/i.test(headers.get("content-type") ?? "")
