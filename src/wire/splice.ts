/**
 * Passes text deltas on without parsing them. A host's chunk in the chat form differs from ours only before and after
 * the text of its delta, and these two parts are the same from chunk to chunk. After one chunk was parsed and written
 * again, both are known. Later chunks with the same parts get ours around their unchanged text. Any other chunk is
 * parsed.
 */
import { isJsonObject } from "../domain/json/json.ts"

/** A chunk's JSON, cut around the text of its only delta. */
interface Frame {
  readonly before: string
  readonly after: string
}

export interface Splice {
  /** Our JSON for the host's JSON, when it is a plain text delta in the known frame. */
  readonly exchange: (hosts: string) => string | undefined
  /** Learns the frame from a parsed chunk and from what was written for it. `text` is the content of its delta. */
  readonly learn: (hosts: string, ours: string, text: string) => void
  /** UTF-8 bytes of text in the last exchanged chunk. */
  readonly bytes: () => number
}

// Without any of these characters, the content of a JSON string equals its text.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the grammar of JSON excludes them.
const needsReading = /["\\\u0000-\u001f]/

export const splice = (): Splice => new KnownFrames()

class KnownFrames implements Splice {
  private host: Frame | undefined
  private own: Frame | undefined
  private proven = false
  private lastBytes = 0

  exchange(hosts: string): string | undefined {
    const { host, own } = this
    if (host === undefined || own === undefined) return undefined
    const { before, after } = host
    // Not for an empty text, which the ordinary way may leave out.
    if (hosts.length <= before.length + after.length || !hosts.startsWith(before) || !hosts.endsWith(after))
      return undefined
    this.proven ||= carriesText(host)
    const inside = hosts.slice(before.length, hosts.length - after.length)
    const text = needsReading.test(inside) ? readString(inside) : inside
    if (!this.proven || typeof text !== "string") return undefined
    this.lastBytes = Buffer.byteLength(text)
    return own.before + inside + own.after
  }

  learn(hosts: string, ours: string, text: string): void {
    const theirs = frameOf(hosts, text)
    const written = frameOf(ours, text)
    if (theirs === undefined || written === undefined) return
    this.host = theirs
    this.own = written
    this.proven = false
  }

  bytes(): number {
    return this.lastBytes
  }
}

const opening = /"delta"\s*:\s*\{[^{}]*?"content"\s*:\s*"/

/** The parts of a chunk before and after the delta's text; `undefined` when the place is not certain. */
const frameOf = (json: string, text: string): Frame | undefined => {
  const start = opening.exec(json)
  if (start === null) return undefined
  const from = start.index + start[0].length
  let to = from
  while (to < json.length && json.charCodeAt(to) !== 34) to += json.charCodeAt(to) === 92 ? 2 : 1
  const inside = json.slice(from, to)
  return readString(inside) === text ? { before: json.slice(0, from), after: json.slice(to) } : undefined
}

/**
 * Whether the frame really surrounds the text of the delta. Another member may be called `delta`, or occur twice.
 * Checked once per frame, when a second chunk fits it, since many hosts have a new frame in every chunk.
 */
const carriesText = ({ before, after }: Frame): boolean => {
  const chunk = parse(`${before}probe${after}`)
  const choices = isJsonObject(chunk) ? chunk["choices"] : undefined
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined
  const delta = isJsonObject(choice) ? choice["delta"] : undefined
  return isJsonObject(delta) && delta["content"] === "probe"
}

const readString = (inside: string): unknown => parse(`"${inside}"`)

const parse = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
