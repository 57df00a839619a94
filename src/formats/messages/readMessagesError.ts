/** The meaning of Anthropic's errors. The error's type is more specific than the status. */
import type { HostFailed } from "../../domain/failures/Failure.ts"
import type { HostReason } from "../../domain/failures/HostReason.ts"
import { isJsonObject } from "../../domain/json/json.ts"
import type { ResponseHeaders } from "../../wire/head.ts"
import { errorInBody, httpError } from "../httpError.ts"

const reasons: ReadonlyMap<unknown, HostReason> = new Map<unknown, HostReason>([
  ["authentication_error", "account"],
  ["billing_error", "account"],
  ["permission_error", "forbidden"],
  ["not_found_error", "not-found"],
  ["rate_limit_error", "rate-limited"],
  ["timeout_error", "timeout"],
  ["api_error", "overloaded"],
  ["overloaded_error", "overloaded"],
])

/** An answer whose status is not 200. */
export const messagesHttpError = (status: number, headers: ResponseHeaders, body: unknown): HostFailed =>
  inItsWords(httpError(status, headers, body), isJsonObject(body) ? body["error"] : undefined)

/** An `error` object in an answer with status 200, or in an event of a stream. */
export const messagesErrorInBody = (error: unknown): HostFailed => inItsWords(errorInBody(error), error)

const inItsWords = (failure: HostFailed, error: unknown): HostFailed => {
  // A sentence about the account is more specific than the type: a spend limit is an `invalid_request_error`.
  if (!isJsonObject(error) || failure.reason === "account") return failure
  const reason = reasons.get(error["type"]) ?? failure.reason
  if (reason === failure.reason) return failure
  // The caller may see what is wrong with the request, but nothing about our account or the host's state.
  return failure.with(reason === "rate-limited" ? { reason } : { reason, detail: undefined })
}
