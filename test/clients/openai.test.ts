/** The official client of the chat form against a started gateway, over a real socket. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import OpenAI, { type APIError } from "openai"
import type { ChatCompletionChunk, ChatCompletionFunctionTool } from "openai/resources"
import { startGateway, type TestGateway } from "../support/gateways/gateway.ts"
import {
  chunkOf,
  configFor,
  type HeldStream,
  heldStream,
  scriptedHost,
  sse,
  streamAnswer,
  wholeAnswer,
} from "../support/hosts/host.ts"

const weatherTool: ChatCompletionFunctionTool = {
  type: "function",
  function: {
    name: "weather",
    description: "The weather of a town",
    parameters: { type: "object", properties: { town: { type: "string" } }, required: ["town"] },
  },
}

const streamedCall = (index: number, more: Record<string, unknown>) =>
  chunkOf({ delta: { tool_calls: [{ index, ...more }] }, finish_reason: null })

/** Two tool calls in pieces: one after the other, or interleaved. */
const twoCalls = (turns: boolean) => {
  const first = streamedCall(0, { id: "call_a", type: "function", function: { name: "weather", arguments: "" } })
  const firstMore = streamedCall(0, { function: { arguments: '{"town":' } })
  const firstEnd = streamedCall(0, { function: { arguments: '"Łódź"}' } })
  const second = streamedCall(1, { id: "call_b", type: "function", function: { name: "weather", arguments: '{"to' } })
  const secondEnd = streamedCall(1, { function: { arguments: 'wn":"Bern"}' } })
  return sse([
    chunkOf({ delta: { role: "assistant", content: null }, finish_reason: null }),
    ...(turns ? [first, firstMore, second, firstEnd, secondEnd] : [first, firstMore, firstEnd, second, secondEnd]),
    chunkOf({ delta: {}, finish_reason: "tool_calls" }),
    chunkOf({}, { choices: [], usage: { prompt_tokens: 20, completion_tokens: 30 } }),
    "[DONE]",
  ])
}

const wholeCall = () =>
  Response.json({
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "call_a", type: "function", function: { name: "weather", arguments: '{"town":"Bern"}' } }],
        },
        finish_reason: "tool_calls",
      },
    ],
    usage: { prompt_tokens: 20, completion_tokens: 8 },
  })

const wordsOf = (text: string): ReadonlyArray<string> => text.match(/\s*\S+/g) ?? []

const lastMessage = (body: Record<string, unknown>): { readonly role?: string; readonly content?: string } =>
  Array.isArray(body["messages"]) ? body["messages"].at(-1) : {}

const ask = (content: string) => ({ model: "acme/small", messages: [{ role: "user" as const, content }] })

const failing = (status: number, error: Record<string, unknown>, headers: Record<string, string> = {}) =>
  scriptedHost(() => Response.json({ error }, { status, headers }))

describe("the openai client", () => {
  let holding = Promise.withResolvers<HeldStream>()
  const host = scriptedHost((body, request) => {
    const { role, content = "" } = lastMessage(body)
    if (content === "hold on") {
      const stream = heldStream(request)
      holding.resolve(stream)
      return stream.response
    }
    const tools = Array.isArray(body["tools"]) && role !== "tool"
    if (body["stream"] === true) return tools ? twoCalls(content === "taking turns") : streamAnswer(wordsOf(content))
    return tools ? wholeCall() : wholeAnswer(`you said: ${content}`)
  })
  const limited = failing(429, { message: "slow down", type: "rate_limit_error" }, { "retry-after": "7" })
  const broken = failing(500, { message: "no" })
  let gateway: TestGateway
  let client: OpenAI

  const clientWith = (apiKey: string) => new OpenAI({ apiKey, baseURL: gateway.url, maxRetries: 0 })

  beforeAll(async () => {
    const hosts = { good: host, limited, broken }
    const { models: _, ...config } = configFor(hosts)
    const models = Object.keys(hosts).map((slug) => ({
      id: slug === "good" ? "acme/small" : `acme/${slug}`,
      context_length: 8192,
      hosts: [
        {
          provider: slug,
          model: "upstream",
          pricing: { prompt: "0.000001", completion: "0.000002" },
          max_completion_tokens: 4096,
        },
      ],
    }))
    gateway = await startGateway({ config: { ...config, models } })
    client = clientWith(gateway.key)
  })
  afterAll(async () => {
    await gateway.stop()
    for (const each of [host, limited, broken]) await each.stop()
  })

  test("a whole answer has every documented member", async () => {
    const { data, response } = await client.chat.completions.create(ask("hi")).withResponse()
    expect(data).toEqual({
      id: expect.stringMatching(/^gen-\d{10}-[A-Za-z0-9]{20}$/),
      object: "chat.completion",
      created: expect.any(Number),
      model: "acme/small",
      provider: "good",
      system_fingerprint: null,
      service_tier: "default",
      choices: [
        {
          index: 0,
          logprobs: null,
          finish_reason: "stop",
          native_finish_reason: "stop",
          message: { role: "assistant", content: "you said: hi", refusal: null, reasoning: null },
        },
      ],
      usage: {
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
      },
    } as unknown as OpenAI.ChatCompletion)
    expect(response.headers.get("x-generation-id")).toBe(data.id)
  })

  test("a stream: text in pieces, one finish with the usage, then the end", async () => {
    const chunks: Array<ChatCompletionChunk> = []
    for await (const chunk of await client.chat.completions.create({ ...ask("one two three"), stream: true }))
      chunks.push(chunk)
    expect(chunks.map(({ choices }) => choices[0]?.delta.content)).toEqual(["one", " two", " three", ""])
    expect(chunks.map(({ choices }) => choices[0]?.finish_reason)).toEqual([null, null, null, "stop"])
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1)
    expect(chunks.filter(({ usage }) => usage != null)).toEqual(chunks.slice(-1))
    expect(chunks.at(-1)?.usage).toMatchObject({
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      cost: 0.00002,
    })
  })

  test("the stream helper assembles a text", async () => {
    const stream = client.chat.completions.stream({ ...ask("one two three"), stream_options: { include_usage: true } })
    const completion = await stream.finalChatCompletion()
    expect(completion.choices[0]?.message.content).toBe("one two three")
    expect(completion.choices[0]?.finish_reason).toBe("stop")
    expect(completion.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 })
    expect(completion.model).toBe("acme/small")
  })

  const bothCalls = [
    { id: "call_a", type: "function", function: { name: "weather", arguments: '{"town":"Łódź"}' } },
    { id: "call_b", type: "function", function: { name: "weather", arguments: '{"town":"Bern"}' } },
  ]

  test("the stream helper assembles two calls, and reports each once", async () => {
    const done: Array<unknown> = []
    const stream = client.chat.completions
      .stream({ ...ask("weather?"), tools: [weatherTool], parallel_tool_calls: true })
      .on("tool_calls.function.arguments.done", ({ index, arguments: said }) => done.push([index, said]))
    const { choices, usage } = await stream.finalChatCompletion()
    expect(choices).toHaveLength(1)
    expect(choices[0]?.message.tool_calls).toHaveLength(2)
    expect(choices[0]?.message.tool_calls).toMatchObject(bothCalls)
    expect(choices[0]?.finish_reason).toBe("tool_calls")
    expect(done).toEqual([
      [0, '{"town":"Łódź"}'],
      [1, '{"town":"Bern"}'],
    ])
    expect(usage).toMatchObject({ prompt_tokens: 20, completion_tokens: 30, cost: 0.00008 })
  })

  test("the stream helper assembles two calls whose pieces are interleaved", async () => {
    const stream = client.chat.completions.stream({ ...ask("taking turns"), tools: [weatherTool] })
    const { choices } = await stream.finalChatCompletion()
    expect(choices[0]?.message.tool_calls).toHaveLength(2)
    expect(choices[0]?.message.tool_calls).toMatchObject(bothCalls)
  })

  test("tools reach the host as they were given, and their calls come back", async () => {
    const completion = await client.chat.completions.create({
      ...ask("weather?"),
      tools: [weatherTool],
      tool_choice: "auto",
    })
    expect(host.calls.at(-1)?.body).toMatchObject({ tools: [weatherTool], tool_choice: "auto" })
    expect(completion.choices[0]).toMatchObject({
      finish_reason: "tool_calls",
      message: {
        content: null,
        tool_calls: [{ id: "call_a", function: { name: "weather", arguments: '{"town":"Bern"}' } }],
      },
    })
  })

  test("a tool runner calls both functions and gets its answer, streamed", async () => {
    const towns: Array<string> = []
    const runner = client.chat.completions.runTools({
      ...ask("weather?"),
      stream: true,
      tools: [
        {
          type: "function",
          function: {
            name: "weather",
            description: "The weather of a town",
            parameters: { type: "object", properties: { town: { type: "string" } } },
            parse: JSON.parse,
            function: ({ town }: { readonly town: string }) => {
              towns.push(town)
              return `rain in ${town}`
            },
          },
        },
      ],
    })
    expect(await runner.finalContent()).toBe("rain in Bern")
    expect(towns).toEqual(["Łódź", "Bern"])
    const roles = host.calls.at(-1)?.body["messages"]
    expect(roles).toMatchObject([
      { role: "user" },
      { role: "assistant", tool_calls: [{ id: "call_a" }, { id: "call_b" }] },
      { role: "tool", tool_call_id: "call_a", content: "rain in Łódź" },
      { role: "tool", tool_call_id: "call_b", content: "rain in Bern" },
    ])
  })

  test("twenty streams at once, each with its own words", async () => {
    const prompts = Array.from({ length: 20 }, (_, at) => `number ${at} counts to ${at * at}`)
    const texts = await Promise.all(prompts.map((prompt) => client.chat.completions.stream(ask(prompt)).finalContent()))
    expect(texts).toEqual(prompts)
  })

  /** A stream that has sent one word. */
  const begun = async () => {
    holding = Promise.withResolvers()
    const asked = client.chat.completions.create({ ...ask("hold on"), stream: true })
    const held = await holding.promise
    held.send(chunkOf({ delta: { content: "first" }, finish_reason: null }))
    const stream = await asked
    const reading = stream[Symbol.asyncIterator]()
    const first = await reading.next()
    expect(first.value?.choices[0]?.delta.content).toBe("first")
    return { held, stream, reading }
  }

  test("an error within a stream is thrown after the text before it", async () => {
    const { held, reading } = await begun()
    held.send(JSON.stringify({ error: { code: 503, message: "worn out" } }))
    const error = await failureOf(reading.next())
    expect(error.code).toBe(502 as unknown as string)
    expect(error.message).toEndWith("Provider returned error.")
    expect(metadataOf(error)).toMatchObject({ error_type: "provider_unavailable", provider_name: "good" })
  })

  test("the stream helper rejects when its host goes away", async () => {
    holding = Promise.withResolvers()
    const stream = client.chat.completions.stream(ask("hold on"))
    const spoken = stream.emitted("content")
    const final = failureOf(stream.finalChatCompletion())
    const held = await holding.promise
    held.send(chunkOf({ delta: { content: "first" }, finish_reason: null }))
    await spoken
    held.close()
    expect((await final).message).toEndWith("Provider returned error.")
  })

  test("a stream that its reader aborts is closed at the host", async () => {
    const { held, stream, reading } = await begun()
    stream.controller.abort()
    expect((await reading.next()).done).toBe(true)
    await held.left
  })

  test("a request that is aborted before any answer is closed at the host", async () => {
    holding = Promise.withResolvers()
    const controller = new AbortController()
    const asked = client.chat.completions.create({ ...ask("hold on"), stream: true }, { signal: controller.signal })
    const held = await holding.promise
    controller.abort()
    expect(await failureOf(asked)).toBeInstanceOf(OpenAI.APIUserAbortError)
    await held.left
  })

  test("found no id of the request: `_request_id` is that of the answer, of a stream and of an error", async () => {
    expect((await client.chat.completions.create(ask("hi")))._request_id).toMatch(/^req_/)
    const whole = await client.chat.completions.create(ask("hi")).withResponse()
    expect(whole.request_id).toBe(whole.response.headers.get("x-gw-request-id"))
    const streamed = await client.chat.completions.create({ ...ask("hi"), stream: true }).withResponse()
    expect(streamed.request_id).toMatch(/^req_/)
    for await (const _ of streamed.data);
    const error = await failureOf(client.chat.completions.create({ ...ask("hi"), model: "acme/none" }))
    expect(error.requestID).toMatch(/^req_/)
    const models = await client.models.list().withResponse()
    expect(models.request_id).toMatch(/^req_/)
  })

  test("got 404 for a model that it asked for by its id: its slash is escaped in the path", async () => {
    const known = await client.models.list()
    const listed = known.data.find(({ id }) => id === "acme/small")
    expect(listed).toBeDefined()
    for (const name of ["acme/small", "small"]) {
      const found = await client.models.retrieve(name)
      expect(found).toMatchObject({ ...listed, object: "model", owned_by: "acme" })
    }
    const error = await failureOf(client.models.retrieve("acme/none"))
    expect(error).toBeInstanceOf(OpenAI.NotFoundError)
    expect(error.error).toMatchObject({ code: 404, message: "This model does not exist." })
  })

  describe("errors", () => {
    const refused = async (asked: Promise<unknown>, type: abstract new (...args: never) => Error, status: number) => {
      const error = await failureOf(asked)
      expect(error).toBeInstanceOf(type)
      expect(error.status).toBe(status)
      expect(error.error).toMatchObject({ code: status, message: expect.stringMatching(/\.$/) })
      expect(error.code).toBe(status as unknown as string)
      expect(error.headers?.get("x-gw-request-id")).toMatch(/^req_/)
      return { error, metadata: metadataOf(error) }
    }

    test("401 for an unknown key", async () => {
      const { error } = await refused(
        clientWith("sk-gw-nobody").chat.completions.create(ask("hi")),
        OpenAI.AuthenticationError,
        401,
      )
      expect(error.error).toEqual({ code: 401, message: "User not found. This is no active key of this gateway." })
    })

    test("400 for a model that does not exist", async () => {
      const { metadata } = await refused(
        client.chat.completions.create({ ...ask("hi"), model: "acme/none" }),
        OpenAI.BadRequestError,
        400,
      )
      expect(metadata).toMatchObject({ error_type: "invalid_request", path: "model" })
    })

    test("403 for a management key", async () => {
      const { metadata } = await refused(
        clientWith(gateway.managementKey).chat.completions.create(ask("hi")),
        OpenAI.PermissionDeniedError,
        403,
      )
      expect(metadata).toEqual({ error_type: "permission_denied" })
    })

    test("404 when the preferences exclude every host", async () => {
      const only: object = { provider: { only: ["nobody"] } }
      const { metadata } = await refused(
        client.chat.completions.create({ ...ask("hi"), ...only }),
        OpenAI.NotFoundError,
        404,
      )
      expect(metadata).toMatchObject({ error_type: "not_found", excluded_by: ["only"], available_providers: ["good"] })
    })

    test("402 for a key without money", async () => {
      const poor = clientWith(await gateway.newKey({ limit: 0n }))
      const { metadata } = await refused(poor.chat.completions.create(ask("hi")), OpenAI.APIError, 402)
      expect(metadata).toMatchObject({
        error_type: "payment_required",
        reason: "limit_exhausted",
        limit_usd: 0,
        resets_at: null,
      })
    })

    test("429 with the wait, when all hosts are rate limited", async () => {
      const { error, metadata } = await refused(
        client.chat.completions.create({ ...ask("hi"), model: "acme/limited" }),
        OpenAI.RateLimitError,
        429,
      )
      expect(error.headers?.get("retry-after")).toBe("7")
      expect(metadata).toMatchObject({ error_type: "rate_limit_exceeded", provider_name: "limited", raw: "slow down" })
    })

    test("429 with the wait, while all hosts rest after a rate limit", async () => {
      const { error, metadata } = await refused(
        client.chat.completions.create({ ...ask("hi"), model: "acme/limited" }),
        OpenAI.RateLimitError,
        429,
      )
      expect(Number(error.headers?.get("retry-after"))).toBeWithin(1, 8)
      expect(metadata).toMatchObject({ error_type: "rate_limit_exceeded" })
    })

    test("502 when the host fails, streamed or not", async () => {
      for (const stream of [false, true]) {
        const { metadata } = await refused(
          client.chat.completions.create({ ...ask("hi"), model: "acme/broken", stream }),
          OpenAI.InternalServerError,
          502,
        )
        expect(metadata).toMatchObject({
          error_type: "provider_unavailable",
          provider_name: "broken",
          previous_errors: [{ provider: "broken", model: "acme/broken", status: 500 }],
        })
      }
    })
  })
})

const failureOf = async (promise: Promise<unknown>): Promise<APIError> => {
  try {
    await promise
  } catch (error) {
    if (error instanceof OpenAI.APIError) return error
    throw error
  }
  throw new Error("expected a failure, got an answer")
}

const metadataOf = ({ error }: APIError): unknown =>
  typeof error === "object" && error !== null && "metadata" in error ? error.metadata : undefined
