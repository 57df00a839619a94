/** Bedrock behind a whole gateway, over sockets. The host checks every signature with an implementation of its own. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { eventStreamEvent, eventStreamMessage } from "headgate/testing"
import { startGateway, type TestGateway } from "../../../test/support/gateways/gateway.ts"
import { signatureOf } from "../../../test/support/hosts/awsSignature.ts"

// What a test reads of a body it checks itself.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Anything = any

const secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
const model = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"

const usage = {
  inputTokens: 20,
  outputTokens: 10,
  cacheReadInputTokens: 100,
  cacheWriteInputTokens: 40,
  totalTokens: 170,
  cacheDetails: [{ ttl: "1h", inputTokens: 30 }],
}

const event = (name: string, data: object) => eventStreamEvent(name, JSON.stringify(data))
const delta = (contentBlockIndex: number, given: object) =>
  event("contentBlockDelta", { contentBlockIndex, delta: given })
const stop = (contentBlockIndex: number) => event("contentBlockStop", { contentBlockIndex })
const end = (stopReason: string) => [event("messageStop", { stopReason }), event("metadata", { usage })]
const throttled = eventStreamMessage(
  { ":message-type": "exception", ":exception-type": "throttlingException" },
  '{"message":"slow down"}',
)

const thinking = [
  delta(0, { reasoningContent: { text: "Rome, " } }),
  delta(0, { reasoningContent: { text: "then." } }),
  delta(0, { reasoningContent: { signature: "c2lnbmVk+/=" } }),
  stop(0),
  delta(1, { reasoningContent: { redactedContent: "aGlkZGVu" } }),
  stop(1),
]
const call = [
  event("contentBlockStart", { contentBlockIndex: 3, start: { toolUse: { toolUseId: "tooluse_1", name: "weather" } } }),
  delta(3, { toolUse: { input: '{"city":' } }),
  delta(3, { toolUse: { input: '"Rome"}' } }),
  stop(3),
]
const start = event("messageStart", { role: "assistant" })
const said = [delta(2, { text: "Let me " }), delta(2, { text: "look 🌞" }), stop(2)]

const streams: Record<string, ReadonlyArray<Uint8Array>> = {
  all: [start, ...thinking, ...said, ...call, ...end("tool_use")],
  "throttled at once": [throttled],
  "throttled later": [start, ...said, throttled],
  "wrong checksum": [start, ...said, end("end_turn")[0]?.map((byte, at) => (at === 40 ? byte ^ 1 : byte)) ?? start],
  cut: [start, ...said, end("end_turn")[0]?.subarray(0, 30) ?? start],
}

const whole = {
  output: {
    message: {
      role: "assistant",
      content: [
        { reasoningContent: { reasoningText: { text: "Rome, then.", signature: "c2lnbmVk+/=" } } },
        { reasoningContent: { redactedContent: "aGlkZGVu" } },
        { text: "Let me look 🌞" },
        { toolUse: { toolUseId: "tooluse_1", name: "weather", input: { city: "Rome" } } },
      ],
    },
  },
  stopReason: "tool_use",
  usage,
}

const wrapped = (data: object) => event("chunk", { bytes: Buffer.from(JSON.stringify(data)).toString("base64") })
const ownForm = [
  wrapped({
    type: "message_start",
    message: { role: "assistant", content: [], usage: { input_tokens: 20, output_tokens: 1 } },
  }),
  wrapped({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
  wrapped({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello 🌞" } }),
  wrapped({ type: "content_block_stop", index: 0 }),
  wrapped({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 10 } }),
  wrapped({ type: "message_stop" }),
]

const calls: Array<{ readonly target: string; readonly headers: Headers; readonly body: Anything }> = []

const refusal = (status: number, name: string, message: string) =>
  Response.json({ message }, { status, headers: { "x-amzn-errortype": `${name}:http://internal.amazon.com/coral/` } })

/** Sends the pieces of a stream in reads that have nothing to do with its messages. */
const inOddReads = (frames: ReadonlyArray<Uint8Array>): Response => {
  const bytes = Uint8Array.from(Buffer.concat(frames))
  let at = 0
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (at >= bytes.length) return controller.close()
      controller.enqueue(bytes.slice(at, at + 97))
      at += 97
    },
  })
  return new Response(body, { headers: { "content-type": "application/vnd.amazon.eventstream" } })
}

const host = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => {
    const body = await request.text()
    const { headers, method, url } = request
    const target = url.slice(new URL(url).origin.length)
    const authorization = headers.get("authorization") ?? ""
    const { isValid, scope, time, names } = signatureOf({ method, target, headers, body }, secret)
    const isSigned = isValid && scope === "eu-west-1/bedrock" && names.includes("host") && /^\d{8}T\d{6}Z$/.test(time)
    if (!isSigned && authorization !== "Bearer bedrock-api-key-1") {
      return refusal(403, "InvalidSignatureException", `The signature of ${authorization} does not match`)
    }
    const parsed = JSON.parse(body)
    calls.push({ target, headers, body: parsed })
    if (target.includes("titan")) return Response.json({ embedding: [0.5, 0.25], inputTextTokenCount: 7 })
    if (target.includes("/invoke")) return inOddReads(ownForm)
    if (target.endsWith("/converse")) return Response.json(whole)
    return inOddReads(streams[parsed.system?.[0]?.text] ?? streams["all"] ?? [])
  },
})

const provider = (more: object) => ({
  plugin: "bedrock",
  base_url: `http://127.0.0.1:${host.port}`,
  network: "private" as const,
  region: "eu-west-1",
  ...more,
})
const keys = { access_key_id: "AKIDEXAMPLE", secret_access_key: secret, session_token: "session+token/of=aws" }
const pricing = {
  prompt: "0.000003",
  completion: "0.000015",
  input_cache_read: "0.0000003",
  input_cache_write: "0.00000375",
  input_cache_write_1h: "0.000006",
}
const modelOf = (id: string, providers: ReadonlyArray<string>, more: object = {}) => ({
  id,
  context_length: 200_000,
  hosts: providers.map((name) => ({ provider: name, model, pricing, max_completion_tokens: 4096 })),
  ...more,
})

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startGateway({
    config: {
      providers: {
        bedrock: provider(keys),
        // Of their own for each trouble, since a host that is throttled is left alone for a while.
        "throttled-1": provider({ ...keys, session_token: "one" }),
        "throttled-2": provider({ ...keys, session_token: "two" }),
        "throttled-3": provider(keys),
        broken: provider(keys),
        "own-form": provider({ ...keys, api: "messages" }),
        cut: provider(keys),
        bearer: provider({ api_key: "bedrock-api-key-1" }),
        both: provider({ ...keys, api_key: "bedrock-api-key-1" }),
        thief: provider({ ...keys, secret_access_key: "guessed" }),
      },
      models: [
        modelOf("acme/claude-sonnet-4.5", ["bedrock"]),
        modelOf("acme/claude-two-hosts", ["throttled-1", "throttled-2"]),
        modelOf("acme/claude-throttled-later", ["throttled-3"]),
        modelOf("acme/claude-wrong-checksum", ["broken"]),
        modelOf("acme/claude-cut", ["cut"]),
        modelOf("acme/claude-own-form", ["own-form"]),
        modelOf("acme/claude-bearer", ["bearer"]),
        modelOf("acme/claude-both", ["both"]),
        modelOf("acme/claude-thief", ["thief"]),
        {
          ...modelOf("acme/titan", ["bedrock"]),
          architecture: { input_modalities: ["text"], output_modalities: ["embeddings"] },
          hosts: [
            {
              provider: "bedrock",
              model: "amazon.titan-embed-text-v2:0",
              pricing: { prompt: "0.00000002", completion: "0" },
            },
          ],
        },
      ],
      routing: { strategy: "price" },
    },
  })
})

afterAll(async () => {
  await gateway.stop()
  await host.stop(true)
})

const weather = { type: "function", function: { name: "weather", parameters: { type: "object" } } }
const ask = { model: "acme/claude-sonnet-4.5", max_tokens: 3000, tools: [weather] }
const user = { role: "user", content: "How warm is it in Rome?" }

const chat = async (body: object): Promise<Anything> => {
  const response = await gateway.chat({ ...ask, messages: [user], ...body })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

const streamedChat = async (body: object): Promise<{ status: number; chunks: ReadonlyArray<Anything> }> => {
  const response = await gateway.chat({ ...ask, messages: [user], stream: true, ...body })
  const lines = (await response.text()).split("\n").filter((line) => line.startsWith("data: {"))
  return { status: response.status, chunks: lines.map((line) => JSON.parse(line.slice(6))) }
}

const instructed = (text: string) => ({ messages: [{ role: "system", content: text }, user] })

const joined = (chunks: ReadonlyArray<Anything>, name: string) =>
  chunks.map(({ choices }) => choices[0]?.delta[name] ?? "").join("")

const detailsIn = (chunks: ReadonlyArray<Anything>) =>
  chunks.flatMap(({ choices }) => choices[0]?.delta.reasoning_details ?? [])

const lastCall = (): (typeof calls)[number] => {
  const last = calls.at(-1)
  if (last === undefined) throw new Error("the host was not called")
  return last
}

const signedThought = [
  { reasoningContent: { reasoningText: { text: "Rome, then.", signature: "c2lnbmVk+/=" } } },
  { reasoningContent: { redactedContent: "aGlkZGVu" } },
]

// 20 tokens, 10 of the output, 100 read, 10 and 30 written.
const cost = 20 * 3 + 10 * 15 + 100 * 0.3 + 10 * 3.75 + 30 * 6

describe("a caller of the chat form", () => {
  test("whole: signed, answered, billed in four classes of tokens", async () => {
    const { status, body } = await chat({})
    expect(status).toBe(200)
    const { headers, target, body: sent } = lastCall()
    expect(target).toBe(`/model/${encodeURIComponent(model)}/converse`)
    expect(headers.get("x-amz-security-token")).toBe(keys.session_token)
    expect(sent.inferenceConfig.maxTokens).toBe(3000)
    const [{ message, finish_reason: finish }] = body.choices
    expect([message.content, message.reasoning, finish]).toEqual(["Let me look 🌞", "Rome, then.", "tool_calls"])
    expect(message.tool_calls).toEqual([
      { id: "tooluse_1", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } },
    ])
    expect(body.usage).toMatchObject({ prompt_tokens: 160, completion_tokens: 10, total_tokens: 170 })
    expect(body.usage.prompt_tokens_details).toMatchObject({ cached_tokens: 100, cache_write_tokens: 40 })
    expect(body.usage.cost * 1_000_000).toBeCloseTo(cost, 6)
  })

  test("streamed: the same, and the thinking goes back in the next turn byte for byte", async () => {
    const { status, chunks } = await streamedChat({})
    expect(status).toBe(200)
    expect(lastCall().target).toBe(`/model/${encodeURIComponent(model)}/converse-stream`)
    expect([joined(chunks, "content"), joined(chunks, "reasoning")]).toEqual(["Let me look 🌞", "Rome, then."])
    const last = chunks.findLast(({ usage: counted }) => counted)
    expect(last.usage).toMatchObject({ prompt_tokens: 160, completion_tokens: 10 })
    expect(last.usage.cost * 1_000_000).toBeCloseTo(cost, 6)
    const called = { id: "tooluse_1", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } }
    const assistant = {
      role: "assistant",
      content: "Let me look 🌞",
      tool_calls: [called],
      reasoning_details: detailsIn(chunks),
    }
    await chat({ messages: [user, assistant, { role: "tool", tool_call_id: "tooluse_1", content: "20" }] })
    expect(lastCall().body.messages).toEqual([
      { role: "user", content: [{ text: user.content }] },
      {
        role: "assistant",
        content: [
          ...signedThought,
          { text: "Let me look 🌞" },
          { toolUse: { toolUseId: "tooluse_1", name: "weather", input: { city: "Rome" } } },
        ],
      },
      { role: "user", content: [{ toolResult: { toolUseId: "tooluse_1", content: [{ text: "20" }] } }] },
    ])
  })

  test("an API key of Bedrock in place of a signature, also where there are keys to sign with", async () => {
    for (const name of ["bearer", "both"]) {
      const { status } = await chat({ model: `acme/claude-${name}` })
      expect(status).toBe(200)
      expect(lastCall().headers.get("authorization")).toBe("Bearer bedrock-api-key-1")
      expect(lastCall().headers.get("x-amz-date")).toBeNull()
    }
  })

  test("Claude in its own form, where the configuration says so", async () => {
    const { status, chunks } = await streamedChat({ model: "acme/claude-own-form" })
    expect([status, joined(chunks, "content")]).toEqual([200, "Hello 🌞"])
    const { target, body } = lastCall()
    expect(target).toBe(`/model/${encodeURIComponent(model)}/invoke-with-response-stream`)
    expect(body).toMatchObject({ anthropic_version: "bedrock-2023-05-31", max_tokens: 3000 })
    const counted = chunks.findLast(({ usage: its }) => its).usage
    expect(counted.cost * 1_000_000).toBeCloseTo(20 * 3 + 10 * 15, 6)
  })

  test("a wrong secret is the operator's matter: nothing of it is shown", async () => {
    const { status, body } = await chat({ model: "acme/claude-thief" })
    expect(status).toBe(502)
    for (const part of ["AKIDEXAMPLE", "Signature=", "guessed"]) expect(JSON.stringify(body)).not.toContain(part)
  })

  test("an exception before anything was said: another host answers", async () => {
    const before = calls.length
    const { status, chunks } = await streamedChat({
      model: "acme/claude-two-hosts",
      ...instructed("throttled at once"),
    })
    // Both are throttled, so the caller hears of it.
    expect(status).toBe(429)
    expect(chunks).toEqual([])
    expect(calls.slice(before).map(({ headers }) => headers.get("x-amz-security-token"))).toEqual(["one", "two"])
  })

  test.each(["throttled later", "wrong checksum", "cut"])("%s: the stream ends with an error", async (text) => {
    const { chunks } = await streamedChat({ model: `acme/claude-${text.replace(" ", "-")}`, ...instructed(text) })
    expect(joined(chunks, "content")).toBe("Let me look 🌞")
    expect(chunks.at(-1).error).toBeObject()
    expect(chunks.at(-1).choices[0].finish_reason).toBe("error")
  })
})

describe("a caller of the Messages form", () => {
  const messages = async (body: object): Promise<Response> =>
    gateway.call("/messages", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        model: ask.model,
        max_tokens: 3000,
        tools: [{ name: "weather", input_schema: { type: "object" } }],
        thinking: { type: "enabled", budget_tokens: 1024 },
        messages: [user],
        ...body,
      }),
    })

  test("whole: thinking, text and call as blocks, which survive a second turn", async () => {
    const answer: Anything = await (await messages({})).json()
    expect(answer.content[0]).toEqual({ type: "thinking", thinking: "Rome, then.", signature: "c2lnbmVk+/=" })
    expect(answer.content.at(-1)).toEqual({
      type: "tool_use",
      id: "tooluse_1",
      name: "weather",
      input: { city: "Rome" },
    })
    expect(answer.usage).toMatchObject({
      input_tokens: 20,
      output_tokens: 10,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 40,
    })
    const result = { type: "tool_result", tool_use_id: "tooluse_1", content: "20" }
    await messages({
      messages: [user, { role: "assistant", content: answer.content }, { role: "user", content: [result] }],
    })
    expect(lastCall().body.messages[1].content.slice(0, 2)).toEqual(signedThought)
  })

  test("streamed: the same", async () => {
    const text = await (await messages({ stream: true })).text()
    const events = text
      .split("\n")
      .filter((line) => line.startsWith("data: "))
      .map((line) => JSON.parse(line.slice(6)))
    const content: Array<Anything> = []
    for (const { type, index, content_block: begun, delta: piece } of events) {
      if (type === "content_block_start")
        content[index] = { ...begun, ...(begun.type === "tool_use" ? { input: "" } : {}) }
      if (type !== "content_block_delta") continue
      if (piece.type === "text_delta") content[index].text += piece.text
      if (piece.type === "thinking_delta") content[index].thinking += piece.thinking
      if (piece.type === "signature_delta")
        content[index].signature = (content[index].signature ?? "") + piece.signature
      if (piece.type === "input_json_delta") content[index].input += piece.partial_json
    }
    expect(content[0]).toEqual({ type: "thinking", thinking: "Rome, then.", signature: "c2lnbmVk+/=" })
    expect(content.find(({ type }) => type === "text").text).toBe("Let me look 🌞")
    const blocks = content.map((block) =>
      block.type === "tool_use" ? { ...block, input: JSON.parse(block.input) } : block,
    )
    const result = { type: "tool_result", tool_use_id: "tooluse_1", content: "20" }
    await messages({ messages: [user, { role: "assistant", content: blocks }, { role: "user", content: [result] }] })
    expect(lastCall().body.messages[1].content.slice(0, 2)).toEqual(signedThought)
  })
})

test("embeddings are signed and billed", async () => {
  const response = await gateway.call("/embeddings", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "acme/titan",
      input: "a",
      dimensions: 256,
      encoding_format: "float",
    }),
  })
  const body: Anything = await response.json()
  expect(response.status).toBe(200)
  expect(body.data).toMatchObject([{ index: 0, embedding: [0.5, 0.25] }])
  expect(body.usage.prompt_tokens).toBe(7)
  expect(lastCall().target).toBe("/model/amazon.titan-embed-text-v2%3A0/invoke")
})
