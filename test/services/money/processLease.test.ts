/** The lease of a process on a shared database, under a clock that the test advances. docs/guarantees.md#g1 and #g2 */
import { expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import { isJsonObject } from "../../../src/domain/json/json.ts"
import { makeProcessLease } from "../../../src/services/money/ProcessLease.ts"
import type { SharedRepositories } from "../../../src/services/storage/SharedRepositories.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import { gatewayWithoutSocket } from "../../support/gateways/gateway.ts"
import { lastingStorage } from "../../support/storage/lastingStorage.ts"
import { unaskedLive, unusedRates } from "../../support/storage/rates.ts"

/** Leases by the test's clock, in a database that can be away. */
const leasesIn = (clock: ManualClock) => {
  const ends = new Map<string, number>()
  /** `answers`: answers come once it is resolved. */
  const state: { isAway: boolean; answers: Promise<void> | undefined } = { isAway: false, answers: undefined }
  const asked = <A>(answer: () => A) =>
    Effect.suspend(() => {
      if (state.isAway) return Effect.fail(new StorageUnavailable({ reason: "away" }))
      const answered = answer()
      return Effect.promise(async () => {
        await state.answers
        return answered
      })
    })
  const until = (forMs: number) => clock.unsafeCurrentTimeMillis() + forMs
  const leases: SharedRepositories["leases"] = {
    take: (process, forMs) => asked(() => void ends.set(process, until(forMs))),
    renew: (process, forMs) =>
      asked(() => {
        if ((ends.get(process) ?? 0) <= clock.unsafeCurrentTimeMillis()) return false
        ends.set(process, until(forMs))
        return true
      }),
    end: (process) => asked(() => void ends.delete(process)),
    clear: asked(() => {}),
  }
  return { state, ends, leases }
}

const pass = async (clock: ManualClock, seconds: number, stepMs = 1000): Promise<void> => {
  for (let passed = 0; passed < seconds * 1000; passed += stepMs) {
    clock.advance(stepMs)
    for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
}

const held = async () => {
  const clock = new ManualClock()
  const { state, ends, leases } = leasesIn(clock)
  let lost = 0
  const scope = Effect.runSync(Scope.make())
  const events: Array<Readonly<Record<string, unknown>>> = []
  const logger = Logger.make(({ message }) => {
    const [, facts] = Array.isArray(message) ? message : []
    if (isJsonObject(facts)) events.push(facts)
  })
  const collected = Logger.replace(Logger.defaultLogger, logger)
  const making = makeProcessLease(leases, () => {
    lost += 1
  })
  const lease = await Effect.runPromise(
    making.pipe(Scope.extend(scope), Effect.withClock(clock), Effect.provide(collected)),
  )
  return {
    ...{ clock, state, ends, lease, events },
    lost: () => lost,
    stop: () => Effect.runPromise(Scope.close(scope, Exit.void).pipe(Effect.withClock(clock))),
  }
}

test("is renewed for as long as the process runs, and ends with it", async () => {
  const { clock, ends, lease, lost, stop } = await held()
  const first = lease.id()
  for (let minute = 0; minute < 10; minute++) {
    await pass(clock, 60)
    expect([lease.isHeld(), (ends.get(first) ?? 0) > clock.unsafeCurrentTimeMillis()]).toEqual([true, true])
  }
  expect([lease.id(), lost()]).toEqual([first, 0])
  await stop()
  expect(ends.size).toBe(0)
})

test("counts as ended before the database can let others clear it, and is held again when that is back in time", async () => {
  const { clock, state, ends, lease, lost } = await held()
  const first = lease.id()
  state.isAway = true
  while (lease.isHeld()) await pass(clock, 1)
  expect(clock.unsafeCurrentTimeMillis()).toBeLessThan(ends.get(first) ?? 0)
  state.isAway = false
  await pass(clock, 1)
  expect([lease.isHeld(), lease.id(), lost()]).toEqual([true, first, 0])
})

test("is logged once when it cannot be renewed, once when it has ended, and when it is held again with how long that took", async () => {
  const { clock, state, lease, events } = await held()
  state.isAway = true
  while (lease.isHeld()) await pass(clock, 1)
  await pass(clock, 20)
  expect(events.map(({ event }) => event)).toEqual(["lease_not_renewed", "lease_lost"])
  state.isAway = false
  await pass(clock, 2)
  expect(events.slice(2)).toMatchObject([{ event: "lease_taken" }])
  expect(Number(events[2]?.["lasted_s"])).toBeGreaterThan(15)
  state.isAway = true
  await pass(clock, 20)
  state.isAway = false
  await pass(clock, 2)
  expect(events.slice(3).map(({ event }) => event)).toEqual(["lease_not_renewed", "lease_renewed"])
})

test("counts from the question, so that an answer which takes long does not make it longer here than in the database", async () => {
  const { clock, state, ends, lease } = await held()
  const first = lease.id()
  const { promise, resolve } = Promise.withResolvers<void>()
  state.answers = promise
  // The question of the next renewal is in the database at once, and its answer is 20 seconds under way.
  await pass(clock, 35)
  resolve()
  await pass(clock, 0)
  state.isAway = true
  let seconds = 0
  while (lease.isHeld()) {
    await pass(clock, 1)
    seconds += 1
  }
  expect(seconds).toBeGreaterThan(5)
  expect(clock.unsafeCurrentTimeMillis()).toBeLessThan(ends.get(first) ?? 0)
})

test("is tried again after waits that differ, so that gateways whose database was away do not come back all at once", async () => {
  /** When a process asks in vain, milliseconds. */
  const timesOf = async (seed: string) => {
    const clock = new ManualClock()
    const { state, leases } = leasesIn(clock)
    const times: Array<number> = []
    const counted = {
      ...leases,
      renew: (process: string, forMs: number) => {
        if (state.isAway) times.push(clock.unsafeCurrentTimeMillis())
        return leases.renew(process, forMs)
      },
    }
    const scope = Effect.runSync(Scope.make())
    await Effect.runPromise(
      makeProcessLease(counted, () => {}).pipe(
        Scope.extend(scope),
        Effect.withClock(clock),
        Effect.withRandom(Random.make(seed)),
        Effect.provide(Logger.remove(Logger.defaultLogger)),
      ),
    )
    await pass(clock, 14)
    state.isAway = true
    await pass(clock, 20, 50)
    await Effect.runPromise(Scope.close(scope, Exit.void))
    return times
  }
  const [one, other] = [await timesOf("one"), await timesOf("other")]
  expect(one.length).toBeGreaterThan(15)
  expect(one.slice(1)).not.toEqual(other.slice(1))
  const waits = one.slice(1).map((at, n) => at - (one[n] ?? 0))
  expect(new Set(waits).size).toBeGreaterThan(4)
  // A gateway without its lease serves nobody, so it does not wait long either: it sleeps in steps of the test's clock.
  expect(Math.max(...waits)).toBeLessThanOrEqual(1050)
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(250)
})

test("that had ended is another one afterwards, since what was kept may be cleared", async () => {
  const { clock, state, lease, lost } = await held()
  const first = lease.id()
  state.isAway = true
  await pass(clock, 70)
  expect([lease.isHeld(), lost()]).toEqual([false, 0])
  state.isAway = false
  await pass(clock, 1)
  expect([lease.isHeld(), lease.id() === first, lost()]).toEqual([true, false, 1])
})

test("without it a gateway starts no paid request, and does so again when it has one", async () => {
  const clock = new ManualClock()
  const { state, leases } = leasesIn(clock)
  const shared: SharedRepositories = {
    leases,
    slices: {
      take: (_, __, ___, need) => Effect.succeed({ granted: need, spent: 0n, others: 0n }),
      giveBack: () => Effect.void,
      kept: () => Effect.succeed(0n),
      want: () => Effect.void,
    },
    rates: unusedRates,
    live: unaskedLive,
    on: () => Effect.void,
  }
  const storage = Layer.map(lastingStorage, (context) => Effect.runSync(Effect.provide(sharing(shared), context)))
  const gateway = await gatewayWithoutSocket({ storage, setting: Layer.setClock(clock) })
  const status = async () =>
    (await gateway.chat({ model: "headgate/echo", messages: [{ role: "user", content: "hello" }] })).status
  expect(await status()).toBe(200)
  state.isAway = true
  await pass(clock, 60)
  expect(await status()).toBe(503)
  state.isAway = false
  await pass(clock, 1)
  expect(await status()).toBe(200)
  await gateway.stop()
})

/** The storage with what a shared one has. */
const sharing = (shared: SharedRepositories) =>
  Effect.flatMap(Storage, (storage) =>
    Effect.context<Storage>().pipe(Effect.provideService(Storage, { ...storage, shared })),
  )
