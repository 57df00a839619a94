/** The plugins of a configuration: those in the file itself, then those in its folders, then those in its packages. */
import { stat } from "node:fs/promises"
import { resolve } from "node:path"
import * as Effect from "effect/Effect"
import { type Discovered, discover } from "../plugin/loading/discover.ts"
import type { Importing } from "../plugin/loading/importWatch.ts"
import { pluginFiles } from "../plugin/loading/pluginFiles.ts"
import { logEvent } from "../process/log/logEvent.ts"
import { defaultPluginFolders, ownPluginFolder } from "./GatewayConfig.ts"
import type { LoadedConfig } from "./loadConfig.ts"

/** Warns of configured folders that are not there. */
export const discoverPlugins = (
  { config: { plugins }, folder: home }: Pick<LoadedConfig, "config" | "folder">,
  importing?: Importing,
): Effect.Effect<Discovered> =>
  Effect.gen(function* () {
    for (const folder of yield* Effect.promise(() => missingOf(plugins.folders, home)))
      yield* logEvent("configuration_warning", { text: `plugins.folders: there is no folder ${folder}` })
    const own = { folder: ownPluginFolder, override: plugins.override }
    const packages = { names: plugins.packages, from: home }
    const found = yield* discover(plugins.folders, importing, packages, plugins.inline, own)
    for (const id of plugins.override) {
      if (found.plugins.some((plugin) => plugin.id === id && found.origins.get(plugin)?.overrides === true)) continue
      const text = `plugins.override: no plugin takes the place of one of the gateway's own with the id "${id}"`
      yield* logEvent("configuration_warning", { text })
    }
    return found
  })

/** What the plugins of a configuration are on the disk (`pluginFiles`). */
export const pluginFilesOf = ({
  config: { plugins },
  folder: home,
}: Pick<LoadedConfig, "config" | "folder">): Effect.Effect<string> =>
  Effect.promise(() => pluginFiles(plugins.folders, { names: plugins.packages, from: home }, ownPluginFolder))

const missingOf = async (folders: ReadonlyArray<string>, home: string): Promise<ReadonlyArray<string>> => {
  const usual = defaultPluginFolders.map((folder) => resolve(home, folder))
  if (folders.join("\n") === usual.join("\n")) return []
  const found = await Promise.all(
    folders.map(async (folder) => (await stat(folder).catch(() => undefined))?.isDirectory() === true),
  )
  return folders.filter((_, at) => found[at] !== true)
}
