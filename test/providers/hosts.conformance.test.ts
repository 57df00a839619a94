/** The conformance kit for every provider that is data, and for Azure and Mistral, with answers in each host's own manner. */
import { describe, test } from "bun:test"
import { type ProviderSubject, providerChecks } from "headgate/testing"
import { messagesSamples } from "../support/hosts/messagesSamples.ts"
import { pluginOf } from "../support/hosts/providers.ts"

const usage = {
  prompt_tokens: 80,
  completion_tokens: 30,
  total_tokens: 110,
  prompt_tokens_details: { cached_tokens: 64 },
  completion_tokens_details: { reasoning_tokens: 12 },
}
const counted = {
  prompt_tokens: 80,
  completion_tokens: 30,
  prompt_tokens_details: { cached_tokens: 64 },
  completion_tokens_details: { reasoning_tokens: 12 },
}

const call = (index: number, city: string) => ({
  index,
  id: `callabcd${index}`,
  type: "function",
  function: { name: "weather", arguments: JSON.stringify({ city }) },
})
const toolCalls = [
  { name: "weather", arguments: { city: "Oslo" }, id: "callabcd0" },
  { name: "weather", arguments: { city: "Rome" }, id: "callabcd1" },
]

const event = (members: object) =>
  `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: "m", ...members })}\n\n`
const said = (delta: object, finish: string | null = null) =>
  event({ choices: [{ index: 0, delta, finish_reason: finish }] })

/** How a host's answers look where they differ. */
interface Manner {
  readonly config?: object
  /** The member of reasoning in a message. Default `reasoning_content`. */
  readonly reasoning?: "reasoning" | "reasoning_content" | "tags" | "chunks"
  /** Where the usage of a stream stands. Default: in an event of its own. */
  readonly usage?: "own" | "finish" | "x_groq"
  /** Whether `[DONE]` ends a stream. Default true. */
  readonly done?: boolean
  readonly lacks?: ProviderSubject["lacks"]
  /** Samples of its other protocols. */
  readonly others?: Pick<ProviderSubject, "answers" | "streams">
  readonly errors?: ProviderSubject["errors"]
}

const thought = "Rome, then."

const messageOf = ({ reasoning = "reasoning_content" }: Manner, text: string): object => {
  if (reasoning === "tags") return { role: "assistant", content: `<think>${thought}</think>\n\n${text}` }
  if (reasoning === "chunks") {
    const thinking = { type: "thinking", thinking: [{ type: "text", text: thought }] }
    return { role: "assistant", content: [thinking, { type: "text", text }] }
  }
  return { role: "assistant", content: text, [reasoning]: thought }
}

const deltasOf = ({ reasoning = "reasoning_content" }: Manner): ReadonlyArray<object> => {
  if (reasoning === "tags") return ["<thi", "nk>Rome,", " then.</thi", "nk>\n\n"].map((content) => ({ content }))
  if (reasoning === "chunks") {
    return ["Rome,", " then."].map((text) => ({
      content: [{ type: "thinking", thinking: [{ type: "text", text }] }],
    }))
  }
  return ["Rome,", " then."].map((piece) => ({ [reasoning]: piece }))
}

/** A stream's end: the finish, the usage in its place, and `[DONE]`. */
const endOf = ({ usage: place = "own", done = true }: Manner, finish: string): string => {
  const choices = [{ index: 0, delta: {}, finish_reason: finish }]
  const end =
    place === "own"
      ? event({ choices }) + event({ choices: [], usage })
      : event({ choices, ...(place === "finish" ? { usage } : { x_groq: { id: "r", usage } }) })
  return end + (done ? "data: [DONE]\n\n" : "")
}

const bodyOf = (message: object, finish: string) => ({
  id: "1",
  object: "chat.completion",
  created: 1,
  model: "name-at-the-host",
  choices: [{ index: 0, message, finish_reason: finish }],
  usage,
})

const embedded = {
  object: "list",
  data: [
    { object: "embedding", index: 0, embedding: [0.5, -0.25] },
    { object: "embedding", index: 1, embedding: [0.25, 1] },
  ],
  usage: { prompt_tokens: 8, total_tokens: 8 },
}
const ranked = {
  results: [
    { index: 1, relevance_score: 0.9 },
    { index: 0, relevance_score: 0.25 },
  ],
  usage: { prompt_tokens: 8, total_tokens: 8 },
}

const subjectOf = (id: string, manner: Manner): ProviderSubject => {
  const text = "About 20 °C 🌞"
  const begin = said({ role: "assistant", content: "" })
  const reasoned = deltasOf(manner).map((delta) => said(delta))
  return {
    plugin: pluginOf(id),
    config: { api_key: "key-of-0123456789abcdef", ...manner.config },
    answers: [
      ...(manner.others?.answers ?? []),
      {
        name: "reasoning and text",
        body: bodyOf(messageOf(manner, text), "stop"),
        expects: { text, reasoning: thought, finishReason: "stop", counted },
      },
      {
        name: "two tool calls",
        body: bodyOf(
          { role: "assistant", content: null, tool_calls: [call(0, "Oslo"), call(1, "Rome")] },
          "tool_calls",
        ),
        expects: { text: "", toolCalls, finishReason: "tool_calls", counted },
      },
    ],
    streams: [
      ...(manner.others?.streams ?? []),
      {
        name: "reasoning and text",
        bytes: [
          begin,
          ...reasoned,
          said({ content: "About 20" }),
          said({ content: " °C 🌞" }),
          endOf(manner, "stop"),
        ].join(""),
        expects: { text, reasoning: thought, finishReason: "stop", counted },
      },
      {
        name: "two tool calls",
        bytes: [
          begin,
          said({ tool_calls: [call(0, "Oslo")] }),
          said({ tool_calls: [call(1, "Rome")] }),
          endOf(manner, "tool_calls"),
        ].join(""),
        expects: { text: "", toolCalls, finishReason: "tool_calls", counted },
      },
    ],
    errors: [
      {
        status: 429,
        headers: { "retry-after": "7" },
        body: { error: { message: "Slow down.", type: "rate_limit_error", code: "rate_limit_exceeded" } },
        expects: { reason: "rate-limited", retryAfterSeconds: 7 },
      },
      ...(manner.errors ?? []),
    ],
    embeddings: [
      {
        body: embedded,
        expects: {
          vectors: [
            [0.5, -0.25],
            [0.25, 1],
          ],
          counted: { prompt_tokens: 8, completion_tokens: 0 },
        },
      },
    ],
    rerank: [{ body: ranked, expects: { scores: [0.25, 0.9], counted: { prompt_tokens: 8, completion_tokens: 0 } } }],
    ...(manner.lacks === undefined ? {} : { lacks: manner.lacks }),
  }
}

const account = { reason: "account", hasDetail: false } as const

const manners: Readonly<Record<string, Manner>> = {
  alibaba: { errors: [{ status: 400, body: { error: { code: "Arrearage", message: "Unpaid." } }, expects: account }] },
  azure: {
    // Claude of a name that is not known takes none.
    lacks: ["temperature"],
    others: messagesSamples,
    config: { resource: "acme", base_url: "https://host.test/openai/v1" },
    errors: [{ status: 429, body: { error: { code: "insufficient_quota", message: "No quota." } }, expects: account }],
  },
  cerebras: { reasoning: "reasoning", usage: "finish", done: false },
  cloudflare: {
    config: { account_id: "acme" },
    errors: [
      {
        status: 400,
        body: { success: false, result: null, errors: [{ code: 5007, message: "No such model" }] },
        expects: { reason: "not-found", hasDetail: false },
      },
    ],
  },
  deepinfra: {},
  deepseek: { usage: "finish" },
  fireworks: {
    usage: "finish",
    errors: [{ status: 412, body: { error: { message: "Account acme is suspended." } }, expects: account }],
  },
  groq: {
    reasoning: "reasoning",
    usage: "x_groq",
    errors: [
      {
        status: 413,
        body: { error: { code: "rate_limit_exceeded", type: "tokens", message: "Request too large." } },
        expects: { reason: "rate-limited" },
      },
      { status: 498, body: { error: { message: "No capacity." } }, expects: { reason: "overloaded" } },
    ],
  },
  huggingface: {
    errors: [{ status: 402, body: { error: "You have exceeded your credits." }, expects: account }],
  },
  llamacpp: {
    errors: [
      {
        status: 500,
        body: { error: { code: 500, message: "image input is not supported", type: "server_error" } },
        expects: { reason: "request", hasDetail: true },
      },
      {
        status: 503,
        body: { error: { code: 503, message: "Loading model", type: "unavailable_error" } },
        expects: { reason: "overloaded", hasDetail: false },
      },
    ],
  },
  lmstudio: { errors: [{ status: 400, body: { error: "No models loaded." }, expects: { reason: "request" } }] },
  minimax: {
    done: false,
    errors: [{ status: 401, body: { error: { message: "no", type: "authorized_error" } }, expects: account }],
  },
  mistral: {
    reasoning: "chunks",
    usage: "finish",
    errors: [
      { status: 401, body: { detail: "Invalid API Key" }, expects: account },
      {
        status: 422,
        body: { detail: [{ type: "extra_forbidden", loc: ["body", "x"], msg: "Extra inputs are not permitted" }] },
        expects: { reason: "request", hasDetail: true },
      },
    ],
  },
  moonshotai: {
    errors: [
      {
        status: 429,
        body: { error: { type: "exceeded_current_quota_error", message: "Check your plan." } },
        expects: account,
      },
      { status: 429, body: { error: { type: "engine_overloaded_error" } }, expects: { reason: "overloaded" } },
    ],
  },
  nebius: { errors: [{ status: 422, body: { detail: "max_tokens: wrong" }, expects: { reason: "request" } }] },
  novita: {
    errors: [
      { status: 403, body: { code: 403, reason: "NOT_ENOUGH_BALANCE", message: "No balance." }, expects: account },
    ],
  },
  nvidia: {
    errors: [{ status: 402, body: { status: 402, title: "Payment", detail: "No credits." }, expects: account }],
  },
  openrouter: { reasoning: "reasoning" },
  perplexity: { reasoning: "tags", usage: "finish" },
  sglang: {
    errors: [
      {
        status: 400,
        body: { object: "error", message: "The input is too long.", type: "BadRequestError", code: 400 },
        expects: { reason: "request", hasDetail: true },
      },
    ],
  },
  together: { reasoning: "tags", usage: "finish" },
  vllm: { reasoning: "reasoning" },
  xai: {
    errors: [
      {
        status: 400,
        body: { code: "invalid-argument", error: "Incorrect API key provided. You can obtain one elsewhere." },
        expects: account,
      },
      {
        status: 400,
        body: { code: "invalid-argument", error: "max_tokens is wrong." },
        expects: { reason: "request", hasDetail: true },
      },
    ],
  },
  "z-ai": {
    usage: "finish",
    errors: [
      { status: 429, body: { error: { code: "1113", message: "Insufficient balance." } }, expects: account },
      { status: 400, body: { error: { code: "1211", message: "Unknown model." } }, expects: { reason: "not-found" } },
    ],
  },
}

for (const [id, manner] of Object.entries(manners)) {
  const checks = await providerChecks(subjectOf(id, manner))
  describe(id, () => {
    for (const check of checks) test(check.name, check.run)
  })
}
