/** Worker processes that share a port: started, signalled and stopped by their supervisor. Needs Linux. */
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"
import type { GatewayConfig } from "../../config/GatewayConfig.ts"
import type { Overrides } from "../../config/Overrides.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { OwnTime } from "../../process/mainThread.ts"
import type { Drained } from "../../services/request/InFlight.ts"
import { Ending } from "../Ending.ts"
import { wordsOf } from "../serveFlags.ts"
import { type AskedWorker, type FiguresMessage, FleetFigures, isFiguresMessage } from "./figures.ts"
import { endOf, lookMs, Pulse, type Watched } from "./Pulse.ts"
import { onStopSignal } from "./processEvents.ts"
import { Hangup, OthersToReload, type ReloadOrder } from "./reloads.ts"
import { type Ended, supervise, type Worker, type WorkerFailed } from "./supervise.ts"
import { isDebugged } from "./watchdog.ts"
import { Beat, numberVariable, Serving, Stopped } from "./worker.ts"

interface Child extends Worker, AskedWorker {
  readonly kill: (signal: "SIGTERM" | "SIGINT") => void
  /** Whether it did; one that does not serve yet has read the configuration just now. */
  readonly reload: (order: typeof ReloadOrder.Type) => boolean
  /** Asks it to stop, unless it was asked already, and waits for its end. */
  readonly stop: Effect.Effect<void>
}

/**
 * Runs the gateway as `server.workers` processes with the same flags. Dies when its address cannot be listened on.
 */
export const superviseProcesses = (
  { server, limits }: GatewayConfig,
  overrides: Overrides,
): Effect.Effect<never, WorkerFailed, Hangup> =>
  Effect.gen(function* () {
    const runtime = yield* Effect.runtime<never>()
    const { onHangup } = yield* Hangup
    refuseTakenPort(server)
    const children = new Set<Child>()
    const figures = new FleetFigures()
    const ending = new Ending()
    const stopped: Array<Drained> = []
    const sumOf = (name: keyof Drained) => stopped.reduce((sum, { [name]: count }) => sum + count, 0)
    ending.requests = {
      drained: () => ({ running: sumOf("running"), cut: sumOf("cut") }),
      cut: () => {},
    }
    // Each time, since a second one ends the requests that still run.
    yield* onStopSignal((signal) => {
      ending.begin(signal)
      for (const child of children) child.kill(signal)
    })
    onHangup(() => {
      for (const child of children) if (child.reload({ reload: { isFirst: true } })) return
    })
    const start = (number: number, port: number) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const child = spawn(number, {
            overrides: { ...overrides, port },
            maxInFlight: limits.maxInFlight,
            drainSeconds: server.drainSeconds,
            onStuck: (pid, seconds) => {
              Runtime.runFork(runtime)(logEvent("worker_stuck", { worker: number, seconds, pid }))
            },
            // One that is stopped alone is started again, and says nothing of the end of all.
            onStopped: (drained) => ending.hasBegun && stopped.push(drained),
            onFigures: (message) => figures.received(child, message, children),
            reloadOthers: () => {
              for (const other of children) if (other !== child) other.reload({ reload: { isFirst: false } })
            },
          })
          children.add(child)
          return child
        }),
        (child) =>
          Effect.ensuring(
            child.stop,
            Effect.sync(() => {
              children.delete(child)
              figures.workerEnded(child)
            }),
          ),
      )
    return yield* Effect.ensuring(supervise({ workers: server.workers, port: server.port, start }), ending.write)
  }).pipe(Effect.scoped)

/**
 * Throws when another process listens on the port. The workers would share it without noticing if that process shares it,
 * too: another gateway with workers.
 */
const refuseTakenPort = ({ hostname, port }: GatewayConfig["server"]): void => {
  void Bun.serve({ hostname, port, fetch: () => new Response(null, { status: 503 }) }).stop(true)
}

const program = fileURLToPath(new URL("../../main.ts", import.meta.url))

const isServing = Schema.is(Serving)
const hasReloaded = Schema.is(OthersToReload)
const isStopped = Schema.is(Stopped)
const isBeat = Schema.is(Beat)

const poolVariable = "BUN_CONFIG_MAX_HTTP_REQUESTS"

interface Spawning {
  readonly overrides: Overrides
  readonly maxInFlight: number
  readonly onStopped: (drained: Drained) => void
  /** It is killed, since it does nothing any more. */
  readonly onStuck: (pid: number, seconds: number) => void
  /** How long its requests may run on when it is asked to stop. */
  readonly drainSeconds: number
  readonly onFigures: (message: FiguresMessage) => void
  /** It has reloaded its configuration, and the other workers are to do the same. */
  readonly reloadOthers: () => void
}

const spawn = (
  number: number,
  { overrides, maxInFlight, drainSeconds, onStopped, onStuck, onFigures, reloadOthers }: Spawning,
): Child => {
  const serving = Promise.withResolvers<number>()
  let serves = false
  let asked = false
  const handle = Bun.spawn([process.execPath, ...process.execArgv, program, "serve", ...wordsOf(overrides)], {
    env: {
      [poolVariable]: String(Math.max(4096, maxInFlight)),
      ...process.env,
      [numberVariable]: String(number),
    },
    // Not through the supervisor: a worker whose supervisor was killed still logs how it ends.
    stdio: ["ignore", "inherit", "inherit"],
    ipc: (message) => {
      if (isBeat(message)) return life.beat()
      if (isFiguresMessage(message)) return onFigures(message)
      if (hasReloaded(message)) reloadOthers()
      if (isStopped(message)) onStopped(message)
      if (!isServing(message)) return
      serves = true
      serving.resolve(message.port)
    },
  })
  const kill = (signal: "SIGTERM" | "SIGINT") => {
    asked = true
    handle.kill(signal)
  }
  const life = watchedLife(handle, {
    drainSeconds,
    hasServed: () => serves,
    isStopping: () => asked,
    stuck: (missed) => {
      // A debugger may hold it.
      if (isDebugged()) return
      onStuck(handle.pid, (missed * lookMs) / 1000)
      // Also ends a process that is stopped (SIGSTOP).
      handle.kill("SIGKILL")
    },
  })
  const send = (message: typeof ReloadOrder.Type | FiguresMessage): boolean => {
    if (!serves || life.isOver()) return false
    try {
      handle.send(message)
      return true
    } catch {
      // It has ended, and the runtime has not said so yet.
      return false
    }
  }
  return {
    pid: handle.pid,
    serving: Effect.promise(() => serving.promise),
    ended: life.ended,
    kill,
    reload: (order) => send(order),
    tell: (message) => send(message),
    stop: Effect.suspend(() => {
      if (life.isOver()) return Effect.void
      if (!asked) kill("SIGTERM")
      return Effect.map(life.ended, ({ code }) => {
        // One that is stopped while it starts has nothing to settle, and may not know signals yet.
        if (serves && code !== 0) process.exitCode = code
      })
    }),
  }
}

interface Life extends Omit<Watched, "ownTime" | "ended" | "unnoticed"> {
  readonly drainSeconds: number
}

/** Watches a child until it has ended, whether the runtime says so or not. */
const watchedLife = (handle: Bun.Subprocess, watched: Life) => {
  const over = Promise.withResolvers<Ended>()
  let isOver = false
  const end = (how: Ended) => {
    isOver = true
    clearInterval(looking)
    over.resolve(how)
  }
  const ownTime = new OwnTime(handle.pid)
  const pulse = new Pulse(
    { ...watched, ownTime: (ms) => ownTime.of(ms), ended: () => endOf(handle.pid), unnoticed: end },
    watched.drainSeconds,
  )
  const looking = setInterval(() => pulse.look(), lookMs)
  void handle.exited.then((code) =>
    end({ code, signal: handle.signalCode === null ? null : String(handle.signalCode) }),
  )
  return { beat: () => pulse.beat(), ended: Effect.promise(() => over.promise), isOver: () => isOver }
}
