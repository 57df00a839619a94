/** Hosts that send raw bytes, as a broken server, a proxy or a cut connection would. */
import type { Socket } from "bun"

/** One connection of the gateway to the host. */
export interface Peer {
  /** Sends in order. Waits while the socket's buffer is full. */
  readonly write: (bytes: string | Uint8Array) => void
  /** FIN. */
  readonly end: () => void
  /** RST. */
  readonly reset: () => void
  readonly isOpen: () => boolean
  /** Bytes that the kernel has taken. */
  readonly sent: () => number
}

export interface RawHost {
  /** For `base_url`. */
  readonly url: string
  /** Requests that came. */
  readonly requests: () => number
  /** Connections that are open. */
  readonly open: () => number
  /** The connection of the latest request. */
  readonly peer: () => Peer
  readonly stop: () => void
}

interface State {
  received: string
  readonly waiting: Array<Uint8Array>
  ending: boolean
  sent: number
  open: boolean
  more: (() => void) | undefined
}

const bytesOf = (bytes: string | Uint8Array): Uint8Array =>
  typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes

const flush = (socket: Socket<State>): void => {
  const { data } = socket
  for (let next = data.waiting.shift(); next !== undefined; next = data.waiting.shift()) {
    const taken = Math.max(0, socket.write(next))
    data.sent += taken
    if (taken < next.length) {
      data.waiting.unshift(next.subarray(taken))
      return
    }
  }
  if (data.ending) socket.end()
  else data.more?.()
}

/** Removes the complete requests from what was received, and returns them. */
const taken = (data: State): boolean => {
  const head = data.received.indexOf("\r\n\r\n")
  if (head === -1) return false
  const length = Number(/content-length: *(\d+)/i.exec(data.received)?.[1] ?? 0)
  if (Buffer.byteLength(data.received) < head + 4 + length) return false
  data.received = data.received.slice(head + 4 + length)
  return true
}

/** Runs `script` for each request; `call` counts from 1. The script may keep the peer and continue later. */
export const rawHost = (script: (peer: Peer, call: number) => void): RawHost => {
  let requests = 0
  let open = 0
  let last: Peer | undefined
  const peerOf = (socket: Socket<State>): Peer => ({
    write: (bytes) => {
      socket.data.waiting.push(bytesOf(bytes))
      flush(socket)
    },
    end: () => {
      socket.data.ending = true
      flush(socket)
    },
    reset: () => socket.terminate(),
    isOpen: () => socket.data.open,
    sent: () => socket.data.sent,
  })
  const server = Bun.listen<State>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open: (socket) => {
        open += 1
        socket.data = { received: "", waiting: [], ending: false, sent: 0, open: true, more: undefined }
      },
      data: (socket, bytes) => {
        socket.data.received += bytes.toString("latin1")
        while (taken(socket.data)) {
          requests += 1
          last = peerOf(socket)
          script(last, requests)
        }
      },
      drain: flush,
      close: (socket) => {
        open -= 1
        socket.data.open = false
        socket.data.waiting.length = 0
      },
      error: () => {},
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/v1`,
    requests: () => requests,
    open: () => open,
    peer: () => {
      if (last === undefined) throw new Error("no request has come yet")
      return last
    },
    stop: () => server.stop(true),
  }
}

/** The head of an event stream with chunked framing. */
export const streamHead = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"

/** The head of an event stream that ends with its connection. */
export const openHead = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"

/** One chunk of chunked framing. */
export const part = (text: string | Uint8Array): Uint8Array => {
  const bytes = bytesOf(text)
  return Buffer.concat([bytesOf(`${bytes.length.toString(16)}\r\n`), bytes, bytesOf("\r\n")])
}

export const lastPart = "0\r\n\r\n"

/** One event, chunked, of this data. */
export const event = (data: string): Uint8Array => part(`data: ${data}\n\n`)

/** A URL with a port at which nothing listens. A free port would do only until another test is given it. */
export const deadUrl = (): string => "http://127.0.0.1:1/v1"
