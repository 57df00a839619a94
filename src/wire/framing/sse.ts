/**
 * Server-sent events (WHATWG HTML, section 9.2): LF, CRLF and CR, a BOM, comments, several `data:` lines, several
 * events in one read, characters cut in two. Bytes that are no UTF-8 become U+FFFD. A frame's name is the value of its
 * `event:` line, its data the `data:` lines joined by a line feed.
 */
import { type Frame, type FrameReader, longestFrame } from "./FrameReader.ts"

export const sseReader = (): FrameReader => {
  const decoder = new TextDecoder()
  let rest = ""
  let name = ""
  let data: string | undefined
  let afterCarriageReturn = false
  let tooLong = false

  const line = (text: string, frames: Array<Frame>) => {
    // Checked here too, so that the result does not depend on how many reads a line comes in.
    if (text.length > longestFrame) tooLong = true
    if (tooLong) return
    if (text === "") {
      if (data !== undefined) frames.push({ name, data })
      data = undefined
      name = ""
    } else if (text.startsWith("data:")) {
      const value = text.slice(text.charCodeAt(5) === 32 ? 6 : 5)
      data = data === undefined ? value : `${data}\n${value}`
      if (data.length > longestFrame) tooLong = true
    } else if (text.startsWith("event:")) {
      name = text.slice(text.charCodeAt(6) === 32 ? 7 : 6)
    } else if (text === "data") {
      data = data === undefined ? "" : `${data}\n`
    }
  }

  const lines = (text: string, frames: Array<Frame>): void => {
    let start = 0
    if (afterCarriageReturn && text !== "") {
      if (text.charCodeAt(0) === 10) start = 1
      afterCarriageReturn = false
    }
    // Carriage returns are rare: look for one once per read, not once per line.
    let carriageReturn = text.indexOf("\r", start)
    for (;;) {
      const lineFeed = text.indexOf("\n", start)
      if (carriageReturn !== -1 && (lineFeed === -1 || carriageReturn < lineFeed)) {
        line(rest + text.slice(start, carriageReturn), frames)
        rest = ""
        start = carriageReturn + 1
        if (start === text.length) afterCarriageReturn = true
        else if (text.charCodeAt(start) === 10) start += 1
        carriageReturn = text.indexOf("\r", start)
      } else if (lineFeed !== -1) {
        line(rest === "" ? text.slice(start, lineFeed) : rest + text.slice(start, lineFeed), frames)
        rest = ""
        start = lineFeed + 1
      } else {
        rest += text.slice(start)
        if (rest.length > longestFrame) tooLong = true
        return
      }
    }
  }

  return {
    push: (bytes) => {
      const frames: Array<Frame> = []
      if (!tooLong) lines(decoder.decode(bytes, { stream: true }), frames)
      return frames
    },
    end: () => {
      const frames: Array<Frame> = []
      if (tooLong) return frames
      lines(decoder.decode(), frames)
      line(rest, frames)
      rest = ""
      line("", frames)
      return frames
    },
    overlong: () => tooLong,
  }
}
