/**
 * The flags of `headgate serve`, and how a command line that starts the gateway is read. It is loaded at every start, so it
 * imports types alone. For help, completions and mistakes `cli/run.ts` uses the same table.
 */
import type { LogLevelName, Overrides } from "../config/Overrides.ts"

export const logLevels = ["debug", "info", "warn", "error", "none"] as const satisfies ReadonlyArray<LogLevelName>

export interface ServeFlag {
  /** Without `--`. */
  readonly name: string
  readonly about: string
  /** What its value has to be, where that can be seen here. What a value means is checked with the configuration. */
  readonly expects: string
  readonly accepts: (value: string) => boolean
  /** The values, where there are few. */
  readonly values?: ReadonlyArray<string>
  /** The member of `Overrides` that it sets. */
  readonly sets: keyof Overrides
}

const isSomething = (value: string): boolean => value !== ""

export const serveFlags: ReadonlyArray<ServeFlag> = [
  {
    name: "port",
    sets: "port",
    about: "TCP port; 0: any free one. Else HEADGATE_PORT, server.port, 8787",
    expects: "a whole number from 0 to 65535",
    accepts: (value) => /^\d{1,5}$/.test(value) && Number(value) <= 65_535,
  },
  {
    name: "hostname",
    sets: "hostname",
    about: "address to listen on; 0.0.0.0: all of this machine. Else HEADGATE_HOSTNAME, server.hostname, 127.0.0.1",
    expects: "an IP address or a host name",
    accepts: isSomething,
  },
  {
    name: "config",
    sets: "file",
    about: "the configuration file. Else HEADGATE_CONFIG, or headgate.config.ts or .json here or beside package.json",
    expects: "the path of a file",
    accepts: isSomething,
  },
  {
    name: "storage",
    sets: "storage",
    about: "memory:, sqlite:PATH or postgres://USER@HOST/DATABASE. Else HEADGATE_STORAGE, storage of the file",
    expects: "memory:, sqlite:PATH or postgres://USER@HOST/DATABASE",
    accepts: isSomething,
  },
  {
    name: "log-level",
    sets: "logLevel",
    about: "the least that is logged. Else HEADGATE_LOG_LEVEL, info",
    expects: `one of ${logLevels.join(", ")}`,
    values: logLevels,
    accepts: (value) => logLevels.some((level) => level === value),
  },
]

/** Reads what stands after `serve`; or says, as a text, what is wrong with it. Of a flag that comes twice the last value counts. */
export const readServeWords = (words: ReadonlyArray<string>): Overrides | string => {
  let overrides: Overrides = {}
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? ""
    const [written, name, joined] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? []
    if (written === undefined) return `"headgate serve" takes no "${word}"`
    const flag = serveFlags.find((each) => each.name === name)
    if (flag === undefined) return `"headgate serve" has no flag "--${name}"`
    const value = joined ?? words[++at] ?? ""
    if (!flag.accepts(value)) {
      // It may hold a password.
      const got = value === "" ? "nothing" : flag.name === "storage" ? "something else" : `"${value}"`
      return `--${flag.name}: expected ${flag.expects}, got ${got}`
    }
    overrides = { ...overrides, [flag.sets]: value }
  }
  return overrides
}

/**
 * What a command line sets that starts the gateway: `serve` with flags, or flags alone. `undefined`: it is another command, or
 * wrong, and `cli/run.ts` says how.
 */
export const overridesToServe = (words: ReadonlyArray<string>): Overrides | undefined => {
  const [first, ...more] = words
  if (first !== undefined && first !== "serve" && !first.startsWith("-")) return undefined
  const overrides = readServeWords(first === "serve" ? more : words)
  return typeof overrides === "string" ? undefined : overrides
}

/** The same as words of a command line. */
export const wordsOf = (overrides: Overrides): ReadonlyArray<string> =>
  serveFlags.flatMap(({ name, sets }) => (overrides[sets] === undefined ? [] : [`--${name}=${overrides[sets]}`]))
