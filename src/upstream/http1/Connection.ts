/** One connection to a host, from its first packet to its last. It serves one exchange at a time. */
import type { Network } from "../../domain/hosts/networkReach.ts"
import type { ResponseHead } from "../Exchange.ts"
import type { Registry, Watched } from "./Registry.ts"
import { type AnswerReceiver, ResponseParser } from "./ResponseParser.ts"
import { type ClientTls, explainHandshake } from "./tls.ts"

/** The exchange that a connection serves. */
export interface Served {
  readonly onHead: (head: ResponseHead, contentEncoding: string) => void
  /** Bytes of the body: those of `bytes` from `start` to `end`. */
  readonly onData: (bytes: Uint8Array, start: number, end: number) => void
  readonly onEnd: () => void
  /** `isLimit`: the problem is a limit of ours. */
  readonly onMalformed: (problem: string, isLimit?: boolean) => void
  /**
   * The connection broke after the request was written. `isStale`: it was a kept one, nothing of an answer came, and it was so
   * soon that the host had closed it before it saw the request.
   */
  readonly onBroken: (cause: Error, isStale: boolean) => void
}

/** Waits for a new connection: exactly one of the two is called, unless the connection is closed before. */
export interface Opener {
  readonly onOpen: (connection: Connection) => void
  readonly onOpenFailed: (connection: Connection, cause: Error) => void
}

/** The longest rest of an answer that is drained, and how long that may take. */
const maxDrainedBytes = 65_536
const maxDrainMs = 1_000
/** Milliseconds. A close that arrives so soon after the request was sent before the host saw it. After a later one it may have acted on it. */
const staleMs = 250
/** Detects a host that vanished while a model thinks. */
const probeAfterMs = 60_000

/** Connections to one scheme, host and port under one network rule are interchangeable. */
export interface Origin {
  readonly hostname: string
  readonly port: number
  readonly secure: boolean
  readonly network: Network
  /** Open and unused, the one used last at the end. */
  readonly idle: Connection[]
  readonly counts: OriginCounts
}

/** What was counted of the connections to an origin, for metrics. */
export class OriginCounts {
  /** Open now, also while they are dialled. */
  open = 0
  dials = 0
  dialFailures = 0
  /** Of TLS, that succeeded. */
  handshakes = 0
  /** Calls on a connection that had served another one. */
  reuses = 0
  /** Calls that went out again, since the host had closed the kept connection. */
  resends = 0
}

/** Where connections wait for their next exchange. */
interface ConnectionPool {
  /** Keeps a connection whose answer is complete, or closes it. `hostSeconds`: how long the host keeps it. */
  keep(connection: Connection, hostSeconds: number): void
  /** Forgets a connection that is about to be closed. */
  remove(connection: Connection): void
}

export class Connection implements AnswerReceiver, Watched {
  rosterIndex = -1
  deadline = Number.POSITIVE_INFINITY
  readonly origin: Origin
  /** It served an exchange before the present one. */
  kept = false
  readonly #pool: ConnectionPool
  readonly #registry: Registry
  readonly #parser = new ResponseParser(this)
  #opener: Opener | undefined
  #socket: Bun.Socket<Connection> | undefined
  #served: Served | undefined
  /** The part of the request that the socket has not taken yet. */
  #unsent: Buffer | undefined
  #answered = false
  /** When the present request was written. Kept for connections that may be stale. */
  #writtenAt = 0
  #draining = false
  #drainedBytes = 0
  #socketPaused = false
  /** The host has closed its side. */
  #ended = false
  #closed = false
  /** Reports the end of a connection that was closed while the receiver was paused. Called by `resume`. */
  #closedWhilePaused: (() => void) | undefined

  constructor(origin: Origin, pool: ConnectionPool, registry: Registry, opener: Opener) {
    this.origin = origin
    this.#pool = pool
    this.#registry = registry
    this.#opener = opener
  }

  /** Dials. The result comes through the opener, never before this has returned. */
  connect(address: string, tls: ClientTls | undefined): void {
    this.#registry.add(this)
    const { port, counts } = this.origin
    counts.dials += 1
    counts.open += 1
    const options = { hostname: address, port, data: this, socket: socketHandlers }
    // Invalid options, such as a certificate that is none, make it throw instead of reject.
    Promise.try(() => Bun.connect(tls === undefined ? options : { ...options, tls })).catch((cause: Error) =>
      this.onClose(cause),
    )
  }

  /** Sends a request. `false`: the connection turned out to be closed. */
  begin(served: Served, request: string | Buffer): boolean {
    this.deadline = Number.POSITIVE_INFINITY
    this.#answered = false
    const sent = this.#socket?.write(request) ?? -1
    // Writing may be how the runtime notices that the host has closed the connection.
    if (sent < 0 || this.#closed) {
      this.abort()
      return false
    }
    this.#served = served
    if (this.kept) {
      this.#writtenAt = performance.now()
      this.origin.counts.reuses += 1
    }
    const total = typeof request === "string" ? Buffer.byteLength(request) : request.length
    if (sent < total) this.#unsent = (typeof request === "string" ? Buffer.from(request) : request).subarray(sent)
    return true
  }

  pause(): void {
    this.#parser.paused = true
    this.#pauseSocket(true)
  }

  resume(): void {
    if (!this.#parser.paused) return
    this.#pauseSocket(false)
    this.#parser.resume()
    // Within the parser's loop, what follows is done by the call that started the loop.
    if (this.#parser.running) return
    this.#afterParsing()
    if (this.#parser.paused) return
    this.#closedWhilePaused?.()
    this.#closedWhilePaused = undefined
  }

  /** The rest of the answer is not needed. If it is short it is read and discarded, and the connection is kept. */
  drain(): void {
    this.#served = undefined
    const isLong = this.#parser.endsWithConnection || this.#parser.bytesDue > maxDrainedBytes
    if (this.#closed || this.#unsent !== undefined || isLong) {
      this.abort()
      return
    }
    this.#draining = true
    this.#drainedBytes = 0
    this.deadline = performance.now() + maxDrainMs
    this.resume()
  }

  /** Closes at once, without a call to the exchange. */
  abort(): void {
    this.#served = undefined
    this.#opener = undefined
    this.#finish()
    this.#socket?.terminate()
  }

  /** Closes an unused connection in an orderly way. */
  close(): void {
    this.#finish()
    // Not `end()`: over TLS it keeps the socket until the host has closed its side, out of reach of `terminate()`.
    this.#socket?.close()
  }

  // Called by the registry.

  expire(): void {
    this.#pool.remove(this)
    if (this.#draining) this.abort()
    else this.close()
  }

  shutdown(cause: Error): void {
    this.#pool.remove(this)
    const served = this.#served
    this.abort()
    served?.onBroken(cause, false)
  }

  // Called by the socket.

  onOpen(socket: Bun.Socket<Connection>): void {
    this.#socket = socket
    if (this.#closed) socket.terminate()
    else if (!this.origin.secure) this.#ready(socket)
  }

  onHandshake(socket: Bun.Socket<Connection>, ok: boolean, error: Error | null): void {
    if (this.#closed || !this.origin.secure) return
    const { alpnProtocol } = socket
    if (!ok || error !== null || !socket.authorized) this.#openFailed(explainHandshake(error))
    else if (alpnProtocol !== false && alpnProtocol !== "http/1.1")
      this.#openFailed(new Error(`the host chose ${alpnProtocol} although it was offered HTTP/1.1 only`))
    else {
      this.origin.counts.handshakes += 1
      this.#ready(socket)
    }
  }

  onSocketData(bytes: Buffer): void {
    if (this.#closed) return
    if (this.#served === undefined && !this.#draining) {
      // Bytes without a request. The next request would take them for its answer.
      this.#pool.remove(this)
      this.abort()
      return
    }
    this.#answered = true
    this.#parser.read(bytes)
    this.#afterParsing()
  }

  onWritable(): void {
    const rest = this.#unsent
    if (rest === undefined) return
    const sent = this.#socket?.write(rest) ?? -1
    if (sent > 0) this.#unsent = sent < rest.length ? rest.subarray(sent) : undefined
  }

  onSocketEnd(): void {
    this.#ended = true
  }

  onClose(error: Error | undefined): void {
    if (this.#closed) return
    this.#finish()
    this.#pool.remove(this)
    const cause = error ?? new Error("the host closed the connection")
    const opener = this.#opener
    this.#opener = undefined
    if (opener !== undefined) this.origin.counts.dialFailures += 1
    const report = () => this.#reportClosed(cause, error === undefined && this.#ended)
    if (opener !== undefined) opener.onOpenFailed(this, cause)
    else if (this.#parser.paused) this.#closedWhilePaused = report
    else report()
  }

  // Called by the parser.

  onHead(head: ResponseHead, contentEncoding: string): void {
    this.#served?.onHead(head, contentEncoding)
  }

  onData(bytes: Uint8Array, start: number, end: number): void {
    if (this.#served !== undefined) this.#served.onData(bytes, start, end)
    else {
      this.#drainedBytes += end - start
      if (this.#drainedBytes > maxDrainedBytes) this.abort()
    }
  }

  onEnd(surplus: boolean): void {
    const served = this.#served
    this.#served = undefined
    this.#draining = false
    if (!this.#closed) {
      this.kept = true
      if (this.#unsent !== undefined) this.abort()
      else if (surplus || !this.#parser.keepAlive) this.close()
      else this.#pool.keep(this, this.#parser.keepAliveSeconds)
    }
    served?.onEnd()
  }

  #ready(socket: Bun.Socket<Connection>): void {
    socket.setKeepAlive(true, probeAfterMs)
    const opener = this.#opener
    this.#opener = undefined
    opener?.onOpen(this)
  }

  #openFailed(cause: Error): void {
    const opener = this.#opener
    this.origin.counts.dialFailures += 1
    this.abort()
    opener?.onOpenFailed(this, cause)
  }

  #afterParsing(): void {
    const served = this.#served
    if (this.#parser.problem === "") return
    this.abort()
    served?.onMalformed(this.#parser.problem, this.#parser.isBeyondLimit)
  }

  #reportClosed(cause: Error, orderly: boolean): void {
    if (orderly && this.#parser.close()) return
    const served = this.#served
    this.#served = undefined
    const isStale = this.kept && !this.#answered && performance.now() - this.#writtenAt < staleMs
    served?.onBroken(cause, isStale)
  }

  #pauseSocket(paused: boolean): void {
    if (this.#closed || this.#socketPaused === paused) return
    this.#socketPaused = paused
    if (paused) this.#socket?.pause()
    else this.#socket?.resume()
  }

  #finish(): void {
    if (!this.#closed) this.origin.counts.open -= 1
    this.#closed = true
    this.#unsent = undefined
    this.#registry.remove(this)
  }
}

const socketHandlers: Bun.SocketHandler<Connection> = {
  open: (socket) => socket.data.onOpen(socket),
  handshake: (socket, ok, error) => socket.data.onHandshake(socket, ok, error),
  data: (socket, bytes) => socket.data.onSocketData(bytes),
  drain: (socket) => socket.data.onWritable(),
  end: (socket) => socket.data.onSocketEnd(),
  close: (socket, error) => socket.data.onClose(error),
  error: (socket, error) => {
    socket.data.onClose(error)
    socket.terminate()
  },
  connectError: (socket, error) => socket.data.onClose(error),
}
