/** One line of the log as data. Every format writes the same. */
import type { LogLevelName } from "../../domain/log/LogEvent.ts"

export interface Line {
  readonly time: Date
  readonly level: LogLevelName
  /** A name of `domain/log/events.ts`, or of whoever logs beside the gateway; `other`: the line has none. */
  readonly event: string
  readonly message: string
  /** None has a name that is reserved. */
  readonly fields: ReadonlyMap<string, unknown>
  /** Empty: there is none. May have several lines. */
  readonly cause: string
}

/** What a field or a message has at most, UTF-16 units; a cause has twice as much. */
export const mostText = 8192

export const cut = (text: string, most = mostText): string =>
  text.length <= most ? text : `${text.slice(0, most).toWellFormed()}… (${text.length - most} more)`
