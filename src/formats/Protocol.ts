/**
 * A protocol: how requests to one kind of host are written and how its answers are read. It consists of pure functions
 * and one synchronous state machine, so that it can be tested with recorded traffic at any split of the bytes. The
 * gateway does the calls, time-outs, fallbacks, metering and redaction.
 */
import type * as Either from "effect/Either"
import type { HostFailed, Unsupported } from "../domain/failures/Failure.ts"
import type { Host } from "../domain/hosts/Host.ts"
import type { JsonObject } from "../domain/json/json.ts"
import type { ChatChunk, ChatResponse } from "../domain/request/chat.ts"
import type { EmbeddingsRequest, EmbeddingsResponse } from "../domain/request/embeddings.ts"
import type { ChatRequest, NativeRequest } from "../domain/request/request.ts"
import type { Framing } from "../wire/Framing.ts"
import type { ResponseHead } from "../wire/head.ts"

export type { Framing } from "../wire/Framing.ts"

/** A request in the host's words, relative to its base URL. The gateway adds address and credentials. */
export interface Encoded {
  /** Default `POST`. A `GET` has no body. */
  readonly method?: "GET" | "POST"
  /**
   * Begins with a slash and is appended to the base URL: `/chat/completions`. It may carry a query, such as `?alt=sse`,
   * but no credential.
   */
  readonly path: string
  /** Names in lower case. `content-type` is `application/json` by default. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
  /**
   * The JSON that `body` was made from, by `jsonBody`, so that the gateway need not parse what it is about to send.
   * Without it, or where `body` was changed since, the gateway parses the body.
   */
  readonly source?: { readonly json: JsonObject; readonly text: string }
  /**
   * Members of `payload`, and `reasoning`, that the caller sent and that are not sent to this host in any form. The
   * caller gets their names in the header `X-GW-Dropped`. Members that neither the canonical form has nor
   * `Protocol.passes` names do not come here.
   */
  readonly dropped?: ReadonlyArray<string>
}

/**
 * The body of a request that is JSON. Halves of surrogate pairs, as an agent leaves them that cuts texts anywhere,
 * become U+FFFD: Anthropic answers "not valid JSON: no low surrogate" to them (langchain-ai/deepagentsjs#631, 2026-06).
 */
export const jsonBody = (json: JsonObject): Required<Pick<Encoded, "body" | "source">> => {
  const written = JSON.stringify(json)
  const text = written.includes("\\ud") ? written.replace(halfPair, "$1\ufffd") : written
  return { body: text, source: { json, text } }
}

/**
 * JSON writes as an escape only what is no whole pair. An even number of backslashes in front stands for themselves.
 */
const halfPair = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g

/** The request and the host of an answer. */
export interface AnswerContext {
  readonly request: Pick<ChatRequest, "stream" | "maxTokens" | "reasoning" | "bounds">
  /**
   * The client's names of tools, by the names that the host was sent instead (`Protocol.longestToolName`). The gateway
   * restores them in what `decode` and the decoder return. Absent: the host was sent the client's names.
   */
  readonly toolNames?: ReadonlyMap<string, string>
  readonly host: Host
}

/** Reads the frames of one streamed answer. A new one is made for each answer. */
export interface Decoder {
  /**
   * One frame: its name ("" when it has none) and its JSON; frames that are no JSON do not come here. Chunks as soon as
   * there is something to pass on; none is an empty array. `HostFailed` when the host reports an error in it
   * (`errorInBody`), or when it cannot be one of this protocol (`malformed`). At least one chunk of each choice has a
   * `finish_reason`; of several the last one counts.
   */
  readonly event: (name: string, data: unknown) => ReadonlyArray<ChatChunk> | HostFailed
  /**
   * The stream is over: returns what was held back. Called once, when the host closes it, when `done` says so, or at
   * `[DONE]`, and not at all when the answer is broken off. It may return the finish. Without a finish by then, a
   * stream that the host closed is a failure of the host, and one that ended by `done` or `[DONE]` finishes with
   * `stop`, unless it had no content.
   */
  readonly end: () => ReadonlyArray<ChatChunk> | HostFailed
  /**
   * Whether the protocol's last event has come, after which nothing is read. Not needed for `[DONE]` of server-sent
   * events.
   */
  readonly done?: () => boolean
}

/**
 * For callers who speak the host's own form. Their body is sent with as few changes as possible, and they get the
 * host's answer or events with ids, model, usage and cost exchanged. `decode` and `decoder` still read the answer, for
 * metering.
 */
export interface NativeProtocol {
  /** `NativeRequest.form`. */
  readonly form: string
  /**
   * Whether the provider's hosts that are called by another protocol can be called by this one too, unless the
   * configuration or the host names the protocol. They are, for requests that only hosts of the form can carry. Default
   * false.
   */
  readonly ofEveryHost?: boolean
  /**
   * Whether a host that is called by this protocol speaks the form: a protocol may call models of several vendors, each
   * in its vendor's words. Pure; called when the catalogue is made. A throw counts as `false`. Default: every host
   * does.
   */
  readonly isSpokenBy?: (host: Host) => boolean
  /**
   * Whether its hosts can be asked to search the web by a tool of the caller's body. Default: as `Protocol.searches`.
   */
  readonly searches?: boolean
  /** `request`: the canonical form of the same request, from which parameters that the host lacks were taken. */
  readonly encode: (request: ChatRequest, native: NativeRequest, host: Host) => Either.Either<Encoded, Unsupported>
}

/**
 * The protocol of a host. Its functions are pure: no clock, no network, and no state except in decoders. When one
 * throws or returns something wrong, that is a failure of the host, and is logged as a fault of the plugin.
 */
export interface Protocol {
  readonly framing: Framing
  /**
   * Where hosts are called by this protocol, where it is not the provider's base URL: a vendor may have Anthropic's API
   * at another address. `base_url` of the configuration wins.
   */
  readonly baseUrl?: string
  /**
   * Which of several `ChatChunk.usage` in a stream counts: the one with the largest sum of its totals (default), or the
   * last, for hosts that repeat a running estimate which may also shrink. It makes no difference where they stand.
   */
  readonly usage?: "largest" | "last"
  /**
   * Whether the usage of a stream may follow an error in it, as a router sends what the vendor behind it counted. A few
   * more events are read then, before the stream fails. Default false.
   */
  readonly usageAfterError?: boolean
  /** Whether events are chunks of the chat form, so that plain text deltas can bypass the decoder. Default false. */
  readonly transparent?: boolean
  /**
   * Top-level members of the payload, beside those of the canonical form, that may pass to its hosts unread: names, or
   * `any` for software that an operator runs. Default: none. The gateway removes all others before `encode` and names
   * them in `X-GW-Dropped`. A member that `encode` writes itself always wins over one of the same name.
   */
  readonly passes?: "any" | ReadonlyArray<string>
  /**
   * Whether a host can be asked to search the web: by `web_search_options` of the payload, which `encode` writes in the
   * host's own words. Pure. Default: it cannot. A host without a price for it (`pricing.web_search`) is not asked all
   * the same.
   */
  readonly searches?: (host: Host) => boolean
  /**
   * The most characters of a tool's name that its hosts take. A longer name, or one with other characters than letters,
   * digits, underscores and dashes, is replaced by a shorter one before `encode`, and restored in the answer. Default
   * 64. `native` is not affected.
   */
  readonly longestToolName?: number
  /**
   * Runs for each attempt, with the same request. `Unsupported` when the protocol cannot carry the request: the next
   * host is tried.
   */
  readonly encode: (request: ChatRequest, host: Host) => Either.Either<Encoded, Unsupported>
  /** Present where a client form is the host's own. */
  readonly native?: NativeProtocol
  /**
   * A whole answer with status 200: parsed JSON, or text where it was none. `HostFailed` when it is an error all the
   * same (`errorInBody`), or no answer at all (`malformed`).
   */
  readonly decode: (head: ResponseHead, body: unknown, context: AnswerContext) => ChatResponse | HostFailed
  /** Makes the decoder of one streamed answer with status 200. Other statuses go to `Provider.error`. */
  readonly decoder: (head: ResponseHead, context: AnswerContext) => Decoder
}

/** The protocol of an operation whose answer comes as a whole. Pure, like `Protocol`. */
export interface UnaryProtocol<Request, Answer> {
  /** As `Protocol.passes`. */
  readonly passes?: Protocol["passes"]
  /** As `Protocol.encode`. */
  readonly encode: (request: Request, host: Host) => Either.Either<Encoded, Unsupported>
  /**
   * As `Protocol.decode`. `request`: the encoded request. `body`: the result of `readText` where the protocol has it.
   */
  readonly decode: (head: ResponseHead, body: unknown, request: Request) => Answer | HostFailed
  /**
   * Reads the text of a complete answer with status 200 instead of `JSON.parse`, where a value for every number would
   * take too much memory. Length, nesting and values were checked before. Returns the text itself if it cannot be
   * read.
   */
  readonly readText?: (text: string) => unknown
  /**
   * The number of inputs that the host takes in one call. A longer batch is sent in several calls, one after another,
   * each with its own request, and is answered and charged as one. Default: any number.
   */
  readonly mostInputs?: (host: Host) => number
}

/** How a host is asked for embeddings. `decode` gives one for each input, else `malformed`. */
export type EmbeddingsProtocol = UnaryProtocol<EmbeddingsRequest, EmbeddingsResponse>
