/**
 * `POST /messages/count_tokens` and `POST …:countTokens`: about how many tokens the prompt of such a body has. It is the estimate that is charged
 * where a host does not count: nobody is called, and nothing is paid.
 */
import * as Either from "effect/Either"
import type { JsonObject } from "../../domain/json/json.ts"
import { promptTokens } from "../../domain/money/Charge.ts"
import { type RoutePath, routeName } from "../../domain/request/forms.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import type { ClientFormat } from "../../formats/ClientFormat.ts"
import { isGoogles } from "../dataPaths.ts"
import { requestIdHeaders } from "../headers.ts"
import { type Body, jsonBody } from "./Body.ts"
import { DataRequest, type DataRoute, type Incoming } from "./DataRequest.ts"
import type { DataServices } from "./DataServices.ts"

/** The route that counts bodies of this form. `written`: the body of the answer. */
export const countRoute = (
  path: RoutePath,
  { name, decode, error }: Pick<ClientFormat, "name" | "decode" | "error">,
  written: (tokens: number) => JsonObject,
): DataRoute => {
  const body = jsonBody(decode)
  const route: DataRoute = {
    ...{ name: routeName("POST", path), path, form: name, error, takesGoogleKeys: isGoogles(path) },
    receive: (services, incoming) => new CountRequest(services, route, incoming, body, written),
  }
  return route
}

class CountRequest extends DataRequest<ChatRequest> {
  private readonly counted: Body<ChatRequest>
  private readonly written: (tokens: number) => JsonObject

  constructor(
    services: DataServices,
    route: DataRoute,
    incoming: Incoming,
    counted: Body<ChatRequest>,
    written: (tokens: number) => JsonObject,
  ) {
    super(services, route, incoming)
    this.counted = counted
    this.written = written
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
    this.succeed(this.answerJson(this.written(promptTokens(bounds)), { headers }))
  }
}
