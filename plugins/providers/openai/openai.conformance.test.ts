import { test } from "bun:test"
import { providerChecks } from "headgate/testing"
import openai from "./index.ts"

const responses = {
  id: "resp_1",
  object: "response",
  created_at: 1_790_000_000,
  status: "completed",
  model: "name-at-the-host-2026-09-01",
  output: [
    {
      id: "msg_1",
      type: "message",
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", text: "About 20 degrees.", annotations: [] }],
    },
  ],
  usage: {
    input_tokens: 82,
    output_tokens: 30,
    total_tokens: 112,
    input_tokens_details: { cached_tokens: 64 },
    output_tokens_details: { reasoning_tokens: 22 },
  },
}

const answer = ({ url }: Request) => (url.endsWith("/responses") ? Response.json(responses) : chatAnswer())

const chatAnswer = () =>
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
  streams: [
    { name: "text", bytes: text, expects: { text: 'About 20 °C in "Rome".\n', finishReason: "stop" } },
    { name: "a tool call", bytes: tool, expects: { text: "", finishReason: "tool_calls" } },
  ],
})
for (const check of checks) test(check.name, check.run)
