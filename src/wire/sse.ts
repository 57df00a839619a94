/**
 * Server-sent events, both ways: the one reader and the one writer of the house. WHATWG HTML, section 9.2.
 *
 * The reader takes bytes at any split and gives the same frames: LF, CRLF and CR, a BOM, comments, several `data:`
 * lines, several events in one read, characters cut in two. Bytes that are no UTF-8 become U+FFFD.
 */

export interface SseFrame {
  /** Value of the `event:` line, "" without one. */
  readonly event: string
  /** The `data:` lines, joined by a line feed. */
  readonly data: string
}

export interface SseReader {
  /** The frames that are complete with these bytes. */
  readonly push: (bytes: Uint8Array) => ReadonlyArray<SseFrame>
  /** The source ran dry: a last frame whose blank line never came. */
  readonly end: () => ReadonlyArray<SseFrame>
  /** Whether a line or an event grew beyond the limit. Nothing is read after that. */
  readonly overlong: () => boolean
}

/** The longest event that is read, in UTF-16 units. G10: 1 MiB. */
const longestEvent = 1_048_576

export const sseReader = (): SseReader => {
  const decoder = new TextDecoder()
  let rest = ""
  let event = ""
  let data: string | undefined
  let afterCarriageReturn = false
  let tooLong = false

  const line = (text: string, frames: Array<SseFrame>) => {
    // Held against the limit here too, so that it makes no difference whether a line comes in one read or in many.
    if (text.length > longestEvent) tooLong = true
    if (tooLong) return
    if (text === "") {
      if (data !== undefined) frames.push({ event, data })
      data = undefined
      event = ""
    } else if (text.startsWith("data:")) {
      const value = text.slice(text.charCodeAt(5) === 32 ? 6 : 5)
      data = data === undefined ? value : `${data}\n${value}`
      if (data.length > longestEvent) tooLong = true
    } else if (text.startsWith("event:")) {
      event = text.slice(text.charCodeAt(6) === 32 ? 7 : 6)
    } else if (text === "data") {
      data = data === undefined ? "" : `${data}\n`
    }
  }

  const lines = (text: string, frames: Array<SseFrame>): void => {
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
        if (rest.length > longestEvent) tooLong = true
        return
      }
    }
  }

  return {
    push: (bytes) => {
      const frames: Array<SseFrame> = []
      if (!tooLong) lines(decoder.decode(bytes, { stream: true }), frames)
      return frames
    },
    end: () => {
      const frames: Array<SseFrame> = []
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

/** One event with this JSON text as its data. JSON has no raw line breaks, so nothing in it can start a line of its own. */
export const sseEvent = (json: string): string => `data: ${json}\n\n`

/** The end of a stream in the chat form. */
export const sseDone = "data: [DONE]\n\n"

/** Says that we are alive while the host is silent. Reference 8.1. */
export const sseComment = ": GW PROCESSING\n\n"
