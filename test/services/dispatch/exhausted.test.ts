/** What failed attempts add up to for the caller. docs/guarantees.md#g10 */
import { describe, expect, test } from "bun:test"
import {
  type FailedAttempt,
  HostFailed,
  PaymentRequired,
  RateLimited,
  Unavailable,
  Unsupported,
} from "../../../src/domain/failures/Failure.ts"
import type { HostReason } from "../../../src/domain/failures/HostReason.ts"
import { HostTag } from "../../../src/domain/ids.ts"
import type { Plan } from "../../../src/domain/routing/Plan.ts"
import { exhausted } from "../../../src/services/dispatch/exhausted.ts"
import { outcomeOf } from "../../../src/services/dispatch/outcomeOf.ts"

const failed = (reason: HostReason, { coolsMs, ...more }: { coolsMs?: number; [member: string]: unknown } = {}) => {
  const attempt: FailedAttempt = {
    ...{ provider: "Acme", host: HostTag.make("acme"), model: "acme/small" },
    failure: new HostFailed({ reason, ...more }),
    durationMs: 1,
  }
  return coolsMs === undefined ? attempt : { ...attempt, coolsMs }
}

describe("the outcome", () => {
  test.each<readonly [ReadonlyArray<HostReason>, string]>([
    [["unreachable", "request", "timeout"], "request"],
    [["rate-limited", "rate-limited"], "rate-limited"],
    [["rate-limited", "timeout"], "unavailable"],
    [["not-found", "not-found"], "not-found"],
    [["not-found", "unreachable"], "unavailable"],
    [["timeout", "cut-short"], "timeout"],
    [["timeout", "unreachable"], "unavailable"],
    [["timeout", "forbidden"], "forbidden"],
    [["forbidden", "timeout"], "unavailable"],
    [["account"], "unavailable"],
    [["malformed", "overloaded"], "unavailable"],
  ])("of %p is %s", (reasons, outcome) => {
    expect(
      exhausted(
        reasons.map((reason) => failed(reason)),
        undefined,
      ).outcome,
    ).toBe(outcome as never)
  })

  test("of none is that hosts cool down, are rate limited, or are busy, in this order of weight", () => {
    expect(exhausted([], 1000).outcome).toBe("cooling-down")
    expect(exhausted([], 1000, { isRateLimited: true }).outcome).toBe("rate-limited")
    expect(exhausted([], 1000, { isBusy: true, isRateLimited: true }).outcome).toBe("busy")
    expect(exhausted([failed("unreachable")], 1000, { isBusy: true }).outcome).toBe("unavailable")
  })
})

describe("the time to wait", () => {
  const secondsOf = (...asked: Parameters<typeof exhausted>) => exhausted(...asked).retryAfterSeconds

  test("is the shortest that is known, in whole seconds, from one to 300", () => {
    expect(secondsOf([failed("rate-limited", { retryAfterSeconds: 20 }), failed("timeout")], undefined)).toBe(20)
    expect(secondsOf([failed("rate-limited", { retryAfterSeconds: 20 })], 7001)).toBe(8)
    expect(secondsOf([], 1)).toBe(1)
    expect(secondsOf([failed("overloaded", { retryAfterSeconds: 0 })], undefined)).toBe(1)
    expect(secondsOf([], 9_999_000)).toBe(300)
  })

  test("is how long the host is left alone, not what it asked for, where that is known", () => {
    expect(secondsOf([failed("rate-limited", { retryAfterSeconds: 9000, coolsMs: 250_001 })], undefined)).toBe(251)
  })

  test("is none where nothing is known", () => {
    expect(secondsOf([failed("timeout")], undefined)).toBeUndefined()
  })
})

describe("what skipped hosts add", () => {
  const plan: Plan = {
    ...{ attempts: [], excluded: [], probes: [], strategy: "price", seed: 1, requested: ["acme/small"] },
  }
  const unsupported = new Unsupported({ path: "tools", reason: "it has none" })
  const poor = new PaymentRequired({
    ...{ reason: "limit_exhausted", limitSource: "total", limit: 1n, spend: 1n, reserved: 0n, resetsAt: null },
  })
  const limited = new RateLimited({ scope: "free-models-per-min", limit: 1, resetsAt: 0, retryAfterSeconds: 60 })
  const away = new Unavailable({ why: "metering", retryAfterSeconds: 5 })
  const busy = { because: "concurrency", retryAfterMs: 1000 } as const
  const cooling = { because: "cooldown", reason: "rate-limited", retryAfterMs: 9000, isRateLimit: true } as const

  test("a refusal of ours is the outcome where no host failed: the last one counts", () => {
    expect(outcomeOf([], [poor, busy, unsupported], plan)).toBe(poor)
    expect(outcomeOf([], [poor, limited], plan)).toBe(limited)
    expect(outcomeOf([], [away, poor, busy], plan)).toBe(poor)
    expect(outcomeOf([failed("timeout")], [poor], plan)).toMatchObject({ outcome: "timeout" })
  })

  test("what no host can be told is the caller's mistake, unless waiting helps", () => {
    expect(outcomeOf([], [unsupported], plan)).toMatchObject({
      ...{ _tag: "BadRequest", issues: [{ path: "tools", message: "it has none" }] },
    })
    expect(outcomeOf([], [unsupported, busy], plan)).toMatchObject({ outcome: "busy" })
    expect(outcomeOf([failed("unreachable")], [unsupported], plan)).toMatchObject({ outcome: "unavailable" })
  })

  test("hosts of the plan that are left alone count with those that were skipped: a rate limit only if all are", () => {
    const excluded = [{ host: "a", model: "m", by: "breaker", reason: "", retryAfterMs: 3000 }]
    expect(outcomeOf([], [cooling], plan)).toMatchObject({ outcome: "rate-limited", retryAfterSeconds: 9 })
    expect(outcomeOf([], [cooling], { ...plan, excluded })).toMatchObject({
      ...{ outcome: "cooling-down", retryAfterSeconds: 3 },
    })
  })

  test("with a spent retry budget the first failure alone decides, and no host that was not tried", () => {
    const failures = [failed("rate-limited", { retryAfterSeconds: 30 }), failed("request")]
    expect(outcomeOf(failures, [busy], plan, true)).toMatchObject({ outcome: "rate-limited", retryAfterSeconds: 30 })
  })
})
