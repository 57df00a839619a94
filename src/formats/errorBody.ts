/** The error body of the chat format, which legacy completions, embeddings, rerank and the control plane have too. */
import type { Availability } from "../domain/failures/Availability.ts"
import type { Rendered } from "./Rendered.ts"

/** The `error` member of the chat form; `code` equals the status. */
export const chatError = ({ status, errorType, message, metadata, availability }: Rendered) => ({
  message,
  code: status,
  ...(metadata === null ? {} : { metadata: { error_type: errorType, ...metadata } }),
  ...(availability === undefined ? {} : { availability: availabilityBody(availability) }),
})

const availabilityBody = ({ code, retryable, requestedModels, retryAfter, ...more }: Availability) => ({
  code,
  retryable,
  requested_models: requestedModels,
  // A path: the gateway serves the guide at its own address.
  docs_url: `/docs/guide/errors#${code}`,
  retry_after: retryAfter ?? null,
  ...(more.affectedProviders === undefined ? {} : { affected_providers: more.affectedProviders }),
  ...(more.excludedBy === undefined ? {} : { excluded_by: more.excludedBy }),
  ...(more.fallbackModels === undefined ? {} : { fallback_models: more.fallbackModels }),
  ...(more.constraint === undefined ? {} : { constraint: more.constraint }),
})

/** The whole body of the chat form, and of the control plane. */
export const chatErrorBody = (rendered: Rendered) => ({ error: chatError(rendered) })
