/** Keeps a number of worker processes running. The caller says how a process is started and stopped (`processes.ts`). */
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as ScheduleDecision from "effect/ScheduleDecision"
import * as ScheduleInterval from "effect/ScheduleInterval"
import type * as Scope from "effect/Scope"
import { logEvent } from "../../process/log/logEvent.ts"

export interface Ended {
  /** Its exit code; 128 and the signal's number when a signal ended it. */
  readonly code: number
  readonly signal: string | null
}

/** A process as its supervisor sees it. */
export interface Worker {
  readonly pid: number
  /** The port that it listens on, as soon as it serves. Never, if it ends before. */
  readonly serving: Effect.Effect<number>
  readonly ended: Effect.Effect<Ended>
}

export interface Supervising {
  /** How many processes. */
  readonly workers: number
  /** 0: any free one, which the first process takes; the others share it. */
  readonly port: number
  /** Starts a process. Closing the scope asks it to stop, and waits for its end. `number`: 1 is the first one ever, none is used twice. */
  readonly start: (number: number, port: number) => Effect.Effect<Worker, never, Scope.Scope>
}

/** The gateway cannot run: a worker could not start, and none serves. That worker has written why. */
export class WorkerFailed extends Data.TaggedError("WorkerFailed")<Ended & { readonly number: number }> {
  override get message() {
    return `worker ${this.number} ${inWords(this)} before it served`
  }
}

const inWords = ({ code, signal }: Ended): string =>
  signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`

/** Exit codes of faults that a new start does not mend: a database of a newer version, a wrong configuration. */
const lasting: ReadonlySet<number> = new Set([65, 78])

/** A process that served for this long, milliseconds, did not end because of how it was started. */
const settledMs = 60_000

const longestPauseMs = 30_000

/** The pause before a process is started again: none, then half a second, twice as long each time, up to half a minute. */
export const pauseMs = (earlyEnds: number): number =>
  earlyEnds === 0 ? 0 : Math.min(longestPauseMs, 500 * 2 ** (earlyEnds - 1))

/** When a process is started again that has served for so many milliseconds. The state counts those in a row that ended early. */
const restarts = Schedule.makeWithState(0, (now, servedMs: number, earlyEnds) => {
  const early = servedMs >= settledMs ? 0 : earlyEnds + 1
  const at = ScheduleInterval.after(now + pauseMs(early))
  return Effect.succeed([early, early, ScheduleDecision.continueWith(at)] as const)
})

/**
 * Starts the first process, the others when it serves, and each again when it has ended. Fails when the first one ends before
 * it serves; later when one cannot start, for a lasting reason, while no other serves. Stops all of them when it ends itself.
 */
export const supervise = ({ workers, port, start }: Supervising): Effect.Effect<never, WorkerFailed> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const firstServes = yield* Deferred.make<void>()
    let sharedPort = port
    let started = 0
    let serving = 0

    const startFailed = Effect.fnUntraced(function* (number: number, ended: Ended) {
      const failed = new WorkerFailed({ number, ...ended })
      const isFirst = !(yield* Deferred.isDone(firstServes))
      if (isFirst || (serving === 0 && lasting.has(ended.code))) return yield* failed
      yield* logEvent("worker_failed", { worker: number, how: `${inWords(ended)} before it served`, code: ended.code })
    })

    /** One process from its start to its end. Returns for how many milliseconds it served. */
    const runOne = Effect.fnUntraced(function* (number: number) {
      const { pid, ...worker } = yield* start(number, sharedPort)
      yield* Effect.annotateLogsScoped({ worker: number, pid })
      const listening = yield* Effect.raceFirst(worker.serving, Effect.asVoid(worker.ended))
      if (listening === undefined) {
        yield* startFailed(number, yield* worker.ended)
        return 0
      }
      const since = clock.unsafeCurrentTimeMillis()
      sharedPort = listening
      serving += 1
      yield* logEvent("worker_serves", { worker: number })
      yield* Deferred.succeed(firstServes, undefined)
      const ended = yield* Effect.onExit(worker.ended, () => Effect.sync(() => serving--))
      const event = ended.code === 0 ? "worker_ended" : "worker_failed"
      yield* logEvent(event, { worker: number, how: inWords(ended), code: ended.code })
      return clock.unsafeCurrentTimeMillis() - since
    }, Effect.scoped)

    /** A process, and after it another one, for ever. */
    const keepOne = Effect.repeat(
      Effect.suspend(() => runOne(++started)),
      restarts,
    )

    const others = Array.from({ length: workers - 1 }, () => Effect.zipRight(Deferred.await(firstServes), keepOne))
    yield* Effect.all([keepOne, ...others], { concurrency: "unbounded", discard: true })
    return yield* Effect.never
  })
