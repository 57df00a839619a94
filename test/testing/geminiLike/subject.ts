/** Samples of a vendor whose protocol is like Gemini's, written for the kit, and what they come to. */
import type { ChatUsage, ProviderPlugin } from "headgate/plugin"
import type { AnswerSample, ProviderSubject, StreamSample } from "headgate/testing"

const event = (value: unknown) => `data: ${JSON.stringify(value)}\r\n\r\n`
const said = (parts: ReadonlyArray<unknown>, more = {}) => ({
  candidates: [{ content: { parts, role: "model" }, index: 0, ...more }],
})
const counting = (candidates: number) => ({
  usageMetadata: {
    promptTokenCount: 50,
    candidatesTokenCount: candidates,
    thoughtsTokenCount: 7,
    cachedContentTokenCount: 32,
    totalTokenCount: 57 + candidates,
  },
})
const call = (city: string) => ({ functionCall: { name: "weather", args: { city } } })

const answer = async (request: Request) => {
  if (!new URL(request.url).pathname.endsWith(":generateContent")) return new Response("no such path", { status: 404 })
  return Response.json({ ...said([{ text: "Héllo" }], { finishReason: "STOP" }), ...counting(2) })
}

/** What their author expects is left out as far as the contract allows: the kit has to see the rest by itself. */
export const subjectOf = (plugin: ProviderPlugin): ProviderSubject => ({
  plugin,
  config: { api_key: "AIza-a-key-that-must-not-leak" },
  answer,
  streams: [
    {
      name: "text after a thought",
      bytes: [
        { ...said([{ text: "Let me think.", thought: true }]), ...counting(0) },
        { ...said([{ text: "Hé" }]), ...counting(1) },
        {
          ...said([{ text: "llo", thoughtSignature: "c2lnbmF0dXJlIG9uZQ==" }], { finishReason: "MAX_TOKENS" }),
          ...counting(2),
        },
      ]
        .map(event)
        .join(""),
      expects: { text: "Héllo", reasoning: "Let me think.", finishReason: "length" },
    },
    {
      name: "two calls",
      bytes: [
        { ...said([{ ...call("Oslo"), thoughtSignature: "c2lnbmF0dXJlIHR3bw==" }]), ...counting(1) },
        { ...said([call("Rome")], { finishReason: "STOP" }), ...counting(3) },
      ]
        .map(event)
        .join(""),
      expects: {
        text: "",
        toolCalls: [
          { name: "weather", arguments: { city: "Oslo" } },
          { name: "weather", arguments: { city: "Rome" } },
        ],
      },
    },
    {
      name: "a refused prompt",
      bytes: event({
        promptFeedback: { blockReason: "SAFETY", blockReasonMessage: "No." },
        usageMetadata: { promptTokenCount: 5, totalTokenCount: 5 },
      }),
      expects: { text: "", finishReason: "content_filter", refusal: "No." },
    },
    {
      name: "an error within",
      bytes: event(said([{ text: "Hé" }])) + event({ error: { code: 503, message: "busy", status: "UNAVAILABLE" } }),
      expects: { failure: { reason: "overloaded" } },
    },
  ],
  answers: [
    {
      name: "a whole call",
      body: { ...said([call("Oslo")], { finishReason: "STOP" }), ...counting(4) },
      expects: { text: "", toolCalls: [{ name: "weather", arguments: { city: "Oslo" } }] },
    },
    {
      name: "a picture with its source",
      body: {
        ...said([{ inlineData: { mimeType: "image/png", data: "AAAA" } }, { text: "Here." }], {
          finishReason: "STOP",
          groundingMetadata: { groundingChunks: [{ web: { uri: "https://example.com/a", title: "A" } }] },
        }),
        ...counting(5),
      },
      expects: {
        text: "Here.",
        finishReason: "stop",
        images: ["data:image/png;base64,AAAA"],
        annotations: ["https://example.com/a"],
      },
    },
  ],
  errors: [
    {
      name: "a rate limit",
      status: 429,
      body: {
        error: {
          code: 429,
          message: "Resource has been exhausted",
          status: "RESOURCE_EXHAUSTED",
          details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" }],
        },
      },
      expects: { reason: "rate-limited" },
    },
    {
      name: "a key that is not valid",
      status: 400,
      body: {
        error: {
          code: 400,
          message: "API key not valid.",
          status: "INVALID_ARGUMENT",
          details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" }],
        },
      },
      expects: { reason: "account" },
    },
  ],
})

/** What the vendor charges for: 7 tokens of each answer are thoughts, 32 of each prompt come from a cache. */
const charged = (completion: number) => ({
  prompt_tokens: 50,
  completion_tokens: completion,
  prompt_tokens_details: { cached_tokens: 32 },
  completion_tokens_details: { reasoning_tokens: 7 },
})
const counts = new Map<string, ChatUsage>([
  ["text after a thought", charged(9)],
  ["two calls", charged(10)],
  ["a whole call", charged(11)],
  ["a picture with its source", charged(12)],
  ["a refused prompt", { prompt_tokens: 5, completion_tokens: 0 }],
])
const withCount = <A extends StreamSample | AnswerSample>(sample: A): A => {
  const counted = counts.get(sample.name ?? "")
  return counted === undefined ? sample : { ...sample, expects: { ...sample.expects, counted } }
}

/** The samples with what they are charged. */
export const countedSubjectOf = (plugin: ProviderPlugin): ProviderSubject => {
  const { streams = [], answers = [], ...subject } = subjectOf(plugin)
  return { ...subject, streams: streams.map(withCount), answers: answers.map(withCount) }
}

// --- what the table of the kit asks for

const detailed = (candidates: number, more: object) => ({
  usageMetadata: { promptTokenCount: 50, candidatesTokenCount: candidates, totalTokenCount: 50 + candidates, ...more },
})

const moreStreams: ReadonlyArray<StreamSample> = [
  {
    name: "a call whose finish comes later",
    bytes: [
      { ...said([{ ...call("Oslo"), thoughtSignature: "c2lnbmF0dXJlIHRocmVl" }]), ...counting(1) },
      { ...said([{ text: "" }], { finishReason: "STOP" }), ...counting(3) },
    ]
      .map(event)
      .join(""),
    expects: { text: "", finishReason: "tool_calls", counted: charged(10) },
  },
  {
    name: "two choices",
    bytes: [
      said([{ text: "One" }]),
      { candidates: [{ content: { parts: [{ text: "Two" }], role: "model" }, index: 1 }] },
      { ...said([{ text: "." }], { finishReason: "STOP" }), ...counting(1) },
      {
        candidates: [{ content: { parts: [{ text: "!" }], role: "model" }, index: 1, finishReason: "STOP" }],
        ...counting(2),
      },
    ]
      .map(event)
      .join(""),
    expects: { text: "One.", finishReason: "stop", counted: charged(9) },
  },
  {
    name: "a count that shrinks",
    bytes: [
      { ...said([{ text: "About twenty degrees" }]), ...counting(9) },
      { ...said([{ text: "." }], { finishReason: "STOP" }), ...counting(5) },
    ]
      .map(event)
      .join(""),
    expects: { text: "About twenty degrees.", finishReason: "stop", counted: charged(12) },
  },
  {
    name: "a rate limit within",
    bytes:
      event(said([{ text: "Hé" }])) +
      event({
        error: {
          code: 429,
          message: "Resource has been exhausted",
          status: "RESOURCE_EXHAUSTED",
          details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "7s" }],
        },
      }),
    expects: { failure: { reason: "rate-limited" } },
  },
]

const moreAnswers: ReadonlyArray<AnswerSample> = [
  {
    name: "an answer that was filtered",
    body: { ...said([{ text: "It" }], { finishReason: "SAFETY" }), ...counting(1) },
    expects: { text: "It", finishReason: "content_filter", counted: charged(8) },
  },
  {
    name: "a call with an id, to a request with audio",
    body: {
      ...said([{ functionCall: { id: "fc-1", name: "weather", args: { city: "Oslo" } } }], { finishReason: "STOP" }),
      ...detailed(6, {
        toolUsePromptTokenCount: 11,
        totalTokenCount: 67,
        promptTokensDetails: [{ modality: "AUDIO", tokenCount: 20 }],
      }),
    },
    expects: {
      text: "",
      finishReason: "tool_calls",
      toolCalls: [{ name: "weather", arguments: { city: "Oslo" } }],
      counted: { prompt_tokens: 61, completion_tokens: 6, prompt_tokens_details: { audio_tokens: 20 } },
    },
  },
  {
    name: "two whole choices",
    body: {
      candidates: [
        { content: { parts: [{ text: "One" }], role: "model" }, index: 0, finishReason: "STOP" },
        { content: { parts: [{ text: "Two" }], role: "model" }, index: 1, finishReason: "STOP" },
      ],
      ...counting(2),
    },
    expects: { text: "One", finishReason: "stop", counted: charged(9) },
  },
  {
    name: "an error with status 200",
    body: { error: { code: 503, message: "busy", status: "UNAVAILABLE" } },
    expects: { failure: { reason: "overloaded" } },
  },
]

/** With all that the table asked for, so that only what the vendor's document tells is left. */
export const fullSubjectOf = (plugin: ProviderPlugin): ProviderSubject => {
  const subject = countedSubjectOf(plugin)
  return {
    ...subject,
    streams: [...(subject.streams ?? []), ...moreStreams],
    answers: [...(subject.answers ?? []), ...moreAnswers],
  }
}
