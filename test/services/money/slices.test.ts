/** Slices of budgets in one process, over a database that loses answers. docs/guarantees.md#g1 and #g2 */
import { expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import type { Slice } from "../../../src/domain/money/Slice.ts"
import { makeSlices } from "../../../src/services/money/Slices.ts"
import type { SharedEvents, SharedRepositories } from "../../../src/services/storage/SharedRepositories.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { alice, bob, sampleKey } from "../../sql/samples.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import { unaskedLive, unusedRates } from "../../support/storage/rates.ts"

const limit = 1000n
const key = sampleKey(alice, { limit })

/** One budget in a database, and the slices of one process in it. */
const scene = async () => {
  const clock = new ManualClock()
  const leased = new Map<string, bigint>()
  const state: { process: string; losesAnswers: boolean; asks: number; defectOf: string | undefined } = {
    ...{ process: "a", losesAnswers: false, asks: 0, defectOf: undefined },
  }
  const given: Array<string> = []
  const logged: Array<unknown> = []
  const listeners: Array<SharedEvents> = []
  const collected = Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ message }) => logged.push(String(message))),
  )
  const answered = <A>(value: A) =>
    Effect.suspend(() =>
      state.losesAnswers ? Effect.fail(new StorageUnavailable({ reason: "lost" })) : Effect.succeed(value),
    )
  const sumOf = (wanted: (process: string) => boolean) =>
    [...leased].reduce((sum, [process, amount]) => (wanted(process) ? sum + amount : sum), 0n)
  const shared: SharedRepositories = {
    leases: { take: () => Effect.void, renew: () => Effect.succeed(true), end: () => Effect.void, clear: Effect.void },
    slices: {
      take: (process, _, upTo, need) =>
        Effect.suspend(() => {
          state.asks += 1
          const room = upTo - sumOf(() => true)
          const granted = room < need ? 0n : need > room / 8n ? need : room / 8n
          leased.set(process, (leased.get(process) ?? 0n) + granted)
          return answered({ granted, spent: 0n, others: sumOf((other) => other !== process) })
        }),
      giveBack: (process, budget, amount) =>
        Effect.suspend(() => {
          given.push(budget.key)
          if (state.defectOf === budget.key) return Effect.die(new Error("a bug"))
          leased.set(process, (leased.get(process) ?? 0n) - amount)
          return answered(undefined)
        }),
      kept: (process) => Effect.suspend(() => answered(leased.get(process) ?? 0n)),
      want: () => Effect.void,
    },
    rates: unusedRates,
    live: unaskedLive,
    on: (listener) => Effect.sync(() => void listeners.push(listener)),
  }
  const scope = Effect.runSync(Scope.make())
  const run = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.runPromise(effect.pipe(Effect.withClock(clock), Effect.provide(collected)))
  const slices = await run(Scope.extend(makeSlices(shared, { id: () => state.process }), scope))
  return {
    ...{ leased, state, slices, given, logged, listeners },
    take: (amount: bigint, of = key) =>
      run(
        Effect.either(
          slices.take(
            of,
            limit,
            0,
            { sizeOf: () => ({ amount, outputBound: undefined, outputTokens: 1 }), required: () => amount },
            (_, slice): Slice => slice,
          ),
        ),
      ),
    pass: async (seconds: number) => {
      for (let second = 0; second < seconds; second++) {
        clock.advance(1000)
        for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
}

test("only a request that finds the slice used up waits for the database", async () => {
  const { take, state } = await scene()
  const first = await take(10n)
  expect([Either.isRight(first), state.asks]).toEqual([true, 1])
  for (let at = 0; at < 11; at++) expect(Either.isRight(await take(10n))).toBe(true)
  expect(state.asks).toBeLessThanOrEqual(2)
})

test("what was granted in an answer that was lost is found when no request runs, and given back", async () => {
  const { leased, state, take, pass } = await scene()
  state.losesAnswers = true
  const failed = await take(100n)
  expect(Either.isLeft(failed) && failed.left._tag).toBe("Unavailable")
  expect(leased.get("a")).toBe(125n)
  await pass(10)
  expect(leased.get("a")).toBe(125n)
  state.losesAnswers = false
  await pass(10)
  expect(leased.get("a")).toBe(0n)
})

test("after the lease was lost nothing is taken out of the old slice, and what was reserved there comes back to nobody", async () => {
  const { leased, state, slices, take } = await scene()
  const before = await take(10n)
  state.process = "b"
  slices.lost()
  if (Either.isLeft(before)) throw new Error("it was refused")
  expect(before.right.free).toBe(0n)
  before.right.settled(10n, 4n)
  const after = await take(10n)
  expect(Either.isRight(after) && after.right.process).toBe("b")
  expect(leased.get("b")).toBe((1000n - 125n) / 8n)
})

test("a slice that meets a defect each time it is given back kept those after it: they are given back", async () => {
  const { state, take, pass, given } = await scene()
  const [of, other] = [await take(10n), await take(10n, sampleKey(bob, { limit }))]
  for (const taken of [of, other]) if (Either.isRight(taken)) taken.right.settled(10n, 4n)
  state.defectOf = alice
  await pass(12)
  expect(given).toContain(bob)
})

test("a defect where a changed key's slice is given back was not logged", async () => {
  const { state, take, pass, listeners, logged } = await scene()
  const taken = await take(10n)
  if (Either.isRight(taken)) taken.right.settled(10n, 4n)
  state.defectOf = alice
  listeners[0]?.keyChanged?.(alice, false)
  await pass(1)
  expect(logged.filter((line) => String(line).includes("a defect in a slice of a budget"))).toHaveLength(1)
})
