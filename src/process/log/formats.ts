/**
 * The forms of a line. Each is one line whatever a value has in it: hosts and callers send values, and a log is read by programs and in
 * terminals. Pure.
 */
import { escapedControls } from "../../domain/json/plainText.ts"
import type { LogLevelName } from "../../domain/log/LogEvent.ts"
import { cut, type Line, mostText } from "./Line.ts"

export const logFormats = ["pretty", "logfmt", "json"] as const

export type LogFormat = (typeof logFormats)[number]

/** A line without its end. */
export type Write = (line: Line) => string

/** `hasColour`: for `pretty`. */
export const writerOf = (format: LogFormat, hasColour: boolean): Write => {
  if (format === "json") return asJson
  return format === "logfmt" ? asLogfmt : (line) => asPretty(line, hasColour)
}

const breaks: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

/** Without anything that ends a line, or that a terminal obeys. */
const onOneLine = (text: string): string => escapedControls(text.replace(/[\n\r\t]/g, (sign) => breaks[sign] ?? ""))

/** The JSON of any value. What has none is its text. */
const jsonOf = (value: unknown): string => {
  if (typeof value === "string") return JSON.stringify(cut(value))
  if (typeof value === "number" || typeof value === "boolean" || value === null) return JSON.stringify(value)
  if (typeof value !== "object" || value instanceof Error) return JSON.stringify(cut(String(value)))
  const text = written(value)
  return text.length > mostText ? JSON.stringify(cut(text)) : text
}

const written = (value: object): string => {
  try {
    // A `toJSON` may return nothing.
    return JSON.stringify(value, (_, each: unknown) => (typeof each === "bigint" ? `${each}` : each)) ?? "null"
  } catch {
    return '"[unreadable]"'
  }
}

/** What has a text of its own is read more easily than its JSON. */
const textOf = (value: unknown): string => {
  if (typeof value === "string") return cut(value)
  return ownTextOf(value) ?? jsonOf(value)
}

const ownTextOf = (value: unknown): string | undefined => {
  try {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined
    if (value instanceof Date) return value.toISOString()
    const isOwn = typeof value.toString === "function" && value.toString !== Object.prototype.toString
    return isOwn ? cut(String(value)) : undefined
  } catch {
    return undefined
  }
}

const asJson = ({ time, level, event, message, fields, cause }: Line): string => {
  const all: ReadonlyArray<readonly [string, unknown]> = [
    ["time", time.toISOString()],
    ["level", level],
    ["event", event],
    ["message", message],
    ...fields,
  ]
  const members = all.map(([name, value]) => `${JSON.stringify(name)}:${jsonOf(value)}`)
  if (cause !== "") members.push(`"cause":${JSON.stringify(cause)}`)
  return onOneLine(`{${members.join(",")}}`)
}

/** A value as logfmt has it: in quotes where it would end or begin another one. */
const quoted = (text: string): string => (/^[^\s"=\\\p{C}]+$/u.test(text) ? text : JSON.stringify(text))

const nameOf = (name: string): string => (name === "" ? "_" : name.replace(/[^\w.-]/g, "_"))

const pairs = (fields: Iterable<readonly [string, unknown]>): ReadonlyArray<string> =>
  Array.from(fields, ([name, value]) => `${nameOf(name)}=${quoted(textOf(value))}`)

const asLogfmt = ({ time, level, event, message, fields, cause }: Line): string => {
  const parts = [`time=${time.toISOString()}`, `level=${level}`, `event=${quoted(event)}`]
  parts.push(`message=${JSON.stringify(message)}`, ...pairs(fields))
  if (cause !== "") parts.push(`cause=${JSON.stringify(cause)}`)
  return onOneLine(parts.join(" "))
}

const colours: Readonly<Record<LogLevelName, number>> = { debug: 90, info: 32, warn: 33, error: 31, fatal: 35 }

const asPretty = ({ time, level, event, message, fields, cause }: Line, hasColour: boolean): string => {
  const colour = (code: number, text: string) => (hasColour ? `\u001b[${code}m${text}\u001b[0m` : text)
  const about = [...(event === "other" ? [] : [event]), ...pairs(fields)]
  if (cause !== "") about.push(`cause=${JSON.stringify(cause)}`)
  const head = `${time.toISOString()} ${colour(colours[level], level.toUpperCase().padEnd(5))} ${onOneLine(message)}`
  return about.length === 0 ? head : `${head}  ${colour(90, onOneLine(about.join(" ")))}`
}
