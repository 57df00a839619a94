/** A format as clients use it: how a request is read, and how whole answers, streams and errors are written. */
import type * as Either from "effect/Either"
import type { BadRequest } from "../domain/failures/Failure.ts"
import type { JsonSchema } from "../domain/json/checks.ts"
import type { JsonObject } from "../domain/json/json.ts"
import type { ChatRequest } from "../domain/request/request.ts"
import type { AnswerNames, AnswerWriter } from "./AnswerWriter.ts"
import type { Rendered } from "./Rendered.ts"
import type { WriterFor } from "./StreamWriter.ts"
import type { Target } from "./Target.ts"

export interface ClientFormat {
  /** For the ledger. */
  readonly name: string
  /** `headers` and `target`: of the request, where the form gives some of it a meaning. */
  readonly decode: (body: JsonObject, headers: Headers, target: Target) => Either.Either<ChatRequest, BadRequest>
  /** The member that has the prompt. */
  readonly prompt: string
  /** What the form calls members of the canonical form. Absent: the same. For `X-GW-Dropped`. */
  readonly ownNames?: ReadonlyMap<string, string>
  /** For the body of a whole answer. */
  readonly answer: (names: AnswerNames, request: ChatRequest) => AnswerWriter
  /** Keeps no reference to the request, which is gone before a stream ends. */
  readonly stream: (names: AnswerNames, request: ChatRequest, target: Target) => WriterFor
  /** The content type of streams. Default: server-sent events. */
  readonly streamType?: (target: Target) => string
  readonly error: (rendered: Rendered, requestId: string) => JsonObject
  /** Of a body. */
  readonly schema: JsonSchema
}
