/** The log of the program: lines of `key=value` on standard error, since standard output is for results. */
import * as Logger from "effect/Logger"

/** In place of Effect's own logger. */
export const layerLogger = Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.logfmtLogger))
