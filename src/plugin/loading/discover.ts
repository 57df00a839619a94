/**
 * Finds plugins in folders: the default exports of `<folder>/providers/<id>/index.ts` and
 * `<folder>/strategies/<id>/index.ts`; and in packages, whose default export is a plugin or a list of plugins. Unusable ones
 * are reported and left out. A failed import does not stop the gateway.
 */
import type { Dirent } from "node:fs"
import { readdir, stat } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { isJsonObject } from "../../domain/json/json.ts"
import { plugins as bundled } from "../../process/inBundle.ts"
import { PluginInvalid, reasonOf } from "../checks/PluginInvalid.ts"
import type { ProviderPlugin } from "../Provider.ts"
import type { StrategyPlugin } from "../strategy.ts"
import { contractMismatch, packageMismatch } from "./contract.ts"
import type { Importing } from "./importWatch.ts"
import { registerModules } from "./resolve.ts"

export type Plugin = ProviderPlugin | StrategyPlugin

export interface Discovered {
  readonly plugins: ReadonlyArray<Plugin>
  readonly invalid: ReadonlyArray<PluginInvalid>
  /** Where each comes from: the path of its folder, or the name of its package. */
  readonly origins: ReadonlyMap<Plugin, string>
}

export interface Packages {
  readonly names: ReadonlyArray<string>
  /** The folder from which they are resolved. */
  readonly from: string
}

/** Values that a configuration file has. They are checked like those of folders, and come first. */
const inlined = (
  values: ReadonlyArray<unknown>,
): Effect.Effect<ReadonlyArray<Either.Either<Imported, PluginInvalid>>> =>
  Effect.forEach(values, (value, at) => {
    const path = `plugins.inline[${at}]`
    return Effect.either(Effect.map(usable(value, invalidIn(path)), (plugin) => ({ plugin, path })))
  })

const noPackages: Packages = { names: [], from: "." }

const kinds = { providers: "provider", strategies: "strategy" } as const

/**
 * The plugins in `folders`, by folder, then by name, and after them those in packages. A missing folder holds none. They are
 * imported one after another, so that `importing` always knows the current one.
 */
export const discover = (
  folders: ReadonlyArray<string>,
  importing: Importing = () => {},
  packages: Packages = noPackages,
  inline: ReadonlyArray<unknown> = [],
): Effect.Effect<Discovered> =>
  Effect.gen(function* () {
    const found = yield* Effect.promise(() => candidates(folders))
    const entries = packages.names.map((name) => [name, entryOfPackage(name, packages.from)] as const)
    const places = entries.map(([, entry]) => dirname(Either.getOrElse(entry, () => packages.from)))
    const foreign = found.filter((plugin) => !isBundled(plugin))
    yield* Effect.promise(() => registerModules([...foreign.map(({ path }) => path), ...places]))
    const tried = yield* Effect.forEach(found, (plugin) => {
      if (!isBundled(plugin)) importing(plugin.path)
      return load(plugin)
    })
    const packaged = yield* Effect.forEach(entries, ([name, entry]) => {
      importing(name)
      return loadPackage(name, entry)
    })
    if (foreign.length + entries.length > 0) importing(null)
    return withoutDuplicates([...(yield* inlined(inline)), ...tried, ...packaged.flat()])
  })

interface Found {
  readonly path: string
  readonly id: string
  readonly kind: Plugin["kind"]
}

const candidates = async (folders: ReadonlyArray<string>): Promise<ReadonlyArray<Found>> => {
  const found: Array<Found> = []
  for (const folder of new Set(folders.map((each) => resolve(each)))) {
    for (const [group, kind] of Object.entries(kinds)) {
      const entries = await readdir(join(folder, group), { withFileTypes: true }).catch(() => [])
      for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
        const path = resolve(folder, group, entry.name)
        if (entry.isDirectory() || (await mayLeadToFolder(entry, path))) found.push({ path, id: entry.name, kind })
      }
    }
  }
  return found
}

/** An unreadable path, such as a broken link, is reported like a folder without a plugin. */
const mayLeadToFolder = async (entry: Dirent, path: string): Promise<boolean> =>
  entry.isSymbolicLink() && (await stat(path).catch(() => undefined))?.isDirectory() !== false

const isBundled = ({ path }: Found): boolean => bundled.has(join(path, "index.ts"))

interface Imported {
  readonly plugin: Plugin
  readonly path: string
}

type Invalid = (phase: PluginInvalid["phase"], reason: string) => PluginInvalid

const invalidIn =
  (plugin: string): Invalid =>
  (phase, reason) =>
    new PluginInvalid({ plugin, phase, reason })

/** The default export of a module. */
const defaultOf = (entry: string, invalid: Invalid): Effect.Effect<unknown, PluginInvalid> => {
  const ours = bundled.get(entry)
  const imported = Effect.tryPromise({
    try: async (): Promise<unknown> => {
      const module: unknown = await (ours?.() ?? import(entry))
      return isJsonObject(module) ? module["default"] : undefined
    },
    catch: (cause) => invalid("import", reasonOf(cause)),
  })
  if (ours !== undefined) return imported
  const onTimeout = () => invalid("import", "not loaded after 5 seconds")
  return Effect.timeoutFail(imported, { duration: "5 seconds", onTimeout })
}

const usable = (plugin: unknown, invalid: Invalid): Effect.Effect<Plugin, PluginInvalid> => {
  if (!isPlugin(plugin)) return invalid("shape", "the default export is not made by defineProvider or defineStrategy")
  const mismatch = contractMismatch(plugin)
  return mismatch === undefined ? Effect.succeed(plugin) : invalid("shape", mismatch)
}

const load = ({ path, id, kind }: Found): Effect.Effect<Either.Either<Imported, PluginInvalid>> => {
  const invalid = invalidIn(path)
  return Effect.gen(function* () {
    const entry = yield* Effect.tryPromise({
      try: () => entryOf(path),
      catch: (cause) => invalid("find", reasonOf(cause)),
    })
    const plugin = yield* usable(yield* defaultOf(entry, invalid), invalid)
    if (plugin.kind !== kind)
      return yield* invalid("shape", `a ${plugin.kind} stands among the plugins of kind ${kind}`)
    if (plugin.id !== id) return yield* invalid("shape", `its id "${plugin.id}" is not the name of its folder`)
    return { plugin, path }
  }).pipe(Effect.either)
}

const entryOfPackage = (name: string, from: string): Either.Either<string, PluginInvalid> =>
  Either.try({
    try: () => Bun.resolveSync(name, from),
    catch: () => invalidIn(name)("find", `there is no such package in ${from}`),
  })

/** A package may have several plugins. */
const loadPackage = (
  name: string,
  entry: Either.Either<string, PluginInvalid>,
): Effect.Effect<ReadonlyArray<Either.Either<Imported, PluginInvalid>>> =>
  Effect.gen(function* () {
    const invalid = invalidIn(name)
    const path = yield* entry
    const mismatch = packageMismatch(path)
    if (mismatch !== undefined) return yield* invalid("shape", mismatch)
    const exported = yield* defaultOf(path, invalid)
    const plugins: ReadonlyArray<unknown> = Array.isArray(exported) && exported.length > 0 ? exported : [exported]
    return yield* Effect.forEach(plugins, (plugin) =>
      usable(plugin, invalid).pipe(
        Effect.map((each): Imported => ({ plugin: each, path: name })),
        Effect.either,
      ),
    )
  }).pipe(Effect.catchAll((failure) => Effect.succeed([Either.left(failure)])))

const entryOf = async (path: string): Promise<string> => {
  for (const name of ["index.ts", "index.js"]) {
    const entry = join(path, name)
    if (bundled.has(entry) || (await Bun.file(entry).exists())) return entry
  }
  throw new Error("no index.ts")
}

/** Whether `value` was made by `defineProvider` or `defineStrategy`. */
export const isPlugin = (value: unknown): value is Plugin =>
  isJsonObject(value) &&
  (value["kind"] === "provider" || value["kind"] === "strategy") &&
  typeof value["id"] === "string" &&
  typeof value["load"] === "function"

/** Keeps the first of two plugins with one id. */
const withoutDuplicates = (tried: ReadonlyArray<Either.Either<Imported, PluginInvalid>>): Discovered => {
  const kept = new Map<string, Imported>()
  const invalid: Array<PluginInvalid> = []
  for (const result of tried) {
    if (Either.isLeft(result)) {
      invalid.push(result.left)
      continue
    }
    const { plugin, path } = result.right
    const name = `${plugin.kind} ${plugin.id}`
    const before = kept.get(name)
    if (before === undefined) kept.set(name, result.right)
    else invalid.push(new PluginInvalid({ plugin: path, phase: "duplicate", reason: `${before.path} has its id` }))
  }
  const imported = [...kept.values()]
  return {
    plugins: imported.map(({ plugin }) => plugin),
    invalid,
    origins: new Map(imported.map(({ plugin, path }) => [plugin, path])),
  }
}
