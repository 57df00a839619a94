/**
 * The meaning of Google's errors. Their status is a word (`INVALID_ARGUMENT`), and `details` say more: a reason, and how long to
 * wait. An invalid key comes as 400, an unknown caller as 403: both are the operator's matter. From Google's pages on errors of
 * the Gemini API and of Vertex AI, read in 2026-11, and from recorded traffic.
 */
import type { HostFailed } from "../../domain/failures/Failure.ts"
import type { HostReason } from "../../domain/failures/HostReason.ts"
import { isJsonObject, objectsIn, textOr } from "../../domain/json/json.ts"
import type { ResponseHeaders } from "../../wire/head.ts"
import { waitInDetails } from "../../wire/words/waits.ts"
import { errorInBody, httpError } from "../httpError.ts"
import type { Rendered } from "../Rendered.ts"

/** An answer whose status is not 200. A stream's error may come as an array of one. */
export const generateContentHttpError = (status: number, headers: ResponseHeaders, body: unknown): HostFailed => {
  const own: unknown = Array.isArray(body) ? body[0] : body
  return inItsWords(httpError(status, headers, own), isJsonObject(own) ? own["error"] : undefined)
}

/** An `error` in an answer that began well. */
export const generateContentErrorInBody = (error: unknown): HostFailed => inItsWords(errorInBody(error), error)

const reasons: ReadonlyMap<unknown, HostReason> = new Map<unknown, HostReason>([
  ["UNAUTHENTICATED", "account"],
  // What may not be called is a matter of our key, project or service account.
  ["PERMISSION_DENIED", "account"],
  ["NOT_FOUND", "not-found"],
  ["RESOURCE_EXHAUSTED", "rate-limited"],
  ["DEADLINE_EXCEEDED", "timeout"],
  ["INTERNAL", "overloaded"],
  ["UNAVAILABLE", "overloaded"],
])

/** Of `google.rpc.ErrorInfo`. */
const accountReasons: ReadonlySet<unknown> = new Set([
  ...["API_KEY_INVALID", "API_KEY_SERVICE_BLOCKED", "API_KEY_IP_ADDRESS_BLOCKED", "API_KEY_HTTP_REFERRER_BLOCKED"],
  ...["ACCESS_TOKEN_EXPIRED", "ACCESS_TOKEN_TYPE_UNSUPPORTED", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"],
  ...["BILLING_DISABLED", "SERVICE_DISABLED", "CONSUMER_INVALID", "CONSUMER_SUSPENDED", "ACCOUNT_STATE_INVALID"],
])

const accountWords =
  /api key (?:not valid|expired|not found)|prepa\w+ credits|spending cap|enable billing|billing account/i

const regionWords = /location is not supported|not available in your (?:country|region)/i

const tooLong = /token count .*exceeds|exceeds the maximum number of tokens|input context is too long/i

const inItsWords = (failure: HostFailed, error: unknown): HostFailed => {
  if (!isJsonObject(error)) return failure
  const details = objectsIn(error["details"])
  const message = textOr(error["message"], "")
  const isAccount =
    failure.reason === "account" ||
    details.some(({ reason }) => accountReasons.has(reason)) ||
    accountWords.test(message)
  const reason = isAccount
    ? "account"
    : regionWords.test(message)
      ? "forbidden"
      : (reasons.get(error["status"]) ?? failure.reason)
  // The caller may see what is wrong with the request, but nothing about our account or the host's state.
  const isShown = reason === "request" || reason === "rate-limited"
  const wait = waitInDetails(error)
  return failure.with({
    reason,
    ...(isShown ? {} : { detail: undefined }),
    ...(reason === "request" && tooLong.test(message) ? { code: "context_length_exceeded" } : {}),
    ...(wait !== undefined && (reason === "rate-limited" || reason === "overloaded")
      ? { retryAfterSeconds: wait }
      : {}),
  })
}

const statusOf: ReadonlyMap<number, string> = new Map([
  ...([
    [400, "INVALID_ARGUMENT"],
    [401, "UNAUTHENTICATED"],
    [402, "FAILED_PRECONDITION"],
    [403, "PERMISSION_DENIED"],
  ] as const),
  ...([
    [404, "NOT_FOUND"],
    [408, "DEADLINE_EXCEEDED"],
    [409, "ABORTED"],
    [413, "INVALID_ARGUMENT"],
  ] as const),
  ...([
    [422, "INVALID_ARGUMENT"],
    [429, "RESOURCE_EXHAUSTED"],
    [499, "CANCELLED"],
    [500, "INTERNAL"],
  ] as const),
  ...([
    [501, "UNIMPLEMENTED"],
    [502, "UNAVAILABLE"],
    [503, "UNAVAILABLE"],
    [504, "DEADLINE_EXCEEDED"],
  ] as const),
])

/** The whole body for Google's clients. `details` have our type of the error, its metadata as texts, and the time to wait. */
export const generateContentErrorBody = (
  { status, errorType, message, metadata, headers }: Rendered,
  requestId: string,
) => {
  const facts = Object.entries(metadata ?? {}).flatMap(
    ([name, value]): ReadonlyArray<readonly [string, string]> =>
      typeof value === "object" ? [] : [[name, String(value)]],
  )
  const wait = headers?.["retry-after"]
  return {
    error: {
      code: status,
      message,
      status: statusOf.get(status) ?? (status < 500 ? "INVALID_ARGUMENT" : "INTERNAL"),
      details: [
        {
          "@type": "type.googleapis.com/google.rpc.ErrorInfo",
          reason: errorType.toUpperCase(),
          domain: "headgate",
          metadata: Object.fromEntries(facts),
        },
        ...(wait === undefined
          ? []
          : [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${wait}s` }]),
        { "@type": "type.googleapis.com/google.rpc.RequestInfo", requestId },
      ],
    },
  }
}
