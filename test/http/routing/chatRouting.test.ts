/** Which host answers, and what the caller gets when none does. docs/guarantees.md#g10 */
import { describe, expect, test } from "bun:test"
import { errorOf, streamOf, wholeBodyOf } from "../../support/clients/answers.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import { until } from "../../support/clocks/until.ts"
import {
  type Answer,
  answerAfter,
  ask,
  closeAfterEach,
  good,
  routed,
  silent,
  status,
} from "../../support/gateways/routed.ts"
import { chunkOf, sse } from "../../support/hosts/host.ts"

closeAfterEach()

const html = "<html><body>Bad gateway</body></html>"

const textOf = async (response: Response, stream: boolean): Promise<unknown> =>
  stream ? (await streamOf(response)).text : (await wholeBodyOf(response)).choices[0]?.message.content

describe("a host that fails before its first event", () => {
  test("a host's message about our account is never shown", async () => {
    for (const code of [401, 402, 403, 500]) {
      const gateway = await routed({ bad: status(code, {}, "key-of-bad has no credit at https://internal.test") })
      const response = await gateway.chat(ask())
      expect(await response.text()).not.toMatch(/key-of|credit|internal/)
    }
  })

  test("each host is tried once", async () => {
    const gateway = await routed({ a: status(500), b: status(500), c: status(500) })
    const { metadata } = await errorOf(await gateway.chat(ask()))
    expect(gateway.called()).toEqual(["a", "b", "c"])
    expect(metadata).toMatchObject({
      error_type: "provider_unavailable",
      provider_name: "c",
      previous_errors: ["a", "b", "c"].map((provider) => ({
        provider,
        model: "acme/small",
        status: 500,
        code: "some_error",
      })),
    })
  })

  test("a stream answered by HTML is malformed, not unreachable", async () => {
    const page: Answer = () => new Response(html, { headers: { "content-type": "text/html" } })
    const gateway = await routed({ bad: page })
    const { code, metadata } = await errorOf(await gateway.chat(ask({ stream: true })))
    expect([code, metadata?.["previous_errors"]]).toMatchObject([502, [{ code: "malformed" }]])
  })

  test("nothing is charged for it", async () => {
    const gateway = await routed({ bad: status(500), next: good() })
    const { usage } = await wholeBodyOf(await gateway.chat(ask()))
    // Ten prompt tokens and five output tokens at the second host's prices.
    expect(usage.cost).toBe(0.00003)
  })
})

describe("a host that does not answer", () => {
  /** Half a second passes once the first host was called. */
  const timed = async (answers: Readonly<Record<string, Answer>>, limits: Record<string, unknown>) => {
    const clock = new ManualClock()
    const gateway = await routed(answers, { limits, clock })
    const answer = (body: unknown) => answerAfter(gateway, clock, gateway.chat(body), { milliseconds: 500 })
    return { gateway, answer }
  }

  test("a stream without a first event within `ttfb_ms`: the next host answers", async () => {
    const { gateway, answer } = await timed({ bad: silent, next: good("from the next") }, { ttfb_ms: 300 })
    expect((await streamOf(await answer(ask({ stream: true })))).text).toBe("from the next")
    expect(gateway.called()).toEqual(["bad", "next"])
  })

  test("comments and blank lines are no first event", async () => {
    const comments: Answer = () => heldOpen(": hi\n\n\n\n: there\n\n")
    const { answer } = await timed({ bad: comments, next: good("from the next") }, { ttfb_ms: 300 })
    expect((await streamOf(await answer(ask({ stream: true })))).text).toBe("from the next")
  })

  test("as the only host, 408", async () => {
    const { answer } = await timed({ bad: silent }, { ttfb_ms: 300 })
    const response = await answer(ask({ stream: true }))
    expect(response.status).toBe(408)
    expect((await errorOf(response)).metadata).toMatchObject({ error_type: "timeout", phase: "upstream" })
  })

  test.each([false, true])(
    "`deadline_ms` ends the request, and no other host is tried (stream: %p)",
    async (stream) => {
      const { gateway, answer } = await timed({ bad: silent, next: good() }, { deadline_ms: 300 })
      const response = await answer(ask({ stream }))
      expect(response.status).toBe(408)
      expect((await errorOf(response)).metadata).toMatchObject({ error_type: "timeout", phase: "upstream" })
      expect(gateway.called()).toEqual(["bad"])
    },
  )

  test("a whole answer may take longer than `ttfb_ms`: the same host is waited for", async () => {
    const waiting = Promise.withResolvers<void>()
    const slow: Answer = async (body, request, call) => {
      await waiting.promise
      return good("at last")(body, request, call)
    }
    const clock = new ManualClock()
    const gateway = await routed({ slow, quick: silent }, { limits: { ttfb_ms: 50 }, clock })
    const answered = gateway.chat(ask())
    await until(() => gateway.called().length === 1, "the call")
    // Once the stream to the other host has timed out, the whole answer has waited at least as long.
    const timedOut = gateway.chat(ask({ stream: true, provider: { only: ["quick"] } }))
    expect((await answerAfter(gateway, clock, timedOut, { calls: 2, milliseconds: 100 })).status).toBe(408)
    waiting.resolve()
    expect(await textOf(await answered, false)).toBe("at last")
    expect(gateway.called().toSorted()).toEqual(["quick", "slow"])
  })
})

/** Sends this text and stays open. */
const heldOpen = (said: string): Response =>
  new Response(
    new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(said)),
      pull: () => new Promise(() => {}),
    }),
  )

describe("a request that a host finds at fault", () => {
  test.each([400, 413, 422])(
    "%p: not retried on another host of the model; 400 with the host's words",
    async (code) => {
      const gateway = await routed({ first: status(code, {}, "messages[0] is too funny"), second: good() })
      const response = await gateway.chat(ask())
      expect(response.status).toBe(400)
      const { metadata } = await errorOf(response)
      expect(metadata).toMatchObject({
        error_type: "invalid_request",
        provider_name: "first",
        raw: "messages[0] is too funny",
      })
      expect(gateway.called()).toEqual(["first"])
    },
  )

  test("another model is tried", async () => {
    const gateway = await routed(
      { first: status(400), second: good(), other: good("from the other") },
      { models: { "acme/other": ["other"] } },
    )
    const response = await gateway.chat(ask({ models: ["acme/other"] }))
    const { model, choices } = await wholeBodyOf(response)
    expect([model, choices[0]?.message.content]).toEqual(["acme/other", "from the other"])
    expect(gateway.called()).toEqual(["first", "other"])
  })

  test("it neither cools the host down nor counts against its health", async () => {
    let wrong = true
    const gateway = await routed({ host: (...call) => (wrong ? status(400) : good("fine now"))(...call) })
    expect((await gateway.chat(ask())).status).toBe(400)
    wrong = false
    expect(await textOf(await gateway.chat(ask()), false)).toBe("fine now")
  })
})

describe("a plan that is exhausted", () => {
  test.each([
    ["a request at fault before anything else", [400, 500], true, 400],
    ["all rate limited", [429, 429], false, 429],
    ["rate limited and broken", [429, 500], false, 502],
    ["all unknown", [404, 404], false, 404],
    ["unknown and broken", [404, 500], false, 502],
    ["all timed out", [408, 408], false, 408],
    ["timed out and broken", [408, 500], false, 502],
    ["forbidden at last", [500, 403], false, 403],
    ["forbidden at first", [403, 500], false, 502],
    ["our account, and then forbidden", [401, 403], false, 403],
    ["forbidden, and then our account", [403, 401], false, 502],
  ] as const)("%s", async (_name, [one, other], apart, expected) => {
    const models = apart ? { "acme/other": ["second"] } : {}
    const gateway = await routed({ first: status(one), second: status(other) }, { models })
    for (const stream of [false, true]) {
      const response = await gateway.chat(ask({ stream, ...(apart ? { models: ["acme/other"] } : {}) }))
      // Hosts that cool down after the first request are not called by the second.
      if (stream && gateway.called().length < 4) continue
      expect(response.status).toBe(expected)
      expect((await errorOf(response)).metadata?.["previous_errors"]).toHaveLength(2)
    }
  })

  test("a host that breaks off in its stream hid the attempts before it: they are in `previous_errors`", async () => {
    const word = chunkOf({ delta: { content: "first" }, finish_reason: null })
    const gateway = await routed({ limited: status(429), breaks: () => sse([word]), unused: good() })
    const { chunks } = await streamOf(await gateway.chat(ask({ stream: true })))
    const error = chunks.at(-1)?.error
    expect(error?.code).toBe(502)
    expect(error?.metadata?.["provider_name"]).toBe("breaks")
    expect(error?.metadata?.["previous_errors"]).toMatchObject([
      { provider: "limited", status: 429 },
      { provider: "breaks", code: "unreachable" },
    ])
    expect(gateway.called()).toEqual(["limited", "breaks"])
  })

  test("429 gives the shortest wait", async () => {
    const answers = { first: status(429, { "retry-after": "40" }), second: status(429, { "retry-after": "20" }) }
    const gateway = await routed(answers, { clock: new ManualClock() })
    const response = await gateway.chat(ask())
    expect(response.status).toBe(429)
    expect(response.headers.get("retry-after")).toBe("20")
    expect(response.headers.get("x-ratelimit-limit")).toBeNull()
  })
})
