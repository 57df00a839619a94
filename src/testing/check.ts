/** What a check is, and the few words that all checks are written in. Bound to no test runner: a check throws or it does not. */

export interface Check {
  readonly name: string
  /** Throws, or rejects, with a sentence that says what is wrong and where the contract says so. */
  readonly run: () => Promise<void> | void
}

/** A function where the sentence is dear to make: it is asked only when something is wrong. */
type Said = string | (() => string)

const sentence = (said: Said): string => (typeof said === "string" ? said : said())

/** `contract` names the place: a member of a type in `headgate/plugin`, a guarantee such as "G29". */
export function must(holds: boolean, wrong: Said, contract: string): asserts holds {
  if (!holds) throw new Error(`${sentence(wrong)}. Contract: ${contract}.`)
}

/** Calls what a plugin's author wrote. A throw is the author's, so it is told as such. */
export const attempt = <A>(what: Said, contract: string, call: () => A): A => {
  try {
    return call()
  } catch (cause) {
    throw new Error(`${sentence(what)} threw "${oneLine(cause)}". Contract: ${contract}.`, { cause })
  }
}

export const oneLine = (cause: unknown): string =>
  (cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)).split("\n", 1)[0] ?? ""

/** The same value with everything in it frozen: whoever changes it throws. */
export const deepFreeze = <A>(value: A): A => {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const name of Reflect.ownKeys(value)) deepFreeze(Reflect.get(value, name))
  return value
}

/** A value as it stands in a message: cut, so that a message stays readable. */
export const shown = (value: unknown): string => {
  try {
    const text = JSON.stringify(value) ?? String(value)
    return text.length > 200 ? `${text.slice(0, 200)}...` : text
  } catch (cause) {
    return `a value that is no JSON (${oneLine(cause)})`
  }
}
