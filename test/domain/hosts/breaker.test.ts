/** The circuit breaker of an endpoint, against a plain model of it. docs/guarantees.md#g12 */
import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { Breaker, type BreakerRules } from "../../../src/domain/hosts/Breaker.ts"
import { randomSequence } from "../../../src/domain/structures/randomSequence.ts"

const usual: BreakerRules = { consecutiveFailures: 5, errorRate: 0.5, minRequests: 20, openMs: 30_000 }
const middle = () => 0.5
const times = (count: number, act: (at: number) => void) => {
  for (let at = 0; at < count; at++) act(at)
}

/** Fails until it opens; returns how long it is open then. */
const opened = (breaker: Breaker, now: number): number => {
  times(5, () => breaker.failed(now))
  return breaker.waitMs(now)
}

describe("a breaker opens", () => {
  test("after five failures in a row, not after four", () => {
    const breaker = new Breaker(usual, middle)
    times(4, () => breaker.failed(0))
    expect(breaker.waitMs(0)).toBe(0)
    breaker.succeeded(0)
    times(4, () => breaker.failed(0))
    expect(breaker.isClosed).toBe(true)
    breaker.failed(0)
    expect([breaker.isClosed, breaker.waitMs(0)]).toEqual([false, 30_000])
  })

  test("when half of twenty calls within 30 seconds failed, not of nineteen", () => {
    const breaker = new Breaker(usual, middle)
    times(9, (at) => {
      breaker.failed(at)
      breaker.succeeded(at)
    })
    breaker.failed(9)
    expect(breaker.isClosed).toBe(true)
    breaker.succeeded(10)
    expect(breaker.isClosed).toBe(true)
    breaker.failed(11)
    expect(breaker.isClosed).toBe(false)
  })

  test("not by failures that are older than 30 seconds", () => {
    for (const [later, isClosed] of [
      [29_999, false],
      [30_000, true],
    ] as const) {
      const breaker = new Breaker(usual, middle)
      times(16, (at) => (at % 4 === 0 ? breaker.succeeded(0) : breaker.failed(0)))
      breaker.succeeded(later)
      times(3, () => breaker.failed(later))
      expect(breaker.isClosed).toBe(isClosed)
    }
  })

  test("never by what is switched off", () => {
    const never = Number.POSITIVE_INFINITY
    const byShare = new Breaker({ ...usual, consecutiveFailures: never }, middle)
    times(19, () => byShare.failed(0))
    expect(byShare.isClosed).toBe(true)
    byShare.failed(0)
    expect(byShare.isClosed).toBe(false)
    const inARow = new Breaker({ ...usual, errorRate: never }, middle)
    times(100, (at) => (at % 5 === 4 ? inARow.succeeded(0) : inARow.failed(0)))
    expect(inARow.isClosed).toBe(true)
    const off = new Breaker({ ...usual, openMs: 0 }, middle)
    times(100, () => off.failed(0))
    expect([off.isClosed, off.waitMs(0)]).toEqual([true, 0])
  })
})

describe("an open breaker", () => {
  test("lets one probe through when its time is over, and closes when that is answered", () => {
    const breaker = new Breaker(usual, middle)
    opened(breaker, 0)
    expect(breaker.waitMs(29_999)).toBe(1)
    expect(breaker.waitMs(30_000)).toBe(0)
    breaker.probe()
    expect(breaker.waitMs(30_000)).toBe(1000)
    breaker.close(31_000)
    expect([breaker.isClosed, breaker.waitMs(31_000)]).toEqual([true, 0])
  })

  test("lets another one through when the probe had no outcome", () => {
    const breaker = new Breaker(usual, middle)
    opened(breaker, 0)
    breaker.probe()
    breaker.giveUp()
    expect(breaker.waitMs(30_000)).toBe(0)
  })

  test("stays open for 30 seconds more at each failed probe, at most for 300", () => {
    const breaker = new Breaker(usual, middle)
    let now = 0
    const waits = [opened(breaker, now)]
    times(11, () => {
      now += breaker.waitMs(now)
      breaker.probe()
      breaker.failed(now)
      waits.push(breaker.waitMs(now))
    })
    const expected = [30, 60, 90, 120, 150, 180, 210, 240, 270, 300, 300, 300]
    expect(waits).toEqual(expected.map((seconds) => seconds * 1000))
  })

  test("is not prolonged by a probe that went out before its time", () => {
    const breaker = new Breaker(usual, middle)
    opened(breaker, 0)
    breaker.probe()
    breaker.failed(10_000)
    expect(breaker.waitMs(10_000)).toBe(20_000)
  })

  test("which was closed by the beginning of an answer opens at the next failure", () => {
    const breaker = new Breaker(usual, middle)
    opened(breaker, 0)
    breaker.probe()
    breaker.close(30_000)
    breaker.failed(30_100)
    expect(breaker.waitMs(30_100)).toBe(60_000)
  })

  test("forgives with a complete answer, and with time", () => {
    const breaker = new Breaker(usual, middle)
    let now = 0
    opened(breaker, now)
    times(3, () => {
      now += breaker.waitMs(now)
      breaker.probe()
      breaker.failed(now)
    })
    expect(breaker.waitMs(now)).toBe(120_000)
    now += 120_000
    breaker.probe()
    breaker.close(now)
    breaker.succeeded(now)
    expect(opened(breaker, now + 1000)).toBe(120_000)
    const later = now + 121_000
    breaker.probe()
    breaker.close(later)
    breaker.succeeded(later)
    expect(opened(breaker, later + 60_000)).toBe(60_000)
    breaker.probe()
    breaker.close(later + 200_000)
    expect(opened(breaker, later + 3_600_000)).toBe(30_000)
  })
})

/** The same rules over a list of all calls, without anything that is kept up to date. */
class PlainBreaker {
  private calls: Array<{ readonly at: number; readonly bad: boolean }> = []
  private row = 0
  private openUntil: number | undefined
  private openings = 0
  private closedAt = 0
  private unproven = false
  private readonly rules: BreakerRules
  private readonly random: () => number

  constructor(rules: BreakerRules, random: () => number) {
    this.rules = rules
    this.random = random
  }

  isClosed(): boolean {
    return this.openUntil === undefined
  }

  mayPass(now: number): boolean {
    return this.openUntil === undefined || now >= this.openUntil
  }

  call(now: number, bad: boolean): void {
    if (this.openUntil !== undefined) {
      if (bad) {
        this.open(now, 0)
        return
      }
      this.openUntil = undefined
      this.closedAt = now
      this.calls = []
      this.unproven = true
    }
    this.calls.push({ at: now, bad })
    this.row = bad ? this.row + 1 : 0
    if (!bad && this.unproven) {
      this.unproven = false
      this.openings = Math.max(0, this.openings - 1)
    }
    const recent = this.calls.filter(({ at }) => Math.floor(at / 1000) > Math.floor(now / 1000) - 30)
    const failures = recent.filter((one) => one.bad).length
    const { consecutiveFailures, errorRate, minRequests, openMs } = this.rules
    const isOften = recent.length >= minRequests && failures / recent.length >= errorRate
    if (bad && (this.row >= consecutiveFailures || isOften)) this.open(now, Math.floor((now - this.closedAt) / openMs))
  }

  private open(now: number, forgiven: number): void {
    this.openings = Math.max(0, this.openings - forgiven) + 1
    const length = Math.min(this.openings * this.rules.openMs, 300_000) * (0.8 + 0.4 * this.random())
    this.openUntil = now + Math.min(300_000, length)
    this.row = 0
  }
}

test("any course of calls: it is closed, open and half-open exactly when the plain model is", () => {
  const Call = FastCheck.record({
    /** Mostly short, sometimes as long as a breaker is open. */
    pause: FastCheck.oneof(FastCheck.nat(400), FastCheck.nat(5000), FastCheck.nat(120_000)),
    bad: FastCheck.boolean(),
  })
  const Rules = FastCheck.record({
    consecutiveFailures: FastCheck.constantFrom(1, 2, 5, Number.POSITIVE_INFINITY),
    errorRate: FastCheck.constantFrom(0.25, 0.5, 1, Number.POSITIVE_INFINITY),
    minRequests: FastCheck.constantFrom(0, 4, 20),
    openMs: FastCheck.constantFrom(1000, 30_000),
  })
  let opened = 0
  FastCheck.assert(
    FastCheck.property(
      Rules,
      FastCheck.nat(),
      FastCheck.array(Call, { maxLength: 120 }),
      FastCheck.boolean(),
      (rules, seed, calls, mostlyBad) => {
        const breaker = new Breaker(rules, randomSequence(seed))
        const plain = new PlainBreaker(rules, randomSequence(seed))
        let now = 0
        for (const { pause, bad: maybe } of calls) {
          now += pause
          const bad = mostlyBad || maybe
          expect(breaker.waitMs(now) === 0).toBe(plain.mayPass(now))
          if (!plain.mayPass(now)) continue
          if (!breaker.isClosed) {
            breaker.probe()
            expect(breaker.waitMs(now)).toBeGreaterThan(0)
            if (!bad) breaker.close(now)
          }
          if (bad) breaker.failed(now)
          else breaker.succeeded(now)
          plain.call(now, bad)
          expect(breaker.isClosed).toBe(plain.isClosed())
          if (!breaker.isClosed) {
            opened += 1
            expect(breaker.waitMs(now)).toBeWithin(rules.openMs * 0.8, 300_001)
          }
        }
      },
    ),
    { numRuns: 500 },
  )
  expect(opened).toBeGreaterThan(300)
})
