/** Which form the log has where nobody has chosen one. */
import { existsSync } from "node:fs"
import { isatty } from "node:tty"
import { type LogFormat, logFormats } from "./formats.ts"

/** What a process sees of where it runs. */
export interface Place {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Whether standard error is a terminal. */
  readonly isTerminal: boolean
  /** Whether a file is there that engines of containers make. */
  readonly isContainer: () => boolean
}

/** Set by systemd, by Kubernetes, and by engines of containers. */
const marks = ["JOURNAL_STREAM", "INVOCATION_ID", "KUBERNETES_SERVICE_HOST", "container"]

/** `HEADGATE_LOG_FORMAT`; else `pretty` in a terminal, `json` where a service manager or a container keeps the log, `logfmt` elsewhere. */
export const formatFor = ({ environment, isTerminal, isContainer }: Place): LogFormat => {
  const set = environment["HEADGATE_LOG_FORMAT"]?.trim()
  const chosen = logFormats.find((format) => format === set)
  if (chosen !== undefined) return chosen
  if (isTerminal) return "pretty"
  return marks.some((name) => (environment[name] ?? "") !== "") || isContainer() ? "json" : "logfmt"
}

export const thisPlace = (): Place => ({
  environment: process.env,
  // Not `process.stderr.isTTY`: the runtime makes the descriptor a stream when that is read, and the flags of a pipe are shared.
  isTerminal: isatty(2),
  isContainer: () => existsSync("/.dockerenv") || existsSync("/run/.containerenv"),
})
