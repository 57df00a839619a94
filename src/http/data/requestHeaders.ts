/** What headers of a request say of its routing. */
import * as Either from "effect/Either"
import { BadRequest } from "../../domain/failures/Failure.ts"
import { withoutKeys } from "../../domain/json/redaction.ts"
import { type AnyRequest, isUnary } from "../../domain/request/operations.ts"
import { agentSessionHeaders, hostHeader, sessionHeader } from "../headers.ts"

/** The request with `X-GW-Host`, and with the session that `X-Session-Id` or a header of an agent names. */
export const withHeaders = <Request extends AnyRequest>(
  request: Request,
  headers: Headers,
): Either.Either<Request, BadRequest> => inSession(pinned(request, headers.get(hostHeader)), headers)

/** Applies `X-GW-Host`, which pins one host in place of the body's order. */
const pinned = <Request extends AnyRequest>(request: Request, tag: string | null): Request => {
  if (tag === null || tag === "") return request
  const { routing } = request
  const preferences = { ...routing.preferences, only: [withoutKeys(tag)], order: [], allowFallbacks: false }
  return { ...request, routing: { ...routing, preferences } }
}

/** A header stands for `session_id` of a body without one. Where that of an agent is too long, it names nothing. */
const inSession = <Request extends AnyRequest>(
  request: Request,
  headers: Headers,
): Either.Either<Request, BadRequest> => {
  const { routing } = request
  if (routing.session !== undefined) return Either.right(request)
  const given = headers.get(sessionHeader)
  if (given !== null && given.length > longest)
    return Either.left(
      new BadRequest({ issues: [{ path: sessionHeader, message: `must have at most ${longest} characters` }] }),
    )
  const session = given || agentSession(request, headers)
  return Either.right(session === undefined ? request : { ...request, routing: { ...routing, session } })
}

const longest = 256

const agentSession = (request: AnyRequest, headers: Headers): string | undefined => {
  if (isUnary(request)) return undefined
  for (const name of agentSessionHeaders) {
    const session = headers.get(name)
    if (session !== null && session !== "" && session.length <= longest) return session
  }
  return undefined
}
