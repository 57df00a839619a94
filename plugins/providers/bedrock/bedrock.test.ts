import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import { type Host, HostFailed, type JsonObject, type Provider } from "headgate/plugin"
import { encodedBy, hostFor, requestWith } from "../../../test/support/recordings.ts"
import { converse } from "./converse.ts"
import { embeddings } from "./embeddings.ts"
import bedrock from "./index.ts"
import { messages } from "./messages.ts"

// What a test reads of a body it checks itself.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Anything = any

const loaded = (config: JsonObject): Promise<Provider> => Promise.resolve(Either.getOrThrow(bedrock.load(config)))
const refused = (config: JsonObject): string => String(Either.getLeft(bedrock.load(config)))

const claude = "anthropic.claude-sonnet-4-5-20250929-v1:0"
const nova = "us.amazon.nova-2-lite-v1:0"
const llama = "meta.llama3-3-70b-instruct-v1:0"
const user = { role: "user", content: "Hi" }

const sent = (body: JsonObject, model: string | Host = claude, more: Anything = {}): Anything => {
  const host = typeof model === "string" ? hostFor(model) : model
  return encodedBy(converse, requestWith({ messages: [user], ...body }, more), host)
}

const unsupported = (body: JsonObject, model = claude): Anything =>
  Either.match(converse.encode(requestWith({ messages: [user], ...body }), hostFor(model)), {
    onLeft: ({ path, reason }) => [path, reason],
    onRight: () => "carried",
  })

const weather = { type: "function", function: { name: "weather", parameters: { properties: { city: {} } } } }
const called = { id: "call.1", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } }
const asked = [
  user,
  { role: "assistant", content: null, tool_calls: [called] },
  { role: "tool", tool_call_id: "call.1", content: "12" },
]

describe("the plugin", () => {
  test("has the address of its region", async () => {
    expect((await loaded({ region: "eu-west-1" })).baseUrl).toBe("https://bedrock-runtime.eu-west-1.amazonaws.com")
    expect((await loaded({ region: "cn-north-1" })).baseUrl).toBe("https://bedrock-runtime.cn-north-1.amazonaws.com.cn")
  })

  test("needs a region, and keys in pairs", () => {
    expect(refused({})).toContain("region")
    expect(refused({ region: "evil.example/" })).toContain("is not a region")
    expect(refused({ region: "eu-west-1", access_key_id: "a" })).toContain("secret_access_key")
    expect(refused({ region: "eu-west-1", session_token: "a" })).toContain("access_key_id")
  })

  test("signs only with keys, and hands them to the gateway as secrets", async () => {
    expect((await loaded({ region: "eu-west-1" })).sign).toBeUndefined()
    const keys = { access_key_id: "AKID", secret_access_key: "secret", session_token: "token" }
    const { sign, credentials } = await loaded({ region: "eu-west-1", ...keys })
    expect(sign).toBeFunction()
    expect(Object.values(credentials ?? {}).map(Redacted.value)).toEqual(Object.values(keys))
  })
})

describe("a request", () => {
  test.each([
    [claude, false, "/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse"],
    [
      "arn:aws:bedrock:us-east-1:1:inference-profile/a",
      true,
      "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fa/converse-stream",
    ],
  ])("to %s (stream: %p) goes to %s", (model, stream, path) => {
    expect(sent({}, model, { stream }).path).toBe(path)
    expect(sent({}, model, { stream }).headers?.accept).toBe(stream ? "application/vnd.amazon.eventstream" : undefined)
  })

  test("carries a conversation: instructions apart, one turn for each change of role", () => {
    const messages = [
      { role: "system", content: "Be brief." },
      ...asked,
      {
        role: "tool",
        tool_call_id: "b",
        content: [
          { type: "text", text: "no" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
        ],
        is_error: true,
      },
      {
        role: "user",
        content: [
          { type: "text", text: " " },
          { type: "text", text: "And?" },
        ],
      },
      { role: "assistant", content: "It is \n" },
    ]
    const { body, dropped } = sent({ messages, tools: [weather], stop: "END", temperature: 0.5, max_tokens: 7 })
    expect(dropped).toEqual([])
    expect(body).toEqual({
      system: [{ text: "Be brief." }],
      messages: [
        { role: "user", content: [{ text: "Hi" }] },
        {
          role: "assistant",
          content: [{ toolUse: { toolUseId: "call_1", name: "weather", input: { city: "Oslo" } } }],
        },
        {
          role: "user",
          content: [
            { toolResult: { toolUseId: "call_1", content: [{ text: "12" }] } },
            {
              toolResult: {
                toolUseId: "b",
                content: [{ text: "no" }, { image: { format: "png", source: { bytes: "AAAA" } } }],
                status: "error",
              },
            },
            { text: "And?" },
          ],
        },
        { role: "assistant", content: [{ text: "It is" }] },
      ],
      inferenceConfig: { maxTokens: 16_384, temperature: 0.5, stopSequences: ["END"] },
      toolConfig: {
        tools: [{ toolSpec: { name: "weather", inputSchema: { json: { type: "object", properties: { city: {} } } } } }],
      },
    })
  })

  test("is bounded by the gateway's bound, and by the host's", () => {
    expect(sent({}, claude, { maxTokens: 100 }).body.inferenceConfig).toEqual({ maxTokens: 100 })
    expect(sent({}, claude, { maxTokens: 100_000 }).body.inferenceConfig).toEqual({ maxTokens: 16_384 })
  })

  test.each([
    [
      { type: "image_url", image_url: { url: "data:image/jpg;base64,AA" } },
      { image: { format: "jpeg", source: { bytes: "AA" } } },
    ],
    [
      { type: "image_url", image_url: { url: "s3://b/a.webp" } },
      { image: { format: "webp", source: { s3Location: { uri: "s3://b/a.webp" } } } },
    ],
    [
      { type: "file", file: { filename: "Ä report_v1.pdf", file_data: "data:application/pdf;base64,AA" } },
      { document: { format: "pdf", name: "- report-v1-pdf", source: { bytes: "AA" } } },
    ],
    [
      { type: "file", file: { file_data: "data:text/plain,a%20b" } },
      { document: { format: "txt", name: "document", source: { bytes: "YSBi" } } },
    ],
    [
      { type: "file", file: { file_data: "s3://b/a.xlsx", filename: "a" } },
      { document: { format: "xlsx", name: "a", source: { s3Location: { uri: "s3://b/a.xlsx" } } } },
    ],
    [
      { type: "file", file: { file_data: "data:image/gif;base64,AA" } },
      { image: { format: "gif", source: { bytes: "AA" } } },
    ],
    [
      { type: "video_url", video_url: { url: "data:video/quicktime;base64,AA" } },
      { video: { format: "mov", source: { bytes: "AA" } } },
    ],
    [
      { type: "input_video", video_url: { url: "s3://b/a.3gp" } },
      { video: { format: "three_gp", source: { s3Location: { uri: "s3://b/a.3gp" } } } },
    ],
    [
      { type: "input_audio", input_audio: { data: "AA", format: "mp3" } },
      { audio: { format: "mp3", source: { bytes: "AA" } } },
    ],
  ])("carries %j", (part, block) => {
    expect(sent({ messages: [{ role: "user", content: [part] }] }, nova).body.messages[0].content).toEqual([block])
  })

  test.each([
    [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }],
    [{ type: "image_url", image_url: { url: "data:image/tiff;base64,AA" } }],
    [{ type: "file", file: { file_id: "file_1" } }],
    [{ type: "file", file: { file_data: "https://example.com/a.pdf" } }],
    [{ type: "file", file: { file_data: "data:application/zip;base64,AA" } }],
    [{ type: "video_url", video_url: { url: "https://example.com/a.mp4" } }],
    [{ type: "input_audio", input_audio: { data: "AA", format: "midi" } }],
    [{ type: "hologram" }],
  ])("refuses %j, and says where it is", (part) => {
    const messages = [user, { role: "user", content: [{ type: "text", text: "x" }, part] }]
    expect(unsupported({ messages })).toEqual(["messages[1].content[1]", expect.stringMatching(/^[^.]+$/)])
  })

  test("documents get names that differ", () => {
    const part = { type: "file", file: { filename: "a", file_data: "data:text/plain,a" } }
    const messages = [
      { role: "user", content: [part, part] },
      { role: "assistant", content: "x" },
      { role: "user", content: [part] },
    ]
    const names = sent({ messages }).body.messages.flatMap(({ content }: Anything) =>
      content.flatMap((block: Anything) => block.document?.name ?? []),
    )
    expect(names).toEqual(["a", "a (2)", "a (3)"])
  })

  test.each([
    ["auto", { auto: {} }],
    ["required", { any: {} }],
    [{ type: "function", function: { name: "weather" } }, { tool: { name: "weather" } }],
  ])("the choice %j is %j", (choice, written) => {
    expect(sent({ tools: [weather], tool_choice: choice }).body.toolConfig.toolChoice).toEqual(written)
  })

  test("no tools may be called: they are left out, but for conversations that need them", () => {
    expect(sent({ tools: [weather], tool_choice: "none" }).body.toolConfig).toBeUndefined()
    expect(unsupported({ messages: asked, tools: [weather], tool_choice: "none" })[0]).toBe("tool_choice")
    expect(unsupported({ messages: asked })[0]).toBe("tools")
    expect(unsupported({ tools: [{ type: "web_search" }] })[0]).toBe("tools[0]")
    expect(unsupported({ tools: [weather], tool_choice: { type: "allowed_tools" } })[0]).toBe("tool_choice")
    const foreign = { role: "assistant", tool_calls: [{ type: "custom", id: "a" }] }
    expect(unsupported({ messages: [user, foreign], tools: [weather] })[0]).toBe("messages[1].tool_calls[0]")
  })

  test("one call at a time: in Claude's words, and dropped for others", () => {
    const one = sent({ tools: [weather], tool_choice: "required", parallel_tool_calls: false })
    expect(one.body.toolConfig.toolChoice).toBeUndefined()
    expect(one.body.additionalModelRequestFields).toEqual({
      tool_choice: { type: "any", disable_parallel_tool_use: true },
    })
    expect(one.dropped).toEqual([])
    expect(sent({ tools: [weather], parallel_tool_calls: false }, nova).dropped).toEqual(["parallel_tool_calls"])
  })

  test("strict tools where the host has structured outputs", () => {
    const strict = { type: "function", function: { name: "a", strict: true } }
    const host = { ...hostFor(claude), supportedParameters: ["tools", "structured_outputs"] }
    expect(sent({ tools: [strict] }, host).body.toolConfig.tools[0].toolSpec.strict).toBe(true)
    expect(sent({ tools: [strict] }).body.toolConfig.tools[0].toolSpec.strict).toBeUndefined()
  })

  test("a schema is sent as text; an object without one is dropped", () => {
    const json_schema = { name: "city", description: "A city", schema: { type: "object" } }
    expect(sent({ response_format: { type: "json_schema", json_schema } }).body.outputConfig).toEqual({
      textFormat: {
        type: "json_schema",
        structure: { jsonSchema: { name: "city", description: "A city", schema: '{"type":"object"}' } },
      },
    })
    expect(sent({ response_format: { type: "json_object" } }).dropped).toEqual(["response_format"])
    expect(sent({ response_format: { type: "text" } }).dropped).toEqual([])
  })

  test("marks of a cache become cache points, where models have them", () => {
    const mark = { cache_control: { type: "ephemeral" } }
    const hour = { cache_control: { type: "ephemeral", ttl: "1h" } }
    const body = {
      messages: [
        { role: "system", content: [{ type: "text", text: "a", ...hour }] },
        { ...user, content: [{ type: "text", text: "b", ...mark }] },
        { role: "assistant", tool_calls: [called] },
        { role: "tool", tool_call_id: "call.1", content: [{ type: "text", text: "12", ...mark }] },
      ],
      tools: [{ ...weather, ...mark }],
    }
    const point = { cachePoint: { type: "default" } }
    const { system, messages, toolConfig } = sent(body).body
    expect(system).toEqual([{ text: "a" }, { cachePoint: { type: "default", ttl: "1h" } }])
    expect(messages[0].content).toEqual([{ text: "b" }, point])
    expect(messages[2].content).toEqual([{ toolResult: { toolUseId: "call_1", content: [{ text: "12" }] } }, point])
    expect(toolConfig.tools[1]).toEqual(point)
    expect(JSON.stringify(sent(body, llama).body)).not.toContain("cachePoint")
  })

  test("reasoning goes back byte for byte, in the order of its blocks, to those who can read it", () => {
    const details = [
      { type: "reasoning.text", format: "anthropic-claude-v1", index: 0, text: "Rome, " },
      { type: "reasoning.text", format: "anthropic-claude-v1", index: 0, text: "then." },
      { type: "reasoning.text", format: "anthropic-claude-v1", index: 0, signature: "c2ln+/=" },
      { type: "reasoning.encrypted", format: "amazon-bedrock-v1", index: 1, data: "aGlk" },
      { type: "reasoning.text", format: "google-gemini-v1", index: 2, text: "foreign", signature: "x" },
      { type: "reasoning.text", format: "anthropic-claude-v1", index: 3, text: "unsigned" },
    ]
    const messages = [user, { role: "assistant", content: "x", reasoning_details: details }, user]
    expect(sent({ messages }).body.messages[1].content).toEqual([
      { reasoningContent: { reasoningText: { text: "Rome, then.", signature: "c2ln+/=" } } },
      { reasoningContent: { redactedContent: "aGlk" } },
      { text: "x" },
    ])
    expect(sent({ messages }, llama).body.messages[1].content).toEqual([
      { reasoningContent: { redactedContent: "aGlk" } },
      { text: "x" },
    ])
  })

  test("names what it leaves out", () => {
    const body = {
      seed: 1,
      user: "u",
      metadata: { a: "b" },
      guardrailConfig: {},
      additionalModelRequestFields: {},
      top_k: 5,
    }
    expect(sent(body, llama).dropped.toSorted()).toEqual(Object.keys(body).toSorted())
    expect(sent({ service_tier: "flex" }).body.serviceTier).toEqual({ type: "flex" })
    expect(sent({ service_tier: "scale" }).dropped).toEqual(["service_tier"])
  })
})

describe("reasoning and sampling", () => {
  const fields = (body: JsonObject, model: string, more = {}) => {
    const { body: written, dropped } = sent(body, model, { maxTokens: 10_000, ...more })
    return { ...written.inferenceConfig, ...written.additionalModelRequestFields, dropped }
  }
  const bound = { maxTokens: 10_000 }

  test.each<[string, JsonObject, string, JsonObject]>([
    [
      "a budget",
      { reasoning: { max_tokens: 2000 }, temperature: 0.5 },
      claude,
      { thinking: { type: "enabled", budget_tokens: 2000 }, dropped: ["temperature"] },
    ],
    [
      "an effort as a budget",
      { reasoning_effort: "medium" },
      claude,
      { thinking: { type: "enabled", budget_tokens: 5000 }, dropped: [] },
    ],
    [
      "no thinking",
      { temperature: 1.5, top_p: 0.5, top_k: 7 },
      claude,
      { temperature: 1, top_k: 7, dropped: ["top_p"] },
    ],
    [
      "adaptive thinking",
      { reasoning_effort: "high" },
      "us.anthropic.claude-opus-4-7",
      { thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: "high" }, dropped: [] },
    ],
    [
      "thinking off",
      { reasoning_effort: "none" },
      "us.anthropic.claude-opus-4-7",
      { thinking: { type: "disabled" }, dropped: [] },
    ],
    [
      "Nova's effort",
      { reasoning_effort: "high", top_k: 7, top_p: 0.5 },
      nova,
      {
        reasoningConfig: { type: "enabled", maxReasoningEffort: "medium" },
        inferenceConfig: { topK: 7 },
        topP: 0.5,
        dropped: [],
      },
    ],
    ["Nova without reasoning", { reasoning: { effort: "low" } }, "amazon.nova-pro-v1:0", { dropped: ["reasoning"] }],
    [
      "an open model's effort",
      { reasoning_effort: "minimal" },
      "openai.gpt-oss-120b-1:0",
      { reasoning_effort: "low", dropped: [] },
    ],
    ["Cohere's k", { top_k: 7 }, "cohere.command-r-plus-v1:0", { k: 7, dropped: [] }],
    [
      "another model",
      { reasoning_effort: "low", temperature: 2, top_p: 0.5 },
      llama,
      { temperature: 1, topP: 0.5, dropped: ["reasoning_effort"] },
    ],
  ])("%s", (_, body, model, expected) => expect(fields(body, model)).toEqual({ ...bound, ...expected }))

  test("no budget where a tool must be called, or where a result lacks its thinking", () => {
    expect(fields({ reasoning_effort: "high", tools: [weather], tool_choice: "required" }, claude)).toEqual({
      ...bound,
      dropped: ["reasoning_effort"],
    })
    expect(fields({ reasoning_effort: "high", tools: [weather], messages: asked }, claude)).toEqual({
      ...bound,
      dropped: ["reasoning_effort"],
    })
    const thought = { type: "reasoning.text", format: "anthropic-claude-v1", index: 0, text: "a", signature: "b" }
    const [first, answer, result] = asked
    const messages = [first, { ...answer, reasoning_details: [thought] }, result]
    expect(fields({ reasoning_effort: "high", tools: [weather], messages }, claude)).toMatchObject({
      thinking: { type: "enabled" },
    })
  })

  test("an ARN says nothing of the model, our own name does", () => {
    const host = {
      ...hostFor("arn:aws:bedrock:us-east-1:1:application-inference-profile/x"),
      model: "anthropic/claude-opus-4.7" as Host["model"],
    }
    const { body } = sent({ reasoning_effort: "low" }, host)
    expect(body.additionalModelRequestFields).toMatchObject({ thinking: { type: "adaptive" } })
  })
})

const head = { status: 200, headers: new Headers() }
const context = (model: string) => ({ request: requestWith({}), host: hostFor(model) })

const streamed = (events: ReadonlyArray<readonly [name: string, data: object]>, model = claude): Anything => {
  const decoder = converse.decoder(head, context(model))
  const chunks: Array<Anything> = []
  for (const [name, data] of events) {
    const given = decoder.event(name, data)
    if (given instanceof HostFailed) return given
    chunks.push(...given)
  }
  return { chunks, done: decoder.done?.() }
}

const block = (contentBlockIndex: number, ...deltas: ReadonlyArray<object>) => [
  ...deltas.map((delta) => ["contentBlockDelta", { contentBlockIndex, delta }] as const),
  ["contentBlockStop", { contentBlockIndex }] as const,
]

const answerWith = (content: ReadonlyArray<object>, more: object = {}): Anything =>
  converse.decode(head, { output: { message: { content } }, stopReason: "end_turn", ...more }, context(claude))

describe("an answer", () => {
  test.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["tool_use", "tool_calls"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["guardrail_intervened", "content_filter"],
    ["content_filtered", "content_filter"],
    ["of_tomorrow", "stop"],
  ])("that ends with %s: %s", (stopReason, reason) => {
    const [choice] = answerWith([{ text: "a" }], { stopReason }).choices
    expect([choice.finish_reason, choice.native_finish_reason]).toEqual([reason, stopReason])
    const { chunks } = streamed([["messageStop", { stopReason }]])
    expect([chunks[0].choices[0].finish_reason, chunks[0].choices[0].native_finish_reason]).toEqual([
      reason,
      stopReason,
    ])
  })

  test.each(["malformed_tool_use", "malformed_model_output"])("%s is none", (stopReason) => {
    expect(answerWith([{ text: "a" }], { stopReason })).toMatchObject({ reason: "malformed", code: stopReason })
    expect(streamed([["messageStop", { stopReason }]])).toMatchObject({ reason: "malformed", code: stopReason })
  })

  test("four classes of tokens make up the total", () => {
    const usage = {
      inputTokens: 3,
      outputTokens: 121,
      cacheReadInputTokens: 1712,
      cacheWriteInputTokens: 236,
      cacheDetails: [
        { ttl: "1h", inputTokens: 200 },
        { ttl: "5m", inputTokens: 36 },
      ],
      totalTokens: 2072,
    }
    const expected = {
      prompt_tokens: 1951,
      completion_tokens: 121,
      prompt_tokens_details: { cached_tokens: 1712, cache_write_tokens: 236, cache_write_1h_tokens: 200 },
    }
    expect(answerWith([], { usage, serviceTier: { type: "flex" } })).toMatchObject({
      usage: expected,
      service_tier: "flex",
    })
    const { chunks, done } = streamed([["metadata", { usage, serviceTier: { type: "flex" } }]])
    expect([chunks, done]).toEqual([[{ choices: [], usage: expected, service_tier: "flex" }], true])
    expect(answerWith([], { usage: { ...usage, inputTokens: -1 } }).usage).toBeUndefined()
  })

  const web = { title: "T", location: { web: { url: "https://a.example" } }, sourceContent: [{ text: "src" }] }
  const citation = {
    type: "url_citation",
    url_citation: { url: "https://a.example", title: "T", content: "src", start_index: 2, end_index: 5 },
  }

  test("whole: thinking, encrypted thinking, sources, images and calls; what the host ran itself is left out", () => {
    const { message } = answerWith([
      { reasoningContent: { reasoningText: { text: "Hm.", signature: "c2ln" } } },
      { reasoningContent: { redactedContent: "aGlk" } },
      { text: "a " },
      { citationsContent: { content: [{ text: "b c" }], citations: [web, { location: { documentChar: {} } }] } },
      { image: { format: "webp", source: { bytes: "AA" } } },
      { toolUse: { toolUseId: "1", name: "host_ran", input: {}, type: "server_tool_use" } },
      { toolResult: { toolUseId: "1", content: [] } },
      { toolUse: { toolUseId: "2", name: "weather", input: { city: "Rome" } } },
    ]).choices[0]
    expect(message).toEqual({
      role: "assistant",
      content: "a b c",
      refusal: null,
      reasoning: "Hm.",
      reasoning_details: [
        { type: "reasoning.text", text: "Hm.", signature: "c2ln", format: "anthropic-claude-v1", index: 0 },
        { type: "reasoning.encrypted", data: "aGlk", format: "amazon-bedrock-v1", index: 1 },
      ],
      tool_calls: [{ id: "2", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } }],
      annotations: [citation],
      images: [{ type: "image_url", image_url: { url: "data:image/webp;base64,AA" } }],
    })
  })

  test("streamed: the same", () => {
    const start = (contentBlockIndex: number, toolUse: object) =>
      ["contentBlockStart", { contentBlockIndex, start: { toolUse } }] as const
    const { chunks } = streamed([
      ["initial-response", {}],
      ["messageStart", { role: "assistant" }],
      ...block(0, { reasoningContent: { text: "Hm." } }, { reasoningContent: { signature: "c2ln" } }),
      ...block(1, { reasoningContent: { redactedContent: "aGk=" } }, { reasoningContent: { redactedContent: "ZA==" } }),
      ...block(2, { text: "a " }),
      ...block(3, { text: "b c" }, { citation: web }),
      ...block(4, { image: { format: "webp", source: { bytes: "AA" } } }),
      start(5, { toolUseId: "1", name: "host_ran", type: "server_tool_use" }),
      ...block(5, { toolUse: { input: "{}" } }),
      start(6, { toolUseId: "2", name: "weather" }),
      start(7, { toolUseId: "3", name: "rain" }),
      ...block(7),
      ...block(6, { toolUse: { input: '{"city":"Rome"}' } }),
      ["messageStop", { stopReason: "tool_use" }],
    ])
    const deltas = chunks.flatMap(({ choices }: Anything) => choices.map(({ delta }: Anything) => delta))
    const all = (name: string) => deltas.flatMap((delta: Anything) => delta[name] ?? [])
    expect(all("content").join("")).toBe("a b c")
    expect(all("reasoning").join("")).toBe("Hm.")
    const format = "anthropic-claude-v1"
    expect(all("reasoning_details")).toEqual([
      { type: "reasoning.text", text: "Hm.", format, index: 0 },
      { type: "reasoning.text", signature: "c2ln", format, index: 0 },
      { type: "reasoning.encrypted", data: "aGlk", format: "amazon-bedrock-v1", index: 1 },
    ])
    expect(all("annotations")).toEqual([citation])
    expect(all("images")).toEqual([{ type: "image_url", image_url: { url: "data:image/webp;base64,AA" } }])
    expect(all("tool_calls")).toEqual([
      { index: 0, id: "2", type: "function", function: { name: "weather", arguments: "" } },
      { index: 1, id: "3", type: "function", function: { name: "rain", arguments: "" } },
      { index: 1, function: { arguments: "{}" } },
      { index: 0, function: { arguments: '{"city":"Rome"}' } },
    ])
  })
})

describe("Claude by InvokeModel", () => {
  const invoked = (body: JsonObject, more: Anything = {}): Anything =>
    encodedBy(messages, requestWith({ messages: [user], ...body }, more), hostFor(claude))

  test("the model is in the path, the version in the body, and what Bedrock refuses is named", () => {
    const whole = invoked({ temperature: 0.5, service_tier: "auto", anthropic_beta: ["x"] }, { maxTokens: 9 })
    expect(whole.path).toBe(`/model/${encodeURIComponent(claude)}/invoke`)
    expect(whole.headers).toBeUndefined()
    expect(whole.body).toEqual({
      anthropic_version: "bedrock-2023-05-31",
      max_tokens: 9,
      messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
      temperature: 0.5,
    })
    expect(whole.dropped).toEqual(["anthropic_beta", "service_tier"])
    const streamed = invoked({}, { stream: true })
    expect(streamed.path).toBe(`/model/${encodeURIComponent(claude)}/invoke-with-response-stream`)
    expect(streamed.body.stream).toBeUndefined()
  })

  test("its thinking is that of its model", () => {
    expect(invoked({ reasoning: { max_tokens: 2000 } }).body.thinking).toEqual({ type: "enabled", budget_tokens: 2000 })
  })

  const decoder = () => messages.decoder(head, context(claude))

  test.each([
    ["exception:modelStreamErrorException", { message: "m" }, "overloaded"],
    ["exception:throttlingException", { message: "m" }, "rate-limited"],
    ["chunk", {}, "malformed"],
    ["chunk", { bytes: Buffer.from("{").toString("base64") }, "malformed"],
    [
      "chunk",
      { bytes: Buffer.from('{"type":"error","error":{"type":"overloaded_error"}}').toString("base64") },
      "overloaded",
    ],
  ])("%s %j is %s", (name, data, reason) => expect(decoder().event(name, data)).toMatchObject({ reason }))

  test("events of other names are passed over", () => expect(decoder().event("of-tomorrow", {})).toEqual([]))
})

describe("errors", () => {
  const failed = async (status: number, body: unknown, headers: Record<string, string> = {}): Promise<HostFailed> =>
    (await loaded({ region: "eu-west-1" })).error(status, new Headers(headers), body)
  const coral = (name: string) => ({ "x-amzn-errortype": `${name}:http://internal.amazon.com/coral/` })

  // Of the page "Troubleshooting Amazon Bedrock API Error Codes" and the errors of Converse.
  test.each([
    [400, "ValidationException", "request"],
    [400, "ServiceQuotaExceededException", "rate-limited"],
    [403, "AccessDeniedException", "account"],
    [403, "UnrecognizedClientException", "account"],
    [400, "ExpiredTokenException", "account"],
    [404, "ResourceNotFoundException", "not-found"],
    [408, "ModelTimeoutException", "timeout"],
    [424, "ModelErrorException", "overloaded"],
    [424, "NewException", "overloaded"],
    [429, "ThrottlingException", "rate-limited"],
    [429, "ModelNotReadyException", "overloaded"],
    [500, "InternalServerException", "overloaded"],
    [503, "ServiceUnavailableException", "overloaded"],
  ] as const)("%d %s is %s", async (status, name, reason) => {
    expect(await failed(status, { message: "m" }, coral(name))).toMatchObject({ reason, status, code: name })
    expect(await failed(status, { __type: `com.amazon.coral#${name}`, message: "m" })).toMatchObject({ reason, status })
  })

  test("a wait is kept", async () => {
    expect((await failed(429, {}, { ...coral("ThrottlingException"), "retry-after": "9" })).retryAfterSeconds).toBe(9)
  })

  test.each([
    ["Input is too long for requested model.", "context_length_exceeded"],
    [
      "The model returned the following errors: prompt is too long: 210000 tokens > 200000 maximum",
      "context_length_exceeded",
    ],
    ["The maximum context length is 8192 tokens", "context_length_exceeded"],
    ["temperature: must be at most 1", "ValidationException"],
  ])("%s: %s", async (message, code) => {
    const failure = await failed(400, { message }, coral("ValidationException"))
    expect(failure).toMatchObject({ reason: "request", code, detail: message })
  })

  test.each([
    "The provided model identifier is invalid.",
    "Invocation of model ID x with on-demand throughput isn’t supported. Retry your request with the ID of an inference profile",
  ])("%s: the operator's matter, and not shown", async (message) => {
    const failure = await failed(400, { message }, coral("ValidationException"))
    expect([failure.reason, failure.detail]).toEqual(["not-found", undefined])
  })

  test("numbers of accounts are not shown", async () => {
    const message = "No access to arn:aws:bedrock:us-east-1:123456789012:inference-profile/x, sorry"
    expect((await failed(400, { message }, coral("ValidationException"))).detail).toBe("No access to [arn], sorry")
  })

  test.each([
    ["exception:throttlingException", "rate-limited"],
    ["exception:validationException", "request"],
    ["exception:modelStreamErrorException", "overloaded"],
    ["exception:internalServerException", "overloaded"],
    ["exception:serviceUnavailableException", "overloaded"],
    ["exception:modelTimeoutException", "timeout"],
    ["exception:ofTomorrow", "overloaded"],
    ["error:InternalError", "overloaded"],
  ])("in a stream, %s is %s", (name, reason) => {
    expect(streamed([[name, { message: "m" }]])).toMatchObject({ reason, code: name.split(":")[1] })
  })
})

describe("embeddings", () => {
  const request = (payload: Anything) => ({
    ...requestWith({}),
    operation: "embeddings" as const,
    stream: false as const,
    maxTokens: 0 as const,
    payload,
  })
  const encode = (model: string, payload: Anything): Anything =>
    Either.match(embeddings.encode(request(payload), hostFor(model)), {
      onLeft: ({ path }) => path,
      onRight: ({ path, body, dropped }) => ({ path, body: JSON.parse(String(body)), dropped }),
    })
  const image = {
    content: [
      { type: "text", text: "a" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AA" } },
    ],
  }

  test.each([
    [
      "cohere.embed-english-v3",
      { input: ["a", "b"], dimensions: 8, user: "u" },
      { texts: ["a", "b"], input_type: "search_document", embedding_types: ["float"], output_dimension: 8 },
      ["user"],
    ],
    [
      "cohere.embed-v4:0",
      { input: { content: [{ type: "text", text: "a" }] }, input_type: "search_query", truncate: "END" },
      { texts: ["a"], input_type: "search_query", embedding_types: ["float"], truncate: "END" },
      [],
    ],
    [
      "amazon.titan-embed-text-v2:0",
      { input: "a", dimensions: 256, normalize: false, input_type: "x" },
      { inputText: "a", dimensions: 256, normalize: false, embeddingTypes: ["float"] },
      ["input_type"],
    ],
    ["amazon.titan-embed-text-v1", { input: ["a"], dimensions: 256 }, { inputText: "a" }, ["dimensions"]],
    [
      "amazon.titan-embed-image-v1",
      { input: image, dimensions: 256 },
      { inputText: "a", inputImage: "AA", embeddingConfig: { outputEmbeddingLength: 256 } },
      [],
    ],
    [
      "amazon.nova-2-multimodal-embeddings-v1:0",
      { input: "a", input_type: "search_query", dimensions: 384 },
      {
        taskType: "SINGLE_EMBEDDING",
        singleEmbeddingParams: {
          embeddingPurpose: "GENERIC_RETRIEVAL",
          embeddingDimension: 384,
          text: { truncationMode: "NONE", value: "a" },
        },
      },
      [],
    ],
  ])("%s is asked in its own words", (model, payload, body, dropped) => {
    expect(encode(model, payload)).toEqual({ path: `/model/${encodeURIComponent(model)}/invoke`, body, dropped })
  })

  test.each([
    ["amazon.titan-embed-text-v2:0", { input: ["a", "b"] }, "input"],
    ["amazon.titan-embed-text-v2:0", { input: image }, "input"],
    ["amazon.titan-embed-image-v1", { input: { content: [{ type: "input_audio" }] } }, "input"],
    ["cohere.embed-english-v3", { input: ["a", [1, 2]] }, "input[1]"],
  ])("%s refuses %j", (model, payload, path) => expect(encode(model, payload)).toBe(path))

  const decode = (body: unknown, input: Anything = "a", headers = {}): Anything =>
    embeddings.decode({ status: 200, headers: new Headers(headers) }, body, request({ input }))
  const usage = { prompt_tokens: 5, completion_tokens: 0 }

  test.each([
    [{ embedding: [1, 2], inputTextTokenCount: 5 }, "a", {}, [[1, 2]]],
    [{ embeddings: { float: [[1], [2]] } }, ["a", "b"], { "x-amzn-bedrock-input-token-count": "5" }, [[1], [2]]],
    [{ embeddings: [[1], [2]] }, ["a", "b"], { "x-amzn-bedrock-input-token-count": "5" }, [[1], [2]]],
    [
      { embeddings: [{ embeddingType: "TEXT", embedding: [1] }] },
      "a",
      { "x-amzn-bedrock-input-token-count": "5" },
      [[1]],
    ],
  ])("reads %j", (body, input, headers, vectors) => {
    expect(decode(body, input, headers)).toEqual({
      data: vectors.map((embedding, index) => ({ index, embedding })),
      usage,
    })
  })

  test.each([[{}], [{ embedding: [] }], [{ embedding: ["1"] }], [{ embeddings: [[1], [2]] }]])(
    "%j is no answer",
    (body) => {
      expect(decode(body)).toMatchObject({ reason: "malformed" })
    },
  )
})
