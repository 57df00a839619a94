/** The configuration file: where it is found, and what it says. */
import { realpath } from "node:fs/promises"
import { dirname, join, relative, resolve, sep } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import * as Effect from "effect/Effect"
import { isJsonObject, isNestedDeeper, isPlainObject } from "../../domain/json/json.ts"
import { ConfigInvalid, kindOf, type Problem } from "../../domain/json/Problem.ts"
import { watchImportOf } from "../../plugin/loading/importWatch.ts"
import { registerModules } from "../../plugin/loading/resolve.ts"
import { deepest } from "../../wire/jsonDepth.ts"
import { withoutInline } from "../withoutInline.ts"
import { importFailure } from "./fileFailure.ts"
import { parseJson, placesIn, tooDeep } from "./jsonFile.ts"
import { repeatedMembers } from "./repeatedMembers.ts"

const names = ["headgate.config.ts", "headgate.config.json", "headgate.config.jsonc"] as const

export interface FoundFile {
  /** `null`: there is none, which is as good as an empty one. */
  readonly file: string | null
  /** What relative paths in it count from: its folder. Without a file, that of the nearest package.json. */
  readonly folder: string
}

/**
 * The file that was asked for. Else that of `directory`, or else that beside the nearest package.json above. `asked.name` is the
 * flag or variable with the file.
 */
export const findFile = (
  directory: string,
  asked: { readonly name: string; readonly value: string } | null,
): Effect.Effect<FoundFile, Problem> =>
  Effect.gen(function* () {
    if (asked !== null) {
      const file = resolve(directory, asked.value)
      if (yield* exists(file)) return { file, folder: dirname(file) }
      const message = `expected the path of a file, but there is no ${file}`
      return yield* Effect.fail({ path: asked.name, message })
    }
    const app = (yield* packageFolder(directory)) ?? directory
    const file = (yield* fileIn(directory)) ?? (app === directory ? null : yield* fileIn(app))
    return { file, folder: file === null ? app : dirname(file) }
  })

const fileIn = (folder: string): Effect.Effect<string | null, Problem> =>
  Effect.gen(function* () {
    const found = yield* Effect.filter(names, (name) => exists(join(folder, name)))
    const [only, ...more] = found
    if (only === undefined) return null
    if (more.length === 0) return join(folder, only)
    return yield* Effect.fail({ path: folder, message: `expected one configuration file, got ${found.join(" and ")}` })
  })

/** The folder of the nearest package.json, upwards from this one. */
const packageFolder = (folder: string): Effect.Effect<string | null> =>
  Effect.flatMap(exists(join(folder, "package.json")), (isHere) => {
    if (isHere) return Effect.succeed(folder)
    const above = dirname(folder)
    return above === folder ? Effect.succeed(null) : packageFolder(above)
  })

export const exists = (file: string): Effect.Effect<boolean> => Effect.promise(() => Bun.file(file).exists())

/** Without a byte order mark. */
const readText = (file: string): Effect.Effect<string, Problem> =>
  Effect.tryPromise({
    try: async () => (await Bun.file(file).text()).replace(/^\uFEFF/, ""),
    catch: () => ({ path: file, message: "expected a file that can be read, got none" }),
  })

/** The content of a file, not yet checked. */
export interface RawConfig {
  readonly raw: unknown
  /** A sentence each, without secrets. */
  readonly warnings: ReadonlyArray<string>
  /** Adds the place in the file to a problem, `file:line:column`, where that is known. */
  readonly placed: (problem: Problem) => Problem
}

const unplaced = (raw: unknown): RawConfig => ({ raw, warnings: [], placed: (problem) => problem })

/** As it is where there is no file. */
export const emptyConfig = unplaced({})

/** As short as editors and terminals can open it. */
const nearPath = (file: string): string => {
  const from = relative(process.cwd(), file)
  return from.startsWith("..") ? file : from
}

const readJson = (file: string): Effect.Effect<RawConfig, Problem> =>
  Effect.flatMap(readText(file), (text) => {
    const parsed = parseJson(text)
    if ("message" in parsed) return Effect.fail({ path: file, message: parsed.message })
    if (isNestedDeeper(parsed.value, deepest)) return Effect.fail({ path: file, message: tooDeep })
    let places: ReturnType<typeof placesIn> | undefined
    const placed = ({ path, message }: Problem): Problem => {
      places ??= placesIn(text)
      const place = places(path)
      return { path, message: place === undefined ? message : `${message} (${nearPath(file)}:${place})` }
    }
    const warnings = repeatedMembers(text).map(
      ({ path, line, column }) =>
        `${path}: it is written twice, and the last one counts (${nearPath(file)}:${line}:${column}).`,
    )
    return Effect.succeed({ raw: parsed.value, warnings, placed })
  })

/** How long the import of a configuration file may take, milliseconds. */
const mostImportMs = 30_000

export const readRaw = (file: string, importMs: number = mostImportMs): Effect.Effect<RawConfig, Problem> => {
  if (/\.jsonc?$/.test(file)) return readJson(file)
  if (!/\.[cm]?[jt]s$/.test(file))
    return Effect.fail({ path: file, message: "expected a file that ends in .ts, .js, .json or .jsonc" })
  const notLoaded: Problem = { path: file, message: `expected a file that loads within ${importMs / 1000} seconds` }
  const lineOf = (problem: Problem) => `${new ConfigInvalid({ problems: [problem] }).message}\n`
  const watched = watchImportOf(file, {
    // A file that only waits is told by the time-out below.
    limitMs: importMs + 1000,
    blocked: lineOf(notLoaded),
    ended: lineOf({ path: file, message: "expected a file that loads, but it ended the process" }),
    code: 78,
  })
  const imported = Effect.tryPromise({
    try: async (): Promise<unknown> => {
      await registerModules([dirname(file)])
      const module = await importAnew(file)
      return isJsonObject(module) ? await module["default"] : undefined
    },
    catch: (cause) => ({ path: file, message: importFailure(cause) }),
  }).pipe(Effect.timeoutFail({ duration: importMs, onTimeout: () => notLoaded }))
  return Effect.scoped(Effect.zipRight(watched, imported)).pipe(
    Effect.flatMap((raw) => {
      if (isPlainObject(raw))
        return isNestedDeeper(withoutInline(raw), deepest)
          ? Effect.fail({ path: file, message: tooDeep })
          : Effect.succeed(unplaced(raw))
      const got = typeof raw === "function" ? "a function, which is not called" : kindOf(raw)
      return Effect.fail({ path: file, message: `expected a default export made by defineConfig, got ${got}` })
    }),
  )
}

/** The modules that a configuration file brought, by its path. */
const modulesOf = new Map<string, ReadonlyArray<string>>()

const ownSources = fileURLToPath(new URL("../..", import.meta.url))

/** Evaluates the file again, with the modules beside it that it imports, even if it was imported before. */
const importAnew = async (path: string): Promise<unknown> => {
  const file = await realpath(path)
  for (const module of modulesOf.get(file) ?? []) delete require.cache[module]
  const before = new Set(Object.keys(require.cache))
  try {
    return await import(pathToFileURL(file).href)
  } finally {
    const folder = `${dirname(file)}${sep}`
    // Other modules may have been loaded meanwhile, and must stay the same.
    const brought = Object.keys(require.cache).filter(
      (module) =>
        !before.has(module) &&
        module.startsWith(folder) &&
        !module.startsWith(ownSources) &&
        !module.includes(`${sep}node_modules${sep}`),
    )
    modulesOf.set(file, [file, ...brought])
  }
}
