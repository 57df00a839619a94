/**
 * The meaning of Google's errors. Their status is a word (`INVALID_ARGUMENT`), and `details` say more: a reason, and
 * how long to wait. An invalid key comes as 400, an unknown caller as 403: both are the operator's matter. From
 * Google's pages on errors of the Gemini API and of Vertex AI, read in 2026-11, and from recorded traffic.
 */
import type { HostFailed } from "../../domain/failures/Failure.ts"
import type { HostReason } from "../../domain/failures/HostReason.ts"
import { isJsonObject, type JsonObject, objectsIn, textOr } from "../../domain/json/json.ts"
import { isTooLong } from "../../domain/routing/RefusedModels.ts"
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

/**
 * Google's words: what a host means by each, where that is sure, and the statuses of the gateway that each stands for.
 */
const words: ReadonlyArray<
  readonly [word: string, meaning: HostReason | undefined, ...statuses: ReadonlyArray<number>]
> = [
  ["INVALID_ARGUMENT", undefined, 400, 413, 422],
  // What may not be called is a matter of our key, project or service account.
  ["UNAUTHENTICATED", "account", 401],
  ["PERMISSION_DENIED", "account", 403],
  ["FAILED_PRECONDITION", undefined, 402],
  ["NOT_FOUND", "not-found", 404],
  ["DEADLINE_EXCEEDED", "timeout", 408, 504],
  ["ABORTED", undefined, 409],
  ["RESOURCE_EXHAUSTED", "rate-limited", 429],
  ["CANCELLED", undefined, 499],
  ["INTERNAL", "overloaded", 500],
  ["UNIMPLEMENTED", undefined, 501],
  ["UNAVAILABLE", "overloaded", 502, 503],
]

const reasons = new Map<unknown, HostReason | undefined>(words.map(([word, meaning]) => [word, meaning]))
const wordOf = new Map(words.flatMap(([word, , ...statuses]) => statuses.map((status) => [status, word] as const)))

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
  const isAccount = details.some(({ reason }) => accountReasons.has(reason)) || accountWords.test(message)
  const reason =
    isAccount || failure.reason === "account"
      ? "account"
      : regionWords.test(message)
        ? "forbidden"
        : ((isTooLong(failure) ? undefined : reasons.get(error["status"])) ?? failure.reason)
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

/**
 * The whole body for Google's clients. `details` have our type of the error, its metadata as texts, and the time to
 * wait.
 */
export const generateContentErrorBody = (
  { status, errorType, message, metadata, headers }: Rendered,
  requestId: string,
) => {
  const facts = Object.entries(metadata ?? {}).filter(([, value]) => typeof value !== "object")
  const wait = headers?.["retry-after"]
  const detail = (type: string, members: JsonObject) => ({
    "@type": `type.googleapis.com/google.rpc.${type}`,
    ...members,
  })
  return {
    error: {
      code: status,
      message,
      status: wordOf.get(status) ?? (status < 500 ? "INVALID_ARGUMENT" : "INTERNAL"),
      details: [
        detail("ErrorInfo", {
          reason: errorType.toUpperCase(),
          domain: "headgate",
          metadata: Object.fromEntries(facts.map(([name, value]) => [name, String(value)])),
        }),
        ...(wait === undefined ? [] : [detail("RetryInfo", { retryDelay: `${wait}s` })]),
        detail("RequestInfo", { requestId }),
      ],
    },
  }
}
