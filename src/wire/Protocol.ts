/**
 * A protocol: how requests to one kind of host are written and how its answers are read. It consists of pure functions
 * and one synchronous state machine, so that it can be tested with recorded traffic at any split of the bytes. The
 * gateway does the calls, time-outs, fallbacks, metering and redaction.
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
  /** Names in lower case. `content-type` is `application/json` by default. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
  /**
   * Members of `payload`, and `reasoning`, that the caller gave and that are not sent to this host in any form. Their
   * names are shown to the caller. Members that the protocol does not know are passed on, not dropped.
   */
  readonly dropped?: ReadonlyArray<string>
}

/** The request and the host of an answer. */
export interface AnswerContext {
  readonly request: Pick<ChatRequest, "stream" | "maxTokens" | "reasoning" | "bounds">
  readonly host: Host
}

/** Reads the frames of one streamed answer. A new one is made for each answer. */
export interface Decoder {
  /**
   * Reads one frame: its name ("" when it has none) and its parsed JSON. The gateway handles frames that are not JSON.
   * Returns the chunks that can be passed on now, possibly none. Returns `HostFailed` when the host reports an error
   * (`errorInBody`), or when the frame does not belong to this protocol. Exactly one chunk of each choice has a
   * `finish_reason`.
   */
  readonly event: (name: string, data: unknown) => ReadonlyArray<ChatChunk> | HostFailed
  /**
   * The host ended the stream. Returns chunks that were held back. A stream without a finish is a failure in any case.
   */
  readonly end: () => ReadonlyArray<ChatChunk> | HostFailed
  /**
   * Whether the protocol's last event has come, after which nothing is read. Not needed for `[DONE]` of server-sent
   * events.
   */
  readonly done?: () => boolean
}

/**
 * The protocol of a host. Its functions are pure: no clock, no network, and no state except in decoders. When one
 * throws or returns something wrong, that is a failure of the host, and is logged as a fault of the plugin.
 */
export interface Protocol {
  readonly framing: Framing
  /**
   * Which of several usage reports in a stream counts. Default `largest`; `last` where the host repeats a running
   * estimate.
   */
  readonly usage?: "largest" | "last"
  /** Whether events are chunks of the chat form, so that plain text deltas can bypass the decoder. Default false. */
  readonly transparent?: boolean
  /**
   * Runs for each attempt, with the same request. `Unsupported` when the protocol cannot carry the request: the next
   * host is tried.
   */
  readonly encode: (request: ChatRequest, host: Host) => Either.Either<Encoded, Unsupported>
  /**
   * Reads a whole answer with status 200: parsed JSON, or text where it is not JSON. Returns `HostFailed` when it holds
   * an error (`errorInBody`), or is not an answer (reason `malformed`).
   */
  readonly decode: (head: ResponseHead, body: unknown, context: AnswerContext) => ChatResponse | HostFailed
  /** Makes the decoder of one streamed answer with status 200. Other statuses go to `Provider.error`. */
  readonly decoder: (head: ResponseHead, context: AnswerContext) => Decoder
}
