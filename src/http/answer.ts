/**
 * Turns the result of every operation of the platform's router (the control plane, and unknown paths) into a documented
 * answer: with a request id and, where the operation failed, with the one error body.
 *
 * `HttpApi` would render failures itself, but its own 400 has another body, and an error has no place for headers such
 * as `retry-after`. So failures come here as they are.
 */
import * as HttpApiError from "@effect/platform/HttpApiError"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { BadRequest, CallerGone, type Failure } from "../domain/failures/Failure.ts"
import { requestId } from "../domain/ids.ts"
import { renderPath } from "../domain/json/Problem.ts"
import { chatErrorBody } from "../formats/errorBody.ts"
import type { Rendered } from "../formats/Rendered.ts"
import { logEvent } from "../process/log/logEvent.ts"
import { RequestEnds } from "../services/request/RequestEnds.ts"
import type { EndFailure, ServedRequest } from "../services/request/ServedRequest.ts"
import { addressOf, CallerAddresses } from "./CallerAddresses.ts"
import { defect, render } from "./errorBody.ts"
import { notSniffed, requestIdHeaders } from "./headers.ts"
import { isRefusal } from "./refusals.ts"

/** How a failure is answered. */
type ErrorBody = (rendered: Rendered, requestId: string) => object

type Operation<E, R> = Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>

/** The request that an operation is run for. It has a value of its own where there is none, so that no operation requires it. */
export class Answering extends Context.Reference<Answering>()("headgate/Answering", {
  defaultValue: (): ServedRequest | undefined => undefined,
}) {}

/** Makes answers of operations, of which each ends its request. `route`: method and path. `body`: of an error; default: that of the chat form. */
export const answering = Effect.map(
  Effect.all([RequestEnds, CallerAddresses]),
  ([{ begin, end }, addresses]) =>
    <E, R>(
      route: string,
      operation: Operation<E, R>,
      body: ErrorBody = chatErrorBody,
    ): Operation<never, R | HttpServerRequest.HttpServerRequest> =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        const served = begin(route, null, { address: () => addressOf(addresses, request) })
        let failed: EndFailure | undefined
        const noting = (failure: EndFailure): void => {
          failed = failure
        }
        return answerOf(Effect.provideService(operation, Answering, served), served.requestId, body, noting).pipe(
          Effect.tap(({ body: sent }) => {
            if (sent._tag === "Uint8Array") served.observed?.wrote(sent.body)
          }),
          Effect.onExit((exit) => {
            if (Exit.isSuccess(exit)) return end(served, exit.value.status, failed)
            // Nothing is left to fail, so its caller has gone.
            const gone = new CallerGone()
            return end(served, render(gone).status, gone)
          }),
        )
      }),
)

/** The answer to a request that is not observed: a preflight request, or one for figures. */
export const unobservedAnswer = <E, R>(operation: Operation<E, R>): Operation<never, R> =>
  Effect.suspend(() => answerOf(operation, requestId(), chatErrorBody, () => {}))

/** Answers for every way in which an operation can end. Defects are logged once; the caller gets no details of them. */
const answerOf = <E, R>(
  operation: Operation<E, R>,
  id: string,
  body: ErrorBody,
  noting: (failure: EndFailure) => void,
): Operation<never, R> => {
  const told = (failure: EndFailure) => {
    noting(failure)
    const rendered = failure === "defect" ? defect : render(failure)
    return HttpServerResponse.unsafeJson(body(rendered, id), {
      status: rendered.status,
      headers: { ...notSniffed, ...rendered.headers },
    })
  }
  return operation.pipe(
    Effect.catchAll((failure) => Effect.map(refusal(failure), told)),
    Effect.catchAllDefect((bug) => Effect.map(logEvent("answer_defect", { requestId: id }, bug), () => told("defect"))),
    Effect.map(HttpServerResponse.setHeaders(requestIdHeaders(id))),
  )
}

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

const refusal = (failure: unknown): Effect.Effect<Failure> => {
  if (isRefusal(failure)) return Effect.succeed(failure)
  if (failure instanceof HttpApiError.HttpApiDecodeError) return Effect.succeed(badParameters(failure))
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
