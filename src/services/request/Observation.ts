/**
 * What is gathered of a request for those who observe its end. Serving it needs none of this, so it is made only for requests that begin
 * while somebody listens. Times are milliseconds after its first byte, on a clock that never steps back.
 */
import type { HostFailed } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import type { AnswerOutcome } from "../../domain/money/Charge.ts"
import type { Attribution } from "../../domain/request/Attribution.ts"

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
  /** The first event that a caller would see. `null`: none came, or the answer came as a whole. */
  readonly firstEvent: number | null
  readonly ended: number
}

const encoder = new TextEncoder()

export class Observation {
  /** Of the first byte, Unix milliseconds. */
  readonly receivedAt: number
  readonly attempts: Array<ObservedAttempt> = []
  /** Who says it calls; `null`: nobody does. */
  app: Attribution | null = null
  /** Its caller is known, its limits are kept, and its body was read. */
  admitted: number | null = null
  /** The first and the last byte of the answer were handed to the server, or in an embedder's app to the reader. */
  firstByte: number | null = null
  lastByte: number | null = null
  /** The row of the answer was durable. */
  booked: number | null = null
  /** Bytes of the answer's body that were handed over. */
  bytesOut = 0
  private readonly nowMs: () => number
  private readonly startedMs: number

  /** `nowMs`: milliseconds of a clock that never steps back. */
  constructor(receivedAt: number, nowMs: () => number) {
    this.receivedAt = receivedAt
    this.nowMs = nowMs
    this.startedMs = nowMs()
  }

  elapsed(): number {
    return this.nowMs() - this.startedMs
  }

  wasBooked(): void {
    this.booked = this.elapsed()
  }

  /** Text or bytes of the answer were handed over. */
  wrote(part: string | Uint8Array): void {
    this.lastByte = this.elapsed()
    this.firstByte ??= this.lastByte
    this.bytesOut += typeof part === "string" ? encoder.encode(part).byteLength : part.byteLength
  }
}
