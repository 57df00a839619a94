/**
 * A protocol: how one kind of host is asked and how its answers are read. Pure functions and one synchronous state
 * machine, so that every protocol can be tested against recorded traffic at any split of the bytes. The gateway calls,
 * times, retries, counts and redacts.
 */
import type * as Either from "effect/Either"
import type { ChatChunk, ChatResponse } from "../domain/Chat.ts"
import type { HostFailed, Unsupported } from "../domain/Failure.ts"
import type { Host } from "../domain/Host.ts"
import type { ChatRequest } from "../domain/Request.ts"
import type { Framing } from "./framing.ts"
import type { ResponseHead } from "./Head.ts"

export type { Framing } from "./framing.ts"

/** A request in the host's words, relative to its base URL. The gateway adds address and credentials. */
export interface Encoded {
  /** Default `POST`. A `GET` has no body. */
  readonly method?: "GET" | "POST"
  /** Begins with a slash: `/chat/completions`. */
  readonly path: string
  /** Names in lower case. `content-type` is `application/json` unless said. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
  /** Members of the request that this host is not given: told to the caller. */
  readonly dropped?: ReadonlyArray<string>
}

/** What an answer belongs to. */
export interface AnswerContext {
  readonly request: Pick<ChatRequest, "stream" | "maxTokens" | "reasoning" | "bounds">
  readonly host: Host
}

/** Reads the frames of one streamed answer. Made for one answer and thrown away with it. */
export interface Decoder {
  /** One frame: its name ("" when it has none) and its JSON. `HostFailed` when the host reports an error in it. */
  readonly event: (name: string, data: unknown) => ReadonlyArray<ChatChunk> | HostFailed
  /** The host ended the stream: what was still held back. */
  readonly end: () => ReadonlyArray<ChatChunk> | HostFailed
  /** Whether the protocol's own last event has come: nothing is read after it. `[DONE]` of server-sent events needs none. */
  readonly done?: () => boolean
}

export interface Protocol {
  readonly framing: Framing
  /** Which of several usage reports in a stream counts. Default `largest`; `last` where the host repeats a running estimate. */
  readonly usage?: "largest" | "last"
  /** Events are canonical chunks already, so a plain text delta need not pass through the decoder. */
  readonly transparent?: boolean
  /** `Unsupported` when the host cannot be asked this: the next host is tried. */
  readonly encode: (request: ChatRequest, host: Host) => Either.Either<Encoded, Unsupported>
  /** A whole answer with status 200: parsed JSON, or text where it was none. `HostFailed` when it is an error all the same, or no answer at all. */
  readonly decode: (head: ResponseHead, body: unknown, context: AnswerContext) => ChatResponse | HostFailed
  readonly decoder: (head: ResponseHead, context: AnswerContext) => Decoder
}
