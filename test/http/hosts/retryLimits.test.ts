/** How many hosts are tried for one request, and for all together. docs/guarantees.md#g13 and #g14 */
import { describe, expect, test } from "bun:test"
import { errorOf } from "../../support/clients/answers.ts"
import { type Clocked, clocked } from "../../support/clocks/clocked.ts"
import { ask, closeAfterEach as closeRoutedAfterEach, good, routed, status } from "../../support/gateways/routed.ts"
import { inTimedGateway } from "../../support/gateways/timedGateway.ts"
import { closeAfterEach } from "../../support/gateways/watched.ts"
import { chunkOf } from "../../support/hosts/host.ts"

closeAfterEach()
closeRoutedAfterEach()

const names = ["a", "b", "c", "d"]
const dead = { a: status(500), b: status(500), c: status(500), d: status(500) }
const callsOf = (gateway: Clocked) => names.reduce((sum, name) => sum + gateway.calls(name), 0)

/** 200 requests within four seconds, each with its status and the errors that it was told. */
const outage = async (gateway: Clocked) => {
  const tried: Array<number> = []
  for (let at = 0; at < 200; at++) {
    const response = await gateway.chat(ask({ stream: at % 2 === 0 }))
    const { code, metadata } = await errorOf(response)
    expect(code).toBeOneOf([502, 503])
    const previous = metadata?.["previous_errors"]
    tried.push(Array.isArray(previous) ? previous.length : 0)
    gateway.clock.advance(20)
  }
  return tried
}

describe("the retry budget", () => {
  test("200 requests within four seconds at dead hosts: at most 1.25 calls each", async () => {
    const gateway = await clocked(dead, { limits: { breaker: { open_s: 0 } } })
    const tried = await outage(gateway)
    expect(callsOf(gateway)).toBeWithin(200, 251)
    expect(tried.reduce((sum, one) => sum + one, 0)).toBe(callsOf(gateway))
    // Every request was tried once, and those in the beginning of a second more often.
    expect(Math.min(...tried)).toBe(1)
    expect(Math.max(...tried)).toBe(4)
  })

  test("with breakers too", async () => {
    const gateway = await clocked(dead)
    await outage(gateway)
    expect(callsOf(gateway)).toBeLessThan(100)
  })

  test("0 switches it off", async () => {
    const gateway = await clocked(dead, { limits: { retries: 0, breaker: { open_s: 0 } } })
    await outage(gateway)
    expect(callsOf(gateway)).toBe(800)
  })

  test("when it is spent, the caller gets the first error", async () => {
    const limits = { retries: 0.000_001, cooldown: { rate_limit_s: 0 }, breaker: { open_s: 0 } }
    const gateway = await clocked({ a: status(403), b: status(500), c: status(429) }, { limits })
    const codes: Array<readonly [code: unknown, tried: unknown]> = []
    for (let at = 0; at < 7; at++) {
      const { code, metadata } = await errorOf(await gateway.chat(ask()))
      const previous = metadata?.["previous_errors"]
      codes.push([code, Array.isArray(previous) ? previous.length : 0])
    }
    // Ten extra attempts a second are always there: two for each of five requests.
    expect(codes).toEqual([...Array.from({ length: 5 }, () => [502, 3] as const), [403, 1], [403, 1]])
  })

  test("is not used by requests that succeed at once, nor by hosts that are passed over", async () => {
    const limits = { retries: 0.000_001 }
    const gateway = await clocked({ a: status(429), b: good() }, { limits })
    for (let at = 0; at < 40; at++) expect((await gateway.chat(ask())).status).toBe(200)
  })
})

describe("several models", () => {
  test("three hosts of a model are tried before the next model", async () => {
    const hosts = { a: status(500), b: status(500), c: status(500), d: status(500), other: status(500) }
    const models = { "acme/other": ["other"] }
    const gateway = await routed(hosts, { models, limits: { retries: 0 } })
    await gateway.chat(ask({ models: ["acme/other"] }))
    expect(gateway.called()).toEqual(["a", "b", "c", "other", "d"])
    const order = ["d", "c", "b", "a"]
    await gateway.chat(ask({ models: ["acme/other"], provider: { order } }))
    expect(gateway.called().slice(5)).toEqual(["d", "c", "b", "a", "other"])
  })

  test("without another model all hosts are tried", async () => {
    const gateway = await routed(dead, { limits: { retries: 0 } })
    await gateway.chat(ask())
    expect(gateway.called()).toEqual(names)
  })
})

describe("the deadline", () => {
  const word = chunkOf({ delta: { content: "from b" }, finish_reason: null })
  const finish = chunkOf({ delta: {}, finish_reason: "stop" })

  test("no further host is called with less than half a second left", () =>
    inTimedGateway(
      { hosts: ["a", "b"], limits: { deadline_ms: 10_000, ttfb_ms: 9700, commit_after_ms: 60_000 } },
      async ({ ask: asked, call, calls, pass }) => {
        const asking = asked()
        await call()
        await pass(9800)
        const response = await asking
        expect([response.status, calls.length]).toEqual([408, 1])
      },
    ))

  test("with more than that it is", () =>
    inTimedGateway(
      { hosts: ["a", "b"], limits: { deadline_ms: 10_000, ttfb_ms: 9200, commit_after_ms: 60_000 } },
      async ({ ask: asked, call, pass, settle }) => {
        const asking = asked()
        await call()
        await pass(9300)
        ;(await call(2)).head().events(word, finish, "[DONE]")
        await settle()
        expect((await asking).status).toBe(200)
      },
    ))
})
