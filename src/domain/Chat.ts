/**
 * The canonical form: the router's own chat completion. Client forms translate to and from it, provider plugins
 * translate it to and from their wire form. Bodies keep the wire's names, since what the house does not know it
 * passes on. Architecture 4; spec 2.1 and 2.2; reference 6 to 8.
 */
import type { JsonObject } from "./Json.ts"
import type { Preferences } from "./Preferences.ts"

/** A request that was checked at the edge. Never changed afterwards: a fallback reads it again. */
export interface ChatRequest {
  /** Names of the wanted models, the first choice first; at least one. */
  readonly models: ReadonlyArray<string>
  readonly preferences: Preferences
  readonly stream: boolean
  /** Upper bound on output tokens that the caller gave. */
  readonly maxTokens: number | undefined
  /** How many answers are wanted (`n`), or made to choose from (`best_of`). */
  readonly choices: number
  /** Whether reasoning is kept from the caller (it is billed all the same). */
  readonly excludeReasoning: boolean
  /** At least as many as the prompt has tokens: bytes of its JSON and 16 a message. G1. */
  readonly promptBound: number
  /** Parts that are not text: their tokens have nothing to do with their bytes. */
  readonly mediaParts: number
  /** Parameters in the body that a host may or may not support, by their wire names. */
  readonly parameters: ReadonlyArray<string>
  /** The whole body as it came, less credentials and addresses (G29). */
  readonly body: JsonObject
}

/** How an answer ended. `error` only together with an `error` member. Reference 7. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter" | "error"

export interface ChatMessage extends JsonObject {
  readonly role: "assistant"
  readonly content: string | null
}

export interface ChatChoice extends JsonObject {
  readonly index: number
  readonly finish_reason: FinishReason | null
  /** The host's own word for it. */
  readonly native_finish_reason: string | null
  readonly message: ChatMessage
}

/** A whole answer of a host. Ids, model, provider and cost are the house's to add. */
export interface ChatResponse extends JsonObject {
  readonly choices: ReadonlyArray<ChatChoice>
  /** As the host counted, in canonical names; checked by the meter, not here. */
  readonly usage?: unknown
}

export interface ChatDelta extends JsonObject {
  readonly content?: string | null
}

export interface ChatChunkChoice extends JsonObject {
  readonly index: number
  readonly delta: ChatDelta
  readonly finish_reason: FinishReason | null
  readonly native_finish_reason?: string | null
}

/** One event of a streamed answer. Ids, model, provider and cost are the house's to add. */
export interface ChatChunk extends JsonObject {
  readonly choices: ReadonlyArray<ChatChunkChoice>
  readonly usage?: unknown
}
