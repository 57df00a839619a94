import { test } from "bun:test"
import { providerChecks } from "headgate/testing"
import anthropic from "./index.ts"

const counted = { input_tokens: 70, cache_creation_input_tokens: 0, cache_read_input_tokens: 12, output_tokens: 1 }

const answer = () =>
  Response.json({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "name-at-the-host",
    content: [{ type: "text", text: "About 20 degrees." }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { ...counted, output_tokens: 8 },
  })

const event = (data: { readonly type: string; readonly [member: string]: unknown }) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
const start = event({
  type: "message_start",
  message: { id: "msg_1", type: "message", role: "assistant", content: [], model: "m", usage: counted },
})
const block = (index: number, begin: object, deltas: ReadonlyArray<object>) =>
  event({ type: "content_block_start", index, content_block: begin }) +
  deltas.map((delta) => event({ type: "content_block_delta", index, delta })).join("") +
  event({ type: "content_block_stop", index })
const end = (reason: string) =>
  event({ type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 21 } }) +
  event({ type: "message_stop" })

const text =
  start +
  block(0, { type: "thinking", thinking: "", signature: "" }, [
    { type: "thinking_delta", thinking: "Rome, then." },
    { type: "signature_delta", signature: "c2ln" },
  ]) +
  event({ type: "ping" }) +
  block(1, { type: "text", text: "" }, [
    { type: "text_delta", text: "About 20" },
    { type: "text_delta", text: " °C 🌞" },
  ]) +
  end("end_turn")

const tool =
  start +
  block(0, { type: "text", text: "" }, [{ type: "text_delta", text: "Let me look." }]) +
  block(1, { type: "tool_use", id: "toolu_1", name: "weather", input: {} }, [
    { type: "input_json_delta", partial_json: "" },
    { type: "input_json_delta", partial_json: '{"city":' },
    { type: "input_json_delta", partial_json: '"Rome"}' },
  ]) +
  end("tool_use")

const checks = await providerChecks({
  plugin: anthropic,
  config: { api_key: "sk-ant-own-0123456789abcdef" },
  answer,
  streams: [
    { name: "thinking and text", bytes: text, expects: { text: "About 20 °C 🌞", finishReason: "stop" } },
    { name: "a tool call", bytes: tool, expects: { text: "Let me look.", finishReason: "tool_calls" } },
  ],
})
for (const check of checks) test(check.name, check.run)
