import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { HostFigures, type Sample, type Slot } from "../../../src/domain/hosts/HostFigures.ts"

const start = Date.UTC(2026, 0, 15, 12)
const second = 1000
const minute = 60 * second
const hour = 60 * minute

const figuresOf = (samples: ReadonlyArray<readonly [at: number, sample: Sample]>): HostFigures => {
  const figures = new HostFigures(start)
  for (const [at, sample] of samples) figures.record(start + at, sample)
  return figures
}

const failedAt = (...at: ReadonlyArray<number>) => at.map((time) => [time, { ok: false }] as const)
const succeededAt = (...at: ReadonlyArray<number>) => at.map((time) => [time, { ok: true }] as const)

const isNear = (value: number | null, exact: number) => {
  expect(Math.abs((value ?? Number.NaN) / exact - 1)).toBeLessThan(0.0501)
}

describe("a host is failing", () => {
  test.each([
    ["one failure alone", failedAt(0), true],
    ["a failure among successes", [...succeededAt(0), ...failedAt(1), ...succeededAt(2)], false],
    ["half of the requests", [...failedAt(0), ...succeededAt(1)], false],
    ["more than half", [...failedAt(0), ...succeededAt(1), ...failedAt(2)], true],
    ["the last two of many", [...succeededAt(...Array.from({ length: 50 }, () => 0)), ...failedAt(1, 2)], true],
    ["two in a row, and then a success", [...succeededAt(0, 0, 0), ...failedAt(1, 2), ...succeededAt(3)], false],
    ["only successes", succeededAt(0, 1), false],
    ["nothing", [], false],
  ] as const)("after %s", (_, samples, failing) => {
    const figures = figuresOf(samples)
    expect(figures.mayBeFailing && figures.failing(start + 5)).toBe(failing)
  })

  test("for 30 seconds", () => {
    const figures = figuresOf(failedAt(0, 0))
    expect(figures.failing(start + 29_999)).toBe(true)
    expect(figures.failing(start + 30_000)).toBe(false)
    expect(figures.mayBeFailing).toBe(false)
  })
})

describe("standing", () => {
  test.each([
    [95, 5, "normal"],
    [94, 6, "degraded"],
    [80, 20, "degraded"],
    [79, 21, "down"],
    [0, 99, "normal"],
    [0, 100, "down"],
  ] as const)("%p successes, %p failures: %s, for a day", (good, bad, standing) => {
    const figures = new HostFigures(start)
    for (let n = 0; n < good; n++) figures.record(start, { ok: true })
    for (let n = 0; n < bad; n++) figures.record(start, { ok: false })
    expect(figures.standing(start + 23 * hour)).toBe(standing)
    expect(figures.mayBeBelowNormal).toBe(bad > 0 && good + bad >= 100)
    expect(figures.standing(start + 24 * hour)).toBe("normal")
  })
})

test("windows slide", () => {
  const figures = figuresOf([
    [0, { ok: false, latencyMs: 1000, tokensPerSecond: 10 }],
    [10 * minute, { ok: true, latencyMs: 100, tokensPerSecond: 50 }],
  ])
  const at = (after: number) => ({
    five: figures.uptime(start + after, 5),
    thirty: figures.uptime(start + after, 30),
    day: figures.uptimeOfDay(start + after),
    requests: figures.requests(start + after),
  })
  expect(at(10 * minute)).toEqual({ five: 100, thirty: 50, day: 50, requests: 2 })
  isNear(figures.medianLatency(start + 10 * minute), 100)
  isNear(figures.latencies(start + 10 * minute)?.p99 ?? null, 1000)
  isNear(figures.latencyAt(start + 10 * minute, 99), 100)
  expect(at(15 * minute)).toEqual({ five: null, thirty: 50, day: 50, requests: 2 })
  expect(figures.latencyAt(start + 15 * minute, 50)).toBeNull()
  expect(at(30 * minute)).toEqual({ five: null, thirty: 100, day: 50, requests: 1 })
  isNear(figures.latencies(start + 30 * minute)?.p99 ?? null, 100)
  isNear(figures.medianThroughput(start + 30 * minute), 50)
  expect(at(40 * minute)).toEqual({ five: null, thirty: null, day: 50, requests: 0 })
  expect(figures.latencies(start + 40 * minute)).toBeNull()
  expect(figures.medianThroughput(start + 40 * minute)).toBeNull()
  expect(at(24 * hour)).toEqual({ five: null, thirty: null, day: 100, requests: 0 })
  expect(at(25 * hour)).toEqual({ five: null, thirty: null, day: null, requests: 0 })
})

test("what is recorded counts at once", () => {
  const figures = figuresOf([[0, { ok: true, latencyMs: 100 }]])
  isNear(figures.medianLatency(start), 100)
  figures.record(start, { ok: true, latencyMs: 500 })
  figures.record(start, { ok: true, latencyMs: 500 })
  isNear(figures.medianLatency(start), 500)
})

test("an attempt that neither failed nor finished gives a time, and no outcome", () => {
  const figures = figuresOf([[0, { latencyMs: 250 }]])
  expect(figures.uptime(start, 30)).toBeNull()
  expect(figures.requests(start)).toBe(0)
  isNear(figures.medianLatency(start), 250)
})

test("tool success is a share of the answers to requests with tools", () => {
  expect(figuresOf(succeededAt(0)).toolSuccess(start)).toBeNull()
  const figures = figuresOf([
    [0, { ok: true, areToolCallsSound: true }],
    [1, { ok: true, areToolCallsSound: false }],
    [2, { ok: true, areToolCallsSound: true }],
    [3, { ok: true, areToolCallsSound: true }],
    [4, { ok: true }],
  ])
  expect(figures.toolSuccess(start + hour)).toBe(0.75)
})

const anySample = FastCheck.record({
  passed: FastCheck.oneof(
    FastCheck.integer({ min: 0, max: 20_000 }),
    FastCheck.integer({ min: 0, max: 20 * minute }),
    FastCheck.constantFrom(-3 * 24 * hour, -minute, 2 * hour, 3 * 24 * hour),
  ),
  ok: FastCheck.option(FastCheck.boolean(), { nil: undefined }),
  latencyMs: FastCheck.option(FastCheck.double({ min: 1, max: 60_000, noNaN: true }), { nil: undefined }),
  tokensPerSecond: FastCheck.option(FastCheck.double({ min: 1, max: 500, noNaN: true }), { nil: undefined }),
  areToolCallsSound: FastCheck.option(FastCheck.boolean(), { nil: undefined }),
})

const everything = (figures: HostFigures, at: number) => ({
  uptimes: [figures.uptime(at, 5), figures.uptime(at, 30), figures.uptimeOfDay(at)],
  requests: figures.requests(at),
  standing: figures.standing(at),
  tools: figures.toolSuccess(at),
  latencies: figures.latencies(at),
  throughputs: figures.throughputs(at),
  medians: [figures.medianLatency(at), figures.medianThroughput(at)],
  recent: [figures.latencyAt(at, 95), figures.throughputAt(at, 10)],
})

const restored = (at: number, slots: Iterable<Slot>): HostFigures => {
  const figures = new HostFigures(at)
  for (const slot of slots) expect(figures.restore(at, slot)).toBe(true)
  return figures
}

test("any traffic and any clock: what is kept gives the same figures again, written at once or bit by bit", () => {
  FastCheck.assert(
    FastCheck.property(FastCheck.array(anySample, { maxLength: 80 }), FastCheck.nat(10), (samples, every) => {
      const figures = new HostFigures(start)
      let at = start
      for (const [n, { passed, ...sample }] of samples.entries()) {
        at += passed
        figures.record(at, sample)
        // Reading in between must not change what is read later.
        if (n % 3 === 0) everything(figures, at)
      }
      const seen = everything(figures, at)
      expect(everything(restored(at, figures.changedSlots(at, 0)), at)).toEqual(seen)
      for (const value of seen.uptimes) if (value !== null) expect(value >= 0 && value <= 100).toBe(true)

      // Bit by bit, as the database keeps it. Only for a clock that goes ahead: each row replaces that of its time.
      if (samples.some(({ passed }) => passed < 0)) return
      const rows = new Map<string, Slot>()
      const written = new HostFigures(start)
      const write = (now: number, since: number) => {
        for (const slot of written.changedSlots(now, since)) rows.set(`${slot.minutes} ${slot.start}`, slot)
      }
      let since = start
      let now = start
      for (const [n, { passed, ...sample }] of samples.entries()) {
        now += passed
        written.record(now, sample)
        if (n % (every + 1) !== 0) continue
        write(now, since)
        since = now
      }
      write(now, since)
      const again = new HostFigures(now)
      for (const slot of rows.values()) again.restore(now, slot)
      expect(everything(again, now)).toEqual(seen)
    }),
    { numRuns: 300 },
  )
})

test("the figures of two processes add", () => {
  const mine = figuresOf([
    [0, { ok: true, latencyMs: 100, tokensPerSecond: 40, areToolCallsSound: true }],
    [minute, { ok: true, latencyMs: 300 }],
  ])
  const theirs = figuresOf([
    [0, { ok: false }],
    [minute, { ok: true, latencyMs: 800, tokensPerSecond: 80, areToolCallsSound: false }],
  ])
  const at = start + 2 * minute
  const sum = restored(at, [...mine.changedSlots(at, 0), ...theirs.changedSlots(at, 0)])
  expect(sum.requests(at)).toBe(4)
  expect(sum.uptime(at, 30)).toBe(75)
  expect(sum.toolSuccess(at)).toBe(0.5)
  isNear(sum.medianLatency(at), 300)
  isNear(sum.throughputs(at)?.p99 ?? null, 80)
})

test.each([
  [{ minutes: 1, start: start - 30 * minute }],
  [{ minutes: 1, start: start + minute }],
  [{ minutes: 1, start: start + 1 }],
  [{ minutes: 10, start: start - 24 * hour }],
  [{ minutes: 5, start }],
  [{ figures: "" }],
  [{ figures: "[]" }],
  [{ figures: "{}" }],
  [{ figures: '{"ok":-1,"failed":0,"latency":[],"throughput":[]}' }],
  [{ figures: '{"ok":1,"failed":0,"latency":[900,1],"throughput":[]}' }],
  [{ minutes: 10, figures: '{"ok":1,"failed":0}' }],
])("a slot %j is not restored, and changes nothing", (odd) => {
  const sound = { minutes: 1, start, figures: '{"ok":1,"failed":0,"latency":[9,1],"throughput":[]}' }
  const figures = new HostFigures(start)
  expect(figures.restore(start, { ...sound, ...odd })).toBe(false)
  expect(everything(figures, start)).toEqual(everything(new HostFigures(start), start))
  expect(figures.restore(start, sound)).toBe(true)
})
