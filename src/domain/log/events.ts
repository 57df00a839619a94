/** Every event that the gateway logs. Names are stable: searches and rules by name work in the next version too. docs/reference/logEvents.md */
import { hostEvents } from "./hostEvents.ts"
import type { LogEvent, NamedIn } from "./LogEvent.ts"
import { processEvents } from "./processEvents.ts"
import { requestEvents } from "./requestEvents.ts"
import { storageEvents } from "./storageEvents.ts"
import { watchEvents } from "./watchEvents.ts"

export const logEvents = {
  ...processEvents,
  ...requestEvents,
  ...hostEvents,
  ...storageEvents,
  ...watchEvents,
} as const satisfies Readonly<Record<string, LogEvent>>

export type LogEventName = keyof typeof logEvents

/** The facts without which the message of an event has gaps. */
export type FactOf<Name extends LogEventName> = NamedIn<(typeof logEvents)[Name]["text"]>

/** Names that the gateway gives to fields itself. */
export const reservedFields: ReadonlySet<string> = new Set(["time", "level", "event", "message", "cause"])
