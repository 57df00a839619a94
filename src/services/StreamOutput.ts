/**
 * Where the text of a streamed answer goes: a web stream that the caller reads. There are two kinds. `direct` is Bun's
 * own, which a native route writes to the socket without a queue and without a promise per chunk. `queued` is the
 * standard kind, for a reader in this process.
 */

/** Events of the reader. */
export interface OutputEvents {
  /** The reader took what was written after `write` returned false. */
  readonly onDrain: () => void
  /** The reader has left. Not called after `end` and `fail`. */
  readonly onCancel: () => void
}

export interface StreamOutput {
  readonly stream: ReadableStream<Uint8Array>
  /** Writes text. `false`: the reader is behind, so nothing more should be written until `onDrain`. */
  readonly write: (text: string) => boolean
  /** Ends the stream. What was written still reaches the reader. */
  readonly end: () => void
  /** Breaks the stream off: the reader sees an error. */
  readonly fail: (cause: Error) => void
}

export type OpenOutput = (events: OutputEvents) => StreamOutput

const encoder = new TextEncoder()

export const queuedOutput: OpenOutput = ({ onDrain, onCancel }) => {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let isOpen = true
  let isFull = false
  const stream = new ReadableStream<Uint8Array>(
    {
      start: (opened) => {
        controller = opened
      },
      pull: () => {
        if (!isFull) return
        isFull = false
        onDrain()
      },
      cancel: () => {
        isOpen = false
        onCancel()
      },
    },
    // No queue: after each write the reader must ask before the next one.
    { highWaterMark: 0 },
  )
  return {
    stream,
    write: (text) => {
      if (!isOpen || controller === undefined) return true
      controller.enqueue(encoder.encode(text))
      isFull = (controller.desiredSize ?? 1) <= 0
      return !isFull
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

/** Bun's direct streams: `write` gives a number, or a promise while the socket takes no more. */
interface DirectController {
  readonly write: (text: string) => number | Promise<number>
  readonly flush: () => unknown
  readonly end: () => unknown
  readonly close: (cause?: Error) => unknown
}

export const directOutput: OpenOutput = ({ onDrain, onCancel }) => {
  let controller: DirectController | undefined
  let isOpen = true
  /** Text and end that came before the server began to read. */
  let early = ""
  let close: (() => void) | undefined
  const drained = (): void => {
    if (isOpen) onDrain()
  }
  const source = {
    type: "direct" as const,
    pull: (opened: DirectController): Promise<void> => {
      controller = opened
      if (early !== "") void opened.write(early)
      early = ""
      opened.flush()
      // The stream ends when this promise is resolved.
      return new Promise((resolve) => {
        const end = close
        close = resolve
        if (end !== undefined) resolve()
      })
    },
    cancel: () => {
      if (!isOpen) return
      isOpen = false
      onCancel()
    },
  }
  const finish = (): void => {
    isOpen = false
    controller?.end()
    if (close === undefined) close = () => {}
    else close()
  }
  return {
    // Bun's kind of source is not in the types of the web.
    stream: new ReadableStream<Uint8Array>(source),
    write: (text) => {
      if (!isOpen) return true
      if (controller === undefined) {
        early += text
        return true
      }
      // Bun sends what was written at the end of the current event.
      const written = controller.write(text)
      if (typeof written === "number") return true
      written.then(drained, drained)
      return false
    },
    end: () => {
      if (isOpen) finish()
    },
    fail: (cause) => {
      if (!isOpen) return
      controller?.close(cause)
      finish()
    },
  }
}
