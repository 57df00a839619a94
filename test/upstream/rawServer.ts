/** A TCP server that says byte for byte what a test wants, and tells what it got. */

export interface RawRequest {
  /** Request line and headers, without the empty line. */
  readonly head: string
  readonly body: Buffer
  /** Which request of its connection this is, from 1. */
  readonly nth: number
  readonly peer: Peer
}

export interface Peer {
  /** Which connection of the server this is, from 1. */
  readonly number: number
  /** Writes all of it, in parts where the socket takes no more at once. */
  readonly write: (bytes: string | Uint8Array) => void
  /** Bytes that wait because the socket takes no more. */
  readonly waiting: () => number
  /** Closes in an orderly way, after what is written. */
  readonly end: () => void
  /** Closes with a reset. */
  readonly reset: () => void
  /** Settles when the connection is closed. */
  readonly closed: Promise<void>
}

export interface RawServer {
  readonly port: number
  readonly url: string
  /** Connections that were ever made, and those that are open. */
  readonly connections: () => number
  readonly open: () => number
  readonly requests: () => number
  readonly stop: () => void
  readonly [Symbol.dispose]: () => void
}

export interface RawServerOptions {
  readonly onRequest?: (request: RawRequest) => void
  readonly onConnection?: (peer: Peer) => void
  readonly tls?: Bun.TLSOptions
  /** Reads nothing of what a caller sends. */
  readonly deaf?: boolean
  /** Called when a caller has closed its side, in place of closing the other. */
  readonly onEnd?: (peer: Peer) => void
  readonly hostname?: string
  readonly port?: number
}

interface State {
  readonly peer: Peer
  readonly closed: () => void
  received: Buffer
  waiting: Uint8Array
  ending: boolean
  requests: number
}

export const rawServer = (options: RawServerOptions): RawServer => {
  let connections = 0
  let requests = 0
  const open = new Set<Bun.Socket<State>>()
  const flush = (socket: Bun.Socket<State>) => {
    const { data } = socket
    if (data.waiting.length > 0) {
      const sent = socket.write(data.waiting)
      if (sent > 0) data.waiting = data.waiting.subarray(sent)
    }
    if (data.waiting.length === 0 && data.ending) socket.end()
  }
  const begin = (socket: Bun.Socket<State>) => {
    open.add(socket)
    connections++
    const { promise, resolve } = Promise.withResolvers<void>()
    const peer: Peer = {
      number: connections,
      write: (bytes) => {
        const more = typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes
        const idle = socket.data.waiting.length === 0
        socket.data.waiting = idle ? more : Buffer.concat([socket.data.waiting, more])
        if (idle) flush(socket)
      },
      waiting: () => socket.data.waiting.length,
      end: () => {
        socket.data.ending = true
        flush(socket)
      },
      reset: () => socket.terminate(),
      closed: promise,
    }
    const none = Buffer.alloc(0)
    socket.data = { peer, closed: resolve, received: none, waiting: none, ending: false, requests: 0 }
    if (options.deaf) socket.pause()
    options.onConnection?.(peer)
  }
  const listener = Bun.listen<State>({
    hostname: options.hostname ?? "127.0.0.1",
    port: options.port ?? 0,
    allowHalfOpen: options.onEnd !== undefined,
    ...(options.tls === undefined ? {} : { tls: options.tls }),
    socket: {
      open: begin,
      data: (socket, bytes) => {
        const state = socket.data
        state.received = Buffer.concat([state.received, bytes])
        while (true) {
          const end = state.received.indexOf("\r\n\r\n")
          if (end === -1) return
          const head = state.received.toString("latin1", 0, end)
          const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
          if (state.received.length < end + 4 + length) return
          const body = Buffer.from(state.received.subarray(end + 4, end + 4 + length))
          state.received = state.received.subarray(end + 4 + length)
          requests++
          options.onRequest?.({ head, body, nth: ++state.requests, peer: state.peer })
        }
      },
      drain: flush,
      end: (socket) => options.onEnd?.(socket.data.peer),
      close: (socket) => {
        open.delete(socket)
        socket.data?.closed()
      },
      error: () => {},
    },
  })
  const stop = () => listener.stop(true)
  return {
    port: listener.port,
    url: `${options.tls === undefined ? "http" : "https"}://127.0.0.1:${listener.port}`,
    connections: () => connections,
    open: () => open.size,
    requests: () => requests,
    stop,
    [Symbol.dispose]: stop,
  }
}

export const hello = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
export const chunkedHead = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"

/** Answers every request with the same bytes. */
export const saying = (bytes: string | Uint8Array, after: (request: RawRequest) => void = () => {}) =>
  rawServer({
    onRequest: (request) => {
      request.peer.write(bytes)
      after(request)
    },
  })
