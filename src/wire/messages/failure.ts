/** What Anthropic's errors mean. Its own word for an error says more than the status it came with. G10. */
import { HostFailed, type HostReason } from "../../domain/Failure.ts"
import { isJsonObject } from "../../domain/Json.ts"
import { errorInBody, httpError } from "../httpError.ts"

const reasons: ReadonlyMap<unknown, HostReason> = new Map<unknown, HostReason>([
  ["invalid_request_error", "request"],
  ["request_too_large", "request"],
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
export const messagesHttpError = (status: number, headers: Headers, body: unknown): HostFailed =>
  inItsWords(httpError(status, headers, body), isJsonObject(body) ? body["error"] : undefined)

/** An `error` object within an answer that began well. */
export const messagesErrorInBody = (error: unknown): HostFailed => inItsWords(errorInBody(error), error)

const inItsWords = (failure: HostFailed, error: unknown): HostFailed => {
  if (!isJsonObject(error)) return failure
  const { type, message } = error
  // An empty purse is an invalid request in the host's eyes; the caller has no part in it.
  const outOfCredit = typeof message === "string" && /credit balance is too low/i.test(message)
  const reason = outOfCredit ? "account" : (reasons.get(type) ?? failure.reason)
  if (reason === failure.reason) return failure
  const { status, code, detail, retryAfterSeconds } = failure
  // What is said of our account, or of the host's troubles, is not the caller's to read.
  const shown = reason === "request" || reason === "rate-limited"
  return new HostFailed({
    reason,
    ...(status === undefined ? {} : { status }),
    ...(code === undefined ? {} : { code }),
    ...(detail === undefined || !shown ? {} : { detail }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  })
}
