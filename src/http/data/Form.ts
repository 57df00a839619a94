/** A form of requests and answers, whatever its operation. `ModelRequest.ts` serves it, and `forms.ts` lists all. */
import * as Either from "effect/Either"
import type { BadRequest } from "../../domain/failures/Failure.ts"
import type { AnyRequest, UnaryName, UnaryRequests } from "../../domain/request/operations.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import type { AnswerNames, UnaryWriter } from "../../formats/AnswerWriter.ts"
import type { ClientFormat } from "../../formats/ClientFormat.ts"
import type { WriterFor } from "../../formats/StreamWriter.ts"
import type { Target } from "../../formats/Target.ts"
import { type AnswerReader, chatReader, unaryReader } from "../../services/dispatch/AnswerReader.ts"
import type { RequestContext } from "../../services/request/RequestContext.ts"
import { renderedIn } from "../errorBody.ts"
import { type Body, type Decode, jsonBody } from "./Body.ts"
import { withHeaders } from "./requestHeaders.ts"
import { routeMetadata, type ShownRoute } from "./routeMetadata.ts"

export interface Form extends Pick<ClientFormat, "name" | "ownNames" | "error" | "schema"> {
  /** How a body is read. What headers say of the routing is applied. */
  readonly body: Body<Asked>
}

/** A decoded request, and how its answer is read and written. `shown`: the routing, for callers who ask for it. */
export interface Asked {
  readonly request: AnyRequest
  /** The member `trace` of the body, as it was sent. */
  readonly trace?: unknown
  answer(context: RequestContext, shown: ShownRoute | undefined, target: Target): AnswerReader
  /** Absent: the operation has no streams. */
  stream?(context: RequestContext, shown: ShownRoute | undefined, target: Target): WriterFor
  /** The content type of the stream. Default: server-sent events. */
  streamType?(target: Target): string | undefined
}

/** A request of a chat, in any format. */
class AskedChat implements Asked {
  readonly request: ChatRequest
  readonly trace: unknown
  private readonly format: ClientFormat

  constructor(format: ClientFormat, request: ChatRequest, trace: unknown) {
    this.format = format
    this.request = request
    this.trace = trace
  }

  answer(context: RequestContext, shown: ShownRoute | undefined): AnswerReader {
    return chatReader(this.format.name, this.format.answer(namesOf(context, this.request, shown), this.request))
  }

  stream(context: RequestContext, shown: ShownRoute | undefined, target: Target): WriterFor {
    return this.format.stream(namesOf(context, this.request, shown), this.request, target)
  }

  streamType(target: Target): string | undefined {
    return this.format.streamType?.(target)
  }
}

export const chatForm = (format: ClientFormat): Form => {
  const { name, ownNames, prompt, error, schema } = format
  return {
    name,
    ...(ownNames === undefined ? {} : { ownNames }),
    error,
    schema,
    body: jsonBody((body, headers, target) => {
      const decoded = format.decode(body, headers, target)
      if (Either.isLeft(decoded)) return Either.left(decoded.left)
      const applied = withHeaders(decoded.right, headers)
      if (Either.isLeft(applied)) return Either.left(applied.left)
      return Either.right(new AskedChat(format, applied.right, body["trace"]))
    }, prompt),
  }
}

export const namesOf = (
  context: RequestContext,
  { routing }: Pick<AnyRequest, "routing">,
  shown: ShownRoute | undefined,
): AnswerNames => ({
  requestId: context.requestId,
  generationId: context.generationId,
  created: Math.floor(context.admittedAt / 1000),
  time: context,
  model: routing.models[0] ?? "",
  metadata: shown && metadataOf(shown, context),
  rendered: renderedIn,
})

const metadataOf =
  (shown: ShownRoute, context: RequestContext): AnswerNames["metadata"] =>
  (host) =>
    routeMetadata(shown, context, host)

/** What a body of an operation without streams asks for. `Sent`: what `body` of the form reads. */
export const unaryAsked =
  <Sent, Name extends UnaryName>(
    decode: (sent: Sent, target: Target) => Either.Either<UnaryRequests[Name], BadRequest>,
    writer: (names: AnswerNames, request: UnaryRequests[Name], target: Target) => UnaryWriter<Name>,
  ): Decode<Sent, Asked> =>
  (sent, headers, target) => {
    const decoded = Either.flatMap(decode(sent, target), (request) => withHeaders(request, headers))
    return Either.map(decoded, (request) => ({
      request,
      answer: (context, shown, asked) => unaryReader(request, writer(namesOf(context, request, shown), request, asked)),
    }))
  }
