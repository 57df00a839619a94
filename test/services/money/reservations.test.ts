/** The money of attempts: taken, grown, given back or booked, over a database in memory. docs/guarantees.md#g1, #g2 and #g6 */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import type { Host } from "../../../src/domain/hosts/Host.ts"
import type { KeyRecord } from "../../../src/domain/keys/key.ts"
import { dayMs } from "../../../src/domain/keys/limitWindows.ts"
import { freePricing } from "../../../src/domain/price/price.ts"
import { noUsage } from "../../../src/domain/price/Usage.ts"
import { Meter } from "../../../src/services/money/Meter.ts"
import type { ReservationRequest } from "../../../src/services/money/OpenReservations.ts"
import type { Reservation, Settlement } from "../../../src/services/money/Reservation.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { sampleKey } from "../../sql/samples.ts"
import { pass } from "../../support/clocks/manualClock.ts"
import { closeServices, hostsConfig, servicesOf } from "../../support/clocks/services.ts"
import { requestContext } from "../../support/gateways/requestContext.ts"
import { hostFor } from "../../support/recordings/recordings.ts"
import { lastingStorage } from "../../support/storage/lastingStorage.ts"

closeServices()

/** A picodollar for each token, and two for one of the output. */
const host: Host = { ...hostFor("upstream"), pricing: { ...freePricing, prompt: 1n, completion: 2n } }
const bounds = {
  ...{ promptBytes: 10, mediaBytes: 0, mediaParts: 0, textBytes: 10, messages: 1, images: 0, searches: 0 },
  ...{ maxTokens: 5, choices: 1 },
}
const whole: ReservationRequest = { bounds, maxTokens: 5, sentBytes: 10, streamed: false }
const endless: ReservationRequest = {
  ...whole,
  bounds: { ...bounds, maxTokens: undefined },
  maxTokens: undefined,
  streamed: true,
  grows: true,
}
const finished: Settlement = {
  ...{ outcome: "finished", outputBytes: 0, finishReason: "stop", latencyMs: 1, isAwaited: true },
  usage: { ...noUsage, promptTokens: 4, completionTokens: 3 },
}

const scene = async () => {
  const kept = await Effect.runPromise(Effect.scoped(Layer.build(lastingStorage)))
  const storage = Effect.runSync(Effect.provide(Storage, kept))
  const state: { why: StorageUnavailable | undefined } = { why: undefined }
  const ledger: typeof storage.ledger = {
    ...storage.ledger,
    append: (rows) =>
      Effect.suspend(() => (state.why === undefined ? storage.ledger.append(rows) : Effect.fail(state.why))),
  }
  const below = Layer.merge(
    ProviderRegistry.layer(await hostsConfig({ a: {} })),
    Layer.succeed(Storage, { ...storage, ledger }),
  )
  const services = await servicesOf(Layer.provide(Meter.layer, below))
  const { run, clock } = services
  const meter = services.get(Meter)
  const keyOf = (limit: bigint | null, more: Partial<KeyRecord> = {}) => sampleKey("a key", { limit, ...more })
  const contextOf = (key: KeyRecord) => requestContext(key, { admittedAt: clock.unsafeCurrentTimeMillis() })
  const reserve = (key: KeyRecord, ask: ReservationRequest = whole, at = host) =>
    run(Effect.merge(meter.reserve({ _tag: "Key", key }, contextOf(key), ask, at)))
  /** Throws when it is refused. */
  const reserved = async (...asked: Parameters<typeof reserve>): Promise<Reservation> => {
    const made = await reserve(...asked)
    if ("_tag" in made) throw made
    return made
  }
  const money = async (key: KeyRecord) => {
    const { reserved, total } = await run(meter.spent(key.id))
    return [reserved, total]
  }
  const settle = (one: Reservation, settlement = finished) => run(Effect.merge(meter.settle(one, settlement)))
  const rows = (key: KeyRecord) => run(storage.ledger.rows(key.id, 99))
  return { ...services, state, meter, keyOf, reserve, reserved, money, settle, rows }
}

describe("what is reserved", () => {
  test("is the most that the attempt can cost: ten bytes of prompt, what is written around a message, and five tokens of output", async () => {
    const { keyOf, reserved, money } = await scene()
    const key = keyOf(36n)
    expect((await reserved(key)).amount).toBe(10n + 16n + 10n)
    expect(await money(key)).toEqual([36n, 0n])
  })

  test("and spent is never above the limit: the next attempt is refused, and told whether waiting helps", async () => {
    const { keyOf, reserved, reserve, settle } = await scene()
    const key = keyOf(50n)
    const first = await reserved(key)
    expect(await reserve(key)).toMatchObject({
      ...{ _tag: "PaymentRequired", reason: "in_flight_budget_exhausted", retryAfterSeconds: 1 },
      ...{ limit: 50n, reserved: 36n, spend: 0n, required: 36n },
    })
    await settle(first)
    const second = await reserved(key)
    await settle(second)
    expect(await reserve(key)).toMatchObject({ reason: "request_exceeds_budget" })
    expect(await reserve(keyOf(20n))).toMatchObject({ reason: "limit_exhausted", spend: 20n })
  })

  test("of a key without a limit is nothing", async () => {
    const { keyOf, reserved, money, meter, run } = await scene()
    const key = keyOf(null)
    expect((await reserved(key)).amount).toBe(0n)
    expect(await money(key)).toEqual([0n, 0n])
    expect(await run(meter.budget({ _tag: "Key", key }))).toMatchObject({ limit: null })
  })

  test("at a host without a price is refused with a limit", async () => {
    const { keyOf, reserve } = await scene()
    const unpriced = { ...host, pricing: null }
    expect(await reserve(keyOf(1_000_000n), whole, unpriced)).toMatchObject({ reason: "unknown_price" })
    expect(await reserve(keyOf(null), whole, unpriced)).not.toHaveProperty("_tag")
  })
})

describe("a reservation ends once", () => {
  test("booked: its cost is spent, the rest is free, and a second end does nothing", async () => {
    const { keyOf, reserved, money, settle, meter, rows } = await scene()
    const key = keyOf(1000n)
    const one = await reserved(key)
    expect(await settle(one)).toMatchObject({ cost: { total: 10n } })
    await settle(one)
    meter.release(one)
    expect(await money(key)).toEqual([0n, 10n])
    expect(await rows(key)).toHaveLength(1)
  })

  test("given up: nothing is spent, and a booking that comes later does nothing", async () => {
    const { keyOf, reserved, money, settle, meter, rows } = await scene()
    const key = keyOf(1000n)
    const one = await reserved(key)
    meter.release(one)
    meter.release(one)
    await settle(one)
    expect([await money(key), await rows(key)]).toEqual([[0n, 0n], []])
  })

  test("two at once give back each its own", async () => {
    const { keyOf, reserved, money, meter } = await scene()
    const key = keyOf(1000n)
    const [one, two] = [await reserved(key), await reserved(key, { ...whole, maxTokens: 50 })]
    meter.release(one)
    expect(await money(key)).toEqual([two.amount, 0n])
    meter.release(two)
    expect(await money(key)).toEqual([0n, 0n])
  })
})

describe("a stream without a bound", () => {
  test("grows by blocks until nothing is left, and pays for no token that is not reserved", async () => {
    const { keyOf, reserved, money } = await scene()
    // 26 for the prompt, and 10,000 tokens of output.
    const key = keyOf(20_026n)
    const { output } = await reserved(key, endless)
    expect(output?.outputTokens).toBe(4096)
    const blocks = [output?.extend(), output?.extend(), output?.extend()]
    expect(blocks).toEqual([4096, 1808, 0])
    expect(await money(key)).toEqual([20_026n, 0n])
  })

  test("does not grow once its reservation is closed", async () => {
    const { keyOf, reserved, money, meter } = await scene()
    const key = keyOf(1_000_000n)
    const one = await reserved(key, endless)
    meter.release(one)
    expect(one.output?.extend()).toBe(0)
    expect(await money(key)).toEqual([0n, 0n])
  })

  test("of a key without a limit has no allowance to ask", async () => {
    const { keyOf, reserved } = await scene()
    expect((await reserved(keyOf(null), endless)).output).toBeUndefined()
  })
})

test("a daily limit is that of the day in UTC, and says when it ends", async () => {
  const { keyOf, reserved, settle, meter, run, clock } = await scene()
  const key = keyOf(40n, { limitReset: "daily" })
  const budget = () => run(meter.budget({ _tag: "Key", key }))
  await settle(await reserved(key))
  expect(await budget()).toEqual({
    ...{ limit: 40n, spend: 10n, reserved: 0n, source: "daily" },
    resetsAt: clock.unsafeCurrentTimeMillis() + dayMs,
  })
  clock.advance(dayMs)
  expect(await budget()).toMatchObject({ spend: 0n })
})

describe("a row that cannot be written now", () => {
  const locked = new StorageUnavailable({ reason: "locked" })

  test("keeps its money reserved and every paid request away, until it is booked at no cost to who was told 503", async () => {
    const { state, keyOf, reserved, reserve, money, settle, meter, clock } = await scene()
    const key = keyOf(1000n)
    const one = await reserved(key)
    state.why = locked
    expect(await settle(one)).toMatchObject({ _tag: "Unavailable", why: "metering" })
    expect([meter.writable(), await money(key)]).toEqual([false, [36n, 0n]])
    expect(await reserve(key)).toMatchObject({ _tag: "Unavailable", why: "metering" })
    state.why = undefined
    await pass(clock, 2500)
    expect([meter.writable(), await money(key)]).toEqual([true, [0n, 0n]])
  })

  test("is charged in the end where nobody waited for it", async () => {
    const { state, keyOf, reserved, money, settle, clock } = await scene()
    const key = keyOf(1000n)
    const one = await reserved(key)
    state.why = locked
    await settle(one, { ...finished, isAwaited: false })
    state.why = undefined
    await pass(clock, 2500)
    expect(await money(key)).toEqual([0n, 10n])
  })

  test("and never will be keeps nothing reserved", async () => {
    const { state, keyOf, reserved, money, settle, meter } = await scene()
    const key = keyOf(1000n)
    const one = await reserved(key)
    state.why = new StorageUnavailable({ reason: "too large", refused: true })
    expect(await settle(one)).toMatchObject({ _tag: "Unavailable" })
    expect([meter.writable(), await money(key)]).toEqual([true, [0n, 0n]])
  })
})
