/** The line that something logged with Effect comes to: by the gateway, by a library, or by an app around it. */
import * as Cause from "effect/Cause"
import { toStringUnknown } from "effect/Inspectable"
import * as List from "effect/List"
import type * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { reservedFields } from "../../domain/log/events.ts"
import type { LogLevelName } from "../../domain/log/LogEvent.ts"
import { cut, type Line, mostText } from "./Line.ts"

const levelName = (level: LogLevel.LogLevel): LogLevelName => {
  if (LogLevel.lessThan(level, LogLevel.Info)) return "debug"
  if (LogLevel.lessThan(level, LogLevel.Warning)) return "info"
  if (LogLevel.lessThan(level, LogLevel.Error)) return "warn"
  return LogLevel.lessThan(level, LogLevel.Fatal) ? "error" : "fatal"
}

const isFields = (part: unknown): part is JsonObject => isJsonObject(part) && !(part instanceof Error)

/** A text and an object that are logged together are a message with a field for each member, not two messages. */
export const lineOf = (options: Logger.Logger.Options<unknown>): Line => {
  const { message, annotations, spans, date, logLevel, cause } = options
  const parts: ReadonlyArray<unknown> = Array.isArray(message) ? message : [message]
  const fields = new Map<string, unknown>()
  let event = "other"
  const add = (name: string, value: unknown): void => {
    if (value === undefined) return
    if (name === "event" && typeof value === "string") event = value
    else fields.set(reservedFields.has(name) ? `${name}_` : name, value)
  }
  for (const [name, value] of annotations) add(name, value)
  for (const { label, startTime } of List.toArray(spans)) add(`${label}_ms`, date.getTime() - startTime)
  for (const part of parts.slice(1)) {
    if (isFields(part)) for (const [name, value] of Object.entries(part)) add(name, value)
  }
  const texts = parts.filter((part, at) => at === 0 || !isFields(part))
  return {
    ...{ time: date, level: levelName(logLevel), event, fields },
    message: cut(texts.map((text) => (text instanceof Error ? String(text) : toStringUnknown(text, 0))).join(": ")),
    cause: Cause.isEmpty(cause) ? "" : cut(Cause.pretty(cause, { renderErrorCause: true }), 2 * mostText),
  }
}
