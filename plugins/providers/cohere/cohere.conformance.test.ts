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

const toolCalls = [
  { id: "weather_1", name: "weather", arguments: { city: "Rome" } },
  { id: "weather_2", name: "weather", arguments: {} },
]

const answers = [
  {
    name: "a plan, text and a source",
    body: {
      id: "1",
      message: {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Rome, then." },
          { type: "text", text: "About 20 °C" },
        ],
        tool_plan: " I will look.",
        tool_calls: [
          { id: "weather_1", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } },
        ],
        citations: [{ start: 6, end: 8, text: "20", sources: [{ type: "tool", id: "w:0" }], content_index: 1 }],
      },
      finish_reason: "TOOL_CALL",
      usage: counted,
    },
    expects: {
      text: "About 20 °C",
      reasoning: "Rome, then. I will look.",
      finishReason: "tool_calls",
      toolCalls: toolCalls.slice(0, 1),
      annotations: ["w:0"],
      counted: expected,
    },
  },
  {
    name: "an answer that broke off",
    body: { id: "1", message: { role: "assistant", content: [] }, finish_reason: "ERROR" },
    expects: { failure: { reason: "overloaded", code: "ERROR" } },
  },
] as const

const errors = [
  {
    status: 429,
    body: { message: "You are past the per minute request limit" },
    expects: { reason: "rate-limited", hasDetail: true },
  },
  {
    name: "a long prompt",
    status: 400,
    body: { message: "too many tokens: size limit exceeded by 9 tokens.", error_type: "TOO_MANY_TOKENS" },
    expects: { reason: "request", code: "context_length_exceeded", hasDetail: true },
  },
] as const

const checks = await providerChecks({
  plugin: cohere,
  config: { api_key: "cohere-own-0123456789abcdef" },
  streams: [
    {
      name: "thinking and text",
      bytes: text,
      expects: {
        text: "About 20 °C 🌞",
        reasoning: "Rome, then.",
        finishReason: "stop",
        annotations: ["w:0"],
        counted: expected,
      },
    },
    {
      name: "an answer that was cut",
      bytes: start + delta("content-delta", { content: { text: "Ab" } }, 0) + end("MAX_TOKENS"),
      expects: { text: "Ab", finishReason: "length", counted: expected },
    },
    {
      name: "tool calls",
      bytes: tool,
      expects: { text: "", reasoning: "I will look.", finishReason: "tool_calls", toolCalls, counted: expected },
    },
  ],
  answers,
  errors,
  embeddings: [
    {
      body: { id: "1", embeddings: { float: [[0.5], [0.25]] }, meta: { billed_units: { input_tokens: 5 } } },
      expects: { vectors: [[0.5], [0.25]], counted: { prompt_tokens: 5, completion_tokens: 0 } },
    },
  ],
  rerank: [
    {
      body: {
        id: "1",
        results: [
          { index: 1, relevance_score: 0.9 },
          { index: 0, relevance_score: 0.1 },
        ],
        meta: { billed_units: { search_units: 1 } },
      },
      expects: {
        scores: [0.1, 0.9],
        // Tokens are estimated, since none are billed.
        counted: { prompt_tokens: 10, completion_tokens: 0, search_units: 1 },
      },
    },
  ],
  // What was read from a cache is counted, but has no part in what is billed.
  lacks: ["cache", "waits"],
})
for (const check of checks) test(check.name, check.run)
