/**
 * Requests that arise in one turn of the event loop are written to their hosts together, at its end. To write to a socket
 * often wakes the program that reads from it, which costs more than the write itself. When requests follow one another at
 * once, only the first has to wake the host. See docs/decisions/0065-writes-at-the-end-of-a-turn.md.
 */

export interface Unsent {
  /** Sends it, unless it was cancelled meanwhile. Does not throw. */
  readonly send: () => void
  /** Fails it: it will not be sent. */
  readonly shutdown: (cause: Error) => void
}

export class SendBatch {
  #unsent: Array<Unsent> = []
  /** Why nothing is sent any more. */
  #closed: Error | undefined

  /** Its `send` is called after the events that have already arrived, without a timer: on an idle gateway at once. */
  add(unsent: Unsent): void {
    this.#unsent.push(unsent)
    if (this.#unsent.length === 1) setImmediate(this.#send)
  }

  shutdown(cause: Error): void {
    this.#closed = cause
    for (const unsent of this.#take()) unsent.shutdown(cause)
  }

  readonly #send = (): void => {
    for (const unsent of this.#take()) {
      // What is sent may shut the batch down.
      if (this.#closed === undefined) unsent.send()
      else unsent.shutdown(this.#closed)
    }
  }

  /** What is added from now on, also by these, belongs to the next turn. */
  #take(): ReadonlyArray<Unsent> {
    const taken = this.#unsent
    this.#unsent = []
    return taken
  }
}
