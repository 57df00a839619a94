/**
 * A long whole answer on its way to the caller: written piece by piece, each in a turn of the event loop of its own, and no faster than the
 * caller reads. So several of them keep nobody waiting for their sum, and the bytes that are kept for a slow caller go on to count
 * (`AnswerBytes`). One who takes nothing for `client_stall_ms` is cut.
 */

import type { AnswerBody, BodyPieces } from "../../services/dispatch/AnswerReader.ts"
import type { OpenOutput, OutputEvents, StreamOutput } from "../../services/dispatch/StreamOutput.ts"
import type { TickTimers, Timer } from "../../services/request/Timers.ts"
import { takeTurn } from "../../services/request/turns.ts"

/** Characters of a text that is written in pieces. */
const longText = 1_048_576
/** Characters of a piece. */
const pieceLength = 262_144

/** Whether a body is long enough to be written in pieces. */
export const isLongBody = (body: AnswerBody): body is string | BodyPieces =>
  typeof body === "string" ? body.length > longText : "pieces" in body

export interface LongAnswerOptions {
  readonly timers: TickTimers
  readonly open: OpenOutput
  /** How long the caller may take nothing, milliseconds. */
  readonly stallMs: number
  /** All of it was written (`isWhole`), or the caller has left or was cut. `bytes`: of it that were written. Called once. */
  readonly onClosed: (isWhole: boolean, bytes: number) => void
}

export class LongAnswer implements OutputEvents {
  private readonly options: LongAnswerOptions
  private readonly output: StreamOutput
  private readonly timer: Timer
  private pieces: Iterator<string> | undefined
  private isInTurn = false

  constructor(body: string | BodyPieces, options: LongAnswerOptions) {
    this.options = options
    this.pieces = (typeof body === "string" ? piecesOf(body) : body.pieces)[Symbol.iterator]()
    this.output = options.open(this)
    this.timer = options.timers.set(options.stallMs, () => this.cut())
    this.askTurn()
  }

  /** The body of our response. */
  get body(): ReadableStream<Uint8Array> {
    return this.output.stream
  }

  /** Ends it before all was written: the caller takes nothing, or the request was ended. */
  readonly cut = (): void => {
    if (this.pieces === undefined) return
    this.output.fail(new Error("the caller took no bytes"))
    this.close(false)
  }

  onDrain(): void {
    if (this.pieces === undefined) return
    this.timer.restart(this.options.stallMs)
    this.askTurn()
  }

  onCancel(): void {
    this.close(false)
  }

  private askTurn(): void {
    if (this.isInTurn) return
    this.isInTurn = true
    takeTurn(() => this.write())
  }

  private write(): void {
    this.isInTurn = false
    const { pieces } = this
    if (pieces === undefined) return
    let isRead: boolean
    try {
      const { done, value } = pieces.next()
      if (done === true) {
        this.output.end()
        this.close(true)
        return
      }
      isRead = this.output.write(value)
    } catch {
      this.cut()
      return
    }
    if (!isRead) return
    this.timer.restart(this.options.stallMs)
    this.askTurn()
  }

  private close(isWhole: boolean): void {
    if (this.pieces === undefined) return
    this.pieces = undefined
    this.timer.clear()
    this.options.onClosed(isWhole, this.output.bytes)
  }
}

function* piecesOf(text: string): Iterable<string> {
  for (let at = 0; at < text.length; ) {
    let end = Math.min(text.length, at + pieceLength)
    // Both halves of a character go into one piece.
    const last = text.charCodeAt(end - 1)
    if (last >= 0xd800 && last < 0xdc00 && end < text.length) end += 1
    yield text.slice(at, end)
    at = end
  }
}
