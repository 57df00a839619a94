/** A caller of the Messages form at a host of the chat form: what it asks for, and what it is answered. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import type { ChatDelta } from "../../../src/domain/request/chat.ts"
import { MessagesWriter } from "../../../src/formats/messages/messagesStream.ts"
import { answerNames } from "../../support/formats/answerNames.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { chunkOf, type ScriptedHost, scriptedHost, sse } from "../../support/hosts/host.ts"
import { ask, assembled, eventsOf, messagesConfig } from "../../support/hosts/messages.ts"

let gateway: TestGateway
let host: ScriptedHost
let answer: (body: Record<string, unknown>) => Response

const usage = {
  prompt_tokens: 30,
  completion_tokens: 12,
  prompt_tokens_details: { cached_tokens: 6, cache_write_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 5 },
}

const whole = (message: JsonObject, finish_reason = "stop", more: JsonObject = {}) =>
  Response.json({ choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason, ...more }], usage })

const streamed = (deltas: ReadonlyArray<JsonObject>, finish_reason = "stop") =>
  sse([
    ...deltas.map((delta) => chunkOf({ delta, finish_reason: null })),
    chunkOf({ delta: {}, finish_reason }, { usage }),
    "[DONE]",
  ])

beforeAll(async () => {
  host = scriptedHost((body) => answer(body))
  const config = messagesConfig(
    { other: host },
    {},
    { limits: { breaker: { open_s: 0 }, cooldown: { rate_limit_s: 0 } } },
  )
  gateway = await startGateway({ config })
})
afterAll(async () => {
  await gateway.stop()
  await host.stop()
})

const sent = async (body: JsonObject) => {
  answer = () => whole({ content: "fine" })
  const response = await ask(gateway, body)
  return { response, status: response.status, sent: host.calls.at(-1)?.body ?? {}, body: await response.json() }
}

const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "aW1n" } }
const imagePart = { type: "image_url", image_url: { url: "data:image/png;base64,aW1n" } }

describe("the request", () => {
  test("has system text, turns, tools and their results in the chat form", async () => {
    const { sent: body } = await sent({
      system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
      messages: [
        { role: "user", content: [{ type: "text", text: "Look" }, image] },
        {
          role: "assistant",
          content: [
            { type: "text", text: "I look." },
            { type: "tool_use", id: "a", name: "look", input: { at: 1 } },
            { type: "tool_use", id: "b", name: "nothing", input: {} },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: "seen" }, image] },
            { type: "tool_result", tool_use_id: "b", content: "gone", is_error: true },
            { type: "text", text: "And?" },
          ],
        },
        { role: "system", content: "Hurry." },
        { role: "user", content: "Go on" },
      ],
      tools: [{ name: "look", description: "Looks", input_schema: { type: "object" }, strict: true }],
      tool_choice: { type: "tool", name: "look", disable_parallel_tool_use: true },
    })
    expect(body["messages"]).toEqual([
      {
        role: "system",
        content: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
      },
      { role: "user", content: [{ type: "text", text: "Look" }, imagePart] },
      {
        role: "assistant",
        content: "I look.",
        tool_calls: [
          { id: "a", type: "function", function: { name: "look", arguments: '{"at":1}' } },
          { id: "b", type: "function", function: { name: "nothing", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "a", content: "seen\n\nThe files of this result follow in the next message." },
      { role: "tool", tool_call_id: "b", content: "Error: gone" },
      {
        role: "user",
        content: [
          ...[{ type: "text", text: "Files of the result of a:" }, imagePart, { type: "text", text: "And?" }],
          { type: "text", text: "\n\n<system-reminder>\nHurry.\n</system-reminder>" },
          { type: "text", text: "\n\nGo on" },
        ],
      },
    ])
    expect(body).toMatchObject({
      max_tokens: 100,
      tools: [
        {
          type: "function",
          function: { name: "look", description: "Looks", parameters: { type: "object" }, strict: true },
        },
      ],
      tool_choice: { type: "function", function: { name: "look" } },
      parallel_tool_calls: false,
    })
  })

  test("has documents as files and text", async () => {
    const document = (source: JsonObject, more: JsonObject = {}) => ({ type: "document", source, ...more })
    const { sent: body, response } = await sent({
      messages: [
        {
          role: "user",
          content: [
            document(
              { type: "base64", media_type: "application/pdf", data: "cGRm" },
              { title: "a.pdf", context: "Read it" },
            ),
            document({ type: "url", url: "https://x.test/b.pdf" }),
            document(
              { type: "text", media_type: "text/plain", data: "plain" },
              { title: "c", citations: { enabled: true } },
            ),
            document({ type: "content", content: [{ type: "text", text: "one" }, image] }),
          ],
        },
      ],
    })
    expect(body["messages"]).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "Read it" },
          { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,cGRm" } },
          { type: "file", file: { filename: "document.pdf", file_data: "https://x.test/b.pdf" } },
          { type: "text", text: "c\n\nplain" },
          { type: "text", text: "one" },
          imagePart,
        ],
      },
    ])
    expect(response.headers.get("x-gw-dropped")).toBe("messages[0].content[2].citations")
  })

  test.each<[string, JsonObject, JsonObject]>([
    ["a thinking budget", { thinking: { type: "enabled", budget_tokens: 1024 } }, { reasoning: { max_tokens: 1024 } }],
    [
      "adaptive thinking",
      { thinking: { type: "adaptive" }, output_config: { effort: "high" } },
      { reasoning: { effort: "high" } },
    ],
    ["no thinking", { thinking: { type: "disabled" } }, { reasoning: { enabled: false } }],
    ["an effort", { output_config: { effort: "low" } }, { verbosity: "low" }],
  ])("has %s as reasoning", async (_, asked, expected) => {
    const { sent: body } = await sent(asked)
    const { reasoning, reasoning_effort: effort, verbosity } = body
    // The host takes an effort where it does not take the router's `reasoning`.
    expect({ reasoning, verbosity, effort }).toMatchObject(
      effort === undefined ? expected : { effort: expect.any(String) },
    )
  })

  test("has a format, stops and the end user", async () => {
    const schema = { type: "object", properties: {} }
    const { sent: body } = await sent({
      output_config: { format: { type: "json_schema", schema } },
      stop_sequences: ["END"],
      metadata: { user_id: "u" },
      service_tier: "standard_only",
      temperature: 0.2,
      top_k: 4,
    })
    expect(body).toMatchObject({
      response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict: true } },
      ...{ stop: ["END"], user: "u", service_tier: "default", temperature: 0.2, top_k: 4 },
    })
    expect(body["metadata"]).toBeUndefined()
  })

  test.each<[string, JsonObject, string]>([
    [
      "a block of the form alone",
      { messages: [{ role: "user", content: [{ type: "search_result", source: "s" }] }] },
      "messages[0].content[0]",
    ],
    ["a tool of the form alone", { tools: [{ type: "bash_20250124", name: "bash" }] }, "tools[0]"],
    ["a summary", { compaction: { type: "summarize" } }, "compaction"],
  ])("with %s is left out of the plan, with the caller's path", async (_, asked, path) => {
    const before = host.calls.length
    const response = await ask(gateway, asked)
    expect([response.status, host.calls.length]).toEqual([404, before])
    const message = expect.stringContaining(`that can carry ${path}: only hosts of the Messages form`)
    expect(await response.json()).toMatchObject({ error: { message } })
  })

  test("tries the models of fallbacks in their order", async () => {
    const { sent: body, status } = await sent({ model: "acme/small", fallbacks: [{ model: "acme/small:nitro" }] })
    expect([status, body["fallbacks"], body["models"]]).toEqual([200, undefined, undefined])
  })
})

const textOf = async (response: Response): Promise<JsonObject> => Object(await response.json())

/** The same answer, whole and streamed. */
const both = async (
  message: JsonObject,
  deltas: ReadonlyArray<JsonObject>,
  finish = "stop",
  asked: JsonObject = {},
) => {
  answer = () => whole(message, finish)
  const one = await textOf(await ask(gateway, asked))
  answer = () => streamed(deltas, finish)
  const other = assembled(await eventsOf(await ask(gateway, { ...asked, stream: true })))
  return [one, other]
}

const call = (index: number, json: string, start = false) => ({
  tool_calls: [
    {
      index,
      ...(start ? { id: `call_${index}`, type: "function" } : {}),
      function: { ...(start ? { name: `f${index}` } : {}), arguments: json },
    },
  ],
})
const calls = (...inputs: ReadonlyArray<string>) => ({
  tool_calls: inputs.map((json, at) => ({
    id: `call_${at}`,
    type: "function",
    function: { name: `f${at}`, arguments: json },
  })),
})

describe("the answer", () => {
  test("has the counts of the form, and the cost", async () => {
    const answers = await both({ content: "Hi" }, [{ content: "H" }, { content: "i" }])
    for (const { usage: counted } of answers) {
      expect(counted).toEqual({
        input_tokens: 20,
        cache_creation_input_tokens: 4,
        cache_read_input_tokens: 6,
        cache_creation: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 0 },
        output_tokens: 12,
        output_tokens_details: { thinking_tokens: 5 },
        server_tool_use: null,
        inference_geo: null,
        service_tier: "standard",
        cost: 0.000054,
        is_byok: false,
        cost_details: {
          upstream_inference_cost: 0.000054,
          upstream_inference_prompt_cost: 0.00003,
          upstream_inference_completions_cost: 0.000024,
        },
      })
    }
  })

  test("has the exact events of a text", async () => {
    answer = () => streamed([{ role: "assistant", content: "" }, { content: "H" }, { content: "i" }])
    const response = await ask(gateway, { stream: true })
    const id = response.headers.get("x-generation-id")
    const events = await eventsOf(response)
    expect(events).toMatchObject([
      {
        type: "message_start",
        message: {
          id,
          type: "message",
          role: "assistant",
          model: "acme/small",
          provider: "other",
          content: [],
          stop_reason: null,
        },
      },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "H" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "i" } },
      { type: "content_block_stop", index: 0 },
      {
        type: "message_delta",
        delta: { stop_reason: "end_turn", stop_sequence: null, stop_details: null, container: null },
      },
      { type: "message_stop" },
    ])
  })

  test("has parallel calls one after the other, also where the host mixes their pieces", async () => {
    const [one, other] = await both(
      { content: "Let me look.", ...calls('{"a":1}', '{"b":[2]}', "") },
      [
        { content: "Let me look." },
        call(0, "", true),
        call(0, '{"a"'),
        call(1, '{"b":', true),
        call(0, ":1}"),
        call(1, "[2]}"),
        call(2, "", true),
      ],
      "tool_calls",
    )
    const content = [
      { type: "text", text: "Let me look." },
      { type: "tool_use", id: "call_0", name: "f0", input: { a: 1 } },
      { type: "tool_use", id: "call_1", name: "f1", input: { b: [2] } },
      { type: "tool_use", id: "call_2", name: "f2", input: {} },
    ]
    expect(one).toMatchObject({ content, stop_reason: "tool_use" })
    expect(other).toMatchObject({ content, stop_reason: "tool_use" })
  })

  test("has calls that the host announces all before the arguments of the first: such a stream failed", async () => {
    const [one, other] = await both(
      calls('{"a":1}', '{"b":2}'),
      [call(0, "", true), call(1, "", true), ...[call(0, '{"a":'), call(1, '{"b":'), call(0, "1}"), call(1, "2}")]],
      "tool_calls",
    )
    const content = [
      { type: "tool_use", id: "call_0", name: "f0", input: { a: 1 } },
      { type: "tool_use", id: "call_1", name: "f1", input: { b: 2 } },
    ]
    expect(one).toMatchObject({ content })
    expect(other).toMatchObject({ content })
  })

  test("has every call that waited for the first one to be complete: of several only one came", async () => {
    const deltas = [0, 1, 2, 3].map((at) => call(at, "", true))
    deltas.push(...[1, 2, 3].map((at) => call(at, `{"n":${at}}`)), call(0, '{"n":0}'))
    const [, other] = await both({}, deltas, "tool_calls")
    const content = [0, 1, 2, 3].map((at) => ({ type: "tool_use", id: `call_${at}`, name: `f${at}`, input: { n: at } }))
    expect(other).toMatchObject({ content, stop_reason: "tool_use" })
  })

  test.each<[string, string, JsonObject]>([
    ["length", "max_tokens", {}],
    ["content_filter", "refusal", { stop_details: { type: "refusal", category: null, explanation: null } }],
    ["stop", "end_turn", { stop_details: null }],
  ])("that ended with %s says %s", async (finish, reason, more) => {
    const [one, other] = await both({ content: "So" }, [{ content: "So" }], finish)
    expect(one).toMatchObject({ stop_reason: reason, ...more })
    expect(other).toMatchObject({ stop_reason: reason, ...more })
  })

  test("that is a refusal explains itself", async () => {
    const [one, other] = await both({ content: null, refusal: "I will not." }, [
      { refusal: "I will " },
      { refusal: "not." },
    ])
    const refused = {
      stop_reason: "refusal",
      stop_details: { type: "refusal", category: null, explanation: "I will not." },
    }
    expect(one).toMatchObject({ ...refused, content: [] })
    expect(other).toMatchObject({ ...refused, content: [] })
  })

  test("has reasoning as thinking where it was asked for, with its text left out where the caller wants that", async () => {
    const deltas = [{ reasoning: "Hm, " }, { reasoning: "so." }, { content: "Yes" }]
    const content = (thinking: string) => [
      { type: "thinking", thinking, signature: "" },
      { type: "text", text: "Yes" },
    ]
    const asked = { thinking: { type: "adaptive" } }
    for (const one of await both({ content: "Yes", reasoning: "Hm, so." }, deltas, "stop", asked)) {
      expect(one).toMatchObject({ content: content("Hm, so.") })
    }
    for (const more of [{}, { thinking: { type: "disabled" } }]) {
      for (const one of await both({ content: "Yes", reasoning: "Hm, so." }, deltas, "stop", more)) {
        expect(one).toMatchObject({ content: content("").slice(1) })
        expect(one["content"]).toHaveLength(1)
      }
    }
    const thinking = { thinking: { type: "adaptive", display: "omitted" } }
    for (const one of await both({ content: "Yes", reasoning: "Hm, so." }, deltas, "stop", thinking)) {
      expect(one).toMatchObject({ content: content("") })
    }
  })

  test("has citations and images", async () => {
    const annotations = [
      {
        type: "url_citation",
        url_citation: { url: "https://a.test", title: "A", content: "c", start_index: 0, end_index: 2 },
      },
    ]
    const images = [{ type: "image_url", image_url: { url: "data:image/png;base64,aW1n" } }]
    for (const one of await both({ content: "So", annotations, images }, [
      { content: "So" },
      { annotations },
      { images },
    ])) {
      expect(one).toMatchObject({
        content: [
          {
            type: "text",
            text: "So",
            citations: [{ type: "web_search_result_location", url: "https://a.test", title: "A", cited_text: "c" }],
          },
          image,
        ],
      })
    }
  })
})

describe("a failure", () => {
  test("before the answer has the form's body, and its metadata", async () => {
    answer = () => Response.json({ error: { message: "slow down" } }, { status: 429 })
    const response = await ask(gateway, { stream: true })
    expect(response.status).toBe(429)
    expect(await response.json()).toMatchObject({
      type: "error",
      error: { type: "rate_limit_error", error_type: "rate_limit_exceeded" },
      request_id: response.headers.get("x-gw-request-id"),
    })
  })

  test("within a block is an error event after it", async () => {
    answer = () =>
      new Response(
        new ReadableStream({
          start: async (controller) => {
            const encoder = new TextEncoder()
            controller.enqueue(encoder.encode(`data: ${chunkOf({ delta: { content: "H" }, finish_reason: null })}\n\n`))
            await begun.promise
            controller.close()
          },
        }),
        { headers: { "content-type": "text/event-stream" } },
      )
    const begun = Promise.withResolvers<void>()
    const response = await ask(gateway, { stream: true })
    begun.resolve()
    const events = await eventsOf(response)
    expect(events.map(({ type }) => type)).toEqual([
      "message_start",
      "content_block_start",
      "content_block_delta",
      "error",
    ])
    expect(events.at(-1)).toMatchObject({
      error: { type: "api_error", error_type: "provider_unavailable" },
      usage: { cost: 0 },
    })
  })
})

test.each([{ authorization: "Bearer " }, { "x-api-key": "" }])("the key may come as %o", async (header) => {
  answer = () => whole({ content: "fine" })
  const [[name, before] = ["", ""]] = Object.entries(header)
  const response = await fetch(`${gateway.url}/messages`, {
    method: "POST",
    headers: { [name]: before + gateway.key },
    body: JSON.stringify({ model: "acme/small", messages: [{ role: "user", content: "Hi" }] }),
  })
  expect(response.status).toBe(200)
  expect(isJsonObject(await response.json())).toBe(true)
})

describe("a writer", () => {
  const names = { ...answerNames(), thinking: "shown" as const, promptTokens: 7 }

  test("shows that it is alive by a comment, and once the message has begun by a ping", () => {
    const writer = new MessagesWriter(names, undefined)
    expect(writer.heartbeat).toBe(": GW PROCESSING\n\n")
    writer.chunk({ choices: [{ index: 0, delta: { content: "H" }, finish_reason: null }] })
    expect(writer.heartbeat).toBe('event: ping\ndata: {"type":"ping"}\n\n')
  })

  test("keeps the text of reasoning whose pieces have only encrypted data", () => {
    const writer = new MessagesWriter(names, undefined)
    const delta: ChatDelta = {
      reasoning: "Hm",
      reasoning_details: [{ type: "reasoning.encrypted", data: "ZGF0YQ", format: "openai-responses-v1" }],
    }
    const text = writer.chunk({ choices: [{ index: 0, delta, finish_reason: null }] })
    expect(text).toContain('"thinking_delta","thinking":"Hm"')
    expect(text).toContain('"redacted_thinking"')
  })
})
