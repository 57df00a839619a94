/**
 * Writes lines of the log without waiting for whoever reads them. Lines that are not taken wait in memory up to a bound; those beyond it
 * are dropped and counted, and one line says how many once lines are taken again.
 */
import { Buffer } from "node:buffer"

/** Where lines go. */
export interface Outlet {
  /**
   * Begins to write, and calls `taken` with the bytes written: 0 if none could be now, negative if nobody will ever read them. At most one
   * write runs at a time.
   */
  readonly write: (bytes: Uint8Array, taken: (bytes: number) => void) => void
  readonly close: () => void
}

/** The most bytes that wait. */
const mostBytes = 1_048_576
/** Bytes that are written at once, so that lines of several processes into one pipe stay whole (PIPE_BUF of Linux). A longer line is alone. */
const atOnceBytes = 4096
/** Milliseconds until it is tried again where nothing was taken. */
const tryAgainMs = { first: 5, most: 100 }

const nothing: Uint8Array = Buffer.alloc(0)
const lineEnd = 10

export class LineWriter {
  /** Lines that were dropped since the start. */
  lost = 0
  private untold = 0
  private waiting: Array<string> = []
  private waitingBytes = 0
  /** Taken from `waiting`, and not written yet. */
  private rest: Uint8Array = nothing
  private isWriting = false
  private isScheduled = false
  private pauseMs = tryAgainMs.first
  private timer: ReturnType<typeof setTimeout> | undefined
  private outlet: Outlet | undefined
  private readonly open: () => Outlet
  private readonly lineOfLost: (lines: number) => string
  private onEmpty: (() => void) | undefined

  /** `open`: called when there is a line to write. `lineOfLost`: the line that says how many were dropped. */
  constructor(open: () => Outlet, lineOfLost: (lines: number) => string) {
    this.open = open
    this.lineOfLost = lineOfLost
  }

  /** `line`: without a line break. It is written with the other lines of this turn of the event loop. */
  add(line: string): void {
    const bytes = Buffer.byteLength(line) + 1
    if (this.waitingBytes + bytes > mostBytes) {
      this.lost += 1
      this.untold += 1
      return
    }
    this.waitingBytes += bytes
    this.waiting.push(`${line}\n`)
    if (this.isScheduled || this.isWriting || this.timer !== undefined) return
    this.isScheduled = true
    setImmediate(() => {
      this.isScheduled = false
      this.flush()
    })
  }

  /** Writes what can be written now. */
  flush(): void {
    if (this.isWriting) return
    clearTimeout(this.timer)
    this.timer = undefined
    if (this.rest.length === 0) this.rest = this.someLines()
    if (this.rest.length === 0) {
      this.emptied()
      return
    }
    this.isWriting = true
    this.outlet ??= this.open()
    this.outlet.write(this.rest, (bytes) => this.taken(bytes))
  }

  /** Writes what waits, for at most so many milliseconds, and closes the outlet. A later line opens another one. */
  async end(withinMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const late = setTimeout(resolve, withinMs)
    this.onEmpty = resolve
    this.flush()
    await promise
    clearTimeout(late)
    clearTimeout(this.timer)
    this.timer = undefined
    if (this.isWriting) return
    this.outlet?.close()
    this.outlet = undefined
  }

  private someLines(): Uint8Array {
    let [count, bytes] = [0, 0]
    for (const line of this.waiting) {
      bytes += Buffer.byteLength(line)
      if (count > 0 && bytes > atOnceBytes) break
      count += 1
    }
    return Buffer.from(this.waiting.splice(0, count).join(""))
  }

  private taken(bytes: number): void {
    this.isWriting = false
    if (bytes < 0) this.drop()
    else if (bytes === 0) {
      this.tryLater()
      return
    }
    this.pauseMs = tryAgainMs.first
    const written = Math.max(0, bytes)
    this.waitingBytes -= written
    this.rest = this.rest.subarray(written)
    this.flush()
  }

  private tryLater(): void {
    this.timer = setTimeout(() => this.flush(), this.pauseMs)
    // A process that has nothing else to do may end.
    this.timer.unref()
    this.pauseMs = Math.min(2 * this.pauseMs, tryAgainMs.most)
  }

  /** Drops everything that waits: nobody will ever read it. */
  private drop(): void {
    this.lost += this.waiting.length + this.rest.filter((byte) => byte === lineEnd).length
    this.waiting = []
    this.waitingBytes = 0
    this.rest = nothing
  }

  private emptied(): void {
    if (this.untold > 0) {
      const lines = this.untold
      this.untold = 0
      this.add(this.lineOfLost(lines))
      this.flush()
      return
    }
    this.onEmpty?.()
  }
}
