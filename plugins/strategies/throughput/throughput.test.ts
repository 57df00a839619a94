import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { strategyChecks } from "headgate/testing"
import { contextWith, withStats } from "../../../test/support/hosts/candidates.ts"
import throughput from "./index.ts"

describe("conformance", () => {
  for (const check of strategyChecks({ plugin: throughput })) test(check.name, check.run)
})

const rank = Either.getOrThrow(throughput.load({}))
const order = (...[stats]: Parameters<typeof withStats>) =>
  rank(withStats(stats), contextWith(Math.random)).map(({ host }) => String(host.tag))

test("the fastest first, hosts without data last", () => {
  const stats = { unseen: {}, slow: { throughput: 9.5 }, fast: { throughput: 80 }, still: { throughput: 0 } }
  expect(order(stats)).toEqual(["fast", "slow", "still", "unseen"])
})

test("equally fast ones by price, then by name", () => {
  const same = { throughput: 50 }
  expect(order({ dear: { ...same, price: 3n }, B: { ...same, price: 1n }, A: { ...same, price: 1n } })).toEqual([
    ...["A", "B", "dear"],
  ])
})

test("without any data by price", () => {
  expect(order({ dear: { price: 3n }, cheap: { price: 1n } })).toEqual(["cheap", "dear"])
})
