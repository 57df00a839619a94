/** A 402 says how many output tokens the key's budget pays for, exact to the token. docs/billing.md, docs/guarantees.md#g1 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { picodollars } from "../../support/clients/answers.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { closeAfterEach, good, routed } from "../../support/gateways/routed.ts"
import { type ScriptedHost, scriptedHost } from "../../support/hosts/host.ts"

closeAfterEach()

/** The forms with a bound of the output: its name there, and the least body. */
const forms: ReadonlyArray<readonly [path: string, bound: string, body: (text: string) => JsonObject]> = [
  ["/chat/completions", "max_tokens", (text) => ({ messages: [{ role: "user", content: text }] })],
  ["/chat/completions", "max_completion_tokens", (text) => ({ messages: [{ role: "user", content: text }] })],
  ["/completions", "max_tokens", (text) => ({ prompt: text })],
  ["/messages", "max_tokens", (text) => ({ messages: [{ role: "user", content: text }] })],
  ["/responses", "max_output_tokens", (text) => ({ input: text })],
]

/** Protocols of the hosts: each writes another body, and so reserves another prompt. */
const apis = ["chat", "messages", "responses", "generate_content"] as const
const plugins = {
  chat: { plugin: "openai-compatible" },
  messages: { plugin: "anthropic", api_key: "k" },
  responses: { plugin: "openai", api: "responses", api_key: "k" },
  generate_content: { plugin: "google-ai-studio", api_key: "k" },
} as const

/** Prices of the prompt and of the output, USD per token. */
const prices = [
  ["0", "0.000001"],
  ["0.0000001", "0.0000004"],
  ["0.000003", "0.000015"],
  ["0.00000007", "0.000000000013"],
] as const

const modelOf = (api: string, price: number) => `acme/${api}-${price}`

let host: ScriptedHost
let gateway: TestGateway
beforeAll(async () => {
  // The answers are no matter: a request is admitted if the host is called.
  host = scriptedHost(() => Response.json({ error: { message: "no" } }, { status: 400 }))
  const providers = Object.fromEntries(
    apis.map((api) => [api, { ...plugins[api], base_url: host.url, network: "private" as const }]),
  )
  const models = apis.flatMap((api) =>
    prices.map(([prompt, completion], price) => ({
      id: modelOf(api, price),
      context_length: 400_000,
      hosts: [{ provider: api, model: "upstream", max_completion_tokens: 100_000, pricing: { prompt, completion } }],
    })),
  )
  gateway = await startGateway({ config: { discovery: { environment: false, local: false }, providers, models } })
})
afterAll(async () => {
  await gateway.stop()
  await host.stop()
})

const post = async (path: string, body: JsonObject, limit: bigint) => {
  const key = await gateway.newKey({ limit })
  const response = await gateway.call(path, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  })
  const { error } = JSON.parse(await response.text())
  return { status: response.status, error }
}

const affordableOf = (error: unknown): unknown =>
  isJsonObject(error) && isJsonObject(error["metadata"]) ? error["metadata"]["affordable_tokens"] : undefined

test("any price, budget, form and host: so many tokens are admitted, and one more is refused", async () => {
  let refused = 0
  let withOutput = 0
  await FastCheck.assert(
    FastCheck.asyncProperty(
      FastCheck.constantFrom(...forms),
      FastCheck.constantFrom(...apis),
      FastCheck.nat(prices.length - 1),
      FastCheck.integer({ min: 1, max: 400 }),
      // The budget, in tokens of output beside a prompt, and what is over, in thousandths of a token.
      FastCheck.oneof(FastCheck.nat(20), FastCheck.integer({ min: 90, max: 110 }), FastCheck.nat(99_999)),
      FastCheck.nat(999),
      FastCheck.integer({ min: 17, max: 99_999 }),
      async ([path, bound, body], api, price, length, over, thousandths, asked) => {
        const [prompt = 0n, completion = 0n] = (prices[price] ?? []).map(picodollars)
        const limit = BigInt(length * 5 + 200) * prompt + (BigInt(over * 1000 + thousandths) * completion) / 1000n
        // A limit of nothing is used up from the start, and no number of tokens would do.
        FastCheck.pre(limit > 0n)
        const request = { model: modelOf(api, price), ...body("word ".repeat(length)) }
        const first = await post(path, { ...request, [bound]: asked }, limit)
        if (first.status !== 402) return
        refused += 1
        if (affordableOf(first.error) !== 0) withOutput += 1
        const tokens = affordableOf(first.error)
        if (typeof tokens !== "number" || !Number.isInteger(tokens)) throw new Error(JSON.stringify(first.error))
        expect(tokens).toBeWithin(0, asked)
        expect(String(isJsonObject(first.error) ? first.error["message"] : "")).toContain(
          `it asks for ${asked} tokens, and the budget pays for ${tokens};`,
        )
        if (tokens > 0) {
          const { status } = await post(path, { ...request, [bound]: tokens }, limit)
          expect([path, api, tokens, status]).toEqual([path, api, tokens, 400])
        }
        // OpenAI takes no bound below 16.
        if (api === "responses" && tokens < 16) return
        const { status } = await post(path, { ...request, [bound]: tokens + 1 }, limit)
        expect([path, api, tokens + 1, status]).toEqual([path, api, tokens + 1, 402])
      },
    ),
    { numRuns: 200 },
  )
  expect(refused).toBeGreaterThan(50)
  expect(withOutput).toBeGreaterThan(20)
}, 1_800_000)

test("a bound with which a host is told to think less was one or two tokens less than there is money for", async () => {
  let refused = 0
  for (const api of apis) {
    for (let limit = 100_000_000_000n; limit < 112_000_000_000n; limit += 500_000_000n) {
      const request = { model: modelOf(api, 2), reasoning: { effort: "high" }, ...hi }
      const first = await post("/chat/completions", { ...request, max_tokens: 90_000 }, limit)
      const tokens = Number(affordableOf(first.error))
      const admitted = await post("/chat/completions", { ...request, max_tokens: tokens }, limit)
      const above = await post("/chat/completions", { ...request, max_tokens: tokens + 1 }, limit)
      expect([api, limit, tokens, first.status, admitted.status, above.status]).toEqual([
        ...[api, limit, tokens, 402, 400, 402],
      ])
      refused += 1
    }
  }
  expect(refused).toBe(96)
})

/** Hosts of one model: a microdollar for each token of output, nothing for the prompt, unless it says otherwise. */
const outputOnly = { prompt: "0", completion: "0.000001" }
const hi = { messages: [{ role: "user", content: "hi" }] }

const ask = async (
  gateway: TestGateway,
  limit: string,
  more: JsonObject,
  path = "/chat/completions",
): Promise<{ readonly status: number; readonly error: JsonObject }> => {
  const key = await gateway.newKey({ limit: picodollars(limit) })
  const response = await gateway.call(path, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: "acme/small", ...more }),
  })
  const { error = {} } = JSON.parse(await response.text())
  return { status: response.status, error }
}

describe("a 402 named the money that a request of 32,000 tokens needs, and not the tokens that there is money for:", () => {
  test.each([false, true])("stream %p: it says both, in words too", async (stream) => {
    const longer = { model: { context_length: 200_000 }, hosts: { host: { max_completion_tokens: 64_000 } } }
    const gateway = await routed({ host: good() }, { prices: { host: outputOnly }, change: longer, socket: true })
    const { status, error } = await ask(gateway, "0.0012", { ...hi, max_tokens: 32_000, stream })
    expect(status).toBe(402)
    expect(error["metadata"]).toMatchObject({ affordable_tokens: 1200, required_usd: 0.032, left_usd: 0.0012 })
    expect(error["message"]).toContain(
      "it needs at least $0.032, and $0.0012 of the total limit of $0.0012 is left; it asks for 32000 tokens, and the budget pays for 1200; lower max_tokens",
    )
    expect(gateway.called()).toEqual([])
  })

  test("of several hosts the one where it is most decides, also one that writes fewer tokens at most", async () => {
    const gateway = await routed(
      { a: good(), b: good(), c: good() },
      {
        prices: { a: { prompt: "0", completion: "0.000004" }, b: outputOnly, c: { prompt: "0.0001", completion: "0" } },
        change: { hosts: { b: { max_completion_tokens: 3000 } } },
      },
    )
    const { error } = await ask(gateway, "0.002", { ...hi, max_tokens: 4000 })
    expect(affordableOf(error)).toBe(2000)
    expect((await ask(gateway, "0.002", { ...hi, max_tokens: 2001 })).status).toBe(402)
    expect((await ask(gateway, "0.002", { ...hi, max_tokens: 2000 })).status).toBe(200)
    expect(gateway.called()).toEqual(["b"])
  })

  test("of hosts that the caller excludes, none counts", async () => {
    const gateway = await routed(
      { a: good(), b: good() },
      { prices: { a: { prompt: "0", completion: "0.000004" }, b: outputOnly } },
    )
    const { error } = await ask(gateway, "0.002", { ...hi, max_tokens: 4000, provider: { only: ["a"] } })
    expect(affordableOf(error)).toBe(500)
  })

  test("for each of several answers", async () => {
    const gateway = await routed({ host: good() }, { prices: { host: outputOnly } })
    const { error } = await ask(gateway, "0.001", { ...hi, max_tokens: 500, n: 3 })
    expect(affordableOf(error)).toBe(333)
  })

  test("where the prompt alone costs more than is left: 0", async () => {
    const gateway = await routed({ host: good() }, { prices: { host: { prompt: "0.001", completion: "0.001" } } })
    const { error } = await ask(gateway, "0.001", { ...hi, max_tokens: 500 })
    expect(error["metadata"]).toMatchObject({ reason: "request_exceeds_budget", affordable_tokens: 0 })
    expect(error["message"]).toContain("asks for 500 tokens, and the budget pays for 0;")
  })

  test("without a bound, too few for an answer: a request for as many is admitted", async () => {
    const gateway = await routed({ host: good() }, { prices: { host: outputOnly } })
    const { status, error } = await ask(gateway, "0.000007", hi)
    expect([status, affordableOf(error)]).toEqual([402, 7])
    expect(error["message"]).toContain("the budget pays for 7 tokens of output;")
    expect((await ask(gateway, "0.000007", { ...hi, max_tokens: 7 })).status).toBe(200)
  })

  test("in the error of each form, at the same place", async () => {
    const gateway = await routed({ host: good() }, { prices: { host: outputOnly }, socket: true })
    for (const [path, bound, body] of forms) {
      const { status, error } = await ask(gateway, "0.001", { ...body("hi"), [bound]: 4000 }, path)
      expect([path, status, affordableOf(error)]).toEqual([path, 402, 1000])
    }
    const { error } = await ask(gateway, "0.001", { ...hi, max_tokens: 4000 }, "/messages")
    expect(error).toEqual({
      type: "billing_error",
      error_type: "payment_required",
      message: expect.stringContaining("asks for 4000 tokens, and the budget pays for 1000;"),
      metadata: { affordable_tokens: 1000 },
    })
  })

  test("of what running requests leave free", async () => {
    const arrived = Promise.withResolvers<void>()
    const end = Promise.withResolvers<Response>()
    const host = () => {
      arrived.resolve()
      return end.promise
    }
    const gateway = await routed({ host }, { prices: { host: outputOnly }, socket: true })
    const key = await gateway.newKey({ limit: picodollars("0.001") })
    const chat = (max_tokens: number) =>
      gateway.chat({ model: "acme/small", ...hi, max_tokens }, { headers: { authorization: `Bearer ${key}` } })
    const running = chat(600)
    try {
      await arrived.promise
      const response = await chat(500)
      const { error } = JSON.parse(await response.text())
      expect(error.metadata).toMatchObject({ reason: "in_flight_budget_exhausted", affordable_tokens: 400 })
      expect(error.message).toContain("asks for 500 tokens, and the budget pays for 400;")
      expect(response.headers.get("x-should-retry")).toBe("true")
    } finally {
      end.resolve(new Response("no", { status: 400 }))
      await (await running).text()
    }
  })

  test("an explanation has it too", async () => {
    const gateway = await routed({ host: good() }, { prices: { host: outputOnly } })
    const key = await gateway.newKey({ limit: picodollars("0.001") })
    const response = await gateway.call("/route/explain", {
      method: "POST",
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: "acme/small", ...hi, max_tokens: 4000 }),
    })
    const { data } = JSON.parse(await response.text())
    expect(data.error.metadata.affordable_tokens).toBe(1000)
  })

  test("not where fewer tokens would not help: a limit that is used up, a price that nobody knows, an embedding", async () => {
    const used = await routed({ host: good() }, { prices: { host: outputOnly } })
    expect((await ask(used, "0", { ...hi, max_tokens: 4 })).error["metadata"]).not.toHaveProperty("affordable_tokens")
    const unpriced = await routed({ host: good() }, { change: { hosts: { host: { pricing: undefined } } } })
    const { status, error } = await ask(unpriced, "1", { ...hi, max_tokens: 4 })
    expect(status).toBe(402)
    expect(error["metadata"]).not.toHaveProperty("affordable_tokens")
    const embedding = await routed(
      { host: good() },
      {
        prices: { host: { prompt: "0.001", completion: "0" } },
        change: { model: { architecture: { input_modalities: ["text"], output_modalities: ["embeddings"] } } },
      },
    )
    const refused = await ask(embedding, "0.0001", { input: "hi there" }, "/embeddings")
    expect(refused.status).toBe(402)
    expect(refused.error["metadata"]).not.toHaveProperty("affordable_tokens")
  })
})
