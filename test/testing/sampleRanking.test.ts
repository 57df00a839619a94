/** What `headgate/testing` gives a test of a strategy. docs/strategies.md#write */
import { expect, test } from "bun:test"
import { sampleCandidate, sampleContext } from "headgate/testing"

test("a host has what the test says of it, and is free and unseen without that", () => {
  const { host, stats } = sampleCandidate({
    tag: "acme/eu",
    pricing: { prompt: "0.000001", completion: "0.0000025" },
    stats: { latencyMs: 40 },
    host: { tags: ["eu"] },
  })
  expect([String(host.tag), host.provider, host.tags]).toEqual(["acme/eu", "acme", ["eu"]])
  expect([host.pricing?.prompt, host.pricing?.completion]).toEqual([1_000_000n, 2_500_000n])
  expect([stats.latencyMs, stats.latencyAt(99), stats.uptime, stats.throughputAt(50)]).toEqual([40, 40, null, null])
  expect(sampleCandidate({ tag: "a" }).host.pricing?.prompt).toBe(0n)
  expect(sampleCandidate({ tag: "a", pricing: null }).host.pricing).toBeNull()
  const cheap = () => sampleCandidate({ tag: "a", pricing: { prompt: "cheap", completion: "0" } })
  expect(cheap).toThrow('expected USD per token such as "0.000001", got "cheap"')
})

test("a context draws the same numbers each time, tells what a host costs, and has what the test puts into it", () => {
  const [one, other] = [sampleContext(), sampleContext({ now: 5 })]
  expect([other.now, other.random(), other.random()]).toEqual([5, one.random(), one.random()])
  const dear = sampleCandidate({ tag: "a", pricing: { prompt: "0.000001", completion: "0.000002" } })
  expect(one.expectedCost(dear.host)).toBeGreaterThan(0n)
  expect(one.expectedCost(sampleCandidate({ tag: "a", pricing: null }).host)).toBeNull()
  expect([one.caller.key, one.budget.left, one.conversation.last()]).toEqual([null, null, undefined])
})
