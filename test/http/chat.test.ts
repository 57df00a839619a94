/** `POST /chat/completions` as its caller sees it: bodies, headers, costs. On a socket and without one. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import { keyId } from "../../src/domain/keys/keySecret.ts"
import { Meter } from "../../src/services/money/Meter.ts"
import type { LedgerRow } from "../../src/services/storage/ledger.ts"
import { Storage } from "../../src/services/storage/Storage.ts"
import { errorOf, picodollars, streamOf, wholeBodyOf } from "../support/clients/answers.ts"
import { gatewayWithoutSocket, startGateway, type TestGateway } from "../support/gateways/gateway.ts"
import { chunkOf, scriptedHost, sse } from "../support/hosts/host.ts"

type Json = Record<string, unknown>

/** What the hosts answer, by the text of the prompt: `[whole, events of the stream]`. */
const scripts: Record<string, Json> = {}

/** Registers how the hosts answer a new prompt, and returns that prompt. */
const prompt = (name: string, answer: Json): string => {
  scripts[name] = answer
  return name
}

const answerOf = (more: Json = {}): Json => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "upstream",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 10, completion_tokens: 5 },
  ...more,
})

const usageOf = (usage: unknown): Json => answerOf({ usage })

const base = { prompt: "0.000001", completion: "0.000002" }

/** Models by what is special about their price. */
const prices: Record<string, Json> = {
  plain: base,
  cached: { ...base, input_cache_read: "0.0000001", input_cache_write: "0.00000125" },
  reasoned: { ...base, internal_reasoning: "0.000003" },
  tiered: { ...base, overrides: [{ min_prompt_tokens: 1000, prompt: "0.000002", completion: "0.000004" }] },
  discounted: { prompt: "0.000000000001", completion: "0.000000000001", discount: 0.5 },
  fixed: { prompt: "0", completion: "0", request: "0.005" },
  free: { prompt: "0", completion: "0" },
}

describe.each([
  ["on a socket", startGateway],
  ["all four layers composed in memory, without a socket", gatewayWithoutSocket],
] as const)("chat completions %s", (_, open) => {
  const host = scriptedHost((body) => {
    const messages = body["messages"] as ReadonlyArray<{ readonly content: string }>
    const answer = scripts[messages[0]?.content ?? ""] ?? answerOf()
    const headers = { "set-cookie": "a=b", "x-gw-cost-usd": "9", "access-control-allow-origin": "https://evil.test" }
    if (body["stream"] !== true) return Response.json(answer, { headers })
    const { choices, usage, ...more } = answer
    const [{ message, ...choice }] = choices as [Json]
    const events = [
      chunkOf({ delta: message, finish_reason: null }, more),
      chunkOf({ ...choice, delta: {} }, more),
      ...(usage === undefined ? [] : [JSON.stringify({ choices: [], usage })]),
      "[DONE]",
    ]
    return sse(events)
  })
  let gateway: TestGateway

  beforeAll(async () => {
    gateway = await open({
      config: {
        providers: {
          acme: {
            plugin: "openai-compatible",
            name: "Acme Inc.",
            base_url: host.url,
            network: "private",
            api_key: "hosts-own-key",
          },
        },
        models: Object.entries(prices).map(([slug, pricing]) => ({
          id: `acme/${slug}`,
          context_length: 100_000,
          hosts: [
            {
              provider: "acme",
              variant: "eu",
              model: "upstream",
              pricing: pricing as typeof base,
              max_completion_tokens: 4096,
            },
          ],
        })),
      },
    })
  })
  afterAll(async () => {
    await gateway.stop()
    await host.stop()
  })

  const ask = (content: string, more: Json = {}): Json => ({
    model: "acme/plain",
    messages: [{ role: "user", content }],
    ...more,
  })
  const sent = () => host.calls.at(-1)

  describe("the answer", () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      cost: 0.00002,
      is_byok: false,
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0, audio_tokens: 0, video_tokens: 0 },
      cost_details: {
        upstream_inference_cost: 0.00002,
        upstream_inference_prompt_cost: 0.00001,
        upstream_inference_completions_cost: 0.00001,
      },
      completion_tokens_details: { reasoning_tokens: 0, image_tokens: 0, audio_tokens: 0 },
    }

    test("a whole answer has every documented member, and no other", async () => {
      const before = Math.floor(Date.now() / 1000)
      const response = await gateway.chat(ask("hi"))
      const body = await wholeBodyOf(response)
      expect(body).toEqual({
        id: expect.stringMatching(/^gen-\d{10}-[A-Za-z0-9]{20}$/),
        provider: "Acme Inc.",
        model: "acme/plain",
        object: "chat.completion",
        created: expect.any(Number),
        system_fingerprint: null,
        service_tier: "default",
        choices: [
          {
            index: 0,
            logprobs: null,
            finish_reason: "stop",
            native_finish_reason: "stop",
            message: { role: "assistant", content: "Hello.", refusal: null, reasoning: null },
          },
        ],
        usage,
      } as unknown as typeof body)
      const { created } = body as unknown as { readonly created: number }
      expect(Number.isInteger(created)).toBe(true)
      expect(created).toBeWithin(before, Math.floor(Date.now() / 1000) + 1)
    })

    test("its headers", async () => {
      const { headers, ...response } = await gateway.chat(ask("hi"))
      expect(response).toBeDefined()
      expect(headers.get("x-gw-host")).toBe("acme/eu")
      expect(headers.get("x-gw-cost-usd")).toBe("0.00002")
      expect(headers.get("x-gw-request-id")).toMatch(/^req_[A-Za-z0-9]{24}$/)
      expect(headers.get("x-generation-id")).toMatch(/^gen-/)
      for (const hosts of ["set-cookie", "access-control-allow-origin"]) expect(headers.get(hosts)).toBeNull()
    })

    test("the generation id is the body's, the request id is another for every request", async () => {
      const [one, other] = [await gateway.chat(ask("hi")), await gateway.chat(ask("hi"))]
      expect(one.headers.get("x-generation-id")).toBe((await wholeBodyOf(one)).id)
      expect(one.headers.get("x-gw-request-id")).not.toBe(other.headers.get("x-gw-request-id"))
      expect(one.headers.get("x-generation-id")).not.toBe(other.headers.get("x-generation-id"))
    })

    test("a stream: every member of every chunk, the usage on the finish, no cost header", async () => {
      const response = await gateway.chat(ask("hi", { stream: true }))
      expect(response.headers.get("cache-control")).toBe("no-cache")
      expect(response.headers.get("x-gw-host")).toBe("acme/eu")
      expect(response.headers.get("x-gw-request-id")).toMatch(/^req_/)
      expect(response.headers.get("x-gw-cost-usd")).toBeNull()
      const { chunks } = await streamOf(response)
      const names = {
        id: response.headers.get("x-generation-id"),
        provider: "Acme Inc.",
        model: "acme/plain",
        object: "chat.completion.chunk",
        created: expect.any(Number),
      }
      const choice = { index: 0, finish_reason: null, native_finish_reason: null, logprobs: null }
      const expected: ReadonlyArray<Json> = [
        { ...names, choices: [{ ...choice, delta: { role: "assistant", content: "Hello." } }] },
        {
          ...names,
          service_tier: "default",
          choices: [
            {
              ...choice,
              delta: { role: "assistant", content: "" },
              finish_reason: "stop",
              native_finish_reason: "stop",
            },
          ],
          usage,
        },
      ]
      expect(chunks as unknown).toEqual(expected)
    })

    test("the host's own members pass, those that the gateway sets do not", async () => {
      const asked = prompt("odd members", {
        ...answerOf({ system_fingerprint: "fp_7", service_tier: "flex", citations: ["https://a.test"] }),
        provider: "Somebody",
        usage: {
          prompt_tokens: 10,
          completion_tokens: 5,
          cost: 99,
          is_byok: true,
          cost_details: { upstream_inference_cost: 99 },
        },
      })
      const whole = await wholeBodyOf(await gateway.chat(ask(asked)))
      const ours = {
        provider: "Acme Inc.",
        model: "acme/plain",
        system_fingerprint: "fp_7",
        service_tier: "flex",
        usage,
      }
      expect(whole as unknown).toMatchObject({ ...ours, citations: ["https://a.test"] })
      expect(whole.id).toStartWith("gen-")
      const { last } = await streamOf(await gateway.chat(ask(asked, { stream: true })))
      expect(last as unknown).toMatchObject(ours)
    })

    test.each([
      ["end_turn", "stop"],
      ["max_tokens", "length"],
      ["SAFETY", "content_filter"],
      ["function_call", "tool_calls"],
      ["eos", "stop"],
    ])("the host's finish reason %s becomes %s", async (native, finish) => {
      const asked = prompt(
        native,
        answerOf({ choices: [{ index: 0, message: { content: "Hello." }, finish_reason: native }] }),
      )
      const { choices } = await wholeBodyOf(await gateway.chat(ask(asked)))
      expect(choices[0]).toMatchObject({ finish_reason: finish, native_finish_reason: native })
      const { last } = await streamOf(await gateway.chat(ask(asked, { stream: true })))
      expect(last.choices[0]).toMatchObject({ finish_reason: finish, native_finish_reason: native })
    })

    test("reasoning is returned unless it is excluded; it is billed in either case", async () => {
      const message = { role: "assistant", content: "Hello.", reasoning_content: "hm" }
      const asked = prompt("reason", answerOf({ choices: [{ index: 0, message, finish_reason: "stop" }] }))
      for (const [more, reasoning] of [
        [{}, "hm"],
        [{ reasoning: { exclude: true } }, null],
        [{ include_reasoning: false }, null],
      ] as const) {
        const whole = await wholeBodyOf(await gateway.chat(ask(asked, more)))
        expect(whole.choices[0]?.message["reasoning"]).toBe(reasoning)
        expect(whole.usage.cost).toBe(0.00002)
        const { chunks, text, last } = await streamOf(await gateway.chat(ask(asked, { ...more, stream: true })))
        expect(chunks[0]?.choices[0]?.delta["reasoning"] ?? null).toBe(reasoning)
        expect(text).toBe("Hello.")
        expect(last.usage?.cost).toBe(0.00002)
      }
    })
  })

  describe("bodies that real clients send", () => {
    test.each<readonly [Json]>([
      [{ audio: null }],
      [{ models: null, plugins: null, session_id: null, trace: null, transforms: null, web_search_options: null }],
      [{ provider: { max_price: null, sort: null } }],
      [{ provider: { max_price: { prompt: null } } }],
      [{ reasoning: { enabled: null, exclude: null } }],
      [{ plugins: [], preset: null, transforms: [] }],
      [{ plugins: [{ id: "web", enabled: false, max_results: 3 }], transforms: ["middle-out"] }],
      [
        {
          messages: [
            { role: "user", content: "hi" },
            { role: "assistant", content: [{ type: "refusal", refusal: "No." }] },
            { role: "user", content: "hi" },
          ],
        },
      ],
    ])("are taken: %j", async (more) => {
      expect((await gateway.chat(ask("hi", more))).status).toBe(200)
    })
  })

  describe("what the host is sent", () => {
    test("unknown members unchanged, the host's own model name, the host's own key", async () => {
      const unknown = {
        foo: { bar: [1, null, "x"] },
        min_p: 0.1,
        seed: 7,
        tools: [{ type: "function", function: { name: "f" } }],
      }
      await wholeBodyOf(await gateway.chat(ask("hi", { ...unknown, max_tokens: 9 })))
      expect(sent()?.body).toEqual({ ...ask("hi"), model: "upstream", ...unknown, max_tokens: 9, stream: false })
      expect(sent()?.request.headers.get("authorization")).toBe("Bearer hosts-own-key")
      expect(new URL(sent()?.request.url ?? "").pathname).toBe("/v1/chat/completions")
    })

    test("no credentials, no addresses, no headers of the caller, no router-only members", async () => {
      const dropped = {
        api_base: "https://evil.test",
        base_url: "https://evil.test",
        api_key: "sk-evil",
        api_version: "9",
        organization: "evil",
        headers: { authorization: "evil" },
        extra_headers: { authorization: "evil" },
        extra_body: { evil: true },
        extra_query: { evil: true },
        timeout: 1,
        models: ["acme/free"],
        provider: { only: ["acme"] },
        usage: { include: true },
        transforms: [],
        session_id: "evil",
        trace: { trace_id: "evil" },
      }
      const headers = {
        "x-title": "evil",
        "http-referer": "https://evil.test",
        cookie: "evil=1",
        "x-forwarded-for": "evil",
        "x-evil": "evil",
      }
      await wholeBodyOf(await gateway.chat(ask("hi", dropped), { headers }))
      expect(sent()?.body).toEqual({ ...ask("hi"), model: "upstream", stream: false })
      expect(JSON.stringify([...(sent()?.request.headers ?? [])])).not.toContain("evil")
      expect(JSON.stringify([...(sent()?.request.headers ?? [])])).not.toContain(gateway.key)
    })

    test("the gateway asks for usage in a stream, whatever the caller asks", async () => {
      await streamOf(await gateway.chat(ask("hi", { stream: true, stream_options: { include_usage: false } })))
      expect(sent()?.body).toEqual({
        ...ask("hi"),
        model: "upstream",
        stream: true,
        stream_options: { include_usage: true },
      })
    })

    test("H15: an assistant that said nothing is one with an empty text", async () => {
      for (const said of [{ content: null, refusal: null, reasoning: null }, {}, { content: null, refusal: "No." }]) {
        const messages = [
          { role: "user", content: "hi" },
          { role: "assistant", ...said },
          { role: "user", content: "Go on" },
        ]
        const response = await gateway.chat({ ...ask("hi"), messages })
        expect(response.status).toBe(200)
        await response.text()
        expect(sent()?.body["messages"]).toMatchObject([{}, { role: "assistant", content: "" }, { content: "Go on" }])
      }
    })

    test("`max_completion_tokens` wins over `max_tokens`, and either is clamped to the host's maximum", async () => {
      await wholeBodyOf(await gateway.chat(ask("hi", { max_tokens: 10, max_completion_tokens: 20 })))
      expect(sent()?.body["max_tokens"]).toBe(20)
      await wholeBodyOf(await gateway.chat(ask("hi", { max_tokens: 100_000 })))
      expect(sent()?.body["max_tokens"]).toBe(4096)
    })
  })

  describe("the cost", () => {
    const rowOf = async (response: Response): Promise<LedgerRow> => {
      const id = response.headers.get("x-gw-request-id")
      const rows = await gateway.run(Effect.flatMap(Storage, (storage) => storage.ledger.rows(keyId(gateway.key), 10)))
      const row = rows.find(({ requestId }) => requestId === id)
      if (row === undefined) throw new Error("the request is not in the ledger")
      return row
    }

    test.each([
      ["prompt and completion", "plain", { prompt_tokens: 10, completion_tokens: 5 }, "0.00002"],
      [
        "a cached prompt at its own price",
        "cached",
        { prompt_tokens: 100, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 40 } },
        "0.000104",
      ],
      [
        "a cached prompt without one",
        "plain",
        { prompt_tokens: 100, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 40 } },
        "0.00014",
      ],
      [
        "cache writes too",
        "cached",
        {
          prompt_tokens: 100,
          completion_tokens: 20,
          prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 30 },
        },
        "0.0001115",
      ],
      [
        "reasoning at its own price",
        "reasoned",
        { prompt_tokens: 100, completion_tokens: 20, completion_tokens_details: { reasoning_tokens: 15 } },
        "0.000155",
      ],
      [
        "reasoning within the output",
        "plain",
        { prompt_tokens: 100, completion_tokens: 20, completion_tokens_details: { reasoning_tokens: 15 } },
        "0.00014",
      ],
      ["a prompt one short of the tier", "tiered", { prompt_tokens: 999, completion_tokens: 10 }, "0.001019"],
      ["a prompt that reaches the tier", "tiered", { prompt_tokens: 1000, completion_tokens: 10 }, "0.00204"],
      ["half a picodollar goes to the even one below", "discounted", { prompt_tokens: 1, completion_tokens: 0 }, "0"],
      [
        "half a picodollar goes to the even one above",
        "discounted",
        { prompt_tokens: 2, completion_tokens: 1 },
        "0.000000000002",
      ],
      ["a price per request", "fixed", { prompt_tokens: 10, completion_tokens: 5 }, "0.005"],
      ["nothing at a free host", "free", { prompt_tokens: 10, completion_tokens: 5 }, "0"],
      ["nothing for a usage of nothing", "plain", { prompt_tokens: 0, completion_tokens: 0 }, "0"],
      ["more tokens than a float can price", "plain", { prompt_tokens: 2 ** 31, completion_tokens: 0 }, "2147.483648"],
      [
        "parts above their total, cut to it",
        "cached",
        {
          prompt_tokens: 10,
          completion_tokens: 0,
          prompt_tokens_details: { cached_tokens: 90, cache_write_tokens: 90 },
        },
        "0.000001",
      ],
    ] as const)("%s", async (name, slug, counted, cost) => {
      const asked = prompt(name, usageOf(counted))
      const response = await gateway.chat(ask(asked, { model: `acme/${slug}` }))
      const { usage } = await wholeBodyOf(response)
      expect(response.headers.get("x-gw-cost-usd")).toBe(cost)
      expect(usage.cost).toBe(Number(cost))
      expect(usage.total_tokens).toBe(counted.prompt_tokens + counted.completion_tokens)
      expect(await rowOf(response)).toMatchObject({
        cost: picodollars(cost),
        promptTokens: counted.prompt_tokens,
        completionTokens: counted.completion_tokens,
        estimated: false,
        outcome: "finished",
      })
      const streamed = await gateway.chat(ask(asked, { model: `acme/${slug}`, stream: true }))
      const { last } = await streamOf(streamed)
      expect(last.usage).toEqual(usage)
      expect((await rowOf(streamed)).cost).toBe(picodollars(cost))
    })

    test.each([
      ["missing", undefined],
      ["null", null],
      ["a text", "10"],
      ["negative", { prompt_tokens: -1, completion_tokens: 5 }],
      ["no whole number", { prompt_tokens: 1.5, completion_tokens: 5 }],
      ["above 2^31", { prompt_tokens: 2 ** 31 + 1, completion_tokens: 5 }],
      ["counted in texts", { prompt_tokens: "10", completion_tokens: "5" }],
      ["without the prompt", { completion_tokens: 5 }],
    ])("a usage that is %s is estimated, never billed as zero", async (name, counted) => {
      const asked = prompt(`estimate: ${name}`, usageOf(counted))
      for (const stream of [false, true]) {
        const response = await gateway.chat(ask(asked, { stream }))
        const usage = stream ? (await streamOf(response)).last.usage : (await wholeBodyOf(response)).usage
        const row = await rowOf(response)
        expect(row.estimated).toBe(true)
        // Six letters, four to a token.
        expect(row.completionTokens).toBe(2)
        expect(row.promptTokens).toBe(Math.ceil(asked.length / 4))
        expect(row.cost).toBe(BigInt(row.promptTokens) * 1_000_000n + 4_000_000n)
        expect(picodollars(usage?.cost)).toBe(row.cost)
        expect(usage).toMatchObject({
          prompt_tokens: row.promptTokens,
          completion_tokens: 2,
          total_tokens: row.promptTokens + 2,
        })
      }
    })

    test("the ledger, the key's spend and the costs in the answers have one sum", async () => {
      const key = await gateway.newKey({ limit: picodollars(1) })
      const headers = {
        authorization: `Bearer ${key}`,
        "x-title": "Robots & Sons",
        "http-referer": "https://robots.test",
      }
      let reported = 0n
      for (let at = 0; at < 12; at++) {
        const asked = prompt(`sum ${at}`, usageOf({ prompt_tokens: 17 * at + 1, completion_tokens: 7 * at }))
        const response = await gateway.chat(ask(asked, { stream: at % 2 === 1 }), { headers })
        const usage = at % 2 === 1 ? (await streamOf(response)).last.usage : (await wholeBodyOf(response)).usage
        reported += picodollars(usage?.cost)
        // A reported cost is durable: its row is already there.
        const [row] = await gateway.run(Effect.flatMap(Storage, (storage) => storage.ledger.rows(keyId(key), 1)))
        expect(row?.requestId).toBe(response.headers.get("x-gw-request-id") ?? "")
      }
      const rows = await gateway.run(Effect.flatMap(Storage, (storage) => storage.ledger.rows(keyId(key), 100)))
      const spent = await gateway.run(Effect.flatMap(Meter, (meter) => meter.spent(keyId(key))))
      expect(rows).toHaveLength(12)
      expect(rows.reduce((sum, { cost }) => sum + cost, 0n)).toBe(reported)
      expect(spent).toEqual({ total: reported, daily: reported, weekly: reported, monthly: reported, reserved: 0n })
      expect(rows[0]).toMatchObject({
        host: "acme/eu",
        provider: "acme",
        model: "acme/plain",
        appTitle: "Robots & Sons",
        appUrl: "https://robots.test",
        strategy: "balanced",
      })
      // Each plan has its own seed.
      expect(new Set(rows.map(({ seed }) => seed)).size).toBe(12)
      expect(rows.filter(({ streamed }) => streamed)).toHaveLength(6)
    })
  })

  describe("errors", () => {
    test.each([
      ["no key", { authorization: "" }, {}, 401],
      ["an unknown key", { authorization: "Bearer sk-gw-nobody" }, {}, 401],
      ["no model", {}, { model: undefined }, 400],
      ["no messages", {}, { messages: undefined }, 400],
      ["an unknown model", {}, { model: "acme/none" }, 400],
      ["an unusable temperature", {}, { temperature: 3 }, 400],
      ["filters that leave no host", {}, { provider: { ignore: ["acme"] } }, 404],
    ])("%s", async (_name, headers, more, status) => {
      for (const stream of [false, true]) {
        const before = host.calls.length
        const response = await gateway.chat(ask("hi", { ...more, stream }), { headers })
        expect(response.status).toBe(status)
        const { metadata } = await errorOf(response)
        if (status === 401) expect(metadata).toBeUndefined()
        else expect(metadata?.["error_type"]).toBe(status === 400 ? "invalid_request" : "not_found")
        expect(response.headers.get("x-gw-cost-usd")).toBeNull()
        expect(host.calls).toHaveLength(before)
      }
    })

    test("a management key may not call models", async () => {
      const response = await gateway.chat(ask("hi"), { headers: { authorization: `Bearer ${gateway.managementKey}` } })
      expect(response.status).toBe(403)
      expect((await errorOf(response)).metadata).toEqual({ error_type: "permission_denied" })
    })

    test("`x-api-key` is accepted like a bearer token, which wins when both come", async () => {
      const request = (headers: Record<string, string>) =>
        gateway.call("/chat/completions", { method: "POST", body: JSON.stringify(ask("hi")), headers })
      expect((await request({ authorization: `Bearer ${gateway.key}`, "x-api-key": "sk-gw-nobody" })).status).toBe(200)
      expect((await request({ authorization: "Bearer sk-gw-nobody", "x-api-key": gateway.key })).status).toBe(401)
    })

    test("a body that is no JSON", async () => {
      const response = await gateway.call("/chat/completions", { method: "POST", body: "{" })
      expect(response.status).toBe(400)
      expect((await errorOf(response)).message).toContain("JSON")
    })
  })

  test("a bare slug names the only model that has it", async () => {
    const { model } = await wholeBodyOf(await gateway.chat(ask("hi", { model: "plain" })))
    expect(model).toBe("acme/plain")
  })
})
