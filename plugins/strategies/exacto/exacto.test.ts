import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { strategyChecks } from "headgate/testing"
import { contextWith, withStats } from "../../../test/support/hosts/candidates.ts"
import exacto from "./index.ts"

describe("conformance", () => {
  for (const check of strategyChecks({ plugin: exacto })) test(check.name, check.run)
})

const rank = Either.getOrThrow(exacto.load({}))
const order = (...[stats]: Parameters<typeof withStats>) =>
  rank(withStats(stats), contextWith(Math.random)).map(({ host }) => String(host.tag))

test("the best at calling tools first, then the fastest; hosts without data last", () => {
  const stats = {
    unseen: { throughput: 500 },
    poor: { toolSuccess: 0.5, throughput: 100 },
    slow: { toolSuccess: 0.99, throughput: 10 },
    fast: { toolSuccess: 0.99, throughput: 20 },
    unmeasured: { toolSuccess: 0.99 },
  }
  expect(order(stats)).toEqual(["fast", "slow", "unmeasured", "poor", "unseen"])
})

test("without data healthy hosts first, by price, then by name", () => {
  const stats = {
    failing: { price: 1n, failing: true },
    degraded: { price: 1n, standing: "degraded" as const },
    dear: { price: 3n },
    B: { price: 2n },
    A: { price: 2n },
  }
  expect(order(stats)).toEqual(["A", "B", "dear", "degraded", "failing"])
})
