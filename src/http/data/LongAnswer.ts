/**
 * Sends a long non-streaming answer piece by piece, each in its own turn of the event loop, and no faster than the
 * client reads. So several long answers do not block other requests, and the bytes that wait for a slow client stay
 * counted (`AnswerBytes`). Cuts off a client that takes nothing for `client_stall_ms`.
 */

import { CallerGone } from "../../domain/failures/Failure.ts"
import type { BodyPieces } from "../../formats/AnswerWriter.ts"
import type { AnswerBody } from "../../services/dispatch/AnswerReader.ts"
import type { OpenOutput, OutputEvents, StreamOutput } from "../../services/dispatch/StreamOutput.ts"
import type { EndFailure } from "../../services/request/ServedRequest.ts"
import type { TickTimers, Timer } from "../../services/request/Timers.ts"
import { takeTurn } from "../../services/request/turns.ts"

/** Characters from which a text is written in pieces. */
const longText = 1_048_576
/** Characters of a piece. */
const pieceLength = 262_144

/** Whether a body is long enough to be written in pieces. */
export const isLongBody = (body: AnswerBody): body is string | BodyPieces =>
  typeof body === "string" ? body.length > longText : "pieces" in body

export interface LongAnswerOptions {
  readonly timers: TickTimers
  readonly open: OpenOutput
  /** Milliseconds that the client may take nothing. */
  readonly stallMs: number
  /** Called once. `failure`: why not all of it was written; `undefined`: all was. `bytes`: the bytes written. */
  readonly onClosed: (failure: EndFailure | undefined, bytes: number) => void
  /** Called before `onClosed` if a piece cannot be built. */
  readonly onDefect: (cause: unknown) => void
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

  /** Ends the answer early: the client takes nothing, or the request was ended. */
  readonly cut = (): void => {
    if (this.pieces === undefined) return
    this.output.fail(new Error("the client took no bytes"))
    this.close(new CallerGone())
  }

  onDrain(): void {
    if (this.pieces === undefined) return
    this.timer.restart(this.options.stallMs)
    this.askTurn()
  }

  onCancel(): void {
    this.close(new CallerGone())
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
        this.close(undefined)
        return
      }
      isRead = this.output.write(value)
    } catch (cause) {
      this.options.onDefect(cause)
      this.output.fail(new Error("internal error"))
      this.close("defect")
      return
    }
    if (!isRead) return
    this.timer.restart(this.options.stallMs)
    this.askTurn()
  }

  private close(failure: EndFailure | undefined): void {
    if (this.pieces === undefined) return
    this.pieces = undefined
    this.timer.clear()
    this.options.onClosed(failure, this.output.bytes)
  }
}

function* piecesOf(text: string): Iterable<string> {
  for (let at = 0; at < text.length; ) {
    let end = Math.min(text.length, at + pieceLength)
    // Keeps surrogate pairs together.
    const last = text.charCodeAt(end - 1)
    if (last >= 0xd800 && last < 0xdc00 && end < text.length) end += 1
    yield text.slice(at, end)
    at = end
  }
}
