/**
 * Keeps records of the requests of which the ledger says nothing, or not all. The end of a request does no more than put it into a
 * queue; once a second the queue is written. It is bounded: while the database is away or too slow, records are dropped and counted, and
 * no request waits. Refused requests whose caller is not known are only counted. Once a minute the oldest records are removed. See docs/requests.md.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import { dayMs } from "../../domain/keys/limitWindows.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { type RequestEnd, RequestEnds } from "../request/RequestEnds.ts"
import { makeRemovals } from "../request/removals.ts"
import { Streak } from "../storage/Outage.ts"
import type { RequestRepository } from "../storage/requests.ts"
import { type DataAtRest, Storage } from "../storage/Storage.ts"
import type { StorageUnavailable } from "../storage/StorageUnavailable.ts"
import { survivingDefects } from "../storage/survivingDefects.ts"
import { type Recorded, RecordQuota } from "./RecordQuota.ts"
import { isOfUnknown, isRecorded, type KnownEnd, recordOf } from "./requestRecord.ts"
import { UnknownCallers } from "./UnknownCallers.ts"

export interface RecordOptions {
  /** How long records are kept; 0: none are made. */
  readonly days: number
  /** How many are kept. */
  readonly rows: number
}

/** Requests that wait to be written. */
const mostWaiting = 10_000

/** Records of single requests per minute, for one key and one outcome. */
export const mostOfMinute = 600

/** Few, so that the ledger's thread, which writes them too, can settle requests in between. */
const writtenAtOnce = 100
const removedAtOnce = 500

/** Counts of refused requests of unknown callers that are kept: one for each minute, address and status. */
const mostCounts = 100_000

export class RequestRecords extends Context.Tag("headgate/RequestRecords")<
  RequestRecords,
  {
    /** Writes what waits, so that a read after it finds every request that has ended in this process. What cannot be written waits on. */
    readonly flush: Effect.Effect<void>
  }
>() {
  static readonly layer = (options: RecordOptions) => Layer.scoped(RequestRecords, make(options))
}

const make = ({ days, rows }: RecordOptions) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const { subscribe } = yield* RequestEnds
    const clock = yield* Effect.clock
    const writer = new RecordWriter(storage, () => clock.unsafeCurrentTimeMillis())
    const pruning = new Streak()
    const mayRemove = makeRemovals(clock)
    const oldest = () => (mayRemove() ? clock.unsafeCurrentTimeMillis() - days * dayMs : 0)
    const prune = Effect.suspend(() => removeOld(storage.requests, oldest(), days === 0 ? 0 : rows)).pipe(
      Effect.tap(() => Effect.sync(() => pruning.ended())),
      Effect.catchAll(({ message }) => pruning.failed(logEvent("records_not_pruned", { because: message }))),
      survivingDefects("removing old records of requests"),
    )
    // One at a time: a reader's flush waits for the one that runs. Not interrupted, or what it has taken from the queue would be lost.
    const writing = Effect.unsafeMakeSemaphore(1)
    const alone = (flushing: Effect.Effect<void>) =>
      writing.withPermits(1)(Effect.asVoid(Effect.uninterruptible(survivingDefects("records of requests")(flushing))))
    const flush = alone(writer.flush)
    // Added before the fibers start, so that it runs after they have ended.
    yield* Effect.addFinalizer(() => Effect.zipRight(alone(writer.lastFlush), writer.end))
    yield* Effect.forkScoped(Effect.repeat(prune, Schedule.spaced("1 minute")))
    if (days === 0) return RequestRecords.of({ flush: Effect.void })
    yield* Effect.scheduleForked(flush, Schedule.spaced("1 second"))
    yield* subscribe(writer.observe, "of-failures")
    return RequestRecords.of({ flush })
  })

/** Removes a few at a time, so that rows of the ledger are written in between. */
const removeOld = (
  requests: RequestRepository,
  before: number,
  rows: number,
): Effect.Effect<void, StorageUnavailable> => {
  const all = (remove: Effect.Effect<number, StorageUnavailable>) =>
    Effect.repeat(remove, { while: (removed) => removed === removedAtOnce, schedule: Schedule.spaced("50 millis") })
  return Effect.zipRight(
    all(Effect.suspend(() => requests.prune(before, rows, removedAtOnce))),
    all(Effect.suspend(() => requests.pruneUnknown(before, Math.min(rows, mostCounts), removedAtOnce))),
  )
}

class RecordWriter {
  private readonly requests: RequestRepository
  private readonly installation: string
  private readonly now: () => number
  private readonly unknown = new UnknownCallers()
  private readonly quota = new RecordQuota<KnownEnd>(mostOfMinute, ({ outcome, key }) => `${outcome} ${key.id}`)
  private readonly failures = new Streak()
  private waiting: Array<Recorded<KnownEnd>> = []
  /** Requests, since the last line of the log. */
  private dropped = 0

  /** `now`: Unix milliseconds. */
  constructor({ requests, installation }: Pick<DataAtRest, "requests" | "installation">, now: () => number) {
    this.requests = requests
    this.installation = installation
    this.now = now
  }

  /** Called within the end of a request. */
  readonly observe = (end: RequestEnd): void => {
    if (isOfUnknown(end)) this.unknown.count(end.times.receivedAt, end.address, end.status)
    else if (isRecorded(end) && this.quota.admits(end, this.now())) this.put({ end, requests: 1 })
  }

  private put(recorded: Recorded<KnownEnd>): void {
    if (this.waiting.length < mostWaiting) this.waiting.push(recorded)
    else this.dropped += recorded.requests
  }

  /** Writes what waits. */
  readonly flush: Effect.Effect<void> = Effect.gen(this, function* () {
    yield* this.writeAll
    this.failures.ended()
    if (this.dropped > 0) yield* this.logDropped
  }).pipe(Effect.catchAll(({ message }) => this.failures.failed(logEvent("records_not_written", { because: message }))))

  /** What is beyond the bound of a minute that is not over gets its record, too. */
  readonly lastFlush: Effect.Effect<void> = Effect.suspend(() => {
    for (const recorded of this.quota.takeAll()) this.put(recorded)
    return this.flush
  })

  /** What could not be written is lost now. */
  get end(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.dropped += requestsOf(this.waiting)
      this.waiting = []
      return this.dropped > 0 ? this.logDropped : Effect.void
    })
  }

  private get logDropped(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { dropped } = this
      this.dropped = 0
      return logEvent("records_dropped", { dropped })
    })
  }

  private get writeAll(): Effect.Effect<void, StorageUnavailable> {
    return Effect.gen(this, function* () {
      for (const recorded of this.quota.take(this.now())) this.put(recorded)
      while (this.waiting.length > 0) yield* this.writeSome(this.waiting.splice(0, writtenAtOnce))
      if (!this.unknown.isEmpty) yield* this.writeCounts
    })
  }

  private writeSome(some: ReadonlyArray<Recorded<KnownEnd>>): Effect.Effect<void, StorageUnavailable> {
    const records = some.map(({ end, requests }) => recordOf(end, this.installation, requests))
    const bookedIds = some.flatMap(({ end: { hasRow, requestId } }) => (hasRow ? [requestId] : []))
    return Effect.catchAll(this.requests.add(records, bookedIds), (failure) => this.failed(some, failure))
  }

  /** Of a batch that the database refuses, each record is written alone, and lost where that is refused too. After another failure they wait in front of the others. */
  private failed(
    some: ReadonlyArray<Recorded<KnownEnd>>,
    failure: StorageUnavailable,
  ): Effect.Effect<void, StorageUnavailable> {
    return Effect.suspend(() => {
      if (failure.refused !== true) {
        this.waiting = [...some, ...this.waiting]
        return failure
      }
      if (some.length > 1) return Effect.forEach(some, (one) => this.writeSome([one]), { discard: true })
      this.dropped += requestsOf(some)
      return logEvent("record_refused", { because: failure.message })
    })
  }

  private get writeCounts(): Effect.Effect<void, StorageUnavailable> {
    return Effect.suspend(() => {
      const counts = this.unknown.take()
      return Effect.tapError(this.requests.countUnknown(counts), () => Effect.sync(() => this.unknown.putBack(counts)))
    })
  }
}

const requestsOf = (all: ReadonlyArray<Recorded<KnownEnd>>): number =>
  all.reduce((sum, { requests }) => sum + requests, 0)
