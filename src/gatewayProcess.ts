/** One process that serves: all layers of the gateway, for a configuration. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { discoverPlugins } from "./config/discoverPlugins.ts"
import { installedCatalogue } from "./config/installedCatalogue.ts"
import type { LoadedConfig } from "./config/loadConfig.ts"
import { resolveConfig } from "./config/resolveConfig.ts"
import { firstStart } from "./firstStart.ts"
import * as Gateway from "./Gateway.ts"
import { watchImports } from "./plugin/importWatch.ts"
import { layerReload } from "./reload.ts"
import { KeyStore } from "./services/KeyStore.ts"
import { layerLocalServers } from "./services/localServers.ts"
import * as MemoryStorage from "./sql/MemoryStorage.ts"
import * as PostgresStorage from "./sql/PostgresStorage.ts"
import * as SqliteStorage from "./sql/SqliteStorage.ts"
import { stopThreadAhead } from "./sql/startThread.ts"
import { cutAtSecondSignal, runtimeWarnings } from "./start.ts"
import { Upstream } from "./upstream/Upstream.ts"
import { reloads, tellOthers } from "./workers/reloads.ts"
import { reportServing } from "./workers/worker.ts"

const storageOf = ({ storage, durability, spoolFolder }: LoadedConfig["config"]) => {
  if (storage._tag === "Sqlite") return SqliteStorage.layer({ path: storage.path, durability })
  stopThreadAhead()
  if (storage._tag === "Memory") return MemoryStorage.layer
  return PostgresStorage.layer({ url: storage.url, durability, spoolFolder })
}

/**
 * Serves until it is interrupted. `speaks`: whether this process shows the address and the first keys, and logs the warnings
 * about the configuration; of several workers the first one does.
 */
export const runGateway = Effect.fnUntraced(function* (loaded: LoadedConfig, speaks: boolean) {
  const { managementKey, warnings, ...reading } = loaded
  const found = yield* Effect.scoped(Effect.flatMap(watchImports, (importing) => discoverPlugins(reading, importing)))
  const catalogue = yield* installedCatalogue(reading.config)
  const parts = { ...found, catalogue }
  const setup = yield* resolveConfig(parts, reading)
  const { config } = setup
  if (speaks) for (const warning of [...warnings, ...runtimeWarnings(config)]) yield* Effect.logWarning(warning)

  const storage = storageOf(config)
  const keys = KeyStore.layer({ managementKey: managementKey ?? undefined })
  const announced = speaks ? firstStart({ managementKey, config }) : Layer.empty
  return yield* Layer.mergeAll(Layer.provide(reportServing, announced), cutAtSecondSignal, reloads).pipe(
    Layer.merge(layerLocalServers),
    Layer.provide(Gateway.serve(config)),
    Layer.provide(layerReload(loaded, parts, tellOthers)),
    Layer.provide(Gateway.servicesFrom(setup)),
    Layer.provide([keys, Upstream.layer]),
    Layer.provide(storage),
    Layer.launch,
  )
})
