/** One call: connects its sink with a connection, which is replaced once if it turns out to be stale. */
import { HostFailed } from "../../domain/failures/Failure.ts"
import { type Exchange, type ResponseHead, type Sink, sinkThrew, tellFailed } from "../Exchange.ts"
import type { Connection, Origin, Served } from "./Connection.ts"
import { Dial, type DialContext } from "./Dial.ts"
import { Inflater, type InflaterReceiver } from "./Inflater.ts"
import type { Unsent } from "./SendBatch.ts"
import { isShortage } from "./shortage.ts"

export class ActiveExchange implements Exchange, Served, InflaterReceiver, Unsent {
  readonly #sink: Sink
  readonly #context: DialContext
  readonly #origin: Origin
  /** `UpstreamCall.isOnce`. */
  readonly #isOnce: boolean
  /** Kept until the answer begins, for a second try. */
  #request: string | Buffer | undefined
  #dial: Dial | undefined
  #connection: Connection | undefined
  #inflater: Inflater | undefined
  #inflaterFull = false
  #paused = false
  /** The sink is not called any more. */
  #over = false

  constructor(sink: Sink, context: DialContext, origin: Origin, request: string | Buffer, isOnce: boolean) {
    this.#sink = sink
    this.#context = context
    this.#origin = origin
    this.#isOnce = isOnce
    this.#request = request
  }

  /** Takes a connection, or dials one. Called at the end of the turn in which the exchange began. */
  send(): void {
    if (this.#over) return
    try {
      const connection = this.#context.pool.take(this.#origin)
      if (connection === undefined) this.#dialNew()
      else this.#begin(connection)
    } catch (cause) {
      this.#fail(new HostFailed({ reason: "unsendable", cause }))
    }
  }

  /** The client is closed before anything was sent. */
  shutdown(cause: Error): void {
    this.#fail(new HostFailed({ reason: "unreachable", cause }))
  }

  // Properties and not methods, so that they can be passed on without the object.

  readonly cancel = (): void => {
    if (this.#over) return
    this.#finish()
    this.#connection?.abort()
    this.#connection = undefined
  }

  readonly drain = (): void => {
    if (this.#over) return
    this.#finish()
    this.#connection?.drain()
    this.#connection = undefined
  }

  readonly pause = (): void => {
    if (this.#over || this.#paused) return
    this.#paused = true
    this.#inflater?.pause()
    this.#connection?.pause()
  }

  readonly resume = (): void => {
    if (this.#over || !this.#paused) return
    this.#paused = false
    this.#inflater?.resume()
    if (!this.#inflaterFull) this.#connection?.resume()
  }

  // Called by the connection.

  onHead(head: ResponseHead, contentEncoding: string): void {
    this.#request = undefined
    if (contentEncoding !== "" && contentEncoding !== "identity") {
      if (!Inflater.codings.has(contentEncoding)) {
        this.onMalformed("the body has a Content-Encoding that is not understood")
        return
      }
      this.#inflater = new Inflater(contentEncoding, this)
    }
    try {
      this.#sink.head(head)
    } catch (cause) {
      this.#fail(sinkThrew(cause))
    }
  }

  onData(bytes: Uint8Array, start: number, end: number): void {
    if (this.#inflater === undefined) this.#data(bytes, start, end)
    else if (!this.#inflater.write(bytes.subarray(start, end))) {
      this.#inflaterFull = true
      this.#connection?.pause()
    }
  }

  onEnd(): void {
    this.#connection = undefined
    if (this.#inflater === undefined) this.onInflatedEnd()
    else this.#inflater.end()
  }

  onMalformed(problem: string, isLimit = false): void {
    this.#fail(new HostFailed({ reason: isLimit ? "limit" : "malformed", cause: new Error(problem) }))
  }

  onBroken(cause: Error, isStale: boolean): void {
    this.#connection = undefined
    if (isStale && !this.#isOnce) this.#sendAgain()
    else this.#fail(new HostFailed({ reason: "unreachable", isAfterSending: true, cause }))
  }

  // Called by the inflater; `onInflatedEnd` directly for a body that is not compressed.

  onInflated(bytes: Uint8Array): void {
    this.#data(bytes, 0, bytes.length)
  }

  onInflatedEnd(): void {
    if (this.#over) return
    this.#finish()
    try {
      this.#sink.end()
    } catch (cause) {
      tellFailed(this.#sink, sinkThrew(cause))
    }
  }

  onInflateFailed(problem: string, isLimit: boolean): void {
    this.onMalformed(problem, isLimit)
  }

  onInflaterReady(): void {
    if (this.#over || !this.#inflaterFull) return
    this.#inflaterFull = false
    if (!this.#paused) this.#connection?.resume()
  }

  /** The second try has a new connection, which cannot be stale: there is no third. */
  #sendAgain(): void {
    this.#origin.counts.resends += 1
    try {
      this.#sink.resent?.()
    } catch (cause) {
      this.#fail(sinkThrew(cause))
      return
    }
    this.#dialNew()
  }

  #dialNew(): void {
    this.#dial = new Dial(
      this.#context,
      this.#origin,
      (connection) => {
        this.#dial = undefined
        this.#begin(connection)
      },
      (cause) => this.#dialFailed(cause),
    )
  }

  #dialFailed(cause: Error): void {
    const isOurs = isShortage(cause)
    // Their descriptors are free for the next call.
    if (isOurs) this.#context.pool.closeAll()
    this.#fail(new HostFailed({ reason: isOurs ? "shortage" : "unreachable", cause }))
  }

  #begin(connection: Connection): void {
    this.#connection = connection
    if (this.#request === undefined || !connection.begin(this, this.#request)) this.#notWritten(connection.kept)
    else if (this.#paused) connection.pause()
  }

  /** The connection turned out to be closed before any of the request was written. */
  #notWritten(isKept: boolean): void {
    this.#connection = undefined
    if (isKept) this.#sendAgain()
    else this.#fail(new HostFailed({ reason: "unreachable", cause: new Error("the connection was closed") }))
  }

  #fail(failure: HostFailed): void {
    if (this.#over) return
    this.#finish()
    this.#connection?.abort()
    this.#connection = undefined
    tellFailed(this.#sink, failure)
  }

  #data(bytes: Uint8Array, start: number, end: number): void {
    if (this.#over) return
    try {
      this.#sink.data(bytes, start, end)
    } catch (cause) {
      this.#fail(sinkThrew(cause))
    }
  }

  #finish(): void {
    this.#over = true
    this.#request = undefined
    this.#dial?.cancel()
    this.#dial = undefined
    this.#inflater?.destroy()
  }
}
