/** The plugins of a configuration: those in the file itself, then those in its folders, then those in its packages. */
import { stat } from "node:fs/promises"
import { resolve } from "node:path"
import * as Effect from "effect/Effect"
import { type Discovered, discover } from "../plugin/loading/discover.ts"
import type { Importing } from "../plugin/loading/importWatch.ts"
import { logEvent } from "../process/log/logEvent.ts"
import { defaultPluginFolders } from "./GatewayConfig.ts"
import type { LoadedConfig } from "./loadConfig.ts"

/** Warns of configured folders that are not there. */
export const discoverPlugins = (
  { config: { plugins }, folder: home }: Pick<LoadedConfig, "config" | "folder">,
  importing?: Importing,
): Effect.Effect<Discovered> =>
  Effect.gen(function* () {
    for (const folder of yield* Effect.promise(() => missingOf(plugins.folders, home)))
      yield* logEvent("configuration_warning", { text: `plugins.folders: there is no folder ${folder}` })
    return yield* discover(plugins.folders, importing, { names: plugins.packages, from: home }, plugins.inline)
  })

const missingOf = async (folders: ReadonlyArray<string>, home: string): Promise<ReadonlyArray<string>> => {
  const usual = defaultPluginFolders.map((folder) => resolve(home, folder))
  if (folders.join("\n") === usual.join("\n")) return []
  const found = await Promise.all(
    folders.map(async (folder) => (await stat(folder).catch(() => undefined))?.isDirectory() === true),
  )
  return folders.filter((_, at) => found[at] !== true)
}
