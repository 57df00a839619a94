import { test } from "bun:test"
import { providerChecks } from "headgate/testing"
import openai from "./index.ts"

const answer = (request: Request) => (request.url.endsWith("/responses") ? response() : completion())

const completion = () =>
  Response.json({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1_790_000_000,
    model: "name-at-the-host-2026-09-01",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: "About 20 degrees.", refusal: null, annotations: [] },
        logprobs: null,
        finish_reason: "stop",
      },
    ],
    usage: {
      prompt_tokens: 82,
      completion_tokens: 30,
      total_tokens: 112,
      prompt_tokens_details: { cached_tokens: 64, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 22, audio_tokens: 0, accepted_prediction_tokens: 0 },
    },
    service_tier: "default",
    system_fingerprint: "fp_1",
  })

const items = [
  {
    id: "rs_1",
    type: "reasoning",
    summary: [{ type: "summary_text", text: "Rome, then." }],
    encrypted_content: "Zm9v",
  },
  {
    id: "msg_1",
    type: "message",
    status: "completed",
    role: "assistant",
    content: [{ type: "output_text", annotations: [], logprobs: [], text: "About 20 degrees." }],
  },
]
const responseOf = (output: ReadonlyArray<object>, more: object = {}) => ({
  id: "resp_1",
  object: "response",
  created_at: 1_790_000_000,
  status: "completed",
  error: null,
  incomplete_details: null,
  model: "name-at-the-host-2026-09-01",
  output,
  service_tier: "default",
  store: false,
  usage: {
    input_tokens: 82,
    input_tokens_details: { cached_tokens: 64, cache_write_tokens: 0 },
    output_tokens: 30,
    output_tokens_details: { reasoning_tokens: 22 },
    total_tokens: 112,
  },
  ...more,
})
const response = () => Response.json(responseOf(items))

const events = (...written: ReadonlyArray<{ readonly type: string; readonly [member: string]: unknown }>) =>
  written
    .map((event, at) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: at })}\n\n`)
    .join("")
const created = { type: "response.created", response: responseOf([], { status: "in_progress", usage: null }) }
const place = { item_id: "msg_1", output_index: 0, content_index: 0 }
const spoken = ["About", " 20", " °C", ".\n"]
const inResponses = {
  text: events(
    created,
    { type: "response.output_item.added", output_index: 0, item: { ...items[1], status: "in_progress", content: [] } },
    { type: "response.content_part.added", ...place, part: { type: "output_text", annotations: [], text: "" } },
    ...spoken.map((delta) => ({
      type: "response.output_text.delta",
      ...place,
      delta,
      logprobs: [],
      obfuscation: "x1",
    })),
    { type: "response.output_text.done", ...place, text: spoken.join(""), logprobs: [] },
    { type: "response.output_item.done", output_index: 0, item: items[1] },
    { type: "response.completed", response: responseOf([items[1] ?? {}]) },
  ),
  // Two calls at a time, whose pieces come by turns; the encrypted content at the end of the thought is another than at its start.
  calls: events(
    created,
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { ...items[0], summary: [], encrypted_content: "bm90" },
    },
    ...["Rome, ", "then."].map((delta) => ({
      type: "response.reasoning_summary_text.delta",
      item_id: "rs_1",
      output_index: 0,
      summary_index: 0,
      delta,
    })),
    { type: "response.output_item.done", output_index: 0, item: items[0] },
    ...["weather", "time"].map((name, at) => ({
      type: "response.output_item.added",
      output_index: at + 1,
      item: { id: `fc_${at}`, type: "function_call", call_id: `call_${at}`, name, arguments: "" },
    })),
    ...['{"city"', ':"Rome"}'].flatMap((delta) =>
      [1, 2].map((output_index) => ({ type: "response.function_call_arguments.delta", output_index, delta })),
    ),
    { type: "response.completed", response: responseOf([]) },
  ),
  refused: events(
    created,
    { type: "response.output_item.added", output_index: 0, item: { ...items[1], content: [] } },
    { type: "response.refusal.delta", ...place, delta: "I cannot." },
    { type: "response.completed", response: responseOf([]) },
  ),
  failed: events(created, {
    type: "response.failed",
    response: responseOf([], { status: "failed", error: { code: "rate_limit_exceeded", message: "Slow down." } }),
  }),
  searched: events(
    created,
    {
      type: "response.output_item.done",
      output_index: 0,
      item: { id: "ws_1", type: "web_search_call", status: "completed", action: { type: "search", query: "Rome" } },
    },
    { type: "response.output_item.added", output_index: 1, item: { ...items[1], content: [] } },
    { type: "response.output_text.delta", ...place, output_index: 1, delta: "About 20." },
    {
      type: "response.output_text.annotation.added",
      ...place,
      output_index: 1,
      annotation: { type: "url_citation", url: "https://a.example/", title: "A", start_index: 0, end_index: 5 },
    },
    { type: "response.completed", response: responseOf([]) },
  ),
  cut: events(
    created,
    { type: "response.output_text.delta", ...place, delta: "About" },
    {
      type: "response.incomplete",
      response: responseOf([], { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }),
    },
  ),
}
const counted = {
  prompt_tokens: 82,
  completion_tokens: 30,
  prompt_tokens_details: { cached_tokens: 64 },
  completion_tokens_details: { reasoning_tokens: 22 },
}

const chunk = (more: object) =>
  `data: ${JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1_790_000_000,
    model: "name-at-the-host-2026-09-01",
    service_tier: "default",
    system_fingerprint: "fp_1",
    ...more,
  })}\n\n`
const delta = (said: object, finish: string | null = null) =>
  chunk({ choices: [{ index: 0, delta: said, logprobs: null, finish_reason: finish }], usage: null, obfuscation: "x1" })
const usage = { prompt_tokens: 82, completion_tokens: 9, total_tokens: 91, prompt_tokens_details: { cached_tokens: 0 } }
const end = `${chunk({ choices: [], usage, obfuscation: "" })}data: [DONE]\n\n`

const text =
  delta({ role: "assistant", content: "", refusal: null }) +
  ["About", " 20", " °C", ' in "Rome"', ".\n"].map((content) => delta({ content })).join("") +
  delta({}, "stop") +
  end

const call = { index: 0, id: "call_7", type: "function", function: { name: "weather", arguments: "" } }
const tool =
  delta({ role: "assistant", content: null, tool_calls: [call], refusal: null }) +
  ['{"city"', ':"Rome"}'].map((part) => delta({ tool_calls: [{ index: 0, function: { arguments: part } }] })).join("") +
  delta({}, "tool_calls") +
  end

const checks = await providerChecks({
  plugin: openai,
  config: { api_key: "sk-own-0123456789abcdef" },
  answer,
  answers: [
    {
      protocol: "responses",
      name: "two calls after a thought",
      body: responseOf([
        items[0] ?? {},
        ...["weather", "time"].map((name) => ({
          type: "function_call",
          call_id: `call_${name}`,
          name,
          arguments: '{"city":"Rome"}',
        })),
      ]),
      expects: {
        text: "",
        reasoning: "Rome, then.",
        signatures: ["Zm9v"],
        toolCalls: ["weather", "time"].map((name) => ({ id: `call_${name}`, name, arguments: { city: "Rome" } })),
        finishReason: "tool_calls",
        counted,
      },
    },
    {
      protocol: "responses",
      name: "one that the content filter cut",
      body: responseOf([items[1] ?? {}], { status: "incomplete", incomplete_details: { reason: "content_filter" } }),
      expects: { text: "About 20 degrees.", finishReason: "content_filter" },
    },
  ],
  streams: [
    { name: "text", bytes: text, expects: { text: 'About 20 °C in "Rome".\n', finishReason: "stop" } },
    { name: "a tool call", bytes: tool, expects: { text: "", finishReason: "tool_calls" } },
    {
      protocol: "responses",
      name: "text",
      bytes: inResponses.text,
      expects: { text: "About 20 °C.\n", finishReason: "stop", counted },
    },
    {
      protocol: "responses",
      name: "two calls after a thought",
      bytes: inResponses.calls,
      expects: {
        text: "",
        reasoning: "Rome, then.",
        signatures: ["Zm9v"],
        toolCalls: ["weather", "time"].map((name, at) => ({ id: `call_${at}`, name, arguments: { city: "Rome" } })),
        finishReason: "tool_calls",
        counted,
      },
    },
    {
      protocol: "responses",
      name: "a refusal",
      bytes: inResponses.refused,
      expects: { text: "", refusal: "I cannot.", finishReason: "stop" },
    },
    {
      protocol: "responses",
      name: "a failure",
      bytes: inResponses.failed,
      expects: { failure: { reason: "rate-limited" } },
    },
    {
      protocol: "responses",
      name: "a search",
      bytes: inResponses.searched,
      expects: {
        text: "About 20.",
        annotations: ["https://a.example/"],
        counted: { ...counted, server_tool_use_details: { web_search_requests: 1 } },
      },
    },
    {
      protocol: "responses",
      name: "an answer that its bound cuts",
      bytes: inResponses.cut,
      expects: { text: "About", finishReason: "length", counted },
    },
  ],
})
for (const check of checks) test(check.name, check.run)
