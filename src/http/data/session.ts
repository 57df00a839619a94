/** The caller's name for the conversation, where it comes as a header. */
import * as Either from "effect/Either"
import { BadRequest } from "../../domain/Failure.ts"
import type { ChatRequest } from "../../domain/Request.ts"
import { sessionHeader } from "../headers.ts"

/** Applies `X-Session-Id`, which stands for `session_id` of a body without one. */
export const inSession = (request: ChatRequest, session: string | null): Either.Either<ChatRequest, BadRequest> => {
  const { routing } = request
  if (session === null || session === "" || routing.session !== undefined) return Either.right(request)
  if (session.length <= 256) return Either.right({ ...request, routing: { ...routing, session } })
  return Either.left(new BadRequest({ issues: [{ path: sessionHeader, message: "must have at most 256 characters" }] }))
}
