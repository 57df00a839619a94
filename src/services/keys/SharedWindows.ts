/**
 * Rate limits that several processes share. Each process has a share of a limit's permits and counts requests against that in
 * memory; only a request that finds the share used up waits for the database. Before it is refused, the other processes are
 * asked to give back their shares, so that the database knows when the next permit is free.
 * See docs/decisions/0027-shared-rate-limits.md.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { preferredPermits, RateShare, shareLeaseMs } from "../../domain/keys/RateShare.ts"
import type { RateLimit } from "../../domain/structures/SlidingWindow.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { type EffectRunner, makeEffectRunner, wait } from "../request/EffectRunner.ts"
import { monotonic } from "../request/RequestContext.ts"
import type {
  RateShareRepository,
  RateWindow,
  SharedEvents,
  SharedRepositories,
} from "../storage/SharedRepositories.ts"
import { StorageUnavailable } from "../storage/StorageUnavailable.ts"
import { forEachToItsEnd, survivingDefects } from "../storage/survivingDefects.ts"

/** The limit is used up. */
export interface UsedUp {
  readonly _tag: "UsedUp"
  /** Milliseconds until a request is admitted, if nobody else's is before. */
  readonly waitMs: number
}

export interface SharedWindows {
  /** Counts a request; succeeds with the time of `now` at which it was counted. */
  readonly take: (window: RateWindow, limit: RateLimit) => Effect.Effect<number, UsedUp | StorageUnavailable>
  /** Takes back a request that was counted at this time. */
  readonly untake: (window: RateWindow, at: number) => void
}

/** Milliseconds. */
const lookEveryMs = 1000
const idleMs = 10_000
/** The other processes give back within 50 ms. */
const othersMs = 60
const askAgainMs = 12
const pruneEvery = "1 hour"
/** Names of a share whose statements may still run. */
const mostUncertain = 8
/** Time for giving back all shares at a stop. Those that are left count until they have ended. */
const stopMs = 2000

/** Requests that are remembered of limits without new ones, 8 to 32 bytes each. */
const mostRemembered = 4_000_000

/** For how long no permit is asked for after others had none, in memory: a flood of requests must not reach the database. */
const quietMs = ({ intervalSeconds }: RateLimit): number => Math.min(250, Math.max(25, intervalSeconds * 25))

interface Waiting {
  readonly limit: RateLimit
  readonly resume: (exit: Exit.Exit<number, UsedUp | StorageUnavailable>) => void
}

/** A limit, this process's share of it, and the requests that wait for more. */
class Served {
  readonly window: RateWindow
  readonly share = new RateShare()
  readonly waiting: Array<Waiting> = []
  /** One statement about a share at a time. */
  readonly turn = Effect.unsafeMakeSemaphore(1)
  /**
   * Names of the share in the database, the last one in use. A statement whose connection broke may still run after the next
   * one, so after a failure there is another name, and what the old one has is taken over.
   */
  holders: [string, ...Array<string>] = [crypto.randomUUID()]
  limit: RateLimit
  isServing = false
  isRenewing = false
  others = 0
  /** When a permit is free that is in nobody's share, as far as it is known. */
  freeAt = Number.POSITIVE_INFINITY
  /** Until then nobody is asked for more. */
  quietUntil = Number.NEGATIVE_INFINITY
  usedAt = Number.NEGATIVE_INFINITY

  constructor(window: RateWindow, limit: RateLimit) {
    this.window = window
    this.limit = limit
  }

  get isBusy(): boolean {
    return this.isServing || this.isRenewing || this.waiting.length > 0
  }

  /** Milliseconds until there may be a permit; an interval, where nothing is known of it. */
  waitFor(limit: RateLimit, now: number): number {
    return Math.min(this.share.waitFor(limit, now), this.freeAt - now, limit.intervalSeconds * 1000)
  }

  /** Whether no other process can have a permit, so that this one knows all. */
  hasAll(limit: RateLimit, now: number): boolean {
    return now < this.share.until && this.share.permits >= limit.requests
  }

  /** Admits those that wait, as far as there are permits. Whether there was one. */
  admit(now: number): boolean {
    let isAny = false
    for (let [first] = this.waiting; first !== undefined; [first] = this.waiting) {
      if (!this.share.take(first.limit, now)) break
      this.waiting.shift()
      isAny = true
      first.resume(Exit.succeed(now))
    }
    return isAny
  }

  refuse(now: number): void {
    for (const { limit, resume } of this.waiting.splice(0)) resume(usedUp(Math.max(1, this.waitFor(limit, now))))
  }
}

const usedUp = (waitMs: number) => Exit.fail<UsedUp>({ _tag: "UsedUp", waitMs })

/** Keeps shares until the scope closes, when all are given back. `report` is told of each failure. */
export const makeSharedWindows = (
  { rates, on }: Pick<SharedRepositories, "rates" | "on">,
  report: (failure: StorageUnavailable) => Effect.Effect<void> = ({ message }) =>
    logEvent("database_failed", { text: message }),
): Effect.Effect<SharedWindows, never, Scope.Scope> =>
  Effect.gen(function* () {
    const nowMs = monotonic(yield* Effect.clock)
    const runner = makeEffectRunner(yield* Effect.runtime<never>())
    const windows = new LeasedWindows(rates, report, nowMs, runner)
    yield* on(windows.listener)
    yield* Effect.addFinalizer(() => windows.giveBackAll)
    const look = survivingDefects("shared rate limits")(windows.look)
    yield* Effect.scheduleForked(look, Schedule.spaced(lookEveryMs))
    const prune = survivingDefects("the removal of old shares of rate limits")(Effect.ignore(rates.prune))
    yield* Effect.forkScoped(Effect.repeat(prune, Schedule.spaced(pruneEvery)))
    return windows
  })

class LeasedWindows implements SharedWindows {
  private readonly rates: RateShareRepository
  private readonly report: (failure: StorageUnavailable) => Effect.Effect<void>
  /** Milliseconds of a clock that never steps back. */
  private readonly nowMs: () => number
  private readonly runner: EffectRunner
  private readonly all = new Map<string, Served>()
  private readonly surviving = survivingDefects("a share of a rate limit")
  /** Names this process to the others. */
  private readonly process = crypto.randomUUID()

  constructor(
    rates: RateShareRepository,
    report: (failure: StorageUnavailable) => Effect.Effect<void>,
    nowMs: () => number,
    runner: EffectRunner,
  ) {
    this.rates = rates
    this.report = report
    this.nowMs = nowMs
    this.runner = runner
  }

  readonly listener: SharedEvents = {
    permitsWanted: (window, by) => {
      const served = this.all.get(nameOf(window))
      if (served !== undefined && by !== this.process) this.run(this.giveBack(served))
    },
    // Its limit may be another one.
    keyChanged: (key) => {
      for (const served of this.all.values()) {
        if (served.window.key !== key) continue
        served.quietUntil = Number.NEGATIVE_INFINITY
        this.run(this.giveBack(served))
      }
    },
  }

  take(window: RateWindow, limit: RateLimit): Effect.Effect<number, UsedUp | StorageUnavailable> {
    const served = this.servedOf(window, limit)
    const { share } = served
    const now = served.usedAt
    if (served.waiting.length === 0) {
      if (share.take(limit, now)) {
        if (!served.isRenewing && share.until - now < shareLeaseMs(limit) / 2) this.renew(served)
        return Exit.succeed(now)
      }
      if (served.hasAll(limit, now)) return usedUp(share.waitFor(limit, now))
      const waitMs = served.waitFor(limit, now)
      if (now < served.quietUntil && waitMs > 0) return usedUp(waitMs)
    }
    return wait((resume) => {
      served.waiting.push({ limit, resume })
      this.startServing(served)
    })
  }

  untake(window: RateWindow, at: number): void {
    this.all.get(nameOf(window))?.share.untake(at)
  }

  /** Gives back what was not used for a while. */
  readonly look: Effect.Effect<void> = Effect.suspend(() => {
    const now = this.nowMs()
    let remembered = 0
    const idle: Array<Served> = []
    for (const served of this.all.values()) {
      remembered += served.share.size
      if (served.isBusy || served.usedAt > now - idleMs) continue
      const { share } = served
      // Forgets the requests that are too old to count.
      share.waitFor(served.limit, now)
      if (share.permits === 0 || share.isExact || remembered > mostRemembered) idle.push(served)
    }
    return forEachToItsEnd(idle, (served) =>
      Effect.map(this.giveBack(served), () => {
        if (!served.isBusy && served.usedAt <= now - idleMs) this.all.delete(nameOf(served.window))
      }),
    )
  })

  readonly giveBackAll: Effect.Effect<void> = Effect.suspend(() =>
    Effect.ignore(
      Effect.timeout(
        Effect.interruptible(
          Effect.forEach([...this.all.values()], (served) => this.giveBack(served), { concurrency: 4, discard: true }),
        ),
        stopMs,
      ),
    ),
  )

  private servedOf(window: RateWindow, limit: RateLimit): Served {
    const name = nameOf(window)
    const served = this.all.get(name) ?? new Served(window, limit)
    this.all.set(name, served)
    if (limit.requests !== served.limit.requests) served.quietUntil = Number.NEGATIVE_INFINITY
    served.limit = limit
    served.usedAt = this.nowMs()
    return served
  }

  /** Renews the share and asks for as many permits as requests wait, then admits them. Whether any was admitted then. */
  private readonly ask = (served: Served) =>
    Effect.suspend(() => {
      const { window, share, limit, holders } = served
      served.admit(this.nowMs())
      const needed = served.waiting.length
      if (needed === 0 && !served.isRenewing) return Effect.succeed(false)
      const leaseMs = shareLeaseMs(limit)
      // From before the database is asked, so that the share lasts at least as long there.
      const from = this.nowMs()
      const asked = { holders, have: share.permits, needed, preferred: preferredPermits(limit), limit, leaseMs }
      return Effect.matchEffect(this.rates.take(window, asked), {
        onFailure: (failure) => {
          // Of a long outage the first, which the database has, and the last ones, which it may have.
          served.holders = [holders[0], ...holders.slice(1).slice(-mostUncertain), crypto.randomUUID()]
          return Effect.fail(failure)
        },
        onSuccess: ({ permits, others, freeInMs }) => {
          const now = this.nowMs()
          served.holders = [holders.at(-1) ?? holders[0]]
          share.permits = permits
          share.until = from + leaseMs
          served.others = others
          served.freeAt = freeInMs === null ? Number.POSITIVE_INFINITY : now + freeInMs
          return Effect.succeed(served.admit(now))
        },
      })
    }).pipe(served.turn.withPermits(1))

  /** Others may have begun to wait meanwhile, so it asks until there is no more. */
  private readonly askForAll = (served: Served) =>
    Effect.gen(this, function* () {
      while ((yield* this.ask(served)) && served.waiting.length > 0);
    })

  private readonly askOthers = (served: Served) =>
    Effect.gen(this, function* () {
      yield* this.rates.want(this.process, served.window)
      const until = this.nowMs() + othersMs
      yield* Effect.repeat(Effect.delay(this.askForAll(served), askAgainMs), {
        while: () => served.waiting.length > 0 && served.others > 0 && this.nowMs() < until,
      })
    })

  private readonly serve = (served: Served) =>
    Effect.gen(this, function* () {
      yield* this.askForAll(served)
      if (served.waiting.length > 0 && served.others > 0) yield* this.askOthers(served)
      const now = this.nowMs()
      if (served.waiting.length > 0) served.quietUntil = now + quietMs(served.limit)
      served.refuse(now)
    })

  private readonly startServing = (served: Served): void => {
    if (served.isServing) return
    served.isServing = true
    const failed = (failure: StorageUnavailable) =>
      Effect.zipRight(
        this.report(failure),
        Effect.sync(() => {
          for (const { resume } of served.waiting.splice(0)) resume(Exit.fail(failure))
        }),
      )
    const stopped = Effect.sync(() => {
      served.isServing = false
      if (served.waiting.length > 0) this.startServing(served)
    })
    this.run(
      this.serve(served).pipe(
        Effect.catchAll(failed),
        Effect.catchAllDefect((defect) =>
          Effect.zipRight(
            logEvent("background_defect", { what: "a shared rate limit" }, defect),
            failed(new StorageUnavailable({ reason: "a defect" })),
          ),
        ),
        Effect.ensuring(stopped),
      ),
    )
  }

  private readonly renew = (served: Served): void => {
    served.isRenewing = true
    const stopped = Effect.sync(() => {
      served.isRenewing = false
    })
    this.run(this.ask(served).pipe(Effect.ignore, Effect.ensuring(stopped)))
  }

  private readonly giveBack = (served: Served) =>
    Effect.suspend(() => {
      const { window, share, holders, limit } = served
      if (share.permits === 0 && holders.length === 1) return Effect.void
      const now = this.nowMs()
      served.freeAt = Math.min(served.freeAt, now + share.waitFor(limit, now))
      // First from memory, so that it never has more than the database.
      const counted = share.end(limit, now)
      served.holders = [crypto.randomUUID()]
      return this.rates.giveBack(window, holders, counted)
    }).pipe(Effect.ignore, served.turn.withPermits(1))

  private run(effect: Effect.Effect<unknown>): void {
    this.runner.run(this.surviving(effect), () => {})
  }
}

const nameOf = ({ key, scope }: RateWindow): string => `${scope} ${key}`
