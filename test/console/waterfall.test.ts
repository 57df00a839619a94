/** The times of a request as bars. */
import { expect, test } from "bun:test"
import { causeOf, outcomeTone, outcomeWords } from "../../console/lib/outcomes.ts"
import { placed, waterfall } from "../../console/lib/waterfall.ts"
import { requestOutcomes } from "../../src/domain/failures/RequestOutcome.ts"

const times = { admitted: 1, first_attempt: 3, first_token: null, first_byte: 900, last_byte: 900, booked: 905 }

test("calls of hosts follow one another, and one that failed is told apart", () => {
  const calls = [
    { host: "a", outcome: "unreachable", duration_ms: 200, fault: "dns" },
    { host: "b", outcome: "finished", duration_ms: 690, fault: null },
  ]
  expect(waterfall(times, calls, 905, "b")).toEqual([
    { title: "read and admitted", from: 0, to: 1, kind: "gateway" },
    { title: "planned, money reserved", from: 1, to: 3, kind: "gateway" },
    { title: "a: dns", from: 3, to: 203, kind: "failed" },
    { title: "b", from: 203, to: 893, kind: "host" },
    { title: "cost written to the ledger", from: 893, to: 905, kind: "gateway" },
  ])
})

test("a call that was begun beside a slow one, and won, begins before that was cancelled", () => {
  const kept = { ...times, admitted: null, first_attempt: null, booked: null }
  const calls = [
    { host: "slow", outcome: "lost", duration_ms: 900 },
    { host: "quick", outcome: "finished", duration_ms: 200 },
  ]
  expect(waterfall(kept, calls, 905, null)).toEqual([
    { title: "slow", from: 0, to: 900, kind: "failed" },
    { title: "quick", from: 705, to: 905, kind: "host" },
  ])
})

test("of a request whose calls are not kept the first token divides the time of its host", () => {
  const kept = { ...times, admitted: null, first_attempt: null, booked: null, first_token: 400 }
  expect(waterfall(kept, [], 900, "b").map(({ title, from, to }) => [title, from, to])).toEqual([
    ["b: until the first token", 0, 400],
    ["b: the rest", 400, 900],
  ])
})

test("a bar is seen even where it is short, and never leaves its line", () => {
  const span = { title: "", from: 999.9, to: 1000, kind: "host" as const }
  const { left, width } = placed(span, 1000)
  expect(left + width).toBeLessThanOrEqual(100)
  expect(width).toBeGreaterThan(0)
  expect(placed({ ...span, from: 0, to: 0 }, 0)).toEqual({ left: 0, width: 100 })
})

test.each([...requestOutcomes])("the outcome %s has a cause, words and a colour", (outcome) => {
  expect(outcome === "ok" || outcome.startsWith(`${causeOf(outcome)}_`)).toBe(true)
  expect(outcomeWords(outcome)).not.toBe("")
  expect(outcomeTone(outcome)).not.toBe("")
})
