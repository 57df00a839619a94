/** What counts in the statistics of a host. The figures themselves are tried in test/domain/hosts/hostFigures.test.ts. docs/guarantees.md#g35 */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import { HostTag } from "../../../src/domain/ids.ts"
import { dayMs } from "../../../src/domain/keys/limitWindows.ts"
import { HostStats } from "../../../src/services/hosts/HostStats.ts"
import { layerKeptStats } from "../../../src/services/hosts/keptStats.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { ManualClock, pass } from "../../support/clocks/manualClock.ts"
import { closeServices, hostsConfig, servicesOf } from "../../support/clocks/services.ts"
import { hostFor } from "../../support/recordings/recordings.ts"
import { lastingStorage } from "../../support/storage/lastingStorage.ts"

closeServices()

const host = hostFor("upstream")

const scene = async () => {
  const services = await servicesOf(HostStats.layer)
  return { ...services, stats: services.get(HostStats) }
}

describe("a host's figures", () => {
  test("are none before it was used, and none any more after a day", async () => {
    const { stats, clock } = await scene()
    expect(stats.report(host)).toMatchObject({ uptime5m: null, uptime1d: null, standing: "normal" })
    stats.succeeded(host, { latencyMs: 100, durationMs: 1100, completionTokens: 50 })
    expect(stats.report(host)).toMatchObject({ uptime5m: 100, uptime30m: 100, uptime1d: 100 })
    clock.advance(2 * dayMs)
    expect([...stats.changedSlots(0)]).toEqual([])
    expect(stats.snapshot(host).uptime).toBeNull()
  })

  test("are those of the endpoint, whichever object stands for it after a reload, and of no other", async () => {
    const { stats } = await scene()
    stats.record(host, { ok: false })
    expect(stats.report({ ...host }).uptime5m).toBe(0)
    expect(stats.report({ ...host, tag: HostTag.make("other") }).uptime5m).toBeNull()
  })

  test.each(["unreachable", "timeout", "overloaded", "malformed", "account", "not-found"] as const)(
    "%s counts against it",
    async (reason) => {
      const { stats } = await scene()
      stats.failed(host, new HostFailed({ reason }))
      expect(stats.report(host).uptime5m).toBe(0)
    },
  )

  test.each(["rate-limited", "forbidden", "request", "plugin", "limit", "shortage", "defect", "ended"] as const)(
    "%s does not",
    async (reason) => {
      const { stats } = await scene()
      stats.failed(host, new HostFailed({ reason }))
      expect(stats.report(host).uptime5m).toBeNull()
    },
  )

  test("the time of a stream is that to its first token, and of a whole answer that to its end", async () => {
    const { stats } = await scene()
    for (let at = 0; at < 20; at++) stats.succeeded(host, { latencyMs: 100, durationMs: 2000, completionTokens: 50 })
    expect(stats.wholeAnswerAt(host, 99)).toBeNull()
    expect(stats.snapshot(host).latencyMs).toBeCloseTo(100, -1)
    const other = { ...host, tag: HostTag.make("other") }
    for (let at = 0; at < 20; at++)
      stats.succeeded(other, { latencyMs: undefined, durationMs: 2000, completionTokens: 50 })
    expect(stats.wholeAnswerAt(other, 99)).toBeCloseTo(2000, -3)
    expect(stats.snapshot(other).latencyMs).toBeNull()
    expect(Math.round(stats.snapshot(other).throughput ?? 0)).toBeOneOf([24, 25, 26])
  })

  test("an answer of no tokens, or of no time, has no speed", async () => {
    const { stats } = await scene()
    stats.succeeded(host, { latencyMs: 1, durationMs: 0, completionTokens: 50 })
    stats.succeeded(host, { latencyMs: 1, durationMs: 100, completionTokens: 0 })
    expect(stats.snapshot(host).throughput).toBeNull()
    expect(stats.report(host).uptime5m).toBe(100)
  })
})

describe("kept over a restart (keptStats)", () => {
  /** Gateways after each other over one database. */
  const keeping = async () => {
    const clock = new ManualClock()
    const kept = await Effect.runPromise(Effect.scoped(Layer.build(lastingStorage)))
    const storage = Effect.runSync(Effect.provide(Storage, kept))
    const resolved = await hostsConfig({ a: {}, b: {} })
    const [a, b] = resolved.models[0]?.hosts ?? []
    if (a === undefined || b === undefined) throw new Error("no hosts")
    const state = { isAway: false }
    const away = Effect.fail(new StorageUnavailable({ reason: "locked" }))
    const hostStats: typeof storage.hostStats = {
      ...storage.hostStats,
      put: (slots) => Effect.suspend(() => (state.isAway ? away : storage.hostStats.put(slots))),
      list: (...page) => Effect.suspend(() => (state.isAway ? away : storage.hostStats.list(...page))),
    }
    const start = async (config = resolved) => {
      const below = Layer.merge(ProviderRegistry.layer(config), Layer.succeed(Storage, { ...storage, hostStats }))
      const layer = Layer.provideMerge(layerKeptStats, HostStats.layer).pipe(Layer.provide(below))
      const services = await servicesOf(layer, clock)
      return { ...services, stats: services.get(HostStats) }
    }
    return { clock, a, b, state, start }
  }

  test("once a minute, so that a crash loses no more, and at the end", async () => {
    const { clock, a, b, start } = await keeping()
    const first = await start()
    first.stats.record(a, { ok: false })
    await pass(clock, 61_000)
    expect((await start()).stats.report(a).uptime30m).toBe(0)
    first.stats.record(b, { ok: false })
    expect((await start()).stats.report(b).uptime30m).toBeNull()
    await first.close()
    expect((await start()).stats.report(b).uptime30m).toBe(0)
  })

  test("what could not be written is written with the next minute", async () => {
    const { clock, a, state, start } = await keeping()
    const first = await start()
    first.stats.record(a, { ok: false })
    state.isAway = true
    await pass(clock, 61_000)
    expect(first.logged).toHaveLength(1)
    state.isAway = false
    await pass(clock, 60_000)
    expect((await start()).stats.report(a).uptime30m).toBe(0)
  })

  test("those of a host that is not configured any more are left out, and a database that is away costs statistics only", async () => {
    const { a, state, start } = await keeping()
    const first = await start()
    first.stats.record(a, { ok: false })
    await first.close()
    const second = await start(await hostsConfig({ b: {} }))
    expect(second.stats.report(a).uptime30m).toBeNull()
    expect(second.logged.join()).toContain("unknown, or not readable")
    state.isAway = true
    const third = await start()
    expect(third.logged.join()).toContain("host statistics could not be read")
    expect(third.stats.report(a).uptime30m).toBeNull()
  })
})
