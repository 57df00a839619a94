/** A form of requests and answers, as the steps of `inference.ts` run it: whatever its operation. */
import * as Either from "effect/Either"
import type { BadRequest } from "../../domain/Failure.ts"
import type { JsonObject } from "../../domain/Json.ts"
import type { AnyRequest } from "../../domain/Request.ts"
import type { RequestContext } from "../../services/RequestContext.ts"
import { type AnswerReader, chatReader } from "../../services/readAnswer.ts"
import type { WriterFor } from "../../services/StreamWriter.ts"
import type { ClientProtocol } from "./ClientProtocol.ts"
import { withHeaders } from "./requestHeaders.ts"
import type { ShownRoute } from "./routeMetadata.ts"

export interface Form extends Pick<ClientProtocol, "name" | "ownNames" | "error"> {
  /** As `ClientProtocol.decode`. What headers say of the routing is applied. */
  readonly decode: (body: JsonObject, bytes: number, headers: Headers) => Either.Either<Asked, BadRequest>
}

/** A decoded request, and how its answer is read and written. `shown`: the routing, for callers who ask for it. */
export interface Asked {
  readonly request: AnyRequest
  readonly answer: (context: RequestContext, shown: ShownRoute | undefined) => AnswerReader
  /** Absent: the operation has no streams. */
  readonly stream?: (context: RequestContext, shown: ShownRoute | undefined) => WriterFor
}

export const chatForm = (protocol: ClientProtocol): Form => {
  const { name, ownNames, error } = protocol
  return {
    name,
    ...(ownNames === undefined ? {} : { ownNames }),
    error,
    decode: (body, bytes, headers) => {
      const decoded = Either.flatMap(protocol.decode(body, bytes, headers), (request) => withHeaders(request, headers))
      return Either.map(decoded, (request) => ({
        request,
        answer: (context, shown) => chatReader(name, protocol.answer(context, request, shown)),
        stream: (context, shown) => protocol.stream(context, request, shown),
      }))
    },
  }
}
