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
import { monotonic } from "../request/RequestContext.ts"
import { makeStepRunner, wait } from "../request/Steps.ts"
import { StorageUnavailable } from "../storage/ledger.ts"
import type { RateWindow, SharedRepositories } from "../storage/SharedRepositories.ts"

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
/** The others give back within 50 ms. */
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
  report: (failure: StorageUnavailable) => Effect.Effect<void> = ({ message }) => Effect.logError(message),
): Effect.Effect<SharedWindows, never, Scope.Scope> =>
  Effect.gen(function* () {
    const nowMs = monotonic(yield* Effect.clock)
    const runner = makeStepRunner(yield* Effect.runtime<never>())
    const all = new Map<string, Served>()
    const process = crypto.randomUUID()
    const run = (effect: Effect.Effect<unknown>) => runner.effect(effect, () => {})

    const servedOf = (window: RateWindow, limit: RateLimit): Served => {
      const name = nameOf(window)
      const served = all.get(name) ?? new Served(window, limit)
      all.set(name, served)
      if (limit.requests !== served.limit.requests) served.quietUntil = Number.NEGATIVE_INFINITY
      served.limit = limit
      served.usedAt = nowMs()
      return served
    }

    /** Renews the share and asks for as many permits as requests wait, then admits them. Whether any was admitted then. */
    const ask = (served: Served) =>
      Effect.suspend(() => {
        const { window, share, limit, holders } = served
        served.admit(nowMs())
        const needed = served.waiting.length
        if (needed === 0 && !served.isRenewing) return Effect.succeed(false)
        const leaseMs = shareLeaseMs(limit)
        // From before the database is asked, so that the share lasts at least as long there.
        const from = nowMs()
        const asked = { holders, have: share.permits, needed, preferred: preferredPermits(limit), limit, leaseMs }
        return Effect.matchEffect(rates.take(window, asked), {
          onFailure: (failure) => {
            // Of a long outage the first, which the database has, and the last ones, which it may have.
            served.holders = [holders[0], ...holders.slice(1).slice(-mostUncertain), crypto.randomUUID()]
            return Effect.fail(failure)
          },
          onSuccess: ({ permits, others, freeInMs }) => {
            const now = nowMs()
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
    const askForAll = (served: Served) =>
      Effect.gen(function* () {
        while ((yield* ask(served)) && served.waiting.length > 0);
      })

    const askOthers = (served: Served) =>
      Effect.gen(function* () {
        yield* rates.want(process, served.window)
        const until = nowMs() + othersMs
        yield* Effect.repeat(Effect.delay(askForAll(served), askAgainMs), {
          while: () => served.waiting.length > 0 && served.others > 0 && nowMs() < until,
        })
      })

    const serve = (served: Served) =>
      Effect.gen(function* () {
        yield* askForAll(served)
        if (served.waiting.length > 0 && served.others > 0) yield* askOthers(served)
        const now = nowMs()
        if (served.waiting.length > 0) served.quietUntil = now + quietMs(served.limit)
        served.refuse(now)
      })

    const startServing = (served: Served): void => {
      if (served.isServing) return
      served.isServing = true
      const failed = (failure: StorageUnavailable) =>
        Effect.zipRight(
          report(failure),
          Effect.sync(() => {
            for (const { resume } of served.waiting.splice(0)) resume(Exit.fail(failure))
          }),
        )
      const stopped = Effect.sync(() => {
        served.isServing = false
        if (served.waiting.length > 0) startServing(served)
      })
      run(
        serve(served).pipe(
          Effect.catchAll(failed),
          Effect.catchAllDefect((defect) =>
            Effect.zipRight(
              Effect.logError("a defect in a shared rate limit", defect),
              failed(new StorageUnavailable({ reason: "a defect" })),
            ),
          ),
          Effect.ensuring(stopped),
        ),
      )
    }

    const renew = (served: Served): void => {
      served.isRenewing = true
      const stopped = Effect.sync(() => {
        served.isRenewing = false
      })
      run(ask(served).pipe(Effect.ignore, Effect.ensuring(stopped)))
    }

    const giveBack = (served: Served) =>
      Effect.suspend(() => {
        const { window, share, holders, limit } = served
        if (share.permits === 0 && holders.length === 1) return Effect.void
        const now = nowMs()
        served.freeAt = Math.min(served.freeAt, now + share.waitFor(limit, now))
        // First from memory, so that it never has more than the database.
        const counted = share.end(limit, now)
        served.holders = [crypto.randomUUID()]
        return rates.giveBack(window, holders, counted)
      }).pipe(Effect.ignore, served.turn.withPermits(1))

    const look = Effect.suspend(() => {
      const now = nowMs()
      let remembered = 0
      const idle: Array<Served> = []
      for (const served of all.values()) {
        remembered += served.share.size
        if (served.isBusy || served.usedAt > now - idleMs) continue
        const { share } = served
        // Forgets the requests that are too old to count.
        share.waitFor(served.limit, now)
        if (share.permits === 0 || share.isExact || remembered > mostRemembered) idle.push(served)
      }
      return Effect.forEach(
        idle,
        (served) =>
          Effect.map(giveBack(served), () => {
            if (!served.isBusy && served.usedAt <= now - idleMs) all.delete(nameOf(served.window))
          }),
        { discard: true },
      )
    })

    yield* on({
      permitsWanted: (window, by) => {
        const served = all.get(nameOf(window))
        if (served !== undefined && by !== process) run(giveBack(served))
      },
      // Its limit may be another one.
      keyChanged: (key) => {
        for (const served of all.values()) {
          if (served.window.key !== key) continue
          served.quietUntil = Number.NEGATIVE_INFINITY
          run(giveBack(served))
        }
      },
    })
    yield* Effect.addFinalizer(() =>
      Effect.ignore(
        Effect.timeout(
          Effect.interruptible(Effect.forEach([...all.values()], giveBack, { concurrency: 4, discard: true })),
          stopMs,
        ),
      ),
    )
    yield* Effect.scheduleForked(look, Schedule.spaced(lookEveryMs))
    yield* Effect.forkScoped(Effect.repeat(Effect.ignore(rates.prune), Schedule.spaced(pruneEvery)))

    return {
      take: (window, limit) => {
        const served = servedOf(window, limit)
        const { share } = served
        const now = served.usedAt
        if (served.waiting.length === 0) {
          if (share.take(limit, now)) {
            if (!served.isRenewing && share.until - now < shareLeaseMs(limit) / 2) renew(served)
            return Exit.succeed(now)
          }
          if (served.hasAll(limit, now)) return usedUp(share.waitFor(limit, now))
          const waitMs = served.waitFor(limit, now)
          if (now < served.quietUntil && waitMs > 0) return usedUp(waitMs)
        }
        return wait((resume) => {
          served.waiting.push({ limit, resume })
          startServing(served)
        })
      },
      untake: (window, at) => all.get(nameOf(window))?.share.untake(at),
    }
  })

const nameOf = ({ key, scope }: RateWindow): string => `${scope} ${key}`
