/**
 * Finds plugins in folders: the default exports of `<folder>/providers/<id>/index.ts` and
 * `<folder>/strategies/<id>/index.ts`. Unusable ones are reported and left out. A failed import does not stop the
 * gateway.
 */
import { readdir, stat } from "node:fs/promises"
import { join, resolve } from "node:path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { isJsonObject } from "../domain/Json.ts"
import type { Importing } from "./importWatch.ts"
import { contractMismatch } from "./load.ts"
import { PluginInvalid, reasonOf } from "./PluginInvalid.ts"
import type { ProviderPlugin } from "./Provider.ts"
import { registerModules } from "./resolve.ts"
import type { StrategyPlugin } from "./Strategy.ts"

export type Plugin = ProviderPlugin | StrategyPlugin

export interface Discovered {
  readonly plugins: ReadonlyArray<Plugin>
  readonly invalid: ReadonlyArray<PluginInvalid>
}

const kinds = { providers: "provider", strategies: "strategy" } as const

/**
 * The plugins in `folders`, by folder, then by name. A missing folder holds none. They are imported one after another,
 * so that `importing` always knows the current one.
 */
export const discover = (folders: ReadonlyArray<string>, importing: Importing = () => {}): Effect.Effect<Discovered> =>
  Effect.gen(function* () {
    const found = yield* Effect.promise(() => candidates(folders))
    yield* Effect.promise(() => registerModules(found.map(({ path }) => path)))
    const tried = yield* Effect.forEach(found, (plugin) => {
      importing(plugin.path)
      return load(plugin)
    })
    importing(null)
    return withoutDuplicates(tried)
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
      const names = await readdir(join(folder, group)).catch(() => [])
      for (const id of names.toSorted()) {
        const path = resolve(folder, group, id)
        // An unreadable path, such as a broken link, is reported like a folder without a plugin.
        if ((await stat(path).catch(() => undefined))?.isDirectory() !== false) found.push({ path, id, kind })
      }
    }
  }
  return found
}

interface Imported {
  readonly plugin: Plugin
  readonly path: string
}

const load = ({ path, id, kind }: Found): Effect.Effect<Either.Either<Imported, PluginInvalid>> => {
  const invalid = (phase: PluginInvalid["phase"], reason: string) => new PluginInvalid({ plugin: path, phase, reason })
  return Effect.gen(function* () {
    const entry = yield* Effect.tryPromise({
      try: () => entryOf(path),
      catch: (cause) => invalid("find", reasonOf(cause)),
    })
    const module: unknown = yield* Effect.tryPromise({
      try: () => import(entry),
      catch: (cause) => invalid("import", reasonOf(cause)),
    }).pipe(
      Effect.timeoutFail({ duration: "5 seconds", onTimeout: () => invalid("import", "not loaded after 5 seconds") }),
    )
    const plugin = isJsonObject(module) ? module["default"] : undefined
    if (!isPlugin(plugin))
      return yield* invalid("shape", "the default export is not made by defineProvider or defineStrategy")
    const mismatch = contractMismatch(plugin)
    if (mismatch !== undefined) return yield* invalid("shape", mismatch)
    if (plugin.kind !== kind)
      return yield* invalid("shape", `a ${plugin.kind} stands among the plugins of kind ${kind}`)
    if (plugin.id !== id) return yield* invalid("shape", `its id "${plugin.id}" is not the name of its folder`)
    return { plugin, path }
  }).pipe(Effect.either)
}

const entryOf = async (path: string): Promise<string> => {
  for (const name of ["index.ts", "index.js"]) {
    if (await Bun.file(join(path, name)).exists()) return join(path, name)
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
  return { plugins: Array.from(kept.values(), ({ plugin }) => plugin), invalid }
}
