/** The default meaning of a host's errors. Plugins change it with `HostFailed.with`. */
import { HostFailed } from "../domain/failures/Failure.ts"
import { type HostReason, isHostReason } from "../domain/failures/HostReason.ts"
import { tooLargeForLimit } from "../domain/failures/Verdict.ts"
import { isJsonObject } from "../domain/json/json.ts"
import type { ResponseHeaders } from "./head.ts"

/**
 * The failure for an HTTP answer with another status than 200. `body` is parsed JSON, or text where it is not JSON. The
 * host's code and, where it helps the caller, its message are taken from it. `reasons`: what the host's own codes mean.
 */
export const httpError = (
  status: number,
  headers: ResponseHeaders,
  body: unknown,
  reasons: HostReasons = {},
): HostFailed => {
  const error = errorMember(body)
  const code = codeOf(error)
  const own = ownReason(code, status, reasons)
  const isShown = own === undefined ? shown(status) : helps(own)
  const detail = isShown ? detailOf(error) : undefined
  const isTooLarge = status === 429 && detail !== undefined && tooLarge.test(detail)
  return failed({
    reason: own ?? reasonOf(status),
    status,
    code: isTooLarge ? tooLargeForLimit : code,
    detail,
    retryAfterSeconds: own === "account" ? undefined : waitOf(status, headers),
  })
}

/**
 * OpenAI's 429 for one request that is above the limit of tokens per minute, whose code is that of any rate limit: "Request too
 * large for gpt-4.1 ... on tokens per min (TPM): Limit 30000, Requested 37313." As users quote it, such as in
 * github.com/continuedev/continue/issues/11717 (2026-03).
 */
const tooLarge = /^request too large\b/i

/** What a host's own error codes (`HostFailed.code`) mean, or statuses that mean something else there: `{ "412": "account" }`. */
export type HostReasons = Readonly<Record<string, HostReason>>

/** `httpError` for a host whose own error codes mean these things. For `Provider.error`. */
export const httpErrorWith =
  (reasons: HostReasons) =>
  (status: number, headers: ResponseHeaders, body: unknown): HostFailed =>
    httpError(status, headers, body, reasons)

const ownReason = (
  code: string | undefined,
  status: number | undefined,
  reasons: HostReasons,
): HostReason | undefined => {
  const named = [code, String(status)].find((name) => name !== undefined && Object.hasOwn(reasons, name))
  return named === undefined ? undefined : reasons[named]
}

/** Whether the host's message helps the caller to fix the request, and reveals nothing about our account. */
const helps = (reason: HostReason): boolean => reason === "request" || reason === "rate-limited"

const waitOf = (status: number, headers: ResponseHeaders): number | undefined => {
  if (status === 429) return retryAfter(headers)
  if (status < 500 || headers.get("retry-after") === null) return undefined
  return retryAfter(headers) ?? unreadableWait
}

/**
 * The failure for an error object that came with status 200, as a body or as an event: by its numeric code or status,
 * else by known words in it, else `overloaded`.
 */
export const errorInBody = (error: unknown, reasons: HostReasons = {}): HostFailed => {
  const status = numericStatus(error)
  const code = codeOf(error)
  const common = status === undefined ? (knownReason(error) ?? "overloaded") : reasonOf(status)
  const reason = ownReason(code, status, reasons) ?? common
  return failed({
    reason,
    status,
    code,
    detail: helps(reason) ? detailOf(error) : undefined,
    retryAfterSeconds: undefined,
  })
}

/**
 * The failure of an answer that is none: HTML, `null`, no choices, an event of another protocol. Where the host has a word
 * for what went wrong, `malformed().with({ code })` carries it to the log.
 */
export const malformed = (): HostFailed => new HostFailed({ reason: "malformed" })

const reasonOf = (status: number): HostReason => {
  if (status >= 500) return "overloaded"
  switch (status) {
    case 401:
    case 402:
      return "account"
    case 403:
      return "forbidden"
    case 404:
      return "not-found"
    case 408:
      return "timeout"
    case 429:
      return "rate-limited"
    default:
      return status >= 400 ? "request" : "malformed"
  }
}

/** Statuses whose message helps the caller to fix the request, and reveals nothing about our account. */
const shown = (status: number): boolean => status === 400 || status === 413 || status === 422 || status === 429

/** Parts of vendors' error codes and types, the more specific ones first. */
const knownWords: ReadonlyArray<readonly [part: string, reason: HostReason]> = [
  ["insufficient_quota", "account"],
  ["insufficient_balance", "account"],
  ["billing", "account"],
  ["payment", "account"],
  ["authentication", "account"],
  ["unauthenticated", "account"],
  ["unauthorized", "account"],
  ["api_key", "account"],
  ["rate_limit", "rate-limited"],
  ["ratelimit", "rate-limited"],
  ["too_many_requests", "rate-limited"],
  ["resource_exhausted", "rate-limited"],
  ["throttling", "rate-limited"],
  ["permission", "forbidden"],
  ["forbidden", "forbidden"],
  ["not_found", "not-found"],
  ["timeout", "timeout"],
  ["deadline_exceeded", "timeout"],
  ["overloaded", "overloaded"],
  ["unavailable", "overloaded"],
  ["server_error", "overloaded"],
  ["internal", "overloaded"],
  ["context_length", "request"],
  ["context_size", "request"],
  ["prompt_tokens", "request"],
  ["too_large", "request"],
  ["content_filter", "request"],
  ["content_policy", "request"],
  ["tool_use_failed", "request"],
  ["bad_request", "request"],
  ["invalid", "request"],
]

const knownReason = (error: unknown): HostReason | undefined => {
  for (const word of wordsOf(error)) {
    const small = word.toLowerCase()
    const known = knownWords.find(([part]) => small.includes(part))
    if (known !== undefined) return known[1]
  }
  return undefined
}

/** Names of the error, the most specific first. */
const wordsOf = (error: unknown): ReadonlyArray<string> => {
  if (typeof error === "string") return [error]
  if (!isJsonObject(error)) return []
  const { code, reason, type, status } = error
  return [code, reason, type, status].filter((word) => typeof word === "string" && word !== "").map(String)
}

const numericStatus = (error: unknown): number | undefined => {
  if (!isJsonObject(error)) return undefined
  for (const name of ["code", "status", "status_code", "http_status"]) {
    const value = error[name]
    const number = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value
    if (typeof number === "number" && Number.isInteger(number) && number >= 400 && number < 600) return number
  }
  return undefined
}

/**
 * The error object: `error` in most bodies, else the first of `errors` (Cloudflare), else the body itself. xAI writes the
 * message alone in `error`, with the code beside it.
 */
const errorMember = (body: unknown): unknown => {
  if (!isJsonObject(body)) return body
  const { error, errors, code } = body
  if (typeof error === "string") return code == null ? error : { code, message: error }
  if (error != null) return error
  return Array.isArray(errors) && isJsonObject(errors[0]) ? errors[0] : body
}

const longestCode = 100

/** The code as text: a word where the host has one, else its number. */
const codeOf = (error: unknown): string | undefined => {
  if (!isJsonObject(error)) return undefined
  const words = wordsOf(error)
  const word = words.find((one) => !/^\d+$/.test(one)) ?? words[0]
  const code = word ?? (typeof error["code"] === "number" ? String(error["code"]) : undefined)
  return code === undefined ? undefined : clean(code, longestCode)
}

const longestDetail = 1024

/** The failure with a detail and a code that may be shown: cut, and without control characters. */
export const showable = (given: HostFailed): HostFailed => {
  // A value that is no reason says nothing about the host: it is the plugin's mistake.
  const failure = isHostReason(given.reason) ? given : given.with({ reason: "plugin" })
  const { detail, code } = failure
  const [fineDetail, fineCode] = [cleanText(detail, longestDetail), cleanText(code, longestCode)]
  return detail === fineDetail && code === fineCode ? failure : failure.with({ detail: fineDetail, code: fineCode })
}

/** A plugin in JavaScript may put anything in the place of a text. */
const cleanText = (text: unknown, longest: number): string | undefined => {
  const cleaned = typeof text === "string" ? clean(text, longest) : ""
  return cleaned === "" ? undefined : cleaned
}

const detailOf = (error: unknown): string | undefined => cleanText(messageOf(error), longestDetail)

const messageOf = (error: unknown): string | undefined => {
  // An HTML page comes from a proxy, and does not explain the request's fault.
  if (typeof error === "string") return error.trimStart().startsWith("<") ? undefined : error
  if (!isJsonObject(error)) return undefined
  const { message, detail } = error
  if (typeof message === "string") return message
  if (typeof detail === "string") return detail
  if (isJsonObject(detail)) return messageOf(detail["error"])
  const first: unknown = Array.isArray(detail) ? detail[0] : undefined
  return isJsonObject(first) && typeof first["msg"] === "string" ? first["msg"] : undefined
}

const clean = (text: string, longest: number): string =>
  text
    .replace(/\p{Cc}+/gu, " ")
    .trim()
    .slice(0, longest)
    .toWellFormed()

/** Seconds to leave a host alone that is in trouble and names a time that cannot be read. */
const unreadableWait = 5

const httpDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/

/**
 * The wait of `Retry-After` in seconds; the header has seconds or an HTTP date. `undefined` for anything else. A date
 * is compared with the host's own clock, so it is ignored when the answer has no `Date`. Not clamped here.
 */
const retryAfter = (headers: ResponseHeaders): number | undefined => {
  const value = headers.get("retry-after")?.trim() ?? ""
  if (/^\d+$/.test(value)) return Math.min(Number(value), Number.MAX_SAFE_INTEGER)
  const sent = headers.get("date") ?? ""
  if (!httpDate.test(value) || !httpDate.test(sent)) return undefined
  const seconds = Math.ceil((Date.parse(value) - Date.parse(sent)) / 1000)
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)
}

interface Said {
  readonly reason: HostReason
  readonly status: number | undefined
  readonly code: string | undefined
  readonly detail: string | undefined
  readonly retryAfterSeconds: number | undefined
}

const failed = ({ reason, status, code, detail, retryAfterSeconds }: Said): HostFailed =>
  new HostFailed({
    reason,
    ...(status === undefined ? {} : { status }),
    ...(code === undefined ? {} : { code }),
    ...(detail === undefined ? {} : { detail }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  })
