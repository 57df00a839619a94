/** The steps of an answer that comes as a stream, up to its head. */
import type { Failure } from "../../domain/failures/Failure.ts"
import type { ChatRequest } from "../../domain/request/Request.ts"
import type { OpenOutput } from "../../services/dispatch/StreamOutput.ts"
import type { WriterFor } from "../../services/dispatch/StreamWriter.ts"
import type { Claim } from "../../services/request/Idempotency.ts"
import type { Lifetime } from "../../services/request/RequestContext.ts"
import type { Steps } from "../../services/request/Steps.ts"
import { setAnswerHeaders } from "./answerHeaders.ts"
import type { DataServices } from "./DataServices.ts"
import type { Planned } from "./Planned.ts"

export const streamed = function* (
  services: DataServices,
  { form, context, plan, claim }: Planned,
  request: ChatRequest,
  writerFor: WriterFor,
  output: OpenOutput,
): Steps<Response, Failure> {
  const { lifetime } = context
  const closed = claim === undefined ? leaving(services, lifetime) : leavingOnceEnded(services, lifetime, claim)
  const { body, answering } = yield* services.dispatcher.stream(context, request, plan, writerFor, output, closed)
  // From here on the stream itself reports that its reader has left.
  lifetime.isCallerGone = undefined
  const response = new Response(body)
  response.headers.set("content-type", "text/event-stream")
  response.headers.set("cache-control", "no-cache")
  setAnswerHeaders(response.headers, context, answering, form)
  return response
}

/** A function outside of the steps: a closure made within a generator keeps all of its variables, the prompt too. */
const leaving =
  ({ inFlight }: DataServices, lifetime: Lifetime) =>
  () =>
    inFlight.leave(lifetime)

/** The place is kept until the outcome is, so that a drain waits for it. */
const leavingOnceEnded =
  ({ runner, idempotency, inFlight }: DataServices, lifetime: Lifetime, claim: Claim) =>
  () => {
    runner.effect(idempotency.ended(claim), () => inFlight.leave(lifetime))
  }
