/** How hosts are called: one request is sent, and the bytes of its answer are pushed into a sink as they come. */
import { HostFailed } from "../domain/failures/Failure.ts"
import type { Network } from "../domain/hosts/networkReach.ts"
import type { ResponseHead } from "../wire/head.ts"

export type { ResponseHead, ResponseHeaders } from "../wire/head.ts"

/** A call to a host. Address and credentials come from the host's record, never from a caller. */
export interface UpstreamCall {
  /** Absolute. */
  readonly url: string
  readonly method: "GET" | "POST"
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | null
  /** Which addresses may be dialled. */
  readonly network: Network
  /** URL of an HTTP proxy that leads to the host. */
  readonly proxy?: string | undefined
  /** Whether the host must not get the request twice: it is not sent again once any of it was written. */
  readonly isOnce?: boolean
  /** A header of that name, apart from `headers`, since it is another one for each call. */
  readonly traceparent?: string | undefined
}

/**
 * Receives one answer: `head` once, `data` any number of times, then exactly one of `end` and `failed`. `failed` may come
 * first. Nothing is called before `exchange` has returned, and nothing after `cancel` or `drain`. Should not throw: the call
 * is ended then, and `failed` says so.
 */
export interface Sink {
  readonly head: (head: ResponseHead) => void
  /**
   * Bytes of the body: those of `bytes` from `start` to `end`. They are valid until the receiver returns, so it copies what it
   * keeps.
   */
  readonly data: (bytes: Uint8Array, start: number, end: number) => void
  /** The body is complete. */
  readonly end: () => void
  /**
   * No answer came, or it broke off: reason `unreachable`, `malformed` where it was no HTTP, or one of our own (`limit`,
   * `shortage`, `defect`, `unsendable`).
   */
  readonly failed: (failure: HostFailed) => void
  /** The request goes out once more, on a new connection: the host had closed the kept one. Before `head`. */
  readonly resent?: () => void
}

/** The failure of a call whose sink threw, which is a defect of ours whatever the host sent. */
export const sinkThrew = (cause: unknown): HostFailed => new HostFailed({ reason: "defect", cause })

/** Tells a sink that its call failed. The call is over, so what the sink throws now changes nothing. */
export const tellFailed = (sink: Sink, failure: HostFailed): void => {
  try {
    sink.failed(failure)
  } catch {
    // Nothing is left to close, and nobody to tell.
  }
}

/** A running call. Every method may be called at any time, any number of times, and from within the sink. */
export interface Exchange {
  /** Ends the call at once and closes its connection. */
  readonly cancel: () => void
  /** No `data` until `resume`, except for a piece that is being read already. The host's socket is not read meanwhile. */
  readonly pause: () => void
  readonly resume: () => void
  /** The receiver needs no more. A short rest is read and discarded, so that the connection can be used again. */
  readonly drain: () => void
}

/** What was counted of the connections to one scheme, host and port, since the start. */
export interface OriginFigures {
  /** `https://host:port`. */
  readonly origin: string
  /** Open now, also while they are dialled; those of them that no call uses. */
  readonly open: number
  readonly idle: number
  readonly dials: number
  readonly dialFailures: number
  /** TLS handshakes that succeeded. */
  readonly handshakes: number
  /** Calls on a connection that had served another one. */
  readonly reuses: number
  /** Calls that were sent again, since the host had closed the kept connection. */
  readonly resends: number
}

/**
 * Begins a call. Over the network its request is sent at the end of the turn of the event loop, so a time to the first byte
 * that is measured from here includes the rest of that turn.
 */
export type StartExchange = (call: UpstreamCall, sink: Sink) => Exchange
