/**
 * Reads a header section: the lines up to an empty one, of a head or of trailers. Strict where leniency lets two readers
 * see two different answers: no bare CR or LF, no folded lines, no space before a colon, no control characters.
 */
import { colon, cr, isToken, isValue, lf, space } from "./bytes.ts"

/** The section goes on beyond the bytes at hand. */
export const incomplete = -1
/** The section is wrong; `problem` says how. */
const wrong = -2

const maxFields = 200
const maxBytes = 16_384

export class HeaderSection {
  problem = ""
  /** Status of the status line. */
  status = 0
  /** The minor version: HTTP/1.0 or 1.1. */
  minor = 1
  /** The value of Content-Length; -1: there is none. */
  contentLength = -1
  /** Whether there is a Transfer-Encoding, which is then `chunked`. */
  chunked = false
  /** The values of Connection and Keep-Alive, in lower case; empty: absent. */
  connection = ""
  keepAlive = ""
  /** The value of Content-Encoding, in lower case; empty: absent. */
  contentEncoding = ""
  #fields = 0
  /** Bytes of the complete lines so far. */
  #parsed = 0

  reset(): void {
    this.status = 0
    this.contentLength = -1
    this.chunked = false
    this.connection = ""
    this.keepAlive = ""
    this.contentEncoding = ""
    this.#fields = 0
    this.#parsed = 0
  }

  /** Reads a head that begins at `start`: the position behind it, `incomplete` or `wrong`. To be called again with more bytes. */
  head(bytes: Buffer, start: number): number {
    let line = start + this.#parsed
    if (this.#parsed === 0) {
      const next = this.#statusLine(bytes, start)
      if (next < 0) return this.#stopped(next, bytes, start)
      this.#parsed = next - start
      line = next
    }
    return this.#fieldLines(bytes, start, line)
  }

  /** Reads trailers that begin at `start`. They mean nothing to us, but may not be about framing. */
  trailers(bytes: Buffer, start: number): number {
    const end = this.#fieldLines(bytes, start, start + this.#parsed)
    const isFraming = this.contentLength !== -1 || this.chunked
    return isFraming ? this.#fail("the trailers have a length or a coding") : end
  }

  #statusLine(bytes: Buffer, start: number): number {
    const { length } = bytes
    for (let index = 0; index < protocol.length; index++) {
      if (start + index >= length) return incomplete
      if (bytes[start + index] !== protocol.charCodeAt(index)) return this.#fail(notHttp(bytes, start))
    }
    let at = start + protocol.length
    if (at + 6 >= length) return incomplete
    this.minor = digit(bytes[at])
    this.status = digit(bytes[at + 2]) * 100 + digit(bytes[at + 3]) * 10 + digit(bytes[at + 4])
    if (!(this.minor <= 1) || bytes[at + 1] !== space || !(this.status >= 100 && this.status <= 999))
      return this.#fail("the status line is wrong")
    at += 5
    if (bytes[at] === space) {
      at++
      while (at < length && isValue[bytes[at] ?? 0] === 1) at++
    }
    return this.#lineEnd(bytes, at)
  }

  #fieldLines(bytes: Buffer, start: number, first: number): number {
    const { length } = bytes
    let line = first
    while (true) {
      if (bytes[line] === cr) {
        const end = this.#lineEnd(bytes, line)
        return end < 0 || end - start > maxBytes ? this.#stopped(end < 0 ? end : incomplete, bytes, start) : end
      }
      let at = line
      while (at < length && isToken[bytes[at] ?? 0] === 1) at++
      if (at === length) return this.#stopped(incomplete, bytes, start)
      if (bytes[at] !== colon || at === line) return this.#fail("a header's name is wrong")
      const nameEnd = at
      at++
      while (at < length && isValue[bytes[at] ?? 0] === 1) at++
      const next = this.#lineEnd(bytes, at)
      if (next < 0) return this.#stopped(next, bytes, start)
      if (++this.#fields > maxFields) return this.#fail("there are too many headers")
      if (!this.#take(bytes, line, nameEnd, at)) return wrong
      line = next
      this.#parsed = line - start
    }
  }

  /** The position behind the CRLF that is due at `at`. */
  #lineEnd(bytes: Buffer, at: number): number {
    if (at >= bytes.length) return incomplete
    if (bytes[at] !== cr) return this.#fail("a header has a character that may not be in it")
    if (at + 1 >= bytes.length) return incomplete
    return bytes[at + 1] === lf ? at + 2 : this.#fail("a line ends in a bare carriage return")
  }

  #stopped(why: number, bytes: Buffer, start: number): number {
    return why === incomplete && bytes.length - start > maxBytes ? this.#fail("the headers are too long") : why
  }

  /** Keeps what matters for framing. `false`: it is wrong. */
  #take(bytes: Buffer, start: number, nameEnd: number, end: number): boolean {
    const length = nameEnd - start
    if (length !== 10 && length !== 14 && length !== 16 && length !== 17) return true
    switch (bytes.toString("latin1", start, nameEnd).toLowerCase()) {
      case "connection":
        this.connection = joined(this.connection, valueOf(bytes, nameEnd, end))
        return true
      case "keep-alive":
        this.keepAlive = joined(this.keepAlive, valueOf(bytes, nameEnd, end))
        return true
      case "content-encoding":
        this.contentEncoding = joined(this.contentEncoding, valueOf(bytes, nameEnd, end))
        return true
      case "content-length":
        return this.#takeLength(valueOf(bytes, nameEnd, end))
      case "transfer-encoding":
        if (this.chunked || valueOf(bytes, nameEnd, end) !== "chunked") {
          this.problem = "a Transfer-Encoding other than chunked"
          return false
        }
        this.chunked = true
    }
    return true
  }

  #takeLength(value: string): boolean {
    const right = /^\d{1,15}$/.test(value) && this.contentLength === -1
    if (right) this.contentLength = Number(value)
    else this.problem = "the Content-Length is wrong, or there are several"
    return right
  }

  #fail(problem: string): number {
    this.problem = problem
    return wrong
  }
}

const protocol = "HTTP/1."

const digit = (byte: number | undefined): number => {
  const value = (byte ?? 0) - 48
  return value >= 0 && value <= 9 ? value : Number.NaN
}

/**
 * The value behind the colon, in lower case and without spaces around it. Tabs stay: no host puts one beside a length or a
 * coding, and parsers differ in what they make of it.
 */
const valueOf = (bytes: Buffer, colonAt: number, end: number): string => {
  let start = colonAt + 1
  let last = end
  while (start < last && bytes[start] === space) start++
  while (last > start && bytes[last - 1] === space) last--
  return bytes.toString("latin1", start, last).toLowerCase()
}

const joined = (before: string, value: string): string => (before === "" ? value : `${before},${value}`)

/** What came in place of a status line. */
const notHttp = (bytes: Buffer, at: number): string => {
  if (bytes[at] === 0x15 && bytes[at + 1] === 3) return "the host speaks TLS on this port"
  const isFrame = bytes[at] === 0 && bytes.length >= at + 9 && bytes[at + 3] === 4
  return isFrame ? "the host speaks HTTP/2 only" : "the answer is no HTTP/1"
}
