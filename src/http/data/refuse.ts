/** The answer to a request that failed. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Failure } from "../../domain/failures/Failure.ts"
import { defect, render } from "../errorBody.ts"
import { generationIdHeader, notSniffed, requestIdHeaders } from "../headers.ts"
import type { DataRequest } from "./DataRequest.ts"
import type { DataServices } from "./DataServices.ts"

/** Every failure becomes the error body of its form, a defect a 500 that says nothing more. */
export const refuse = ({ runner }: DataServices, request: DataRequest, cause: Cause.Cause<Failure>): Response => {
  const { route, served, metadata } = request
  const { requestId, context, lifetime } = served
  // What is left of an incomplete body must not be taken for the next request.
  const closing = lifetime?.isReading === true ? { connection: "close" } : {}
  const failure = Cause.failureOption(cause)
  if (Option.isNone(failure)) {
    runner.effect(Effect.logError("a defect while answering", { requestId }, cause), () => {})
  }
  const rendered = Option.match(failure, { onSome: render, onNone: () => defect })
  const body = route.error(rendered, requestId)
  const shown = Option.isSome(failure) ? metadata?.() : undefined
  const ids = { ...requestIdHeaders(requestId), ...(context && { [generationIdHeader]: context.generationId }) }
  return request.answerJson(shown === undefined ? body : { ...body, openrouter_metadata: shown }, {
    status: rendered.status,
    headers: { "content-type": "application/json", ...notSniffed, ...rendered.headers, ...closing, ...ids },
  })
}
