/**
 * The one way in which the gateway logs: an event by its name, with its facts. Level and message are those of the table
 * (`domain/log/events.ts`), so no call says them. A logger of an app gets the message first, then the facts with the name.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as LogLevel from "effect/LogLevel"
import { type FactOf, type LogEventName, logEvents } from "../../domain/log/events.ts"
import { fieldName, filled, type LogLevelName } from "../../domain/log/LogEvent.ts"

/** Facts by name. Those that are `undefined` are left out; `requestId` becomes the field `request_id`. */
export type Facts = Readonly<Record<string, unknown>>

/** Events whose level the table says. */
type Declared = {
  readonly [Name in LogEventName]: (typeof logEvents)[Name]["level"] extends "any" ? never : Name
}[LogEventName]

/** Events whose message has no placeholders. */
type Plain = { readonly [Name in Declared]: [FactOf<Name>] extends [never] ? Name : never }[Declared]

const levels: Readonly<Record<LogLevelName, LogLevel.LogLevel>> = {
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  warn: LogLevel.Warning,
  error: LogLevel.Error,
  fatal: LogLevel.Fatal,
}

/** `cause`: a `Cause`, or whatever was thrown or failed with; absent: there is none. */
export function logEvent(name: Plain, facts?: Facts, cause?: unknown): Effect.Effect<void>
export function logEvent<Name extends Declared>(
  name: Name,
  facts: Facts & Readonly<Record<FactOf<Name>, unknown>>,
  cause?: unknown,
): Effect.Effect<void>
export function logEvent(name: Declared, facts: Facts = {}, cause?: unknown): Effect.Effect<void> {
  const { level, text } = logEvents[name]
  return logLine(level, name, filled(text, facts), facts, cause)
}

/** A line whose level and message are said by whoever logs it. */
export const logLine = (
  level: LogLevelName,
  event: LogEventName,
  message: string,
  facts: Facts,
  cause?: unknown,
): Effect.Effect<void> => {
  const fields: Record<string, unknown> = { event }
  for (const [name, value] of Object.entries(facts))
    if (value !== undefined && !(name === "text" && logEvents[event].text.includes("{text}"))) {
      fields[fieldName(name)] = value
    }
  const why = cause === undefined ? [] : [Cause.isCause(cause) ? cause : Cause.fail(cause)]
  return Effect.logWithLevel(levels[level], message, fields, ...why)
}
