/** The meaning of Cohere's errors: "Errors (status codes and description)" of its documentation, read in 2026-11. */
import { HostFailed, type HostReason, httpError, objectIn, type ResponseHeaders } from "headgate/plugin"

const reasons: ReadonlyMap<number, HostReason> = new Map([
  // The request or its answer was found harmful.
  [498, "forbidden"],
  // It was cancelled, though we did not.
  [499, "overloaded"],
])

const tooLong = /^too many tokens: (?!max tokens)/i

/** An answer whose status is not 200. Its body has `message`, and sometimes `error_type`. */
export const cohereHttpError = (status: number, headers: ResponseHeaders, body: unknown): HostFailed => {
  const failure = httpError(status, headers, body)
  const reason = reasons.get(status) ?? failure.reason
  const { error_type: type, message } = objectIn(body)
  const isTooLong = reason === "request" && typeof message === "string" && tooLong.test(message)
  const word = typeof type === "string" && type !== "" ? type : failure.code
  const code = isTooLong ? "context_length_exceeded" : word
  const isShown = reason === "request" || reason === "rate-limited"
  return failure.with({ reason, ...(code === undefined ? {} : { code }), ...(isShown ? {} : { detail: undefined }) })
}

/** An answer that says itself that it broke off. `native`: its finish reason. */
export const brokenOff = (native: string): HostFailed =>
  new HostFailed({ reason: native === "TIMEOUT" ? "timeout" : "overloaded", code: native })
