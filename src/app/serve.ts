/**
 * The gateway as a process: reads the configuration and serves, or supervises `server.workers` processes that do. A runtime is
 * started here, in the database's thread (`sql/sqlite/sqliteThread.ts`) and for the other commands
 * (`cli/run.ts`).
 */

import * as BunRuntime from "@effect/platform-bun/BunRuntime"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import { type LoadedConfig, loadConfig } from "../config/loadConfig.ts"
import type { Overrides } from "../config/Overrides.ts"
import { layerLogger } from "../process/log/logger.ts"
import {
  endedBy,
  exitCodeOf,
  NotListening,
  notServed,
  outliveRejections,
  teardown,
  uncaughtException,
} from "./start/start.ts"
import { threadAhead } from "./start/startAhead.ts"
import { Hangup } from "./workers/reloads.ts"
import { endWithSupervisor, workerNumber } from "./workers/worker.ts"

const worker = workerNumber()

/** Whether this process is to supervise. An invalid configuration is left to `runGateway`, which finds all of its problems. */
const isSupervisor = ({ config, problems }: LoadedConfig): boolean =>
  worker === undefined && problems.length === 0 && config.server.workers > 1

/** Each of the two does without the modules of the other. */
const run = (loaded: LoadedConfig, overrides: Overrides) =>
  Effect.gen(function* () {
    if (isSupervisor(loaded)) {
      threadAhead.stop()
      const { superviseProcesses } = yield* Effect.promise(() => import("./workers/processes.ts"))
      return yield* superviseProcesses(loaded.config, overrides)
    }
    if (loaded.problems.length > 0 || loaded.config.storage._tag !== "Sqlite") threadAhead.stop()
    const { runGateway } = yield* Effect.promise(() => import("./gatewayProcess.ts"))
    return yield* runGateway(loaded, threadAhead, worker === undefined || worker === 1)
  }).pipe(
    Effect.catchAllDefect((defect) => {
      const why = notServed(defect)
      return why === undefined ? Effect.die(defect) : Effect.flatMap(listening(loaded, why), Effect.fail)
    }),
  )

// The runtime says so of a name that does not resolve, too: it counts only where a program is found.
const isPortUsed = (why: string): boolean => /EADDRINUSE|in use/i.test(why)

/** Why the gateway cannot listen, with the program that has its port. */
const listening = ({ config: { server } }: LoadedConfig, why: string) =>
  Effect.promise(async () => {
    // What else is wrong, such as a name that does not resolve, would only take its time again.
    if (server.port === 0 || !isPortUsed(why)) return new NotListening({ message: why })
    const { portState } = await import("./start/portState.ts")
    const state = await portState(server)
    const message =
      state.state === "used" && (state.isGateway || state.by.includes("pid "))
        ? `server: port ${server.port} of ${server.hostname} is used by ${state.by}`
        : why
    return new NotListening({ message })
  })

const served = (overrides: Overrides) =>
  Effect.flatMap(loadConfig(overrides), (loaded) => Logger.withMinimumLogLevel(run(loaded, overrides), loaded.logLevel))

const program = (overrides: Overrides) =>
  Effect.gen(function* () {
    yield* outliveRejections
    if (worker !== undefined) yield* endWithSupervisor
    const thrown = yield* uncaughtException
    // The last of the scope, so the listeners stay until it has drained: an interrupted race does not wait for its effects.
    const serving = yield* Effect.forkScoped(served(overrides))
    return yield* Effect.raceFirst(Fiber.join(serving), thrown)
  }).pipe(
    Effect.scoped,
    Effect.catchAllDefect(endedBy),
    Effect.provide(Hangup.layer),
    Effect.annotateLogs(worker === undefined ? {} : { worker }),
    Effect.provide(layerLogger),
    // After the last lines of the log.
    Effect.catchAll((refusal) =>
      Effect.sync(() => {
        process.stderr.write(`${refusal.message}\n`)
        process.exitCode = exitCodeOf(refusal)
      }),
    ),
  )

/** Starts the gateway. `overrides`: the flags of the command line. */
export const serve = (overrides: Overrides): void => {
  // A reader of what is printed, such as `head`, may leave.
  process.stdout.on("error", () => {})
  BunRuntime.runMain(program(overrides), { disablePrettyLogger: true, teardown })
}
