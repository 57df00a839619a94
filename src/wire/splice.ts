/**
 * Text deltas without parsing them. A host's chunk in the chat form differs from ours only in what comes before and after
 * the text of its delta, and that is the same from chunk to chunk. Once one chunk was parsed and written again, both
 * frames are known: later chunks with the same frame get ours around the untouched text. Whatever does not fit exactly
 * is parsed as usual.
 */
import { isJsonObject } from "../domain/Json.ts"

/** A chunk's JSON, cut around the text of its only delta. */
interface Frame {
  readonly before: string
  readonly after: string
}

export interface Splice {
  /** Our JSON for the host's, when it is a plain text delta in the known frame. */
  readonly exchange: (hosts: string) => string | undefined
  /** Compares a parsed chunk with what was written for it: from now on that is the known frame. `text` is its delta's content. */
  readonly learn: (hosts: string, ours: string, text: string) => void
  /** UTF-8 bytes of text that the last exchange let through. */
  readonly bytes: () => number
}

// Without any of these, what stands in a JSON string is its text: it cannot end the string, nor break the line.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the grammar of JSON excludes them.
const needsReading = /["\\\u0000-\u001f]/

export const splice = (): Splice => {
  let host: Frame | undefined
  let own: Frame | undefined
  let proven = false
  let bytes = 0
  return {
    exchange: (hosts) => {
      if (host === undefined || own === undefined) return undefined
      const { before, after } = host
      // Not an empty text either: whether to say nothing is the slow way's to decide.
      if (hosts.length <= before.length + after.length || !hosts.startsWith(before) || !hosts.endsWith(after))
        return undefined
      proven ||= carriesText(host)
      const inside = hosts.slice(before.length, hosts.length - after.length)
      const text = needsReading.test(inside) ? readString(inside) : inside
      if (!proven || typeof text !== "string") return undefined
      bytes = Buffer.byteLength(text)
      return own.before + inside + own.after
    },
    learn: (hosts, ours, text) => {
      const theirs = frameOf(hosts, text)
      const written = frameOf(ours, text)
      if (theirs !== undefined && written !== undefined) {
        host = theirs
        own = written
        proven = false
      }
    },
    bytes: () => bytes,
  }
}

const opening = /"delta"\s*:\s*\{[^{}]*?"content"\s*:\s*"/

/** Where the text of the delta stands in a chunk; `undefined` when that is not certain. */
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
 * Whether what stands in the frame really is the text of the delta: another member may be called `delta`, or one come
 * twice. Asked once per frame, when a second chunk fits it: many hosts have a new frame with every chunk.
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
