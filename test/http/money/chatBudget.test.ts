/** Keys with a limit: which requests they can still pay, and that no burst spends more. docs/guarantees.md#g1 */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import type { LimitReset } from "../../../src/domain/keys/limitWindows.ts"
import { Meter } from "../../../src/services/money/Meter.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { errorOf, picodollars, streamOf, wholeBodyOf } from "../../support/clients/answers.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
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
import { closeAfterEach as closeOpenedAfterEach, opened } from "../../support/gateways/watched.ts"
import { chunkOf, configFor, type HeldStream, heldStream, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()
closeOpenedAfterEach()

/**
 * Only output costs something: a microdollar per token. So a request costs at most its `max_tokens` in microdollars.
 */
const outputOnly = { prices: { host: { prompt: "0", completion: "0.000001" } } }
const microdollars = (count: number): bigint => BigInt(count) * 1_000_000n

const keyWith = async (gateway: TestGateway, limit: bigint, limitReset: LimitReset | null = null) => {
  const key = await gateway.newKey({ limit, limitReset })
  const headers = { authorization: `Bearer ${key}` }
  return {
    chat: (more: Record<string, unknown> = {}, init: RequestInit = {}) => gateway.chat(ask(more), { ...init, headers }),
    spent: () => gateway.run(Effect.flatMap(Meter, (meter) => meter.spent(keyId(key)))),
    rows: () => gateway.run(Effect.flatMap(Storage, (storage) => storage.ledger.rows(keyId(key), 1000))),
  }
}

/** A host that writes as many tokens as the request allows. */
const greedy: Answer = ({ max_tokens }) =>
  wholeAnswer("x", { prompt_tokens: 1, completion_tokens: typeof max_tokens === "number" ? max_tokens : 4096 })

const usage = (completion: number) => wholeAnswer("x", { prompt_tokens: 1, completion_tokens: completion })

describe("a limit", () => {
  test("that is used up", async () => {
    const gateway = await routed({ host: greedy }, outputOnly)
    const key = await keyWith(gateway, microdollars(100))
    expect((await key.chat({ max_tokens: 100 })).status).toBe(200)
    const response = await key.chat({ max_tokens: 1 })
    expect(response.status).toBe(402)
    expect((await errorOf(response)).metadata).toEqual({
      error_type: "payment_required",
      reason: "limit_exhausted",
      limit_source: "total",
      limit_usd: 0.0001,
      spend_usd: 0.0001,
      held_usd: 0,
      left_usd: 0,
      required_usd: 0.000001,
      resets_at: null,
    })
    expect(response.headers.get("retry-after")).toBeNull()
    expect(gateway.called()).toHaveLength(1)
  })

  test.each(["daily", "weekly", "monthly"] as const)("that is %s says when it resets", async (reset) => {
    const gateway = await routed({ host: greedy }, outputOnly)
    const key = await keyWith(gateway, 0n, reset)
    const { metadata } = await errorOf(await key.chat())
    expect(metadata).toMatchObject({ limit_source: reset })
    const resets = String(metadata?.["resets_at"])
    expect(resets).toMatch(/^\d{4}-\d\d-\d\dT00:00:00\.000Z$/)
    const day = 86_400_000
    expect(Date.parse(resets) - Date.now()).toBeWithin(
      1,
      (reset === "daily" ? 1 : reset === "weekly" ? 7 : 31) * day + 1,
    )
  })

  test("that none of several hosts fits says what the cheapest needs, whatever their order", async () => {
    const [low, high] = [
      { prompt: "0", completion: "0.000001" },
      { prompt: "0", completion: "0.000003" },
    ]
    for (const prices of [
      { a: low, b: high },
      { a: high, b: low },
    ]) {
      const key = await keyWith(await routed({ a: greedy, b: greedy }, { prices }), microdollars(100))
      const { metadata } = await errorOf(await key.chat({ max_tokens: 101 }))
      expect(metadata).toMatchObject({ reason: "request_exceeds_budget", required_usd: 0.000101 })
    }
  })

  test("that a request could exceed", async () => {
    const gateway = await routed({ host: greedy }, outputOnly)
    const key = await keyWith(gateway, microdollars(100))
    for (const stream of [false, true]) {
      const response = await key.chat({ max_tokens: 101, stream })
      expect(response.status).toBe(402)
      const { message, metadata } = await errorOf(response)
      expect(metadata).toMatchObject({ reason: "request_exceeds_budget", limit_usd: 0.0001, spend_usd: 0, held_usd: 0 })
      // What it would reserve and what is left, for the caller to choose a lower bound by.
      expect(metadata).toMatchObject({ required_usd: 0.000101, left_usd: 0.0001 })
      expect(message).toContain("needs at least $0.000101, and $0.0001 of the total limit of $0.0001 is left")
      expect(message).toContain("max_tokens")
      expect(response.headers.get("retry-after")).toBeNull()
    }
    expect(gateway.called()).toEqual([])
  })

  test("that is reserved by requests in flight: the money is free when they have ended", async () => {
    const holding = Promise.withResolvers<HeldStream>()
    const host: Answer = (body, request, call) => {
      if (body["stream"] !== true) return greedy(body, request, call)
      const held = heldStream(request)
      holding.resolve(held)
      return held.response
    }
    const gateway = await routed({ host }, outputOnly)
    const key = await keyWith(gateway, microdollars(100))
    const streaming = key.chat({ max_tokens: 60, stream: true })
    const held = await holding.promise
    expect(await key.spent()).toMatchObject({ total: 0n, reserved: microdollars(60) })

    const response = await key.chat({ max_tokens: 60 })
    expect(response.status).toBe(402)
    const { message, metadata } = await errorOf(response)
    expect(metadata).toMatchObject({
      reason: "in_flight_budget_exhausted",
      spend_usd: 0,
      held_usd: 0.00006,
      left_usd: 0.00004,
      required_usd: 0.00006,
      remedy_hint: expect.any(String),
    })
    expect(message).toContain("$0.00004 of the total limit of $0.0001 is free while $0.00006 is held")
    expect(Number(response.headers.get("retry-after"))).toBeWithin(1, 6)

    held.send(chunkOf({ delta: { content: "one" }, finish_reason: "stop" }))
    held.send(JSON.stringify({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } }))
    held.send("[DONE]")
    expect((await streamOf(await streaming)).last.usage?.cost).toBe(0.000001)
    expect(await key.spent()).toMatchObject({ total: microdollars(1), reserved: 0n })
    expect((await key.chat({ max_tokens: 60 })).status).toBe(200)
  })

  test("counts every requested answer", async () => {
    const gateway = await routed({ host: greedy }, outputOnly)
    const key = await keyWith(gateway, microdollars(100))
    for (const [more, expected] of [
      [{ n: 3 }, 402],
      [{ best_of: 3 }, 402],
      [{ n: 2 }, 200],
    ] as const) {
      expect((await key.chat({ max_tokens: 50, ...more })).status).toBe(expected)
    }
  })

  test("is sent as a bound to a host that could write more than the key can pay", async () => {
    const gateway = await routed({ host: greedy }, outputOnly)
    const key = await keyWith(gateway, microdollars(100))
    const { usage: reported } = await wholeBodyOf(await key.chat())
    expect(gateway.hosts["host"]?.calls[0]?.body["max_tokens"]).toBe(100)
    expect(picodollars(reported.cost)).toBe(microdollars(100))
    expect((await key.chat()).status).toBe(402)
  })

  test("a key without a limit sends no bound to the host", async () => {
    const gateway = await routed({ host: greedy }, outputOnly)
    await wholeBodyOf(await gateway.chat(ask()))
    expect(gateway.hosts["host"]?.calls[0]?.body).not.toHaveProperty("max_tokens")
  })

  test("a host that exceeds the bound is billed as it reports", async () => {
    const gateway = await routed({ host: () => usage(500) }, outputOnly)
    const key = await keyWith(gateway, microdollars(100))
    expect((await wholeBodyOf(await key.chat({ max_tokens: 100 }))).usage.cost).toBe(0.0005)
    expect(await key.spent()).toMatchObject({ total: microdollars(500), reserved: 0n })
    expect((await errorOf(await key.chat({ max_tokens: 1 }))).metadata).toMatchObject({
      reason: "limit_exhausted",
      spend_usd: 0.0005,
    })
  })

  test("leaves out the hosts that are too expensive for it", async () => {
    const prices = { dear: { prompt: "0", completion: "0.000009" }, cheap: { prompt: "0", completion: "0.000001" } }
    const gateway = await routed({ dear: good(), cheap: good() }, { prices })
    const key = await keyWith(gateway, microdollars(100))
    const response = await key.chat({ max_tokens: 100, provider: { order: ["dear"] } })
    expect(response.headers.get("x-gw-host")).toBe("cheap")
    expect(gateway.called()).toEqual(["cheap"])
  })
})

describe("the reservation covers", () => {
  /** A microdollar per prompt token, and nothing for the output. */
  const promptOnly = { prices: { host: { prompt: "0.000001", completion: "0" } } }
  const statusAt = async (gateway: TestGateway, limit: bigint, more: Record<string, unknown>) =>
    (await (await keyWith(gateway, limit)).chat(more)).status
  /** Bytes of the body as the host gets it. */
  const bytesSent = async (gateway: Routed, more: Record<string, unknown>): Promise<number> => {
    expect((await gateway.chat(ask(more))).status).toBe(200)
    return Buffer.byteLength(JSON.stringify(gateway.hosts["host"]?.calls.at(-1)?.body))
  }

  test("a body that is longer for the host than as received: numbers with an exponent", async () => {
    const gateway = await routed({ host: good() }, promptOnly)
    // JSON.stringify writes the number in 21 bytes; the caller wrote it in four.
    const written = Array.from({ length: 1000 }, () => 1e20)
    const tools = [{ type: "function", function: { name: "f", parameters: { enum: written } } }]
    const short = JSON.stringify(ask({ tools, max_tokens: 1 })).replaceAll("100000000000000000000", "1e20")
    const statusOf = async (limit: bigint) =>
      (
        await gateway.chat(undefined, {
          body: short,
          headers: { authorization: `Bearer ${await gateway.newKey({ limit })}` },
        })
      ).status
    const sent = await bytesSent(gateway, { tools, max_tokens: 1 })
    expect(Buffer.byteLength(short)).toBeLessThan(sent / 3)
    // A token is at least one byte of the messages and tools that the host reads. Little is added to them.
    const least = Buffer.byteLength(JSON.stringify([ask()["messages"], tools]))
    expect(await statusOf(microdollars(least - 10))).toBe(402)
    expect(gateway.called()).toHaveLength(1)
    expect(await statusOf(microdollars(sent + 200))).toBe(200)
  })

  test("an image by the host's whole context length", async () => {
    const gateway = await routed({ host: good() }, promptOnly)
    const image = { type: "image_url", image_url: { url: "https://example.test/cat.png" } }
    const more = { messages: [{ role: "user", content: [{ type: "text", text: "what?" }, image] }], max_tokens: 1 }
    const sent = await bytesSent(gateway, more)
    expect(await statusAt(gateway, microdollars(8191), more)).toBe(402)
    expect(gateway.called()).toHaveLength(1)
    expect(await statusAt(gateway, microdollars(8192 + sent + 200), more)).toBe(200)
  })

  /** A gateway whose host has these prices. */
  const priced = async (pricing: { readonly [price: string]: string }, answer: () => Response) => {
    const host = opened(scriptedHost(answer))
    const one = { provider: "acme", model: "upstream", pricing: { prompt: "0", completion: "0", ...pricing } }
    const models = [{ id: "acme/small", context_length: 8192, hosts: [one] }]
    const gateway = opened(await startGateway({ config: { ...configFor({ acme: host }), models } }))
    return { gateway, host }
  }

  test("the price of each image, which is billed too", async () => {
    const { gateway, host } = await priced({ image: "0.005" }, () => wholeAnswer("a cat"))
    const image = { type: "image_url", image_url: { url: "https://example.test/cat.png" } }
    const look = { messages: [{ role: "user", content: [{ type: "text", text: "what?" }, image, image] }] }
    expect((await wholeBodyOf(await gateway.chat(ask(look)))).usage.cost).toBe(0.01)
    expect(await statusAt(gateway, microdollars(9000), look)).toBe(402)
    expect(host.calls).toHaveLength(1)
  })

  test("searches, which are billed by their count", async () => {
    const searched = { prompt_tokens: 1, completion_tokens: 1, server_tool_use_details: { web_search_requests: 3 } }
    const { gateway } = await priced({ web_search: "0.01" }, () => wholeAnswer("found", searched))
    const search = { web_search_options: {} }
    expect(await statusAt(gateway, microdollars(1000), search)).toBe(402)
    const key = await keyWith(gateway, microdollars(1_000_000))
    expect((await wholeBodyOf(await key.chat(search))).usage.cost).toBe(0.03)
  })
})

describe("the reservation is released", () => {
  test.each([
    ["a host that fails", status(500), 502, {}],
    ["a host that finds the request at fault", status(400), 400, {}],
    ["a deadline", silent, 408, { deadline_ms: 500 }],
    ["a first event that never comes", silent, 408, { ttfb_ms: 300 }],
  ] as const)("after %s", async (_name, host, expected, limits) => {
    const clock = new ManualClock()
    const gateway = await routed({ host }, { ...outputOnly, limits, clock })
    const key = await keyWith(gateway, microdollars(100))
    const asked = key.chat({ max_tokens: 100, stream: true })
    expect((await answerAfter(gateway, clock, asked, { milliseconds: 700 })).status).toBe(expected)
    expect(await key.spent()).toMatchObject({ total: 0n, reserved: 0n })
    expect(await key.rows()).toEqual([])
  })

  test("before the next host is tried", async () => {
    const prices = { bad: { prompt: "0", completion: "0.000001" }, host: { prompt: "0", completion: "0.000001" } }
    const gateway = await routed({ bad: status(500), host: greedy }, { prices })
    const key = await keyWith(gateway, microdollars(100))
    expect((await wholeBodyOf(await key.chat({ max_tokens: 100 }))).usage.cost).toBe(0.0001)
    expect(gateway.called()).toEqual(["bad", "host"])
  })
})

describe("200 requests at once at a key with room for 37", () => {
  const burst = async (tokens: number) => {
    const settled = Promise.withResolvers<void>()
    let decided = 0
    const decide = () => {
      decided += 1
      if (decided === 200) settled.resolve()
    }
    // No host answers before every request was admitted or refused, so no reservation is released meanwhile.
    const host: Answer = async () => {
      decide()
      await settled.promise
      return usage(tokens)
    }
    const gateway = await routed({ host }, outputOnly)
    const key = await keyWith(gateway, microdollars(3700))
    const statuses = await Promise.all(
      Array.from({ length: 200 }, async () => {
        const response = await key.chat({ max_tokens: 100 })
        if (response.status === 402) {
          expect((await errorOf(response)).metadata).toMatchObject({
            reason: "in_flight_budget_exhausted",
            held_usd: 0.0037,
          })
          decide()
        }
        return response.status
      }),
    )
    return { gateway, key, statuses }
  }

  test("admits exactly 37, and spends the limit to the last picodollar", async () => {
    const { gateway, key, statuses } = await burst(100)
    expect(statuses.filter((each) => each === 200)).toHaveLength(37)
    expect(statuses.filter((each) => each === 402)).toHaveLength(163)
    expect(gateway.called()).toHaveLength(37)
    expect(await key.spent()).toMatchObject({ total: microdollars(3700), reserved: 0n })
    expect((await errorOf(await key.chat({ max_tokens: 1 }))).metadata).toMatchObject({ reason: "limit_exhausted" })
  })

  test("leaves the rest of the money usable when they cost less", async () => {
    const { gateway, key, statuses } = await burst(60)
    expect(statuses.filter((each) => each === 200)).toHaveLength(37)
    expect(await key.spent()).toMatchObject({ total: microdollars(37 * 60), reserved: 0n })
    expect((await key.chat({ max_tokens: 3700 - 37 * 60 })).status).toBe(200)
    expect(gateway.called()).toHaveLength(38)
  })
})

test("any concurrent requests: a key never spends more than its limit, and its spend is the sum of its ledger", async () => {
  const one = FastCheck.record({
    max_tokens: FastCheck.option(FastCheck.integer({ min: 1, max: 300 }), { nil: undefined }),
    stream: FastCheck.boolean(),
    content: FastCheck.string({ maxLength: 40, unit: "binary" }),
  })
  // A host that counts every byte of the prompt as a token and writes as much as it may.
  const host: Answer = ({ messages, max_tokens: most, stream }) => {
    const counts = {
      prompt_tokens: Buffer.byteLength(JSON.stringify(messages)),
      completion_tokens: Number(most ?? 4096),
    }
    if (stream !== true) return wholeAnswer("x", counts)
    const events = [
      chunkOf({ delta: { content: "x" }, finish_reason: "stop" }),
      JSON.stringify({ choices: [], usage: counts }),
      "[DONE]",
    ]
    return new Response(events.map((event) => `data: ${event}\n\n`).join(""))
  }
  const gateway = await routed({ host, fails: status(500) })
  await FastCheck.assert(
    FastCheck.asyncProperty(
      FastCheck.array(one, { minLength: 1, maxLength: 40 }),
      FastCheck.bigInt({ min: 0n, max: microdollars(4000) }),
      async (requests, limit) => {
        const key = await keyWith(gateway, limit)
        const costs = await Promise.all(
          requests.map(async ({ content, ...more }, at) => {
            const order = at % 3 === 0 ? ["fails"] : []
            const response = await key.chat({ ...more, messages: [{ role: "user", content }], provider: { order } })
            if (response.status !== 200) {
              expect(response.status).toBe(402)
              await response.body?.cancel()
              return 0n
            }
            const reported = more.stream ? (await streamOf(response)).last.usage : (await wholeBodyOf(response)).usage
            return picodollars(reported?.cost)
          }),
        )
        const { total, reserved } = await key.spent()
        const rows = await key.rows()
        expect(reserved).toBe(0n)
        expect(total).toBeLessThanOrEqual(limit)
        expect(total).toBe(costs.reduce((sum, cost) => sum + cost, 0n))
        expect(total).toBe(rows.reduce((sum, { cost }) => sum + cost, 0n))
      },
    ),
    { numRuns: 30 },
  )
})
