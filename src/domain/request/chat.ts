/**
 * The canonical form of a conversation: the chat completion as routers speak it. Client forms are translated to it,
 * host protocols are translated from it and their answers back to it. Members keep the names of the wire, and every
 * object may carry members that are not listed here: what the gateway does not know it passes on. See
 * docs/architecture.md.
 */
import type { JsonObject } from "../json/json.ts"

// --- requests

/** Marks the end of a prefix that the host should cache. */
export interface CacheControl extends JsonObject {
  readonly type: "ephemeral"
  /** Default `5m`. */
  readonly ttl?: "5m" | "1h"
}

export interface TextPart extends JsonObject {
  readonly type: "text"
  /** May be empty. */
  readonly text: string
  readonly cache_control?: CacheControl
}

export interface ImagePart extends JsonObject {
  readonly type: "image_url"
  /** `url`: http(s), or a data URL (`readDataUrl`). `detail`: how closely it is looked at: `low`, `high`, `auto`. */
  readonly image_url: { readonly url: string; readonly detail?: string | null }
  readonly cache_control?: CacheControl
}

export interface AudioPart extends JsonObject {
  readonly type: "input_audio"
  /** `data`: base64; `format`: such as `wav` or `mp3`. */
  readonly input_audio: { readonly data: string; readonly format: string }
}

export interface VideoPart extends JsonObject {
  readonly type: "video_url" | "input_video"
  /** `url`: http(s), or a data URL. */
  readonly video_url: { readonly url: string }
}

export interface FilePart extends JsonObject {
  readonly type: "file"
  /** `file_data`: a data URL, an http(s) URL or bare base64; `file_id`: the host's own name of an uploaded file. */
  readonly file: {
    readonly filename?: string | null
    readonly file_data?: string | null
    readonly file_id?: string | null
  }
  readonly cache_control?: CacheControl
}

/** An earlier refusal of the assistant, as a part of its message. */
export interface RefusalPart extends JsonObject {
  readonly type: "refusal"
  readonly refusal: string
}

export type ContentPart = TextPart | ImagePart | AudioPart | VideoPart | FilePart | RefusalPart

/** A text, or parts in order. `textOf` and `partsOf` read either. */
export type Content = string | ReadonlyArray<ContentPart>

/** A call of a function that the model wants. `arguments` is JSON as the model wrote it: it may be empty or broken. */
export interface ToolCall extends JsonObject {
  readonly id: string
  /** `function`, unless the host has other kinds. */
  readonly type: string
  readonly function: { readonly name: string; readonly arguments: string }
}

/** An earlier call of a kind that only some hosts have, such as a custom tool of theirs. */
export interface HostToolCall extends JsonObject {
  readonly type: string
  readonly function?: never
}

/**
 * A piece of a model's reasoning, in the order in which it came. Pieces go back to the host unchanged in later turns:
 * `reasoning.text` may carry the host's `signature`, `reasoning.encrypted` carries opaque `data`.
 */
export interface ReasoningDetail extends JsonObject {
  readonly type: "reasoning.text" | "reasoning.summary" | "reasoning.encrypted"
  /**
   * Which vendor's API can read it. Known: `anthropic-claude-v1`, `google-gemini-v1`, `openai-responses-v1`,
   * `azure-openai-responses-v1`, `bedrock-openai-responses-v1`, `xai-responses-v1`, `meta-responses-v1`,
   * `amazon-bedrock-v1`, `cohere-v2`, `unknown`. A protocol gives its pieces one format, and sends back those of that
   * format only.
   */
  readonly format?: string | null
  /** Number of the part among all parts of the answer, from 0. Pieces of one part share it. */
  readonly index?: number
  readonly id?: string | null
  readonly text?: string | null
  readonly summary?: string
  readonly data?: string
  readonly signature?: string | null
}

/**
 * How the `id` of the last piece of a message begins whose parts are not in the usual order. It lists them (see
 * `formats/conversation.ts`). The gateway writes it, so it is no output of the model, and no host is sent it.
 */
export const orderEntryId = "headgate-order"

/** Whether an `id` is one of such a piece. */
export const isOrderEntryId = (id: unknown): boolean => typeof id === "string" && id.startsWith(orderEntryId)

/** Instructions. They may stand anywhere in the conversation, not only in front. */
export interface SystemMessage extends JsonObject {
  readonly role: "system" | "developer"
  /** Text, or text parts. */
  readonly content: Content
}

export interface UserMessage extends JsonObject {
  readonly role: "user"
  readonly content: Content
}

/**
 * An earlier answer, as the caller gives it back. As the last message it is a beginning that the model goes on from.
 */
export interface AssistantMessage extends JsonObject {
  readonly role: "assistant"
  /** Null or absent where the assistant only called tools. */
  readonly content?: Content | null
  /** The calls that it made, in order; a `ToolMessage` answers each. */
  readonly tool_calls?: ReadonlyArray<ToolCall | HostToolCall> | null
  /** Its reasoning as plain text. */
  readonly reasoning?: string | null
  /** Its reasoning in pieces, which may come back as the fragments of a stream: same `index`, same block. */
  readonly reasoning_details?: ReadonlyArray<ReasoningDetail> | null
  /** Why it did not answer, in its own words. */
  readonly refusal?: string | null
}

/** The result of a tool call. */
export interface ToolMessage extends JsonObject {
  readonly role: "tool"
  readonly content: Content
  /** `id` of the call that it answers. Hosts that want the function's name instead: `calledNames`. */
  readonly tool_call_id: string
}

export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage

export interface FunctionTool extends JsonObject {
  readonly type: "function"
  readonly function: JsonObject & {
    readonly name: string
    readonly description?: string | null
    /** JSON Schema of the arguments; absent: it takes none. */
    readonly parameters?: JsonObject | null
    /** Whether the arguments must fit the schema exactly. */
    readonly strict?: boolean | null
  }
  readonly cache_control?: CacheControl
}

/** A tool of a kind that only some hosts have, such as their own web search. */
export interface HostTool extends JsonObject {
  readonly type: string
  readonly function?: never
}

export type Tool = FunctionTool | HostTool

/**
 * Whether tools may, must or must not be called. As an object, the one that must be: `{ type: "function", function: {
 * name } }`.
 */
export type ToolChoice = "none" | "auto" | "required" | (JsonObject & { readonly type: string })

/** What the text of the answer has to be. */
export interface ResponseFormat extends JsonObject {
  /**
   * `json_object`: any JSON object; `json_schema`: JSON that fits the schema; `text`: anything, as if nothing were
   * given.
   */
  readonly type: "text" | "json_object" | "json_schema" | "grammar" | "python"
  readonly json_schema?: JsonObject & {
    readonly name: string
    readonly schema?: JsonObject | null
    readonly strict?: boolean | null
  }
}

/**
 * What is sent to the host: the caller's body without router-only members (`routerOnly` in `request.ts`), without
 * credentials and addresses, and without what `ChatRequest` has as its own fields. Checked by the HTTP layer.
 */
export interface ChatPayload extends JsonObject {
  /** At least one, in order. */
  readonly messages: ReadonlyArray<Message>
  readonly tools?: ReadonlyArray<Tool> | null
  /** Default `auto` where there are tools. */
  readonly tool_choice?: ToolChoice | null
  /** `false`: at most one call in an answer. */
  readonly parallel_tool_calls?: boolean | null
  readonly response_format?: ResponseFormat | null
  /** 0 to 2. */
  readonly temperature?: number | null
  /** 0 to 1: share of probability that is sampled from. */
  readonly top_p?: number | null
  /** Number of most likely tokens that is sampled from; 0: all. */
  readonly top_k?: number | null
  /** 0 to 1: least probability of a token, relative to the likeliest. */
  readonly min_p?: number | null
  /** 0 to 1. */
  readonly top_a?: number | null
  /** -2 to 2. */
  readonly frequency_penalty?: number | null
  /** -2 to 2. */
  readonly presence_penalty?: number | null
  /** 0 to 2; 1: none. */
  readonly repetition_penalty?: number | null
  /** For reproducible answers. */
  readonly seed?: number | null
  /** At most four texts at which the answer ends. */
  readonly stop?: string | ReadonlyArray<string> | null
  /** Whether `logprobs` of the output are wanted. */
  readonly logprobs?: boolean | null
  /** How many alternatives for each token: 0 to 20. */
  readonly top_logprobs?: number | null
  /** How many answers: 1 to 8. `Bounds.choices` has it as a number always. */
  readonly n?: number | null
  /** The caller's own end user, for the host's detection of abuse. */
  readonly user?: string | null
  /** At most 16 texts by name. */
  readonly metadata?: JsonObject | null
  /** Such as `auto`, `default`, `flex`, `priority`. */
  readonly service_tier?: string | null
  /** How long the answer is to be: `low` to `max`. */
  readonly verbosity?: string | null
}

// --- answers

/**
 * How an answer ended. `error` is the gateway's own word, for a host that fails within a stream. A protocol gives a
 * `HostFailed` in its place: the gateway would take a chunk or an answer that says `error` for a finished one, and charge it.
 */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter" | "error"

/**
 * What the host counted, in tokens. The prompt includes cached reads, cache writes and audio; the completion includes
 * reasoning, audio and images.
 *
 * Both totals are needed: where one is absent or no whole number from 0 to 2^31, or their sum exceeds 2^31, nothing of
 * the usage counts, and the gateway estimates all of it. A host that leaves zeros out means 0, which the protocol has to
 * write. Parts that are absent or no such number are 0, and those above their total are cut to it. Members that are not
 * listed here are not read.
 */
export interface ChatUsage extends JsonObject {
  readonly prompt_tokens?: unknown
  readonly completion_tokens?: unknown
  /** Parts of `prompt_tokens`. */
  readonly prompt_tokens_details?: {
    /** Read from a cache. */
    readonly cached_tokens?: unknown
    /**
     * The part of `cached_tokens` that was read from a cache which the caller asked for by marks, where that has a price of
     * its own. Not sent to clients.
     */
    readonly cached_explicit_tokens?: unknown
    /** Written to a cache. */
    readonly cache_write_tokens?: unknown
    /** The part of `cached_tokens` that is audio. Not sent to clients. */
    readonly cached_audio_tokens?: unknown
    /** The part of `cache_write_tokens` that is kept for an hour. */
    readonly cache_write_1h_tokens?: unknown
    readonly audio_tokens?: unknown
    /** Not sent to callers. */
    readonly image_tokens?: unknown
    readonly video_tokens?: unknown
  }
  /** Parts of `completion_tokens`. */
  readonly completion_tokens_details?: {
    readonly reasoning_tokens?: unknown
    readonly image_tokens?: unknown
    readonly audio_tokens?: unknown
  }
  /** Tools that the host ran by itself, and charges for. */
  readonly server_tool_use_details?: { readonly web_search_requests?: unknown }
  /** Of a rerank, where the host charges for these: a query with so many documents. Not one of an answer's tokens. */
  readonly search_units?: unknown
  /**
   * The speed that the host says it served, where that has a price: `standard` or `fast`. Not sent to clients of the
   * chat form.
   */
  readonly speed?: unknown
  /**
   * Where the host says the model ran, where that has a price, such as `global` or `us`. Not sent to clients of the
   * chat form.
   */
  readonly inference_geo?: unknown
}

/**
 * A source that the answer cites. Indices are UTF-16 units in the whole text of the answer. Hosts of the chat form have
 * annotations of other kinds too, so they are read by `citationsIn`.
 */
export interface Annotation extends JsonObject {
  readonly type: "url_citation"
  readonly url_citation: JsonObject & { readonly url: string; readonly title: string }
}

/** An image that the model made. */
export interface OutputImage extends JsonObject {
  readonly type: "image_url"
  /** `url`: http(s), or a data URL with the whole image. */
  readonly image_url: JsonObject & { readonly url: string }
}

export interface ChatMessage extends JsonObject {
  readonly role: "assistant"
  /** Null where the model only called tools. */
  readonly content: string | null
  readonly refusal?: string | null
  readonly reasoning?: string | null
  readonly reasoning_details?: ReadonlyArray<ReasoningDetail>
  readonly tool_calls?: ReadonlyArray<ToolCall>
  readonly annotations?: ReadonlyArray<Annotation | JsonObject>
  readonly images?: ReadonlyArray<OutputImage>
}

export interface ChatChoice extends JsonObject {
  readonly index: number
  /** `null` is read as `stop`. */
  readonly finish_reason: FinishReason | null
  /** The finish reason in the host's own words. */
  readonly native_finish_reason: string | null
  readonly message: ChatMessage
  /** Null where there are none. */
  readonly logprobs?: JsonObject | null
}

/** A whole answer of a host. The gateway adds ids, model, provider and cost. */
export interface ChatResponse extends JsonObject {
  /** At least one. */
  readonly choices: ReadonlyArray<ChatChoice>
  /** Absent: the host did not count, and the gateway estimates from the text. */
  readonly usage?: ChatUsage
  /** The host goes on with the answer where the gateway does not see it, so the most that it can cost is charged. Default false. */
  readonly unfinished?: boolean
  /** As `ChatChunk.unseen`, of the whole answer. Default 0. */
  readonly unseen?: number
  readonly system_fingerprint?: string | null
  readonly service_tier?: string
}

/** A fragment of a tool call: id, type and name come with the first one of an `index`, arguments are appended. */
export interface ToolCallDelta extends JsonObject {
  readonly index: number
  readonly id?: string
  readonly type?: string
  readonly function?: { readonly name?: string; readonly arguments?: string }
}

/** What an event adds to a message. Texts are appended to those before. */
export interface ChatDelta extends JsonObject {
  readonly role?: "assistant"
  readonly content?: string | null
  readonly refusal?: string | null
  readonly reasoning?: string | null
  readonly reasoning_details?: ReadonlyArray<ReasoningDetail>
  readonly tool_calls?: ReadonlyArray<ToolCallDelta>
  readonly annotations?: ReadonlyArray<Annotation | JsonObject>
  /** Whole images, each in one chunk. */
  readonly images?: ReadonlyArray<OutputImage>
}

export interface ChatChunkChoice extends JsonObject {
  readonly index: number
  readonly delta: ChatDelta
  /** `null` until this choice ends. */
  readonly finish_reason: FinishReason | null
  readonly native_finish_reason?: string | null
  readonly logprobs?: JsonObject | null
}

/** One event of a streamed answer. The gateway adds ids, model, provider and cost. */
export interface ChatChunk extends JsonObject {
  /** Empty in a chunk that only brings `usage`. */
  readonly choices: ReadonlyArray<ChatChunkChoice>
  /**
   * In any chunk and in any number of them: before the finish, with it or after it. A report covers the answer up to there,
   * and does not add to earlier ones; of several, `Protocol.usage` says which counts. An answer that is cut short is charged
   * by the report that counts so far. So pass a running report on only where it keeps up with the text: one that comes at the
   * start, with an output of 0 or 1, would undercharge. Without any, the gateway estimates from the text.
   */
  readonly usage?: ChatUsage
  readonly system_fingerprint?: string | null
  readonly service_tier?: string
  /**
   * UTF-8 bytes of output in this event that the host bills and the caller is not sent, such as the query of a search that the host itself
   * runs. They count where the host reports no usage. Default 0.
   */
  readonly unseen?: number
  /**
   * Whether the host goes on with the answer although the gateway gets nothing more of it, as with a response in the background. Then the
   * most that it can cost is charged. The last chunk with this member counts. Default false.
   */
  readonly unfinished?: boolean
}
