/**
 * What is gathered of a request for those who observe its end. Serving it needs none of this, so it is made only for requests that begin
 * while somebody listens. Times are milliseconds after its first byte, on a clock that never steps back.
 */

import type { AnswerOutcome } from "../../domain/failures/AnswerOutcome.ts"
import type { HostFailed } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import type { Picodollars } from "../../domain/price/money.ts"
import type { Attribution } from "../../domain/request/Attribution.ts"
import type { TraceContext } from "./TraceContext.ts"

/** One call of a host that is over. */
export interface ObservedAttempt {
  readonly host: Host
  /**
   * How its answer ended, `lost` where another call was faster. `failed`: nothing of it reached the caller. `abandoned`: the request was
   * ended before the host had said anything.
   */
  readonly outcome: AnswerOutcome | "failed" | "abandoned"
  /** Where the host failed. */
  readonly failure: HostFailed | undefined
  readonly began: number
  /** What was reserved for it. */
  readonly reserved: Picodollars
  /** Of its span; `null`: the request is not traced, or not sampled. */
  readonly spanId: string | null
  /** When the reservation was asked for and made. `null`: the request is not traced, or not sampled. */
  readonly reserving: Reserving | null
  /** The model that the host says its answer is of. `null`: the request is not sampled, or it is not known. */
  readonly modelSaid: string | null
  /** The first event that a caller would see. `null`: none came, or the answer came as a whole. */
  readonly firstEvent: number | null
  /** All bytes of an answer that came as a whole were there, before it was read. `null`: it did not come to that, or it is a stream. */
  readonly received: number | null
  readonly ended: number
}

/** Milliseconds after the first byte of the request. */
export interface Reserving {
  readonly began: number
  readonly ended: number
}

/** The last call whose answer the caller got, or was about to get; `undefined`: there is none. */
export const answeringOf = (attempts: ReadonlyArray<ObservedAttempt>): ObservedAttempt | undefined => {
  for (let at = attempts.length - 1; at >= 0; at--) {
    const attempt = attempts[at]
    if (attempt !== undefined && attempt.outcome !== "lost" && attempt.outcome !== "failed") return attempt
  }
  return undefined
}

/** What knows where a request came from. */
export interface Origin {
  /** The IP address; `null`: it is not known, or the caller has left. */
  readonly address: () => string | null
}

export class Observation {
  /** Of the first byte, Unix milliseconds. */
  readonly receivedAt: number
  readonly attempts: Array<ObservedAttempt> = []
  /** Who says it calls; `null`: nobody does. */
  app: Attribution | null = null
  /** The IP address that it came from; `null`: it is not known, or nobody has asked for it. */
  address: string | null = null
  /** The caller's own id of it; "": none. */
  callerRequestId = ""
  /** The caller's end user, as the body names them; `null`: nobody is named. */
  user: string | null = null
  /** Whether its answer is asked for as a stream. */
  isStreamed = false
  /** `null`: traces are off. */
  trace: TraceContext | null = null
  /** The body is asked for, and all of it has come. `null` where nobody wants `Server-Timing`. */
  bodyAsked: number | null = null
  bodyRead: number | null = null
  /** Its caller is known, its limits are kept, and its body was read. */
  admitted: number | null = null
  /** The first and the last byte of the answer were handed to the server, or in an embedder's app to the reader. */
  firstByte: number | null = null
  lastByte: number | null = null
  /** The row of the answer was durable. */
  booked: number | null = null
  /** Bytes of the answer's body that were handed over. Of a whole answer only once `measure` has counted them. */
  bytesOut = 0
  /** By `nowMs`. */
  readonly startedMs: number
  private readonly nowMs: () => number
  private origin: Origin | undefined
  private answer: string | Uint8Array | undefined

  /** `nowMs`: the clock of `RequestContext`. `origin`: given where the address may be wanted later. */
  constructor(receivedAt: number, nowMs: () => number, origin?: Origin) {
    this.receivedAt = receivedAt
    this.nowMs = nowMs
    this.origin = origin
    this.startedMs = nowMs()
  }

  elapsed(): number {
    return this.nowMs() - this.startedMs
  }

  /** Finds out the address, where it may be wanted, and lets go of the request that knows it, since that has the prompt. */
  findAddress(): void {
    this.address ??= this.origin?.address() ?? null
    this.origin = undefined
  }

  wasBooked(): void {
    this.booked = this.elapsed()
  }

  /** The whole answer was handed over. */
  wrote(answer: string | Uint8Array): void {
    this.wroteFirst()
    this.lastByte = this.firstByte
    this.answer = answer
  }

  /** Counts the bytes of a whole answer, which takes about a microsecond. */
  measure(): void {
    if (this.answer !== undefined) this.bytesOut = Buffer.byteLength(this.answer)
  }

  /** Lets go of what has the text of the answer or the prompt. */
  forget(): void {
    this.answer = undefined
    this.origin = undefined
  }

  /** The first text of a stream was handed over. */
  wroteFirst(): void {
    this.firstByte = this.elapsed()
  }

  /** No more of a stream is handed over. `bytes`: all of it. Only the first call counts. */
  wroteLast(bytes: number): void {
    if (this.firstByte === null || this.lastByte !== null) return
    this.lastByte = this.elapsed()
    this.bytesOut = bytes
  }
}
