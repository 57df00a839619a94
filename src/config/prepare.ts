/** From a configuration that was read to what a process of the gateway is built from; commands look at the same. */
import * as Effect from "effect/Effect"
import type { Catalogue } from "../catalogue/catalogueFile.ts"
import type { ConfigInvalid } from "../domain/json/Problem.ts"
import type { Discovered } from "../plugin/loading/discover.ts"
import { watchImports } from "../plugin/loading/importWatch.ts"
import { discoverPlugins } from "./discoverPlugins.ts"
import { installedCatalogue } from "./installedCatalogue.ts"
import type { LoadedConfig, Reading } from "./loadConfig.ts"
import { resolveConfig, type Setup } from "./resolveConfig.ts"

export interface Prepared {
  readonly found: Discovered
  readonly catalogue: Catalogue
  readonly setup: Setup
}

/** Imports the plugins, and fails with every problem of the configuration. What is wrong with a plugin is logged. */
export const prepare = (reading: Reading & Pick<LoadedConfig, "folder">): Effect.Effect<Prepared, ConfigInvalid> =>
  Effect.gen(function* () {
    const found = yield* Effect.scoped(Effect.flatMap(watchImports, (importing) => discoverPlugins(reading, importing)))
    const catalogue = yield* installedCatalogue(reading.config)
    const setup = yield* resolveConfig({ ...found, catalogue }, reading)
    return { found, catalogue, setup }
  })
