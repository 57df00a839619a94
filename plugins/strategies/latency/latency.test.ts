import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { strategyChecks } from "headgate/testing"
import { contextWith, withStats } from "../../../test/support/hosts/candidates.ts"
import latency from "./index.ts"

describe("conformance", () => {
  for (const check of strategyChecks({ plugin: latency })) test(check.name, check.run)
})

const rank = Either.getOrThrow(latency.load({}))
const order = (...[stats]: Parameters<typeof withStats>) =>
  rank(withStats(stats), contextWith(Math.random)).map(({ host }) => String(host.tag))

test("the quickest first, hosts without data last", () => {
  const stats = { unseen: {}, slow: { latencyMs: 900 }, fast: { latencyMs: 80 }, still: { latencyMs: 5000 } }
  expect(order(stats)).toEqual(["fast", "slow", "still", "unseen"])
})

test("equally quick ones by price, then by name", () => {
  const same = { latencyMs: 50 }
  expect(order({ dear: { ...same, price: 3n }, B: { ...same, price: 1n }, A: { ...same, price: 1n } })).toEqual([
    ...["A", "B", "dear"],
  ])
})

test("without any data by price", () => {
  expect(order({ dear: { price: 3n }, cheap: { price: 1n } })).toEqual(["cheap", "dear"])
})
