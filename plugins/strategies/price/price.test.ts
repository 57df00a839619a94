import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { strategyChecks } from "headgate/testing"
import { candidatesAt, contextWith } from "../../../test/support/hosts/candidates.ts"
import price from "./index.ts"

describe("conformance", () => {
  for (const check of strategyChecks({ plugin: price })) test(check.name, check.run)
})

describe("price", () => {
  const rank = Either.getOrThrow(price.load({}))
  const order = (...[prices]: Parameters<typeof candidatesAt>) =>
    rank(candidatesAt(prices), contextWith(Math.random)).map(({ host }) => String(host.tag))

  test("the cheapest first, prompt and completion together", () => {
    expect(order({ A: [3n, 3n], B: [1n, 4n], C: [4n, 0n] })).toEqual(["C", "B", "A"])
  })

  test("equal prices are ordered by name", () => {
    expect(order({ C: [1n, 2n], A: [2n, 1n], B: [3n, 0n], D: [1n, 1n] })).toEqual(["D", "A", "B", "C"])
  })

  test("a discount counts", () => {
    const [listed, reduced] = candidatesAt({ A: [9n, 10n], B: [10n, 10n] })
    if (listed === undefined || reduced?.host.pricing == null) throw new Error("no hosts")
    const discounted = { ...reduced.host, pricing: { ...reduced.host.pricing, discountPpm: 100_000n } }
    const ranking = rank([listed, { ...reduced, host: discounted }], contextWith(Math.random))
    expect(ranking.map(({ host }) => String(host.tag))).toEqual(["B", "A"])
  })

  test("free hosts come first, unknown prices last", () => {
    expect(order({ unknown: null, dear: [9n, 9n], free: [0n, 0n], another: null })).toEqual([
      "free",
      "dear",
      "another",
      "unknown",
    ])
  })

  test("a difference of one picodollar in sums that are equal as floats", () => {
    const much = 2n ** 60n
    expect(order({ A: [much, 2n], B: [much, 1n], C: [much, 3n] })).toEqual(["B", "A", "C"])
  })

  test("a failing host keeps its place by price", () => {
    const candidates = candidatesAt({ A: [2n, 0n], B: [1n, 0n] }, ["B"])
    expect(rank(candidates, contextWith(Math.random)).map(({ host }) => String(host.tag))).toEqual(["B", "A"])
  })
})
