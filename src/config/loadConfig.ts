/**
 * From files and environment to a configuration, or to all that is wrong with it at once. The file says what the
 * gateway is, the environment where it runs; where both speak, the environment wins. G20.
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
import { lendModules } from "../plugin/resolve.ts"
import { decodeModels } from "../services/catalogue.ts"
import { kindOf, type Problem, problemsOf, renderPath } from "../services/problems.ts"
import { ConfigInvalid, importFailure, jsonFailure } from "./configError.ts"
import { GatewayConfig, Port, StorageText } from "./GatewayConfig.ts"

export interface LoadedConfig {
  readonly config: GatewayConfig
  /** Absolute path; `null`: there is no file, and every default holds. */
  readonly file: string | null
  /** From the environment. `null`: one is made at the first start. */
  readonly managementKey: Redacted.Redacted | null
  /** A sentence each, without secrets: for the log at start. */
  readonly warnings: ReadonlyArray<string>
}

type Problems = ConfigInvalid["problems"]

/** Every problem of a raw configuration, or the configuration. Reads the variables that its secrets name. */
export const decodeConfig = (raw: unknown): Effect.Effect<GatewayConfig, Problems> =>
  Effect.gen(function* () {
    const decoded = yield* Effect.either(decode(raw))
    const [first, ...more] = [...(Either.isLeft(decoded) ? problemsOf(decoded.left) : []), ...modelProblems(raw)]
    if (first !== undefined) return yield* Effect.fail<Problems>([first, ...more])
    return yield* Effect.orDie(decoded)
  })

const decode = ParseResult.decodeUnknown(GatewayConfig, {
  errors: "all",
  onExcessProperty: "error",
  propertyOrder: "original",
})

// Nothing of this is kept: what a provider is called and does is known only with its plugin. Only the slugs matter here.
const modelProblems = (raw: unknown): ReadonlyArray<Problem> => {
  if (!isJsonObject(raw) || !Array.isArray(raw["models"])) return []
  const slugs = isJsonObject(raw["providers"]) ? Object.keys(raw["providers"]) : []
  const facts = { name: "", privacy: { mayTrain: true, retainsPrompts: true }, local: false }
  return decodeModels(raw["models"], new Map(slugs.map((slug) => [slug, facts]))).problems
}

/** The configuration of a gateway that runs in `directory`. */
export const loadConfigIn = (directory: string): Effect.Effect<LoadedConfig, ConfigInvalid> =>
  Effect.gen(function* () {
    const environment = yield* Effect.orDie(variables)
    const found = yield* Effect.either(
      findFile(directory, environment.config).pipe(
        Effect.flatMap((file) =>
          Effect.map(file === null ? Effect.succeed<unknown>({}) : readRaw(file), (raw) => ({ file, raw })),
        ),
      ),
    )
    const file = Either.isRight(found) ? found.right.file : null
    const decoded = yield* Effect.either(
      Either.isLeft(found) ? Effect.fail<Problems>([found.left]) : decodeConfig(found.right.raw),
    )
    const overrides = overridesOf(environment)
    const [first, ...more] = [
      ...(Either.isLeft(decoded)
        ? decoded.left.map((problem) => (problem.path === "" ? { ...problem, path: file ?? "" } : problem))
        : []),
      ...overrides.problems,
    ]
    if (first !== undefined) return yield* new ConfigInvalid({ problems: [first, ...more] })
    const config = overrides.apply(yield* Effect.orDie(decoded))
    const raw = Either.isRight(found) ? found.right.raw : undefined
    return { config, file, managementKey: environment.managementKey, warnings: warningsOf(raw, config) }
  })

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

/** What the environment says in place of the file, and what is wrong with it. */
const overridesOf = (environment: Environment) => {
  const problems: Array<Problem> = []
  const read = <A, I>(schema: Schema.Schema<A, I>, value: unknown, variable: string): A | null => {
    if (value === null) return null
    const decoded = ParseResult.decodeUnknownEither(schema)(value)
    if (Either.isRight(decoded)) return decoded.right
    problems.push(...problemsOf(decoded.left, [variable]))
    return null
  }
  // What is no plain number stays text, and the Schema says so.
  const { port: digits } = environment
  const port = read(Port, digits !== null && /^\d{1,9}$/.test(digits) ? Number(digits) : digits, "HEADGATE_PORT")
  const storage = read(StorageText, environment.storage, "HEADGATE_STORAGE")
  const key = environment.managementKey === null ? null : Redacted.value(environment.managementKey)
  if (key !== null && !/^[\x21-\x7e]{32,}$/.test(key)) {
    const message = `expected at least 32 visible ASCII characters, got ${key.length < 32 ? "fewer" : "others among them"}`
    problems.push({ path: "HEADGATE_MANAGEMENT_KEY", message })
  }
  const apply = ({ server, ...config }: GatewayConfig): GatewayConfig => ({
    ...config,
    storage: storage ?? config.storage,
    server: { ...server, port: port ?? server.port, hostname: environment.hostname ?? server.hostname },
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

/** What stands in the file, not yet checked. */
const readRaw = (file: string): Effect.Effect<unknown, Problem> => {
  if (file.endsWith(".json")) {
    return Effect.tryPromise({
      try: async (): Promise<unknown> => JSON.parse((await Bun.file(file).text()).replace(/^\uFEFF/, "")),
      catch: (cause) => ({ path: file, message: jsonFailure(cause) }),
    })
  }
  if (!/\.[cm]?[jt]s$/.test(file))
    return Effect.fail({ path: file, message: "expected a file that ends in .ts, .js or .json" })
  return Effect.tryPromise({
    try: async (): Promise<unknown> => {
      await lendModules([dirname(file)])
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
  const warnings = written.map(
    ([slug]) =>
      `${renderPath(["providers", slug, "api_key"])}: a secret stands in the file; { "env": "NAME" } keeps it out.`,
  )
  if (config.storage._tag === "Memory") warnings.push('storage: keys and ledger end with the process ("memory:").')
  return warnings
}
