/**
 * Reads the configuration from a file, the environment and the command line, or reports everything that is wrong with it at once.
 * Where several set a value, the command line wins over the environment, and that over the file.
 */
import { resolve } from "node:path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as LogLevel from "effect/LogLevel"
import * as ParseResult from "effect/ParseResult"
import type * as Redacted from "effect/Redacted"
import { operationAtEnd } from "../catalogue/operationPaths.ts"
import type { ProviderSettings } from "../catalogue/Providers.ts"
import { isJsonObject, isPlainObject } from "../domain/json/json.ts"
import { ConfigInvalid, type Path, type Problem, pathsOf, problemsOf, renderPath } from "../domain/json/Problem.ts"
import { shownVariable } from "../domain/json/variableName.ts"
import { besideEarlierNames, earlierNameWarnings } from "./earlierNames.ts"
import { environmentWarnings } from "./environment.ts"
import { halfRead } from "./fields/providerFields.ts"
import { emptyConfig, exists, findFile, readRaw } from "./file/configFile.ts"
import { GatewayConfig } from "./GatewayConfig.ts"
import { instancesIn } from "./instances.ts"
import { type Overrides, surroundings } from "./Overrides.ts"
import { gatewaySecretWarnings } from "./secretWarnings.ts"
import { withoutInline } from "./withoutInline.ts"

/** The valid part of a configuration, and the problems of the rest. */
export interface Reading {
  /** With defaults in place of what is invalid. */
  readonly config: GatewayConfig
  readonly problems: ReadonlyArray<Problem>
  /** Paths of the invalid parts, a provider always as a whole. What depends on them cannot be checked. */
  readonly unread: ReadonlyArray<Path>
  /** Of the invalid providers what their plugins can check. */
  readonly halfRead?: ReadonlyArray<ProviderSettings>
  /** What relative paths count from. Default: the working directory. */
  readonly folder?: string
  /** Adds to a problem where it stands in the file. `problems` have that already. */
  readonly placed?: (problem: Problem) => Problem
}

export interface LoadedConfig extends Reading {
  /** From the environment. `null`: one is made at the first start. */
  readonly managementKey: Redacted.Redacted | null
  /** From the environment. */
  readonly metricsToken: Redacted.Redacted | null
  /** For the log at start: a sentence each, without secrets. */
  readonly warnings: ReadonlyArray<string>
  readonly logLevel: LogLevel.LogLevel
  /** The configuration file that was read; `null`: there is none. */
  readonly file: string | null
  /** What the file says, unchecked. */
  readonly raw: unknown
  /** Reads it all once more. A file that was there must still be there. */
  readonly again: Effect.Effect<LoadedConfig, ConfigInvalid>
  /** What relative paths of the file, and the names of its packages, count from. The paths in `config` are absolute. */
  readonly folder: string
}

/** Reads a raw configuration, and the variables that its secrets name. */
export const readConfig = (raw: unknown): Effect.Effect<Reading> =>
  Effect.gen(function* () {
    const refused = [...instancesIn(raw), ...besideEarlierNames(raw)]
    const plain = refused.map(({ path }) => leftOut(path)).reduce(without, raw)
    const whole = yield* Effect.either(decode(plain))
    if (Either.isRight(whole) && refused.length === 0) return { config: whole.right, problems: [], unread: [] }
    const issues = Either.isLeft(whole) ? [whole.left] : []
    const unread = [...refused.map(({ path }) => path), ...issues.flatMap((issue) => pathsOf(issue))].map(leftOut)
    const rest = decode(unread.reduce(without, raw))
    const config = yield* Effect.orElse(rest, () => Effect.orDie(decode({})))
    const problems = [
      ...refused.map(({ path, message }) => ({ path: renderPath(path), message })),
      ...issues.flatMap((issue) => problemsOf(issue)),
    ]
    return { config, problems, unread, halfRead: halfReadIn(raw, unread) }
  })

const halfReadIn = (raw: unknown, unread: ReadonlyArray<Path>): ReadonlyArray<ProviderSettings> => {
  const providers = isJsonObject(raw) ? raw["providers"] : undefined
  const slugs = new Set(unread.flatMap(([section, slug]) => (section === "providers" ? [String(slug)] : [])))
  return [...slugs].flatMap((slug) => {
    const entry = isPlainObject(providers) ? providers[slug] : undefined
    return isPlainObject(entry) ? [halfRead(slug, entry)] : []
  })
}

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
export const loadConfigIn = (directory: string, flags: Overrides = {}): Effect.Effect<LoadedConfig, ConfigInvalid> =>
  Effect.flatMap(everythingIn(directory, flags), (loaded) => {
    const [first, ...more] = loaded.problems
    return first !== undefined && loaded.unread.some(hidesPlugins)
      ? Effect.fail(new ConfigInvalid({ problems: [first, ...more] }))
      : Effect.succeed(loaded)
  })

/** The same, but fails only where the file cannot be read. */
const everythingIn = (directory: string, flags: Overrides): Effect.Effect<LoadedConfig, ConfigInvalid> =>
  Effect.gen(function* () {
    const around = yield* surroundings(directory, flags)
    const found = yield* Effect.either(
      Effect.flatMap(findFile(directory, around.file), ({ file, folder }) =>
        Effect.map(file === null ? Effect.succeed(emptyConfig) : readRaw(file), (read) => ({ file, folder, ...read })),
      ),
    )
    if (Either.isLeft(found)) return yield* new ConfigInvalid({ problems: [found.left, ...around.problems] })
    const { file, folder, raw, placed, warnings: ofFile } = found.right
    const { config, problems, unread, halfRead = [] } = yield* readConfig(raw)
    const inForce = around.apply(withPaths(config, folder))
    const unreplaced = variablesInTexts(withoutInline(raw))
    const inFile = (problem: Problem) => (problem.path === "" ? { ...problem, path: file ?? "" } : placed(problem))
    const isStorageRead =
      around.storage !== null ||
      !(unread.some(([section]) => section === "storage") || around.problems.some(({ path }) => isOf.storage(path)))
    const all = [
      ...[...unreplaced, ...problems.filter(({ path }) => !unreplaced.some((other) => other.path === path))].map(
        inFile,
      ),
      ...around.problems,
      ...(isStorageRead ? workerProblems(inForce, process.platform) : []),
    ]
    return {
      config: inForce,
      problems: all,
      unread,
      halfRead,
      placed,
      folder,
      managementKey: around.managementKey,
      metricsToken: around.metricsToken,
      logLevel: around.logLevel,
      warnings: [
        ...ofFile,
        ...warningsOf(raw, inForce),
        ...(yield* otherDatabase(inForce, around.storage, directory)),
        ...environmentWarnings(process.env, raw),
        ...gatewaySecretWarnings(inForce, {
          HEADGATE_MANAGEMENT_KEY: around.managementKey,
          HEADGATE_METRICS_TOKEN: around.metricsToken,
        }),
      ],
      file,
      raw,
      again: loadConfigIn(directory, file === null ? flags : { ...flags, file }),
    }
  })

/** Warns of a database that lies where earlier versions made it: in the working directory. */
const otherDatabase = (
  { storage }: GatewayConfig,
  asked: GatewayConfig["storage"] | null,
  directory: string,
): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function* () {
    const other = resolve(directory, "data/headgate.db")
    if (asked !== null || storage._tag !== "Sqlite" || storage.path === other) return []
    if ((yield* exists(storage.path)) || !(yield* exists(other))) return []
    const way = "move it, or name it by HEADGATE_STORAGE"
    return [`storage: a new database begins at ${storage.path}, and there is one at ${other}: ${way}.`]
  })

/** `"${NAME}"` in a text is not replaced: who wrote it meant the variable, and would be told of something else. */
const variablesInTexts = (value: unknown, path: Path = []): ReadonlyArray<Problem> => {
  if (typeof value === "string") {
    const name = /\$\{([A-Za-z_]\w*)\}/.exec(value)?.[1]
    if (name === undefined) return []
    const shown = shownVariable(name) === name ? name : "NAME"
    const instead = `{ "env": "${shown}" } for a secret, or a file headgate.config.ts with process.env["${shown}"]`
    return [
      { path: renderPath(path), message: `expected ${instead}, got \${${shown}}, which is not replaced in a text` },
    ]
  }
  if (Array.isArray(value)) return value.flatMap((item: unknown, at) => variablesInTexts(item, [...path, at]))
  // An instance of a class, which a file of TypeScript may have, is refused elsewhere.
  if (!isPlainObject(value)) return []
  return Object.entries(value).flatMap(([member, inner]) => variablesInTexts(inner, [...path, member]))
}

/** Whether a problem with this path is one of where the gateway listens; of where its data is kept. */
const isOf = {
  server: (path: string): boolean =>
    /^(HEADGATE_|--)(port|hostname)$/i.test(path) || /^server(\.(port|hostname))?$/.test(path),
  storage: (path: string): boolean => path === "HEADGATE_STORAGE" || path === "--storage" || path.startsWith("storage"),
}

/**
 * One section of the configuration here, for a command that needs no other. Fails with the problems of that section alone:
 * a shell that has no provider's key can still call the gateway, or read its database.
 */
export const sectionHere = <Section extends keyof typeof isOf>(
  section: Section,
): Effect.Effect<GatewayConfig[Section], ConfigInvalid> =>
  Effect.flatMap(
    Effect.suspend(() => everythingIn(process.cwd(), {})),
    ({ config, problems, unread }) => {
      const isWhole = unread.every((path) => path.length > 0)
      const [first, ...more] = isWhole ? problems.filter(({ path }) => isOf[section](path)) : problems
      return first === undefined
        ? Effect.succeed(config[section])
        : Effect.fail(new ConfigInvalid({ problems: [first, ...more] }))
    },
  )

/** Relative paths of the file count from its folder. */
const withPaths = (config: GatewayConfig, folder: string): GatewayConfig => {
  const { storage, spoolFolder, plugins, catalogue } = config
  return {
    ...config,
    storage: storage._tag === "Sqlite" ? { ...storage, path: resolve(folder, storage.path) } : storage,
    spoolFolder: resolve(folder, spoolFolder),
    plugins: { ...plugins, folders: plugins.folders.map((written) => resolve(folder, written)) },
    catalogue: { ...catalogue, file: resolve(folder, catalogue.file) },
  }
}

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
  section === undefined || (section === "plugins" && member !== "required")

/** The configuration of a gateway that runs in the working directory. */
export const loadConfig = (flags: Overrides = {}): Effect.Effect<LoadedConfig, ConfigInvalid> =>
  Effect.suspend(() => loadConfigIn(process.cwd(), flags))

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
  const alerts = isJsonObject(raw) && isJsonObject(raw["alerts"]) ? raw["alerts"]["webhooks"] : undefined
  const webhooks = Array.isArray(alerts) ? alerts : []
  const signing = webhooks.flatMap((webhook: unknown, at) =>
    isJsonObject(webhook) && typeof webhook["secret"] === "string" ? [["alerts", "webhooks", at, "secret"]] : [],
  )
  const warnings = [...written.map(([slug]) => ["providers", slug, "api_key"]), ...listed, ...signing].map(
    (path) => `${renderPath(path)}: a secret stands in the file; { "env": "NAME" } keeps it out.`,
  )
  for (const { slug, baseUrl } of config.providers.values()) {
    const operation = operationAtEnd(baseUrl ?? "")
    if (operation === undefined) continue
    const path = renderPath(["providers", slug, "base_url"])
    warnings.push(`${path}: ends with "${operation}", which calls add themselves: did you mean the address before it?`)
  }
  const storage = isJsonObject(raw) ? raw["storage"] : undefined
  if (typeof storage === "string" && URL.canParse(storage) && new URL(storage).password !== "")
    warnings.push("storage: a password stands in the file; HEADGATE_STORAGE or PGPASSWORD keeps it out.")
  warnings.push(...earlierNameWarnings(raw))
  if (config.storage._tag === "Memory") warnings.push('storage: keys and ledger end with the process ("memory:").')
  return warnings
}
