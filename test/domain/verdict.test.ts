/** Only what a host did counts against it. docs/guarantees.md#g35 */
import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { HostFailed } from "../../src/domain/failures/Failure.ts"
import type { HostFault, HostReason, OwnReason } from "../../src/domain/failures/HostReason.ts"
import { cooldownMs, quietEnds, type Verdict, verdictOn } from "../../src/domain/failures/Verdict.ts"

/** A reason that is missing here does not compile. */
const hostFaults: Readonly<Record<HostFault, true>> = {
  unreachable: true,
  timeout: true,
  account: true,
  forbidden: true,
  "not-found": true,
  request: true,
  "rate-limited": true,
  overloaded: true,
  malformed: true,
}
const ownReasons: Readonly<Record<OwnReason, true>> = {
  plugin: true,
  limit: true,
  shortage: true,
  defect: true,
  unsendable: true,
  "cut-short": true,
  ended: true,
}

const isReason = (name: string): name is HostReason => name in hostFaults || name in ownReasons
const reasons = [...Object.keys(hostFaults), ...Object.keys(ownReasons)].filter(isReason)

const Failed = FastCheck.record(
  {
    reason: FastCheck.constantFrom(...reasons),
    status: FastCheck.integer({ min: 100, max: 599 }),
    code: FastCheck.string(),
    detail: FastCheck.string(),
    retryAfterSeconds: FastCheck.nat(100_000),
    isAfterSending: FastCheck.boolean(),
    cause: FastCheck.anything(),
  },
  { requiredKeys: ["reason"] },
).map((fields) => new HostFailed(fields))

const cooldowns = { accountSeconds: 60, notFoundSeconds: 60, rateLimitSeconds: 5, maxSeconds: 300 }

const harm = (verdict: Verdict, asked: number | undefined) => ({
  uptime: verdict.uptime === "failure",
  breaker: verdict.breaker === "failure",
  coolsMs: cooldownMs(verdict.cooldown, asked, cooldowns),
})
const harmless = { uptime: false, breaker: false, coolsMs: 0 }

describe("what ends an attempt", () => {
  test("any failure that is not the host's doing counts nowhere, whatever else is in it", () => {
    FastCheck.assert(
      FastCheck.property(Failed, (failure) => {
        const verdict = verdictOn(failure)
        if (failure.reason in ownReasons || failure.reason === "request") {
          expect(harm(verdict, failure.retryAfterSeconds)).toEqual(harmless)
          expect(verdict.keepsConversation).toBe(true)
        }
        // No failure speaks for the host, and what it asks for is bounded.
        expect([verdict.uptime, verdict.breaker]).not.toContain("success")
        const waitMs = cooldownMs(verdict.cooldown, failure.retryAfterSeconds, cooldowns)
        expect(waitMs).toBeWithin(0, 300_001)
        // A breaker that opens by it has a failure in the statistics, too.
        if (verdict.breaker === "failure") expect(verdict.uptime).toBe("failure")
      }),
      { numRuns: 5000 },
    )
  })

  test.each([...quietEnds])("%s is no failure", (end) => {
    const verdict = verdictOn(end)
    expect(harm(verdict, undefined)).toEqual(harmless)
    expect([verdict.uptime, verdict.breaker]).toEqual(
      end === "finished" ? ["success", "success"] : [undefined, undefined],
    )
  })

  test.each<[HostFault, object, Partial<Verdict>]>([
    ["unreachable", {}, { breaker: "failure", isDoubtful: false }],
    ["unreachable", { isAfterSending: true }, { breaker: "failure", isDoubtful: true }],
    ["timeout", {}, { breaker: "failure", isDoubtful: true }],
    ["malformed", {}, { breaker: "failure", isDoubtful: true }],
    ["overloaded", { status: 500 }, { breaker: "failure", isDoubtful: true, cooldown: "as-asked" }],
    ["overloaded", { status: 503, retryAfterSeconds: 7 }, { breaker: "failure", isDoubtful: false }],
    ["account", { status: 401 }, { breaker: undefined, cooldown: "account", isDoubtful: false }],
    ["account", { status: 402 }, { breaker: undefined, cooldown: "account", isDoubtful: true }],
    // Google's, of a private video that the request refers to, and words about a key in a 400.
    ["account", { status: 403 }, { breaker: undefined, cooldown: "account", isDoubtful: true }],
    ["account", { status: 400 }, { breaker: undefined, cooldown: "account", isDoubtful: true }],
    ["account", {}, { breaker: undefined, cooldown: "account", isDoubtful: true }],
    ["rate-limited", {}, { breaker: undefined, cooldown: "rate-limit", isDoubtful: true }],
    ["not-found", { status: 404 }, { breaker: undefined, cooldown: "not-found", isDoubtful: true }],
    [
      "rate-limited",
      { status: 429 },
      { uptime: undefined, breaker: undefined, cooldown: "rate-limit", isDoubtful: false },
    ],
    ["forbidden", { status: 403 }, { uptime: undefined, breaker: undefined, cooldown: undefined }],
  ])("%s %p", (reason, more, expected) => {
    expect(verdictOn(new HostFailed({ reason, ...more }))).toMatchObject(expected)
  })
})
