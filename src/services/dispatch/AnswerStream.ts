/**
 * One streamed answer on its way to the caller, from the head of our response to its end:
 *
 *   opening → streaming → (unread →) settling → closed
 *
 * `opening`: our head went out before a host answered, so that a slow one does not look like a dead gateway.
 * `streaming`: the host's bytes are turned into text and written in one synchronous pass per read.
 * `unread`: the caller has left after something was said, and the host is read on for its usage (`ReadingOn.ts`).
 * `settling`: the answer is over and its cost is being booked; the caller waits for the finish that carries it.
 * `closed`: nothing is written any more.
 *
 * A watch looks about once a second for a host or a caller that has been silent for too long. It moves no bytes.
 */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { AnswerOutcome } from "../../domain/failures/AnswerOutcome.ts"
import { CallerGone, HostFailed, type Unavailable } from "../../domain/failures/Failure.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import type { StreamWriter, WriterFor } from "../../formats/StreamWriter.ts"
import { withoutSecrets } from "../calls/withoutSecrets.ts"
import type { RequestContext } from "../request/RequestContext.ts"
import type { EndFailure } from "../request/ServedRequest.ts"
import type { TickTimers, Timer } from "../request/Timers.ts"
import { Unread } from "./Attempt.ts"
import { answerBeyondLimit } from "./beyondLimit.ts"
import type { Delivered } from "./EndAttempt.ts"
import { exhausted, failedAttempt } from "./exhausted.ts"
import type { HostAnswer } from "./HostAnswer.ts"
import type { DispatchFailure } from "./outcomeOf.ts"
import { type ReadingOn, readOnMs } from "./ReadingOn.ts"
import type { OpenOutput, OutputEvents, StreamOutput } from "./StreamOutput.ts"
import { type PaceLimits, StreamPace } from "./StreamPace.ts"

export interface StreamLimits extends PaceLimits {
  /** Bytes. */
  readonly streamBytes: number
  /** Milliseconds from the first event on. */
  readonly streamMs: number
}

/** What all streams have in common. */
export interface StreamServices {
  readonly timers: TickTimers
  /** Ends the attempt and books what was delivered. `onExit` is called once. */
  readonly settle: (
    answer: HostAnswer,
    delivered: Delivered,
    onExit: (exit: Exit.Exit<Charge, Unavailable>) => void,
  ) => void
  readonly readingOn: ReadingOn
  /** Logs a defect in a stream, which can no longer be answered with an error. */
  readonly logDefect: (requestId: string, cause: unknown) => void
}

export interface AnswerStreamOptions {
  readonly limits: StreamLimits
  readonly context: RequestContext
  readonly writerFor: WriterFor
  readonly open: OpenOutput
  /** The request is over, and everything of it is booked. `failure`: what the caller was told in place of a finish, or that it left. */
  readonly onClosed: (failure?: EndFailure) => void
}

export class AnswerStream implements OutputEvents {
  private state: "opening" | "streaming" | "unread" | "settling" | "closed" = "opening"
  private readonly services: StreamServices
  private readonly options: AnswerStreamOptions
  private readonly output: StreamOutput
  private readonly watch: Timer
  private readonly onEnd = (): void => this.ended()
  private readonly onProgress = (): void => this.progress()
  private answer: HostAnswer | undefined
  private readonly pace: StreamPace
  /** Whether the caller still reads. */
  private hasReader = true
  /** Whether the request was ended while only the usage of a complete answer is missing. */
  private awaitsUsage = false
  /** Why it ends otherwise than with a finish. */
  private failure: EndFailure | undefined

  constructor(services: StreamServices, options: AnswerStreamOptions) {
    this.services = services
    this.options = options
    this.output = options.open(this)
    this.pace = new StreamPace(options.limits, services.timers.now())
    this.watch = services.timers.set(this.pace.tickMs, () => this.look())
    options.context.lifetime.onEnd(this.onEnd)
  }

  /** The body of our response. */
  get body(): ReadableStream<Uint8Array> {
    return this.output.stream
  }

  /**
   * Writes a first comment before any host has answered, because a server sends the head together with the first bytes.
   */
  announce(): void {
    this.write(this.writer.heartbeat)
  }

  /** Of the host that answers, or of none. */
  private get writer(): StreamWriter {
    return this.answer?.writer ?? this.options.writerFor(undefined)
  }

  /** A host's answer has begun, or no host answered. */
  opened(exit: Exit.Exit<HostAnswer, DispatchFailure>): void {
    if (Exit.isSuccess(exit)) this.begin(exit.value)
    else this.refuse(exit)
  }

  private begin(answer: HostAnswer): void {
    this.answer = answer
    this.state = "streaming"
    this.options.context.isStreaming = true
    // No other host will be called with it.
    this.options.context.lifetime.releaseBody()
    if (!this.hasReader) {
      this.leave("caller-gone")
      return
    }
    answer.attempt.detach()
    const now = this.services.timers.now()
    this.options.context.lifetime.deadline = now + this.options.limits.streamMs
    this.pace.hostBegan(now, answer.stream)
    answer.onProgress = this.onProgress
    answer.attempt.onStop = this.onProgress
    if (this.options.context.lifetime.ending !== undefined) this.ended()
    else this.progress()
  }

  /** The host sent text, ended, or failed. */
  private progress(): void {
    const { answer } = this
    const stream = answer?.stream
    if (answer === undefined || this.state !== "streaming") return
    if (stream === undefined) {
      if (answer.beyond !== undefined) this.failed(answer, answer.beyond)
      return
    }
    try {
      if (stream.events > this.pace.events) this.pace.hostSpoke(this.services.timers.now(), stream.events)
      const text = answer.take()
      if (text !== "") this.write(text)
      if (stream.state === "failed") this.failed(answer, stream.failure ?? malformed)
      else if (stream.state === "ended") this.finish(answer, stream.isCut ? "cut" : "finished")
      else if (answer.attempt.stopped !== undefined || answer.broken !== undefined) this.brokenOff(answer)
      else if (stream.bytes > this.options.limits.streamBytes) {
        stream.cut("stream_limit")
        this.finish(answer, "cut")
      }
    } catch (cause) {
      this.defect(cause)
    }
  }

  /** The host's answer broke off: stopped by the gateway, or by a failure of the host. */
  private brokenOff(answer: HostAnswer): void {
    const { ending } = this.options.context.lifetime
    const { stopped } = answer.attempt
    if (ending?._tag === "CallerGone") this.callerGone()
    else if (answer.stream?.hasAllFinishes === true) this.finish(answer, "finished")
    else if (ending === undefined) this.failed(answer, stopped ?? answer.broken ?? malformed)
    else if (ending._tag === "TimedOut") {
      answer.stream?.cut("deadline")
      this.finish(answer, "cut")
    } else {
      this.failure = ending
      this.settle(answer, "cut", (charge) => answer.writer.failure(ending, charge))
    }
  }

  private finish(answer: HostAnswer, outcome: AnswerOutcome): void {
    const { stream, writer } = answer
    if (stream === undefined) return
    this.settle(answer, outcome, (charge) => writer.finish(stream.finish(), charge))
  }

  private failed(answer: HostAnswer, found: HostFailed): void {
    const failure = withoutSecrets(found, answer.endpoint, answer.attempt.signature)
    if (failure.reason === "defect") {
      this.defect(failure.cause)
      return
    }
    if (failure.reason === "limit") {
      this.beyondLimit(answer, failure)
      return
    }
    const { failed, form, models } = this.options.context
    const attempt = failedAttempt(answer.endpoint, form, failure, answer.attempt.elapsedMs())
    const shown = exhausted([...failed, attempt], undefined, { decisive: [attempt], models })
    this.failure = shown
    const last = (charge: Charge) => answer.writer.failure(shown, charge)
    this.settle(answer, "host-failed", last, failure)
  }

  /**
   * Cuts an answer that exceeds a limit of the gateway. The host has produced it, and the client may have asked for
   * it, so it is charged.
   */
  private beyondLimit(answer: HostAnswer, failure: HostFailed): void {
    this.failure = answerBeyondLimit(answer.attempt, failure, undefined)
    const last = (charge: Charge) => answer.writer.failure(answerBeyondLimit(answer.attempt, failure, charge), charge)
    this.settle(answer, "cut", last, failure)
  }

  /** Ends an answer whose caller still reads: books it, then writes the end. */
  private settle(
    answer: HostAnswer,
    outcome: AnswerOutcome,
    last: (charge: Charge) => string,
    failure?: HostFailed,
  ): void {
    this.state = "settling"
    this.release(answer)
    this.services.settle(answer, answer.delivered(outcome, this.hasReader, failure), (exit) => {
      if (this.hasReader) {
        try {
          this.writeLast(Exit.isSuccess(exit) ? last(exit.value) : this.refusal(answer.writer, exit.cause))
        } catch (cause) {
          this.defect(cause)
        }
      }
      this.close()
    })
  }

  /** The caller does not read any more. The host may be read on for a while. */
  private leave(outcome: AnswerOutcome): void {
    const { answer } = this
    const { readingOn, timers } = this.services
    if (answer === undefined) return
    const { streamBytes } = this.options.limits
    if (!readingOn.read(answer, timers, streamBytes, () => this.settleUnread(answer, outcome))) {
      this.abandon(answer, outcome)
      return
    }
    this.state = "unread"
    this.watch.clear()
    if (this.pace.isFull) answer.attempt.resume(Unread.byCaller)
  }

  /** Ends an answer whose caller does not read any more. One that is complete counts as finished all the same. */
  private abandon(answer: HostAnswer, outcome: AnswerOutcome): void {
    this.settleUnread(answer, isComplete(answer) ? "finished" : outcome)
  }

  /** Books an answer that nobody reads, and writes nothing. */
  private settleUnread(answer: HostAnswer, outcome: AnswerOutcome): void {
    this.state = "settling"
    this.release(answer)
    // The ledger's writer has logged a row that could not be written.
    this.services.settle(answer, answer.delivered(outcome, false), () => this.close())
  }

  /** Ends the exchange with the host. After a complete answer the connection can be used again. */
  private release(answer: HostAnswer): void {
    const { exchange } = answer.attempt
    this.watch.clear()
    this.options.context.lifetime.forget(this.onEnd)
    if (isComplete(answer)) exchange?.drain()
    else exchange?.cancel()
  }

  /** No host answered and the head was already sent, so the failure goes into the stream. */
  private refuse({ cause }: Exit.Failure<HostAnswer, DispatchFailure>): void {
    if (Option.isNone(Cause.failureOption(cause))) {
      this.services.logDefect(this.options.context.requestId, Cause.squash(cause))
    }
    if (this.hasReader) {
      this.writeLast(this.refusal(this.writer, cause))
    }
    this.close()
  }

  /** The last text in place of an answer, which is free. */
  private refusal(writer: StreamWriter, cause: Cause.Cause<DispatchFailure | Unavailable>): string {
    const failure = Option.getOrUndefined(Cause.failureOption(cause))
    this.failure = failure ?? "defect"
    return writer.failure(failure, undefined)
  }

  private close(): void {
    this.state = "closed"
    this.watch.clear()
    this.options.context.lifetime.forget(this.onEnd)
    this.options.onClosed(this.failure ?? (this.hasReader ? undefined : new CallerGone()))
  }

  /** The request was ended from outside. A complete answer is told to its end, if its usage comes soon. */
  private ended(): void {
    const { answer } = this
    if (this.options.context.lifetime.ending?._tag === "CallerGone") this.callerGone()
    else if (this.state !== "streaming" || answer === undefined) this.progress()
    else if (answer.stream?.hasAllFinishes === true && answer.stream.usage === undefined) {
      this.awaitsUsage = true
      this.watch.restart(readOnMs)
    } else answer.attempt.end()
  }

  /** The caller has left. */
  onCancel(): void {
    this.callerGone()
  }

  private callerGone(): void {
    if (!this.hasReader) return
    this.hasReader = false
    this.noteEnd()
    this.options.context.lifetime.end(new CallerGone())
    if (this.state === "streaming") this.leave("caller-gone")
  }

  /** Cuts a caller who takes no bytes, and charges the output so far. */
  private cutStalled(): void {
    this.output.fail(new Error("the caller took no bytes"))
    this.hasReader = false
    this.noteEnd()
    if (this.state === "streaming") this.leave("cut")
    else this.options.context.lifetime.end(new CallerGone())
  }

  /** A defect of ours ends the answer with a 500 in the stream, if that can still be written. It is booked and logged. */
  private defect(cause: unknown): void {
    this.services.logDefect(this.options.context.requestId, cause)
    this.failure = "defect"
    const { answer } = this
    if (this.state === "streaming" && this.hasReader && answer !== undefined) {
      this.settle(answer, "host-failed", (charge) => answer.writer.failure(undefined, charge))
      return
    }
    this.output.fail(new Error("internal error"))
    this.hasReader = false
    this.noteEnd()
    if (this.state === "streaming" && answer !== undefined) this.abandon(answer, "host-failed")
  }

  private write(text: string): void {
    const now = this.services.timers.now()
    this.pace.wrote(now)
    const { observed } = this.options.context
    if (observed !== undefined && observed.firstByte === null) observed.wroteFirst()
    if (this.output.write(text)) return
    this.pace.callerIsFull(now)
    this.answer?.attempt.pause(Unread.byCaller)
  }

  private writeLast(text: string): void {
    this.write(text)
    this.noteEnd()
    this.output.end()
  }

  /** From now on nothing more reaches the caller. */
  private noteEnd(): void {
    this.options.context.observed?.wroteLast(this.output.bytes)
  }

  /** The caller takes bytes again. */
  onDrain(): void {
    this.pace.callerDrained(this.services.timers.now())
    this.answer?.attempt.resume(Unread.byCaller)
  }

  private look(): void {
    if (this.state !== "opening" && this.state !== "streaming") return
    if (this.awaitsUsage) {
      this.answer?.attempt.end()
      return
    }
    const now = this.services.timers.now()
    // The host is not read now, so its silence does not count against it.
    if (this.answer?.attempt.isLeftUnread === true) this.pace.hostBegan(now, this.answer.stream)
    switch (this.pace.look(now, this.output.isRead(), this.answer?.stream)) {
      case "caller-stalled":
        this.cutStalled()
        return
      case "host-stalled":
        this.answer?.attempt.stop(new HostFailed({ reason: "timeout" }))
        return
      case "quiet":
        this.write(this.writer.heartbeat)
    }
    this.watch.restart(this.pace.tickMs)
  }
}

const malformed = new HostFailed({ reason: "malformed" })

const isComplete = ({ stream }: HostAnswer): boolean => stream?.state === "ended" && !stream.isCut
