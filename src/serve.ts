/**
 * The gateway as a process: reads the configuration, builds the layers and runs them. Importing this file starts it. A runtime is
 * started here, in the database's thread (`sql/sqliteThread.ts`) and for the other commands (`cli/run.ts`).
 */
import "./startAhead.ts"
import * as BunRuntime from "@effect/platform-bun/BunRuntime"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { type LoadedConfig, loadConfig } from "./config/loadConfig.ts"
import { resolveConfig } from "./config/resolveConfig.ts"
import { firstStart } from "./firstStart.ts"
import * as Gateway from "./Gateway.ts"
import { discover } from "./plugin/discover.ts"
import { watchImports } from "./plugin/importWatch.ts"
import { KeyStore } from "./services/KeyStore.ts"
import * as MemoryStorage from "./sql/MemoryStorage.ts"
import * as PostgresStorage from "./sql/PostgresStorage.ts"
import * as SqliteStorage from "./sql/SqliteStorage.ts"
import type { StorageNotOpened } from "./sql/StorageNotOpened.ts"
import { stopThreadAhead } from "./sql/startThread.ts"
import {
  cutAtSecondSignal,
  exitCodeOf,
  notServed,
  outliveRejections,
  runtimeWarnings,
  teardown,
  uncaughtException,
} from "./start.ts"
import { Upstream } from "./upstream/Upstream.ts"

/** Fails when another gateway has taken over this one's database. */
type TakenOver = Deferred.Deferred<never, StorageNotOpened>

const storageOf = ({ storage, durability, spoolFolder }: LoadedConfig["config"], takenOver: TakenOver) => {
  if (storage._tag === "Sqlite") return SqliteStorage.layer({ path: storage.path, durability })
  stopThreadAhead()
  if (storage._tag === "Memory") return MemoryStorage.layer
  return PostgresStorage.layer({
    url: storage.url,
    durability,
    spoolFolder,
    onTaken: (refusal) => Effect.asVoid(Deferred.fail(takenOver, refusal)),
  })
}

const gateway = Effect.fnUntraced(function* (takenOver: TakenOver) {
  const { managementKey, warnings, ...reading } = yield* loadConfig
  const found = yield* Effect.scoped(
    Effect.flatMap(watchImports, (importing) => discover(reading.config.plugins.folders, importing)),
  )
  const setup = yield* resolveConfig(found, reading)
  const { config } = setup
  for (const warning of [...warnings, ...runtimeWarnings(config)]) yield* Effect.logWarning(warning)

  const storage = storageOf(config, takenOver)
  const keys = KeyStore.layer({ managementKey: managementKey ?? undefined })
  return Layer.mergeAll(firstStart({ managementKey, config }), cutAtSecondSignal).pipe(
    Layer.provide(Gateway.serve(config)),
    Layer.provide(Gateway.servicesFrom(setup)),
    Layer.provide([keys, Upstream.layer]),
    Layer.provide(storage),
  )
})

const program = Deferred.make<never, StorageNotOpened>().pipe(
  Effect.flatMap((takenOver) =>
    Effect.raceFirst(Layer.launch(Layer.unwrapEffect(gateway(takenOver))), Deferred.await(takenOver)),
  ),
  Effect.raceFirst(uncaughtException),
  Effect.catchAll((refusal) =>
    Effect.sync(() => {
      process.stderr.write(`${refusal.message}\n`)
      process.exitCode = exitCodeOf(refusal)
    }),
  ),
  Effect.catchAllDefect((defect) =>
    notServed(defect) === undefined
      ? Effect.die(defect)
      : Effect.sync(() => {
          process.stderr.write(`${notServed(defect)}\n`)
          process.exitCode = exitCodeOf(defect)
        }),
  ),
  Effect.provide(Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.logfmtLogger))),
)

outliveRejections()
BunRuntime.runMain(program, { disablePrettyLogger: true, teardown })
