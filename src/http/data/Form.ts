/** A form of requests and answers, whatever its operation. `ModelRequest.ts` serves it, and `forms.ts` lists all. */
import * as Either from "effect/Either"
import type { BadRequest } from "../../domain/failures/Failure.ts"
import type { AnyRequest, UnaryName, UnaryRequests } from "../../domain/request/operations.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import { type AnswerReader, chatReader, type UnaryWriter, unaryReader } from "../../services/dispatch/AnswerReader.ts"
import type { WriterFor } from "../../services/dispatch/StreamWriter.ts"
import type { RequestContext } from "../../services/request/RequestContext.ts"
import { type Body, type Decode, jsonBody } from "./Body.ts"
import type { ClientProtocol } from "./ClientProtocol.ts"
import { type AnswerNames, namesOf } from "./chat/answer.ts"
import { withHeaders } from "./requestHeaders.ts"
import type { ShownRoute } from "./routeMetadata.ts"

export interface Form extends Pick<ClientProtocol, "name" | "ownNames" | "error" | "schema"> {
  /** How a body is read. What headers say of the routing is applied. */
  readonly body: Body<Asked>
}

/** A decoded request, and how its answer is read and written. `shown`: the routing, for callers who ask for it. */
export interface Asked {
  readonly request: AnyRequest
  /** The member `trace` of the body, as it was sent. */
  readonly trace?: unknown
  answer(context: RequestContext, shown: ShownRoute | undefined): AnswerReader
  /** Absent: the operation has no streams. */
  stream?(context: RequestContext, shown: ShownRoute | undefined): WriterFor
}

/** What is asked in a client protocol. */
class AskedChat implements Asked {
  readonly request: ChatRequest
  readonly trace: unknown
  private readonly protocol: ClientProtocol

  constructor(protocol: ClientProtocol, request: ChatRequest, trace: unknown) {
    this.protocol = protocol
    this.request = request
    this.trace = trace
  }

  answer(context: RequestContext, shown: ShownRoute | undefined): AnswerReader {
    return chatReader(this.protocol.name, this.protocol.answer(context, this.request, shown))
  }

  stream(context: RequestContext, shown: ShownRoute | undefined): WriterFor {
    return this.protocol.stream(context, this.request, shown)
  }
}

export const chatForm = (protocol: ClientProtocol): Form => {
  const { name, ownNames, prompt, error, schema } = protocol
  return {
    name,
    ...(ownNames === undefined ? {} : { ownNames }),
    error,
    schema,
    body: jsonBody((body, headers) => {
      const decoded = protocol.decode(body, headers)
      if (Either.isLeft(decoded)) return Either.left(decoded.left)
      const applied = withHeaders(decoded.right, headers)
      if (Either.isLeft(applied)) return Either.left(applied.left)
      return Either.right(new AskedChat(protocol, applied.right, body["trace"]))
    }, prompt),
  }
}

/** What a body of an operation without streams asks for. `Sent`: what `body` of the form reads. */
export const unaryAsked =
  <Sent, Name extends UnaryName>(
    decode: (sent: Sent) => Either.Either<UnaryRequests[Name], BadRequest>,
    writer: (names: AnswerNames, request: UnaryRequests[Name]) => UnaryWriter<Name>,
  ): Decode<Sent, Asked> =>
  (sent, headers) => {
    const decoded = Either.flatMap(decode(sent), (request) => withHeaders(request, headers))
    return Either.map(decoded, (request) => ({
      request,
      answer: (context, shown) => unaryReader(request, writer(namesOf(context, request, shown), request)),
    }))
  }
