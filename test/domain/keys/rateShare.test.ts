/** Shares of a rate limit: docs/decisions/0027-shared-rate-limits.md */
import { expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { weightedOrder } from "../../../src/domain/hosts/keyOrder.ts"
import { preferredPermits, RateShare, shareLeaseMs } from "../../../src/domain/keys/RateShare.ts"

test("any division of the permits among shares that pass them on: never more than the limit in an interval", () => {
  const step = FastCheck.record({
    share: FastCheck.nat(2),
    act: FastCheck.constantFrom("take", "take", "take", "give back", "ask"),
    afterMs: FastCheck.nat(400),
  })
  FastCheck.assert(
    FastCheck.property(
      FastCheck.integer({ min: 1, max: 200 }),
      FastCheck.array(step, { maxLength: 400, size: "max" }),
      (requests, steps) => {
        const limit = { requests, intervalSeconds: 1 }
        const shares = [new RateShare(), new RateShare(), new RateShare()]
        /** Requests that count and are in no share, by when they were made. */
        let uses: Array<{ readonly at: number; readonly requests: number }> = []
        const times: Array<number> = []
        let now = 0
        for (const { share: at, act, afterMs } of steps) {
          now += afterMs
          const share = shares[at] ?? expect.unreachable()
          uses = uses.filter((use) => use.at + 1000 > now)
          if (act === "ask") {
            const used = uses.reduce((sum, use) => sum + use.requests, 0)
            const left = requests - used - shares.reduce((sum, { permits }) => sum + permits, 0)
            share.permits += Math.ceil(left / 2)
            share.until = now + shareLeaseMs(limit)
          } else if (act === "give back") {
            for (const { ageMs, requests: counted } of share.end(limit, now))
              uses.push({ at: now - ageMs, requests: counted })
          } else while (share.take(limit, now) && times.push(now) % 7 !== 0);
        }
        for (const time of times) {
          const within = times.filter((other) => other > time - 1000 && other <= time).length
          expect(within).toBeLessThanOrEqual(requests)
        }
      },
    ),
    { numRuns: 200 },
  )
})

test("a share that was not renewed is not used", () => {
  const limit = { requests: 5, intervalSeconds: 60 }
  const share = new RateShare()
  share.permits = 5
  share.until = 100
  expect([share.take(limit, 99), share.take(limit, 100)]).toEqual([true, false])
  expect(share.end(limit, 200)).toEqual([{ ageMs: 101, requests: 1 }])
  expect([share.permits, share.size, share.take(limit, 201)]).toEqual([0, 0, false])
})

test.each([
  [{ requests: 10, intervalSeconds: 1 }, 250, 10],
  [{ requests: 10, intervalSeconds: 10 }, 2500, 10],
  [{ requests: 1000, intervalSeconds: 3600 }, 10_000, 12],
  [{ requests: 10, intervalSeconds: 86_400 }, 10_000, 1],
])("%p: renewed every %p ms, with %p permits at once", (limit, leaseMs, preferred) => {
  expect([shareLeaseMs(limit), preferredPermits(limit)]).toEqual([leaseMs, preferred])
})

test("keys come first as often as their weights say, in the same order for the same seed", () => {
  const keys = [{ weight: 6 }, { weight: 3 }, { weight: 1 }]
  const firsts = [0, 0, 0]
  for (let seed = 0; seed < 10_000; seed++) {
    const order = weightedOrder(keys, seed)
    expect(order.toSorted((a, b) => b.weight - a.weight)).toEqual(keys)
    if (seed % 100 === 0) expect(weightedOrder(keys, seed)).toEqual(order)
    const first = keys.findIndex(({ weight }) => weight === order[0]?.weight)
    firsts[first] = (firsts[first] ?? 0) + 1
  }
  for (const [at, { weight }] of keys.entries()) expect(Math.abs((firsts[at] ?? 0) - 1000 * weight)).toBeLessThan(200)
})
