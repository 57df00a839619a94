/** Google's official client against a started gateway, over a real socket: to a host of its form and to hosts of others. */
import { beforeAll, describe, expect, test } from "bun:test"
import {
  ApiError,
  FunctionCallingConfigMode,
  type GenerateContentResponse,
  GoogleGenAI,
  type Tool,
} from "@google/genai"
import type { JsonObject } from "../../src/domain/json/json.ts"
import { answerOfEveryRoute, configOfEveryRoute } from "../support/gateways/everyRoute.ts"
import { startGateway, type TestGateway } from "../support/gateways/gateway.ts"
import { closeAfterAll, opened } from "../support/gateways/watched.ts"
import { chunkOf, configFor, type ScriptedHost, scriptedHost, sse } from "../support/hosts/host.ts"
import { messagesConfig, nativeAnswer } from "../support/hosts/messages.ts"

closeAfterAll()

const weather: Tool = {
  functionDeclarations: [
    {
      name: "weather",
      description: "The weather of a town",
      parametersJsonSchema: { type: "object", properties: { town: { type: "string" } }, required: ["town"] },
    },
  ],
}

const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 }
const partsOfGemini = [
  { text: "Bern, then.", thought: true },
  { functionCall: { id: "c1", name: "weather", args: { town: "Bern" } }, thoughtSignature: "c2lnbmVk" },
]
const hasResult = (body: Record<string, unknown>) => JSON.stringify(body).includes("functionResponse")
const eventOf = (parts: ReadonlyArray<unknown>, more: object = {}) =>
  JSON.stringify({ candidates: [{ content: { role: "model", parts }, index: 0, ...more }], usageMetadata })

/** Thinks, calls the function, and answers once it has the result. */
const gemini = () =>
  scriptedHost((body, request) => {
    const parts = hasResult(body) ? [{ text: "Twenty " }, { text: "degrees." }] : partsOfGemini
    if (request.url.includes("stream")) {
      return sse([...parts.map((part) => eventOf([part])), eventOf([], { finishReason: "STOP" })])
    }
    const candidates = [{ content: { role: "model", parts }, index: 0, finishReason: "STOP" }]
    return Response.json({ candidates, usageMetadata, modelVersion: "theirs", responseId: "theirs" })
  })

const details = [{ type: "reasoning.text", text: "Bern, then.", signature: "sig", format: "anthropic-claude-v1" }]
const called = { id: "c1", type: "function", function: { name: "weather", arguments: '{"town":"Bern"}' } }
const isDone = ({ messages }: Record<string, unknown>) => JSON.stringify(messages).includes('"role":"tool"')

const chatHost = () =>
  scriptedHost((body) => {
    const done = isDone(body)
    const said = done
      ? { content: "Twenty degrees." }
      : { content: null, reasoning_details: details, tool_calls: [called] }
    const finish = done ? "stop" : "tool_calls"
    const usage = { prompt_tokens: 10, completion_tokens: 5 }
    if (body["stream"] !== true) {
      return Response.json({
        choices: [{ index: 0, message: { role: "assistant", ...said }, finish_reason: finish }],
        usage,
      })
    }
    const pieces = done
      ? [{ content: "Twenty " }, { content: "degrees." }]
      : [
          { reasoning_details: details },
          { tool_calls: [{ index: 0, ...called, function: { name: "weather", arguments: "" } }] },
          { tool_calls: [{ index: 0, function: { arguments: '{"town":' } }] },
          { tool_calls: [{ index: 0, function: { arguments: '"Bern"}' } }] },
        ]
    const chunks = pieces.map((delta) => chunkOf({ delta, finish_reason: null }))
    return sse([
      ...chunks,
      chunkOf({ delta: {}, finish_reason: finish }),
      JSON.stringify({ choices: [], usage }),
      "[DONE]",
    ])
  })

const thinking = { type: "thinking", thinking: "Bern, then.", signature: "c2ln" }
const use = { type: "tool_use", id: "toolu_1", name: "weather", input: { town: "Bern" } }
/** Claude refuses thinking that comes back in another place. */
let seenByClaude: unknown
const claude = () =>
  scriptedHost((body) => {
    const { messages } = body as { readonly messages: ReadonlyArray<JsonObject> }
    seenByClaude = messages[1]?.["content"]
    return messages.length < 3
      ? nativeAnswer([thinking, { type: "text", text: "Let me look." }, use], { stop_reason: "tool_use" })
      : nativeAnswer([{ type: "text", text: "Twenty degrees." }])
  })

const geminiConfig = ({ url }: ScriptedHost) => ({
  providers: { "google-ai-studio": { base_url: url, network: "private" as const, api_key: "k" } },
  models: [
    {
      id: "google/gemini-3-flash",
      context_length: 100_000,
      hosts: [
        {
          provider: "google-ai-studio",
          model: "gemini-3-flash",
          pricing: { prompt: "0.000001", completion: "0.000002" },
        },
      ],
    },
  ],
})

const clientOf = (gateway: TestGateway) =>
  new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: gateway.url.replace(/\/v1$/, "") } })

const joined = async (stream: AsyncGenerator<GenerateContentResponse>) => {
  const events: Array<GenerateContentResponse> = []
  for await (const event of stream) events.push(event)
  return { events, text: events.map((event) => event.text ?? "").join("") }
}

describe.each([
  ["a host of its form", "google/gemini-3-flash", gemini, geminiConfig],
  ["a chat host", "acme/small", chatHost, (host: ScriptedHost) => configFor({ acme: host })],
] as const)("to %s:", (_, model, start, config) => {
  let client: GoogleGenAI
  let host: ScriptedHost
  beforeAll(async () => {
    host = opened(start())
    client = clientOf(opened(await startGateway({ config: config(host) })))
  })

  const asked = "The weather in Bern?"
  const tools = { tools: [weather], thinkingConfig: { includeThoughts: true, thinkingBudget: 1024 } }
  const results = [{ functionResponse: { id: "c1", name: "weather", response: { output: "20" } } }]

  test("a function is called whole, and its result is answered", async () => {
    const first = await client.models.generateContent({ model, contents: asked, config: tools })
    expect(first.functionCalls).toEqual([{ id: "c1", name: "weather", args: { town: "Bern" } }])
    const thoughts = first.candidates?.[0]?.content?.parts?.filter(({ thought }) => thought === true)
    expect(thoughts?.map(({ text }) => text).join("")).toBe("Bern, then.")
    expect([first.modelVersion, first.usageMetadata?.totalTokenCount]).toEqual([model, 15])
    expect(first.responseId).toStartWith("gen-")
    const content = first.candidates?.[0]?.content ?? {}
    const contents = [{ role: "user", parts: [{ text: asked }] }, content, { role: "user", parts: results }]
    const second = await client.models.generateContent({ model, contents, config: tools })
    expect([second.text, second.candidates?.[0]?.finishReason]).toEqual(["Twenty degrees.", "STOP" as never])
  })

  test("the same in a chat that streams", async () => {
    const chat = client.chats.create({ model, config: tools })
    const first = await joined(await chat.sendMessageStream({ message: asked }))
    expect(first.events.flatMap(({ functionCalls }) => functionCalls ?? [])).toEqual([
      { id: "c1", name: "weather", args: { town: "Bern" } },
    ])
    expect(first.events.at(-1)?.usageMetadata).toMatchObject({ totalTokenCount: 15 })
    const second = await joined(await chat.sendMessageStream({ message: results }))
    expect(second.text).toBe("Twenty degrees.")
    expect(second.events.at(-1)?.candidates?.[0]?.finishReason).toBe("STOP" as never)
  })

  test("an image, a choice and JSON", async () => {
    const config = {
      tools: [weather],
      toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } },
      systemInstruction: "Be brief.",
      temperature: 0.5,
      responseMimeType: "application/json",
      responseJsonSchema: { type: "object" },
    }
    const image = { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } }
    const answer = await client.models.generateContent({ model, contents: [image, "What is it?"], config })
    expect(answer.functionCalls).toHaveLength(1)
  })

  test("tokens are counted", async () => {
    const { totalTokens } = await client.models.countTokens({ model, contents: "One two three four five" })
    expect(totalTokens).toBeGreaterThan(2)
  })

  test("an error has Google's words", async () => {
    const failed = await client.models.generateContent({ model: "acme/none", contents: "hi" }).catch((error) => error)
    expect(failed).toBeInstanceOf(ApiError)
    expect(failed.status).toBe(400)
    expect(JSON.parse(failed.message).error).toMatchObject({ code: 400, status: "INVALID_ARGUMENT" })
  })
})

test("models are listed and read, and texts become vectors", async () => {
  const host = opened(scriptedHost(answerOfEveryRoute))
  const gateway = opened(await startGateway({ config: configOfEveryRoute(host) }))
  const baseUrl = gateway.url.replace(/\/v1$/, "")
  const client = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl, apiVersion: "v1beta" } })
  const names: Array<string | undefined> = []
  for await (const { name } of await client.models.list({ config: { pageSize: 2 } })) names.push(name)
  expect(names).toContain("models/acme/embeddings")
  expect((await client.models.get({ model: "acme/small" })).name).toBe("models/acme/small")
  const { embeddings } = await client.models.embedContent({ model: "acme/embeddings", contents: ["a"] })
  expect(embeddings).toEqual([{ values: [0.5] }])
})

test("Claude's thinking comes back where it was, shown or not", async () => {
  const host = opened(claude())
  const gateway = opened(await startGateway({ config: messagesConfig({ claude: host }) }))
  const client = clientOf(gateway)
  const model = "acme/small"
  for (const includeThoughts of [true, false]) {
    const config = {
      tools: [weather],
      maxOutputTokens: 4096,
      thinkingConfig: { includeThoughts, thinkingBudget: 1024 },
    }
    const chat = client.chats.create({ model, config })
    const first = await chat.sendMessage({ message: "The weather in Bern?" })
    const parts = first.candidates?.[0]?.content?.parts ?? []
    expect(parts.some(({ text, thought }) => thought === true && text !== "")).toBe(includeThoughts)
    const result = { id: "toolu_1", name: "weather", response: { output: "20" } }
    expect((await chat.sendMessage({ message: [{ functionResponse: result }] })).text).toBe("Twenty degrees.")
    expect(seenByClaude).toEqual([thinking, { type: "text", text: "Let me look." }, use])
  }
})
