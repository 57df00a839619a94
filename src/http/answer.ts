/**
 * The edge of whatever the platform's router serves: the control plane, and paths that nobody serves. What an operation
 * comes to leaves as a documented answer: with a request id, and where it failed with the one error body. Reliability 1.
 *
 * `HttpApi` would render failures itself, but its own 400 has another body, and an error has no place for headers such
 * as `retry-after`. So failures come here as they are.
 */
import * as HttpApiError from "@effect/platform/HttpApiError"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { BadRequest, NotFound } from "../domain/Failure.ts"
import { requestId } from "../domain/Ids.ts"
import { renderPath } from "../domain/Problem.ts"
import { chatErrorBody, defect, type Rendered, render } from "./ErrorBody.ts"
import { requestIdHeader } from "./headers.ts"
import { isRefusal } from "./refusals.ts"

/** Answers every way that `operation` can end, bugs included: those are logged once, and nothing of them is said. */
export const answered = <E, R>(
  operation: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, R> =>
  Effect.suspend(() => {
    const id = requestId()
    return operation.pipe(
      Effect.catchAll(refuse),
      Effect.catchAllDefect((bug) =>
        Effect.as(
          Effect.logError("a defect while answering", { requestId: id }, Cause.die(bug)),
          errorResponse(defect),
        ),
      ),
      Effect.map(HttpServerResponse.setHeader(requestIdHeader, id)),
    )
  })

/** No such path, method or spelling. 405 is not emitted. Bad inputs 65 and 66. */
export const noSuchRoute = new NotFound({ what: "This route" })

/**
 * Whether `url` asks for exactly `path`, where a `:name` stands for any one segment. The router also takes doubled and
 * trailing slashes, other case and escaped letters for it; whatever looks at paths in front of us does not, so we do not
 * either. G25.
 */
export const isSpelled = (path: string, url: string): boolean => {
  const pattern = path.split("/")
  const segments = (url.split("?", 1)[0] ?? "").split("/")
  const same = pattern.every((name, at) => (name.startsWith(":") ? segments[at] !== "" : segments[at] === name))
  return same && segments.length === pattern.length
}

const refuse = (failure: unknown) => {
  if (isRefusal(failure)) return Effect.succeed(errorResponse(render(failure)))
  if (failure instanceof HttpApiError.HttpApiDecodeError)
    return Effect.succeed(errorResponse(render(badParameters(failure))))
  // What is left was declared nowhere, so it is a bug.
  return Effect.die(failure)
}

const errorResponse = (rendered: Rendered) =>
  HttpServerResponse.unsafeJson(chatErrorBody(rendered), { status: rendered.status, headers: rendered.headers })

const badParameters = ({ issues, message }: HttpApiError.HttpApiDecodeError): BadRequest => {
  const [first = { path: "", message }, ...more] = issues.map((issue) => ({
    path: renderPath(issue.path),
    message: issue.message,
  }))
  return new BadRequest({ issues: [first, ...more] })
}
