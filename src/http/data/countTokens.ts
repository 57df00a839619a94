/**
 * `POST /messages/count_tokens`: about how many tokens the prompt of such a body has. It is the estimate that is charged
 * where a host does not count: nobody is called, and nothing is paid.
 */
import * as Exit from "effect/Exit"
import type { Failure } from "../../domain/failures/Failure.ts"
import { promptTokens } from "../../domain/money/Charge.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import type { Steps } from "../../services/request/Steps.ts"
import { requestIdHeaders } from "../headers.ts"
import { admit, type Terms } from "./admit.ts"
import { type Body, jsonBody } from "./Body.ts"
import type { ClientProtocol } from "./ClientProtocol.ts"
import type { DataRequest, DataRoute } from "./DataRequest.ts"
import type { DataServices } from "./DataServices.ts"

interface Counted {
  readonly body: Body<ChatRequest>
}

/** The route that counts bodies of this form. */
export const counting = (
  path: string,
  { name, decode, error }: Pick<ClientProtocol, "name" | "decode" | "error">,
): DataRoute => {
  const asked = Exit.succeed({ body: jsonBody(decode) })
  const terms: Terms<ChatRequest, Counted> = { kinds: "ordinary", isCounted: true, isPaid: false, asked: () => asked }
  return { name: `POST ${path}`, form: name, error, respond: (services, request) => count(services, request, terms) }
}

const count = function* (
  services: DataServices,
  request: DataRequest,
  terms: Terms<ChatRequest, Counted>,
): Steps<Response, Failure> {
  const { content } = yield* admit(services, request, terms)
  const { routing, bounds } = content
  request.served.models = routing.models
  for (const model of routing.models) yield* services.registry.resolve(model)
  const headers = requestIdHeaders(request.served.requestId)
  return request.answerJson({ input_tokens: promptTokens(bounds) }, { headers })
}
