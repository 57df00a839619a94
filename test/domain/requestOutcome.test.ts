/** How a request ended, in a word. docs/reference/errors.md#outcomes */
import { expect, test } from "bun:test"
import {
  BadRequest,
  CallerGone,
  KeyMissing,
  NoHostMatches,
  NotPermitted,
  PaymentRequired,
  RateLimited,
  RoutingExhausted,
  TimedOut,
  Unavailable,
} from "../../src/domain/failures/Failure.ts"
import { requestOutcome, requestOutcomes } from "../../src/domain/failures/RequestOutcome.ts"
import type { EndFailure } from "../../src/services/request/ServedRequest.ts"

const issues = [{ path: "model", message: "is unknown" }] as const
const limits = { limitSource: "total", limit: 1n, spend: 1n, reserved: 0n, resetsAt: null }
const rate = { limit: 1, resetsAt: 0, retryAfterSeconds: 1 }

test.each<readonly [string, EndFailure]>([
  ["gateway_defect", "defect"],
  ["caller_bad_request", new BadRequest({ issues })],
  ["caller_bad_request", new BadRequest({ issues, kind: "wrong_endpoint" })],
  ["caller_model_not_found", new BadRequest({ issues, kind: "model_not_found" })],
  ["caller_context_length", new BadRequest({ issues, kind: "context_length_exceeded" })],
  ["caller_unauthenticated", new KeyMissing()],
  ["caller_gone", new CallerGone()],
  ["caller_slow_body", new TimedOut({ phase: "body", afterMs: 1 })],
  ["policy_cut", new TimedOut({ phase: "upstream", afterMs: 1 })],
  ["policy_budget_used_up", new PaymentRequired({ ...limits, reason: "limit_exhausted" })],
  ["policy_rate_limited", new RateLimited({ ...rate, scope: "key" })],
  ["policy_in_flight", new RateLimited({ ...rate, scope: "key-requests-in-flight" })],
  ["policy_not_permitted", new NotPermitted({ rule: "No." })],
  ["policy_address", new NotPermitted({ rule: "Not from here.", by: "address" })],
  ["policy_no_host", new NoHostMatches({ models: [], excluded: [], stage: "context" } as never)],
  ["caller_refused_by_host", new RoutingExhausted({ outcome: "request", attempts: [] })],
  ["host_unavailable", new RoutingExhausted({ outcome: "unavailable", attempts: [] })],
  ["gateway_stopping", new Unavailable({ why: "draining", retryAfterSeconds: 1 })],
])("%s", (outcome, failure) => {
  expect<string>(requestOutcome(failure, undefined)).toBe(outcome)
})

test("an answer that its host did not finish is no success, although its status was 200", () => {
  const ends = ["finished", "host-failed", "cut", "caller-gone"] as const
  expect(ends.map((end) => requestOutcome(null, end))).toEqual(["ok", "host_broke_off", "policy_cut", "caller_gone"])
  expect(requestOutcome(null, undefined)).toBe("ok")
})

test("a deadline that hosts used up is their time-out", () => {
  expect(requestOutcome(new TimedOut({ phase: "upstream", afterMs: 1 }), undefined, true)).toBe("host_timeout")
})

test.each<readonly [string, EndFailure]>([
  ["the deadline", new TimedOut({ phase: "upstream", afterMs: 1 })],
  ["a caller who takes no bytes", new CallerGone()],
  ["a bound on its size", new RoutingExhausted({ outcome: "unavailable", attempts: [] })],
  ["a drain", new Unavailable({ why: "draining", retryAfterSeconds: 1 })],
])("an answer that we cut is never its host's fault: %s", (_by, failure) => {
  expect(requestOutcome(failure, "cut", true)).toBe("policy_cut")
})

test("a cut answer that could not be booked is a failure of the ledger", () => {
  expect(requestOutcome(new Unavailable({ why: "metering", retryAfterSeconds: 1 }), "cut")).toBe("gateway_ledger")
})

test("each word says whose doing it was", () => {
  expect(requestOutcomes.filter((outcome) => !/^(ok$|(caller|policy|host|gateway)_[a-z_]+$)/.test(outcome))).toEqual([])
  expect(new Set(requestOutcomes).size).toBe(requestOutcomes.length)
})

test("docs/reference/errors.md has a line for each word, and for no other", async () => {
  const page = await Bun.file(new URL("../../docs/reference/errors.md", import.meta.url)).text()
  const words = page
    .slice(page.indexOf('<a id="outcomes">'))
    .matchAll(/^\| (`.*?`) \| /gm)
    .flatMap(([, cell = ""]) => cell.matchAll(/`(.*?)`/g).map(([, word]) => word))
  expect([...words].toSorted()).toEqual(requestOutcomes.toSorted())
})
