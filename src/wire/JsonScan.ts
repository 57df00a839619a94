/**
 * Scans the bytes of a long body before it is parsed: how many values it has, how deeply they are nested, and how much of it is text. A body
 * of some megabytes of empty arrays would take hundreds of megabytes and a second in `JSON.parse`, which nothing can interrupt. See docs/guarantees.md#g30.
 */
import { deepest } from "./jsonDepth.ts"

/** Values of all kinds in one body, names of members not counted. */
export const mostValues = 500_000

/** Members of objects in one body. A name that is new costs the parser ten times as much as another value. */
export const mostMembers = 150_000

/** A body of at most so many bytes cannot have too many values or members: a value takes at least one byte, a member five (`"":1,`). */
export const unscannedBytes = mostValues

export type Excess = "values" | "members" | "depth"

const quote = 0x22
const backslash = 0x5c
const letterU = 0x75

/** What each byte means outside of strings, by its value; 0: nothing that counts. */
const kinds = new Uint8Array(256)
const [opensString, separates, opens, closes, names] = [1, 2, 3, 4, 5]
for (const [signs, kind] of [
  ['"', opensString],
  [",", separates],
  ["[{", opens],
  ["]}", closes],
  [":", names],
] as const) {
  for (const sign of signs) kinds[sign.charCodeAt(0)] = kind
}

/** So many bytes of a string are searched for its end one by one. For longer ones the native search is faster. */
const nearBytes = 64

/** A string of at least so many bytes may be media. */
const leastMedia = 1024
/** Bytes at the beginning of such a string that are looked at. */
const mediaSample = 64

/**
 * The scan of one body. `advance` goes on to some byte, so that a long body is scanned in parts: 32 MiB take 20 to 60 ms. The
 * counts are right up to the first syntax error, where a parser stops.
 */
export class JsonScan {
  private readonly bytes: Buffer
  private at = 0
  /** First byte of the string that the last part ended in; -1: it ended outside of strings. */
  private stringFrom = -1
  private depth = 0
  private values = 1
  private members = 0
  /** Bytes of strings that are no media, as they are written, and so an upper bound of their UTF-8 bytes. */
  textBytes = 0

  constructor(bytes: Uint8Array) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get isDone(): boolean {
    return this.at >= this.bytes.length
  }

  /** Scans so many bytes more. Returns what there is too much of, if so. */
  advance(count: number): Excess | undefined {
    const { bytes } = this
    const end = Math.min(bytes.length, this.at + count)
    if (this.stringFrom !== -1) this.string(end)
    let { at, depth, values, members } = this
    let excess: Excess | undefined
    for (; at < end; at++) {
      const kind = kinds[bytes[at] ?? 0]
      if (kind === 0) continue
      if (kind === opensString) {
        this.stringFrom = this.at = at + 1
        this.string(end)
        at = this.at - 1
      } else if (kind === separates) values++
      else if (kind === opens) {
        if (++depth > deepest) excess = "depth"
      } else if (kind === closes) {
        depth--
        // Within it are as many values as commas, and one more.
        if (!isEmptyBefore(bytes, at)) values++
      } else members++
      if (values > mostValues) excess = "values"
      else if (members > mostMembers) excess = "members"
      if (excess !== undefined) break
    }
    this.at = at
    this.depth = depth
    this.values = values
    this.members = members
    return excess
  }

  /** Goes on within a string, to the byte after its end or to `end`. */
  private string(end: number): void {
    const { bytes, stringFrom } = this
    const quoteAt = endOfString(bytes, this.at, end)
    if (quoteAt < 0) {
      this.at = ~quoteAt
      return
    }
    this.at = quoteAt + 1
    this.stringFrom = -1
    const length = quoteAt - stringFrom
    if (length < leastMedia || !isMedia(bytes, stringFrom)) this.textBytes += length
  }
}

/**
 * Index of the quote that ends a string, from a byte on that is not escaped. Below 0: it was not found, and `~` of it is the byte
 * to go on from. The native search may go beyond `end`, since it takes no time.
 */
const endOfString = (bytes: Buffer, from: number, end: number): number => {
  let at = from
  while (at < end) {
    const near = Math.min(end, at + nearBytes)
    for (; at < near; at++) {
      const byte = bytes[at]
      if (byte === quote) return at
      if (byte === backslash) at++
    }
    if (at >= end) return ~at
    const found = bytes.indexOf(quote, at)
    if (found === -1) return ~bytes.length
    let before = found - 1
    while (before >= at && bytes[before] === backslash) before--
    if ((found - before) % 2 === 1) return found
    at = found + 1
  }
  return ~at
}

/** Whether the array or object that ends here has nothing in it. */
const isEmptyBefore = (bytes: Buffer, end: number): boolean => {
  let at = end - 1
  while (isBlank(bytes[at])) at--
  return kinds[bytes[at] ?? 0] === opens
}

const isBlank = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

/** Whether a long string begins as a data URL or as base64, which no prose does. */
const isMedia = (bytes: Buffer, from: number): boolean => {
  const sample = bytes.toString("latin1", from, from + mediaSample)
  return sample.startsWith("data:") || /^[\w+/=-]+$/.test(sample)
}

/**
 * By how many bytes the strings in a range of the body shrink at most when their escapes are decoded: 5 for `\u0041`, 1 for `\n`.
 */
export const escapedBytes = (bytes: Uint8Array, from: number, to: number): number => {
  let less = 0
  for (let at = from; at < to; at++) {
    if (bytes[at] !== backslash) continue
    at++
    less += bytes[at] === letterU ? 5 : 1
  }
  return less
}
