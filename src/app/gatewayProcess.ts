/** One process that serves: all layers of the gateway, for a configuration. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type { LoadedConfig } from "../config/loadConfig.ts"
import { prepare } from "../config/prepare.ts"
import { MetricsToken } from "../http/metricsAnswer.ts"
import { logEvent } from "../process/log/logEvent.ts"
import { type Say, withProgress } from "../process/withProgress.ts"
import { layerStopDelay } from "../services/dispatch/drain.ts"
import { KeyStore } from "../services/keys/KeyStore.ts"
import { MetricsFleet } from "../services/metrics/Metrics.ts"
import { WorkerNumber } from "../services/state/GatewayState.ts"
import * as PostgresStorage from "../sql/postgres/PostgresStorage.ts"
import * as MemoryStorage from "../sql/sqlite/MemoryStorage.ts"
import * as SqliteStorage from "../sql/sqlite/SqliteStorage.ts"
import type { ThreadAhead } from "../sql/sqlite/startThread.ts"
import { Upstream } from "../upstream/Upstream.ts"
import { compileAsUsual, compileLess } from "./compiling.ts"
import { Ending } from "./Ending.ts"
import * as Gateway from "./Gateway.ts"
import { layerReload } from "./reload.ts"
import { firstStart } from "./start/firstStart.ts"
import { cutAtSecondSignal, layerEnding, runtimeWarnings, warningsInto } from "./start/start.ts"
import { workerFleet } from "./workers/figures.ts"
import { reloads, tellOthers } from "./workers/reloads.ts"
import { watchEventLoop } from "./workers/watchdog.ts"
import { reportServing, reportStopped, sendBeat, workerNumber } from "./workers/worker.ts"

const storageOf = ({ storage, durability, spoolFolder }: LoadedConfig["config"], thread: ThreadAhead, say: Say) => {
  if (storage._tag === "Sqlite") return SqliteStorage.layerWith(thread.take, { path: storage.path, durability }, say)
  if (storage._tag === "Memory") return MemoryStorage.layer
  return PostgresStorage.layer({ url: storage.url, durability, spoolFolder }, say)
}

/** Who may read figures, and of which processes they are. */
const figuresFor = (token: LoadedConfig["metricsToken"]) => {
  const worker = workerNumber()
  const own = Layer.succeed(MetricsToken, token)
  if (worker === undefined) return own
  return Layer.mergeAll(own, Layer.sync(MetricsFleet, workerFleet), Layer.succeed(WorkerNumber, worker))
}

/**
 * Serves until it is interrupted. `thread`: for SQLite. `speaks`: whether this process shows the address and the first keys, and logs the warnings
 * about the configuration; of several workers the first one does.
 */
export const runGateway = Effect.fnUntraced(function* (loaded: LoadedConfig, thread: ThreadAhead, speaks: boolean) {
  const { managementKey, metricsToken, warnings, ...reading } = loaded
  const worker = workerNumber()
  yield* watchEventLoop(worker === undefined ? {} : { worker }, sendBeat)
  const logged: Array<string> = []
  const prepared = Effect.gen(function* () {
    const all = yield* prepare(reading)
    const notes = [...warnings, ...runtimeWarnings(all.setup.config)]
    if (speaks) for (const text of notes) yield* logEvent("configuration_warning", { text })
    return all
  })
  const { found, catalogue, setup } = yield* Effect.provide(prepared, Logger.add(warningsInto(logged)))
  const { config } = setup
  const summary = (port: number) =>
    Effect.promise(async () => {
      // Loaded when the gateway listens, so that its first answer does not wait for it.
      const { startFacts } = await import("./start/startFacts.ts")
      const { summaryOf, writtenSummary } = await import("./start/startSummary.ts")
      const { styleOf } = await import("../process/terminal.ts")
      const [name, ...more] = logged
      const count = name === undefined ? [] : [`${more.length + 1}, in the log above`]
      const facts = startFacts({ loaded: reading, found, setup, port, warnings: count })
      return writtenSummary(summaryOf(facts), styleOf(process.stdout))
    })

  const storage = Layer.scopedContext(withProgress((say) => Layer.build(storageOf(config, thread, say))))
  const keys = KeyStore.layer({ managementKey: managementKey ?? undefined })
  const announced = speaks ? firstStart({ managementKey, config }, summary) : Layer.empty
  const ending = new Ending()
  yield* cutAtSecondSignal(ending)
  // Of what depends on the server, so it is released before requests are drained.
  const compiling = Layer.scopedDiscard(
    Effect.acquireRelease(Effect.sync(compileAsUsual), () => Effect.sync(compileLess)),
  )
  return yield* Layer.mergeAll(
    compiling,
    Layer.provide(reportServing, announced),
    layerEnding(ending),
    reloads,
    layerStopDelay(config.server.drainDelaySeconds * 1000),
  ).pipe(
    Layer.provide(Gateway.serve(config)),
    Layer.provide(layerReload(loaded, { ...found, catalogue }, tellOthers)),
    Layer.provide(Gateway.servicesFrom(setup)),
    Layer.provide([keys, Upstream.layer, figuresFor(metricsToken)]),
    Layer.provide(storage),
    Layer.launch,
    Effect.ensuring(
      Effect.suspend(() => (workerNumber() === undefined ? ending.write : reportStopped(ending.drained))),
    ),
  )
}, Effect.scoped)
