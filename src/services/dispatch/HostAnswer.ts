/**
 * A streamed answer of one host, from its head on. Its bytes are pushed through `wire/HostStream.ts`, and the text for
 * the caller is kept until it is taken. The answer is open once an event has come that a caller would see; before that,
 * another host may take over.
 */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Endpoint } from "../../catalogue/endpoints.ts"
import type { Limits } from "../../catalogue/ResolvedConfig.ts"
import { HostFailed } from "../../domain/failures/Failure.ts"
import type { ResponseHead, Sink } from "../../upstream/Exchange.ts"
import { HostStream } from "../../wire/HostStream.ts"
import type { AnswerContext } from "../../wire/Protocol.ts"
import { BodyText } from "../calls/BodyText.ts"
import { longestErrorBody, type UpstreamClient } from "../calls/upstreamCall.ts"
import { wait } from "../request/Steps.ts"
import type { Attempt } from "./Attempt.ts"
import { firstEventTimer, type TimerServices, type Turn } from "./attemptTimer.ts"
import type { Begun } from "./beginAttempt.ts"
import type { StreamWriter } from "./StreamWriter.ts"
import { readAnswer, tooLong } from "./UnaryAnswer.ts"

/** Sends the request and waits for its first event. Ends at once when the attempt is stopped. */
export const streamAnswer = (
  services: TimerServices & { readonly client: UpstreamClient },
  limits: Limits,
  begun: Begun,
  turn: Turn,
  writer: StreamWriter,
): Effect.Effect<HostAnswer | HostFailed> =>
  wait((resume) => {
    const { attempt, endpoint, encoded, answerContext } = begun
    const timer = firstEventTimer(services, limits, begun, turn)
    const answer = new HostAnswer(attempt, endpoint, answerContext, writer, limits.bodyBytes, (opened) => {
      timer.clear()
      resume(Exit.succeed(opened))
    })
    attempt.onStop = () => answer.failed(attempt.stopped ?? malformed)
    if (attempt.stopped !== undefined) answer.failed(attempt.stopped)
    else attempt.exchange = services.client.send(endpoint, encoded, answer, attempt.context.isOnce)
  })

const malformed = new HostFailed({ reason: "malformed" })

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
  private onOpen: ((opened: HostAnswer | HostFailed) => void) | undefined
  private readonly context: AnswerContext
  private readonly longestWhole: number

  constructor(
    attempt: Attempt,
    endpoint: Endpoint,
    context: AnswerContext,
    writer: StreamWriter,
    longestWhole: number,
    onOpen: (opened: HostAnswer | HostFailed) => void,
  ) {
    this.attempt = attempt
    this.endpoint = endpoint
    this.context = context
    this.writer = writer
    this.longestWhole = longestWhole
    this.onOpen = onOpen
  }

  /** Text for the caller since the last call. */
  take(): string {
    const { text } = this
    this.text = ""
    return text
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
      output: this.attempt.hold.output,
    })
    this.attempt.hold.progress = this.stream
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

  private progress(): void {
    const { stream, onOpen } = this
    if (onOpen === undefined) {
      this.onProgress?.()
      return
    }
    const failure = this.broken ?? stream?.failure
    if (failure === undefined && (stream === undefined || stream.state === "silent")) return
    this.onOpen = undefined
    if (failure !== undefined) {
      this.attempt.exchange?.cancel()
      onOpen(failure)
    } else {
      this.attempt.answered()
      onOpen(this)
    }
  }
}

const isJson = ({ headers }: ResponseHead): boolean => /^application\/json\b/i.test(headers.get("content-type") ?? "")
