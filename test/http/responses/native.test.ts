/** A caller of the Responses form at a host of that form: the body and every event pass as they were written. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import OpenAI from "openai"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { postResponses, readResponses, responseOf, responsesStreamOf } from "../../support/clients/responsesForm.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { type ScriptedHost, scriptedHost } from "../../support/hosts/host.ts"
import { inTwoParts } from "../../support/hosts/messages.ts"
import {
  call,
  eventsOf,
  hostUsage,
  message,
  responseObject,
  search,
  streamOf,
  textOfEvents,
  thought,
} from "../../support/hosts/responsesHost.ts"

type Answer = (body: Record<string, unknown>) => Response

let gateway: TestGateway
let host: ScriptedHost
let answer: Answer
/** One model for each kind of host. */
const models = (provider: string) =>
  [
    { id: "acme/small", parameters: ["reasoning", "tools", "tool_choice", "web_search_options", "max_tokens"] },
    { id: "acme/plain", parameters: ["tools", "temperature", "response_format", "max_tokens"] },
    { id: "acme/unpriced", parameters: ["web_search_options"] },
    { id: "acme/unknown", parameters: [] },
  ].map(({ id, parameters }) => ({
    id,
    context_length: 8192,
    ...(id === "acme/small" ? { reasoning: { supported_efforts: ["low", "medium", "high"] } } : {}),
    hosts: [
      {
        provider,
        model: "gpt-5-mini",
        api: "responses",
        pricing: {
          ...{ prompt: "0.000001", completion: "0.000002" },
          ...(id === "acme/small" ? { web_search: "0.01" } : {}),
        },
        max_completion_tokens: 4096,
        supported_parameters: parameters,
      },
    ],
  }))

beforeAll(async () => {
  host = scriptedHost((body) => answer(body))
  gateway = await startGateway({
    config: {
      providers: {
        openai: { base_url: host.url, network: "private", api_key: "key-of-openai" },
      },
      models: models("openai"),
      limits: { breaker: { open_s: 0 } },
    },
  })
})
afterAll(async () => {
  await gateway.stop()
  await host.stop()
})

const items = [thought("Rome, then.", "c2VjcmV0"), search, message("About 20 °C.")]
const both: Answer = ({ stream }) =>
  stream === true ? streamOf(eventsOf(items)) : Response.json(responseObject(items))

const last = () => host.calls.at(-1)

describe("what the host is sent", () => {
  const sentOf = async (body: JsonObject) => {
    answer = both
    const response = await postResponses(gateway, body)
    await response.text()
    return { body: last()?.body ?? {}, dropped: response.headers.get("x-gw-dropped"), status: response.status }
  }

  test("is what the caller wrote, with the model's name, nothing stored, and reasoning that can come back", async () => {
    const tools = [
      { type: "function", name: "weather", parameters: { type: "object" }, defer_loading: true },
      { type: "custom", name: "patch", format: { type: "grammar", syntax: "lark", definition: "start: /a/" } },
      { type: "web_search", filters: { allowed_domains: ["a.example"] } },
    ]
    const { body, dropped } = await sentOf({
      input: [
        { role: "user", content: [{ type: "input_text", text: "hi", cache_control: { type: "ephemeral" } }] },
        { ...message("hello"), phase: "final_answer" },
        { type: "custom_tool_call", call_id: "c1", name: "patch", input: "*** Begin" },
        { type: "custom_tool_call_output", call_id: "c1", output: "done" },
        search,
      ],
      tools,
      tool_choice: { type: "custom", name: "patch" },
      truncation: "auto",
      max_tool_calls: 3,
      prompt_cache_key: "k",
      include: ["web_search_call.action.sources"],
      future_member: { kept: true },
      top_k: 5,
      provider: { sort: "price" },
    })
    expect(last()?.request.url).toEndWith("/v1/responses")
    expect(body).toEqual({
      model: "gpt-5-mini",
      store: false,
      stream: false,
      input: [
        { role: "user", content: [{ type: "input_text", text: "hi" }] },
        { ...message("hello"), phase: "final_answer" },
        { type: "custom_tool_call", call_id: "c1", name: "patch", input: "*** Begin" },
        { type: "custom_tool_call_output", call_id: "c1", output: "done" },
        search,
      ],
      tools,
      tool_choice: { type: "custom", name: "patch" },
      truncation: "auto",
      max_tool_calls: 3,
      prompt_cache_key: "k",
      include: ["web_search_call.action.sources", "reasoning.encrypted_content"],
    })
    expect(dropped).toBe("top_k, future_member")
  })

  test("has the effort that the model knows, and none of the router's members", async () => {
    const { body } = await sentOf({
      reasoning: { effort: "max", summary: "detailed", exclude: false },
      max_output_tokens: 64,
    })
    expect([body["reasoning"], body["max_output_tokens"]]).toEqual([{ effort: "high", summary: "detailed" }, 64])
  })

  test("leaves out what the host lacks, and says so", async () => {
    const { body, dropped } = await sentOf({
      model: "acme/plain",
      reasoning: { effort: "low" },
      top_p: 0.5,
      temperature: 0.5,
      text: { format: { type: "json_object" }, verbosity: "low" },
    })
    expect([body["reasoning"], body["top_p"], body["include"]]).toEqual([undefined, undefined, undefined])
    expect([body["temperature"], body["text"]]).toEqual([0.5, { format: { type: "json_object" } }])
    expect(dropped?.split(", ").toSorted()).toEqual(["reasoning", "text.verbosity", "top_p"])
  })

  test("has its own reasoning alone, and ids of the host alone", async () => {
    const input = [
      { role: "user", content: "hi" },
      thought("mine", "bWluZQ=="),
      { ...thought("mine by name", "bmFtZQ=="), format: "openai-responses-v1", status: "completed" },
      { ...thought("another's", "eA=="), format: "xai-responses-v1" },
      { ...thought("signed", "headgate.v1.e30"), id: "rs_1790000000-0123456789abcdefghij-0-anthropic-claude-v1" },
      { id: "rs_kept", type: "reasoning", summary: [] },
      { ...message("hello"), id: "msg_1790000000-0123456789abcdefghij-1" },
    ]
    const { body } = await sentOf({ input })
    const { id: _, ...said } = message("hello")
    // OpenAI refuses the status that it gave reasoning itself.
    expect(body["input"]).toEqual([input[0], input[1], thought("mine by name", "bmFtZQ=="), said])
  })

  test("is refused below the host's least bound", async () => {
    const calls = host.calls.length
    const bound = await postResponses(gateway, { max_output_tokens: 5 })
    expect([bound.status, await bound.text()]).toEqual([400, expect.stringContaining("max_output_tokens: this host")])
    expect(host.calls.length).toBe(calls)
  })

  test("has no search that is offered and has no price; one that is asked for leaves no host", async () => {
    const tools = [{ type: "web_search" }]
    const { body, dropped, status } = await sentOf({ model: "acme/unpriced", tools, tool_choice: "auto" })
    expect([status, dropped, body["tools"], body["tool_choice"]]).toEqual([
      200,
      "tools[0], tool_choice",
      undefined,
      undefined,
    ])
    const calls = host.calls.length
    const asked = await postResponses(gateway, { model: "acme/unpriced", tools, tool_choice: "required" })
    expect([asked.status, await asked.text()]).toEqual([404, expect.stringContaining("hosted_tools")])
    expect(host.calls.length).toBe(calls)
  })

  test.each([
    [{ previous_response_id: "resp_1" }],
    [{ conversation: "c" }],
    [{ prompt: { id: "p" } }],
    [{ input: [{ type: "item_reference", id: "rs_1" }] }],
    [{ tools: [{ type: "file_search", vector_store_ids: ["vs_1"] }] }],
    [{ tools: [{ type: "mcp", server_label: "s", connector_id: "c" }] }],
    [{ tools: [{ type: "code_interpreter", container: "c_1" }] }],
    [{ input: [{ role: "user", content: [{ type: "input_file", file_id: "f" }] }] }],
  ])("is nothing where the request names what is stored: %j", async (body) => {
    const calls = host.calls.length
    expect((await postResponses(gateway, body)).status).toBe(400)
    expect(host.calls.length).toBe(calls)
  })
})

describe("what the caller gets", () => {
  const costOf = { input_tokens: 20, output_tokens: 12, total_tokens: 32 }

  test("is the host's whole answer under our names, with its cost", async () => {
    answer = both
    const body = await responseOf(await postResponses(gateway, {}))
    expect(body["output"]).toEqual(items)
    expect(body["id"]).toMatch(/^resp_\d+-\w{20}$/)
    expect([body["model"], body["future"]]).toEqual(["acme/small", { of: "the response" }])
    expect(body["usage"]).toMatchObject({
      ...costOf,
      input_tokens_details: { cached_tokens: 6, cache_write_tokens: 4 },
      output_tokens_details: { reasoning_tokens: 5 },
      // 14 tokens in, 6 more at a quarter, 12 out, one search.
      cost: 0.0100395,
    })
    expect(JSON.stringify(body)).not.toMatch(/resp_host|name-at-the-host|gpt-5-mini/)
  })

  test("is every event as it came, but for the names at the start and the end", async () => {
    answer = both
    const { events, response } = await responsesStreamOf(await postResponses(gateway, { stream: true }))
    const sent = eventsOf(items)
    expect(events.slice(2, -1)).toEqual(sent.slice(2, -1))
    expect(events.map((event) => event["sequence_number"])).toEqual(sent.map((_, at) => at))
    const first = events[0]?.["response"] as JsonObject
    expect([first["id"], first["model"], first["future"]]).toEqual([
      response["id"],
      "acme/small",
      { of: "the response" },
    ])
    expect(response["output"]).toEqual(items)
    expect(response["usage"]).toMatchObject({ ...costOf, cost: 0.0100395 })
    expect(JSON.stringify(events)).not.toMatch(/resp_host|name-at-the-host|gpt-5-mini/)
  })

  test("has completed_at where the host left it out, null until it is completed", async () => {
    answer = both
    const whole = await responseOf(await postResponses(gateway, {}))
    const { events, response } = await responsesStreamOf(await postResponses(gateway, { stream: true }))
    const told = events.flatMap(({ response: state }) => (isJsonObject(state) ? [state["completed_at"]] : []))
    expect(told).toEqual([null, null, expect.any(Number)])
    expect([whole["completed_at"], response["completed_at"]]).toEqual([expect.any(Number), expect.any(Number)])
    answer = () => Response.json(responseObject(items, { completed_at: 7 }))
    expect((await responseOf(await postResponses(gateway, {})))["completed_at"]).toBe(7)
  })

  test("has the items that came, where the host's last event lists none", async () => {
    answer = () =>
      streamOf(
        eventsOf(items).map((event) =>
          event["type"] === "response.completed" ? { ...event, response: responseObject([]) } : event,
        ),
      )
    const { response } = await responsesStreamOf(await postResponses(gateway, { stream: true }))
    expect(response["output"]).toEqual(items)
  })

  test("ends with its terminal event, without [DONE]", async () => {
    answer = both
    const text = await (await postResponses(gateway, { stream: true })).text()
    expect(text).toMatch(/event: response\.completed\ndata: [^\n]*\n\n$/)
  })

  test("through the openai client: text, calls, and a second turn that brings the reasoning back", async () => {
    const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 })
    const first = [thought("Ask.", "Zmlyc3Q="), call("weather", '{"town":"Rome"}'), call("time", "{}")]
    answer = ({ stream }) => (stream === true ? streamOf(eventsOf(first)) : Response.json(responseObject(first)))
    const stream = client.responses.stream({ model: "acme/small", input: "Rome?" })
    const response = await stream.finalResponse()
    expect(response.output.map(({ type }) => type)).toEqual(["reasoning", "function_call", "function_call"])
    answer = both
    const second = await client.responses.create({
      model: "acme/small",
      input: [
        { role: "user", content: "Rome?" },
        // As agents do: the items of the answer, without what the client itself adds to calls.
        ...response.output.map((item) =>
          item.type === "function_call" ? { ...item, parsed_arguments: undefined } : item,
        ),
        { type: "function_call_output", call_id: "call_weather", output: "20" },
        { type: "function_call_output", call_id: "call_time", output: "noon" },
      ] as never,
    })
    expect(second.output_text).toBe("About 20 °C.")
    const { input } = Object(last()?.body)
    expect(input[1]).toEqual(first[0])
  })

  test("without reasoning where it is excluded, but with what the next turn needs", async () => {
    answer = both
    const asked = { reasoning: { exclude: true, effort: "low" } }
    const body = await responseOf(await postResponses(gateway, asked))
    const shown = [{ ...items[0], summary: [] }, items[1], items[2]]
    expect(body["output"]).toEqual(shown as never)
    const { events, response } = await responsesStreamOf(await postResponses(gateway, { ...asked, stream: true }))
    expect(response["output"]).toEqual(shown as never)
    expect(JSON.stringify(events)).not.toContain("Rome, then.")
    expect(events.map((event) => event["sequence_number"])).toEqual(events.map((_, at) => at))
  })

  test("a host that fails in the middle: what came, as incomplete, and nothing ends that had not", async () => {
    const sent = eventsOf([message("Half of it"), call("weather", '{"town":"Rome"}')])
    const cut = sent.findIndex(({ type }) => type === "response.function_call_arguments.done")
    const failed = {
      type: "response.failed",
      response: { ...responseObject([]), status: "failed", error: { code: "server_error", message: "x" } },
    }
    const { answer: halting, goOn } = inTwoParts(sent.slice(0, cut), [failed])
    answer = halting
    const begun = await postResponses(gateway, { stream: true })
    goOn()
    const { events, response } = await responsesStreamOf(begun)
    expect(events.at(-1)?.["type"]).toBe("response.failed")
    expect(response).toMatchObject({ status: "failed", error: { code: "server_error" } })
    expect(response["output"]).toEqual([
      message("Half of it"),
      { ...call("weather", '{"town":"Rome"}'), status: "incomplete" },
    ])
    expect(events.filter(({ type }) => type === "response.output_item.done")).toHaveLength(1)
  })

  test.each([
    ["no start", (sent: ReadonlyArray<JsonObject>) => sent.slice(2)],
    [
      "a delta of no item",
      (sent: ReadonlyArray<JsonObject>) => sent.filter(({ type }) => type !== "response.output_item.added"),
    ],
  ])("a stream that breaks the form fails: %s", async (_, change) => {
    answer = () =>
      new Response(textOfEvents(change(eventsOf([message("hello")]))), {
        headers: { "content-type": "text/event-stream" },
      })
    const response = await postResponses(gateway, { stream: true })
    const text = await response.text()
    if (response.status === 200) expect(readResponses(text).response["status"]).toBe("failed")
    else expect(response.status).toBe(502)
  })

  test("a key's budget cuts it: open items end as incomplete", async () => {
    const key = await gateway.newKey({ limit: 500_000_000n })
    const words = "word ".repeat(2000)
    answer = () => streamOf(eventsOf([message(words)], { usage: { ...hostUsage, output_tokens: 900 } }))
    const response = await postResponses(
      gateway,
      { model: "acme/unknown", stream: true },
      { authorization: `Bearer ${key}` },
    )
    const { response: end, events } = readResponses(await response.text())
    expect(end["status"]).toBe("incomplete")
    expect(events.at(-2)?.["type"]).toBe("response.output_item.done")
    expect((end["output"] as ReadonlyArray<JsonObject>)[0]?.["status"]).toBe("incomplete")
  })

  test("other forms are translated at the same host", async () => {
    answer = both
    const response = await gateway.chat({
      model: "acme/small",
      messages: [{ role: "user", content: "hi" }],
      reasoning: { effort: "low" },
    })
    const { choices, usage } = (await response.json()) as {
      choices: ReadonlyArray<{ message: JsonObject }>
      usage: JsonObject
    }
    expect(choices[0]?.message).toMatchObject({
      content: "About 20 °C.",
      reasoning: "Rome, then.",
      reasoning_details: [
        { type: "reasoning.summary", summary: "Rome, then.", id: "rs_host", format: "openai-responses-v1", index: 0 },
        { type: "reasoning.encrypted", data: "c2VjcmV0", id: "rs_host", format: "openai-responses-v1", index: 0 },
      ],
    })
    expect(usage).toMatchObject({ prompt_tokens: 20, completion_tokens: 12, cost: 0.0100395 })
    expect(last()?.body).toMatchObject({ store: false, include: ["reasoning.encrypted_content"] })
  })
})
