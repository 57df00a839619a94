/** How many output tokens a refused request could ask for. docs/guarantees.md#g1 */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import { PaymentRequired, RateLimited } from "../../../src/domain/failures/Failure.ts"
import { type BudgetSnapshot, paymentRequired, reservationSize } from "../../../src/domain/money/reservation.ts"
import type { ChatRequest } from "../../../src/domain/request/request.ts"
import { withAffordable } from "../../../src/services/dispatch/affordable.ts"
import { encodeFor } from "../../../src/services/dispatch/encodeFor.ts"
import { closeServices, hostsConfig, servicesOf } from "../../support/clocks/services.ts"
import { requestWith } from "../../support/recordings/recordings.ts"

closeServices()

const services = await servicesOf(
  ProviderRegistry.layer(
    await hostsConfig({
      dear: { pricing: { prompt: "0.000001", completion: "0.00001" } },
      cheap: { pricing: { prompt: "0.000001", completion: "0.000002" } },
      short: { pricing: { prompt: "0.000001", completion: "0.000001" }, max_completion_tokens: 20 },
    }),
  ),
)
const registry = services.get(ProviderRegistry)
const hosts = registry.current().models[0]?.hosts ?? []
const [dear, cheap, short] = hosts
if (dear === undefined || cheap === undefined || short === undefined) throw new Error("no hosts")

const budgetOf = (limit: bigint, reserved = 0n): BudgetSnapshot => ({
  ...{ limit, spend: 0n, reserved, source: "total", resetsAt: null },
})
const request = requestWith({ messages: [{ role: "user", content: "hello" }] }, { maxTokens: 4000 })

const answered = (
  budget: BudgetSnapshot,
  to: ReadonlyArray<typeof dear>,
  asked: ChatRequest = request,
  reason: PaymentRequired["reason"] = "request_exceeds_budget",
) => {
  const unaffordable = to.map((host) => ({ host, adjustment: undefined }))
  const failure = withAffordable(paymentRequired(budget, reason, 1n), asked, unaffordable, registry)
  return failure instanceof PaymentRequired ? failure : undefined
}

/** Whether the reservation of the request with this bound is admitted at the host. */
const isAdmitted = (budget: BudgetSnapshot, host: typeof dear, maxTokens: number): boolean => {
  const endpoint = registry.endpoint(host)
  if (endpoint === undefined) throw new Error("no endpoint")
  const bounded = { ...request, maxTokens }
  const { body } = Either.getOrThrow(encodeFor(endpoint, bounded, host))
  return typeof reservationSize(budget, { ...bounded, sentBytes: Buffer.byteLength(body) }, host) !== "string"
}

test("so many are admitted, and one more is refused, whatever is left", () => {
  FastCheck.assert(
    FastCheck.property(
      FastCheck.bigInt(0n, 9_000_000_000n),
      FastCheck.bigInt(0n, 1_000_000_000n),
      (limit, reserved) => {
        const budget = budgetOf(limit + reserved, reserved)
        const tokens = answered(budget, [cheap])?.affordableTokens ?? -1
        if (tokens > 0) expect(isAdmitted(budget, cheap, tokens)).toBe(true)
        if (tokens < 4000) expect(isAdmitted(budget, cheap, tokens + 1)).toBe(false)
      },
    ),
    { seed: 7, numRuns: 200 },
  )
})

describe("of several hosts", () => {
  test("the one counts that pays for most", () => {
    const budget = budgetOf(2_000_000_000n)
    const one = answered(budget, [cheap])?.affordableTokens ?? 0
    expect(one).toBeGreaterThan(answered(budget, [dear])?.affordableTokens ?? 0)
    expect(answered(budget, [dear, cheap])?.affordableTokens).toBe(one)
    expect(answered(budget, [cheap, dear])?.affordableTokens).toBe(one)
  })

  test("none writes more than it can", () => {
    expect(answered(budgetOf(2_000_000_000n), [short])?.affordableTokens).toBe(20)
  })
})

describe("nothing is said", () => {
  test.each(["limit_exhausted", "unknown_price"] as const)("where %s: the bound is not what is wrong", (reason) => {
    expect(answered(budgetOf(1n), [cheap], request, reason)?.affordableTokens).toBeUndefined()
  })

  test("of a request that compacts, whose endpoint takes no bound", () => {
    const native = { form: "responses", body: {}, headers: {}, untranslated: [], compacts: true, pathOf: String }
    expect(answered(budgetOf(1n), [cheap], { ...request, native })?.affordableTokens).toBeUndefined()
  })

  test("with another failure, which stays as it is", () => {
    const limited = new RateLimited({ scope: "key", limit: 1, resetsAt: 0, retryAfterSeconds: 1 })
    expect(withAffordable(limited, request, [{ host: cheap, adjustment: undefined }], registry)).toBe(limited)
  })
})

test("what the refusal says besides stays: the bound that was asked for, and when to come back", () => {
  const failure = answered(budgetOf(100n, 90n), [cheap], request, "in_flight_budget_exhausted")
  expect(failure).toMatchObject({
    ...{ reason: "in_flight_budget_exhausted", askedTokens: 4000, affordableTokens: 0 },
    ...{ limit: 100n, reserved: 90n, required: 1n, retryAfterSeconds: 1 },
  })
})
