/** What samples of a vendor come to, as the plugin's author says it, and what the vendor's API lacks. */

import type { HostReason } from "../domain/failures/HostReason.ts"
import type { JsonObject } from "../domain/json/json.ts"
import type { ChatUsage, FinishReason } from "../domain/request/chat.ts"

/** A call that the model made. Calls stand in the order of their `index`. */
export interface ExpectedCall {
  readonly name: string
  /** As an object; a text is compared as it is, for models that write broken JSON. */
  readonly arguments: JsonObject | string
  /** Default: any. Some hosts give none, so that the protocol makes one. */
  readonly id?: string
}

/** A failure that an answer, a stream or an error comes to. */
export interface ExpectedFailure {
  readonly reason: HostReason
  /** Seconds. `null`: none. Default: what a member or header with "retry" in its name says, else any. */
  readonly retryAfterSeconds?: number | null
  /** Default: any. */
  readonly code?: string | null
  /** Whether the caller is shown the host's words. Default: either. */
  readonly hasDetail?: boolean
}

/** What a sample comes to. Of several choices only the first one is compared. What is left out is not compared, unless it says otherwise. */
export interface Expected {
  readonly text?: string
  readonly finishReason?: FinishReason
  /** Reasoning as plain text. */
  readonly reasoning?: string
  /** Signatures and encrypted data of the reasoning, in their order. */
  readonly signatures?: ReadonlyArray<string>
  readonly toolCalls?: ReadonlyArray<ExpectedCall>
  /** URLs of images that the model made. */
  readonly images?: ReadonlyArray<string>
  /** URLs that the answer cites. */
  readonly annotations?: ReadonlyArray<string>
  readonly refusal?: string
  /**
   * The usage that the answer is charged by, in the canonical form: of several reports of a stream the one that counts
   * (`Protocol.usage`), as the gateway reads it. Parts that are left out are 0. `null`: the vendor does not count in this
   * answer, so that the gateway estimates. A protocol of the plugin's own needs it in every sample. Default: any usage that is accepted, but not none; its sum is the vendor's own
   * total, its cached and reasoning tokens those that the vendor names, wherever the sample has members called so.
   */
  readonly counted?: ChatUsage | null
  /** The sample is an error of the host with status 200. Nothing else is compared then. */
  readonly failure?: ExpectedFailure
}

/**
 * What a vendor's API does not have, so that requests with it are refused (`Unsupported`) or sent without it, and samples
 * need not show it:
 *
 * - `system`: instructions. `tools`: functions that the model may call, their calls and results.
 * - `parallel tools`: several calls in one answer.
 * - `reasoning`: answers show none and do not count it.
 * - `reasoning in history`: the host does not take its signed or encrypted reasoning back.
 * - `cache`: answers do not count what was read from a cache.
 * - `waits`: rate limits do not say for how long.
 * - `usage`: answers do not count tokens.
 * - `effort`: reasoning is on or off; an effort or a bound in tokens makes no difference.
 * - `reasoning unasked`: models reason only where they are asked to, so that switching it off needs no word.
 * - `one form of arguments`: calls have their arguments as an object in answers and as text in the history, or the other way.
 * - `cache price`: tokens that were read from a cache cost as much as others.
 * - `signed body`: what `sign` computes does not depend on the body.
 * - `token expiry`: access tokens do not end.
 * - `temperature`, `stop`: these parameters, which nearly every vendor has.
 */
export const everyLack = [
  "system",
  "tools",
  "parallel tools",
  "reasoning",
  "reasoning in history",
  "cache",
  "waits",
  "usage",
  "effort",
  "reasoning unasked",
  "one form of arguments",
  "cache price",
  "signed body",
  "token expiry",
  "temperature",
  "stop",
] as const

/** One of `everyLack`. */
export type Lack = (typeof everyLack)[number]
