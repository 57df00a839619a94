/** The steps of an answer that comes as a stream, up to its head. */
import type { Failure } from "../../domain/failures/Failure.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import type { WriterFor } from "../../services/dispatch/StreamWriter.ts"
import type { EndFailure, ServedRequest } from "../../services/request/ServedRequest.ts"
import type { Steps } from "../../services/request/Steps.ts"
import { setAnswerHeaders } from "./answerHeaders.ts"
import type { DataRequest } from "./DataRequest.ts"
import type { DataServices } from "./DataServices.ts"
import type { Planned } from "./Planned.ts"

export const streamed = function* (
  services: DataServices,
  request: DataRequest,
  { form, context, plan }: Planned,
  asked: ChatRequest,
  writerFor: WriterFor,
): Steps<Response, Failure> {
  const closed = ending(services, request.served)
  const { body, answering } = yield* services.dispatcher.stream(context, asked, plan, writerFor, request.output, closed)
  request.isStreamed = true
  // From here on the stream itself reports that its reader has left.
  context.lifetime.isCallerGone = undefined
  const response = new Response(body)
  response.headers.set("content-type", "text/event-stream")
  response.headers.set("cache-control", "no-cache")
  setAnswerHeaders(response.headers, context, answering, form)
  return response
}

/**
 * Ends the request when its stream is over. A function outside of the steps: a closure made within a generator keeps all of its variables,
 * the prompt too.
 */
const ending =
  ({ ends, runner }: DataServices, served: ServedRequest) =>
  (failure?: EndFailure): void => {
    runner.effect(ends.end(served, 200, failure), () => {})
  }
