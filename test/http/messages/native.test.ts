/** A caller of the Messages form at a host of that form: the body and every event pass as they were written. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { type ScriptedHost, scriptedHost } from "../../support/hosts/host.ts"
import {
  ask,
  assembled,
  blockEvents,
  endEvents,
  eventsOf,
  eventText,
  hostUsage,
  inTwoParts,
  messagesConfig,
  nativeAnswer,
  nativeStream,
  startEvent,
  textBlock,
} from "../../support/hosts/messages.ts"

const open: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

type Answer = (body: Record<string, unknown>, request: Request) => Response

interface Hosted {
  readonly gateway: TestGateway
  readonly host: ScriptedHost
}

/** A gateway with such a host. Those without a configuration of their own share one. */
const withHost = async (answer: Answer, host?: JsonObject, more: Record<string, unknown> = {}): Promise<Hosted> => {
  if (host === undefined && shared !== undefined) {
    const since = shared.host.calls.length
    shared.answer = answer
    const { gateway, host: scripted } = shared
    return {
      gateway,
      host: {
        ...scripted,
        get calls() {
          return scripted.calls.slice(since)
        },
      },
    }
  }
  const claude = scriptedHost(answer)
  const gateway = await startGateway({ config: messagesConfig({ claude }, host, more) })
  open.push(gateway.stop, claude.stop)
  return { gateway, host: claude }
}

let shared: (Hosted & { answer: Answer }) | undefined
beforeAll(async () => {
  const host = scriptedHost((body, request) => shared?.answer(body, request) ?? new Response())
  shared = {
    gateway: await startGateway({
      config: messagesConfig({ claude: host }, {}, { limits: { breaker: { open_s: 0 } } }),
    }),
    host,
    answer: plain,
  }
})
afterAll(async () => {
  await shared?.gateway.stop()
  await shared?.host.stop()
})

const plain: Answer = ({ stream }) =>
  stream === true
    ? nativeStream([startEvent, ...textBlock(0, ["one ", "two"]), ...endEvents("end_turn")])
    : nativeAnswer([{ type: "text", text: "one two" }])

const sentBody = async (body: JsonObject, headers: Record<string, string> = {}, host?: JsonObject) => {
  const { gateway, host: claude } = await withHost(plain, host)
  const response = await ask(gateway, body, headers)
  expect([response.status, await response.clone().text()]).toEqual([200, expect.any(String)])
  const { request, body: sent = {} } = claude.calls[0] ?? {}
  return { sent, request, response }
}

/** The events that a caller gets whose host says these after a text. */
const afterABeginning = async (rest: ReadonlyArray<JsonObject>): Promise<ReadonlyArray<JsonObject>> => {
  const { answer, goOn } = inTwoParts([startEvent, ...textBlock(0, ["a"])], rest)
  const { gateway } = await withHost(answer)
  const response = await ask(gateway, { stream: true })
  goOn()
  return eventsOf(response)
}

describe("the body", () => {
  const written = {
    model: "acme/small",
    system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral", ttl: "1h" }, future: 1 }],
    max_tokens: 64,
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "Hi", citations: null },
          { type: "future_block", of: { b: 1, a: 2 } },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm", signature: "c2ln" },
          { type: "redacted_thinking", data: "ZGF0YQ" },
        ],
      },
      { role: "user", content: "Go on" },
    ],
    tools: [
      { name: "look", input_schema: { type: "object" }, input_examples: [{}], future: true },
      { type: "bash_20250124", name: "bash" },
    ],
    tool_choice: { type: "auto", disable_parallel_tool_use: true, future: 1 },
    thinking: { type: "adaptive", display: "omitted" },
    output_config: { effort: "low", task_budget: { type: "tokens", total: 9 } },
    context_management: { edits: [{ type: "clear_tool_uses_20250919" }] },
    metadata: { user_id: "u-1" },
    stop_sequences: ["END", "STOP", "HALT", "FINIS", "OVER"],
    temperature: 0.5,
    service_tier: "auto",
  }

  test("reaches the host with its members in their order, but for the model's name", async () => {
    const { sent, response } = await sentBody({ future_member: { deep: [1] }, ...written })
    expect(JSON.stringify(sent)).toBe(JSON.stringify({ future_member: { deep: [1] }, ...written, model: "upstream" }))
    expect(response.headers.get("x-gw-dropped")).toBeNull()
  })

  test("reaches the host without what could cost something, at any depth and in any spelling", async () => {
    const unknown = { future_member: { kept: 1, num_images: 4 }, "Future member": 1, n_predict: 9, image_config: {} }
    const { sent, response } = await sentBody({ ...unknown, ...written })
    expect(JSON.stringify(sent)).toBe(JSON.stringify({ future_member: { kept: 1 }, ...written, model: "upstream" }))
    const dropped = response.headers.get("x-gw-dropped")?.split(", ").toSorted()
    expect(dropped).toEqual(["Future member", "future_member.num_images", "image_config", "n_predict"])
  })

  const adaptive = { thinking: { type: "adaptive" }, output_config: { effort: "high" }, max_tokens: 4096 }
  test.each<[string, JsonObject]>([
    ["claude-sonnet-4-5-20250929", { thinking: { type: "enabled", budget_tokens: 3276 } }],
    ["claude-opus-4-5", { thinking: { type: "enabled", budget_tokens: 3276 }, output_config: { effort: "high" } }],
    ["claude-sonnet-4-6", { thinking: { type: "adaptive" }, output_config: { effort: "high" } }],
    ["claude-opus-5", { thinking: { type: "adaptive" }, output_config: { effort: "high" } }],
  ])("asks %s to think as it can, where the caller says adaptive", async (model, expected) => {
    const { sent } = await sentBody(adaptive, {}, { model })
    const { thinking, output_config } = sent
    const asked: JsonObject = { thinking, ...(output_config === undefined ? {} : { output_config }) }
    expect(asked).toEqual(expected)
  })

  test("adaptive thinking beside a forced tool, at a model that has only budgets: it does not think", async () => {
    const tools = { tools: [{ name: "look", input_schema: { type: "object" } }], tool_choice: { type: "any" } }
    const { sent, response } = await sentBody({ ...adaptive, ...tools }, {}, { model: "claude-haiku-4-5" })
    expect(sent["thinking"]).toBeUndefined()
    expect(response.headers.get("x-gw-dropped")).toContain("thinking")
  })

  test("where the gateway takes thinking out, there is none to clear", async () => {
    const edits = [{ type: "clear_thinking_20251015", keep: "all" }, { type: "clear_tool_uses_20250919" }]
    const called = { type: "tool_use", id: "toolu_1", name: "look", input: {} }
    const messages = [
      { role: "user", content: "Look" },
      { role: "assistant", content: [called] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "x" }] },
    ]
    const tools = [{ name: "look", input_schema: { type: "object" } }]
    const thinking = { type: "enabled", budget_tokens: 2000 }
    const body = { messages, tools, thinking, max_tokens: 4000 }
    const { sent } = await sentBody({ ...body, context_management: { edits } })
    expect([sent["thinking"], sent["context_management"]]).toEqual([undefined, { edits: edits.slice(1) }])
    const other = await sentBody({ ...body, context_management: { edits: edits.slice(0, 1) } })
    expect(other.sent["context_management"]).toBeUndefined()
    expect(other.response.headers.get("x-gw-dropped")).toBe("thinking, context_management")
  })

  test("loses what speaks to the router, credentials and addresses, and nulls", async () => {
    const { sent } = await sentBody({
      ...{ provider: { only: ["claude"] }, session_id: "s", trace: { a: 1 }, route: "fallback", fallbacks: [] },
      ...{ api_key: "k", base_url: "http://x", headers: { a: "b" }, extra_body: { c: 1 }, user: "u-2" },
      ...{ system: null, tools: null, thinking: null, speed: "standard", inference_geo: "global" },
    })
    expect(sent).toEqual({
      model: "upstream",
      max_tokens: 100,
      messages: [{ role: "user", content: "Hi" }],
      metadata: { user_id: "u-2" },
      speed: "standard",
      inference_geo: "global",
    })
  })

  test("has the host's maximum where it has no max_tokens", async () => {
    const { sent } = await sentBody({ max_tokens: null })
    expect(sent["max_tokens"]).toBe(4096)
  })

  test("loses parameters that the host does not list, and says so in its own words", async () => {
    const asked = {
      ...{
        stop_sequences: ["x"],
        temperature: 1,
        thinking: { type: "enabled", budget_tokens: 1024 },
        max_tokens: 2000,
      },
      output_config: { effort: "low", format: { type: "json_schema", schema: {} } },
    }
    const { sent, response } = await sentBody(asked, {}, { supported_parameters: ["temperature", "max_tokens"] })
    expect(sent).toEqual({
      model: "upstream",
      max_tokens: 2000,
      messages: [{ role: "user", content: "Hi" }],
      temperature: 1,
    })
    const dropped = response.headers.get("x-gw-dropped")?.split(", ").toSorted()
    expect(dropped).toEqual(["output_config.effort", "output_config.format", "stop_sequences", "thinking"])
  })

  test("loses reasoning of other vendors, which the host would refuse", async () => {
    const wrapped = `headgate.v1.${Buffer.from('{"type":"reasoning.encrypted","data":"x","format":"openai-responses-v1"}').toString("base64url")}`
    const { sent } = await sentBody({
      messages: [
        { role: "user", content: "Hi" },
        {
          role: "assistant",
          content: [
            { type: "redacted_thinking", data: wrapped },
            { type: "thinking", thinking: "unsigned", signature: "" },
            { type: "thinking", thinking: "own", signature: "c2ln" },
            { type: "text", text: "Yes?" },
          ],
        },
        { role: "assistant", content: [{ type: "thinking", thinking: "", signature: wrapped }] },
        { role: "user", content: "Go on" },
      ],
    })
    expect(sent["messages"]).toEqual([
      { role: "user", content: "Hi" },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "own", signature: "c2ln" },
          { type: "text", text: "Yes?" },
        ],
      },
      { role: "user", content: "Go on" },
    ])
  })

  test("brings version and betas along, and no other header", async () => {
    const { request } = await sentBody(
      {},
      {
        "anthropic-version": "2024-01-01",
        "anthropic-beta": "one-1, two-2",
        "x-anthropic-beta": "two-2,three-3",
        "x-other": "no",
      },
    )
    expect(request?.headers.get("anthropic-version")).toBe("2024-01-01")
    expect(request?.headers.get("anthropic-beta")).toBe("one-1,two-2,three-3")
    expect(request?.headers.get("x-anthropic-beta")).toBeNull()
    expect(request?.headers.get("x-other")).toBeNull()
    expect(request?.headers.get("x-api-key")).toBe("key-of-claude")
    const without = await sentBody({})
    expect(without.request?.headers.get("anthropic-version")).toBe("2023-06-01")
  })

  test("may search the web only where that has a price", async () => {
    const search = { tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 3 }] }
    const priced = await sentBody(
      search,
      {},
      { pricing: { prompt: "0.000001", completion: "0.000002", web_search: "0.01" } },
    )
    expect(priced.sent["tools"]).toEqual(search.tools)
    const { gateway, host } = await withHost(plain)
    const response = await ask(gateway, search)
    expect([response.status, response.headers.get("x-gw-dropped")]).toEqual([200, "tools[0]"])
    expect(host.calls[0]?.body).not.toHaveProperty("tools")
  })
})

describe("a whole answer", () => {
  test("comes as the host wrote it, with our id, model, usage and cost", async () => {
    const content = [
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x" } },
      {
        type: "web_search_tool_result",
        tool_use_id: "srvtoolu_1",
        content: [{ type: "web_search_result", url: "https://a" }],
      },
      { type: "text", text: "Yes", citations: [{ type: "char_location", cited_text: "c", document_index: 0 }] },
      { type: "future_block", more: { b: 1, a: 2 } },
    ]
    const usage = { ...hostUsage, output_tokens: 12, server_tool_use: { web_search_requests: 2 }, future_count: 3 }
    const answer = { stop_reason: "pause_turn", stop_details: null, container: { id: "c" }, future: [1], usage }
    const { gateway } = await withHost(() => nativeAnswer(content, answer), {
      pricing: { prompt: "0.000001", completion: "0.000002", web_search: "0.01" },
    })
    const response = await ask(gateway)
    const body = await response.json()
    // 30 tokens of prompt at 1, 12 of output at 2, two searches.
    const cost = 0.02005185
    expect(body).toEqual({
      id: response.headers.get("x-generation-id"),
      type: "message",
      role: "assistant",
      model: "acme/small",
      provider: "claude",
      content,
      ...answer,
      stop_sequence: null,
      usage: {
        ...usage,
        output_tokens_details: { thinking_tokens: 0 },
        inference_geo: null,
        cost,
        is_byok: false,
        cost_details: {
          upstream_inference_cost: cost,
          upstream_inference_prompt_cost: expect.any(Number),
          upstream_inference_completions_cost: 0.000024,
        },
      },
    })
    expect(response.headers.get("x-gw-cost-usd")).toBe("0.02005185")
    expect(response.headers.get("x-gw-host")).toBe("claude")
    const rows = await gateway.run(Effect.flatMap(Storage, (storage) => storage.ledger.rows(keyId(gateway.key), 10)))
    expect(rows).toMatchObject([{ form: "messages", promptTokens: 30, rareUsage: { webSearches: 2 } }])
  })

  test("has an object for the input of each call, where the host writes JSON text", async () => {
    const call = (id: string, input: unknown) => ({ type: "tool_use", id, name: "f", input, future: 1 })
    const text = { type: "text", text: "Look", citations: null }
    const { gateway } = await withHost(() =>
      nativeAnswer([text, call("a", '{"x":1}'), call("b", { y: 2 }), call("c", "cut {")], { stop_reason: "tool_use" }),
    )
    expect(await (await ask(gateway)).json()).toMatchObject({
      content: [text, call("a", { x: 1 }), call("b", { y: 2 }), call("c", { arguments: "cut {" })],
    })
  })

  test("of summaries that the host made counts their tokens", async () => {
    const usage = {
      ...{ input_tokens: 10, output_tokens: 5 },
      iterations: [
        { type: "compaction", input_tokens: 1000, output_tokens: 100 },
        { type: "message", input_tokens: 10, output_tokens: 5 },
      ],
    }
    const { gateway } = await withHost(() => nativeAnswer([{ type: "text", text: "x" }], { usage }))
    const body: JsonObject = Object(
      await (await ask(gateway, { context_management: { edits: [{ type: "compact_20260112" }] } })).json(),
    )
    expect(body["usage"]).toMatchObject({ input_tokens: 10, output_tokens: 5, cost: (1010 + 2 * 105) / 1_000_000 })
  })
})

describe("a stream", () => {
  const events: ReadonlyArray<JsonObject> = [
    startEvent,
    { type: "ping", future: 1 },
    ...blockEvents(0, { type: "thinking", thinking: "", signature: "" }, [
      { type: "thinking_delta", thinking: "Hm", estimated_tokens: 4 },
      { type: "signature_delta", signature: "c2ln+/=" },
    ]),
    ...textBlock(1, ["Ein ", 'Wort: "ja"', " °C 🌞"]),
    ...blockEvents(2, { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }, [
      { type: "input_json_delta", partial_json: '{"query":"x"}' },
    ]),
    ...blockEvents(3, { type: "future_block", of: 1 }, [{ type: "future_delta", z: 1, a: 2 }]),
    { type: "future_event", with: { b: 1, a: 2 } },
    ...blockEvents(4, { type: "tool_use", id: "toolu_1", name: "look", input: {} }, []),
  ]

  test("has every event as the host wrote it; start and end have our id, model, usage and cost", async () => {
    const { gateway } = await withHost(() => nativeStream([...events, ...endEvents("tool_use")]))
    const response = await ask(gateway, { stream: true })
    const text = await response.clone().text()
    for (const event of events.slice(1)) expect(text).toContain(eventText(event))
    const [start, ...rest] = await eventsOf(response)
    const id = response.headers.get("x-generation-id")
    expect(start).toEqual({
      ...startEvent,
      message: { ...Object(startEvent["message"]), id, model: "acme/small", provider: "claude" },
    })
    expect(rest.slice(0, -2)).toEqual(events.slice(1))
    expect(rest.slice(-2)).toMatchObject([
      {
        type: "message_delta",
        delta: { stop_reason: "tool_use", stop_sequence: null, stop_details: null },
        usage: { ...hostUsage, input_tokens: 20, output_tokens: 12, cost: (20 + 1.25 + 3 * 2 + 0.6 + 24) / 1_000_000 },
        context_management: { applied_edits: [] },
      },
      { type: "message_stop" },
    ])
  })

  test("of a host that counts nothing begins with a usage: it had none, on which clients fail", async () => {
    const start = { type: "message_start", message: { id: "m", type: "message", role: "assistant", content: [] } }
    const end = { type: "message_delta", delta: { stop_reason: "end_turn" } }
    const { gateway } = await withHost(() =>
      nativeStream([start, ...textBlock(0, ["a"]), end, { type: "message_stop" }]),
    )
    const events = await eventsOf(await ask(gateway, { stream: true }))
    expect(events[0]).toMatchObject({ message: { usage: { input_tokens: 1, output_tokens: 0 } } })
    expect(events.at(-2)).toMatchObject({ usage: { output_tokens: 1, cost: expect.any(Number) } })
  })

  test("says what routed it, for a caller who asks", async () => {
    const { gateway } = await withHost(plain)
    const response = await ask(gateway, { stream: true }, { "x-openrouter-metadata": "enabled" })
    expect((await eventsOf(response)).at(-1)).toMatchObject({
      type: "message_stop",
      openrouter_metadata: { requested: "acme/small" },
    })
  })

  test("of events whose JSON has line breaks keeps its framing", async () => {
    const pretty = (event: JsonObject) =>
      `event: ${String(event["type"])}\n${JSON.stringify(event, null, 1)
        .split("\n")
        .map((line) => `data: ${line}`)
        .join("\n")}\n\n`
    const all = [startEvent, ...textBlock(0, ["a", "b"]), ...endEvents("end_turn")]
    const stream = { headers: { "content-type": "text/event-stream" } }
    const { gateway } = await withHost(() => new Response(all.map(pretty).join(""), stream))
    expect(assembled(await eventsOf(await ask(gateway, { stream: true })))).toMatchObject({ content: [{ text: "ab" }] })
  })

  const complete = [...events, ...endEvents("tool_use")]

  // Before anything was said the request fails; after the stop reason the answer is complete.
  test.each(complete.map((event, at) => [at, event["type"]] as const))(
    "that breaks off after event %d (%s)",
    async (at) => {
      const { gateway } = await withHost(() => nativeStream(complete.slice(0, at + 1)))
      const response = await ask(gateway, { stream: true })
      if (at < 3) {
        expect(response.status).toBe(502)
        expect(await response.json()).toMatchObject({ type: "error", error: { type: "api_error" } })
        return
      }
      const read = await eventsOf(response)
      const isComplete = at >= complete.length - 2
      expect(read.at(-1)?.["type"]).toBe(isComplete ? "message_stop" : "error")
      const passed = read.slice(1, isComplete ? -2 : -1)
      expect(passed).toEqual(events.slice(1, Math.min(at + 1, events.length)))
      if (!isComplete) {
        expect(read.at(-1)).toMatchObject({
          error: { type: "api_error", error_type: "provider_unavailable" },
          usage: { cost: 0 },
        })
      }
    },
  )

  test("with an error of the host passes it on in its form", async () => {
    const error = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }
    const read = await afterABeginning([error])
    expect(read.at(-1)).toMatchObject({
      type: "error",
      error: { message: expect.any(String) },
      request_id: expect.stringMatching(/^req_/),
    })
  })

  const wrongOrders: ReadonlyArray<readonly [string, JsonObject]> = [
    ["a second start", startEvent],
    ["a piece of a closed block", { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "c" } }],
    ["a block that closes twice", { type: "content_block_stop", index: 0 }],
  ]
  test.each(wrongOrders)("with %s is a failure of the host", async (_, wrong) => {
    const read = await afterABeginning([wrong, ...endEvents("end_turn")])
    expect(read.at(-1)).toMatchObject({ type: "error", error: { error_type: "provider_unavailable" } })
  })

  test("has its blocks in order where the host gives all of them one number", async () => {
    const block = (more: JsonObject) => ({ type: "content_block_start", index: 0, content_block: more })
    const call = { type: "tool_use", id: "a", name: "f", input: {} }
    const read = await afterABeginning([
      block({ type: "text", text: "" }),
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "c" } },
      { type: "content_block_stop", index: 0 },
      block(call),
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: "{}" } },
      { type: "content_block_stop", index: 0 },
      ...endEvents("end_turn"),
    ])
    expect(read.flatMap(({ type, index }) => (type === "content_block_start" ? [index] : []))).toEqual([0, 1, 2])
    expect(read.flatMap(({ type, index }) => (type === "content_block_stop" ? [index] : []))).toEqual([0, 1, 2])
    expect(assembled(read)).toMatchObject({ stop_reason: "tool_use", content: [{}, { text: "c" }, call] })
  })

  test.each([
    ["that is JSON text", '{"x":1}', [], { x: 1 }],
    ["that is blank", " ", [], {}],
    ["that is cut", '{"x"', [], { arguments: '{"x"' }],
    ["that is a list", [1], [], {}],
    ["that comes again in pieces", '{"x":1}', ["", '{"y"', ":2}"], { y: 2 }],
  ])("has an object for the input of a call %s", async (_, input, pieces, expected) => {
    const deltas = pieces.map((partial_json) => ({ type: "input_json_delta", partial_json }))
    const call = { type: "tool_use", id: "a", name: "f", input }
    const read = await afterABeginning([...blockEvents(1, call, deltas), ...endEvents("tool_use")])
    expect(read.find((event) => event["type"] === "content_block_start" && event["index"] === 1)).toMatchObject({
      content_block: { input: {} },
    })
    expect(assembled(read)).toMatchObject({ content: [{}, { ...call, input: expected }] })
  })

  test("falls back as long as the host has said nothing", async () => {
    const claude = scriptedHost(() =>
      nativeStream([startEvent, { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }]),
    )
    const other = scriptedHost(
      () =>
        new Response(
          'data: {"choices":[{"index":0,"delta":{"content":"fine"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
          { headers: { "content-type": "text/event-stream" } },
        ),
    )
    const gateway = await startGateway({
      config: messagesConfig({ claude, other }),
    })
    open.push(gateway.stop, claude.stop, other.stop)
    const response = await ask(gateway, { stream: true, provider: { order: ["claude", "other"] } })
    expect(assembled(await eventsOf(response))).toMatchObject({
      content: [{ type: "text", text: "fine" }],
      provider: "other",
    })
    expect(claude.calls).toHaveLength(1)
  })
})

describe("a stream that the gateway ends", () => {
  /** Pieces of a text and of a tool's input, without an end. */
  const endless = (count: number): ReadonlyArray<JsonObject> => [
    startEvent,
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    ...Array.from({ length: count }, () => ({
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text: "word word word word " },
    })),
  ]

  test("for its budget closes its block, and says so", async () => {
    const { gateway, host } = await withHost(() => nativeStream(endless(2000)))
    const key = await gateway.newKey({ limit: 500_000_000n })
    const response = await ask(gateway, { stream: true, max_tokens: undefined }, { authorization: `Bearer ${key}` })
    expect(response.status).toBe(200)
    const read = await eventsOf(response)
    expect(read.slice(-3)).toMatchObject([
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "max_tokens" }, usage: { cost: expect.any(Number) } },
      { type: "message_stop" },
    ])
    expect(host.calls).toHaveLength(1)
  })

  test("for its size closes its block", async () => {
    const { gateway } = await withHost(() => nativeStream(endless(20_000)), {}, { limits: { stream_bytes: 1_000_000 } })
    const read = await eventsOf(await ask(gateway, { stream: true }))
    expect(read.slice(-3).map(({ type }) => type)).toEqual(["content_block_stop", "message_delta", "message_stop"])
  })
})

test("a chat caller at a host of the form is still translated", async () => {
  const { gateway, host } = await withHost(plain)
  const response = await gateway.chat({ model: "acme/small", messages: [{ role: "user", content: "Hi" }] })
  expect(await response.json()).toMatchObject({
    object: "chat.completion",
    choices: [{ message: { content: "one two" } }],
  })
  expect(isJsonObject(host.calls[0]?.body)).toBe(true)
})
