/**
 * How many requests a key may make: its own `rate_limit`, and the limits of free models per minute and UTC day. Windows are in
 * memory, where processes share a database with `SharedWindows`; the count of a day is kept in `Storage`. See docs/guarantees.md#g8.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import { RateLimited, Unavailable } from "../../domain/failures/Failure.ts"
import type { KeyId } from "../../domain/ids.ts"
import type { KeyRecord } from "../../domain/keys/key.ts"
import { dayMs, nextReset, windowStart } from "../../domain/keys/limitWindows.ts"
import type { RateLimit } from "../../domain/structures/SlidingWindow.ts"
import { monotonic, type RequestContext } from "../request/RequestContext.ts"
import { makeStepRunner, mapErrorOf, mapOf } from "../request/Steps.ts"
import { orUnavailable, reportTo } from "../storage/ledger.ts"
import { outageOf } from "../storage/Outage.ts"
import type { RateWindow } from "../storage/SharedRepositories.ts"
import { Storage } from "../storage/Storage.ts"
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
  const storage = yield* Storage
  const outage = outageOf(storage)
  const reached = orUnavailable("storage", { outage })
  const registry = yield* ProviderRegistry
  const freeLimits = () => registry.current().billing.freeModels
  const clock = yield* Effect.clock
  const nowMs = monotonic(clock)
  const now = () => clock.unsafeCurrentTimeMillis()
  const runner = makeStepRunner(yield* Effect.runtime<never>())
  const windows =
    storage.shared === undefined ? ownWindows(nowMs) : yield* makeSharedWindows(storage.shared, reportTo(outage))
  /** Requests that are counted already. */
  const counted = new WeakSet<RequestContext>()
  const stored = (key: KeyId): Effect.Effect<FreeCount, Unavailable> =>
    Effect.map(reached(storage.freeRequests.last(key)), (last) => {
      const day = windowStart("daily", now())
      // The day after this one: the clock has stepped back. A later one is of a clock that was wrong.
      return last === undefined || last.day > day + dayMs ? new FreeCount(day, 0) : new FreeCount(last.day, last.used)
    })
  const counts = new FreeCounts(stored)
  const withCount = <A, E>(key: KeyId, use: (count: FreeCount) => Effect.Effect<A, E>) => {
    const known = counts.known(key)
    return known !== undefined ? use(known) : Effect.flatMap(counts.read(key), use)
  }

  const refusal = (scope: RateLimited["scope"], limit: number, waitMs: number) =>
    new RateLimited({
      scope,
      limit,
      resetsAt: Math.ceil(now() + waitMs),
      retryAfterSeconds: Math.ceil(waitMs / 1000),
    })

  /** Counts a request, and succeeds with the time at which it was counted. */
  const counting = (window: RateWindow, limit: RateLimit, scope: RateLimited["scope"]) =>
    mapErrorOf(windows.take(window, limit), (failure) =>
      failure._tag === "UsedUp" ? refusal(scope, limit.requests, failure.waitMs) : storageAway,
    )

  /** Written while the host is called. The database takes it before the request's row, so before its cost is shown. */
  const save = (key: KeyId, count: FreeCount): void => {
    const { day } = count
    const added = 1 + count.unsaved
    count.unsaved = 0
    count.writing += 1
    runner.effect(storage.freeRequests.add(key, day, added), (exit) => {
      count.writing -= 1
      if (Exit.isSuccess(exit)) return
      if (count.day === day) count.unsaved += added
      runner.effect(Effect.logError("requests to free models could not be counted", exit.cause), () => {})
    })
  }

  const freeThisMinute = (key: KeyId): Effect.Effect<number, RateLimited | Unavailable> => {
    const requests = freeLimits().requestsPerMinute
    return requests === 0
      ? uncounted
      : counting({ key, scope: "free" }, { requests, intervalSeconds: 60 }, "free-models-per-min")
  }

  const take = (
    context: RequestContext,
    count: FreeCount | undefined,
  ): Effect.Effect<void, RateLimited | Unavailable> => {
    if (counted.has(context)) return Exit.void
    const { id } = context.key
    const at = now()
    const { requestsPerDay } = freeLimits()
    if (count !== undefined && count.usedAt(at) >= requestsPerDay) {
      const waitMs = (nextReset("daily", Math.max(at, count.day)) ?? at) - at
      return Exit.fail(refusal("free-models-per-day", requestsPerDay, waitMs))
    }
    return mapOf(freeThisMinute(id), () => {
      counted.add(context)
      if (count === undefined) return
      count.used += 1
      save(id, count)
    })
  }

  /** Where other processes count too, the database decides. */
  const takeShared = (context: RequestContext): Effect.Effect<void, RateLimited | Unavailable> => {
    if (counted.has(context)) return Exit.void
    const { id } = context.key
    const at = now()
    const { requestsPerDay } = freeLimits()
    const today = storage.freeRequests.take(id, windowStart("daily", at), requestsPerDay).pipe(
      reached,
      Effect.filterOrFail(
        (isTaken) => isTaken,
        () => refusal("free-models-per-day", requestsPerDay, (nextReset("daily", at) ?? at) - at),
      ),
    )
    return Effect.flatMap(freeThisMinute(id), (countedAt) =>
      today.pipe(
        Effect.tapError(() => Effect.sync(() => windows.untake({ key: id, scope: "free" }, countedAt))),
        Effect.zipRight(Effect.sync(() => counted.add(context))),
        Effect.asVoid,
      ),
    )
  }

  return RequestLimits.of({
    admit: ({ id, rateLimit }) =>
      rateLimit === null ? Exit.void : counting({ key: id, scope: "key" }, rateLimit, "key"),
    takeFree: (context) => {
      if (freeLimits().requestsPerDay === 0) return take(context, undefined)
      if (storage.shared !== undefined) return takeShared(context)
      return withCount(context.key.id, (count) => take(context, count))
    },
    freeToday: (key) => {
      const { requestsPerDay } = freeLimits()
      if (requestsPerDay === 0) return Effect.succeed({ used: 0, limit: -1, remaining: -1 })
      const today = (count: FreeCount) => {
        const used = count.usedAt(now())
        return { used, limit: requestsPerDay, remaining: Math.max(0, requestsPerDay - used) }
      }
      if (storage.shared !== undefined) return Effect.map(stored(key), today)
      return withCount(key, (count) => Effect.succeed(today(count)))
    },
  })
})

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
