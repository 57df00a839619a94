/**
 * The body of one streamed answer: one pull loop that moves bytes, a watch that moves none, and one end. Each pull is one
 * network read, one synchronous pass through `wire/hostStream.ts` and at most one write; nothing is read that the caller
 * has no room for. The end is booked before it is told. Architecture 3, G5, G6, G10, G15, G18.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { AnswerOutcome, Charge } from "../domain/Charge.ts"
import type { ChatChunk } from "../domain/Chat.ts"
import { CallerGone, type Failure, HostFailed, RoutingExhausted } from "../domain/Failure.ts"
import type { Host } from "../domain/Host.ts"
import type { ChunkWriter } from "../wire/hostStream.ts"
import type { Alarm, Alarms } from "./Alarms.ts"
import type { Call } from "./Call.ts"
import type { DispatchFailure, Opened } from "./Dispatcher.ts"
import { exhausted } from "./exhausted.ts"

/** Milliseconds, bytes, bytes per second. */
export interface StreamLimits {
  /** How long a host may be silent between events, and while a model thinks before its first text. */
  readonly idleMs: number
  readonly thinkingIdleMs: number
  /** How long a caller may take no byte. */
  readonly clientStallMs: number
  /** The slowest host that is still listened to, over a minute. */
  readonly minBytesPerSecond: number
  readonly streamBytes: number
}

/** Writes one streamed answer in a caller's form. */
export interface StreamWriter extends ChunkWriter {
  /** The finish that was withheld, with its usage and cost, and the end of the stream. */
  readonly finish: (chunk: ChatChunk, charge: Charge) => string
  /** A failure inside the running stream, with what is charged all the same, and the end of the stream. */
  readonly failure: (failure: Failure, charge: Charge | undefined) => string
  /** Says that we are alive. */
  readonly heartbeat: string
}

/** `host` is `undefined` as long as none has answered. */
export type WriterFor = (host: Host | undefined) => StreamWriter

interface StreamBodyOptions {
  readonly call: Call
  readonly limits: StreamLimits
  readonly alarms: Context.Tag.Service<Alarms>
  readonly writer: WriterFor
  /** What the opening comes to, or came to. */
  readonly source: Exit.Exit<Opened, DispatchFailure> | Promise<Exit.Exit<Opened, DispatchFailure>>
  /** Books the end, and holds it against a host that broke off; the call has left the house afterwards. */
  readonly settle: (opened: Opened, outcome: AnswerOutcome, failure?: HostFailed) => Promise<Charge>
  /** The call has left the house without anything to book. */
  readonly left: () => void
}

const encoder = new TextEncoder()
const heartbeatMs = 5000
const slowWindowMs = 60_000
/** A host that has said how it ended, but neither closes nor says it is done, is not waited for longer. */
const afterFinishMs = 5000

/** One running answer: its pull loop, its watch, and its one end. */
export class StreamBody {
  private readonly of: StreamBodyOptions
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined
  private opened: Opened | undefined
  /** Whether what the first events gave is written. */
  private begun = false
  private watch: Alarm | undefined
  /** Whether the caller waits for us; otherwise we wait for the caller. */
  private pulling = false
  private concluded = false
  /** Nobody takes what is written. */
  private cancelled = false
  /** It was we who ended it, for its size. */
  private cutByUs = false
  private lastEvent: number
  private lastWrite: number
  private lastPull: number
  private windowStart: number
  private windowBytes = 0

  constructor(options: StreamBodyOptions) {
    this.of = options
    const { source } = options
    if (!(source instanceof Promise) && Exit.isSuccess(source)) this.opened = source.value
    this.lastEvent = this.lastWrite = this.lastPull = this.windowStart = options.alarms.now()
  }

  readable(): ReadableStream<Uint8Array> {
    const { call, alarms } = this.of
    this.watch = alarms.set(this.tickMs, () => this.look())
    call.onEnded = () => this.ended()
    if (call.ending !== undefined) queueMicrotask(() => this.ended())
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.controller = controller
          // The server sends a head with the first bytes behind it, so one that goes out alone needs some.
          if (this.of.source instanceof Promise) this.write(this.of.writer(undefined).heartbeat)
        },
        pull: async () => {
          this.pulling = true
          // While the caller took nothing we did not listen, and the host could not speak.
          const paused = alarms.now() - this.lastPull
          this.lastEvent += paused
          this.windowStart += paused
          await this.pull().catch((cause) => this.defect(cause))
          this.lastPull = alarms.now()
          this.pulling = false
        },
        cancel: () => this.callerGone(),
      },
      { highWaterMark: 0 },
    )
  }

  private async pull(): Promise<void> {
    if (this.opened === undefined) {
      const exit = await this.of.source
      if (this.concluded) return
      if (Exit.isFailure(exit)) return this.refuse(exit)
      this.opened = exit.value
      this.lastEvent = this.of.alarms.now()
    }
    if (!this.begun) {
      this.begun = true
      if (this.opened.text !== "") return this.write(this.opened.text)
    }
    await this.relay(this.opened)
  }

  /** Reads until there is something to write, or the answer has ended. */
  private async relay(opened: Opened): Promise<void> {
    const { stream, reader } = opened
    while (stream.state === "speaking") {
      if (stream.bytes > this.of.limits.streamBytes) {
        this.cutByUs = true
        stream.cut("stream_limit")
        break
      }
      const next = await reader.read().catch(() => undefined)
      if (this.concluded) return
      if (next === undefined || (next.done && this.hasHungUp)) return this.broken(opened)
      const text = next.done ? stream.end() : this.heard(opened, next.value)
      if (text !== "") return this.write(text)
    }
    if (stream.state === "ended") return this.conclude(opened, this.cutByUs ? "cut" : "finished")
    return this.fail(opened, stream.failure ?? new HostFailed({ reason: "malformed" }))
  }

  private heard({ stream }: Opened, bytes: Uint8Array): string {
    this.windowBytes += bytes.byteLength
    const { events } = stream
    const text = stream.push(bytes)
    if (stream.events > events) this.lastEvent = this.of.alarms.now()
    return text
  }

  /** Whether it was we who ended the read: a body that does not know of the signal just ends. */
  private get hasHungUp(): boolean {
    const { ending, hungUp } = this.of.call
    return ending !== undefined || hungUp !== undefined
  }

  private write(text: string): void {
    this.controller?.enqueue(encoder.encode(text))
    this.lastWrite = this.of.alarms.now()
  }

  /** The call was ended from outside. A pending read fails of itself; where none is, the end is written at once. */
  private ended(): void {
    if (this.of.call.ending?._tag === "CallerGone") this.callerGone()
    else if (!this.pulling && this.opened !== undefined) void this.broken(this.opened)
  }

  /** The read was ended: by us, for a reason, or by the host, for none. */
  private broken(opened: Opened): Promise<void> {
    const { ending, hungUp } = this.of.call
    if (opened.stream.hasFinish) return this.conclude(opened, "finished")
    if (ending !== undefined) return this.end(opened, "cut", (charge) => this.writerOf(opened).failure(ending, charge))
    return this.fail(opened, hungUp ?? new HostFailed({ reason: "unreachable" }))
  }

  private conclude(opened: Opened, outcome: AnswerOutcome): Promise<void> {
    return this.end(opened, outcome, (charge) => this.writerOf(opened).finish(opened.stream.finish(), charge))
  }

  private fail(opened: Opened, failure: HostFailed): Promise<void> {
    const { host } = opened
    const attempt = { provider: host.providerName, host: host.tag, model: host.model, failure }
    const told = exhausted([attempt], undefined)
    return this.end(opened, "host-failed", (charge) => this.writerOf(opened).failure(told, charge), failure)
  }

  /** No host answered, and the head is gone already: the failure goes into the stream. */
  private refuse({ cause }: Exit.Failure<Opened, DispatchFailure>): void {
    const writer = this.of.writer(undefined)
    this.conclusion()
    this.of.left()
    this.write(
      Option.match(Cause.failureOption(cause), {
        onSome: (failure) => writer.failure(failure, undefined),
        onNone: () => writer.failure(new RoutingExhausted({ outcome: "unavailable", attempts: [] }), undefined),
      }),
    )
    this.controller?.close()
  }

  /** A mistake of our own: the answer cannot go on, but it is booked, and the call leaves the house. */
  private defect(cause: unknown): void {
    this.cancelled = true
    if (!this.concluded) {
      this.conclusion()
      void this.bookUnread("host-failed")
    }
    this.controller?.error(cause)
  }

  /** The one end of an answer that somebody reads: booked, then told. */
  private async end(
    opened: Opened,
    outcome: AnswerOutcome,
    last: (charge: Charge) => string,
    failure?: HostFailed,
  ): Promise<void> {
    if (this.concluded) return
    this.conclusion()
    opened.reader.cancel().catch(() => {})
    const text = await this.of
      .settle(opened, outcome, failure)
      .then(last, (failure) => this.writerOf(opened).failure(failure, undefined))
    if (this.cancelled) return
    this.write(text)
    this.controller?.close()
  }

  /** Nobody reads any more: booked, and told to nobody. */
  private callerGone(): void {
    this.cancelled = true
    if (this.concluded) return
    this.conclusion()
    this.of.call.end(new CallerGone())
    void this.bookUnread("caller-gone")
  }

  /** The caller takes no bytes any more: what was made so far is paid for. G18. */
  private cutStalled(): void {
    this.cancelled = true
    this.conclusion()
    void this.bookUnread("cut")
    this.controller?.error(new Error("the caller took no bytes"))
  }

  private async bookUnread(outcome: AnswerOutcome): Promise<void> {
    const exit = this.opened === undefined ? await this.of.source : Exit.succeed(this.opened)
    if (Exit.isFailure(exit)) return this.of.left()
    const { value: opened } = exit
    opened.reader.cancel().catch(() => {})
    // What could not be written to the ledger was logged by the meter; there is nobody to tell.
    await this.of.settle(opened, opened.stream.state === "ended" ? "finished" : outcome).catch(() => {})
  }

  private conclusion(): void {
    this.concluded = true
    this.watch?.clear()
  }

  private writerOf({ host }: Opened): StreamWriter {
    return this.of.writer(host)
  }

  private get tickMs(): number {
    const { idleMs, clientStallMs } = this.of.limits
    return Math.min(1000, idleMs, clientStallMs)
  }

  /** Looks, about once a second, whether host or caller have been silent for too long. Moves no bytes. */
  private look(): void {
    if (this.concluded) return
    const { limits, alarms, call } = this.of
    const now = alarms.now()
    if (this.pulling) {
      const stream = this.opened?.stream
      const patience = stream?.hasAllFinishes
        ? afterFinishMs
        : stream?.hasContent
          ? limits.idleMs
          : limits.thinkingIdleMs
      if (stream !== undefined && now - this.lastEvent >= patience) call.hangUp(new HostFailed({ reason: "timeout" }))
      else if (this.tooSlow(now)) call.hangUp(new HostFailed({ reason: "timeout" }))
      else if (now - this.lastWrite >= heartbeatMs) this.write(this.of.writer(undefined).heartbeat)
    } else if (now - this.lastWrite >= limits.clientStallMs) {
      this.cutStalled()
      return
    }
    this.watch?.again(this.tickMs)
  }

  /** Fewer bytes in the last full minute than the slowest host may send. */
  private tooSlow(now: number): boolean {
    if (this.opened === undefined || now - this.windowStart < slowWindowMs) return false
    const slow = this.windowBytes < (this.of.limits.minBytesPerSecond * slowWindowMs) / 1000
    const silent = this.windowBytes === 0
    this.windowStart = now
    this.windowBytes = 0
    // A host that sent nothing at all is judged by its silence, above.
    return slow && !silent
  }
}
