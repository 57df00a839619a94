import { BadRequest } from "../../domain/failures/Failure.ts"
import { isIdempotencyKey, longestIdempotencyKey } from "../../domain/request/idempotencyKey.ts"
import { idempotencyHeader } from "../headers.ts"

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
