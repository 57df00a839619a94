/** One request of the data plane with what its steps share, and the route that it is for. */
import { CallerGone, type Failure } from "../../domain/failures/Failure.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type { AnswerBody } from "../../services/dispatch/AnswerReader.ts"
import type { OpenOutput } from "../../services/dispatch/StreamOutput.ts"
import type { Lifetime } from "../../services/request/RequestContext.ts"
import type { ServedRequest } from "../../services/request/ServedRequest.ts"
import type { Steps } from "../../services/request/Steps.ts"
import type { Rendered } from "../errorBody.ts"
import { attributionText } from "../headers.ts"
import type { DataServices } from "./DataServices.ts"

/** One method of one path. */
export interface DataRoute {
  /** Method and path. */
  readonly name: string
  /** The name of its form; `null`: the request says it. */
  readonly form: string | null
  /** The body of an error, in the form of the route. */
  readonly error: (rendered: Rendered, requestId: string) => JsonObject
  /** The steps from a request to its response. */
  readonly respond: (services: DataServices, request: DataRequest) => Steps<Response, Failure>
}

export class DataRequest {
  readonly served: ServedRequest
  readonly route: DataRoute
  readonly http: Request
  readonly output: OpenOutput
  /** Whether its answer is a stream that has begun, which ends the request when it is over. */
  isStreamed = false
  /** The routing metadata, for an error. Set once there is a plan, for callers who ask for it. */
  metadata: (() => JsonObject) | undefined
  /** Polled (`InFlight`), since listening to the request's own signal is expensive. `undefined`: the signal is all there is. */
  private readonly isCallerGone: (() => boolean) | undefined

  constructor(
    served: ServedRequest,
    route: DataRoute,
    http: Request,
    output: OpenOutput,
    isCallerGone: (() => boolean) | undefined,
  ) {
    this.served = served
    this.route = route
    this.http = http
    this.output = output
    this.isCallerGone = isCallerGone
    if (served.observed !== undefined) served.observed.app = attributionOf(http.headers)
  }

  /** From now on the request is ended when its caller leaves. */
  admitted(lifetime: Lifetime): void {
    this.served.lifetime = lifetime
    if (this.isCallerGone === undefined) listen(this.http, lifetime)
    else lifetime.isCallerGone = this.isCallerGone
  }

  /** An answer that is not a stream. */
  answer(body: AnswerBody, init?: ResponseInit): Response {
    this.served.observed?.wrote(body)
    return new Response(body, init)
  }

  /** The same of JSON. */
  answerJson(value: object, init: ResponseInit & { readonly headers: Record<string, string> }): Response {
    const headers = { "content-type": "application/json;charset=utf-8", ...init.headers }
    return this.answer(JSON.stringify(value), { ...init, headers })
  }
}

export const attributionOf = (headers: Headers) => ({
  appTitle: attributionText(
    headers.get("x-router-title") ?? headers.get("x-openrouter-title") ?? headers.get("x-title"),
  ),
  appUrl: attributionText(headers.get("http-referer")),
})

/** Ends the request when its caller leaves, or at once if it has left already. */
const listen = ({ signal }: Request, lifetime: Lifetime): void => {
  const gone = () => lifetime.end(new CallerGone())
  signal.addEventListener("abort", gone, { once: true })
  // A signal that was aborted before does not fire the event again.
  if (signal.aborted) gone()
}
