/**
 * Reads a JSON text that exceeds a limit of the gateway, as far as needed to tell what it is and what it cost. Skips
 * deep nesting and all but the first elements of lists. The end of the text may be missing.
 */
import { isJsonObject, type JsonObject, objectIn } from "../domain/json/json.ts"
import { endOfString, innerJson } from "../wire/jsonDepth.ts"

/** Levels of objects and lists to keep. The usage and the parts of an answer are within these. */
const keptLevels = 10
const keptElements = 32
/** Elements of a list of objects or vectors to keep: as many as a batch of embeddings may have. */
const keptParts = 2048
const keptMembers = 256
/** Values to keep in all. Later objects and lists are dropped. */
const keptValues = 100_000
/** Characters of a string to keep. */
const keptText = 1000

/** The value at the beginning of a text, shortened; `undefined`: there is none. */
export const skim = (text: string): unknown => new Skim(text).value(0)

class Skim {
  private readonly text: string
  private at = 0
  private kept = 0

  constructor(text: string) {
    this.text = text
  }

  value(level: number): unknown {
    const sign = this.next()
    this.kept += 1
    if (sign === '"') return this.string()
    if (sign !== "{" && sign !== "[") return this.plain()
    this.at += 1
    if (level < keptLevels && this.kept <= keptValues) return sign === "{" ? this.members(level) : this.elements(level)
    this.skip()
    return sign === "{" ? {} : []
  }

  private members(level: number): JsonObject {
    const members: Record<string, unknown> = {}
    for (let kept = 0; this.next() === '"'; kept++) {
      if (kept === keptMembers) {
        this.skip()
        return members
      }
      const name = this.string()
      if (this.next() !== ":") return members
      this.at += 1
      const value = this.value(level + 1)
      if (name !== "__proto__" && value !== undefined) members[name] = value
      if (this.next() !== ",") break
      this.at += 1
    }
    if (this.next() === "}") this.at += 1
    return members
  }

  private elements(level: number): ReadonlyArray<unknown> {
    const elements: Array<unknown> = []
    for (;;) {
      const sign = this.next()
      if (sign === "]" || sign === "") break
      if ((elements.length === keptElements && !isPart(elements[0])) || elements.length === keptParts) {
        this.skip()
        return elements
      }
      const value = this.value(level + 1)
      if (value === undefined) return elements
      elements.push(value)
      if (this.next() !== ",") break
      this.at += 1
    }
    if (this.next() === "]") this.at += 1
    return elements
  }

  /** The next character after white space; "": the text is over. */
  private next(): string {
    const { text } = this
    while (this.at < text.length && text.charCodeAt(this.at) <= 0x20) this.at += 1
    return text.charAt(this.at)
  }

  private string(): string {
    const { text, at } = this
    const end = endOfString(text, at)
    this.at = end + 1
    if (end - at > keptText || end === text.length) return text.slice(at + 1, Math.min(end, at + keptText))
    const value = innerJson(text.slice(at, end + 1))
    return typeof value === "string" ? value : text.slice(at + 1, end)
  }

  /** A number, `true`, `false` or `null`. */
  private plain(): unknown {
    const { text, at } = this
    let end = at
    while (end < text.length && end - at < 64 && !/[\s,:\]}[{"]/.test(text.charAt(end))) end += 1
    this.at = end
    return end === at ? undefined : innerJson(text.slice(at, end))
  }

  /** Moves to the end of the surrounding object or list. */
  private skip(): void {
    const { text } = this
    let depth = 1
    for (; this.at < text.length; this.at++) {
      const code = text.charCodeAt(this.at)
      if (code === 0x22) this.at = endOfString(text, this.at)
      else if (code === 0x7b || code === 0x5b) depth += 1
      else if ((code === 0x7d || code === 0x5d) && --depth === 0) {
        this.at += 1
        return
      }
    }
  }
}

/** Members that contain the parts of an answer: choices, blocks, items, candidates, vectors, ranks. */
const lists = [
  ...["choices", "content", "output", "candidates"],
  ...["data", "embeddings", "embedding", "predictions", "results"],
]
/** Members that contain a part in an event. */
const parts = ["content_block", "delta", "item", "part"]

/**
 * Whether the JSON is the beginning of an answer, or an event of one, in any protocol: it has a part of the requested
 * output.
 */
export const beginsAnswer = (json: unknown): boolean => {
  if (!isJsonObject(json)) return false
  return (
    lists.some((name) => hasPart(json[name])) ||
    parts.some((name) => hasMembers(json[name])) ||
    [objectIn(json["response"]), objectIn(json["message"])].some((answer) =>
      lists.some((name) => hasPart(answer[name])),
    )
  )
}

const isPart = (value: unknown): boolean => hasMembers(value) || (Array.isArray(value) && typeof value[0] === "number")

const hasMembers = (value: unknown): boolean => isJsonObject(value) && Object.keys(value).length > 0

/** Whether a list has a part, or is a vector. */
const hasPart = (value: unknown): boolean => {
  if (!Array.isArray(value)) return hasMembers(value)
  const first: unknown = value[0]
  return typeof first === "number" || isPart(first)
}
