/** Rate limits that processes share in PostgreSQL: never more than the limit, and all of it can be used. docs/guarantees.md#g8 */
import { afterAll, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { RateLimit } from "../../../src/domain/structures/SlidingWindow.ts"
import { makeSharedWindows, type UsedUp } from "../../../src/services/keys/SharedWindows.ts"
import type {
  RateShareRepository,
  RateWindow,
  SharedRepositories,
} from "../../../src/services/storage/SharedRepositories.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { openDatabase } from "../../../src/sql/postgres/postgresDatabase.ts"
import { until } from "../../support/clocks/until.ts"
import { connect, describePostgres, makeDatabase, redactedUrlOf } from "../../support/storage/postgres.ts"
import { sampleKey } from "../samples.ts"

const closing: Array<() => unknown> = []
afterAll(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const run = Effect.runPromise

const broken = new StorageUnavailable({ reason: "broken" })

const scoped = () => {
  const scope = Effect.runSync(Scope.make())
  const close = () => run(Scope.close(scope, Exit.void))
  closing.push(close)
  return { scope, close }
}

const opened = async (database: string): Promise<SharedRepositories> => {
  const { scope } = scoped()
  const { shared } = await run(
    Scope.extend(openDatabase({ url: redactedUrlOf(database), durability: "process" }), scope),
  )
  return shared ?? expect.unreachable()
}

let keys = 0
const newWindow = (): RateWindow => ({ key: sampleKey(`${keys++}`.padStart(64, "0")).id, scope: "key" })

type Outcome = Either.Either<number, UsedUp | StorageUnavailable>

/** A process over the database. `stop` gives back, `kill` does not: its statements are lost from then on. */
const startProcess = async ({ rates, on }: SharedRepositories) => {
  const { scope, close } = scoped()
  const state = { isKilled: false, statements: 0 }
  const lost = <A>(effect: Effect.Effect<A, StorageUnavailable>) =>
    Effect.suspend(() => {
      state.statements += 1
      return state.isKilled ? Effect.never : effect
    })
  const watched: RateShareRepository = {
    take: (...asked) => lost(rates.take(...asked)),
    giveBack: (...given) => lost(rates.giveBack(...given)),
    want: (...wanted) => lost(rates.want(...wanted)),
    prune: rates.prune,
  }
  const windows = await run(Scope.extend(makeSharedWindows({ rates: watched, on }), scope))
  const take = (window: RateWindow, limit: RateLimit): Promise<Outcome> =>
    run(Effect.either(windows.take(window, limit)))
  return {
    ...{ state, take, windows },
    burst: (count: number, window: RateWindow, limit: RateLimit) =>
      Promise.all(Array.from({ length: count }, () => take(window, limit))),
    stop: close,
    kill: () => {
      state.isKilled = true
    },
  }
}

const admitted = (outcomes: ReadonlyArray<Outcome>): ReadonlyArray<number> =>
  outcomes.filter(Either.isRight).map(({ right }) => right)

interface Process {
  readonly take: (window: RateWindow, limit: RateLimit) => Promise<Outcome>
}

/**
 * A request that is admitted when the other processes have given back what they had: one that stood still for a moment does so too late
 * for a request that was refused meanwhile.
 */
const admittedAtLast = (process: Process, window: RateWindow, limit: RateLimit): Promise<void> =>
  until(async () => Either.isRight(await process.take(window, limit)), "a permit")

const waitOf = (outcome: Outcome | undefined): number => {
  if (outcome === undefined || Either.isRight(outcome) || outcome.left._tag !== "UsedUp") return expect.unreachable()
  return outcome.left.waitMs
}

/** The most that were admitted in any interval. */
const mostWithin = (times: ReadonlyArray<number>, intervalMs: number): number => {
  const sorted = times.toSorted((a, b) => a - b)
  let most = 0
  for (let from = 0, to = 0; to < sorted.length; to++) {
    while ((sorted[from] ?? 0) <= (sorted[to] ?? 0) - intervalMs) from += 1
    most = Math.max(most, to - from + 1)
  }
  return most
}

describePostgres("a rate limit of several processes", () => {
  const both = async () => {
    const database = await makeDatabase()
    const client = await connect(database)
    closing.push(() => client.end())
    const storages = await Promise.all([opened(database), opened(database)])
    const [first, second] = await Promise.all(storages.map(startProcess))
    if (first === undefined || second === undefined) return expect.unreachable()
    return { database, client, storages, first, second }
  }
  const started = both()
  const minute = { requests: 40, intervalSeconds: 60 }

  test("a burst at all of them, and one at each alone, is admitted up to the limit", async () => {
    const { first, second } = await started
    const atOnce: Array<boolean> = []
    for (const requests of [1, 2, 3, 10, 40, 500]) {
      const limit = { requests, intervalSeconds: 60 }
      const evenly = newWindow()
      const outcomes = await Promise.all([
        first.burst(requests + 5, evenly, limit),
        second.burst(requests + 5, evenly, limit),
      ])
      const count = admitted(outcomes.flat()).length
      atOnce.push(count === requests)
      expect(count).toBeLessThanOrEqual(requests)
      for (let at = count; at < requests; at++) await admittedAtLast(at % 2 === 0 ? first : second, evenly, limit)
      for (const process of [first, second]) expect(admitted(await process.burst(5, evenly, limit))).toEqual([])
      const alone = newWindow()
      expect(admitted(await second.burst(requests + 5, alone, limit))).toHaveLength(requests)
      expect(Either.isLeft(await first.take(alone, limit))).toBe(true)
    }
    // Not only in the end: unless the machine stands still in each of them.
    expect(atOnce).toContain(true)
  })

  test("is used up by requests in turn, one here and one there", async () => {
    const { first, second } = await started
    const window = newWindow()
    for (let at = 0; at < minute.requests; at++) await admittedAtLast(at % 2 === 0 ? first : second, window, minute)
    expect([await first.take(window, minute), await second.take(window, minute)].map(Either.isLeft)).toEqual([
      true,
      true,
    ])
  })

  test("most requests do not reach the database, and refused ones no more than a few times", async () => {
    const { first, second } = await started
    const window = newWindow()
    const limit = { requests: 1000, intervalSeconds: 60 }
    await second.take(window, limit)
    let statements = 0
    for (let at = 0; at < 999; at++) {
      const before = first.state.statements
      const isTaken = Either.isRight(await first.take(window, limit))
      statements += first.state.statements - before
      // What the other process holds comes back once it has heard that it is wanted.
      if (!isTaken) await admittedAtLast(first, window, limit)
    }
    expect(statements).toBeLessThan(40)
    expect(Either.isLeft(await first.take(window, limit))).toBe(true)
    const refusedFrom = first.state.statements
    const refusals = await Promise.all(Array.from({ length: 1000 }, () => first.take(window, limit)))
    expect(refusals.every(Either.isLeft)).toBe(true)
    expect(first.state.statements - refusedFrom).toBeLessThan(20)
  })

  test("whoever waits as long as it was told is admitted; in no interval are there more than the limit", async () => {
    const { storages, second } = await started
    const [first, third] = await Promise.all([0, 1].map((at) => startProcess(storages[at] ?? expect.unreachable())))
    if (first === undefined || third === undefined) return expect.unreachable()
    const limit = { requests: 12, intervalSeconds: 1 }
    const window = newWindow()
    const times: Array<number> = []
    const waited: Array<boolean> = []
    const caller = async (process: typeof first, rounds: number, isAlone: boolean) => {
      for (let round = 0; round < rounds; round++) {
        const outcome = await process.take(window, limit)
        if (Either.isRight(outcome)) {
          times.push(outcome.right)
          if (isAlone) waited.push(true)
          continue
        }
        if (isAlone) waited.push(false)
        await Bun.sleep(Math.ceil(waitOf(outcome)))
      }
    }
    await Promise.all(
      [first, second, third].flatMap((process) => Array.from({ length: 8 }, () => caller(process, 4, false))),
    )
    // Nobody else asks now, or has a share that it could give back too late.
    await Promise.all([first.stop(), third.stop()])
    await caller(second, 20, true)
    expect(mostWithin(times, 1000)).toBeLessThanOrEqual(12)
    expect(waited.some((isAdmitted, at) => !isAdmitted && waited[at + 1] === false)).toBe(false)
  })

  test("what a killed process had is free an interval after its share has ended", async () => {
    const { storages, second } = await started
    const limit = { requests: 10, intervalSeconds: 1 }
    const afterKill = async () => {
      const killed = await startProcess(storages[0] ?? expect.unreachable())
      const window = newWindow()
      expect(admitted(await killed.burst(2, window, limit))).toHaveLength(2)
      killed.kill()
      return { window, left: await second.burst(11, window, limit) }
    }
    let { window, left } = await afterKill()
    // Where the machine stood still for as long as the share counts, it says nothing of it.
    for (let tries = 1; tries < 10 && admitted(left).length >= 9; tries++) ({ window, left } = await afterKill())
    expect(admitted(left).length).toBeLessThan(9)
    const waitMs = Math.max(...left.filter(Either.isLeft).map(waitOf))
    expect(waitMs).toBeLessThanOrEqual(1250)
    await Bun.sleep(1250)
    expect(admitted(await second.burst(11, window, limit))).toHaveLength(10)
  })

  test("a process that stops leaves what it counted, and no more", async () => {
    const { storages, second } = await started
    const stopped = await startProcess(storages[0] ?? expect.unreachable())
    const window = newWindow()
    expect(admitted(await stopped.burst(7, window, minute))).toHaveLength(7)
    await stopped.stop()
    expect(admitted(await second.burst(50, window, minute))).toHaveLength(33)
  })

  test("a limit that was lowered holds for what was counted before", async () => {
    const { client, first, second } = await started
    const window = newWindow()
    expect(admitted(await first.burst(20, window, minute))).toHaveLength(20)
    expect(admitted(await second.burst(5, window, { ...minute, requests: 10 }))).toHaveLength(0)
    const raised = { ...minute, requests: 23 }
    for (let at = 0; at < 3; at++) await admittedAtLast(second, window, raised)
    expect(admitted(await second.burst(5, window, raised))).toHaveLength(0)
    const { rows } = await client.query("SELECT SUM(requests)::int AS n FROM headgate.rate_uses WHERE key_id = $1", [
      window.key,
    ])
    expect(rows[0]?.n).toBe(20)
  })

  test("one whose statement broke goes on with what it had", async () => {
    const { storages, second } = await started
    const storage = storages[0] ?? expect.unreachable()
    let breaks = false
    const rates: RateShareRepository = {
      ...storage.rates,
      // The server has carried it out, and its answer is lost.
      take: (...asked) => Effect.tap(storage.rates.take(...asked), () => (breaks ? Effect.fail(broken) : Effect.void)),
    }
    const process = await startProcess({ ...storage, rates })
    const window = newWindow()
    expect(admitted(await process.burst(3, window, minute))).toHaveLength(3)
    breaks = true
    const failed = await process.burst(30, window, minute)
    expect(failed.filter(Either.isLeft).map(({ left }) => left._tag)).toContain("StorageUnavailable")
    breaks = false
    const before = 3 + admitted(failed).length
    expect(admitted(await process.burst(50, window, minute))).toHaveLength(40 - before)
    expect(Either.isLeft(await second.take(window, minute))).toBe(true)
  })
})
