/** The order in which hosts are called, what a failure does to the rest of the plan, and what is left at the end. docs/guarantees.md#g10 and #g13 */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import { CallerGone, HostFailed, TimedOut } from "../../../src/domain/failures/Failure.ts"
import type { HostReason } from "../../../src/domain/failures/HostReason.ts"
import { sampleKey } from "../../sql/samples.ts"
import { closeServices, hostsConfig } from "../../support/clocks/services.ts"
import { trying } from "../../support/gateways/trying.ts"

closeServices()

const priced = { pricing: { prompt: "0.000001", completion: "0.000002" } }
const paid = { a: priced, b: priced, c: priced }
const answer = { said: "hello" }
const failure = (reason: HostReason, more: object = {}) => new HostFailed({ reason, ...more })
/** Answers of hosts by their tags; the others answer. */
const failing = (failures: Readonly<Record<string, HostFailed>>) => (host: { readonly tag: string }) =>
  Effect.succeed(failures[host.tag] ?? answer)
const allFail = (why: HostFailed) => () => Effect.succeed(why)

const never = () => {
  throw new Error("no hosts")
}

/** A key that can pay for anything here, so that what is reserved can be seen. */
const payer = sampleKey("payer", { limit: 10_000_000_000_000n })

describe("after a failure", () => {
  test.each([
    ...(["unreachable", "timeout", "account", "forbidden", "not-found", "rate-limited", "overloaded"] as const),
    ...(["malformed", "plugin", "limit", "unsendable"] as const),
  ])("%s: the next host is called, in the order of the plan", async (reason) => {
    const { ask, called, hosts, plan, newContext, reserved } = await trying(await hostsConfig(paid))
    const [a, b, c] = hosts
    if (a === undefined || b === undefined || c === undefined) throw new Error("no hosts")
    const context = newContext(payer)
    const asked = { context, plan: plan([b, a, c]) }
    expect(await ask(failing({ a: failure(reason), b: failure(reason) }), asked)).toBe(answer)
    expect(called).toEqual(["b", "a", "c"])
    expect(context.failed.map((one) => [one.host, one.failure.reason])).toEqual([
      ["b", reason],
      ["a", reason],
    ])
    expect(await reserved(payer)).toBe(0n)
  })

  test("of ten thousand hosts at once, the request ends as with one: the calls are not nested", async () => {
    const { ask, hosts, plan } = await trying(await hostsConfig(paid))
    const many = plan(Array.from({ length: 10_000 }, (_, at) => hosts[at % hosts.length] ?? never()))
    expect(await ask(allFail(failure("timeout")), { plan: many })).toMatchObject({ _tag: "RoutingExhausted" })
  })

  test("of the request itself no other host of the model is called", async () => {
    const { ask, called } = await trying(await hostsConfig(paid))
    const why = failure("request", { status: 400, detail: "bad tools" })
    expect(await ask(failing({ a: why }))).toMatchObject({ _tag: "RoutingExhausted", outcome: "request" })
    expect(called).toEqual(["a"])
  })

  test("of a prompt that is too long for it, one with a longer context is", async () => {
    const hosts = { a: { context_length: 4000 }, b: { context_length: 2000 }, c: { context_length: 8000 } }
    const { ask, called } = await trying(await hostsConfig(hosts))
    const why = failure("request", { status: 400, code: "context_length_exceeded" })
    expect(await ask(failing({ a: why }))).toBe(answer)
    expect(called).toEqual(["a", "c"])
  })

  test.each<[string, HostFailed, string, ReadonlyArray<string>]>([
    ["a bound", failure("request", { detail: "'tools' : maximum number of items is 128" }), "two", ["a/x", "b"]],
    ["a filter of a deployment", failure("request", { code: "content_filter" }), "two", ["a/x", "a/y"]],
    ["a filter, in another tier", failure("request", { code: "content_filter" }), "one", ["a/x", "b"]],
    ["anything else", failure("request", { detail: "bad tools" }), "two", ["a/x"]],
  ])("of %s, the next one that may take it is, until a second one refuses", async (_, why, deployment, tried) => {
    const hosts = [
      { provider: "a", variant: "x", model: "one" },
      { provider: "a", variant: "y", model: deployment },
      { provider: "b", model: "three" },
      { provider: "c", model: "four" },
    ]
    const models = [{ id: "acme/small", context_length: 8192, hosts }]
    const { ask, called } = await trying(await hostsConfig(paid, { models }))
    expect(await ask(allFail(why))).toMatchObject({ _tag: "RoutingExhausted", outcome: "request" })
    expect(called).toEqual([...tried])
  })

  test("of ours for want of descriptors no host is called, and the caller is told 503", async () => {
    const { ask, called, newContext, reserved } = await trying(await hostsConfig(paid))
    const context = newContext(payer)
    expect(await ask(allFail(failure("shortage")), { context })).toMatchObject({
      _tag: "Unavailable",
      why: "overloaded",
    })
    expect([called, await reserved(payer)]).toEqual([["a"], 0n])
  })

  test("that is a throw where a call begins, the request ends in it, and nothing stays reserved", async () => {
    const { askBy, newContext, reserved } = await trying(await hostsConfig(paid))
    const throws = () => {
      throw new Error("a bug")
    }
    await expect(askBy(throws, { context: newContext(payer) })).rejects.toThrow("a bug")
    expect(await reserved(payer)).toBe(0n)
  })

  test("that is a defect of ours no host is called, and the request ends in it", async () => {
    const { ask, called, newContext, reserved } = await trying(await hostsConfig(paid))
    const why = failure("defect", { cause: new Error("a bug") })
    await expect(ask(allFail(why), { context: newContext(payer) })).rejects.toThrow("a bug")
    expect([called, await reserved(payer)]).toEqual([["a"], 0n])
  })
})

describe("the end of the request", () => {
  test("while a host is called: no other one is, and the reason is that end", async () => {
    const { ask, called, newContext, reserved } = await trying(await hostsConfig(paid))
    const context = newContext(payer)
    const timedOut = new TimedOut({ phase: "upstream", afterMs: 1 })
    const outcome = await ask(
      () =>
        Effect.sync(() => {
          context.lifetime.end(timedOut)
          return failure("ended")
        }),
      { context },
    )
    expect(outcome).toBe(timedOut)
    expect([called, context.failed, await reserved(payer)]).toEqual([["a"], [], 0n])
  })

  test("before any host was called: none is, and a caller who left pays nothing", async () => {
    const { ask, called, newContext, reserved, run, storage } = await trying(await hostsConfig(paid))
    const context = newContext(payer)
    context.lifetime.end(new CallerGone())
    expect(await ask(failing({}), { context })).toBeInstanceOf(CallerGone)
    expect([called, await reserved(payer), await run(storage.ledger.rows(payer.id, 9))]).toEqual([[], 0n, []])
  })

  test("with less than half a second to the deadline no further host is called", async () => {
    const { ask, called, newContext, timers } = await trying(await hostsConfig(paid))
    const context = newContext()
    context.lifetime.deadline = timers.now() + 499
    expect(await ask(allFail(failure("unreachable")), { context })).toMatchObject({ outcome: "unavailable" })
    expect(called).toEqual(["a"])
    context.lifetime.deadline = timers.now() + 500
    await ask(allFail(failure("unreachable")), { context })
    expect(called).toEqual(["a", "a", "b", "c"])
  })
})

describe("the retry budget", () => {
  test("is taken from for each host after the first; when it is spent, the first failure decides", async () => {
    const { ask, called, retries, timers } = await trying(await hostsConfig(paid), 0)
    for (let other = 0; other < 9; other++) retries.take(timers.now())
    const failures = { a: failure("rate-limited", { status: 429 }), b: failure("timeout"), c: failure("timeout") }
    expect(await ask(failing(failures))).toMatchObject({ _tag: "RoutingExhausted", outcome: "rate-limited" })
    expect(called).toEqual(["a", "b"])
    called.length = 0
    await ask(failing(failures))
    expect(called).toEqual(["b"])
  })

  test("is not taken from for hosts that are not called, nor for the same host with another key", async () => {
    const keys = { a: { api_keys: [{ key: "one" }, { key: "two" }] }, b: { max_concurrent: 1 } }
    const { ask, called, retries, timers, health, registry, hosts } = await trying(await hostsConfig(paid, {}, keys), 0)
    const endpoint = hosts[1] && registry.endpoint(hosts[1])
    if (endpoint === undefined) throw new Error("no host")
    health.acquire(endpoint, false, "other")
    for (let other = 0; other < 9; other++) retries.take(timers.now())
    expect(await ask(failing({ a: failure("account", { status: 401 }) }))).toBe(answer)
    expect(called.map((name) => name.slice(0, 5))).toEqual(["a key", "a key", "c"])
  })
})

describe("a host with several keys", () => {
  const keys = { a: { api_keys: [{ key: "one" }, { key: "two" }] } }

  test("is called with the next key when it refuses one, and with no key twice", async () => {
    const { ask, called, newContext } = await trying(await hostsConfig(paid, {}, keys))
    const context = newContext()
    expect(await ask(failing({ a: failure("rate-limited", { status: 429 }) }), { context })).toBe(answer)
    expect(called.toSorted()).toEqual(["a key 1", "a key 2", "b"])
    expect(context.failed.map((one) => one.host)).toEqual(["a", "a"])
  })

  test("is not called again for a failure that is not the key's", async () => {
    const { ask, called } = await trying(await hostsConfig(paid, {}, keys))
    expect(await ask(failing({ a: failure("overloaded", { status: 503 }) }))).toBe(answer)
    expect(called.map((name) => name[0])).toEqual(["a", "b"])
  })
})

describe("a host that cannot be called just now is skipped", () => {
  test("since its provider has no place", async () => {
    const config = await hostsConfig({ a: priced }, {}, { a: { max_concurrent: 1 } })
    const { ask, called, health, registry, hosts } = await trying(config)
    const endpoint = hosts[0] && registry.endpoint(hosts[0])
    if (endpoint === undefined) throw new Error("no host")
    health.acquire(endpoint, false, "other")
    expect(await ask(failing({}))).toMatchObject({ _tag: "RoutingExhausted", outcome: "busy", retryAfterSeconds: 1 })
    expect(called).toEqual([])
  })

  test("since its last place was taken while its request was signed: nothing stays reserved", async () => {
    const config = await hostsConfig({ a: priced, b: priced }, {}, { a: { max_concurrent: 1 } })
    const { ask, called, client, health, registry, hosts, newContext, reserved } = await trying(config)
    const endpoint = hosts[0] && registry.endpoint(hosts[0])
    if (endpoint === undefined) throw new Error("no host")
    client.signed = (_endpoint, encoded) =>
      Effect.sync(() => {
        health.acquire(endpoint, false, "other")
        return encoded
      })
    expect(await ask(failing({}), { context: newContext(payer) })).toBe(answer)
    expect([called, await reserved(payer)]).toEqual([["b"], 0n])
  })

  test("since the key cannot pay: the refusal says what it could ask for, and weighs more than a busy host", async () => {
    const dear = { pricing: { prompt: "0.001", completion: "0.002" } }
    const { ask, called, newContext } = await trying(await hostsConfig({ a: dear, b: dear }))
    const context = newContext(sampleKey("poor", { limit: 1_000_000_000n }))
    expect(await ask(failing({}), { context })).toMatchObject({
      ...{ _tag: "PaymentRequired", reason: "request_exceeds_budget", affordableTokens: 0 },
    })
    expect(called).toEqual([])
  })

  test("since the free requests of the key are used up, where the host is free", async () => {
    const free = { pricing: { prompt: "0", completion: "0" } }
    const billing = { free_models: { requests_per_minute: 1, requests_per_day: 0 } }
    const providers = { a: { base_url: "https://a.test/v1", network: "public" } }
    const { ask, called, newContext } = await trying(await hostsConfig({ a: free, b: priced }, { billing }, providers))
    const key = sampleKey("a free key")
    expect(await ask(failing({}), { context: newContext(key) })).toBe(answer)
    expect(await ask(failing({}), { context: newContext(key) })).toBe(answer)
    expect(called).toEqual(["a", "b"])
  })

  test("since it cools down for an earlier request, and the caller is told when it is back", async () => {
    const { ask, called, hosts, health, plan } = await trying(await hostsConfig({ a: priced }))
    await ask(allFail(failure("rate-limited", { status: 429, retryAfterSeconds: 20 })))
    const [a] = hosts
    if (a === undefined) throw new Error("no host")
    expect(health.admissible(a)).toMatchObject({ because: "cooldown" })
    expect(await ask(failing({}))).toMatchObject({ outcome: "rate-limited", retryAfterSeconds: 20 })
    expect(called).toEqual(["a"])
    expect(await ask(failing({}), { plan: plan([]) })).toMatchObject({ _tag: "RoutingExhausted" })
  })
})

test("a host quotes our secret: the caller's failure does not have it", async () => {
  const { ask } = await trying(await hostsConfig({ a: priced }))
  const why = failure("request", { status: 400, detail: "no such key secret-of-a", code: "secret-of-a" })
  const outcome = await ask(allFail(why))
  expect(outcome).toMatchObject({ outcome: "request" })
  expect(Bun.inspect(outcome, { depth: 9 })).not.toContain("secret-of-a")
})
