/** Cohere behind a whole gateway, over sockets. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startGateway, type TestGateway } from "../../../test/support/gateways/gateway.ts"

// What a test reads of a body it checks itself.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Anything = any

const usage = {
  billed_units: { input_tokens: 20, output_tokens: 10 },
  tokens: { input_tokens: 1500, output_tokens: 60, reasoning_tokens: 4 },
  cached_tokens: 1400,
}

const message = {
  role: "assistant",
  content: [
    { type: "thinking", thinking: "Rome, then." },
    { type: "text", text: "Let me look 🌞" },
  ],
  tool_plan: "I will look.",
  tool_calls: [{ id: "weather_1", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } }],
}

const event = (type: string, more: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
const delta = (type: string, index: number, piece: object) => event(type, { index, delta: { message: piece } })

const stream = [
  event("message-start", { id: "1", delta: { message: { role: "assistant" } } }),
  delta("content-start", 0, { content: { type: "thinking", thinking: "" } }),
  delta("content-delta", 0, { content: { thinking: "Rome, " } }),
  delta("content-delta", 0, { content: { thinking: "then." } }),
  event("content-end", { index: 0 }),
  delta("content-start", 1, { content: { type: "text", text: "" } }),
  delta("content-delta", 1, { content: { text: "Let me " } }),
  delta("content-delta", 1, { content: { text: "look 🌞" } }),
  event("content-end", { index: 1 }),
  event("tool-plan-delta", { delta: { message: { tool_plan: "I will look." } } }),
  delta("tool-call-start", 0, {
    tool_calls: { id: "weather_1", type: "function", function: { name: "weather", arguments: "" } },
  }),
  delta("tool-call-delta", 0, { tool_calls: { function: { arguments: '{"city":"Rome"}' } } }),
  event("tool-call-end", { index: 0 }),
  event("message-end", { delta: { finish_reason: "TOOL_CALL", usage } }),
  "data: [DONE]\n\n",
].join("")

const calls: Array<{ readonly path: string; readonly authorization: string | null; readonly body: Anything }> = []

const host = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => {
    const body: Anything = await request.json()
    const path = new URL(request.url).pathname
    calls.push({ path, authorization: request.headers.get("authorization"), body })
    if (path === "/v2/embed") {
      return Response.json({ embeddings: { float: [[0.5], [0.25]] }, meta: { billed_units: { input_tokens: 5 } } })
    }
    if (path === "/v2/rerank") {
      const results = [
        { index: 1, relevance_score: 0.9 },
        { index: 0, relevance_score: 0.1 },
      ]
      return Response.json({ results, meta: { billed_units: { search_units: 2 } } })
    }
    if (body.messages[0].content === "too long") {
      return Response.json({ message: "too many tokens: size limit exceeded by 9 tokens." }, { status: 400 })
    }
    if (body.stream === true) return new Response(stream, { headers: { "content-type": "text/event-stream" } })
    return Response.json({ id: "1", message, finish_reason: "TOOL_CALL", usage })
  },
})

const modelOf = (id: string, pricing: Anything, output = "text") => ({
  id,
  context_length: 200_000,
  architecture: { input_modalities: ["text" as const], output_modalities: [output as "text"] },
  hosts: [{ provider: "cohere", model: "upstream", pricing, max_completion_tokens: 4096 }],
})

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startGateway({
    config: {
      providers: {
        cohere: { api_key: "cohere-key-1", base_url: `http://127.0.0.1:${host.port}/v2`, network: "private" },
      },
      models: [
        modelOf("acme/command", { prompt: "0.000003", completion: "0.000015", input_cache_read: "0.0000003" }),
        modelOf("acme/embed", { prompt: "0.0000001", completion: "0" }, "embeddings"),
        modelOf("acme/rerank", { prompt: "0", completion: "0", request: "0.002" }, "rerank"),
      ],
    },
  })
})

afterAll(async () => {
  await gateway.stop()
  await host.stop(true)
})

const post = async (path: string, body: object): Promise<Response> =>
  gateway.call(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) })

const user = { role: "user", content: "How warm is it in Rome?" }
const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object" } } }]
const ask = { model: "acme/command", max_tokens: 100, messages: [user], tools }

const lastMessages = (): Anything => calls.at(-1)?.body.messages

const reasoned = {
  role: "assistant",
  content: [
    { type: "thinking", thinking: "Rome, then." },
    { type: "text", text: "Let me look 🌞" },
  ],
  tool_calls: message.tool_calls,
  tool_plan: "I will look.",
}

describe("a caller of the chat form", () => {
  test("whole: billed by what Cohere bills, reasoning goes back", async () => {
    const answer: Anything = await (await post("/chat/completions", ask)).json()
    expect(calls.at(-1)).toMatchObject({ path: "/v2/chat", authorization: "Bearer cohere-key-1" })
    const [{ message: said, finish_reason: finish }] = answer.choices
    expect([said.content, said.reasoning, finish]).toEqual(["Let me look 🌞", "Rome, then.I will look.", "tool_calls"])
    expect(answer.usage).toMatchObject({ prompt_tokens: 20, completion_tokens: 10 })
    expect(answer.usage.cost * 1_000_000).toBeCloseTo(20 * 3 + 10 * 15, 6)
    const result = { role: "tool", tool_call_id: "weather_1", content: "20" }
    await post("/chat/completions", { ...ask, messages: [user, said, result] })
    expect(lastMessages().slice(1)).toEqual([reasoned, result])
  })

  test("streamed: the same", async () => {
    const text = await (await post("/chat/completions", { ...ask, stream: true })).text()
    const chunks = text
      .split("\n")
      .filter((line) => line.startsWith("data: {"))
      .map((line) => JSON.parse(line.slice(6)))
    const all = (name: string): ReadonlyArray<Anything> =>
      chunks.flatMap(({ choices }) => choices[0]?.delta[name] ?? [])
    expect([all("content").join(""), all("reasoning").join("")]).toEqual(["Let me look 🌞", "Rome, then.I will look."])
    expect(chunks.findLast((chunk) => chunk.usage).usage.cost * 1_000_000).toBeCloseTo(20 * 3 + 10 * 15, 6)
    const said = {
      role: "assistant",
      content: "Let me look 🌞",
      reasoning_details: all("reasoning_details"),
      tool_calls: message.tool_calls,
    }
    await post("/chat/completions", {
      ...ask,
      messages: [user, said, { role: "tool", tool_call_id: "weather_1", content: "20" }],
    })
    expect(lastMessages()[1]).toEqual(reasoned)
  })

  test("a prompt that is too long is the caller's matter", async () => {
    const response = await post("/chat/completions", { ...ask, messages: [{ role: "user", content: "too long" }] })
    expect(response.status).toBe(400)
    expect(JSON.stringify(await response.json())).toContain("context_length_exceeded")
  })
})

test("a caller of the Messages form gets blocks, and gives them back", async () => {
  const request = {
    model: ask.model,
    max_tokens: 2000,
    thinking: { type: "enabled", budget_tokens: 1024 },
    messages: [user],
    tools: [{ name: "weather", input_schema: { type: "object" } }],
  }
  const streamed = await (await post("/messages", { ...request, stream: true })).text()
  expect(streamed).toContain('"text":"look 🌞"')
  const answer: Anything = await (await post("/messages", request)).json()
  expect(answer.content.map(({ type }: Anything) => type)).toEqual(["thinking", "text", "thinking", "tool_use"])
  expect(answer.usage).toMatchObject({ input_tokens: 20, output_tokens: 10 })
  const result = { type: "tool_result", tool_use_id: "weather_1", content: "20" }
  const messages = [user, { role: "assistant", content: answer.content }, { role: "user", content: [result] }]
  await post("/messages", { ...request, messages })
  expect(lastMessages()[1]).toEqual(reasoned)
})

test("embeddings and rerank are billed by their own units", async () => {
  const embedded: Anything = await (
    await post("/embeddings", { model: "acme/embed", input: ["a", "b"], encoding_format: "float" })
  ).json()
  expect(embedded.data.map(({ embedding }: Anything) => embedding)).toEqual([[0.5], [0.25]])
  expect(embedded.usage.prompt_tokens).toBe(5)
  const ranked: Anything = await (
    await post("/rerank", { model: "acme/rerank", query: "q", documents: ["a", "b"] })
  ).json()
  expect(ranked.results.map(({ index }: Anything) => index)).toEqual([1, 0])
  expect(ranked.usage.cost).toBeCloseTo(0.004, 9)
})
