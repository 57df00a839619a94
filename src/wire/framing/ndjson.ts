/**
 * JSON documents, one on each line (NDJSON, JSON Lines). Lines end with LF or CRLF; blank ones are skipped, and the
 * last one needs no line feed. Bytes that are no UTF-8 become U+FFFD, a BOM is skipped.
 */
import { Utf8Decoder } from "../Utf8Decoder.ts"
import { type Frame, type FrameReader, longestFrame } from "./FrameReader.ts"

export const ndjsonReader = (longest = longestFrame): FrameReader => {
  const decoder = new Utf8Decoder()
  let rest = ""
  let tooLong = false
  let overlong = ""

  const line = (text: string, frames: Array<Frame>): void => {
    // Checked here too, so that the result does not depend on how many reads a line comes in.
    if (text.length > longest) {
      tooLong = true
      overlong = text
    }
    if (tooLong) return
    const data = text.endsWith("\r") ? text.slice(0, -1) : text
    if (data.trim() !== "") frames.push({ name: "", data })
  }

  const lines = (text: string, frames: Array<Frame>): void => {
    let start = 0
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      line(rest + text.slice(start, end), frames)
      rest = ""
      start = end + 1
    }
    rest += text.slice(start)
    if (rest.length > longest) tooLong = true
  }

  return {
    push: (bytes, start = 0, end = bytes.length) => {
      const frames: Array<Frame> = []
      if (!tooLong) lines(decoder.decode(bytes, start, end), frames)
      return frames
    },
    end: () => {
      const frames: Array<Frame> = []
      if (tooLong) return frames
      lines(decoder.end(), frames)
      line(rest, frames)
      rest = ""
      return frames
    },
    overlong: () => tooLong,
    partial: () => ({ name: "", data: overlong + rest }),
  }
}
