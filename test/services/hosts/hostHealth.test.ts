/** Whether a host may be called now: cooldowns, breakers, probes, doubt and places. docs/guarantees.md#g10, #g12, #g16 and #g35 */
import { describe, expect, test } from "bun:test"
import * as Layer from "effect/Layer"
import type { Endpoint } from "../../../src/catalogue/endpoints.ts"
import { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { Host } from "../../../src/domain/hosts/Host.ts"
import { HostHealth } from "../../../src/services/hosts/HostHealth.ts"
import { Permit } from "../../../src/services/hosts/Permit.ts"
import { closeServices, hostsConfig, servicesOf } from "../../support/clocks/services.ts"

closeServices()

const cooldown = { account_s: 60, not_found_s: 40, rate_limit_s: 5, max_s: 300 }
const breaker = { consecutive_failures: 3, error_rate: 0.5, min_requests: 20, open_s: 30 }

/** Hosts `a` and `b` of one model. */
const scene = async (
  limits: object = {},
  providers: Readonly<Record<string, object>> = {},
  env: Readonly<Record<string, string>> = {},
) => {
  const configured = { limits: { cooldown, breaker, ...limits } }
  const resolved = await hostsConfig({ a: {}, b: {} }, configured, providers, env)
  const services = await servicesOf(HostHealth.layer.pipe(Layer.provideMerge(ProviderRegistry.layer(resolved))))
  const [health, registry] = [services.get(HostHealth), services.get(ProviderRegistry)]
  const [a, b] = resolved.models[0]?.hosts ?? []
  const endpointOf = (host: Host | undefined): Endpoint => {
    const endpoint = host && registry.endpoint(host)
    if (endpoint === undefined) throw new Error("no such host")
    return endpoint
  }
  const [called, other] = [endpointOf(a), endpointOf(b)]
  const acquire = (endpoint = called, key = "k", isEmergency = false): Permit => {
    const permit = health.acquire(endpoint, isEmergency, key)
    if (!(permit instanceof Permit)) throw new Error(`no permit: ${JSON.stringify(permit)}`)
    return permit
  }
  const fails = (failure: HostFailed, key = "k", endpoint = called) => {
    const permit = acquire(endpoint, key)
    permit.failed(failure)
    permit.release()
  }
  const answers = (key = "k", endpoint = called) => {
    const permit = acquire(endpoint, key)
    permit.succeeded()
    permit.release()
  }
  const out = (key?: string, endpoint = called) => health.admissible(endpoint.host, key)
  return { ...services, registry, health, called, other, acquire, fails, answers, out }
}

const unreachable = new HostFailed({ reason: "unreachable" })
const timeout = new HostFailed({ reason: "timeout" })
const refused = new HostFailed({ reason: "account", status: 401 })
const limited = (retryAfterSeconds?: number) =>
  new HostFailed({
    reason: "rate-limited",
    status: 429,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  })

describe("a cooldown", () => {
  test.each([
    ["a refused account", refused, 60, false],
    ["a rate limit without a time", limited(), 5, true],
    ["a rate limit with a time", limited(17), 17, true],
    ["a rate limit with too long a time", limited(9999), 300, true],
    ["an overload with a time", new HostFailed({ reason: "overloaded", status: 503, retryAfterSeconds: 9 }), 9, false],
  ])("after %s lasts as long as is due, and not for another host", async (_name, failure, seconds, isRateLimit) => {
    const { clock, fails, out, health, called, other } = await scene()
    fails(failure)
    const expected = { because: "cooldown", reason: failure.reason, retryAfterMs: seconds * 1000, isRateLimit } as const
    expect(out()).toEqual(expected)
    expect(health.acquire(called, false, "k")).toEqual(expected)
    expect(out("k", other)).toBeUndefined()
    clock.advance(seconds * 1000 - 1)
    expect(out()).toMatchObject({ retryAfterMs: 1 })
    clock.advance(1)
    expect(out()).toBeUndefined()
  })

  test("is not made shorter by a call that was in flight", async () => {
    const { acquire, out } = await scene()
    const [first, second] = [acquire(), acquire()]
    first.failed(limited(30))
    second.failed(limited(2))
    expect(out()).toMatchObject({ retryAfterMs: 30_000 })
  })

  test.each([
    "request",
    "forbidden",
    "plugin",
    "limit",
    "shortage",
    "defect",
    "unsendable",
    "cut-short",
    "ended",
  ] as const)("or a breaker never comes of %s", async (reason) => {
    const { fails, out } = await scene()
    for (let at = 0; at < 40; at++) fails(new HostFailed({ reason }))
    expect(out()).toBeUndefined()
  })
})

describe("a breaker", () => {
  test("opens after so many failures in a row, and an answer between them begins anew", async () => {
    const { fails, answers, out, logged } = await scene()
    fails(unreachable)
    fails(unreachable)
    answers()
    fails(unreachable)
    fails(unreachable)
    expect(out()).toBeUndefined()
    fails(unreachable)
    expect(out()).toMatchObject({ because: "breaker", reason: "unreachable", isRateLimit: false })
    expect(logged).toHaveLength(1)
    expect(logged[0]).toStartWith("WARN a circuit breaker opened")
  })

  /** Open, and its time is over: from 24 to 36 seconds, by the random numbers. */
  const halfOpen = async () => {
    const all = await scene()
    for (let at = 0; at < 3; at++) all.fails(unreachable)
    const wait = all.out()?.retryAfterMs ?? 0
    expect(wait).toBeGreaterThanOrEqual(24_000)
    expect(wait).toBeLessThanOrEqual(36_000)
    all.clock.advance(Math.ceil(wait) - 2)
    expect(all.out()).toBeDefined()
    all.clock.advance(2)
    expect(all.out()).toBeUndefined()
    return all
  }

  test("lets one call through after its time; its first event closes it", async () => {
    const { acquire, out, health, called, logged } = await halfOpen()
    const probe = acquire()
    expect(health.acquire(called, false, "k")).toMatchObject({ because: "breaker", retryAfterMs: 1000 })
    probe.answered()
    expect(out()).toBeUndefined()
    expect(logged.at(-1)).toStartWith("INFO a circuit breaker closed")
  })

  test("opens for longer when that one fails, and again at the first failure after it was answered", async () => {
    const { acquire, out, fails } = await halfOpen()
    fails(unreachable)
    expect(out()?.retryAfterMs).toBeGreaterThanOrEqual(48_000)
    const { acquire: again, out: outAgain } = await halfOpen()
    const probe = again()
    probe.answered()
    probe.failed(unreachable)
    expect(outAgain()).toMatchObject({ because: "breaker" })
    expect(acquire).toThrow("no permit")
  })

  test("lets the next call through when the caller of the probe left", async () => {
    const { acquire, out } = await halfOpen()
    acquire().release()
    expect(out()).toBeUndefined()
    acquire()
    expect(out()).toBeDefined()
  })

  test("does not count calls that began before it opened", async () => {
    const { acquire, fails, clock, out } = await scene()
    const slow = acquire()
    for (let at = 0; at < 3; at++) fails(unreachable)
    const wait = out()?.retryAfterMs
    clock.advance(1000)
    slow.failed(unreachable)
    slow.release()
    expect(out()?.retryAfterMs).toBe((wait ?? 0) - 1000)
  })
})

describe("a failure that the request may have provoked", () => {
  test("puts a host out only when a second key meets one", async () => {
    const { fails, answers, out } = await scene()
    answers("other")
    for (let at = 0; at < 9; at++) fails(timeout, "one")
    expect([out(), out("one"), out("other")]).toEqual([undefined, undefined, undefined])
    fails(timeout, "other")
    expect(out("one")).toMatchObject({ because: "breaker", reason: "timeout" })
    expect(out("third")).toMatchObject({ because: "breaker" })
  })

  test("counts when no other key has called the host for 30 seconds; then one call of another key is let through", async () => {
    const { fails, answers, out, acquire, clock } = await scene()
    answers("other")
    clock.advance(30_000)
    for (let at = 0; at < 3; at++) fails(timeout, "one")
    expect([out("one"), out()]).toMatchObject([{ because: "breaker" }, { because: "breaker" }])
    expect(out("other")).toBeUndefined()
    const probe = acquire(undefined, "other")
    expect(out("third")).toMatchObject({ because: "breaker" })
    probe.succeeded()
    probe.release()
    expect([out("one"), out("third")]).toEqual([undefined, undefined])
  })
})

describe("a failure that two callers met", () => {
  test("puts the host out only where they make half of its calls", async () => {
    const { fails, answers, out } = await scene()
    for (let at = 0; at < 20; at++) answers("other")
    for (let at = 0; at < 9; at++) for (const key of ["one", "two"]) fails(timeout, key)
    expect(out("other")).toBeUndefined()
    fails(timeout, "one")
    fails(timeout, "two")
    expect(out("other")).toMatchObject({ because: "breaker" })
  })

  test.each([
    ["a 404", new HostFailed({ reason: "not-found", status: 404 })],
    ["a 402", new HostFailed({ reason: "account", status: 402 })],
  ])("nor does it cool down after %s", async (_, failure) => {
    const { fails, answers, out } = await scene()
    for (let at = 0; at < 5; at++) answers("other")
    for (const key of ["one", "two", "one", "two"]) fails(failure, key)
    expect(out()).toBeUndefined()
    fails(failure, "one")
    expect(out()).toMatchObject({ because: "cooldown" })
  })

  test("of a host that stops working for all: it is left after as many failures as ever, whatever it answered before", async () => {
    const { fails, answers, out } = await scene()
    for (let at = 0; at < 3000; at++) answers(`k${at % 3}`)
    fails(timeout, "k0")
    fails(timeout, "k1")
    expect(out()).toBeUndefined()
    fails(timeout, "k2")
    expect(out()).toMatchObject({ because: "breaker", reason: "timeout" })
  })

  test("of a host that refuses connections: one caller among many is enough, since no request provokes that", async () => {
    const { fails, answers, out } = await scene()
    for (let at = 0; at < 100; at++) answers(`k${at}`)
    for (let at = 0; at < 3; at++) fails(unreachable, "one")
    expect(out()).toMatchObject({ because: "breaker", reason: "unreachable" })
  })
})

describe("an emergency probe", () => {
  test("is of the host that may be called first, one at a time and per second for a model", async () => {
    const { fails, health, called, other, clock, acquire } = await scene()
    fails(refused, "k", called)
    clock.advance(500)
    fails(refused, "k", other)
    const hosts = [other.host, called.host]
    expect(health.emergencyProbe(hosts)).toBeUndefined()
    clock.advance(1000)
    expect(health.emergencyProbe(hosts)).toBe(called.host)
    const probe = acquire(called, "k", true)
    expect(health.emergencyProbe(hosts)).toBeUndefined()
    clock.advance(1000)
    expect(health.emergencyProbe(hosts)).toBeUndefined()
    probe.release()
    expect(health.emergencyProbe(hosts)).toBe(called.host)
    const back = acquire(called, "k", true)
    back.answered()
    expect(health.admissible(called.host)).toBeUndefined()
  })

  test("is never of a host that asked to be left alone, nor of one that may be called", async () => {
    const { fails, health, called, other, clock } = await scene()
    fails(limited(60))
    clock.advance(5000)
    expect(health.emergencyProbe([called.host, other.host])).toBeUndefined()
    expect(health.acquire(called, true, "k")).toMatchObject({ because: "cooldown" })
  })
})

describe("places at a provider", () => {
  test("are as many as are configured, and given back once", async () => {
    const { acquire, health, called, other } = await scene({}, { a: { max_concurrent: 2 } })
    const first = acquire()
    acquire()
    const busy = { because: "concurrency", retryAfterMs: 1000 } as const
    expect([health.acquire(called, false, "k"), health.refusal(called, false, "k")]).toEqual([busy, busy])
    expect(health.admissible(called.host)).toBeUndefined()
    acquire(other)
    first.release()
    first.release()
    acquire()
    expect(health.acquire(called, false, "k")).toEqual(busy)
  })
})

test("a reload: other rules hold from the next failure on, and what is known of the hosts stays", async () => {
  const { fails, out, registry } = await scene()
  fails(unreachable)
  fails(unreachable)
  fails(limited(100), "k")
  const limits = { cooldown: { ...cooldown, max_s: 20 }, breaker: { ...breaker, consecutive_failures: 2 } }
  registry.replace(await hostsConfig({ a: {}, b: {} }, { limits }))
  expect(out()).toMatchObject({ because: "cooldown", retryAfterMs: 100_000 })
  const [, b] = registry.current().models[0]?.hosts ?? []
  const replaced = b && registry.endpoint(b)
  if (replaced === undefined) throw new Error("no such host")
  fails(unreachable, "k", replaced)
  fails(unreachable, "k", replaced)
  expect(out("k", replaced)).toMatchObject({ because: "breaker" })
})

describe("a reload that removes a host", () => {
  const withoutA = () => hostsConfig({ b: {} }, { limits: { cooldown, breaker } })
  const withBoth = () => hostsConfig({ a: {}, b: {} }, { limits: { cooldown, breaker } })

  test("ends its open breaker, its figures and those of its provider", async () => {
    const { fails, answers, other, health, registry } = await scene()
    for (let failures = 0; failures < 3; failures++) fails(unreachable)
    answers("k", other)
    expect([health.openBreakers().length, health.figures?.().endpoints.length]).toEqual([1, 2])
    registry.replace(await withoutA())
    expect(health.openBreakers()).toEqual([])
    expect(health.figures?.()).toMatchObject({ endpoints: [{ host: "b" }], calls: [["b", 0]] })
  })

  test("forgets its cooldown, and one that comes back begins anew", async () => {
    const { fails, out, registry } = await scene()
    fails(limited(60))
    registry.replace(await withoutA())
    const again = await withBoth()
    registry.replace(again)
    const [host] = again.models[0]?.hosts ?? []
    const called = host && registry.endpoint(host)
    if (called === undefined) throw new Error("no such host")
    expect(out("k", called)).toBeUndefined()
    fails(limited(60), "k", called)
    expect(out("k", called)).toMatchObject({ because: "cooldown" })
  })

  test("and one that puts back the very same hosts has them in working order", async () => {
    const { fails, out, registry } = await scene()
    const first = registry.current()
    fails(limited(60))
    registry.replace(await withoutA())
    registry.replace(first)
    expect(out()).toBeUndefined()
    fails(limited(60))
    expect(out()).toMatchObject({ because: "cooldown" })
  })

  test("leaves no trace of calls that fail after it, and counts those that run to their end", async () => {
    const { acquire, health, registry } = await scene()
    const permits = [acquire(), acquire(), acquire()]
    registry.replace(await withoutA())
    expect(health.figures?.().calls).toEqual([["a", 3]])
    for (const permit of permits) {
      permit.failed(unreachable)
      permit.release()
    }
    expect([health.openBreakers(), health.figures?.().endpoints]).toEqual([[], []])
    registry.replace(await withoutA())
    expect(health.figures?.().calls).toEqual([])
  })
})

describe("the log of a host that is left alone", () => {
  /** Name and facts of each line. */
  const events = (logged: ReadonlyArray<string>) => logged.map((line) => JSON.parse(line.slice(line.indexOf("{"))))

  test("has a line when that begins, and one with the time that it lasted when it answers: none for each try in vain", async () => {
    const { fails, answers, clock, logged } = await scene()
    fails(limited(10))
    for (let tries = 0; tries < 3; tries++) {
      clock.advance(10_000)
      fails(limited(10))
    }
    expect(events(logged)).toEqual([
      { event: "host_rests", provider: "a", host: "a", model: "acme/small", reason: "rate-limited", for_s: 10 },
    ])
    clock.advance(10_000)
    answers()
    answers()
    const back = { provider: "a", host: "a", model: "acme/small", reason: "rate-limited" }
    expect(events(logged).slice(1)).toEqual([{ event: "host_back", ...back, lasted_s: 40 }])
    fails(limited(10))
    expect(events(logged).slice(2)).toMatchObject([{ event: "host_rests" }])
  })

  test("names the provider of an account that is refused, and the variable of its key, never the key", async () => {
    const named = { a: { api_key: { env: "TEST_KEY_OF_A" } } }
    const { fails, answers, clock, logged } = await scene({}, named, { TEST_KEY_OF_A: "the-key-of-a" })
    fails(refused)
    expect(logged[0]).toStartWith("ERROR a host refuses our account")
    expect(events(logged)).toMatchObject([{ event: "account_refused", provider: "a", key: "TEST_KEY_OF_A", for_s: 60 }])
    clock.advance(60_000)
    answers()
    expect(events(logged).slice(1)).toMatchObject([{ event: "host_back", reason: "account", lasted_s: 60 }])
    expect(logged.join()).not.toContain("the-key-of-a")
  })

  test("says that a key stands in the configuration", async () => {
    const { fails, logged, other } = await scene()
    fails(refused, "k", other)
    expect(events(logged)).toMatchObject([{ event: "account_refused", provider: "b", key: "plain text" }])
  })
})
