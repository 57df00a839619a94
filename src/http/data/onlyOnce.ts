/** A step around any request to a model: one with an `Idempotency-Key` is carried out once. See `services/request/Idempotency.ts`. */
import { BadRequest, type Failure } from "../../domain/failures/Failure.ts"
import { isIdempotencyKey, longestIdempotencyKey } from "../../domain/request/idempotencyKey.ts"
import { Claim, type IdempotentRequest } from "../../services/request/Idempotency.ts"
import type { Steps } from "../../services/request/Steps.ts"
import { idempotencyHeader, replayedHeader, requestIdHeaders } from "../headers.ts"
import type { DataRequest } from "./DataRequest.ts"
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

/**
 * Takes the claim of a request, which holds it to its end. Returns the answer of the first such request where there is one, `undefined`
 * for the first one itself.
 */
export const claimOf = function* (
  { idempotency }: DataServices,
  request: DataRequest,
  repeatable: IdempotentRequest,
): Steps<Response | undefined, Failure> {
  const begun = yield* idempotency.begin(repeatable)
  if (begun instanceof Claim) {
    request.served.claim = begun
    request.served.lifetime?.look()
    return undefined
  }
  const headers = { ...begun.headers, ...requestIdHeaders(request.served.requestId), [replayedHeader]: "true" }
  return request.answer(begun.body, { headers })
}
