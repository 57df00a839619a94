import { test } from "bun:test"
import { eventStreamEvent, eventStreamMessage, providerChecks } from "headgate/testing"
import bedrock from "./index.ts"

// Written for this test, after the event types of AWS's documentation. AWS pads its events with `p`.
const event = (name: string, data: object): Uint8Array => eventStreamEvent(name, JSON.stringify({ ...data, p: "abcd" }))
const stream = (...events: ReadonlyArray<Uint8Array>): Uint8Array => Uint8Array.from(Buffer.concat(events))

const start = event("messageStart", { role: "assistant" })
const delta = (contentBlockIndex: number, given: object) =>
  event("contentBlockDelta", { contentBlockIndex, delta: given })
const stop = (contentBlockIndex: number) => event("contentBlockStop", { contentBlockIndex })
const end = (stopReason: string) => [
  event("messageStop", { stopReason }),
  event("metadata", { usage: counted, metrics: { latencyMs: 400 } }),
]

const counted = {
  inputTokens: 30,
  outputTokens: 21,
  totalTokens: 71,
  cacheReadInputTokens: 12,
  cacheWriteInputTokens: 8,
  cacheDetails: [
    { ttl: "1h", inputTokens: 5 },
    { ttl: "5m", inputTokens: 3 },
  ],
}
const expected = {
  prompt_tokens: 50,
  completion_tokens: 21,
  prompt_tokens_details: { cached_tokens: 12, cache_write_tokens: 8, cache_write_1h_tokens: 5 },
}

const text = stream(
  start,
  delta(0, { reasoningContent: { text: "Rome, then." } }),
  delta(0, { reasoningContent: { signature: "c2ln" } }),
  stop(0),
  delta(1, { text: "About 20" }),
  delta(1, { text: " °C 🌞" }),
  stop(1),
  ...end("end_turn"),
)

const tool = stream(
  start,
  delta(0, { text: "Let me look." }),
  stop(0),
  event("contentBlockStart", { contentBlockIndex: 1, start: { toolUse: { toolUseId: "tooluse_1", name: "weather" } } }),
  delta(1, { toolUse: { input: '{"city":' } }),
  delta(1, { toolUse: { input: '"Rome"}' } }),
  stop(1),
  event("contentBlockStart", { contentBlockIndex: 2, start: { toolUse: { toolUseId: "tooluse_2", name: "weather" } } }),
  delta(2, { toolUse: { input: "{}" } }),
  stop(2),
  ...end("tool_use"),
)

const calls = [
  { id: "tooluse_1", name: "weather", arguments: { city: "Rome" } },
  { id: "tooluse_2", name: "weather", arguments: {} },
]

// Of Claude by InvokeModel: events of Anthropic's own form, each in base64.
const wrapped = (data: object): Uint8Array =>
  event("chunk", { bytes: Buffer.from(JSON.stringify(data)).toString("base64") })
const begin = (index: number, content_block: object) => wrapped({ type: "content_block_start", index, content_block })
const more = (index: number, given: object) => wrapped({ type: "content_block_delta", index, delta: given })
const close = (index: number) => wrapped({ type: "content_block_stop", index })
const claudeCounts = {
  input_tokens: 30,
  cache_read_input_tokens: 12,
  cache_creation_input_tokens: 8,
  cache_creation: { ephemeral_1h_input_tokens: 5, ephemeral_5m_input_tokens: 3 },
  output_tokens: 21,
}

const wrappedStream = stream(
  wrapped({ type: "message_start", message: { role: "assistant", content: [], usage: claudeCounts } }),
  begin(0, { type: "thinking", thinking: "", signature: "" }),
  more(0, { type: "thinking_delta", thinking: "Rome, then." }),
  more(0, { type: "signature_delta", signature: "c2ln" }),
  close(0),
  begin(1, { type: "text", text: "" }),
  more(1, { type: "text_delta", text: "Let me look 🌞" }),
  close(1),
  begin(2, { type: "tool_use", id: "tooluse_1", name: "weather", input: {} }),
  more(2, { type: "input_json_delta", partial_json: '{"city":' }),
  more(2, { type: "input_json_delta", partial_json: '"Rome"}' }),
  close(2),
  begin(3, { type: "tool_use", id: "tooluse_2", name: "weather", input: {} }),
  close(3),
  wrapped({ type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 21 } }),
  wrapped({ type: "message_stop", "amazon-bedrock-invocationMetrics": { inputTokenCount: 30 } }),
)

const answers = [
  {
    name: "an answer of Claude's own form",
    protocol: "messages",
    body: {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Rome, then.", signature: "c2ln" },
        { type: "text", text: "About 20 °C" },
        { type: "tool_use", id: "tooluse_1", name: "weather", input: { city: "Rome" } },
      ],
      stop_reason: "tool_use",
      usage: claudeCounts,
    },
    expects: {
      text: "About 20 °C",
      reasoning: "Rome, then.",
      signatures: ["c2ln"],
      finishReason: "tool_calls",
      toolCalls: calls.slice(0, 1),
      counted: expected,
    },
  },
  {
    name: "thinking, text and a call",
    body: {
      metrics: { latencyMs: 400 },
      output: {
        message: {
          role: "assistant",
          content: [
            { reasoningContent: { reasoningText: { text: "Rome, then.", signature: "c2ln" } } },
            { reasoningContent: { redactedContent: "aGlkZGVu" } },
            { text: "About 20 °C" },
            { toolUse: { toolUseId: "tooluse_1", name: "weather", input: { city: "Rome" } } },
          ],
        },
      },
      stopReason: "tool_use",
      usage: counted,
    },
    expects: {
      text: "About 20 °C",
      reasoning: "Rome, then.",
      signatures: ["c2ln", "aGlkZGVu"],
      finishReason: "tool_calls",
      toolCalls: calls.slice(0, 1),
      counted: expected,
    },
  },
  {
    name: "a call that the host could not read",
    body: { output: { message: { role: "assistant", content: [] } }, stopReason: "malformed_tool_use", usage: counted },
    expects: { text: "", finishReason: "error", counted: expected },
  },
] as const

const streams = [
  {
    name: "Claude's own form",
    protocol: "messages",
    bytes: wrappedStream,
    expects: {
      text: "Let me look 🌞",
      reasoning: "Rome, then.",
      signatures: ["c2ln"],
      finishReason: "tool_calls",
      toolCalls: calls,
      counted: expected,
    },
  },
  {
    name: "thinking and text",
    bytes: text,
    expects: {
      text: "About 20 °C 🌞",
      reasoning: "Rome, then.",
      signatures: ["c2ln"],
      finishReason: "stop",
      counted: expected,
    },
  },
  {
    name: "tool calls",
    bytes: tool,
    expects: { text: "Let me look.", finishReason: "tool_calls", toolCalls: calls, counted: expected },
  },
  {
    name: "an answer that was cut",
    bytes: stream(start, delta(0, { text: "Ab" }), stop(0), ...end("max_tokens")),
    expects: { text: "Ab", finishReason: "length", counted: expected },
  },
  {
    name: "an exception",
    bytes: stream(
      start,
      delta(0, { text: "Let me" }),
      eventStreamMessage(
        { ":message-type": "exception", ":exception-type": "throttlingException" },
        '{"message":"Too many requests"}',
      ),
    ),
    expects: { text: "Let me", failure: { reason: "rate-limited" } },
  },
] as const

const errors = [
  {
    name: "throttling",
    status: 429,
    headers: { "x-amzn-errortype": "ThrottlingException" },
    body: { message: "Too many requests, please wait before trying again." },
    expects: { reason: "rate-limited", hasDetail: true },
  },
  {
    name: "expired keys",
    status: 403,
    headers: { "x-amzn-errortype": "ExpiredTokenException:http://internal.amazon.com/coral/" },
    body: { message: "The security token included in the request is expired" },
    expects: { reason: "account", hasDetail: false },
  },
] as const

// Claude of a name that is not known takes no temperature.
const shared = {
  plugin: bedrock,
  answers,
  streams,
  errors,
  lacks: ["waits", "temperature", "reasoning unasked"],
} as const

const byKey = { region: "eu-west-1", api_key: "bedrock-own-0123456789abcdef" }
for (const check of await providerChecks({ ...shared, config: byKey })) test(check.name, check.run)

const bySignature = {
  region: "eu-west-1",
  access_key_id: "AKIDEXAMPLE",
  secret_access_key: "wJalrXUtnFEMI-own-EXAMPLEKEY",
}
for (const check of await providerChecks({ ...shared, config: bySignature })) test(`signed: ${check.name}`, check.run)
