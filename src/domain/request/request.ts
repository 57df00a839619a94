/**
 * A request inside the gateway: an operation with bounds. Routing reads `routing`, metering reads `bounds`, the host's
 * protocol reads the rest. The HTTP layer makes it once. It never changes, since a fallback reads it again. Requests of
 * each operation: `operations.ts`.
 */

import type { JsonObject } from "../json/json.ts"
import type { ChatPayload, Tool } from "./chat.ts"
import type { HostedTool } from "./hostedTools.ts"
import type { MediaTokens } from "./MediaTokens.ts"
import type { Preferences } from "./Preferences.ts"

/** Members of a body that control the router and are never sent to a host. */
export const routerOnly: ReadonlySet<string> = new Set([
  ...["models", "route", "preset", "provider", "plugins", "transforms", "usage", "session_id", "trace", "debug"],
  ...["fallbacks", "stop_server_tools_when"],
])

/** What decides where a request goes. */
export interface Routing {
  /** Names of the wanted models, the first choice first; at least one. */
  readonly models: ReadonlyArray<string>
  readonly preferences: Preferences
  /** Parameters in the body that a host may or may not support, by their wire names. */
  readonly parameters: ReadonlyArray<string>
  readonly needs: Needs
  /** The caller's name for the conversation, 1 to 256 characters; absent: none was given. */
  readonly session?: string
}

/** Kinds of `tool_choice`; `function`: one function by its name. */
export interface ToolChoiceSupport {
  readonly none: boolean
  readonly auto: boolean
  readonly required: boolean
  readonly function: boolean
}

/** What a request needs of a host besides parameters. */
export interface Needs {
  /** Kinds of parts in the messages, other than text: `image`, `audio`, `video`, `file`. */
  readonly inputs: ReadonlyArray<string>
  /** Kinds of output asked for (`modalities`), other than text. */
  readonly outputs: ReadonlyArray<string>
  /** The value of `tool_choice`, `function` for the object that names one. */
  readonly toolChoice: keyof ToolChoiceSupport | undefined
  /** Tools that hosts run themselves. Absent: there are none. */
  readonly hosted?: ReadonlyArray<HostedTool>
  /** What only hosts of the caller's own form can do. Absent: there is nothing such. */
  readonly onlyForm?: FormNeed
  /** The client form of the request, where it has hosted tools or `onlyForm`. */
  readonly form?: string
}

/** What only hosts of the caller's own form can do: where it stands, and why. */
export interface FormNeed {
  /** In the caller's body: `input[8]`; else what is asked for, as a noun. */
  readonly path: string
  /** A sentence without its full stop: `only hosts of the Responses format compact a conversation`. */
  readonly reason: string
}

export const noNeeds: Needs = { inputs: [], outputs: [], toolChoice: undefined }

/** What bounds the cost of a request, and what an estimate uses where the host reported no usage. */
export interface Bounds {
  /** UTF-8 bytes of the body's values, media included. They do not depend on how the caller wrote the JSON. */
  readonly promptBytes: number
  /** Bytes among `promptBytes` that are base64 of images, audio, video and files, so not text. */
  readonly mediaBytes: number
  /** Parts that are not text. Their tokens do not follow from their bytes. */
  readonly mediaParts: number
  /** UTF-8 bytes of everything that is sent but media: text, tool calls, tools, schemas. An estimate counts these. */
  readonly textBytes: number
  /** What an estimate counts for the parts that are not text. Absent: there are none. */
  readonly media?: MediaTokens
  readonly messages: number
  /** Images in the prompt. Some hosts charge for each, besides its tokens. */
  readonly images: number
  /** The most web searches that the request is assumed to cause. */
  readonly searches: number
  /** The caller's upper bound on output tokens. */
  readonly maxTokens: number | undefined
  /** Answers that are requested (`n`) or generated to choose from (`best_of`); at least 1. */
  readonly choices: number
  /**
   * UTF-8 bytes of the longest text that the host reads by itself, where it reads several: the inputs of an embedding,
   * the documents of a rerank. Absent: it reads the whole prompt as one.
   */
  readonly longestBytes?: number
  /**
   * UTF-8 bytes that a host may count more than once, each time that it does: the query of a rerank, for each further
   * document.
   */
  readonly repeatedBytes?: number
  /**
   * UTF-8 bytes of a predicted answer, of which a host bills as output what the model did not say. Absent: there is
   * none.
   */
  readonly predictedBytes?: number
  /** Search units that a host may count. Absent: one. */
  readonly searchUnits?: number
  /**
   * Whether the prompt may have more tokens than the body shows, such as those of pages that the host finds or fetches.
   * Then it may be as long as the host's context. Default false.
   */
  readonly unseen?: boolean
  /** Whether the prompt has marks for the host's cache, and all of them ask for an hour. Default false. */
  readonly cachesAnHour?: boolean
  /** Whether one of the marks asks for an hour. Default false. */
  readonly cachesPartAnHour?: boolean
}

/**
 * For a request whose model may search. Hosts whose form has a bound for it are sent this one, unless the caller's is
 * lower.
 */
export const mostSearches = 10

/** The bounds of a request whose model may search: what it finds becomes part of the prompt. */
export const searching = (bounds: Bounds): Bounds => ({ ...bounds, searches: mostSearches, unseen: true })

/** The bounds of a request whose host may fetch pages, which costs nothing but their tokens. */
export const reading = (bounds: Bounds): Bounds => ({ ...bounds, unseen: true })

export type Effort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max"

/** The caller's wishes for reasoning, from `reasoning`, `reasoning_effort` and `include_reasoning`. */
export interface Reasoning {
  readonly effort: Effort | undefined
  /** Tokens that it may take. Never together with `effort`. */
  readonly maxTokens: number | undefined
  /** `reasoning.enabled`. */
  readonly enabled: boolean | undefined
  /**
   * Whether reasoning is kept from the caller. The gateway takes `reasoning` and `reasoning_details`, signatures
   * included, out of the answer, so that a protocol need not, and the caller cannot give them back in later turns. It
   * is billed all the same.
   */
  readonly exclude: boolean
  /** The members as they were written: `reasoning`, `reasoning_effort`, `include_reasoning`. */
  readonly written: JsonObject
}

export const noReasoning: Reasoning = {
  effort: undefined,
  maxTokens: undefined,
  enabled: undefined,
  exclude: false,
  written: {},
}

/** What every operation has. */
interface OperationRequest {
  readonly routing: Routing
  readonly bounds: Bounds
  readonly stream: boolean
  /**
   * Upper bound on output tokens that is sent to the host: the caller's, or a lower one from the key's budget. 0: the
   * operation has no output that is paid for.
   */
  readonly maxTokens: number | undefined
  /**
   * Members of the caller's body that no host is sent, beside those that speak to the router. Absent: there are none.
   */
  readonly dropped?: ReadonlyArray<string>
}

/**
 * A request as the caller wrote it, where that is not the canonical form. A host that speaks the form gets this body;
 * for any other host the canonical form counts, and this says what it lacks.
 */
export interface NativeRequest {
  /** Name of the form, as in `ClientFormat.name` and `Protocol.native`. */
  readonly form: string
  /** The caller's body without router-only members, credentials and addresses. */
  readonly body: JsonObject
  /** Headers of the caller that hosts of the form understand, names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Members that the canonical form has no counterpart for. They are dropped for hosts of other forms. */
  readonly untranslated: ReadonlyArray<string>
  /** Whether the host is to compact the conversation in place of answering it. Default false. */
  readonly compacts?: boolean
  /** The caller's own path for a path in the canonical payload, such as `messages[2].content[0]`. */
  readonly pathOf: (path: string) => string
  /** The tools by the names that hosts of the form call. Absent: as in the canonical payload. */
  readonly tools?: ReadonlyArray<Tool>
}

export interface ChatRequest extends OperationRequest {
  readonly operation: "chat"
  readonly reasoning: Reasoning
  readonly payload: ChatPayload
  /** Whether the caller asked for `stream_options.include_usage`. Default false. */
  readonly usageChunk?: boolean
  /** Whether the caller wrote `functions`, and reads a call as `function_call`. Default false. */
  readonly functionCalls?: boolean
  /** Absent: the caller wrote the canonical form. */
  readonly native?: NativeRequest
}

/** A request of an operation without output tokens, whose answer comes as a whole. */
export interface UnaryRequest<Name extends string = string, Payload extends JsonObject = JsonObject>
  extends OperationRequest {
  readonly operation: Name
  readonly payload: Payload
  readonly stream: false
  readonly maxTokens: 0
}
