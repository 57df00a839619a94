/**
 * The router's own SDK against a started gateway, over a real socket. It validates every body with its own schemas, so
 * whatever it rejects is a fault of our bodies.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { OpenRouter } from "@openrouter/sdk"
import { EventStream } from "@openrouter/sdk/lib/event-streams"
import type { ChatRequest, ChatResult, ChatStreamChunk, ModelsListResponse } from "@openrouter/sdk/models"
import * as errors from "@openrouter/sdk/models/errors"
import { startGateway, type TestGateway } from "../support/gateways/gateway.ts"
import {
  chunkOf,
  configFor,
  type HeldStream,
  heldStream,
  scriptedHost,
  sse,
  streamAnswer,
} from "../support/hosts/host.ts"

/** A whole answer with every member of a host that the SDK might reject. */
const everything = () =>
  Response.json({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "upstream",
    system_fingerprint: "fp_1",
    service_tier: "priority",
    choices: [
      {
        index: 0,
        finish_reason: "tool_calls",
        logprobs: { content: [{ token: "a", logprob: -0.5, bytes: [97], top_logprobs: [] }], refusal: null },
        message: {
          role: "assistant",
          content: null,
          reasoning: "thinking",
          tool_calls: [{ id: "call_a", type: "function", function: { name: "weather", arguments: "{}" } }],
        },
      },
    ],
    usage: {
      prompt_tokens: 100,
      completion_tokens: 20,
      total_tokens: 120,
      prompt_tokens_details: { cached_tokens: 40 },
      completion_tokens_details: { reasoning_tokens: 7 },
    },
  })

const streamedEverything = () =>
  sse([
    chunkOf({ delta: { role: "assistant", content: "" }, finish_reason: null }, { system_fingerprint: null }),
    chunkOf({ delta: { reasoning_content: "thinking" }, finish_reason: null }, { system_fingerprint: null }),
    chunkOf({ delta: { content: "a" }, finish_reason: null, logprobs: { content: null } }),
    chunkOf({
      delta: {
        tool_calls: [{ index: 0, id: "call_a", type: "function", function: { name: "weather", arguments: "{}" } }],
      },
      finish_reason: null,
    }),
    chunkOf({ delta: {}, finish_reason: "tool_calls" }, { system_fingerprint: "fp_1", service_tier: null }),
    chunkOf({}, { choices: [], usage: { prompt_tokens: 100, completion_tokens: 20 } }),
    "[DONE]",
  ])

const ask = (content: string): ChatRequest => ({ model: "acme/small", messages: [{ role: "user", content }] })

describe("the router's SDK", () => {
  let holding = Promise.withResolvers<HeldStream>()
  const host = scriptedHost((body, request) => {
    const { messages: [last] = [] } = body as { readonly messages?: ReadonlyArray<{ readonly content?: string }> }
    if (last?.content === "hold on") {
      const held = heldStream(request)
      holding.resolve(held)
      return held.response
    }
    if (body["stream"] !== true) return everything()
    return last?.content === "plain" ? streamAnswer(["one", " two"]) : streamedEverything()
  })
  const broken = scriptedHost(() => Response.json({ error: { message: "no" } }, { status: 500 }))
  const limited = scriptedHost(() => Response.json({ error: { message: "slow down" } }, { status: 429 }))
  let gateway: TestGateway
  let sdk: OpenRouter
  let manager: OpenRouter

  const sdkWith = (apiKey: string) =>
    new OpenRouter({ apiKey, serverURL: gateway.url, retryConfig: { strategy: "none" } })
  const send = (request: ChatRequest, by = sdk) => by.chat.send({ chatRequest: request })

  beforeAll(async () => {
    gateway = await startGateway({ config: configFor({ good: host, broken, limited }) })
    sdk = sdkWith(gateway.key)
    manager = sdkWith(gateway.managementKey)
  })
  afterAll(async () => {
    await gateway.stop()
    for (const each of [host, broken, limited]) await each.stop()
  })

  const at = (slug: string, request: ChatRequest): ChatRequest => ({
    ...request,
    provider: { only: [slug], allowFallbacks: false },
  })

  describe("chat", () => {
    test("a whole answer", async () => {
      const answer = whole(await send(at("good", ask("hi"))))
      expect(answer.id).toStartWith("gen-")
      expect(answer.systemFingerprint).toBe("fp_1")
      expect(answer.serviceTier).toBe("priority")
      expect(answer.choices[0]?.finishReason).toBe("tool_calls")
      expect(answer.choices[0]?.message).toMatchObject({
        role: "assistant",
        reasoning: "thinking",
        toolCalls: [{ id: "call_a", type: "function", function: { name: "weather", arguments: "{}" } }],
      })
      expect(answer.choices[0]?.logprobs?.content).toHaveLength(1)
      expect(answer.usage).toMatchObject({
        promptTokens: 100,
        completionTokens: 20,
        totalTokens: 120,
        cost: 0.00014,
        isByok: false,
        promptTokensDetails: { cachedTokens: 40, cacheWriteTokens: 0, audioTokens: 0, videoTokens: 0 },
        completionTokensDetails: { reasoningTokens: 7, audioTokens: 0 },
        costDetails: {
          upstreamInferenceCost: 0.00014,
          upstreamInferencePromptCost: 0.0001,
          upstreamInferenceCompletionsCost: 0.00004,
        },
      })
    })

    test("a stream, whatever the host leaves out or sets to null", async () => {
      const chunks = await chunksOf(await send(at("good", { ...ask("hi"), stream: true })))
      const deltas = chunks.map(({ choices }) => choices[0]?.delta)
      expect(deltas.map((delta) => delta?.reasoning ?? "").join("")).toBe("thinking")
      expect(deltas.map((delta) => delta?.content ?? "").join("")).toBe("a")
      expect(deltas.flatMap((delta) => delta?.toolCalls ?? [])).toMatchObject([
        { index: 0, id: "call_a", type: "function", function: { name: "weather", arguments: "{}" } },
      ])
      const last = chunks.at(-1)
      expect(last?.choices[0]?.finishReason).toBe("tool_calls")
      expect(last?.systemFingerprint).toBe("fp_1")
      expect(last?.serviceTier).toBe("default")
      expect(last?.usage).toMatchObject({ promptTokens: 100, completionTokens: 20, totalTokens: 120, cost: 0.00014 })
      expect(chunks.slice(0, -1).every(({ usage }) => usage === undefined)).toBe(true)
    })

    test("a plain stream", async () => {
      const chunks = await chunksOf(await send(at("good", { ...ask("plain"), stream: true })))
      expect(chunks.map(({ choices }) => choices[0]?.delta.content).join("")).toBe("one two")
      expect(new Set(chunks.map(({ id, model, created }) => `${id} ${model} ${created}`)).size).toBe(1)
    })

    test("an error within a stream comes as a chunk that it can read", async () => {
      holding = Promise.withResolvers()
      const sent = send(at("good", { ...ask("hold on"), stream: true }))
      const held = await holding.promise
      held.send(chunkOf({ delta: { content: "first" }, finish_reason: null }))
      const reader = streamed(await sent).getReader()
      expect((await reader.read()).value?.choices[0]?.delta.content).toBe("first")
      held.send(JSON.stringify({ error: { code: 500, message: "slow down", type: "server_error" } }))
      const { value: last } = await reader.read()
      expect(last?.error).toMatchObject({ code: 502, message: "Provider returned error." })
      expect(last?.error?.metadata).toMatchObject({ errorType: "provider_unavailable" })
      expect(last?.choices[0]?.finishReason).toBe("error")
      expect(last?.usage).toMatchObject({ cost: 0 })
      expect((await reader.read()).done).toBe(true)
    })

    test("preferences in its own spelling are understood", async () => {
      const provider = { only: ["good"], maxPrice: { prompt: "1", completion: "2" }, sort: "price" } as const
      expect(whole(await send({ ...ask("hi"), provider: { ...provider, only: ["good"] } })).id).toStartWith("gen-")
      const cheaper = { ...provider, only: ["good"], maxPrice: { prompt: "0.9" } }
      const refusal = await failureOf(errors.NotFoundResponseError, send({ ...ask("hi"), provider: cheaper }))
      expect(refusal.error.metadata).toMatchObject({ excluded_by: ["only", "max_price"] })
    })

    test("its errors are the ones that it knows", async () => {
      const nobody = sdkWith("sk-gw-nobody")
      const poor = sdkWith(await gateway.newKey({ limit: 0n }))
      const request = at("good", ask("hi"))
      const cases = [
        [errors.UnauthorizedResponseError, 401, () => send(request, nobody)],
        [errors.PaymentRequiredResponseError, 402, () => send(request, poor)],
        [errors.ForbiddenResponseError, 403, () => send(request, manager)],
        [errors.BadRequestResponseError, 400, () => send({ ...request, model: "acme/none" })],
        [errors.NotFoundResponseError, 404, () => send(at("nobody", ask("hi")))],
        [errors.BadGatewayResponseError, 502, () => send(at("broken", ask("hi")))],
        [errors.TooManyRequestsResponseError, 429, () => send(at("limited", ask("hi")))],
      ] as const
      for (const [type, status, sending] of cases) {
        const error = await failureOf(type, sending())
        expect(error.statusCode).toBe(status)
        expect(error.error.code).toBe(status)
        expect(error.error.message).toEndWith(".")
      }
      const resting = await failureOf(errors.TooManyRequestsResponseError, send(at("limited", ask("hi"))))
      expect(resting.error.code).toBe(429)
    })
  })

  describe("models", () => {
    test("the list", async () => {
      const pages = await sdk.models.list()
      const ids: Array<string> = []
      for await (const { result } of pages) ids.push(...result.data.map(({ id }) => id))
      expect(ids).toContain("acme/small")
      expect(ids).toContain("headgate/echo")
      expect(new Set(ids).size).toBe(ids.length)
    })

    test("the hosts of one model, with their statistics", async () => {
      whole(await send(at("good", ask("hi"))))
      const { data } = await sdk.endpoints.list({ author: "acme", slug: "small" })
      expect(data).toMatchObject({ id: "acme/small", name: "Acme Small", created: 1_760_000_000 })
      expect(data.endpoints.map(({ tag }) => tag).toSorted()).toEqual(["broken", "good", "limited"])
      const good = data.endpoints.find(({ tag }) => tag === "good")
      expect(good).toMatchObject({
        modelId: "acme/small",
        contextLength: 8192,
        maxCompletionTokens: 4096,
        providerName: "good",
        pricing: { prompt: "0.000001", completion: "0.000002" },
        status: 0,
        uptimeLast30m: expect.any(Number),
      })
      expect(good?.latencyLast30m?.p50).toBeGreaterThan(0)
      const limitedOne = data.endpoints.find(({ tag }) => tag === "limited")
      expect(limitedOne?.latencyLast30m).toBeNull()
    })

    test("a model that does not exist is not found", async () => {
      await failureOf(errors.NotFoundResponseError, sdk.endpoints.list({ author: "acme", slug: "none" }))
      await failureOf(errors.NotFoundResponseError, sdk.models.get({ author: "acme", slug: "none" }))
    })

    const idsOf = async (pages: AsyncIterable<{ readonly result: ModelsListResponse }>) => {
      const ids: Array<string> = []
      for await (const { result } of pages) ids.push(...result.data.map(({ id }) => id))
      return ids
    }

    test("page by page, filtered and sorted", async () => {
      expect(await idsOf(await sdk.models.list({ limit: 1 }))).toEqual(await idsOf(await sdk.models.list()))
      const dear = await sdk.models.list({
        minPrice: 1,
        maxOutputPrice: 2,
        providers: "good",
        modelAuthors: "acme",
        inputModalities: "text",
        context: 8192,
        q: "small",
        sort: "latency-low-to-high",
      })
      expect(await idsOf(dear)).toEqual(["acme/small"])
    })

    test("a filter without data is refused", async () => {
      const refusal = await failureOf(errors.BadRequestResponseError, sdk.models.list({ category: "programming" }))
      expect(refusal.error.message).toContain("category: cannot be used")
    })

    test("the count, and one model", async () => {
      const { data } = await sdk.models.count()
      expect(data.count).toBe((await idsOf(await sdk.models.list())).length)
      const model = await sdk.models.get({ author: "acme", slug: "small" })
      expect(model.data).toMatchObject({ id: "acme/small", contextLength: 8192, pricing: { prompt: "0.000001" } })
    })

    test("the models of a key", async () => {
      const narrow = await gateway.newKey({ allowedModels: ["acme/*"] })
      expect(await idsOf(await sdk.models.listForUser({ bearer: narrow }))).toEqual(["acme/small"])
      await failureOf(errors.UnauthorizedResponseError, sdk.models.listForUser({ bearer: "nobody" }))
    })

    test("the providers, and the hosts that keep no prompts", async () => {
      const { data } = await sdk.providers.list()
      expect(data.map(({ slug }) => slug)).toEqual(expect.arrayContaining(["good", "broken", "limited", "echo"]))
      const hosts = await sdk.endpoints.listZdrEndpoints()
      expect(new Set(hosts.data.map(({ tag }) => tag))).toEqual(new Set(["echo"]))
    })
  })

  describe("records", () => {
    test("of one answer", async () => {
      const { id, usage } = whole(await send(at("good", ask("hi"))))
      const { data } = await sdk.generations.getGeneration({ id })
      expect(data).toMatchObject({
        id,
        model: "acme/small",
        providerName: "good",
        apiType: "completions",
        totalCost: usage?.cost,
        nativeTokensReasoning: 7,
        nativeTokensCached: 40,
        providerResponses: [{ status: 200, endpointId: "good", providerName: "good" }],
        cacheDiscount: 0,
      })
      const content = await failureOf(errors.NotFoundResponseError, sdk.generations.listGenerationContent({ id }))
      expect(content.error.message).toStartWith("A stored prompt or answer")
      await failureOf(errors.NotFoundResponseError, sdk.generations.getGeneration({ id: `${id}x` }))
    })

    test("of what was used", async () => {
      const { data } = await manager.credits.getCredits()
      expect(data.totalUsage).toBeGreaterThan(0)
      const today = new Date().toISOString().slice(0, 10)
      const { data: used } = await manager.analytics.getUserActivity()
      expect(used.map(({ date, model }) => ({ date, model }))).toContainEqual({ date: today, model: "acme/small" })
      await failureOf(errors.ForbiddenResponseError, sdk.credits.getCredits())
    })
  })

  describe("keys", () => {
    test("a key's whole life", async () => {
      const expiresAt = new Date(Date.now() + 86_400_000)
      const made = await manager.apiKeys.create({
        requestBody: { name: "robot", limit: 1.5, limitReset: "monthly", expiresAt },
      })
      expect(made.key).toStartWith("sk-gw-")
      expect(made.data).toMatchObject({
        name: "robot",
        limit: 1.5,
        limitRemaining: 1.5,
        limitReset: "monthly",
        usage: 0,
      })
      expect(made.data.expiresAt).toEqual(expiresAt)
      const { hash } = made.data

      const own = sdkWith(made.key)
      const { usage } = whole(await send(at("good", ask("hi")), own))
      expect(usage?.cost).toBe(0.00014)

      const read = await manager.apiKeys.get({ hash })
      expect(read.data).toMatchObject({
        hash,
        usage: 0.00014,
        usageDaily: 0.00014,
        limitRemaining: 1.49986,
        disabled: false,
      })
      const { data: current } = await own.apiKeys.getCurrentKeyMetadata()
      expect(current).toMatchObject({
        label: made.data.label,
        isManagementKey: false,
        limit: 1.5,
        limitRemaining: 1.49986,
        usage: 0.00014,
        usageMonthly: 0.00014,
        expiresAt,
      })

      const changed = await manager.apiKeys.update({
        hash,
        requestBody: { name: "renamed", limit: null, disabled: true },
      })
      expect(changed.data).toMatchObject({ name: "renamed", limit: null, limitRemaining: null, disabled: true })
      await failureOf(errors.UnauthorizedResponseError, send(at("good", ask("hi")), own))

      const listed = await manager.apiKeys.list({ includeDisabled: true })
      expect(listed.data.find((key) => key.hash === hash)?.name).toBe("renamed")
      const enabledOnly = await manager.apiKeys.list()
      expect(enabledOnly.data.some((key) => key.hash === hash)).toBe(false)

      expect(await manager.apiKeys.delete({ hash })).toEqual({ deleted: true })
      await failureOf(errors.NotFoundResponseError, manager.apiKeys.get({ hash }))
    })

    test("an ordinary key may not manage keys", async () => {
      const refusal = await failureOf(errors.OpenRouterError, sdk.apiKeys.list())
      expect(refusal.statusCode).toBe(403)
    })

    test("the management key says what it is", async () => {
      const { data } = await manager.apiKeys.getCurrentKeyMetadata()
      expect(data).toMatchObject({ isManagementKey: true, isProvisioningKey: true, limit: null, limitRemaining: null })
    })
  })
})

const isStream = (answer: ChatResult | EventStream<ChatStreamChunk>): answer is EventStream<ChatStreamChunk> =>
  answer instanceof EventStream

const streamed = (answer: ChatResult | EventStream<ChatStreamChunk>): EventStream<ChatStreamChunk> => {
  if (isStream(answer)) return answer
  throw new Error("expected a stream")
}

const whole = (answer: ChatResult | EventStream<ChatStreamChunk>): ChatResult => {
  if (isStream(answer)) throw new Error("expected a whole answer")
  return answer
}

const chunksOf = async (answer: ChatResult | EventStream<ChatStreamChunk>): Promise<ReadonlyArray<ChatStreamChunk>> => {
  const chunks: Array<ChatStreamChunk> = []
  for await (const chunk of streamed(answer)) chunks.push(chunk)
  return chunks
}

/**
 * The error of type `type` with which `promise` rejects. Anything else is rethrown, such as a body that the SDK could
 * not read.
 */
const failureOf = async <E>(type: abstract new (...args: never) => E, promise: Promise<unknown>): Promise<E> => {
  try {
    await promise
  } catch (error) {
    if (error instanceof type) return error
    throw error
  }
  throw new Error("expected a failure, got an answer")
}
