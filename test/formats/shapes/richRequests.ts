/**
 * A rich request of each client format: every usual member, and a conversation with an image, a call and its result.
 * Each text is there once, so that it can be found again in what a host gets.
 */
import type { JsonObject } from "../../../src/domain/json/json.ts"

export interface RichRequest {
  /** Below `/api/v1`, of a model. */
  readonly path: (model: string) => string
  readonly body: JsonObject
  /** Whether the model is a member of the body. */
  readonly namesModel: boolean
  readonly operation: "chat" | "embeddings" | "rerank"
  /** Whether this is the body of a refusal with this status, as the format documents it. */
  readonly isRefusal: (error: JsonObject, status: number, body: JsonObject) => boolean
}

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
const input = { town: "argumentmark" }
const schema = {
  type: "object",
  properties: { town: { type: "string", description: "propertymark" } },
  required: ["town"],
}
const answerSchema = {
  type: "object",
  properties: { sky: { type: "string", description: "answermark" } },
  required: ["sky"],
  additionalProperties: false,
}
const metadata = { user_id: "usermark" }

const refusals = {
  chat: ({ code }: JsonObject, status: number) => code === status,
  messages: ({ type }: JsonObject, _: number, body: JsonObject) =>
    body["type"] === "error" && typeof type === "string" && typeof body["request_id"] === "string",
  responses: ({ code, type }: JsonObject, status: number) => code === status && typeof type === "string",
  generateContent: ({ code, status: name }: JsonObject, status: number) =>
    code === status && name === (status === 400 ? "INVALID_ARGUMENT" : "NOT_FOUND"),
}

const inBody = (path: string) => () => path

const chat: RichRequest = {
  path: inBody("/chat/completions"),
  ...{ namesModel: true, operation: "chat", isRefusal: refusals.chat },
  body: {
    messages: [
      { role: "system", content: "systemmark" },
      {
        role: "user",
        name: "namemark",
        content: [
          { type: "text", text: "questionmark" },
          { type: "image_url", image_url: { url: `data:image/png;base64,${png}`, detail: "auto" } },
        ],
      },
      {
        role: "assistant",
        content: "saidmark",
        refusal: null,
        reasoning_details: [
          { type: "reasoning.text", text: "thoughtmark", signature: "c2ln", format: "anthropic-claude-v1", index: 0 },
        ],
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "weather", arguments: JSON.stringify(input) } },
        ],
      },
      { role: "tool", tool_call_id: "call_1", content: [{ type: "text", text: "resultmark" }] },
      { role: "user", content: "lastmark" },
    ],
    tools: [
      { type: "function", function: { name: "weather", description: "toolmark", parameters: schema, strict: false } },
    ],
    tool_choice: { type: "function", function: { name: "weather" } },
    parallel_tool_calls: true,
    response_format: { type: "json_schema", json_schema: { name: "answer", schema: answerSchema, strict: true } },
    reasoning: { effort: "low" },
    max_tokens: 901,
    temperature: 0.5,
    top_p: 0.75,
    stop: ["stopmark"],
    seed: 77,
    user: "usermark",
    metadata: { key: "value" },
    logit_bias: { "5": 1 },
    stream: false,
    stream_options: null,
    usage: { include: true },
    provider: { order: [], allow_fallbacks: true, require_parameters: false },
  },
}

const completions: RichRequest = {
  path: inBody("/completions"),
  ...{ namesModel: true, operation: "chat", isRefusal: refusals.chat },
  body: {
    ...{ prompt: "lastmark", max_tokens: 901, temperature: 0.5, top_p: 0.75, stop: ["stopmark"], seed: 77, n: 1 },
    ...{ echo: false, suffix: null, logprobs: null, user: "usermark", logit_bias: { "5": 1 }, stream: false },
    ...{ presence_penalty: 0.25, frequency_penalty: 0.25, metadata: { key: "value" } },
  },
}

const messages: RichRequest = {
  path: inBody("/messages"),
  ...{ namesModel: true, operation: "chat", isRefusal: refusals.messages },
  body: {
    system: [{ type: "text", text: "systemmark", cache_control: { type: "ephemeral", ttl: "5m" } }],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "questionmark" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
          {
            type: "document",
            title: "titlemark",
            source: { type: "text", media_type: "text/plain", data: "documentmark" },
            citations: { enabled: false },
          },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "thoughtmark", signature: "c2ln" },
          { type: "text", text: "saidmark" },
          { type: "tool_use", id: "call_1", name: "weather", input },
        ],
      },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "call_1",
            is_error: false,
            content: [{ type: "text", text: "resultmark" }],
          },
          { type: "text", text: "lastmark" },
        ],
      },
    ],
    tools: [{ name: "weather", description: "toolmark", input_schema: schema }],
    tool_choice: { type: "auto", disable_parallel_tool_use: true },
    thinking: { type: "enabled", budget_tokens: 1024 },
    output_config: { effort: "low", format: { type: "json_schema", schema: answerSchema } },
    ...{ max_tokens: 2901, stop_sequences: ["stopmark"], metadata, stream: false, service_tier: "auto" },
  },
}

const responses: RichRequest = {
  path: inBody("/responses"),
  ...{ namesModel: true, operation: "chat", isRefusal: refusals.responses },
  body: {
    instructions: "systemmark",
    input: [
      {
        role: "user",
        content: [
          { type: "input_text", text: "questionmark" },
          { type: "input_image", image_url: `data:image/png;base64,${png}`, detail: "auto" },
        ],
      },
      {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "thoughtmark" }],
        encrypted_content: "ZGF0YQ",
      },
      {
        type: "message",
        role: "assistant",
        id: "msg_1",
        status: "completed",
        content: [{ type: "output_text", text: "saidmark", annotations: [] }],
      },
      { type: "function_call", call_id: "call_1", name: "weather", arguments: JSON.stringify(input) },
      { type: "function_call_output", call_id: "call_1", output: "resultmark" },
      { role: "user", content: "lastmark" },
    ],
    tools: [{ type: "function", name: "weather", description: "toolmark", parameters: schema, strict: false }],
    tool_choice: { type: "function", name: "weather" },
    text: { format: { type: "json_schema", name: "answer", schema: answerSchema, strict: true }, verbosity: "low" },
    reasoning: { effort: "low", summary: "auto" },
    include: ["reasoning.encrypted_content"],
    ...{ max_output_tokens: 901, temperature: 0.5, top_p: 0.75, parallel_tool_calls: true, user: "usermark" },
    ...{ store: false, stream: false, truncation: "disabled", metadata: { key: "value" }, prompt_cache_key: "k" },
  },
}

const generateContent: RichRequest = {
  path: (model) => `beta/models/${model}:generateContent`,
  ...{ namesModel: false, operation: "chat", isRefusal: refusals.generateContent },
  body: {
    systemInstruction: { parts: [{ text: "systemmark" }] },
    contents: [
      { role: "user", parts: [{ text: "questionmark" }, { inlineData: { mimeType: "image/png", data: png } }] },
      {
        role: "model",
        parts: [
          { text: "thoughtmark", thought: true },
          { text: "saidmark" },
          { functionCall: { id: "call_1", name: "weather", args: input }, thoughtSignature: "c2ln" },
        ],
      },
      {
        role: "user",
        parts: [{ functionResponse: { id: "call_1", name: "weather", response: { output: "resultmark" } } }],
      },
      { role: "user", parts: [{ text: "lastmark" }] },
    ],
    tools: [{ functionDeclarations: [{ name: "weather", description: "toolmark", parametersJsonSchema: schema }] }],
    toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["weather"] } },
    safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }],
    generationConfig: {
      ...{ maxOutputTokens: 901, temperature: 0.5, topP: 0.75, topK: 40, seed: 77, stopSequences: ["stopmark"] },
      ...{ candidateCount: 1, responseMimeType: "application/json", responseJsonSchema: answerSchema },
      thinkingConfig: { includeThoughts: true, thinkingBudget: 512 },
    },
    labels: { key: "value" },
  },
}

const embeddings: RichRequest = {
  path: inBody("/embeddings"),
  ...{ namesModel: true, operation: "embeddings", isRefusal: refusals.chat },
  body: { input: ["questionmark", "lastmark"], encoding_format: "float", dimensions: 64, user: "usermark" },
}

const rerank: RichRequest = {
  path: inBody("/rerank"),
  ...{ namesModel: true, operation: "rerank", isRefusal: refusals.chat },
  body: { query: "questionmark", documents: ["saidmark", { text: "lastmark" }], top_n: 2 },
}

const embedContent: RichRequest = {
  path: (model) => `beta/models/${model}:batchEmbedContents`,
  ...{ namesModel: false, operation: "embeddings", isRefusal: refusals.generateContent },
  body: {
    requests: ["questionmark", "lastmark"].map((text) => ({
      ...{ content: { parts: [{ text }] }, taskType: "RETRIEVAL_QUERY", outputDimensionality: 64 },
    })),
  },
}

export const richRequests: Readonly<Record<string, RichRequest>> = {
  ...{ chat, completions, messages, responses, generateContent },
  ...{ embeddings, rerank, embedContent },
}

/** The texts of a request, which a host that can take them gets. */
export const marksOf = (value: unknown): ReadonlyArray<string> => [
  ...new Set(JSON.stringify(value)?.match(/\b[a-z]+mark\b/g) ?? []),
]
