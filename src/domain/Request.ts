/**
 * A request as the gateway carries it: an operation with bounds. Routing reads `routing`, money reads `bounds`, the host's
 * protocol reads the rest. Made once at the edge and never changed: a fallback reads it again.
 */
import type { ChatPayload } from "./Chat.ts"
import type { JsonObject } from "./Json.ts"
import type { Preferences } from "./Preferences.ts"

/** Members of a body that speak to the router and are never sent to a host. */
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
}

/** What decides how much a request can cost, and what it did cost where the host did not count. */
export interface Bounds {
  /** UTF-8 bytes of the body as it came, and 16 for each message: never fewer than its text has tokens. */
  readonly promptBytes: number
  /** Those of `promptBytes` that are base64 of images, audio, video and files: they are no text. */
  readonly mediaBytes: number
  /** Parts that are not text: their tokens have nothing to do with their bytes. */
  readonly mediaParts: number
  /** UTF-8 bytes of text, tool calls and tools: what an estimate counts. */
  readonly textBytes: number
  readonly messages: number
  /** Images in the prompt: some hosts ask a price for each, besides its tokens. */
  readonly images: number
  /** At most how many searches the request is taken to lead to. */
  readonly searches: number
  /** The caller's upper bound on output tokens. */
  readonly maxTokens: number | undefined
  /** How many answers are wanted (`n`), or made to choose from (`best_of`); at least 1. */
  readonly choices: number
}

export type Effort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max"

/** What the caller says of reasoning, in any of the ways in which it can be said. */
export interface Reasoning {
  readonly effort: Effort | undefined
  /** Tokens that it may take. Never together with `effort`. */
  readonly maxTokens: number | undefined
  /** `reasoning.enabled`. */
  readonly enabled: boolean | undefined
  /**
   * Whether reasoning is kept from the caller. The gateway takes `reasoning` and `reasoning_details`, signatures included,
   * out of the answer, so that a protocol need not, and the caller cannot give them back in later turns. It is billed all
   * the same.
   */
  readonly exclude: boolean
  /** The members as they were written: `reasoning`, `reasoning_effort`, `include_reasoning`. */
  readonly written: JsonObject
}

/** What every operation has. Embeddings and rerank will be further ones, without choices and streams. */
interface OperationRequest {
  readonly routing: Routing
  readonly bounds: Bounds
}

export interface ChatRequest extends OperationRequest {
  readonly operation: "chat"
  readonly stream: boolean
  /** Upper bound on output tokens that the host is given: the caller's, or a tighter one of the key's budget. */
  readonly maxTokens: number | undefined
  readonly reasoning: Reasoning
  readonly payload: ChatPayload
}
