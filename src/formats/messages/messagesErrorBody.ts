/** Error bodies of the Messages format. */
import { objectsIn } from "../../domain/json/json.ts"
import type { Rendered } from "../Rendered.ts"

const messagesTypes: Readonly<Record<string, string>> = {
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
}

/** What Anthropic's SDKs read to go on without a thread (`unsupportedRequestBehavior`; 1.11, lib/internal/threads/ThreadState.ts). */
const noThreads = { error_code: "thread_unsupported_request", unsupported: ["thread"] }

/** The whole body of the Messages form. It has no metadata but what a program has to read to mend its request. */
export const messagesErrorBody = (rendered: Rendered, requestId: string) => {
  const { errorType, metadata, inMessages: message = rendered.message } = rendered
  const type = messagesTypes[errorType] ?? "api_error"
  const { affordable_tokens: affordable, cost } = metadata ?? {}
  const own = {
    ...(affordable !== undefined && { affordable_tokens: affordable }),
    ...(cost !== undefined && { cost }),
  }
  const more = affordable === undefined && cost === undefined ? {} : { metadata: own }
  const isThreaded = objectsIn(metadata?.["issues"]).some(({ path }) => path === "thread")
  const details = isThreaded ? { details: noThreads } : {}
  return { type: "error", error: { type, message, error_type: errorType, ...details, ...more }, request_id: requestId }
}
