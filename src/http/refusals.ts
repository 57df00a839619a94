/**
 * The failures of the control plane's operations, as `HttpApi` describes them. Status and body of each come from
 * `http/errorBody.ts`.
 */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import {
  BadRequest,
  BodyTooLarge,
  CallerGone,
  type Failure,
  KeyMissing,
  KeyNotAccepted,
  NotFound,
  NotPermitted,
  RateLimited,
  TimedOut,
  Unavailable,
} from "../domain/failures/Failure.ts"
import { chatErrorBody } from "../formats/errorBody.ts"
import { render } from "./errorBody.ts"

const AnyObject = Schema.Record({ key: Schema.String, value: Schema.Unknown }).annotations({
  // The JSON Schema that Effect makes for Unknown has an id, which may be in a document only once.
  jsonSchema: { type: "object" },
})

const ErrorBody = Schema.Struct({
  error: Schema.Struct({
    /** Equal to the status. */
    code: Schema.Int,
    message: Schema.String,
    metadata: Schema.optionalWith(AnyObject, { exact: true }),
    /** Of the Responses format: the error type. */
    type: Schema.optionalWith(Schema.String, { exact: true }),
    /** Of the data plane, where models could not be served. */
    availability: Schema.optionalWith(AnyObject, { exact: true }),
  }),
  /** Of the data plane: the routing, where a header asked for it. */
  openrouter_metadata: Schema.optionalWith(AnyObject, { exact: true }),
}).annotations({ identifier: "Error" })

/**
 * Failures that share a status, encoded as the documented body. The arguments are examples, which give the types and
 * the status.
 */
const refusal = <F extends Failure>(first: F, ...others: ReadonlyArray<F>) => {
  const kinds = [first, ...others].map(({ constructor }) => constructor)
  const isOne = (value: unknown): value is F => kinds.some((kind) => value instanceof kind)
  return Schema.transformOrFail(ErrorBody, Schema.declare(isOne), {
    strict: true,
    encode: (failure) => ParseResult.succeed(chatErrorBody(render(failure))),
    decode: (body, _options, ast) => ParseResult.fail(new ParseResult.Forbidden(ast, body, "failures are not read")),
  }).annotations(HttpApiSchema.annotations({ status: render(first).status, description: render(first).errorType }))
}

export const badRequest = refusal(new BadRequest({ issues: [{ path: "name", message: "is required" }] }))
/** Authentication failed. */
export const notAccepted = refusal<KeyMissing | KeyNotAccepted>(new KeyMissing(), new KeyNotAccepted())
export const notPermitted = refusal(new NotPermitted({ rule: "Only management keys can perform this operation." }))
export const notFound = refusal(new NotFound({ what: "This key" }))
export const tooManyRequests = refusal(
  new RateLimited({ scope: "sign-in", limit: 10, resetsAt: 1_760_000_000_000, retryAfterSeconds: 60 }),
)
export const unavailable = refusal(new Unavailable({ why: "metering", retryAfterSeconds: 5 }))

/** Failures of reading a body. */
export const badBody = Schema.Union(
  badRequest,
  refusal<TimedOut | CallerGone>(new TimedOut({ phase: "body", afterMs: 30_000 }), new CallerGone()),
  refusal(new BodyTooLarge({ limitBytes: 33_554_432 })),
)

/** Whether `value` is one of the failures that this plane answers with. */
export const isRefusal = Schema.is(
  Schema.Union(badBody, notAccepted, notPermitted, notFound, tooManyRequests, unavailable),
)
