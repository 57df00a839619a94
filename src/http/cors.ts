/**
 * Which pages may call us from a browser. Never with credentials, and never key management. See docs/guarantees.md#g31.
 */
import { requestId } from "../domain/ids.ts"
import {
  anthropicRequestIdHeader,
  costHeader,
  droppedHeader,
  generationIdHeader,
  hostHeader,
  idempotencyStatusHeader,
  openaiRequestIdHeader,
  rateLimitHeaders,
  replayedHeader,
  requestIdHeader,
  requestIdHeaders,
  serverTimingHeader,
  shouldRetryHeader,
} from "./headers.ts"

/** The headers of an answer that a page may read. */
const exposed = [
  hostHeader,
  costHeader,
  requestIdHeader,
  openaiRequestIdHeader,
  anthropicRequestIdHeader,
  droppedHeader,
  generationIdHeader,
  replayedHeader,
  idempotencyStatusHeader,
  serverTimingHeader,
  "retry-after",
  shouldRetryHeader,
  ...rateLimitHeaders.map((name) => name.toLowerCase()),
].join(", ")

export type AllowOrigin = (request: Request, response: Response) => Response

/** Adds CORS headers to a response, for the configured origins. */
export const allowOrigin = (origins: ReadonlyArray<string>): AllowOrigin => {
  const everyone = origins.includes("*")
  return (request, response) => {
    // The answer depends on the origin, also when it is absent or refused, and caches must know that.
    if (!everyone) response.headers.append("vary", "origin")
    const origin = request.headers.get("origin")
    if (origin === null || !(everyone || origins.includes(origin))) return response
    const allowed = everyone ? "*" : origin
    response.headers.set("access-control-allow-origin", allowed)
    response.headers.set("access-control-expose-headers", exposed)
    // Without it a browser keeps the times of another origin from its page.
    if (response.headers.has(serverTimingHeader)) response.headers.set("timing-allow-origin", allowed)
    return response
  }
}

/** The answer to a preflight request. */
export const preflight = (allow: AllowOrigin, request: Request): Response => {
  const wanted = request.headers.get("access-control-request-headers")
  const headers = {
    "access-control-allow-methods": "GET, POST, OPTIONS",
    "access-control-allow-headers":
      wanted !== null && /^[\x20-\x7e]{1,1000}$/.test(wanted) ? wanted : "authorization, content-type",
    "access-control-max-age": "86400",
    ...requestIdHeaders(requestId()),
  }
  return allow(request, new Response(null, { status: 204, headers }))
}
