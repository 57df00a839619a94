/** Idle connections. The most recently used one is taken first, so that surplus ones expire. */
import type { Connection, Origin } from "./Connection.ts"

const maxIdlePerOrigin = 256
const maxIdle = 1_024
const maxIdleMs = 30_000
/** A connection is closed this much before the host would close it, since a request needs time to arrive. */
const reserveMs = 1_000

export class Pool {
  #size = 0
  /** Origins with idle connections, and some whose last idle one was taken. */
  readonly #origins = new Set<Origin>()

  /** A connection for one exchange, if there is one. */
  take({ idle }: Origin): Connection | undefined {
    while (true) {
      const connection = idle.pop()
      if (connection === undefined) return undefined
      this.#size--
      if (connection.deadline > performance.now()) return connection
      connection.close()
    }
  }

  /** Keeps a connection whose answer is complete, or closes it. `hostSeconds`: how long the host keeps it. */
  keep(connection: Connection, hostSeconds: number): void {
    const { idle } = connection.origin
    const keptMs = Math.min(maxIdleMs, hostSeconds * 1_000 - reserveMs)
    if (keptMs <= 0 || this.#size >= maxIdle) {
      connection.close()
      return
    }
    connection.deadline = performance.now() + keptMs
    idle.push(connection)
    this.#origins.add(connection.origin)
    this.#size++
    if (idle.length <= maxIdlePerOrigin) return
    this.#size--
    idle.shift()?.close()
  }

  /** Closes every idle connection, which gives their descriptors back. */
  closeAll(): void {
    for (const { idle } of this.#origins) for (const connection of idle.splice(0)) connection.close()
    this.#origins.clear()
    this.#size = 0
  }

  /** Forgets a connection that is about to be closed. */
  remove(connection: Connection): void {
    const { idle } = connection.origin
    const index = idle.indexOf(connection)
    if (index === -1) return
    idle.splice(index, 1)
    this.#size--
    if (idle.length === 0) this.#origins.delete(connection.origin)
  }
}
