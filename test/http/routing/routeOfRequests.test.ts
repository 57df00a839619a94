/** The route of a request afterwards, in `GET /generation`: which hosts were in its plan, and what became of them. docs/requests.md */
import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { parseUsd } from "../../../src/domain/price/money.ts"
import { ask, closeAfterEach, good, type Routed, routed, status } from "../../support/gateways/routed.ts"

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
        { model: small, host: "a", outcome: "overloaded" },
        { model: small, host: "b", outcome: "finished" },
        { model: small, host: "c", outcome: "not_called" },
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
      { model: small, host: "a", outcome: "overloaded", status: 503, duration_ms: took },
      { model: small, host: "b", outcome: "finished", status: 200, duration_ms: took },
    ])
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
