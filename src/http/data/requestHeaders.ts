/** What headers of a request say of its routing. */
import * as Either from "effect/Either"
import { BadRequest } from "../../domain/failures/Failure.ts"
import { withoutKeys } from "../../domain/json/redaction.ts"
import type { AnyRequest } from "../../domain/request/operations.ts"
import { hostHeader, sessionHeader } from "../headers.ts"

/** The request with `X-GW-Host` and `X-Session-Id` applied. */
export const withHeaders = <Request extends AnyRequest>(
  request: Request,
  headers: Headers,
): Either.Either<Request, BadRequest> => inSession(pinned(request, headers.get(hostHeader)), headers.get(sessionHeader))

/** Applies `X-GW-Host`, which pins one host in place of the body's order. */
const pinned = <Request extends AnyRequest>(request: Request, tag: string | null): Request => {
  if (tag === null || tag === "") return request
  const { routing } = request
  const preferences = { ...routing.preferences, only: [withoutKeys(tag)], order: [], allowFallbacks: false }
  return { ...request, routing: { ...routing, preferences } }
}

/** Applies `X-Session-Id`, which stands for `session_id` of a body without one. */
const inSession = <Request extends AnyRequest>(
  request: Request,
  session: string | null,
): Either.Either<Request, BadRequest> => {
  const { routing } = request
  if (session === null || session === "" || routing.session !== undefined) return Either.right(request)
  if (session.length <= 256) return Either.right({ ...request, routing: { ...routing, session } })
  return Either.left(new BadRequest({ issues: [{ path: sessionHeader, message: "must have at most 256 characters" }] }))
}
