/**
 * Anthropic's Messages API as a wire form. It differs from the canonical form in every respect: content is blocks,
 * system text stands apart, thinking is signed, events have names and no `[DONE]` ends them. Reference 11.
 */
import type { HostFailed } from "../domain/Failure.ts"
import type { WireForm } from "./Form.ts"
import { messagesResponse } from "./messages/answer.ts"
import { messagesDecoder } from "./messages/decoder.ts"
import { messagesHttpError } from "./messages/failure.ts"
import { messagesRequest } from "./messages/request.ts"
import type { ThinkingKind } from "./messages/thinking.ts"

export interface MessagesOptions {
  /** How a model, by the host's own name for it, is told to think (`messages/thinking.ts`); `budget` unless said. */
  readonly thinking?: (upstreamModel: string) => ThinkingKind
}

/** The form, and what its errors mean: one vocabulary, wherever a vendor serves it. */
export interface MessagesForm extends WireForm {
  /** For `Provider.error`. */
  readonly error: (status: number, headers: Headers, body: unknown) => HostFailed
}

/** Relative to a base URL that ends with `/v1`. */
export const messagesForm = ({ thinking = () => "budget" }: MessagesOptions = {}): MessagesForm => ({
  framing: "sse",
  request: (request, host) => messagesRequest(thinking, request, host),
  response: (body) => messagesResponse(body),
  decoder: () => messagesDecoder(),
  error: messagesHttpError,
})
