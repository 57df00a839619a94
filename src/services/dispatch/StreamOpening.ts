/**
 * A stream up to its head: that goes out with the first event of a host, or after `commitAfterMs` without one, before any host has
 * answered. From then on the stream goes on by itself.
 */
import type * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import type { Limits } from "../../catalogue/ResolvedConfig.ts"
import type { HostFailed } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import type { Plan } from "../../domain/routing/Plan.ts"
import type { RequestContext } from "../request/RequestContext.ts"
import type { Timer } from "../request/Timers.ts"
import { AnswerStream, type AnswerStreamOptions, type StreamServices } from "./AnswerStream.ts"
import type { Attempt } from "./Attempt.ts"
import type { Begun, CallListener } from "./AttemptStart.ts"
import { firstEventTimer } from "./attemptTimer.ts"
import { answerBeyondLimit } from "./beyondLimit.ts"
import { Failover, type FailoverServices } from "./Failover.ts"
import { HostAnswer } from "./HostAnswer.ts"
import type { DispatchFailure } from "./outcomeOf.ts"

export interface StreamHead {
  readonly body: ReadableStream<Uint8Array>
  /** The host that answers; `undefined` when the head goes out before any host has answered. */
  readonly answering: { readonly host: Host; readonly dropped: ReadonlyArray<string> } | undefined
}

/** Where a stream goes. The stream keeps it, so it must not have the prompt. */
export type StreamTarget = Pick<AnswerStreamOptions, "writerFor" | "open" | "onClosed">

/** Succeeds with the head. */
export class StreamOpening extends Failover<HostAnswer, StreamHead> {
  private readonly streams: StreamServices
  private readonly target: StreamTarget
  /** As they are when it begins: a reload does not change a stream that runs. */
  private readonly limits: Limits
  private commitTimer: Timer | undefined
  /** Set when the head went out before any host had answered. */
  private announced: AnswerStream | undefined

  constructor(
    services: FailoverServices,
    streams: StreamServices,
    context: RequestContext,
    request: ChatRequest,
    plan: Plan,
    target: StreamTarget,
  ) {
    super(services, context, request, plan)
    this.streams = streams
    this.target = target
    this.limits = services.registry.current().limits
  }

  protected override begin(): void {
    this.commitTimer = this.services.timers.set(this.limits.commitAfterMs, () => this.announce())
    super.begin()
  }

  override call(begun: Begun, listener: CallListener<HostAnswer>): void {
    const { services, limits } = this
    const writer = this.target.writerFor(begun.attempt.host)
    const timer = firstEventTimer(services, limits, begun, this)
    new HostAnswer(begun, writer, limits.bodyBytes, timer, listener).send(services.client, begun)
  }

  /** No host has an event yet. The hosts are tried all the same, and the stream is told what comes of it. */
  private announce(): void {
    // The client has left, and the host is still read.
    if (this.context.lifetime.ending !== undefined) return
    this.announced = this.makeStream()
    this.announced.announce()
    this.succeed({ body: this.announced.body, answering: undefined })
  }

  protected override accept(answer: HostAnswer, { host, dropped }: Attempt): void {
    this.commitTimer?.clear()
    if (answer.beyond !== undefined && this.announced === undefined) {
      this.refuse(answer, answer.beyond)
      return
    }
    const stream = this.announced ?? this.makeStream()
    stream.opened(Exit.succeed(answer))
    this.succeed({ body: stream.body, answering: { host, dropped } })
  }

  /** The answer exceeds a limit before the client got any of it: it is charged, and refused with a status. */
  private refuse(answer: HostAnswer, beyond: HostFailed): void {
    const { attempt } = answer
    this.after(this.services.endAttempt.delivered(attempt, answer.delivered("cut", true, beyond)), (charge) =>
      this.fail(answerBeyondLimit(attempt, beyond, charge)),
    )
  }

  protected override failed(cause: Cause.Cause<DispatchFailure>): void {
    this.commitTimer?.clear()
    if (this.announced === undefined) super.failed(cause)
    else this.announced.opened(Exit.failCause(cause))
  }

  private makeStream(): AnswerStream {
    const { limits, context, target } = this
    return new AnswerStream(this.streams, { limits, context, ...target })
  }
}
