/** Anthropic's official client against a started gateway, over a real socket: to a host of its form and to one of another. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import Anthropic, { type APIError } from "@anthropic-ai/sdk"
import type { MessageParam, Tool } from "@anthropic-ai/sdk/resources/messages"
import { startGateway, type TestGateway } from "../support/gateways/gateway.ts"
import { chunkOf, type ScriptedHost, scriptedHost, sse } from "../support/hosts/host.ts"
import {
  blockEvents,
  endEvents,
  hostUsage,
  messagesConfig,
  nativeAnswer,
  nativeStream,
  startEvent,
  textBlock,
} from "../support/hosts/messages.ts"

const weather: Tool = {
  name: "weather",
  description: "The weather of a town",
  input_schema: { type: "object", properties: { town: { type: "string" } }, required: ["town"] },
}

const thought = { type: "thinking", thinking: "Bern, then.", signature: "c2lnbmVk+/=" }
const hidden = { type: "redacted_thinking", data: "aGlkZGVu+/=" }
const call = { type: "tool_use", id: "toolu_1", name: "weather", input: { town: "Bern" } }

const lastIsResult = (body: Record<string, unknown>): boolean => {
  const { content, role }: { readonly role?: string; readonly content?: MessageParam["content"] } = Array.isArray(
    body["messages"],
  )
    ? body["messages"].at(-1)
    : {}
  return role === "tool" || (Array.isArray(content) && content.some(({ type }) => type === "tool_result"))
}

/** Thinks, calls the tool, and answers once it has the result. */
const claude = () =>
  scriptedHost((body) => {
    const done = body["tools"] === undefined || lastIsResult(body)
    if (body["stream"] !== true) {
      return done
        ? nativeAnswer([{ type: "text", text: "Twenty degrees." }])
        : nativeAnswer([thought, hidden, call], { stop_reason: "tool_use" })
    }
    return done
      ? nativeStream([startEvent, { type: "ping" }, ...textBlock(0, ["Twenty", " degrees."]), ...endEvents("end_turn")])
      : nativeStream([
          startEvent,
          ...blockEvents(0, { type: "thinking", thinking: "", signature: "" }, [
            { type: "thinking_delta", thinking: "Bern, " },
            { type: "thinking_delta", thinking: "then." },
            { type: "signature_delta", signature: thought.signature },
          ]),
          ...blockEvents(1, hidden, []),
          ...blockEvents(2, { ...call, input: {} }, [
            { type: "input_json_delta", partial_json: '{"town":' },
            { type: "input_json_delta", partial_json: '"Bern"}' },
          ]),
          ...endEvents("tool_use"),
        ])
  })

const usage = { prompt_tokens: 30, completion_tokens: 12, prompt_tokens_details: { cached_tokens: 6 } }

/** The same in the chat form, with reasoning that is encrypted in a vendor's own way. */
const other = () =>
  scriptedHost((body) => {
    const done = body["tools"] === undefined || lastIsResult(body)
    const details = [
      { type: "reasoning.summary", summary: "Bern, then.", format: "openai-responses-v1", id: "rs_1", index: 0 },
      { type: "reasoning.encrypted", data: "b3BlbmFp+/=", format: "openai-responses-v1", id: "rs_1", index: 0 },
    ]
    const called = { id: "call_1", type: "function", function: { name: "weather", arguments: '{"town":"Bern"}' } }
    const message = done
      ? { role: "assistant", content: "Twenty degrees." }
      : { role: "assistant", content: null, reasoning: "Bern, then.", reasoning_details: details, tool_calls: [called] }
    const finish_reason = done ? "stop" : "tool_calls"
    if (body["stream"] !== true) return Response.json({ choices: [{ index: 0, message, finish_reason }], usage })
    const deltas = done
      ? [{ content: "Twenty" }, { content: " degrees." }]
      : [
          { reasoning: "Bern, ", reasoning_details: [{ ...details[0], summary: "Bern, " }] },
          { reasoning: "then.", reasoning_details: [{ ...details[0], summary: "then." }] },
          { reasoning_details: [details[1]] },
          { tool_calls: [{ ...called, index: 0, function: { name: "weather", arguments: '{"town":' } }] },
          { tool_calls: [{ index: 0, function: { arguments: '"Bern"}' } }] },
        ]
    return sse([
      ...deltas.map((delta) => chunkOf({ delta, finish_reason: null })),
      chunkOf({ delta: {}, finish_reason }, { usage }),
      "[DONE]",
    ])
  })

describe.each(["claude", "other"] as const)("the client, at the host %s", (name) => {
  let gateway: TestGateway
  let client: Anthropic
  let host: ScriptedHost

  beforeAll(async () => {
    host = name === "claude" ? claude() : other()
    gateway = await startGateway({ config: messagesConfig({ [name]: host }) })
    const baseURL = gateway.url.replace(/\/v1$/, "")
    client = new Anthropic({ baseURL, apiKey: gateway.key, authToken: null, maxRetries: 0 })
  })
  afterAll(async () => {
    await gateway.stop()
    await host.stop()
  })

  const question: MessageParam = { role: "user", content: "How warm is Bern?" }
  const asked = { model: "acme/small", max_tokens: 500, messages: [question] }

  test("creates a message", async () => {
    const message = await client.messages.create(asked)
    expect(message).toMatchObject({
      type: "message",
      role: "assistant",
      model: "acme/small",
      content: [{ type: "text", text: "Twenty degrees." }],
      stop_reason: "end_turn",
      stop_sequence: null,
    })
    expect(message.id).toStartWith("gen-")
    const counted =
      name === "claude" ? { ...hostUsage, output_tokens: 12 } : { input_tokens: 24, cache_read_input_tokens: 6 }
    expect(message.usage).toMatchObject({ ...counted, cost: expect.any(Number) })
  })

  test("found no id of the request: `_request_id` is that of the answer, of a stream and of an error", async () => {
    expect((await client.messages.create(asked))._request_id).toMatch(/^req_/)
    const whole = await client.messages.create(asked).withResponse()
    expect(whole.request_id).toBe(whole.response.headers.get("x-gw-request-id"))
    const stream = client.messages.stream(asked)
    await stream.finalMessage()
    expect(stream.request_id).toMatch(/^req_/)
    const wrong: APIError = await client.messages.create({ ...asked, max_tokens: 0 }).catch((error) => error)
    expect(wrong.requestID).toMatch(/^req_/)
    const counted = await client.messages.countTokens({ model: "acme/small", messages: [question] }).withResponse()
    expect(counted.request_id).toMatch(/^req_/)
  })

  test("streams one", async () => {
    const stream = client.messages.stream(asked)
    const texts: Array<string> = []
    stream.on("text", (text) => texts.push(text))
    const message = await stream.finalMessage()
    expect(texts).toEqual(["Twenty", " degrees."])
    expect(message).toMatchObject({ content: [{ type: "text", text: "Twenty degrees." }], stop_reason: "end_turn" })
    expect(message.usage).toMatchObject({ output_tokens: 12, cache_read_input_tokens: 6 })
  })

  test.each([false, true])(
    "has a tool called, and gives its thinking back byte for byte (stream: %p)",
    async (streams) => {
      const say = (messages: Array<MessageParam>) => {
        const body = {
          ...asked,
          messages,
          tools: [weather],
          thinking: { type: "enabled" as const, budget_tokens: 1024 },
        }
        return streams ? client.messages.stream(body).finalMessage() : client.messages.create(body)
      }
      const first = await say([question])
      expect(first.stop_reason).toBe("tool_use")
      expect(first.content).toMatchObject([
        { type: "thinking", thinking: "Bern, then." },
        { type: "redacted_thinking" },
        { type: "tool_use", name: "weather", input: { town: "Bern" } },
      ])
      const used = first.content.at(-1)
      if (used?.type !== "tool_use") throw new Error("no call")
      const result: MessageParam = {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: used.id, content: [{ type: "text", text: "20" }] }],
      }
      const second = await say([question, { role: "assistant", content: first.content }, result])
      expect(second.content).toMatchObject([{ type: "text", text: "Twenty degrees." }])
      const messages = host.calls.at(-1)?.body["messages"]
      if (name === "claude") {
        expect(messages).toMatchObject([question, { role: "assistant", content: [thought, hidden, call] }, result])
      } else {
        expect(messages).toMatchObject([
          question,
          {
            role: "assistant",
            reasoning_details: [
              { type: "reasoning.summary", summary: "Bern, then.", format: "openai-responses-v1", id: "rs_1" },
              { type: "reasoning.encrypted", data: "b3BlbmFp+/=", format: "openai-responses-v1", id: "rs_1" },
            ],
            tool_calls: [{ id: "call_1", function: { name: "weather", arguments: '{"town":"Bern"}' } }],
          },
          { role: "tool", tool_call_id: "call_1", content: "20" },
        ])
      }
    },
  )

  test("counts tokens", async () => {
    const before = host.calls.length
    const { input_tokens } = await client.messages.countTokens({ model: "acme/small", messages: [question] })
    expect(input_tokens).toBe(Math.ceil("How warm is Bern?".length / 4))
    expect(host.calls).toHaveLength(before)
  })

  test("finds a model by its id and by its bare name, and lists all", async () => {
    for (const name of ["acme/small", "small"]) {
      const model = await client.models.retrieve(name)
      expect(model).toMatchObject({ id: "acme/small", object: "model", owned_by: "acme", type: "model" })
      expect(model.display_name).toBeString()
    }
    const ids: Array<string> = []
    for await (const { id, type, display_name: title, created_at: at } of client.models.list()) {
      ids.push(id)
      expect([type, typeof title, Number.isNaN(Date.parse(at))]).toEqual(["model", "string", false])
    }
    expect(ids).toContain("acme/small")
    expect(ids).toHaveLength(new Set(ids).size)
    const unknown: APIError = await client.models.retrieve("acme/none").catch((error) => error)
    expect(unknown.status).toBe(404)
  })

  test.each([
    ["as it comes: told that there are no threads, it goes on without one", {}],
    ["without a thread", { thread: false }],
  ] as const)("runs tools %s", async (_, more) => {
    const run = () => "20"
    const tool = { ...weather, type: "custom" as const, run, parse: (content: unknown) => content }
    const message = await client.beta.messages.toolRunner({ ...asked, ...more, tools: [tool] })
    expect(message.content.at(-1)).toMatchObject({ type: "text", text: "Twenty degrees." })
  })

  test("is told what to do without threads", async () => {
    const thread = { type: "create" } as const
    const wrong = await client.beta.messages.create({ ...asked, thread }).catch((error) => error)
    expect([wrong.status, wrong.errorCode]).toEqual([400, "thread_unsupported_request"])
    expect(wrong.message).toContain("With thread: false")
  })

  test("gets a path that does not exist in its own form", async () => {
    const missing: APIError = await client.messages.batches.list().catch((error) => error)
    expect([missing.status, missing.type]).toEqual([404, "not_found_error"])
  })

  test("gets errors in its own form", async () => {
    const wrong: APIError = await client.messages.create({ ...asked, max_tokens: 0 }).catch((error) => error)
    expect(wrong.status).toBe(400)
    expect(wrong.error).toMatchObject({ type: "error", error: { type: "invalid_request_error" } })
    const stranger = new Anthropic({ baseURL: client.baseURL, apiKey: "sk-wrong", maxRetries: 0 })
    const refused: APIError = await stranger.messages.create(asked).catch((error) => error)
    expect(refused.status).toBe(401)
    expect(refused.error).toMatchObject({ error: { type: "authentication_error" } })
  })
})
