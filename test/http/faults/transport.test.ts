/**
 * A plugin's transport that never answers must neither keep its caller waiting nor keep a place in flight.
 * docs/guarantees.md#g14
 */
import { describe, expect, test } from "bun:test"
import * as Layer from "effect/Layer"
import { ManualClock, pass } from "../../support/clocks/manualClock.ts"
import { until } from "../../support/clocks/until.ts"
import { openAccount } from "../../support/gateways/account.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { scriptedHost, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"
import { configWithOdd, withOdd } from "../../support/hosts/oddPlugin.ts"

closeAfterEach()

const never = new Promise<never>(() => {})

const transports = {
  "that never settles": () => never,
  "whose body never ends": () => new Response(new ReadableStream({ pull: () => never, cancel: () => never })),
}

const cases = Object.entries(transports).flatMap(([name, transport]) =>
  [false, true].map((stream) => [name, stream ? "streamed" : "whole", transport, stream] as const),
)

/** One place, and two hosts: the first never answers, the second always does. */
const start = async (
  transport: () => Response | Promise<Response>,
  limits: Record<string, unknown> = {},
  setting: Layer.Layer<never> = Layer.empty,
) => {
  let calls = 0
  const counted = () => {
    calls += 1
    return transport()
  }
  const second = opened(
    scriptedHost((body) => (body["stream"] === true ? streamAnswer(["fine"]) : wholeAnswer("fine"))),
  )
  const gateway = await startWatched({
    plugins: await withOdd({ transport: counted }),
    config: configWithOdd(
      { first: { url: "http://127.0.0.1:1/v1" }, second },
      { limits: { max_in_flight: 1, ...limits }, server: { drain_s: 0 } },
    ),
    setting,
  })
  const account = await openAccount(gateway)
  const ask = (order: string, more: Record<string, unknown>, init: RequestInit = {}) => {
    const messages = [{ role: "user", content: "hi" }]
    const body = { model: "acme/small", messages, max_tokens: 10, provider: { order: [order] }, ...more }
    return gateway.chat(body, { ...init, headers: { authorization: `Bearer ${account.secret}` } })
  }
  return {
    ask,
    called: () => until(() => calls === 1, "the call"),
    account,
    expectFree: async () => {
      await until(async () => (await ask("second", {})).status === 200, "the place")
      await until(async () => (await account.reserved()) === 0n, "the release of what was reserved")
    },
  }
}

const settled = async (asked: Promise<Response>): Promise<Response> => {
  let response: Response | undefined
  void asked.then((answer) => {
    response = answer
  })
  await until(() => response !== undefined, "the answer")
  return asked
}

describe("a transport", () => {
  test.each(cases)(
    "%s outlived the deadline, %s: 408, and its place is free",
    async (_name, _kind, transport, stream) => {
      const clock = new ManualClock()
      const { ask, called, expectFree } = await start(transport, { deadline_ms: 200 }, Layer.setClock(clock))
      const asked = ask("first", { stream })
      await called()
      await pass(clock, 400)
      expect((await settled(asked)).status).toBe(408)
      await expectFree()
    },
  )

  test.each(cases)("%s outlived its caller, %s: its place is free", async (_name, _kind, transport, stream) => {
    const { ask, account, expectFree } = await start(transport)
    const leave = new AbortController()
    const asked = ask("first", { stream }, { signal: leave.signal }).catch(() => "left")
    await until(async () => (await account.reserved()) > 0n, "the call")
    leave.abort()
    expect(await asked).toBe("left")
    await expectFree()
  })

  test.each(Object.entries(transports))("%s outlived `ttfb_ms`: the next host answers", async (_name, transport) => {
    const clock = new ManualClock()
    const { ask, called, expectFree } = await start(transport, { ttfb_ms: 1000 }, Layer.setClock(clock))
    const asked = ask("first", { stream: true })
    await called()
    await pass(clock, 1200)
    const response = await settled(asked)
    expect([response.status, response.headers.get("x-gw-host")]).toEqual([200, "second"])
    expect(await response.text()).toContain("fine")
    await expectFree()
  })
})
