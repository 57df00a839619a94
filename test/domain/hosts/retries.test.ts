/** The retry budget, and the turns of models. docs/guarantees.md#g13 */
import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import type { Host } from "../../../src/domain/hosts/Host.ts"
import { RetryBudget } from "../../../src/domain/hosts/RetryBudget.ts"
import { HostTag, ModelId } from "../../../src/domain/ids.ts"
import { modelTurns } from "../../../src/domain/routing/modelTurns.ts"
import { hostFor } from "../../support/recordings/recordings.ts"

/** Requests at these times, each of which wants as many extra attempts as it can get; the times of those that it got. */
const extrasOf = (share: number, requests: ReadonlyArray<number>): ReadonlyArray<number> => {
  const budget = new RetryBudget(share)
  const taken: Array<number> = []
  for (const now of requests) {
    budget.request(now)
    for (let more = 0; more < 5 && budget.take(now); more++) taken.push(now)
  }
  return taken
}

const evenly = (count: number, milliseconds: number) =>
  Array.from({ length: count }, (_, at) => Math.floor((at * milliseconds) / count))

describe("the retry budget", () => {
  test("200 requests within 4 seconds: at most 50 extra attempts", () => {
    expect(extrasOf(0.2, evenly(200, 4000)).length).toBeWithin(35, 51)
    expect(extrasOf(0.2, evenly(200, 1)).length).toBeWithin(35, 51)
  })

  test("at few requests ten a second are allowed, at many a fifth of them", () => {
    expect(extrasOf(0.2, evenly(30, 10_000)).length).toBe(100)
    expect(extrasOf(0.2, evenly(5000, 10_000)).length).toBeWithin(990, 1011)
  })

  test("beyond ten in a second, exactly a fifth of the requests", () => {
    const budget = new RetryBudget(0.2)
    for (let request = 0; request < 100; request++) budget.request(0)
    let taken = 0
    while (budget.take(0)) taken += 1
    expect(taken).toBe(20)
  })

  test("without a bound everything is allowed", () => {
    expect(extrasOf(Number.POSITIVE_INFINITY, evenly(100, 1)).length).toBe(500)
  })

  test("in any ten seconds there are no more than ten a second, or a fifth of the requests", () => {
    const Pauses = FastCheck.array(FastCheck.oneof(FastCheck.nat(20), FastCheck.nat(2000)), { maxLength: 300 })
    FastCheck.assert(
      FastCheck.property(Pauses, (pauses) => {
        let now = 0
        const requests = pauses.map((pause) => {
          now += pause
          return now
        })
        const extras = extrasOf(0.2, requests)
        for (const end of requests) {
          const within = (times: ReadonlyArray<number>, span: number) =>
            times.filter((time) => time <= end && time > end - span).length
          // The last one that the share allowed may be nine seconds old, and its requests ten seconds older.
          expect(within(extras, 9000)).toBeLessThanOrEqual(Math.max(100, 0.2 * within(requests, 19_000)) + 10)
        }
      }),
    )
  })
})

describe("the turns of models", () => {
  const hosts = (plan: string): ReadonlyArray<Host> =>
    plan
      .split(" ")
      .map((name) => ({ ...hostFor("upstream"), model: ModelId.make(`acme/${name[0]}`), tag: HostTag.make(name) }))
  const turns = (plan: string, named: ReadonlyArray<string> = []): string =>
    modelTurns(hosts(plan), ({ tag }) => named.includes(tag))
      .map(({ tag }) => tag)
      .join(" ")

  test.each([
    ["a1 a2 a3 a4 a5", "a1 a2 a3 a4 a5"],
    ["a1 a2 a3 a4 a5 b1 b2 b3 b4", "a1 a2 a3 b1 b2 b3 b4 a4 a5"],
    ["a1 a2 b1 b2", "a1 a2 b1 b2"],
    ["a1 a2 a3 b1 a4 a5", "a1 a2 a3 b1 a4 a5"],
    ["a1 a2 a3 a4 b1 a5 c1 b2", "a1 a2 a3 b1 c1 b2 a4 a5"],
  ])("%s: %s", (plan, expected) => expect(turns(plan)).toBe(expected))

  test("hosts that were named keep their place", () => {
    expect(turns("a1 a2 a3 a4 a5 a6 b1", ["a1", "a2", "a5"])).toBe("a1 a2 a3 a4 a5 a6 b1")
    expect(turns("a1 a2 a3 a4 a5 b1", ["a5"])).toBe("a1 a2 a3 a5 b1 a4")
  })

  test("any plan: no host is lost, and each model has begun within three unnamed hosts of each before it", () => {
    const Plan = FastCheck.uniqueArray(
      FastCheck.record({ model: FastCheck.constantFrom("a", "b", "c"), at: FastCheck.nat(9) }),
      {
        selector: ({ model, at }) => `${model}${at}`,
      },
    )
    FastCheck.assert(
      FastCheck.property(Plan, (plan) => {
        const given = plan.map(({ model, at }) => `${model}${at}`)
        if (given.length === 0) return
        const result = turns(given.join(" ")).split(" ")
        expect(result.toSorted()).toEqual(given.toSorted())
        for (const model of new Set(plan.map((one) => one.model))) {
          const before = result.slice(
            0,
            result.findIndex((tag) => tag.startsWith(model)),
          )
          for (const other of ["a", "b", "c"]) {
            expect(before.filter((tag) => tag.startsWith(other)).length).toBeLessThanOrEqual(3)
          }
        }
      }),
    )
  })
})
