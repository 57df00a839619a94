/**
 * A wire form: how one protocol says a request and how its answers are read. Pure functions and one synchronous
 * state machine, so that every form can be held against recorded traffic at any split of the bytes.
 */
import type { ChatChunk, ChatRequest, ChatResponse } from "../domain/Chat.ts"
import type { HostFailed } from "../domain/Failure.ts"
import type { Host } from "../domain/Host.ts"
import type { JsonObject } from "../domain/Json.ts"

/** How the bytes of a streamed answer are cut into events: by the house, not by plugins. */
export type Framing = "sse"

/** What to send, relative to the provider's base URL. The house adds address and credentials. */
export interface UpstreamRequest {
  /** `POST` unless said. */
  readonly method?: "GET" | "POST"
  /** Begins with a slash: `/chat/completions`. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: JsonObject
}

/** Reads the events of one streamed answer. Made for one answer and thrown away with it. */
export interface Decoder {
  /** One event: the name its frame gave ("" when it gave none) and its JSON. `HostFailed` when the host reports an error in it. */
  readonly event: (name: string, data: unknown) => ReadonlyArray<ChatChunk> | HostFailed
  /** The host ended the stream: what was still held back. */
  readonly end: () => ReadonlyArray<ChatChunk>
  /** Whether the protocol's own last event has come: nothing is read after it. Absent where there is none but `[DONE]`. */
  readonly done?: () => boolean
}

export interface WireForm {
  readonly framing: Framing
  /** Events are canonical chunks already, and a plain text delta need not pass through the decoder (architecture 3). */
  readonly transparent?: boolean
  readonly request: (request: ChatRequest, host: Host) => UpstreamRequest
  /** A whole answer (status 200, JSON). `HostFailed` when it is an error all the same, or no answer at all. */
  readonly response: (body: unknown, request: ChatRequest, host: Host) => ChatResponse | HostFailed
  readonly decoder: (request: ChatRequest, host: Host) => Decoder
}
