/**
 * `POST /messages/count_tokens`: about how many tokens the prompt of such a body has. It is the estimate that is charged
 * where a host does not count: nobody is called, and nothing is paid.
 */
import * as Either from "effect/Either"
import { promptTokens } from "../../domain/money/Charge.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import type { ClientFormat } from "../../formats/ClientFormat.ts"
import { requestIdHeaders } from "../headers.ts"
import { type Body, jsonBody } from "./Body.ts"
import { DataRequest, type DataRoute, type Incoming } from "./DataRequest.ts"
import type { DataServices } from "./DataServices.ts"

/** The route that counts bodies of this form. */
export const countRoute = (
  path: string,
  { name, decode, error }: Pick<ClientFormat, "name" | "decode" | "error">,
): DataRoute => {
  const body = jsonBody(decode)
  const route: DataRoute = {
    ...{ name: `POST ${path}`, form: name, error },
    receive: (services, incoming) => new CountRequest(services, route, incoming, body),
  }
  return route
}

class CountRequest extends DataRequest<ChatRequest> {
  private readonly counted: Body<ChatRequest>

  constructor(services: DataServices, route: DataRoute, incoming: Incoming, counted: Body<ChatRequest>) {
    super(services, route, incoming)
    this.counted = counted
  }

  protected override withinLimits(): void {
    this.receive(this.counted)
  }

  protected override admitted({ routing, bounds }: ChatRequest): void {
    this.served.models = routing.models
    const { registry } = this.services
    const unknown = routing.models.map((model) => registry.resolve(model)).find(Either.isLeft)
    if (unknown === undefined) this.answerCount(bounds)
    else this.fail(unknown.left)
  }

  private answerCount(bounds: ChatRequest["bounds"]): void {
    const headers = requestIdHeaders(this.served.requestId)
    this.succeed(this.answerJson({ input_tokens: promptTokens(bounds) }, { headers }))
  }
}
