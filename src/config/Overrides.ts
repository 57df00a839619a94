/** What the environment and the command line set in place of the configuration file. A flag wins over a variable. */
import { resolve } from "node:path"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { type Problem, problemsOf } from "../domain/json/Problem.ts"
import { managementKeyFault, metricsTokenFault } from "../domain/keys/keySecret.ts"
import { logFormats } from "../process/log/formats.ts"
import { proxyProblems } from "../upstream/environmentProxy.ts"
import { isServiceLink } from "./environment.ts"
import { Hostname, Port } from "./fields/serverFields.ts"
import type { GatewayConfig } from "./GatewayConfig.ts"
import { type StorageChoice, StorageText } from "./StorageChoice.ts"

/** Flags of the command line, as they are written there: they are checked with the rest. */
export interface Overrides {
  /** `--config`: the configuration file, relative to the working directory. */
  readonly file?: string | undefined
  /** `--port`. */
  readonly port?: number | string | undefined
  /** `--hostname`. */
  readonly hostname?: string | undefined
  /** `--storage`; a path in it is relative to the working directory. */
  readonly storage?: string | undefined
  /** `--log-level`: "debug", "info", "warn", "error" or "none". */
  readonly logLevel?: string | undefined
}

/** A value, and the flag or variable that it was written in. */
interface Named<A = string | number> {
  readonly name: string
  readonly value: A
}

/** What is not set is `null`. */
export interface Surroundings {
  readonly file: Named<string> | null
  readonly storage: StorageChoice | null
  /** From the environment alone: a flag could be read by every user of the machine. */
  readonly managementKey: Redacted.Redacted | null
  /** The same. Reads `/metrics`, and opens nothing else. */
  readonly metricsToken: Redacted.Redacted | null
  readonly logLevel: LogLevel.LogLevel
  readonly problems: ReadonlyArray<Problem>
  readonly apply: (config: GatewayConfig) => GatewayConfig
}

// A variable that is set to nothing counts as not set, as container files write it.
// One that was read from a file may end with a line break, which is none of its text.
const optional = (name: string) =>
  Config.map(Config.option(Config.string(name)), (set) => {
    const text = Option.getOrElse(set, () => "").trim()
    return text === "" ? null : text
  })

const secret = (name: string) => Config.map(optional(name), (text) => (text === null ? null : Redacted.make(text)))

const variables = Config.all({
  file: optional("HEADGATE_CONFIG"),
  port: optional("HEADGATE_PORT"),
  hostname: optional("HEADGATE_HOSTNAME"),
  storage: optional("HEADGATE_STORAGE"),
  logLevel: optional("HEADGATE_LOG_LEVEL"),
  logFormat: optional("HEADGATE_LOG_FORMAT"),
  managementKey: secret("HEADGATE_MANAGEMENT_KEY"),
  metricsToken: secret("HEADGATE_METRICS_TOKEN"),
})

const Level = Schema.Literal("debug", "info", "warn", "error", "none")

const Format = Schema.Literal(...logFormats)

export type LogLevelName = typeof Level.Type

const levels: Readonly<Record<LogLevelName, LogLevel.LogLevel>> = {
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  warn: LogLevel.Warning,
  error: LogLevel.Error,
  none: LogLevel.None,
}

/** `undefined`: there is no such level. */
export const levelOf = (name: string): LogLevel.LogLevel | undefined =>
  Object.entries(levels).find(([each]) => each === name)?.[1]

const named = <A>(flag: string, given: A | undefined, variable: string, value: A | null): Named<A> | null => {
  if (given !== undefined) return { name: flag, value: given }
  return value === null ? null : { name: variable, value }
}

/** Relative paths count from `workingDirectory`. */
export const surroundings = (workingDirectory: string, flags: Overrides): Effect.Effect<Surroundings> =>
  Effect.map(Effect.orDie(variables), ({ managementKey, metricsToken, ...set }) => {
    const problems: Array<Problem> = []
    const read = <A, I>(schema: Schema.Schema<A, I>, written: Named | null): A | null => {
      if (written === null) return null
      const decoded = ParseResult.decodeUnknownEither(schema)(written.value)
      if (Either.isRight(decoded)) return decoded.right
      problems.push(...problemsOf(decoded.left).map(({ message }) => ({ path: written.name, message })))
      return null
    }
    const setPort = set.port !== null && isServiceLink("HEADGATE_PORT", set.port) ? null : set.port
    const port = read(Port, asNumber(named<string | number>("--port", flags.port, "HEADGATE_PORT", setPort)))
    const hostname = read(Hostname, named("--hostname", flags.hostname, "HEADGATE_HOSTNAME", set.hostname))
    const storage = within(
      workingDirectory,
      read(StorageText, named("--storage", flags.storage, "HEADGATE_STORAGE", set.storage)),
    )
    const level = read(Level, named("--log-level", flags.logLevel, "HEADGATE_LOG_LEVEL", set.logLevel))
    // The log has it already (`process/log/chooseFormat.ts`), since it has to tell what is wrong here.
    read(Format, named("", undefined, "HEADGATE_LOG_FORMAT", set.logFormat))
    problems.push(...proxyProblems(process.env))
    if (managementKey !== null) problems.push(...keyProblems(Redacted.value(managementKey)))
    if (metricsToken !== null) problems.push(...tokenProblems(Redacted.value(metricsToken)))
    return {
      file: named("--config", flags.file, "HEADGATE_CONFIG", set.file),
      storage,
      managementKey,
      metricsToken,
      logLevel: levels[level ?? "info"],
      problems,
      apply: ({ server, ...config }) => ({
        ...config,
        storage: storage ?? config.storage,
        server: { ...server, port: port ?? server.port, hostname: hostname ?? server.hostname },
      }),
    }
  })

/** Text that is no plain number stays text, which the schema refuses. */
const asNumber = (written: Named | null): Named | null =>
  written !== null && /^\d{1,9}$/.test(String(written.value)) ? { ...written, value: Number(written.value) } : written

const within = (folder: string, storage: StorageChoice | null): StorageChoice | null =>
  storage?._tag === "Sqlite" ? { ...storage, path: resolve(folder, storage.path) } : storage

const keyProblems = (key: string): ReadonlyArray<Problem> => {
  const fault = managementKeyFault(key)
  return fault === undefined ? [] : [{ path: "HEADGATE_MANAGEMENT_KEY", message: fault }]
}

const tokenProblems = (token: string): ReadonlyArray<Problem> => {
  const fault = metricsTokenFault(token)
  return fault === undefined ? [] : [{ path: "HEADGATE_METRICS_TOKEN", message: fault }]
}
