/** The circuit breaker, as callers and hosts see it. docs/guarantees.md#g12 */
import { describe, expect, test } from "bun:test"
import { errorOf, streamOf, wholeBodyOf } from "../../support/clients/answers.ts"
import { type Clocked, clocked } from "../../support/clocks/clocked.ts"
import { until } from "../../support/clocks/until.ts"
import { type Answer, ask, good, silent, status } from "../../support/gateways/routed.ts"
import { closeAfterEach } from "../../support/gateways/watched.ts"
import { chunkOf, type HeldStream, heldStream, sse } from "../../support/hosts/host.ts"

closeAfterEach()

const statusesOf = async (gateway: Clocked, count: number, stream = false): Promise<ReadonlyArray<number>> => {
  const responses = await Promise.all(Array.from({ length: count }, () => gateway.chat(ask({ stream }))))
  await Promise.all(responses.map((response) => response.arrayBuffer()))
  return responses.map((response) => response.status)
}

/** Makes the only host, which fails, be behind an open breaker. */
const broken = async (gateway: Clocked): Promise<void> => {
  for (let at = 0; at < 5; at++) await statusesOf(gateway, 1)
}

/** A host that fails until it is told otherwise. */
const mending = (fault: Answer = status(500)) => {
  const state = { answer: fault }
  const host: Answer = (...call) => state.answer(...call)
  return { state, host }
}

const word = chunkOf({ delta: { content: "a" }, finish_reason: null })

const wordThenError: Answer = () => sse([word, '{"error":{"code":500,"message":"no"}}'])

describe("a dead first host", () => {
  test.each([false, true])("of 1,000 requests sees five and those in flight (stream: %p)", async (stream) => {
    const gateway = await clocked({ dead: status(500), next: good() })
    const inFlight = 10
    for (let round = 0; round < 1000 / inFlight; round++) {
      expect(await statusesOf(gateway, inFlight, stream)).toEqual(Array.from({ length: inFlight }, () => 200))
    }
    expect(gateway.calls("dead")).toBeWithin(5, 5 + inFlight + 1)
    expect(gateway.calls("next")).toBe(1000)
    expect(await gateway.listed()).toMatchObject([
      { tag: "dead", status: -2 },
      { tag: "next", status: 0 },
    ])
  })

  test("is probed by one request when its time is over; the others go to the next host", async () => {
    const probe = Promise.withResolvers<Response>()
    const { state, host } = mending()
    const gateway = await clocked({ first: host, next: good("from the next") })
    await broken(gateway)
    gateway.clock.advance(23_000)
    await statusesOf(gateway, 1)
    expect(gateway.calls("first")).toBe(5)
    state.answer = () => probe.promise
    gateway.clock.advance(14_000)
    const responses = Array.from({ length: 10 }, () => gateway.chat(ask()))
    const early = await Promise.race(responses)
    expect(early.headers.get("x-gw-host")).toBe("next")
    probe.resolve(await good("back")({}, new Request("http://host.test"), 1))
    const texts = await Promise.all(responses.map(async (response) => wholeBodyOf(await response)))
    expect(texts.filter(({ choices }) => choices[0]?.message.content === "back")).toHaveLength(1)
    expect(gateway.calls("first")).toBe(6)
    state.answer = good("back")
    await statusesOf(gateway, 20)
    expect(gateway.calls("first")).toBe(26)
  })

  test("opens by streams that break off after their first event", async () => {
    const gateway = await clocked({ first: wordThenError, next: good() })
    for (let at = 0; at < 8; at++) await statusesOf(gateway, 1, true)
    expect(gateway.calls("first")).toBe(5)
  })

  test("is back with the first event of its probe; what was in flight before it opened does not count any more", async () => {
    const old = Promise.withResolvers<Response>()
    const { state, host } = mending(() => old.promise)
    const gateway = await clocked({ first: host, next: good() })
    const waiting = gateway.chat(ask())
    await until(() => gateway.calls("first") === 1, "the call")
    state.answer = status(500)
    await broken(gateway)
    expect(gateway.calls("first")).toBe(6)
    const streams: Array<HeldStream> = []
    state.answer = (_, request) => {
      const held = heldStream(request)
      streams.push(held)
      held.send(word)
      return held.response
    }
    gateway.clock.advance(37_000)
    const probe = await gateway.chat(ask({ stream: true }))
    expect(probe.headers.get("x-gw-host")).toBe("first")
    old.resolve(Response.json({}, { status: 500 }))
    expect((await waiting).headers.get("x-gw-host")).toBe("next")
    state.answer = good()
    expect((await gateway.chat(ask())).headers.get("x-gw-host")).toBe("first")
    for (const { send, close } of streams) {
      send(chunkOf({ delta: {}, finish_reason: "stop" }))
      close()
    }
    expect((await streamOf(probe)).text).toBe("a")
  })

  test("whose probe begins an answer and breaks off is left alone for longer", async () => {
    const { state, host } = mending()
    const gateway = await clocked({ first: host, next: good() })
    await broken(gateway)
    state.answer = wordThenError
    gateway.clock.advance(37_000)
    await statusesOf(gateway, 1, true)
    expect(gateway.calls("first")).toBe(6)
    gateway.clock.advance(47_000)
    await statusesOf(gateway, 1)
    expect(gateway.calls("first")).toBe(6)
    gateway.clock.advance(26_000)
    await statusesOf(gateway, 1)
    expect(gateway.calls("first")).toBe(7)
  })
})

describe("the log", () => {
  test("said nothing when a breaker opened or closed: a line each, and none while it is open", async () => {
    const { state, host } = mending()
    const gateway = await clocked({ first: host, next: good() })
    await broken(gateway)
    expect(gateway.log().match(/a circuit breaker opened/g)).toHaveLength(1)
    expect(gateway.log()).toMatch(/host: "first",\s+model: "acme\/small",\s+reason: "overloaded",\s+for_s: \d+/)
    gateway.clock.advance(37_000)
    await statusesOf(gateway, 1)
    state.answer = good()
    gateway.clock.advance(80_000)
    await statusesOf(gateway, 2)
    expect(gateway.calls("first")).toBe(7)
    expect(gateway.log().match(/a circuit breaker opened/g)).toHaveLength(1)
    expect(gateway.log().match(/a circuit breaker closed/g)).toHaveLength(1)
    expect(gateway.log()).toMatch(/reason: "overloaded",\s+lasted_s: 117,?/)
  })
})

describe("neither a failure nor a success", () => {
  test.each([
    ["429", status(429)],
    ["400", status(400)],
    ["403", status(403)],
    ["401", status(401)],
  ])("%s does not open it", async (_, answer) => {
    const gateway = await clocked({ host: answer }, { limits: { cooldown: { account_s: 0, rate_limit_s: 0 } } })
    await statusesOf(gateway, 30)
    expect(gateway.calls("host")).toBe(30)
  })

  test("callers who leave do not open it, and do not keep the probe", async () => {
    let cancelled = 0
    const patient: Answer = async (...call) => {
      const response = await silent(...call)
      cancelled += 1
      return response
    }
    const { state, host } = mending(patient)
    const gateway = await clocked({ host })
    const leave = async () => {
      const [calls, before] = [gateway.calls("host"), cancelled]
      const leaving = new AbortController()
      const left = gateway.chat(ask(), { signal: leaving.signal }).catch(() => "left")
      await until(() => gateway.calls("host") > calls, "the call")
      leaving.abort()
      expect(await left).toBe("left")
      await until(() => {
        // The gateway looks for callers who left on its clock.
        gateway.clock.advance(100)
        return cancelled > before
      }, "the end of the call")
    }
    for (let at = 0; at < 8; at++) await leave()
    state.answer = status(500)
    await broken(gateway)
    expect(gateway.calls("host")).toBe(13)
    gateway.clock.advance(37_000)
    state.answer = patient
    await leave()
    expect(gateway.calls("host")).toBe(14)
    state.answer = good()
    expect(await statusesOf(gateway, 1)).toEqual([200])
  })

  test.each([
    ["400", status(400)],
    ["429", status(429)],
  ])("a probe that is answered by %s leaves the next request a probe", async (_, answer) => {
    const { state, host } = mending()
    const gateway = await clocked({ host }, { limits: { cooldown: { rate_limit_s: 0 } } })
    await broken(gateway)
    gateway.clock.advance(37_000)
    state.answer = answer
    await statusesOf(gateway, 1)
    state.answer = good()
    expect(await statusesOf(gateway, 1)).toEqual([200])
    expect(gateway.calls("host")).toBe(7)
  })
})

describe("when every host of a model is out", () => {
  test("one request a second is let through, the others get 503 and the time to wait", async () => {
    const { state, host } = mending()
    const gateway = await clocked({ host })
    await broken(gateway)
    const refused = await gateway.chat(ask())
    expect(refused.status).toBe(503)
    expect(Number(refused.headers.get("retry-after"))).toBeWithin(24, 37)
    expect((await errorOf(refused)).metadata).toMatchObject({ error_type: "provider_overloaded" })
    for (let second = 1; second <= 5; second++) {
      gateway.clock.advance(1000)
      const statuses = await statusesOf(gateway, 10)
      expect(statuses.toSorted()).toEqual([502, ...Array.from({ length: 9 }, () => 503)])
      expect(gateway.calls("host")).toBe(5 + second)
    }
    state.answer = good()
    gateway.clock.advance(1000)
    expect(await statusesOf(gateway, 1)).toEqual([200])
    expect(await statusesOf(gateway, 10)).toEqual(Array.from({ length: 10 }, () => 200))
  })

  test("one at a time: while a probe waits for its host, no other goes out", async () => {
    const { state, host } = mending()
    const gateway = await clocked({ host })
    await broken(gateway)
    const slow = Promise.withResolvers<Response>()
    state.answer = () => slow.promise
    gateway.clock.advance(1000)
    const probing = gateway.chat(ask())
    await until(() => gateway.calls("host") === 6, "the probe")
    gateway.clock.advance(5000)
    expect(await statusesOf(gateway, 3)).toEqual([503, 503, 503])
    slow.resolve(status(500)({}, new Request("http://host.test"), 1))
    expect((await probing).status).toBe(502)
    state.answer = good()
    expect(await statusesOf(gateway, 1)).toEqual([200])
  })

  test("a host that asked us to wait is not probed", async () => {
    const gateway = await clocked({ host: status(429, { "retry-after": "20" }) })
    await statusesOf(gateway, 1)
    gateway.clock.advance(10_000)
    const refused = await gateway.chat(ask())
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "10"])
    expect(gateway.calls("host")).toBe(1)
    gateway.clock.advance(10_000)
    expect(await statusesOf(gateway, 1)).toEqual([429])
  })

  test("the host that comes back first is probed", async () => {
    const { state, host } = mending()
    const gateway = await clocked({ first: host, second: status(401) })
    for (let at = 0; at < 5; at++) await statusesOf(gateway, 1)
    expect([gateway.calls("first"), gateway.calls("second")]).toEqual([5, 1])
    state.answer = good()
    gateway.clock.advance(1000)
    const response = await gateway.chat(ask())
    expect([response.status, response.headers.get("x-gw-host")]).toEqual([200, "first"])
  })

  test("streams are let through in the same way", async () => {
    const { state, host } = mending()
    const gateway = await clocked({ host })
    await broken(gateway)
    gateway.clock.advance(1000)
    state.answer = good("back")
    expect((await streamOf(await gateway.chat(ask({ stream: true })))).text).toBe("back")
    expect(await statusesOf(gateway, 3, true)).toEqual([200, 200, 200])
  })
})

describe("limits.breaker", () => {
  test("`open_s` 0 switches it off", async () => {
    const gateway = await clocked({ host: status(500) }, { limits: { breaker: { open_s: 0 } } })
    await statusesOf(gateway, 40)
    expect(gateway.calls("host")).toBe(40)
  })

  test("both counts 0 switch it off", async () => {
    const breaker = { consecutive_failures: 0, error_rate: 0 }
    const gateway = await clocked({ host: status(500) }, { limits: { breaker } })
    await statusesOf(gateway, 40)
    expect(gateway.calls("host")).toBe(40)
  })

  test("its counts are used", async () => {
    const gateway = await clocked(
      { host: status(500) },
      { limits: { breaker: { consecutive_failures: 2, open_s: 10 } } },
    )
    for (let at = 0; at < 4; at++) await statusesOf(gateway, 1)
    expect(gateway.calls("host")).toBe(2)
    gateway.clock.advance(12_500)
    expect(await statusesOf(gateway, 1)).toEqual([502])
  })
})
