/**
 * One try of one request at one host. A request may have several, one after another or side by side: each has its own
 * start, reservation and exchange, and stopping one does not touch the others. It ends in `EndAttempt.ts`.
 */

import type { Endpoint } from "../../catalogue/endpoints.ts"
import { HostFailed } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import type { Tool } from "../../domain/request/chat.ts"
import type { Exchange } from "../../upstream/Exchange.ts"
import type { Permit } from "../hosts/Permit.ts"
import type { ChosenKey } from "../hosts/ProviderKeys.ts"
import type { Reservation } from "../money/Reservation.ts"
import { type AnswerSource, answerBytes, type HeldAnswer, uncountedAnswer } from "../request/AnswerBytes.ts"
import type { Observation, ObservedAttempt, Reserving } from "../request/Observation.ts"
import type { RequestContext } from "../request/RequestContext.ts"
import type { Batch } from "./batch/Batch.ts"

/** The time limit of an attempt. */
export interface AttemptTimer {
  /** Disables the limit. */
  clear(): void
  /** Suspends the limit until `goOn`. */
  pause(): void
  goOn(): void
}

/** Reasons for which the gateway does not read a host, as bits. */
export const Unread = {
  /** The client takes no bytes. */
  byCaller: 1,
  /** The answers in memory have too many bytes. */
  forMemory: 2,
  /** A long event waits for its turn of the event loop. */
  forTurn: 4,
} as const

/** Names the account that a host is called with: its provider, or one of several keys of that. */
export const accountOf = ({ provider }: Host, key: ChosenKey | undefined): string => key?.used.id ?? provider

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
  /** Called when the client has left: whether the call continues anyway. Unset: it does not. */
  mayReadOn: (() => boolean) | undefined
  /** Whether the call continues although its client has left. */
  isReadOn = false
  /** Called once when the attempt is over. */
  onClose: (() => void) | undefined
  /** How often its request went out again, on a new connection in place of one that the host had closed. */
  resends = 0
  /** The model that its host says the answer is of; `undefined` where it is not known. */
  modelSaid: string | undefined
  /** Whether its model can be called with several accounts (`Endpoint.isOneOfSeveral`). */
  isOneOfSeveral = false
  /** Present if the request is sent in parts. */
  batch: Batch | undefined
  /** When its money was reserved. Set where the request's spans are wanted. */
  reserving: Reserving | null = null
  /** Bytes of the answers to earlier parts of the request. */
  private bytesBefore = 0
  /** Bytes of the answer that are counted. The reader calls `hold` when it has more. */
  countedBytes = uncountedAnswer
  private held: HeldAnswer | undefined
  /** The time limit. It is suspended while the host is not read for lack of memory. */
  private timer: AttemptTimer | undefined
  /** Why the host is not read, as bits of `Unread`; 0: it is read. */
  private unread = 0
  /** Milliseconds for which the host was not read for lack of memory; `heldBackSince`: when the current pause began. */
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

  /** Names the account that its host is called with. */
  get account(): string {
    return accountOf(this.host, this.key)
  }

  /** The account that its encrypted reasoning names; `undefined`: there is only one. */
  get namedAccount(): string | undefined {
    return this.isOneOfSeveral ? this.account : undefined
  }

  /** Milliseconds since the attempt began, without the time in which its host was not read for lack of memory. */
  elapsedMs(): number {
    if (this.tookMs !== undefined) return this.tookMs
    const elapsed = this.context.elapsedMs() - this.beganMs - this.heldBackMs
    return this.heldBackSince === undefined ? elapsed : elapsed - (this.context.elapsedMs() - this.heldBackSince)
  }

  /** Counts `bytes` of the answer as held in memory, the total so far. */
  hold(bytes: number, timer?: AttemptTimer): void {
    this.timer = timer
    this.held ??= answerBytes.begin(this.context.key.id, this)
    this.countedBytes = bytes
    this.held.add(this.bytesBefore + bytes - this.held.bytes)
  }

  get isHolding(): boolean {
    return this.held !== undefined
  }

  /** No bytes of a streamed answer are held in memory any more. */
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

  /** The host has sent everything, and the answer waits for its turn to be read. This time does not count. */
  waits(): void {
    this.heldBackSince ??= this.context.elapsedMs()
    this.held?.wasRead()
  }

  /** Prepares the call for the next part of the request. The answers so far stay in memory. */
  callsAgain(): void {
    this.bytesBefore = this.batch?.bytesRead ?? 0
    if (this.bytesBefore > uncountedAnswer) this.hold(0)
    this.held?.readAgain(this)
    this.goOn()
  }

  /** Whether the host is not read for lack of memory. */
  get isLeftUnread(): boolean {
    return (this.unread & Unread.forMemory) !== 0
  }

  /** Stops reading the host until every reason to pause is gone. */
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

  /** The request was ended: stops the attempt, unless its client left and its host is still read. */
  end(): void {
    if (this.context.lifetime.ending?._tag === "CallerGone" && this.mayReadOn?.() === true) return
    this.endNow()
  }

  /** Stops the attempt because the request was ended. */
  endNow(): void {
    this.stop(ended)
  }

  /** Fixes its duration now: the call was cancelled, and is booked later. */
  stopClock(): void {
    this.tookMs = this.elapsedMs()
  }

  /** From now on the end of the request does not stop it by itself: the stream of its answer decides when. */
  detach(): void {
    this.context.lifetime.forget(this.onEnd)
  }

  /**
   * The attempt is over: the end of the request does not stop it any more, and its permit is given back. `outcome`: for
   * those who observe the request; `undefined`: its host was not called.
   */
  close(outcome: ObservedAttempt["outcome"] | undefined, failure?: HostFailed): void {
    this.permit.release()
    this.context.lifetime.forget(this.onEnd)
    this.onStop = undefined
    this.onClose?.()
    this.onClose = undefined
    // The bytes of a complete answer count until it is written (`InFlight.leave`).
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
