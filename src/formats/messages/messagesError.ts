/** Errors in the Messages format: the bodies that clients get, and what those of hosts mean. */
import type { HostFailed } from "../../domain/failures/Failure.ts"
import type { HostReason } from "../../domain/failures/HostReason.ts"
import { isJsonObject, objectIn, objectsIn } from "../../domain/json/json.ts"
import { isTooLong } from "../../domain/routing/RefusedModels.ts"
import type { ResponseHeaders } from "../../wire/head.ts"
import { errorInBody, httpError } from "../httpError.ts"
import type { Rendered } from "../Rendered.ts"

/** The form's word for each of our types of error. Default: `api_error`. */
const words: Readonly<Record<string, string>> = {
  authentication: "authentication_error",
  permission_denied: "permission_error",
  payment_required: "billing_error",
  not_found: "not_found_error",
  rate_limit_exceeded: "rate_limit_error",
  provider_overloaded: "overloaded_error",
  overloaded: "overloaded_error",
  draining: "overloaded_error",
  timeout: "timeout_error",
  idempotency_key_reused: "invalid_request_error",
  idempotency_answer_not_kept: "invalid_request_error",
  idempotency_in_progress: "rate_limit_error",
  payload_too_large: "invalid_request_error",
  invalid_request: "invalid_request_error",
  context_length_exceeded: "invalid_request_error",
  content_policy_violation: "invalid_request_error",
  too_many_tools: "invalid_request_error",
  unsupported_operation: "invalid_request_error",
  unsupported_feature: "invalid_request_error",
}

/** What a host means by its words. They are more specific than the status. */
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

/**
 * What Anthropic's SDKs read to go on without a thread (`unsupportedRequestBehavior`; 1.11,
 * lib/internal/threads/ThreadState.ts).
 */
const noThreads = { error_code: "thread_unsupported_request", unsupported: ["thread"] }

/** The whole body of the Messages form. It has no metadata but what a program has to read to mend its request. */
export const messagesErrorBody = (rendered: Rendered, requestId: string) => {
  const { errorType, metadata, inMessages: message = rendered.message } = rendered
  const { affordable_tokens: affordable, cost } = metadata ?? {}
  const isThreaded = objectsIn(metadata?.["issues"]).some(({ path }) => path === "thread")
  const own = {
    ...(affordable !== undefined && { affordable_tokens: affordable }),
    ...(cost !== undefined && { cost }),
  }
  const error = {
    type: words[errorType] ?? "api_error",
    message,
    error_type: errorType,
    ...(isThreaded && { details: noThreads }),
    ...((affordable !== undefined || cost !== undefined) && { metadata: own }),
  }
  return { type: "error", error, request_id: requestId }
}

/** An answer whose status is not 200. */
export const messagesHttpError = (status: number, headers: ResponseHeaders, body: unknown): HostFailed =>
  inItsWords(httpError(status, headers, body), objectIn(body)["error"])

/** An `error` object in an answer with status 200, or in an event of a stream. */
export const messagesErrorInBody = (error: unknown): HostFailed => inItsWords(errorInBody(error), error)

const inItsWords = (failure: HostFailed, error: unknown): HostFailed => {
  // A sentence about the account is more specific than the type: a spend limit is an `invalid_request_error`. So is one
  // about the length of the prompt, which servers report in a stream as an `api_error`.
  if (!isJsonObject(error) || failure.reason === "account" || isTooLong(failure)) return failure
  const reason = reasons.get(error["type"]) ?? failure.reason
  if (reason === failure.reason) return failure
  // The caller may see what is wrong with the request, but nothing about our account or the host's state.
  return failure.with(reason === "rate-limited" ? { reason } : { reason, detail: undefined })
}
