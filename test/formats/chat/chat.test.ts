import { describe, expect, test } from "bun:test"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { HostReason } from "../../../src/domain/failures/HostReason.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import type { ChatChunk, ChatResponse } from "../../../src/domain/request/chat.ts"
import type { ChatQuirks } from "../../../src/formats/chat/ChatQuirks.ts"
import { chatProtocol } from "../../../src/formats/chat/chatHost.ts"
import { partsInOrder } from "../../../src/formats/conversation.ts"
import { addChunks, encodedBy, hostFor, requestWith, TranscriptBuilder } from "../../support/recordings/recordings.ts"

const messages = [{ role: "user", content: "hi" }]
const host = hostFor("small-v1")

const head = { status: 200, headers: new Headers() }
const context = { request: requestWith({ messages }), host }

const answered = (body: unknown, quirks: ChatQuirks = {}) => chatProtocol(quirks).decode(head, body, context)

const wellDecoded = (result: ReadonlyArray<ChatChunk> | HostFailed): ReadonlyArray<ChatChunk> => {
  if (result instanceof HostFailed) throw result
  return result
}

const answeredWell = (body: unknown, quirks: ChatQuirks = {}): ChatResponse => {
  const response = answered(body, quirks)
  if (response instanceof HostFailed) throw response
  return response
}

const failureOf = (result: unknown): HostReason | undefined =>
  result instanceof HostFailed ? result.reason : undefined

const whole = (message: JsonObject, finish: unknown = "stop", more: JsonObject = {}) => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "small-v1",
  choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }],
  ...more,
})

const event = (delta: JsonObject, finish: unknown = null, more: JsonObject = {}) => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "small-v1",
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
})

/** The chunks of these events, and of the end. */
const decoded = (events: ReadonlyArray<unknown>, quirks: ChatQuirks = {}): ReadonlyArray<ChatChunk> => {
  const decoder = chatProtocol(quirks).decoder(head, context)
  const chunks = events.flatMap((data) => wellDecoded(decoder.event("", data)))
  return [...chunks, ...wellDecoded(decoder.end())]
}

const transcriptOf = (events: ReadonlyArray<unknown>, quirks: ChatQuirks = {}) => {
  const builder = new TranscriptBuilder()
  addChunks(builder, decoded(events, quirks))
  return builder.transcript()
}

const call = (
  index: number | undefined,
  id: string | undefined,
  name: string | undefined,
  args: unknown,
): JsonObject => ({
  tool_calls: [
    {
      ...(index === undefined ? {} : { index }),
      ...(id === undefined ? {} : { id }),
      type: "function",
      function: { ...(name === undefined ? {} : { name }), arguments: args },
    },
  ],
})

describe("response", () => {
  test("has the canonical members and none of the gateway's", () => {
    const logprobs = { content: [] }
    const body = whole({ content: "hi" }, "stop", {
      ...{ provider: "P", cost: 1, system_fingerprint: "fp", service_tier: "flex", citations: ["u"] },
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, cost: 0.5, is_byok: true },
    })
    const [choice] = body.choices
    expect(answeredWell({ ...body, choices: [{ ...choice, logprobs, stop_reason: 5 }] })).toEqual({
      choices: [
        {
          index: 0,
          logprobs,
          finish_reason: "stop",
          native_finish_reason: "stop",
          message: { role: "assistant", content: "hi", refusal: null, reasoning: null },
          stop_reason: 5,
        },
      ],
      system_fingerprint: "fp",
      service_tier: "flex",
      citations: ["u"],
      usage: { prompt_tokens: 3, completion_tokens: 2 },
    })
  })

  test("system_fingerprint is there even as null, service_tier only as text, a null error is none", () => {
    const response = answeredWell(whole({ content: "hi" }, "stop", { service_tier: null, usage: null, error: null }))
    expect(response["system_fingerprint"]).toBeNull()
    expect(Object.keys(response)).toEqual(["choices", "system_fingerprint"])
  })

  test.each<[unknown, string | null]>([
    ...["stop", "end_turn", "eos", "STOP", "stop_sequence", "something_new"].map((word): [string, string] => [
      word,
      "stop",
    ]),
    ...["length", "max_tokens", "MAX_TOKENS", "model_length"].map((word): [string, string] => [word, "length"]),
    ...["tool_calls", "tool_use", "function_call"].map((word): [string, string] => [word, "tool_calls"]),
    ...["content_filter", "SAFETY", "refusal", "RECITATION"].map((word): [string, string] => [word, "content_filter"]),
    [null, null],
    ["", null],
    [0, null],
  ])("finish_reason %p is %p", (word, finish) => {
    const [choice] = answeredWell(whole({ content: "" }, word)).choices
    expect(choice?.finish_reason as unknown).toBe(finish)
    expect(choice?.native_finish_reason).toBe(typeof word === "string" && word !== "" ? word : null)
  })

  test("the native word of a host that is itself a router is kept", () => {
    const body = whole({ content: "" })
    const choices = [{ ...body.choices[0], native_finish_reason: "STOP" }]
    expect(answeredWell({ ...body, choices }).choices[0]?.native_finish_reason).toBe("STOP")
  })

  test("a stop that carries tool calls is tool_calls", () => {
    const message = { content: null, tool_calls: [{ function: { name: "f", arguments: { a: 1 } }, extra: 1 }] }
    const [choice] = answeredWell(whole(message)).choices
    expect([choice?.finish_reason, choice?.native_finish_reason]).toEqual(["tool_calls", "stop"])
    expect(choice?.message["tool_calls"]).toEqual([
      {
        id: expect.stringMatching(/^call_\w{24}$/),
        type: "function",
        function: { name: "f", arguments: '{"a":1}' },
        extra: 1,
      },
    ])
  })

  test("empty and null lists of tool calls are none", () => {
    for (const tool_calls of [null, []]) {
      const [choice] = answeredWell(whole({ content: "a", tool_calls, audio: null })).choices
      expect(choice?.finish_reason).toBe("stop")
      expect(choice?.message as unknown).toEqual({ role: "assistant", content: "a", refusal: null, reasoning: null })
    }
  })

  test.each<[JsonObject, string | null, string | null]>([
    [{ content: "a", reasoning_content: "r" }, "a", "r"],
    [{ content: "a", reasoning: "r", reasoning_content: "x" }, "a", "r"],
    [{ content: "a", reasoning: null, reasoning_content: "r" }, "a", "r"],
    [
      {
        content: [
          { type: "thinking", thinking: [{ type: "text", text: "r" }] },
          { type: "text", text: "a" },
        ],
      },
      "a",
      "r",
    ],
    [{ content: [{ type: "thinking", thinking: "r" }] }, "", "r"],
    [{ content: "<think>r</think>a" }, "<think>r</think>a", null],
    [{}, null, null],
  ])("%j says its text and reasoning", (message, content, reasoning) => {
    const [choice] = answeredWell(whole(message)).choices
    expect(choice?.message as unknown).toEqual({ role: "assistant", content, refusal: null, reasoning })
  })

  test("think tags are reasoning where a quirk says so", () => {
    const { message } =
      answeredWell(whole({ content: "<think>\nr</think>\n\na" }), { thinkTags: true }).choices[0] ?? {}
    expect([message?.content, message?.["reasoning"]]).toEqual(["a", "\nr"])
  })

  test("lists that are none are left out, and a call that is no object has no name", () => {
    const message = { content: "a", reasoning_details: "r", annotations: {}, tool_calls: [7] }
    expect(answeredWell(whole(message)).choices[0]?.message as unknown).toEqual({
      ...{ role: "assistant", content: "a", refusal: null, reasoning: null },
      tool_calls: [{ id: expect.stringMatching(/^call_/), type: "function", function: { name: "", arguments: "{}" } }],
    })
  })

  test("images pass on, and what is no image is left out", () => {
    const url = "data:image/png;base64,AAAA"
    const given = [{ image_url: { url }, index: 3 }, { type: "image_url", image_url: {} }, 7, null]
    const images = [{ type: "image_url", image_url: { url }, index: 3 }]
    expect(answeredWell(whole({ content: "", images: given })).choices[0]?.message).toMatchObject({ images })
    expect(answeredWell(whole({ content: "", images: 7 })).choices[0]?.message).not.toHaveProperty("images")
    const event = (given: unknown) =>
      chatProtocol()
        .decoder(head, context)
        .event("", { choices: [{ index: 0, delta: { images: given }, finish_reason: null }] })
    expect(event(given)).toMatchObject([{ choices: [{ delta: { images } }] }])
    expect(event({ a: 1 })).toMatchObject([{ choices: [{ delta: {} }] }])
    expect(JSON.stringify(event({ a: 1 }))).not.toContain("images")
  })

  test("what else a message has passes on", () => {
    const images = [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" }, index: 0 }]
    const more = {
      reasoning_details: [{ type: "reasoning.text", text: "r" }],
      annotations: [{}],
      audio: { id: "a" },
      images,
      refusal: "no",
    }
    expect(answeredWell(whole({ content: null, ...more })).choices[0]?.message).toMatchObject(more)
  })

  test("logprobs always have content", () => {
    const body = whole({ content: "a" })
    const choices = [{ ...body.choices[0], logprobs: { tokens: ["a"] } }]
    expect(answeredWell({ ...body, choices }).choices[0]?.["logprobs"]).toEqual({ content: null, tokens: ["a"] })
  })

  test("a filter may leave no message", () => {
    const [choice] = answeredWell({ choices: [{ index: 0, finish_reason: "content_filter" }] }).choices
    expect([choice?.message.content, choice?.finish_reason]).toEqual(["", "content_filter"])
  })

  test.each<[unknown, HostReason]>([
    [null, "malformed"],
    ["<html>", "malformed"],
    [[], "malformed"],
    [{}, "malformed"],
    [{ choices: null }, "malformed"],
    [{ choices: [] }, "malformed"],
    [{ choices: {} }, "malformed"],
    [{ choices: [null] }, "malformed"],
    [{ choices: [{ text: "a", finish_reason: "stop" }] }, "malformed"],
    [{ choices: "a" }, "malformed"],
    [{ choices: [{ message: "a", finish_reason: "stop" }] }, "malformed"],
    [{ choices: [{ message: 7, finish_reason: "content_filter" }] }, "malformed"],
    [whole({ content: 7 }), "malformed"],
    [whole({ content: { text: "a" } }), "malformed"],
    [whole({ content: true }), "malformed"],
    [{ error: { code: 429 } }, "rate-limited"],
    [{ error: "rate_limit" }, "rate-limited"],
    [{ object: "error", type: "invalid_request", code: 400 }, "request"],
    [{ choices: [{ message: {}, finish_reason: "error", error: { code: 401 } }] }, "account"],
    [whole({ content: "a" }, "error"), "overloaded"],
    [whole({ content: "a" }, "stop", { error: { code: 502 } }), "overloaded"],
  ])("%j has failed: %s", (body, reason) => expect(failureOf(answered(body))).toBe(reason))
})

describe("usage", () => {
  const usage = (raw: JsonObject, quirks: ChatQuirks = {}) =>
    answeredWell(whole({ content: "a" }, "stop", { usage: raw }), quirks).usage
  const counts = { prompt_tokens: 10, completion_tokens: 5 }

  test.each<[string, JsonObject, JsonObject]>([
    ["in details", { prompt_tokens_details: { cached_tokens: 4, text_tokens: 9 } }, { cached_tokens: 4 }],
    ["as DeepSeek says it", { prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 6 }, { cached_tokens: 4 }],
    ["at the top", { cached_tokens: 4, prompt_tokens_details: null }, { cached_tokens: 4 }],
    ["under another name", { num_cached_tokens: 4 }, { cached_tokens: 4 }],
    [
      "in Anthropic's words",
      { cache_read_input_tokens: 4, cache_creation_input_tokens: 3, cache_creation: { ephemeral_1h_input_tokens: 2 } },
      { cached_tokens: 4, cache_write_tokens: 3, cache_write_1h_tokens: 2 },
    ],
  ])("cached tokens %s", (_, raw, details) => {
    expect(usage({ ...counts, ...raw })).toEqual({ ...counts, prompt_tokens_details: details })
  })

  test("reasoning beside the output is counted with it where the total shows it", () => {
    const raw = { ...counts, total_tokens: 22, completion_tokens_details: { reasoning_tokens: 7 } }
    expect(usage(raw)).toMatchObject({ prompt_tokens: 10, completion_tokens: 12 })
    expect(usage({ ...raw, total_tokens: 15 })).toMatchObject({ completion_tokens: 5 })
    expect(usage({ ...raw, total_tokens: 15 }, { reasoningBeside: true })).toMatchObject({ completion_tokens: 12 })
  })

  test("audio beside the prompt is counted with it where the total shows it", () => {
    const raw = { ...counts, total_tokens: 45, prompt_tokens_details: { audio_tokens: 30 } }
    expect(usage(raw)).toMatchObject({ prompt_tokens: 40, completion_tokens: 5 })
    const both = { ...raw, total_tokens: 52, completion_tokens_details: { reasoning_tokens: 7 } }
    expect(usage(both)).toMatchObject({ prompt_tokens: 40, completion_tokens: 12 })
  })

  test("counts that are none pass on for the meter to refuse", () => {
    expect(usage({ prompt_tokens: "10", completion_tokens: -1 })).toMatchObject({
      prompt_tokens: "10",
      completion_tokens: -1,
    })
  })

  test("a count that the host left out stays absent: it was once billed as zero", () => {
    expect(usage({ prompt_tokens: 10 })).toStrictEqual({ prompt_tokens: 10 })
    expect(
      usage({ prompt_tokens: 10, completion_tokens: null, total_tokens: 12 }, { reasoningBeside: true }),
    ).toStrictEqual({ prompt_tokens: 10 })
  })

  test("Groq's streams give it under x_groq", () => {
    expect(transcriptOf([event({}, "stop", { x_groq: { usage: counts } })]).usage).toMatchObject({ promptTokens: 10 })
  })
})

describe("several signed thoughts in a stream", () => {
  const format = "anthropic-claude-v1"
  const piece = (index: number, more: JsonObject) => ({
    reasoning_details: [{ type: "reasoning.text", format, index, ...more }],
  })
  const call = { index: 0, id: "call_1", type: "function", function: { name: "f", arguments: "{}" } }
  const said = [
    ...[event(piece(0, { text: "Fir" })), event(piece(0, { text: "st" })), event(piece(0, { signature: "one" }))],
    ...[event(piece(1, { text: "Second" })), event(piece(1, { signature: "two" }))],
    ...[event({ content: "Text" }), event({ tool_calls: [call] }), event({}, "tool_calls")],
  ]
  const detailsOf = (events: ReadonlyArray<unknown>) =>
    decoded(events).flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.reasoning_details ?? []))

  // The AI SDK's provider makes one of all texts, with the first signature.
  test("go back apart where a client has merged them", () => {
    const entry = detailsOf(said).at(-1)
    const merged = { type: "reasoning.text", format, index: 0, text: "FirstSecond", signature: "one" }
    const history = { role: "assistant", content: "Text", reasoning_details: [merged, entry] }
    const request = requestWith({ messages: [...messages, history] })
    expect(encodedBy(chatProtocol(), request, host).body["messages"]).toEqual([
      ...messages,
      {
        ...history,
        reasoning_details: [
          { type: "reasoning.text", format, index: 0, text: "First", signature: "one" },
          { type: "reasoning.text", format, index: 1, text: "Second", signature: "two" },
        ],
      },
    ])
  })

  test("come before the text and the calls at a host of another form", () => {
    const history = { role: "assistant" as const, content: "Text that was spliced", tool_calls: [call] }
    const { parts, isInOrder } = partsInOrder({ ...history, reasoning_details: detailsOf(said) })
    expect([parts.map(({ type }) => type), isInOrder]).toEqual([["reasoning", "reasoning", "content", "call"], true])
  })

  test("are listed once, at the end, and not where the host did so itself", () => {
    const listed = detailsOf([...said, event({}, "stop")]).filter(({ type }) => type === "reasoning.encrypted")
    expect(listed.map(({ data }) => JSON.parse(data ?? ""))).toEqual([
      [
        ["reasoning", 5, "one", 0],
        ["reasoning", 6, "two", 0],
        ["text", null],
        ["call", "call_1"],
      ],
    ])
    const [entry] = listed
    const own = [...said.slice(0, -1), event({ reasoning_details: [entry] }), event({}, "tool_calls")]
    expect(detailsOf(own).filter(({ type }) => type === "reasoning.encrypted")).toEqual(listed)
  })

  test.each<[string, ReadonlyArray<unknown>]>([
    ["one thought", [event(piece(0, { text: "a" })), event(piece(0, { signature: "s" })), event({}, "stop")]],
    [
      "thoughts without signatures",
      [event(piece(0, { text: "a" })), event(piece(1, { text: "b" })), event({}, "stop")],
    ],
  ])("are nothing to list: %s", (_, events) => {
    expect(detailsOf(events).every(({ type }) => type === "reasoning.text")).toBe(true)
  })
})

describe("decoder", () => {
  test("an event becomes a chunk without ids, nulls and names of the host", () => {
    const more = { system_fingerprint: null, service_tier: "default", usage: null, obfuscation: "x" }
    const delta = { role: "assistant", content: "a", refusal: null, tool_calls: null, function_call: null }
    expect(decoded([event(delta, null, more)])).toEqual([
      {
        choices: [
          {
            index: 0,
            delta: { role: "assistant", content: "a" },
            finish_reason: null,
            native_finish_reason: null,
            logprobs: null,
          },
        ],
        service_tier: "default",
        obfuscation: "x",
      },
    ])
  })

  test("a chunk with usage alone has empty choices", () => {
    const usage = { prompt_tokens: 3, completion_tokens: 2 }
    expect(decoded([{ choices: [], usage }, { usage }])).toEqual([
      { choices: [], usage },
      { choices: [], usage },
    ])
  })

  test("an event without choices and usage says nothing", () =>
    expect(decoded([{ type: "ping" }, {}, { choices: null }])).toEqual([]))

  test("reasoning is read under both names, once", () => {
    const deltas = [
      { reasoning_content: "a" },
      { reasoning: "b" },
      { reasoning: "c", reasoning_content: "c" },
      { reasoning: "" },
    ]
    expect(transcriptOf(deltas.map((delta) => event(delta))).choices[0]?.reasoning).toBe("abc")
    expect(decoded([event({ reasoning_content: "a" })])[0]?.choices[0]?.delta as unknown).toEqual({ reasoning: "a" })
  })

  test("a message in place of a delta, and a choice without an index", () => {
    const choices = [{ message: { role: "assistant", content: "a" }, finish_reason: "stop" }]
    expect(transcriptOf([{ choices }]).choices[0]).toMatchObject({ text: "a", finishReason: "stop" })
  })

  test("choices are kept apart", () => {
    const other = { index: 1, delta: call(0, "b", "g", "{}"), finish_reason: "stop" }
    const events = [event(call(0, "a", "f", "{}")), { choices: [other] }, event({ content: "x" }, "length")]
    expect(transcriptOf(events).choices.map((choice) => [choice.finishReason, choice.toolCalls.length])).toEqual([
      ["length", 1],
      ["tool_calls", 1],
    ])
  })

  describe("tool calls", () => {
    const f = { id: "a", name: "f", arguments: '{"x":1}' }
    const g = { id: "b", name: "g", arguments: "{}" }
    test.each<[string, ReadonlyArray<JsonObject>]>([
      [
        "in pieces",
        [
          call(0, "a", "f", ""),
          call(0, undefined, undefined, '{"x":'),
          call(0, undefined, undefined, "1}"),
          call(1, "b", "g", "{}"),
        ],
      ],
      ["that share an index", [call(0, "a", "f", '{"x":1}'), call(0, "b", "g", "{}")]],
      ["without an index", [call(undefined, "a", "f", '{"x":1}'), call(undefined, "b", "g", "{}")]],
      [
        "without an index, in pieces",
        [
          call(undefined, "a", "f", '{"x"'),
          call(undefined, undefined, undefined, ":1}"),
          call(undefined, "b", "g", "{}"),
        ],
      ],
      ["that repeat id and name", [call(0, "a", "f", '{"x"'), call(0, "a", "f", ":1}"), call(1, "b", "g", "{}")]],
      [
        "with an empty id in later pieces",
        [call(0, "a", "f", '{"x"'), call(0, "", "", ":1}"), call(1, "b", "g", "{}")],
      ],
      [
        "with a made-up id in later pieces",
        [call(0, "a", "f", '{"x"'), call(0, "zz", undefined, ":1}"), call(1, "b", "g", "{}")],
      ],
      ["that begin at another index", [call(3, "a", "f", '{"x":1}'), call(7, "b", "g", "{}")]],
      ["with arguments as an object", [call(0, "a", "f", { x: 1 }), call(1, "b", "g", {})]],
      [
        "in turns",
        [
          call(0, "a", "f", '{"x"'),
          call(1, "b", "g", "{"),
          call(0, undefined, undefined, ":1}"),
          call(1, undefined, undefined, "}"),
        ],
      ],
    ])("%s", (_, deltas) => {
      const { choices } = transcriptOf([...deltas.map((delta) => event(delta)), event({}, "stop")])
      expect(choices[0]).toMatchObject({ toolCalls: [f, g], finishReason: "tool_calls" })
    })

    test("only the first piece has id, type and name", () => {
      const pieces = decoded([event(call(0, "a", "f", "")), event(call(0, "a", "f", "{}"))])
      expect(pieces.map((chunk) => chunk.choices[0]?.delta["tool_calls"])).toEqual([
        [{ index: 0, id: "a", type: "function", function: { name: "f", arguments: "" } }],
        [{ index: 0, function: { arguments: "{}" } }],
      ])
    })

    test("calls without ids get one each", () => {
      const { choices } = transcriptOf([event(call(0, undefined, "f", "{}")), event(call(0, undefined, "g", "{}"))])
      const ids = choices[0]?.toolCalls.map(({ id }) => id) ?? []
      expect(ids).toEqual([expect.stringMatching(/^call_/), expect.stringMatching(/^call_/)])
      expect(new Set(ids).size).toBe(2)
    })
  })

  test.each<[string, unknown, HostReason]>([
    ["", { error: { code: 429 } }, "rate-limited"],
    ["", { error: { message: "m", type: "server_error" } }, "overloaded"],
    ["", event({ content: "" }, "stop", { error: { code: 502 } }), "overloaded"],
    ["error", { message: "m", type: "rate_limit_error" }, "rate-limited"],
    ["", { object: "error", message: "m", code: 400 }, "request"],
    ["", { choices: [], x_groq: { error: "over_capacity" } }, "overloaded"],
    ["", { choices: [{ index: 0, delta: {}, finish_reason: "error", error: { code: 403 } }] }, "forbidden"],
    ["", event({}, "error"), "overloaded"],
    ["", event({}, "insufficient_system_resource"), "overloaded"],
    ["", null, "malformed"],
    ["", [], "malformed"],
    ["", "text", "malformed"],
    ["", { choices: [7] }, "malformed"],
    ["", { choices: {} }, "malformed"],
    ["", { choices: "a", usage: { prompt_tokens: 1 } }, "malformed"],
    ["", { choices: [{ index: 0, delta: 7 }] }, "malformed"],
    ["", event({ content: 7 }), "malformed"],
    ["", event({ content: { text: "a" } }), "malformed"],
  ])("event %p %j has failed: %s", (name, data, reason) => {
    expect(failureOf(chatProtocol().decoder(head, context).event(name, data))).toBe(reason)
  })

  describe("think tags", () => {
    const thinks = { thinkTags: true }
    test("are text unless a quirk says otherwise", () => {
      expect(chatProtocol().transparent).toBe(true)
      expect(chatProtocol(thinks).transparent).toBe(false)
      expect(transcriptOf([event({ content: "<think>r</think>a" })]).choices[0]?.text).toBe("<think>r</think>a")
    })

    test.each([
      ["<think>r</think>a", "r", "a"],
      ["\n<think>\nr\n</think>\n\na <think> b", "\nr\n", "a <think> b"],
      ["<think>r < s </thin k></think>", "r < s </thin k>", ""],
      ["<think>never ends </thi", "never ends </thi", ""],
      ["<thinker>a", "", "<thinker>a"],
      ["<th", "", "<th"],
      ["plain", "", "plain"],
    ])("%p, however it is cut", (text, reasoning, answer) => {
      for (const size of [1, 2, 3, 5, text.length]) {
        const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
          text.slice(at * size, at * size + size),
        )
        const deltas = pieces.map((content) => event({ content }))
        for (const events of [deltas, [...deltas, event({}, "stop")]]) {
          expect(transcriptOf(events, thinks).choices[0]).toMatchObject({ text: answer, reasoning })
        }
      }
    })
  })
})

describe("calls without a finish or without arguments", () => {
  const call = { id: "c", type: "function", function: { name: "f", arguments: "" } }
  const piece = { index: 0, ...call }
  const calls = [{ ...call, function: { name: "f", arguments: "{}" } }]

  test.each([null, undefined, "", "stop", "tool_calls"])("H11, H14: whole, finish %p", (finish) => {
    const [choice] = answeredWell(whole({ content: null, tool_calls: [call] }, finish)).choices
    expect([choice?.finish_reason, choice?.message.tool_calls]).toEqual(["tool_calls", calls])
  })

  test("a whole answer that was cut keeps them as they are", () => {
    const [choice] = answeredWell(whole({ content: null, tool_calls: [call] }, "length")).choices
    expect([choice?.finish_reason, choice?.message.tool_calls]).toEqual(["length", [call]])
  })

  test.each([
    ["stop", "{}"],
    ["tool_calls", "{}"],
    ["length", ""],
  ])("H14: streamed, finish %p: %p", (finish, written) => {
    const events = [event({ tool_calls: [piece] }), event({}, finish)]
    expect(transcriptOf(events).choices[0]?.toolCalls).toEqual([{ id: "c", name: "f", arguments: written }])
    const inOne = [event({ tool_calls: [piece] }, finish)]
    expect(transcriptOf(inOne).choices[0]?.toolCalls).toEqual([{ id: "c", name: "f", arguments: written }])
  })

  test("H14: streamed, without a finish", () => {
    expect(transcriptOf([event({ tool_calls: [piece] })]).choices[0]?.toolCalls[0]?.arguments).toBe("{}")
  })

  test("H14: streamed, arguments that come late are not doubled", () => {
    const more = { index: 0, function: { arguments: '{"a":1}' } }
    const events = [
      event({ tool_calls: [piece] }),
      event({ tool_calls: [more] }, "tool_calls"),
      event({}, "tool_calls"),
    ]
    expect(transcriptOf(events).choices[0]?.toolCalls[0]?.arguments).toBe('{"a":1}')
  })
})

describe("usage in odd places (H13, W9)", () => {
  const counts = { prompt_tokens: 50, completion_tokens: 7 }
  const lastUsage = (...events: ReadonlyArray<unknown>) =>
    decoded(events)
      .flatMap(({ usage }) => usage ?? [])
      .at(-1)

  test("in the first choice, as Moonshot's streams have it", () => {
    const finished = { index: 0, delta: {}, finish_reason: "stop", usage: counts }
    expect(lastUsage(event({ content: "a" }), { ...event({}), choices: [finished] })).toEqual(counts)
    const [chunk] = decoded([{ ...event({}), choices: [finished] }])
    expect(chunk?.choices[0]).not.toHaveProperty("usage")
  })

  test.each<[string, JsonObject, JsonObject]>([
    [
      "cached tokens beside the prompt, as the total shows (Portkey)",
      { prompt_tokens: 10, completion_tokens: 7, total_tokens: 57, prompt_tokens_details: { cached_tokens: 40 } },
      { ...counts, prompt_tokens_details: { cached_tokens: 40 } },
    ],
    [
      "cached tokens that were read and written beside the prompt",
      {
        ...{ prompt_tokens: 10, completion_tokens: 7, total_tokens: 57 },
        ...{ cache_read_input_tokens: 30, cache_creation_input_tokens: 10 },
      },
      { ...counts, prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 10 } },
    ],
    ["Anthropic's names", { input_tokens: 50, output_tokens: 7 }, counts],
    [
      "Anthropic's names, with cached tokens beside",
      { input_tokens: 10, output_tokens: 7, cache_read_input_tokens: 30, cache_creation_input_tokens: 10 },
      { ...counts, prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 10 } },
    ],
    [
      "names of OpenAI's responses, with cached tokens within",
      { input_tokens: 50, output_tokens: 7, input_tokens_details: { cached_tokens: 40 } },
      { ...counts, prompt_tokens_details: { cached_tokens: 40 } },
    ],
    [
      "thinking that only the total shows",
      { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1500 },
      {
        ...{ prompt_tokens: 1000, completion_tokens: 500 },
        completion_tokens_details: { reasoning_tokens: 400 },
      },
    ],
    ["a total that is too small", { ...counts, total_tokens: 3 }, counts],
  ])("%s", (_, usage, expected) => {
    expect(answeredWell(whole({ content: "a" }, "stop", { usage })).usage).toEqual(expected)
    expect(lastUsage(event({ content: "a" }, "stop", { usage }))).toEqual(expected)
  })

  test.each<[JsonObject, JsonObject]>([
    [
      { prompt_tokens: 50, completion_tokens: 0, prompt_tokens_details: { cached_tokens: 40 } },
      { prompt_tokens: 0, completion_tokens: 7 },
    ],
    [
      { prompt_tokens: 0, completion_tokens: 7 },
      { prompt_tokens: 50, completion_tokens: 0, prompt_tokens_details: { cached_tokens: 40 } },
    ],
    [{ prompt_tokens: 50, prompt_tokens_details: { cached_tokens: 40 } }, { completion_tokens: 7 }],
    [
      { ...counts, prompt_tokens_details: { cached_tokens: 40 } },
      { prompt_tokens: 0, completion_tokens: 0 },
    ],
  ])("prompt and output in two events: %j, %j", (first, then) => {
    expect(lastUsage(event({ content: "a" }, null, { usage: first }), event({}, "stop", { usage: then }))).toEqual({
      ...counts,
      prompt_tokens_details: { cached_tokens: 40 },
    })
  })
})

describe("H17: hosts that keep to no form", () => {
  const tags: ChatQuirks = { thinkTags: true }

  test("a closing tag of thinking alone ends reasoning in a whole answer, and is no text in a stream", () => {
    const text = "Let me see.\n</think>\n\nIt is 4."
    const [choice] = answeredWell(whole({ content: text }), tags).choices
    expect([choice?.message.reasoning, choice?.message.content]).toEqual(["Let me see.\n", "It is 4."])
    for (const size of [1, 3, 7]) {
      const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
        text.slice(at * size, (at + 1) * size),
      )
      const said = transcriptOf(
        pieces.map((content) => event({ content })),
        tags,
      ).choices[0]
      expect(said?.text).toBe("Let me see.\nIt is 4.")
    }
    expect(answeredWell(whole({ content: text })).choices[0]?.message.content).toBe(text)
  })

  test.each(["qwen-3-235b-a22b-thinking-2507", "Qwen/QwQ-32B", "Qwen/Qwen3-Next-80B-A3B-Thinking"])(
    "the stream of a model whose template opens the thinking is read alike: %s",
    (model) => {
      const thinking = { ...context, host: hostFor(model) }
      const readFrom = (deltas: ReadonlyArray<JsonObject>) => {
        const decoder = chatProtocol(tags).decoder(head, thinking)
        const events = [...deltas.map((delta) => event(delta)), event({}, "stop")]
        const chunks = events.flatMap((one) => wellDecoded(decoder.event("", one)))
        const said = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta))
        return [said.map((delta) => delta.reasoning ?? "").join(""), said.map((delta) => delta.content ?? "").join("")]
      }
      for (const text of ["Let me see.\n</think>\n\nIt is 4.", "<think>Let me see.\n</think>\n\nIt is 4."]) {
        for (const size of [1, 3, 7, text.length]) {
          const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? []
          expect(readFrom(pieces.map((content) => ({ content })))).toEqual(["Let me see.\n", "It is 4."])
        }
      }
      // Where the host separates the thinking itself, the text has no tag.
      expect(readFrom([{ reasoning_content: "Hm." }, { content: "It is " }, { content: "4." }])).toEqual([
        "Hm.",
        "It is 4.",
      ])
    },
  )

  test.each(["Too long.", [{ msg: "Too long." }]])(
    "FastAPI's error is one, whole and within a stream: %j",
    (detail) => {
      expect(failureOf(answered({ detail }))).toBe("overloaded")
      const decoder = chatProtocol().decoder(head, context)
      decoder.event("", event({ content: "a" }))
      expect(failureOf(decoder.event("", { detail }))).toBe("overloaded")
      // Beside an answer it is a member like others.
      expect(failureOf(answered(whole({ content: "a" }, "stop", { detail })))).toBeUndefined()
    },
  )
})
