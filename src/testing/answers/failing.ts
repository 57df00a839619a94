/** Checks that an error is one wherever it comes: as the body of an answer with status 200, beside an answer, as an event. */
import { HostFailed } from "../../domain/failures/Failure.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { errorInBody } from "../../formats/httpError.ts"
import { isOurs } from "../../formats/ownProtocols.ts"
import { attempt, type Check, must, shown } from "../Check.ts"
import { contextOf, head } from "../samples.ts"
import type { ErrorSample, ProtocolSubject } from "../subject.ts"
import { namedErrors, waitIn } from "./errors.ts"

export const failingChecks = (given: ProtocolSubject): ReadonlyArray<Check> =>
  isOurs(given.protocol()) || errorsOf(given).length === 0
    ? []
    : [
        {
          name: `${given.name}: an error is one with status 200 too, as a body and as an event`,
          run: () => failAnyhow(given),
        },
      ]

const errorsOf = ({ subject }: ProtocolSubject) => namedErrors(subject).filter(({ body }) => isJsonObject(body))

const failAnyhow = (given: ProtocolSubject): void => {
  const answer = given.answers.find(({ expects, body }) => expects.failure === undefined && isJsonObject(body))
  for (const sample of errorsOf(given)) {
    const of = (where: string) => `The error of ${sample.name}, ${where},`
    const decode = (body: unknown) =>
      attempt("decode()", "Protocol.decode", () => given.protocol().decode(head, body, contextOf(false)))
    isError(decode(sample.body), sample, of("as the body of an answer with status 200"))
    // A bare message beside other members is no sign of an error, and the status is missing here.
    if (!isEnvelope(sample.body)) continue
    if (answer !== undefined && isJsonObject(answer.body))
      isError(decode({ ...answer.body, ...sample.body }), sample, of(`beside the answer of ${answer.name}`))
    const decoder = given.protocol().decoder(head, contextOf(true))
    const event = attempt("The decoder's event()", "Decoder.event", () => decoder.event("", sample.body))
    isError(event, sample, of("as an event of a stream"))
  }
}

/** Whether the error is an object in a member of the body: `{ error: { … } }`. */
const isEnvelope = (body: unknown): body is JsonObject => isJsonObject(body) && Object.values(body).some(isJsonObject)

const isError = (came: unknown, { body, expects, headers = {} }: ErrorSample, of: string): void => {
  must(
    came instanceof HostFailed,
    `${of} is taken for an answer: errorInBody() makes a failure of it, so that the caller does not pay for it`,
    "errorInBody",
  )
  must(
    came.reason !== "malformed" || expects.reason === "malformed" || !isEnvelope(body),
    `${of} is "malformed", as if it were no answer of the vendor at all: errorInBody() reads what is wrong`,
    "errorInBody",
  )
  const error = isJsonObject(body) ? body["error"] : undefined
  const known = error == null ? undefined : errorInBody(error).reason
  must(
    known !== expects.reason || came.reason === expects.reason || came.reason === "account",
    `${of} is "${came.reason}", and with its own status "${expects.reason}": errorInBody() reads it`,
    "errorInBody",
  )
  const wait = waitIn({}, body)
  must(
    wait === undefined || waitIn(headers, {}) !== undefined || came.retryAfterSeconds !== undefined,
    `${of} has no retryAfterSeconds, and the wait of ${shown(wait)} seconds stands in it: the host would be called again too soon`,
    "HostFailed.retryAfterSeconds",
  )
}
