/** What errors of the Responses form mean that come with status 200: in the response, or as an event. */
import type { HostFailed } from "../../domain/failures/Failure.ts"
import { isJsonObject } from "../../domain/json/json.ts"
import { errorInBody } from "../httpError.ts"

/** Codes that speak of an image in the request, some of which sound like a file or page that is missing. */
const ofRequest = /image|policy|invalid_prompt/

export const responsesFailure = (error: unknown): HostFailed => {
  const failure = errorInBody(error)
  if (failure.code === undefined || !ofRequest.test(failure.code) || failure.reason === "request") return failure
  const message = isJsonObject(error) ? error["message"] : undefined
  return failure.with({ reason: "request", ...(typeof message === "string" ? { detail: message } : {}) })
}
