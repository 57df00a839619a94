/** The default meaning of a host's errors. Plugins change it with `HostFailed.with`. */
import { HostFailed } from "../domain/failures/Failure.ts"
import { type HostReason, isHostReason } from "../domain/failures/HostReason.ts"
import { tooLargeForLimit } from "../domain/failures/Verdict.ts"
import { isJsonObject, objectIn, objectsIn, textOr } from "../domain/json/json.ts"
import { refusalIn } from "../domain/routing/RefusedModels.ts"
import type { ResponseHeaders } from "../wire/head.ts"
import { isPage, messageOf, reasonOfCodes, sureReason, wordsOf } from "../wire/words/errorWords.ts"
import { retryAfter, waitInDetails, waitInError, waitUntilReset } from "../wire/words/waits.ts"

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
  const detail = detailOf(error)
  const said = isOfServer(headers, body) ? "page" : code === undefined && detail === undefined ? "nothing" : "error"
  const meant = ownReason(code, status, reasons) ?? meaning(status, said, error)
  const lacksOperation = meant === "not-found" && refusalIn(code, detail) === "unsupported_operation"
  const reason = lacksOperation ? "request" : meant
  const isTooLarge = status === 429 && detail !== undefined && tooLarge.test(detail)
  return new HostFailed({ reason }).with({
    status,
    code: isTooLarge ? tooLargeForLimit : code,
    detail: helps(reason) ? detail : undefined,
    retryAfterSeconds: waitOf(reason, headers, error),
  })
}

/**
 * A page of HTML, or only the name of the status. The last pattern is what Go's server answers to HTTP where it
 * expects TLS.
 */
const isOfServer = (headers: ResponseHeaders, body: unknown): boolean =>
  typeof body === "string" &&
  (isPage(body) || /^text\/html\b/i.test(headers.get("content-type") ?? "") || bareText.test(body.trim()))

const bareText =
  /^(?:(?:\d{3}:? )?(?:bad request|(?:payload|content|request entity) too large|not allowed)\.?|client sent an http request to an https server\.)$/i

/**
 * OpenAI's 429 for one request that is above the limit of tokens per minute, whose code is that of any rate limit:
 * "Request too large for gpt-4.1 ... on tokens per min (TPM): Limit 30000, Requested 37313." As users quote it, such as
 * in github.com/continuedev/continue/issues/11717 (2026-03).
 */
const tooLarge = /^request too large\b/i

/**
 * What a host's own error codes (`HostFailed.code`) mean, or statuses that mean something else there: `{ "412":
 * "account" }`.
 */
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

/** Classifies a body: a readable error, nothing readable, or a page of a web server or a proxy instead of the API. */
type Body = "error" | "nothing" | "page"

const meaning = (status: number, said: Body, error: unknown): HostReason =>
  (said === "error" ? sureReason(status, error) : undefined) ?? reasonOf(status, said)

/** Whether the host's message helps the caller to fix the request, and reveals nothing about our account. */
const helps = (reason: HostReason): boolean => reason === "request" || reason === "rate-limited"

const waitOf = (reason: HostReason, headers: ResponseHeaders, error: unknown): number | undefined => {
  if (reason === "rate-limited") return waitUntilReset(headers, error)
  if (reason !== "overloaded") return undefined
  return (
    retryAfter(headers) ?? waitInDetails(error) ?? (headers.get("retry-after") === null ? undefined : unreadableWait)
  )
}

/**
 * The failure for an error object that came with status 200, as a body or as an event. The reason comes from words with
 * a certain meaning, else from the numeric code or status, else from other known words, else it is `overloaded`.
 * Servers that find a prompt too long after the stream has begun say so with any code
 * (lmstudio-ai/lmstudio-bug-tracker#2322, ardanlabs/kronk#862; 2026-08): there the message decides.
 */
export const errorInBody = (error: unknown, reasons: HostReasons = {}): HostFailed => {
  const status = numericStatus(error)
  const code = codeOf(error)
  const detail = detailOf(error)
  const meant =
    ownReason(code, status, reasons) ??
    (status === undefined ? (sureReason(status, error) ?? reasonOfCodes(error)) : meaning(status, "error", error)) ??
    "overloaded"
  const isTooLong = meant === "overloaded" && refusalIn(code, detail) === "context_length_exceeded"
  const reason = isTooLong ? "request" : meant
  return new HostFailed({ reason }).with({
    status,
    code,
    detail: helps(reason) ? detail : undefined,
    retryAfterSeconds: reason === "rate-limited" ? waitInError(error) : undefined,
  })
}

/**
 * The failure of an answer that is none: HTML, `null`, no choices, an event of another protocol. Where the host has a
 * word for what went wrong, `malformed().with({ code })` carries it to the log.
 */
export const malformed = (): HostFailed => new HostFailed({ reason: "malformed" })

/**
 * The meaning of a status. Only 400, 413 and 422 with a readable error are about the request: anything else comes
 * from a proxy, or from an address without such an API.
 */
const reasonOf = (status: number, said: Body): HostReason => {
  if (status >= 500) return "overloaded"
  if (status === 400 || status === 413 || status === 422) return said === "error" ? "request" : "malformed"
  if (said === "page" && (status === 403 || status === 404)) return "malformed"
  return reasonsOfStatus.get(status) ?? "malformed"
}

const reasonsOfStatus: ReadonlyMap<number, HostReason> = new Map([
  [401, "account"],
  [402, "account"],
  [403, "forbidden"],
  [404, "not-found"],
  [408, "timeout"],
  [429, "rate-limited"],
  // The API is there, but could not do it: 424 of Hugging Face's servers, 498 and 499 of gateways, 425 and 409 of
  // busy ones.
  ...[409, 424, 425, 498, 499].map((status) => [status, "overloaded"] as const),
])

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
 * The error object: `error` in most bodies, else the first of `errors` (Cloudflare), else the body itself or its only
 * element (Google). xAI puts only the message in `error`, with the code beside it. Azure AI Foundry's content filter
 * answers 400 with a chat completion.
 */
const errorMember = (given: unknown): unknown => {
  const body: unknown = Array.isArray(given) ? given[0] : given
  if (!isJsonObject(body)) return body
  const { error, errors, code } = body
  if (typeof error === "string") return code == null ? error : { code, message: error }
  if (error != null) return error
  return Array.isArray(errors) && isJsonObject(errors[0]) ? errors[0] : (filterError(body["choices"]) ?? body)
}

/** The error in a chat completion that a filter ended (experientiallabs/experiential#967, captured 2026-09-15). */
const filterError = (choices: unknown): unknown => {
  const [choice] = objectsIn(choices)
  if (choice?.["finish_reason"] !== "content_filter") return undefined
  const { message } = objectIn(objectIn(choice["content_filter_results"])["error"])
  return { code: "content_filter", message: textOr(message, "a content filter ended the answer") }
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

const clean = (text: string, longest: number): string =>
  text
    .replace(/\p{Cc}+/gu, " ")
    .trim()
    .slice(0, longest)
    .toWellFormed()

/** Seconds to leave a host alone that is in trouble and names a time that cannot be read. */
const unreadableWait = 5
