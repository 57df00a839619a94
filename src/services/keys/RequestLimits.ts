/**
 * How many requests a key may make: its own `rate_limit`, and the limits of free models per minute and UTC day. Windows are in
 * memory; where several processes share a database, `SharedWindows` divides them. The count of a day is kept in `Storage`. See
 * docs/guarantees.md#g8.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { type ConfigInForce, ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import { RateLimited, Unavailable } from "../../domain/failures/Failure.ts"
import type { KeyId } from "../../domain/ids.ts"
import type { KeyRecord } from "../../domain/keys/key.ts"
import { dayMs, nextReset, windowStart } from "../../domain/keys/limitWindows.ts"
import type { RateLimit } from "../../domain/structures/SlidingWindow.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { type EffectRunner, makeEffectRunner, mapErrorOf, mapOf } from "../request/EffectRunner.ts"
import { monotonic, type RequestContext } from "../request/RequestContext.ts"
import { outageOf } from "../storage/Outage.ts"
import type { RateWindow } from "../storage/SharedRepositories.ts"
import { type FreeRequestRepository, Storage } from "../storage/Storage.ts"
import { orUnavailable, reportTo } from "../storage/StorageUnavailable.ts"
import { FreeCount, FreeCounts } from "./FreeCounts.ts"
import { KeyWindows } from "./KeyWindows.ts"
import { makeSharedWindows, type SharedWindows } from "./SharedWindows.ts"

/** A key's requests to free models on the current UTC day. Without a limit nothing is counted, and the others are -1. */
export interface FreeRequests {
  readonly used: number
  readonly limit: number
  readonly remaining: number
}

/** What a call asks. */
export interface FreeRequestLimit {
  /**
   * Counts a request that is about to call a free host (`countsAsFree`). It counts once, however many hosts it tries and
   * whatever becomes of it; a refused one does not count.
   */
  readonly takeFree: (context: RequestContext) => Effect.Effect<void, RateLimited | Unavailable>
}

export class RequestLimits extends Context.Tag("headgate/RequestLimits")<
  RequestLimits,
  FreeRequestLimit & {
    /** Counts a request against the key's own limit. A refused one does not count. */
    readonly admit: (key: KeyRecord) => Effect.Effect<unknown, RateLimited | Unavailable>
    readonly freeToday: (key: KeyId) => Effect.Effect<FreeRequests, Unavailable>
  }
>() {
  static readonly layer: Layer.Layer<RequestLimits, never, ProviderRegistry | Storage> = Layer.scoped(
    RequestLimits,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const registry = yield* ProviderRegistry
  const storage = yield* Storage
  const outage = outageOf(storage)
  const clock = yield* Effect.clock
  const nowMs = monotonic(clock)
  const { shared } = storage
  const requests = new CountedRequests({
    registry,
    freeRequests: storage.freeRequests,
    reached: orUnavailable("storage", { outage }),
    windows: shared === undefined ? ownWindows(nowMs) : yield* makeSharedWindows(shared, reportTo(outage)),
    isShared: shared !== undefined,
    runner: makeEffectRunner(yield* Effect.runtime<never>()),
    now: () => clock.unsafeCurrentTimeMillis(),
  })
  return RequestLimits.of({
    admit: (key) => requests.admit(key),
    takeFree: (context) => requests.takeFree(context),
    freeToday: (key) => requests.freeToday(key),
  })
})

interface CountServices {
  readonly registry: ConfigInForce
  readonly freeRequests: FreeRequestRepository
  readonly reached: ReturnType<typeof orUnavailable>
  readonly windows: SharedWindows
  /** Whether other processes count in the same database. Then it decides. */
  readonly isShared: boolean
  readonly runner: EffectRunner
  /** Unix milliseconds. */
  readonly now: () => number
}

class CountedRequests {
  private readonly services: CountServices
  /** Of this UTC day, where this process alone counts. */
  private readonly counts = new FreeCounts((key) => this.stored(key))
  /** Requests to free hosts that are counted already. */
  private readonly counted = new WeakSet<RequestContext>()

  constructor(services: CountServices) {
    this.services = services
  }

  admit({ id, rateLimit }: KeyRecord): Effect.Effect<unknown, RateLimited | Unavailable> {
    return rateLimit === null ? Exit.void : this.counting({ key: id, scope: "key" }, rateLimit, "key")
  }

  takeFree(context: RequestContext): Effect.Effect<void, RateLimited | Unavailable> {
    if (this.limits.requestsPerDay === 0) return this.takeCounted(context, undefined)
    if (this.services.isShared) return this.takeShared(context)
    return this.withCount(context.key.id, (count) => this.takeCounted(context, count))
  }

  freeToday(key: KeyId): Effect.Effect<FreeRequests, Unavailable> {
    const { requestsPerDay } = this.limits
    if (requestsPerDay === 0) return Effect.succeed({ used: 0, limit: -1, remaining: -1 })
    const today = (count: FreeCount) => {
      const used = count.usedAt(this.services.now())
      return { used, limit: requestsPerDay, remaining: Math.max(0, requestsPerDay - used) }
    }
    if (this.services.isShared) return Effect.map(this.stored(key), today)
    return this.withCount(key, (count) => Effect.succeed(today(count)))
  }

  private get limits() {
    return this.services.registry.current().billing.freeModels
  }

  private stored(key: KeyId): Effect.Effect<FreeCount, Unavailable> {
    const { reached, freeRequests, now } = this.services
    return Effect.map(reached(freeRequests.last(key)), (last) => {
      const day = windowStart("daily", now())
      // The day after this one: the clock has stepped back. A later one is of a clock that was wrong.
      return last === undefined || last.day > day + dayMs ? new FreeCount(day, 0) : new FreeCount(last.day, last.used)
    })
  }

  private withCount<A, E>(
    key: KeyId,
    use: (count: FreeCount) => Effect.Effect<A, E>,
  ): Effect.Effect<A, E | Unavailable> {
    const known = this.counts.known(key)
    return known !== undefined ? use(known) : Effect.flatMap(this.counts.read(key), use)
  }

  /** `count`: of the day; `undefined`: the day has no limit. */
  private takeCounted(
    context: RequestContext,
    count: FreeCount | undefined,
  ): Effect.Effect<void, RateLimited | Unavailable> {
    if (this.counted.has(context)) return Exit.void
    const { id } = context.key
    const at = this.services.now()
    const { requestsPerDay } = this.limits
    if (count !== undefined && count.usedAt(at) >= requestsPerDay) {
      const waitMs = (nextReset("daily", Math.max(at, count.day)) ?? at) - at
      return Exit.fail(this.refusal("free-models-per-day", requestsPerDay, waitMs))
    }
    return mapOf(this.freeThisMinute(id), () => {
      this.counted.add(context)
      if (count === undefined) return
      count.used += 1
      this.save(id, count)
    })
  }

  private takeShared(context: RequestContext): Effect.Effect<void, RateLimited | Unavailable> {
    if (this.counted.has(context)) return Exit.void
    const { freeRequests, reached, windows, now } = this.services
    const { id } = context.key
    const at = now()
    const { requestsPerDay } = this.limits
    const today = freeRequests.take(id, windowStart("daily", at), requestsPerDay).pipe(
      reached,
      Effect.filterOrFail(
        (isTaken) => isTaken,
        () => this.refusal("free-models-per-day", requestsPerDay, (nextReset("daily", at) ?? at) - at),
      ),
    )
    return Effect.flatMap(this.freeThisMinute(id), (countedAt) =>
      today.pipe(
        Effect.tapError(() => Effect.sync(() => windows.untake({ key: id, scope: "free" }, countedAt))),
        Effect.zipRight(Effect.sync(() => this.counted.add(context))),
        Effect.asVoid,
      ),
    )
  }

  private freeThisMinute(key: KeyId): Effect.Effect<number, RateLimited | Unavailable> {
    const requests = this.limits.requestsPerMinute
    return requests === 0
      ? uncounted
      : this.counting({ key, scope: "free" }, { requests, intervalSeconds: 60 }, "free-models-per-min")
  }

  /** Counts a request, and succeeds with the time at which it was counted. */
  private counting(
    window: RateWindow,
    limit: RateLimit,
    scope: RateLimited["scope"],
  ): Effect.Effect<number, RateLimited | Unavailable> {
    return mapErrorOf(this.services.windows.take(window, limit), (failure) =>
      failure._tag === "UsedUp" ? this.refusal(scope, limit.requests, failure.waitMs) : storageAway,
    )
  }

  private refusal(scope: RateLimited["scope"], limit: number, waitMs: number): RateLimited {
    const resetsAt = Math.ceil(this.services.now() + waitMs)
    return new RateLimited({ scope, limit, resetsAt, retryAfterSeconds: Math.ceil(waitMs / 1000) })
  }

  /** Written while the host is called. The database takes it before the request's row, so before its cost is shown. */
  private save(key: KeyId, count: FreeCount): void {
    const { runner, freeRequests } = this.services
    const { day } = count
    const added = 1 + count.unsaved
    count.unsaved = 0
    count.writing += 1
    runner.run(freeRequests.add(key, day, added), (exit) => {
      count.writing -= 1
      if (Exit.isSuccess(exit)) return
      if (count.day === day) count.unsaved += added
      runner.run(logEvent("free_requests_not_counted", {}, exit.cause), () => {})
    })
  }
}

const storageAway = new Unavailable({ why: "storage", retryAfterSeconds: 5 })

const uncounted = Exit.succeed(0)

/** Windows of a process that has its data for itself. */
const ownWindows = (nowMs: () => number): SharedWindows => {
  const windows = new KeyWindows()
  return {
    take: ({ key, scope }, limit) => {
      const name = `${scope} ${key}`
      const at = nowMs()
      const waitMs = windows.waitFor(name, limit, at)
      if (waitMs > 0) return Exit.fail({ _tag: "UsedUp", waitMs })
      windows.add(name, at)
      return Exit.succeed(at)
    },
    untake: ({ key, scope }, at) => windows.remove(`${scope} ${key}`, at),
  }
}
