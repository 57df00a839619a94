/**
 * Turns the result of every operation of the platform's router (the control plane, and unknown paths) into a documented
 * answer: with a request id and, where the operation failed, with the one error body.
 *
 * `HttpApi` would render failures itself, but its own 400 has another body, and an error has no place for headers such
 * as `retry-after`. So failures come here as they are.
 */
import * as HttpApiError from "@effect/platform/HttpApiError"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { BadRequest } from "../domain/failures/Failure.ts"
import { requestId } from "../domain/Ids.ts"
import { renderPath } from "../domain/json/Problem.ts"
import { chatErrorBody, defect, type Rendered, render } from "./ErrorBody.ts"
import { notSniffed, requestIdHeaders } from "./headers.ts"
import { isRefusal } from "./refusals.ts"

/** How a failure is told. */
type ErrorBody = (rendered: Rendered, requestId: string) => object

/**
 * Answers for every way in which `operation` can end. Defects are logged once; the caller gets no details of them. `body`: of an
 * error; default: that of the chat form.
 */
export const answered = <E, R>(
  operation: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  body: ErrorBody = chatErrorBody,
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, R> =>
  Effect.suspend(() => {
    const id = requestId()
    const errorResponse = (rendered: Rendered) =>
      HttpServerResponse.unsafeJson(body(rendered, id), {
        status: rendered.status,
        headers: { ...notSniffed, ...rendered.headers },
      })
    return operation.pipe(
      Effect.catchAll((failure) => Effect.map(refusal(failure), errorResponse)),
      Effect.catchAllDefect((bug) =>
        Effect.as(
          Effect.logError("a defect while answering", { requestId: id }, Cause.die(bug)),
          errorResponse(defect),
        ),
      ),
      Effect.map(HttpServerResponse.setHeaders(requestIdHeaders(id))),
    )
  })

/**
 * Whether `url` has exactly this `path`, where a `:name` stands for any one segment. The router also accepts doubled
 * and trailing slashes, other case and escaped letters. A proxy in front of us that filters by path does not, so we do
 * not accept them either. See docs/guarantees.md#g25.
 */
export const isSpelled = (path: string, url: string): boolean => {
  const pattern = path.split("/")
  const segments = (url.split("?", 1)[0] ?? "").split("/")
  const same = pattern.every((name, at) => (name.startsWith(":") ? segments[at] !== "" : segments[at] === name))
  return same && segments.length === pattern.length
}

const refusal = (failure: unknown): Effect.Effect<Rendered> => {
  if (isRefusal(failure)) return Effect.succeed(render(failure))
  if (failure instanceof HttpApiError.HttpApiDecodeError) return Effect.succeed(render(badParameters(failure)))
  // Any other failure is not declared, so it is a defect.
  return Effect.die(failure)
}

const badParameters = ({ issues, message }: HttpApiError.HttpApiDecodeError): BadRequest => {
  const [first = { path: "", message }, ...more] = issues.map((issue) => ({
    path: renderPath(issue.path),
    message: issue.message,
  }))
  return new BadRequest({ issues: [first, ...more] })
}
