/** The log of the program: lines of `key=value` on standard error, since standard output is for results. */
import * as HashMap from "effect/HashMap"
import { toStringUnknown } from "effect/Inspectable"
import * as Logger from "effect/Logger"
import { isJsonObject, type JsonObject } from "../domain/json/json.ts"
import { escapedControls } from "../domain/json/plainText.ts"

/** `Effect.logError("a host failed", { requestId })` as `message="a host failed" requestId=…`, not as two messages. */
const withFields = (options: Logger.Logger.Options<unknown>): Logger.Logger.Options<unknown> => {
  const parts: ReadonlyArray<unknown> = Array.isArray(options.message) ? options.message : [options.message]
  const isFields = (part: unknown): part is JsonObject => isJsonObject(part) && !(part instanceof Error)
  const fields = parts
    .slice(1)
    .filter(isFields)
    .flatMap((one) => Object.entries(one).filter(([, value]) => value !== undefined))
  const texts = parts.filter((part, at) => at === 0 || !isFields(part))
  // One `message` on a line: readers of such lines keep the last of several.
  const message = texts.length === 1 ? texts : [texts.map((text) => toStringUnknown(text, 0)).join(": ")]
  return { ...options, message, annotations: HashMap.union(options.annotations, HashMap.fromIterable(fields)) }
}

/** Values may come from callers and hosts, and a log is read in terminals. */
const lines = Logger.map(Logger.mapInputOptions(Logger.logfmtLogger, withFields), escapedControls)

/** In place of Effect's own logger. */
export const layerLogger = Logger.replace(Logger.defaultLogger, Logger.withConsoleError(lines))
