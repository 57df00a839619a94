/** The steps from a request to its response, as the handlers of the data plane run them. */
import type { Failure } from "../../domain/failures/Failure.ts"
import type { JsonObject } from "../../domain/json/Json.ts"
import type { OpenOutput } from "../../services/dispatch/StreamOutput.ts"
import type { Lifetime } from "../../services/request/RequestContext.ts"
import type { Steps } from "../../services/request/Steps.ts"
import type { ClientProtocol } from "./ClientProtocol.ts"

/** State of one request, from its first byte on. */
export interface RequestState {
  readonly requestId: string
  /** Set at admission. A failure gives the place back. */
  lifetime: Lifetime | undefined
  /** Set once there is a plan. */
  generationId: string | undefined
  /** The routing metadata, for an error. Set once there is a plan, for callers who ask for it. */
  metadata: (() => JsonObject) | undefined
}

/** `Spoken`: what it needs of the form. */
export type Respond<Spoken = ClientProtocol> = (
  protocol: Spoken,
  state: RequestState,
  request: Request,
  watchCaller: (lifetime: Lifetime) => void,
  output: OpenOutput,
) => Steps<Response, Failure>
