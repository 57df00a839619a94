/** What a host of the Responses form is sent for a request in the canonical form. */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import * as fc from "effect/FastCheck"
import type { Host } from "../../../src/domain/hosts/Host.ts"
import { type JsonObject, objectsIn } from "../../../src/domain/json/json.ts"
import { responsesProtocol } from "../../../src/formats/responses/responsesHost.ts"
import { decodeResponses } from "../../../src/formats/responses/responsesRequest.ts"
import { clients } from "../../support/formats/conversationClients.ts"
import { sentTo } from "../../support/formats/conversationTurns.ts"
import { encodedBy, hostFor, requestWith } from "../../support/recordings/recordings.ts"

const protocol = responsesProtocol({ leastTokens: 16, efforts: () => ["low", "medium", "high"] })
const host = hostFor("gpt-5-mini")
const user = { role: "user", content: "hi" }

const sent = (body: object, more: Parameters<typeof requestWith>[1] = {}, changes: Partial<Host> = {}, by = protocol) =>
  encodedBy(by, requestWith({ messages: [user], ...body }, more), { ...host, ...changes })

const refusalOf = (body: object, more: Parameters<typeof requestWith>[1] = {}, changes: Partial<Host> = {}) => {
  const encoded = protocol.encode(requestWith({ messages: [user], ...body }, more), { ...host, ...changes })
  return Either.isLeft(encoded) ? encoded.left.path : undefined
}

describe("a conversation", () => {
  const thought = { format: "openai-responses-v1", id: "rs_1" }

  test("becomes items, in order", () => {
    const { path, body } = sent({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "developer", content: [{ type: "text", text: "Be kind." }] },
        {
          role: "user",
          content: [
            { type: "text", text: "Look:" },
            { type: "image_url", image_url: { url: "https://a.example/x.png" } },
            { type: "image_url", image_url: { url: "data:image/png;base64,aGk=", detail: "low" } },
            { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,aGk=" } },
            { type: "file", file: { file_data: "aGk=" } },
            { type: "file", file: { file_data: "https://a.example/a.pdf" } },
          ],
        },
        {
          role: "assistant",
          content: "Ask.",
          reasoning: "First. Then.",
          reasoning_details: [
            { type: "reasoning.summary", summary: "First. ", ...thought, index: 0 },
            { type: "reasoning.summary", summary: "Then.", ...thought, index: 1 },
            { type: "reasoning.encrypted", data: "c2VjcmV0", ...thought, index: 0 },
          ],
          tool_calls: [
            { id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } },
            { id: "c2", type: "function", function: { name: "time", arguments: "" } },
          ],
        },
        { role: "tool", tool_call_id: "c1", content: "12 degrees" },
        { role: "tool", tool_call_id: "c2", content: [{ type: "image_url", image_url: { url: "data:a" } }] },
        { role: "assistant", content: null, refusal: "I cannot." },
        { role: "user", content: "Go on." },
      ],
    })
    expect(path).toBe("/responses")
    expect(body["input"]).toEqual([
      { type: "message", role: "system", content: "Be brief." },
      { type: "message", role: "developer", content: [{ type: "input_text", text: "Be kind." }] },
      {
        type: "message",
        role: "user",
        content: [
          { type: "input_text", text: "Look:" },
          { type: "input_image", image_url: "https://a.example/x.png", detail: "auto" },
          { type: "input_image", image_url: "data:image/png;base64,aGk=", detail: "low" },
          { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,aGk=" },
          { type: "input_file", filename: "file.pdf", file_data: "data:application/pdf;base64,aGk=" },
          { type: "input_file", file_url: "https://a.example/a.pdf" },
        ],
      },
      {
        type: "reasoning",
        id: "rs_1",
        summary: [
          { type: "summary_text", text: "First. " },
          { type: "summary_text", text: "Then." },
        ],
        encrypted_content: "c2VjcmV0",
      },
      { type: "message", role: "assistant", content: "Ask." },
      { type: "function_call", call_id: "c1", name: "weather", arguments: '{"city":"Rome"}' },
      { type: "function_call", call_id: "c2", name: "time", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "12 degrees" },
      {
        type: "function_call_output",
        call_id: "c2",
        output: [{ type: "input_image", image_url: "data:a", detail: "auto" }],
      },
      { type: "message", role: "assistant", content: [{ type: "refusal", refusal: "I cannot." }] },
      { type: "message", role: "user", content: "Go on." },
    ])
  })

  test("has results of custom tools as such, in both ways in which a call of one is written", () => {
    const { body } = sent({
      messages: [
        user,
        {
          role: "assistant",
          tool_calls: [
            { id: "c1", type: "custom", custom: { name: "exec", input: "ls" } },
            { id: "c2", type: "custom", function: { name: "exec", arguments: "pwd" } },
            { id: "c3", type: "function", function: { name: "f", arguments: "{}" } },
          ],
        },
        ...["c1", "c2", "c3"].map((id) => ({ role: "tool", tool_call_id: id, content: id })),
      ],
    })
    expect(objectsIn(body["input"]).slice(1)).toEqual([
      { type: "custom_tool_call", call_id: "c1", name: "exec", input: "ls" },
      { type: "custom_tool_call", call_id: "c2", name: "exec", input: "pwd" },
      { type: "function_call", call_id: "c3", name: "f", arguments: "{}" },
      { type: "custom_tool_call_output", call_id: "c1", output: "c1" },
      { type: "custom_tool_call_output", call_id: "c2", output: "c2" },
      { type: "function_call_output", call_id: "c3", output: "c3" },
    ])
  })

  test("has no names of who speaks, and says so", () => {
    const result = { role: "tool", tool_call_id: "c", name: "f", content: "1" }
    const { body, dropped } = sent({ messages: [{ ...user, name: "Ann" }, result] })
    expect(dropped).toEqual(["messages[0].name"])
    expect(body["input"]).toEqual([
      { type: "message", role: "user", content: "hi" },
      { type: "function_call_output", call_id: "c", output: "1" },
    ])
  })

  const reasoned = (...details: ReadonlyArray<object>) => ({
    messages: [user, { role: "assistant", content: "a", reasoning_details: details }, user],
  })
  const itemsOf = (body: object, by = protocol) =>
    (sent(body, {}, {}, by).body["input"] as ReadonlyArray<{ type: string }>).filter(({ type }) => type === "reasoning")

  test("has reasoning of this vendor alone, each item of its own", () => {
    const one = { type: "reasoning.encrypted", data: "b25l", ...thought, index: 0 }
    const two = { type: "reasoning.encrypted", data: "dHdv", format: "openai-responses-v1", index: 1 }
    const foreign = { type: "reasoning.text", text: "x", signature: "s", format: "anthropic-claude-v1", index: 2 }
    expect(itemsOf(reasoned(one, two, foreign))).toEqual([
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "b25l" },
      { type: "reasoning", summary: [], encrypted_content: "dHdv" },
    ] as never)
    const xai = responsesProtocol({ format: "xai-responses-v1" })
    expect(itemsOf(reasoned(one), xai)).toEqual([])
  })

  test("joins the fragments that a client collected from a stream", () => {
    const fragment = (more: object) => ({ format: "openai-responses-v1", index: 0, ...more })
    const details = [
      fragment({ type: "reasoning.summary", summary: "Fi" }),
      fragment({ type: "reasoning.summary", summary: "rst." }),
      fragment({ type: "reasoning.encrypted", data: "c2Vj", id: "rs_1" }),
      fragment({ type: "reasoning.encrypted", data: "cmV0", id: "rs_1" }),
    ]
    expect(itemsOf(reasoned(...details))).toEqual([
      {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "First." }],
        encrypted_content: "c2VjcmV0",
      },
    ] as never)
  })

  test("has what its host does not store: items without encrypted content go to hosts that take text", () => {
    const plain = { type: "reasoning.text", text: "Hm.", ...thought, index: 0 }
    expect(itemsOf(reasoned(plain))).toEqual([])
    expect(itemsOf(reasoned(plain), responsesProtocol({ history: "text" }))).toEqual([
      { type: "reasoning", id: "rs_1", summary: [], content: [{ type: "reasoning_text", text: "Hm." }] },
    ] as never)
    expect(
      itemsOf(
        reasoned({ ...plain, type: "reasoning.encrypted", data: "eA==" }),
        responsesProtocol({ history: "none" }),
      ),
    ).toEqual([])
  })

  test.each([
    [{ type: "input_audio", input_audio: { data: "aGk=", format: "wav" } }, "audio"],
    [{ type: "video_url", video_url: { url: "https://a.example/v.mp4" } }, "video"],
  ])("cannot carry %j, unless the host takes it", (part, kind) => {
    const body = { messages: [{ role: "user", content: [part] }] }
    expect(refusalOf(body)).toBe("messages[0].content[0]")
    expect(refusalOf(body, {}, { inputModalities: ["text", kind] })).toBeUndefined()
  })
})

describe("members", () => {
  test("are translated, passed on, or named where the form has none", () => {
    const { body, dropped } = sent(
      {
        temperature: 0.5,
        top_p: 0.9,
        stop: ["END"],
        seed: 7,
        top_k: 5,
        n: 1,
        logit_bias: {},
        frequency_penalty: 0.1,
        metadata: { a: "b" },
        user: "u",
        service_tier: "flex",
        parallel_tool_calls: false,
        prompt_cache_key: "k",
        future_member: [1],
        verbosity: "low",
        logprobs: true,
        top_logprobs: 3,
        store: true,
        response_format: { type: "json_schema", json_schema: { name: "a", schema: { type: "object" }, strict: true } },
      },
      { stream: true, maxTokens: 900 },
    )
    expect(dropped).toEqual(["stop", "seed", "top_k", "logit_bias", "frequency_penalty"])
    expect(body).toEqual({
      model: "gpt-5-mini",
      input: [{ type: "message", role: "user", content: "hi" }],
      store: false,
      stream: true,
      max_output_tokens: 900,
      temperature: 0.5,
      top_p: 0.9,
      metadata: { a: "b" },
      user: "u",
      service_tier: "flex",
      parallel_tool_calls: false,
      prompt_cache_key: "k",
      future_member: [1],
      top_logprobs: 3,
      include: ["message.output_text.logprobs"],
      text: { format: { type: "json_schema", name: "a", schema: { type: "object" }, strict: true }, verbosity: "low" },
    })
  })

  test("tools lose a level, and are not strict unless asked to be", () => {
    const named = { type: "function", function: { name: "weather" } }
    const { body } = sent({
      tools: [
        named,
        {
          type: "function",
          function: { name: "time", description: "d", parameters: { type: "object" }, strict: true },
        },
        { type: "custom", custom: { name: "patch" } },
      ],
      tool_choice: { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [named] } },
      web_search_options: {
        search_context_size: "low",
        user_location: { type: "approximate", approximate: { city: "Rome" } },
      },
    })
    expect(body["tools"]).toEqual([
      { type: "function", name: "weather", parameters: { type: "object", properties: {} }, strict: false },
      { type: "function", name: "time", description: "d", parameters: { type: "object" }, strict: true },
      { type: "custom", name: "patch" },
      { type: "web_search", search_context_size: "low", user_location: { type: "approximate", city: "Rome" } },
    ])
    expect(body["tool_choice"]).toEqual({
      type: "allowed_tools",
      mode: "auto",
      tools: [{ type: "function", name: "weather" }],
    })
    expect(sent({ tools: [named], tool_choice: named }).body["tool_choice"]).toEqual({
      type: "function",
      name: "weather",
    })
    // Without tools, a choice among them is refused by the host.
    expect(sent({ tool_choice: "none" }).body["tool_choice"]).toBeUndefined()
  })

  test.each([
    [{ effort: "high" }, { effort: "high", summary: "auto" }],
    [{ effort: "max" }, { effort: "high", summary: "auto" }],
    [
      { effort: "low", summary: "detailed" },
      { effort: "low", summary: "detailed" },
    ],
    [{ effort: "low", exclude: true }, { effort: "low" }],
    [{ max_tokens: 450 }, { effort: "medium", summary: "auto" }],
    [{ enabled: true }, { effort: "medium", summary: "auto" }],
    [{ summary: "concise" }, { summary: "concise" }],
    [{}, undefined],
  ])("reasoning %j asks for %j", (reasoning, asked) => {
    expect(sent({ reasoning }, { maxTokens: 900 }).body["reasoning"]).toEqual(asked)
  })

  test("encrypted reasoning is asked for where the model may reason", () => {
    const includes = (supportedParameters: ReadonlyArray<string>, body: object = {}) =>
      sent(body, {}, { supportedParameters }).body["include"]
    const wanted = ["reasoning.encrypted_content"]
    expect(includes(["reasoning"])).toEqual(wanted)
    expect(includes(["temperature"], { reasoning: { effort: "low" } })).toBeUndefined()
    expect(includes([])).toBeUndefined()
    expect(includes([], { reasoning: { effort: "low" } })).toEqual(wanted)
  })

  test("a host that does not reason is not asked to, and that is said", () => {
    const { body, dropped } = sent({ reasoning: { effort: "low" } }, {}, { supportedParameters: ["temperature"] })
    expect([body["reasoning"], dropped]).toEqual([undefined, ["reasoning"]])
  })

  test("a bound below the host's least is refused", () => {
    expect(refusalOf({}, { maxTokens: 15 })).toBe("max_tokens")
    expect(refusalOf({}, { maxTokens: 16 })).toBeUndefined()
  })
})

describe("a Responses client's history at a host of the form whose request is translated", () => {
  const kinds = {
    reasoning: (at: number): JsonObject => ({
      type: "reasoning",
      id: `rs_${at}`,
      summary: [1, 2].slice(0, at % 3).map((part) => ({ type: "summary_text", text: `${at}.${part}` })),
      encrypted_content: `sealed ${at}`,
    }),
    message: (at: number): JsonObject => ({
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: `text ${at}` }],
    }),
    call: (at: number): JsonObject => ({ type: "function_call", call_id: `call_${at}`, name: "f", arguments: "{}" }),
  }

  test("has every order of reasoning, messages and calls as it was said", () => {
    const order = fc.array(fc.constantFrom("reasoning" as const, "message" as const, "call" as const), {
      minLength: 1,
      maxLength: 8,
    })
    fc.assert(
      fc.property(order, (names) => {
        const items = names.map((name, at) => kinds[name](at))
        const decoded = Either.getOrThrow(
          decodeResponses({ model: "m", input: [{ role: "user", content: "hi" }, ...items] }),
        )
        const { dropped, body } = encodedBy(protocol, decoded, hostFor("m"))
        expect(dropped).toEqual([])
        const sent = objectsIn(body["input"])
          .slice(1)
          .flatMap((item) => {
            const { type, content } = item
            return type === "message" ? [{ message: content }] : [item]
          })
        const meant: Array<JsonObject> = []
        for (const item of items) {
          const last = meant.at(-1)
          const said = objectsIn(item["content"])
            .map(({ text }) => text)
            .join("")
          if (item["type"] !== "message") meant.push(item)
          else if (last?.["message"] === undefined) meant.push({ message: said })
          else meant.splice(-1, 1, { message: `${last["message"]}${said}` })
        }
        expect(sent).toEqual(meant)
      }),
    )
  })
})

test("items of a client go on without what OpenAI refuses in them (litellm#13420)", () => {
  const thought = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "e" }
  const cited = (more: JsonObject) => {
    const citation = { type: "url_citation", url: "https://c.test", title: "t", start_index: 0, end_index: 2, ...more }
    return {
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: "hi", annotations: [citation] }],
    }
  }
  const given = [user, { ...thought, status: "completed" }, cited({ content: "quoted" }), user]
  const { json, dropped } = sentTo({ protocol, model: "gpt-5-mini" }, clients.responses, given)
  expect([json["input"], dropped]).toEqual([[user, thought, cited({}), user], []])
})
