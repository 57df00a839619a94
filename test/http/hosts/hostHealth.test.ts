/** Which failures count against a host, and how long it cools down: cooldowns and uptime. docs/guarantees.md#g10 */
import { describe, expect, test } from "bun:test"
import * as Layer from "effect/Layer"
import { errorOf, streamOf } from "../../support/clients/answers.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import {
  type Answer,
  answerAfter,
  ask,
  closeAfterEach,
  good,
  type Routed,
  routed,
  silent,
  status,
} from "../../support/gateways/routed.ts"
import { closeAfterEach as closeWatchedAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import {
  chunkOf,
  configFor,
  heldStream,
  scriptedHost,
  sse,
  streamAnswer,
  wholeAnswer,
} from "../../support/hosts/host.ts"

closeAfterEach()
closeWatchedAfterEach()

const word = chunkOf({ delta: { content: "first" }, finish_reason: null })

describe("cooling down", () => {
  const twice = async (answer: Answer, more = {}): Promise<{ readonly gateway: Routed; readonly second: Response }> => {
    const gateway = await routed({ host: answer }, { clock: new ManualClock(), ...more })
    await gateway.chat(ask())
    return { gateway, second: await gateway.chat(ask()) }
  }

  test.each([401, 402, 404, 429])("a host cools down after %p", async (code) => {
    const { gateway, second } = await twice(status(code))
    // While nothing but rate limits keeps hosts from being called, it is one for the caller, too.
    expect(second.status).toBe(code === 429 ? 429 : 503)
    const errorType = code === 429 ? "rate_limit_exceeded" : "provider_overloaded"
    expect((await errorOf(second)).metadata).toMatchObject({ error_type: errorType })
    expect(Number(second.headers.get("retry-after"))).toBeWithin(1, code === 429 ? 6 : 61)
    expect(gateway.called()).toEqual(["host"])
  })

  test.each([400, 403, 408, 500])("does not cool down after %p", async (code) => {
    const { gateway } = await twice(status(code))
    expect(gateway.called()).toEqual(["host", "host"])
  })

  test("for as long as it asks, `max_s` at most", async () => {
    const { second } = await twice(status(429, { "retry-after": "100000" }), { limits: { cooldown: { max_s: 200 } } })
    expect(Number(second.headers.get("retry-after"))).toBeWithin(199, 201)
  })

  test("an invalid time is ignored", async () => {
    const { second } = await twice(status(429, { "retry-after": "soon" }))
    expect(Number(second.headers.get("retry-after"))).toBeWithin(1, 6)
  })

  test.each([
    ["7", 6, 8],
    ["0", 1, 2],
    ["9".repeat(30), 299, 301],
    ["-5", 4, 6],
    ["soon", 4, 6],
    [new Date(0).toUTCString(), 1, 2],
  ])("429 with Retry-After %p: the caller is told that or its bound", async (value, least, below) => {
    const { second } = await twice(status(429, { "retry-after": value }))
    expect(second.status).toBe(429)
    expect(Number(second.headers.get("retry-after"))).toBeWithin(least, below)
  })

  test("429 with a date in half a minute: the caller is told that", async () => {
    const inHalfAMinute = () => new Date(Date.now() + 30_000).toUTCString()
    const limited: Answer = (...asked) => status(429, { "retry-after": inHalfAMinute() })(...asked)
    // The `Date` of the host's own answer may be a second old.
    expect(Number((await twice(limited)).second.headers.get("retry-after"))).toBeWithin(28, 33)
  })

  test.each([
    [undefined, undefined, "5"],
    ["soon", undefined, "5"],
    ["7", undefined, "7"],
    ["100000", undefined, "300"],
    ["100000", { max_s: 60 }, "60"],
    ["soon", { rate_limit_s: 20 }, "20"],
    ["soon", { rate_limit_s: 0 }, null],
  ])(
    "the very caller who met a 429 with Retry-After %p was not told how long the host is left alone (%p)",
    async (value, cooldown, told) => {
      const host = status(429, value === undefined ? {} : { "retry-after": value })
      const gateway = await routed({ host }, cooldown === undefined ? {} : { limits: { cooldown } })
      const response = await gateway.chat(ask())
      expect([response.status, response.headers.get("retry-after")]).toEqual([429, told])
      expect((await errorOf(response)).availability?.retry_after).toBe(told === null ? null : Number(told))
    },
  )

  test("0 switches it off", async () => {
    const off = { limits: { cooldown: { account_s: 0, not_found_s: 0, rate_limit_s: 0 } } }
    for (const code of [401, 404, 429]) expect((await twice(status(code), off)).gateway.called()).toHaveLength(2)
  })

  test("the other hosts answer meanwhile, and the provider's other models are not affected", async () => {
    const gateway = await routed({ first: status(429), second: good() }, { clock: new ManualClock() })
    for (let at = 0; at < 3; at++) expect((await gateway.chat(ask())).status).toBe(200)
    expect(gateway.called()).toEqual(["first", "second", "second", "second"])
  })

  test("after a rate limit inside a stream too", async () => {
    const limited = () => sse([word, '{"error":{"code":429,"message":"slow"}}'])
    const gateway = await routed({ host: limited }, { clock: new ManualClock() })
    await (await gateway.chat(ask({ stream: true }))).text()
    expect((await gateway.chat(ask({ stream: true }))).status).toBe(429)
    expect(gateway.called()).toEqual(["host"])
  })
})

describe("hosts that all rest", () => {
  test("after a 429 each: 429; where one of them rests for another failure: 503", async () => {
    for (const [second, expected] of [
      [429, 429],
      [401, 503],
    ] as const) {
      const gateway = await routed({ first: status(429), second: status(second) }, { clock: new ManualClock() })
      await gateway.chat(ask())
      const refused = await gateway.chat(ask())
      expect([refused.status, gateway.called()]).toEqual([expected, ["first", "second"]])
      expect(Number(refused.headers.get("retry-after"))).toBeWithin(1, 301)
    }
  })
})

describe("the deadline", () => {
  test("counted against a host that had little of it: one that others had left less than all is not blamed", async () => {
    const clock = new ManualClock()
    const slow: Answer = async (...call) => {
      clock.advance(400)
      return status(500)(...call)
    }
    const gateway = await routed({ slow, hanging: silent }, { limits: { deadline_ms: 1000 }, clock })
    const answer = await answerAfter(gateway, clock, gateway.chat(ask()), { calls: 2, milliseconds: 700 })
    expect(answer.status).toBe(408)
    const { data } = (await (await gateway.call("/models/acme/small/endpoints")).json()) as {
      readonly data: { readonly endpoints: ReadonlyArray<{ readonly tag: string; readonly uptime_last_1d: unknown }> }
    }
    expect(data.endpoints.map(({ tag, uptime_last_1d: uptime }) => [tag, uptime])).toEqual([
      ["slow", 0],
      ["hanging", null],
    ])
  })
})

test("a host that lets whole answers run into the deadline is left alone in the end", async () => {
  const clock = new ManualClock()
  const gateway = await routed({ hanging: silent, next: good() }, { limits: { deadline_ms: 500 }, clock })
  for (let calls = 1; calls <= 5; calls++) {
    const answer = await answerAfter(gateway, clock, gateway.chat(ask()), { calls, milliseconds: 700 })
    expect(answer.status).toBe(408)
  }
  expect((await gateway.chat(ask())).headers.get("x-gw-host")).toBe("next")
  expect(gateway.called()).toEqual([...Array.from({ length: 5 }, () => "hanging"), "next"])
})

describe("a longer cooldown", () => {
  test("is not shortened by a shorter one of a request that was in flight", async () => {
    const clock = new ManualClock()
    const answers = [Promise.withResolvers<Response>(), Promise.withResolvers<Response>()]
    const bothCalled = Promise.withResolvers<void>()
    const host = opened(
      scriptedHost((_body, _request, call) => {
        if (call === 2) bothCalled.resolve()
        return answers[call - 1]?.promise ?? wholeAnswer("back again")
      }),
    )
    const gateway = await startWatched({ config: configFor({ acme: host }), setting: Layer.setClock(clock) })
    const waiting = [gateway.chat(ask()), gateway.chat(ask())]
    await bothCalled.promise
    const limited = (seconds: string) =>
      Response.json({ error: { message: "slow down" } }, { status: 429, headers: { "retry-after": seconds } })
    answers[0]?.resolve(limited("100"))
    expect((await Promise.race(waiting)).status).toBe(429)
    answers[1]?.resolve(limited("5"))
    expect((await Promise.all(waiting)).map((response) => response.status)).toEqual([429, 429])

    clock.advance(50_000)
    const refused = await gateway.chat(ask())
    expect(refused.status).toBe(429)
    expect(refused.headers.get("retry-after")).toBe("50")
    expect(host.calls.length).toBe(2)
    clock.advance(51_000)
    expect((await gateway.chat(ask())).status).toBe(200)
  })
})

test("a host that is back after a cooldown is not put into that cooldown again by its next failure", async () => {
  const clock = new ManualClock()
  const answers = [status(401), good(), status(429, { "retry-after": "2" })]
  const gateway = await routed({ host: (...asked) => (answers.shift() ?? good())(...asked) }, { clock })
  expect((await gateway.chat(ask())).status).toBe(502)
  // The one host of a model is probed while it cools down, and the probe shows that it is back.
  clock.advance(1100)
  expect((await gateway.chat(ask())).status).toBe(200)
  expect((await gateway.chat(ask())).status).toBe(429)
  expect((await gateway.chat(ask())).headers.get("retry-after")).toBe("2")
  clock.advance(2100)
  expect((await gateway.chat(ask())).status).toBe(200)
})

describe("uptime", () => {
  /**
   * A host that answers its first stream well. In the second it sends a word, and does `fault` once the caller has read
   * it.
   */
  const onceGood = async (fault: (held: ReturnType<typeof heldStream>) => void) => {
    const streams: Array<ReturnType<typeof heldStream>> = []
    const host = opened(
      scriptedHost((_body, request, call) => {
        if (call === 1) return streamAnswer(["fine"])
        const held = heldStream(request)
        streams.push(held)
        held.send(word)
        return held.response
      }),
    )
    const gateway = await startWatched({ config: configFor({ acme: host }) })
    await streamOf(await gateway.chat(ask({ stream: true })))
    expect((await gateway.listed())[0]).toMatchObject({ uptime_last_5m: 100, uptime_last_30m: 100 })
    const response = await gateway.chat(ask({ stream: true }))
    for (const held of streams) fault(held)
    const { text, last } = await streamOf(response)
    expect([text, last.choices[0]?.finish_reason]).toEqual(["first", "error"])
    return (await gateway.listed())[0]
  }

  test.each<readonly [string, (held: ReturnType<typeof heldStream>) => void]>([
    ["an end without a finish", ({ close }) => close()],
    ["an error event", ({ send }) => send('{"error":{"code":500,"message":"no"}}')],
    ["a finish reason of error", ({ send }) => send(chunkOf({ delta: {}, finish_reason: "error" }))],
  ])("falls when a stream breaks off after its head: %s", async (_name, fault) => {
    expect(await onceGood(fault)).toMatchObject({ uptime_last_5m: 50, uptime_last_30m: 50, uptime_last_1d: 50 })
  })

  test("does not fall after a rate limit inside a stream, which cools the host down", async () => {
    const listed = await onceGood(({ send }) => send('{"error":{"code":429,"message":"slow"}}'))
    expect(listed).toMatchObject({ uptime_last_5m: 100, status: -3 })
  })
})
