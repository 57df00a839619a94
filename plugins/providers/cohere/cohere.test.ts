import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { HostFailed, type JsonObject } from "headgate/plugin"
import { encodedBy, hostFor, requestWith } from "../../../test/support/recordings/recordings.ts"
import { chat } from "./chat.ts"
import { embeddings } from "./embeddings.ts"
import { cohereHttpError } from "./failure.ts"
import cohere from "./index.ts"
import { rerank } from "./rerank.ts"

// What a test reads of a body it checks itself.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Anything = any

const user = { role: "user", content: "Hi" }

const sent = (body: JsonObject, more: Anything = {}): Anything =>
  encodedBy(chat, requestWith({ messages: [user], ...body }, more), hostFor("command-a"))

const unsupported = (body: JsonObject): Anything =>
  Either.match(chat.encode(requestWith({ messages: [user], ...body }), hostFor("command-a")), {
    onLeft: ({ path, reason }) => [path, reason],
    onRight: () => "carried",
  })

const functionTool = (name: string, more: object = {}) => ({ type: "function", function: { name, ...more } })
const weather = functionTool("weather", { description: "d", parameters: { type: "object", properties: { city: {} } } })
const called = { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } }

test("the plugin knows its vendor and has no configuration of its own", () => {
  expect(cohere).toMatchObject({ id: "cohere", baseUrl: "https://api.cohere.com/v2" })
  expect(Either.isLeft(cohere.load({ region: "eu" }))).toBe(true)
})

describe("a request", () => {
  test("carries a conversation", () => {
    const format = "cohere-v2"
    const details = [
      { type: "reasoning.text", format, index: 0, text: "I thi" },
      { type: "reasoning.text", format, index: 0, text: "nk." },
      { type: "reasoning.text", format, index: 1, text: "I will ", id: "tool_plan" },
      { type: "reasoning.text", format, index: 1, text: "look.", id: "tool_plan" },
      { type: "reasoning.text", format: "anthropic-claude-v1", index: 2, text: "foreign" },
    ]
    const image = { type: "image_url", image_url: { url: "https://example.com/a.png", detail: "low" } }
    const messages = [
      { role: "developer", content: "Be brief." },
      { role: "user", content: [{ type: "text", text: "Hi", cache_control: { type: "ephemeral" } }, image] },
      { role: "assistant", content: "", tool_calls: [called], reasoning_details: details },
      { role: "tool", tool_call_id: "call_1", content: [{ type: "text", text: "12" }] },
      { role: "assistant", content: "12 degrees" },
    ]
    const { path, body, dropped } = sent(
      { messages, tools: [weather], temperature: 0.5 },
      { stream: true, maxTokens: 9 },
    )
    expect([path, dropped]).toEqual(["/chat", ["cache_control"]])
    expect(body).toEqual({
      model: "command-a",
      stream: true,
      max_tokens: 9,
      temperature: 0.5,
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: [{ type: "text", text: "Hi" }, image] },
        {
          role: "assistant",
          content: [{ type: "thinking", thinking: "I think." }],
          tool_calls: [called],
          tool_plan: "I will look.",
        },
        { role: "tool", tool_call_id: "call_1", content: [{ type: "text", text: "12" }] },
        { role: "assistant", content: "12 degrees" },
      ],
      tools: [weather],
    })
  })

  test("text files become documents beside the caller's own", () => {
    const file = { type: "file", file: { filename: "facts.txt", file_data: "data:text/plain,Oslo%20is%20cold" } }
    const content = [
      { type: "text", text: "Where?" },
      file,
      { type: "file", file: { file_data: "data:image/png;base64,AA" } },
    ]
    const own = { id: "mine", data: { text: "x" } }
    const { body } = sent({ messages: [{ role: "user", content }], documents: [own] })
    expect(body.documents).toEqual([own, { id: "doc:0", data: { title: "facts.txt", text: "Oslo is cold" } }])
    expect(body.messages[0].content).toEqual([
      { type: "text", text: "Where?" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AA" } },
    ])
  })

  test.each([
    ["user", { type: "file", file: { file_data: "data:application/pdf;base64,AA" } }],
    ["user", { type: "file", file: { file_id: "f" } }],
    ["user", { type: "input_audio", input_audio: { data: "AA", format: "wav" } }],
    ["user", { type: "video_url", video_url: { url: "data:video/mp4;base64,AA" } }],
    ["tool", { type: "image_url", image_url: { url: "data:image/png;base64,AA" } }],
  ])("refuses of %s: %j", (role, part) => {
    const content = [{ type: "text", text: "a" }, part]
    const messages = [user, { role, content, ...(role === "tool" ? { tool_call_id: "call_1" } : {}) }]
    expect(unsupported({ messages })).toEqual(["messages[1].content[1]", expect.stringMatching(/^[^.]+$/)])
  })

  test.each([
    [{ tool_choice: "auto" }, {}],
    [{ tool_choice: "required" }, { tool_choice: "REQUIRED" }],
    [{ tool_choice: "none" }, { tool_choice: "NONE" }],
    [{ parallel_tool_calls: true }, {}],
  ])("of tools: %j is %j", (body, written) => {
    const { model, messages, stream, max_tokens, tools, ...rest } = sent({ tools: [weather], ...body }).body
    expect(rest).toEqual(written)
  })

  test("images that a model made are named as dropped", () => {
    const images = [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }]
    const messages = [user, { role: "assistant", content: "Here.", images }, user]
    expect(sent({ messages }).dropped).toEqual(["messages[1].images"])
  })

  test("one function to be called is the only one that is offered", () => {
    const choice = { type: "function", function: { name: "weather" } }
    const { body } = sent({ tools: [functionTool("other"), weather], tool_choice: choice })
    expect([body.tools, body.tool_choice]).toEqual([[weather], "REQUIRED"])
    expect(unsupported({ tools: [weather], tool_choice: { type: "other" } })[0]).toBe("tool_choice")
    expect(unsupported({ tools: [functionTool("other")], tool_choice: choice })[0]).toBe("tool_choice")
    expect(unsupported({ tools: [weather, { type: "web_search" }] })[0]).toBe("tools[1]")
    const foreign = { role: "assistant", tool_calls: [{ type: "custom", id: "a" }] }
    expect(unsupported({ messages: [user, foreign] })[0]).toBe("messages[1].tool_calls[0]")
  })

  test("tools are strict when all of them are", () => {
    expect(sent({ tools: [functionTool("a", { strict: true })] }).body).toMatchObject({
      strict_tools: true,
      tools: [functionTool("a", { parameters: { type: "object", properties: {} } })],
    })
    expect(sent({ tools: [functionTool("a", { strict: true }), weather] }).body.strict_tools).toBeUndefined()
  })

  test.each<[string, JsonObject, JsonObject, ReadonlyArray<string>]>([
    ["JSON", { response_format: { type: "json_object" } }, { response_format: { type: "json_object" } }, []],
    [
      "a schema",
      { response_format: { type: "json_schema", json_schema: { name: "a", schema: { type: "object" } } } },
      { response_format: { type: "json_object", json_schema: { type: "object" } } },
      [],
    ],
    ["plain text", { response_format: { type: "text" } }, {}, []],
    ["a grammar", { response_format: { type: "grammar" } }, {}, ["response_format"]],
    ["sampling", { top_p: 1, top_k: 700, seed: 3 }, { p: 0.99, k: 500, seed: 3 }, []],
    ["penalties", { frequency_penalty: 1, presence_penalty: -1 }, { frequency_penalty: 1 }, ["presence_penalty"]],
    ["a stop", { stop: "END" }, { stop_sequences: ["END"] }, []],
    ["stops", { stop: ["A", ""] }, { stop_sequences: ["A"] }, []],
    [
      "Cohere's own",
      { safety_mode: "STRICT", citation_options: { mode: "OFF" } },
      { safety_mode: "STRICT", citation_options: { mode: "OFF" } },
      [],
    ],
    [
      "others",
      { user: "u", logprobs: true, metadata: { a: "b" }, priority: 1 },
      {},
      ["user", "logprobs", "metadata", "priority"],
    ],
    ["a budget", { reasoning: { max_tokens: 500 } }, { thinking: { type: "enabled", token_budget: 500 } }, []],
    ["an effort", { reasoning_effort: "high" }, { thinking: { type: "enabled", token_budget: 800 } }, []],
    ["no reasoning", { reasoning_effort: "none" }, { thinking: { type: "disabled" } }, []],
    ["Cohere's own thinking", { thinking: { type: "enabled" } }, { thinking: { type: "enabled" } }, []],
  ])("%s", (_, body, written, dropped) => {
    const { body: all, dropped: names } = sent(body, { maxTokens: 1000 })
    const { model, messages, stream, max_tokens, ...rest } = all
    expect(max_tokens).toBe(1000)
    expect([rest, names]).toEqual([written, dropped])
  })

  test("one call at a time cannot be asked for", () => {
    expect(sent({ tools: [weather], parallel_tool_calls: false }).dropped).toEqual(["parallel_tool_calls"])
  })
})

const head = { status: 200, headers: new Headers() }
const context = { request: requestWith({}), host: hostFor("command-a") }

const answerOf = (message: object, more: object = {}): Anything =>
  chat.decode(head, { id: "1", message, finish_reason: "COMPLETE", ...more }, context)

const streamed = (...events: ReadonlyArray<object>): Anything => {
  const decoder = chat.decoder(head, context)
  const chunks: Array<Anything> = []
  for (const data of events) {
    const given = decoder.event("", data)
    if (given instanceof HostFailed) return given
    chunks.push(...given)
  }
  return { chunks, done: decoder.done?.() }
}

const end = (finish: string, more: object = {}) => ({ type: "message-end", delta: { finish_reason: finish, ...more } })

describe("an answer", () => {
  test.each([
    ["COMPLETE", "stop"],
    ["STOP_SEQUENCE", "stop"],
    ["TOOL_CALL", "tool_calls"],
    ["MAX_TOKENS", "length"],
    ["ERROR_LIMIT", "length"],
    ["ERROR_TOXIC", "content_filter"],
    ["TOMORROW", "stop"],
  ])("that ends with %s: %s", (native, reason) => {
    const [choice] = answerOf({ content: [{ type: "text", text: "a" }] }, { finish_reason: native }).choices
    expect([choice.finish_reason, choice.native_finish_reason]).toEqual([reason, native])
    const { chunks, done } = streamed(end(native))
    expect([chunks[0].choices[0].finish_reason, done]).toEqual([reason, true])
  })

  test.each([
    ["ERROR", "overloaded"],
    ["TIMEOUT", "timeout"],
  ])("%s is none", (native, reason) => {
    expect(answerOf({ content: [] }, { finish_reason: native })).toMatchObject({ reason, code: native })
    expect(streamed(end(native))).toMatchObject({ reason, code: native })
  })

  test("is billed by billed units; without them, by all tokens", () => {
    const tokens = { input_tokens: 510, output_tokens: 99, reasoning_tokens: 29, image_tokens: 40 }
    const usage = { billed_units: { input_tokens: 67, output_tokens: 66 }, tokens, cached_tokens: 144 }
    const parts = { prompt_tokens_details: { image_tokens: 40 }, completion_tokens_details: { reasoning_tokens: 29 } }
    const billed = { prompt_tokens: 67, completion_tokens: 66, ...parts }
    expect(answerOf({ content: [] }, { usage }).usage).toEqual(billed)
    expect(streamed(end("COMPLETE", { usage })).chunks[0].usage).toEqual(billed)
    expect(answerOf({}, { usage: { tokens } }).usage).toEqual({ prompt_tokens: 510, completion_tokens: 99, ...parts })
    expect(answerOf({}, { usage: { billed_units: {} } }).usage).toBeUndefined()
    expect(answerOf({}).usage).toBeUndefined()
  })

  test.each([{ output_tokens: 5 }, { input_tokens: 5 }, { input_tokens: 5, output_tokens: null }])(
    "a count that is missing is not free: %j is estimated",
    (billed_units) => expect(answerOf({}, { usage: { billed_units } }).usage).toBeUndefined(),
  )

  const sources = [
    { type: "document", id: "doc:0", document: { id: "doc:0", title: "facts", url: "https://a.example", text: "…" } },
    { type: "tool", id: "weather:0", tool_output: { content: "…" } },
  ]
  const citations = [
    // Characters, not UTF-16 units: 🌞 is one of them.
    { start: 2, end: 6, text: "Oslo", sources, type: "TEXT_CONTENT", content_index: 2 },
    { start: 0, end: 1, text: "I", sources, type: "THINKING_CONTENT", content_index: 0 },
    { start: 0, end: 1, text: "I", sources, type: "PLAN" },
  ]
  const content = [
    { type: "thinking", thinking: "I see." },
    { type: "text", text: "So: " },
    { type: "text", text: "🌞 Oslo" },
  ]
  const annotations = [
    ["https://a.example", "facts"],
    ["weather:0", "weather:0"],
  ].map(([url, title]) => ({ type: "url_citation", url_citation: { url, title, start_index: 7, end_index: 11 } }))
  const details = [
    { type: "reasoning.text", text: "I see.", format: "cohere-v2", index: 0 },
    { type: "reasoning.text", text: "I look.", format: "cohere-v2", index: 1, id: "tool_plan" },
  ]

  // Where there are several pieces of reasoning, a last one lists the parts.
  const orderEntry = expect.objectContaining({ id: expect.stringMatching(/^headgate-order-/) })

  test("whole: thinking, plan, text, sources and calls", () => {
    const calls = [called, { id: "call_2", type: "function", function: { name: "rain", arguments: "" } }]
    expect(answerOf({ content, citations, tool_plan: "I look.", tool_calls: calls }).choices[0].message).toEqual({
      role: "assistant",
      content: "So: 🌞 Oslo",
      refusal: null,
      reasoning: "I see.I look.",
      reasoning_details: [details[0], { ...details[1], index: 2 }, orderEntry],
      tool_calls: [called, { id: "call_2", type: "function", function: { name: "rain", arguments: "{}" } }],
      annotations,
    })
    expect(answerOf({ tool_calls: calls }).choices[0].message.content).toBeNull()
  })

  test("streamed: the same", () => {
    const block = (index: number, type: string, ...pieces: ReadonlyArray<string>) => [
      { type: "content-start", index, delta: { message: { content: { type, [type]: "" } } } },
      ...pieces.map((piece) => ({ type: "content-delta", index, delta: { message: { content: { [type]: piece } } } })),
      { type: "content-end", index },
    ]
    const begin = (index: number, id: string, name: string) => ({
      type: "tool-call-start",
      index,
      delta: { message: { tool_calls: { id, type: "function", function: { name, arguments: "" } } } },
    })
    const piece = (index: number, text: string) => ({
      type: "tool-call-delta",
      index,
      delta: { message: { tool_calls: { function: { arguments: text } } } },
    })
    const { chunks } = streamed(
      { type: "message-start", id: "1", delta: { message: { role: "assistant" } } },
      ...block(0, "thinking", "I ", "see."),
      ...block(1, "text", "So: "),
      ...block(2, "text", "🌞 ", "Oslo"),
      ...citations.map((citation, index) => ({
        type: "citation-start",
        index,
        delta: { message: { citations: citation } },
      })),
      { type: "tool-plan-delta", delta: { message: { tool_plan: "I look." } } },
      begin(0, "call_1", "weather"),
      begin(1, "call_2", "rain"),
      piece(0, '{"city":'),
      { type: "tool-call-end", index: 1 },
      piece(0, '"Oslo"}'),
      { type: "tool-call-end", index: 0 },
      { type: "of-tomorrow" },
      end("TOOL_CALL"),
    )
    const deltas = chunks.map(({ choices }: Anything) => choices[0].delta)
    const all = (name: string) => deltas.flatMap((delta: Anything) => delta[name] ?? [])
    expect(all("content").join("")).toBe("So: 🌞 Oslo")
    expect(all("reasoning").join("")).toBe("I see.I look.")
    expect(all("reasoning_details").map(({ index, id }: Anything) => [index, id])).toEqual([
      [0, undefined],
      [0, undefined],
      [2, "tool_plan"],
      [5, expect.stringMatching(/^headgate-order-/)],
    ])
    expect(all("annotations")).toEqual(annotations)
    expect(all("tool_calls")).toEqual([
      { index: 0, id: "call_1", type: "function", function: { name: "weather", arguments: "" } },
      { index: 1, id: "call_2", type: "function", function: { name: "rain", arguments: "" } },
      { index: 0, function: { arguments: '{"city":' } },
      { index: 1, function: { arguments: "{}" } },
      { index: 0, function: { arguments: '"Oslo"}' } },
    ])
  })

  test("an error within a stream", () => {
    expect(streamed({ error: { message: "no", code: 503 } })).toMatchObject({ reason: "overloaded" })
  })
})

describe("errors", () => {
  test("a wait is kept", () => {
    expect(cohereHttpError(429, new Headers({ "retry-after": "9" }), { message: "m" }).retryAfterSeconds).toBe(9)
  })

  // Of the page "Errors" of Cohere's documentation.
  test.each([
    [400, "invalid request: message must be at least 1 token long", "request", undefined],
    [400, "too many tokens: size limit exceeded by 11326 tokens.", "request", "context_length_exceeded"],
    [400, "too many tokens: max tokens must be less than or equal to 4096", "request", undefined],
    [401, "invalid api token", "account", undefined],
    [402, "Please add or update your payment method", "account", undefined],
    [404, "model 'x' not found", "not-found", undefined],
    [422, "unknown field", "request", undefined],
    [429, "You are past the per minute request limit", "rate-limited", undefined],
    [498, "blocked input", "forbidden", undefined],
    [499, "request cancelled by user", "overloaded", undefined],
    [500, "internal server error", "overloaded", undefined],
    [503, "unavailable", "overloaded", undefined],
  ])("%d %s is %s", (status, message, reason, code) => {
    const failure = cohereHttpError(status, new Headers(), { id: "1", message })
    const isShown = reason === "request" || reason === "rate-limited"
    expect([failure.reason as string, failure.code, failure.detail]).toEqual([
      reason,
      code,
      isShown ? message : undefined,
    ])
  })
})

const unary = (payload: Anything) => ({ ...requestWith({}), stream: false as const, maxTokens: 0 as const, payload })

describe("embeddings", () => {
  const request = (payload: Anything) => ({ ...unary(payload), operation: "embeddings" as const })
  const encode = (payload: Anything): Anything =>
    Either.match(embeddings.encode(request(payload), hostFor("embed-v4.0")), {
      onLeft: ({ path }) => path,
      onRight: ({ path, body, dropped }) => ({ path, ...JSON.parse(String(body)), dropped }),
    })
  const common = { path: "/embed", model: "embed-v4.0", dropped: [] }
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA" } }

  test.each([
    [
      { input: "a", encoding_format: "base64" },
      { texts: ["a"], input_type: "search_document", embedding_types: ["float"] },
    ],
    [
      { input: ["a", "b"], input_type: "classification", dimensions: 256, truncate: "NONE" },
      {
        texts: ["a", "b"],
        input_type: "classification",
        embedding_types: ["float"],
        output_dimension: 256,
        truncate: "NONE",
      },
    ],
    [
      { input: [{ content: [{ type: "text", text: "a" }, image] }], embedding_types: ["ubinary"] },
      {
        inputs: [{ content: [{ type: "text", text: "a" }, image] }],
        input_type: "search_document",
        embedding_types: ["ubinary"],
      },
    ],
    [
      { input: "a", user: "u" },
      { texts: ["a"], input_type: "search_document", embedding_types: ["float"], dropped: ["user"] },
    ],
  ])("%j", (payload, body) => expect(encode(payload)).toEqual({ ...common, ...body }))

  test.each([
    [{ input: [[1, 2]] }, "input[0]"],
    [{ input: { content: [{ type: "text", text: "a" }, { type: "input_audio" }] } }, "input.content[1]"],
    [{ input: "a", embedding_types: ["float", "int8"] }, "embedding_types"],
    [{ input: "a", embedding_types: ["base64"] }, "embedding_types"],
  ])("refuses %j", (payload, path) => expect(encode(payload)).toBe(path))

  test("reads vectors of the kind that was asked for, and what is billed", () => {
    const body = { embeddings: { int8: [[1], [2]] }, meta: { billed_units: { input_tokens: 3, image_tokens: 4 } } }
    expect(embeddings.decode(head, body, request({ input: ["a", "b"] }))).toEqual({
      data: [
        { index: 0, embedding: [1] },
        { index: 1, embedding: [2] },
      ],
      usage: { prompt_tokens: 7, completion_tokens: 0, prompt_tokens_details: { image_tokens: 4 } },
    })
    expect(embeddings.decode(head, body, request({ input: "a" }))).toMatchObject({ reason: "malformed" })
  })

  test.each([{}, { input_tokens: null }, { input_tokens: -4, image_tokens: 9 }, { input_tokens: "7" }])(
    "units that are none are not free: %j is estimated",
    (billed_units) => {
      const body = { embeddings: { float: [[1]] }, meta: { billed_units } }
      expect(embeddings.decode(head, body, request({ input: "a" }))).not.toHaveProperty("usage")
    },
  )
})

describe("rerank", () => {
  const encode = (payload: Anything): Anything =>
    Either.match(rerank.encode({ ...unary(payload), operation: "rerank" as const }, hostFor("rerank-v4.0")), {
      onLeft: ({ path }) => path,
      onRight: ({ path, body, dropped }) => ({ path, ...JSON.parse(String(body)), dropped }),
    })

  test("documents are texts; those with more members are JSON", () => {
    const documents = ["a", { text: "b" }, { text: "c", author: "d" }]
    expect(encode({ query: "q", documents, top_n: 2, max_tokens_per_doc: 9, return_documents: true })).toEqual({
      path: "/rerank",
      model: "rerank-v4.0",
      query: "q",
      documents: ["a", "b", '{"text":"c","author":"d"}'],
      top_n: 2,
      max_tokens_per_doc: 9,
      dropped: ["return_documents"],
    })
    expect(encode({ query: "q", documents: ["a", { image: "https://a.example/b.png" }] })).toBe("documents[1].image")
  })
})
