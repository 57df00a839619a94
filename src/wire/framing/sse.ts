/**
 * Server-sent events (WHATWG HTML, section 9.2): LF, CRLF and CR, a BOM, comments, several `data:` lines, several
 * events in one read, characters cut in two. Bytes that are no UTF-8 become U+FFFD. A frame's name is the value of its
 * `event:` line, its data the `data:` lines joined by a line feed.
 */
import { Utf8Decoder } from "../Utf8Decoder.ts"
import { type Frame, type FrameReader, longestFrame } from "./FrameReader.ts"

export const sseReader = (longest = longestFrame): FrameReader => new SseReader(longest)

class SseReader implements FrameReader {
  private readonly decoder = new Utf8Decoder()
  /** A line that has begun. */
  private rest = ""
  private name = ""
  private data: string | undefined
  private isAfterCarriageReturn = false
  private tooLong = false
  private readonly longest: number

  constructor(longest: number) {
    this.longest = longest
  }

  push(bytes: Uint8Array, start = 0, end = bytes.length): ReadonlyArray<Frame> {
    if (this.tooLong) return none
    const text = this.decoder.decode(bytes, start, end)
    const only = this.isAtStart && text.length <= this.longest ? oneEvent(text) : undefined
    if (only !== undefined) return [only]
    const frames: Array<Frame> = []
    this.lines(text, frames)
    return frames
  }

  end(): ReadonlyArray<Frame> {
    const frames: Array<Frame> = []
    if (this.tooLong) return frames
    this.lines(this.decoder.end(), frames)
    this.line(this.rest, frames)
    this.rest = ""
    this.line("", frames)
    return frames
  }

  overlong(): boolean {
    return this.tooLong
  }

  partial(): Frame {
    const { name, rest, data = "" } = this
    return { name, data: data + (rest.startsWith("data:") ? rest.slice(5) : "") }
  }

  /** Between two events, with nothing of the next one read. */
  private get isAtStart(): boolean {
    return this.rest === "" && this.name === "" && this.data === undefined && !this.isAfterCarriageReturn
  }

  private lines(text: string, frames: Array<Frame>): void {
    let start = 0
    if (this.isAfterCarriageReturn && text !== "") {
      if (text.charCodeAt(0) === 10) start = 1
      this.isAfterCarriageReturn = false
    }
    // Carriage returns are rare: look for one once per read, not once per line.
    let carriageReturn = text.indexOf("\r", start)
    for (;;) {
      const lineFeed = text.indexOf("\n", start)
      if (carriageReturn !== -1 && (lineFeed === -1 || carriageReturn < lineFeed)) {
        this.line(this.rest + text.slice(start, carriageReturn), frames)
        this.rest = ""
        start = carriageReturn + 1
        if (start === text.length) this.isAfterCarriageReturn = true
        else if (text.charCodeAt(start) === 10) start += 1
        carriageReturn = text.indexOf("\r", start)
      } else if (lineFeed !== -1) {
        this.line(this.rest === "" ? text.slice(start, lineFeed) : this.rest + text.slice(start, lineFeed), frames)
        this.rest = ""
        start = lineFeed + 1
      } else {
        this.rest += text.slice(start)
        if (this.rest.length > this.longest) this.tooLong = true
        return
      }
    }
  }

  private line(text: string, frames: Array<Frame>): void {
    // Checked here too, so that the result does not depend on how many reads a line comes in.
    if (text.length > this.longest) {
      this.tooLong = true
      this.rest = text
    }
    if (this.tooLong) return
    if (text === "") {
      if (this.data !== undefined) frames.push({ name: this.name, data: this.data })
      this.data = undefined
      this.name = ""
    } else if (text.startsWith("data:")) {
      const value = text.slice(text.charCodeAt(5) === 32 ? 6 : 5)
      this.data = this.data === undefined ? value : `${this.data}\n${value}`
      if (this.data.length > this.longest) this.tooLong = true
    } else if (text.startsWith("event:")) {
      this.name = text.slice(text.charCodeAt(6) === 32 ? 7 : 6)
    } else if (text === "data") {
      this.data = this.data === undefined ? "" : `${this.data}\n`
    }
  }
}

const none: ReadonlyArray<Frame> = []

/** The usual read: one event of one data line, with or without a name, and nothing else. Its lines need not be looked for. */
const oneEvent = (text: string): Frame | undefined => {
  if (!text.endsWith("\n\n")) return undefined
  const from = text.startsWith("event: ") ? text.indexOf("\n") + 1 : 0
  if (!text.startsWith("data: ", from) || text.indexOf("\n", from) !== text.length - 2) return undefined
  if (text.includes("\r")) return undefined
  return { name: from === 0 ? "" : text.slice(7, from - 1), data: text.slice(from + 6, -2) }
}
