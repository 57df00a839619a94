import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { reporting } from "../../../test/support/recordings/recordedTable.ts"
import {
  bodyOf,
  bytesOf,
  encodedBy,
  hostFor,
  type RecordedCase,
  recordings,
  recordingsPresent,
  replay,
  requestWith,
  splits,
  type Transcript,
  TranscriptBuilder,
  wholeOf,
} from "../../../test/support/recordings/recordings.ts"
import plugin from "./index.ts"
import { listing } from "./listing.ts"
import { chatAnswer } from "./ollamaAnswer.ts"
import { chat, provider } from "./provider.ts"

// The recordings are trusted: this reader is meant to be naive, so it does not check every member.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Anything = any

const protocol = chat({ contextTokens: undefined })
const { error, embeddings } = provider({ contextTokens: undefined })
const cases = recordings("ollama-native")
const host = hostFor("qwen3:4b")
const head = { status: 200, headers: new Headers() }

const linesOf = (found: RecordedCase): ReadonlyArray<Anything> =>
  found.response.raw === undefined
    ? [bodyOf(found)]
    : found.response.raw.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]))

/** Reads a recording without any of our code. Ids that the server left out are made up, so they are not compared. */
const expectedTranscript = (found: RecordedCase): Transcript => {
  const lines = linesOf(found)
  const builder = new TranscriptBuilder()
  builder.add(0, "text", lines.map(({ message }) => message.content).join(""))
  builder.add(0, "reasoning", lines.map(({ message }) => message.thinking ?? "").join(""))
  const calls = lines.flatMap(({ message }) => message.tool_calls ?? [])
  for (const [at, { id, function: called }] of calls.entries())
    builder.call(0, at, { id, name: called.name, arguments: JSON.stringify(called.arguments) })
  const last = lines.at(-1)
  builder.finish(0, last.done_reason === "length" ? "length" : calls.length > 0 ? "tool_calls" : "stop")
  builder.usage = {
    promptTokens: last.prompt_eval_count,
    completionTokens: last.eval_count,
    ...{ cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
  }
  return builder.transcript()
}

describe("recorded traffic", () => {
  test.skipIf(!recordingsPresent())("6 recorded cases", () => expect(cases.length).toBeGreaterThanOrEqual(6))

  for (const found of cases.filter(({ kind }) => kind === "chat")) {
    if (found.response.raw === undefined) {
      const check = () => expect(wholeOf(protocol, found)).toEqual(expectedTranscript(found))
      test(found.id, reporting(found, check))
      continue
    }
    for (const { name, pieces } of splits(bytesOf(found), 7)) {
      const check = () => expect(replay(protocol, found, pieces)).toEqual(expectedTranscript(found))
      test(`${found.id}, ${name}`, reporting(found, check))
    }
  }

  for (const found of cases.filter(({ kind }) => kind === "embeddings")) {
    const check = () => {
      const { embeddings: vectors, prompt_eval_count: prompt }: Anything = bodyOf(found)
      const { input } = Object(found.request?.body)
      const request: Anything = { operation: "embeddings", payload: { input } }
      expect(embeddings?.decode(head, bodyOf(found), request)).toEqual({
        data: [{ object: "embedding", index: 0, embedding: vectors[0] }],
        usage: { prompt_tokens: prompt, completion_tokens: 0 },
      })
    }
    test(found.id, reporting(found, check))
  }
})

const sent = (body: object, more: Parameters<typeof requestWith>[1] = {}) =>
  encodedBy(protocol, requestWith({ messages: [{ role: "user", content: "hi" }], ...body }, more), host)

describe("a request", () => {
  test("has sampling among the options, and arguments as objects", () => {
    const call = { id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } }
    const { path, body, dropped } = sent(
      {
        messages: [
          {
            role: "developer",
            content: [
              { type: "text", text: "Be " },
              { type: "text", text: "brief." },
            ],
          },
          {
            role: "user",
            content: [
              { type: "text", text: "What is this?" },
              { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } },
            ],
          },
          { role: "assistant", content: null, reasoning: "Ask.", tool_calls: [call] },
          { role: "tool", tool_call_id: "c1", content: "12 degrees" },
        ],
        temperature: 0.5,
        top_p: 0.9,
        top_k: 5,
        min_p: 0.1,
        seed: 7,
        frequency_penalty: 0.2,
        presence_penalty: 0.3,
        repetition_penalty: 1.1,
        stop: "END",
        tools: [{ type: "function", function: { name: "weather", strict: true } }],
        tool_choice: "auto",
        response_format: { type: "json_schema", json_schema: { name: "a", schema: { type: "object" } } },
        options: { mirostat: 2, num_predict: 9999 },
        logprobs: true,
        top_logprobs: 2,
        user: "u",
        logit_bias: { 1: 2 },
      },
      { stream: true, maxTokens: 80 },
    )
    expect(path).toBe("/api/chat")
    expect(dropped).toEqual(["user", "logit_bias", "tools[0].function.strict"])
    expect(body).toEqual({
      model: "qwen3:4b",
      stream: true,
      truncate: false,
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "What is this?", images: ["aGk="] },
        {
          role: "assistant",
          content: "",
          thinking: "Ask.",
          tool_calls: [{ id: "c1", function: { name: "weather", arguments: { city: "Rome" } } }],
        },
        { role: "tool", content: "12 degrees", tool_call_id: "c1", tool_name: "weather" },
      ],
      tools: [{ type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } }],
      format: { type: "object" },
      logprobs: true,
      top_logprobs: 2,
      options: {
        ...{ mirostat: 2, temperature: 0.5, top_p: 0.9, top_k: 5, min_p: 0.1, seed: 7, frequency_penalty: 0.2 },
        ...{ presence_penalty: 0.3, repeat_penalty: 1.1, stop: ["END"], num_predict: 80 },
      },
    })
  })

  test("has no bound of the caller's own making, and the operator's context", () => {
    expect(sent({ options: { num_predict: 5 } }).body["options"]).toBeUndefined()
    const wide = encodedBy(chat({ contextTokens: 32_768 }), requestWith({ messages: [] }), host)
    expect(wide.body["options"]).toEqual({ num_ctx: 32_768 })
  })

  test.each([
    ["none", undefined, []],
    ["required", 1, ["tool_choice"]],
    [{ type: "function", function: { name: "weather" } }, 1, ["tool_choice"]],
  ])("tool_choice %j", (tool_choice, tools, dropped) => {
    const { body, dropped: named } = sent({
      tools: [{ type: "function", function: { name: "weather" } }],
      tool_choice,
    })
    expect([(body["tools"] as Anything)?.length, named]).toEqual([tools, dropped])
  })

  test.each([
    ["qwen3:4b", [], { effort: "high" }, true, []],
    ["qwen3:4b", [], { effort: "none" }, false, []],
    ["qwen3:4b", [], {}, undefined, []],
    ["gpt-oss:20b", [], { effort: "xhigh" }, "high", []],
    ["gpt-oss:20b", [], { effort: "minimal" }, "low", []],
    ["gpt-oss:20b", [], { max_tokens: 40 }, "medium", []],
    ["gemma3", ["tools"], { effort: "low" }, undefined, ["reasoning"]],
    ["gemma3", ["tools"], { enabled: false }, undefined, []],
    ["qwen3:4b", ["reasoning"], { enabled: true }, true, []],
    // The default of agents, where nothing is known of the model.
    ["gemma4:26b", [], { enabled: true }, undefined, ["reasoning"]],
  ])("%s with parameters %j thinks for %j: %j", (model, supportedParameters, reasoning, think, dropped) => {
    const request = requestWith({ messages: [], reasoning }, { maxTokens: 80 })
    const encoded = encodedBy(protocol, request, { ...hostFor(model), supportedParameters })
    expect([encoded.body["think"], encoded.dropped]).toEqual([think, dropped])
  })

  test.each([null, undefined])("a whole answer with calls and the content %j is one", (content) => {
    const message = { role: "assistant", content, tool_calls: [{ function: { name: "look", arguments: {} } }] }
    const answer = protocol.decode(
      head,
      { model: "m", message, done: true, prompt_eval_count: 1, eval_count: 1 },
      { request: requestWith({}), host },
    )
    expect(answer).toMatchObject({ choices: [{ message: { tool_calls: [{ function: { name: "look" } }] } }] })
  })

  test.each([
    [{ type: "image_url", image_url: { url: "https://a.example/x.png" } }],
    [{ type: "file", file: { file_data: "data:application/pdf;base64,aGk=" } }],
    [{ type: "input_audio", input_audio: { data: "aGk=", format: "wav" } }],
  ])("cannot carry %j", (part) => {
    const request = requestWith({ messages: [{ role: "user", content: [part] }] })
    const encoded = protocol.encode(request, host)
    expect(Either.isLeft(encoded) && encoded.left.path).toBe("messages[0].content[0]")
  })

  test("a call that names no function vanished without a word", () => {
    const tool_calls = [{ id: "c1", type: "custom" }]
    const messages = [
      { role: "assistant", content: null, tool_calls },
      { role: "tool", tool_call_id: "c1", content: "ok" },
    ]
    const encoded = protocol.encode(requestWith({ messages }), host)
    expect(Either.isLeft(encoded) && encoded.left.path).toBe("messages[0].tool_calls[0]")
  })

  test("images that a model made are named as dropped", () => {
    const images = [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }]
    expect(sent({ messages: [{ role: "assistant", content: "Here.", images }] }).dropped).toEqual([
      "messages[0].images",
    ])
  })

  test("for embeddings has every text, and refuses tokens", () => {
    const asked = (input: unknown): Anything => ({
      operation: "embeddings",
      payload: { input, dimensions: 8, user: "u" },
    })
    const encoded = embeddings?.encode(asked(["a", { content: [{ type: "text", text: "b" }] }]), host)
    if (encoded === undefined || Either.isLeft(encoded)) throw new Error("refused")
    const { path, body, dropped } = encoded.right
    expect([path, JSON.parse(String(body)), dropped]).toEqual([
      "/api/embed",
      { model: "qwen3:4b", input: ["a", "b"], dimensions: 8, truncate: false },
      ["user"],
    ])
    const tokens = embeddings?.encode(asked([[1, 2]]), host)
    expect(tokens !== undefined && Either.isLeft(tokens) && tokens.left.path).toBe("input[0]")
  })
})

describe("an answer", () => {
  const read = (lines: ReadonlyArray<unknown>) => {
    const decoder = protocol.decoder(head, { request: requestWith({}), host })
    return lines.map((line) => decoder.event("", line))
  }

  test("of several calls numbers them, whatever the server says, and makes up ids that are missing", () => {
    const call = (name: string, index: number) => ({ function: { name, index, arguments: { at: index } } })
    const [first, second] = read([
      { message: { role: "assistant", content: "", tool_calls: [call("a", 0), call("b", 0)] }, done: false },
      { message: { role: "assistant", content: "", tool_calls: [call("c", 0)] }, done: true, done_reason: "stop" },
    ]) as Anything
    const calls = [...first, ...second].flatMap(({ choices }: Anything) => choices[0].delta.tool_calls ?? [])
    expect(calls.map(({ index, function: called }: Anything) => [index, called.name, called.arguments])).toEqual([
      [0, "a", '{"at":0}'],
      [1, "b", '{"at":0}'],
      [2, "c", '{"at":0}'],
    ])
    expect(new Set(calls.map(({ id }: Anything) => id)).size).toBe(3)
    expect(second.at(-1).choices[0].finish_reason).toBe("tool_calls")
  })

  test("has its thoughts and its text apart, and logprobs with their text", () => {
    const logprobs = [{ token: "a", logprob: -0.1 }]
    const [first, second] = read([
      { message: { role: "assistant", content: "", thinking: "Hm." }, done: false },
      { message: { role: "assistant", content: "a" }, logprobs, done: false },
    ]) as Anything
    expect(first).toEqual([{ choices: [{ index: 0, delta: { reasoning: "Hm." }, finish_reason: null }] }])
    expect(second[0].choices[0]).toEqual({
      index: 0,
      delta: { content: "a" },
      finish_reason: null,
      logprobs: { content: logprobs },
    })
  })

  test("that a line breaks off with an error is a failure", () => {
    const [, failed] = read([
      { message: { content: "a" }, done: false },
      { error: "an error was encountered" },
    ]) as Anything
    expect(failed.reason).toBe("overloaded")
    const [long] = read([{ error: "the prompt exceeds the context length" }]) as Anything
    expect([long.reason, long.detail]).toEqual(["request", "the prompt exceeds the context length"])
  })

  test("without a prompt count has none of the prompt to pay for; without any count, no usage", () => {
    const [[counted], [bare]] = [read([{ done: true, eval_count: 4 }]), read([{ done: true }])] as Anything
    expect(counted[0].usage).toEqual({ prompt_tokens: 0, completion_tokens: 4 })
    expect(bare[0].usage).toBeUndefined()
  })

  test.each([undefined, null])("output whose count is %p is not free: it is estimated", (eval_count) => {
    const message = { role: "assistant", content: "Rome." }
    const counts = { done: true, prompt_eval_count: 9, eval_count }
    const [, [end]] = read([{ message, done: false }, counts]) as Anything
    expect(end.usage).toBeUndefined()
    expect(chatAnswer({ message, ...counts })).not.toHaveProperty("usage")
    expect(chatAnswer({ message: { ...message, content: "" }, ...counts })).toMatchObject({
      usage: { prompt_tokens: 9, completion_tokens: 0 },
    })
  })

  test.each([
    [400, { error: '"gemma3" does not support tools' }, "request"],
    [401, { error: "unauthorized" }, "account"],
    [404, { error: "model 'x' not found" }, "not-found"],
    [500, { error: "llama runner process has terminated" }, "overloaded"],
    [500, { error: "input length exceeds the context length" }, "request"],
    [503, { error: "server busy, please try again" }, "overloaded"],
  ] as const)("%d %j is %s", (status, body, reason) => {
    expect(error(status, new Headers(), body).reason).toBe(reason)
  })
})

describe("the models of a server", () => {
  const tags = {
    models: [
      {
        name: "llama3.2:3b",
        model: "llama3.2:3b",
        digest: "a80c",
        size: 1,
        details: { family: "llama", quantization_level: "Q4_K_M" },
      },
    ],
  }
  const [model] = listing.decode(tags) ?? []

  test("are those that it lists", () => {
    expect(model).toEqual({
      id: "ollama/llama3.2:3b",
      context_length: 131_072,
      hosts: [{ model: "llama3.2:3b", quantization: "int4" }],
    })
    expect(listing.decode({ models: [] })).toEqual([])
  })

  test.each([
    ["<html>"],
    [null],
    [{}],
    [{ object: "list", data: [{ id: "gpt" }] }],
    [{ models: [{ name: "a" }] }],
    [{ models: "many" }],
  ])("are none where something else listens: %j", (body) => expect(listing.decode(body)).toBeUndefined())

  test("have the length and the capabilities that the server tells", () => {
    if (model === undefined || listing.detail === undefined) throw new Error("no model")
    const { request, decode } = listing.detail
    expect(request("llama3.2:3b")).toEqual({ path: "/api/show", body: '{"model":"llama3.2:3b"}' })
    const info = { "general.architecture": "llama", "llama.context_length": 4096 }
    const shown = decode(model, { capabilities: ["completion", "tools", "vision"], model_info: info }) as Anything
    expect([shown.context_length, shown.architecture.input_modalities]).toEqual([4096, ["text", "image"]])
    expect(shown.hosts[0].supported_parameters).toContain("tools")
    expect(shown.hosts[0].supported_parameters).not.toContain("reasoning")
    const vectors = decode(model, { capabilities: ["embedding"] }) as Anything
    expect(vectors.architecture.output_modalities).toEqual(["embeddings"])
    expect(decode(model, "nonsense")).toBe(model)
  })
})

test("the plugin is the cloud's, and knows where a server of one's own listens", async () => {
  expect([plugin.baseUrl, plugin.keyVariable, plugin.local]).toEqual([
    "https://ollama.com",
    "OLLAMA_API_KEY",
    { baseUrl: "http://127.0.0.1:11434" },
  ])
  expect(Either.isLeft(plugin.load({ num_ctx: 0 }))).toBe(true)
  const loaded = await Either.getOrThrow(plugin.load({ num_ctx: 8192 }))
  expect(Object.keys(loaded.protocols)).toEqual(["chat"])
})
