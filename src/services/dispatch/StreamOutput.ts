/**
 * Where the text of a streamed answer goes: a web stream that the caller reads. There are two kinds. `direct` is Bun's
 * own, which a native route writes to the socket without a queue and without a promise per chunk. `queued` is the
 * standard kind, for a reader in this process.
 */

/** Events of the reader. */
export interface OutputEvents {
  /** The reader took what was written after `write` returned false. */
  onDrain(): void
  /** The reader has left. Not called after `end` and `fail`. */
  onCancel(): void
}

export interface StreamOutput {
  readonly stream: ReadableStream<Uint8Array>
  /** UTF-8 bytes of the text that was written while the stream was open. */
  readonly bytes: number
  /** Writes text. `false`: the reader is behind, so nothing more should be written until `onDrain`. */
  readonly write: (text: string) => boolean
  /** Whether the reader took something since the last call, or nothing waits for it. */
  readonly isRead: () => boolean
  /** Ends the stream. What was written still reaches the reader. */
  readonly end: () => void
  /** Breaks the stream off: the reader sees an error. */
  readonly fail: (cause: Error) => void
}

export type OpenOutput = (events: OutputEvents) => StreamOutput

const encoder = new TextEncoder()

/**
 * Bytes that may wait for the reader. With none, a reader that keeps up is behind after every write all the same, since it asks
 * for more only in a later turn of the event loop, and the host's connection would be paused for each chunk.
 */
const queuedBytes = 65_536

export const queuedOutput: OpenOutput = (events) => {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let isOpen = true
  let isFull = false
  let writtenBytes = 0
  let takenBytes = 0
  const stream = new ReadableStream<Uint8Array>(
    {
      start: (opened) => {
        controller = opened
      },
      pull: () => {
        if (!isFull) return
        isFull = false
        events.onDrain()
      },
      cancel: () => {
        isOpen = false
        events.onCancel()
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: queuedBytes }),
  )
  return {
    stream,
    get bytes() {
      return writtenBytes
    },
    write: (text) => {
      if (!isOpen || controller === undefined) return true
      const bytes = encoder.encode(text)
      writtenBytes += bytes.length
      controller.enqueue(bytes)
      isFull = (controller.desiredSize ?? 1) <= 0
      return !isFull
    },
    isRead: () => {
      const waiting = queuedBytes - (controller?.desiredSize ?? queuedBytes)
      const before = takenBytes
      takenBytes = writtenBytes - waiting
      return waiting <= 0 || takenBytes > before
    },
    end: () => {
      if (!isOpen) return
      isOpen = false
      controller?.close()
    },
    fail: (cause) => {
      if (!isOpen) return
      isOpen = false
      controller?.error(cause)
    },
  }
}

/** Bun's direct streams: `write` gives the number of bytes, or a promise while the socket takes no more. */
interface DirectController {
  readonly write: (text: string) => number | Promise<number>
  readonly flush: () => unknown
  readonly end: () => unknown
  readonly close: (cause?: Error) => unknown
}

export const directOutput: OpenOutput = (events) => new DirectOutput(events)

class DirectOutput implements StreamOutput {
  readonly stream: ReadableStream<Uint8Array>
  bytes = 0
  private readonly events: OutputEvents
  private controller: DirectController | undefined
  private isOpen = true
  /** The socket has not taken what was written last. */
  private isBehind = false
  /** Text that came before the server began to read. */
  private early = ""
  /** Resolves the promise that Bun waits for at the end of the stream. `undefined`: the server has not begun to read. */
  private close: (() => void) | undefined

  constructor(events: OutputEvents) {
    this.events = events
    const source = {
      type: "direct" as const,
      pull: (opened: DirectController) => this.pull(opened),
      cancel: () => this.cancel(),
    }
    // Bun's kind of source is not in the types of the web.
    this.stream = new ReadableStream<Uint8Array>(source)
  }

  write(text: string): boolean {
    if (!this.isOpen) return true
    if (this.controller === undefined) {
      this.early += text
      this.bytes += Buffer.byteLength(text)
      this.isBehind = this.early.length > queuedBytes
      return !this.isBehind
    }
    // Bun sends what was written at the end of the current event.
    const written = this.controller.write(text)
    if (typeof written === "number") {
      this.bytes += written
      return true
    }
    this.bytes += Buffer.byteLength(text)
    const drained = () => this.drained()
    this.isBehind = true
    written.then(drained, drained)
    return false
  }

  isRead(): boolean {
    return !this.isBehind
  }

  end(): void {
    if (this.isOpen) this.finish()
  }

  fail(cause: Error): void {
    if (!this.isOpen) return
    this.controller?.close(cause)
    this.finish()
  }

  /** The server begins to read. The stream ends when the promise is resolved. */
  private pull(opened: DirectController): Promise<void> {
    this.controller = opened
    if (this.early !== "") void opened.write(this.early)
    this.early = ""
    opened.flush()
    if (this.isBehind) queueMicrotask(() => this.drained())
    return new Promise((resolve) => {
      this.close = resolve
      if (!this.isOpen) resolve()
    })
  }

  private cancel(): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.events.onCancel()
  }

  private drained(): void {
    this.isBehind = false
    if (this.isOpen) this.events.onDrain()
  }

  private finish(): void {
    this.isOpen = false
    this.controller?.end()
    this.close?.()
  }
}
