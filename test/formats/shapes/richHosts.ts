/** A rich answer of each protocol, whole and as events: reasoning, a text with a citation, a call, every usual count. */
import { converse } from "../../../plugins/providers/bedrock/converse.ts"
import { chat as cohere } from "../../../plugins/providers/cohere/chat.ts"
import { chat as ollama } from "../../../plugins/providers/ollama/provider.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { chatProtocol } from "../../../src/formats/chat/chatHost.ts"
import { generateContentProtocol } from "../../../src/formats/generateContent/generateContentHost.ts"
import { messagesProtocol } from "../../../src/formats/messages/messagesHost.ts"
import type { Protocol } from "../../../src/formats/Protocol.ts"
import { responsesProtocol } from "../../../src/formats/responses/responsesHost.ts"

export interface RichHost {
  readonly protocol: Protocol
  readonly whole: JsonObject
  readonly events: ReadonlyArray<JsonObject>
  /** A whole answer as the events that mean the same, where a host may say all in one event. */
  readonly asEvents?: (whole: JsonObject) => ReadonlyArray<JsonObject>
  /** Name of an event, where the framing has names. */
  readonly nameOf?: (event: JsonObject) => string
}

const call = { name: "weather", arguments: '{"town":"Bern"}' }
const input = { town: "Bern" }
const format = "anthropic-claude-v1"
const url = "https://example.com/a"
const image = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } }
const details = [
  { type: "reasoning.text", text: "Hm.", signature: "c2ln", format, index: 0 },
  { type: "reasoning.encrypted", data: "ZGF0YQ", format, index: 1 },
]
const annotations = [
  { type: "url_citation", url_citation: { url, title: "A", start_index: 0, end_index: 5, content: "Sunny" } },
  { type: "file", file: { hash: "h", name: "a.pdf", content: [{ type: "text", text: "x" }] } },
]
const chatUsage = {
  prompt_tokens: 50,
  completion_tokens: 7,
  total_tokens: 57,
  prompt_tokens_details: { cached_tokens: 10, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 2 },
}
const logprobs = { content: [{ token: "Sunny", logprob: -0.1, bytes: [83], top_logprobs: [] }], refusal: null }
const head = {
  id: "c1",
  object: "chat.completion",
  created: 1,
  model: "m",
  system_fingerprint: "fp",
  service_tier: "default",
}
const chunk = (delta: JsonObject, more: JsonObject = {}): JsonObject => ({
  ...head,
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta, finish_reason: null, logprobs: null }],
  ...more,
})

const chat: RichHost = {
  protocol: chatProtocol({}),
  whole: {
    ...head,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: "Sunny.",
          refusal: null,
          reasoning: "Hm.",
          reasoning_details: details,
          annotations,
          images: [image],
          tool_calls: [{ id: "call_1", type: "function", index: 0, function: call }],
        },
        finish_reason: "tool_calls",
        native_finish_reason: "tool_calls",
        logprobs,
      },
    ],
    usage: chatUsage,
  },
  events: [
    chunk({ role: "assistant", content: "" }),
    chunk({ reasoning: "Hm.", reasoning_details: [details[0]] }),
    chunk({ reasoning_details: [details[1]] }),
    chunk({ content: "Sun" }),
    chunk({ content: "ny.", annotations, images: [image] }),
    chunk({ tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "weather", arguments: "" } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '{"town":' } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '"Bern"}' } }] }),
    { ...chunk({}), choices: [{ index: 0, delta: {}, finish_reason: "tool_calls", logprobs }] },
    { ...chunk({}), choices: [], usage: chatUsage },
  ],
}

const messagesUsage = {
  input_tokens: 40,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 10,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  output_tokens: 7,
  service_tier: "standard",
  server_tool_use: { web_search_requests: 0 },
}
const citation = { type: "web_search_result_location", url, title: "A", cited_text: "Sunny", encrypted_index: "e" }
const message = { id: "msg_1", type: "message", role: "assistant", model: "m" }
const block = (index: number, content_block: JsonObject): JsonObject => ({
  type: "content_block_start",
  index,
  content_block,
})
const piece = (index: number, delta: JsonObject): JsonObject => ({ type: "content_block_delta", index, delta })
const stop = (index: number): JsonObject => ({ type: "content_block_stop", index })
const typeOf = ({ type }: JsonObject): string => (typeof type === "string" ? type : "x")

const messages: RichHost = {
  protocol: messagesProtocol(),
  nameOf: typeOf,
  whole: {
    ...message,
    content: [
      { type: "thinking", thinking: "Hm.", signature: "c2ln" },
      { type: "redacted_thinking", data: "ZGF0YQ" },
      { type: "server_tool_use", id: "srv_1", name: "web_search", input: { query: "q" } },
      {
        type: "web_search_tool_result",
        tool_use_id: "srv_1",
        content: [{ type: "web_search_result", url, title: "A" }],
      },
      { type: "text", text: "Sunny.", citations: [citation] },
      { type: "tool_use", id: "call_1", name: "weather", input },
    ],
    stop_reason: "tool_use",
    stop_sequence: null,
    stop_details: null,
    usage: messagesUsage,
  },
  events: [
    {
      type: "message_start",
      message: { ...message, content: [], stop_reason: null, usage: { ...messagesUsage, output_tokens: 1 } },
    },
    block(0, { type: "thinking", thinking: "", signature: "" }),
    piece(0, { type: "thinking_delta", thinking: "Hm." }),
    piece(0, { type: "signature_delta", signature: "c2ln" }),
    stop(0),
    block(1, { type: "text", text: "" }),
    piece(1, { type: "text_delta", text: "Sunny." }),
    piece(1, { type: "citations_delta", citation }),
    stop(1),
    block(2, { type: "tool_use", id: "call_1", name: "weather", input: {} }),
    piece(2, { type: "input_json_delta", partial_json: '{"town":' }),
    piece(2, { type: "input_json_delta", partial_json: '"Bern"}' }),
    stop(2),
    { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: messagesUsage },
    { type: "message_stop" },
  ],
}

const urlCitation = { type: "url_citation", url, title: "A", start_index: 0, end_index: 5 }
const reasoningItem = {
  type: "reasoning",
  id: "rs_1",
  summary: [{ type: "summary_text", text: "Hm." }],
  encrypted_content: "ZGF0YQ",
}
const textItem = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Sunny.", annotations: [urlCitation], logprobs: [] }],
}
const callItem = { type: "function_call", id: "fc_1", call_id: "call_1", status: "completed", ...call }
const response = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  completed_at: 2,
  status: "completed",
  model: "m",
  output: [reasoningItem, textItem, callItem],
  error: null,
  incomplete_details: null,
  service_tier: "default",
  usage: {
    input_tokens: 50,
    input_tokens_details: { cached_tokens: 10 },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 2 },
    total_tokens: 57,
  },
}
const open = { ...response, status: "in_progress", completed_at: null, output: [], usage: null }
const item = (output_index: number, given: JsonObject): JsonObject => ({
  type: "response.output_item.added",
  output_index,
  item: given,
})
const itemDone = (output_index: number, given: JsonObject): JsonObject => ({
  type: "response.output_item.done",
  output_index,
  item: given,
})
const part = { item_id: "msg_1", output_index: 1, content_index: 0 }
const summary = { item_id: "rs_1", output_index: 0, summary_index: 0 }

const responses: RichHost = {
  protocol: responsesProtocol(),
  nameOf: typeOf,
  whole: response,
  events: [
    { type: "response.created", response: open },
    item(0, { ...reasoningItem, summary: [], encrypted_content: null }),
    { type: "response.reasoning_summary_part.added", ...summary, part: { type: "summary_text", text: "" } },
    { type: "response.reasoning_summary_text.delta", ...summary, delta: "Hm." },
    { type: "response.reasoning_summary_text.done", ...summary, text: "Hm." },
    itemDone(0, reasoningItem),
    item(1, { ...textItem, status: "in_progress", content: [] }),
    { type: "response.content_part.added", ...part, part: { type: "output_text", text: "", annotations: [] } },
    { type: "response.output_text.delta", ...part, delta: "Sunny.", logprobs: [] },
    { type: "response.output_text.annotation.added", ...part, annotation_index: 0, annotation: urlCitation },
    { type: "response.output_text.done", ...part, text: "Sunny.", logprobs: [] },
    itemDone(1, textItem),
    item(2, { ...callItem, arguments: "", status: "in_progress" }),
    { type: "response.function_call_arguments.delta", item_id: "fc_1", output_index: 2, delta: '{"town":"Bern"}' },
    { type: "response.function_call_arguments.done", item_id: "fc_1", output_index: 2, arguments: '{"town":"Bern"}' },
    itemDone(2, callItem),
    { type: "response.completed", response },
  ].map((event, at) => ({ ...event, sequence_number: at })),
}

const usageMetadata = {
  promptTokenCount: 50,
  candidatesTokenCount: 5,
  thoughtsTokenCount: 2,
  totalTokenCount: 57,
  cachedContentTokenCount: 10,
  promptTokensDetails: [{ modality: "TEXT", tokenCount: 50 }],
}
const grounding = {
  groundingChunks: [{ web: { uri: url, title: "A" } }],
  groundingSupports: [{ segment: { startIndex: 0, endIndex: 5, text: "Sunny" }, groundingChunkIndices: [0] }],
  webSearchQueries: ["q"],
}
const candidate = (parts: ReadonlyArray<JsonObject>, more: JsonObject = {}): JsonObject => ({
  candidates: [{ index: 0, content: { role: "model", parts }, ...more }],
  modelVersion: "m",
  responseId: "r",
})
const thought = { text: "Hm.", thought: true }
const functionCall = { functionCall: { id: "call_1", name: "weather", args: input }, thoughtSignature: "c2ln" }

const generateContent: RichHost = {
  protocol: generateContentProtocol(),
  asEvents: (whole) => [whole],
  whole: {
    ...candidate([thought, { text: "Sunny." }, functionCall], {
      finishReason: "STOP",
      groundingMetadata: grounding,
      safetyRatings: [],
    }),
    usageMetadata,
  },
  events: [
    { ...candidate([thought]), usageMetadata: { promptTokenCount: 50, totalTokenCount: 50 } },
    candidate([{ text: "Sun" }]),
    candidate([{ text: "ny." }]),
    candidate([functionCall]),
    { ...candidate([{ text: "" }], { finishReason: "STOP", groundingMetadata: grounding }), usageMetadata },
  ],
}

const converseUsage = {
  inputTokens: 40,
  outputTokens: 7,
  totalTokens: 57,
  cacheReadInputTokens: 10,
  cacheWriteInputTokens: 0,
}
const eventNames = [
  "messageStart",
  "contentBlockStart",
  "contentBlockDelta",
  "contentBlockStop",
  "messageStop",
  "metadata",
]
const bedrock: RichHost = {
  protocol: converse,
  nameOf: (event) => eventNames.find((name) => name in event) ?? "x",
  whole: {
    output: {
      message: {
        role: "assistant",
        content: [
          { reasoningContent: { reasoningText: { text: "Hm.", signature: "c2ln" } } },
          { reasoningContent: { redactedContent: "ZGF0YQ" } },
          { text: "Sunny." },
          { toolUse: { toolUseId: "call_1", name: "weather", input } },
        ],
      },
    },
    stopReason: "tool_use",
    usage: converseUsage,
    metrics: { latencyMs: 5 },
  },
  events: [
    { messageStart: { role: "assistant" } },
    { contentBlockDelta: { contentBlockIndex: 0, delta: { reasoningContent: { text: "Hm." } } } },
    { contentBlockDelta: { contentBlockIndex: 0, delta: { reasoningContent: { signature: "c2ln" } } } },
    { contentBlockStop: { contentBlockIndex: 0 } },
    { contentBlockDelta: { contentBlockIndex: 1, delta: { text: "Sunny." } } },
    { contentBlockStop: { contentBlockIndex: 1 } },
    { contentBlockStart: { contentBlockIndex: 2, start: { toolUse: { toolUseId: "call_1", name: "weather" } } } },
    { contentBlockDelta: { contentBlockIndex: 2, delta: { toolUse: { input: '{"town":"Bern"}' } } } },
    { contentBlockStop: { contentBlockIndex: 2 } },
    { messageStop: { stopReason: "tool_use" } },
    { metadata: { usage: converseUsage, metrics: { latencyMs: 5 } } },
  ],
}

const cohereUsage = {
  billed_units: { input_tokens: 50, output_tokens: 7 },
  tokens: { input_tokens: 60, output_tokens: 8 },
}
const cohereCitation = {
  start: 0,
  end: 5,
  text: "Sunny",
  sources: [{ type: "document", id: "d", document: { id: "d", title: "A", url } }],
}
const cohereHost: RichHost = {
  protocol: cohere,
  nameOf: typeOf,
  whole: {
    id: "c1",
    finish_reason: "TOOL_CALL",
    message: {
      role: "assistant",
      tool_plan: "Hm.",
      content: [{ type: "text", text: "Sunny." }],
      tool_calls: [{ id: "call_1", type: "function", function: call }],
      citations: [cohereCitation],
    },
    usage: cohereUsage,
  },
  events: [
    { type: "message-start", id: "c1", delta: { message: { role: "assistant" } } },
    { type: "tool-plan-delta", delta: { message: { tool_plan: "Hm." } } },
    { type: "content-start", index: 0, delta: { message: { content: { type: "text", text: "" } } } },
    { type: "content-delta", index: 0, delta: { message: { content: { text: "Sunny." } } } },
    { type: "citation-start", index: 0, delta: { message: { citations: cohereCitation } } },
    { type: "content-end", index: 0 },
    {
      type: "tool-call-start",
      index: 0,
      delta: {
        message: { tool_calls: { id: "call_1", type: "function", function: { name: "weather", arguments: "" } } },
      },
    },
    {
      type: "tool-call-delta",
      index: 0,
      delta: { message: { tool_calls: { function: { arguments: '{"town":"Bern"}' } } } },
    },
    { type: "tool-call-end", index: 0 },
    { type: "message-end", delta: { finish_reason: "TOOL_CALL", usage: cohereUsage } },
  ],
}

const line = (given: JsonObject, more: JsonObject = {}): JsonObject => ({
  ...{ model: "m", created_at: "2026-11-28T00:00:00Z", message: { role: "assistant", ...given }, done: false },
  ...more,
})
const counts = { done: true, done_reason: "stop", prompt_eval_count: 50, eval_count: 7, total_duration: 1 }
const ollamaCall = { function: { name: "weather", arguments: input } }
const ollamaHost: RichHost = {
  protocol: ollama({ contextTokens: undefined }),
  asEvents: (whole) => [whole],
  whole: line({ content: "Sunny.", thinking: "Hm.", tool_calls: [ollamaCall] }, counts),
  events: [
    line({ content: "", thinking: "Hm." }),
    line({ content: "Sun" }),
    line({ content: "ny." }),
    line({ content: "", tool_calls: [ollamaCall] }),
    line({ content: "" }, counts),
  ],
}

export const richHosts: Readonly<Record<string, RichHost>> = {
  ...{ chat, messages, responses, generateContent },
  ...{ converse: bedrock, cohere: cohereHost, ollama: ollamaHost },
}
