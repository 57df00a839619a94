/** How a request would be routed, and what each host would be sent. docs/routing.md */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import type { BudgetSnapshot } from "../../../src/domain/money/reservation.ts"
import { decodeChat } from "../../../src/formats/chat/chatRequest.ts"
import { HostHealth } from "../../../src/services/hosts/HostHealth.ts"
import { HostStats } from "../../../src/services/hosts/HostStats.ts"
import { ProviderKeys } from "../../../src/services/hosts/ProviderKeys.ts"
import { makeExplain } from "../../../src/services/routing/Explain.ts"
import { Router } from "../../../src/services/routing/Router.ts"
import { closeServices, hostsConfig, servicesOf } from "../../support/clocks/services.ts"
import { unlimited } from "../../support/gateways/planner.ts"
import { lastingStorage } from "../../support/storage/lastingStorage.ts"

closeServices()

const price = (usd: string) => ({ pricing: { prompt: usd, completion: usd } })

const explained = async (
  hosts: Readonly<Record<string, object>>,
  body: Readonly<Record<string, unknown>> = {},
  budget: BudgetSnapshot = unlimited,
  providers: Readonly<Record<string, object>> = {},
  /** Members that a caller cannot get past the decoder. */
  unjudged: Readonly<Record<string, unknown>> = {},
) => {
  const config = await hostsConfig(hosts, {}, providers)
  const base = Layer.mergeAll(HostStats.layer, HostHealth.layer, ProviderKeys.layer).pipe(
    Layer.provideMerge(Layer.merge(ProviderRegistry.layer(config), lastingStorage)),
  )
  const { run } = await servicesOf(Layer.provideMerge(Router.layer, base))
  const asked = { model: "acme/small", messages: [{ role: "user", content: "hi" }], max_tokens: 100, ...body }
  const decoded = Either.getOrThrow(decodeChat(asked))
  const request = { ...decoded, payload: { ...decoded.payload, ...unjudged } }
  const explain = await run(makeExplain)
  return Either.getOrThrow(explain(request, budget, { seed: 7 }))
}

describe("an explanation", () => {
  test("has the hosts in the order of the strategy, with what each is expected to cost", async () => {
    const { attempts, strategy, seed, failure, excluded } = await explained({
      dear: price("0.00001"),
      cheap: price("0.000001"),
      unpriced: {},
    })
    expect([strategy, seed, failure, excluded]).toEqual(["price", 7, undefined, []])
    expect(attempts.map(({ host }) => host.provider)).toEqual(["cheap", "dear", "unpriced"])
    const [cheap = null, dear = null, unpriced] = attempts.map(({ expectedCost }) => expectedCost)
    expect(cheap).toBeGreaterThan(0n)
    expect(dear).toBe((cheap ?? 0n) * 10n)
    expect(unpriced).toBeNull()
  })

  test("names the members that a host would not be sent", async () => {
    const { attempts } = await explained({ a: { supported_parameters: ["max_tokens"] } }, { temperature: 1 })
    expect(attempts[0]?.dropped).toEqual(["temperature"])
  })

  test("names the key that would be used, where a provider has several", async () => {
    const keys = { api_keys: [{ key: "one" }, { key: "two" }] }
    const { attempts } = await explained({ a: price("0.000001"), b: price("0.000002") }, {}, unlimited, { a: keys })
    expect(attempts.map(({ key }) => key !== undefined)).toEqual([true, false])
  })
})

describe("a host that the budget does not allow", () => {
  const budget = (limit: bigint): BudgetSnapshot => ({ ...unlimited, limit })

  test("is left out, and the others are tried", async () => {
    const hosts = { dear: price("0.01"), cheap: price("0.0000001") }
    const { attempts, excluded, failure } = await explained(hosts, {}, budget(1_000_000_000n))
    expect(attempts.map(({ host }) => host.provider)).toEqual(["cheap"])
    expect(excluded).toMatchObject([{ by: "budget", model: "acme/small" }])
    expect(failure).toBeUndefined()
  })

  test("leaves nothing to try where it is the only one: what the caller would get is said", async () => {
    const { attempts, failure } = await explained({ dear: price("0.01") }, {}, budget(1_000_000_000n))
    expect([attempts, failure?._tag]).toEqual([[], "PaymentRequired"])
  })
})

test("a budget that pays for the caller's body, and not for what is sent, leaves the host out too", async () => {
  const longer = { messages: [{ role: "user", content: "x".repeat(100_000) }] }
  const budget = { ...unlimited, limit: 10_000_000_000n }
  const hosts = { a: price("0.000001") }
  expect((await explained(hosts, {}, budget)).attempts).toHaveLength(1)
  const { attempts, excluded, failure } = await explained(hosts, {}, budget, {}, longer)
  expect([attempts, excluded.map(({ by }) => by), failure?._tag]).toEqual([[], ["budget"], "PaymentRequired"])
})

test("a host that must not be sent what the request says is left out, with the place in it", async () => {
  const refers = { messages: [{ role: "user", content: [{ type: "file", file: { file_id: "one" } }] }] }
  const { attempts, excluded, failure } = await explained({ a: {} }, {}, unlimited, {}, refers)
  expect(attempts).toEqual([])
  expect(excluded).toMatchObject([{ by: "protocol", reason: expect.stringContaining("file_id: refers to something") }])
  expect(failure).toBeDefined()
})
