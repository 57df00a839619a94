/**
 * Small checks of JSON values. A check only reports what is wrong with one value; checks of lists and objects are made
 * of smaller ones. Plain functions in place of effect/Schema, since decoding runs on every request: a Schema of half
 * these members takes five times as long (decision 0005).
 */
import type { Issue } from "../../domain/failures/Failure.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/Json.ts"
import { escapedControls } from "../../domain/json/plainText.ts"

export type Issues = Array<Issue>

/** `path`: the place of the value, such as `messages[0].role`. */
export type Check = (value: unknown, path: string, issues: Issues) => void

/** The most issues in an error body. Further ones are not reported. */
const mostIssues = 10

export const report = (issues: Issues, path: string, message: string): void => {
  if (issues.length < mostIssues) issues.push({ path, message })
}

/** A caller's text for a message: cut to 128 characters, control characters escaped. */
export const quoted = (text: string): string => escapedControls(JSON.stringify(text.slice(0, 128)))

/** A check by a predicate. */
const that =
  (holds: (value: unknown) => boolean, message: string): Check =>
  (value, path, issues) => {
    if (!holds(value)) report(issues, path, message)
  }

export const anything: Check = () => {}

export const text: Check = that((value) => typeof value === "string", "must be a string")

export const filledText: Check = that(
  (value) => typeof value === "string" && value !== "",
  "must be a non-empty string",
)

/** `most` counts UTF-16 units. */
export const shortText = (most: number): Check =>
  that((value) => typeof value === "string" && value.length <= most, `must be a string of at most ${most} characters`)

export const matching = (pattern: RegExp, message: string): Check =>
  that((value) => typeof value === "string" && pattern.test(value), message)

export const flag: Check = that((value) => typeof value === "boolean", "must be a boolean")

export const anyObject: Check = that(isJsonObject, "must be an object")

export const integer = (least: number, most: number): Check =>
  that(
    (value) => typeof value === "number" && Number.isInteger(value) && value >= least && value <= most,
    `must be an integer from ${least} to ${most}`,
  )

export const anyInteger: Check = that(Number.isInteger, "must be an integer")

export const numberWithin = (least: number, most: number): Check =>
  that(
    (value) => typeof value === "number" && value >= least && value <= most,
    `must be a number from ${least} to ${most}`,
  )

export const notNegative: Check = that(
  (value) => typeof value === "number" && value >= 0 && value < Number.POSITIVE_INFINITY,
  "must be a non-negative number",
)

export const oneOf = (...known: ReadonlyArray<string>): Check =>
  that((value) => typeof value === "string" && known.includes(value), `must be one of ${known.join(", ")}`)

export const orNull =
  (check: Check): Check =>
  (value, path, issues) => {
    if (value !== null) check(value, path, issues)
  }

export const listOf =
  (item: Check, most: number = Number.POSITIVE_INFINITY, least = 0): Check =>
  (value, path, issues) => {
    if (!Array.isArray(value)) report(issues, path, "must be an array")
    else if (value.length < least)
      report(issues, path, `must have at least ${least} ${least === 1 ? "entry" : "entries"}`)
    else if (value.length > most) report(issues, path, `must have at most ${most} entries, not ${value.length}`)
    else for (let at = 0; at < value.length; at++) item(value[at], `${path}[${at}]`, issues)
  }

/** Checks an object by its known members, some of them required. Other members pass. */
export const objectOf = (known: Readonly<Record<string, Check>>, ...required: ReadonlyArray<string>): Check => {
  // A map, not the record: a member may be called `toString`.
  const checks = new Map(Object.entries(known))
  return (value, path, issues) => {
    if (!isJsonObject(value)) return report(issues, path, "must be an object")
    for (const name of required) {
      if (value[name] === undefined) report(issues, `${path}.${name}`, "is required")
    }
    for (const name in value) {
      const check = checks.get(name)
      const member = value[name]
      // Optional members may be null, since some clients write all their fields.
      const isAbsent = member === undefined || (member === null && !required.includes(name))
      if (check !== undefined && !isAbsent) check(member, `${path}.${name}`, issues)
    }
  }
}

/** Checks an object by its `type`. Types that are not listed go to `other`. */
export const byType =
  (
    known: ReadonlyMap<string, Check>,
    other: (type: string, value: JsonObject, path: string, issues: Issues) => void,
  ): Check =>
  (value, path, issues) => {
    if (!isJsonObject(value)) return report(issues, path, "must be an object")
    const { type } = value
    if (typeof type !== "string")
      return report(issues, `${path}.type`, type === undefined ? "is required" : "must be a string")
    const check = known.get(type)
    if (check === undefined) other(type, value, path, issues)
    else check(value, path, issues)
  }

/** For `byType`: refuses other types than the known ones. */
export const onlyKnown =
  (known: ReadonlyMap<string, Check>) =>
  (_type: string, _value: JsonObject, path: string, issues: Issues): void =>
    report(issues, `${path}.type`, `must be one of ${[...known.keys()].join(", ")}`)
