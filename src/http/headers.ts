/** Names and values of the headers that only this service has. */

import { withoutControls } from "../domain/json/plainText.ts"
import { withoutKeys } from "../domain/json/redaction.ts"
import { formatUsd, type Picodollars } from "../domain/price/money.ts"
import { queryOf } from "../formats/Target.ts"

/** On every error: what a caller sent may stand in its message, and no browser takes JSON for a page. */
export const notSniffed = { "x-content-type-options": "nosniff" } as const

/** On every response, errors too. */
export const requestIdHeader = "x-gw-request-id"
/** The same value where the SDKs of OpenAI and of Anthropic read it. The first is in a request the caller's own id. */
export const openaiRequestIdHeader = "x-request-id"
export const anthropicRequestIdHeader = "request-id"

export const setRequestId = (headers: Headers, id: string): void => {
  headers.set(requestIdHeader, id)
  headers.set(openaiRequestIdHeader, id)
  headers.set(anthropicRequestIdHeader, id)
}

export const requestIdHeaders = (id: string) => ({
  [requestIdHeader]: id,
  [openaiRequestIdHeader]: id,
  [anthropicRequestIdHeader]: id,
})

const safeId = /^[\w.:/+=@~-]{1,128}$/

/** The caller's own id of a request, for log and ledger; "" for none, one that is longer, or has other characters. */
export const callerRequestId = (headers: Headers): string => {
  const value = headers.get(openaiRequestIdHeader)
  return value !== null && safeId.test(value) ? withoutKeys(value) : ""
}
/** In a response: tag of the host that answered. In a request: pins that host. */
export const hostHeader = "x-gw-host"
/** In a request: the caller's name for the conversation, as `session_id` of the body, which comes first. */
export const sessionHeader = "x-session-id"
/**
 * The same as agents send it: Claude Code; Codex and pi, in two spellings; opencode and pi
 * (router-for-me/CLIProxyAPI#4452 and theopenco/llmgateway#3011, 2026-07; router-for-me/CLIProxyAPI#5833, 2026-09).
 */
export const agentSessionHeaders = [
  "x-claude-code-session-id",
  "session-id",
  "session_id",
  "x-session-affinity",
] as const
/** In a request: the app that sends it, by its title, the first that is there; and by its address. */
export const titleHeaders = ["x-router-title", "x-openrouter-title", "x-title"] as const
export const refererHeader = "http-referer"
/** In a request, with the value `enabled`: the answer says how it was routed. The second name is an older one. */
export const metadataHeaders = ["x-openrouter-metadata", "x-openrouter-experimental-metadata"] as const
/** On whole responses; a stream has its cost in the finish chunk. */
export const costHeader = "x-gw-cost-usd"
/** On whole responses, where the operator wants it: what their time was spent on. */
export const serverTimingHeader = "server-timing"
export const generationIdHeader = "x-generation-id"
/** Members of the request that were not sent to the host. */
export const droppedHeader = "x-gw-dropped"

/** Of a page of requests as CSV: `next` and `position` of the same page as JSON. */
export const pageHeaders = ["x-gw-next", "x-gw-position"] as const

/** Of a backup: its bytes, and its SHA-256 as RFC 9530 writes it. A streamed answer has no content-length. */
export const backupSizeHeader = "x-gw-size"
export const backupDigestHeader = "repr-digest"

/** On an error: `false` where repeating the request helps nobody, `true` where it helps and a client would not. */
export { shouldRetryHeader } from "../formats/Rendered.ts"

/** In a request: makes it safe to send again. In the answer that is sent again: `true`. */
export const idempotencyHeader = "Idempotency-Key"
export const replayedHeader = "idempotent-replayed"
/** `not-kept`: a repeated request will not get this answer. */
export const idempotencyStatusHeader = "idempotency-status"

/**
 * On a 429 for a limit of ours: requests in the window, what is left of them, and when a request is admitted again
 * (Unix milliseconds). Its body names them in this spelling.
 */
export const rateLimitHeaders = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"] as const

export const costValue = (cost: Picodollars): string => formatUsd(cost)

const visible = /^[\x20-\x7e]{1,200}$/

/** Whether a text is safe as the value of a response header. */
export const isHeaderSafe = (value: string): boolean => visible.test(value)

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** The server gives each byte of a header as one character. Most callers send UTF-8. */
const asUtf8 = (value: string): string => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII.
  if (/^[\u0000-\u007f]*$/.test(value) || /[^\u0000-\u00ff]/.test(value)) return value
  try {
    return utf8.decode(Buffer.from(value, "latin1"))
  } catch {
    return value
  }
}

/**
 * A caller's text for the record: on one line, without characters that a terminal would obey, cut to 200 characters.
 */
export const attributionText = (value: string | null): string =>
  value === null ? "" : withoutKeys(withoutControls(asUtf8(value), "")).slice(0, 200)

/** The key of a request of Google's form, from `x-goog-api-key`, else from the query; `undefined` for none. */
export const googleKey = (headers: Headers, url: string): string | undefined =>
  headers.get("x-goog-api-key") || queryOf(url).get("key") || undefined

/**
 * The key of a request, from `Authorization: Bearer …`, else `x-api-key`; `undefined` for none, "" for a malformed one.
 */
export const presentedKey = (headers: Headers): string | undefined => {
  const authorization = headers.get("authorization")
  if (authorization === null) return headers.get("x-api-key") ?? undefined
  return /^bearer +(\S+) *$/i.exec(authorization)?.[1] ?? ""
}
