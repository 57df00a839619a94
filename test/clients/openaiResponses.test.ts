/** The Responses form by the official client of its vendor, against a started gateway, over a real socket. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import OpenAI from "openai"
import type {
  FunctionTool,
  ResponseCreateParamsNonStreaming,
  ResponseInputItem,
  ResponseStreamEvent,
} from "openai/resources/responses/responses"
import { startGateway, type TestGateway } from "../support/gateways/gateway.ts"
import { chunkOf, configFor, scriptedHost, sse, streamAnswer, wholeAnswer } from "../support/hosts/host.ts"

const weather: FunctionTool = {
  type: "function",
  name: "weather",
  description: "The weather of a town",
  strict: false,
  parameters: { type: "object", properties: { town: { type: "string" } }, required: ["town"] },
}

const details = [
  { type: "reasoning.text", text: "Two towns.", signature: "c2ln", format: "anthropic-claude-v1", index: 0 },
  { type: "reasoning.encrypted", data: "aGlkZGVu", format: "anthropic-claude-v1", index: 1 },
]
const calls = ["Łódź", "Bern"].map((town, index) => ({
  index,
  id: `call_${index}`,
  type: "function",
  function: { name: "weather", arguments: JSON.stringify({ town }) },
}))

const delta = (said: Record<string, unknown>) => chunkOf({ delta: said, finish_reason: null })
const usage = { prompt_tokens: 20, completion_tokens: 30, completion_tokens_details: { reasoning_tokens: 7 } }

/** Thinks, says a little, and calls the tool twice at a time. */
const asking = (stream: boolean) => {
  if (!stream) {
    const message = { role: "assistant", content: "Looking.", reasoning_details: details, tool_calls: calls }
    return Response.json({ choices: [{ index: 0, message, finish_reason: "tool_calls" }], usage })
  }
  return sse([
    delta({ reasoning_details: [{ ...details[0], text: "Two ", signature: undefined }] }),
    delta({ reasoning_details: [{ ...details[0], text: "towns." }] }),
    delta({ reasoning_details: [details[1]] }),
    delta({ content: "Looking." }),
    ...calls.flatMap(({ function: { name, arguments: given }, ...call }) => [
      delta({ tool_calls: [{ ...call, function: { name, arguments: "" } }] }),
      delta({ tool_calls: [{ index: call.index, function: { arguments: given } }] }),
    ]),
    chunkOf({ delta: {}, finish_reason: "tool_calls" }),
    JSON.stringify({ choices: [], usage }),
    "[DONE]",
  ])
}

describe("the openai client, by responses", () => {
  const host = scriptedHost((body) => {
    const messages = body["messages"] as ReadonlyArray<{ readonly role: string; readonly content: unknown }>
    const stream = body["stream"] === true
    if (body["tools"] != null && messages.at(-1)?.role !== "tool") return asking(stream)
    if (body["response_format"] != null) return stream ? streamAnswer(['{"a":', "1}"]) : wholeAnswer('{"a":1}')
    return stream ? streamAnswer(["Both ", "sunny"]) : wholeAnswer("Both sunny")
  })
  let gateway: TestGateway
  let client: OpenAI

  beforeAll(async () => {
    gateway = await startGateway({ config: configFor({ good: host }) })
    client = new OpenAI({ apiKey: gateway.key, baseURL: gateway.url, maxRetries: 0 })
  })
  afterAll(async () => {
    await gateway.stop()
    await host.stop()
  })

  test("a whole answer and a streamed one have text, status and usage", async () => {
    const { data, response } = await client.responses
      .create({ model: "acme/small", input: "Hello", instructions: "Be brief" })
      .withResponse()
    expect([data.output_text, data.status, data.usage?.total_tokens]).toEqual(["Both sunny", "completed", 15])
    expect(response.headers.get("x-gw-cost-usd")).toBe("0.00002")
    const stream = await client.responses.create({ model: "acme/small", input: "Hello", stream: true })
    const events: Array<ResponseStreamEvent> = []
    for await (const event of stream) events.push(event)
    const deltas = events.flatMap((event) => (event.type === "response.output_text.delta" ? [event.delta] : []))
    expect(deltas).toEqual(["Both ", "sunny"])
    expect(events.at(-1)).toMatchObject({ type: "response.completed", response: { usage: { total_tokens: 15 } } })
  })

  test("a parsed format is that of the schema", async () => {
    const format = { type: "json_schema", name: "n", schema: { type: "object" }, strict: true } as const
    const parsed = await client.responses.parse({ model: "acme/small", input: "JSON", text: { format } })
    expect(parsed.output_parsed).toEqual({ a: 1 })
    const sent = host.calls.at(-1)?.body["response_format"]
    expect(sent).toEqual({ type: "json_schema", json_schema: { name: "n", schema: { type: "object" }, strict: true } })
  })

  test.each([true, false])(
    "two tools at a time in two steps, with the reasoning given back (stream: %p)",
    async (streamed) => {
      const input: Array<ResponseInputItem> = [{ role: "user", content: "How are Łódź and Bern?" }]
      const ask = () => {
        const request = {
          model: "acme/small",
          input,
          tools: [weather],
          include: ["reasoning.encrypted_content" as const],
        }
        return streamed ? client.responses.stream(request).finalResponse() : client.responses.create(request)
      }
      const first = await ask()
      expect(first.output.map(({ type }) => type)).toEqual([
        "reasoning",
        "reasoning",
        "message",
        "function_call",
        "function_call",
      ])
      expect(first.usage?.output_tokens_details.reasoning_tokens).toBe(7)
      for (const item of first.output) {
        input.push(item as ResponseInputItem)
        if (item.type !== "function_call") continue
        expect(Object.keys(JSON.parse(item.arguments))).toEqual(["town"])
        expect(item.status).toBe("completed")
      }
      for (const item of first.output) {
        if (item.type === "function_call")
          input.push({ type: "function_call_output", call_id: item.call_id, output: "sunny" })
      }
      const second = await ask()
      expect([second.output_text, second.status]).toEqual(["Both sunny", "completed"])
      expect(host.calls.at(-1)?.body["messages"]).toEqual([
        { role: "user", content: "How are Łódź and Bern?" },
        {
          role: "assistant",
          content: "Looking.",
          reasoning: "Two towns.",
          reasoning_details: details,
          tool_calls: calls.map(({ index: _, ...call }) => call),
        },
        ...calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "sunny" })),
      ])
    },
  )

  test("errors are those that the client knows", async () => {
    const refusal = async (body: ResponseCreateParamsNonStreaming, by = client): Promise<unknown> => {
      try {
        return await by.responses.create(body)
      } catch (error) {
        return error
      }
    }
    const stranger = new OpenAI({ apiKey: "sk-no", baseURL: gateway.url, maxRetries: 0 })
    expect(await refusal({ model: "acme/small", input: "a", background: true })).toMatchObject({
      status: 400,
      message: expect.stringContaining("stores no responses"),
    })
    expect(await refusal({ model: "acme/none", input: "a" })).toMatchObject({ status: 400 })
    expect(await refusal({ model: "acme/small", input: "a" }, stranger)).toMatchObject({ status: 401 })
  })
})
