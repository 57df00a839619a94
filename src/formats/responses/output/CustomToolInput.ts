/**
 * The text of a call of a custom tool. Hosts of other forms are sent a function with one text in its place, so what they write is
 * JSON, `{"input":"…"}`. The text is taken out of it as it comes, whichever way the JSON is cut into fragments and escaped. What is
 * not this JSON is the text itself.
 */
import { isJsonObject } from "../../../domain/json/json.ts"
import { innerJson } from "../../../wire/jsonDepth.ts"

/** The arguments of such a call, as hosts of other forms are sent them. */
export const jsonOfInput = (text: string): string => JSON.stringify({ input: text })

const head = /^[ \t\r\n]*\{[ \t\r\n]*"input"[ \t\r\n]*:[ \t\r\n]*"/
const partOfHead = /^[ \t\r\n]*(?:\{[ \t\r\n]*(?:"(?:i(?:n(?:p(?:u(?:t(?:"[ \t\r\n]*(?::[ \t\r\n]*)?)?)?)?)?)?)?)?)?$/

/** UTF-16 units of a beginning that is looked at again with each fragment. Longer ones are read at the end. */
const longestHead = 256

const special = /["\\]/g

const escapes: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
])

export class CustomToolInput {
  /**
   * `head`: before the text. `text`: within its quotes. `over`: after them. `raw`: it is no object, so all of it is the text. `unread`: it
   * is an object that begins otherwise, and is read at the end.
   */
  private state: "head" | "text" | "over" | "raw" | "unread" = "head"
  /** What came and was not read: a beginning, an escape that is not whole, or all of what has another shape. */
  private held = ""
  /** The first half of a pair of surrogates, whose other half may come. */
  private half = ""

  /** What a fragment of the arguments adds to the text, as far as it is certain. */
  add(fragment: string): string {
    switch (this.state) {
      case "text":
        return this.read(fragment)
      case "raw":
        return this.whole(fragment)
      case "over":
        return ""
      default:
        this.held += fragment
        return this.state === "head" ? this.begin() : ""
    }
  }

  /** The rest of the text: no more fragments come. */
  end(): string {
    const { state, held } = this
    this.state = "over"
    this.held = ""
    if (state === "unread") {
      // It may begin as it should, after more blanks than are looked at with each fragment.
      const found = head.exec(held)
      return found === null ? inputIn(held) : this.read(held.slice(found[0].length)) + this.rest()
    }
    // The beginning of the JSON says nothing yet.
    return state === "head" && !held.includes("{") ? held : this.rest()
  }

  /** Half a pair whose other half did not come. */
  private rest(): string {
    const { half } = this
    this.held = ""
    this.half = ""
    return half
  }

  private begin(): string {
    const { held } = this
    const found = head.exec(held)
    if (found !== null) {
      this.state = "text"
      this.held = ""
      return this.read(held.slice(found[0].length))
    }
    if (held.length <= longestHead && partOfHead.test(held)) return ""
    if (/^[ \t\r\n]*(?:\{|$)/.test(held)) {
      this.state = "unread"
      return ""
    }
    this.state = "raw"
    this.held = ""
    return this.whole(held)
  }

  /** What comes within the quotes. */
  private read(fragment: string): string {
    const source = this.held + fragment
    this.held = ""
    let text = ""
    let at = 0
    while (at < source.length) {
      special.lastIndex = at
      const stop = special.exec(source)?.index ?? source.length
      text += source.slice(at, stop)
      if (stop === source.length) break
      if (source[stop] === '"') {
        this.state = "over"
        const { half } = this
        this.half = ""
        return half + text
      }
      const escaped = escapeAt(source, stop)
      if (escaped === undefined) {
        this.held = source.slice(stop)
        break
      }
      text += escaped.text
      at = stop + escaped.length
    }
    return this.whole(text)
  }

  /** The text without half a pair at its end: no delta ends within a character. */
  private whole(text: string): string {
    const all = this.half + text
    const isCut = /[\uD800-\uDBFF]$/.test(all)
    this.half = isCut ? all.slice(-1) : ""
    return isCut ? all.slice(0, -1) : all
  }
}

interface Escape {
  readonly text: string
  /** Of the escape, in UTF-16 units. */
  readonly length: number
}

/** `undefined`: more of it has to come. A backslash that begins no escape is one: models forget to write two. */
const escapeAt = (source: string, at: number): Escape | undefined => {
  const letter = source[at + 1]
  if (letter === undefined) return undefined
  if (letter !== "u") return { text: escapes.get(letter) ?? `\\${letter}`, length: 2 }
  const digits = source.slice(at + 2, at + 6)
  if (!/^[0-9a-fA-F]*$/.test(digits)) return { text: "\\u", length: 2 }
  if (digits.length < 4) return undefined
  return { text: String.fromCharCode(Number.parseInt(digits, 16)), length: 6 }
}

/** The text of arguments that are whole and do not begin as they should. An empty object says nothing. */
const inputIn = (given: string): string => {
  const parsed = innerJson(given)
  if (!isJsonObject(parsed)) return given
  const { input } = parsed
  if (typeof input === "string") return input
  return Object.keys(parsed).length === 0 ? "" : given
}
