/** The type of a check, and helpers for all checks. They work with any test runner: a failed check throws. */
import { oneLine } from "../plugin/checks/PluginFault.ts"

export interface Check {
  readonly name: string
  /** Throws or rejects with a sentence that says what is wrong, and which part of the contract it breaks. */
  readonly run: () => Promise<void> | void
}

/** A function where the text is costly to make. It is called only when the check fails. */
type Text = string | (() => string)

const textOf = (text: Text): string => (typeof text === "string" ? text : text())

/** `contract`: the part of the contract that is broken, a type of `headgate/plugin` or a member of one. */
export function must(holds: boolean, wrong: Text, contract: string): asserts holds {
  if (!holds) throw new Error(`${textOf(wrong)}. Contract: ${contract}.`)
}

/** Calls a plugin's hook. A throw is the plugin's mistake and reported as such. */
export const attempt = <A>(what: Text, contract: string, call: () => A): A => {
  try {
    return call()
  } catch (cause) {
    throw new Error(`${textOf(what)} threw "${oneLine(cause)}". Contract: ${contract}.`, { cause })
  }
}

/** Freezes the value and everything in it, so that changing it throws. */
export const deepFreeze = <A>(value: A): A => {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const name of Reflect.ownKeys(value)) deepFreeze(Reflect.get(value, name))
  return value
}

/** A value as it appears in a message: cut, so that the message stays readable. */
export const shown = (value: unknown): string => {
  try {
    const text = JSON.stringify(value) ?? String(value)
    return text.length > 200 ? `${text.slice(0, 200)}...` : text
  } catch (cause) {
    return `a value that is no JSON (${oneLine(cause)})`
  }
}
