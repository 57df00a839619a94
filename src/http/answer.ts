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
import { BadRequest, NotFound } from "../domain/Failure.ts"
import { requestId } from "../domain/Ids.ts"
import { renderPath } from "../domain/Problem.ts"
import { chatErrorBody, defect, type Rendered, render } from "./ErrorBody.ts"
import { notSniffed, requestIdHeaders } from "./headers.ts"
import type { Prefix } from "./Mount.ts"
import { isRefusal } from "./refusals.ts"

/** Answers for every way in which `operation` can end. Defects are logged once; the caller gets no details of them. */
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
      Effect.map(HttpServerResponse.setHeaders(requestIdHeaders(id))),
    )
  })

/** No such path, method or spelling. 405 is never sent. */
export const noSuchRoute = new NotFound({ what: "This route" })

/** Paths that clients of vendors and of other gateways call, and the root: there the answer says where the API is. */
const elsewhere =
  /^\/(?:(?:api|api\/v1|v1|openai|chat|completions|messages|responses|embeddings|rerank|models)\/?(?:\?.*)?|(?:v1|openai|chat|models)\/.*|(?:\?.*)?)$/

/** `noSuchRoute` for this URL, with a hint where the caller probably expected the API. `prefix`: where the gateway's routes are. */
export const noSuchRouteAt = (prefix: Prefix, url: string): NotFound =>
  url.startsWith(prefix) && elsewhere.test(url.slice(prefix.length))
    ? new NotFound({ what: "This route", hint: `The API is at ${prefix}/api/v1, its description at ${prefix}/docs.` })
    : noSuchRoute

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

const refuse = (failure: unknown) => {
  if (isRefusal(failure)) return Effect.succeed(errorResponse(render(failure)))
  if (failure instanceof HttpApiError.HttpApiDecodeError)
    return Effect.succeed(errorResponse(render(badParameters(failure))))
  // Any other failure is not declared, so it is a defect.
  return Effect.die(failure)
}

const errorResponse = (rendered: Rendered) =>
  HttpServerResponse.unsafeJson(chatErrorBody(rendered), {
    status: rendered.status,
    headers: { ...notSniffed, ...rendered.headers },
  })

const badParameters = ({ issues, message }: HttpApiError.HttpApiDecodeError): BadRequest => {
  const [first = { path: "", message }, ...more] = issues.map((issue) => ({
    path: renderPath(issue.path),
    message: issue.message,
  }))
  return new BadRequest({ issues: [first, ...more] })
}
