/**
 * A client protocol: a form of requests and answers. Each has a folder here: decoding, whole answers, streams, error
 * bodies.
 */
import type * as Either from "effect/Either"
import type { BadRequest } from "../../domain/failures/Failure.ts"
import type { JsonSchema } from "../../domain/json/checks.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import type { AnswerWriter } from "../../services/dispatch/AnswerReader.ts"
import type { WriterFor } from "../../services/dispatch/StreamWriter.ts"
import type { RequestContext } from "../../services/request/RequestContext.ts"
import type { Rendered } from "../errorBody.ts"
import type { ShownRoute } from "./routeMetadata.ts"

export interface ClientProtocol {
  /** For the ledger. */
  readonly name: string
  /** `headers`: of the request, where the form gives some a meaning. */
  readonly decode: (body: JsonObject, headers: Headers) => Either.Either<ChatRequest, BadRequest>
  /** The member that has the prompt. */
  readonly prompt: string
  /** What the form calls members of the canonical form. Absent: the same. For `X-GW-Dropped`. */
  readonly ownNames?: ReadonlyMap<string, string>
  /** For the body of a whole answer. `shown`: the routing, for callers who ask for it. */
  readonly answer: (context: RequestContext, request: ChatRequest, shown: ShownRoute | undefined) => AnswerWriter
  readonly stream: (context: RequestContext, request: ChatRequest, shown: ShownRoute | undefined) => WriterFor
  readonly error: (rendered: Rendered, requestId: string) => JsonObject
  /** Of a body. */
  readonly schema: JsonSchema
}
