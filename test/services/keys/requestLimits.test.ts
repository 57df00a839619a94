/** How many requests a key may make, over a database in memory. docs/guarantees.md#g8 */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import { dayMs } from "../../../src/domain/keys/limitWindows.ts"
import { RequestLimits } from "../../../src/services/keys/RequestLimits.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { alice, bob, sampleKey } from "../../sql/samples.ts"
import { closeServices, hostsConfig, servicesOf, turns } from "../../support/clocks/services.ts"
import { requestContext } from "../../support/gateways/requestContext.ts"
import { lastingStorage } from "../../support/storage/lastingStorage.ts"

closeServices()

/** The limits of free models per minute and day, and whether the count of a day can be written. */
const scene = async (perMinute = 0, perDay = 0) => {
  const billing = { free_models: { requests_per_minute: perMinute, requests_per_day: perDay } }
  const state = { isAway: false, reads: 0 }
  const storage = Layer.effect(
    Storage,
    Effect.map(Storage, ({ freeRequests, ...others }) => {
      const failing = Effect.fail(new StorageUnavailable({ reason: "locked" }))
      return {
        ...others,
        freeRequests: {
          ...freeRequests,
          last: (key) =>
            Effect.suspend(() => {
              state.reads += 1
              return state.isAway ? failing : freeRequests.last(key)
            }),
          add: (...count) => Effect.suspend(() => (state.isAway ? failing : freeRequests.add(...count))),
        },
      }
    }),
  )
  const registry = ProviderRegistry.layer(await hostsConfig({ a: {} }, { billing }))
  const kept = Layer.succeedContext(await Effect.runPromise(Effect.scoped(Layer.build(lastingStorage))))
  const layer = Layer.provide(RequestLimits.layer, Layer.merge(registry, Layer.provide(storage, kept)))
  const start = async (clock?: Parameters<typeof servicesOf>[1]) => {
    const services = await servicesOf(layer, clock)
    const limits = services.get(RequestLimits)
    const outcome = <A, E>(effect: Effect.Effect<A, E>) => services.run(Effect.merge(effect))
    return {
      ...services,
      limits,
      admit: (rateLimit: { requests: number; intervalSeconds: number } | null, id: string = alice) =>
        outcome(Effect.as(limits.admit(sampleKey(id, { rateLimit })), "admitted")),
      takeFree: (context = requestContext(sampleKey(alice))) => outcome(limits.takeFree(context)),
      today: (key = alice) => services.run(limits.freeToday(key)),
    }
  }
  return { state, start }
}

describe("a key's own limit", () => {
  test("of two in ten seconds: the third is told when there is room, and does not count", async () => {
    const { admit, clock } = await (await scene()).start()
    const limit = { requests: 2, intervalSeconds: 10 }
    await admit(limit)
    clock.advance(3500)
    await admit(limit)
    for (let again = 0; again < 3; again++) {
      expect(await admit(limit)).toMatchObject({
        ...{ _tag: "RateLimited", scope: "key", limit: 2, retryAfterSeconds: 7 },
        resetsAt: clock.unsafeCurrentTimeMillis() + 6500,
      })
    }
    expect(await admit(limit, bob)).toBe("admitted")
    clock.advance(6500)
    expect(await admit(limit)).toBe("admitted")
    expect(await admit(limit)).toMatchObject({ _tag: "RateLimited", retryAfterSeconds: 4 })
  })

  test("none: nothing is counted, and a limit that is set later begins with none", async () => {
    const { admit } = await (await scene()).start()
    for (let at = 0; at < 5; at++) await admit(null)
    expect(await admit({ requests: 1, intervalSeconds: 10 })).toBe("admitted")
    expect(await admit({ requests: 1, intervalSeconds: 10 })).toMatchObject({ _tag: "RateLimited" })
  })

  test("is counted apart from that of free models", async () => {
    const { admit, takeFree } = await (await scene(1)).start()
    await admit({ requests: 1, intervalSeconds: 60 })
    expect(await takeFree()).toBeUndefined()
    expect(await takeFree()).toMatchObject({ _tag: "RateLimited", scope: "free-models-per-min" })
  })
})

describe("free models", () => {
  test("a request counts once, however many hosts it tries", async () => {
    const { takeFree, today } = await (await scene(2, 2)).start()
    const context = requestContext(sampleKey(alice))
    for (let host = 0; host < 3; host++) expect(await takeFree(context)).toBeUndefined()
    expect(await today()).toEqual({ used: 1, limit: 2, remaining: 1 })
  })

  test("one beyond the limit of a minute is told the wait, and does not count for the day", async () => {
    const { takeFree, today, clock } = await (await scene(1, 9)).start()
    await takeFree()
    clock.advance(1000)
    expect(await takeFree()).toMatchObject({ scope: "free-models-per-min", limit: 1, retryAfterSeconds: 59 })
    expect(await today()).toMatchObject({ used: 1 })
  })

  test("one beyond the limit of a day is told when the day ends in UTC; then there is room", async () => {
    const { takeFree, today, clock } = await (await scene(0, 2)).start()
    clock.advance(dayMs - 60_000)
    await takeFree()
    await takeFree()
    expect(await takeFree()).toMatchObject({
      ...{ _tag: "RateLimited", scope: "free-models-per-day", limit: 2, retryAfterSeconds: 60 },
      resetsAt: clock.unsafeCurrentTimeMillis() + 60_000,
    })
    expect(await today(bob)).toEqual({ used: 0, limit: 2, remaining: 2 })
    clock.advance(60_000)
    expect(await takeFree()).toBeUndefined()
    expect(await today()).toEqual({ used: 1, limit: 2, remaining: 1 })
  })

  test("one beyond the limit of a day does not count for the minute", async () => {
    const { takeFree, clock } = await (await scene(2, 1)).start()
    clock.advance(dayMs - 1000)
    await takeFree()
    for (let refused = 0; refused < 5; refused++) await takeFree()
    clock.advance(1000)
    expect(await takeFree()).toBeUndefined()
  })

  test("without a limit of a day nothing is read or written, and -1 says so", async () => {
    const { state, start } = await scene(0, 0)
    const { takeFree, today } = await start()
    state.isAway = true
    expect(await takeFree()).toBeUndefined()
    expect(await today()).toEqual({ used: 0, limit: -1, remaining: -1 })
    expect(state.reads).toBe(0)
  })

  test("the count of a day is there after a restart; that of a clock far ahead is not believed", async () => {
    const { start } = await scene(0, 3)
    const first = await start()
    await first.takeFree()
    await first.takeFree()
    await turns()
    await first.close()
    const second = await start(first.clock)
    expect(await second.today()).toEqual({ used: 2, limit: 3, remaining: 1 })
    second.clock.advance(-dayMs)
    const steppedBack = await start(second.clock)
    expect(await steppedBack.today()).toMatchObject({ used: 2 })
    steppedBack.clock.advance(-dayMs)
    expect(await (await start(steppedBack.clock)).today()).toMatchObject({ used: 0 })
  })

  test("what could not be written is written with the next one", async () => {
    const { state, start } = await scene(0, 9)
    const { takeFree, today, logged, clock } = await start()
    await takeFree()
    await turns()
    state.isAway = true
    await takeFree()
    await takeFree()
    await turns()
    expect(logged.filter((line) => line.includes("could not be counted"))).toHaveLength(2)
    expect(await today()).toMatchObject({ used: 3 })
    state.isAway = false
    await takeFree()
    await turns()
    expect(await (await start(clock)).today()).toMatchObject({ used: 4 })
  })

  test("a count that cannot be read refuses the request with 503, and is read again", async () => {
    const { state, start } = await scene(0, 9)
    const { takeFree, today } = await start()
    state.isAway = true
    expect(await takeFree()).toMatchObject({ _tag: "Unavailable", why: "storage" })
    state.isAway = false
    expect(await takeFree()).toBeUndefined()
    expect(await today()).toMatchObject({ used: 1 })
  })
})
