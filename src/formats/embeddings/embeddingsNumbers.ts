/**
 * Parses JSON without its lists of numbers: an answer with vectors has millions of numbers, which the gateway passes
 * on as text.
 */
import { isJsonObject } from "../../domain/json/json.ts"
import { endOfNumbers, numberList } from "../../domain/json/numberList.ts"
import { endOfString, mostVectorValues, valuesIn } from "../../wire/jsonDepth.ts"

/** Here each list of numbers counts as one more value, and so does a value after a blank. */
const mostValues = 3 * mostVectorValues

/** A JSON text without its lists of numbers. It is valid JSON if the whole text is. */
interface WithoutNumbers {
  /** Each list of numbers is replaced by a list with its index in `lists`. The text has no other lists of numbers. */
  readonly text: string
  readonly lists: ReadonlyArray<string>
}

/** Takes the lists of numbers out of a text. Takes linear time, and copies no list. */
const withoutNumbers = (text: string): WithoutNumbers => {
  const lists: Array<string> = []
  const kept: Array<string> = []
  let copied = 0
  let at = 0
  let quote = text.indexOf('"')
  let bracket = text.indexOf("[")
  while (bracket !== -1) {
    if (quote !== -1 && quote < bracket) {
      at = endOfString(text, quote) + 1
      quote = text.indexOf('"', at)
    } else {
      const end = endOfNumbers(text, bracket)
      at = end === -1 ? bracket + 1 : end
      if (end !== -1) {
        kept.push(text.slice(copied, bracket + 1), String(lists.length))
        lists.push(text.slice(bracket, end))
        copied = end - 1
      }
    }
    if (bracket < at) bracket = text.indexOf("[", at)
  }
  return lists.length === 0 ? { text, lists } : { text: kept.join("") + text.slice(copied), lists }
}

/**
 * `UnaryProtocol.readText` for answers with vectors: the JSON in a text, or the text itself if it is not JSON. Its
 * lists of numbers are arrays that are parsed when a number is first read. A text with too many other values is
 * returned as it is.
 */
export const readKeepingNumbers = (whole: string): unknown => {
  const { text, lists } = withoutNumbers(whole)
  if (text.length > mostValues && valuesIn(text, mostValues) > mostValues) return whole
  try {
    const value: unknown = JSON.parse(text)
    return lists.length === 0 ? value : restored(value, lists)
  } catch {
    return whole
  }
}

/** Puts the lists of numbers back, in place. */
const restored = (value: unknown, lists: ReadonlyArray<string>): unknown => {
  if (Array.isArray(value)) {
    const [first]: ReadonlyArray<unknown> = value
    const list = value.length === 1 && typeof first === "number" ? lists[first] : undefined
    if (list !== undefined) return numberList(list)
    for (let at = 0; at < value.length; at++) value[at] = restored(value[at], lists)
  } else if (isJsonObject(value)) {
    for (const name of Object.keys(value)) {
      const member = value[name]
      if (typeof member === "object" && member !== null) Reflect.set(value, name, restored(member, lists))
    }
  }
  return value
}
