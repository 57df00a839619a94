/** How a whole answer is written in the client's format. */
import type { Failure, HostFailed } from "../domain/failures/Failure.ts"
import type { Host } from "../domain/hosts/Host.ts"
import type { JsonObject } from "../domain/json/json.ts"
import type { Charge } from "../domain/money/Charge.ts"
import type { ChatResponse } from "../domain/request/chat.ts"
import type { UnaryAnswers, UnaryName } from "../domain/request/operations.ts"
import type { Rendered } from "./Rendered.ts"

/** What every answer to one request has in common, whatever its format. */
export interface AnswerNames {
  readonly requestId: string
  readonly generationId: string
  /** Unix seconds at which the request was admitted. */
  readonly created: number
  /** When the request was admitted, and how long ago. Milliseconds. */
  readonly time: { readonly admittedAt: number; readonly elapsedMs: () => number }
  /** The model's name until a host has answered. */
  readonly model: string
  /** `openrouter_metadata` once this host answers; `undefined`: the caller did not ask for it. */
  readonly metadata: ((host: Host | undefined) => JsonObject) | undefined
  /** Describes a failure inside a stream as an HTTP error. `undefined`: a defect of the gateway. */
  readonly rendered: (failure: Failure | undefined) => Rendered
}

/**
 * A text that is too long to build at once. Each piece is built when it is written, in its own turn of the event
 * loop. Pieces should be about 256 KiB.
 */
export interface BodyPieces {
  readonly pieces: Iterable<string>
}

/** Adds the cost to an answer, and gives its body in the caller's form. */
export type WithCost = (charge: Charge) => string | BodyPieces

/**
 * Writes a whole answer in the caller's form, without its cost, so that one that cannot be written fails before anything is
 * charged. `native`: the host's own body, where it is in the caller's form.
 */
export type AnswerWriter = (host: Host, response: ChatResponse, native: JsonObject | undefined) => WithCost

/** Writes the answer to a request of an operation without streams. */
export type UnaryWriter<Name extends UnaryName> = (host: Host, answer: UnaryAnswers[Name]) => WithCost | HostFailed
