/** The order of a strategy plugin, whose mistakes cost the order and not the request. docs/guarantees.md#g33 */
import { describe, expect, test } from "bun:test"
import type * as Effect from "effect/Effect"
import type { Rank } from "../../../src/plugin/strategy.ts"
import { ranked, StrategyFaults } from "../../../src/services/routing/ranking.ts"
import { candidatesAt, contextWith } from "../../support/hosts/candidates.ts"

const scene = (count = 3) => {
  const clock = { now: 0 }
  const lines: Array<Effect.Effect<void>> = []
  const faults = new StrategyFaults(
    () => clock.now,
    (line) => lines.push(line),
  )
  const names = Array.from({ length: count }, (_, at) => `host-${at}`)
  const candidates = candidatesAt(Object.fromEntries(names.map((name) => [name, null])))
  const given = candidates.map(({ host }) => host)
  const order = (rank: Rank, strategy = "own") =>
    ranked(
      rank,
      given,
      candidates,
      contextWith(() => 0.5),
      strategy,
      faults,
    )
  return { clock, lines, faults, given, order }
}

test("its order is used", () => {
  const { order, given, lines } = scene()
  expect(order((candidates) => candidates.toReversed())).toEqual(given.toReversed())
  expect(lines).toEqual([])
})

describe.each([3, 12])("of %d hosts the order is kept as it was, and a line is logged, where the strategy", (count) => {
  test.each<readonly [string, Rank]>([
    [
      "throws",
      () => {
        throw new Error("a bug")
      },
    ],
    // What no compiler would let pass, a plugin in JavaScript may return.
    ["promises an order", (async () => Promise.reject(new Error("late"))) as unknown as Rank],
    ["returns nothing", (() => undefined) as unknown as Rank],
    ["loses one", (candidates) => candidates.slice(1)],
    ["gives one twice", (candidates) => [...candidates, ...candidates.slice(0, 1)]],
    ["gives one in place of another", ([first, , ...others]) => (first === undefined ? [] : [first, first, ...others])],
    [
      "gives a host of its own",
      ([first, ...others]) => (first === undefined ? [] : [{ ...first, host: { ...first.host } }, ...others]),
    ],
  ])("%s", (_name, rank) => {
    const { order, given, lines } = scene(count)
    expect(order(rank)).toBe(given)
    expect(lines).toHaveLength(1)
  })
})

test.each([
  [1000, "is used", 0],
  [1001, "is not used, which is said", 1],
])("the order of a ranking that takes %d ms %s", (tookMs, _what, told) => {
  const { clock, order, given, lines } = scene()
  const hosts = order((candidates) => {
    clock.now += tookMs
    return candidates.toReversed()
  })
  expect(hosts).toEqual(told === 0 ? given.toReversed() : given)
  expect(lines).toHaveLength(told)
})

test("a strategy that fails for each request is named once, and once more an hour later; it is asked all the same", () => {
  const { clock, lines, faults } = scene()
  const faultAt = (now: number, strategy: string) => {
    clock.now = now
    faults.report(strategy, new Error("a bug"))
    return lines.length
  }
  expect([faultAt(0, "a"), faultAt(3_599_999, "a"), faultAt(3_599_999, "b"), faultAt(3_600_000, "a")]).toEqual([
    1, 1, 2, 3,
  ])
})
