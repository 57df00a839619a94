import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { strategyChecks } from "headgate/testing"
import { candidatesAt, contextWith, withStats } from "../../../test/support/hosts/candidates.ts"
import { randomSequence } from "../../../test/support/recordings/recordings.ts"
import balanced from "./index.ts"

describe("conformance", () => {
  for (const check of strategyChecks({ plugin: balanced })) test(check.name, check.run)
})

const rank = Either.getOrThrow(balanced.load({}))

const micro = 1_000_000n
/** USD per million tokens, half of it for the prompt. */
const priced = (usd: bigint) => [(usd * micro) / 2n, (usd * micro) / 2n] as const

const order = (candidates: ReturnType<typeof candidatesAt>, random: () => number) =>
  rank(candidates, contextWith(random)).map(({ host }) => String(host.tag))

/** How often each host is first in so many draws, whose numbers are spread evenly over the range. */
const shares = (candidates: ReturnType<typeof candidatesAt>, draws: number): Readonly<Record<string, number>> => {
  const firsts: Record<string, number> = {}
  for (let draw = 0; draw < draws; draw++) {
    const [first = ""] = order(candidates, () => (draw + 0.5) / draws)
    firsts[first] = (firsts[first] ?? 0) + 1
  }
  return firsts
}

describe("the documented example: prices 1, 2 and 3, and the second host fails", () => {
  const candidates = candidatesAt({ A: priced(1n), B: priced(2n), C: priced(3n) }, ["B"])

  test("the first is drawn first 9 times as often as the third, and the failing one never", () => {
    expect(shares(candidates, 1000)).toEqual({ A: 900, C: 100 })
  })

  test("the same holds over 100,000 seeds", () => {
    const draws = 100_000
    const firsts = Array.from({ length: draws }, (_, seed) => order(candidates, randomSequence(seed))[0])
    const third = firsts.filter((tag) => tag === "C").length
    // 10,000 expected; the numbers are the same in each run, so this holds always or never.
    expect(Math.abs(third - draws / 10)).toBeLessThan(3 * Math.sqrt(draws * 0.1 * 0.9))
    expect(firsts.filter((tag) => tag === "A").length).toBe(draws - third)
  })

  test("the order is A, C, B", () => expect(order(candidates, () => 0)).toEqual(["A", "C", "B"]))

  test("with the third in front the others keep their order", () =>
    expect(order(candidates, () => 0.95)).toEqual(["C", "A", "B"]))
})

test("without failures each host is weighted by 1/price²", () => {
  const candidates = candidatesAt({ C: priced(4n), A: priced(1n), B: priced(2n) })
  expect(shares(candidates, 2100)).toEqual({ A: 1600, B: 400, C: 100 })
})

test("fallbacks follow by price, equal ones in the given order, then the failing ones by price", () => {
  const candidates = candidatesAt(
    { E: priced(9n), D: priced(3n), C: priced(2n), B: priced(2n), A: priced(1n), F: priced(8n) },
    ["E", "F"],
  )
  expect(order(candidates, () => 0)).toEqual(["A", "C", "B", "D", "F", "E"])
})

test("free hosts are drawn nearly always, evenly among themselves", () => {
  const candidates = candidatesAt({ paid: priced(1n), free: [0n, 0n], gratis: [0n, 0n] })
  const { free = 0, gratis = 0, paid = 0 } = shares(candidates, 10_000)
  expect([free, gratis]).toEqual([5000, 5000])
  expect(paid).toBe(0)
})

test("a host with an unknown price is a fallback, never the first choice", () => {
  const candidates = candidatesAt({ unknown: null, B: priced(2n), A: priced(1n) })
  expect(shares(candidates, 1000)).toEqual({ A: 800, B: 200 })
  expect(order(candidates, () => 0)).toEqual(["A", "B", "unknown"])
})

test("if all are failing, all are tried, the cheapest first", () => {
  const candidates = candidatesAt({ B: priced(2n), A: priced(1n) }, ["A", "B"])
  expect(order(candidates, () => 0.99)).toEqual(["A", "B"])
})

describe("the last day", () => {
  const hosts = {
    down: { price: 1n, standing: "down" },
    degraded: { price: 2n, standing: "degraded" },
    failing: { price: 1n, failing: true },
    normal: { price: 9n },
  } as const

  test("normal hosts come before degraded ones, these before those that were down, and failing ones last", () => {
    for (const random of [0, 0.5, 0.999]) {
      const ranking = rank(
        withStats(hosts),
        contextWith(() => random),
      )
      expect(ranking.map(({ host }) => String(host.tag))).toEqual(["normal", "degraded", "down", "failing"])
    }
  })

  test("without a normal host the draw is among the degraded ones", () => {
    const candidates = withStats({
      down: { price: 1n, standing: "down" },
      A: { price: 10_000n, standing: "degraded" },
      B: { price: 20_000n, standing: "degraded" },
    })
    expect(shares(candidates, 1000)).toEqual({ A: 800, B: 200 })
  })
})

test("a discount counts", () => {
  const [full, half] = candidatesAt({ full: priced(1n), half: priced(2n) })
  if (full === undefined || half?.host.pricing == null) throw new Error("no hosts")
  const reduced = { ...half, host: { ...half.host, pricing: { ...half.host.pricing, discountPpm: 500_000n } } }
  expect(shares([full, reduced], 1000)).toEqual({ full: 500, half: 500 })
})
