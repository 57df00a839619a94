/**
 * Parses the answers of one connection and calls a receiver. A state machine: bytes may be cut anywhere, and the receiver
 * may pause it between any two calls. Everything that two readers could understand differently is refused. RFC 9112.
 */
import type { ResponseHead } from "../Exchange.ts"
import { cr, hexDigit, isValue, lf, semicolon } from "./bytes.ts"
import { HeaderSection, incomplete } from "./HeaderSection.ts"
import { makeResponseHead } from "./responseHead.ts"

export interface AnswerReceiver {
  /** A final head; `contentEncoding` is in lower case, empty where there is none. */
  readonly onHead: (head: ResponseHead, contentEncoding: string) => void
  /** Bytes of the body: those of `bytes` from `start` to `end`. */
  readonly onData: (bytes: Buffer, start: number, end: number) => void
  /** The answer is complete. `surplus`: bytes came behind it. */
  readonly onEnd: (surplus: boolean) => void
}

// States.
const inHead = 0
const inLength = 1
const untilClose = 2
const inChunkSize = 3
const inChunkExtension = 4
const atChunkSizeLf = 5
const inChunk = 6
const atChunkCr = 7
const atChunkLf = 8
const inTrailers = 9
const atEnd = 10
const broken = 11

/** Problems that are limits of ours: another client may have read such an answer. */
const limits: ReadonlySet<string> = new Set(["the headers are too long", "there are too many headers"])

const maxInterimHeads = 20
const maxExtensionBytes = 1_024
/** Thirteen hexadecimal digits are 2^52 - 1 at most. */
const maxSizeDigits = 13
/** A receiver gets at most this much at once, so that a pause takes effect soon. */
const maxPiece = 65_536
const none = Buffer.alloc(0)

export class ResponseParser {
  /** No calls while it is set; see `resume`. */
  paused = false
  /** Why the answer is no proper HTTP; empty: nothing is wrong. */
  problem = ""
  /** Whether the problem is a limit of ours. */
  get isBeyondLimit(): boolean {
    return limits.has(this.problem)
  }
  /** Whether the host keeps the connection open after the present answer. */
  keepAlive = false
  /** Seconds after which the host closes an idle connection; `Infinity`: it did not say. */
  keepAliveSeconds = Number.POSITIVE_INFINITY
  readonly #receiver: AnswerReceiver
  readonly #section = new HeaderSection()
  #state = inHead
  #running = false
  /** Bytes that came but are not read yet. */
  #kept: Buffer | undefined
  /** Bytes of the body, or of the chunk, that are still due. */
  #remaining = 0
  #digits = 0
  #extensionBytes = 0
  #interimHeads = 0

  constructor(receiver: AnswerReceiver) {
    this.#receiver = receiver
  }

  /** Whether a body is under way that ends with the connection. */
  get endsWithConnection(): boolean {
    return this.#state === untilClose
  }

  /** Bytes of the body, or of its present chunk, that are known to be due still. */
  get bytesDue(): number {
    return this.#state === inLength || this.#state === inChunk ? this.#remaining : 0
  }

  /** Whether the receiver is being called now. */
  get running(): boolean {
    return this.#running
  }

  read(bytes: Buffer): void {
    const kept = this.#kept
    const all = kept === undefined ? bytes : Buffer.concat([kept, bytes])
    this.#kept = undefined
    if (this.paused) this.#kept = all
    else this.#run(all)
  }

  /** Goes on after a pause. */
  resume(): void {
    this.paused = false
    // Called by the receiver from within the loop, which continues by itself.
    if (this.#running) return
    const kept = this.#kept ?? none
    this.#kept = undefined
    this.#run(kept)
  }

  /** The connection was closed in an orderly way. `true`: that completes the answer. */
  close(): boolean {
    if (this.#state !== untilClose) return false
    this.#state = inHead
    this.#receiver.onEnd(false)
    return true
  }

  #run(bytes: Buffer): void {
    this.#running = true
    this.#readAll(bytes)
    this.#running = false
  }

  #readAll(bytes: Buffer): void {
    let at = 0
    while (!this.paused) {
      switch (this.#state) {
        case atEnd: {
          this.#state = inHead
          this.#interimHeads = 0
          // The receiver may begin the next exchange on this connection at once, so nothing may follow here.
          this.#receiver.onEnd(at < bytes.length)
          return
        }
        case inHead:
        case inTrailers: {
          if (at === bytes.length) return
          const end = this.#state === inHead ? this.#section.head(bytes, at) : this.#section.trailers(bytes, at)
          if (end === incomplete) {
            this.#kept = at === 0 ? bytes : bytes.subarray(at)
            return
          }
          if (end < 0) this.#fail(this.#section.problem)
          else if (this.#state === inHead) this.#headComplete(bytes, at, end)
          else {
            this.#section.reset()
            this.#state = atEnd
          }
          at = end
          break
        }
        case inLength:
        case inChunk:
        case untilClose: {
          if (at === bytes.length) return
          at = this.#body(bytes, at)
          break
        }
        case broken:
          return
        default: {
          if (at === bytes.length) return
          at = this.#chunkFraming(bytes, at)
        }
      }
    }
    if (at < bytes.length) this.#kept = bytes.subarray(at)
  }

  /** Passes a piece of the body on, and returns the position behind it. */
  #body(bytes: Buffer, at: number): number {
    let end = Math.min(bytes.length, at + maxPiece)
    if (this.#state !== untilClose) {
      end = Math.min(end, at + this.#remaining)
      this.#remaining -= end - at
      if (this.#remaining === 0) this.#state = this.#state === inChunk ? atChunkCr : atEnd
    }
    this.#receiver.onData(bytes, at, end)
    return end
  }

  /** Reads what stands between two chunks' data, as far as the bytes go. */
  #chunkFraming(bytes: Buffer, from: number): number {
    let at = from
    for (; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0
      switch (this.#state) {
        case inChunkSize: {
          const value = hexDigit[byte] ?? 255
          if (value !== 255) {
            if (++this.#digits > maxSizeDigits) return this.#failAt("a chunk's size is too large", at)
            this.#remaining = this.#remaining * 16 + value
          } else if (this.#digits === 0) return this.#failAt("a chunk's size is missing", at)
          else if (byte === cr) this.#state = atChunkSizeLf
          else if (byte === semicolon) this.#state = inChunkExtension
          else return this.#failAt("a chunk's size is wrong", at)
          break
        }
        case inChunkExtension:
          if (byte === cr) this.#state = atChunkSizeLf
          else if (isValue[byte] !== 1) return this.#failAt("a chunk's extension is wrong", at)
          else if (++this.#extensionBytes > maxExtensionBytes)
            return this.#failAt("a chunk's extension is too long", at)
          break
        case atChunkSizeLf:
          if (byte !== lf) return this.#failAt("a chunk's size ends in a bare carriage return", at)
          this.#state = this.#remaining === 0 ? inTrailers : inChunk
          return at + 1
        case atChunkCr:
          if (byte !== cr) return this.#failAt("a chunk is longer than it says", at)
          this.#state = atChunkLf
          break
        case atChunkLf:
          if (byte !== lf) return this.#failAt("a chunk is longer than it says", at)
          this.#expectChunk()
      }
    }
    return at
  }

  #expectChunk(): void {
    this.#state = inChunkSize
    this.#remaining = 0
    this.#digits = 0
    this.#extensionBytes = 0
  }

  #headComplete(bytes: Buffer, start: number, end: number): void {
    const { status, minor, contentLength, chunked, connection, keepAlive, contentEncoding } = this.#section
    this.#section.reset()
    if (status === 101) this.#fail("the host switched to another protocol, which nobody asked for")
    else if (chunked && (contentLength !== -1 || minor === 0))
      this.#fail("a Transfer-Encoding beside a Content-Length, or in HTTP/1.0")
    else if (status < 200) {
      if (minor === 0 || ++this.#interimHeads > maxInterimHeads)
        this.#fail("there are too many interim answers, or one in HTTP/1.0")
    }
    if (status < 200 || this.#state === broken) return
    const bodiless = status === 204 || status === 304
    const kept = minor === 1 ? !lists(connection, "close") : lists(connection, "keep-alive")
    this.keepAlive = kept && !(bodiless && (chunked || contentLength > 0))
    this.keepAliveSeconds = keepAlive === "" ? Number.POSITIVE_INFINITY : secondsOf(keepAlive)
    if (bodiless || contentLength === 0) this.#state = atEnd
    else if (chunked) this.#expectChunk()
    else if (contentLength > 0) {
      this.#state = inLength
      this.#remaining = contentLength
    } else {
      this.#state = untilClose
      this.keepAlive = false
    }
    this.#receiver.onHead(
      makeResponseHead(status, bytes.toString("latin1", start, end - 2)),
      bodiless ? "" : contentEncoding,
    )
  }

  #failAt(problem: string, at: number): number {
    this.#fail(problem)
    return at
  }

  #fail(problem: string): void {
    this.#state = broken
    this.problem = problem
  }
}

const lists = (connection: string, option: string): boolean =>
  connection === option || (connection !== "" && connection.split(",").some((part) => part.trim() === option))

const secondsOf = (keepAlive: string): number => {
  const seconds = /(?:^|[,; \t])timeout=(\d{1,6})/.exec(keepAlive)?.[1]
  return seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds)
}
