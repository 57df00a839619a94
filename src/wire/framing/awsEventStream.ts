/**
 * Amazon's event streams, `application/vnd.amazon.eventstream`: binary messages, one after another. From AWS's "Event
 * stream encoding" and the Smithy specification of the same name, read in 2026-11. All numbers are big-endian:
 *
 * | bytes | what |
 * | --- | --- |
 * | 4 | length of the whole message |
 * | 4 | length of the headers |
 * | 4 | CRC-32 of these eight bytes |
 * | … | headers: length and name, kind of value, value |
 * | … | payload, here JSON |
 * | 4 | CRC-32 of everything before |
 *
 * A frame's name is the header `:event-type`; its data is the payload. Failures that the host reports are frames too:
 * their names are `exception:` with the value of `:exception-type`, and `error:` with that of `:error-code`. Names of events
 * have no colon.
 */
import { crc32 } from "node:zlib"
import { type Frame, type FrameReader, longestFrame } from "./FrameReader.ts"

export const awsEventStreamReader = (longest = longestFrame): FrameReader => new AwsEventStreamReader(longest)

const preludeLength = 12
const crcLength = 4
const shortestMessage = preludeLength + crcLength

class AwsEventStreamReader implements FrameReader {
  /** An incomplete message: its first `size` bytes. The buffer grows with what comes, since a host may announce any length. */
  private begun = new Uint8Array(preludeLength)
  private size = 0
  /** The length of that message, or of its prelude while only that is known. */
  private wanted = preludeLength
  private last: { readonly written: Buffer; readonly headers: Headers } | undefined
  private tooLong = false
  private wrong: string | undefined
  private readonly longest: number

  constructor(longest: number) {
    this.longest = longest
  }

  push(bytes: Uint8Array, start = 0, end = bytes.length): ReadonlyArray<Frame> {
    const frames: Array<Frame> = []
    let at = start
    while (at < end && !this.stopped) {
      const whole = this.size === 0 ? this.messageAt(bytes, at, end) : undefined
      if (whole === undefined) at += this.gather(bytes.subarray(at, end), frames)
      else {
        this.read(whole, frames)
        at += whole.length
      }
    }
    return frames
  }

  end(): ReadonlyArray<Frame> {
    if (this.size > 0 && !this.stopped) this.wrong = "the stream ended within a message"
    return []
  }

  overlong(): boolean {
    return this.tooLong
  }

  partial(): Frame {
    const bytes = Buffer.from(this.begun.buffer, this.begun.byteOffset, this.size)
    const payloadAt = this.size < preludeLength ? this.size : preludeLength + bytes.readUInt32BE(4)
    const headers = payloadAt > this.size ? undefined : this.headersIn(bytes, payloadAt)
    const frame = headers === undefined ? undefined : frameOf(headers, bytes.toString("utf8", payloadAt))
    return frame ?? { name: "", data: "" }
  }

  fault(): string | undefined {
    return this.wrong
  }

  private get stopped(): boolean {
    return this.tooLong || this.wrong !== undefined
  }

  /** The message that begins there, when all of it is in these bytes. They are not copied then. */
  private messageAt(bytes: Uint8Array, at: number, end: number): Uint8Array | undefined {
    if (end - at < shortestMessage) return undefined
    const length = this.lengthOf(bytes.subarray(at, at + preludeLength))
    const isThere = length !== undefined && at + length <= end && length <= this.longest
    return isThere ? bytes.subarray(at, at + length) : undefined
  }

  /** Adds bytes to the message that has begun, at most up to its end; returns how many. */
  private gather(bytes: Uint8Array, frames: Array<Frame>): number {
    const taken = bytes.subarray(0, this.wanted - this.size)
    this.makeRoom(taken.length)
    this.begun.set(taken, this.size)
    this.size += taken.length
    if (this.size > this.longest) this.tooLong = true
    if (this.size < this.wanted || this.tooLong) return taken.length
    if (this.wanted === preludeLength) this.wanted = this.lengthOf(this.begun) ?? preludeLength
    else {
      const message = this.begun.subarray(0, this.size)
      this.begun = new Uint8Array(preludeLength)
      this.size = 0
      this.wanted = preludeLength
      this.read(message, frames)
    }
    return taken.length
  }

  /** Grows the buffer of the incomplete message for so many more bytes, at least to twice its size. */
  private makeRoom(more: number): void {
    const needed = this.size + more
    if (needed <= this.begun.length) return
    const larger = new Uint8Array(Math.min(this.wanted, Math.max(needed, 2 * this.begun.length)))
    larger.set(this.begun.subarray(0, this.size))
    this.begun = larger
  }

  /** The length of the message with this prelude; `undefined`, and nothing is read any more: there can be none. */
  private lengthOf(prelude: Uint8Array): number | undefined {
    const view = viewOf(prelude)
    if (crc32(prelude.subarray(0, 8)) !== view.getUint32(8)) {
      this.wrong = "the checksum of a message's beginning is wrong"
      return undefined
    }
    const length = view.getUint32(0)
    if (length >= shortestMessage && view.getUint32(4) <= length - shortestMessage) return length
    this.wrong = "the lengths of a message are wrong"
    return undefined
  }

  private read(message: Uint8Array, frames: Array<Frame>): void {
    const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength)
    const end = bytes.length - crcLength
    if (crc32(bytes.subarray(0, end)) !== bytes.readUInt32BE(end)) {
      this.wrong = "the checksum of a message is wrong"
      return
    }
    const payloadAt = preludeLength + bytes.readUInt32BE(4)
    const headers = this.headersIn(bytes, payloadAt)
    const frame = headers === undefined ? undefined : frameOf(headers, bytes.toString("utf8", payloadAt, end))
    if (frame === undefined) this.wrong = "the headers of a message are wrong"
    else frames.push(frame)
  }

  /** Most messages of a stream have the headers of the one before, which are then not read again. */
  private headersIn(bytes: Buffer, end: number): Headers | undefined {
    const written = bytes.subarray(preludeLength, end)
    if (this.last?.written.equals(written)) return this.last.headers
    const headers = readHeaders(bytes, end)
    if (headers !== undefined) this.last = { written: Buffer.from(written), headers }
    return headers
  }
}

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength)

/** `undefined`: it is none of the three kinds of messages. */
const frameOf = (headers: Headers, payload: string): Frame | undefined => {
  switch (headers[":message-type"]) {
    case "event":
      return { name: headers[":event-type"] ?? "", data: payload }
    case "exception":
      // A frame without data would not reach the protocol.
      return { name: `exception:${headers[":exception-type"] ?? ""}`, data: payload === "" ? "{}" : payload }
    case "error": {
      const message = headers[":error-message"] ?? ""
      return { name: `error:${headers[":error-code"] ?? ""}`, data: JSON.stringify({ message }) }
    }
    default:
      return undefined
  }
}

/** Bytes of a value, by its kind: true, false, byte, short, integer, long; then time stamp and UUID. */
const fixedLengths: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 }
const bytesKind = 6
const textKind = 7

type Headers = Readonly<Record<string, string>>

/** The headers that are text, which all that are read here are; `undefined`: they go beyond `end`. */
const readHeaders = (bytes: Buffer, end: number): Headers | undefined => {
  const headers: Record<string, string> = {}
  let at = preludeLength
  while (at < end) {
    const nameEnd = at + 1 + (bytes[at] ?? 0)
    const kind = bytes[nameEnd] ?? -1
    const isSized = kind === bytesKind || kind === textKind
    const valueAt = nameEnd + (isSized ? 3 : 1)
    if (valueAt > end) return undefined
    const length = isSized ? bytes.readUInt16BE(nameEnd + 1) : fixedLengths[kind]
    if (length === undefined || valueAt + length > end) return undefined
    if (kind === textKind) {
      headers[bytes.toString("utf8", at + 1, nameEnd)] = bytes.toString("utf8", valueAt, valueAt + length)
    }
    at = valueAt + length
  }
  return headers
}
