/** A form of requests and answers, whatever its operation. The steps of `infer.ts` run it. */
import * as Either from "effect/Either"
import type { AnyRequest, ChatRequest } from "../../domain/request/Request.ts"
import { type AnswerReader, chatReader } from "../../services/dispatch/readAnswer.ts"
import type { WriterFor } from "../../services/dispatch/StreamWriter.ts"
import type { RequestContext } from "../../services/request/RequestContext.ts"
import { type Body, jsonBody } from "./Body.ts"
import type { ClientProtocol } from "./ClientProtocol.ts"
import { withHeaders } from "./requestHeaders.ts"
import type { ShownRoute } from "./routeMetadata.ts"

export interface Form extends Pick<ClientProtocol, "name" | "ownNames" | "error"> {
  /** How a body is read. What headers say of the routing is applied. */
  readonly body: Body<Asked>
}

/** A decoded request, and how its answer is read and written. `shown`: the routing, for callers who ask for it. */
export interface Asked {
  readonly request: AnyRequest
  answer(context: RequestContext, shown: ShownRoute | undefined): AnswerReader
  /** Absent: the operation has no streams. */
  stream?(context: RequestContext, shown: ShownRoute | undefined): WriterFor
}

/** What is asked in a client protocol. */
class AskedChat implements Asked {
  readonly request: ChatRequest
  private readonly protocol: ClientProtocol

  constructor(protocol: ClientProtocol, request: ChatRequest) {
    this.protocol = protocol
    this.request = request
  }

  answer(context: RequestContext, shown: ShownRoute | undefined): AnswerReader {
    return chatReader(this.protocol.name, this.protocol.answer(context, this.request, shown))
  }

  stream(context: RequestContext, shown: ShownRoute | undefined): WriterFor {
    return this.protocol.stream(context, this.request, shown)
  }
}

/** The member with the conversation, by the name of the form. Elsewhere `messages`. */
const promptMembers: Readonly<Record<string, string>> = { completions: "prompt", responses: "input" }

export const chatForm = (protocol: ClientProtocol): Form => {
  const { name, ownNames, error } = protocol
  return {
    name,
    ...(ownNames === undefined ? {} : { ownNames }),
    error,
    body: jsonBody((body, headers) => {
      const decoded = protocol.decode(body, headers)
      if (Either.isLeft(decoded)) return Either.left(decoded.left)
      const applied = withHeaders(decoded.right, headers)
      return Either.isLeft(applied) ? Either.left(applied.left) : Either.right(new AskedChat(protocol, applied.right))
    }, promptMembers[name] ?? "messages"),
  }
}
