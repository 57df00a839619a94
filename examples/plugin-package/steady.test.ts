/** The conformance kit, and what is this strategy's own. */
import { expect, test } from "bun:test"
import * as Either from "effect/Either"
import { sampleCandidate, sampleContext, strategyChecks } from "headgate/testing"
import plugin from "./index.ts"

for (const check of strategyChecks({ plugin })) test(check.name, check.run)

test("a field that it does not have is refused", () => {
  expect(Either.isLeft(plugin.load({ least_upitme: 90 }))).toBe(true)
})

test("the cheapest host comes first, unless it is in trouble", () => {
  const rank = Either.getOrThrow(plugin.load({ least_uptime: 90 }))
  const hosts = [
    sampleCandidate({ tag: "dear", pricing: { prompt: "0.000003", completion: "0.000009" } }),
    sampleCandidate({ tag: "cheap", pricing: { prompt: "0.000001", completion: "0.000002" } }),
    sampleCandidate({ tag: "free-and-down", stats: { uptime: 80 } }),
  ]
  expect(rank(hosts, sampleContext()).map(({ host }) => String(host.tag))).toEqual(["cheap", "dear", "free-and-down"])
})
