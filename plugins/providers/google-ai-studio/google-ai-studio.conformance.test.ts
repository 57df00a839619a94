import { test } from "bun:test"
import { providerChecks } from "headgate/testing"
import google from "./index.ts"

const counted = (candidates: number, thoughts: number) => ({
  promptTokenCount: 82,
  candidatesTokenCount: candidates,
  totalTokenCount: 82 + candidates + thoughts,
  cachedContentTokenCount: 64,
  promptTokensDetails: [{ modality: "TEXT", tokenCount: 82 }],
  thoughtsTokenCount: thoughts,
  serviceTier: "standard",
})

const candidate = (parts: ReadonlyArray<object>, finishReason?: string) => ({
  candidates: [
    { content: { parts, role: "model" }, ...(finishReason === undefined ? {} : { finishReason }), index: 0 },
  ],
  modelVersion: "name-at-the-host",
  responseId: "r1",
})

const answer = (request: Request) => {
  const { pathname } = new URL(request.url)
  if (pathname.endsWith(":generateContent")) {
    return Response.json({
      ...candidate(
        [
          { text: "Rome, then.", thought: true },
          { text: "About 20 degrees.", thoughtSignature: "c2ln" },
        ],
        "STOP",
      ),
      usageMetadata: counted(8, 22),
    })
  }
  return new Response(null, { status: 404 })
}

const event = (data: object) => `data: ${JSON.stringify(data)}\r\n\r\n`

const text =
  event({
    ...candidate([{ text: "Rome, then.", thought: true }]),
    usageMetadata: { promptTokenCount: 82, totalTokenCount: 82 },
  }) +
  // A running estimate, which the last count corrects.
  event({
    ...candidate([{ text: "About 20" }]),
    usageMetadata: { ...counted(3, 22), promptTokenCount: 120, totalTokenCount: 145 },
  }) +
  event({ ...candidate([{ text: " °C 🌞" }]), usageMetadata: counted(6, 22) }) +
  event({ ...candidate([{ text: "", thoughtSignature: "c2ln" }], "STOP"), usageMetadata: counted(6, 22) })

const call = (city: string) => ({ functionCall: { name: "weather", args: { city } } })

const tools =
  event({ ...candidate([{ text: "Let me look." }]), usageMetadata: counted(4, 0) }) +
  event({ ...candidate([{ ...call("Rome"), thoughtSignature: "c2ln" }]), usageMetadata: counted(10, 0) }) +
  event({ ...candidate([call("Oslo")]), usageMetadata: counted(16, 0) }) +
  event({ ...candidate([{ text: "" }], "STOP"), usageMetadata: counted(16, 0) })

const blocked = event({
  promptFeedback: { blockReason: "SAFETY" },
  usageMetadata: { promptTokenCount: 82, totalTokenCount: 82 },
})

const unsafe =
  event({ ...candidate([{ text: "How" }]), usageMetadata: counted(1, 0) }) +
  event({ candidates: [{ finishReason: "SAFETY", finishMessage: "Unsafe.", index: 0 }], usageMetadata: counted(1, 0) })

const broken =
  event({ ...candidate([{ text: "How" }]), usageMetadata: counted(1, 0) }) +
  event({ error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } })

const details = { prompt_tokens_details: { cached_tokens: 64 } }

const checks = await providerChecks({
  plugin: google,
  config: { api_key: "AIza-own-0123456789abcdef" },
  answer,
  answers: [
    {
      name: "a whole call",
      body: { ...candidate([call("Rome")], "STOP"), usageMetadata: counted(10, 4) },
      expects: {
        text: "",
        finishReason: "tool_calls",
        toolCalls: [{ name: "weather", arguments: { city: "Rome" } }],
        counted: {
          prompt_tokens: 82,
          completion_tokens: 14,
          ...details,
          completion_tokens_details: { reasoning_tokens: 4 },
        },
      },
    },
  ],
  errors: [
    {
      name: "an invalid key",
      status: 400,
      body: {
        error: {
          code: 400,
          message: "API key not valid. Please pass a valid API key.",
          status: "INVALID_ARGUMENT",
          details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" }],
        },
      },
      expects: { reason: "account", hasDetail: false },
    },
    {
      name: "a prompt that is too long",
      status: 400,
      body: {
        error: {
          code: 400,
          message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
          status: "INVALID_ARGUMENT",
        },
      },
      expects: { reason: "request", code: "context_length_exceeded", hasDetail: true },
    },
    {
      name: "a rate limit",
      status: 429,
      body: {
        error: {
          code: 429,
          message: "You exceeded your current quota.",
          status: "RESOURCE_EXHAUSTED",
          details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "35s" }],
        },
      },
      expects: { reason: "rate-limited", retryAfterSeconds: 35 },
    },
  ],
  streams: [
    {
      name: "thinking and text",
      bytes: text,
      expects: {
        text: "About 20 °C 🌞",
        finishReason: "stop",
        reasoning: "Rome, then.",
        signatures: ["c2ln"],
        counted: {
          prompt_tokens: 82,
          completion_tokens: 28,
          ...details,
          completion_tokens_details: { reasoning_tokens: 22 },
        },
      },
    },
    {
      name: "two calls",
      bytes: tools,
      expects: {
        text: "Let me look.",
        finishReason: "tool_calls",
        signatures: ["c2ln"],
        toolCalls: [
          { name: "weather", arguments: { city: "Rome" } },
          { name: "weather", arguments: { city: "Oslo" } },
        ],
        counted: { prompt_tokens: 82, completion_tokens: 16, ...details },
      },
    },
    {
      name: "an answer that was stopped",
      bytes: unsafe,
      expects: {
        text: "How",
        finishReason: "content_filter",
        refusal: "Unsafe.",
        counted: { prompt_tokens: 82, completion_tokens: 1, ...details },
      },
    },
    { name: "an error", bytes: broken, expects: { failure: { reason: "overloaded", hasDetail: false } } },
    {
      name: "a refused prompt",
      bytes: blocked,
      expects: { text: "", finishReason: "content_filter", counted: { prompt_tokens: 82, completion_tokens: 0 } },
    },
  ],
})
for (const check of checks) test(check.name, check.run)
