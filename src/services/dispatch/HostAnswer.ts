/**
 * A streamed answer of one host, from its head on. Its bytes are pushed through `formats/stream/HostStream.ts`, and the
 * text for the caller is kept until it is taken. The answer is open once an event has come that a caller would see;
 * before that, another host may take over.
 */
import type { Endpoint } from "../../catalogue/endpoints.ts"
import type { AnswerOutcome } from "../../domain/failures/AnswerOutcome.ts"
import { HostFailed } from "../../domain/failures/Failure.ts"
import type { AnswerContext, Framing } from "../../formats/Protocol.ts"
import type { StreamWriter } from "../../formats/StreamWriter.ts"
import { HostStream } from "../../formats/stream/HostStream.ts"
import type { ResponseHead, Sink } from "../../upstream/Exchange.ts"
import { longestErrorBody, refusedBy } from "../calls/answerBody.ts"
import { AnswerText, BodyText } from "../calls/BodyText.ts"
import type { UpstreamClient } from "../calls/UpstreamClient.ts"
import { type Shown, shownOf } from "../calls/withoutSecrets.ts"
import { takeTurn } from "../request/turns.ts"
import { type Attempt, type AttemptTimer, Unread } from "./Attempt.ts"
import type { Begun, CallListener } from "./AttemptStart.ts"
import { type AnswerCut, excessive, mostBytes, parsedAnswer, tooLong, wholeBeyond, wordsOf } from "./beyondLimit.ts"
import type { Delivered } from "./EndAttempt.ts"

const malformed = new HostFailed({ reason: "malformed" })

interface Whole {
  readonly head: ResponseHead
  readonly body: BodyText
}

/** Framings whose streams are no JSON themselves, so that JSON is a whole answer. */
const mayComeWhole: ReadonlySet<Framing> = new Set<Framing>(["sse", "aws-eventstream"])

/** What ends with the first event. It has the prompt, so a running stream must not refer to it. */
interface Opening {
  readonly begun: Begun
  readonly timer: AttemptTimer
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
  private whole: Whole | undefined
  /** A non-streaming answer that exceeds a limit of the gateway. */
  private cut: AnswerCut | undefined
  /** Whether a long event waits for its turn, and whether the body ended meanwhile. */
  private isInTurn = false
  private endsAfterTurn = false
  /** `undefined` once the answer is open, or has failed before. */
  private opening: Opening | undefined
  private readonly context: AnswerContext
  private readonly shown: Shown
  private readonly longestWhole: number

  constructor(
    begun: Begun,
    writer: StreamWriter,
    longestWhole: number,
    timer: AttemptTimer,
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

  /**
   * Sends the request. It ends at once when the attempt is stopped, which `timer` does when no event comes for too
   * long.
   */
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
    const { stream, cut } = this
    if (cut !== undefined) return { ...cut.delivered, isAwaited }
    const output = stream?.output
    return {
      outcome,
      failure,
      usage: outcome === "finished" ? output?.usage : output?.usageSoFar,
      outputBytes: output?.outputBytes ?? 0,
      outputMedia: output?.outputMedia,
      showsReasoning: output?.showsReasoning,
      isUnfinished: stream?.isUnfinished,
      isBound: stream?.isBound,
      finishReason: stream?.finish().choices[0]?.finish_reason ?? "",
      servedTier: stream?.servedTier,
      areToolCallsSound: outcome === "finished" ? stream?.areToolCallsSound : undefined,
      isAwaited,
    }
  }

  /** The exceeded limit, if the body is an answer all the same. */
  get beyond(): HostFailed | undefined {
    if (this.cut !== undefined) return this.cut.beyond
    const failure = this.stream?.failure
    return failure?.reason === "limit" ? failure : undefined
  }

  head(head: ResponseHead): void {
    if (head.status !== 200) this.whole = { head, body: new BodyText(longestErrorBody) }
    else if (mayComeWhole.has(this.endpoint.protocol.framing) && isJson(head)) {
      this.whole = { head, body: new AnswerText(this.longestWhole, false) }
    } else this.begin(head)
  }

  data(bytes: Uint8Array, start: number, end: number): void {
    const { whole, stream } = this
    if (whole !== undefined) {
      const { head, body } = whole
      if (body.add(bytes, start, end)) this.hold(body.size)
      else if (head.status === 200) this.wholeBeyond(whole, tooLong)
      else {
        this.attempt.exchange?.cancel()
        this.readWhole(head, body.take())
      }
    } else if (stream !== undefined) {
      this.text += stream.push(bytes, start, end)
      this.hold(stream.pending)
      if (stream.isWaiting) this.waitForTurn(stream)
      this.progress()
    }
  }

  end(): void {
    const { whole, stream } = this
    if (whole !== undefined) this.wholeEnded(whole)
    else if (stream?.isWaiting === true) this.endsAfterTurn = true
    else if (stream !== undefined) {
      this.text += stream.end()
      this.progress()
    }
  }

  resent(): void {
    this.attempt.resends += 1
  }

  failed(failure: HostFailed): void {
    const { whole, stream } = this
    if (failure.reason !== "limit" || (whole === undefined && stream === undefined)) this.broken = failure
    else if (whole !== undefined) {
      this.wholeBeyond(whole, failure)
      return
    } else stream?.exceeds(wordsOf(failure))
    this.progress()
  }

  /** Counts the bytes held in memory: the whole of a non-streaming answer, or the incomplete event of a stream. */
  private hold(bytes: number): void {
    const { attempt } = this
    if (bytes > attempt.countedBytes) attempt.hold(bytes, this.opening?.timer)
    else if (bytes < attempt.countedBytes && attempt.isHolding) attempt.letGo()
  }

  /** Queues a long event, and all that follows it, for its own turn of the event loop. */
  private waitForTurn(stream: HostStream): void {
    if (this.isInTurn) return
    this.isInTurn = true
    this.attempt.pause(Unread.forTurn)
    this.inTurn(() => this.readInTurn(stream))
  }

  private readInTurn(stream: HostStream): void {
    this.isInTurn = false
    this.text += stream.goOn()
    if (stream.isWaiting) this.waitForTurn(stream)
    else {
      if (this.endsAfterTurn) this.text += stream.end()
      this.attempt.resume(Unread.forTurn)
    }
    this.progress()
  }

  private wholeEnded(whole: Whole): void {
    const { head, body } = whole
    if (!(body instanceof AnswerText) || !body.isLong) this.readWhole(head, body.take())
    else if (body.excess !== undefined) this.wholeBeyond(whole, excessive(body.excess))
    else this.wholeInTurn(() => this.readWhole(head, body.take(), true))
  }

  /** Ends a non-streaming answer that exceeds a limit of the gateway. Nothing more of it is read. */
  private wholeBeyond({ head, body }: Whole, beyond: HostFailed): void {
    this.attempt.exchange?.cancel()
    this.wholeInTurn(() => this.judge(head, body.take(), body.size, beyond))
  }

  private wholeInTurn(work: () => void): void {
    this.whole = undefined
    this.attempt.waits()
    this.inTurn(work)
  }

  /** Runs `work` in its own turn, unless the attempt is stopped before. Its exceptions are defects of the gateway. */
  private inTurn(work: () => void): void {
    takeTurn(() => {
      if (this.attempt.stopped !== undefined) return
      try {
        work()
      } catch (cause) {
        this.failed(new HostFailed({ reason: "defect", cause }))
      }
    })
  }

  private judge(head: ResponseHead, text: string, bytes: number, beyond: HostFailed): void {
    const { attempt, endpoint, context } = this
    const found = wholeBeyond({ attempt, endpoint, answerContext: context }, head, text, bytes, beyond)
    if (found instanceof HostFailed) this.broken = found
    else this.cut = found
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
      account: this.attempt.namedAccount,
      output: this.attempt.reservation.output,
      waits: true,
      mostBytes: () => mostBytes(this.attempt),
    })
    this.attempt.reservation.progress = this.stream.output
    return this.stream
  }

  /**
   * Reads a body that is not an event stream: usually an error, also with status 200, or the whole answer. Anything
   * else is read as a stream.
   */
  private readWhole(head: ResponseHead, text: string, isCounted = false): void {
    const { endpoint, context } = this
    const json = head.status === 200 ? parsedAnswer(this, text, isCounted) : refusedBy(endpoint, head, text)
    if (json instanceof HostFailed && json.reason === "limit") {
      this.judge(head, text, Buffer.byteLength(text), json)
      return
    }
    const answer = json instanceof HostFailed ? json : endpoint.protocol.decode(head, json, context)
    if (answer instanceof HostFailed && (head.status !== 200 || answer.reason !== "malformed")) {
      this.failed(answer)
      return
    }
    if (answer instanceof HostFailed) {
      const stream = this.begin(head)
      this.text += stream.push(new TextEncoder().encode(text)) + stream.end()
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
    const failure = this.beyond ?? this.broken ?? stream?.failure
    if (failure === undefined && (stream === undefined || stream.state === "silent")) return
    this.opening = undefined
    if (failure !== undefined) this.attempt.exchange?.cancel()
    else this.answered(stream?.modelSaid)
    opening.timer.clear()
    opening.listener.answered(opening.begun, this.beyond === undefined ? (failure ?? this) : this)
  }
}

const isJson = ({ headers }: ResponseHead): boolean => /^application\/json\b/i.test(headers.get("content-type") ?? "")
