/** The steps of an answer that comes as a whole. */
import type { Failure } from "../../domain/failures/Failure.ts"
import type { Steps } from "../../services/request/Steps.ts"
import { costHeader, costValue } from "../headers.ts"
import { setAnswerHeaders } from "./answerHeaders.ts"
import type { DataRequest } from "./DataRequest.ts"
import type { DataServices } from "./DataServices.ts"
import type { Planned } from "./Planned.ts"

export const whole = function* (
  services: DataServices,
  request: DataRequest,
  planned: Planned,
): Steps<Response, Failure> {
  const { form, context, asked, plan, shown } = planned
  const completed = yield* services.dispatcher.complete(context, asked.request, plan, asked.answer(context, shown))
  const { text, bytes, contentType = "application/json", charge } = completed
  const response = request.answer(bytes ?? text)
  const { headers } = response
  headers.set("content-type", contentType)
  headers.set(costHeader, costValue(charge.cost.total))
  setAnswerHeaders(headers, context, completed, form)
  const { served } = request
  // An answer that is no text is not kept: a repeated request is told that.
  if (served.claim !== undefined && bytes === undefined) {
    served.kept = { headers: Object.fromEntries(headers), body: text }
  }
  return response
}
