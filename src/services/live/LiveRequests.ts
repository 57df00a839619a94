/**
 * Which requests run, in all processes that use the database, and how one of them is stopped. Its caller gets 403, or that as an event of
 * its stream, and is charged for what came before. See docs/guarantees.md#g5.
 */
import { hostname } from "node:os"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import { NotPermitted, Unavailable } from "../../domain/failures/Failure.ts"
import { isRequestId } from "../../domain/ids.ts"
import { Meter } from "../money/Meter.ts"
import { InFlight } from "../request/InFlight.ts"
import type { Lifetime } from "../request/RequestContext.ts"
import { outageOf } from "../storage/Outage.ts"
import { Storage } from "../storage/Storage.ts"
import { reportTo } from "../storage/StorageUnavailable.ts"
import {
  decodeRequests,
  encodeRequests,
  type LiveRequest,
  type ProcessRequests,
  type RunningRequest,
  runningRequest,
} from "./liveRequest.ts"
import { OtherProcesses } from "./OtherProcesses.ts"

export interface LiveList {
  /** The oldest first. */
  readonly requests: ReadonlyArray<LiveRequest>
  /** Whether every process has answered, and with all of its requests. */
  readonly isComplete: boolean
}

/** The most requests that are listed of one process: the oldest. */
const mostOfProcess = 1000

/** How long answers are waited for, milliseconds. A stop waits longer, since a process hears of it within two seconds for certain. */
const listedWithinMs = 1000
const stoppedWithinMs = 5000

const stopped = new NotPermitted({ rule: "The operator of the gateway stopped this request.", by: "stop" })

/** What a process answers to a stop. */
const done = "stopped"
const notHere = "unknown"

export class LiveRequests extends Context.Tag("headgate/LiveRequests")<
  LiveRequests,
  {
    readonly list: Effect.Effect<LiveList>
    /**
     * Ends a request; `false`: none with this id runs. One whose answer is complete is booked as it is. Fails where it does not run here and
     * a process that may have it has not answered.
     */
    readonly stop: (requestId: string) => Effect.Effect<boolean, Unavailable>
  }
>() {
  static readonly layer: Layer.Layer<LiveRequests, never, InFlight | Meter | Storage> = Layer.scoped(
    LiveRequests,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const inFlight = yield* InFlight
  const storage = yield* Storage
  const { process: id } = yield* Meter
  const clock = yield* Effect.clock
  const scope = yield* Effect.scope
  const report = reportTo(outageOf(storage))
  const name = `${hostname()}:${process.pid}`
  const oneAtATime = yield* Effect.makeSemaphore(1)

  const runningHere = (): ProcessRequests => {
    const now = clock.unsafeCurrentTimeMillis()
    const all: Array<RunningRequest> = []
    inFlight.each((lifetime, ageMs) => {
      const found = runningRequest(lifetime, ageMs, now, name)
      if (found !== undefined) all.push(found)
    })
    const oldest = all.toSorted(byAge)
    return { requests: oldest.slice(0, mostOfProcess), isCut: oldest.length > mostOfProcess }
  }

  const stopHere = (requestId: string): boolean => {
    let found: Lifetime | undefined
    inFlight.each((lifetime) => {
      if (lifetime.request?.requestId === requestId) found = lifetime
    })
    found?.end(stopped)
    return found !== undefined
  }

  const others =
    storage.shared &&
    id &&
    (yield* OtherProcesses.make(storage.shared, id, (stop) => {
      if (stop === null) return encodeRequests(runningHere())
      return stopHere(stop) ? done : notHere
    }))

  const asked = (): Effect.Effect<LiveList> => {
    if (others === undefined) return Effect.sync(() => listOf(runningHere(), [], true))
    return others.ask({ stop: null, withinMs: listedWithinMs, isEnough: () => false }).pipe(
      Effect.catchAll((failure) => Effect.as(report(failure), { contents: [], isComplete: false })),
      Effect.map(({ contents, isComplete }) => listOf(runningHere(), contents, isComplete)),
    )
  }

  /** The answer to the next question. Whoever asks while one runs waits for the next: the running one may lack requests that began since. */
  let next: Deferred.Deferred<LiveList> | undefined
  const list = Effect.suspend(() => {
    if (next !== undefined) return Deferred.await(next)
    const mine = Deferred.unsafeMake<LiveList>(FiberId.none)
    next = mine
    const question = Effect.suspend(() => {
      next = undefined
      return asked()
    })
    const answered = Effect.intoDeferred(oneAtATime.withPermits(1)(question), mine)
    // Not in the caller's fiber: it may leave while others wait for the same answer.
    return Effect.zipRight(Effect.forkIn(answered, scope), Deferred.await(mine))
  })

  const stop = (requestId: string): Effect.Effect<boolean, Unavailable> => {
    if (stopHere(requestId)) return Effect.succeed(true)
    if (others === undefined || !isRequestId(requestId)) return Effect.succeed(false)
    const asking = { stop: requestId, withinMs: stoppedWithinMs, isEnough: (content: string) => content === done }
    return others.ask(asking).pipe(
      Effect.catchAll((failure) => Effect.zipRight(report(failure), Effect.fail(notAnswered))),
      Effect.flatMap(({ contents, isComplete }) => {
        if (contents.includes(done)) return Effect.succeed(true)
        return isComplete ? Effect.succeed(false) : Effect.fail(silent)
      }),
    )
  }

  return LiveRequests.of({ list, stop })
})

const silent = new Unavailable({ why: "processes", retryAfterSeconds: 5 })
const notAnswered = new Unavailable({ why: "storage", retryAfterSeconds: 5 })

const byAge = (a: RunningRequest, b: RunningRequest): number =>
  a.createdAt - b.createdAt || (a.requestId < b.requestId ? -1 : a.requestId > b.requestId ? 1 : 0)

const listOf = (here: ProcessRequests, contents: ReadonlyArray<string>, isComplete: boolean): LiveList => {
  const others = contents.map(decodeRequests)
  const there = others.flatMap((running) => running?.requests ?? [])
  return {
    requests: [
      ...here.requests.map((one) => ({ ...one, isHere: true })),
      ...there.map((one) => ({ ...one, isHere: false })),
    ].toSorted(byAge),
    isComplete: isComplete && !here.isCut && others.every((running) => running !== undefined && !running.isCut),
  }
}
