/** Errors of the Responses form: the body that a client gets, and what hosts mean that write one with status 200. */
import type { HostFailed } from "../../domain/failures/Failure.ts"
import { isJsonObject } from "../../domain/json/json.ts"
import { chatError } from "../errorBody.ts"
import { errorInBody } from "../httpError.ts"
import type { Rendered } from "../Rendered.ts"

/** The whole body: that of the chat form, with the error type where clients of this form look for it. */
export const responsesErrorBody = (rendered: Rendered) => ({
  error: { ...chatError(rendered), type: rendered.errorType },
})

/** Codes that speak of an image in the request, some of which sound like a file or page that is missing. */
const ofRequest = /image|policy|invalid_prompt/

/** The failure that an error is: in a response object, or an event. */
export const responsesFailure = (error: unknown): HostFailed => {
  const failure = errorInBody(error)
  if (failure.code === undefined || !ofRequest.test(failure.code) || failure.reason === "request") return failure
  const message = isJsonObject(error) ? error["message"] : undefined
  return failure.with({ reason: "request", ...(typeof message === "string" ? { detail: message } : {}) })
}
