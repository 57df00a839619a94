/**
 * Finds how deeply JSON is nested, and how many values it has, before it is parsed. Recursion over a value that is nested too deeply would overflow
 * the stack.
 */
import { isJsonObject } from "../domain/json/json.ts"

/** The deepest allowed nesting of objects and arrays, including the outermost. */
export const deepest = 64

const quote = 0x22
const backslash = 0x5c
const isOpening = (code: number): boolean => code === 0x7b || code === 0x5b
const isClosing = (code: number): boolean => code === 0x7d || code === 0x5d

/** How often `sign` occurs in `text`, counted up to one more than `most`. */
const count = (text: string, sign: string, most: number): number => {
  let found = 0
  for (let at = text.indexOf(sign); at !== -1 && found <= most; at = text.indexOf(sign, at + 1)) found++
  return found
}

/** Index of the quote that ends the string whose opening quote is at `start`; the text's length if none does. */
export const endOfString = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (text.charCodeAt(before) === backslash) before--
    if ((end - before) % 2 === 1) return end
  }
  return text.length
}

/** Whether a text has so few brackets that they cannot be nested too deeply, as most have. Two native searches find it out. */
const hasFewBrackets = (text: string): boolean => count(text, "{", deepest) + count(text, "[", deepest) <= deepest

/** Whether brackets are nested more than `deepest` deep. The result is correct up to the first syntax error, where a parser would stop. */
export const isTooDeep = (text: string): boolean => !hasFewBrackets(text) && isScannedDeeper(text)

/** The same by a scan of the text outside of strings. */
const isScannedDeeper = (text: string): boolean => {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if (isOpening(code) && ++depth > deepest) return true
    else if (isClosing(code)) depth--
  }
  return false
}

/** In place of a value that is nested too deeply. */
export const tooDeep: unique symbol = Symbol("nested too deep")

/**
 * A text of at most so many characters is parsed before its depth is known: the parser does not recurse, and looking at values takes a quarter
 * of the time that looking at characters does. One of brackets alone takes the parser 7 ms.
 */
const parsedFirst = 131_072

/** The value of a JSON text, or `tooDeep`. Throws where it is no JSON, but not where it is nested too deeply up to the fault. */
export const parseJson = (text: string): unknown => {
  if (hasFewBrackets(text)) return JSON.parse(text)
  if (text.length > parsedFirst) return isScannedDeeper(text) ? tooDeep : JSON.parse(text)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (fault) {
    if (isScannedDeeper(text)) return tooDeep
    throw fault
  }
  return isDeeper(value, deepest) ? tooDeep : value
}

/** Whether a value that was parsed is nested more than `levels` deep. Recurses at most so many times. */
const isDeeper = (value: unknown, levels: number): boolean => {
  if (typeof value !== "object" || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) if (isDeeper(value[at], levels - 1)) return true
    return false
  }
  if (!isJsonObject(value)) return false
  for (const name in value) if (isDeeper(value[name], levels - 1)) return true
  return false
}

const comma = 0x2c

/** At least as many as the values of a JSON text, counted up to a little more than `most`. Correct up to the first syntax error. */
export const valuesIn = (text: string, most: number): number => {
  let found = 1
  for (let at = 0; at < text.length && found <= most; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if (code === comma || isOpening(code)) found++
  }
  return found
}

/** Values of a JSON text within a body that are read at most: with more, the parser holds up other requests. */
const mostInner = 500_000

/**
 * The value of a JSON text within a body, such as the arguments of a call. `undefined`: it is none, has too many values, or is nested so deeply
 * that it could not be written again as part of an answer, and that no later body could have it.
 */
export const innerJson = (text: string): unknown => {
  if (text.length > mostInner && valuesIn(text, mostInner) > mostInner) return undefined
  try {
    const value = parseJson(text)
    return value === tooDeep ? undefined : value
  } catch {
    return undefined
  }
}

/**
 * The most values of a complete answer or an event. A full answer with the log probabilities of twenty alternatives
 * has about 3,000,000 in 32 MiB.
 */
export const mostAnswerValues = 4_000_000

/**
 * The same for answers with vectors, without the numbers in lists: about 100,000 vectors. Each list takes a microsecond
 * or two, so the number of lists that other answers may have would block the process for seconds.
 */
export const mostVectorValues = 500_000

/** Characters. A text of up to this length has too few values to block other requests, so it is parsed at once. */
export const parsedAtOnce = 524_288

/**
 * Counts the nesting and values of a JSON text that arrives in parts, before it is parsed. Exact up to the first
 * syntax error, where a parser stops. `skipsNumbers`: numbers in lists, such as vectors, are not counted.
 */
export class JsonCount {
  /** The exceeded limit; `undefined`: none. */
  excess: "depth" | "values" | undefined
  private readonly skipsNumbers: boolean
  private depth = 0
  private values = 1
  private isInString = false
  /** Whether the last part ended in the backslash of an escape. */
  private isEscaped = false
  /** Whether the last part ended in a comma. */
  private isAfterComma = false

  constructor(skipsNumbers: boolean) {
    this.skipsNumbers = skipsNumbers
  }

  /** Whether an object or a list has begun and ended, as far as brackets tell. */
  get isClosed(): boolean {
    return this.depth === 0 && this.values > 1 && !this.isInString && this.excess === undefined
  }

  add(text: string): void {
    if (this.excess !== undefined || text === "") return
    let at = this.isInString ? this.endString(text, 0) : 0
    let { depth, values } = this
    if (this.isAfterComma) {
      this.isAfterComma = false
      if (!isNumeric(text.charCodeAt(at))) values++
    }
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === quote) at = this.endString(text, at + 1) - 1
      else if (code === comma) {
        if (!this.skipsNumbers) values++
        else if (at + 1 === text.length) this.isAfterComma = true
        else if (!isNumeric(text.charCodeAt(at + 1))) values++
      } else if (isOpening(code)) {
        values++
        if (++depth > deepest) {
          this.excess = "depth"
          return
        }
      } else if (isClosing(code)) depth--
    }
    this.depth = depth
    this.values = values
    if (values > (this.skipsNumbers ? mostVectorValues : mostAnswerValues)) this.excess = "values"
  }

  /** Continues within a string. Returns the position after it, or the length of the text. */
  private endString(text: string, start: number): number {
    let from = start
    if (this.isEscaped) from += 1
    this.isEscaped = false
    this.isInString = false
    const end = text.indexOf('"', from)
    let last = end
    while (last !== -1 && isEscapedAt(text, last, from)) last = text.indexOf('"', last + 1)
    if (last !== -1) return last + 1
    this.isInString = true
    this.isEscaped = isEscapedAt(text, text.length, from)
    return text.length
  }
}

/** Whether an odd number of backslashes precedes a position, looking back to `from` at most. */
const isEscapedAt = (text: string, at: number, from: number): boolean => {
  let before = at - 1
  while (before >= from && text.charCodeAt(before) === backslash) before--
  return (at - before) % 2 === 0
}

/** A digit, a minus or white space: a list of numbers may go on. */
const isNumeric = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) || code === 0x2d || code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

/** The limit that a text exceeds; `undefined`: none. */
export const excessIn = (text: string, skipsNumbers = false): JsonCount["excess"] => {
  const count = new JsonCount(skipsNumbers)
  count.add(text)
  return count.excess
}
