/** A way to a server that a test can cut, block or hold, without touching the server. */
import { connect, createServer, type Server, type Socket } from "node:net"

export interface TcpProxy {
  readonly port: number
  /** Closes all connections, and refuses new ones. */
  readonly down: () => Promise<void>
  readonly up: () => Promise<void>
  /** Closes all connections; new ones are possible at once. */
  readonly cut: () => void
  /** From now on what callers send arrives so many milliseconds later, but for the first messages, which open a session. */
  readonly delay: (milliseconds: number) => void
  /** Passes nothing on, in neither direction, and keeps the connections. */
  readonly hold: () => void
  /** Passes on what was held, and what comes. */
  readonly release: () => void
  /**
   * The next reply to a message with this text is lost, and its connection closed: the server has done what was asked.
   * Resolves when that has happened.
   */
  readonly loseReplyTo: (text: string) => Promise<void>
  readonly close: () => Promise<void>
}

export const tcpProxy = async (target: number): Promise<TcpProxy> => {
  const pairs = new Set<readonly [Socket, Socket]>()
  let held = false
  let delayMs = 0
  let losing: string | undefined
  let onLost = () => {}

  const accept = (caller: Socket): void => {
    const server = connect(target, "127.0.0.1")
    const pair = [caller, server] as const
    pairs.add(pair)
    if (held) for (const socket of pair) socket.pause()
    const end = () => {
      pairs.delete(pair)
      for (const socket of pair) socket.destroy()
    }
    for (const socket of pair) {
      socket.on("close", end)
      socket.on("error", end)
    }
    let loses = false
    let messages = 0
    caller.on("data", (bytes) => {
      if (losing !== undefined && bytes.includes(losing)) {
        losing = undefined
        loses = true
      }
      messages += 1
      if (delayMs === 0 || messages <= 4) server.write(bytes)
      else setTimeout(() => server.write(bytes), delayMs)
    })
    server.on("data", (bytes) => {
      if (!loses) {
        caller.write(bytes)
        return
      }
      end()
      onLost()
    })
  }

  const listen = (port: number): Promise<Server> =>
    new Promise((resolve, reject) => {
      const made = createServer(accept)
      made.on("error", reject)
      made.listen(port, "127.0.0.1", () => resolve(made))
    })
  let listening: Server | undefined = await listen(0)
  const address = listening.address()
  const port = typeof address === "object" && address !== null ? address.port : 0

  const cut = () => {
    for (const pair of [...pairs]) for (const socket of pair) socket.destroy()
    pairs.clear()
  }
  const down = async () => {
    const closing = listening
    listening = undefined
    cut()
    await new Promise<void>((resolve) => (closing === undefined ? resolve() : closing.close(() => resolve())))
  }
  return {
    port,
    cut,
    down,
    up: async () => {
      listening ??= await listen(port)
    },
    hold: () => {
      held = true
      for (const pair of pairs) for (const socket of pair) socket.pause()
    },
    release: () => {
      held = false
      for (const pair of pairs) for (const socket of pair) socket.resume()
    },
    delay: (ms) => {
      delayMs = ms
    },
    loseReplyTo: (text) => {
      losing = text
      return new Promise((resolve) => {
        onLost = resolve
      })
    },
    close: down,
  }
}
