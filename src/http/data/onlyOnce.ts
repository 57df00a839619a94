/** A step around any request to a model: one with an `Idempotency-Key` is carried out once. See `services/request/Idempotency.ts`. */
import * as Exit from "effect/Exit"
import { BadRequest, type Failure } from "../../domain/failures/Failure.ts"
import { isIdempotencyKey, longestIdempotencyKey } from "../../domain/request/IdempotencyKey.ts"
import { Claim, type IdempotentRequest } from "../../services/request/Idempotency.ts"
import type { Lifetime } from "../../services/request/RequestContext.ts"
import { type Steps, wait } from "../../services/request/Steps.ts"
import { idempotencyHeader, replayedHeader, requestIdHeaders } from "../headers.ts"
import type { DataServices } from "./DataServices.ts"

const malformed = new BadRequest({
  issues: [
    {
      path: idempotencyHeader,
      message: `must be 1 to ${longestIdempotencyKey} visible ASCII characters, without spaces`,
    },
  ],
})

/** The value of the header, or why it cannot be one; `null`: there is none. */
export const idempotencyKeyOf = (headers: Headers): string | BadRequest | null => {
  const value = headers.get(idempotencyHeader)
  return value === null || isIdempotencyKey(value) ? value : malformed
}

/** Runs `answer` with a claim if this is the first such request, else answers as the first one was. */
export const onlyOnce = function* (
  { idempotency, inFlight, runner }: DataServices,
  request: IdempotentRequest,
  lifetime: Lifetime,
  answer: (claim: Claim) => Steps<Response, Failure>,
): Steps<Response, Failure> {
  const begun = yield* idempotency.begin(request)
  if (!(begun instanceof Claim)) {
    inFlight.leave(lifetime)
    const headers = { ...begun.headers, ...requestIdHeaders(request.requestId), [replayedHeader]: "true" }
    return new Response(begun.body, { headers })
  }
  lifetime.look()
  // A failing step ends the steps around it, so these run as steps of their own.
  const exit = yield* wait<Exit.Exit<Response, Failure>>((resume) =>
    runner.steps(answer(begun), (ended) => resume(Exit.succeed(ended))),
  )
  if (Exit.isFailure(exit)) yield* idempotency.ended(begun)
  return yield* exit
}
