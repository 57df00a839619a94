/** What each host is sent where it differs from the others, and errors of forms that only one host has. */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { HostFailed } from "../../src/domain/failures/Failure.ts"
import { isJsonObject, type JsonObject, objectsIn } from "../../src/domain/json/json.ts"
import { saidInOrder } from "../../src/formats/conversation.ts"
import type { Protocol } from "../../src/formats/Protocol.ts"
import type { Provider } from "../../src/plugin/Provider.ts"
import { pluginOf, providerOfPlugin } from "../support/hosts/providers.ts"
import { encodedBy, hostFor, requestWith } from "../support/recordings/recordings.ts"

const head = { status: 200, headers: new Headers() }
const hi = [{ role: "user", content: "hi" }]

const chatOf = ({ protocols: { chat } }: Provider): Protocol => {
  if (chat === undefined) throw new Error("no chat protocol")
  return chat
}

const sentTo = async (id: string, body: JsonObject, { model = "m", stream = false, maxTokens = 50 } = {}) =>
  encodedBy(
    chatOf(await providerOfPlugin(id)),
    requestWith({ messages: hi, ...body }, { stream, maxTokens }),
    hostFor(model),
  )

describe("reasoning is asked for in the host's own words", () => {
  const off = { effort: "none" }
  test.each<[id: string, model: string, reasoning: JsonObject, members: JsonObject]>([
    ["alibaba", "qwen3.8-max", { effort: "high" }, { enable_thinking: true }],
    ["alibaba", "qwen3.8-max", { max_tokens: 2000 }, { enable_thinking: true, thinking_budget: 2000 }],
    ["alibaba", "qwen3.8-max", off, { enable_thinking: false }],
    ["cerebras", "gpt-oss-120b", { effort: "max" }, { reasoning_effort: "high" }],
    ["cerebras", "zai-glm-4.7", off, { disable_reasoning: true }],
    ["deepseek", "deepseek-v4-pro", { effort: "max" }, { thinking: { type: "enabled" }, reasoning_effort: "max" }],
    ["deepseek", "deepseek-v4-pro", off, { thinking: { type: "disabled" } }],
    ["groq", "openai/gpt-oss-120b", { effort: "xhigh" }, { reasoning_effort: "high" }],
    ["groq", "qwen/qwen3-32b", { effort: "low" }, { reasoning_effort: "default", reasoning_format: "parsed" }],
    ["groq", "qwen/qwen3-32b", off, { reasoning_effort: "none", reasoning_format: "parsed" }],
    ["minimax", "MiniMax-M3", off, { reasoning_split: true, thinking: { type: "disabled" } }],
    ["mistral", "magistral-medium-latest", { effort: "low" }, { prompt_mode: "reasoning" }],
    ["mistral", "mistral-small-latest", { effort: "low" }, { reasoning_effort: "high" }],
    ["mistral", "mistral-small-latest", off, { reasoning_effort: "none" }],
    ["moonshotai", "kimi-k3", { effort: "medium" }, { reasoning_effort: "low" }],
    ["moonshotai", "kimi-k2.6", off, { thinking: { type: "disabled" } }],
    ["novita", "zai-org/glm-4.7", off, { enable_thinking: false }],
    ["nvidia", "deepseek-ai/deepseek-v4", off, { chat_template_kwargs: { enable_thinking: false, thinking: false } }],
    ["openrouter", "acme/small", { effort: "high", exclude: true }, { reasoning: { effort: "high", exclude: true } }],
    ["sglang", "m", { effort: "high" }, { chat_template_kwargs: { enable_thinking: true, thinking: true } }],
    ["together", "deepseek-ai/DeepSeek-V4", off, { reasoning: { enabled: false } }],
    ["together", "openai/gpt-oss-20b", { effort: "minimal" }, { reasoning_effort: "low" }],
    ["vllm", "m", { effort: "minimal" }, { reasoning_effort: "low" }],
    ["vllm", "m", off, { chat_template_kwargs: { enable_thinking: false } }],
    ["llamacpp", "m", { effort: "high" }, { reasoning_effort: "high" }],
    ["xai", "grok-4.3", off, { reasoning_effort: "none" }],
    ["xai", "grok-3-mini", { effort: "medium" }, { reasoning_effort: "low" }],
    ["z-ai", "glm-5.1", { effort: "high" }, { thinking: { type: "enabled" } }],
  ])("%s, %s, %j", async (id, model, reasoning, members) => {
    const { body, dropped } = await sentTo(id, { reasoning }, { model })
    const { messages: _, model: __, stream: ___, max_tokens: ____, max_completion_tokens: _____, ...rest } = body
    expect(rest).toEqual(members)
    expect(dropped).toEqual([])
  })

  test.each([
    ["minimax", "MiniMax-M2.5", "high"],
    ["moonshotai", "moonshot-v1-8k", "high"],
    ["moonshotai", "kimi-k3", "none"],
    ["xai", "grok-4-0709", "high"],
    ["cerebras", "llama-3.3-70b", "high"],
    ["groq", "openai/gpt-oss-20b", "none"],
  ])("%s, %s cannot do %s, and says so", async (id, model, effort) => {
    expect((await sentTo(id, { reasoning_effort: effort }, { model })).dropped).toEqual(["reasoning_effort"])
  })

  test("what the caller wrote in the host's words does not take the place of what the protocol writes", async () => {
    const written = { reasoning_effort: "high", thinking: { type: "disabled" }, reasoning_split: false }
    const deepseek = await sentTo("deepseek", written)
    expect(deepseek.body["thinking"]).toEqual({ type: "enabled" })
    expect(deepseek.dropped).toContain("thinking")
    const minimax = await sentTo("minimax", written)
    expect([minimax.body["reasoning_split"], minimax.dropped?.includes("reasoning_split")]).toEqual([true, true])
    const alone = await sentTo("deepseek", { thinking: { type: "disabled" } })
    expect(alone.body["thinking"]).toEqual({ type: "disabled" })
  })
})

describe("the bound of the output has the host's name", () => {
  const newer = new Set(["azure", "cerebras", "groq", "minimax", "moonshotai", "xai"])
  const all = [
    "alibaba",
    "deepseek",
    "fireworks",
    "huggingface",
    "mistral",
    "openrouter",
    "together",
    "vllm",
    "z-ai",
    ...newer,
  ]
  test.each(all)("%s", async (id) => {
    const { body } = await sentTo(id, { max_tokens: 9 }, { maxTokens: 77 })
    expect([body["max_tokens"], body["max_completion_tokens"]]).toEqual(
      newer.has(id) ? [undefined, 77] : [77, undefined],
    )
  })
})

describe("members that the host refuses are left out, and named", () => {
  const body = {
    top_k: 4,
    logit_bias: { 5: 1 },
    frequency_penalty: 0.5,
    seed: 3,
    x_unknown: 1,
    cache_control: { type: "ephemeral" },
  }
  test.each([
    ["groq", ["top_k", "logit_bias", "cache_control"]],
    ["cerebras", ["top_k", "logit_bias", "frequency_penalty", "cache_control"]],
    ["fireworks", ["cache_control"]],
    ["mistral", ["top_k", "logit_bias", "x_unknown", "cache_control"]],
    ["azure", ["top_k", "cache_control"]],
    ["together", []],
  ])("%s", async (id, dropped) => {
    expect((await sentTo(id, body)).dropped).toEqual(dropped)
  })

  test("in messages, too", async () => {
    const messages = [
      { role: "user", name: "Ada", content: [{ type: "text", text: "a", cache_control: { type: "ephemeral" } }] },
      { role: "assistant", content: "b", reasoning: "r", reasoning_details: [{ type: "reasoning.text", text: "r" }] },
    ]
    expect((await sentTo("groq", { messages })).body["messages"]).toEqual([
      { role: "user", content: [{ type: "text", text: "a" }] },
      { role: "assistant", content: "b", reasoning: "r" },
    ])
    expect((await sentTo("deepseek", { messages })).body["messages"]).toEqual([
      messages[0],
      { role: "assistant", content: "b", reasoning_content: "r" },
    ])
    expect((await sentTo("fireworks", { messages })).body["messages"]).toEqual([
      { role: "user", name: "Ada", content: [{ type: "text", text: "a" }] },
      { role: "assistant", content: "b", reasoning_content: "r" },
    ])
    expect((await sentTo("openrouter", { messages })).body["messages"]).toEqual(messages)
  })
})

describe("MiniMax", () => {
  const failure = (code: number) => ({ id: "1", choices: null, base_resp: { status_code: code, status_msg: "said" } })

  test.each([
    [1002, "rate-limited", "said"],
    [1008, "account", undefined],
    [1027, "request", "said"],
    [1000, "overloaded", undefined],
  ] as const)("its error %d with status 200 is %s, whole and streamed", async (code, reason, detail) => {
    const provider = await providerOfPlugin("minimax")
    const context = { request: requestWith({}), host: hostFor("m") }
    const whole = chatOf(provider).decode(head, failure(code), context)
    const streamed = chatOf(provider).decoder(head, context).event("", failure(code))
    for (const one of [whole, streamed]) {
      if (!(one instanceof HostFailed)) throw new Error("no failure")
      expect([one.reason, one.detail, one.code]).toEqual([reason, detail, String(code)])
    }
  })

  test("is no error where its code is 0", async () => {
    const body = {
      choices: [{ index: 0, message: { content: "hi" }, finish_reason: "stop" }],
      base_resp: { status_code: 0, status_msg: "" },
    }
    const context = { request: requestWith({}), host: hostFor("m") }
    expect(chatOf(await providerOfPlugin("minimax")).decode(head, body, context)).toMatchObject({
      choices: [{ message: { content: "hi" } }],
    })
  })
})

describe("Mistral", () => {
  test("takes no images of an answer, which are named", async () => {
    const images = [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }]
    const messages = [...hi, { role: "assistant", content: "Here.", images }, ...hi]
    expect((await sentTo("mistral", { messages })).dropped).toEqual(["messages[1].images"])
  })

  test("gets messages of its own form", async () => {
    const messages = [
      { role: "developer", content: "Be brief.", name: "x" },
      {
        role: "user",
        content: [
          { type: "text", text: "a", cache_control: { type: "ephemeral" } },
          { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" } },
          { type: "file", file: { file_data: "data:text/plain;base64,aGk=" } },
          { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
        ],
      },
      {
        role: "assistant",
        content: "b",
        reasoning: "r",
        refusal: null,
        annotations: [],
        tool_calls: [
          { id: "call_0123456789", type: "function", function: { name: "f", arguments: "{}" } },
          { id: "abcDEF123", type: "function", function: { name: "f", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "call_0123456789", content: "1", name: "f" },
      { role: "tool", tool_call_id: "abcDEF123", content: "2" },
      { role: "assistant", content: "It is" },
    ]
    const { body, dropped } = await sentTo("mistral", {
      messages,
      seed: 3,
      tools: [{ type: "function", function: { name: "f" } }],
      tool_choice: "required",
    })
    const id = expect.stringMatching(/^[A-Za-z0-9]{9}$/)
    expect(body).toEqual({
      model: "m",
      messages: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "a" },
            { type: "document_url", document_url: "data:application/pdf;base64,AAAA", document_name: "a.pdf" },
            { type: "text", text: "hi" },
            { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: [{ type: "text", text: "r" }] },
            { type: "text", text: "b" },
          ],
          tool_calls: [
            { id, type: "function", function: { name: "f", arguments: "{}" } },
            { id: "abcDEF123", type: "function", function: { name: "f", arguments: "{}" } },
          ],
        },
        { role: "tool", tool_call_id: id, content: "1", name: "f" },
        { role: "tool", tool_call_id: "abcDEF123", content: "2" },
        { role: "assistant", content: "It is", prefix: true },
      ],
      random_seed: 3,
      tools: [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }],
      tool_choice: "any",
      max_tokens: 50,
      stream: false,
    })
    const [, , called, answered] = body["messages"] as ReadonlyArray<Record<string, never>>
    expect(Object(called?.["tool_calls"])[0].id).toBe(answered?.["tool_call_id"])
    expect(dropped).toEqual(["cache_control", "messages[0].name"])
  })

  test("takes no video", async () => {
    const video = { type: "video_url", video_url: { url: "https://example.com/a.mp4" } }
    const request = requestWith({ messages: [...hi, { role: "user", content: [video] }] })
    const refused = chatOf(await providerOfPlugin("mistral")).encode(request, hostFor("m"))
    expect(Either.isLeft(refused) && refused.left).toMatchObject({ path: "messages[1].content[0]" })
  })

  test("does not ask for the usage of a stream, and reads its own finish reasons", async () => {
    expect((await sentTo("mistral", {}, { stream: true })).body).not.toHaveProperty("stream_options")
    const body = { choices: [{ index: 0, message: { content: "hi" }, finish_reason: "model_length" }] }
    const context = { request: requestWith({}), host: hostFor("m") }
    expect(chatOf(await providerOfPlugin("mistral")).decode(head, body, context)).toMatchObject({
      choices: [{ finish_reason: "length", native_finish_reason: "model_length" }],
    })
  })
})

describe("Azure", () => {
  const load = (config: object): Provider => {
    const loaded = Either.getOrThrow(pluginOf("azure").load(config))
    if (loaded instanceof Promise) throw new Error("it comes later")
    return loaded
  }
  const pathOf = (provider: Provider) =>
    encodedBy(chatOf(provider), requestWith({ messages: hi }), hostFor("my gpt")).path

  test("is called by its v1 API", () => {
    const provider = load({ resource: "acme" })
    expect(provider.baseUrl).toBe("https://acme.openai.azure.com/openai/v1")
    expect(pathOf(provider)).toBe("/chat/completions")
    expect(Object.keys(provider.protocols)).toEqual(["chat", "mistral", "responses", "messages"])
    expect(provider.protocols["messages"]?.baseUrl).toBe("https://acme.services.ai.azure.com/anthropic/v1")
  })

  test("is called by the paths of its deployments where there is a version", () => {
    const provider = load({ resource: "acme", api_version: "2025-04-01-preview" })
    expect(provider.baseUrl).toBe("https://acme.openai.azure.com/openai")
    expect(pathOf(provider)).toBe("/deployments/my%20gpt/chat/completions?api-version=2025-04-01-preview")
  })

  test("has no address without a resource, and takes no resource that is a whole address", () => {
    expect(load({}).baseUrl).toBeUndefined()
    expect(Either.isLeft(pluginOf("azure").load({ resource: "evil.example/x" }))).toBe(true)
    expect(Either.isLeft(pluginOf("azure").load({ api_version: "../x" }))).toBe(true)
  })
})

describe("Cloudflare", () => {
  test("has the account in its address, and nothing else", async () => {
    expect((await providerOfPlugin("cloudflare")).baseUrl).toBe(
      "https://api.cloudflare.com/client/v4/accounts/acme/ai/v1",
    )
    for (const id of ["", "../x", "a/b", "a?b", 7]) {
      expect(Either.isLeft(pluginOf("cloudflare").load({ account_id: id }))).toBe(true)
    }
    expect(Either.isLeft(pluginOf("cloudflare").load({}))).toBe(true)
  })
})

describe("instructions and histories that vendors refuse", () => {
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } }
  const other = { type: "reasoning.encrypted", data: "xyz", format: "openai-responses-v1" }
  const history = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "hi" },
    { role: "assistant", content: null, reasoning_details: [other], tool_calls: [call] },
    { role: "developer", content: "Be kind." },
    { role: "tool", tool_call_id: "c", content: "1" },
  ]
  const sentRoles = async (id: string, model = "m") => {
    const { messages } = (await sentTo(id, { messages: history }, { model })).body
    return objectsIn(messages).map(({ role, content }) => (role === "system" ? `system: ${content}` : role))
  }

  test.each([
    ...["alibaba", "together", "xai", "groq", "vllm", "llamacpp", "sglang", "openai-compatible", "lmstudio"],
    ...["fireworks", "cerebras", "deepinfra", "novita", "nvidia", "minimax", "nebius"],
  ])("H5: %s gets one leading system message", async (id) => {
    // What comes later is said by the user in its place. docs/decisions/0102
    expect(await sentRoles(id)).toEqual(["system: Be brief.", "user", "assistant", "tool", "user"])
  })

  test.each(["deepseek", "moonshotai", "z-ai", "mistral"])("H5, H17: %s gets no developer", async (id) => {
    expect(await sentRoles(id)).toEqual(["system: Be brief.", "user", "assistant", "tool", "system: Be kind."])
  })

  test.each([
    ["deepseek", "deepseek-v4-pro", ""],
    ["moonshotai", "kimi-k2.6", " "],
    ["moonshotai", "kimi-k2-thinking", " "],
    ["moonshotai", "kimi-k3", " "],
    ["moonshotai", "moonshot-v1-8k", undefined],
    ["z-ai", "glm-5.1", undefined],
  ])("H8: %s, %s: a call of another vendor's model has %p for its reasoning", async (id, model, reasoning) => {
    const { messages } = (await sentTo(id, { messages: history }, { model })).body
    const assistant = objectsIn(messages).find(({ role }) => role === "assistant")
    expect(assistant?.["reasoning_content"]).toBe(reasoning)
  })

  test("H8: nothing is filled in where thinking is off", async () => {
    const off = { messages: history, reasoning: { effort: "none" } }
    const { messages } = (await sentTo("deepseek", off, { model: "deepseek-v4-pro" })).body
    expect(objectsIn(messages).some((message) => "reasoning_content" in message)).toBe(false)
  })
})

describe("the order of an assistant's parts (G39)", () => {
  const call = { id: "abcDEF123", type: "function", function: { name: "f", arguments: "{}" } }
  const thought = (text: string) => ({ type: "reasoning.text", text, format: "cohere-v2" }) as const
  const said = {
    role: "assistant",
    ...saidInOrder([
      { type: "content", content: { type: "text", text: "First." } },
      { type: "reasoning", details: [thought("A")] },
      { type: "content", content: { type: "text", text: "Then." } },
      { type: "reasoning", details: [thought("B")] },
      { type: "call", call },
    ]),
  }
  const lost = { ...said, content: "Changed." }
  const sentMessage = async (id: string, message: JsonObject) => {
    const { body, dropped } = await sentTo(id, { messages: [...hi, message, ...hi] })
    return { message: objectsIn(body["messages"])[1], text: JSON.stringify(body), dropped }
  }
  const text = (of: string) => ({ type: "text", text: of })
  const thinking = {
    mistral: (of: string) => ({ type: "thinking", thinking: [text(of)] }),
    cohere: (of: string) => ({ type: "thinking", thinking: of }),
  }

  test.each(["mistral", "cohere"] as const)("%s gets it", async (id) => {
    const { message, dropped, text: body } = await sentMessage(id, said)
    expect(message?.["content"]).toEqual([text("First."), thinking[id]("A"), text("Then."), thinking[id]("B")])
    expect(dropped).toEqual([])
    expect(body).not.toContain("headgate-order")
  })

  test.each(["mistral", "cohere", "ollama"])("%s: where it is lost, it is named", async (id) => {
    const { dropped, text: body } = await sentMessage(id, lost)
    expect(dropped).toEqual(["order"])
    expect(body).not.toContain("headgate-order")
  })

  test("Ollama has no order, and gets reasoning, text and calls", async () => {
    const { message } = await sentMessage("ollama", said)
    expect(message).toMatchObject({ content: "First.Then.", thinking: "AB", tool_calls: [{ function: { name: "f" } }] })
  })

  test("mistral, cohere: a refusal stays a turn (F7)", async () => {
    for (const id of ["mistral", "cohere"]) {
      const { message } = await sentMessage(id, { role: "assistant", content: null, refusal: "No." })
      expect(JSON.stringify(message)).toContain("No.")
    }
  })
})

test("H17: DeepSeek, which knows no schemas, is asked for JSON and told the schema", async () => {
  const schema = { type: "object", properties: { n: { type: "number" } } }
  const format = { type: "json_schema", json_schema: { name: "answer", strict: true, schema } }
  const { body, dropped } = await sentTo("deepseek", { response_format: format })
  expect(body["response_format"]).toEqual({ type: "json_object" })
  expect(body["messages"]).toEqual([
    { role: "system", content: expect.stringContaining(JSON.stringify(schema)) },
    ...hi,
  ])
  expect(dropped).toEqual(["response_format.json_schema.strict"])
  const plain = await sentTo("deepseek", { response_format: { type: "json_object" } })
  expect([plain.body["response_format"], plain.body["messages"], plain.dropped]).toEqual([
    { type: "json_object" },
    hi,
    [],
  ])
})

describe("custom tools and allowed_tools (F7)", () => {
  const tool = (name: string) => ({
    type: "function",
    function: { name, parameters: { type: "object", properties: {} } },
  })
  const custom = { type: "custom", custom: { name: "patch" } }
  const chosen = (mode: string, ...names: ReadonlyArray<string>) => ({
    type: "allowed_tools",
    allowed_tools: { mode, tools: names.map((name) => ({ type: "function", function: { name } })) },
  })
  const namesIn = (tools: unknown) =>
    objectsIn(tools).map((one) => (isJsonObject(one["function"]) ? one["function"]["name"] : one["type"]))
  const required: Readonly<Record<string, unknown>> = { mistral: "any", cohere: "REQUIRED", ollama: undefined }

  test.each(["deepseek", "groq", "mistral", "cohere", "ollama", "alibaba"])(
    "%s gets the tools that are allowed",
    async (id) => {
      const { body, dropped } = await sentTo(id, {
        tools: [tool("a"), tool("b"), custom, tool("c")],
        tool_choice: chosen("required", "a", "c"),
      })
      expect(namesIn(body["tools"])).toEqual(["a", "c"])
      expect(body["tool_choice"]).toBe(id in required ? required[id] : "required")
      expect(dropped).not.toContain("tools[2]")
    },
  )

  test.each([
    ...["deepseek", "mistral", "cohere", "ollama", "minimax"].map((id) => [id, "chat"] as const),
    ...([
      ["anthropic", "messages"],
      ["google-ai-studio", "generate_content"],
    ] as const),
  ])("%s gets a custom tool as a function, by its choice, and its earlier call (%s)", async (id, name) => {
    const { protocols } = await providerOfPlugin(id)
    const protocol = protocols[name] ?? expect.unreachable()
    const call = { id: "c1", type: "custom", custom: { name: "patch", input: "*** Begin" } }
    const messages = [
      ...hi,
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c1", content: "ok" },
    ]
    const tool_choice = { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [custom] } }
    const asked = requestWith({ messages, tools: [tool("a"), custom], tool_choice })
    const { body, dropped } = encodedBy(protocol, asked, hostFor("m"))
    const written = JSON.stringify(body)
    expect(written).toContain("Takes free text, given as `input`.")
    expect(written).toMatch(/\*\*\* Begin/)
    expect(written).not.toContain('"custom"')
    expect(dropped?.filter((name) => /tool/.test(name))).toEqual([])
  })

  test.each(["openai", "azure", "openrouter", "openai-compatible", "vllm"])("%s gets both as they are", async (id) => {
    const written = { tools: [tool("a"), custom], tool_choice: chosen("auto", "a") }
    const { body, dropped } = await sentTo(id, written)
    expect([body["tools"], body["tool_choice"], dropped]).toEqual([written.tools, written.tool_choice, []])
  })
})

describe("what a host lacks is named (F7)", () => {
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA==", detail: "low" } }
  const strict = { type: "function", function: { name: "f", strict: true } }
  const loose = { type: "function", function: { name: "g" } }
  const written = {
    messages: [{ role: "user", name: "Ann", content: [{ type: "text", text: "hi" }, image] }],
    tools: [strict, loose],
  }
  test.each([
    ["ollama", ["messages[0].name", "messages[0].content[1].image_url.detail", "tools[0].function.strict"]],
    ["cohere", ["messages[0].name", "tools[0].function.strict"]],
    ["mistral", ["messages[0].name"]],
    ["openai-compatible", []],
  ])("%s: %j", async (id, dropped) => {
    expect((await sentTo(id, written)).dropped).toEqual([...dropped])
  })
})

test("G39: an answer of Cohere keeps its parts in order, whole and streamed, and gets them back", async () => {
  const blocks = [
    { type: "thinking", thinking: "A" },
    { type: "text", text: "One." },
    { type: "thinking", thinking: "B" },
    { type: "text", text: "Two." },
  ]
  const chat = chatOf(await providerOfPlugin("cohere"))
  const context = { request: requestWith({ messages: hi }), host: hostFor("m") }
  const whole = chat.decode(
    head,
    { message: { role: "assistant", content: blocks }, finish_reason: "COMPLETE" },
    context,
  )
  if (whole instanceof HostFailed) throw whole
  const decoder = chat.decoder(head, context)
  const chunks = [
    ...blocks.map((content, index) => ({ type: "content-start", index, delta: { message: { content } } })),
    { type: "message-end", delta: { finish_reason: "COMPLETE" } },
  ].map((event) => decoder.event("", event))
  const deltas = chunks.flatMap((said) =>
    said instanceof HostFailed ? [] : said.map(({ choices }) => choices[0]?.delta),
  )
  const { content, reasoning_details } = whole.choices[0]?.message ?? {}
  const streamed = {
    content: deltas.map((delta) => delta?.content ?? "").join(""),
    reasoning_details: deltas.flatMap((delta) => delta?.reasoning_details ?? []),
  }
  expect(streamed).toEqual({ content: content ?? "", reasoning_details: [...(reasoning_details ?? [])] })
  for (const said of [{ content, reasoning_details }, streamed]) {
    const { body, dropped } = await sentTo("cohere", { messages: [...hi, { role: "assistant", ...said }, ...hi] })
    expect(objectsIn(body["messages"])[1]?.["content"]).toEqual(blocks)
    expect(dropped).toEqual([])
  }
})
