/** Names of tools that are longer than a host takes: MCP servers make names of up to 128 characters. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { type JsonObject, objectIn, objectsIn } from "../../src/domain/json/json.ts"
import { startGateway, type TestGateway } from "../support/gateways/gateway.ts"
import { chunkOf, type ScriptedHost, scriptedHost, sse } from "../support/hosts/host.ts"
import { responseObject } from "../support/hosts/responsesHost.ts"

// They differ at the end only, so a cut would make them alike.
const long = ["a", "b"].map(
  (letter) => `mcp__plugin_chrome-devtools-mcp_chrome-devtools__get_console_message_${letter}`,
)
const [first = ""] = long

let gateway: TestGateway
let host: ScriptedHost

/** The first tool's name, wherever the protocol has it. */
const firstTool = (body: JsonObject): string => {
  const [tool = {}] = objectsIn(objectIn(body["toolConfig"])["tools"] ?? body["tools"])
  const [declared = {}] = objectsIn(tool["functionDeclarations"])
  const inner = [tool["function"], tool["toolSpec"], declared, tool].map(objectIn)
  return String(inner.map(({ name }) => name).find((name) => name !== undefined))
}

const usage = { prompt_tokens: 1, completion_tokens: 1 }

/** Calls the first tool, in the words of the protocol in which it is asked. */
const calling = (body: JsonObject): Response => {
  const name = firstTool(body)
  if (body["contents"] !== undefined) {
    const content = { role: "model", parts: [{ functionCall: { name, args: {} } }] }
    const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 }
    return Response.json({ candidates: [{ content, finishReason: "STOP" }], usageMetadata })
  }
  if (body["toolConfig"] !== undefined) {
    const content = [{ toolUse: { toolUseId: "t1", name, input: {} } }]
    const used = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
    return Response.json({ output: { message: { role: "assistant", content } }, stopReason: "tool_use", usage: used })
  }
  if (body["input"] !== undefined)
    return Response.json(responseObject([{ type: "function_call", id: "fc_1", call_id: "c1", name, arguments: "{}" }]))
  const call = { id: "c1", type: "function", function: { name, arguments: "{}" } }
  if (body["stream"] === true)
    return sse([
      chunkOf({ delta: { tool_calls: [{ index: 0, ...call }] }, finish_reason: null }),
      chunkOf({ delta: {}, finish_reason: "tool_calls" }, { usage }),
      "[DONE]",
    ])
  if (objectsIn(body["tools"]).some((tool) => tool["input_schema"] !== undefined)) {
    const message = { id: "m", type: "message", role: "assistant", model: "m", stop_reason: "tool_use" }
    const content = [{ type: "tool_use", id: "t1", name, input: {} }]
    return Response.json({ ...message, content, usage: { input_tokens: 1, output_tokens: 1 } })
  }
  const message = { role: "assistant", content: null, tool_calls: [call] }
  return Response.json({ choices: [{ index: 0, message, finish_reason: "tool_calls" }], usage })
}

/** Providers whose hosts take 64 characters, and 128. */
const narrow = ["openai", "deepseek", "vllm", "bedrock", "google-ai-studio", "mistral"]
const wide = ["anthropic", "by-responses"]

beforeAll(async () => {
  host = scriptedHost((body) => calling(body))
  const server = { base_url: host.url, network: "private", api_key: "k" } as const
  const providers = {
    ...Object.fromEntries([...narrow, "anthropic"].map((slug) => [slug, server])),
    bedrock: { ...server, region: "us-east-1" },
    "by-responses": { ...server, plugin: "openai", api: "responses" },
  }
  const models = [...narrow, ...wide].map((provider) => ({
    id: `ours/${provider}`,
    context_length: 8192,
    hosts: [{ provider, model: "m", pricing: { prompt: "0", completion: "0" } }],
  }))
  gateway = await startGateway({ config: { providers, models } })
})
afterAll(async () => {
  await gateway.stop()
  await host.stop()
})

const schema = { type: "object", properties: {} }
const bodies: Readonly<Record<string, JsonObject>> = {
  "/chat/completions": {
    messages: [
      { role: "user", content: "hi" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c0", type: "function", function: { name: first, arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c0", content: "1" },
    ],
    tools: long.map((name) => ({ type: "function", function: { name, parameters: schema } })),
    tool_choice: { type: "function", function: { name: first } },
  },
  "/messages": {
    max_tokens: 100,
    messages: [
      { role: "user", content: "hi" },
      { role: "assistant", content: [{ type: "tool_use", id: "c0", name: first, input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c0", content: "1" }] },
    ],
    tools: long.map((name) => ({ name, input_schema: schema })),
    tool_choice: { type: "tool", name: first },
  },
  "/responses": {
    input: [
      { role: "user", content: "hi" },
      { type: "function_call", call_id: "c0", name: first, arguments: "{}" },
      { type: "function_call_output", call_id: "c0", output: "1" },
    ],
    tools: long.map((name) => ({ type: "function", name, parameters: schema })),
    tool_choice: { type: "function", name: first },
  },
}

const ask = async (path: string, provider: string, more: JsonObject = {}) => {
  const response = await gateway.call(path, {
    method: "POST",
    body: JSON.stringify({ model: `ours/${provider}`, ...bodies[path], ...more }),
    headers: { "content-type": "application/json" },
  })
  return { status: response.status, text: await response.text(), sent: JSON.stringify(host.calls.at(-1)?.body) }
}

/** The one name that an answer has. A Responses answer repeats the tools of its request. */
const calledIn = (text: string): unknown => {
  const names = new Set(namesIn(text.replace(/"tools":\[.*?\]/g, "")))
  return names.size === 1 ? [...names][0] : names
}

const namesIn = (text: string): ReadonlyArray<string> => text.match(/mcp__[\w-]+/g) ?? []

describe.each(Object.keys(bodies))("by %s", (path) => {
  test.each(narrow)("%s gets names of 64 characters, and the client its own", async (provider) => {
    const { status, text, sent } = await ask(path, provider)
    expect([status, calledIn(text)]).toEqual([200, first])
    const names = namesIn(sent)
    expect(new Set(names).size).toBe(2)
    expect(Math.max(...names.map(({ length }) => length))).toBe(64)
    // In a tool, the choice and the call of the history.
    expect(names.filter((name) => name === names[0]).length).toBeGreaterThanOrEqual(3)
  })

  test.each(wide)("%s gets them as they are", async (provider) => {
    const { status, text, sent } = await ask(path, provider)
    expect([status, calledIn(text), new Set(namesIn(sent))]).toEqual([200, first, new Set(long)])
  })

  test("a streamed call has the client's name", async () => {
    const { status, text, sent } = await ask(path, "vllm", { stream: true })
    expect([status, calledIn(text)]).toEqual([200, first])
    expect(namesIn(sent)).not.toContain(first)
  })
})
