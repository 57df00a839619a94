/**
 * Conversations of several turns in the Responses form, whose caller gives the output back as it came: at hosts of the chat
 * form and of the Messages form. What the hosts get is what they said, byte for byte where it is opaque.
 */
import { describe, expect, test } from "bun:test"
import { type JsonObject, objectsIn } from "../../../src/domain/json/json.ts"
import { errorOf } from "../../support/clients/answers.ts"
import { postResponses, responseOf, responsesStreamOf } from "../../support/clients/responsesForm.ts"
import { startGateway } from "../../support/gateways/gateway.ts"
import { type Answer, closeAfterEach, routed } from "../../support/gateways/routed.ts"
import { chunkOf, configFor, scriptedHost, sse, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

const delta = (said: JsonObject) => chunkOf({ delta: said, finish_reason: null })
const call = (id: string, name: string, given: string) => ({
  id,
  type: "function",
  function: { name, arguments: given },
})
const tool = { type: "function", name: "weather", parameters: { type: "object" } }
const question = { role: "user", content: "How is Bern?" }

/** Two turns: what the host says first, as a message and as deltas, and what it gets back. `seen`: gets the caller's items. */
const turns = async (
  message: JsonObject,
  deltas: ReadonlyArray<string>,
  stream: boolean,
  tools: ReadonlyArray<JsonObject> = [tool],
  seen: Array<JsonObject> = [],
  kept: (item: JsonObject) => JsonObject = (item) => item,
) => {
  const answer: Answer = (body, _, count) => {
    if (count > 1) return body["stream"] === true ? streamAnswer(["Sunny"]) : wholeAnswer("Sunny")
    if (body["stream"] === true) return sse([...deltas, chunkOf({ delta: {}, finish_reason: "tool_calls" }), "[DONE]"])
    const choice = { index: 0, message: { role: "assistant", ...message }, finish_reason: "tool_calls" }
    return Response.json({ choices: [choice], usage: { prompt_tokens: 1, completion_tokens: 1 } })
  }
  const gateway = await routed({ a: answer })
  const ask = async (input: ReadonlyArray<unknown>) => {
    const response = await postResponses(gateway, {
      input,
      tools,
      stream,
      include: ["reasoning.encrypted_content"],
    })
    return stream ? (await responsesStreamOf(response)).response : responseOf(response)
  }
  const first = await ask([question])
  const output = first["output"] as ReadonlyArray<JsonObject>
  const results = output
    .filter(({ type }) => type === "function_call")
    .map(({ call_id, name }) => ({ type: "function_call_output", call_id, output: `${name}: sunny` }))
  seen.push(...output)
  const second = await ask([question, ...output.map(kept), ...results, { role: "user", content: "Sure?" }])
  expect(second).toMatchObject({ status: "completed", output_text: "Sunny" })
  return gateway.hosts["a"]?.calls[1]?.body["messages"] as ReadonlyArray<JsonObject>
}

/** Without the list of the parts, which no host is sent. */
const reasoningIn = (message: JsonObject | undefined) =>
  objectsIn(message?.["reasoning_details"]).filter(({ id }) => !String(id).startsWith("headgate-order"))

describe.each([true, false])("the second turn at a host of the chat form (stream: %p)", (stream) => {
  test("has the calls of the first, in order, and their results", async () => {
    const calls = [call("call_a", "weather", '{"town":"Bern"}'), call("call_b", "weather", "")]
    const messages = await turns(
      { content: "Let me look", tool_calls: calls },
      [
        delta({ content: "Let me " }),
        delta({ content: "look" }),
        delta({ tool_calls: [{ index: 0, ...call("call_a", "weather", '{"town"') }] }),
        delta({ tool_calls: [{ index: 1, ...call("call_b", "weather", "") }] }),
        delta({ tool_calls: [{ index: 0, function: { arguments: ':"Bern"}' } }] }),
      ],
      stream,
    )
    expect(messages).toEqual([
      { role: "user", content: "How is Bern?" },
      { role: "assistant", content: "Let me look", tool_calls: [calls[0], call("call_b", "weather", "{}")] },
      { role: "tool", tool_call_id: "call_a", content: "weather: sunny" },
      { role: "tool", tool_call_id: "call_b", content: "weather: sunny" },
      { role: "user", content: "Sure?" },
    ])
  })

  test("has its reasoning: signatures, encrypted parts and ids as they came", async () => {
    const openai = { format: "openai-responses-v1", id: "rs_68af4030" }
    const details = [
      { type: "reasoning.summary", summary: "Lööking", ...openai, index: 0 },
      { type: "reasoning.encrypted", data: "gAAAAAB+/=", ...openai, index: 0 },
      { type: "reasoning.text", text: "Hmm.", signature: "EqQBCg==", format: "anthropic-claude-v1", index: 1 },
      { type: "reasoning.encrypted", data: "cmVkYWN0ZWQ=", format: "anthropic-claude-v1", index: 2 },
    ]
    const messages = await turns(
      { content: null, reasoning_details: details, tool_calls: [call("call_a", "weather", "{}")] },
      [
        delta({ reasoning_details: [{ ...details[0], summary: "Löö" }] }),
        delta({ reasoning_details: [{ ...details[0], summary: "king" }] }),
        delta({ reasoning_details: [details[1]] }),
        delta({ reasoning_details: [{ ...details[2], signature: undefined }] }),
        delta({ reasoning_details: [{ ...details[2], text: undefined }] }),
        delta({ reasoning_details: [details[3]] }),
        delta({ tool_calls: [{ index: 0, ...call("call_a", "weather", "{}") }] }),
      ],
      stream,
    )
    expect(messages[1]).toMatchObject({ role: "assistant", content: null, reasoning: "LöökingHmm." })
    expect(reasoningIn(messages[1])).toEqual(details)
  })

  test("has its reasoning also from a caller who keeps only the members of the vendor's form", async () => {
    const details = [
      { type: "reasoning.text", text: "Hmm.", signature: "EqQBCg==", format: "anthropic-claude-v1", index: 0 },
      { type: "reasoning.encrypted", data: "cmVkYWN0ZWQ=", format: "anthropic-claude-v1", index: 1 },
    ]
    const calls = [call("call_a", "weather", "{}")]
    const deltas = [
      ...details.map((detail) => delta({ reasoning_details: [detail] })),
      delta({ tool_calls: [{ index: 0, ...calls[0] }] }),
    ]
    const kept = ({ format: _, signature: __, content: ___, ...item }: JsonObject) => item
    const messages = await turns({ reasoning_details: details, tool_calls: calls }, deltas, stream, [tool], [], kept)
    expect(reasoningIn(messages[1])).toEqual(details)
  })

  test("has calls of functions in a namespace, by the name that the host was told", async () => {
    const calls = [call("call_a", "agents__weather", "{}"), call("call_b", "weather", "{}")]
    const deltas = calls.map((one, index) => delta({ tool_calls: [{ index, ...one }] }))
    const space = { type: "namespace", name: "agents", tools: [tool] }
    const seen: Array<JsonObject> = []
    const messages = await turns({ content: null, tool_calls: calls }, deltas, stream, [tool, space], seen)
    expect(seen.map(({ name, namespace }) => [name, namespace])).toEqual([
      ["weather", "agents"],
      ["weather", undefined],
    ])
    expect(messages[1]).toEqual({ role: "assistant", content: null, tool_calls: calls })
  })

  test("has plain reasoning as plain text", async () => {
    const calls = [call("call_a", "weather", "{}")]
    const messages = await turns(
      { content: null, reasoning: "Hmm", tool_calls: calls },
      [delta({ reasoning: "H" }), delta({ reasoning: "mm" }), delta({ tool_calls: [{ index: 0, ...calls[0] }] })],
      stream,
    )
    expect(messages[1]).toEqual({ role: "assistant", content: null, reasoning: "Hmm", tool_calls: calls })
  })

  test("has its refusal and its images", async () => {
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0K" } }
    const calls = [call("call_a", "weather", "{}")]
    const messages = await turns(
      { content: null, refusal: "No", images: [image], tool_calls: calls },
      [delta({ refusal: "No" }), delta({ images: [image] }), delta({ tool_calls: [{ index: 0, ...calls[0] }] })],
      stream,
    )
    expect(messages[1]).toEqual({
      role: "assistant",
      content: [{ type: "refusal", refusal: "No" }],
      images: [image],
      tool_calls: calls,
    })
  })
})

/** The events of a Messages host that thinks twice, says something and calls two tools, one without arguments. */
const messagesEvents: ReadonlyArray<JsonObject> = [
  {
    type: "message_start",
    message: { id: "msg_1", role: "assistant", content: [], usage: { input_tokens: 10, output_tokens: 1 } },
  },
  { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hmm" } },
  { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "EqQBCg==" } },
  { type: "content_block_stop", index: 0 },
  { type: "content_block_start", index: 1, content_block: { type: "redacted_thinking", data: "cmVkYWN0ZWQ=" } },
  { type: "content_block_stop", index: 1 },
  { type: "content_block_start", index: 2, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 2, delta: { type: "text_delta", text: "Looking" } },
  { type: "content_block_stop", index: 2 },
  {
    type: "content_block_start",
    index: 3,
    content_block: { type: "tool_use", id: "toolu_a", name: "weather", input: {} },
  },
  { type: "content_block_delta", index: 3, delta: { type: "input_json_delta", partial_json: '{"town":"Bern"}' } },
  { type: "content_block_stop", index: 3 },
  {
    type: "content_block_start",
    index: 4,
    content_block: { type: "tool_use", id: "toolu_b", name: "weather", input: {} },
  },
  { type: "content_block_stop", index: 4 },
  { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 20 } },
  { type: "message_stop" },
]

const messagesContent: ReadonlyArray<JsonObject> = [
  { type: "thinking", thinking: "Hmm", signature: "EqQBCg==" },
  { type: "redacted_thinking", data: "cmVkYWN0ZWQ=" },
  { type: "text", text: "Looking" },
  { type: "tool_use", id: "toolu_a", name: "weather", input: { town: "Bern" } },
  { type: "tool_use", id: "toolu_b", name: "weather", input: {} },
]

const events = (list: ReadonlyArray<JsonObject>) =>
  new Response(list.map((event) => `event: ${event["type"]}\ndata: ${JSON.stringify(event)}\n\n`).join(""), {
    headers: { "content-type": "text/event-stream" },
  })

/** A gateway whose only host speaks the Messages form. */
const claude = async (answer: Answer) => {
  const host = scriptedHost(answer)
  const { models, ...config } = configFor({ claude: { url: host.url } })
  const provider = { plugin: "anthropic", base_url: host.url, network: "private" as const, api_key: "k" }
  const claudes = models.map((model) => ({
    ...model,
    hosts: model.hosts.map((one) => ({ ...one, model: "claude-sonnet-4-5" })),
  }))
  const gateway = await startGateway({ config: { ...config, providers: { claude: provider }, models: claudes } })
  const stop = async () => {
    await gateway.stop()
    await host.stop()
  }
  return { gateway, host, stop }
}

describe.each([true, false])("two turns at a host of the Messages form (stream: %p)", (stream) => {
  test("give back thinking with its signature, hidden thinking, calls and results", async () => {
    const usage = { input_tokens: 10, output_tokens: 20 }
    const whole = { type: "message", role: "assistant", content: messagesContent, stop_reason: "tool_use", usage }
    const { gateway, host, stop } = await claude((body) =>
      body["stream"] === true ? events(messagesEvents) : Response.json(whole),
    )
    const ask = async (input: ReadonlyArray<unknown>) => {
      const response = await postResponses(gateway, { input, tools: [tool], stream, reasoning: { max_tokens: 1500 } })
      return stream ? (await responsesStreamOf(response)).response : responseOf(response)
    }
    const first = await ask([question])
    const output = first["output"] as ReadonlyArray<JsonObject>
    expect(output.map(({ id: _, status: __, ...item }) => item)).toEqual([
      {
        type: "reasoning",
        summary: [],
        content: [{ type: "reasoning_text", text: "Hmm" }],
        signature: "EqQBCg==",
        format: "anthropic-claude-v1",
        encrypted_content: expect.any(String),
      },
      { type: "reasoning", summary: [], encrypted_content: expect.any(String), format: "anthropic-claude-v1" },
      {
        type: "message",
        role: "assistant",
        content: [{ type: "output_text", text: "Looking", annotations: [], logprobs: [] }],
      },
      { type: "function_call", call_id: "toolu_a", name: "weather", arguments: '{"town":"Bern"}' },
      { type: "function_call", call_id: "toolu_b", name: "weather", arguments: "{}" },
    ])
    const results = ["toolu_a", "toolu_b"].map((call_id) => ({
      type: "function_call_output",
      call_id,
      output: "sunny",
    }))
    await ask([question, ...output, ...results])
    expect(host.calls[1]?.body["messages"]).toEqual([
      { role: "user", content: [{ type: "text", text: "How is Bern?" }] },
      { role: "assistant", content: messagesContent },
      {
        role: "user",
        content: ["toolu_a", "toolu_b"].map((id) => ({ type: "tool_result", tool_use_id: id, content: "sunny" })),
      },
    ])
    await stop()
  })
})

test("parts of the input are those of the host's form", async () => {
  const answer: Answer = () => wholeAnswer("ok")
  const gateway = await routed({ a: answer })
  const png = "data:image/png;base64,iVBORw0K"
  const content = [
    { type: "input_text", text: "a", prompt_cache_breakpoint: { mode: "explicit" } },
    { type: "input_image", image_url: png, detail: "low" },
    { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERg==" },
    { type: "input_file", file_url: "https://a.org/b.pdf" },
    { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } },
    { type: "input_video", video_url: "https://a.org/c.mp4" },
  ]
  const result = [
    { type: "input_text", text: "seen" },
    { type: "input_image", image_url: png },
  ]
  const response = await postResponses(gateway, {
    input: [
      { type: "message", role: "developer", content: [{ type: "input_text", text: "be brief" }] },
      { role: "user", content },
      { type: "function_call", call_id: "call_a", name: "look", arguments: "{}" },
      { type: "function_call_output", call_id: "call_a", output: result },
      { role: "assistant", content: "Well," },
    ],
  })
  expect([response.status, response.headers.get("x-gw-dropped")]).toEqual([200, null])
  expect(gateway.hosts["a"]?.calls[0]?.body["messages"]).toEqual([
    { role: "system", content: [{ type: "text", text: "be brief" }] },
    {
      role: "user",
      content: [
        {
          type: "text",
          text: "a",
          prompt_cache_breakpoint: { mode: "explicit" },
          cache_control: { type: "ephemeral" },
        },
        { type: "image_url", image_url: { url: png, detail: "low" } },
        { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERg==" } },
        { type: "file", file: { file_data: "https://a.org/b.pdf" } },
        { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } },
        { type: "video_url", video_url: { url: "https://a.org/c.mp4" } },
      ],
    },
    { role: "assistant", content: null, tool_calls: [call("call_a", "look", "{}")] },
    {
      role: "tool",
      tool_call_id: "call_a",
      content: [
        { type: "text", text: "seen" },
        { type: "text", text: "(What the tool shows follows.)" },
      ],
    },
    {
      role: "user",
      content: [
        { type: "text", text: "What the tools have shown, in their order:" },
        { type: "image_url", image_url: { url: png } },
      ],
    },
    { role: "assistant", content: "Well," },
  ])
})

test("what a host cannot carry is refused with the caller's own path, and dropped by the caller's own name", async () => {
  const usage = { input_tokens: 1, output_tokens: 1 }
  const { gateway, host, stop } = await claude(() =>
    Response.json({ content: [{ type: "text", text: "ok" }], stop_reason: "end_turn", usage }),
  )
  const audio = { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } }
  const input = [
    { role: "assistant", content: "a" },
    { type: "function_call", call_id: "call_a", name: "look", arguments: "{}" },
    { type: "function_call_output", call_id: "call_a", output: [{ type: "input_text", text: "b" }, audio] },
  ]
  const { code, message } = await errorOf(await postResponses(gateway, { instructions: "c", input }))
  expect([code, message]).toEqual([400, expect.stringContaining("input[2].output[1]")])
  expect(host.calls.length).toBe(0)
  const given = {
    text: { format: { type: "json_object" }, verbosity: "low" },
    include: ["message.output_text.logprobs"],
  }
  const answer = await postResponses(gateway, { ...given, image: { context_compression: "auto" } })
  const dropped = answer.headers.get("x-gw-dropped")?.split(", ").toSorted()
  expect([answer.status, dropped]).toEqual([200, ["image", "include", "text.format", "text.verbosity"]])
  await stop()
})
