/** One HTTP request from its first byte to its end: what is known of it so far, and what it holds until then. */
import type { Failure } from "../../domain/failures/Failure.ts"
import { requestId } from "../../domain/ids.ts"
import type { KeyRecord } from "../../domain/keys/key.ts"
import type { Claim, KeptAnswer } from "./Idempotency.ts"
import type { Observation } from "./Observation.ts"
import type { Lifetime, RequestContext, RunningRequest } from "./RequestContext.ts"

/** Why a request failed. `defect`: a fault of ours, which was logged. */
export type EndFailure = Failure | "defect"

const noModels: ReadonlyArray<string> = []

/** Made by `RequestEnds.begin`, and ended by `RequestEnds.end`. It does not refer to the request's body. */
export class ServedRequest implements RunningRequest {
  readonly requestId = requestId()
  /** Method and path, as `POST /api/v1/chat/completions`, without what an embedder puts in front of it. */
  readonly route: string
  /** The client's form, where the route has one and it is known. */
  form: string | null
  /** Only where somebody observes. */
  readonly observed: Observation | undefined
  /** Its place among the running requests, from its admission on. The control plane's requests have none. */
  lifetime: Lifetime | undefined
  /** Once the caller is known. */
  key: KeyRecord | undefined
  /** Names of the models that it asks for, once it is decoded. */
  models = noModels
  /** Whether its answer is asked for as a stream, once it is decoded. */
  isStreamed = false
  /** Once it has a plan. */
  context: RequestContext | undefined
  /** Of a request that is carried out once. */
  claim: Claim | undefined
  /** What a repeated request is answered with. Set with a whole answer of a request that has a claim. */
  kept: KeptAnswer | undefined
  isOver = false

  constructor(route: string, form: string | null, observed: Observation | undefined) {
    this.route = route
    this.form = form
    this.observed = observed
  }
}
