import { test } from "bun:test"
import { providerChecks } from "headgate/testing"
import cohere from "./index.ts"

// Written for this test, after the events of Cohere's documentation.
const counted = {
  billed_units: { input_tokens: 17, output_tokens: 21 },
  tokens: { input_tokens: 510, output_tokens: 99, reasoning_tokens: 4 },
  cached_tokens: 480,
}
const expected = {
  prompt_tokens: 17,
  completion_tokens: 21,
  completion_tokens_details: { reasoning_tokens: 4 },
}

const event = (type: string, more: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
const delta = (type: string, message: object, index?: number) => event(type, { index, delta: { message } })
const end = (finish: string) =>
  `${event("message-end", { delta: { finish_reason: finish, usage: counted } })}data: [DONE]\n\n`
const start = event("message-start", { id: "1", delta: { message: { role: "assistant", content: [], citations: [] } } })

const text =
  start +
  delta("content-start", { content: { type: "thinking", thinking: "" } }, 0) +
  delta("content-delta", { content: { thinking: "Rome, then." } }, 0) +
  event("content-end", { index: 0 }) +
  delta("content-start", { content: { type: "text", text: "" } }, 1) +
  delta("content-delta", { content: { text: "About 20" } }, 1) +
  delta("content-delta", { content: { text: " °C 🌞" } }, 1) +
  delta("citation-start", { citations: { start: 6, end: 8, text: "20", sources: [{ type: "tool", id: "w:0" }] } }, 0) +
  event("citation-end", { index: 0 }) +
  event("content-end", { index: 1 }) +
  end("COMPLETE")

const call = (index: number, id: string, pieces: ReadonlyArray<string>) =>
  delta(
    "tool-call-start",
    { tool_calls: { id, type: "function", function: { name: "weather", arguments: "" } } },
    index,
  ) +
  pieces.map((piece) => delta("tool-call-delta", { tool_calls: { function: { arguments: piece } } }, index)).join("") +
  event("tool-call-end", { index })

const tool =
  start +
  delta("tool-plan-delta", { tool_plan: "I will" }) +
  delta("tool-plan-delta", { tool_plan: " look." }) +
  call(0, "weather_1", ['{"city":', '"Rome"}']) +
  call(1, "weather_2", []) +
  end("TOOL_CALL")

const answer = async (request: Request) => {
  if (request.url.endsWith("/embed")) {
    return Response.json({
      id: "1",
      embeddings: { float: [[0.5], [0.25]] },
      meta: { billed_units: { input_tokens: 5 } },
    })
  }
  if (request.url.endsWith("/rerank")) {
    const results = [
      { index: 1, relevance_score: 0.9 },
      { index: 0, relevance_score: 0.1 },
    ]
    return Response.json({ id: "1", results, meta: { billed_units: { search_units: 1 } } })
  }
  return Response.json({
    id: "1",
    message: {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Rome, then." },
        { type: "text", text: "About 20 °C" },
      ],
      tool_plan: "I will look.",
      tool_calls: [{ id: "weather_1", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } }],
    },
    finish_reason: "TOOL_CALL",
    usage: counted,
  })
}

const checks = await providerChecks({
  plugin: cohere,
  config: { api_key: "cohere-own-0123456789abcdef" },
  answer,
  streams: [
    {
      name: "thinking and text",
      bytes: text,
      expects: { text: "About 20 °C 🌞", finishReason: "stop", counted: expected },
    },
    { name: "tool calls", bytes: tool, expects: { text: "", finishReason: "tool_calls", counted: expected } },
  ],
})
for (const check of checks) test(check.name, check.run)
