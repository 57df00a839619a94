/**
 * Reads the configuration from a file and the environment, or reports everything that is wrong with it at once. Where both
 * set a value, the environment wins.
 */
import { dirname, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Redacted from "effect/Redacted"
import type * as Schema from "effect/Schema"
import { isJsonObject } from "../domain/Json.ts"
import { ConfigInvalid, kindOf, type Path, type Problem, pathsOf, problemsOf, renderPath } from "../domain/Problem.ts"
import { registerModules } from "../plugin/resolve.ts"
import { importFailure, jsonFailure } from "./fileFailure.ts"
import { GatewayConfig, Hostname, Port, StorageText } from "./GatewayConfig.ts"

/** The valid part of a configuration, and the problems of the rest. */
export interface Reading {
  /** With defaults in place of what is invalid. */
  readonly config: GatewayConfig
  readonly problems: ReadonlyArray<Problem>
  /** Paths of the invalid parts, a provider always as a whole. What depends on them cannot be checked. */
  readonly unread: ReadonlyArray<Path>
}

export interface LoadedConfig extends Reading {
  /** From the environment. `null`: one is made at the first start. */
  readonly managementKey: Redacted.Redacted | null
  /** For the log at start: a sentence each, without secrets. */
  readonly warnings: ReadonlyArray<string>
  /** The folder of the configuration file; without a file, that of the gateway. */
  readonly directory: string
}

/** Reads a raw configuration, and the variables that its secrets name. */
export const readConfig = (raw: unknown): Effect.Effect<Reading> =>
  Effect.gen(function* () {
    const whole = yield* Effect.either(decode(raw))
    if (Either.isRight(whole)) return { config: whole.right, problems: [], unread: [] }
    const unread = pathsOf(whole.left).map(leftOut)
    const rest = decode(unread.reduce(without, raw))
    const config = yield* Effect.orElse(rest, () => Effect.orDie(decode({})))
    return { config, problems: problemsOf(whole.left), unread }
  })

/** The configuration, or every problem that can be seen without its plugins. */
export const decodeConfig = (raw: unknown): Effect.Effect<GatewayConfig, ReadonlyArray<Problem>> =>
  Effect.flatMap(readConfig(raw), ({ config, problems }) =>
    problems.length > 0 ? Effect.fail(problems) : Effect.succeed(config),
  )

const decode = ParseResult.decodeUnknown(GatewayConfig, {
  errors: "all",
  onExcessProperty: "error",
  propertyOrder: "original",
})

/** What is left out when the value at `path` is invalid: its provider or its list as a whole, else that value. */
const leftOut = (path: Path): Path => {
  if (path[0] === "providers") return path.slice(0, 2)
  const item = path.findIndex((step) => typeof step === "number")
  return item < 0 ? path : path.slice(0, item)
}

const without = (value: unknown, [step, ...more]: Path): unknown => {
  if (step === undefined) return {}
  if (!isJsonObject(value)) return value
  const others = Object.entries(value).filter(([member]) => member !== step)
  const at = value[String(step)]
  return Object.fromEntries(more.length === 0 || at === undefined ? others : [...others, [step, without(at, more)]])
}

/**
 * The configuration of a gateway that runs in `directory`, with its problems. Fails where no further problems can be found:
 * when the file cannot be read, or the folders of plugins are not known.
 */
export const loadConfigIn = (directory: string): Effect.Effect<LoadedConfig, ConfigInvalid> =>
  Effect.gen(function* () {
    const environment = yield* Effect.orDie(variables)
    const overrides = overridesOf(environment)
    const found = yield* Effect.either(
      findFile(directory, environment.config).pipe(
        Effect.flatMap((file) =>
          Effect.map(file === null ? Effect.succeed<unknown>({}) : readRaw(file), (raw) => ({ file, raw })),
        ),
      ),
    )
    if (Either.isLeft(found)) return yield* new ConfigInvalid({ problems: [found.left, ...overrides.problems] })
    const { file, raw } = found.right
    const { config, problems, unread } = yield* readConfig(raw)
    const inForce = overrides.apply(config)
    const isStorageRead =
      environment.storage === null
        ? !unread.some(([section]) => section === "storage")
        : !overrides.problems.some(({ path }) => path === "HEADGATE_STORAGE")
    const [first, ...more] = [
      ...problems.map((problem) => (problem.path === "" ? { ...problem, path: file ?? "" } : problem)),
      ...overrides.problems,
      ...(isStorageRead ? workerProblems(inForce, process.platform) : []),
    ]
    if (first !== undefined && unread.some(hidesPlugins))
      return yield* new ConfigInvalid({ problems: [first, ...more] })
    return {
      config: inForce,
      problems: first === undefined ? [] : [first, ...more],
      unread,
      managementKey: environment.managementKey,
      warnings: warningsOf(raw, inForce),
      directory: file === null ? directory : dirname(file),
    }
  })

/** Why this platform or this storage cannot have so many workers. */
export const workerProblems = (
  { server: { workers }, storage }: Pick<GatewayConfig, "server" | "storage">,
  platform: string,
): ReadonlyArray<Problem> => {
  const only = (reason: string) => [{ path: "server.workers", message: `expected 1 (${reason}), got ${workers}` }]
  if (workers === 1) return []
  if (storage._tag !== "Postgres") return only("several workers need a storage that they can share: postgres://…")
  return platform === "linux" ? [] : only("several workers need Linux, which lets processes share a port")
}

const hidesPlugins = ([section, member]: Path): boolean =>
  section === undefined ||
  (section === "plugins" && (member === undefined || member === "folders" || member === "packages"))

/** The configuration of a gateway that runs in the working directory. */
export const loadConfig: Effect.Effect<LoadedConfig, ConfigInvalid> = Effect.suspend(() => loadConfigIn(process.cwd()))

// A variable that is set to nothing counts as not set, as container files write it.
const optional = <A>(config: Config.Config<A>) => Config.map(Config.option(config), Option.getOrNull)

const variables = Config.all({
  config: optional(Config.nonEmptyString("HEADGATE_CONFIG")),
  port: optional(Config.nonEmptyString("HEADGATE_PORT")),
  hostname: optional(Config.nonEmptyString("HEADGATE_HOSTNAME")),
  storage: optional(Config.nonEmptyString("HEADGATE_STORAGE")),
  managementKey: optional(Config.redacted(Config.nonEmptyString("HEADGATE_MANAGEMENT_KEY"))),
})

type Environment = Config.Config.Success<typeof variables>

/** The values that the environment sets in place of the file, and their problems. */
const overridesOf = (environment: Environment) => {
  const problems: Array<Problem> = []
  const read = <A, I>(schema: Schema.Schema<A, I>, value: unknown, variable: string): A | null => {
    if (value === null) return null
    const decoded = ParseResult.decodeUnknownEither(schema)(value)
    if (Either.isRight(decoded)) return decoded.right
    problems.push(...problemsOf(decoded.left, [variable]))
    return null
  }
  // Text that is no plain number stays text, which the schema refuses.
  const { port: digits } = environment
  const port = read(Port, digits !== null && /^\d{1,9}$/.test(digits) ? Number(digits) : digits, "HEADGATE_PORT")
  const hostname = read(Hostname, environment.hostname, "HEADGATE_HOSTNAME")
  const storage = read(StorageText, environment.storage, "HEADGATE_STORAGE")
  const key = environment.managementKey === null ? null : Redacted.value(environment.managementKey)
  if (key !== null && !/^[\x21-\x7e]{32,}$/.test(key)) {
    const message = `expected at least 32 visible ASCII characters, got ${key.length < 32 ? "fewer" : "others among them"}`
    problems.push({ path: "HEADGATE_MANAGEMENT_KEY", message })
  }
  const apply = ({ server, ...config }: GatewayConfig): GatewayConfig => ({
    ...config,
    storage: storage ?? config.storage,
    server: { ...server, port: port ?? server.port, hostname: hostname ?? server.hostname },
  })
  return { problems, apply }
}

const names = ["headgate.config.ts", "headgate.config.json"] as const

const findFile = (directory: string, explicit: string | null): Effect.Effect<string | null, Problem> =>
  Effect.gen(function* () {
    if (explicit !== null) {
      const file = resolve(directory, explicit)
      if (yield* exists(file)) return file
      return yield* Effect.fail({
        path: "HEADGATE_CONFIG",
        message: `expected the path of a file, but there is no ${file}`,
      })
    }
    const found = yield* Effect.filter(
      names.map((name) => resolve(directory, name)),
      exists,
    )
    if (found.length < 2) return found[0] ?? null
    return yield* Effect.fail({
      path: directory,
      message: `expected one configuration file, got ${names.join(" and ")}`,
    })
  })

const exists = (file: string): Effect.Effect<boolean> => Effect.promise(() => Bun.file(file).exists())

/** Without a byte order mark. */
const readText = (file: string): Effect.Effect<string, Problem> =>
  Effect.tryPromise({
    try: async () => (await Bun.file(file).text()).replace(/^\uFEFF/, ""),
    catch: () => ({ path: file, message: "expected a file that can be read, got none" }),
  })

/** The content of the file, not yet checked. */
const readRaw = (file: string): Effect.Effect<unknown, Problem> => {
  if (file.endsWith(".json")) {
    return Effect.flatMap(readText(file), (text) =>
      Effect.try({
        try: (): unknown => JSON.parse(text),
        catch: () => ({ path: file, message: jsonFailure(text) }),
      }),
    )
  }
  if (!/\.[cm]?[jt]s$/.test(file))
    return Effect.fail({ path: file, message: "expected a file that ends in .ts, .js or .json" })
  return Effect.tryPromise({
    try: async (): Promise<unknown> => {
      await registerModules([dirname(file)])
      return import(pathToFileURL(file).href)
    },
    catch: (cause) => ({ path: file, message: importFailure(cause) }),
  }).pipe(
    Effect.flatMap((module) => {
      const raw = isJsonObject(module) ? module["default"] : undefined
      if (isJsonObject(raw)) return Effect.succeed(raw)
      return Effect.fail({ path: file, message: `expected a default export made by defineConfig, got ${kindOf(raw)}` })
    }),
  )
}

const warningsOf = (raw: unknown, config: GatewayConfig): ReadonlyArray<string> => {
  const providers = isJsonObject(raw) && isJsonObject(raw["providers"]) ? Object.entries(raw["providers"]) : []
  const written = providers.filter(([, entry]) => isJsonObject(entry) && typeof entry["api_key"] === "string")
  const listed = providers.flatMap(([slug, entry]) => {
    const keys: unknown = isJsonObject(entry) ? entry["api_keys"] : undefined
    if (!Array.isArray(keys)) return []
    return keys.flatMap((key: unknown, at) =>
      isJsonObject(key) && typeof key["key"] === "string" ? [["providers", slug, "api_keys", at, "key"]] : [],
    )
  })
  const warnings = [...written.map(([slug]) => ["providers", slug, "api_key"]), ...listed].map(
    (path) => `${renderPath(path)}: a secret stands in the file; { "env": "NAME" } keeps it out.`,
  )
  const storage = isJsonObject(raw) ? raw["storage"] : undefined
  if (typeof storage === "string" && URL.canParse(storage) && new URL(storage).password !== "")
    warnings.push("storage: a password stands in the file; HEADGATE_STORAGE or PGPASSWORD keeps it out.")
  if (config.storage._tag === "Memory") warnings.push('storage: keys and ledger end with the process ("memory:").')
  return warnings
}
