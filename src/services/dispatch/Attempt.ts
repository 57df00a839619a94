/**
 * One try of one request at one host. A request may have several, one after another or side by side: each has its own
 * start, reservation and exchange, and stopping one does not touch the others. It ends in `EndAttempt.ts`.
 */

import type { Endpoint } from "../../catalogue/endpoints.ts"
import { HostFailed } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import type { Tool } from "../../domain/request/chat.ts"
import type { Exchange } from "../../upstream/Exchange.ts"
import type { Permit } from "../hosts/HostHealth.ts"
import type { ChosenKey } from "../hosts/ProviderKeys.ts"
import type { Reservation } from "../money/Reservation.ts"
import { type AnswerSource, answerBytes, type HeldAnswer, uncountedAnswer } from "../request/AnswerBytes.ts"
import type { Observation, ObservedAttempt, Reserving } from "../request/Observation.ts"
import type { RequestContext } from "../request/RequestContext.ts"
import type { Batch } from "./batch/Batch.ts"

/** The time limit of an attempt. */
export interface AttemptTimer {
  /** It does not stop the attempt any more. */
  clear(): void
  /** It does not run until `goOn`. */
  pause(): void
  goOn(): void
}

/** Why a host is not read. */
export const Unread = {
  /** The caller takes nothing. */
  byCaller: 1,
  /** Too many bytes of answers are kept. */
  forMemory: 2,
  /** A long event waits for its turn of the event loop. */
  forTurn: 4,
} as const

export class Attempt implements AnswerSource {
  readonly context: RequestContext
  readonly host: Host
  /** The money that is reserved for it. */
  readonly reservation: Reservation
  /** Its place at the host. Given back when it is closed. */
  readonly permit: Permit
  /** Which of several keys of its provider it is made with; `undefined`: there are no several. */
  readonly key: ChosenKey | undefined
  /** Members of the request that are not sent to the host. */
  readonly dropped: ReadonlyArray<string>
  /** The tools of the request; `undefined`: it has none. */
  readonly tools: ReadonlyArray<Tool> | undefined
  /** What its signature added to the request. It must not be shown (`signedSecrets.ts`). */
  signature: ReadonlyArray<string>
  /** Milliseconds from its start to the first event; `undefined` until it came. */
  latencyMs: number | undefined
  /** Milliseconds from its start until a whole answer was there; `undefined` until then, and where nobody observes. */
  receivedMs: number | undefined
  /** Why the gateway stopped it; `undefined` while it runs, and when it ended by itself. */
  stopped: HostFailed | undefined
  /** Called once when it is stopped. Set by the code that waits for its answer. */
  onStop: (() => void) | undefined
  exchange: Exchange | undefined
  /** Asked when the caller has left: whether the call goes on all the same. Unset: it does not. */
  mayReadOn: (() => boolean) | undefined
  /** Whether it goes on although its caller has left. */
  isReadOn = false
  /** Called once when it is over. */
  onClose: (() => void) | undefined
  /** How often its request went out again, on a new connection in place of one that the host had closed. */
  resends = 0
  /** The model that its host says the answer is of; `undefined` where it is not known. */
  modelSaid: string | undefined
  /** Present where the request is sent in parts. */
  batch: Batch | undefined
  /** When its money was reserved. Set where the request's spans are wanted. */
  reserving: Reserving | null = null
  /** Bytes of the answers to earlier parts of its request. */
  private bytesBefore = 0
  /** Bytes of its answer that are counted. With more than these `hold` is called. */
  countedBytes = uncountedAnswer
  private held: HeldAnswer | undefined
  /** Its time limit, which does not run while its host is not read. */
  private timer: AttemptTimer | undefined
  /** Why its host is not read (`Unread`), as a sum; 0: it is read. */
  private unread = 0
  /** Milliseconds in which its host was held back, and since when it is. */
  private heldBackMs = 0
  private heldBackSince: number | undefined
  /** Of its span, once there is one. */
  private spanId: string | null = null
  /** When it began: milliseconds after its request did. */
  readonly beganMs: number
  /** Set by `stopClock`. */
  private tookMs: number | undefined
  private readonly onEnd = (): void => this.end()

  constructor(
    context: RequestContext,
    host: Host,
    reservation: Reservation,
    permit: Permit,
    key: ChosenKey | undefined,
    dropped: ReadonlyArray<string>,
    tools: ReadonlyArray<Tool> | null | undefined,
    signature: ReadonlyArray<string>,
  ) {
    this.context = context
    this.host = host
    this.reservation = reservation
    this.permit = permit
    this.key = key
    this.dropped = dropped
    this.tools = tools != null && tools.length > 0 ? tools : undefined
    this.signature = signature
    this.beganMs = context.elapsedMs()
    reservation.progress = "dispatched"
    context.lifetime.onEnd(this.onEnd)
  }

  /** Milliseconds since it began, without those in which too many bytes of answers were kept to read its host. */
  elapsedMs(): number {
    if (this.tookMs !== undefined) return this.tookMs
    const elapsed = this.context.elapsedMs() - this.beganMs - this.heldBackMs
    return this.heldBackSince === undefined ? elapsed : elapsed - (this.context.elapsedMs() - this.heldBackSince)
  }

  /** So many bytes of its answer are kept in memory. */
  hold(bytes: number, timer?: AttemptTimer): void {
    this.timer = timer
    this.held ??= answerBytes.begin(this.context.key.id, this)
    this.countedBytes = bytes
    this.held.add(this.bytesBefore + bytes - this.held.bytes)
  }

  get isHolding(): boolean {
    return this.held !== undefined
  }

  /** No bytes of an answer that comes piece by piece are kept any more. */
  letGo(): void {
    this.countedBytes = uncountedAnswer
    this.held?.release()
    this.held = undefined
  }

  holdBack(): void {
    this.heldBackSince ??= this.context.elapsedMs()
    this.timer?.pause()
    this.pause(Unread.forMemory)
  }

  goOn(): void {
    if (this.heldBackSince !== undefined) this.heldBackMs += this.context.elapsedMs() - this.heldBackSince
    this.heldBackSince = undefined
    this.timer?.goOn()
    this.resume(Unread.forMemory)
  }

  /** Its host has sent all, which waits to be read. */
  waits(): void {
    this.heldBackSince ??= this.context.elapsedMs()
    this.held?.wasRead()
  }

  /** The answer to a part of its request was read, and stays in memory. Its host is called for the next part. */
  callsAgain(): void {
    this.bytesBefore = this.batch?.bytesRead ?? 0
    if (this.bytesBefore > uncountedAnswer) this.hold(0)
    this.held?.readAgain(this)
    this.goOn()
  }

  /** Whether its host is not read because too many bytes of answers are kept. */
  get isLeftUnread(): boolean {
    return (this.unread & Unread.forMemory) !== 0
  }

  /** Its host is not read until this reason, and every other one, is gone. */
  pause(why: number): void {
    this.unread |= why
    this.exchange?.pause()
  }

  resume(why: number): void {
    this.unread &= ~why
    if (this.unread === 0) this.exchange?.resume()
  }

  /** The first event came. */
  answered(): void {
    this.latencyMs = this.elapsedMs()
    this.permit.answered()
  }

  /** All of an answer that comes as a whole is there. */
  received(): void {
    if (this.context.observed !== undefined) this.receivedMs = this.elapsedMs()
  }

  /** Whether its span is wanted. */
  get isTraced(): boolean {
    return this.context.observed?.trace?.isSampled === true
  }

  /** The `traceparent` that its host gets; `undefined`: none. */
  traceparentFor({ takesTraceparent }: Endpoint): string | undefined {
    const trace = this.context.observed?.trace
    if (trace == null || !takesTraceparent) return undefined
    return trace.headerFor(() => {
      this.spanId ??= trace.newSpanId()
      return this.spanId
    })
  }

  /** Cancels the call at once. The first reason is kept. */
  stop(why: HostFailed): void {
    if (this.stopped !== undefined) return
    this.stopped = why
    this.exchange?.cancel()
    this.onStop?.()
  }

  /** The request was ended: stops it, unless its caller has left and it is read on. */
  end(): void {
    if (this.context.lifetime.ending?._tag === "CallerGone" && this.mayReadOn?.() === true) return
    this.endNow()
  }

  /** Stops it because the request was ended. */
  endNow(): void {
    this.stop(ended)
  }

  /** Its time is what it has taken so far: it was cancelled, and is booked later. */
  stopClock(): void {
    this.tookMs = this.elapsedMs()
  }

  /** From now on the end of the request does not stop it by itself: the stream of its answer decides when. */
  detach(): void {
    this.context.lifetime.forget(this.onEnd)
  }

  /**
   * The attempt is over: the end of the request does not stop it any more, and its permit is given back. `outcome`: for those who observe
   * the request; `undefined`: its host was not called.
   */
  close(outcome: ObservedAttempt["outcome"] | undefined, failure?: HostFailed): void {
    this.permit.release()
    this.context.lifetime.forget(this.onEnd)
    this.onStop = undefined
    this.onClose?.()
    this.onClose = undefined
    // A whole answer is kept until it is written (`InFlight.leave`).
    if (this.held !== undefined && outcome === "finished") {
      this.held.wasRead()
      this.context.lifetime.keep(this.held)
    } else this.letGo()
    const { observed } = this.context
    if (observed !== undefined && outcome !== undefined)
      observed.attempts.push(this.observation(observed, outcome, failure))
  }

  private observation(
    observed: Observation,
    outcome: ObservedAttempt["outcome"],
    failure: HostFailed | undefined,
  ): ObservedAttempt {
    const began = this.context.startedMs - observed.startedMs + this.beganMs
    const firstEvent = this.latencyMs === undefined ? null : began + this.latencyMs
    const received = this.receivedMs === undefined ? null : began + this.receivedMs
    const { host, reservation, reserving, modelSaid = null } = this
    const spanId = observed.trace?.isSampled === true ? (this.spanId ?? observed.trace.newSpanId()) : null
    const ended = observed.elapsed()
    return {
      host,
      outcome,
      failure,
      began,
      reserved: reservation.amount,
      spanId,
      reserving,
      modelSaid,
      firstEvent,
      received,
      ended,
    }
  }
}

/** The request was ended, which is not the host's fault: `lifetime.ending` has the reason. */
const ended = new HostFailed({ reason: "ended" })
