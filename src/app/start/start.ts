/** How the process starts and ends: messages, signals, exit codes. Exit codes are those of sysexits.h. */
import * as Runtime from "@effect/platform/Runtime"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as EffectRuntime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import type { GatewayConfig } from "../../config/GatewayConfig.ts"
import { ConfigInvalid } from "../../domain/json/Problem.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { InFlight } from "../../services/request/InFlight.ts"
import { StorageNotOpened } from "../../sql/StorageNotOpened.ts"
import { proxiesOf } from "../../upstream/environmentProxy.ts"
import type { Ending } from "../Ending.ts"
import { onProcess, onStopSignal } from "../workers/processEvents.ts"
import { WorkerFailed } from "../workers/supervise.ts"

const storageCodes: Readonly<Record<StorageNotOpened["reason"], number>> = {
  corrupt: 65,
  altered: 65,
  newer: 65,
  older: 65,
  unreadable: 66,
  unreachable: 69,
  "in-use": 73,
  unwritable: 73,
  misconfigured: 78,
}

export const exitCodeOf = (refusal: unknown): number => {
  if (refusal instanceof ConfigInvalid) return 78
  if (refusal instanceof StorageNotOpened) return storageCodes[refusal.reason]
  if (refusal instanceof WorkerFailed) return refusal.code
  return refusal instanceof NotListening ? 69 : 70
}

/** The gateway cannot listen on its address. `message` says why. */
export class NotListening extends Data.TaggedError("NotListening")<{ readonly message: string }> {}

/** Why the gateway cannot listen on its address, in a line; `undefined` for any other defect. */
export const notServed = (defect: unknown): string | undefined => {
  if (!(defect instanceof Error)) return undefined
  const code = "code" in defect && typeof defect.code === "string" ? defect.code : ""
  const call = "syscall" in defect ? defect.syscall : undefined
  const isListening = call === "listen" || call === "getaddrinfo" || /^EADDR|^EACCES/.test(code)
  return isListening ? `server: cannot listen: ${defect.message}` : undefined
}

/**
 * A terminal and a service manager signal the whole process group, and a script runner such as `bun start` forwards its own
 * copy to the gateway: one signal comes twice, within milliseconds. Only what comes later than this was sent again.
 */
const repeatedAfterNanos = 1_000_000_000n

/**
 * Tells `ending` of SIGTERM and SIGINT, until the scope closes. The first one drains (the program's runtime sees to that). A later one ends
 * the requests that still run; they are settled all the same. The scope is that of the
 * whole process: the runtime itself listens to the first signal alone.
 */
export const cutAtSecondSignal = (ending: Ending): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    let first: bigint | undefined
    const receive = (signal: string) => {
      const { requests } = ending
      if (requests === undefined) return
      const now = clock.unsafeCurrentTimeNanos()
      first ??= now
      ending.begin(signal)
      if (now - first > repeatedAfterNanos) requests.cut()
    }
    yield* onStopSignal(receive)
  })

/** Gives `ending` the running requests, as long as requests are served. */
export const layerEnding = (ending: Ending): Layer.Layer<never, never, InFlight> =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      ending.requests = yield* InFlight
      yield* Effect.addFinalizer(() => Effect.sync(() => ending.begin("an uncaught exception")))
    }),
  )

/** An exception that was not caught, such as a throw in a plugin's timer. The state of the process is unknown after it. */
class UncaughtException extends Data.TaggedError("UncaughtException") {
  override get message() {
    return "stopped after an uncaught exception"
  }
}

/**
 * An effect that fails at the first such exception, so that the gateway drains and ends. Further ones are only reported, until the
 * scope closes.
 */
export const uncaughtException: Effect.Effect<Effect.Effect<never, UncaughtException>, never, Scope.Scope> = Effect.gen(
  function* () {
    const log = yield* logging
    const thrownOnce = yield* Deferred.make<never, UncaughtException>()
    let last = ""
    yield* onProcess("uncaughtException", (thrown) => {
      const because = inWords(thrown)
      // A repeating timer that throws does so until the process ends.
      if (because !== last) log(logEvent("uncaught_exception", { because }, thrown))
      last = because
      Deferred.unsafeDone(thrownOnce, new UncaughtException())
    })
    return Deferred.await(thrownOnce)
  },
)

/**
 * Reports a defect that ends the gateway like an exception outside of Effect. Otherwise the gateway would end without
 * a reason.
 */
export const endedBy = (defect: unknown): Effect.Effect<never, UncaughtException> =>
  Effect.zipRight(logEvent("uncaught_exception", { because: inWords(defect) }, defect), new UncaughtException())

/** A rejected promise that a plugin does not handle must not stop the gateway: it is only reported. */
export const outliveRejections: Effect.Effect<void, never, Scope.Scope> = Effect.gen(function* () {
  const log = yield* logging
  yield* onProcess("unhandledRejection", (reason) => {
    log(logEvent("unhandled_rejection", { because: inWords(reason) }, reason))
  })
})

/** Writes lines from outside of Effect. */
const logging = Effect.map(
  Effect.runtime<never>(),
  (runtime) =>
    (line: Effect.Effect<void>): void =>
      void EffectRuntime.runFork(runtime)(line),
)

const inWords = (thrown: unknown): string =>
  thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown)

/**
 * Ends the process with the exit code of what happened, also when something that a plugin left behind, such as a timer,
 * would keep it running.
 */
export const teardown: Runtime.Teardown = (exit, onExit) =>
  Runtime.defaultTeardown(exit, (code) => onExit(code === 0 ? Number(process.exitCode ?? 0) : code))

/** Keeps the warnings that are logged. */
export const warningsInto = (list: Array<string>): Logger.Logger<unknown, void> =>
  Logger.make(({ logLevel, message }) => {
    if (logLevel === LogLevel.Warning) list.push(String([message].flat()[0]))
  })

const poolVariable = "BUN_CONFIG_MAX_HTTP_REQUESTS"

/** What the operator should know of the runtime, a sentence each. */
export const runtimeWarnings = ({ limits, providers }: GatewayConfig): ReadonlyArray<string> => {
  const pool = Number(process.env[poolVariable] ?? 256)
  const { https, http } = proxiesOf(process.env)
  const proxy = https ?? http
  const isProxied = proxy !== undefined || [...providers.values()].some((provider) => provider.proxy !== null)
  return [
    ...(isProxied && pool < limits.maxInFlight
      ? [
          `Bun calls at most ${pool} hosts at once through a proxy, limits.max_in_flight is ${limits.maxInFlight}: ` +
            `set ${poolVariable}=${Math.max(4096, limits.maxInFlight)} before the process starts, as \`bun start\` does.`,
        ]
      : []),
    ...(proxy === undefined ? [] : ["HTTP_PROXY or HTTPS_PROXY is set: hosts are called through that proxy."]),
  ]
}
