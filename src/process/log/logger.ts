/** The log of the program: lines on standard error, since standard output is for results. See docs/logs.md. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { logEvents } from "../../domain/log/events.ts"
import { filled } from "../../domain/log/LogEvent.ts"
import { styleOf } from "../terminal.ts"
import { formatFor, thisPlace } from "./chooseFormat.ts"
import { type Write, writerOf } from "./formats.ts"
import type { Line } from "./Line.ts"
import { LineWriter, type Outlet } from "./LineWriter.ts"
import { lineOf } from "./lineOf.ts"
import { openStandardError } from "./standardError.ts"

/** How many lines of the log were dropped, for metrics. 0 if another logger is used. */
export class LostLines extends Context.Reference<LostLines>()("headgate/LostLines", {
  defaultValue: () => (): number => 0,
}) {}

export interface ProcessLog {
  /** In place of Effect's own logger. */
  readonly layer: Layer.Layer<never>
  /** Writes what waits, for a second or two at most. */
  readonly end: Effect.Effect<void>
}

/** Milliseconds of an end that the last lines may take. */
const endWithinMs = 1500

const lostLine = (lines: number): Line => ({
  ...{ time: new Date(), event: "log_lines_lost", fields: new Map([["lines", lines]]), cause: "" },
  level: logEvents.log_lines_lost.level,
  message: filled(logEvents.log_lines_lost.text, { lines }),
})

/** `open`: where lines go. */
export const makeLog = (write: Write, open: () => Outlet): ProcessLog => {
  const writer = new LineWriter(open, (lines) => write(lostLine(lines)))
  const logger = Logger.make((options) => writer.add(write(lineOf(options))))
  return {
    layer: Layer.merge(
      Logger.replace(Logger.defaultLogger, logger),
      Layer.succeed(LostLines, () => writer.lost),
    ),
    end: Effect.promise(() => writer.end(endWithinMs)),
  }
}

/** That of this process. */
export const processLog = (): ProcessLog => {
  const place = thisPlace()
  return makeLog(writerOf(formatFor(place), styleOf({ isTTY: place.isTerminal }).hasColour), openStandardError)
}

/** The same for as long as a layer is used. */
export const layerLogger: Layer.Layer<never> = Layer.unwrapScoped(
  Effect.map(
    Effect.acquireRelease(Effect.sync(processLog), ({ end }) => end),
    ({ layer }) => layer,
  ),
)
