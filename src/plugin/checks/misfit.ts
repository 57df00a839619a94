/** What came in place of what was expected, in words for a log: the kind of the value, not the value itself. */

const kindOf = (value: unknown): string => {
  if (value === undefined) return "nothing"
  if (value === null) return "null"
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list"
  if (value instanceof Promise) return "a promise"
  if (typeof value === "string") return "a text"
  return typeof value === "object" ? "an object" : `a ${typeof value}`
}

/** `a list of models, not a number`. */
export const but = (expected: string, came: unknown): string => `${expected}, not ${kindOf(came)}`

const isWord = (value: unknown): boolean => typeof value === "string" && /^[\w.:/-]{1,40}$/.test(value)

/** The same for one of a few words: a single word in its place is quoted, since it is a word of the protocol. */
export const butWord = (expected: string, came: unknown): string =>
  isWord(came) ? `${expected}, not ${JSON.stringify(came)}` : but(expected, came)
