/** The steps of an answer that comes as a whole. */
import type { Failure } from "../../domain/failures/Failure.ts"
import type { Steps } from "../../services/request/Steps.ts"
import { costHeader, costValue } from "../headers.ts"
import { setAnswerHeaders } from "./answerHeaders.ts"
import type { DataServices } from "./DataServices.ts"
import type { Planned } from "./Planned.ts"

export const whole = function* (
  { dispatcher, idempotency, inFlight }: DataServices,
  { form, context, asked, plan, shown, claim }: Planned,
): Steps<Response, Failure> {
  const completed = yield* dispatcher.complete(context, asked.request, plan, asked.answer(context, shown))
  const { body, contentType, charge } = completed
  const response = new Response(body)
  const { headers } = response
  headers.set("content-type", contentType)
  headers.set(costHeader, costValue(charge.cost.total))
  setAnswerHeaders(headers, context, completed, form)
  if (claim !== undefined) {
    const kept = typeof body === "string" ? { headers: Object.fromEntries(headers), body } : undefined
    yield* idempotency.answered(claim, context.generationId, kept)
  }
  inFlight.leave(context.lifetime)
  return response
}
