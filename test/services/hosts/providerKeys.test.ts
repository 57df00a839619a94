/** Which of several keys of a provider is used, over a database in memory. docs/guarantees.md#g10; docs/provider-keys.md */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { Host } from "../../../src/domain/hosts/Host.ts"
import { dayMs } from "../../../src/domain/keys/limitWindows.ts"
import { type ChosenKey, ProviderKeys } from "../../../src/services/hosts/ProviderKeys.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { sampleRow } from "../../sql/samples.ts"
import { pass } from "../../support/clocks/manualClock.ts"
import { closeServices, hostsConfig, servicesOf, turns } from "../../support/clocks/services.ts"
import { lastingStorage } from "../../support/storage/lastingStorage.ts"

closeServices()

const usd = 1_000_000_000_000n
const failure = (reason: HostFailed["reason"], status: number, retryAfterSeconds?: number) =>
  new HostFailed({ reason, status, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) })
const [refused, forbidden] = [failure("account", 401), failure("forbidden", 403)]

/** Host `a` has these keys, host `b` has one. */
const scene = async (keys: ReadonlyArray<object> = [{}, {}]) => {
  const configured = (each: ReadonlyArray<object>) =>
    hostsConfig(
      { a: {}, b: {} },
      { limits: { cooldown: { account_s: 60, rate_limit_s: 5 } } },
      { a: { api_keys: each.map((more, at) => ({ key: `secret ${at + 1}`, ...more })) } },
    )
  const resolved = await configured(keys)
  const kept = await Effect.runPromise(Effect.scoped(Layer.build(lastingStorage)))
  const storage = Effect.runSync(Effect.provide(Storage, kept))
  const state: { isAway: boolean; after: Effect.Effect<void> } = { isAway: false, after: Effect.void }
  const ledger: typeof storage.ledger = {
    ...storage.ledger,
    providerSpend: (...asked) =>
      Effect.suspend(() =>
        state.isAway
          ? Effect.fail(new StorageUnavailable({ reason: "locked" }))
          : Effect.tap(storage.ledger.providerSpend(...asked), state.after),
      ),
  }
  const below = Layer.merge(ProviderRegistry.layer(resolved), Layer.succeed(Storage, { ...storage, ledger }))
  const start = async () => {
    const services = await servicesOf(Layer.provideMerge(ProviderKeys.layer, below))
    const [choice, registry] = [services.get(ProviderKeys), services.get(ProviderRegistry)]
    const [a, b] = registry.current().models[0]?.hosts ?? []
    if (a === undefined || b === undefined) throw new Error("no hosts")
    const keysOf = () => registry.endpoint(a)?.keys ?? []
    const request = (seed = 1, ...tried: ReadonlyArray<ChosenKey>) => ({
      seed,
      triedKeys: tried.map(({ used }) => used.id),
    })
    const choose = (...asked: Parameters<typeof request>) => choice.choose(keysOf(), request(...asked))
    /** Throws when there is none. */
    const chosen = (...asked: Parameters<typeof request>): ChosenKey => {
      const found = choose(...asked)
      if ("because" in found) throw new Error(found.reason)
      return found
    }
    const out = () => choice.refusal(a)
    return { ...services, registry, choice, a, b, choose, chosen, out }
  }
  return { state, storage, start, configured }
}

/** The chosen one has the place of `place`, whatever the seed. */
const placesOf = (choose: (seed: number) => ReturnType<ProviderKeys["Type"]["choose"]>) =>
  new Set(Array.from({ length: 50 }, (_, seed) => choose(seed)).map((found) => ("key" in found ? found.key.place : 0)))

describe("the choice", () => {
  test("is the same for the same seed, and the next one is not tried for this request", async () => {
    const { chosen, choose } = await (await scene()).start()
    for (let seed = 0; seed < 20; seed++) {
      const first = chosen(seed)
      expect(chosen(seed).key).toBe(first.key)
      const second = chosen(seed, first)
      expect(second.key.place).toBe(3 - first.key.place)
      expect(choose(seed, first, second)).toMatchObject({ because: "api_keys", reason: "each was tried" })
    }
    expect(placesOf((seed) => choose(seed))).toEqual(new Set([1, 2]))
  })

  test("a provider with one key has none", async () => {
    const { choice, b } = await (await scene()).start()
    expect(choice.refusal(b)).toBeUndefined()
  })
})

describe("a key that its host refused", () => {
  test.each([
    ["for the account", refused, 60],
    ["for a rate limit", failure("rate-limited", 429), 5],
    ["for a rate limit with a time", failure("rate-limited", 429, 20), 20],
    ["with 403", forbidden, 60],
  ])("%s is passed over for as long as is due, the other one is not", async (_name, why, seconds) => {
    const { choice, chosen, choose, clock } = await (await scene()).start()
    const first = chosen()
    expect(choice.failed(first, why)).toBe(true)
    const other = 3 - first.key.place
    expect(placesOf((seed) => choose(seed))).toEqual(new Set([other]))
    clock.advance(seconds * 1000 - 1)
    expect(placesOf((seed) => choose(seed))).toEqual(new Set([other]))
    clock.advance(1)
    expect(placesOf((seed) => choose(seed))).toEqual(new Set([1, 2]))
  })

  test("all of them: the host is out with each reason, until the first may be used again", async () => {
    const { choice, chosen, out, clock } = await (await scene()).start()
    const first = chosen()
    choice.failed(first, refused)
    clock.advance(1000)
    expect(out()).toBeUndefined()
    choice.failed(chosen(), failure("rate-limited", 429, 10))
    expect(out()).toMatchObject({ because: "api_keys", retryAfterMs: 10_000, isRateLimit: false })
    expect(out()?.reason).toContain(`key ${first.key.place}: left alone after a failure: account`)
    expect(out()?.reason).not.toContain("secret")
    clock.advance(10_000)
    expect(out()).toBeUndefined()
  })

  test("all of them for a rate limit is one for the caller", async () => {
    const { choice, chosen, out } = await (await scene()).start()
    choice.failed(chosen(), failure("rate-limited", 429))
    choice.failed(chosen(), failure("rate-limited", 429))
    expect(out()).toMatchObject({ isRateLimit: true })
  })

  test.each([
    ["403", forbidden],
    ["402", failure("account", 402)],
  ])("with %s, as the last one: the host is blamed, since the request may be at fault", async (_name, why) => {
    const { choice, chosen, out } = await (await scene()).start()
    expect(choice.failed(chosen(), why)).toBe(true)
    expect(choice.failed(chosen(), why)).toBe(false)
    expect(out()).toBeUndefined()
  })

  test("not by another failure", async () => {
    const { choice, chosen, choose } = await (await scene()).start()
    for (const reason of ["unreachable", "timeout", "overloaded", "request", "not-found"] as const)
      expect(choice.failed(chosen(), failure(reason, 500))).toBe(false)
    expect(placesOf((seed) => choose(seed))).toEqual(new Set([1, 2]))
  })

  test("a wait that runs is not made shorter", async () => {
    const { choice, chosen, choose, clock } = await (await scene()).start()
    const first = chosen()
    choice.failed(first, refused)
    choice.failed(first, failure("rate-limited", 429, 1))
    clock.advance(59_000)
    expect(placesOf((seed) => choose(seed))).toEqual(new Set([3 - first.key.place]))
  })
})

describe("a key with a limit", () => {
  test("is passed over when that is spent, until the window ends", async () => {
    const { start } = await scene([{ limit: 1, limit_reset: "daily" }])
    const { chosen, out, clock } = await start()
    const { used } = chosen()
    used.booked(usd - 1n, clock.unsafeCurrentTimeMillis())
    expect(out()).toBeUndefined()
    used.booked(1n, clock.unsafeCurrentTimeMillis())
    expect(out()).toMatchObject({ retryAfterMs: dayMs, isRateLimit: false })
    expect(out()?.reason).toContain("its daily limit is used up")
    clock.advance(dayMs)
    expect(out()).toBeUndefined()
  })

  test("has spent what the ledger says, also by what others book: that is read every five seconds", async () => {
    const { start, storage } = await scene([{ limit: 1 }])
    const { chosen, out, clock } = await start()
    const { used } = chosen()
    await Effect.runPromise(storage.ledger.append([sampleRow("r1", { providerKey: used.id, upstreamCost: usd })]))
    expect(out()).toBeUndefined()
    await pass(clock, 5100)
    expect(out()).toMatchObject({ retryAfterMs: undefined })
    expect((await start()).out()?.reason).toContain("its limit is used up")
  })

  test("what is booked while it is read counts", async () => {
    const { start, state } = await scene([{ limit: 1 }])
    const { chosen, out, clock } = await start()
    const { used } = chosen()
    const { promise: read, resolve: answer } = Promise.withResolvers<void>()
    state.after = Effect.promise(() => read)
    await pass(clock, 5100)
    used.booked(usd, clock.unsafeCurrentTimeMillis())
    answer()
    await turns()
    expect(out()).toBeDefined()
  })

  test("is not used before it is known what it has spent; a failed read is logged once and tried again", async () => {
    const { start, state } = await scene([{ limit: 1 }])
    state.isAway = true
    const { out, clock, logged } = await start()
    expect(out()).toMatchObject({ retryAfterMs: 5000 })
    await pass(clock, 11_000)
    expect(logged.filter((line) => line.includes("could not be read"))).toHaveLength(1)
    state.isAway = false
    await pass(clock, 5000)
    expect(out()).toBeUndefined()
  })
})

test("a reload: a key at another place is the same one, and stays passed over", async () => {
  const { start, configured } = await scene([{ key: "one" }, { key: "two" }])
  const { registry, choice, chosen } = await start()
  const first = chosen()
  choice.failed(first, refused)
  const swapped = await configured([{ key: "two" }, { key: "one" }])
  registry.replace(swapped)
  const [a] = registry.current().models[0]?.hosts ?? []
  const keys = (a && registry.endpoint(a)?.keys) ?? []
  expect(placesOf((seed) => choice.choose(keys, { seed, triedKeys: [] }))).toEqual(new Set([first.key.place]))
})

test("a reload that removes a key forgets what was known of it, and it comes back as a new one", async () => {
  const { start, configured } = await scene([{ key: "one" }, { key: "two" }])
  const { registry, choice, chosen } = await start()
  choice.failed(chosen(), refused)
  const keysIn = () => registry.endpoint(registry.current().models[0]?.hosts[0] as Host)?.keys ?? []
  const places = () => placesOf((seed) => choice.choose(keysIn(), { seed, triedKeys: [] }))
  expect(places().size).toBe(1)
  registry.replace(await configured([{ key: "three" }, { key: "four" }]))
  expect(places()).toEqual(new Set([1, 2]))
  registry.replace(await configured([{ key: "one" }, { key: "two" }]))
  expect(places()).toEqual(new Set([1, 2]))
})
