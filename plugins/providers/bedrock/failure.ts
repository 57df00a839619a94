/**
 * The meaning of Bedrock's errors, by the name of their exception: in `x-amzn-errortype` of an answer, in the name of
 * an event within a stream. The names are those of AWS's API reference of Converse and ConverseStream and of the errors
 * that all of its APIs have (2026-11); there are no recordings of exceptions within a stream.
 */
import {
  errorInBody,
  type HostFailed,
  type HostReason,
  httpError,
  objectIn,
  type ResponseHeaders,
  textOr,
} from "headgate/plugin"

/** By the exception's name in lower case, without "exception". */
const reasons: ReadonlyMap<string, HostReason> = new Map([
  ["throttling", "rate-limited"],
  ["toomanyrequests", "rate-limited"],
  ["servicequotaexceeded", "rate-limited"],
  ["validation", "request"],
  ["resourcenotfound", "not-found"],
  ["accessdenied", "account"],
  ["expiredtoken", "account"],
  ["unrecognizedclient", "account"],
  ["invalidsignature", "account"],
  ["incompletesignature", "account"],
  ["missingauthenticationtoken", "account"],
  ["optinrequired", "account"],
  ["modeltimeout", "timeout"],
  ["modelerror", "overloaded"],
  ["modelstreamerror", "overloaded"],
  ["modelnotready", "overloaded"],
  ["internalserver", "overloaded"],
  ["internalfailure", "overloaded"],
  ["serviceunavailable", "overloaded"],
])

/** Refusals of the model's name, which are the operator's matter. Bedrock calls them invalid requests. */
const wrongModel = /model identifier is invalid|on-demand throughput isn.t supported|end of its life/i

/** The ValidationException message for an account that may not call models, as users quote it (repost.aws, 2025). */
const blocked = /^operation not allowed\.?$/i

const tooLong =
  /(input|prompt|messages?) (is|are) too long|context (length|window)|maximum number of (input )?tokens|(input|prompt)[^.]* exceeds? /i

/** An answer whose status is not 200. */
export const bedrockHttpError = (status: number, headers: ResponseHeaders, body: unknown): HostFailed => {
  const name = headers.get("x-amzn-errortype") ?? nameIn(body)
  const failure = httpError(status, headers, body)
  // Bedrock has no rule of its own that forbids a request: 403 is about keys and their permissions.
  return inItsWords(status === 403 ? failure.with({ reason: "account" }) : failure, name, messageIn(body))
}

/** An exception within a stream that began well: by the frame's name, such as `exception:throttlingException`. */
export const bedrockErrorInStream = (frame: string, body: unknown): HostFailed | undefined => {
  const [, name] = /^(?:exception|error):([^:]*)/.exec(frame) ?? []
  const message = messageIn(body)
  return name === undefined ? undefined : inItsWords(errorInBody({ code: name, message }), name, message)
}

const inItsWords = (failure: HostFailed, written: string | undefined, message: string | undefined): HostFailed => {
  // ThrottlingException:http://internal.amazon.com/…, com.amazon.coral#ThrottlingException
  const name = written?.split(":", 1)[0]?.split("#").at(-1)?.trim()
  const named = reasons.get(name?.toLowerCase().replace(/(exception|error)$/, "") ?? "") ?? reasonWithout(failure)
  const isTooLong = message !== undefined && tooLong.test(message)
  // Some models report it as an error of theirs, as the first event of a stream.
  const known = isTooLong && named === "overloaded" ? "request" : named
  const isWrongModel = known === "request" && message !== undefined && wrongModel.test(message)
  const isAccount = failure.reason === "account" || (message !== undefined && blocked.test(message))
  const reason = isAccount ? "account" : isWrongModel ? "not-found" : known
  const isShown = reason === "request" || reason === "rate-limited"
  const code = reason === "request" && isTooLong ? "context_length_exceeded" : name
  return failure.with({
    reason,
    ...(code ? { code } : {}),
    detail: isShown ? withoutArns(message ?? failure.detail) : undefined,
  })
}

/** For an unknown exception: by its status. 424 stands for a failure of the model. */
const reasonWithout = ({ status, reason }: HostFailed): HostReason => (status === 424 ? "overloaded" : reason)

/** Names of resources contain the number of the operator's account. */
const withoutArns = (text: string | undefined): string | undefined => text?.replace(/arn:aws[^\s"'),]*/g, "[arn]")

const nameIn = (body: unknown): string | undefined => {
  const { __type: type, code } = objectIn(body)
  return textOr(type ?? code, undefined)
}

const messageIn = (body: unknown): string | undefined => {
  const { message, Message: capital } = objectIn(body)
  return textOr(message ?? capital, undefined)
}
