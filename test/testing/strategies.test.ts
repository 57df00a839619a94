/** The conformance kit with strategies of which each breaks the contract in one place: that check fails, and no other. */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { type Candidate, defineStrategy, type Rank, type Reasons, type Why } from "headgate/plugin"
import { strategyChecks } from "headgate/testing"
import { type Broken, failuresOf } from "./acme.ts"

const strategy = (load: () => Rank) => defineStrategy({ id: "some", config: Schema.Struct({}), load })

const unknown = 1n << 80n
const priceOf = ({ host: { pricing } }: Candidate): bigint => pricing?.prompt ?? unknown
const byPrice = (a: Candidate, b: Candidate) => (priceOf(a) < priceOf(b) ? -1 : priceOf(a) > priceOf(b) ? 1 : 0)
const goodRank: Rank = (candidates, { random }) => {
  const [first, ...rest] = candidates.toSorted(byPrice)
  return first === undefined ? [] : random() < 0.5 ? [first, ...rest] : [...rest, first]
}
const goodWhy: Why = (candidate) => ({ price: String(priceOf(candidate)), failing: candidate.stats.failing })
const explaining = (why: Why) => defineStrategy({ id: "some", config: Schema.Struct({}), load: () => goodRank, why })
const goodStrategy = explaining(goodWhy)
const explains = "explains every candidate, without random numbers"

const isOfSeveralModels = (candidates: ReadonlyArray<Candidate>) =>
  new Set(candidates.map(({ host }) => host.model)).size > 1

const permuted = "neither drops nor adds a candidate"

const brokenStrategies: ReadonlyArray<Broken<typeof goodStrategy>> = [
  [
    "is made by defineStrategy, for the contract of this gateway",
    "a contract of the past",
    { ...goodStrategy, contract: 0 },
    "contract 0",
  ],
  ["has an id in kebab-case", "an id with a space", { ...goodStrategy, id: "my rank" }, "my rank"],
  [
    "refuses an unknown field of its configuration, and says where it is",
    "a load() that takes anything",
    { ...goodStrategy, load: () => Either.right(goodRank) },
    "field_that_does_not_exist",
  ],
  [
    "changes nothing that it is given",
    "sorting in place",
    // The type forbids it, a plugin in JavaScript does it.
    strategy(() => (candidates) => (candidates as Array<Candidate>).sort(byPrice)),
    "toSorted",
  ],
  [
    permuted,
    "dropping who fails",
    strategy(
      () => (candidates) =>
        candidates.length > 1 && candidates.every(({ stats, host }) => stats.failing && host.pricing !== null)
          ? candidates.slice(1)
          : candidates,
    ),
    "may not drop",
  ],
  [
    permuted,
    "a pick that misses at the end of the range",
    strategy(
      () =>
        (candidates, { random }) =>
          random() > 1 - 1e-12 ? [...candidates, ...candidates] : candidates,
    ),
    "may not drop",
  ],
  [
    "gives the same order for the same random numbers",
    "a die of its own",
    strategy(() => (candidates) => (Math.random() < 0.5 ? candidates : candidates.toReversed())),
    "come in the context",
  ],
  [
    "ranks no candidate, one and fifty",
    "no first of none",
    strategy(() => (candidates, context) => {
      if (candidates.length === 0) throw new Error("nothing to rank")
      return goodRank(candidates, context)
    }),
    "nothing to rank",
  ],
  [
    "ranks hosts without statistics",
    "a median of nothing",
    strategy(
      () => (candidates) =>
        candidates.length > 9 && candidates.every(({ stats }) => stats.uptime === null) ? [] : candidates,
    ),
    "[]",
  ],
  [
    "ranks for a caller of whom nothing is known",
    "a user that is taken for granted",
    strategy(() => (candidates, { caller }) => {
      if (caller.user === null) throw new Error("no user")
      return candidates
    }),
    "no user",
  ],
  [
    "ranks hosts without a known price",
    "a price that is taken for granted",
    strategy(
      () => (candidates) =>
        candidates.length > 9 && candidates.every(({ host }) => host.pricing === null) ? [] : candidates,
    ),
    "[]",
  ],
  [
    "ranks hosts at equal prices, and at none",
    "one host a price",
    strategy(() => (candidates) => {
      const prices = new Map(candidates.map((candidate) => [priceOf(candidate), candidate]))
      return candidates.length > 9 && prices.size === 1 && !prices.has(unknown) ? [...prices.values()] : candidates
    }),
    "may not drop",
  ],
  [
    "ranks hosts of several models together",
    "one place for each tag",
    strategy(
      () => (candidates) =>
        isOfSeveralModels(candidates)
          ? [...new Map(candidates.map((candidate) => [candidate.host.tag, candidate])).values()]
          : candidates,
    ),
    "may not drop",
  ],
  [
    explains,
    "a bigint",
    // The type forbids it, a plugin in JavaScript does it.
    explaining((candidate) => ({ price: priceOf(candidate) }) as unknown as Reasons),
    "price as a finite number",
  ],
  [explains, "a draw of its own", explaining((_, { random }) => ({ drawn: random() })), "a random number was drawn"],
  [
    explains,
    "a price that is taken for granted",
    explaining(({ host }) => {
      if (host.pricing === null) throw new Error("no price")
      return {}
    }),
    "no price",
  ],
]

describe("strategyChecks", () => {
  test("pass for a good plugin, and have names of their own", async () => {
    const checks = strategyChecks({ plugin: goodStrategy })
    expect([...(await failuresOf(checks))]).toEqual([])
    expect(new Set(checks.map(({ name }) => name)).size).toBe(checks.length)
  })

  test.each([...brokenStrategies])("%s: %s", async (check, _, broken, says) => {
    const failures = await failuresOf(strategyChecks({ plugin: broken }))
    expect([...failures.keys()]).toEqual([check])
    expect(failures.get(check)).toContain(says)
  })

  test("a configuration that is refused fails every check that ranks or explains", async () => {
    const failures = await failuresOf(strategyChecks({ plugin: goodStrategy, config: { weight: 2 } }))
    expect(failures.size).toBe(10)
    expect(failures.get(permuted)).toContain("weight")
  })
})
