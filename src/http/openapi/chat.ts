/** `POST /chat/completions`: its decoder is `http/data/chat/decode.ts`. */
import {
  modelRules,
  otherMembers,
  otherTool,
  reasoningRules,
  samplingSchemas,
  sharedSchemas,
  stored,
} from "./members.ts"
import {
  anyObject,
  anyOf,
  anything,
  count,
  type DescribedForm,
  described,
  filledText,
  flag,
  given,
  integer,
  listOf,
  matching,
  named,
  nothing,
  oneOf,
  only,
  operation,
  orNull,
  type Schema,
  taken,
  text,
  typed,
} from "./schema.ts"

export const imageUrl = matching("^([hH][tT][tT][pP][sS]?://|[dD][aA][tT][aA]:).")

const functionName = matching("^[a-zA-Z0-9_-]{1,64}$")

const textPart = typed("text", { text }, "text")
const video = taken({ url: filledText }, "url")
const parts: ReadonlyArray<Schema> = [
  textPart,
  typed("image_url", { image_url: taken({ url: imageUrl, detail: text }, "url") }, "image_url"),
  typed(
    "input_audio",
    { input_audio: taken({ data: filledText, format: filledText }, "data", "format") },
    "input_audio",
  ),
  typed("video_url", { video_url: video }, "video_url"),
  typed("input_video", { video_url: video }, "video_url"),
  typed("file", { file: taken({ filename: text, file_data: text, file_id: stored }) }, "file"),
]
const contentOf = (...kinds: ReadonlyArray<Schema>): Schema => anyOf(text, listOf(anyOf(...kinds)))
const textContent = contentOf(textPart)
const content = contentOf(named("ContentPart"))

/** Calls of other kinds are left to the host. */
const toolCall = anyOf(
  taken(
    {
      id: text,
      type: { not: { type: "string", not: { const: "function" } } },
      function: taken({ name: filledText, arguments: text }, "name", "arguments"),
    },
    "id",
    "function",
  ),
  taken({ type: { type: "string", not: { const: "function" } } }, "type"),
)

const instruction = (role: string): Schema =>
  taken({ role: only(role), content: textContent, name: text }, "role", "content")

const hasSome = (member: string): Schema => ({
  required: [member],
  properties: { [member]: { not: anyOf(nothing, { type: "array", maxItems: 0 }) } },
})

const assistant: Schema = {
  ...taken(
    {
      role: only("assistant"),
      content: contentOf(named("ContentPart"), typed("refusal", { refusal: text }, "refusal")),
      name: text,
      tool_calls: listOf(toolCall),
      reasoning: text,
      reasoning_content: text,
      reasoning_details: described("As they came with the answer, in the same order.", listOf(anyObject)),
      refusal: text,
      images: listOf(anyObject),
      audio: anyObject,
    },
    "role",
  ),
  description: "A text, or something in place of it.",
  anyOf: [
    { required: ["content"], properties: { content: { not: nothing } } },
    ...["tool_calls", "function_call", "refusal", "audio", "images"].map(hasSome),
    ...["reasoning", "reasoning_content", "reasoning_details"].map(hasSome),
  ],
}

const message = anyOf(
  instruction("system"),
  instruction("developer"),
  taken({ role: only("user"), content, name: text }, "role", "content"),
  assistant,
  taken({ role: only("tool"), content, tool_call_id: filledText }, "role", "content", "tool_call_id"),
)

const tool = anyOf(
  typed(
    "function",
    {
      function: taken(
        {
          name: functionName,
          description: text,
          parameters: described("JSON Schema of the arguments.", anyObject),
          strict: flag,
        },
        "name",
      ),
    },
    "function",
  ),
  otherTool("function"),
)

const toolChoice = anyOf(
  oneOf("none", "auto", "required"),
  typed("function", { function: taken({ name: filledText }, "name") }, "function"),
  taken({ type: { type: "string", not: { const: "function" } } }, "type"),
)

const format = anyOf(
  typed("text", {}),
  typed("json_object", {}),
  typed(
    "json_schema",
    {
      json_schema: taken({ name: functionName, description: text, schema: anyObject, strict: flag }, "name"),
    },
    "json_schema",
  ),
  typed("grammar", { grammar: text }, "grammar"),
  typed("python", {}),
)

/** Members of the forms whose answer is a text. */
export const textSchemas = {
  prediction: typed("content", { content: textContent }, "content"),
  response_format: format,
  structured_outputs: flag,
  web_search_options: anyObject,
} satisfies Readonly<Record<string, Schema>>

export const topLogprobs = integer(0, 20)
export const answers = integer(1, 8)

const request: Schema = {
  ...taken(
    {
      ...sharedSchemas,
      messages: listOf(named("ChatMessage"), { minItems: 1, maxItems: 4096 }),
      ...samplingSchemas,
      tools: listOf(named("ChatTool"), { maxItems: 512 }),
      tool_choice: toolChoice,
      parallel_tool_calls: flag,
      ...textSchemas,
      logprobs: flag,
      top_logprobs: topLogprobs,
      n: answers,
      best_of: answers,
      prompt: text,
      modalities: listOf(oneOf("text", "image", "audio")),
      image_config: anyObject,
      audio: anyObject,
    },
    "messages",
  ),
  description: otherMembers,
  allOf: [...modelRules, ...reasoningRules],
}

export const reasons: Schema = orNull(oneOf("stop", "length", "tool_calls", "content_filter", "error"))

export const answerMembers = {
  id: text,
  provider: described("Display name of the provider that answered.", text),
  model: text,
  created: described("Unix seconds.", count),
}

const answered = given(
  {
    role: only("assistant"),
    content: orNull(text),
    refusal: orNull(text),
    reasoning: orNull(text),
    tool_calls: listOf(given({ id: text, type: text, function: given({ name: text, arguments: text }) }, "function")),
    reasoning_details: listOf(anyObject),
    annotations: listOf(anyObject),
    images: listOf(anyObject),
    audio: anything,
  },
  ...["tool_calls", "reasoning_details", "annotations", "images", "audio"],
)

const answer = given(
  {
    ...answerMembers,
    object: only("chat.completion"),
    system_fingerprint: orNull(text),
    service_tier: text,
    choices: listOf(
      given({
        index: count,
        logprobs: orNull(anyObject),
        finish_reason: reasons,
        native_finish_reason: orNull(text),
        message: answered,
      }),
    ),
    usage: named("Usage"),
    openrouter_metadata: described("The routing, where a header asked for it.", anyObject),
  },
  "openrouter_metadata",
)

const chunk = given(
  {
    ...answerMembers,
    object: only("chat.completion.chunk"),
    choices: listOf(
      given({
        index: count,
        delta: anyObject,
        finish_reason: reasons,
        native_finish_reason: orNull(text),
        logprobs: orNull(anyObject),
      }),
    ),
    system_fingerprint: text,
    service_tier: text,
    usage: described("On the last chunk, with its cost.", named("Usage")),
    error: described(
      "The answer broke off.",
      given({ code: { type: "integer" }, message: text, metadata: given({ error_type: text }) }),
    ),
    openrouter_metadata: anyObject,
  },
  ...["provider", "system_fingerprint", "service_tier", "usage", "error", "openrouter_metadata"],
)

const explanation = given(
  {
    strategy: text,
    seed: count,
    attempts: listOf(
      given(
        {
          model: text,
          host: text,
          provider: text,
          rank: integer(1, 4096),
          estimated_cost_usd: orNull(text),
          why: anything,
          api_key: text,
        },
        "api_key",
      ),
    ),
    excluded: listOf(given({ model: text, host: anything, by: text, reason: text }, "host")),
    dropped_parameters: described("By tag of the host.", { type: "object", additionalProperties: listOf(text) }),
    error: described("Why no host could be called.", anyObject),
  },
  "error",
)

/** Of every form: the query says of which a body is. */
const explainedRequests = [
  ...["ChatRequest", "CompletionRequest", "MessagesRequest", "ResponsesRequest", "CompactRequest"],
  ...["EmbeddingsRequest", "RerankRequest"],
]

export const chatForm: DescribedForm = {
  operations: {
    "/api/v1/chat/completions": operation({
      name: "chat",
      description: "A chat completion, whole or streamed. A stream ends with data: [DONE].",
      request: named("ChatRequest"),
      answer: named("ChatAnswer"),
      event: named("ChatChunk"),
      error: named("Error"),
    }),
    "/api/v1/route/explain": {
      ...operation({
        name: "explain",
        description:
          "How this request would be routed now, and why. No host is called. The members of the answer are described in docs/routing.md.",
        request: anyOf(...explainedRequests.map(named)),
        answer: given({ data: named("Explanation") }),
        error: named("Error"),
      }),
      parameters: [
        {
          name: "form",
          in: "query",
          required: false,
          schema: oneOf("chat", "completions", "messages", "responses", "compact", "embeddings", "rerank"),
          description: "The form of the body. Default: chat.",
        },
        {
          name: "seed",
          in: "query",
          required: false,
          schema: integer(0, 2 ** 32 - 1),
          description: "Of the random draws, as an earlier plan had it.",
        },
        {
          name: "key_hash",
          in: "query",
          required: false,
          schema: text,
          description: "The key to explain for. A management key may name any; without it, none counts.",
        },
      ],
    },
  },
  schemas: {
    ChatRequest: request,
    ChatMessage: message,
    ContentPart: anyOf(...parts),
    ChatTool: tool,
    ChatAnswer: answer,
    ChatChunk: chunk,
    Explanation: explanation,
  },
}
