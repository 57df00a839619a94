/** One request of the data plane, from its first byte on, and what is known of it so far. */
import { CallerGone, type Failure } from "../../domain/failures/Failure.ts"
import { requestId } from "../../domain/Ids.ts"
import type { JsonObject } from "../../domain/json/Json.ts"
import type { KeyRecord } from "../../domain/keys/Key.ts"
import type { OpenOutput } from "../../services/dispatch/StreamOutput.ts"
import type { Lifetime } from "../../services/request/RequestContext.ts"
import type { Steps } from "../../services/request/Steps.ts"
import type { Rendered } from "../ErrorBody.ts"
import type { DataServices } from "./DataServices.ts"

/** One method of one path. */
export interface DataRoute {
  /** The body of an error, in the form of the route. */
  readonly error: (rendered: Rendered, requestId: string) => JsonObject
  /** The steps from a request to its response. */
  readonly respond: (services: DataServices, request: DataRequest) => Steps<Response, Failure>
}

export class DataRequest {
  readonly requestId = requestId()
  readonly route: DataRoute
  readonly http: Request
  readonly output: OpenOutput
  /** Set at admission. A failure gives the place back. */
  lifetime: Lifetime | undefined
  /** Set once the caller is known. */
  key: KeyRecord | undefined
  /** Set once there is a plan. */
  generationId: string | undefined
  /** The routing metadata, for an error. Set once there is a plan, for callers who ask for it. */
  metadata: (() => JsonObject) | undefined
  /** Polled (`InFlight`), since listening to the request's own signal is expensive. `undefined`: the signal is all there is. */
  private readonly isCallerGone: (() => boolean) | undefined

  constructor(route: DataRoute, http: Request, output: OpenOutput, isCallerGone: (() => boolean) | undefined) {
    this.route = route
    this.http = http
    this.output = output
    this.isCallerGone = isCallerGone
  }

  /** From now on the request is ended when its caller leaves. */
  admitted(lifetime: Lifetime): void {
    this.lifetime = lifetime
    if (this.isCallerGone === undefined) listen(this.http, lifetime)
    else lifetime.isCallerGone = this.isCallerGone
  }
}

/** Ends the request when its caller leaves, or at once if it has left already. */
const listen = ({ signal }: Request, lifetime: Lifetime): void => {
  const gone = () => lifetime.end(new CallerGone())
  signal.addEventListener("abort", gone, { once: true })
  // A signal that was aborted before does not fire the event again.
  if (signal.aborted) gone()
}
