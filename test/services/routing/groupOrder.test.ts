/** What a group of hosts is sorted by. docs/routing.md */
import { describe, expect, test } from "bun:test"
import { noPreferences, type Preferences } from "../../../src/domain/request/Preferences.ts"
import type { WantedModel } from "../../../src/domain/routing/variants.ts"
import { type OrderBy, orderedGroups } from "../../../src/services/routing/groupOrder.ts"
import { hostsConfig } from "../../support/clocks/services.ts"
import { candidatesAt } from "../../support/hosts/candidates.ts"

const hostsOf = (...tags: ReadonlyArray<string>) =>
  candidatesAt(Object.fromEntries(tags.map((tag) => [tag, null]))).map(({ host }) => ({
    ...host,
    provider: host.tag.replace(/\/.*/, ""),
  }))

/** The tags in their order, and what each part of them was sorted by. */
const ordered = (preferences: Partial<Preferences>, tags: ReadonlyArray<string>, wanted?: WantedModel) => {
  const sorts: Array<string | undefined> = []
  const order: OrderBy = (hosts, sort) => {
    sorts.push(sort)
    return hosts.toReversed()
  }
  const asked = { ...noPreferences, ...preferences }
  const [group = []] = orderedGroups(asked, [hostsOf(...tags)], wanted === undefined ? [] : [wanted], order)
  return { tags: group.map(({ tag }) => String(tag)), sorts }
}

const [model] = (await hostsConfig({ a: {} })).models
if (model === undefined) throw new Error("there is no model")
const nitro: WantedModel = { model, variants: ["nitro"] }

test("without a wish it is the configured strategy's", () => {
  expect(ordered({}, ["a", "b"])).toEqual({ tags: ["b", "a"], sorts: [undefined] })
})

test("the caller's own order is asked of no strategy", () => {
  expect(ordered({ order: ["b", "c"] }, ["a", "b", "c"])).toEqual({ tags: ["b", "c", "a"], sorts: [] })
})

test("a sort goes before a variant of the name, and that before a service tier", () => {
  expect(ordered({ sort: "latency", serviceTier: "flex" }, ["a/flex", "b"], nitro).sorts).toEqual(["latency"])
  expect(ordered({ serviceTier: "flex" }, ["a/flex", "b"], nitro).sorts).toEqual(["throughput"])
})

describe("a service tier", () => {
  test("flex is cheap: its hosts are among the others, by price", () => {
    expect(ordered({ serviceTier: "flex" }, ["a", "a/flex"])).toEqual({ tags: ["a/flex", "a"], sorts: ["price"] })
  })

  test("priority is fast: its hosts are in front, by throughput, and the others in their usual order", () => {
    const { tags, sorts } = ordered({ serviceTier: "priority" }, ["a", "a/priority", "b"])
    expect([tags, sorts]).toEqual([
      ["a/priority", "b", "a"],
      ["throughput", undefined],
    ])
  })

  test("that no host has, and the usual one, sort nothing", () => {
    expect(ordered({ serviceTier: "flex" }, ["a", "b"]).sorts).toEqual([undefined])
    expect(ordered({ serviceTier: "default" }, ["a", "a/flex"]).sorts).toEqual([undefined])
  })
})

test("each group is sorted for the model at its place", () => {
  const sorts: Array<string | undefined> = []
  const order: OrderBy = (hosts, sort) => {
    sorts.push(sort)
    return hosts
  }
  const wanted = [nitro, { model: nitro.model, variants: [] }]
  orderedGroups(noPreferences, [hostsOf("a"), hostsOf("b")], wanted, order)
  expect(sorts).toEqual(["throughput", undefined])
})
