/**
 * One JSON array of objects, each of which is a frame as soon as it is complete: how Google's streams come unless
 * server-sent events are asked for. A single object without an array around it is one frame, since errors come like that.
 * What is no such array is given as one frame when the source ends, for the reader of frames to judge. Bytes that are no UTF-8
 * become U+FFFD, a BOM is skipped. Nesting is only counted here: whoever parses a frame has to bound it.
 */
import { Utf8Decoder } from "../Utf8Decoder.ts"
import { type Frame, type FrameReader, longestFrame } from "./FrameReader.ts"

const quote = 0x22
const comma = 0x2c
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

/** What may come next: `first` and `next` differ in that an array may be empty, but may not end in a comma. */
type Expected = "start" | "first" | "next" | "separator" | "element" | "nothing" | "garbage"

export const jsonArrayReader = (longest = longestFrame): FrameReader => new JsonArrayReader(longest)

class JsonArrayReader implements FrameReader {
  private readonly decoder = new Utf8Decoder()
  private expected: Expected = "start"
  /** The element that has begun, or what is no array of objects. */
  private rest = ""
  /** Open brackets of that element, outside of strings. */
  private depth = 0
  private isInString = false
  private isEscaped = false
  /** Whether the element stands in an array. */
  private isInArray = false
  private tooLong = false
  private readonly longest: number

  constructor(longest: number) {
    this.longest = longest
  }

  push(bytes: Uint8Array, start = 0, end = bytes.length): ReadonlyArray<Frame> {
    const frames: Array<Frame> = []
    if (!this.tooLong) this.read(this.decoder.decode(bytes, start, end), frames)
    return frames
  }

  end(): ReadonlyArray<Frame> {
    const frames: Array<Frame> = []
    if (this.tooLong) return frames
    this.read(this.decoder.end(), frames)
    if (this.rest !== "") frames.push({ name: "", data: this.rest })
    this.rest = ""
    return frames
  }

  overlong(): boolean {
    return this.tooLong
  }

  partial(): Frame {
    return { name: "", data: this.rest }
  }

  private read(text: string, frames: Array<Frame>): void {
    let at = 0
    while (at < text.length && !this.tooLong) {
      if (this.expected === "element") at = this.element(text, at, frames)
      else if (this.expected === "garbage") at = this.keep(text, at, text.length)
      else {
        const code = text.charCodeAt(at)
        // What begins here is read again in its own state.
        if (isSpace(code) || this.between(code)) at += 1
      }
    }
  }

  /** Reads a character outside of elements, but for white space. Returns whether it is used up. */
  private between(code: number): boolean {
    const { expected } = this
    const mayBegin = expected === "start" || expected === "first" || expected === "next"
    if (code === openBrace && mayBegin) {
      this.expected = "element"
      return false
    }
    if (code === openBracket && expected === "start") {
      this.expected = "first"
      this.isInArray = true
    } else if (code === comma && expected === "separator") this.expected = "next"
    else if (code === closeBracket && (expected === "first" || expected === "separator")) this.expected = "nothing"
    else {
      this.expected = "garbage"
      return false
    }
    return true
  }

  /** Reads on in an element. Returns where it ends, or the text's length. */
  private element(text: string, start: number, frames: Array<Frame>): number {
    for (let at = start; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (this.isInString) this.character(code)
      else if (code === quote) this.isInString = true
      else if (code === openBrace || code === openBracket) this.depth += 1
      else if (code === closeBrace || code === closeBracket) {
        this.depth -= 1
        if (this.depth === 0) {
          const end = this.keep(text, start, at + 1)
          if (this.tooLong) return end
          frames.push({ name: "", data: this.rest })
          this.rest = ""
          this.expected = this.isInArray ? "separator" : "nothing"
          return end
        }
      }
    }
    return this.keep(text, start, text.length)
  }

  private character(code: number): void {
    if (this.isEscaped) this.isEscaped = false
    else if (code === backslash) this.isEscaped = true
    else if (code === quote) this.isInString = false
  }

  /** Adds a part of `text` to what is kept, within its bound. Returns the end of that part. */
  private keep(text: string, start: number, end: number): number {
    this.rest += text.slice(start, end)
    if (this.rest.length > this.longest) this.tooLong = true
    return end
  }
}
