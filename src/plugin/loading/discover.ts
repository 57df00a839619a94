/**
 * Finds plugins in folders: the default exports of `<folder>/providers/<id>/index.ts` and
 * `<folder>/strategies/<id>/index.ts`; and in packages, whose default export is a plugin or a list of plugins. Unusable ones
 * are reported and left out. A failed import does not stop the gateway. One with the id of a plugin of the gateway's own is used only
 * where that was chosen.
 */
import type { Dirent } from "node:fs"
import { readdir, realpath, stat } from "node:fs/promises"
import { dirname, join, parse, resolve, sep } from "node:path"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { isJsonObject } from "../../domain/json/json.ts"
import { plugins as bundled } from "../../process/inBundle.ts"
import { PluginInvalid, reasonOf } from "../checks/PluginInvalid.ts"
import type { ProviderPlugin } from "../Provider.ts"
import type { StrategyPlugin } from "../strategy.ts"
import { builtIns } from "./builtIns.ts"
import { contractMismatch, packageMismatch } from "./contract.ts"
import { importFault } from "./importFault.ts"
import type { Importing } from "./importWatch.ts"
import { registerModules } from "./resolve.ts"

export type Plugin = ProviderPlugin | StrategyPlugin

export interface Discovered {
  readonly plugins: ReadonlyArray<Plugin>
  readonly invalid: ReadonlyArray<PluginInvalid>
  readonly origins: ReadonlyMap<Plugin, Origin>
}

/** Where a plugin comes from. */
export interface Origin {
  readonly kind: "gateway" | "folder" | "package" | "configuration"
  /** The path of its folder, the name of its package, or the path of the member of the configuration. */
  readonly path: string
  /** Whether it takes the place of one of the gateway's own. */
  readonly overrides: boolean
}

/** The gateway's own plugins, and which of them others may replace. */
export interface OwnPlugins {
  /** The folder of those that come with the gateway. */
  readonly folder: string
  /** Ids. */
  readonly override: ReadonlyArray<string>
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
    return Effect.either(
      Effect.map(usable(value, invalidIn(path)), (plugin): Imported => ({ plugin, path, kind: "configuration" })),
    )
  })

const noOwnPlugins: OwnPlugins = { folder: "", override: [] }
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
  own: OwnPlugins = noOwnPlugins,
): Effect.Effect<Discovered> =>
  Effect.gen(function* () {
    const found = yield* Effect.promise(() => candidates(folders, own.folder))
    const entries = packages.names.map((name) => [name, entryOfPackage(name, packages.from)] as const)
    const places = entries.map(([, entry]) => dirname(Either.getOrElse(entry, () => packages.from)))
    const foreign = found.filter((plugin) => !isBundled(plugin) && plugin.isLoose !== true)
    yield* Effect.promise(() => registerModules([...foreign.map(({ path }) => path), ...places]))
    const tried = yield* Effect.forEach(found, (plugin) => {
      if (foreign.includes(plugin)) importing(plugin.path)
      return load(plugin)
    })
    const packaged = yield* Effect.forEach(entries, ([name, entry]) => {
      importing(name)
      return loadPackage(name, entry)
    })
    if (foreign.length + entries.length > 0) importing(null)
    return withoutDuplicates([...(yield* inlined(inline)), ...tried, ...packaged.flat()], own.override)
  })

interface Found {
  readonly path: string
  readonly id: string
  readonly kind: Plugin["kind"]
  /** Whether it comes with the gateway. */
  readonly isOwn: boolean
  /** A file in the place of a folder. */
  readonly isLoose?: boolean
}

/** Code that somebody put where folders of plugins belong. */
const isCode = (name: string): boolean => /\.[cm]?[jt]sx?$/.test(name) && !/\.d\.[cm]?ts$|[._](test|spec)\./.test(name)

const candidates = async (folders: ReadonlyArray<string>, ownFolder: string): Promise<ReadonlyArray<Found>> => {
  const found: Array<Found> = []
  const own = await realPathOf(ownFolder)
  for (const folder of new Set(folders.map((each) => resolve(each)))) {
    for (const [group, kind] of Object.entries(kinds)) {
      const entries = await readdir(join(folder, group), { withFileTypes: true }).catch(() => [])
      for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
        const path = resolve(folder, group, entry.name)
        const isFolder = entry.isDirectory() || (await mayLeadToFolder(entry, path))
        if (!isFolder && !isCode(entry.name)) continue
        const isOwn = bundled.has(join(path, "index.ts")) || (own !== "" && (await realPathOf(path)).startsWith(own))
        found.push({ path, id: entry.name, kind, isOwn, ...(isFolder ? {} : { isLoose: true }) })
      }
    }
  }
  return found
}

/** With a separator at its end; "": there is no such path. */
const realPathOf = async (path: string): Promise<string> =>
  path === ""
    ? ""
    : realpath(path).then(
        (real) => real + sep,
        () => "",
      )

/** An unreadable path, such as a broken link, is reported like a folder without a plugin. */
const mayLeadToFolder = async (entry: Dirent, path: string): Promise<boolean> =>
  entry.isSymbolicLink() && (await stat(path).catch(() => undefined))?.isDirectory() !== false

const isBundled = ({ path }: Found): boolean => bundled.has(join(path, "index.ts"))

interface Imported extends Pick<Origin, "kind" | "path"> {
  readonly plugin: Plugin
}

type Invalid = (phase: PluginInvalid["phase"], reason: string) => PluginInvalid

const invalidIn =
  (plugin: string): Invalid =>
  (phase, reason) =>
    new PluginInvalid({ plugin, phase, reason })

/** The default export of a module. What it changed of the language for the whole process is put back. */
const defaultOf = (entry: string, invalid: Invalid): Effect.Effect<unknown, PluginInvalid> => {
  const ours = bundled.get(entry)
  const imported = Effect.tryPromise({
    try: async (): Promise<unknown> => {
      const module: unknown = await (ours?.() ?? import(entry))
      return isJsonObject(module) ? module["default"] : undefined
    },
    catch: (cause) => invalid("import", importFault(cause, dirname(entry))),
  })
  if (ours !== undefined) return imported
  const onTimeout = () => invalid("import", "not loaded after 5 seconds")
  return Effect.suspend(() => {
    const before = builtIns()
    return Effect.timeoutFail(imported, { duration: "5 seconds", onTimeout }).pipe(
      Effect.exit,
      Effect.flatMap((exit) => {
        const changed = before.restore()
        // It is said first: it may be why the plugin could not be imported.
        const why = `it changes ${changed.join(", ")}, which everything in the process uses`
        return changed.length === 0 ? exit : Effect.fail(invalid("import", why))
      }),
    )
  })
}

const usable = (exported: unknown, invalid: Invalid): Effect.Effect<Plugin, PluginInvalid> =>
  Effect.gen(function* () {
    const plugin = yield* readable(exported, invalid)
    if (plugin === undefined) {
      return yield* invalid("shape", "the default export is not made by defineProvider or defineStrategy")
    }
    const mismatch = contractMismatch(plugin)
    return mismatch === undefined ? plugin : yield* invalid("shape", mismatch)
  })

/**
 * Reads the members of a plugin, which may be getters, so that one that throws is attributed to the plugin;
 * `undefined`: it is not a plugin.
 */
const readable = (exported: unknown, invalid: Invalid): Effect.Effect<Plugin | undefined, PluginInvalid> =>
  Effect.try({
    try: () => (isPlugin(exported) && Object.values(exported).length > 0 ? exported : undefined),
    catch: (cause) => invalid("shape", `a member of the default export cannot be read: ${reasonOf(cause)}`),
  })

const load = ({ path, id, kind, isOwn, isLoose }: Found): Effect.Effect<Either.Either<Imported, PluginInvalid>> => {
  const invalid = invalidIn(path)
  return Effect.gen(function* () {
    if (isLoose === true) {
      const place = join(parse(path).name === "index" ? "<id>" : parse(path).name, `index${parse(path).ext}`)
      return yield* invalid("find", `a file, where each plugin has a folder: move it to ${place}`)
    }
    const entry = yield* Effect.tryPromise({
      try: () => entryOf(path),
      catch: (cause) => invalid("find", reasonOf(cause)),
    })
    const plugin = yield* usable(yield* defaultOf(entry, invalid), invalid)
    if (plugin.kind !== kind)
      return yield* invalid("shape", `a ${plugin.kind} stands among the plugins of kind ${kind}`)
    if (plugin.id !== id) return yield* invalid("shape", `its id "${plugin.id}" is not the name of its folder`)
    const imported: Imported = { plugin, path, kind: isOwn ? "gateway" : "folder" }
    return imported
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
        Effect.map((each): Imported => ({ plugin: each, path: name, kind: "package" })),
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

/** Keeps the first of two plugins with one id; the gateway's own before all others, unless `override` has the id. */
const withoutDuplicates = (
  tried: ReadonlyArray<Either.Either<Imported, PluginInvalid>>,
  override: ReadonlyArray<string>,
): Discovered => {
  const nameOf = ({ plugin }: Imported): string => `${plugin.kind} ${plugin.id}`
  const invalid: Array<PluginInvalid> = []
  const imported = Arr.getRights(tried)
  const own = new Map(imported.flatMap((each) => (each.kind === "gateway" ? [[nameOf(each), each] as const] : [])))
  const kept = new Map<string, Imported>()
  for (const result of tried) {
    if (Either.isLeft(result)) {
      invalid.push(result.left)
      continue
    }
    const { right: each } = result
    const { plugin, path, kind } = each
    const name = nameOf(each)
    const [before, ours] = [kept.get(name), own.get(name)]
    if (ours !== undefined && kind !== "gateway" && !override.includes(plugin.id)) {
      const reason = `the gateway has a ${name} of its own: give yours another id, or add "${plugin.id}" to plugins.override`
      invalid.push(new PluginInvalid({ plugin: path, phase: "duplicate", reason }))
    } else if (before === undefined || (before.kind === "gateway" && kind !== "gateway")) kept.set(name, each)
    else if (kind !== "gateway" || before.kind === "gateway")
      invalid.push(new PluginInvalid({ plugin: path, phase: "duplicate", reason: `${before.path} has its id` }))
  }
  return {
    plugins: Array.from(kept.values(), ({ plugin }) => plugin),
    invalid,
    origins: new Map(
      Array.from(kept, ([name, { plugin, path, kind }]) => [
        plugin,
        { kind, path, overrides: kind !== "gateway" && own.has(name) },
      ]),
    ),
  }
}
