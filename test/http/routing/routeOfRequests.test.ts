/** The route of a request afterwards, in `GET /generation`: which hosts were in its plan, and what became of them. docs/requests.md */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { chatProtocol, defineProvider, httpError } from "headgate/plugin"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { parseUsd } from "../../../src/domain/price/money.ts"
import { ownPlugins, startGateway } from "../../support/gateways/gateway.ts"
import { settled } from "../../support/gateways/outcomes.ts"
import { ask, closeAfterEach, good, type Routed, routed, status } from "../../support/gateways/routed.ts"

import { chunkOf, configFor, heldStream, scriptedHost, streamAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

interface Opened {
  readonly request_id: string
  readonly provider_responses: ReadonlyArray<JsonObject>
  readonly usage: number
  readonly plan: { readonly seed: number; readonly strategy: string } | null
  readonly route: (JsonObject & { readonly seed: number | null }) | null
  readonly exact: Readonly<Record<string, string | null>>
  readonly billing: {
    readonly lines: ReadonlyArray<{ readonly what: string; readonly quantity: number; readonly amount_usd: string }>
  } | null
}

const opened = async (gateway: Routed, body: unknown): Promise<Opened & { readonly status: number }> => {
  const answer = await gateway.chat(body)
  await answer.text()
  const response = await gateway.call(`/generation?id=${answer.headers.get("x-gw-request-id")}`)
  const { data } = (await response.json()) as { readonly data: Opened }
  return { ...data, status: answer.status }
}

const small = "acme/small"

describe("the route of a request", () => {
  test("that was answered has the hosts of its plan, which failed, and which were left out by what", async () => {
    const gateway = await routed({ a: status(500), b: good(), c: good(), d: good() })
    const { route, plan, status: answered } = await opened(gateway, ask({ provider: { ignore: ["d"] } }))
    expect(answered).toBe(200)
    expect(route).toEqual({
      strategy: "price",
      seed: plan?.seed ?? -1,
      order: [
        { model: small, host: "a", outcome: "overloaded", fault: null },
        { model: small, host: "b", outcome: "finished", fault: null },
        { model: small, host: "c", outcome: "not_called", fault: null },
      ],
      excluded: [{ model: small, host: "d", by: "ignore", reason: "among the ignored providers" }],
      cut: false,
    })
  })

  test("that a second host answered has each call in its row: who failed, with which status, and how long it took", async () => {
    const gateway = await routed({ a: status(503), b: good(), c: good() })
    const { request_id, provider_responses } = await opened(gateway, ask())
    expect(provider_responses).toMatchObject([
      { endpoint_id: "a", status: 503, model_permaslug: small },
      { endpoint_id: "b", status: 200, model_permaslug: small },
    ])
    const { data } = (await (await gateway.call("/requests")).json()) as { data: ReadonlyArray<JsonObject> }
    const one = data.find((row) => row["request_id"] === request_id)
    expect(one).toMatchObject({ outcome: "ok", bytes_in: null })
    const took = expect.any(Number)
    expect(one?.["attempts"]).toEqual([
      { model: small, host: "a", outcome: "overloaded", status: 503, duration_ms: took, fault: null },
      { model: small, host: "b", outcome: "finished", status: 200, duration_ms: took, fault: null },
    ])
  })

  test("with a hedge that was prepared too late has the call that answered, not the one that was never made", async () => {
    const [asked, may, began] = [
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
    ]
    const slowToSign = defineProvider({
      id: "slow-to-sign",
      name: "Slow to sign",
      config: Schema.Struct({}),
      load: () => ({
        protocols: { chat: chatProtocol() },
        error: httpError,
        sign: (encoded) =>
          Effect.promise(async () => {
            asked.resolve()
            await may.promise
            return encoded
          }),
      }),
    })
    const failing = scriptedHost(() => Response.json({}, { status: 503 }))
    const answering = scriptedHost((body, request) => {
      if (body["user"] === undefined) return streamAnswer(["x"])
      const stream = heldStream(request)
      // The second host is being prepared when the first one begins to answer, and ready while it still does.
      void asked.promise.then(() => stream.send(chunkOf({ delta: { content: "hello" }, finish_reason: null })))
      void began.promise.then(async () => {
        may.resolve()
        await settled()
        stream.send(chunkOf({ delta: {}, finish_reason: "stop" }))
        stream.send("[DONE]")
        stream.close()
      })
      return stream.response
    })
    const never = scriptedHost(() => streamAnswer(["never"]))
    const { providers, ...config } = configFor({
      a: { url: failing.url },
      b: { url: answering.url, prompt: "0.000002" },
      c: { url: never.url, prompt: "0.000003" },
    })
    const gateway = await startGateway({
      plugins: [...(await Effect.runPromise(ownPlugins)), slowToSign],
      config: {
        ...config,
        providers: { ...providers, c: { ...providers["c"], plugin: "slow-to-sign" } },
        routing: { strategy: "price", hedge: { enabled: true, max_cost_share: 1 } },
      },
    })
    try {
      const stream = (more: object) => gateway.chat(ask({ stream: true, ...more }))
      for (let times = 0; times < 25; times++) await (await stream({ provider: { only: ["b"] } })).text()
      const answer = await stream({ user: "ann", provider: { order: ["a", "b", "c"] } })
      began.resolve()
      expect(await answer.text()).toContain("hello")
      const response = await gateway.call(`/generation?id=${answer.headers.get("x-gw-request-id")}`)
      const { data } = (await response.json()) as { readonly data: Opened }
      expect(data.provider_responses).toMatchObject([
        { endpoint_id: "a", status: 503 },
        { endpoint_id: "b", status: 200 },
      ])
      expect(data.route?.["order"]).toMatchObject([
        { host: "a", outcome: "overloaded" },
        { host: "b", outcome: "finished" },
        { host: "c", outcome: "not_called" },
      ])
      expect(never.calls).toHaveLength(0)
    } finally {
      await gateway.stop()
      for (const host of [failing, answering, never]) await host.stop()
    }
  })

  test("of one host has that", async () => {
    const gateway = await routed({ a: good() })
    expect((await opened(gateway, ask())).route).toMatchObject({
      order: [{ model: small, host: "a", outcome: "finished" }],
      excluded: [],
    })
  })

  test("that failed at every host has why each failed", async () => {
    const gateway = await routed({ a: status(500), b: status(429) })
    const { route, exact, status: answered } = await opened(gateway, ask())
    expect(answered).toBeGreaterThanOrEqual(429)
    expect(route).toMatchObject({
      strategy: "price",
      order: [
        { host: "a", outcome: "overloaded" },
        { host: "b", outcome: "rate-limited" },
      ],
    })
    expect(exact).toEqual({ usage: "0", total_cost: "0", upstream_inference_cost: "0", cache_discount: null })
  })

  test("that no host was left for has what left each out, and no word of the request", async () => {
    const gateway = await routed({ a: good(), b: good() })
    const { route, status: answered } = await opened(gateway, ask({ provider: { only: ["nobody-of-that-name"] } }))
    expect(answered).toBe(404)
    expect(route).toEqual({
      strategy: null,
      seed: null,
      order: [],
      excluded: ["a", "b"].map((host) => ({
        model: small,
        host,
        by: "only",
        reason: "not among the allowed providers",
      })),
      cut: false,
    })
    expect(JSON.stringify(route)).not.toContain("nobody")
  })
})

test("the lines of the bill add up to what is told exactly", async () => {
  const gateway = await routed({ a: good() })
  const { billing, exact, usage } = await opened(gateway, ask())
  const sum = billing?.lines.reduce((all, { amount_usd }) => all + (parseUsd(amount_usd) ?? 0n), 0n)
  expect(sum).toBe(parseUsd(exact["usage"] ?? "") ?? -1n)
  expect(exact["usage"]).toBe(exact["total_cost"] ?? "")
  expect(Number(exact["usage"])).toBe(usage)
  expect(billing?.lines.map(({ what }) => what)).toEqual(["prompt", "completion"])
  expect(usage).toBeGreaterThan(0)
})
