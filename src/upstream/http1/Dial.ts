/**
 * Opens a connection for one exchange: resolves the name, then tries its addresses one after the other, the next one when
 * one fails or after a moment. The first that is ready is used, the others are closed. RFC 8305.
 */

import type { Origin } from "./Connection.ts"
import { Connection, type Opener } from "./Connection.ts"
import type { Pool } from "./Pool.ts"
import type { Registry, Watched } from "./Registry.ts"
import type { Resolve } from "./Resolve.ts"
import type { ClientTls } from "./tls.ts"

/** From the lookup of the name to the end of the TLS handshake. */
const connectMs = 5_000
const nextAddressMs = 250

export interface DialContext {
  readonly resolve: Resolve
  readonly tls: (hostname: string) => ClientTls
  readonly pool: Pool
  readonly registry: Registry
}

export class Dial implements Opener, Watched {
  rosterIndex = -1
  readonly deadline = performance.now() + connectMs
  readonly #context: DialContext
  readonly #origin: Origin
  readonly #onOpen: (connection: Connection) => void
  readonly #onFailed: (cause: Error) => void
  #addresses: ReadonlyArray<string> = []
  #next = 0
  readonly #attempts = new Set<Connection>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #over = false
  #firstCause: Error | undefined

  /** Begins to dial. Exactly one of the two functions is called, never before this has returned, unless it is cancelled. */
  constructor(
    context: DialContext,
    origin: Origin,
    onOpen: (connection: Connection) => void,
    onFailed: (cause: Error) => void,
  ) {
    this.#context = context
    this.#origin = origin
    this.#onOpen = onOpen
    this.#onFailed = onFailed
    context.registry.add(this)
    context.resolve(origin.hostname, origin.network).then(
      (addresses) => {
        this.#addresses = addresses
        this.#tryNext()
      },
      (cause: Error) => this.#fail(cause),
    )
  }

  cancel(): void {
    this.#over = true
    clearTimeout(this.#timer)
    this.#context.registry.remove(this)
    for (const attempt of this.#attempts) attempt.abort()
  }

  expire(): void {
    this.#fail(new Error(`no connection after ${connectMs / 1_000} seconds`, { cause: this.#firstCause }))
  }

  shutdown(cause: Error): void {
    this.#fail(cause)
  }

  onOpen(connection: Connection): void {
    this.#attempts.delete(connection)
    this.cancel()
    this.#onOpen(connection)
  }

  onOpenFailed(connection: Connection, cause: Error): void {
    this.#attempts.delete(connection)
    this.#firstCause ??= cause
    if (this.#next < this.#addresses.length) this.#tryNext()
    else if (this.#attempts.size === 0) this.#fail(this.#firstCause)
  }

  #tryNext(): void {
    if (this.#over) return
    clearTimeout(this.#timer)
    const address = this.#addresses[this.#next++]
    if (address === undefined) return
    const { pool, registry, tls } = this.#context
    const connection = new Connection(this.#origin, pool, registry, this)
    this.#attempts.add(connection)
    connection.connect(address, this.#origin.secure ? tls(this.#origin.hostname) : undefined)
    if (this.#next < this.#addresses.length) this.#timer = setTimeout(() => this.#tryNext(), nextAddressMs)
  }

  #fail(cause: Error): void {
    if (this.#over) return
    this.cancel()
    this.#onFailed(cause)
  }
}
