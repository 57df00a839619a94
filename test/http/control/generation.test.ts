/** `GET /generation`: what the ledger has of one answer, and for whom. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { GenerationResponse$inboundSchema } from "@openrouter/sdk/models"
import * as Effect from "effect/Effect"
import { generationId, requestId } from "../../../src/domain/ids.ts"
import { priceVersion } from "../../../src/domain/price/PriceVersion.ts"
import { freePricing } from "../../../src/domain/price/price.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import {
  asManager,
  bearer,
  type ControlPlane,
  expectAnswer,
  expectError,
  json,
  noon,
  row,
  startControlPlane,
} from "../../support/gateways/control.ts"
import { gatewayWithoutSocket } from "../../support/gateways/gateway.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

let gateway: ControlPlane
let alice: string
let bob: string

beforeAll(async () => {
  gateway = await startControlPlane()
  alice = await gateway.newKey()
  bob = await gateway.newKey()
})
afterAll(() => gateway.close())

const booked = async (members: Partial<LedgerRow> = {}): Promise<LedgerRow> => {
  const request = requestId()
  const ids = { requestId: request, generationId: generationId(noon / 1000, request) }
  const one = { ...row(alice, "0.25", noon), ...ids, ...members }
  await gateway.run(Effect.flatMap(Storage, (storage) => storage.ledger.append([one])))
  return one
}

const ask = (id: string, init = bearer(alice)) => gateway.send(`/api/v1/generation?id=${id}`, init)

describe("a generation", () => {
  test("has what the ledger has", async () => {
    const one = await booked({
      upstreamCost: 3n,
      reasoningTokens: 1,
      cachedTokens: 1,
      streamed: true,
      durationMs: 20.5,
    })
    const response = await ask(one.generationId)
    expectAnswer(response, 200)
    const body = await json(response)
    expect(() => GenerationResponse$inboundSchema.parse(body)).not.toThrow()
    expect(body.data).toMatchObject({
      id: one.generationId,
      request_id: one.requestId,
      caller_request_id: null,
      model: "acme/m0",
      created_at: "2026-07-15T12:00:00.000Z",
      provider_name: "Toy Ltd",
      streamed: true,
      cancelled: false,
      finish_reason: "stop",
      tokens_prompt: 1,
      native_tokens_completion: 1,
      native_tokens_reasoning: 1,
      native_tokens_cached: 1,
      usage: 0.25,
      total_cost: 0.25,
      upstream_inference_cost: 3e-12,
      latency: 1,
      generation_time: 20.5,
      provider_responses: [{ status: 200, provider_name: "Toy Ltd", endpoint_id: "toy", latency: 1 }],
      cache_discount: null,
      plan: {
        strategy: "balanced",
        seed: 1,
        host: "toy",
        provider: "toy",
        form: "chat",
        operation: "chat",
        outcome: "finished",
      },
      billing: { price_basis: "unknown", price_version: null, estimated: false, waived: null },
    })
  })

  test.each<
    readonly [
      string,
      Partial<LedgerRow>,
      ReadonlyArray<readonly [host: string, status: number | null, latency: number]>,
    ]
  >([
    [
      "from before calls had their times has them without",
      { routed: "=acme/m0\n+slow\n+toy\n=acme/m0\n!timeout\tslow\n" },
      [
        ["slow", null, 0],
        ["toy", 200, 1],
      ],
    ],
    [
      "with a host that could not be called does not have it",
      {
        routed:
          "=acme/m0\n+odd\n+slow\n+toy\n=acme/m0\n!defect\todd\t\t\n=acme/m0\n!timeout\tslow\t504\t80.5\n=acme/m0\n!finished\ttoy\t200\t12\n",
      },
      [
        ["slow", 504, 80.5],
        ["toy", 200, 1],
      ],
    ],
    [
      "that broke off has the call that it was of",
      { outcome: "host-failed", routed: "=acme/m0\n+slow\n+toy\n=acme/m0\n!timeout\tslow\t\t80.5\n" },
      [
        ["slow", null, 80.5],
        ["toy", 200, 1],
      ],
    ],
  ])("%s", async (_, members, calls) => {
    const one = await booked(members)
    const { data } = await json(await ask(one.generationId))
    const responses: ReadonlyArray<Record<string, unknown>> = data.provider_responses
    expect(responses.map(({ endpoint_id, status, latency }) => [endpoint_id, status, latency])).toEqual(
      calls.map((call) => [...call]),
    )
  })

  test("says what the host's cache saved, or cost", async () => {
    const pricing = {
      ...freePricing,
      prompt: 4_000_000n,
      inputCacheRead: 1_000_000n,
      inputCacheWrite: 5_000_000n,
      discountPpm: 500_000n,
    }
    const version = priceVersion(pricing)
    await gateway.run(Effect.flatMap(Storage, ({ prices }) => prices.put([version])))
    const discountOf = async (members: Partial<LedgerRow>) => {
      const one = await booked({ promptTokens: 1000, priceVersion: version.id, ...members })
      return (await json(await ask(one.generationId))).data.cache_discount
    }
    expect(await discountOf({ cachedTokens: 600 })).toBe(600 * 1.5e-6)
    expect(await discountOf({ cacheWriteTokens: 600 })).toBe(-600 * 0.5e-6)
    expect(await discountOf({})).toBe(0)
    expect(await discountOf({ cachedTokens: 600, waived: "host-failed" })).toBe(0)
    expect(await discountOf({ priceVersion: version.id - 1 })).toBeNull()
  })

  test("has no content, since none is stored", async () => {
    const one = await booked()
    const content = (id: string, init = bearer(alice)) => gateway.send(`/api/v1/generation/content?id=${id}`, init)
    const error = await expectError(await content(one.generationId), 404)
    expect(error.message).toBe("A stored prompt or answer of this generation does not exist.")
    const others = await expectError(await content(one.generationId, bearer(bob)), 404)
    expect(others.message).toBe("This generation does not exist.")
    await expectError(await content(""), 404)
  })

  test("of a caller who left says so", async () => {
    const one = await booked({ outcome: "caller-gone", finishReason: "" })
    expect((await json(await ask(one.generationId))).data).toMatchObject({ cancelled: true, finish_reason: null })
  })

  test("is for its own key and for management alone", async () => {
    const one = await booked()
    expectAnswer(await ask(one.generationId, asManager()), 200)
    const others = await expectError(await ask(one.generationId, bearer(bob)), 404)
    const none = await expectError(await ask(generationId(1, requestId()), bearer(bob)), 404)
    expect(others).toEqual(none)
  })

  test("is the call that answered, not the one that was lost to it", async () => {
    const request = requestId()
    const ids = { generationId: generationId(noon / 1000, request) }
    await booked({ ...ids, requestId: `${request}-lost`, outcome: "lost", host: "toy/dear" })
    await expectError(await ask(ids.generationId), 404)
    await booked({ ...ids, requestId: request })
    expect((await json(await ask(ids.generationId))).data.request_id).toBe(request)
  })

  test.each(["x", "gen-1-x", "%25", "gen-1-%27%20OR%201=1", "", "x".repeat(5000)])("%p is unknown", async (id) => {
    await expectError(await ask(id), 404)
  })

  test.each([
    ["7f3b0c52-90cc-4a4e-9f19-1c7a2ab4d1d0", "7f3b0c52-90cc-4a4e-9f19-1c7a2ab4d1d0"],
    ["Root=1-67891233:abcdef/x+y=~@z", "Root=1-67891233:abcdef/x+y=~@z"],
    ["x".repeat(128), "x".repeat(128)],
    ["x".repeat(129), null],
    ["two words", null],
    ['a"b', null],
    ["é", null],
    ["", null],
  ])("has the caller's own id of the request, where it is safe: %p", async (sent, kept) => {
    const host = scriptedHost(() => wholeAnswer("hi"))
    const whole = await gatewayWithoutSocket({ config: configFor({ acme: { url: host.url } }) })
    const body = { model: "acme/small", messages: [{ role: "user", content: "hi" }] }
    const answer = await whole.chat(body, { headers: { "x-request-id": sent } })
    // Ours, whatever the caller's: it is what the gateway's log and ledger know.
    expect(answer.headers.get("x-request-id")).toBe(answer.headers.get("x-gw-request-id"))
    const { data } = await json(await whole.call(`/generation?id=${answer.headers.get("x-generation-id")}`))
    expect(data).toMatchObject({ request_id: answer.headers.get("x-request-id"), caller_request_id: kept })
    await whole.stop()
    host.stop()
  })

  test("is found by the id in the headers of its answer", async () => {
    const host = scriptedHost(() => wholeAnswer("hi"))
    const whole = await gatewayWithoutSocket({ config: configFor({ acme: { url: host.url } }) })
    const answer = await whole.chat({ model: "acme/small", messages: [{ role: "user", content: "hi" }] })
    const { usage } = await json(answer)
    const id = answer.headers.get("x-generation-id") ?? ""
    const { data } = await json(await whole.call(`/generation?id=${id}`))
    expect(data).toMatchObject({
      id,
      request_id: answer.headers.get("x-gw-request-id"),
      usage: usage.cost,
      tokens_prompt: usage.prompt_tokens,
      tokens_completion: usage.completion_tokens,
    })
    const asManagement = bearer(whole.managementKey)
    expect((await json(await whole.call("/credits", asManagement))).data.total_usage).toBe(usage.cost)
    await whole.stop()
    host.stop()
  })

  test("needs an id", async () => {
    const error = await expectError(await gateway.send("/api/v1/generation", bearer(alice)), 400)
    expect(error.metadata.path).toBe("id")
  })
})
