/** What the caller is told where a plan has no host, by what can be done about it. docs/guarantees.md#g10 */
import { expect, test } from "bun:test"
import type { Exclusion } from "../../../src/domain/failures/Exclusion.ts"
import type { BudgetSnapshot } from "../../../src/domain/money/reservation.ts"
import { planRefusal } from "../../../src/services/routing/planRefusal.ts"
import { Exclusions } from "../../../src/services/routing/usableHosts.ts"
import { hostFor, requestWith } from "../../support/recordings/recordings.ts"

const budget: BudgetSnapshot = { limit: 5n, spend: 1n, reserved: 0n, source: "total", resetsAt: null }
const host = hostFor("upstream")

type Finding = Omit<Exclusion, "host" | "model">

/** Of hosts that these checks leave out; each with its stage, where it is not the place in the list. */
const refusal = (findings: ReadonlyArray<Finding | readonly [Finding, number]>, request = requestWith({})) => {
  const excluded = new Exclusions()
  for (const [at, one] of findings.entries()) {
    if ("by" in one) excluded.add(host, one, at)
    else excluded.add(host, ...one)
  }
  return planRefusal(request, excluded, budget)
}

const poor = { by: "budget", reason: "request_exceeds_budget", required: 9n }
const cooling = { by: "cooldown", reason: "left alone", retryAfterMs: 7000, isRateLimit: true }
const open = { by: "breaker", reason: "left alone", retryAfterMs: 3000 }
const forbidden = { by: "allowed_models", reason: "the key may not use it" }
const short = { by: "context_length", reason: "its context is 10 tokens", tooLong: { fewest: 30, maximum: 10 } }
const longer = { ...short, tooLong: { fewest: 30, maximum: 20 } }
const ignored = { by: "ignore", reason: "ignored" }

test("who cannot pay is told what it takes, even where waiting helps elsewhere", () => {
  expect(refusal([ignored, forbidden, cooling, poor])).toMatchObject({
    ...{ _tag: "PaymentRequired", reason: "request_exceeds_budget", required: 9n, limit: 5n, spend: 1n },
  })
})

test("of several hosts that cannot be paid for, the last one says how much", () => {
  expect(refusal([{ ...poor, required: 20n }, poor])).toMatchObject({ required: 9n })
})

test("where waiting helps: for how long, at the host that is back first; a rate limit only where all are", () => {
  expect(refusal([ignored, forbidden, cooling])).toMatchObject({
    ...{ _tag: "RoutingExhausted", outcome: "rate-limited", retryAfterSeconds: 7, models: ["acme/small"] },
    waiting: [{ by: "cooldown" }],
  })
  expect(refusal([cooling, open])).toMatchObject({ outcome: "cooling-down", retryAfterSeconds: 3 })
})

test("a host whose wait is unknown does not make the others wait", () => {
  const { retryAfterMs: _, ...unknown } = { ...cooling, by: "api_keys" }
  expect(refusal([unknown])).toMatchObject({ _tag: "NoHostMatches" })
})

test("where only the key's lists are in the way: which", () => {
  const providers = { ...forbidden, by: "allowed_providers" }
  expect(refusal([short, forbidden, providers])).toMatchObject({
    ...{ _tag: "NotPermitted", rule: expect.stringContaining("allowed_models and allowed_providers") },
  })
})

test("a prompt that is too long is the caller's mistake, at the member that has it, if that check came last", () => {
  // By the host that takes the most.
  expect(refusal([ignored, short, longer, short])).toMatchObject({
    ...{ _tag: "BadRequest", kind: "context_length_exceeded", tooLong: longer.tooLong },
    issues: [{ path: "messages", message: "the maximum context length is 20 tokens, but the request has at least 30" }],
  })
  const native = { form: "responses", body: {}, headers: {}, untranslated: [], pathOf: () => "input" }
  expect(refusal([short], { ...requestWith({}), native })).toMatchObject({ issues: [{ path: "input" }] })
  expect(refusal([short, ignored])).toMatchObject({ _tag: "NoHostMatches" })
})

test("the last check is the one of the highest stage, in whatever order hosts were looked at", () => {
  expect(
    refusal([
      [short, 5],
      [ignored, 2],
    ]),
  ).toMatchObject({ _tag: "BadRequest" })
})

test("otherwise every exclusion is told, in the order of the checks, and what was asked for", () => {
  expect(
    refusal([
      [{ by: "zdr", reason: "it keeps prompts" }, 4],
      [ignored, 1],
    ]),
  ).toMatchObject({ _tag: "NoHostMatches", excluded: [{ by: "ignore" }, { by: "zdr" }], requestedProviders: [] })
  expect(refusal([])).toMatchObject({ _tag: "NoHostMatches", excluded: [] })
})
