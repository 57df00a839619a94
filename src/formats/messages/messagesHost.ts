/**
 * Anthropic's Messages API. It differs from the canonical form in every respect: content is blocks, system text stands
 * apart, thinking is signed, events have names and no `[DONE]` ends them.
 */
import type { HostFailed } from "../../domain/failures/Failure.ts"
import { baseModelOf } from "../../domain/hosts/Host.ts"
import type { ResponseHeaders } from "../../wire/head.ts"
import { ours } from "../ownProtocols.ts"
import type { Protocol } from "../Protocol.ts"
import { messagesAnswer } from "./messagesAnswer.ts"
import type { MessagesCloud } from "./messagesClouds.ts"
import { messagesHttpError } from "./messagesError.ts"
import { messagesForm } from "./messagesMembers.ts"
import { encodeNative } from "./messagesNative.ts"
import { encodeMessages } from "./messagesRequest.ts"
import { MessagesDecoder } from "./messagesStream.ts"
import type { ThinkingKind } from "./messagesThinking.ts"

export interface MessagesOptions {
  /**
   * How thinking is requested from a model, by the host's own name of it (`messagesThinking.ts`). Default `either`.
   */
  readonly thinking?: (upstreamModel: string) => ThinkingKind
  /** Whose API it is, which decides what of a request it takes (`messagesClouds.ts`). Default `other`. */
  readonly cloud?: MessagesCloud
}

/** The protocol and the meaning of its errors, which are the same at every vendor. */
export interface MessagesProtocol extends Protocol {
  /** For `Provider.error`. */
  readonly error: (status: number, headers: ResponseHeaders, body: unknown) => HostFailed
}

/** Relative to a base URL that ends with `/v1`. */
export const messagesProtocol = ({
  thinking = () => "either",
  cloud = "other",
}: MessagesOptions = {}): MessagesProtocol =>
  ours({
    framing: "sse",
    // How the model thinks, in Anthropic's own words: read and written anew.
    passes: ["thinking", "output_config"],
    // Anthropic's reference of `tools[].name` (2026-11).
    longestToolName: 128,
    encode: (request, host) => encodeMessages(thinking(baseModelOf(host)), cloud, request, host),
    native: {
      form: messagesForm,
      searches: true,
      encode: (request, native, host) => encodeNative(thinking(baseModelOf(host)), cloud, request, native, host),
    },
    decode: (_head, body) => messagesAnswer(body),
    decoder: () => new MessagesDecoder(),
    error: messagesHttpError,
  })
