/** Limits of requests to free models, per key: on a real socket. docs/guarantees.md#g8 */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { windowStart } from "../../../src/domain/keys/limitWindows.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { errorOf, wholeBodyOf } from "../../support/clients/answers.ts"
import { until } from "../../support/clocks/until.ts"
import { type Ruled, startRuled, statuses, together } from "../../support/gateways/keyRules.ts"
import { firstKey, install } from "../../support/gateways/process.ts"
import { closeAfterEach, opened } from "../../support/gateways/watched.ts"
import { lastingStorage } from "../../support/storage/lastingStorage.ts"

closeAfterEach()

const limits = (requests_per_minute: number, requests_per_day: number) => ({
  billing: { free_models: { requests_per_minute, requests_per_day } },
})
const free = { model: "acme/small:free" }
const midnight = Date.UTC(2026, 0, 16)

const today = async (gateway: Ruled, key: string) => (await gateway.statusOf(key))["free_model_daily_requests"]

describe("requests to free models", () => {
  test("are limited per UTC day, exactly, and per key", async () => {
    const gateway = await startRuled(limits(0, 5))
    const key = await gateway.newKey()
    expect(await today(gateway, key)).toEqual({ used: 0, limit: 5, remaining: 5 })
    expect(statuses(await together(20, () => gateway.ask(key, free)))).toEqual([
      ...Array(5).fill(200),
      ...Array(15).fill(429),
    ])
    expect(gateway.called).toHaveLength(5)
    expect(await today(gateway, key)).toEqual({ used: 5, limit: 5, remaining: 0 })

    const refused = await gateway.ask(key, { ...free, stream: true })
    expect(refused.headers.get("retry-after")).toBe("3600")
    expect(refused.headers.get("x-ratelimit-reset")).toBe(String(midnight))
    expect(await errorOf(refused)).toEqual({
      code: 429,
      message: "Rate limit exceeded: free-models-per-day.",
      metadata: {
        error_type: "rate_limit_exceeded",
        headers: { "X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": String(midnight) },
        limit_source: "gateway_free_tier_daily",
        remedy_hint: "Wait for the daily reset",
      },
    })
    // Neither paid models nor other keys are concerned.
    await wholeBodyOf(await gateway.ask(key))
    await wholeBodyOf(await gateway.ask(gateway.key, free))

    gateway.clock.advance(3_599_999)
    expect((await gateway.ask(key, free)).status).toBe(429)
    gateway.clock.advance(1)
    await wholeBodyOf(await gateway.ask(key, free))
    expect(await today(gateway, key)).toEqual({ used: 1, limit: 5, remaining: 4 })
  })

  test("are limited per minute, and waiting as long as it says succeeds", async () => {
    const gateway = await startRuled(limits(2, 1000))
    const key = await gateway.newKey()
    expect(statuses(await together(5, () => gateway.ask(key, free)))).toEqual([200, 200, 429, 429, 429])
    gateway.clock.advance(100)
    const refused = await gateway.ask(key, free)
    expect(refused.headers.get("retry-after")).toBe("60")
    expect(await errorOf(refused)).toMatchObject({
      message: "Rate limit exceeded: free-models-per-min.",
      metadata: { limit_source: "gateway_free_tier_per_minute" },
    })
    gateway.clock.advance(59_900)
    await wholeBodyOf(await gateway.ask(key, free))
    // What was refused did not count.
    expect(await today(gateway, key)).toMatchObject({ used: 3 })
  })

  test("count once however many hosts they try, and not at all where none is called", async () => {
    const gateway = await startRuled(limits(0, 2))
    const key = await gateway.newKey({ allowedProviders: ["a", "b"] })
    gateway.answers["a"] = () => new Response("no", { status: 500 })
    await wholeBodyOf(await gateway.ask(key, free))
    expect(gateway.called).toEqual(["a", "b"])
    expect(await today(gateway, key)).toMatchObject({ used: 1 })
    expect((await gateway.ask(key, { ...free, messages: [] })).status).toBe(400)
    expect(await today(gateway, key)).toMatchObject({ used: 1 })
  })

  test("that are used up leave the paid models of the request", async () => {
    const gateway = await startRuled(limits(0, 1))
    const key = await gateway.newKey()
    const models = { model: undefined, models: ["acme/small:free", "acme/small"] }
    expect((await wholeBodyOf(await gateway.ask(key, models))).model).toBe("acme/small:free")
    expect((await wholeBodyOf(await gateway.ask(key, models))).model).toBe("acme/small")
  })

  test("are counted beyond a restart, and a clock that stepped back opens no day again", async () => {
    const storage = Layer.succeed(Storage, Effect.runSync(Effect.provide(Storage, lastingStorage)))
    const first = await startRuled(limits(0, 3), storage)
    const key = await first.newKey()
    for (let n = 0; n < 2; n++) await wholeBodyOf(await first.ask(key, free))
    await first.stop()

    const second = await startRuled(limits(0, 3), storage)
    expect(await today(second, key)).toEqual({ used: 2, limit: 3, remaining: 1 })
    expect(statuses(await together(4, () => second.ask(key, free)))).toEqual([200, 429, 429, 429])
    second.clock.advance(3_600_000)
    expect(statuses(await together(4, () => second.ask(key, free)))).toEqual([200, 200, 200, 429])
    second.clock.advance(-3_600_000)
    expect((await second.ask(key, free)).status).toBe(429)
    await second.stop()

    // It stands in the day before, in which the key had requests left after the last restart.
    const third = await startRuled(limits(0, 3), storage)
    expect((await third.ask(key, free)).status).toBe(429)
  })

  test("are counted for every answer that a caller saw, whenever the gateway is killed", async () => {
    const installation = install()
    opened({ stop: installation.remove })
    const models = [
      { id: "acme/echo:free", context_length: 1000, hosts: [{ provider: "echo", model: "headgate/echo" }] },
    ]
    const config = { providers: { echo: {} }, models, ...limits(0, 1_000_000) }
    let key = ""
    let seen = 0
    for (const least of [1, 30, 7]) {
      const gateway = installation.start({ config })
      const url = await gateway.url()
      await until(() => key !== "" || gateway.out().includes("curl "), "the keys")
      key ||= firstKey(gateway.out())
      const enough = seen + least
      const caller = async () => {
        while (seen < enough) {
          const response = await fetch(`${url}/chat/completions`, {
            method: "POST",
            headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
            body: JSON.stringify({ model: "acme/echo:free", messages: [{ role: "user", content: "hi" }] }),
          })
          await wholeBodyOf(response)
          seen += 1
        }
        gateway.kill("SIGKILL")
      }
      await Promise.allSettled(Array.from({ length: 6 }, caller))
      expect(await gateway.exited).toBe(137)
    }
    const day = windowStart("daily", Date.now())
    const last = await installation.ask(Effect.flatMap(Storage, (one) => one.freeRequests.last(keyId(key))))
    expect(last?.day).toBe(day)
    // Each caller may have had one more request, of which it did not see the answer.
    expect(last?.used).toBeWithin(seen, seen + 3 * 6 + 1)
  }, 1_800_000)

  test("that come while the count is being read share it", async () => {
    const service = Effect.runSync(Effect.provide(Storage, lastingStorage))
    const reads = { waiting: 0, answer: Promise.withResolvers<void>() }
    const slow = Effect.suspend(() => {
      reads.waiting += 1
      return Effect.promise(() => reads.answer.promise)
    })
    const storage = Layer.succeed(Storage, {
      ...service,
      freeRequests: {
        ...service.freeRequests,
        last: (...asked) => Effect.zipLeft(service.freeRequests.last(...asked), slow),
      },
    })
    const gateway = await startRuled(limits(0, 3), storage)
    const key = await gateway.newKey()
    const answers = together(10, () => gateway.ask(key, free))
    await until(() => reads.waiting === 10, "the reads")
    reads.answer.resolve()
    expect(statuses(await answers)).toEqual([...Array(3).fill(200), ...Array(7).fill(429)])
  })

  test("that cannot be counted in the database are counted with the next one", async () => {
    const service = Effect.runSync(Effect.provide(Storage, lastingStorage))
    let broken = true
    const storage = Layer.succeed(Storage, {
      ...service,
      freeRequests: {
        ...service.freeRequests,
        add: (...asked) =>
          broken ? Effect.fail(new StorageUnavailable({ reason: "gone" })) : service.freeRequests.add(...asked),
      },
    })
    const gateway = await startRuled(limits(0, 10), storage)
    const key = await gateway.newKey()
    for (let n = 0; n < 3; n++) await wholeBodyOf(await gateway.ask(key, free))
    broken = false
    await wholeBodyOf(await gateway.ask(key, free))
    const again = await startRuled(limits(0, 10), storage)
    expect(await today(again, key)).toEqual({ used: 4, limit: 10, remaining: 6 })
  })

  test("that are refused because the ledger takes no rows were counted all the same", async () => {
    const service = Effect.runSync(Effect.provide(Storage, lastingStorage))
    const storage = Layer.succeed(Storage, {
      ...service,
      ledger: { ...service.ledger, append: () => Effect.fail(new StorageUnavailable({ reason: "locked" })) },
    })
    const gateway = await startRuled(limits(0, 10), storage)
    const key = await gateway.newKey()
    // Its host was called, and then its row could not be written.
    expect((await gateway.ask(key, free)).status).toBe(503)
    expect(await today(gateway, key)).toMatchObject({ used: 1 })
    expect((await gateway.ask(key, free)).status).toBe(503)
    expect(gateway.called).toHaveLength(1)
    expect(await today(gateway, key)).toMatchObject({ used: 1 })
  })

  test("without limits are not counted", async () => {
    const gateway = await startRuled(limits(0, 0))
    const key = await gateway.newKey()
    expect(statuses(await together(30, () => gateway.ask(key, free)))).toEqual(Array(30).fill(200))
    expect(await today(gateway, key)).toEqual({ used: 0, limit: -1, remaining: -1 })
  })
})
