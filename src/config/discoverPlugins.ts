/** The plugins of a configuration: those in its folders, then those in its packages. */
import type * as Effect from "effect/Effect"
import { type Discovered, discover } from "../plugin/discover.ts"
import type { Importing } from "../plugin/importWatch.ts"
import type { LoadedConfig } from "./loadConfig.ts"

export const discoverPlugins = (
  { config: { plugins }, directory }: Pick<LoadedConfig, "config" | "directory">,
  importing?: Importing,
): Effect.Effect<Discovered> => discover(plugins.folders, importing, { names: plugins.packages, from: directory })
